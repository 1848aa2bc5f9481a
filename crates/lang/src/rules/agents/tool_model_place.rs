//! F316: a model that is a tool stands where only one that reads tools and verdicts could.

use crate::model::{DEFAULT_MODEL, Form, Model, Pipeline};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let is_tool = |name: &str| file.models.get(name).filter(|model| model.provider.tool().is_some());
    if let Some(model) = is_tool(DEFAULT_MODEL) {
        let message = "the model \"default\" is a tool, and FLOW_MODEL can put another in its place, which would get that tool";
        out.push(new_finding(model.span, message, model).help("give it another name, and write that as model of its agents"));
    }
    for (name, model) in &file.models {
        for other in &model.fallback {
            if let Some(tool) = is_tool(&other.value) {
                let message = format!("model {} falls back to {}, which is a tool", quoted(name), quoted(&other.value));
                out.push(
                    new_finding(other.span, &message, tool)
                        .help("remove it; what was said to a model is nothing that a tool could continue"),
                );
            }
        }
    }
    for planned in &pipeline.steps {
        let step = &planned.step;
        let facts = step.kind.facts();
        if let Some(named) = facts.model.filter(|named| named.form == Form::Plain)
            && let Some(tool) = is_tool(&named.source)
        {
            let message = format!("step {} names model {}, which is a tool", quoted(&step.id.value), quoted(&named.source));
            out.push(new_finding(named.place.span, &message, tool).help("write it as model of the agent"));
        }
        let judge = facts.judges.and_then(|judging| judging.judge());
        for helper in judge.into_iter().chain(facts.helpers.into_iter().flatten()) {
            helps(file, &helper.value, helper.span, out);
        }
    }
    for judge in file.scorecards.values().filter_map(|card| card.judge.as_ref()) {
        helps(file, &judge.value, judge.span, out);
    }
}

/// An agent that judges or sums up has no tools.
fn helps(file: &Pipeline, agent: &str, span: Span, out: &mut Vec<Diagnostic>) {
    let model = file.agents.get(agent).and_then(|agent| file.models.get(agent.model_name()));
    let Some(model) = model.filter(|model| model.provider.tool().is_some()) else { return };
    let message = format!("agent {} judges or sums up, and its model is a tool", quoted(agent));
    out.push(new_finding(span, &message, model).help("name an agent with a model of another provider"));
}

fn new_finding(span: Span, message: &str, model: &Model) -> Diagnostic {
    let diagnostic = finding(Code::ToolModelPlace, span, message);
    if span == model.span { diagnostic } else { diagnostic.related(model.span, "this model") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_tool_answers_for_agents_alone() {
        let with = |models: &str, agents: &str, steps: &str| {
            let tools = "tools: { t: { http: POST https://example.com, arguments: { prompt: text } } }\n";
            says(
                check,
                &format!(
                    "models: {{ m: {{ provider: tool, tool: t }}{models} }}\n{tools}agents: {{ a: {{ model: m }}, b: {{}}{agents} }}\nsteps: [{steps}]\n"
                ),
            )
        };
        let step = "{ id: s, agent: a, prompt: x }";
        assert_eq!(with("", "", step), "");
        assert!(with(", default: { provider: tool, tool: t }", "", step).contains("FLOW_MODEL can put another in its place"));
        assert!(with(", o: { provider: ollama, model: x, fallback: [m] }", "", step).contains("falls back to \"m\", which is a tool"));
        assert!(with("", "", "{ id: s, agent: b, model: m, prompt: x }").contains("step \"s\" names model \"m\", which is a tool"));
        let dialogue = "{ id: s, dialogue: [b, c], topic: x, max_turns: 4, until: { judge: a } }";
        assert!(with("", ", c: {}", dialogue).contains("agent \"a\" judges or sums up, and its model is a tool"));
    }
}
