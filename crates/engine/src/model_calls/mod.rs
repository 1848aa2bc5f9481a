//! Requests to models, and how their answers are handled.

pub(crate) mod attachments;
pub(crate) mod budget;
pub(crate) mod conversation;
mod endpoint;
pub(crate) mod programs;
mod relay;
pub(crate) mod scripted;
mod send;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::event::{Failure, FailureKind, Happening, Message, MessageRole, ModelDetails, Purpose, Usage, UsageDetails};
use crate::gate::reading::Reading;
use crate::gate::{result, wanted};
use crate::model::{
    ANSWER_TOKENS, ActKind, Agent, AgentStep, CONNECT_TIMEOUT, DEFAULT_MODEL, FieldKind, History, HostSource, MODEL_SILENCE, MODEL_TIMEOUT,
    Model, OnFailure, PastMessage, SUMMARY_STEP, Sample, Shape, Text, ToolModel,
};
use crate::model_calls::attachments::Prompt;
use crate::model_calls::budget::wire_name;
use crate::names::style_names;
use crate::parts::{Conversations, Gatekeeper};
use crate::plan::reply_tokens;
use crate::policy::{Act, decide};
use crate::port::{ModelRequest, WireFormat};
use crate::questions::Brief;
use crate::reach::Giver;
use crate::state::NodeRef;
use crate::state::talk::{ModelTalk, Offered};
use crate::steps::Kind;
use crate::steps::decision::{StepDecision, Then};
use crate::words::plain;
use crate::{Context, Unscripted};

impl Kind for AgentStep {
    fn next(&self, context: &Context, at: NodeRef) -> Result<StepDecision, Failure> {
        Ok(if context.state.steps.node(at).ended_by.is_some() { Then::Wait } else { Then::Ask(self.agent.value.clone()) }.into())
    }

    fn brief(&self, context: &Context, at: NodeRef, opens: bool) -> Result<Brief, Failure> {
        context.conversations().agent_brief(at, self, opens)
    }

    fn heard(&self, context: &Context, at: NodeRef, text: &str) -> Result<StepDecision, Failure> {
        let talk = context.conversations();
        Ok(match talk.read_answer(talk.output_shape(at, self).as_ref(), Value::from(text)) {
            Ok(Reading { value, notes }) => {
                let then = Then::Succeed(value, Some(talk.model_details(at)));
                StepDecision { events: talk.reading(at, notes).into_iter().collect(), then }
            }
            Err(problems) => Then::Repair(problems).into(),
        })
    }
}

impl Conversations<'_> {
    pub(crate) fn output_shape(&self, at: NodeRef, step: &AgentStep) -> Option<Shape> {
        let pipeline = &self.planned_of(at).pipeline;
        step.output.clone().or_else(|| pipeline.agents.get(&step.agent.value).and_then(|a| a.output.clone()))
    }

    /// Reads an answer of the right shape, or returns its problems.
    pub(crate) fn read_answer(&self, shape: Option<&Shape>, value: Value) -> Result<Reading, Vec<String>> {
        let read = result::answer(shape, value)?;
        let mut problems = vec![];
        if let Some(Shape::Fields(fields)) = shape {
            for field in fields.iter().filter(|f| f.kind == FieldKind::Scorecard) {
                let Some(written) = read.value.get(&field.name).filter(|v| !v.is_null()) else { continue };
                if let Err(findings) = self.options.written.scorecard(written) {
                    problems.extend(findings.into_iter().map(|f| format!("{}: {f}", field.name)));
                }
            }
        }
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }

    /// That the last answer was not read literally; told once.
    pub(crate) fn reading(&self, at: NodeRef, notes: Vec<String>) -> Option<Happening> {
        let is_new = !notes.is_empty() && self.state.steps.node(at).talk().is_some_and(|talk| !talk.noted);
        is_new.then(|| Happening::AnswerRead { step: self.path(at), notes })
    }

    fn agent_brief(&self, at: NodeRef, step: &AgentStep, opens: bool) -> Result<Brief, Failure> {
        let mut prompt = None;
        if opens {
            let own = prompt.insert(self.with_refinement(at, &step.agent.value, &step.prompt)?);
            self.files().attach(at, step.attach.as_ref(), own)?;
            own.text.push_str(&self.plans().below_prompt(at));
        }
        let model = step.model.as_ref().map(|m| self.fill_text(at, m)).transpose()?;
        let shape = self.output_shape(at, step);
        self.brief(at, &step.agent.value, model, prompt, shape.as_ref().map(wanted::wanted), Purpose::Turn)
    }

    /// The earlier messages of the conversation, as the agent that does the work of a step with `history` receives them. Results of tools are turned into text: the calls that they
    /// answer are not among the messages, and no provider accepts one without the other. A model wrote the summary from what people wrote, so it is
    /// not sent as an instruction.
    fn history(&self, at: NodeRef) -> Vec<Message> {
        let step = self.step(at);
        let Some((history, agent)) = step.kind.history() else { return vec![] };
        let Some(own) = self.state.start.as_ref().and_then(|start| start.conversation.as_deref()) else { return vec![] };
        let (summary, messages) = match history {
            History::Nothing | History::Kept => return vec![],
            History::Conversation => (self.names().summary_so_far(), own.messages.as_slice()),
            History::Own => (None, own.agents.get(&agent.value).map(Vec::as_slice).unwrap_or_default()),
        };
        let summary = summary.map(|text| message(MessageRole::User, format!("Summary of the earlier conversation:\n{text}")));
        let told = |past: &PastMessage| match past.role {
            MessageRole::Tool => message(MessageRole::User, format!("Result of a tool: {}", past.text)),
            MessageRole::System | MessageRole::Developer | MessageRole::User | MessageRole::Assistant => {
                message(past.role, past.text.clone())
            }
        };
        summary.into_iter().chain(messages.iter().map(told)).collect()
    }

    /// A prompt; in the second round with what was wrong, unless the prompt reads `refinement` itself.
    pub(crate) fn with_refinement(&self, at: NodeRef, agent: &str, prompt: &Text) -> Result<Prompt, Failure> {
        let filled = self.fill_for_agent(at, self.agent(at, agent)?, prompt)?;
        let reads_refinement = prompt.reads.iter().any(|r| r.path.first().is_some_and(|p| p == "refinement"));
        let text = match self.refinement_note(at).filter(|_| self.state.steps.node(at).round == 2 && !reads_refinement) {
            Some(note) => format!("{}\n\n{note}", filled.trim_end()),
            None => filled,
        };
        Ok(text.into())
    }

    /// The note for the target of the refinement in the second round, if its prompt does not read `refinement`.
    fn refinement_note(&self, at: NodeRef) -> Option<String> {
        let planned = self.planned_of(at);
        let target = planned.refinement.as_ref()?.target;
        let round = self.state.steps.refinement_around(at)?;
        if self.state.steps.planner(at).is_some() || self.state.steps.node(at).step != target {
            return None;
        }
        let original = match round.original.as_array() {
            // An element receives its own first answer. Under `on_failure: continue` the list contains more than that.
            Some(list) if self.state.steps.is_element(at) => {
                let own = list.get(at.node as usize)?;
                let output = if self.step(at).on_failure == OnFailure::Continue { &own["output"] } else { own };
                plain(output)
            }
            _ => plain(&round.original),
        };
        Some(format!("Your first answer was:\n{original}\n\nIt was not good enough:\n{}\n\nAnswer again, and fix this.", round.feedback))
    }

    /// Builds a brief. Before a prompt, the agent's instructions are filled in with the names of the step.
    pub(crate) fn brief(
        &self,
        at: NodeRef,
        agent: &str,
        model: Option<String>,
        prompt: Option<Prompt>,
        schema: Option<Value>,
        purpose: Purpose,
    ) -> Result<Brief, Failure> {
        let found = self.agent(at, agent)?;
        let model = self.options.every_model.clone().or(model).or_else(|| found.model.as_ref().map(|m| m.value.clone()));
        let tools = self.tools_of(at, agent);
        let mut first = vec![];
        if let Some(Prompt { mut text, pictures }) = prompt {
            // The prompt of a judge describes the answer in its own words.
            if let Some(schema) = schema.as_ref().filter(|_| purpose != Purpose::Judge) {
                text.truncate(text.trim_end().len());
                text.push_str(&format!("\n\nAnswer with one JSON object that fits this JSON Schema, and nothing else:\n{schema}"));
            }
            let own = found.instructions.as_ref().map(|own| self.fill_for_agent(at, found, own)).transpose()?;
            // A tool that answers needs no words about itself.
            let name = model.as_deref().unwrap_or(DEFAULT_MODEL);
            let is_tool = self.model(at, name).is_some_and(|model| model.provider.tool().is_some());
            let of_servers = Some(self.toolbox().server_instructions(at, &tools)).filter(|told| !told.is_empty() && !is_tool);
            let system: Vec<String> = own.into_iter().chain(of_servers).collect();
            if !system.is_empty() {
                first.push(message(MessageRole::System, system.join("\n\n")));
            }
            if matches!(purpose, Purpose::Turn | Purpose::Plan) {
                first.extend(self.history(at));
            }
            first.push(Message { pictures, ..message(MessageRole::User, text) });
        }
        let bounds = self.planned_of(at).pipeline.bounds_of(found);
        Ok(Brief { agent: agent.to_string(), model, first, schema, purpose, criteria: vec![], tools, bounds, resumes: None })
    }

    /// Fills in a text for an agent: `style` is the agent's own style guide, if it has one.
    pub(crate) fn fill_for_agent(&self, at: NodeRef, agent: &Agent, text: &Text) -> Result<String, Failure> {
        let reads_style = text.reads.iter().any(|read| read.path.first().is_some_and(|root| root == "style"));
        let own = agent.style_guide.as_deref().filter(|_| reads_style).map(|own| self.spoken(self.state.steps.instance_of(at), own));
        let own = own.map(|style| ("style", style_names(Some(style))));
        self.names().fill_text_with(at, text, own.as_slice())
    }

    /// The most tokens of an answer if its model has no bound, and the kind of answer. This keeps a rambling answer from using up the time of the
    /// run.
    fn own_bound(&self, at: NodeRef, brief: &Brief, has_schema: bool) -> Option<(u64, &'static str)> {
        match brief.purpose {
            Purpose::Judge => Some((ANSWER_TOKENS, "the answer of a judge")),
            Purpose::Plan => Some((ANSWER_TOKENS, "a plan")),
            Purpose::Check => Some((ANSWER_TOKENS, "the answer about a plan")),
            Purpose::Turn | Purpose::Repair if self.step(at).id.value == SUMMARY_STEP => {
                Some((ANSWER_TOKENS, "the summary of a conversation"))
            }
            Purpose::Turn | Purpose::Repair if has_schema => None,
            Purpose::Turn | Purpose::Repair if self.state.steps.planner(at).is_some() => None,
            Purpose::Turn | Purpose::Repair => {
                let channel = self.channel(self.state.steps.instance_of(at));
                Some((reply_tokens(self.planned_of(at), &self.step(at), channel)?, "a reply to the channel"))
            }
        }
    }

    fn model_request<'m>(
        &self,
        at: NodeRef,
        model: &Model,
        tools: &[Offered],
        schema: Option<Value>,
        own_bound: Option<(u64, &'static str)>,
        messages: impl Iterator<Item = &'m Arc<Message>>,
    ) -> Result<ModelRequest, Failure> {
        let secrets = self.names().secret_names();
        let text = |text: &Option<Text>| text.as_ref().map(|t| self.names().fill_text_with(at, t, &secrets)).transpose();
        let of_test = self.recordings();
        let folder = model.provider.recorded().or(of_test).map(|folder| folder.display().to_string());
        let (format, base_url, api_key) = match (folder, model.provider.preset()) {
            (Some(folder), _) => (WireFormat::Recorded, folder, None),
            (None, Some(preset)) => (preset.wire(model.api), preset.base_url.to_owned(), text(&model.api_key)?),
            (None, None) => return Err(Failure::new(FailureKind::Internal, "the model has no endpoint")),
        };
        let (base_url, host_from) = match &model.base_url {
            Some(own) if format != WireFormat::Recorded => self.origins().address(at, own, Giver::NOBODY, &secrets)?,
            _ => (base_url, HostSource::File),
        };
        let (base_url, endpoint) = self.requests().endpoint_options(at, model, &base_url)?;
        // Messages are shared with the state, except those whose calls have other names on the wire.
        let with_wire_names = |message: &Arc<Message>| {
            let mut message = Arc::clone(message);
            for place in 0..message.calls.len() {
                let name = wire_name(&message.calls[place], tools);
                if name != message.calls[place].tool {
                    let name = name.to_owned();
                    Arc::make_mut(&mut message).calls[place].tool = name;
                }
            }
            message
        };
        let step = self.step(at);
        let written = step.timeout.or(model.timeout).or(step.deadline);
        Ok(ModelRequest {
            wire: format,
            base_url,
            host_from,
            model: text(&model.model)?.unwrap_or_default(),
            api_key: api_key.filter(|k| !k.is_empty()).map(crate::port::Secret::new),
            endpoint,
            messages: messages.map(with_wire_names).collect(),
            schema,
            tools: tools.iter().map(|tool| Arc::clone(&tool.description)).collect(),
            temperature: model.temperature,
            max_output_tokens: model.max_output_tokens.or(own_bound.map(|(most, _)| most)),
            bounded_as: own_bound.filter(|_| model.max_output_tokens.is_none()).map(|(_, what)| what),
            seed: model.seed,
            timeout: self.dialogues().time_of_dialogue(at).into_iter().fold(written.unwrap_or(MODEL_TIMEOUT), Duration::min),
            silence: if written.is_none() { Some(MODEL_SILENCE) } else { None },
            tool_calls: model.tool_calls,
            connect_timeout: CONNECT_TIMEOUT,
            listener: None,
            trace: None,
        })
    }

    /// US dollars that a call of the program which is asked may cost, if it says so.
    fn dearest_call(&self, at: NodeRef) -> Option<f64> {
        let talk = self.state.steps.node(at).talk()?;
        self.model(at, &talk.model)?.provider.program()?.max_cost_usd
    }

    /// The folder of recordings that answers for every model.
    pub(crate) fn recordings(&self) -> Option<&std::path::PathBuf> {
        if let Unscripted::Recorded(folder) = &self.options.unscripted { Some(folder) } else { None }
    }

    /// Adds to the failure of a rejected key where the key is set. The key itself is in no message.
    fn with_key(&self, at: NodeRef, failure: Failure) -> Failure {
        let name = self.state.steps.node(at).talk().map(|talk| talk.model.as_str()).filter(|_| failure.kind == FailureKind::Auth);
        let Some((name, model)) =
            name.and_then(|name| Some((name, self.model(at, name)?))).filter(|(_, model)| model.provider.preset().is_some())
        else {
            return failure;
        };
        let is_of_variables = name == DEFAULT_MODEL && self.options.default_model.is_some();
        let read: Vec<&str> =
            model.api_key.iter().flat_map(|key| &key.reads).filter_map(|read| read.path.last()).map(String::as_str).collect();
        let what = match &model.api_key {
            Some(_) if !read.is_empty() => format!("check the key in {}", read.join(", ")),
            Some(_) if is_of_variables => "check the key in FLOW_API_KEY".to_owned(),
            Some(_) => format!("check the api_key of model \"{name}\""),
            None if is_of_variables => "set FLOW_API_KEY".to_owned(),
            None => format!("set the api_key of model \"{name}\""),
        };
        Failure { message: format!("{what}: {}", failure.message), ..failure }
    }

    /// The `details` of a step that called a model: the model that answered, the tokens and the tool calls. For a `plan` or `task` step, those of all
    /// its conversations.
    pub(crate) fn model_details(&self, at: NodeRef) -> Value {
        let (talk, ended) = (self.state.steps.node(at).talk(), self.state.steps.node(at).ended_talks.as_deref());
        if talk.is_none() && ended.is_none() {
            return json!({});
        }
        let earlier = || ended.iter().flat_map(|ended| &ended.talks);
        let mut usage = Usage::default();
        earlier().map(|talk| talk.usage).chain(talk.map(ModelTalk::all_usage)).for_each(|one| usage.add(&one));
        let uses = earlier().flat_map(|talk| &talk.uses).chain(talk.into_iter().flat_map(|talk| &talk.uses));
        let answered_by = talk.map(|talk| talk.answered_by.as_ref().unwrap_or(&talk.model));
        ModelDetails {
            model: answered_by.or_else(|| ended?.model.as_ref()).cloned(),
            usage: UsageDetails::new(&usage, true),
            tool_calls: uses.cloned().collect(),
        }
        .into_value()
    }
}

impl Context {
    pub(crate) fn agent(&self, at: NodeRef, name: &str) -> Result<&Agent, Failure> {
        let missing = || Failure::new(FailureKind::Internal, format!("agent \"{name}\" not found"));
        self.planned_of(at).pipeline.agents.get(name).ok_or_else(missing)
    }

    /// A model by name. `default` is the model of the environment variables, otherwise that of the file.
    pub(crate) fn model(&self, at: NodeRef, name: &str) -> Option<&Model> {
        let is_for_all = self.options.every_model.as_deref() == Some(name);
        let of_file = if is_for_all { self.plan.pipelines.first() } else { Some(self.planned_of(at)) };
        let of_file = of_file.and_then(|planned| planned.pipeline.models.get(name));
        match name {
            DEFAULT_MODEL => self.options.default_model.as_ref().or(of_file),
            _ => of_file,
        }
    }

    /// The model of a brief and its fallback models, by name, in the order in which they are tried.
    pub(crate) fn models<'a>(&'a self, at: NodeRef, brief: &'a Brief) -> Vec<(&'a str, &'a Model)> {
        let name = brief.model_name();
        let find = |name: &'a str| Some((name, self.model(at, name)?));
        let Some(first) = find(name) else { return vec![] };
        let others = first.1.fallback.iter().filter(|_| self.options.every_model.is_none());
        std::iter::once(first).chain(others.filter_map(|other| find(&other.value))).collect()
    }
}

impl Gatekeeper<'_> {
    /// Fails if the tool that a model is must not, or cannot, be called by this agent.
    fn permit_tool_of_model(&mut self, at: NodeRef, brief: &Brief, own: &ToolModel) -> Result<(), Failure> {
        let name = own.tool.value.as_str();
        if brief.tools.iter().any(|offered| offered.name == name) {
            return Ok(());
        }
        let decision = decide(&self.policies(at, Some(&brief.agent)), &Act::Tool { name, arguments: None });
        if decision.is_denied() {
            return self.record_decision(at, Some(&brief.agent), (ActKind::Tool, name.to_owned()), decision, String::new());
        }
        let message = format!("tool \"{name}\", which is model \"{}\", cannot be called", brief.model_name());
        Err(self.toolbox().refused_unpinned(at, name).unwrap_or_else(|| Failure::new(FailureKind::Unavailable, message)))
    }
}

fn message(role: MessageRole, text: String) -> Message {
    Message { role, text, ..Message::default() }
}
