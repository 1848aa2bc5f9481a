//! F423: what a file, a style guide or a channel sets, and a pipeline never uses: words that no gate looks for, a name that nobody knows, a check that
//! fails no text, a second try that never comes.

use std::collections::HashSet;
use std::sync::Arc;

use super::absent_section::is_person_field_given;
use crate::diagnostic::{About, did_you_mean};
use crate::model::{
    Agent, CallTime, Channel, Check, Criterion, FailureKind, Judging, Multilingual, PERSON_NAME, Phrase, Pipeline, PlainCheck, Policy,
    ScorecardRef, StepKind, StyleGuide, Tool,
};
use crate::policy::{denied_need, opened};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::security::outside_policy::need_help;
use crate::rules::support::effects::has_retry;
use crate::rules::support::giving::sole_output;
use crate::rules::support::scorecards::{checks_of, named_scorecards};
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    check_of_channels(pipeline, out);
    check_of_retries(pipeline, out);
    check_of_tools(pipeline, out);
    let file = &pipeline.pipeline;
    // What its file has, the run fills for an agent that others ask, too.
    if file.asked.is_some() {
        return;
    }
    if let Some(channel) = file.channels.iter().find(|channel| !channel.languages.0.is_empty()) {
        let found = one_language(file, "channel", &channel.name, file.name.span);
        out.extend(found.map(|found| found.related(channel.span, "this channel")));
    }
    let writes = pipeline.steps.iter().find(|planned| !planned.step.kind.agents_with_tools().is_empty());
    for (style, place) in guides_of_replies(pipeline) {
        let name = quoted(&style.name);
        out.extend(style.in_each_language().find_map(|style| nameless_greeting(file, style, place)));
        if !style.languages.0.is_empty() {
            out.extend(one_language(file, "style guide", &style.name, place).map(|found| found.related(style.span, "this style guide")));
        }
        if !style.words.banned.is_empty() && writes.is_some() && !plan.pipelines.iter().any(knows_banned) {
            let message = format!(
                "nothing holds replies to the banned words of style guide {name}: no gate looks for them, and no prompt has style.prompt"
            );
            let criterion = "{ id: style, description: It keeps to the style guide., check: { style_guide: true } }";
            let help = match judged_by(pipeline) {
                Some(card) => format!("add {criterion} to scorecard {card}"),
                None => format!("add a gate over what format gives, with the criterion {criterion}"),
            };
            out.push(Diagnostic::no_effect(place, message).help(help).related(style.span, "this style guide"));
        }
    }
}

/// A greeting that has a place for the person's name, which nothing gives.
fn nameless_greeting(file: &Pipeline, style: &StyleGuide, place: Span) -> Option<Diagnostic> {
    let (key, comes, without) = match &style.formatting.greeting {
        Phrase::On if style.formatting.use_user_name => {
            ("use_user_name", "the greeting is always \"Hello,\"", "write use_user_name: false in the style guide")
        }
        Phrase::Own(own) if own.contains(PERSON_NAME) => (PERSON_NAME, "the name is always left out", "take {name} out of the greeting"),
        Phrase::Off | Phrase::On | Phrase::Own(_) => return None,
    };
    if is_person_field_given(file, "name") {
        return None;
    }
    let (lacks, add) = match file.person {
        None => ("the file has no person", "add person: with id and name to the head of the file"),
        Some(_) => ("person of the file has no name", "add name to person"),
    };
    let message = format!("style guide {} greets by name ({key}), but {lacks}: {comes}", quoted(&style.name));
    Some(Diagnostic::no_effect(place, message).help(format!("{add}, or {without}")).related(style.span, "this style guide"))
}

/// What speaks several languages, where nothing says which one the person reads.
fn one_language(file: &Pipeline, what: &str, name: &str, place: Span) -> Option<Diagnostic> {
    if is_person_field_given(file, "language") {
        return None;
    }
    let (lacks, help) = match file.person {
        None => ("the file has no person", "add person: with id and language to the head of the file"),
        Some(_) => ("person of the file has no language", "add language to person, such as language: de"),
    };
    let message = format!("languages of {what} {} has no effect: {lacks}", quoted(name));
    Some(Diagnostic::no_effect(place, message).help(help))
}

/// `retry` of a step that meets none of the failures after which it would try again.
fn check_of_retries(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(retry) = has_retry(step) else { continue };
        let holds_steps = step.kind.cases().next().is_some();
        let judges = step.kind.facts().judges.is_some();
        let what = match step.kind.method(&pipeline.pipeline) {
            None if step.kind.facts().calls_when == CallTime::Never && !holds_steps && !judges => {
                "it calls nothing that may fail in passing"
            }
            Some(method) if !method.is_idempotent() && !step.is_keyed(&pipeline.pipeline) && retry.on.iter().all(after_the_act) => {
                "a request that may have been done is not sent again without idempotency_key"
            }
            _ => continue,
        };
        let message = format!("retry of {} has no effect: {what}", quoted(&step.id.value));
        let help = match step.kind.method(&pipeline.pipeline) {
            None => "remove retry".to_owned(),
            Some(_) => {
                format!("add idempotency_key: \"{}-{{{{ run.id }}}}\" if the receiver knows such keys, or remove retry", step.id.value)
            }
        };
        out.push(Diagnostic::no_effect(step.id.span, message).about(About::Value("retry".to_owned())).help(help));
    }
}

/// The tools of an agent, of which a policy denies each one whatever its arguments: its model is offered none. And a tool that a policy allows, though
/// it denies what each call of it does.
fn check_of_tools(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for (name, agent) in &file.agents {
        let tools: Vec<(&Tool, &str)> =
            agent.tools.iter().filter_map(|written| Some((file.tool(&written.value)?.0, written.value.as_str()))).collect();
        let Some(first) = agent.tools.first().filter(|_| !tools.is_empty()) else { continue };
        // What is misspelled in the policy is told there.
        let is_misspelled = |entry: &Spanned<String>| {
            file.tool(&entry.value).is_none() && !did_you_mean(&entry.value, file.tools.keys().map(String::as_str)).is_empty()
        };
        let denies = |policy: &(&str, &Policy)| {
            !policy.1.allowed_tools.iter().flatten().any(is_misspelled)
                && tools.iter().all(|(tool, written)| opened(&[*policy], tool, written).iter().all(|(_, may_allow)| !may_allow))
        };
        let Some((of, policy)) = file.policies_of(Some(agent)).find(denies) else {
            out.extend(agent.tools.iter().filter_map(|written| denied_by_need(file, (name, agent), written)));
            continue;
        };
        let message =
            format!("tools of agent {} have no effect: policy {} denies each of them, so none is offered", quoted(name), quoted(of));
        let all: Vec<String> = tools.iter().flat_map(|(tool, written)| opened(&[], tool, written)).map(|(name, _)| name).collect();
        let help = format!("write allowed_tools: [{}] in the policy, or remove tools from the agent", all.join(", "));
        out.push(Diagnostic::no_effect(first.span, message).help(help).related(policy.span, "this policy"));
    }
}

fn denied_by_need(file: &Pipeline, (name, agent): (&str, &Agent), written: &Spanned<String>) -> Option<Diagnostic> {
    let (tool, _) = file.tool(&written.value)?;
    let allows = |policy: &(&str, &Policy)| opened(&[*policy], tool, &written.value).iter().any(|(_, may_allow)| *may_allow);
    let denying = |policy| Some((policy, denied_need(&[policy], tool, &written.value, &file.project)?));
    let ((of, policy), need) = file.policies_of(Some(agent)).filter(allows).find_map(denying)?;
    let tool = quoted(&written.value);
    let message = format!(
        "tool {tool} of agent {} has no effect: policy {} allows it, but not {need}, so it is not offered",
        quoted(name),
        quoted(of)
    );
    let (entry, place) = need_help(&need, policy);
    let help = format!("write {entry} in the policy, or remove the tool from the agent");
    Some(Diagnostic::no_effect(written.span, message).help(help).related(place, "this policy"))
}

/// Whether a failure is only met once a request may have been done.
fn after_the_act(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::ServerError | FailureKind::BadResponse)
}

/// The style guides of what `format` steps make for people, each where it is named first.
fn guides_of_replies(pipeline: &PipelinePlan) -> Vec<(&StyleGuide, Span)> {
    let file = &pipeline.pipeline;
    let own = || file.style_guide.as_ref().zip(file.style_guide_at);
    let mut seen = HashSet::new();
    let mut found = vec![];
    for planned in &pipeline.steps {
        let StepKind::Format(format) = &planned.step.kind else { continue };
        let named = format.style_guide.as_ref().map(|style| (style, planned.step.id.span)).or_else(own);
        if let Some((style, place)) = named.filter(|(style, _)| seen.insert(Arc::as_ptr(style))) {
            found.push((&**style, place));
        }
    }
    found
}

/// Whether a pipeline may keep to banned words: by the check of a scorecard that a step judges by, or since a text reads the style guide, whose
/// `prompt` names them.
fn knows_banned(pipeline: &PipelinePlan) -> bool {
    let file = &pipeline.pipeline;
    let mut reads = false;
    file.each_text(&mut |authored| {
        let all = authored.text().map_or(&[][..], |text| &text.reads);
        reads |= all.iter().any(|read| read.path.first().is_some_and(|root| root == "style"));
    });
    let judging = pipeline.steps.iter().filter_map(|planned| planned.step.kind.facts().judges);
    reads
        || judging.flat_map(|step| step.cards()).any(|card| match card.name().map(|name| file.scorecards.get(&name.value)) {
            Some(Some(card)) => card.criteria.iter().any(|criterion| match &criterion.judging {
                Judging::Checks(checks) => checks.iter().any(|check| check.value == Check::Plain(PlainCheck::StyleGuide)),
                Judging::Judge | Judging::Neither => false,
            }),
            // One that a run makes, or that is not known.
            Some(None) | None => true,
        })
}

/// The first scorecard by which a gate judges what a `format` step made. A draft has no greeting yet, which the check asks for.
fn judged_by(pipeline: &PipelinePlan) -> Option<&str> {
    pipeline.steps.iter().find_map(|planned| {
        let StepKind::Gate(gate) = &planned.step.kind else { return None };
        let judged = pipeline.seen_from(planned.block, sole_output(&gate.of)?.0)?;
        let is_formatted = matches!(pipeline.step(judged).step.kind, StepKind::Format(_));
        let card = gate.scorecards.iter().find_map(ScorecardRef::name).filter(|_| is_formatted)?;
        Some(card.value.as_str())
    })
}

/// Gates that let every text through: all they ask is `fits_channel`, and no channel has a limit.
fn check_of_channels(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let takes_all = |channel: &Arc<Channel>| channel.max_length.is_none() && channel.emojis;
    let steps = || pipeline.steps.iter().map(|planned| &planned.step.kind);
    let of_format = steps().filter_map(|kind| if let StepKind::Format(format) = kind { format.channel.as_ref() } else { None });
    let mut channels = file.channels.iter().chain(of_format).peekable();
    let Some(first) = channels.peek().map(|channel| quoted(&channel.name)).filter(|_| channels.all(takes_all)) else { return };
    let mut told = HashSet::new();
    for step in steps().filter_map(|kind| kind.facts().judges) {
        let Some(cards) = named_scorecards(pipeline, step).filter(|cards| cards.len() == step.cards().len()) else { continue };
        let criteria: Vec<_> = cards.iter().flat_map(|(_, card)| &card.criteria).collect();
        let asks_nothing_else = |criterion: &&Criterion| match &criterion.judging {
            Judging::Checks(checks) => checks.iter().all(|check| check.value == Check::Plain(PlainCheck::FitsChannel)),
            Judging::Judge | Judging::Neither => false,
        };
        if !criteria.iter().all(asks_nothing_else) {
            continue;
        }
        for (_, check) in checks_of(criteria.into_iter()).filter(|(_, check)| told.insert(check.span)) {
            let message = format!("fits_channel fails no text: channel {first} has neither max_length nor emojis: false");
            out.push(Diagnostic::no_effect(check.span, message).help("add max_length: to the channel, or check something else"));
        }
    }
}
