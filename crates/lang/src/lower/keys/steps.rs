//! Keys of steps: those of every step, then those of each kind.

use super::Takes::*;
use super::Thing::{Agent, Channel, Knowledge, Policy, Scorecard, Step, StyleGuide, Tool};
use super::work::{
    CRITERION, FILE, NETWORK, OK_EXITS, PRINTS, PRINTS_SCHEMA, PROGRAM_ENV, PROGRAM_INPUT, PROGRAM_KEY, PYTHON_KEY, READS_ONLY, REQUIRES,
    RETRY, VENV, WRITES,
};
use super::{KeyRule, KeyTable, key};
use crate::model::{ArtefactKind, Unmet};
use strum::VariantNames;

/// What a step of a list has besides the keys of every step.
pub static STEP: KeyTable = KeyTable::of("step").keys(&[
    key("id", Id, "its id; others read its output as steps.ID.output").required(),
    key("needs", Many(&Of(Step)), "the steps that must be over before it; left out: the step above"),
    key("when", Expression, "it runs only if this is true"),
]);

/// The keys of every step, in a route too.
pub static EVERY_STEP: KeyTable = KeyTable::of("step").keys(&[
    key("name", Template, "a title for people"),
    key("for_each", Either(&[Expression, List(&Value)]), "repeats it for each element of a list"),
    key("as", Id, "a name for the element beside item"),
    key("max_parallel", Limit, "most elements at once"),
    key("fail_fast", Boolean, "whether the first failure cancels the other elements"),
    key("timeout", Duration, "time for one attempt"),
    key("deadline", Duration, "time for all attempts and waits"),
    key("retry", Keys(&RETRY), "tries again after a passing fault"),
    key("on_failure", Of(Step), "stop, continue, or the id of a later step that runs only then"),
    key("cache", Duration, "how long an equal step's result is used again"),
    key("phase", Fixed, "a label in the record"),
    key("pii", Boolean, "whether its output holds personal data"),
    key("once", Boolean, "after a crash flow asks instead of running it again"),
]);

/// `history`: only what the agent itself was asked and said.
pub(crate) const OWN_HISTORY: &str = "own";

/// `history`: nothing, and what the agent is asked and says is kept.
pub(crate) const KEPT_HISTORY: &str = "kept";

const OUTPUT: KeyRule = key("output", Fields, "the fields of its output");
const OUTPUT_SCHEMA: KeyRule = key("output_schema", Schema, "a JSON Schema of its output, instead of output");
const IDEMPOTENCY_KEY: KeyRule = key("idempotency_key", Template, "a key by which the receiver knows a repeated call");
const WITH: KeyRule = key("with", Named(&Value), "what it is given, by name");
const HISTORY: KeyRule = key(
    "history",
    Either(&[Boolean, Word(&[OWN_HISTORY, KEPT_HISTORY])]),
    "whether it sees the conversation; own: its own part of it; kept: none, but that is stored",
);
const ATTACH: KeyRule = key("attach", Many(&Expression), "files the model sees");

/// The kinds of steps. The first key of each is the kind itself.
pub static KINDS: &[&KeyTable] = &[
    &AGENT, &TOOL, &SET, &HTTP, &SQL, &PROGRAM, &PYTHON, &READ, &SEARCH, &PLAN, &TASK, &DIALOGUE, &ROUTE, &GROUP, &REPEAT, &CALL, &FORMAT,
    &GATE, &APPROVAL, &SEND, &WAIT, &STOP,
];

static AGENT: KeyTable = KeyTable::of("agent").keys(&[
    key("agent", Of(Agent), "asks an agent"),
    key("prompt", Template, "what it is asked").required(),
    key("model", Template, "another model for this step"),
    OUTPUT,
    OUTPUT_SCHEMA,
    ATTACH,
    HISTORY,
]);

static TOOL: KeyTable = KeyTable::of("tool").keys(&[key("tool", Of(Tool), "calls a tool"), WITH, OUTPUT, OUTPUT_SCHEMA, IDEMPOTENCY_KEY]);

static SET: KeyTable = KeyTable::of("set").keys(&[key("set", Value, "gives a value")]);

static HTTP: KeyTable = KeyTable::of("http").keys(&[
    key("http", Request, "sends a request: GET https://…"),
    key("headers", Named(&Loose), "headers by name"),
    key("query", Named(&Value), "query values by name"),
    key("body", Value, "what is sent"),
    OUTPUT,
    OUTPUT_SCHEMA,
    IDEMPOTENCY_KEY,
]);

static SQL: KeyTable = KeyTable::of("sql").keys(&[
    key("sql", Either(&[Template, Keys(&FILE)]), "asks the tables; {{ … }} in the query is a value, never a part of it"),
    key("with", Named(&Value), "values for $name in the query"),
    key("one", Boolean, "only the first row"),
    key("max_rows", Limit, "most rows"),
]);

static PROGRAM: KeyTable =
    KeyTable::of("program").keys(&[PROGRAM_KEY, PROGRAM_INPUT, PROGRAM_ENV, PRINTS, PRINTS_SCHEMA, OK_EXITS, READS_ONLY, NETWORK, WRITES]);

static PYTHON: KeyTable = KeyTable::of("python").keys(&[
    PYTHON_KEY,
    key("with", Named(&Value), "variables by name"),
    key("returns", Many(&Fixed), "names of the variables it gives").required(),
]);

pub(crate) static RESOURCE: KeyTable = KeyTable::of("read").keys(&[
    key("server", Of(Tool), "the MCP server, by its name in tools").required(),
    key("uri", Template, "the URI of the resource").required(),
]);

static READ: KeyTable = KeyTable::of("read").keys(&[
    key("read", Either(&[Many(&Template), Keys(&RESOURCE)]), "reads a file, a list of files, or a resource of an MCP server"),
    key("type", Word(&["text", "table", "document", "image"]), "what the file is, when guessing is wrong"),
]);

static SEARCH: KeyTable = KeyTable::of("search").keys(&[
    key("search", Of(Knowledge), "finds pieces of documents"),
    key("for", Template, "what is looked for").required(),
    key("top", Limit, "most pieces; left out: 5"),
]);

static PLAN: KeyTable = KeyTable::of("plan").keys(&[
    key("plan", Of(Agent), "lets an agent plan steps and does them"),
    key("prompt", Template, "what it is asked").required(),
    key("may_use", Many(&Either(&[Of(Agent), Of(Tool)])), "the agents and tools a plan may use").required(),
    ATTACH,
    key("max_steps", Limit, "most steps of a plan"),
    key("max_parallel", Limit, "most steps at once"),
    key("rounds", Limit, "most plans"),
    key("check", Of(Agent), "an agent that says whether the work is done"),
    HISTORY,
]);

static TASK: KeyTable = KeyTable::of("task").keys(&[
    key("task", Of(Agent), "lets an agent try until its work is accepted"),
    key("prompt", Template, "what it is asked").required(),
    key("artefact", Either(&[Word(ArtefactKind::VARIANTS), Template]), "what it makes: text, sql or python").required(),
    key("accept", Either(&[Of(Scorecard), List(&Either(&[Template, Keys(&CRITERION)]))]), "what its work must meet").required(),
    key("judge", Of(Agent), "the agent that judges"),
    ATTACH,
    key("with", Named(&Value), "variables of its code, by name"),
    key("pictures", Boolean, "whether the judge sees the pictures that its code makes"),
    VENV,
    REQUIRES,
    key("max_attempts", Limit, "most tries"),
    key("stop_on_identical_failures", Limit, "gives up after so many equal failures"),
    HISTORY,
]);

static DIALOGUE: KeyTable = KeyTable::of("dialogue").keys(&[
    key("dialogue", List(&Of(Agent)), "lets two or more agents talk in turns"),
    key("topic", Template, "what they talk about").required(),
    ATTACH,
    key("max_turns", Limit, "most turns of all together"),
    key("until", Keys(&UNTIL), "when they are done before that; any of it"),
    key("limits", Keys(&DIALOGUE_LIMITS), "bounds of the whole dialogue"),
    key("policy", Of(Policy), "its policy"),
    key("summary", Of(Agent), "the agent that sums up"),
]);

/// `until` of a dialogue.
pub(crate) static UNTIL: KeyTable = KeyTable::of("until").keys(&[
    key("all_say", Name, "a word that is the last line of the last turn of each agent"),
    key("judge", Of(Agent), "the agent that says whether they agree"),
    key("repeats", Limit, "so many turns in a row say nothing new"),
    key("expression", Expression, "true or false of turns and turn"),
]);

/// `limits` of a dialogue.
pub(crate) static DIALOGUE_LIMITS: KeyTable = KeyTable::of("dialogue limits").keys(&[
    key("deadline", Duration, "time for all turns"),
    key("max_tokens", Limit, "most tokens, in and out"),
    key("max_cost_usd", Number, "most money, in US dollars"),
]);

static ROUTE: KeyTable = KeyTable::of("route").keys(&[
    key("route", Expression, "does the first case that fits"),
    key("cases", Filled(&Keys(&CASE)), "the cases").required(),
    key("otherwise", Otherwise, "what is done when no case fits"),
]);

static GROUP: KeyTable = KeyTable::of("steps").keys(&[
    key("steps", Steps, "does several steps as one; its output has theirs by id"),
    key("parallel", Boolean, "whether they have no order but that of needs"),
]);

/// Keys of `repeat`.
pub(crate) static ROUNDS: KeyTable = KeyTable::of("repeat").keys(&[
    key("until", Expression, "read after each round; true ends it").required(),
    key("at_most", Limit, "most rounds, 1 to 100").required(),
    key("unmet", Word(Unmet::VARIANTS), "what happens when until is false after the last round"),
    key("stop_on_same", Limit, "ends it after so many rounds in which nothing that until reads has changed"),
]);

static REPEAT: KeyTable = KeyTable::of("repeat").keys(&[
    key("repeat", Keys(&ROUNDS), "does its steps again and again, until an expression is true"),
    key("steps", Steps, "the steps of each round; they read the round before as previous"),
]);

static CALL: KeyTable = KeyTable::of("call").keys(&[
    key("call", Path, "runs another pipeline"),
    key("with", Named(&Value), "its inputs"),
    key("channel", Either(&[Of(Channel), Template]), "its channel, if not the run's"),
]);

static FORMAT: KeyTable = KeyTable::of("format").keys(&[
    key("format", Template, "makes a text fit a channel"),
    key("channel", Of(Channel), "another channel than the run's"),
    key("style_guide", Of(StyleGuide), "another style guide than the file's"),
]);

static GATE: KeyTable = KeyTable::of("gate").keys(&[
    key("gate", Many(&Of(Scorecard)), "judges a value by scorecards"),
    key("of", Expression, "what is judged").required(),
    key("with", Named(&Value), "names for checks and judge"),
    key("judge", Of(Agent), "the agent that judges, for scorecards without one"),
    key("refine", Of(Step), "the step that tries once more"),
    key("otherwise", Template, "what the person gets when the gate is not met"),
]);

static APPROVAL: KeyTable = KeyTable::of("approval").keys(&[
    key("approval", Template, "asks a person, and waits for the answer"),
    key("show", Value, "what the person sees"),
    key("form", Either(&[Fields, Expression]), "what the person fills in: fields, or a list of questions that a step gave"),
    key("on_timeout", Of(Step), "reject, or the id of a later step that runs only when nobody answered within timeout"),
]);

static SEND: KeyTable = KeyTable::of("send").keys(&[
    key("send", Of(Tool), "delivers to stdout or a tool"),
    key("of", Expression, "the parts or the text").required(),
    key("with", Named(&Value), "what it says to the receiver: to, subject, name"),
    IDEMPOTENCY_KEY,
]);

static WAIT: KeyTable = KeyTable::of("wait").keys(&[key("wait", Moment, "waits, or until a time")]);

static STOP: KeyTable = KeyTable::of("stop")
    .keys(&[key("stop", Word(&["succeeded", "failed"]), "ends the run"), key("reason", Template, "why; becomes the failure's message")]);

/// What a case of a route has besides the keys of its step.
pub static CASE: KeyTable = KeyTable::of("case").keys(&[
    key("id", Id, "its id").required(),
    key("equals", Many(&Fixed), "it fits when the value is one of these texts, exactly"),
    key("phrases", Many(&Name), "it fits when one of these occurs"),
    key("unless", Many(&Name), "it does not fit when one of these occurs, whatever else is true"),
    key("when", Expression, "it fits when this is true"),
]);

/// A case that has steps of its own.
pub static CASE_STEPS: KeyTable = KeyTable::of("case").keys(&[
    key("id", Id, "its id").required(),
    key("equals", Many(&Fixed), "it fits when the value is one of these texts, exactly"),
    key("phrases", Many(&Name), "it fits when one of these occurs"),
    key("unless", Many(&Name), "it does not fit when one of these occurs, whatever else is true"),
    key("when", Expression, "it fits when this is true"),
    key("steps", Steps, "what is done").required(),
]);

/// `otherwise` of a route with steps of its own.
pub static OTHERWISE_STEPS: KeyTable = KeyTable::of("otherwise").keys(&[key("steps", Steps, "what is done").required()]);
