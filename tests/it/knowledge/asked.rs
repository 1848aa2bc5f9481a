//! Pages and questions of our own (`tests/knowledge`): how often a search finds the page that answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flow::event::Failure;
use flow::port::{DocumentSearch, Embedding, FoundPieces, SearchRequest};
use flow_adapters::clock::SystemClock;
use flow_adapters::http::{Http, HttpSettings};
use flow_adapters::knowledge::Documents;
use flow_adapters::providers::embeddings::HttpEmbedder;
use flow_base::model::{FilePattern, SearchMode};

/// Where pages and questions are.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/knowledge");

/// Searches in one folder.
pub struct Searches {
    documents: Documents,
    runtime: tokio::runtime::Runtime,
    project: PathBuf,
    pattern: FilePattern,
}

impl Searches {
    /// In the files of a folder that fit a pattern; the index is beside them.
    pub fn of(folder: &Path, pattern: &str) -> Searches {
        let clock = Arc::new(SystemClock::new());
        let http = Http::new(HttpSettings::default(), clock.clone());
        Searches {
            documents: Documents::new(Arc::default(), Arc::new(HttpEmbedder::new(http)), clock),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            project: folder.to_path_buf(),
            pattern: FilePattern { root: folder.to_path_buf(), rest: pattern.to_owned() },
        }
    }

    /// The five best pieces.
    pub fn found(&self, mode: SearchMode, embed: Option<Embedding>, query: &str) -> Result<FoundPieces, Failure> {
        self.runtime.block_on(self.documents.search(SearchRequest {
            knowledge: "pages".to_owned(),
            project: self.project.clone(),
            files: vec![self.pattern.clone()],
            given: None,
            run: String::new(),
            mode,
            embed,
            query: query.to_owned(),
            top: 5,
            timeout: Duration::from_secs(3_600),
            mask: None,
            listener: None,
        }))
    }
}

/// How good the answers to all questions are.
pub struct Quality {
    pub questions: usize,
    /// The share of questions whose page is among the files of the five best pieces.
    pub recall: f64,
    /// The mean of 1 / rank of the first piece of that page; 0 where it is not among the five.
    pub mrr: f64,
    pub missed: Vec<String>,
}

/// Asks all questions.
pub fn quality(mode: SearchMode, embed: Option<Embedding>) -> Quality {
    let folder = tempfile::tempdir().unwrap();
    for page in std::fs::read_dir(format!("{HOME}/pages")).unwrap().flatten() {
        std::fs::copy(page.path(), folder.path().join(page.file_name())).unwrap();
    }
    let searches = Searches::of(folder.path(), "*.md");
    let asked = std::fs::read_to_string(format!("{HOME}/questions.tsv")).unwrap();
    let (mut questions, mut hits, mut ranks, mut missed) = (0, 0, 0.0, vec![]);
    for (question, page) in asked.lines().filter_map(|line| line.split_once('\t')) {
        let found = searches.found(mode, embed.clone(), question).unwrap();
        questions += 1;
        match found.pieces.iter().position(|piece| piece.file == page) {
            Some(place) => {
                hits += 1;
                ranks += 1.0 / (place + 1) as f64;
            }
            None => missed.push(question.to_owned()),
        }
    }
    let of_all = |sum: f64| sum / questions as f64;
    Quality { questions, recall: of_all(f64::from(hits)), mrr: of_all(ranks), missed }
}

/// The groups of words in `meanings.yaml`, one a line.
pub fn meanings() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(format!("{HOME}/meanings.yaml")).unwrap();
    let groups = text.lines().filter_map(|line| line.trim().strip_prefix("- [")?.strip_suffix(']'));
    groups.map(|group| group.split(", ").map(str::to_owned).collect()).collect()
}
