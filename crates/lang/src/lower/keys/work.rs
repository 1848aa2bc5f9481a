//! Keys of agents, models, tools, scorecards and checks, and those that are in several places.

use strum::VariantNames;

use super::Takes::*;
use super::Thing::{Agent, Model, Policy, StyleGuide, Table, Tool};
use super::{KeyRule, KeyTable, Takes, key};
use crate::lower::presets::{ACP_PRESETS, PRESETS};
use crate::model::{Addition, AgentOutput, Api, Backoff, FailureKind, Grant, OnJudgeError, OutputWord, PlanStrategy, Reasoning, ToolCalls};

/// The key that every file begins with.
pub(crate) const FLOW: KeyRule = key("flow", Version, "version of the language: 1");

/// One agent.
pub static AGENT: KeyTable = KeyTable::of("agent").keys(&[
    key("model", Of(Model), "its model; left out: the one called default"),
    key("instructions", Either(&[Template, Keys(&FILE)]), "the system message: what the agent does and how"),
    key("tools", Many(&Of(Tool)), "tools it may call: server, or server.tool"),
    key("agents", Many(&Of(Agent)), "agents it may ask, each by a tool ask-NAME"),
    key("output", Fields, "the fields of its answers"),
    key("output_schema", Schema, "a JSON Schema of its answers, instead of output"),
    key("max_turns", Limit, "most rounds of tool calls"),
    key("limits", Keys(&LIMITS), "its own bounds"),
    key("policy", Of(Policy), "its own policy"),
    key("style_guide", Of(StyleGuide), "what style means in its prompts"),
]);

/// The keys of every model.
pub static MODEL: KeyTable = KeyTable::of("model").keys(&[
    key("provider", Word(&PROVIDER_NAMES), "who answers").required(),
    key("model", Template, "the provider's name for it"),
    key("base_url", Template, "address of the endpoint"),
    key("api_key", Template, "the key, from secrets or env"),
    key("temperature", Number, "how freely it chooses words"),
    key("max_output_tokens", Limit, "most tokens of one answer"),
    key("seed", Whole, "start of its random choices"),
    key("timeout", Duration, "time for one attempt"),
    key("retry", Keys(&RETRY), "tries again after a passing fault"),
    key("fallback", Many(&Of(Model)), "models that are tried after it"),
    key("price", Keys(&PRICE), "US dollars per million tokens"),
]);

/// What providers have besides the keys of [`MODEL`].
pub static PROVIDERS: &[&KeyTable] = &[
    &KeyTable::of("openai").keys(&[
        key("api", Word(Api::VARIANTS), "how the endpoint is spoken to"),
        TOOL_CALLS,
        REASONING,
        CONTEXT,
        ENDPOINT_HEADERS,
        ENDPOINT_QUERY,
        EXTRA,
        OMIT,
    ]),
    &KeyTable::of("anthropic").keys(&[TOOL_CALLS, REASONING, CONTEXT, ENDPOINT_HEADERS, ENDPOINT_QUERY, EXTRA, OMIT]),
    &KeyTable::of("ollama").keys(&[TOOL_CALLS, REASONING, CONTEXT, ENDPOINT_HEADERS, ENDPOINT_QUERY, EXTRA, OMIT]),
    &PRINTING_AGENT,
    &TALKING_AGENT,
    &KeyTable::of("tool").keys(&[
        key("tool", Of(Tool), "the tool that answers: server.tool, or another one of tools").required(),
        key("prompt", Fixed, "its argument that holds the prompt; left out: prompt"),
        key("system", Fixed, "its argument that holds the agent's instructions; left out: they stand before the prompt"),
        key("answer", Fixed, "where the answer stands in its result: reply.text; left out: all of it"),
    ]),
    &KeyTable::of("scripted").keys(&[key(
        "replies",
        Either(&[Path, Named(&Replies)]),
        "the file of scripted replies, or the replies by step",
    )
    .required()]),
    &KeyTable::of("replay").keys(&[key("folder", Path, "the folder of recordings").required()]),
];

const PROVIDER_NAMES: [&str; PROVIDERS.len()] = {
    let (mut names, mut at) = ([""; PROVIDERS.len()], 0);
    while at < names.len() {
        names[at] = PROVIDERS[at].name;
        at += 1;
    }
    names
};

const TOOL_CALLS: KeyRule =
    key("tool_calls", Word(ToolCalls::VARIANTS), "schema: for endpoints that cannot call tools but keep to a JSON Schema");

const REASONING: KeyRule =
    key("reasoning", Either(&[Word(&Reasoning::WORDS), Limit]), "how much it thinks before it answers: off, a word, or most tokens");
const CONTEXT: KeyRule = key("context", Limit, "size of its window in tokens; sent to Ollama, and longer prompts are not sent");
const ENDPOINT_HEADERS: KeyRule = key("headers", Named(&Loose), "more headers of each request, by name");
const ENDPOINT_QUERY: KeyRule = key("query", Named(&Value), "more query values of each request, by name");
const EXTRA: KeyRule = key("extra", Named(&Constant), "more keys of the body, passed on as they are");
/// The words of `omit`.
pub static OMITTED: &[&str] = <Addition as VariantNames>::VARIANTS;
const OMIT: KeyRule = key(
    "omit",
    List(&Word(<Addition as VariantNames>::VARIANTS)),
    "what flow leaves out of its requests, instead of what it knows of the endpoint",
);

const PRESET: KeyRule = key("preset", Word(&PRESET_NAMES), "a program that flow knows; the other keys change what it says");

const PRESET_NAMES: [&str; PRESETS.len()] = names_of(&PRESETS);
const ACP_PRESET_NAMES: [&str; ACP_PRESETS.len()] = names_of(&ACP_PRESETS);

const fn names_of<const N: usize>(presets: &[(&'static str, &'static str); N]) -> [&'static str; N] {
    let (mut names, mut at) = ([""; N], 0);
    while at < N {
        names[at] = presets[at].0;
        at += 1;
    }
    names
}

/// A program that prints one answer and ends.
pub(crate) static PRINTING_AGENT: KeyTable = KeyTable::of("cli").keys(&[
    PRESET,
    PROGRAM_KEY,
    key("prompt", Either(&[Word(PROMPT_PLACES), List(&Fixed)]), "stdin, or the words before the prompt as last argument"),
    key("options", Keys(&AGENT_OPTIONS), "words before other things that it is told"),
    key("output", Word(AgentOutput::WORDS), "what it prints"),
    key("answer", Keys(&AGENT_ANSWER), "where the parts of its answer stand in JSON"),
    PROGRAM_ENV,
    NETWORK,
    WRITES,
    AGENT_FOLDER,
    AGENT_READS,
    API_KEY_VARIABLE,
    BASE_URL_VARIABLE,
    AGENT_VERSION,
    AGENT_COST,
]);

/// A program that speaks the Agent Client Protocol.
pub(crate) static TALKING_AGENT: KeyTable = KeyTable::of("acp").keys(&[
    key("preset", Word(&ACP_PRESET_NAMES), "a program that flow knows; the other keys change what it says"),
    PROGRAM_KEY,
    key("options", Keys(&AGENT_OPTIONS), "words before things that it is told by its arguments"),
    PROGRAM_ENV,
    NETWORK,
    WRITES,
    AGENT_FOLDER,
    AGENT_READS,
    API_KEY_VARIABLE,
    BASE_URL_VARIABLE,
    AGENT_VERSION,
    AGENT_COST,
]);

const AGENT_FOLDER: KeyRule = key("folder", Path, "the folder that it works in and may read; left out: that of the file");
const AGENT_READS: KeyRule = key("reads", Many(&Path), "files and folders that it may read beside its folder");
const API_KEY_VARIABLE: KeyRule = key("api_key_variable", Fixed, "the variable of its environment for api_key");
const BASE_URL_VARIABLE: KeyRule = key("base_url_variable", Fixed, "the variable of its environment for base_url");
const AGENT_VERSION: KeyRule = key("version", Fixed, "the argument with which it tells its version");
const AGENT_COST: KeyRule = key("max_cost_usd", Positive, "US dollars that one call may cost");

/// Where a program finds its prompt, unless that is an argument.
pub(crate) const PROMPT_PLACES: &[&str] = &["stdin"];

/// What a program may be told: the keys are the words of `PromptOption`, which a test asks for.
pub(crate) static AGENT_OPTIONS: KeyTable = KeyTable::of("options").keys(&[
    key("model", List(&Fixed), "before the name of the model"),
    key("system", List(&Fixed), "before the instructions of the agent; without it they stand in the prompt"),
    key("allowed_tools", List(&Fixed), "before each tool that all policies allow"),
    key("disallowed_tools", List(&Fixed), "before each tool that a policy forbids"),
    key("max_turns", List(&Fixed), "before max_turns of the agent"),
    key("cost_usd", List(&Fixed), "before max_cost_usd of the model"),
    key("read_only", List(&Fixed), "where it may change nothing"),
    key("edit", List(&Fixed), "where it has folders to change"),
    key("sandboxed", List(&Fixed), "where it is in the sandbox of flow, in place of read_only and edit"),
    key("session", List(&Fixed), "before the session that continues"),
]);

/// `answer` of a program that prints JSON.
pub(crate) static AGENT_ANSWER: KeyTable = KeyTable::of("answer").keys(&[
    key("text", ANSWER, "its text"),
    key("ended", ANSWER, "what it prints when its answer is over; an answer without it is cut"),
    key("session", ANSWER, "the id by which a later call continues"),
    key("failed", ANSWER, "true, or anything that is not empty, if it failed"),
    key("error", ANSWER, "why it failed"),
    key("model", ANSWER, "the model that answered"),
    key("input_tokens", ANSWER, "tokens read; several places are added"),
    key("output_tokens", ANSWER, "tokens written; several places are added"),
    key("cost_usd", ANSWER, "US dollars"),
    key("cumulative", Boolean, "true if tokens and dollars are those of the whole session so far"),
    key("denied", ANSWER, "tools that it was not allowed to use"),
]);

const ANSWER: Takes = Many(&Either(&[Fixed, Keys(&ANSWER_PLACE)]));

/// One place in the JSON that a program prints.
pub(crate) static ANSWER_PLACE: KeyTable = KeyTable::of("answer place").keys(&[
    key("path", Fixed, "names of fields with dots between them").required(),
    key("only", Named(&Constant), "only of objects that hold these values at these paths"),
    key("all", Boolean, "true: all objects count, and not the last alone"),
]);

/// `price` of a model.
pub(crate) static PRICE: KeyTable = KeyTable::of("price")
    .keys(&[key("input", Number, "for what it reads").required(), key("output", Number, "for what it writes").required()]);

/// The keys of every tool.
pub static TOOL: KeyTable = KeyTable::of("tool").keys(&[
    key("description", Sentence, "what it does, for models and people"),
    key("with", Named(&Value), "arguments the author fixes"),
    key("allow", Many(&Name), "names that may be used; of an MCP server also with a pattern: get(Paris*)"),
    key("deny", Many(&Name), "names that may not be used"),
    key("timeout", Duration, "time for one call"),
    key("connect_timeout", Duration, "time to connect"),
    key("approve", Either(&[Boolean, List(&Fixed)]), "whether a person is asked each time"),
]);

const OPTIONAL: KeyRule = key("optional", Boolean, "true: a run continues without its tools when the server does not start or answer");
const INSTRUCTIONS: KeyRule = key("instructions", Boolean, "false: agents do not read the server's own instructions");
const PICTURES: KeyRule = key("pictures", Boolean, "true: agents see the pictures in its results, if their model takes pictures");
const QUESTIONS: KeyRule = key("questions", Boolean, "true: the server may ask a person during a call");

/// `auth` of an MCP server.
pub(crate) static SIGN_IN: KeyTable = KeyTable::of("auth").keys(&[
    key("grant", Word(Grant::VARIANTS), "client_credentials: the client itself has the right; login: a person signed in"),
    key("client_id", Template, "the name under which the authorization server knows this client"),
    key("client_secret", Template, "what proves it"),
    key("private_key", Template, "a P-256 key (PKCS#8, PEM) that proves it in place of a secret"),
    key("scopes", Many(&Fixed), "what is asked for"),
    key("issuer", Fixed, "the authorization server; without it the MCP server names one"),
    key("token_url", Fixed, "where tokens are fetched; without it the authorization server says so"),
]);

/// `program` of a step or a tool; the keys below stand beside it.
pub(crate) const PROGRAM_KEY: KeyRule = key("program", List(&Loose), "runs a program: its name, then each argument");
pub(crate) const PROGRAM_INPUT: KeyRule = key("input", Value, "what it reads from its standard input");
pub(crate) const PROGRAM_ENV: KeyRule = key("env", Environment, "its environment");
pub(crate) const PRINTS: KeyRule =
    key("output", Either(&[Word(OutputWord::WORDS), Fields]), "text, json, lines, or the fields of the JSON that it prints");
pub(crate) const PRINTS_SCHEMA: KeyRule = key("output_schema", Schema, "a JSON Schema of the JSON that it prints, instead of output");
pub(crate) const OK_EXITS: KeyRule = key("ok_exits", Many(&Whole), "the exit codes of success; left out: 0");
pub(crate) const READS_ONLY: KeyRule = key("reads_only", Boolean, "true: it changes nothing");
pub(crate) const NETWORK: KeyRule =
    key("network", Either(&[Boolean, Filled(&Name)]), "the hosts that it may reach; true: all of the network");
pub(crate) const WRITES: KeyRule = key("writes", Many(&Path), "folders that it may change");

/// `python` of a step or a tool.
pub(crate) const PYTHON_KEY: KeyRule = key("python", Either(CODE), "runs code in a sandbox");

pub(super) const VENV: KeyRule = key("venv", Path, "the folder of the virtual environment whose Python runs it");
pub(super) const REQUIRES: KeyRule = key("requires", Many(&Fixed), "packages that it needs");

const CODE: &[Takes] = &[Sentence, Keys(&PYTHON_CODE)];

/// Python code, with what it needs.
pub(crate) static PYTHON_CODE: KeyTable = KeyTable::of("python").keys(&[
    key("file", Path, "the file that holds the code"),
    key("code", Sentence, "the code, in place of file"),
    VENV,
    REQUIRES,
]);

/// The kinds of tools. The first key of each is the kind itself.
pub static TOOL_KINDS: &[&KeyTable] = &[
    &KeyTable::of("command").keys(&[
        key("command", Program, "a program that is an MCP server"),
        key("args", List(&Loose), "its arguments"),
        key("env", Environment, "its environment"),
        OPTIONAL,
        INSTRUCTIONS,
        PICTURES,
        QUESTIONS,
    ]),
    &KeyTable::of("url").keys(&[
        key("url", Template, "address of an MCP server"),
        key("headers", Named(&Loose), "headers by name"),
        key("auth", Keys(&SIGN_IN), "how a token is fetched (OAuth)"),
        OPTIONAL,
        INSTRUCTIONS,
        PICTURES,
        QUESTIONS,
    ]),
    &KeyTable::of("http").keys(&[
        key("http", Request, "a request: POST https://…"),
        key("headers", Named(&Loose), "headers by name"),
        key("query", Named(&Value), "query values by name"),
        key("body", Value, "what is sent"),
        key("arguments", Fields, "its arguments"),
    ]),
    &KeyTable::of("sql").keys(&[key("sql", Many(&Of(Table)), "tables of data that may be asked")]),
    &KeyTable::of("file").keys(&[key("file", Path, "a folder whose files may be read")]),
    &KeyTable::of("program").keys(&[
        PROGRAM_KEY,
        key("arguments", Fields, "its arguments, which stand in program and input as {{ with.NAME }}"),
        PROGRAM_INPUT,
        PROGRAM_ENV,
        PRINTS,
        PRINTS_SCHEMA,
        OK_EXITS,
        READS_ONLY,
        NETWORK,
        WRITES,
    ]),
    &KeyTable::of("python").keys(&[
        PYTHON_KEY,
        key("arguments", Fields, "its arguments, which the code finds as variables"),
        key("returns", Many(&Fixed), "names of the variables it gives").required(),
    ]),
    &KeyTable::of("pipeline").keys(&[key("pipeline", Path, "another pipeline; its inputs are the arguments")]),
    &KeyTable::of("smtp").keys(&[
        key("smtp", Template, "mail server: host:port"),
        key("from", Template, "sender address").required(),
        key("user", Template, "user name"),
        key("password", Template, "password"),
    ]),
];

/// One scorecard.
pub(crate) static SCORECARD: KeyTable = KeyTable::of("scorecard").keys(&[
    key("judge", Of(Agent), "the agent that judges"),
    key("on_judge_error", Word(OnJudgeError::VARIANTS), "what a judge that cannot answer means"),
    key("criteria", List(&Keys(&CRITERION)), "the questions; all must pass").required(),
]);

/// A scorecard that a step wrote.
pub(crate) static WRITTEN_SCORECARD: KeyTable =
    KeyTable::of("scorecard").keys(&[key("criteria", List(&Keys(&CRITERION)), "the questions; all must pass")]);

/// A plan that a model writes.
pub(crate) static WRITTEN_PLAN: KeyTable = KeyTable::of("written plan").keys(&[
    key("strategy", Word(PlanStrategy::VARIANTS), "parallel or sequential").required(),
    key("reasoning", Sentence, "why, in a sentence or two").required(),
    key("steps", List(&Keys(&WRITTEN_STEP)), "what is done").required(),
]);

/// A step of a plan that a model writes.
pub(crate) static WRITTEN_STEP: KeyTable = KeyTable::of("written step").keys(&[
    key("id", Id, "its id").required(),
    key("use", Name, "the agent or tool").required(),
    key("with", Constant, "arguments of a tool"),
    key("prompt", Sentence, "what an agent is asked"),
    key("depends_on", List(&Name), "ids of the steps whose outputs it gets"),
]);

/// One criterion.
pub(crate) static CRITERION: KeyTable = KeyTable::of("criterion").keys(&[
    key("id", Id, "its id").required(),
    key("when", Expression, "it is judged only if this is true"),
    key("description", Sentence, "what must be true, measurable").required(),
    key("expected", Sentence, "what a good answer looks like"),
    key("check", Keys(&CHECKS), "checks that need no model"),
    key("feedback", Template, "what the writer is told when the checks fail, in place of what they say"),
    key("judge", Boolean, "true: a judge is asked"),
]);

/// The checks that need no model.
pub static CHECKS: KeyTable = KeyTable::of("check").keys(&[
    key("contains", Many(&Loose), "all of these texts occur"),
    key("not_contains", Many(&Loose), "none of these texts occurs"),
    key("ignore_case", Boolean, "whether contains and not_contains find small and capital letters alike"),
    key("regex", Fixed, "the pattern matches somewhere"),
    key("equals", Value, "the value is this"),
    key("json_schema", Schema, "the value fits a JSON Schema"),
    key("max_length", Whole, "no longer, in the channel's unit"),
    key("min_length", Whole, "no shorter, in the channel's unit"),
    key("fits_channel", True, "fits the channel's own limits"),
    key("style_guide", True, "keeps to the style guide"),
    key("markdown", Either(&[Word(&["none", "full"]), List(&Word(&crate::model::Features::WORDS))]), "which Markdown may occur"),
    key("emojis", Either(&[Word(&["none"]), Whole]), "most emojis"),
    key("language", Language, "language of the text, two letters"),
    key("pii", Word(&["none"]), "no personal data"),
    key("links", Either(&[Word(&["none"]), List(&Fixed)]), "hosts that links may have"),
    key("readability", Number, "highest school grade"),
    key("numbers_from", Expression, "every figure in the text occurs in this value"),
    key("states_numbers", Expression, "every number of this value but 0 occurs in the text"),
    key("apart_from", Expression, "what the text quotes from this value is left out of what the other checks look at"),
    key("expression", Expression, "true means passed"),
]);

/// `{ file: … }` where a text or a schema may stand.
pub static FILE: KeyTable = KeyTable::of("file").keys(&[key("file", Path, "the file that holds it").required()]);

/// `limits` of a run or an agent.
pub(crate) static LIMITS: KeyTable = KeyTable::of("limits").keys(&[
    key("deadline", Duration, "time for the whole of it"),
    key("max_parallel", Limit, "most calls at once"),
    key("max_tokens", Limit, "most tokens, in and out"),
    key("max_cost_usd", Positive, "most money, in US dollars"),
    key("max_steps", Limit, "most step runs in total"),
]);

/// `retry`.
pub(crate) static RETRY: KeyTable = KeyTable::of("retry").keys(&[
    key("max_attempts", Limit, "all tries together"),
    key("delay", Duration, "the first wait"),
    key("backoff", Word(Backoff::VARIANTS), "how waits grow"),
    key("max_delay", Duration, "the longest wait"),
    key("jitter", Boolean, "whether waits are shortened by chance"),
    key("on", Filled(&Word(FailureKind::RETRYABLE)), "which failures are tried again"),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Service;

    #[test]
    fn every_service_has_its_row() {
        for name in Service::VARIANTS {
            assert!(PROVIDER_NAMES.contains(name), "{name} has no row in PROVIDERS");
        }
    }
}
