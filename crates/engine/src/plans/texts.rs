//! Prompts about a plan: what it may use, earlier results, and the results that its steps receive from each other.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::event::{Failure, Purpose};
use crate::gate::wanted;
use crate::model::{Agent, FieldKind, PipelineId, PlanStep, Shape, ToolParameters, Usable};
use crate::parts::Plans;
use crate::port::ToolDescription;
use crate::questions::Brief;
use crate::shape;
use crate::state::{NodeRef, Planning};
use crate::words::plain;

/// The input of a pipeline that receives the outputs of the steps it depends on.
const PREVIOUS: &str = "previous";
/// The most characters of an agent's instructions that a planner is shown.
const MOST_ABOUT: usize = 1_000;

impl Plans<'_> {
    pub(crate) fn plan_brief(&self, at: NodeRef, own: &PlanStep, opens: bool) -> Result<Brief, Failure> {
        let usable = self.usable(at, own)?;
        let mut prompt = None;
        if opens {
            let asked = prompt.insert(self.conversations().with_refinement(at, &own.agent.value, &own.prompt)?);
            self.files().attach(at, own.attach.as_ref(), asked)?;
            let so_far =
                self.state.steps.node(at).planning.as_deref().filter(|planning| !planning.plans.is_empty()).map(so_far).unwrap_or_default();
            asked.text = format!("{}\n\n{so_far}{}", asked.text.trim_end(), how_to_plan(&usable, own));
        }
        self.conversations().brief(at, &own.agent.value, None, prompt, Some(wanted::plan(&usable, own.most_steps())), Purpose::Plan)
    }

    pub(crate) fn check_brief(&self, at: NodeRef, own: &PlanStep, checker: &str, opens: bool) -> Result<Brief, Failure> {
        let mut prompt = None;
        if opens {
            let asked = self.conversations().fill_for_agent(at, self.agent(at, checker)?, &own.prompt)?;
            let so_far = self.state.steps.node(at).planning.as_deref().map(so_far).unwrap_or_default();
            let how = "Say whether this is fulfilled, and in \"progress\" what is done and what is missing.";
            prompt = Some(format!("This was asked:\n{}\n\n{so_far}{how}", asked.trim_end()).into());
        }
        self.conversations().brief(at, checker, None, prompt, Some(wanted::fulfilled()), Purpose::Check)
    }

    /// The agents and tools that a plan may use, with their purpose and parameters.
    pub(crate) fn usable(&self, at: NodeRef, own: &PlanStep) -> Result<Vec<Usable>, Failure> {
        let planned = self.planned_of(at);
        let mut usable: Vec<Usable> = vec![];
        for name in &own.may_use {
            if let Some(agent) = planned.pipeline.agents.get(&name.value) {
                let about = self.purpose(at, agent)?;
                usable.push(Usable { name: name.value.clone(), about, takes: None });
                continue;
            }
            for tool in self.toolbox().offered(at, std::slice::from_ref(name)) {
                let ToolDescription { description: about, parameters: mut schema, .. } = Arc::unwrap_or_clone(tool.description);
                // The plan does not provide it.
                let takes_previous = self.previous_of(planned.called_tool(&tool.name)).is_some();
                let needs_previous = takes_previous && shape::take_out(&mut schema, PREVIOUS);
                let takes = Some(ToolParameters { schema, needs_previous });
                usable.push(Usable { name: tool.name, about, takes });
            }
        }
        usable.dedup_by(|later, first| later.name == first.name);
        Ok(usable)
    }

    /// What an agent is for, as others are told: the beginning of its instructions.
    ///
    /// # Errors
    /// Fails if its instructions cannot be filled in.
    pub(crate) fn purpose(&self, at: NodeRef, agent: &Agent) -> Result<String, Failure> {
        let instructions =
            agent.instructions.as_ref().map(|text| self.conversations().fill_for_agent(at, agent, text)).transpose()?.unwrap_or_default();
        Ok(instructions.trim().chars().take(MOST_ABOUT).collect())
    }

    /// The type of a pipeline's input `previous`, if it has one.
    fn previous_of(&self, called: Option<PipelineId>) -> Option<FieldKind> {
        match &self.plan.pipeline(called?).pipeline.inputs {
            Shape::Fields(fields) => fields.iter().find(|field| field.name == PREVIOUS).map(|field| field.kind),
            Shape::Schema(schema) => schema.pointer("/properties/previous").map(|_| FieldKind::Any),
        }
    }

    /// The outputs of the steps that a step of a plan depends on, with their ids.
    fn depended_on(&self, at: NodeRef) -> Vec<(String, Value)> {
        let Some(planning) = self.state.steps.planner(at).and_then(|planner| self.state.steps.node(planner).planning.as_deref()) else {
            return vec![];
        };
        let Some(step) = planning.plans.last().and_then(|one| one.plan.steps.get(at.node as usize)) else { return vec![] };
        let here = self.own_plan(at);
        let nodes = &self.state.steps.frame(at.frame).nodes;
        let output = |id: &String| match here.block(here.main).place(id) {
            Some(place) => nodes[place].output.as_deref().cloned().unwrap_or_default(),
            None => planning.results().find(|result| result.id == *id).map_or(Value::Null, |result| (*result.output).clone()),
        };
        step.depends_on.iter().map(|id| (id.clone(), output(id))).collect()
    }

    /// The text below the prompt of an agent in a plan: the outputs of the steps it depends on.
    pub(crate) fn below_prompt(&self, at: NodeRef) -> String {
        let results = self.depended_on(at);
        results.iter().map(|(id, output)| format!("\n\nResult of {id}:\n{}", plain(output))).collect()
    }

    /// The input `previous` of a pipeline in a plan, if it has one: the outputs of the steps that it depends on, in the form it takes.
    pub(crate) fn previous(&self, at: NodeRef, called: PipelineId) -> Option<(String, Value)> {
        let kind = self.previous_of(Some(called))?;
        let results = self.depended_on(at);
        if results.is_empty() {
            return None;
        }
        let value = match kind {
            FieldKind::List => results.into_iter().map(|(_, output)| output).collect(),
            FieldKind::Text => Value::String(self.below_prompt(at).trim_start().to_string()),
            _ => Value::Object(results.into_iter().collect()),
        };
        Some((PREVIOUS.to_owned(), value))
    }
}

/// The results of the plans so far, for the agent that writes the next plan or checks the work.
fn so_far(planning: &Planning) -> String {
    let results: Vec<String> = planning.results().map(|result| json!(result).to_string()).collect();
    let missing = planning.plans.last().and_then(|one| one.check.as_ref()).map(|(_, progress)| progress);
    let missing = missing.map(|progress| format!("It is not fulfilled yet: {progress}\n\n")).unwrap_or_default();
    format!("Results so far, one step a line:\n{}\n\n{missing}", results.join("\n"))
}

fn how_to_plan(usable: &[Usable], own: &PlanStep) -> String {
    let mut told = format!("Write a plan of at most {} steps. A step uses one of these:\n", own.most_steps());
    for usable in usable {
        let about = if usable.about.is_empty() { String::new() } else { format!(" {}", usable.about) };
        told.push_str(&match &usable.takes {
            Some(takes) => {
                format!("- tool {}:{about} Give its arguments in \"with\", by this JSON Schema: {}\n", usable.name, takes.schema)
            }
            None => format!("- agent {}:{about} Say in \"prompt\" what it is asked.\n", usable.name),
        });
    }
    told.push_str(
        "Steps run at the same time (\"strategy\": \"parallel\") or one by one (\"sequential\"). A step gets the results of the steps that \
         it names in \"depends_on\", and starts after them.",
    );
    told
}
