//! `FLOW_LOG=spans`: the spans of runs, as lines on standard error.

use std::io::{Result, Write};

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Layer, SubscriberExt};

use super::refusal::Refusal;
use crate::adapter::environment;
use crate::diagnostic::visible;

/// Shows spans from now on, if the variable says so. Errors: it says something else.
pub(super) fn start() -> std::result::Result<(), Refusal> {
    match environment::text("FLOW_LOG").as_deref() {
        None | Some("") => Ok(()),
        Some("spans") => {
            // Those of the crates beneath hold headers and addresses.
            let ours = Targets::new().with_target("flow", Level::INFO);
            let lines = tracing_subscriber::fmt::layer().without_time().with_span_events(FmtSpan::CLOSE).with_writer(|| MaskedStderr);
            let lines = lines.with_target(false).with_filter(ours);
            // Nobody else sets one in this program.
            let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines));
            Ok(())
        }
        Some(other) => Err(Refusal::usage(format!("FLOW_LOG is \"{}\"; write spans, or remove the variable", visible(other)))),
    }
}

/// Standard error, masked.
struct MaskedStderr;

impl Write for MaskedStderr {
    fn write(&mut self, line: &[u8]) -> Result<usize> {
        super::tell::line(String::from_utf8_lossy(line).trim());
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
