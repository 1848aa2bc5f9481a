//! The places of a pipeline where keys and passwords belong.

use super::names_a_secret;
use crate::model::{Filling, Pipeline, ServerKind, Step, StepKind, Text, ToolKind};
use crate::source::Span;

/// Calls `visit` with the name of each place, whether it is a password whatever it looks like, and its text.
pub fn each_seat(pipeline: &Pipeline, visit: &mut dyn FnMut(&str, bool, &Text)) {
    for model in pipeline.models.values() {
        model.api_key.iter().for_each(|text| visit("api_key", false, text));
    }
    // A sentence for people is no value.
    for (name, about) in &pipeline.secrets {
        visit(name, false, &placed(&about.value, about.span));
    }
    for tool in pipeline.tools.values() {
        tool.with.iter().for_each(|(name, value)| filling(&name.value, name.span, value, visit));
        match &tool.kind {
            ToolKind::Http { headers, query, body, .. } => request(tool.span, headers, query, body.as_ref(), visit),
            ToolKind::Smtp { password, .. } => password.iter().for_each(|text| visit("password", true, text)),
            ToolKind::Server(ServerKind::Program { args, env, .. }) => {
                env.iter().filter(|(name, _)| names_a_secret(&name.value)).for_each(|(name, text)| visit(&name.value, false, text));
                arguments(args, visit);
            }
            ToolKind::Server(ServerKind::Url { headers, .. }) => request(tool.span, headers, &[], None, visit),
            ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => {}
        }
    }
    pipeline.steps.iter().chain(&pipeline.on_failure).chain(&pipeline.finally).for_each(|step| of_step(step, visit));
}

fn of_step(step: &Step, visit: &mut dyn FnMut(&str, bool, &Text)) {
    match &step.kind {
        StepKind::Http(http) => request(step.id.span, &http.headers, &http.query, http.body.as_ref(), visit),
        StepKind::Tool(tool) => tool.with.iter().for_each(|(name, value)| filling(&name.value, name.span, value, visit)),
        StepKind::Route(route) => {
            route.cases.iter().chain(&route.otherwise).flat_map(|case| &case.steps).for_each(|step| of_step(step, visit));
        }
        StepKind::Agent(_)
        | StepKind::Set(_)
        | StepKind::Sql(_)
        | StepKind::Read(_)
        | StepKind::Plan(_)
        | StepKind::Call(_)
        | StepKind::Format(_)
        | StepKind::Gate(_)
        | StepKind::Send(_)
        | StepKind::Wait(_)
        | StepKind::Stop(_)
        | StepKind::Broken => {}
    }
}

fn request(
    owner: Span,
    headers: &[(String, Text)],
    query: &[(String, Filling)],
    body: Option<&Filling>,
    visit: &mut dyn FnMut(&str, bool, &Text),
) {
    headers.iter().filter(|(name, _)| names_a_secret(name)).for_each(|(name, text)| visit(name, false, text));
    query.iter().for_each(|(name, value)| filling(name, owner, value, visit));
    body.iter().for_each(|body| filling("", owner, body, visit));
}

/// Values below a name that stands for a secret.
fn filling(name: &str, owner: Span, value: &Filling, visit: &mut dyn FnMut(&str, bool, &Text)) {
    match value {
        Filling::Text(text) if names_a_secret(name) => visit(name, false, text),
        Filling::Constant(value) => constant(name, owner, value, visit),
        Filling::Text(_) => {}
        Filling::List(list) => list.iter().for_each(|value| filling(name, owner, value, visit)),
        Filling::Map(map) => map.iter().for_each(|(name, value)| filling(name, owner, value, visit)),
    }
}

fn constant(name: &str, owner: Span, value: &serde_json::Value, visit: &mut dyn FnMut(&str, bool, &Text)) {
    match value {
        serde_json::Value::String(text) if names_a_secret(name) => visit(name, false, &placed(text, owner)),
        serde_json::Value::Array(list) => list.iter().for_each(|value| constant(name, owner, value, visit)),
        serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| constant(name, owner, value, visit)),
        _ => {}
    }
}

/// `--api-key=VALUE`, and `--token`, `VALUE`.
fn arguments(args: &[Text], visit: &mut dyn FnMut(&str, bool, &Text)) {
    let mut before = "";
    for text in args {
        let (name, value) = match text.source.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value)),
            _ => (before, None),
        };
        let option = name.trim_start_matches('-');
        if name.starts_with('-') && names_a_secret(option) {
            match value {
                Some(value) => visit(option, false, &placed(value, text.place.span)),
                None => visit(option, false, text),
            }
        }
        // `--header`, `Authorization: Bearer VALUE`.
        if let Some((name, value)) = text.source.split_once(": ").filter(|(name, _)| !name.contains(char::is_whitespace)) {
            filling(name, text.place.span, &Filling::Constant(value.trim().into()), visit);
        }
        before = &text.source;
    }
}

/// A text that is only known to stand somewhere in a place.
pub fn placed(text: &str, span: Span) -> Text {
    let mut plain = Text::plain(text);
    plain.place.span = span;
    plain
}
