//! The kinds of steps: what their authors write, and what follows from it.
//!
//! How to add a kind: all of it here (its variant, its type, its arms of `facts` and `each_text`); in `lower` its table and the place of that in
//! the list (`keys/steps.rs`) and its reading (`kinds.rs`), each key once in `lower/tests/correct.rs`; in the engine a file in `steps/`, and one in
//! `tests/` with its line in `tests/mod.rs` (`World` and `build` make its runs); a row in docs/language.md, section 6. Of the helpers of `facts` a kind
//! that only computes takes `value(Never)`. The compiler
//! names the rest: what it gives (a type in `event/results.rs`, named in `rules/support/known.rs`), the engine's table (`steps/mod.rs`), its words (`report/graph/words.rs`). A text takes the
//! [`TextKey`] whose facts it shares, `Value` if only the step's own work reads it; else a new one, and the compiler names what is decided by it.
//! Messages that list all kinds change: `FLOW_UPDATE=1 cargo test --test it check` writes the `.out` files anew; the inline snapshots of
//! `lower/tests/words.rs` take the new word by hand.

use std::sync::Arc;

use super::phrase::contains_phrase;
use super::visit::{command_line, filling, named, request, texts};
use super::{
    AcceptItem, AgentWork, CALL_TIMEOUT, CallTime, DialogueStep, Field, FileMode, FilledValue, Filling, GateStep, History, Inflow,
    JudgingStep, Method, OwnResult, PipelineId, PlanStep, ProgramCommand, PythonCode, QUERY_TIMEOUT, SEARCH_TIMEOUT, ScorecardRef,
    SearchStep, Shape, Step, StepFacts, StyleGuide, TaskStep, Text, TextKey, Until, Visit,
};
use crate::source::{Span, Spanned};

/// The kinds of steps.
#[derive(Debug, Clone, PartialEq, strum::IntoStaticStr, Default)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each is the kind of that name in docs/language.md, section 6")]
pub enum StepKind {
    Agent(AgentStep),
    Tool(ToolStep),
    Set(Filling),
    Http(HttpStep),
    Sql(SqlStep),
    Program(ProgramCommand),
    Python(PythonStep),
    Read(ReadStep),
    Search(SearchStep),
    /// `read` of a resource of an MCP server.
    #[strum(serialize = "read")]
    Resource(ResourceStep),
    Plan(PlanStep),
    Task(TaskStep),
    Dialogue(DialogueStep),
    Route(RouteStep),
    #[strum(serialize = "steps")]
    Group(GroupStep),
    Repeat(RepeatStep),
    Call(CallStep),
    Format(FormatStep),
    Gate(GateStep),
    Approval(ApprovalStep),
    Send(SendStep),
    /// `wait: 5m`, or a time as text.
    Wait(Filling),
    Stop(StopStep),
    /// The kind could not be read or is not yet available; reported. It still counts as a known step.
    #[strum(serialize = "?")]
    #[default]
    Broken,
}

impl StepKind {
    /// The key of the kind.
    pub fn word(&self) -> &'static str {
        self.into()
    }

    /// The one place where a kind says what it has.
    pub fn facts(&self) -> StepFacts<'_> {
        use CallTime::{Later, Never, Start};
        let of = |calls_when| StepFacts { calls_when, ..StepFacts::default() };
        let value = |calls_when| StepFacts { only_computes: true, ..of(calls_when) };
        let data = StepFacts { is_hidden_at_door: true, timeout: Some(QUERY_TIMEOUT), ..value(Start) };
        let (with, texts_of) = (|named| Inflow { named, ..Inflow::default() }, |texts| Inflow { texts, ..Inflow::default() });
        match self {
            StepKind::Agent(step) => AgentWork::Agent(step).facts(),
            StepKind::Plan(step) => AgentWork::Plan(step).facts(),
            StepKind::Task(step) => AgentWork::Task(step).facts(),
            StepKind::Dialogue(step) => AgentWork::Dialogue(step).facts(),
            StepKind::Tool(step) => StepFacts {
                may_use: std::slice::from_ref(&step.tool),
                receiver: Some(&step.tool),
                with: &step.with,
                output: step.output.as_ref(),
                acts: true,
                inflow: with(&step.with),
                result: OwnResult::OfTool,
                ..of(Start)
            },
            StepKind::Http(step) => {
                let (method, output) = (Some(step.method), step.output.as_ref());
                StepFacts { method, timeout: Some(CALL_TIMEOUT), output, acts: !step.method.is_safe(), ..of(Start) }
            }
            StepKind::Sql(step) => StepFacts { with: &step.with, result: OwnResult::Rows(step), ..data },
            StepKind::Program(run) => {
                let work = (!run.reads_only).then_some("what the program does");
                StepFacts { starts: Some(run), timeout: Some(CALL_TIMEOUT), output: run.shape(), work, acts: !run.reads_only, ..of(Start) }
            }
            StepKind::Python(step) => StepFacts { with: &step.with, timeout: Some(CALL_TIMEOUT), inflow: with(&step.with), ..value(Start) },
            StepKind::Read(step) => StepFacts { result: OwnResult::Files(&step.paths), ..data },
            StepKind::Search(step) => StepFacts { knowledge: Some(&step.knowledge), timeout: Some(SEARCH_TIMEOUT), ..data },
            StepKind::Resource(step) => {
                StepFacts { receiver: Some(&step.server), work: Some("what the server does"), result: OwnResult::File, ..value(Start) }
            }
            StepKind::Send(step) => StepFacts {
                sends: true,
                with: &step.with,
                receiver: Some(&step.to),
                work: Some("the sending"),
                acts: true,
                result: OwnResult::Sent,
                ..of(Start)
            },
            StepKind::Call(step) => {
                let work = Some("the steps inside");
                StepFacts {
                    called: step.pipeline,
                    with: &step.with,
                    work,
                    is_open: true,
                    acts: true,
                    inflow: with(&step.with),
                    ..of(Later)
                }
            }
            StepKind::Gate(step) => {
                let inflow = texts_of([Some(&step.of), step.otherwise.as_ref()]);
                StepFacts { judges: Some(JudgingStep::Gate(step)), with: &step.with, work: Some("the judging"), inflow, ..of(Later) }
            }
            StepKind::Route(step) => {
                StepFacts { cases: (&step.cases, step.otherwise.as_ref()), work: Some("the steps inside"), ..of(Never) }
            }
            StepKind::Group(GroupStep { inner, parallel: _ })
            | StepKind::Repeat(RepeatStep { inner, until: _, at_most: _, unmet: _, stop_on_same: _ }) => {
                StepFacts { cases: (std::slice::from_ref(inner), None), work: Some("the steps inside"), ..of(Never) }
            }
            StepKind::Approval(step) => {
                StepFacts { output: Some(&step.gives), work: Some("the asking"), inflow: with(&step.defaults), ..of(Never) }
            }
            StepKind::Wait(_) => StepFacts { work: Some("the waiting"), ..of(Never) },
            StepKind::Stop(_) => StepFacts { work: Some("the stopping"), ..of(Never) },
            StepKind::Set(own) => StepFacts { inflow: Inflow { value: Some(own), ..Inflow::default() }, ..value(Never) },
            StepKind::Format(step) => {
                StepFacts { inflow: texts_of([Some(&step.text), None]), result: OwnResult::Formatted, ..value(Never) }
            }
            StepKind::Broken => StepFacts { is_open: true, acts: true, ..of(Never) },
        }
    }

    /// What it sees of the conversation, and the agent that sees it; `None`: nothing of it is seen or kept.
    pub fn history(&self) -> Option<(History, &Spanned<String>)> {
        let StepFacts { history, agents: [asked, _], .. } = self.facts();
        asked.filter(|_| history != History::Nothing).map(|asked| (history, asked))
    }

    /// The bounds of its rounds, if it repeats its steps.
    pub fn repeat(&self) -> Option<&RepeatStep> {
        if let StepKind::Repeat(step) = self { Some(step) } else { None }
    }

    /// The resource that it reads.
    pub fn resource(&self) -> Option<&ResourceStep> {
        if let StepKind::Resource(step) = self { Some(step) } else { None }
    }

    /// Everything that its author wrote under the keys of the kind.
    pub fn each_text<'p>(&'p self, owner: Span, visit: Visit<'_, 'p>) {
        match self {
            StepKind::Agent(AgentStep { agent: _, prompt, model, output: _, attach, history: _ }) => {
                texts(TextKey::Prompt, [prompt], visit);
                texts(TextKey::StepModel, model, visit);
                attach.iter().for_each(|value| filling(TextKey::Attach, "", owner, value, true, visit));
            }
            StepKind::Tool(ToolStep { tool: _, with, output: _, idempotency_key }) => {
                named(TextKey::Argument, with, visit);
                texts(TextKey::IdempotencyKey, idempotency_key, visit);
            }
            StepKind::Plan(step) => step.each_text(owner, visit),
            StepKind::Task(step) => step.each_text(owner, visit),
            StepKind::Dialogue(step) => step.each_text(owner, visit),
            StepKind::Set(value) => filling(TextKey::Value, "", owner, value, true, visit),
            StepKind::Wait(value) => filling(TextKey::Wait, "", owner, value, true, visit),
            StepKind::Http(HttpStep { method: _, url, headers, query, body, output: _, idempotency_key }) => {
                request(owner, url, headers, query, body.as_ref(), visit);
                texts(TextKey::IdempotencyKey, idempotency_key, visit);
            }
            StepKind::Sql(SqlStep { query, with, filled: _, one: _, max_rows: _ }) => {
                texts(TextKey::Sql, [query], visit);
                named(TextKey::Value, with, visit);
            }
            StepKind::Program(run) => command_line(owner, run, visit),
            StepKind::Python(PythonStep { run: PythonCode { code, file: _, returns: _, needs: _ }, with }) => {
                texts(TextKey::Code, [code], visit);
                named(TextKey::Value, with, visit);
            }
            StepKind::Search(SearchStep { knowledge: _, query, top: _ }) => texts(TextKey::Value, [query], visit),
            StepKind::Read(ReadStep { paths, kind: _ }) => filling(TextKey::Value, "", owner, paths, true, visit),
            StepKind::Resource(ResourceStep { server: _, uri }) => texts(TextKey::Argument, [uri], visit),
            StepKind::Route(RouteStep { subject, cases, otherwise }) => {
                texts(TextKey::Route, [subject], visit);
                for Case { id: _, phrases: _, equals: _, unless: _, when, steps: _, has_steps: _ } in cases.iter().chain(otherwise) {
                    texts(TextKey::CaseWhen, when, visit);
                }
            }
            // The texts of the steps inside are those of their own.
            StepKind::Group(_) => {}
            StepKind::Repeat(RepeatStep { inner: _, until, at_most: _, unmet: _, stop_on_same: _ }) => {
                texts(TextKey::RoundUntil, [until], visit);
            }
            StepKind::Call(CallStep { file: _, pipeline: _, with, channel }) => {
                named(TextKey::Value, with, visit);
                texts(TextKey::Value, channel, visit);
            }
            StepKind::Format(FormatStep { text, channel: _, style_guide: _ }) => texts(TextKey::Format, [text], visit),
            StepKind::Gate(step) => step.each_text(visit),
            StepKind::Approval(ApprovalStep { question, show, questions, gives: _, defaults, on_timeout: _ }) => {
                texts(TextKey::Value, [question], visit);
                show.iter().for_each(|value| filling(TextKey::Value, "", owner, value, true, visit));
                texts(TextKey::Questions, questions, visit);
                named(TextKey::Value, defaults, visit);
            }
            StepKind::Send(SendStep { to: _, of, with, idempotency_key }) => {
                texts(TextKey::Send, [of], visit);
                named(TextKey::SendValue, with, visit);
                texts(TextKey::IdempotencyKey, idempotency_key, visit);
            }
            StepKind::Stop(StopStep { succeeds: _, reason }) => texts(TextKey::StopReason, reason, visit),
            StepKind::Broken => {}
        }
    }
}

impl PlanStep {
    fn each_text<'p>(&'p self, owner: Span, visit: Visit<'_, 'p>) {
        let PlanStep { agent: _, prompt, may_use: _, attach, max_steps: _, max_parallel: _, rounds: _, check: _, history: _ } = self;
        texts(TextKey::Prompt, [prompt], visit);
        attach.iter().for_each(|value| filling(TextKey::Attach, "", owner, value, true, visit));
    }
}

impl TaskStep {
    fn each_text<'p>(&'p self, owner: Span, visit: Visit<'_, 'p>) {
        let TaskStep {
            agent: _,
            prompt,
            artefact,
            accept,
            judge: _,
            attach,
            with,
            pictures: _,
            needs: _,
            max_attempts: _,
            stop_on_identical_failures: _,
            history: _,
        } = self;
        texts(TextKey::Prompt, [prompt], visit);
        texts(TextKey::Value, [artefact], visit);
        for card in accept.cards() {
            match card {
                ScorecardRef::Named(_) => {}
                ScorecardRef::Written(text) => texts(TextKey::Accept, [text], visit),
            }
        }
        for item in accept.items() {
            match item {
                AcceptItem::Text(text) => texts(TextKey::Accept, [text], visit),
                AcceptItem::Criterion(criterion) => criterion.each_text(visit),
            }
        }
        attach.iter().for_each(|value| filling(TextKey::Attach, "", owner, value, true, visit));
        named(TextKey::Value, with, visit);
    }
}

impl DialogueStep {
    fn each_text<'p>(&'p self, owner: Span, visit: Visit<'_, 'p>) {
        let DialogueStep { agents: _, topic, attach, max_turns: _, until, limits: _, summary: _, policy: _ } = self;
        texts(TextKey::Prompt, [topic], visit);
        attach.iter().for_each(|value| filling(TextKey::Attach, "", owner, value, true, visit));
        let Until { all_say: _, judge: _, repeats: _, expression } = until;
        texts(TextKey::Until, expression, visit);
    }
}

impl GateStep {
    fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let GateStep { scorecards, of, with, judge: _, refine: _, otherwise } = self;
        for scorecard in scorecards {
            match scorecard {
                ScorecardRef::Named(_) => {}
                ScorecardRef::Written(text) => texts(TextKey::WrittenScorecard, [text], visit),
            }
        }
        texts(TextKey::Gate, [of], visit);
        named(TextKey::GateValue, with, visit);
        texts(TextKey::Otherwise, otherwise, visit);
    }
}

/// `agent`: one model with a prompt.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct AgentStep {
    pub agent: Spanned<String>,
    pub prompt: Text,
    pub model: Option<Text>,
    pub output: Option<Shape>,
    pub attach: Option<Filling>,
    /// What it sees of the conversation.
    pub history: History,
}

/// `tool`: one call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStep {
    /// `tool` or `server.tool`.
    pub tool: Spanned<String>,
    /// Arguments.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Shape of the result.
    pub output: Option<Shape>,
    /// Key for receivers that know keys.
    pub idempotency_key: Option<Text>,
}

/// `http`: one request.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct HttpStep {
    pub method: Method,
    pub url: Text,
    pub headers: Vec<(String, Text)>,
    pub query: Vec<(String, Filling)>,
    pub body: Option<Filling>,
    pub output: Option<Shape>,
    pub idempotency_key: Option<Text>,
}

/// `sql`: one query over `data` and tables read before.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlStep {
    /// The query as its engine gets it: plain text, with a `$name` in place of each `{{ … }}`.
    pub query: Text,
    /// Values for `$name`, those in the query too.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// The values that stand in the query as `{{ … }}`; each has its entry in `with`.
    pub filled: Vec<FilledValue>,
    /// Only the first row: where that is written.
    pub one: Option<Span>,
    /// Most rows (1,000).
    pub max_rows: Option<u64>,
}

/// `python`: code in a sandbox.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonStep {
    /// The code.
    pub run: PythonCode,
    /// Its variables.
    pub with: Vec<(Spanned<String>, Filling)>,
}

/// `read`: files into text and tables.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadStep {
    /// A path or a list of paths.
    pub paths: Filling,
    /// `text`, `table`, `document` or `image`, when guessing is wrong.
    pub kind: Option<Spanned<String>>,
}

/// `read: { server, uri }`: a resource of an MCP server, as a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceStep {
    /// The server's name in `tools`.
    pub server: Spanned<String>,
    /// Its URI.
    pub uri: Text,
}

/// Why a text is no URI of a resource, in words that follow it; `None`: it may be one. Which there are is the server's affair.
pub fn wrong_uri(uri: &str) -> Option<&'static str> {
    const LONGEST: usize = 8_000;
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    match uri.split_once(':') {
        _ if uri.is_empty() => Some("is empty"),
        _ if uri.len() > LONGEST => Some("is longer than 8,000 bytes"),
        _ if uri.chars().any(|c| c.is_whitespace() || c.is_control()) => Some("has white space in it, which a URI writes as %20"),
        Some((scheme, rest)) if is_scheme(scheme) && !rest.is_empty() => None,
        _ => Some("has no scheme, such as file: or docs:"),
    }
}

/// `route`: the first case that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteStep {
    /// What is compared with `equals`, and where phrases are looked for.
    pub subject: Text,
    /// The cases in order.
    pub cases: Vec<Case>,
    /// What is done when none fits; its id is `otherwise`.
    pub otherwise: Option<Case>,
}

/// One case of a route, or the one list of a group or a `repeat`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its id; empty for the list of a group or a `repeat`.
    pub id: Spanned<String>,
    /// Fits when one of these occurs in the subject.
    pub phrases: Vec<Spanned<String>>,
    /// Fits when the subject is one of these texts, exactly.
    pub equals: Vec<Spanned<String>>,
    /// Fits when this is true.
    pub when: Option<Text>,
    /// Never fits when one of these occurs in the subject.
    pub unless: Vec<Spanned<String>>,
    /// The one step it is (with the case's own id), or its `steps`.
    pub steps: Vec<Arc<Step>>,
    /// Whether it is a case with `steps`: then paths are `route/case/step`, else `route/case`, or `group/step`.
    pub has_steps: bool,
}

impl Case {
    /// The one list of a group or a `repeat`.
    pub fn list(span: Span, steps: Vec<Arc<Step>>) -> Case {
        Case::new(Spanned::new(String::new(), span), steps, false)
    }

    /// One without conditions.
    pub fn new(id: Spanned<String>, steps: Vec<Arc<Step>>, has_steps: bool) -> Case {
        Case { id, phrases: vec![], equals: vec![], when: None, unless: vec![], steps, has_steps }
    }

    /// Whether a text fits by `equals` or `phrases`; `None`: `unless` rules it out. `words` are those of the text.
    pub fn fits(&self, text: &str, words: &[String]) -> Option<bool> {
        let occurs = |phrases: &[Spanned<String>]| phrases.iter().any(|phrase| contains_phrase(words, &phrase.value));
        let is_open = !occurs(&self.unless);
        is_open.then(|| self.equals.iter().any(|value| value.value == text) || occurs(&self.phrases))
    }
}

/// `steps`: several steps as one.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupStep {
    /// The steps.
    pub inner: Case,
    /// Whether they have no order but that of their `needs`.
    pub parallel: bool,
}

/// `repeat`: its steps in rounds, until an expression is true.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatStep {
    /// The steps of each round.
    pub inner: Case,
    /// Read after each round, as one of its steps.
    pub until: Text,
    /// Most rounds, 1 to [`RepeatStep::MOST_ROUNDS`].
    pub at_most: u64,
    /// What happens when `until` is false after the last round.
    pub unmet: Unmet,
    /// Ends it after so many rounds in a row in which nothing that `until` reads has changed.
    pub stop_on_same: Option<u64>,
}

/// What becomes of a `repeat` that did not reach its aim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Unmet {
    /// The step fails (`limit`).
    #[default]
    Fail,
    /// The last round counts, and the run is `partial`.
    Keep,
}

impl RepeatStep {
    /// The greatest `at_most`.
    pub const MOST_ROUNDS: u64 = 100;
}

/// `call`: another pipeline as a step.
#[derive(Debug, Clone, PartialEq)]
pub struct CallStep {
    /// The file as written.
    pub file: Spanned<String>,
    /// What it names; `None`: could not be read, reported.
    pub pipeline: Option<PipelineId>,
    /// Its inputs.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Its channel, by its name; `None`: the run's, if it lists that.
    pub channel: Option<Text>,
}

/// `format`: a text for one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct FormatStep {
    /// The text.
    pub text: Text,
    /// Another channel than the run's.
    pub channel: Option<Arc<super::Channel>>,
    /// Another style guide than the file's.
    pub style_guide: Option<Arc<StyleGuide>>,
}

/// `approval`: a question to a person, with a form.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalStep {
    /// What is asked.
    pub question: Text,
    /// What the person sees.
    pub show: Option<Filling>,
    /// The list of questions that is the form, where a step made it (`form: steps.design.output.questions`); then `gives` is open.
    pub questions: Option<Text>,
    /// The fields of its output: `by`, `comment`, then those of the form.
    pub gives: Shape,
    /// Defaults of the form's fields that are filled in when it is asked.
    pub defaults: Vec<(Spanned<String>, Filling)>,
    /// The step that runs when nobody has answered within `timeout`; `None`: that counts as a no.
    pub on_timeout: Option<Spanned<String>>,
}

impl ApprovalStep {
    /// Fields of each output, before those of the form.
    pub const OWN: [&'static str; 2] = ["by", "comment"];

    /// The fields that the person fills in, as far as the file says them.
    pub fn form(&self) -> &[Field] {
        match &self.gives {
            Shape::Fields(fields) => &fields[ApprovalStep::OWN.len().min(fields.len())..],
            Shape::Schema(_) => &[],
        }
    }
}

/// `send`: to `stdout` or a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct SendStep {
    /// `stdout` or the name of a tool.
    pub to: Spanned<String>,
    /// Parts (of a `format` output) or text.
    pub of: Text,
    /// What it says to the receiver: see [`super::SendKeys`].
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Key for receivers that know keys.
    pub idempotency_key: Option<Text>,
}

impl SendStep {
    /// Whether it adds to what a file holds, as far as the file says it.
    pub fn may_append(&self) -> bool {
        let mode = self.with.iter().find(|(name, _)| name.value == "mode").map(|(_, value)| value);
        mode.is_some_and(|mode| !matches!(mode, Filling::Constant(word) if word.as_str() == Some(FileMode::Replace.word())))
    }
}

/// `stop`: ends the run.
#[derive(Debug, Clone, PartialEq)]
pub struct StopStep {
    /// `succeeded` (true) or `failed`.
    pub succeeds: bool,
    /// Becomes the failure's message.
    pub reason: Option<Text>,
}
