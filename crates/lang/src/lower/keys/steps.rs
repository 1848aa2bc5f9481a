//! Keys of steps: those of every step, then those of each kind.

use super::Takes::{
    Boolean, Constant, Duration, Either, Expression, Fields, Filled, Fixed, Id, Keys, Limit, List, Loose, Many, Moment, Name,
};
use super::Takes::{Named, Of, Otherwise, Path, Request, Schema, Sentence, Steps, Template, Value, Word};
use super::Thing::{Agent, Channel, Policy, Scorecard, Step, StyleGuide, Tool};
use super::shared::{FILE, LIMITS, RETRY};
use super::work::CRITERION;
use super::{KeyRule, KeyTable, key, later, required};

/// What a step of a list has besides the keys of every step.
pub static STEP: KeyTable = KeyTable {
    name: "step",
    keys: &[
        required!("id", Id, "its id; others read its output as steps.ID.output"),
        key!("needs", Many(&Of(Step)), "the steps that must be over before it; left out: the step above"),
        key!("when", Expression, "it runs only if this is true"),
    ],
};

/// The keys of every step, in a route too.
pub static EVERY_STEP: KeyTable = KeyTable {
    name: "step",
    keys: &[
        key!("name", Template, "a title for people"),
        key!("for_each", Either(&[Expression, List(&Value)]), "repeats it for each element of a list"),
        key!("as", Id, "a name for the element beside item"),
        key!("max_parallel", Limit, "most elements at once"),
        key!("fail_fast", Boolean, "whether the first failure cancels the other elements"),
        key!("timeout", Duration, "time for one attempt"),
        key!("deadline", Duration, "time for all attempts and waits"),
        key!("retry", Keys(&RETRY), "tries again after a passing fault"),
        key!("on_failure", Of(Step), "stop, continue, or the id of a later step that runs only then"),
        key!("cache", Duration, "how long an equal step's result is used again"),
        key!("phase", Fixed, "a label in the record"),
        key!("pii", Boolean, "whether its output holds personal data"),
        key!("once", Boolean, "after a crash flow asks instead of running it again"),
    ],
};

const OUTPUT: KeyRule = key!("output", Fields, "the fields of its output");
const OUTPUT_SCHEMA: KeyRule = key!("output_schema", Schema, "a JSON Schema of its output, instead of output");
const IDEMPOTENCY_KEY: KeyRule = key!("idempotency_key", Template, "a key by which the receiver knows a repeated call");
const WITH: KeyRule = key!("with", Named(&Value), "what it is given, by name");
const ATTACH: KeyRule = key!("attach", Many(&Expression), "files the model sees");

/// The kinds of steps. The first key of each is the kind itself.
pub static KINDS: &[&KeyTable] = &[
    &AGENT, &TOOL, &SET, &HTTP, &SQL, &PYTHON, &READ, &PLAN, &TASK, &DIALOGUE, &ROUTE, &CALL, &FORMAT, &GATE, &APPROVAL, &SEND, &WAIT,
    &STOP,
];

static AGENT: KeyTable = KeyTable {
    name: "agent",
    keys: &[
        key!("agent", Of(Agent), "asks an agent"),
        required!("prompt", Template, "what it is asked"),
        key!("model", Template, "another model for this step"),
        OUTPUT,
        OUTPUT_SCHEMA,
        ATTACH,
        later!("history", Boolean, "whether it sees the conversation"),
    ],
};

static TOOL: KeyTable =
    KeyTable { name: "tool", keys: &[key!("tool", Of(Tool), "calls a tool"), WITH, OUTPUT, OUTPUT_SCHEMA, IDEMPOTENCY_KEY] };

static SET: KeyTable = KeyTable { name: "set", keys: &[key!("set", Value, "gives a value")] };

static HTTP: KeyTable = KeyTable {
    name: "http",
    keys: &[
        key!("http", Request, "sends a request: GET https://…"),
        key!("headers", Named(&Loose), "headers by name"),
        key!("query", Named(&Value), "query values by name"),
        key!("body", Value, "what is sent"),
        OUTPUT,
        OUTPUT_SCHEMA,
        IDEMPOTENCY_KEY,
    ],
};

static SQL: KeyTable = KeyTable {
    name: "sql",
    keys: &[
        key!("sql", Sentence, "asks the tables"),
        key!("with", Named(&Value), "values for $name in the query"),
        key!("one", Boolean, "only the first row"),
        key!("max_rows", Limit, "most rows"),
    ],
};

static PYTHON: KeyTable = KeyTable {
    name: "python",
    keys: &[
        later!("python", Either(&[Fixed, Keys(&FILE)]), "runs code"),
        key!("with", Named(&Value), "variables by name"),
        required!("returns", List(&Fixed), "names of the variables it gives"),
    ],
};

static READ: KeyTable = KeyTable {
    name: "read",
    keys: &[
        key!("read", Many(&Template), "reads a file or a list of files"),
        key!("type", Word(&["text", "table", "document", "image"]), "what the file is, when guessing is wrong"),
    ],
};

static PLAN: KeyTable = KeyTable {
    name: "plan",
    keys: &[
        key!("plan", Of(Agent), "lets an agent plan steps and does them"),
        required!("prompt", Template, "what it is asked"),
        required!("may_use", Many(&Either(&[Of(Agent), Of(Tool)])), "the agents and tools a plan may use"),
        ATTACH,
        key!("max_steps", Limit, "most steps of a plan"),
        key!("max_parallel", Limit, "most steps at once"),
        key!("rounds", Limit, "most plans"),
        key!("check", Of(Agent), "an agent that says whether the work is done"),
    ],
};

static TASK: KeyTable = KeyTable {
    name: "task",
    keys: &[
        later!("task", Of(Agent), "lets an agent try until its work is accepted"),
        required!("prompt", Template, "what it is asked"),
        required!("artefact", Template, "what it makes: text, sql or python"),
        required!("accept", Either(&[Expression, Of(Scorecard), List(&Either(&[Template, Keys(&CRITERION)]))]), "what its work must meet"),
        key!("judge", Of(Agent), "the agent that judges"),
        ATTACH,
        key!("max_attempts", Limit, "most tries"),
        key!("stop_on_identical_failures", Limit, "gives up after so many equal failures"),
    ],
};

static DIALOGUE: KeyTable = KeyTable {
    name: "dialogue",
    keys: &[
        later!("dialogue", List(&Of(Agent)), "lets two or more agents talk"),
        required!("topic", Template, "what they talk about"),
        key!("folder", Template, "the folder they work in"),
        key!("max_turns", Limit, "most turns"),
        key!("until", Constant, "when they are done"),
        key!("limits", Keys(&LIMITS), "bounds of the dialogue"),
        key!("policy", Of(Policy), "its policy"),
        key!("summary", Of(Agent), "the agent that sums up"),
    ],
};

static ROUTE: KeyTable = KeyTable {
    name: "route",
    keys: &[
        key!("route", Expression, "does the first case that fits"),
        required!("cases", Filled(&Keys(&CASE)), "the cases"),
        key!("otherwise", Otherwise, "what is done when no case fits"),
    ],
};

static CALL: KeyTable = KeyTable {
    name: "call",
    keys: &[
        key!("call", Path, "runs another pipeline"),
        key!("with", Named(&Value), "its inputs"),
        key!("channel", Of(Channel), "its channel, if not the run's"),
    ],
};

static FORMAT: KeyTable = KeyTable {
    name: "format",
    keys: &[
        key!("format", Template, "makes a text fit a channel"),
        key!("channel", Of(Channel), "another channel than the run's"),
        key!("style_guide", Of(StyleGuide), "another style guide than the file's"),
    ],
};

static GATE: KeyTable = KeyTable {
    name: "gate",
    keys: &[
        key!("gate", Many(&Of(Scorecard)), "judges a value by scorecards"),
        required!("of", Expression, "what is judged"),
        key!("with", Named(&Value), "names for checks and judge"),
        key!("judge", Of(Agent), "the agent that judges, for scorecards without one"),
        key!("refine", Of(Step), "the step that tries once more"),
        key!("otherwise", Template, "what the person gets when the gate is not met"),
    ],
};

static APPROVAL: KeyTable = KeyTable {
    name: "approval",
    keys: &[
        later!("approval", Template, "asks a person"),
        key!("show", Value, "what the person sees"),
        key!("form", Fields, "what the person fills in"),
        key!("on_timeout", Fixed, "reject, or the id of a later step"),
    ],
};

static SEND: KeyTable = KeyTable {
    name: "send",
    keys: &[
        key!("send", Of(Tool), "delivers to stdout or a tool"),
        required!("of", Expression, "the parts or the text"),
        key!("with", Named(&Value), "to, subject, name"),
        IDEMPOTENCY_KEY,
    ],
};

static WAIT: KeyTable = KeyTable { name: "wait", keys: &[key!("wait", Moment, "waits, or until a time")] };

static STOP: KeyTable = KeyTable {
    name: "stop",
    keys: &[key!("stop", Word(&["succeeded", "failed"]), "ends the run"), key!("reason", Template, "why; becomes the failure's message")],
};

/// What a case of a route has besides the keys of its step.
pub static CASE: KeyTable = KeyTable {
    name: "case",
    keys: &[
        required!("id", Id, "its id"),
        key!("phrases", Many(&Name), "it fits when one of these occurs"),
        key!("when", Expression, "it fits when this is true"),
    ],
};

/// A case that has steps of its own.
pub static CASE_STEPS: KeyTable = KeyTable {
    name: "case",
    keys: &[
        required!("id", Id, "its id"),
        key!("phrases", Many(&Name), "it fits when one of these occurs"),
        key!("when", Expression, "it fits when this is true"),
        required!("steps", Steps, "what is done"),
    ],
};

/// `otherwise` of a route with steps of its own.
pub static OTHERWISE_STEPS: KeyTable = KeyTable { name: "otherwise", keys: &[required!("steps", Steps, "what is done")] };
