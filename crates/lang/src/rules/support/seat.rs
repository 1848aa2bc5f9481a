//! Where a text stands, which decides the names it may read; and all texts of a pipeline with their seats.

use std::collections::{HashMap, HashSet};

use super::known::with_of_task;
use crate::model::{
    Authored, DEFAULT_MODEL, Field, Form, JudgingStep, Pipeline, Read, ScorecardRef, StepKind, Text, TextKey, Tool, ToolKind, ToolName,
};
use crate::plan::{PipelinePlan, StepIx};
use crate::source::FileId;
use crate::template::types::{Member, Object, Type, of_field};

/// Steps that use one shared text, of which names are looked up; more are not looked at.
const MOST_USERS: usize = 256;

/// Where a text stands.
#[derive(Debug, Clone)]
pub struct Seat {
    /// From where steps are seen.
    pub at: Viewpoint,
    /// Names besides those of the place.
    pub more: More,
}

impl Seat {
    /// Whether it is offered by another file and nobody takes it: then it is written for other pipelines, and not judged here.
    pub(crate) fn is_for_others(&self) -> bool {
        matches!(&self.at, Viewpoint::Shared { users, is_imported: true } if users.is_empty())
    }
}

/// From where steps are seen.
#[derive(Debug, Clone)]
pub enum Viewpoint {
    /// In a step.
    Step(StepIx, StepPart),
    /// In `outputs`.
    Outputs,
    /// In `person`, before the first step.
    Person,
    /// In `conversation`, before the first step.
    Conversation,
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
pub enum StepPart {
    /// Its own work.
    Work,
    /// Its `when`.
    When,
    /// The list of its `for_each`.
    List,
    /// `until` of a `repeat`, which stands after the steps of a round and sees them.
    Until,
}

/// Names besides those of the place.
#[derive(Debug, Clone, Default)]
pub struct More {
    /// Whether `secrets` and `env` may be here.
    pub secrets: bool,
    /// Whether `value` and `text` may: in checks.
    pub judged: bool,
    /// Whether `turns` and `turn` may: in `until` of a dialogue.
    pub turns: bool,
    /// What `with` is, in checks and tools.
    pub with: Option<Type>,
    /// What holds wherever the text is filled in: the `when` of its criterion.
    pub only_if: Option<Text>,
}

/// What a text must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// True or false.
    Condition,
    /// A list.
    List,
    /// A scorecard.
    Scorecard,
    /// A list of questions.
    Questions,
    /// A text such as `5m`.
    Time,
    /// What a person typed.
    Message,
    /// A path, or a list of paths.
    Paths,
    /// Anything.
    Value,
}

/// A text of a pipeline.
#[derive(Debug, Clone)]
pub struct PlacedText<'a> {
    /// The text.
    pub text: &'a Text,
    /// Which of [`Texts::seats`] it has.
    pub seat: usize,
    /// What it must give.
    pub role: TextRole,
}

/// All texts of a pipeline.
#[derive(Debug, Default)]
pub struct Texts<'a> {
    /// Where texts stand.
    pub seats: Vec<Seat>,
    /// The texts, steps first.
    pub all: Vec<PlacedText<'a>>,
}

impl<'a> Texts<'a> {
    /// Collects them.
    pub fn of(pipeline: &'a PipelinePlan) -> Texts<'a> {
        let mut texts = Texts::default();
        pipeline.numbered_steps().for_each(|(ix, _)| texts.step(pipeline, ix));
        let model = &pipeline.pipeline;
        let own = model.name.span.file;
        let users = Users::of(pipeline);
        for (name, agent) in &model.agents {
            let seat = texts.seat(shared(users.agents.get(name.as_str()), own, agent.span.file), More::default());
            agent.each_text(&mut |authored| texts.add(authored, seat));
        }
        for (name, model) in &model.models {
            let seat = texts.seat(shared(users.models.get(name.as_str()), own, model.span.file), More { secrets: true, ..More::default() });
            model.each_text(&mut |authored| texts.add(authored, seat));
        }
        for (name, tool) in &model.tools {
            texts.tool(tool, own, users.tools.get(name.as_str()), pipeline);
        }
        for (name, scorecard) in &model.scorecards {
            let gates = users.scorecards.get(name.as_str());
            let with = gates.and_then(|gates| with_of_gates(pipeline, gates));
            let at = shared(gates, own, scorecard.span.file);
            let more = More { judged: true, with: Some(with.unwrap_or(Type::Any)), ..More::default() };
            let always = texts.seat(at.clone(), more.clone());
            for criterion in &scorecard.criteria {
                let only_if = criterion.when.clone();
                let seat = only_if.map_or(always, |when| texts.seat(at.clone(), More { only_if: Some(when), ..more.clone() }));
                criterion
                    .each_text(&mut |authored| texts.add(authored, if authored.key == TextKey::CriterionWhen { always } else { seat }));
            }
        }
        if let Some(person) = &model.person {
            let seat = texts.seat(Viewpoint::Person, More { secrets: true, ..More::default() });
            person.each_text(model.name.span, &mut |authored| texts.add(authored, seat));
        }
        if let Some(conversation) = &model.conversation {
            let seat = texts.seat(Viewpoint::Conversation, More::default());
            conversation.each_text(&mut |authored| texts.add(authored, seat));
        }
        let seat = texts.seat(Viewpoint::Outputs, More::default());
        model.outputs.each_text(&mut |authored| texts.add(authored, seat));
        texts
    }

    fn seat(&mut self, at: Viewpoint, more: More) -> usize {
        self.seats.push(Seat { at, more });
        self.seats.len() - 1
    }

    fn add(&mut self, authored: Authored<'a>, seat: usize) {
        let role = match authored.key {
            TextKey::When
            | TextKey::CaseWhen
            | TextKey::CriterionWhen
            | TextKey::CheckExpression
            | TextKey::Until
            | TextKey::RoundUntil => TextRole::Condition,
            TextKey::ForEach if authored.is_whole => TextRole::List,
            TextKey::WrittenScorecard => TextRole::Scorecard,
            TextKey::Questions => TextRole::Questions,
            TextKey::Wait => TextRole::Time,
            TextKey::ConversationMessage => TextRole::Message,
            TextKey::Documents => TextRole::Paths,
            // Replies read what the step reads that they are for: see `replies`.
            TextKey::Reply => return,
            _ => TextRole::Value,
        };
        self.all.extend(authored.text().map(|text| PlacedText { text, seat, role }));
    }

    fn step(&mut self, pipeline: &'a PipelinePlan, ix: StepIx) {
        let step = &pipeline.step(ix).step;
        let secrets = step.kind.facts().method.is_some() || step.kind.facts().starts.is_some();
        let when = self.seat(Viewpoint::Step(ix, StepPart::When), More::default());
        let list = self.seat(Viewpoint::Step(ix, StepPart::List), More::default());
        let work = self.seat(Viewpoint::Step(ix, StepPart::Work), More { secrets, ..More::default() });
        // Criteria that stand in the step.
        let judged = More { judged: true, with: Some(with_of_task()), ..More::default() };
        let judged = step.kind.facts().judges.map(|_| self.seat(Viewpoint::Step(ix, StepPart::Work), judged));
        let is_dialogue = matches!(step.kind, StepKind::Dialogue(_));
        let turns = is_dialogue.then(|| self.seat(Viewpoint::Step(ix, StepPart::Work), More { turns: true, ..More::default() }));
        let rounds = step.kind.repeat().map(|_| self.seat(Viewpoint::Step(ix, StepPart::Until), More::default()));
        step.each_text(&mut |authored| {
            let seat = match authored.key {
                TextKey::When => when,
                TextKey::ForEach => list,
                TextKey::Check | TextKey::CheckExpression | TextKey::CriterionWhen | TextKey::Feedback => judged.unwrap_or(work),
                TextKey::Until => turns.unwrap_or(work),
                TextKey::RoundUntil => rounds.unwrap_or(work),
                _ => work,
            };
            self.add(authored, seat);
        });
    }

    fn tool(&mut self, tool: &'a Tool, own: FileId, users: Option<&Vec<StepIx>>, pipeline: &PipelinePlan) {
        let at = shared(users, own, tool.span.file);
        let with = match &tool.kind {
            ToolKind::Http { arguments, .. } | ToolKind::Program { arguments, .. } => Some(with_of_tool(tool, arguments, users, pipeline)),
            ToolKind::Smtp { .. } => Some(Type::Any),
            ToolKind::Server(_) | ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::File(_) | ToolKind::Knowledge(_) => None,
            ToolKind::Pipeline { .. } | ToolKind::Broken => None,
        };
        let fixed = self.seat(at.clone(), More { secrets: true, ..More::default() });
        let sent = self.seat(at, More { secrets: tool.knowledge().is_none(), with, ..More::default() });
        tool.each_text(&mut |authored| {
            let is_fixed = matches!(authored.key, TextKey::Fixed | TextKey::FixedInput);
            self.add(authored, if is_fixed { fixed } else { sent });
        });
    }

    /// The names that stand right below a root in any text; `None`: some text takes the root as a whole.
    pub(in crate::rules) fn read_below(&self, root: &str) -> Option<HashSet<&str>> {
        // What stands in a text without its braces was meant, and is reported as that.
        let meant = self.all.iter().flat_map(|placed| unbraced(placed.text, root)).map(|(_, name)| Some(name));
        self.reads(root).map(|read| read.path.get(1).map(String::as_str)).chain(meant).collect()
    }

    /// What the texts read below a root.
    pub(in crate::rules) fn reads(&self, root: &str) -> impl Iterator<Item = &'a Read> {
        self.all.iter().flat_map(|placed| &placed.text.reads).filter(move |read| read.path.first().is_some_and(|name| name == root))
    }

    /// Whether a text reads something below a root that is not there. That was reported; it was meant for one of those that seem unread.
    pub(in crate::rules) fn reads_unknown(&self, root: &str, is_known: impl Fn(&str) -> bool) -> bool {
        let judged = self.all.iter().filter(|placed| !self.seats[placed.seat].is_for_others());
        let mut paths = judged.flat_map(|placed| &placed.text.reads).map(|read| read.path.as_slice());
        paths.any(|path| matches!(path, [first, name, ..] if first == root && !is_known(name)))
    }
}

/// Names below a root in a text without braces, and where the root begins.
pub(in crate::rules) fn unbraced<'t>(text: &'t Text, root: &str) -> impl Iterator<Item = (usize, &'t str)> {
    let source = if text.form == Form::Plain { &*text.source } else { "" };
    source.match_indices(root).filter_map(move |(at, root)| {
        let name = source[at + root.len()..].strip_prefix('.')?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        Some((at, name))
    })
}

fn shared(users: Option<&Vec<StepIx>>, own: FileId, file: FileId) -> Viewpoint {
    Viewpoint::Shared {
        users: users.map(|users| users.iter().take(MOST_USERS).copied().collect()).unwrap_or_default(),
        is_imported: file != own,
    }
}

/// What `with` holds in a check of a scorecard: what all its gates give.
fn with_of_gates(pipeline: &PipelinePlan, gates: &[StepIx]) -> Option<Type> {
    let given = gates.iter().filter_map(|ix| match pipeline.step(*ix).step.kind.facts().judges? {
        JudgingStep::Gate(gate) => Some(Type::object(gate.with.iter().map(|(name, _)| (name.as_str(), Type::Any)))),
        JudgingStep::Task(_) => Some(with_of_task()),
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
        let kind = &pipeline.step(*ix).step.kind;
        if kind.facts().sends {
            ["content", "text", "part", "parts"].into_iter().for_each(|name| add(name, Type::Any));
        }
        kind.facts().with.iter().for_each(|(name, _)| add(&name.value, Type::Any));
    }
    Type::Object(std::sync::Arc::new(with))
}

/// Which steps use what is defined by name.
struct Users<'a> {
    agents: HashMap<&'a str, Vec<StepIx>>,
    tools: HashMap<&'a str, Vec<StepIx>>,
    scorecards: HashMap<&'a str, Vec<StepIx>>,
    /// As far as their names are written out.
    models: HashMap<&'a str, Vec<StepIx>>,
}

impl<'a> Users<'a> {
    fn of(pipeline: &'a PipelinePlan) -> Users<'a> {
        let mut users = Users { agents: HashMap::new(), tools: HashMap::new(), scorecards: HashMap::new(), models: HashMap::new() };
        for (ix, planned) in pipeline.numbered_steps() {
            let (file, kind) = (&pipeline.pipeline, &planned.step.kind);
            for agent in kind.agents(file) {
                users.agents.entry(&agent.value).or_default().push(ix);
            }
            for name in kind.facts().may_use {
                let tool = ToolName::parse(&name.value).tool;
                let (of, name) =
                    if file.agents.contains_key(&name.value) { (&mut users.agents, &*name.value) } else { (&mut users.tools, tool) };
                of.entry(name).or_default().push(ix);
            }
            if let StepKind::Send(send) = kind {
                users.tools.entry(&send.to.value).or_default().push(ix);
            }
            if let Some(resource) = kind.resource() {
                users.tools.entry(&resource.server.value).or_default().push(ix);
            }
            if let Some(judging) = kind.facts().judges {
                let named = judging.cards().iter().filter_map(ScorecardRef::name);
                named.for_each(|name| users.scorecards.entry(name.as_str()).or_default().push(ix));
            }
        }
        users.models = models_of(&pipeline.pipeline, &users.agents, pipeline);
        users
    }
}

/// The models that the agents of steps ask, and those that stand in for them.
fn models_of<'a>(file: &'a Pipeline, agents: &HashMap<&'a str, Vec<StepIx>>, pipeline: &'a PipelinePlan) -> HashMap<&'a str, Vec<StepIx>> {
    let mut users: HashMap<&str, Vec<StepIx>> = HashMap::new();
    for (agent, steps) in agents {
        let Some(own) = file.agents.get(*agent).map(|agent| agent.model.as_ref().map_or(DEFAULT_MODEL, |model| &model.value)) else {
            continue;
        };
        for ix in steps {
            let of_step = if let StepKind::Agent(step) = &pipeline.step(*ix).step.kind { step.model.as_ref() } else { None };
            let asked = of_step.map_or(own, |model| &model.source);
            // Which model a template names is not known.
            if of_step.is_some_and(|model| model.form != Form::Plain) {
                continue;
            }
            let (mut waiting, mut seen) = (vec![asked], HashSet::new());
            while let Some(name) = waiting.pop().filter(|name| seen.insert(*name)) {
                users.entry(name).or_default().push(*ix);
                waiting.extend(file.models.get(name).into_iter().flat_map(|model| &model.fallback).map(|other| other.value.as_str()));
            }
        }
    }
    users
}
