//! Search in documents, with an index below the project's `.flow/knowledge`.
//!
//! The steps of a search: `collect` (which files) → `update` (read what changed; `pieces` cuts it, `index` keeps it) → vectors of new pieces, from an
//! [`Embedder`] or `scripted` → `index` again: the best pieces by words (BM25), by vectors, or both fused by rank.
//!
//! `kept` says where an index is, and clears away those of files that runs have filled in.
//!
//! One process at a time changes an index, which a lock beside it sees to; those that only search wait for nobody. An index that is damaged is made
//! anew, and the result says so.
//!
//! How to add a kind of document: see `data/read.rs`; its headings in `pieces`.

mod collect;
mod index;
mod kept;
mod pieces;
mod scripted;
#[cfg(test)]
mod tests;
mod update;
mod words;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::data::{failure, on_thread};
use super::lock;
use super::own::OwnFiles;
use crate::diagnostic::visible;
use crate::event::Failure;
use crate::model::{Backoff, FailureKind, Retry};
use crate::port::{
    Clock, DocumentSearch, EmbedEndpoint, Embedded, Embedder, Embedding, FoundPiece, FoundPieces, Listener, Pending, SearchRequest,
    TextMask,
};
use index::{DocumentIndex, IndexError};
pub use kept::forget_runs;
use update::{IndexProgress, UpToDate, UpdateWorld, of_index, up_to_date};

/// Maximum number of searches that work on files at once; others wait.
const AT_ONCE: usize = 4;
/// Texts of one request for vectors.
const EACH_REQUEST: usize = 32;
/// Texts whose scripted vectors are kept at once.
const EACH_SCRIPTED: usize = 1_000;
/// How many pieces of each list are fused.
const FUSED: u64 = 100;
/// What a rank counts in reciprocal rank fusion: `1 / (60 + rank)` (Cormack, Clarke, Büttcher, SIGIR 2009).
const FUSION: f64 = 60.0;

/// Searches documents on this machine.
#[derive(Clone)]
pub struct Documents {
    own: Arc<OwnFiles>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    permits: Arc<Semaphore>,
    /// Permits of their own for searches that hold the lock of an index: those that wait for it may hold all of `permits`.
    filling: Arc<Semaphore>,
}

impl Documents {
    /// Creates a search in which the places in `own` are not read. `embedder` makes the vectors of endpoints.
    pub fn new(own: Arc<OwnFiles>, embedder: Arc<dyn Embedder>, clock: Arc<dyn Clock>) -> Documents {
        let permits = || Arc::new(Semaphore::new(AT_ONCE));
        Documents { own, embedder, clock, permits: permits(), filling: permits() }
    }
}

impl DocumentSearch for Documents {
    fn search(&self, request: SearchRequest) -> Pending<FoundPieces> {
        let documents = self.clone();
        Box::pin(async move {
            let (timeout, name) = (request.timeout, request.knowledge.clone());
            let slow = |_| {
                let message = format!(
                    "searching {name} took longer than {timeout:?} and was stopped; what was read so far is kept. Raise timeout, or run it again."
                );
                failure(FailureKind::Timeout, message)
            };
            tokio::time::timeout(timeout, documents.find(Arc::new(request))).await.map_err(slow)?
        })
    }
}

/// An index that other threads of one search use after each other.
type SharedIndex = Arc<std::sync::Mutex<DocumentIndex>>;

impl Documents {
    /// Only a look at its pages shows that an index is damaged: it is made anew once, whatever was being done.
    async fn find(self, request: Arc<SearchRequest>) -> Result<FoundPieces, Failure> {
        match self.found_in(&request, None).await {
            Err(IndexError::Damaged(why)) => self.found_in(&request, Some(why)).await.map_err(of_index),
            found => found.map_err(of_index),
        }
    }

    async fn found_in(&self, request: &Arc<SearchRequest>, damage: Option<String>) -> Result<FoundPieces, IndexError> {
        let UpToDate { index, mut report, lock, in_use: _in_use } = self.brought(request, damage).await?;
        let index = Arc::new(std::sync::Mutex::new(index));
        let vector = match &request.embed {
            None => None,
            Some(embed) => {
                if lock.is_some() {
                    report.tokens += self.fill_in(request, embed, &index).await?;
                    drop(lock);
                }
                let (vector, tokens) = self.vector(request, embed).await?;
                report.tokens += tokens;
                Some(vector)
            }
        };
        let (asked, all_pieces) = (Arc::clone(request), report.all_pieces);
        let pieces = on_index(&self.permits, request, &index, move |index| best(index, &asked, all_pieces, vector.as_deref())).await?;
        Ok(FoundPieces { pieces, ..report })
    }

    async fn brought(&self, request: &Arc<SearchRequest>, damage: Option<String>) -> Result<UpToDate, IndexError> {
        let (asked, own, clock) = (Arc::clone(request), Arc::clone(&self.own), Arc::clone(&self.clock));
        let brought = on_thread(&self.permits, request.timeout, "Reading the documents", move |cancel| {
            Ok(up_to_date(&asked, UpdateWorld { own: &own.for_many(), clock: &*clock, cancel }, damage))
        })
        .await??;
        match brought.report.left_out.first() {
            // An empty list would say that the documents do not hold the answer.
            Some(first) if brought.report.all_pieces == 0 => {
                let message = format!("none of the documents of knowledge {} can be searched: {}", request.knowledge, visible(first));
                Err(failure(FailureKind::Unavailable, message).into())
            }
            _ => Ok(brought),
        }
    }

    /// Makes the vectors that are missing. What was made is kept at once, so a search that breaks off here pays for nothing twice.
    async fn fill_in(&self, request: &SearchRequest, embed: &Embedding, index: &SharedIndex) -> Result<u64, IndexError> {
        let all = on_index(&self.filling, request, index, |index| index.count_without_vectors()).await?;
        let (mut done, mut tokens, mut progress) = (0, 0, IndexProgress::default());
        let each = match embed {
            Embedding::Endpoint(_) => EACH_REQUEST,
            Embedding::Scripted { .. } => EACH_SCRIPTED,
        };
        loop {
            let missing = on_index(&self.filling, request, index, move |index| index.without_vectors(each)).await?;
            if missing.is_empty() {
                return Ok(tokens);
            }
            progress.tell(&*self.clock, request.listener.as_ref(), || format!("{}: {done} of {all} vectors made", request.knowledge));
            let (hashes, texts): (Vec<Vec<u8>>, Vec<String>) = missing.into_iter().unzip();
            let made = self.embedded(embed, texts, request.mask.as_ref(), request.listener.as_ref()).await?;
            tokens += made.tokens;
            done += hashes.len();
            let vectors: Vec<(Vec<u8>, Vec<f32>)> = hashes.into_iter().zip(made.vectors.into_iter().map(of_length_one)).collect();
            on_index(&self.filling, request, index, move |index| index.keep_vectors(&vectors)).await?;
        }
    }

    /// The vector of the question.
    async fn vector(&self, request: &SearchRequest, embed: &Embedding) -> Result<(Vec<f32>, u64), Failure> {
        let made = self.embedded(embed, vec![request.query.clone()], request.mask.as_ref(), request.listener.as_ref()).await?;
        let vector = made.vectors.into_iter().next().map(of_length_one).unwrap_or_default();
        Ok((vector, made.tokens))
    }

    /// Vectors of texts; a request that fails is made again as the model's `retry` says.
    async fn embedded(
        &self,
        embed: &Embedding,
        mut texts: Vec<String>,
        mask: Option<&TextMask>,
        told: Option<&Listener>,
    ) -> Result<Embedded, Failure> {
        let endpoint = match embed {
            Embedding::Scripted { meanings } => {
                return Ok(Embedded { vectors: texts.iter().map(|text| scripted::vector(text, meanings)).collect(), tokens: 0 });
            }
            Embedding::Endpoint(endpoint) => endpoint,
        };
        if let Some(mask) = mask {
            texts.iter_mut().for_each(|text| mask.hide_in(text));
        }
        let mut attempt = 1;
        loop {
            let failure = match self.embedder.embed(EmbedEndpoint::clone(endpoint), texts.clone()).await {
                Ok(made) if made.vectors.len() == texts.len() => return Ok(made),
                Ok(_) => failure(FailureKind::BadResponse, "not every text got a vector"),
                Err(failure) => failure,
            };
            let Some(wait) = wait_after(&endpoint.retry, attempt, &failure) else { return Err(failure) };
            if let Some(told) = told {
                told.hear(&format!("{}; trying again", failure.message));
            }
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }
}

/// Works on an index on a thread of its own.
async fn on_index<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    request: &SearchRequest,
    index: &SharedIndex,
    work: impl FnOnce(&mut DocumentIndex) -> Result<T, IndexError> + Send + 'static,
) -> Result<T, IndexError> {
    let index = Arc::clone(index);
    on_thread(permits, request.timeout, "The search", move |_| Ok(work(&mut lock(&index)))).await?
}

/// How long to wait before a request is made again; `None`: it is not.
fn wait_after(retry: &Retry, attempt: u32, failure: &Failure) -> Option<Duration> {
    if u64::from(attempt) >= retry.max_attempts || !retry.on.contains(&failure.kind) {
        return None;
    }
    if let Some(asked) = failure.retry_after_ms.map(Duration::from_millis) {
        return (asked <= retry.max_delay).then_some(asked);
    }
    let times = match retry.backoff {
        Backoff::Fixed => 1,
        Backoff::Linear => attempt,
        Backoff::Exponential => 1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX),
    };
    Some(retry.delay.saturating_mul(times).min(retry.max_delay))
}

/// The vector with the same direction and length 1; one of zeros stays.
fn of_length_one(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        vector.iter_mut().for_each(|number| *number /= length);
    }
    vector
}

/// The best pieces of an index that is up to date.
fn best(index: &mut DocumentIndex, request: &SearchRequest, all: u64, vector: Option<&[f32]>) -> Result<Vec<FoundPiece>, IndexError> {
    let is_both = request.mode.needs_words() && request.mode.needs_vectors();
    let most = if is_both { FUSED.max(request.top) } else { request.top };
    let mut lists = vec![];
    if request.mode.needs_words() {
        lists.push(index.by_words(&words::of_question(&request.query), all, most)?);
    }
    if request.mode.needs_vectors()
        && let Some(vector) = vector
    {
        lists.push(index.by_vector(vector, most)?);
    }
    let chosen = if is_both { fused(&lists) } else { lists.pop().unwrap_or_default() };
    let pieces = chosen.into_iter().take(usize::try_from(request.top).unwrap_or(usize::MAX)).map(|(id, score)| {
        let piece = index.piece(id)?;
        let score = (score * 10_000.0).round() / 10_000.0;
        Ok(FoundPiece { text: piece.text, file: piece.file, page: piece.page, heading: piece.heading, score })
    });
    pieces.collect()
}

/// Reciprocal rank fusion: what is high in any list is high, whatever its scores mean.
fn fused(lists: &[Vec<(i64, f64)>]) -> Vec<(i64, f64)> {
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for list in lists {
        for (rank, (id, _)) in list.iter().enumerate() {
            *scores.entry(*id).or_default() += 1.0 / (FUSION + 1.0 + rank as f64);
        }
    }
    let mut fused: Vec<(i64, f64)> = scores.into_iter().collect();
    fused.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    fused
}
