//! The stored form of a run's events in one commit: one text, compressed, optionally encrypted, with a checksum.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

use super::encryption::{JournalKey, Sealing};
use crate::event::{Event, Happening};
use crate::port::StoreError;

/// A block ends once its text has this many bytes. This limits the memory used in addition to the events.
const FULL: usize = 256 * 1024;

/// The first byte of a body, which defines the format of the rest.
const DEFLATED: u8 = 1;
const SEALED: u8 = 2;
const CHECKED: u8 = 3;

/// Length of a checksum, in bytes.
const SUM: usize = 16;

/// Consecutive events of a run.
pub(super) struct EventBlock {
    pub(super) run: Arc<str>,
    /// The number of its first event.
    pub(super) first: u64,
    /// The number of its last event.
    pub(super) last: u64,
    pub(super) body: Vec<u8>,
    pub(super) checksum: Vec<u8>,
    /// The id of the key that encrypts it.
    pub(super) key: Option<String>,
    pub(super) of_run: Vec<OfRun>,
}

/// A change of an event to the list of runs.
pub(super) enum OfRun {
    Starts { pipeline: String, started: String },
    Is(Option<String>),
}

/// The status in the list of a run that waits for a person.
pub(super) const WAITING: &str = "waiting";

/// Appended to the status of a run in which a gate passed without its judge.
pub(super) const NEEDS_REVIEW: &str = ", needs review";

impl OfRun {
    pub(super) fn new(event: &Event) -> Option<OfRun> {
        match &event.happening {
            Happening::RunStarted(start) => Some(OfRun::Starts { pipeline: start.pipeline.clone(), started: event.time.to_rfc3339() }),
            Happening::RunFinished(end) => {
                Some(OfRun::Is(Some(format!("{}{}", end.status.word(), if end.needs_review { NEEDS_REVIEW } else { "" }))))
            }
            Happening::RunPaused => Some(OfRun::Is(Some(WAITING.to_owned()))),
            Happening::RunResumed { .. } => Some(OfRun::Is(None)),
            _ => None,
        }
    }
}

impl EventBlock {
    /// Creates a block from the texts of events, for a store that is migrated to this format.
    pub(super) fn of_texts(run: &str, first: u64, texts: &[String]) -> Result<EventBlock, StoreError> {
        let mut open = OpenBlock::new(run.into(), first);
        texts.iter().for_each(|text| open.add(text.as_bytes()));
        open.close(None)
    }
}

/// Events that wait for their commit, as text.
#[derive(Default)]
pub(super) struct Unwritten(Vec<OpenBlock>);

impl Unwritten {
    /// Adds events, possibly of several runs.
    ///
    /// # Errors
    /// Fails if an event cannot be written as JSON.
    pub(super) fn take(&mut self, events: &[Event]) -> Result<(), StoreError> {
        for event in events {
            let line = serde_json::to_vec(event).map_err(|error| unusable(&event.run, error.to_string()))?;
            let open = match self.0.last_mut() {
                Some(open) if open.run == event.run && open.last + 1 == event.seq && open.text.len() < FULL => open,
                _ => self.0.push_mut(OpenBlock::new(event.run.clone(), event.seq)),
            };
            open.add(&line);
            open.of_run.extend(OfRun::new(event));
        }
        Ok(())
    }

    /// Takes all events as compressed blocks, encrypted if new texts are.
    ///
    /// # Errors
    /// Fails if the key is missing, or the system provides no random numbers.
    pub(super) fn blocks(&mut self, sealing: &Sealing) -> Result<Vec<EventBlock>, StoreError> {
        let all = std::mem::take(&mut self.0);
        match (&sealing.key, sealing.is_on) {
            (None, true) => Err(unusable("runs", "it is encrypted, and no key is set".into())),
            _ => all.into_iter().map(|open| open.close(sealing.of_new())).collect(),
        }
    }
}

/// A block that is being filled.
struct OpenBlock {
    run: Arc<str>,
    first: u64,
    last: u64,
    text: Vec<u8>,
    of_run: Vec<OfRun>,
}

impl OpenBlock {
    fn new(run: Arc<str>, first: u64) -> OpenBlock {
        OpenBlock { run, first, last: first - 1, text: vec![], of_run: vec![] }
    }

    fn add(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.last += 1;
    }

    fn close(self, key: Option<&JournalKey>) -> Result<EventBlock, StoreError> {
        let OpenBlock { run, first, last, text, of_run } = self;
        let body = packed(&place(&run, last), &text, key);
        let body = body.ok_or_else(|| unusable(&run, "its events cannot be compressed or encrypted".into()))?;
        Ok(EventBlock { checksum: checksum(&run, last, &body), key: key.map(|key| key.id().to_owned()), run, first, last, body, of_run })
    }
}

fn unusable(run: &str, message: String) -> StoreError {
    StoreError::Unusable { file: format!("of {run}"), message }
}

/// Compresses a text, and encrypts it if there is a key.
pub(super) fn packed(place: &[u8], text: &[u8], key: Option<&JournalKey>) -> Option<Vec<u8>> {
    thread_local! {
        // Creating an encoder costs more than compressing a small block: its tables take 300 KB, which the system allocates page by page.
        static ENCODER: RefCell<DeflateEncoder<Vec<u8>>> = RefCell::new(DeflateEncoder::new(vec![], Compression::new(4)));
    }
    let packed = ENCODER.with_borrow_mut(|encoder| encoder.write_all(text).and_then(|()| encoder.reset(vec![]))).ok()?;
    Some(match key {
        None => [&[DEFLATED][..], &packed].concat(),
        Some(key) => [&[SEALED][..], &key.seal(place, packed)?].concat(),
    })
}

/// Like [`packed`], for a text whose checksum is not stored separately. Changes of an encrypted text are detected anyway.
pub(super) fn packed_with_checksum(place: &[u8], text: &[u8], key: Option<&JournalKey>) -> Option<Vec<u8>> {
    let body = packed(place, text, key)?;
    match body.split_first()? {
        (&DEFLATED, packed) => Some([&[CHECKED][..], &sum(&[place, packed]), packed].concat()),
        _ => Some(body),
    }
}

/// Unpacks a text. `None` if it was changed, or its key is missing or different. If the body has no checksum of its own, the caller must check the
/// one stored separately.
pub(super) fn unpacked(place: &[u8], body: &[u8], key: Option<&JournalKey>) -> Option<String> {
    let opened;
    let packed = match body.split_first()? {
        (&DEFLATED, packed) => packed,
        (&CHECKED, checked) => {
            let (own, packed) = checked.split_at_checked(SUM)?;
            Some(packed).filter(|packed| *own == sum(&[place, packed]))?
        }
        (&SEALED, sealed) => {
            opened = key?.open(place, sealed)?;
            &opened
        }
        _ => return None,
    };
    let mut text = String::new();
    DeflateDecoder::new(packed).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The place that a block is bound to.
pub(super) fn place(run: &str, last: u64) -> Vec<u8> {
    [run.as_bytes(), &last.to_le_bytes()].concat()
}

/// The checksum of run, number and body.
pub(super) fn checksum(run: &str, last: u64, body: &[u8]) -> Vec<u8> {
    sum(&[run.as_bytes(), &last.to_le_bytes(), body]).to_vec()
}

/// The first bytes of the SHA-256 of these parts.
fn sum(parts: &[&[u8]]) -> [u8; SUM] {
    let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize();
    std::array::from_fn(|place| hash[place])
}
