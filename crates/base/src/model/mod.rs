//! The valid, immutable types of the language, with the place each came from. Only `lower` and `load` make them.
//!
//! A broken file gives these types too, as far as it could be read; the diagnostics beside them say what is wrong.
//! How to add a key: a field here (one that holds a text: its `TextKey` in `visit.rs`), its reading in `lower`, its use in `engine`, a line in `docs/language.md`.
//! How to add a step kind: see `step_kind.rs`; a provider: see [`Service`]; a body: see `channel/body`.

mod agent_program;
mod channel;
mod conversation;
mod defaults;
mod dialogue;
mod duration;
mod endpoint;
mod facts;
mod fields;
mod gate;
mod guarantee;
mod host_source;
mod hosts;
mod html;
mod interpreter;
mod json;
mod knowledge;
mod limits;
mod method;
mod moment;
mod own;
mod phrase;
mod pipeline;
mod planning;
mod program;
mod query;
mod root;
mod sample;
mod sending;
mod settings;
mod step;
mod step_kind;
pub mod step_path;
mod table;
mod task;
mod testing;
mod text;
mod thing;
mod typed;
mod untrusted;
mod visit;
mod work;
mod writer;

has_word!(
    ActKind, ArtefactKind, Body, FailureKind, FieldKind, FileMode, Guarantee, LengthUnit, Method, PlanStrategy, Root, SplitAt, Writer
);

pub use agent_program::{AgentAnswer, AgentOutput, AgentProgram, AgentProtocol, AnswerPlace, PrintMode, PromptOption};
pub use channel::{
    Body, Channel, Emojis, Features, Formatting, Humor, Languages, LengthUnit, Markup, Multilingual, Phrase, Split, SplitAt, StyleGuide,
    Tone, Words, spoken_together,
};
pub use conversation::{Conversation, History, HistoryBounds, LONGEST_SUMMARY, MessageRole, PastMessage, SUMMARY_STEP, newest};
pub(crate) use defaults::MOST_PLANS;
pub use defaults::{
    AGENT_PROGRAM_TIMEOUT, ANSWER_TOKENS, CALL_TIMEOUT, CONNECT_TIMEOUT, DEFAULT_MODEL, FOUND_PIECES, IDENTICAL_FAILURES, INDICATOR,
    KEPT_MESSAGES, MODEL_SILENCE, MODEL_TIMEOUT, MOST_CALLED, MOST_FOUND, MOST_PARALLEL, MOST_PARTS, MOST_PLAN_REPAIRS, MOST_PLAN_STEPS,
    MOST_REPAIRS, MOST_ROWS, MOST_STEP_RUNS, MOST_TRIES, MOST_TURNS, PERSON_NAME, QUERY_TIMEOUT, REDIRECTS, REPLY_TOKENS, SEARCH_TIMEOUT,
    SHORTEST_DESCRIPTION, STAGE_TIME, TOO_LONG, UNBOUNDED_ANSWER,
};
pub use dialogue::{DIALOGUE_CUT, DialogueEnd, DialogueSignal, DialogueStep, DialogueTurn, MOST_DIALOGUE_TURNS, Until};
pub use duration::{UnitError, duration_words, parse_duration, split_unit};
pub use endpoint::{Addition, Effort, EndpointSettings, Reasoning};
pub use facts::{AgentWork, CallTime, Effects, Inflow, OwnResult, RequestAddress, STDOUT, StepFacts, ToolName, asking_tool};
pub use fields::{Field, FieldKind, Shape, closes};
pub use gate::{Check, Criterion, GateStep, Judging, LetterCase, OnJudgeError, PlainCheck, Scorecard, ScorecardRef};
pub use guarantee::Guarantee;
pub use host_source::HostSource;
pub use hosts::{HostEntry, HostPort, ProgramNetwork, known_address};
pub use html::{LONGEST_REFERENCE, html_character};
pub use interpreter::{Interpreter, bare_name};
pub use json::{JsonError, is_default, json_kind, leading_json, read_json, read_own};
pub use knowledge::{FilePattern, Knowledge, PathMatcher, SearchMode, SearchStep};
pub use limits::{LimitPolicies, Limits, USER_POLICY};
pub use method::Method;
pub use moment::PlainMoment;
pub use own::{
    Named, Touch, is_code, is_data, is_file_ending, is_launched, is_table, loads_code, logins, named_by_commands, own_by_name,
    stays_hidden, unreadable,
};
pub use phrase::{contains_phrase, phrase_words};
pub use pipeline::{
    ActKind, DataKind, Outputs, PERSONAL, PermissionMode, Person, PersonSource, Pipeline, PipelineId, Policy, Program, ReadKind,
    SandboxMode, SecretReader, SqlEngine, VARIABLES, is_own_variable,
};
pub use planning::{PlanRules, PlanStep, PlanStrategy, ToolParameters, Usable, WrittenPlan, WrittenStep};
pub use program::{OutputWord, ProgramCommand, ProgramOutput, PythonCode, PythonNeeds, StartedBy, StartedCommand};
pub use query::{CompiledQuery, FilledPlace, FilledValue, PreparedQuery, QueryFault, QueryMistake, WrittenQuery};
pub use root::{Root, RootPlaces, Unbraced};
pub use sample::{PartWriter, ResultField, Sample, writer_among, writer_below};
pub use sending::{FileMode, GIVEN_FOR_EACH_PART, RECIPIENTS, SendKey, SendKeys, address_fault, header_fault, recipients};
pub use settings::{JournalSettings, Lint, LintPath, Settings, TelemetrySettings};
pub use step::{Backoff, FailureKind, ForEach, OnFailure, Retry, Step, StepStatus};
pub use step_kind::*;
pub use table::{
    CellForm, ColumnForm, ColumnKind, ColumnLook, Data, NumberForm, Separator, TableForm, TableLook, TableOddity, TextEncoding,
    separator_line,
};
pub use task::{Accept, AcceptItem, ArtefactKind, JudgingStep, TaskStep, WrittenArtefact, accept_id};
pub use testing::{
    CallPart, Channels, Expect, ExpectedCalls, JUDGE_CRITERION, JUDGE_REPLY, Layered, Mock, Purpose, Replies, ReplyBody, ReplySet,
    ScriptedReply, TestCase, TestFile, is_test_name, test_name,
};
pub use text::{Filling, Form, Read, Text, TextPlace};
pub use thing::Thing;
pub use typed::{typed, typed_for};
pub use untrusted::{ArgumentClass, UntrustedAnswer, UntrustedRule};
pub use visit::{Authored, Leaf, TextKey, Visit, with_inner};
pub use work::{
    Agent, Api, Approve, FilePart, Grant, Model, Preset, Price, Provider, ServerAuth, ServerKind, Service, Tool, ToolCalls, ToolKind,
    ToolModel, WireFormat,
};
pub use writer::Writer;
