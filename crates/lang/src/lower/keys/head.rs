//! Keys of a pipeline's head, of shared definitions, and of what stands directly in them.

use strum::VariantNames;

use super::Takes::{Boolean, Constant, Defined, Duration, Either, Field, Fields, Filled, Fixed, Id, Keys, List, Loose, Many, Name, Named};
use super::Takes::{Number, Of, Path, Secrets, Sentence, Size, Steps, Template, Value, Version, Whole, Word, Zone};
use super::Thing::{Channel, Policy, StyleGuide, Table};
use super::files::TEST_CASE;
use super::shared::LIMITS;
use super::work::{AGENT, MODEL, SCORECARD, TOOL};
use super::{KeyRule, KeyTable, key, later, required};
use crate::model::{FieldKind, PermissionMode, SqlEngine};

const IMPORTS: KeyRule = key!("imports", List(&Path), "files whose definitions this one may use");
const DATA_KEY: KeyRule = key!("data", Defined(&Keys(&DATA)), "tables by name");
const SECRETS: KeyRule = key!("secrets", Secrets, "names of secrets, each with one sentence for people");
const AGENTS: KeyRule = key!("agents", Defined(&Keys(&AGENT)), "agents by name: a model with instructions");
const MODELS: KeyRule = key!("models", Defined(&Keys(&MODEL)), "models by name; the one called default serves every agent without model");
const TOOLS: KeyRule = key!("tools", Defined(&Keys(&TOOL)), "tools by name");
const SCORECARDS: KeyRule = key!("scorecards", Defined(&Keys(&SCORECARD)), "scorecards by name: what a gate asks");
const POLICIES: KeyRule = key!("policies", Defined(&Keys(&POLICY)), "policies by name: what may be done");
const FLOW: KeyRule = key!("flow", Version, "version of the language: 1");

/// The head of a pipeline.
pub static PIPELINE: KeyTable = KeyTable {
    name: "pipeline",
    keys: &[
        FLOW,
        required!("name", Id, "id of the pipeline"),
        key!("description", Sentence, "what it does, in one sentence"),
        key!("inputs", Either(&[Keys(&SCHEMA_INPUTS), Defined(&Field)]), "what a run is given"),
        IMPORTS,
        DATA_KEY,
        key!("person", Keys(&PERSON), "who the run is for"),
        SECRETS,
        AGENTS,
        MODELS,
        TOOLS,
        SCORECARDS,
        key!("channels", Filled(&Of(Channel)), "the channels it can answer on; the first is the default"),
        key!("style_guide", Of(StyleGuide), "the style guide of what it says"),
        POLICIES,
        key!("policy", Of(Policy), "the policy in force for the whole file"),
        key!("limits", Keys(&LIMITS), "bounds of a whole run"),
        later!("conversation", Constant, "what is remembered between runs"),
        required!("steps", Steps, "the work, from top to bottom"),
        key!("outputs", Either(&[Named(&Value), Template]), "what a run gives: names and texts, or one text"),
        key!("on_failure", Steps, "steps that run when the run failed"),
        key!("finally", Steps, "steps that run after every ending"),
        key!("tests", Filled(&Keys(&TEST_CASE)), "test cases of this pipeline"),
    ],
};

/// A file of shared definitions.
pub static DEFINITIONS: KeyTable = KeyTable {
    name: "shared definitions",
    keys: &[
        FLOW,
        key!("description", Sentence, "what the file is for"),
        IMPORTS,
        DATA_KEY,
        SECRETS,
        AGENTS,
        MODELS,
        TOOLS,
        SCORECARDS,
        POLICIES,
    ],
};

/// `inputs` given by a JSON Schema.
pub static SCHEMA_INPUTS: KeyTable =
    KeyTable { name: "inputs", keys: &[required!("schema_file", Path, "a JSON Schema of all inputs, instead of fields")] };

/// The rules of one field.
pub static FIELD: KeyTable = KeyTable {
    name: "field",
    keys: &[
        required!("type", Word(FieldKind::VARIANTS), "what kind of value it is"),
        key!("required", Boolean, "whether it must be given"),
        key!("default", Constant, "its value when it is not given"),
        key!("enum", Filled(&Constant), "the only values allowed"),
        key!("pattern", Fixed, "a pattern that the text must match somewhere"),
        key!("min_length", Whole, "fewest characters of a text, or elements of a list"),
        key!("max_length", Whole, "most characters of a text, or elements of a list"),
        key!("minimum", Number, "smallest number"),
        key!("maximum", Number, "largest number"),
        key!("format", Fixed, "a format of JSON Schema, such as email"),
        key!("description", Sentence, "what it is, for people and models"),
        key!("example", Constant, "a sample value for people"),
        key!("pii", Boolean, "whether it holds personal data"),
        key!("items", Field, "the type or rules of a list's elements"),
        key!("fields", Fields, "the fields of an object"),
    ],
};

/// One table of `data`.
pub static DATA: KeyTable = KeyTable {
    name: "data",
    keys: &[
        required!("file", Path, "csv, tsv, xlsx, parquet, sqlite or duckdb"),
        key!("sheet", Fixed, "which sheet of an Excel file"),
        key!("table", Fixed, "which table of a database file"),
        key!("pii", Many(&Name), "columns with personal data"),
        key!(
            "columns",
            Named(&Word(&["text", "number", "integer", "boolean", "date", "datetime"])),
            "types of columns where guessing is wrong",
        ),
        key!("engine", Word(SqlEngine::VARIANTS), "which program answers queries on it"),
    ],
};

/// `person`.
pub static PERSON: KeyTable = KeyTable {
    name: "person",
    keys: &[
        required!("id", Loose, "whose run it is"),
        key!("from", Of(Table), "the table of data that holds the other fields"),
        key!("language", Value, "the person's language"),
        key!("time_zone", Zone, "the person's time zone"),
        key!("name", Value, "the person's name"),
        key!("email", Value, "the person's e-mail address"),
        key!("phone", Value, "the person's phone number"),
    ],
};

/// One policy.
pub static POLICY: KeyTable = KeyTable {
    name: "policy",
    keys: &[
        key!("description", Sentence, "what it is for"),
        key!("allowed_tools", Many(&Name), "tools that may be used"),
        key!("disallowed_tools", Many(&Name), "tools that may not be used"),
        key!("permission_mode", Word(PermissionMode::VARIANTS), "what happens to what no list names"),
        key!("resource_limits", Keys(&RESOURCE_LIMITS), "bounds, all above 0"),
        key!("file_access", Keys(&FILE_ACCESS), "which files may be touched"),
        key!("network_access", Keys(&NETWORK_ACCESS), "which hosts may be reached"),
        key!("sandbox", Word(&["required", "preferred", "none"]), "whether programs are shut in"),
        key!("approval_required", Many(&Name), "tools a person must confirm"),
    ],
};

/// `resource_limits` of a policy.
pub(crate) static RESOURCE_LIMITS: KeyTable = KeyTable {
    name: "resource_limits",
    keys: &[
        key!("time", Duration, "longest time"),
        key!("cost_usd", Number, "most money, in US dollars"),
        key!("tokens", Whole, "most tokens"),
        key!("memory", Size, "most memory"),
        key!("file_size", Size, "largest file"),
    ],
};

/// `file_access` of a policy.
pub(crate) static FILE_ACCESS: KeyTable = KeyTable {
    name: "file_access",
    keys: &[
        key!("read", Many(&Name), "patterns of files that may be read"),
        key!("write", Many(&Name), "patterns of files that may be written"),
    ],
};

/// `network_access` of a policy.
pub(crate) static NETWORK_ACCESS: KeyTable =
    KeyTable { name: "network_access", keys: &[key!("hosts", Many(&Name), "hosts that may be reached")] };
