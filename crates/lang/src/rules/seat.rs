//! Where a text stands, which decides the names it may read; and all texts of a pipeline with their seats.

use std::collections::HashMap;

use super::types::{Member, Object, Type, of_field};
use crate::model::{
    Agent, Check, Field, Filling, GateStep, Judging, Outputs, PersonSource, ScorecardRef, ServerKind, StepKind, Text, Tool, ToolKind,
    ToolName,
};
use crate::plan::{PipelinePlan, StepIx};
use crate::source::FileId;

/// Steps that use one shared text, of which names are looked up; more are not looked at.
const MOST_USERS: usize = 256;

/// Where a text stands.
#[derive(Debug, Clone)]
pub struct Seat {
    /// From where steps are seen.
    pub at: At,
    /// Names besides those of the place.
    pub more: More,
}

impl Seat {
    /// Whether it is offered by another file and nobody takes it: then it is written for other pipelines, and not judged here.
    pub fn is_for_others(&self) -> bool {
        matches!(&self.at, At::Shared { users, is_imported: true } if users.is_empty())
    }
}

/// From where steps are seen.
#[derive(Debug, Clone)]
pub enum At {
    /// In a step.
    Step(StepIx, Part),
    /// In `outputs`.
    Outputs,
    /// In `person`, before the first step.
    Person,
    /// In something that several steps may use: instructions, tools, models, scorecards.
    Shared {
        /// The steps that use it.
        users: Vec<StepIx>,
        /// Whether it comes from another file.
        is_imported: bool,
    },
}

/// Which part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its own work.
    Work,
    /// Its `when`.
    When,
    /// The list of its `for_each`.
    List,
}

/// Names besides those of the place.
#[derive(Debug, Clone, Default)]
pub struct More {
    /// Whether `secrets` and `env` may stand here.
    pub secrets: bool,
    /// Whether `value` and `text` may: in checks.
    pub judged: bool,
    /// What `with` is, in checks and tools.
    pub with: Option<Type>,
}

/// What a text must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// True or false.
    Condition,
    /// A list.
    List,
    /// A scorecard.
    Scorecard,
    /// A text such as `5m`.
    Time,
    /// Anything.
    Value,
}

/// A text of a pipeline.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    /// The text.
    pub text: &'a Text,
    /// Which of [`Texts::seats`] it has.
    pub seat: usize,
    /// What it must give.
    pub role: Role,
}

/// All texts of a pipeline.
#[derive(Debug, Default)]
pub struct Texts<'a> {
    /// Where texts stand.
    pub seats: Vec<Seat>,
    /// The texts, steps first.
    pub all: Vec<Placed<'a>>,
}

impl<'a> Texts<'a> {
    /// Collects them.
    pub fn of(pipeline: &'a PipelinePlan) -> Texts<'a> {
        let mut texts = Texts::default();
        for ix in 0..pipeline.steps.len() {
            texts.step(pipeline, StepIx(ix as u32));
        }
        let model = &pipeline.pipeline;
        let own = model.name.span.file;
        let users = Users::of(pipeline);
        for (name, agent) in &model.agents {
            texts.agent(agent, own, users.agents.get(name.as_str()));
        }
        for model in model.models.values() {
            let seat = texts.seat(shared(None, own, model.span.file), More { secrets: true, ..More::default() });
            for text in [&model.model, &model.base_url, &model.api_key].into_iter().flatten() {
                texts.add(text, seat, Role::Value);
            }
        }
        for (name, tool) in &model.tools {
            texts.tool(tool, own, users.tools.get(name.as_str()), pipeline);
        }
        for (name, scorecard) in &model.scorecards {
            let gates = users.scorecards.get(name.as_str());
            let with = gates.and_then(|gates| with_of_gates(pipeline, gates));
            let at = shared(gates, own, scorecard.span.file);
            let seat = texts.seat(at, More { judged: true, with: Some(with.unwrap_or(Type::Any)), secrets: false });
            for criterion in &scorecard.criteria {
                if let Judging::Checks(checks) = &criterion.judging {
                    checks.iter().for_each(|check| texts.check(&check.value, seat));
                }
            }
        }
        if let Some(person) = &model.person {
            let seat = texts.seat(At::Person, More { secrets: true, ..More::default() });
            texts.filling(&person.id, seat);
            if let PersonSource::Fields(fields) = &person.from {
                fields.iter().for_each(|(_, value)| texts.filling(value, seat));
            }
        }
        let seat = texts.seat(At::Outputs, More::default());
        match &model.outputs {
            Outputs::None => {}
            Outputs::Named(outputs) => outputs.iter().for_each(|(_, value)| texts.filling(value, seat)),
            Outputs::Whole(text) => texts.add(text, seat, Role::Value),
        }
        texts
    }

    fn seat(&mut self, at: At, more: More) -> usize {
        self.seats.push(Seat { at, more });
        self.seats.len() - 1
    }

    fn add(&mut self, text: &'a Text, seat: usize, role: Role) {
        self.all.push(Placed { text, seat, role });
    }

    fn filling(&mut self, filling: &'a Filling, seat: usize) {
        filling.texts().into_iter().for_each(|text| self.add(text, seat, Role::Value));
    }

    fn step(&mut self, pipeline: &'a PipelinePlan, ix: StepIx) {
        let step = &pipeline.step(ix).step;
        let at = |part| At::Step(ix, part);
        if let Some(when) = &step.when {
            let seat = self.seat(at(Part::When), More::default());
            self.add(when, seat, Role::Condition);
        }
        if let Some(for_each) = &step.for_each {
            let seat = self.seat(at(Part::List), More::default());
            match &for_each.list {
                Filling::Text(text) => self.add(text, seat, Role::List),
                other => self.filling(other, seat),
            }
        }
        let secrets = matches!(step.kind, StepKind::Http(_));
        let seat = self.seat(at(Part::Work), More { secrets, ..More::default() });
        step.name.iter().for_each(|name| self.add(name, seat, Role::Value));
        match &step.kind {
            StepKind::Agent(agent) => {
                self.add(&agent.prompt, seat, Role::Value);
                agent.model.iter().for_each(|model| self.add(model, seat, Role::Value));
                agent.attach.iter().for_each(|attach| self.filling(attach, seat));
            }
            StepKind::Tool(tool) => {
                tool.with.iter().for_each(|(_, value)| self.filling(value, seat));
                tool.idempotency_key.iter().for_each(|key| self.add(key, seat, Role::Value));
            }
            StepKind::Set(value) => self.filling(value, seat),
            StepKind::Plan(plan) => {
                self.add(&plan.prompt, seat, Role::Value);
                plan.attach.iter().for_each(|attach| self.filling(attach, seat));
            }
            StepKind::Http(http) => {
                self.add(&http.url, seat, Role::Value);
                http.headers.iter().for_each(|(_, text)| self.add(text, seat, Role::Value));
                http.query.iter().for_each(|(_, value)| self.filling(value, seat));
                http.body.iter().for_each(|body| self.filling(body, seat));
                http.idempotency_key.iter().for_each(|key| self.add(key, seat, Role::Value));
            }
            StepKind::Sql(sql) => {
                self.add(&sql.query, seat, Role::Value);
                sql.with.iter().for_each(|(_, value)| self.filling(value, seat));
            }
            StepKind::Read(read) => self.filling(&read.paths, seat),
            StepKind::Route(route) => {
                self.add(&route.subject, seat, Role::Value);
                route.cases.iter().filter_map(|case| case.when.as_ref()).for_each(|when| self.add(when, seat, Role::Condition));
            }
            StepKind::Call(call) => call.with.iter().for_each(|(_, value)| self.filling(value, seat)),
            StepKind::Format(format) => self.add(&format.text, seat, Role::Value),
            StepKind::Gate(gate) => self.gate(gate, seat),
            StepKind::Send(send) => {
                self.add(&send.of, seat, Role::Value);
                send.with.iter().for_each(|(_, value)| self.filling(value, seat));
                send.idempotency_key.iter().for_each(|key| self.add(key, seat, Role::Value));
            }
            StepKind::Wait(Filling::Text(text)) => self.add(text, seat, Role::Time),
            StepKind::Stop(stop) => stop.reason.iter().for_each(|reason| self.add(reason, seat, Role::Value)),
            StepKind::Wait(_) | StepKind::Broken => {}
        }
    }

    fn gate(&mut self, gate: &'a GateStep, seat: usize) {
        for scorecard in &gate.scorecards {
            if let ScorecardRef::Written(text) = scorecard {
                self.add(text, seat, Role::Scorecard);
            }
        }
        self.add(&gate.of, seat, Role::Value);
        gate.with.iter().for_each(|(_, value)| self.filling(value, seat));
        gate.otherwise.iter().for_each(|otherwise| self.add(otherwise, seat, Role::Value));
    }

    fn agent(&mut self, agent: &'a Agent, own: FileId, users: Option<&Vec<StepIx>>) {
        let Some(instructions) = &agent.instructions else { return };
        let seat = self.seat(shared(users, own, agent.span.file), More::default());
        self.add(instructions, seat, Role::Value);
    }

    fn tool(&mut self, tool: &'a Tool, own: FileId, users: Option<&Vec<StepIx>>, pipeline: &PipelinePlan) {
        let at = shared(users, own, tool.span.file);
        let seat = self.seat(at.clone(), More { secrets: true, ..More::default() });
        tool.with.iter().for_each(|(_, value)| self.filling(value, seat));
        match &tool.kind {
            ToolKind::Http { url, headers, query, body, arguments, .. } => {
                let with = with_of_tool(tool, arguments, users, pipeline);
                let seat = self.seat(at, More { secrets: true, judged: false, with: Some(with) });
                self.add(url, seat, Role::Value);
                headers.iter().for_each(|(_, text)| self.add(text, seat, Role::Value));
                query.iter().for_each(|(_, value)| self.filling(value, seat));
                body.iter().for_each(|body| self.filling(body, seat));
            }
            ToolKind::Smtp { address, from, user, password } => {
                let seat = self.seat(at, More { secrets: true, judged: false, with: Some(Type::Any) });
                for text in [Some(address), Some(from), user.as_ref(), password.as_ref()].into_iter().flatten() {
                    self.add(text, seat, Role::Value);
                }
            }
            ToolKind::Server(server) => {
                let seat = self.seat(at, More { secrets: true, ..More::default() });
                let texts: Vec<&Text> = match server {
                    ServerKind::Program { args, env, .. } => args.iter().chain(env.iter().map(|(_, text)| text)).collect(),
                    ServerKind::Url { url, headers } => std::iter::once(url).chain(headers.iter().map(|(_, text)| text)).collect(),
                };
                texts.into_iter().for_each(|text| self.add(text, seat, Role::Value));
            }
            ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => {}
        }
    }

    fn check(&mut self, check: &'a Check, seat: usize) {
        match check {
            Check::Contains(texts) | Check::NotContains(texts) => texts.iter().for_each(|text| self.add(text, seat, Role::Value)),
            Check::Equals(value) => self.filling(value, seat),
            Check::NumbersFrom(text) | Check::StatesNumbers(text) | Check::ApartFrom(text) => self.add(text, seat, Role::Value),
            Check::Expression(text) => self.add(text, seat, Role::Condition),
            Check::Regex(_)
            | Check::JsonSchema(_)
            | Check::MaxLength(_)
            | Check::MinLength(_)
            | Check::FitsChannel
            | Check::StyleGuide
            | Check::Markdown(_)
            | Check::Emojis(_)
            | Check::Language(_)
            | Check::PiiNone
            | Check::Links(_)
            | Check::Readability(_) => {}
        }
    }
}

fn shared(users: Option<&Vec<StepIx>>, own: FileId, file: FileId) -> At {
    At::Shared { users: users.map(|users| users.iter().take(MOST_USERS).copied().collect()).unwrap_or_default(), is_imported: file != own }
}

/// What `with` holds in a check of a scorecard: what all its gates give.
fn with_of_gates(pipeline: &PipelinePlan, gates: &[StepIx]) -> Option<Type> {
    let given = gates.iter().filter_map(|ix| {
        let StepKind::Gate(gate) = &pipeline.step(*ix).step.kind else { return None };
        let fields = gate.with.iter().map(|(name, _)| (name.value.clone(), Member::sure(Type::Any)));
        Some(Type::Object(std::sync::Arc::new(Object { fields: fields.collect(), is_open: false })))
    });
    Type::either(given.collect())
}

/// What `with` holds in the texts of an http tool: its arguments, what its author fixed, and what `send` gives.
fn with_of_tool(tool: &Tool, arguments: &[Field], users: Option<&Vec<StepIx>>, pipeline: &PipelinePlan) -> Type {
    if arguments.is_empty() && users.is_none() {
        return Type::Any;
    }
    let mut with = Object::default();
    let mut add = |name: &str, kind: Type| {
        with.fields.entry(name.to_owned()).or_insert(Member::sure(kind));
    };
    tool.with.iter().for_each(|(name, _)| add(&name.value, Type::Any));
    arguments.iter().for_each(|field| add(&field.name, of_field(field)));
    for ix in users.into_iter().flatten() {
        let given = match &pipeline.step(*ix).step.kind {
            StepKind::Send(send) => {
                ["content", "text", "part", "parts"].into_iter().for_each(|name| add(name, Type::Any));
                &send.with
            }
            StepKind::Tool(tool) => &tool.with,
            StepKind::Agent(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Format(_)
            | StepKind::Gate(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => continue,
        };
        given.iter().for_each(|(name, _)| add(&name.value, Type::Any));
    }
    Type::Object(std::sync::Arc::new(with))
}

/// Which steps use what is defined by name.
struct Users<'a> {
    agents: HashMap<&'a str, Vec<StepIx>>,
    tools: HashMap<&'a str, Vec<StepIx>>,
    scorecards: HashMap<&'a str, Vec<StepIx>>,
}

impl<'a> Users<'a> {
    fn of(pipeline: &'a PipelinePlan) -> Users<'a> {
        let mut users = Users { agents: HashMap::new(), tools: HashMap::new(), scorecards: HashMap::new() };
        for (index, planned) in pipeline.steps.iter().enumerate() {
            let ix = StepIx(index as u32);
            let (file, kind) = (&pipeline.pipeline, &planned.step.kind);
            for agent in kind.agents(file) {
                users.agents.entry(&agent.value).or_default().push(ix);
            }
            for name in kind.may_use() {
                let tool = ToolName::of(&name.value).tool;
                let (of, name) =
                    if file.agents.contains_key(&name.value) { (&mut users.agents, &*name.value) } else { (&mut users.tools, tool) };
                of.entry(name).or_default().push(ix);
            }
            if let StepKind::Send(send) = kind {
                users.tools.entry(&send.to.value).or_default().push(ix);
            }
            if let StepKind::Gate(gate) = kind {
                let named = gate.scorecards.iter().filter_map(|scorecard| match scorecard {
                    ScorecardRef::Named(name) => Some(name.value.as_str()),
                    ScorecardRef::Written(_) => None,
                });
                named.for_each(|name| users.scorecards.entry(name).or_default().push(ix));
            }
        }
        users
    }
}
