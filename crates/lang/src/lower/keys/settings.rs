//! Keys of the project's `flow.toml` and of the user's own settings.

use super::Takes::*;
use super::{KeyRule, KeyTable, LIMITS, MODEL, POLICY, key};

const MODELS: KeyRule = key("models", Keys(&SETTINGS_MODELS), "the model called default, for files that have none");
const SMALLEST: KeyRule = key("limits", Keys(&LIMITS), "bounds of every run; the smallest of flags, file and settings counts");

/// The project's `flow.toml`.
pub(crate) static PROJECT_SETTINGS: KeyTable = KeyTable::of("flow.toml").keys(&[
    MODELS,
    SMALLEST,
    key("exclude", List(&Fixed), "files and folders that are not the project's own: flow validate and flow test leave them out"),
    key("lint", Keys(&LINT), "how findings are judged in this project"),
    key("journal", Keys(&PROJECT_JOURNAL), "how runs of this project are kept"),
]);

/// The user's own file.
pub(crate) static USER_SETTINGS: KeyTable = KeyTable::of("user settings").keys(&[
    MODELS,
    SMALLEST,
    key("policy", Keys(&POLICY), "what every run of this user may do at most"),
    key("private_hosts", List(&Fixed), "hosts in private networks that runs of this user may reach"),
    key("state_dir", Path, "the folder where runs of all projects are kept, in place of .flow in each"),
    key("sandbox", Keys(&USER_SANDBOX), "what the sandbox gives to programs on this machine"),
    key("journal", Keys(&USER_JOURNAL), "how runs of this user are kept"),
    key("telemetry", Keys(&USER_TELEMETRY), "where traces and metrics of runs are sent"),
]);

/// `telemetry` of a user.
pub(crate) static USER_TELEMETRY: KeyTable = KeyTable::of("telemetry").keys(&[
    key("endpoint", Fixed, "the address of an OpenTelemetry collector, such as http://127.0.0.1:4318"),
    key("content", Boolean, "whether what people, models and tools said is sent, too, masked"),
]);

/// `sandbox` of a user.
pub(crate) static USER_SANDBOX: KeyTable = KeyTable::of("sandbox").keys(&[key(
    "readable",
    List(&Fixed),
    "folders that every program in the sandbox may read, such as ~/.pyenv: where programs are installed",
)]);

const ENCRYPT: KeyRule = key("encrypt", Boolean, "whether what is kept of runs is encrypted, with the key in FLOW_JOURNAL_KEY");

/// `journal` of a project.
pub(crate) static PROJECT_JOURNAL: KeyTable = KeyTable::of("journal").keys(&[ENCRYPT]);

/// `journal` of a user.
pub(crate) static USER_JOURNAL: KeyTable =
    KeyTable::of("journal").keys(&[ENCRYPT, key("key_file", Fixed, "a file that holds the key, in place of FLOW_JOURNAL_KEY")]);

/// `models` in settings.
pub(crate) static SETTINGS_MODELS: KeyTable =
    KeyTable::of("models").keys(&[key("default", Keys(&MODEL), "the model of agents that name none")]);

/// `lint`.
pub(crate) static LINT: KeyTable = KeyTable::of("lint").keys(&[
    key("deny", List(&Fixed), "codes of warnings and remarks that count as errors"),
    key("paths", Named(&Keys(&LINT_PATH)), "what is left out, by pattern of paths from the project's folder"),
]);

/// One pattern of `lint.paths`.
pub(crate) static LINT_PATH: KeyTable = KeyTable::of("paths").keys(&[key("ignore", List(&Fixed), "codes that are not reported there")]);
