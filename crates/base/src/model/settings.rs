//! What holds for a project or a user, besides what a pipeline says.

use super::{Limits, Model, Policy};
use crate::source::Spanned;

/// Settings of `flow.toml`, or of the user's own file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// The model called `default`, for files that have none.
    pub default_model: Option<Model>,
    /// Bounds of every run; the smallest counts.
    pub limits: Limits,
    /// What every run of this user may do at most; only in the user's own file.
    pub policy: Option<Policy>,
    /// Hosts in private networks that may be reached; only in the user's own file.
    pub private_hosts: Vec<Spanned<String>>,
    /// Where runs of all projects are kept; only in the user's own file.
    pub state_dir: Option<Spanned<String>>,
    /// Folders that programs in the sandbox may read, beginning with `/` or `~/`; only in the user's own file.
    pub readable: Vec<Spanned<String>>,
    /// Patterns of paths of what lies in the project's folder and does not belong to it; only in `flow.toml`.
    pub exclude: Vec<Spanned<String>>,
    /// How findings are judged; only in `flow.toml`.
    pub lint: Lint,
    /// How runs are kept.
    pub journal: JournalSettings,
    /// Where telemetry goes; only in the user's own file: no file of a project makes data leave.
    pub telemetry: TelemetrySettings,
}

/// Where telemetry goes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TelemetrySettings {
    /// The address of a collector, as in `OTEL_EXPORTER_OTLP_ENDPOINT`, which takes precedence.
    pub endpoint: Option<Spanned<String>>,
    /// Whether spans have what people, models and tools said, masked.
    pub content: bool,
}

/// How runs are kept. A project can only ask for more than a person does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JournalSettings {
    /// What is kept is encrypted.
    pub encrypt: bool,
    /// The file that holds the key; only in the user's own file.
    pub key_file: Option<Spanned<String>>,
}

/// How findings are judged in a project.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lint {
    /// Codes of warnings and remarks that count as errors.
    pub deny: Vec<Spanned<String>>,
    /// What is left out, by pattern.
    pub paths: Vec<LintPath>,
}

/// Codes that are not told for some files.
#[derive(Debug, Clone, PartialEq)]
pub struct LintPath {
    /// A pattern of paths from the project's folder, `pipelines/old/**`.
    pub pattern: Spanned<String>,
    /// The codes.
    pub ignore: Vec<Spanned<String>>,
}
