//! Masking of text that comes in chunks.

use super::Redactor;
use super::redactor::Hit;

/// So much is held back, so that a value that a chunk cuts in two is seen as a whole.
const HELD: usize = 512;
/// A text without any white space is let go after so much.
const MOST_HELD: usize = 1 << 17;

/// So much of what was let go is kept, because words before a number tell what it is.
const CONTEXT: usize = 128;

/// Masks text chunk by chunk, as if it were one. What it holds back comes with later chunks or at the end.
pub struct Stream<'a> {
    redactor: &'a Redactor,
    /// The end of what was let go, and what was not.
    text: String,
    /// Bytes of `text` that were let go.
    gone: usize,
    /// So much must wait before the next search is worth it.
    enough: usize,
}

impl<'a> Stream<'a> {
    /// A stream of its own; its markers are those of the redactor.
    pub fn new(redactor: &'a Redactor) -> Stream<'a> {
        Stream { redactor, text: String::new(), gone: 0, enough: 0 }
    }

    /// Takes a chunk, gives what is safe to show.
    pub fn push(&mut self, chunk: &str) -> String {
        self.text.push_str(chunk);
        let held = HELD.max(self.redactor.longest() + 1);
        let waiting = self.text.len() - self.gone;
        if waiting < (2 * held).max(self.enough.min(MOST_HELD)) {
            return String::new();
        }
        self.enough = 2 * waiting;
        let hits = self.redactor.hits(&self.text);
        let must_go = waiting > MOST_HELD.max(4 * held);
        let Some(cut) = self.cut(self.text.len() - held, &hits, must_go) else { return String::new() };
        let out = self.redactor.write(&self.text, &hits, self.gone..cut);
        let keep = self.text.ceil_char_boundary(cut.saturating_sub(CONTEXT));
        self.text.drain(..keep);
        self.gone = cut - keep;
        self.enough = 0;
        out
    }

    /// The rest.
    pub fn finish(self) -> String {
        let hits = self.redactor.hits(&self.text);
        self.redactor.write(&self.text, &hits, self.gone..self.text.len())
    }

    /// The last end of a word up to which nothing can change any more: no value goes over it, and no block that goes over many
    /// lines is open before it.
    fn cut(&self, most: usize, hits: &[Hit], must_go: bool) -> Option<usize> {
        let mut most = most;
        if let Some(open) = self.text.rfind("-----BEGIN ").filter(|open| !must_go && !self.text[*open..].contains("-----END ")) {
            most = most.min(open);
        }
        loop {
            most = self.text.floor_char_boundary(most);
            let before = &self.text[..most];
            let cut = match before.char_indices().rev().find(|(_, c)| c.is_whitespace()) {
                Some((at, space)) => at + space.len_utf8(),
                None if must_go => most,
                None => return None,
            };
            match hits.iter().find(|hit| hit.range.start < cut && cut < hit.range.end) {
                Some(hit) => most = hit.range.start,
                None => return (cut > self.gone).then_some(cut),
            }
            if most <= self.gone {
                return None;
            }
        }
    }
}
