//! Encryption of stored data with the user's key: AES-256-GCM with a random nonce before each text. Each text is bound to the place it belongs to.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};

/// Length of a key, in bytes.
const KEY: usize = 32;

/// A text is not a valid key. The message does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not 32 bytes in Base64; make one with: openssl rand -base64 32")]
pub struct KeyError;

/// A key that encrypts journals.
#[derive(Clone)]
pub struct JournalKey {
    id: Arc<str>,
    key: Arc<LessSafeKey>,
    /// The key of [`mark`](Self::mark), derived from the main key and not used for anything else.
    marks: Arc<hmac::Key>,
}

/// Does not show the key.
impl std::fmt::Debug for JournalKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "JournalKey({})", self.id)
    }
}

impl JournalKey {
    /// Reads a key: 32 bytes in Base64.
    ///
    /// # Errors
    /// Fails if the text is not such a key.
    pub fn read(text: &str) -> Result<JournalKey, KeyError> {
        let bytes = STANDARD.decode(text.trim()).ok().filter(|bytes| bytes.len() == KEY).ok_or(KeyError)?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| KeyError)?;
        let hash = Sha256::new().chain_update(b"id of a journal key\0").chain_update(&bytes).finalize();
        let id = hex::encode(&hash[..4]);
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &bytes), b"marks of what is kept\0");
        let marks = hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref());
        Ok(JournalKey { id: id.into(), key: Arc::new(LessSafeKey::new(key)), marks: Arc::new(marks) })
    }

    /// A name that identifies the key without revealing it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A keyed hash (HMAC-SHA-256, in hex) by which a text can be found again. Without the key, a guess of the text cannot be confirmed.
    pub(super) fn mark(&self, text: &str) -> String {
        hex::encode(hmac::sign(&self.marks, text.as_bytes()))
    }

    /// Encrypts a text that belongs to `place`. `None` if the system provides no random numbers.
    pub(super) fn seal(&self, place: &[u8], mut text: Vec<u8>) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        self.key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place), &mut text).ok()?;
        Some([&nonce[..], &text].concat())
    }

    /// Decrypts a text. `None` if the key or the place differs, or the text was changed.
    pub(super) fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let mut text = text.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let length = self.key.open_in_place(nonce, Aad::from(place), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

/// Whether stored data is encrypted, and with which key.
#[derive(Debug, Clone, Default)]
pub struct Sealing {
    /// The key for new texts, and for those that were already encrypted with it.
    pub key: Option<JournalKey>,
    /// Whether new texts are encrypted.
    pub is_on: bool,
}

impl Sealing {
    /// The key for new texts, if they are encrypted.
    pub(super) fn of_new(&self) -> Option<&JournalKey> {
        self.key.as_ref().filter(|_| self.is_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    #[test]
    fn a_text_comes_back_at_its_own_place_with_its_own_key_only() {
        let key = JournalKey::read(TEXT).unwrap();
        let sealed = key.seal(b"here", b"canary canary".to_vec()).unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"canary"));
        assert_eq!(key.open(b"here", &sealed).unwrap(), b"canary canary");
        assert_ne!(key.seal(b"here", b"canary canary".to_vec()), Some(sealed.clone()), "a nonce is used once");
        let other = JournalKey::read(&STANDARD.encode([7; 32])).unwrap();
        assert_eq!((key.open(b"there", &sealed), other.open(b"here", &sealed)), (None, None));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!((key.open(b"here", &changed), key.open(b"here", &sealed[..at])), (None, None));
        }
        assert_ne!(key.id(), other.id());
        assert_eq!((key.mark("a").len(), key.mark("a")), (64, JournalKey::read(TEXT).unwrap().mark("a")));
        assert!(key.mark("a") != other.mark("a") && key.mark("a") != key.mark("b"));
    }

    #[test]
    fn what_is_no_key_is_told_and_not_repeated() {
        for text in ["", "secret-word", "AAEC", &STANDARD.encode([1; 31]), &STANDARD.encode([1; 33])] {
            let told = JournalKey::read(text).unwrap_err().to_string();
            assert!(told.contains("openssl rand -base64 32") && (text.is_empty() || !told.contains(text)), "{told}");
        }
    }
}
