//! Test cases: names that do not exist (F700), and what other rules say of them.

use super::{
    case_contradicts, mock_shape, nothing_expected, replies, reply_calls, reply_shape, test_ends, test_lacks, test_values,
    unknown_test_name, verdicts,
};
use crate::diagnostic::did_you_mean;
use crate::model::{DEFAULT_MODEL, Outputs, TestCase, TestFile};
use crate::rules::gates::{check_impossible, judged_by_itself, slashes, text_as_pattern};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, listed, quoted};
use crate::rules::values::comparison_type;

/// Checks the cases of a test file against its pipeline: the first of the plan. `is_recorded`: whether answers of models are recorded for a case.
pub(crate) fn check(tests: &TestFile, plan: &Plan, is_recorded: &dyn Fn(&str) -> bool, out: &mut Vec<Diagnostic>) {
    nothing_expected::check(tests, out);
    slashes::in_tests(tests, out);
    check_impossible::in_tests(tests, out);
    comparison_type::in_tests(tests, out);
    judged_by_itself::in_tests(tests, out);
    text_as_pattern::in_tests(tests, out);
    if let Some(pipeline) = plan.pipelines.first() {
        unknown_test_name::check(tests, pipeline, plan, out);
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

#[cfg(test)]
mod tests {
    use crate::rules::testing::case;

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
