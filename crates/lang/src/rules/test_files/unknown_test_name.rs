//! F700: a name of a test, or of a scripted reply, that its pipeline does not have.

use std::collections::HashSet;

use crate::diagnostic::{About, Hints, Near};
use crate::model::{
    Channels, Check, Expect, Filling, JUDGE_REPLY, Outputs, Pipeline, ReplyBody, ReplySet, ScriptedReply, Shape, TestCase, TestFile,
    ToolName, step_path,
};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, listed, quoted, sole_path};
use crate::rules::support::step_paths::{PathEnd, nearest, way, with_places};
use crate::source::{Span, Spanned};

/// What stands beside `outputs` below `expect`.
const BESIDE_OUTPUTS: [&str; 13] = [
    "sent", "status", "exit", "steps", "refined", "result", "judge", "max_tokens", "max_cost_usd", "blocked", "calls", "asked",
    "max_parallel",
];

/// F700: a name of the test that its pipeline does not have.
pub(in crate::rules) fn check(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let has_conversation = pipeline.pipeline.conversation.is_some();
    for case in tests.cases.iter().filter(|case| !case.conversation.is_empty() && !has_conversation) {
        let message = format!("test {} sets a conversation, but the pipeline has none", quoted(&case.id.value));
        out.push(report(case.id.span, &message));
    }
    let any_is_judged = tests.cases.iter().any(is_judged);
    let mut names = CaseNames { pipeline, plan, known: NamableThings::of(pipeline, plan), hints: Hints::default(), out };
    for (number, case) in tests.cases.iter().enumerate() {
        // What is in the file for all cases is looked at once.
        let is_first = number == 0;
        names.in_start(case);
        names.in_mocks(case, is_first);
        names.in_replies(case, is_first, any_is_judged);
        if let Some(expect) = &case.expect {
            names.in_expectations(case, expect);
        }
    }
    for (case, expect) in tests.cases.iter().filter_map(|case| Some((case, case.expect.as_ref()?))) {
        names.without_places(case, expect);
    }
}

pub(in crate::rules) fn report(span: Span, message: &str) -> Diagnostic {
    reported(span, message).help("correct the name, or remove it")
}

/// The same, without help.
pub(in crate::rules) fn reported(span: Span, message: &str) -> Diagnostic {
    finding(Code::TestUnknownName, span, message)
}

/// The help where a name leads into a step in which no other step runs.
pub(in crate::rules) fn one_list(step: &str) -> String {
    format!("write {step}: what its agents say is one list under that name, in the order in which they are asked")
}

fn is_judged(case: &TestCase) -> bool {
    case.expect.as_ref().is_some_and(|expect| expect.judge.is_some())
}

/// What a test names.
#[derive(Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
enum Namable {
    Step,
    #[strum(serialize = "step")]
    Mocked,
    Agent,
    Input,
    Channel,
    Output,
}

/// The names of one test file.
struct CaseNames<'p, 'o> {
    pipeline: &'p PipelinePlan,
    plan: &'p Plan,
    known: NamableThings<'p>,
    hints: Hints,
    out: &'o mut Vec<Diagnostic>,
}

impl CaseNames<'_, '_> {
    fn is_step(&self, path: &str) -> bool {
        !matches!(way(self.plan, self.pipeline, path), PathEnd::Nowhere | PathEnd::Case(_))
    }

    fn in_start(&mut self, case: &TestCase) {
        let inputs = case.inputs.iter().filter(|(name, _)| self.known.inputs.as_ref().is_some_and(|inputs| !inputs.has(name)));
        for (name, value) in inputs.collect::<Vec<_>>() {
            self.unknown(case, ("gives", Namable::Input), value.span, name);
        }
        let Channels::Named(names) = &case.channels else { return };
        for name in names {
            if !self.known.channels.has(&name.value) {
                self.unknown(case, ("runs on", Namable::Channel), name.span, &name.value);
            }
        }
    }

    fn in_mocks(&mut self, case: &TestCase, is_first: bool) {
        for (path, mock) in case.mocks.own.iter().chain(case.mocks.shared.iter().filter(|_| is_first)) {
            let is_other = self.known.tools.contains(&ToolName::parse(path).tool) || self.known.person == Some(path);
            if !is_other && !self.is_step(path) {
                self.unknown(case, ("mocks", Namable::Mocked), mock.span, path);
            }
        }
    }

    fn in_replies(&mut self, case: &TestCase, is_first: bool, any_is_judged: bool) {
        let own = case.replies.own.iter().map(|reply| (reply, is_judged(case)));
        let shared = case.replies.shared.iter().filter(|_| is_first).map(|reply| (reply, any_is_judged));
        for ((path, replies), judges) in own.chain(shared) {
            let first = match replies {
                ReplySet::Every(reply) => Some(reply),
                ReplySet::InTurn(replies) | ReplySet::Matching(replies) => replies.first(),
            };
            if let Some(reply) = first.filter(|_| !(self.is_step(path) || judges && *path == JUDGE_REPLY)) {
                self.unknown(case, ("has a reply for", Namable::Step), reply.span, path);
            }
        }
    }

    fn in_expectations(&mut self, case: &TestCase, expect: &Expect) {
        for (path, _) in &expect.steps {
            // Whether a case ran may be expected; a mock or a reply has no use for its path.
            if matches!(way(self.plan, self.pipeline, &path.value), PathEnd::Nowhere) {
                self.unknown(case, ("has expectations for", Namable::Step), path.span, &path.value);
            }
        }
        for (path, calls) in &expect.calls {
            if !self.is_step(&path.value) {
                self.unknown(case, ("expects calls of", Namable::Step), path.span, &path.value);
            }
            self.agents(case, calls.agent.as_ref().map(|agents| agents.value.as_slice()));
        }
        self.agents(case, expect.asked.as_ref().map(|agents| agents.value.as_slice()));
        let outputs = expect.outputs.iter().filter(|(name, _)| self.known.outputs.as_ref().is_some_and(|known| !known.has(&name.value)));
        for (name, _) in outputs.collect::<Vec<_>>() {
            self.unknown(case, ("expects", Namable::Output), name.span, &name.value);
        }
    }

    fn agents(&mut self, case: &TestCase, agents: Option<&[Spanned<String>]>) {
        for agent in agents.unwrap_or_default() {
            if !self.known.agents.contains(&agent.value.as_str()) {
                self.unknown(case, ("expects calls of", Namable::Agent), agent.span, &agent.value);
            }
        }
    }

    /// Expectations for a step that runs several times.
    fn without_places(&mut self, case: &TestCase, expect: &Expect) {
        for (path, _) in &expect.steps {
            let Some(placed) = with_places(self.plan, self.pipeline, &path.value).filter(|_| self.is_step(&path.value)) else { continue };
            let message = format!(
                "test {} has expectations for step {}, which runs for each element or round",
                quoted(&case.id.value),
                quoted(&path.value)
            );
            self.out.push(reported(path.span, &message).help(format!("write {placed}, or the place that you mean")));
        }
    }

    /// A name in a case that is not there, and what the case does with it.
    fn unknown(&mut self, case: &TestCase, (does, thing): (&str, Namable), span: Span, name: &str) {
        let about = if thing == Namable::Channel { About::CaseChannel } else { About::Other };
        let head = format!("test {} {does} {thing} {}", quoted(&case.id.value), quoted(name));
        if let PathEnd::Case(inside) = way(self.plan, self.pipeline, name) {
            let steps = inside.steps.iter().map(|step| step_path::inside(name, &step.id.value)).collect::<Vec<_>>();
            let found = reported(span, &format!("{head}, a case with steps: no step has this path"));
            return self.out.push(found.help(format!("name a step in it: {}", steps.join(", "))));
        }
        // Of a path, what is in the last step of it that there is.
        let inner = if matches!(thing, Namable::Step | Namable::Mocked) { nearest(self.plan, self.pipeline, name) } else { vec![] };
        if let [holder] = inner.as_slice()
            && step_path::leads_into(name, holder)
        {
            let found = reported(span, &format!("{head}, but no step runs in {}", quoted(holder)));
            return self.out.push(found.help(one_list(holder)).about(about));
        }
        let names = if inner.is_empty() { self.known.of_thing(thing) } else { inner.iter().map(String::as_str).collect() };
        let hint = self.hints.did_you_mean(name, names.iter().copied());
        let problem = if thing == Namable::Channel { "which the pipeline does not list in channels" } else { "which does not exist" };
        let help = self.help(case, (thing, name), &names, &hint);
        let found = reported(span, &format!("{head}, {problem}{hint}")).help(help).near(hint).about(about);
        self.out.push(found);
    }

    /// What to do about a name where these are known.
    fn help(&self, case: &TestCase, (thing, name): (Namable, &str), known: &[&str], hint: &Near) -> String {
        let slashed = name.replace('.', "/");
        let dotted = name.split_once('.').filter(|(first, _)| known.contains(first));
        match (thing, known) {
            (Namable::Output, _) if let Some((output, field)) = dotted => {
                format!("write {output}: {{ expression: \"value.{field} == …\" }}, a check of the whole output")
            }
            _ if !matches!(way(self.plan, self.pipeline, &slashed), PathEnd::Nowhere) && slashed != name => format!("write {slashed}"),
            (Namable::Output, _) if BESIDE_OUTPUTS.contains(&name) => {
                format!("write {name} beside outputs, not in it: expect: {{ {name}: … }}")
            }
            (_, []) => "remove it: the pipeline has none".to_owned(),
            _ if !hint.is_empty() => format!("write {} in place of {name}", hint.names.first().map_or("", String::as_str)),
            (Namable::Channel, _) => {
                let is_asked =
                    |channel: &&&str| matches!(&case.channels, Channels::Named(named) if named.iter().any(|name| name.value == **channel));
                let free: Vec<&str> = known.iter().filter(|channel| !is_asked(channel)).copied().collect();
                let or = if free.is_empty() { String::new() } else { format!("write {}, or ", free.join(" or ")) };
                format!("{or}add {name} to channels of the pipeline")
            }
            (Namable::Output, _) if let Some(output) = output_of_step(case, &self.pipeline.pipeline, name) => format!("write {output}"),
            (_, [only]) => format!("write {only}"),
            (_, all) => format!("use one of: {}", listed(all)),
        }
    }
}

/// The output that is the text of one step: of the step that is named, or of the one whose reply is expected.
fn output_of_step<'p>(case: &TestCase, file: &'p Pipeline, name: &str) -> Option<&'p str> {
    let Outputs::Named(outputs) = &file.outputs else { return None };
    let checks = case.expect.as_ref()?.outputs.iter().find(|(own, _)| own.value == name).map(|(_, checks)| checks.as_slice())?;
    let is_expected = |reply: &ReplySet| match (reply, checks) {
        (ReplySet::Every(ScriptedReply { body: ReplyBody::Text(text), .. }), [check]) => {
            matches!(&check.value, Check::Equals(Filling::Constant(value)) if value.as_str() == Some(text.source.trim()))
        }
        _ => false,
    };
    let replied = case.replies.own.iter().find(|(_, reply)| is_expected(reply)).map(|(path, _)| path.as_str());
    let gives = |value: &Filling, step: &str| match value {
        Filling::Text(text) => sole_path(text).is_some_and(|read| read.path.iter().take(3).eq(["steps", step, "output"].iter())),
        _ => false,
    };
    [Some(name), replied]
        .into_iter()
        .flatten()
        .find_map(|step| outputs.iter().find(|(_, value)| gives(value, step)).map(|(output, _)| output.value.as_str()))
}

/// What a test can name in a pipeline.
struct NamableThings<'p> {
    steps: Vec<&'p str>,
    /// Those of called pipelines, too.
    agents: Vec<&'p str>,
    /// Those of called pipelines, too: a mock stands for a tool wherever it is used.
    tools: Vec<&'p str>,
    /// `person`, if the pipeline has one: its table may be mocked.
    person: Option<&'p str>,
    channels: SortedNames<'p>,
    /// `None`: any name may be given.
    inputs: Option<SortedNames<'p>>,
    outputs: Option<SortedNames<'p>>,
}

impl<'p> NamableThings<'p> {
    fn of(pipeline: &'p PipelinePlan, plan: &'p Plan) -> NamableThings<'p> {
        let file = &pipeline.pipeline;
        NamableThings {
            steps: pipeline.steps.iter().map(|planned| planned.step.id.as_str()).collect(),
            agents: plan.pipelines.iter().flat_map(|planned| planned.pipeline.agents.keys()).map(String::as_str).collect(),
            tools: plan.pipelines.iter().flat_map(|planned| planned.pipeline.tools.keys()).map(String::as_str).collect(),
            person: file.person.as_ref().map(|_| "person"),
            channels: SortedNames::of(file.channels.iter().map(|channel| channel.name.as_str())),
            inputs: match &file.inputs {
                Shape::Fields(fields) => Some(SortedNames::of(fields.iter().map(|field| field.name.as_str()))),
                Shape::Schema(_) => None,
            },
            outputs: match &file.outputs {
                Outputs::Named(outputs) => Some(SortedNames::of(outputs.iter().map(|(name, _)| name.value.as_str()))),
                Outputs::None | Outputs::Whole(_) => None,
            },
        }
    }

    /// The names that one of a case could be.
    fn of_thing(&self, thing: Namable) -> Vec<&'p str> {
        let all = |names: &Option<SortedNames<'p>>| names.iter().flat_map(|names| names.list.iter().copied()).collect();
        match thing {
            Namable::Mocked => self.steps.iter().chain(&self.tools).copied().chain(self.person).collect(),
            Namable::Step => self.steps.clone(),
            Namable::Agent => self.agents.clone(),
            Namable::Channel => self.channels.list.clone(),
            Namable::Input => all(&self.inputs),
            Namable::Output => all(&self.outputs),
        }
    }
}

/// Names in order, quick to look up.
struct SortedNames<'p> {
    list: Vec<&'p str>,
    all: HashSet<&'p str>,
}

impl<'p> SortedNames<'p> {
    fn of(names: impl Iterator<Item = &'p str>) -> SortedNames<'p> {
        let list: Vec<&str> = names.collect();
        SortedNames { all: list.iter().copied().collect(), list }
    }

    fn has(&self, name: &str) -> bool {
        self.all.contains(name)
    }
}
