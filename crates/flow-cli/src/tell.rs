//! Writes to standard error, without secrets, control characters and personal values of runs. A closed reader or a full disk does not end
//! the program.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::Value;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Layer, SubscriberExt};

use crate::adapter::guarded::is_guarded;
use crate::adapter::{environment, lock};
use crate::diagnostic::{visible, visible_drawn, visible_lines};
use crate::port::Secret;
use crate::redact::{Redactor, Secrets};
use crate::report::Look;

/// Prints a message that does not stop the command; known secrets and personal values, and texts that look like them, are masked.
macro_rules! tell {
    () => { $crate::tell::line("") };
    ($($text:tt)*) => { $crate::tell::line(&format!($($text)*)) };
}

/// Prints a line that repeats content of files or the command line: addresses and examples stay as written, secrets are masked.
macro_rules! tell_as_written {
    ($($text:tt)*) => { $crate::tell::as_written(&format!($($text)*), "\n") };
}

/// Prints a line that --quiet suppresses.
macro_rules! note {
    ($options:expr, $($text:tt)*) => { if !$options.quiet { tell!($($text)*) } };
}

/// Values that must not be printed, as far as this process knows them.
#[derive(Default)]
struct KnownSecrets {
    /// Secrets of each pipeline that this process has opened.
    texts: BTreeSet<String>,
    secrets: Secrets,
    redactor: Redactor,
}

static KNOWN: LazyLock<Mutex<Arc<KnownSecrets>>> = LazyLock::new(Mutex::default);

/// Held while they change. A thread that panics may hold it: what it prints then reads [`KNOWN`], whose lock is held only to copy a pointer.
static CHANGE: Mutex<()> = Mutex::new(());

fn known() -> Arc<KnownSecrets> {
    Arc::clone(&lock(&KNOWN))
}

/// Masks these secrets in all later output.
pub(super) fn hide_secrets(secrets: &[Secret]) {
    let _change = lock(&CHANGE);
    let known = known();
    let own = secrets.iter().map(|secret| secret.reveal().to_owned());
    let texts: BTreeSet<String> = known.texts.iter().cloned().chain(own).collect();
    if texts.len() > known.texts.len() {
        let secrets = Secrets::for_logs(texts.iter().map(String::as_str));
        let redactor = Redactor::new(texts.iter().map(String::as_str), []);
        *lock(&KNOWN) = Arc::new(KnownSecrets { texts, secrets, redactor });
    }
}

/// Masks later lines with this redactor, which knows the secrets and personal values of a run.
pub(super) fn hide_with(redactor: &Redactor) {
    let _change = lock(&CHANGE);
    let KnownSecrets { texts, secrets, redactor: _ } = &*known();
    let next = KnownSecrets { texts: texts.clone(), secrets: secrets.clone(), redactor: redactor.clone() };
    *lock(&KNOWN) = Arc::new(next);
}

/// Masks known secrets in a text.
pub(super) fn without_secrets(text: &str) -> Cow<'_, str> {
    known().secrets.hide(text)
}

/// Masks known secrets in a value.
pub(super) fn without_secrets_in(mut value: Value) -> Value {
    known().secrets.hide_in_value(&mut value);
    value
}

/// Prints one line, masked.
pub(super) fn line(text: &str) {
    write(&(visible(&known().redactor.redact(text)) + "\n"));
}

/// Prints a text on one line, followed by `end`.
pub(super) fn as_written(text: &str, end: &str) {
    write(&(visible(&without_secrets(text)) + end));
}

/// Prints a text as written, in a colour and wrapped to the window.
pub(super) fn in_colour(text: &str, look: Look, code: &str) {
    let lines = look.wrapped("", &visible(&without_secrets(text)));
    write(&(look.paint(lines.trim_end_matches('\n'), code) + "\n"));
}

/// Prints a text as written and wrapped to the window, after the start of its first line.
pub(super) fn wrapped(first: &str, text: &str, look: Look) {
    write(&look.wrapped(first, &visible(&without_secrets(text))));
}

/// Prints an empty line.
pub(super) fn gap() {
    write("\n");
}

/// Prints the lines of an error that stops a command, as written.
pub(super) fn refused(text: &str) {
    write(&(visible_lines(&without_secrets(text)) + "\n"));
}

/// Prints formatted lines with their colours.
pub(super) fn drawn(text: &str) {
    write(&(visible_drawn(without_secrets(text).trim_end()) + "\n"));
}

/// Reports a panic like other errors. A panic in a library that reads a damaged file is reported as a failure of that file.
pub(super) fn panicked(fault: &std::panic::PanicHookInfo<'_>) {
    if is_guarded() {
        return;
    }
    let payload = fault.payload();
    let why = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason");
    let place = fault.location().map(ToString::to_string).unwrap_or_default();
    tell!("internal error at {place}: {why}");
    let trace = std::backtrace::Backtrace::capture();
    if trace.status() == std::backtrace::BacktraceStatus::Captured {
        drawn(&trace.to_string());
    }
}

fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// `FLOW_LOG=spans`: prints the spans of runs from now on, one per line. Errors: it has another value.
pub(super) fn show_spans() -> Result<(), String> {
    match environment::text("FLOW_LOG").as_deref() {
        None | Some("") => Ok(()),
        Some("spans") => {
            // Spans of other crates contain headers and addresses.
            let ours = Targets::new().with_target("flow", Level::INFO);
            let lines = tracing_subscriber::fmt::layer().without_time().with_span_events(FmtSpan::CLOSE).with_writer(|| MaskedStderr);
            let lines = lines.with_target(false).with_filter(ours);
            // No other code in this program sets a subscriber.
            let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines));
            Ok(())
        }
        Some(other) => Err(format!("FLOW_LOG is \"{}\"; set it to spans, or remove it", visible(other))),
    }
}

/// Standard error, masked.
struct MaskedStderr;

impl Write for MaskedStderr {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        line(String::from_utf8_lossy(text).trim());
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_in_the_middle_of_a_change_is_masked_and_does_not_wait() {
        hide_secrets(&[Secret::new("key-of-this-test-9c41")]);
        let _change = lock(&CHANGE);
        assert!(!without_secrets("it was key-of-this-test-9c41").contains("9c41"));
        // Locked again by this thread, it would wait for ever.
        assert!(KNOWN.try_lock().is_ok());
    }
}
