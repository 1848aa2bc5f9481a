//! Test cases: names that do not exist (F700), and what other rules say of them.

use std::collections::HashSet;

use super::names::sole_path;
use super::step_paths::{PathEnd, nearest, way, with_places};
use super::{Diagnostic, PipelinePlan, Plan, listed, quoted};
use super::{
    case_contradicts, check_impossible, comparison_type, judged_by_itself, mock_shape, nothing_expected, replies, reply_calls, reply_shape,
    slashes, test_ends, test_lacks, test_values, text_as_pattern, unknown_test_name, verdicts,
};
use crate::diagnostic::{About, Hints, did_you_mean};
use crate::model::{
    Channels, Check, DEFAULT_MODEL, Filling, JUDGE_REPLY, Outputs, Pipeline, ReplyBody, ReplySet, ScriptedReply, Shape, TestCase, TestFile,
    ToolName, step_path,
};
use crate::source::Span;

/// Checks the cases of a test file against its pipeline: the first of the plan. `is_recorded`: whether answers of models are recorded for a case.
pub(crate) fn check(tests: &TestFile, plan: &Plan, is_recorded: &dyn Fn(&str) -> bool, out: &mut Vec<Diagnostic>) {
    nothing_expected::check(tests, out);
    slashes::in_tests(tests, out);
    check_impossible::in_tests(tests, out);
    comparison_type::in_tests(tests, out);
    judged_by_itself::in_tests(tests, out);
    text_as_pattern::in_tests(tests, out);
    if let Some(pipeline) = plan.pipelines.first() {
        unknown_names(tests, pipeline, plan, out);
        unknown_models(tests, pipeline, out);
        out.extend(tests.cases.iter().filter_map(|case| no_result(case, &pipeline.pipeline.outputs)));
        case_contradicts::check(tests, pipeline, plan, out);
        verdicts::in_tests(tests, pipeline, plan, out);
        replies::in_tests(tests, pipeline, plan, out);
        mock_shape::in_tests(tests, pipeline, plan, out);
        reply_shape::in_tests(tests, pipeline, plan, out);
        reply_calls::in_tests(tests, pipeline, plan, out);
        test_ends::check(tests, pipeline, plan, out);
        test_values::check(tests, pipeline, plan, out);
        test_lacks::check(tests, pipeline, plan, is_recorded, out);
    }
}

/// What a test names.
#[derive(Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
enum Namable {
    Step,
    Agent,
    Input,
    Channel,
    Output,
}

/// F700: a name of the test that its pipeline does not have.
fn unknown_names(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let known = NamableThings::of(pipeline, plan);
    let hints = Hints::default();
    for case in tests.cases.iter().filter(|case| !case.conversation.is_empty() && file.conversation.is_none()) {
        let message = format!("test {} sets a conversation, but the pipeline has none", quoted(&case.id.value));
        out.push(unknown_test_name::report(case.id.span, &message));
    }
    let mut report = |(verb, thing): (&str, Namable), case: &TestCase, span: Span, names: &[&[&str]], name: &str| {
        let about = if thing == Namable::Channel { About::CaseChannel } else { About::Other };
        let what = format!("{verb} {thing}");
        if let PathEnd::Case(inside) = way(plan, pipeline, name) {
            let message = format!("test {} {what} {}, a case with steps: no step has this path", quoted(&case.id.value), quoted(name));
            let steps = inside.steps.iter().map(|step| step_path::inside(name, &step.id.value)).collect::<Vec<_>>();
            out.push(unknown_test_name::reported(span, &message).help(format!("name a step in it: {}", steps.join(", "))));
            return;
        }
        // Of a path, what is in the last step of it that there is.
        let inner = if thing == Namable::Step { nearest(plan, pipeline, name) } else { vec![] };
        if let [holder] = inner.as_slice()
            && step_path::leads_into(name, holder)
        {
            let message = format!("test {} {what} {}, but no step runs in {}", quoted(&case.id.value), quoted(name), quoted(holder));
            out.push(unknown_test_name::reported(span, &message).help(unknown_test_name::one_list(holder)).about(about));
            return;
        }
        let inner: Vec<&str> = inner.iter().map(String::as_str).collect();
        let names = if inner.is_empty() { names } else { &[inner.as_slice()] };
        let hint = hints.did_you_mean(name, names.iter().flat_map(|names| names.iter().copied()));
        let problem = if thing == Namable::Channel { "which the pipeline does not list in channels" } else { "which does not exist" };
        let message = format!("test {} {what} {}, {problem}{hint}", quoted(&case.id.value), quoted(name));
        let all: Vec<&str> = names.iter().flat_map(|names| names.iter().copied()).collect();
        let slashed = name.replace('.', "/");
        let dotted = name.split_once('.').filter(|(first, _)| all.contains(first));
        let help = match (thing, all.as_slice()) {
            (Namable::Output, _) if let Some((output, field)) = dotted => {
                format!("write {output}: {{ expression: \"value.{field} == …\" }}, a check of the whole output")
            }
            _ if !matches!(way(plan, pipeline, &slashed), PathEnd::Nowhere) && slashed != name => format!("write {slashed}"),
            (Namable::Output, _)
                if [
                    "sent", "status", "exit", "steps", "refined", "result", "judge", "max_tokens", "max_cost_usd", "blocked", "calls",
                    "asked", "max_parallel",
                ]
                .contains(&name) =>
            {
                format!("write {name} beside outputs, not in it: expect: {{ {name}: … }}")
            }
            (_, []) => "remove it: the pipeline has none".to_owned(),
            (Namable::Channel, _) if hint.is_empty() => {
                let is_asked =
                    |channel: &&&str| matches!(&case.channels, Channels::Named(named) if named.iter().any(|name| name.value == **channel));
                let free: Vec<&str> = all.iter().filter(|channel| !is_asked(channel)).copied().collect();
                let or = if free.is_empty() { String::new() } else { format!("write {}, or ", free.join(" or ")) };
                format!("{or}add {name} to channels of the pipeline")
            }
            (Namable::Output, _) if let Some(output) = output_of_step(case, file, name).filter(|_| hint.is_empty()) => {
                format!("write {output}")
            }
            (_, [only]) if hint.is_empty() => format!("write {only}"),
            (_, all) if hint.is_empty() => format!("use one of: {}", listed(all)),
            _ => format!("write {} in place of {name}", hint.names.first().map_or("", String::as_str)),
        };
        out.push(unknown_test_name::reported(span, &message).help(help).near(hint).about(about));
    };
    let is_step = |path: &str| !matches!(way(plan, pipeline, path), PathEnd::Nowhere | PathEnd::Case(_));
    let is_judged = |case: &TestCase| case.expect.as_ref().is_some_and(|expect| expect.judge.is_some());
    let any_is_judged = tests.cases.iter().any(is_judged);
    // A mock stands for a tool wherever it is used, in called pipelines too.
    let tools: Vec<&str> = plan.pipelines.iter().flat_map(|planned| planned.pipeline.tools.keys()).map(String::as_str).collect();
    for (number, case) in tests.cases.iter().enumerate() {
        if let Some(inputs) = &known.inputs {
            for (name, value) in case.inputs.iter().filter(|(name, _)| !inputs.has(name)) {
                report(("gives", Namable::Input), case, value.span, &[&inputs.list], name);
            }
        }
        if let Channels::Named(names) = &case.channels {
            for name in names.iter().filter(|name| !known.channels.has(&name.value)) {
                report(("runs on", Namable::Channel), case, name.span, &[&known.channels.list], &name.value);
            }
        }
        // What is in the file for all cases is looked at once.
        let (mocks, replies) = (&case.mocks, &case.replies);
        let is_first = number == 0;
        for (path, mock) in mocks.own.iter().chain(mocks.shared.iter().filter(|_| is_first)) {
            let tool = ToolName::of(path).tool;
            let is_person = path == "person" && file.person.is_some();
            if !is_step(path) && !tools.contains(&tool) && !is_person {
                report(("mocks", Namable::Step), case, mock.span, &[&known.steps, &tools, &known.person], path);
            }
        }
        let own = replies.own.iter().map(|reply| (reply, is_judged(case)));
        let replies = own.chain(replies.shared.iter().filter(|_| is_first).map(|reply| (reply, any_is_judged)));
        for ((path, replies), _) in replies.filter(|((path, _), judges)| !(is_step(path) || *judges && *path == JUDGE_REPLY)) {
            let first = match replies {
                ReplySet::Every(reply) => Some(reply),
                ReplySet::InTurn(replies) | ReplySet::Matching(replies) => replies.first(),
            };
            if let Some(reply) = first {
                report(("has a reply for", Namable::Step), case, reply.span, &[&known.steps], path);
            }
        }
        let Some(expect) = &case.expect else { continue };
        // Whether a case ran may be expected; a mock or a reply has no use for its path.
        let is_path = |path: &str| is_step(path) || matches!(way(plan, pipeline, path), PathEnd::Case(_));
        for (path, _) in expect.steps.iter().filter(|(path, _)| !is_path(&path.value)) {
            report(("has expectations for", Namable::Step), case, path.span, &[&known.steps], &path.value);
        }
        for (path, calls) in &expect.calls {
            if !is_step(&path.value) {
                report(("expects calls of", Namable::Step), case, path.span, &[&known.steps], &path.value);
            }
            for agent in calls.agent.iter().flat_map(|agents| &agents.value).filter(|agent| !known.agents.contains(&agent.as_str())) {
                report(("expects calls of", Namable::Agent), case, agent.span, &[&known.agents], &agent.value);
            }
        }
        for agent in expect.asked.iter().flat_map(|asked| &asked.value).filter(|agent| !known.agents.contains(&agent.as_str())) {
            report(("expects calls of", Namable::Agent), case, agent.span, &[&known.agents], &agent.value);
        }
        if let Some(outputs) = &known.outputs {
            for (name, _) in expect.outputs.iter().filter(|(name, _)| !outputs.has(&name.value)) {
                report(("expects", Namable::Output), case, name.span, &[&outputs.list], &name.value);
            }
        }
    }
    for (case, expect) in tests.cases.iter().filter_map(|case| Some((case, case.expect.as_ref()?))) {
        for path in expect.steps.iter().map(|(path, _)| path).filter(|path| is_step(&path.value)) {
            let Some(placed) = with_places(plan, pipeline, &path.value) else { continue };
            let message = format!(
                "test {} has expectations for step {}, which runs for each element or round",
                quoted(&case.id.value),
                quoted(&path.value)
            );
            out.push(unknown_test_name::reported(path.span, &message).help(format!("write {placed}, or the place that you mean")));
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

/// F700: a model that the pipeline does not have. `default` may come from the settings or the environment.
fn unknown_models(tests: &TestFile, pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let known: Vec<&str> =
        pipeline.pipeline.models.keys().map(String::as_str).filter(|name| *name != DEFAULT_MODEL).chain([DEFAULT_MODEL]).collect();
    for name in tests.models.iter().chain(&tests.judge_model).filter(|name| !known.contains(&name.as_str())) {
        let hint = did_you_mean(&name.value, known.iter().copied());
        let message = format!("the test names model {}, which does not exist{hint}", quoted(&name.value));
        let help = format!("use one of: {}; or add it to models of the pipeline", listed(&known));
        out.push(unknown_test_name::reported(name.span, &message).help(help).near(hint));
    }
}

/// F700: `result` of a pipeline that has none of its own.
fn no_result(case: &TestCase, outputs: &Outputs) -> Option<Diagnostic> {
    let span = case.expect.as_ref()?.result.first()?.span;
    let (why, help) = match outputs {
        Outputs::Whole(_) => return None,
        Outputs::None => ("has no outputs", "remove result, or give the pipeline outputs: \"{{ steps.NAME.output }}\"".to_owned()),
        Outputs::Named(names) => {
            let first = names.first().map_or("NAME", |(name, _)| name.value.as_str());
            ("gives its outputs by name", format!("write outputs: {{ {first}: … }} in place of result"))
        }
    };
    let message = format!("test {} expects result, and the pipeline {why}", quoted(&case.id.value));
    Some(unknown_test_name::reported(span, &message).help(help))
}

/// What a test can name in a pipeline.
struct NamableThings<'p> {
    steps: Vec<&'p str>,
    /// Those of called pipelines, too.
    agents: Vec<&'p str>,
    /// `person`, if the pipeline has one: its table may be mocked.
    person: Vec<&'p str>,
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
            person: file.person.iter().map(|_| "person").collect(),
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

#[cfg(test)]
mod tests {
    use super::super::testing::case;

    #[test]
    fn names_of_a_case_are_known() {
        for (keys, found) in [
            ("replies: { expect.judge: passed }", "F700 16:64 test \"late\" has a reply for step \"expect.judge\", which does not exist\n"),
            ("expect: { result: Hi }", "F700 16:71 test \"late\" expects result, and the pipeline gives its outputs by name\n"),
            ("mocks: { drft: 1 }", "F700 16:62 test \"late\" mocks step \"drft\", which does not exist; did you mean \"draft\"?\n"),
            ("mocks: { person: null }", "F700 16:62 test \"late\" mocks step \"person\", which does not exist\n"),
            ("mocks: { r/two: 1 }", "F700 16:62 test \"late\" mocks step \"r/two\", which does not exist\n"),
            (
                "replies: { drafts: Hi }",
                "F700 16:64 test \"late\" has a reply for step \"drafts\", which does not exist; did you mean \"draft\"?\n",
            ),
            ("channels: [email]", "F700 16:64 test \"late\" runs on channel \"email\", which the pipeline does not list in channels\n"),
            (
                "expect: { steps: { drat: failed } }",
                "F700 16:72 test \"late\" has expectations for step \"drat\", which does not exist; did you mean \"draft\"?\n",
            ),
            ("expect: { outputs: { text: Hi } }", "F700 16:74 test \"late\" expects output \"text\", which does not exist\n"),
        ] {
            assert_eq!(case(&format!("golden: true, {keys}")), found, "{keys}");
        }
        assert_eq!(case("golden: true, mocks: { r/one: 1, r/otherwise/review: x, hook: 2, hook.x: 3 }, replies: { 'draft[2]': Hi }"), "");
    }
}
