//! Makes untrusted texts safe for failure messages.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use super::lock;
use crate::diagnostic::{cut, cut_bytes, escaped, is_invisible};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{ModelReply, Secret};
use crate::redact::Secrets;

/// Maximum length of a failure's message, in bytes.
const MOST_BYTES: usize = 2048;
/// Maximum length of a quote in one message, in bytes.
const MOST_QUOTED: usize = 1024;
/// Maximum length of a quote beside flow's own text, in characters.
pub(crate) const MOST_BESIDE: usize = 200;
/// Maximum number of learnt secrets; the oldest are forgotten.
const MOST_LEARNT: usize = 64;

/// Removes known secrets from texts.
#[derive(Clone, Default)]
pub(crate) struct Scrub {
    secrets: Secrets,
    /// Secrets that were learnt later, shared by all clones.
    learnt: Arc<Mutex<(Vec<Secret>, Secrets)>>,
}

impl Scrub {
    /// Hides these secrets as they are and in common encodings (JSON, HTML, URLs, hex, base64). For `Bearer abc`, also hides `abc` alone.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Scrub {
        let with_rest = |whole: &'a str| std::iter::once(whole).chain(whole.split_once(' ').map(|(_, rest)| rest));
        Scrub {
            secrets: Secrets::for_logs(secrets.into_iter().flat_map(|secret| with_rest(secret.reveal().trim()))),
            learnt: Arc::default(),
        }
    }

    /// Adds a secret, for this scrub and all clones.
    pub(crate) fn learn(&self, secret: &Secret) {
        let mut learnt = lock(&self.learnt);
        if learnt.0.contains(secret) {
            return;
        }
        let surplus = (learnt.0.len() + 1).saturating_sub(MOST_LEARNT);
        learnt.0.drain(..surplus);
        learnt.0.push(secret.clone());
        learnt.1 = Secrets::for_logs(learnt.0.iter().map(Secret::reveal));
    }

    fn learnt(&self) -> Secrets {
        lock(&self.learnt).1.clone()
    }

    /// Hides learnt secrets in a value that is processed further.
    pub(crate) fn hide_learnt(&self, value: &mut serde_json::Value) {
        self.learnt().hide_in_value(value);
    }

    /// Hides the secrets in the reply of the model that they were sent to, wherever the endpoint put them.
    pub(crate) fn reply(&self, reply: &mut ModelReply) {
        self.secrets.hide_in(&mut reply.text);
        reply.model.iter_mut().for_each(|model| self.secrets.hide_in(model));
        reply.state.iter_mut().for_each(|state| self.secrets.hide_in_value(&mut Arc::make_mut(state).parts));
        for call in &mut reply.calls {
            self.secrets.hide_in(&mut call.id);
            self.secrets.hide_in(&mut call.tool);
            self.secrets.hide_in_value(&mut call.arguments);
        }
    }

    /// The text without the secrets.
    pub(crate) fn hidden<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let learnt = self.learnt();
        match self.secrets.hide(text) {
            Cow::Borrowed(text) => learnt.hide(text),
            Cow::Owned(text) => Cow::Owned(learnt.hide(&text).into_owned()),
        }
    }

    /// Quotes an untrusted text: secrets hidden, control characters escaped, on one line, limited in length. `is_cut`: the text was cut while it was
    /// read, so its end may be the beginning of a secret, which is hidden too.
    pub(crate) fn quote(&self, text: &str, is_cut: bool) -> String {
        let learnt = self.learnt();
        let text = if is_cut { learnt.hide_cut(&self.secrets.hide_cut(text)) } else { self.hidden(text).into_owned() };
        cut_bytes(visible(&text), MOST_QUOTED)
    }

    /// A short [`Scrub::quote`], for use beside flow's own text.
    pub(crate) fn short_quote(&self, text: &str) -> String {
        cut(&self.quote(text, false), MOST_BESIDE)
    }

    /// A failure whose message contains none of the secrets.
    pub(crate) fn failure(&self, kind: FailureKind, message: impl AsRef<str>) -> Failure {
        Failure::new(kind, cut_bytes(visible(&self.hidden(message.as_ref())), MOST_BYTES))
    }
}

/// The text on one line without invisible characters: whitespace is collapsed to single spaces, and other invisible characters are escaped.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        for character in word.chars() {
            if is_invisible(character) { shown.push_str(&escaped(character)) } else { shown.push(character) }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_is_hidden_as_it_is_escaped_encoded_and_without_its_scheme() {
        let scrub = Scrub::new(&[Secret::new("Bearer k/e\"y+1")]);
        for echo in ["Bearer k/e\"y+1", "k/e\"y+1", "k/e\\\"y+1", "k%2Fe%22y%2B1", "k/e%22y%2B1", "6b2f6522792b31", "6B2F6522792B31"] {
            assert_eq!(scrub.quote(&format!("bad key {echo}!"), false), "bad key ***!");
        }
        let scrub = Scrub::new(&[Secret::new("Bearer sk-canary-1")]);
        for echo in ["c2stY2FuYXJ5LTE=", "QmVhcmVyIHNrLWNhbmFyeS0x", "eHNrLWNhbmFyeS0x"] {
            let told = scrub.quote(&format!("bad key {echo}!"), false);
            // What is at its edges depends on what is beside it.
            assert!(told.contains("***") && told.len() <= "bad key ***xxxx!".len() + 11, "{told}");
        }
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_of_a_cut_text_is_left_out() {
        let scrub = Scrub::new(&[Secret::new("sk-0123456789")]);
        assert!(!scrub.quote("wrong key: sk-01234", true).contains("sk-0"));
        assert!(scrub.quote("wrong key: nothing secret", false).ends_with("secret"));
    }

    #[test]
    fn control_characters_are_escaped_and_lines_joined() {
        assert_eq!(visible("a\u{1b}[31mb\n\tc\u{202e}d\u{7f}"), "a\\x1B[31mb c\\u202Ed\\x7F");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_message_is_bounded_one_line_and_without_the_secret(text in "\\PC{0,100}|(\u{0}|\n|sk-canary|é|word ){0,600}") {
            let scrub = Scrub::new(&[Secret::new("sk-canary")]);
            let failure = scrub.failure(FailureKind::Auth, &text);
            prop_assert!(failure.message.len() <= MOST_BYTES);
            prop_assert!(!failure.message.chars().any(char::is_control));
            prop_assert!(!failure.message.contains("sk-canary"));
            prop_assert!(scrub.quote(&text, true).len() <= MOST_QUOTED);
        }
    }
}
