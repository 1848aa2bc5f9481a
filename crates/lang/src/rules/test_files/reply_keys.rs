//! Names of scripted replies of a model (F700). A file of replies may serve other pipelines too, and a pipeline that calls this one names its steps by a
//! longer path: so only what was surely meant for a step here is a mistake.

use super::unknown_test_name;
use crate::diagnostic::{About, did_you_mean};
use crate::model::step_path;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::support::step_paths::{PathEnd, nearest, way};

/// F700, for the replies of scripted models.
pub(in crate::rules) fn in_models(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let steps: Vec<&str> = pipeline.steps.iter().map(|planned| &*planned.step.id.value).collect();
    for replies in file.models.values().filter_map(|model| model.provider.scripted()) {
        let is_known = |path: &str| plan.pipelines.iter().any(|pipeline| !matches!(way(plan, pipeline, path), PathEnd::Nowhere));
        for (path, set) in replies.by_step.iter().filter(|(path, _)| !is_known(path)) {
            let Some(span) = set.all().first().map(|reply| reply.span) else { continue };
            let inner = nearest(plan, pipeline, path);
            let message = |why: &str| format!("there is a reply for {}, {why}", quoted(path));
            if let [holder] = inner.as_slice()
                && step_path::leads_into(path, holder)
            {
                if span.file == file.name.span.file || !replies.by_step.contains_key(holder) {
                    let found = unknown_test_name::reported(span, &message(&format!("but no step runs in {}", quoted(holder))));
                    out.push(found.help(unknown_test_name::one_list(holder)).about(About::Other));
                }
                continue;
            }
            let names: Vec<&str> = if inner.is_empty() { steps.clone() } else { inner.iter().map(String::as_str).collect() };
            let hint = did_you_mean(path, names.iter().copied().filter(|name| !replies.by_step.contains_key(*name)));
            if let Some(meant) = hint.names.first() {
                let found = unknown_test_name::reported(span, &message(&format!("which does not exist{hint}")));
                out.push(found.help(format!("write {meant} in place of {path}")).near(hint));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says_of;

    const BODY: &str = "agents: { a: {}, b: {}, w: {} }\nsteps:\n  - { id: talk, dialogue: [a, b], topic: x, max_turns: 2 }\n  - { id: all, steps: [{ id: tech, agent: w, prompt: x }, { id: money, agent: w, prompt: x }] }\n";

    fn says(replies: &str) -> String {
        let inline = format!("flow: 1\nname: x\nmodels:\n  default: {{ provider: scripted, replies: {{ {replies} }} }}\n{BODY}");
        says_of(in_models, &[("a.yaml", &inline)])
    }

    #[test]
    fn a_reply_is_named_by_a_step_that_asks_for_it() {
        assert_eq!(says("talk: [one, two], all/tech: x, all/money: b, of_another_pipeline: c"), "");
        for path in ["talk/a", "talk/zz", "all/tech/deep"] {
            let holder = path.rsplit_once('/').unwrap().0;
            assert_eq!(
                says(&format!("{path}: x")),
                format!("F700 4:45 there is a reply for \"{path}\", but no step runs in \"{holder}\"\n")
            );
        }
        assert!(
            says("all/tach: x, all/money: b").ends_with("which does not exist; did you mean \"all/tech\"?\n"),
            "{}",
            says("all/tach: x")
        );
        assert!(says("tolk: x, all/tech: b, all/money: c").ends_with("which does not exist; did you mean \"talk\"?\n"));
    }

    #[test]
    fn a_file_of_replies_may_serve_other_pipelines_too() {
        let text = format!("flow: 1\nname: x\nmodels: {{ default: {{ provider: scripted, replies: r.yaml }} }}\n{BODY}");
        let says = |replies: &str| says_of(in_models, &[("a.yaml", &text), ("r.yaml", &format!("flow: 1\nreplies: {{ {replies} }}\n"))]);
        assert_eq!(says("talk: x, talk/first: b, tolk: c"), "");
        assert!(says("talk/first: b").starts_with("F700 r.yaml:2:12 "), "{}", says("talk/first: b"));
    }
}
