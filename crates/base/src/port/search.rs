//! Search in documents, and the vectors that it compares.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{EndpointOptions, Listener, Pending, Secret};
use crate::model::{FilePattern, HostSource, Retry, SearchMode};

/// One search.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// The name in `knowledge`.
    pub knowledge: String,
    /// The project's folder, in which the index is kept.
    pub project: PathBuf,
    /// The documents that are written out, which must be in the project.
    pub files: Vec<FilePattern>,
    /// The documents that the run fills in; `None`: the knowledge has no such entry. An index of these is not kept for ever.
    pub given: Option<Vec<PathBuf>>,
    /// The id of the run that searches: when it is removed, so is the index of the documents that it filled in.
    pub run: String,
    /// How they are searched.
    pub mode: SearchMode,
    /// Who makes vectors, where `mode` needs them.
    pub embed: Option<Embedding>,
    /// What is looked for: a text, never a query of the index's own language.
    pub query: String,
    /// Most pieces.
    pub top: u64,
    /// Time for the search, with what must be read for it.
    pub timeout: Duration,
    /// Hides what must not leave this machine in a text that goes to an endpoint.
    pub mask: Option<TextMask>,
    /// Who is told how far the index is.
    pub listener: Option<Listener>,
}

/// Hides secrets in a text.
#[derive(Clone)]
pub struct TextMask(Arc<dyn Fn(&mut String) + Send + Sync>);

impl TextMask {
    /// One that calls this.
    pub fn new(hide: impl Fn(&mut String) + Send + Sync + 'static) -> TextMask {
        TextMask(Arc::new(hide))
    }

    /// Hides them.
    pub fn hide_in(&self, text: &mut String) {
        (self.0)(text);
    }
}

impl std::fmt::Debug for TextMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TextMask")
    }
}

/// Who makes vectors.
#[derive(Debug, Clone)]
pub enum Embedding {
    /// An endpoint.
    Endpoint(EmbedEndpoint),
    /// A scripted model: a vector follows from the words of a text. Words of one group count as one word.
    Scripted {
        /// The groups.
        meanings: Vec<Vec<String>>,
    },
}

/// An endpoint that makes vectors: `POST {base_url}/embeddings`, OpenAI's format.
#[derive(Debug, Clone)]
pub struct EmbedEndpoint {
    /// Base URL without a trailing `/`.
    pub base_url: String,
    /// Who named its host.
    pub host_from: HostSource,
    /// The provider's name of the model.
    pub model: String,
    /// The key; `None`: no authorisation header.
    pub api_key: Option<Secret>,
    /// What the endpoint wants beside the texts.
    pub endpoint: Box<EndpointOptions>,
    /// Time for one request.
    pub timeout: Duration,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// When a request is made again.
    pub retry: Retry,
}

/// Vectors of texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embedded {
    /// One for each text, in their order, all of one length.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that the endpoint counted.
    pub tokens: u64,
}

/// Makes vectors.
pub trait Embedder: Send + Sync {
    /// Makes one attempt. Failures: those of a request, and `bad_response` where the vectors are not one for each text.
    fn embed(&self, endpoint: EmbedEndpoint, texts: Vec<String>) -> Pending<Embedded>;
}

/// A piece of a document: an element of the output of a `search` step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FoundPiece {
    /// Its text.
    pub text: String,
    /// Its file, from the project's folder.
    pub file: String,
    /// Its page, from 1, where the document has pages.
    pub page: Option<u64>,
    /// The headings above it, outermost first, separated by ` > `; empty: none.
    pub heading: String,
    /// How well it fits, more is better; comparable within one search only.
    pub score: f64,
}

sampled!(FoundPiece { Engine(page, score), Others(text, file, heading) });

/// What a search found, and what was done for it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FoundPieces {
    /// The best first.
    pub pieces: Vec<FoundPiece>,
    /// Documents in the index.
    pub files: u64,
    /// Their pieces.
    pub all_pieces: u64,
    /// Documents that were read for this search, since they are new or have changed.
    pub read: u64,
    /// Tokens of vectors that were made for this search.
    pub tokens: u64,
    /// Why the index was made anew, in words that follow "it"; empty: it was not.
    pub rebuilt: String,
    /// Documents that could not be read, each with the reason.
    pub left_out: Vec<String>,
}

/// Searches documents, and keeps an index of them.
pub trait DocumentSearch: Send + Sync {
    /// Brings the index up to date, and searches it. Failures: `unavailable` (no file fits, the index cannot be written), `too_large`,
    /// `timeout`, `denied` (a file that no step may read), and those of [`Embedder`].
    fn search(&self, request: SearchRequest) -> Pending<FoundPieces>;
}

impl Embedding {
    /// What distinguishes its vectors from those of others.
    pub fn identity(&self) -> String {
        match self {
            Embedding::Endpoint(endpoint) => format!("{} {}", endpoint.base_url, endpoint.model),
            Embedding::Scripted { meanings } => format!("scripted {meanings:?}"),
        }
    }
}
