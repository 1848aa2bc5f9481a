//! Every text of a pipeline, and where what it gives ends up.

use serde_json::Value;

use crate::model::{
    Agent, Check, Filling, Judging, Model, Outputs, PersonSource, Pipeline, Provider, Read, Scorecard, ServerKind, Step, StepKind, Text,
    Tool, ToolKind,
};
use crate::source::Span;

/// Where what a text gives ends up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// In what a model reads.
    Prompt,
    /// In the address of a request.
    Address,
    /// In headers, bodies and log-in data, which reach only the other side.
    Sealed,
    /// In a decision.
    Condition,
    /// In a log.
    Log,
    /// In a text for people, or the result.
    Output,
    /// In a value of the run's record.
    Record,
    /// In code.
    Code,
    /// Among the arguments of a program.
    CommandLine,
}

/// What an author wrote at one place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'p> {
    /// A text that knows its place.
    Text(&'p Text),
    /// A value without templates, and the place of what it belongs to.
    Constant(&'p Value, Span),
}

type Visit<'v, 'p> = &'v mut dyn FnMut(Role, Part<'p>);

/// Calls `visit` for every text of a pipeline.
pub(super) fn texts<'p>(pipeline: &'p Pipeline, visit: &mut dyn FnMut(Role, &'p Text)) {
    parts(pipeline, &mut |role, part| {
        if let Part::Text(text) = part {
            visit(role, text);
        }
    });
}

/// Calls `visit` for every name that is read by a text of a pipeline, or of the replies of its scripted models.
pub fn reads<'p>(pipeline: &'p Pipeline, visit: &mut dyn FnMut(&'p Read)) {
    texts(pipeline, &mut |_, text| text.reads.iter().for_each(&mut *visit));
    for model in pipeline.models.values() {
        let Provider::Scripted(replies) = &model.provider else { continue };
        for text in replies.by_step.values().flat_map(super::verdicts::all).flat_map(super::replies::texts) {
            text.reads.iter().for_each(&mut *visit);
        }
    }
}

/// Calls `visit` for every text of a step and of those inside it.
pub(super) fn texts_of_step<'p>(step: &'p Step, visit: &mut dyn FnMut(Role, &'p Text)) {
    of_step(step, &mut |role, part| {
        if let Part::Text(text) = part {
            visit(role, text);
        }
    });
}

/// Calls `visit` for every text and value of a pipeline, section by section.
pub(super) fn parts<'p>(pipeline: &'p Pipeline, visit: Visit<'_, 'p>) {
    for model in pipeline.models.values() {
        of_model(model, visit);
    }
    for Agent { instructions, .. } in pipeline.agents.values() {
        instructions.iter().for_each(|text| visit(Role::Prompt, Part::Text(text)));
    }
    for tool in pipeline.tools.values() {
        of_tool(tool, visit);
    }
    for scorecard in pipeline.scorecards.values() {
        of_scorecard(scorecard, visit);
    }
    if let Some(person) = &pipeline.person {
        filling(Role::Record, pipeline.name.span, &person.id, visit);
        if let PersonSource::Fields(fields) = &person.from {
            fields.iter().for_each(|(name, value)| filling(Role::Record, name.span, value, visit));
        }
    }
    for step in pipeline.steps.iter().chain(&pipeline.on_failure).chain(&pipeline.finally) {
        of_step(step, visit);
    }
    match &pipeline.outputs {
        Outputs::None => {}
        Outputs::Named(outputs) => outputs.iter().for_each(|(name, value)| filling(Role::Output, name.span, value, visit)),
        Outputs::Whole(text) => visit(Role::Output, Part::Text(text)),
    }
}

fn filling<'p>(role: Role, owner: Span, value: &'p Filling, visit: Visit<'_, 'p>) {
    match value {
        Filling::Constant(value) => visit(role, Part::Constant(value, owner)),
        Filling::Text(text) => visit(role, Part::Text(text)),
        Filling::List(list) => list.iter().for_each(|value| filling(role, owner, value, visit)),
        Filling::Map(map) => map.iter().for_each(|(_, value)| filling(role, owner, value, visit)),
    }
}

fn of_model<'p>(model: &'p Model, visit: Visit<'_, 'p>) {
    model.base_url.iter().for_each(|text| visit(Role::Address, Part::Text(text)));
    model.api_key.iter().chain(&model.model).for_each(|text| visit(Role::Sealed, Part::Text(text)));
}

fn of_tool<'p>(tool: &'p Tool, visit: Visit<'_, 'p>) {
    let given = if matches!(tool.kind, ToolKind::Pipeline { .. }) { Role::Record } else { Role::Sealed };
    tool.with.iter().for_each(|(name, value)| filling(given, name.span, value, visit));
    match &tool.kind {
        ToolKind::Http { url, headers, query, body, .. } => request(tool.span, url, headers, query, body.as_ref(), visit),
        ToolKind::Smtp { address, from, user, password } => {
            visit(Role::Address, Part::Text(address));
            [Some(from), user.as_ref(), password.as_ref()].into_iter().flatten().for_each(|text| visit(Role::Sealed, Part::Text(text)));
        }
        ToolKind::Server(ServerKind::Program { args, env, .. }) => {
            args.iter().for_each(|text| visit(Role::CommandLine, Part::Text(text)));
            env.iter().for_each(|(_, text)| visit(Role::Sealed, Part::Text(text)));
        }
        ToolKind::Server(ServerKind::Url { url, headers }) => request(tool.span, url, headers, &[], None, visit),
        ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => {}
    }
}

fn request<'p>(
    owner: Span,
    url: &'p Text,
    headers: &'p [(String, Text)],
    query: &'p [(String, Filling)],
    body: Option<&'p Filling>,
    visit: Visit<'_, 'p>,
) {
    visit(Role::Address, Part::Text(url));
    query.iter().for_each(|(_, value)| filling(Role::Address, owner, value, visit));
    headers.iter().for_each(|(_, text)| visit(Role::Sealed, Part::Text(text)));
    body.iter().for_each(|body| filling(Role::Sealed, owner, body, visit));
}

fn of_scorecard<'p>(scorecard: &'p Scorecard, visit: Visit<'_, 'p>) {
    for criterion in &scorecard.criteria {
        let Judging::Checks(checks) = &criterion.judging else { continue };
        for check in checks {
            match &check.value {
                Check::Contains(texts) | Check::NotContains(texts) => {
                    texts.iter().for_each(|text| visit(Role::Condition, Part::Text(text)))
                }
                Check::NumbersFrom(text) | Check::StatesNumbers(text) | Check::ApartFrom(text) | Check::Expression(text) => {
                    visit(Role::Condition, Part::Text(text))
                }
                Check::Equals(value) => filling(Role::Condition, check.span, value, visit),
                Check::Regex(_)
                | Check::JsonSchema(_)
                | Check::MaxLength(_)
                | Check::MinLength(_)
                | Check::FitsChannel
                | Check::StyleGuide
                | Check::Markdown(_)
                | Check::Emojis(_)
                | Check::Language(_)
                | Check::PiiNone
                | Check::Links(_)
                | Check::Readability(_) => {}
            }
        }
    }
}

fn of_step<'p>(step: &'p Step, visit: Visit<'_, 'p>) {
    step.name.iter().for_each(|text| visit(Role::Log, Part::Text(text)));
    step.when.iter().for_each(|text| visit(Role::Condition, Part::Text(text)));
    step.for_each.iter().for_each(|each| filling(Role::Record, step.id.span, &each.list, visit));
    match &step.kind {
        StepKind::Agent(agent) => {
            visit(Role::Prompt, Part::Text(&agent.prompt));
            agent.model.iter().for_each(|text| visit(Role::Record, Part::Text(text)));
            agent.attach.iter().for_each(|value| filling(Role::Prompt, step.id.span, value, visit));
        }
        StepKind::Tool(tool) => {
            tool.with.iter().for_each(|(name, value)| filling(Role::Record, name.span, value, visit));
            tool.idempotency_key.iter().for_each(|text| visit(Role::Log, Part::Text(text)));
        }
        StepKind::Plan(plan) => {
            visit(Role::Prompt, Part::Text(&plan.prompt));
            plan.attach.iter().for_each(|value| filling(Role::Prompt, step.id.span, value, visit));
        }
        StepKind::Set(value) | StepKind::Wait(value) => filling(Role::Record, step.id.span, value, visit),
        StepKind::Http(http) => {
            request(step.id.span, &http.url, &http.headers, &http.query, http.body.as_ref(), visit);
            http.idempotency_key.iter().for_each(|text| visit(Role::Log, Part::Text(text)));
        }
        StepKind::Sql(sql) => {
            visit(Role::Code, Part::Text(&sql.query));
            sql.with.iter().for_each(|(name, value)| filling(Role::Record, name.span, value, visit));
        }
        StepKind::Read(read) => filling(Role::Record, step.id.span, &read.paths, visit),
        StepKind::Route(route) => {
            visit(Role::Condition, Part::Text(&route.subject));
            for case in route.cases.iter().chain(&route.otherwise) {
                case.when.iter().for_each(|text| visit(Role::Condition, Part::Text(text)));
                case.steps.iter().for_each(|step| of_step(step, visit));
            }
        }
        StepKind::Call(call) => call.with.iter().for_each(|(name, value)| filling(Role::Record, name.span, value, visit)),
        StepKind::Format(format) => visit(Role::Output, Part::Text(&format.text)),
        StepKind::Gate(gate) => {
            visit(Role::Output, Part::Text(&gate.of));
            gate.with.iter().for_each(|(name, value)| filling(Role::Prompt, name.span, value, visit));
            gate.otherwise.iter().for_each(|text| visit(Role::Output, Part::Text(text)));
        }
        StepKind::Send(send) => {
            visit(Role::Output, Part::Text(&send.of));
            send.with.iter().for_each(|(name, value)| filling(Role::Output, name.span, value, visit));
            send.idempotency_key.iter().for_each(|text| visit(Role::Log, Part::Text(text)));
        }
        StepKind::Stop(stop) => stop.reason.iter().for_each(|text| visit(Role::Log, Part::Text(text))),
        StepKind::Broken => {}
    }
}
