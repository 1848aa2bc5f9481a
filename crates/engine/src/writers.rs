//! Who wrote what a step reads, by `labels`, and which texts of the author and the person may vouch for a value.
//!
//! All of it follows from the plan and the state, so a resumed run finds the same.

use std::borrow::Cow;

use serde_json::Value;

use crate::labels::{Caller, ChainIx, Labels, Seat};
use crate::model::{Field, Form, MessageRole, Text, TextKey, Tool, Writer};
use crate::parts::Origins;
use crate::policy::GivenTexts;
use crate::source::Span;
use crate::state::NodeRef;

impl Origins<'_> {
    /// The least trusted of those who wrote the value of a text of the file, as seen from a step. What a tool is given (`with`) is told by itself.
    pub(crate) fn writer_of(&self, at: NodeRef, text: &Text) -> Writer {
        text.reads.iter().filter(|read| read.path[0] != "with").map(|read| self.writer_at(at, &read.path)).max().unwrap_or(Writer::Author)
    }

    /// The least trusted of those who wrote what is at a path.
    pub(crate) fn writer_at(&self, at: NodeRef, path: &[String]) -> Writer {
        let mut labels = Labels::new(&self.plan);
        let Some(chain) = self.label_chain(&mut labels, at) else { return Writer::Model };
        // Steps of a plan see what the step sees that holds the plan.
        let seat = self.state.steps.planner(at).unwrap_or(at);
        self.least_trusted(&mut labels, chain, Some((self.state.steps.node(seat).step, true)), path)
    }

    fn least_trusted(&self, labels: &mut Labels, chain: ChainIx, seat: Seat, path: &[String]) -> Writer {
        let mut least = Writer::Author;
        let is_served = self.is_served();
        labels.sources_at(chain, seat, path, &mut |source| {
            // A model asked for a run that is served.
            let is_of_run = source.writer == Writer::Person && source.at.1.is_none();
            least = least.max(if is_served && is_of_run { Writer::Model } else { source.writer });
        });
        least
    }

    /// The pipeline of a step with the calls that led to it; `None`: it is in itself.
    fn label_chain(&self, labels: &mut Labels, at: NodeRef) -> Option<ChainIx> {
        let instances: Vec<(u32, Option<NodeRef>)> = self.state.steps.chain(at).collect();
        let mut chain = labels.root(self.state.steps.instance(instances.last()?.0).pipeline);
        for pair in instances.windows(2).rev() {
            let [(instance, Some(parent)), _] = *pair else { return None };
            let planner = self.state.steps.planner(parent);
            let step = self.state.steps.node(planner.unwrap_or(parent)).step;
            let is_of_model = planner.is_some() || self.state.steps.node(parent).talk().is_some();
            let caller = if is_of_model { Caller::Model(step) } else { Caller::Step(step) };
            chain = labels.called(chain, caller, self.state.steps.instance(instance).pipeline)?;
        }
        Some(chain)
    }

    /// The element of a `for_each` that a name means, as a step sees it.
    fn holder_of_item(&self, at: NodeRef, name: &str) -> Option<NodeRef> {
        let is_named = |at: &NodeRef| {
            let step = self.step(*at);
            name == "item" || step.for_each.as_ref().and_then(|each| each.name.as_ref()).is_some_and(|own| own.value == name)
        };
        self.state.steps.holders(at).find(|at| self.state.steps.node(*at).item.is_some() && is_named(at))
    }

    /// The value at a path that a step reads, as far as the path goes through names; `None`: it is not known.
    pub(crate) fn value_at(&self, at: NodeRef, path: &[String]) -> Option<&Value> {
        let (root, rest) = path.split_first()?;
        let (value, rest): (&Value, &[String]) = match root.as_str() {
            "inputs" => (&self.state.steps.instance_around(at).inputs, rest),
            "person" => (&self.state.steps.instance_around(at).person, rest),
            "steps" => {
                let (id, rest) = rest.split_first()?;
                let (part, rest) = rest.split_first()?;
                let found = self.names().look_up(self.state.steps.instance_of(at), Some(at), id)?;
                let output = self.state.steps.node(found).output.as_deref().filter(|_| part == "output")?;
                (output, rest)
            }
            name => (self.state.steps.node(self.holder_of_item(at, name)?).item.as_deref()?, rest),
        };
        rest.iter().try_fold(value, |value, part| match value {
            Value::Array(list) => list.get(part.parse::<usize>().ok()?),
            value => value.get(part),
        })
    }

    fn is_served(&self) -> bool {
        self.state.start.as_ref().is_some_and(|start| start.served)
    }

    /// Adds what the person said: the inputs of the run, and their messages of the conversation.
    pub(crate) fn add_words_of_person<'r>(&'r self, given: &mut GivenTexts<'r>) {
        if self.is_served() {
            return;
        }
        let (root, pipeline) = (self.state.steps.instance(0), &self.planned(0).pipeline);
        let field = |name: &str| pipeline.input_fields().iter().find(|field| field.name == name);
        for (name, value) in root.inputs.as_object().into_iter().flatten() {
            match field(name) {
                Some(field) => add_trusted(field, value, given),
                None => given.add_value(value),
            }
        }
        if pipeline.is_talked_to_by_a_stranger() {
            return;
        }
        if let Some(own) = self.state.start.as_ref().and_then(|start| start.conversation.as_deref()) {
            let of_person = own.messages.iter().filter(|message| message.role == MessageRole::User && message.agent.is_none());
            of_person.chain([&own.message]).for_each(|message| given.add(message.text.as_str()));
        }
    }

    /// Adds what authors wrote for a pipeline that runs: its defaults, except examples of what a stranger writes, and what they fixed in the tool by which a model calls it.
    pub(crate) fn add_words_of_pipeline<'r>(&'r self, at: NodeRef, given: &mut GivenTexts<'r>) {
        let instance = self.state.steps.instance_around(at);
        let pipeline = &self.plan.pipeline(instance.pipeline).pipeline;
        for field in pipeline.input_fields() {
            field.default.iter().for_each(|default| add_trusted(field, default, given));
        }
        let Some(parent) = instance.parent else { return };
        let called = |tool: &&Tool| tool.kind.pipeline() == Some(instance.pipeline);
        let fixed = self.planned_of(parent).pipeline.tools.values().filter(called).flat_map(|tool| &tool.with);
        fixed.flat_map(|(_, value)| value.texts()).for_each(|text| self.add_words_of_text(parent, text, given));
    }

    /// Adds what an author wrote for the agents of a step, and what trusted writers put in it.
    pub(crate) fn add_words_for_agents<'r>(&'r self, at: NodeRef, given: &mut GivenTexts<'r>) {
        let step = self.step(at);
        let by_author = self.state.steps.planner(at).is_none();
        let mut texts: Vec<&Text> = vec![];
        // What a model planned for another is the model's.
        if by_author {
            step.kind.each_text(Span::default(), &mut |authored| {
                texts.extend(authored.text().filter(|_| matches!(authored.key, TextKey::Prompt | TextKey::Attach)));
            });
        }
        for name in step.kind.agents_with_tools() {
            let agent = self.planned_of(at).pipeline.agents.get(&name.value);
            texts.extend(agent.and_then(|agent| agent.instructions.as_ref()));
        }
        texts.into_iter().for_each(|text| self.add_words_of_text(at, text, given));
    }

    /// Adds what an author wrote in a text, and the values in it that trusted writers wrote.
    pub(crate) fn add_words_of_text<'r>(&'r self, at: NodeRef, text: &Text, given: &mut GivenTexts<'r>) {
        given.add(Cow::Owned(text.source.to_string()));
        if text.form == Form::Plain {
            return;
        }
        for read in &text.reads {
            if let Some(value) = self.value_at(at, &read.path).filter(|_| self.writer_at(at, &read.path).is_trusted()) {
                given.add_value(value);
            }
        }
    }
}

/// Adds a value without the parts that a stranger wrote.
fn add_trusted(field: &Field, value: &Value, given: &mut GivenTexts) {
    match value {
        _ if !field.is_untrusted_at(&[]) => given.add_value(value),
        Value::Object(fields) if !field.is_untrusted => {
            for inner in &field.fields {
                fields.get(&inner.name).into_iter().for_each(|value| add_trusted(inner, value, given));
            }
        }
        _ => {}
    }
}
