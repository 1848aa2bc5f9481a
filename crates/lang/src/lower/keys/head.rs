//! Keys of a pipeline's head, of shared definitions, and of what stands directly in them.

use strum::VariantNames;

use super::Takes::*;
use super::Thing::{Agent, Channel, Model, Policy, StyleGuide, Table};
use super::files::TEST_CASE;
use super::work::{AGENT, FLOW, LIMITS, MODEL, SCORECARD, TOOL};
use super::{KeyRule, KeyTable, Takes, key};
use crate::gate::FORMATS;
use crate::model::{
    ColumnKind, FieldKind, Guarantee, PermissionMode, SandboxMode, SearchMode, Separator, SqlEngine, TextEncoding, UntrustedAnswer,
    UntrustedRule,
};

// A const that names a static inside another value is named itself.
const EACH_TABLE: &Takes = &Keys(&DATA);
const EACH_KNOWLEDGE: &Takes = &Keys(&KNOWLEDGE);
const EACH_AGENT: &Takes = &Keys(&AGENT);
const EACH_MODEL: &Takes = &Keys(&MODEL);
const EACH_TOOL: &Takes = &Keys(&TOOL);
const EACH_SCORECARD: &Takes = &Keys(&SCORECARD);
const EACH_POLICY: &Takes = &Keys(&POLICY);

const IMPORTS: KeyRule = key("imports", List(&Path), "files whose definitions this one may use");
const DATA_KEY: KeyRule = key("data", Defined(EACH_TABLE), "tables by name");
const KNOWLEDGE_KEY: KeyRule = key("knowledge", Defined(EACH_KNOWLEDGE), "documents by name, to be searched by steps and agents");
const SECRETS: KeyRule = key("secrets", Secrets, "names of secrets, each with one sentence for people");
const AGENTS: KeyRule = key("agents", Defined(EACH_AGENT), "agents by name: a model with instructions");
const MODELS: KeyRule = key("models", Defined(EACH_MODEL), "models by name; the one called default serves every agent without model");
const TOOLS: KeyRule = key("tools", Defined(EACH_TOOL), "tools by name");
const SCORECARDS: KeyRule = key("scorecards", Defined(EACH_SCORECARD), "scorecards by name: what a gate asks");
const POLICIES: KeyRule = key("policies", Defined(EACH_POLICY), "policies by name: what may be done");

/// The head of a pipeline.
pub static PIPELINE: KeyTable = KeyTable::of("pipeline").keys(&[
    FLOW,
    key("name", Id, "id of the pipeline").required(),
    key("description", Sentence, "what it does, in one sentence"),
    key("inputs", Either(&[Keys(&SCHEMA_INPUTS), Defined(&Field)]), "what a run is given"),
    IMPORTS,
    DATA_KEY,
    KNOWLEDGE_KEY,
    key("person", Keys(&PERSON), "who the run is for"),
    SECRETS,
    AGENTS,
    MODELS,
    TOOLS,
    SCORECARDS,
    key("channels", Filled(&Of(Channel)), "the channels it can answer on; the first is the default"),
    key("style_guide", Of(StyleGuide), "the style guide of what it says"),
    POLICIES,
    key("policy", Of(Policy), "the policy in force for the whole file"),
    key("limits", Keys(&LIMITS), "bounds of a whole run"),
    key("guarantees", Filled(&Word(Guarantee::VARIANTS)), "what must hold for every run; the check says on which way it would not"),
    key("conversation", Keys(&CONVERSATION), "what runs with one person remember of each other"),
    key("steps", Steps, "the work, from top to bottom").required(),
    key("outputs", Either(&[Named(&Value), Template]), "what a run gives: names and texts, or one text"),
    key("on_failure", Steps, "steps that run when the run failed"),
    key("finally", Steps, "steps that run after every ending"),
    key("tests", Filled(&Keys(&TEST_CASE)), "test cases of this pipeline"),
]);

/// A file of shared definitions.
pub static DEFINITIONS: KeyTable = KeyTable::of("shared definitions").keys(&[
    FLOW,
    key("description", Sentence, "what the file is for"),
    IMPORTS,
    DATA_KEY,
    KNOWLEDGE_KEY,
    SECRETS,
    AGENTS,
    MODELS,
    TOOLS,
    SCORECARDS,
    POLICIES,
]);

/// `inputs` given by a JSON Schema.
pub static SCHEMA_INPUTS: KeyTable =
    KeyTable::of("inputs").keys(&[key("schema_file", Path, "a JSON Schema of all inputs, instead of fields").required()]);

/// The rules of one field.
pub static FIELD: KeyTable = KeyTable::of("field").keys(&[
    key("type", Word(FieldKind::VARIANTS), "what kind of value it is").required(),
    key("required", Boolean, "whether it must be given"),
    key("default", Constant, "its value when it is not given"),
    key("enum", Filled(&Constant), "the only values allowed"),
    key("pattern", Fixed, "a pattern that the text must match somewhere"),
    key("min_length", Whole, "fewest characters of a text, or elements of a list"),
    key("max_length", Whole, "most characters of a text, or elements of a list"),
    key("minimum", Number, "smallest number"),
    key("maximum", Number, "largest number"),
    key("format", Word(&FORMATS), "what a text must be, such as email"),
    key("description", Sentence, "what it is, for people and models"),
    key("example", Constant, "a sample value for people"),
    key("pii", Boolean, "whether it holds personal data"),
    key("untrusted", Boolean, "whether a stranger wrote it, such as the text of an e-mail"),
    key("items", Field, "the type or rules of a list's elements"),
    key("fields", Fields, "the fields of an object"),
]);

/// One table of `data`.
pub static DATA: KeyTable = KeyTable::of("data").keys(&[
    key("file", Path, "csv, tsv, xlsx, jsonl, parquet, sqlite or duckdb").required(),
    key("sheet", Fixed, "which sheet of an Excel file"),
    key("table", Fixed, "which table of a database file"),
    key("pii", Many(&Name), "columns with personal data"),
    key("untrusted", Boolean, "whether strangers wrote what is in it"),
    key("columns", Named(&Either(&[Word(ColumnKind::VARIANTS), Keys(&COLUMN)])), "types of columns where guessing is wrong"),
    key("separator", Word(Separator::VARIANTS), "what stands between the cells of a text file; left out: what its lines say"),
    key("encoding", Word(TextEncoding::VARIANTS), "the encoding of a text file; left out: UTF-8, or UTF-16 with its mark"),
    key("header_row", Limit, "the line or row with the names of the columns, from 1; what is above it is left out"),
    key("fill_merged", Boolean, "whether a merged cell of an Excel file is in all its places, not in the first alone"),
    key("errors", Word(&["empty"]), "reads cells of an Excel file without a value (errors, formulas) as empty"),
    key("engine", Word(SqlEngine::VARIANTS), "which program answers queries on it"),
]);

/// One column of `columns`.
pub(crate) static COLUMN: KeyTable = KeyTable::of("column").keys(&[
    key("type", Word(ColumnKind::VARIANTS), "what its cells are").required(),
    key("decimal", Word(&[",", "."]), "the sign before decimals, for number, amount and duration"),
    key("format", Sentence, "how dates or times are written, as in %d.%m.%Y"),
]);

/// One entry of `knowledge`.
pub static KNOWLEDGE: KeyTable = KeyTable::of("knowledge").keys(&[
    key("files", Many(&Either(&[Path, Template])), "documents: a path, a pattern such as docs/**/*.md, or {{ inputs.files }}").required(),
    key("search", Word(SearchMode::VARIANTS), "words, meaning, or both"),
    key("embed", Of(Model), "the model that makes vectors, for meaning and both"),
    key("description", Sentence, "what the documents hold, for models and people"),
    key("untrusted", Boolean, "whether strangers wrote them"),
]);

/// `person`.
pub static PERSON: KeyTable = KeyTable::of("person").keys(&[
    key("id", Loose, "whose run it is").required(),
    key("from", Of(Table), "the table of data that holds the other fields"),
    key("language", Value, "the person's language"),
    key("time_zone", Zone, "the person's time zone"),
    key("name", Value, "the person's name"),
    key("email", Value, "the person's e-mail address"),
    key("phone", Value, "the person's phone number"),
]);

/// `conversation`.
pub static CONVERSATION: KeyTable = KeyTable::of("conversation").keys(&[
    key("id", Loose, "which conversation it is, such as the id of the person").required(),
    key("message", Expression, "what the person typed").required(),
    key("keep", Limit, "most messages that a run sees"),
    key("max_tokens", Limit, "most tokens that these messages may be"),
    key("summary", Of(Agent), "the agent that sums up the messages that are left out"),
    key("store", Path, "the file it is kept in, instead of the project's own"),
]);

/// One policy.
pub static POLICY: KeyTable = KeyTable::of("policy").keys(&[
    key("description", Sentence, "what it is for"),
    key("allowed_tools", Many(&Name), "tools that may be used"),
    key("disallowed_tools", Many(&Name), "tools that may not be used"),
    key("permission_mode", Word(PermissionMode::VARIANTS), "what happens to what no list names"),
    key("resource_limits", Keys(&RESOURCE_LIMITS), "bounds, all above 0"),
    key("file_access", Keys(&FILE_ACCESS), "which files may be touched"),
    key("network_access", Keys(&NETWORK_ACCESS), "which hosts may be reached"),
    key("sandbox", Word(SandboxMode::VARIANTS), "whether programs are shut in"),
    key("approval_required", Many(&Name), "tools a person must confirm"),
    key(
        "untrusted",
        Either(&[UNTRUSTED_ANSWER, Keys(&UNTRUSTED), Named(&UNTRUSTED_ANSWER)]),
        "what happens when a model, a tool or a stranger wrote an argument",
    ),
]);

const UNTRUSTED_ANSWER: Takes = Word(UntrustedAnswer::VARIANTS);

/// `untrusted` of a policy: beside these the names of tools, with or without some of their arguments.
static UNTRUSTED: KeyTable = KeyTable::of("untrusted").keys(&[
    key("addresses", UNTRUSTED_ANSWER, "where requests go: addresses with all that they carry"),
    key("recipients", UNTRUSTED_ANSWER, "who gets something: e-mail addresses, phone numbers, accounts"),
    key("commands", UNTRUSTED_ANSWER, "what is run: arguments of programs, code"),
    key("paths", UNTRUSTED_ANSWER, "which files are written, or named to programs"),
    key(UntrustedRule::OTHERWISE, UNTRUSTED_ANSWER, "all that no other entry fits"),
]);

/// `resource_limits` of a policy.
pub(crate) static RESOURCE_LIMITS: KeyTable = KeyTable::of("resource_limits").keys(&[
    key("time", Duration, "longest time"),
    key("cost_usd", Number, "most money, in US dollars"),
    key("tokens", Whole, "most tokens"),
    key("memory", Size, "most memory"),
    key("file_size", Size, "largest file"),
]);

/// `file_access` of a policy.
pub(crate) static FILE_ACCESS: KeyTable = KeyTable::of("file_access").keys(&[
    key("read", Many(&Name), "patterns of files that may be read"),
    key("write", Many(&Name), "patterns of files that may be written"),
]);

/// `network_access` of a policy.
pub(crate) static NETWORK_ACCESS: KeyTable = KeyTable::of("network_access").keys(&[key("hosts", Many(&Name), "hosts that may be reached")]);
