//! What authors wrote, visited in one place: every step, and every text and value.
//!
//! Each struct and enum here is taken apart to its last field, so that a new one that may hold a text does not compile before somebody
//! says under which [`TextKey`] it stands; and each question about all texts (what reads a secret, what reaches a model) is a `match`
//! over the keys. How to add a field with a text: take it apart here.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Agent, Check, Conversation, Criterion, EndpointSettings, Filling, ForEach, Judging, Knowledge, Model, Outputs, Person, PersonSource,
    Pipeline, ProgramCommand, Provider, PythonCode, ReplyBody, ReplySet, Scorecard, ScriptedReply, SecretReader, ServerAuth, ServerKind,
    Step, Text, Tool, ToolKind,
};
use crate::source::{Span, Spanned};

/// Under which key a text or value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub enum TextKey {
    // Of models.
    ModelName,
    BaseUrl,
    ApiKey,
    /// A scripted reply, and when it answers.
    Reply,
    // Of agents.
    Instructions,
    // Of tools; the first four of `http` steps too.
    Url,
    Header,
    Query,
    Body,
    /// `with` of a tool.
    Fixed,
    /// `with` of a tool that is a pipeline.
    FixedInput,
    MailServer,
    Sender,
    User,
    Password,
    /// `client_secret` and `private_key` of a server.
    ClientSecret,
    /// An argument of an MCP server.
    ProgramArgument,
    Env,
    /// An entry of `files` of a knowledge.
    Documents,
    // Of scorecards.
    CriterionWhen,
    /// `feedback` of a criterion.
    Feedback,
    Check,
    CheckExpression,
    // Of the person.
    PersonId,
    PersonField,
    // Of the conversation.
    ConversationId,
    ConversationMessage,
    // Of any step.
    Name,
    When,
    ForEach,
    // Of kinds of steps.
    Prompt,
    StepModel,
    Attach,
    /// `with` of a `tool` step.
    Argument,
    IdempotencyKey,
    /// A value that only the work of its step reads (`set`, `read`, `with` of `sql` and `call`, what an `approval` asks).
    Value,
    Wait,
    Sql,
    /// Python.
    Code,
    Route,
    CaseWhen,
    /// When a `repeat` is over.
    RoundUntil,
    Format,
    Gate,
    /// A scorecard that a step wrote.
    WrittenScorecard,
    /// When a `dialogue` is over.
    Until,
    /// What the work of a `task` must meet: texts for its judge, or an expression that gives them.
    Accept,
    /// The questions of a form that a step wrote.
    Questions,
    /// `with` of a `gate` step.
    GateValue,
    Otherwise,
    Send,
    /// `with` of a `send` step.
    SendValue,
    StopReason,
    // Of the pipeline.
    Output,
}

impl TextKey {
    /// Whether `secrets` and `env` may be read here; of a person they may, too, but only before the run.
    fn may_read_secrets(self) -> bool {
        use TextKey::*;
        match self {
            ModelName | BaseUrl | ApiKey | Url | Header | Query | Body | Fixed | FixedInput | MailServer | Sender | User | Password
            | ClientSecret | ProgramArgument | Env => true,
            Reply | Instructions | Documents | CriterionWhen | Feedback | Check | CheckExpression | PersonId | PersonField
            | ConversationId | ConversationMessage | Name | When | ForEach | Prompt | StepModel | Attach | Argument | IdempotencyKey
            | Value | Wait | Sql | Code | Route | CaseWhen | RoundUntil | Format | Gate | WrittenScorecard | Accept | Until | Questions
            | GateValue | Otherwise | Send | SendValue | StopReason | Output => false,
        }
    }
}

/// A text, or a value without templates.
#[derive(Debug, Clone, Copy)]
pub enum Leaf<'p> {
    /// A text that knows its place.
    Text(&'p Text),
    /// A value that does not.
    Constant(&'p Value),
}

/// What an author wrote at one place.
#[derive(Debug, Clone, Copy)]
pub struct Authored<'p> {
    /// The key it is under.
    pub key: TextKey,
    /// The name it is under where names are free (headers, arguments, keys of maps); empty elsewhere.
    pub name: &'p str,
    /// The place of what it belongs to.
    pub owner: Span,
    /// Whether it is all that is under the key, and no element of a list or map.
    pub is_whole: bool,
    /// What it is.
    pub leaf: Leaf<'p>,
}

impl<'p> Authored<'p> {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&'p Text> {
        match self.leaf {
            Leaf::Text(text) => Some(text),
            Leaf::Constant(_) => None,
        }
    }
}

/// Told of each place, in the order of the file as far as the model keeps it.
pub type Visit<'v, 'p> = &'v mut dyn FnMut(Authored<'p>);

pub(super) fn texts<'p>(key: TextKey, texts: impl IntoIterator<Item = &'p Text>, visit: Visit<'_, 'p>) {
    texts.into_iter().for_each(|text| named_text(key, "", text, visit));
}

fn named_text<'p>(key: TextKey, name: &'p str, text: &'p Text, visit: Visit<'_, 'p>) {
    visit(Authored { key, name, owner: text.place.span, is_whole: true, leaf: Leaf::Text(text) });
}

pub(super) fn named<'p>(key: TextKey, list: &'p [(Spanned<String>, Filling)], visit: Visit<'_, 'p>) {
    list.iter().for_each(|(name, value)| filling(key, &name.value, name.span, value, true, visit));
}

pub(super) fn command_line<'p>(owner: Span, run: &'p ProgramCommand, visit: Visit<'_, 'p>) {
    let ProgramCommand { program: _, args, input, env, gives: _, ok_exits: _, reads_only: _, network: _, writes: _ } = run;
    texts(TextKey::ProgramArgument, args, visit);
    input.iter().for_each(|input| filling(TextKey::Body, "", owner, input, true, visit));
    env.iter().for_each(|(name, text)| named_text(TextKey::Env, &name.value, text, visit));
}

pub(super) fn filling<'p>(key: TextKey, name: &'p str, owner: Span, value: &'p Filling, is_whole: bool, visit: Visit<'_, 'p>) {
    match value {
        Filling::Constant(value) => visit(Authored { key, name, owner, is_whole, leaf: Leaf::Constant(value) }),
        Filling::Text(text) => visit(Authored { key, name, owner, is_whole, leaf: Leaf::Text(text) }),
        Filling::List(list) => list.iter().for_each(|value| filling(key, name, owner, value, false, visit)),
        Filling::Map(map) => map.iter().for_each(|(name, value)| filling(key, name, owner, value, false, visit)),
    }
}

/// The parts of a request: its address, and what is sent there.
pub(super) fn request<'p>(
    owner: Span,
    url: &'p Text,
    headers: &'p [(String, Text)],
    query: &'p [(String, Filling)],
    body: Option<&'p Filling>,
    visit: Visit<'_, 'p>,
) {
    texts(TextKey::Url, [url], visit);
    beside_address(owner, headers, query, visit);
    body.iter().for_each(|body| filling(TextKey::Body, "", owner, body, true, visit));
}

fn beside_address<'p>(owner: Span, headers: &'p [(String, Text)], query: &'p [(String, Filling)], visit: Visit<'_, 'p>) {
    headers.iter().for_each(|(name, text)| named_text(TextKey::Header, name, text, visit));
    query.iter().for_each(|(name, value)| filling(TextKey::Query, name, owner, value, true, visit));
}

/// These steps and those inside them, each before those inside it.
pub fn with_inner(steps: &[Arc<Step>]) -> Vec<&Arc<Step>> {
    let mut found = vec![];
    for step in steps {
        found.push(step);
        found.extend(step.kind.cases().flat_map(|case| with_inner(&case.steps)));
    }
    found
}

impl Pipeline {
    /// All its steps, those inside others too: of `steps`, `on_failure` and `finally`, each before those inside it.
    pub fn all_steps(&self) -> Vec<&Arc<Step>> {
        [&self.steps, &self.on_failure, &self.finally].into_iter().flat_map(|steps| with_inner(steps)).collect()
    }

    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Pipeline {
            name,
            description: _,
            asked: _,
            style_guides_there: _,
            folder: _,
            project: _,
            hash: _,
            inputs: _,
            data: _,
            prepared: _,
            person,
            conversation,
            secrets: _,
            agents,
            models,
            tools,
            scorecards,
            channels: _,
            lists_channels: _,
            style_guide: _,
            style_guide_at: _,
            policies: _,
            policy: _,
            limits: _,
            steps,
            outputs,
            on_failure,
            finally,
            guarantees: _,
        } = self;
        models.values().for_each(|model| model.each_text(visit));
        agents.values().for_each(|agent| agent.each_text(visit));
        tools.values().for_each(|tool| tool.each_text(visit));
        scorecards.values().for_each(|scorecard| scorecard.each_text(visit));
        person.iter().for_each(|person| person.each_text(name.span, visit));
        conversation.iter().for_each(|conversation| conversation.each_text(visit));
        [steps, on_failure, finally].into_iter().flat_map(|steps| with_inner(steps)).for_each(|step| step.each_text(visit));
        outputs.each_text(visit);
    }

    /// The texts that may read `secrets` and `env`, with whose they are.
    pub fn texts_with_secrets(&self) -> Vec<(SecretReader<'_>, Vec<&Text>)> {
        let models = self.models.iter().map(|(name, model)| (SecretReader::Model(name), model.texts()));
        let tools = self.tools.iter().map(|(name, tool)| (SecretReader::Tool(name), tool.texts()));
        let steps = self.all_steps().into_iter().map(|step| (SecretReader::Step(&step.id.value), step.texts_with_secrets()));
        models.chain(tools).chain(steps).collect()
    }
}

/// The texts that may read `secrets` and `env`.
fn sealed<'p>(each: impl FnOnce(Visit<'_, 'p>)) -> Vec<&'p Text> {
    let mut found = vec![];
    each(&mut |authored| found.extend(authored.text().filter(|_| authored.key.may_read_secrets())));
    found
}

impl Model {
    /// All texts about who is asked.
    pub fn texts(&self) -> Vec<&Text> {
        sealed(|visit| self.each_text(visit))
    }

    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Model {
            span,
            provider,
            api: _,
            tool_calls: _,
            model,
            base_url,
            api_key,
            endpoint: EndpointSettings { headers, query, reasoning: _, context: _, extra: _, omit: _ },
            temperature: _,
            max_output_tokens: _,
            seed: _,
            timeout: _,
            retry: _,
            fallback: _,
            price: _,
        } = self;
        texts(TextKey::ModelName, model, visit);
        texts(TextKey::BaseUrl, base_url, visit);
        texts(TextKey::ApiKey, api_key, visit);
        beside_address(*span, headers, query, visit);
        match provider {
            Provider::Scripted(replies) => {
                replies.by_step.values().flat_map(ReplySet::all).for_each(|reply| reply.each_text(visit));
            }
            Provider::Program(program) => command_line(*span, &program.run, visit),
            Provider::Service(_) | Provider::Replay(_) | Provider::Tool(_) | Provider::Broken => {}
        }
    }
}

impl ReplySet {
    /// The replies.
    pub fn all(&self) -> &[ScriptedReply] {
        match self {
            ReplySet::Every(reply) => std::slice::from_ref(reply),
            ReplySet::InTurn(list) | ReplySet::Matching(list) => list,
        }
    }
}

impl ScriptedReply {
    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let ScriptedReply { span, when, action: _, body, usage: _ } = self;
        texts(TextKey::Reply, when, visit);
        match body {
            ReplyBody::Text(text) => texts(TextKey::Reply, [text], visit),
            ReplyBody::Data(data) => filling(TextKey::Reply, "", *span, data, true, visit),
            ReplyBody::Calls(calls) => named(TextKey::Reply, calls, visit),
            ReplyBody::Failed(failed) => failed.iter().for_each(|(name, text)| named_text(TextKey::Reply, &name.value, text, visit)),
            ReplyBody::Error(_) | ReplyBody::Passed => {}
        }
    }
}

impl Agent {
    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Agent { span: _, model: _, instructions, tools: _, agents: _, output: _, max_turns: _, limits: _, policy: _, style_guide: _ } =
            self;
        texts(TextKey::Instructions, instructions, visit);
    }
}

impl Tool {
    /// All texts that its author wrote for whoever it calls.
    pub fn texts(&self) -> Vec<&Text> {
        sealed(|visit| self.each_text(visit))
    }

    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Tool {
            span,
            kind,
            description: _,
            with,
            allow: _,
            deny: _,
            timeout: _,
            connect_timeout: _,
            approve: _,
            optional: _,
            without_instructions: _,
            pictures: _,
            questions: _,
        } = self;
        let fixed = match kind {
            ToolKind::Pipeline { .. } => TextKey::FixedInput,
            ToolKind::Http { .. }
            | ToolKind::Sql(_)
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
            | ToolKind::File(_)
            | ToolKind::Knowledge(_)
            | ToolKind::Smtp { .. }
            | ToolKind::Server(_)
            | ToolKind::Broken => TextKey::Fixed,
        };
        named(fixed, with, visit);
        match kind {
            ToolKind::Http { method: _, url, headers, query, body, arguments: _ } => {
                request(*span, url, headers, query, body.as_ref(), visit);
            }
            ToolKind::Smtp { address, from, user, password } => {
                texts(TextKey::MailServer, [address], visit);
                texts(TextKey::Sender, [from], visit);
                texts(TextKey::User, user, visit);
                texts(TextKey::Password, password, visit);
            }
            ToolKind::Server(ServerKind::Program { command: _, args, env }) => {
                texts(TextKey::ProgramArgument, args, visit);
                env.iter().for_each(|(name, text)| named_text(TextKey::Env, &name.value, text, visit));
            }
            ToolKind::Server(ServerKind::Url { url, headers, auth }) => {
                request(*span, url, headers, &[], None, visit);
                if let Some(ServerAuth { grant: _, client_id, client_secret, private_key, scopes: _, issuer: _, token_url: _ }) =
                    auth.as_deref()
                {
                    texts(TextKey::User, client_id, visit);
                    texts(TextKey::ClientSecret, client_secret.iter().chain(private_key), visit);
                }
            }
            ToolKind::Program { run, arguments: _ } => command_line(*span, run, visit),
            ToolKind::Python { run: PythonCode { code, file: _, returns: _, needs: _ }, arguments: _ } => {
                texts(TextKey::Code, [code], visit);
            }
            ToolKind::Knowledge(Knowledge { files: _, given, search: _, embed: _, is_untrusted: _ }) => {
                texts(TextKey::Documents, given, visit)
            }
            ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Pipeline { file: _, pipeline: _ } | ToolKind::Broken => {}
        }
    }
}

impl Scorecard {
    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Scorecard { span: _, judge: _, on_judge_error: _, criteria } = self;
        criteria.iter().for_each(|criterion| criterion.each_text(visit));
    }
}

impl Criterion {
    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Criterion { id: _, when, description: _, expected: _, feedback, judging } = self;
        texts(TextKey::CriterionWhen, when, visit);
        texts(TextKey::Feedback, feedback, visit);
        match judging {
            Judging::Checks(checks) => checks.iter().for_each(|check| check.value.each_text(check.span, visit)),
            Judging::Judge | Judging::Neither => {}
        }
    }
}

impl Check {
    fn each_text<'p>(&'p self, span: Span, visit: Visit<'_, 'p>) {
        match self {
            Check::Contains(list, _) | Check::NotContains(list, _) => texts(TextKey::Check, list, visit),
            Check::NumbersFrom(text) | Check::StatesNumbers(text) | Check::ApartFrom(text) => texts(TextKey::Check, [text], visit),
            Check::Expression(text) => texts(TextKey::CheckExpression, [text], visit),
            Check::Equals(value) => filling(TextKey::Check, "", span, value, true, visit),
            Check::Plain(_) => {}
        }
    }
}

impl Person {
    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, owner: Span, visit: Visit<'_, 'p>) {
        let Person { id, from } = self;
        filling(TextKey::PersonId, "", owner, id, true, visit);
        match from {
            PersonSource::Fields(fields) => named(TextKey::PersonField, fields, visit),
            PersonSource::Nothing | PersonSource::Table(_) => {}
        }
    }
}

impl Conversation {
    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Conversation { span, id, message, keep: _, max_tokens: _, summary: _, store: _ } = self;
        filling(TextKey::ConversationId, "", *span, id, true, visit);
        texts(TextKey::ConversationMessage, [message], visit);
    }
}

impl Outputs {
    /// Everything that its author wrote.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        match self {
            Outputs::None => {}
            Outputs::Named(outputs) => named(TextKey::Output, outputs, visit),
            Outputs::Whole(text) => texts(TextKey::Output, [text], visit),
        }
    }
}

impl Step {
    /// Its texts that may read `secrets` and `env`.
    pub fn texts_with_secrets(&self) -> Vec<&Text> {
        sealed(|visit| self.each_text(visit))
    }

    /// Everything that its author wrote in the step itself; steps inside it are visited by themselves.
    pub fn each_text<'p>(&'p self, visit: Visit<'_, 'p>) {
        let Step {
            id,
            span: _,
            name,
            needs: _,
            when,
            for_each,
            timeout: _,
            timeout_span: _,
            deadline: _,
            retry: _,
            on_failure: _,
            on_failure_span: _,
            cache: _,
            phase: _,
            is_pii: _,
            is_once: _,
            kind_span: _,
            kind,
        } = self;
        texts(TextKey::When, when, visit);
        if let Some(ForEach { list, name: _, max_parallel: _, fail_fast: _, is_broken: _ }) = for_each {
            filling(TextKey::ForEach, "", id.span, list, true, visit);
        }
        texts(TextKey::Name, name, visit);
        kind.each_text(id.span, visit);
    }
}
