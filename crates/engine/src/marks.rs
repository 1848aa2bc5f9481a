//! Personal data, by the marks of authors and by where they copy marked values.

use std::sync::Arc;

use crate::event::Marks;
use crate::model::{Field, Filling, Form, GroupStep, Outputs, PERSONAL, Program, RepeatStep, Shape, Step, StepKind, Text, ToolKind};

/// What the pipelines of a program mark as personal data.
pub fn marks(program: &Program) -> Marks {
    let mut marks = Marks::default();
    for pipeline in &program.pipelines {
        marks.inputs.extend(pipeline.input_fields().iter().filter(|f| f.is_pii).map(|f| f.name.clone()));
        marks.columns.extend(pipeline.data.values().flat_map(|d| &d.pii).map(|c| c.value.clone()));
        for field in pipeline.input_fields() {
            mark_fields(&field.fields, &mut marks.columns);
            mark_items(field, &mut marks.inputs, &mut marks.columns);
        }
        pipeline.agents.values().for_each(|agent| mark_shape(agent.output.as_ref(), &mut marks.columns));
        for tool in pipeline.tools.values() {
            if let ToolKind::Http { arguments, .. } | ToolKind::Program { arguments, .. } | ToolKind::Python { arguments, .. } = &tool.kind
            {
                mark_fields(arguments, &mut marks.columns);
            }
        }
        mark_steps(&pipeline.all_steps(), &mut marks);
    }
    copies(program, &mut marks);
    for names in [&mut marks.inputs, &mut marks.columns, &mut marks.steps, &mut marks.outputs] {
        names.sort();
        names.dedup();
    }
    marks.fields.sort();
    marks.fields.dedup();
    marks
}

/// Follows marked values to the places that an author fills with one unchanged (`set: "{{ inputs.who }}"`), until there are no new places.
fn copies(program: &Program, marks: &mut Marks) {
    loop {
        let before = marks.clone();
        for pipeline in &program.pipelines {
            copies_of_steps(program, &pipeline.all_steps(), marks);
        }
        if let Some(main) = program.pipelines.first() {
            let (names, is_whole) = copied_outputs(&main.outputs, marks);
            add(&mut marks.outputs, names);
            marks.whole_output |= is_whole;
        }
        if *marks == before {
            return;
        }
    }
}

fn copies_of_steps(program: &Program, steps: &[&Arc<Step>], marks: &mut Marks) {
    for step in steps {
        let (names, is_whole) = if let StepKind::Set(Filling::Text(text)) = &step.kind {
            (vec![], is_copy(text, marks))
        } else if let StepKind::Set(Filling::Map(map)) = &step.kind {
            (copied(map.iter().map(|(name, value)| (name, value)), marks), false)
        } else if let StepKind::Call(call) = &step.kind {
            let inputs = copied(call.with.iter().map(|(name, value)| (&name.value, value)), marks);
            add(&mut marks.inputs, inputs);
            call.pipeline.map_or_else(Default::default, |id| copied_outputs(&program.pipeline(id).outputs, marks))
        } else {
            // What a list of steps gives is what its steps give.
            let known = marks.steps.clone();
            let is_marked = |inner: &&Arc<Step>| known.contains(&inner.id.value);
            // What is bound in a query keeps its mark under its name.
            if let StepKind::Sql(query) = &step.kind {
                let bound = copied(query.with.iter().map(|(name, value)| (&name.value, value)), marks);
                add(&mut marks.columns, bound);
            }
            if let StepKind::Group(GroupStep { inner, .. }) | StepKind::Repeat(RepeatStep { inner, .. }) = &step.kind {
                // Wherever the outputs of the list go as a whole, they go under the ids of its steps.
                let marked: Vec<String> = inner.steps.iter().filter(is_marked).map(|inner| inner.id.value.clone()).collect();
                add(&mut marks.columns, marked.clone());
                (marked, false)
            } else {
                (vec![], step.kind.cases().filter_map(|case| case.steps.last()).any(|last| is_marked(&last)))
            }
        };
        let id = &step.id.value;
        if is_whole {
            add(&mut marks.steps, vec![id.clone()]);
        }
        add(&mut marks.fields, names.into_iter().map(|name| (id.clone(), name)).collect());
    }
}

fn add<T: PartialEq>(to: &mut Vec<T>, new: Vec<T>) {
    for one in new {
        if !to.contains(&one) {
            to.push(one);
        }
    }
}

/// The outputs that are copies of marked values, and whether the whole output is one.
fn copied_outputs(outputs: &Outputs, marks: &Marks) -> (Vec<String>, bool) {
    match outputs {
        Outputs::None => (vec![], false),
        Outputs::Named(named) => (copied(named.iter().map(|(name, value)| (&name.value, value)), marks), false),
        Outputs::Whole(text) => (vec![], is_copy(text, marks)),
    }
}

fn copied<'p>(named: impl Iterator<Item = (&'p String, &'p Filling)>, marks: &Marks) -> Vec<String> {
    let is_marked = |value: &Filling| matches!(value, Filling::Text(text) if is_copy(text, marks));
    named.filter(|(_, value)| is_marked(value)).map(|(name, _)| name.clone()).collect()
}

/// Whether a text is nothing but the name of a marked value.
fn is_copy(text: &Text, marks: &Marks) -> bool {
    let [read] = text.reads.as_slice() else { return false };
    let name: String = text.source.trim_start_matches("{{").trim_end_matches("}}").trim_matches(['-', ' ', '\n', '\t']).into();
    if !matches!(text.form, Form::Sole | Form::Bare) || name != read.path.join(".") {
        return false;
    }
    let path: Vec<&str> = read.path.iter().map(String::as_str).collect();
    let is_field = |rest: &[&str]| rest.last().is_some_and(|last| marks.columns.iter().any(|marked| marked.eq_ignore_ascii_case(last)));
    match path.as_slice() {
        ["inputs", name, rest @ ..] => marks.inputs.iter().any(|marked| marked == name) || is_field(rest),
        ["person", name] => PERSONAL.contains(name),
        ["steps" | "previous", id, "output", rest @ ..] => {
            let of_step = |(step, field): &(String, String)| step == id && rest.first().is_some_and(|name| field == name);
            marks.steps.iter().any(|marked| marked == id) || marks.fields.iter().any(of_step) || is_field(rest)
        }
        _ => false,
    }
}

fn mark_steps(steps: &[&Arc<Step>], marks: &mut Marks) {
    for step in steps {
        if step.is_pii {
            marks.steps.push(step.id.value.clone());
        }
        mark_shape(step.kind.facts().output, &mut marks.columns);
    }
}

/// The marked fields of a shape, at any depth.
fn mark_shape(shape: Option<&Shape>, marked: &mut Vec<String>) {
    if let Some(Shape::Fields(fields)) = shape {
        mark_fields(fields, marked);
    }
}

fn mark_fields(fields: &[Field], marked: &mut Vec<String>) {
    for field in fields {
        if field.is_pii {
            marked.push(field.name.clone());
        }
        mark_fields(&field.fields, marked);
        let mut own = vec![];
        mark_items(field, &mut own, marked);
        marked.append(&mut own);
    }
}

/// Elements have no name of their own: if they are marked, the list is marked.
fn mark_items(field: &Field, lists: &mut Vec<String>, marked: &mut Vec<String>) {
    let mut items = field.items.as_deref();
    while let Some(item) = items {
        if item.is_pii {
            lists.push(field.name.clone());
        }
        mark_fields(&item.fields, marked);
        items = item.items.as_deref();
    }
}
