//! F303: what a step gives a tool and what the tool takes.

use std::collections::HashMap;

use serde_json::Value;
use strum::VariantNames;

use super::call_inputs::{AskedFields, GivenValues};
use crate::diagnostic::did_you_mean;
use crate::model::{
    Field, FieldKind, FileMode, FilePart, Filling, Form, GIVEN_FOR_EACH_PART, Knowledge, Pipeline, RECIPIENTS, STDOUT, SendKey, SendKeys,
    SendStep, Shape, StepKind, Tool, ToolKind, ToolModel, address_fault, header_fault, recipients,
};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Plan, Texts};
use crate::rules::support::giving::without_places;
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(names: &PipelineNames, _texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let parts = FixedParts::default();
    let mut asked: HashMap<&str, Option<(AskedFields, &str)>> = HashMap::new();
    for model in file.models.values() {
        if let Some(own) = model.provider.tool() {
            answering(names.plan, &parts, file, own, out);
        }
    }
    for (name, tool) in &file.tools {
        fixed_of_folder(name, tool, &parts, out);
    }
    for (ix, planned) in names.pipeline.numbered_steps() {
        if let StepKind::Send(send) = &planned.step.kind
            && let Some(receiver) = if send.to.value == STDOUT { Some(None) } else { file.tools.get(&send.to.value).map(Some) }
        {
            sending(send, receiver, out);
            if let Some(tool) = receiver {
                arguments_of_send(names, ix, send, tool, out);
            }
        }
        let StepKind::Tool(call) = &planned.step.kind else { continue };
        let Some((tool, part)) = file.tool(&call.tool.value) else { continue };
        let wanted = asked.entry(&call.tool.value).or_insert_with(|| {
            let (fields, what) = arguments(names.plan, &parts, tool, part)?;
            Some((AskedFields::of(fields), what))
        });
        let Some((wanted, what)) = wanted else { continue };
        let given = GivenValues {
            found,
            owner: format!("tool \"{}\"", call.tool.value),
            what,
            span: call.tool.span,
            with: &call.with,
            fixed: &tool.with,
            // Others are ignored by some, and are values of a query or variables of code for others.
            others_are_wrong: matches!(tool.kind, ToolKind::Pipeline { .. } | ToolKind::File(_) | ToolKind::Knowledge(_)),
        };
        given.check(names, &names.seat(ix), wanted, out);
    }
}

/// F303; for the arguments of a plan that a model wrote, too.
pub(in crate::rules) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::ToolArguments, span, message)
}

/// What the parts of tools take that take the same in every file.
struct FixedParts {
    query: Vec<Field>,
    read: Vec<Field>,
    write: Vec<Field>,
    search: Vec<Field>,
}

impl Default for FixedParts {
    fn default() -> FixedParts {
        let fields = |names: &[&str]| names.iter().map(|name| text_field(name)).collect();
        FixedParts { query: fields(&["query"]), read: fields(&["name"]), write: fields(&["name", "text"]), search: Knowledge::arguments() }
    }
}

/// What a tool takes; `None`: not known.
fn arguments<'a>(plan: &'a Plan, parts: &'a FixedParts, tool: &'a Tool, part: Option<&str>) -> Option<(&'a [Field], &'static str)> {
    match (&tool.kind, tool.file_part(part)) {
        // Without `arguments` whatever is given is used.
        (ToolKind::Http { arguments, .. }, _) if arguments.is_empty() => None,
        (ToolKind::Http { arguments, .. } | ToolKind::Program { arguments, .. } | ToolKind::Python { arguments, .. }, _) => {
            Some((arguments, "argument"))
        }
        (ToolKind::Pipeline { pipeline, .. }, _) => match &plan.pipeline((*pipeline)?).pipeline.inputs {
            Shape::Fields(fields) => Some((fields, "input")),
            Shape::Schema(_) => None,
        },
        (ToolKind::Sql(_), _) => Some((&parts.query, "argument")),
        (ToolKind::Knowledge(_), _) => Some((&parts.search, "argument")),
        (ToolKind::File(_), Some(FilePart::Read)) => Some((&parts.read, "argument")),
        (ToolKind::File(_), Some(FilePart::Write)) => Some((&parts.write, "argument")),
        (ToolKind::File(_), Some(FilePart::List)) => Some((&[], "argument")),
        (ToolKind::File(_), None) => None,
        (ToolKind::Smtp { .. } | ToolKind::Server(_) | ToolKind::Broken, _) => None,
    }
}

/// The names of what a tool takes; of a `file` tool that is named whole, what any of its parts does. `None`: not known.
pub(in crate::rules) fn argument_names(plan: &Plan, tool: &Tool, part: Option<&str>) -> Option<Vec<String>> {
    let parts = FixedParts::default();
    let names = |fields: &[Field]| fields.iter().map(|field| field.name.clone()).collect();
    let of_any_part = || tool.kind.folder().map(|_| names(&parts.write));
    arguments(plan, &parts, tool, part).map(|(fields, _)| names(fields)).or_else(of_any_part)
}

fn text_field(name: &str) -> Field {
    Field::new(name, if name == "text" { FieldKind::Any } else { FieldKind::Text })
}

/// A model that is a tool gives it a prompt, and perhaps the instructions of an agent, and nothing else.
fn answering(plan: &Plan, parts: &FixedParts, file: &Pipeline, own: &ToolModel, out: &mut Vec<Diagnostic>) {
    let (name, span) = (&own.tool.value, own.tool.span);
    let Some((tool, part)) = file.tool(name) else { return };
    let mut tell = |message: String, help: String| out.push(found(span, message).help(help));
    if tool.is_server() && part.is_none() {
        return tell(format!("\"{name}\" is a server, and answers by none of its tools"), format!("name one of its tools: {name}.TOOL"));
    }
    let given: Vec<&str> = [&own.prompt].into_iter().chain(&own.system).map(String::as_str).collect();
    if own.system.as_ref() == Some(&own.prompt) {
        tell(format!("tool \"{name}\" would get prompt and instructions in one argument"), "name another argument in system".to_owned());
    }
    for (fixed, _) in tool.with.iter().filter(|(fixed, _)| given.contains(&fixed.value.as_str())) {
        let message = format!("tool \"{name}\" has a fixed \"{0}\", which takes the place of what the model gives it", fixed.value);
        tell(message, format!("remove {} from with", fixed.value));
    }
    let Some((wanted, what)) = arguments(plan, parts, tool, part) else { return };
    let known: Vec<&str> = wanted.iter().map(|field| field.name.as_str()).collect();
    for (key, argument) in [("prompt", Some(&own.prompt)), ("system", own.system.as_ref())] {
        let Some(argument) = argument else { continue };
        match wanted.iter().find(|field| field.name == *argument) {
            None => {
                let near = did_you_mean(argument, known.iter().copied());
                tell(
                    format!("tool \"{name}\" has no {what} \"{argument}\"{near}"),
                    format!("write {key}: with one of {}", known.join(", ")),
                );
            }
            Some(field) if !matches!(field.kind, FieldKind::Text | FieldKind::Any) => {
                tell(format!("{what} \"{argument}\" of tool \"{name}\" takes no text"), format!("write {key}: with one that does"));
            }
            Some(_) => {}
        }
    }
    let is_given = |field: &Field| given.contains(&field.name.as_str()) || tool.with.iter().any(|(fixed, _)| fixed.value == field.name);
    for field in wanted.iter().filter(|field| field.is_required && field.default.is_none() && !is_given(field)) {
        let message = format!("tool \"{name}\" needs {what} \"{}\", which a model does not give", field.name);
        tell(message, format!("add with: {{ {}: … }} to the tool", field.name));
    }
}

/// `with` of a `file` tool: what none of its parts takes.
fn fixed_of_folder(name: &str, tool: &Tool, parts: &FixedParts, out: &mut Vec<Diagnostic>) {
    if tool.kind.folder().is_none() {
        return;
    }
    let known: Vec<&str> = parts.write.iter().map(|field| field.name.as_str()).collect();
    for (fixed, _) in tool.with.iter().filter(|(fixed, _)| !known.contains(&fixed.value.as_str())) {
        let near = did_you_mean(&fixed.value, known.iter().copied());
        let message = format!("tool \"{name}\" has no argument \"{}\"{near}", fixed.value);
        out.push(found(fixed.span, message).near(near).help(format!("use one of: {}", known.join(", "))));
    }
}

/// What `with` of a `send` says to its receiver: what it takes, what it needs, and what each value may be.
fn sending(send: &SendStep, tool: Option<&Tool>, out: &mut Vec<Diagnostic>) {
    let fixed: &[(Spanned<String>, Filling)] = tool.map_or(&[], |tool| &tool.with);
    let known: Vec<&str> = match (tool, tool.map_or(SendKeys::OF_STDOUT, |tool| SendKeys::for_tool(&tool.kind))) {
        (_, SendKeys::These(keys)) => {
            needed(send, keys, fixed, out);
            keys.iter().map(|key| key.name).collect()
        }
        (Some(tool), SendKeys::Read) => {
            let Some(read) = read_by(tool) else { return };
            read
        }
        (None, SendKeys::Read) | (_, SendKeys::NoReceiver) => return,
    };
    let is_read_alone = matches!(tool.map(|tool| &tool.kind), Some(ToolKind::Http { .. }));
    // What is fixed in a tool that others than `send` use, is for them, too.
    let own = tool.filter(|tool| matches!(tool.kind, ToolKind::Smtp { .. })).into_iter().flat_map(|tool| &tool.with);
    for (given, _) in &send.with {
        if let Some((name, _)) = fixed.iter().find(|(name, _)| name.value == given.value) {
            let message = format!("send to \"{}\": its tool fixes \"{}\", so what is given here is not sent", send.to.value, name.value);
            let told = found(given.span, message).related(name.span, "this is sent");
            out.push(told.help("remove it here, or in with of the tool"));
        }
    }
    for (given, value) in send.with.iter().chain(own) {
        let name = given.value.as_str();
        if known.contains(&name) {
            send_value(given, value, out);
            continue;
        }
        let near = did_you_mean(name, known.iter().copied());
        let message = match is_read_alone {
            true if GIVEN_FOR_EACH_PART.contains(&name) => {
                format!("send to \"{}\": \"{name}\" is what is sent, and cannot be given", send.to.value)
            }
            true => format!("send to \"{}\": no text of the tool reads with.{name}{near}", send.to.value),
            false => format!("send to \"{}\" takes no \"{name}\"{near}", send.to.value),
        };
        let help = match (known.is_empty(), is_read_alone) {
            (true, false) => "remove it: what is printed has no address and no name".to_owned(),
            (_, true) => format!("remove it, or read it in the tool: {{{{ with.{name} }}}}"),
            (false, false) => format!("use one of: {}", known.join(", ")),
        };
        out.push(found(given.span, message).near(near).help(help));
    }
}

/// The arguments of an `http` tool that `send` fills, but those that each part brings itself.
fn arguments_of_send(names: &PipelineNames, ix: StepIx, send: &SendStep, tool: &Tool, out: &mut Vec<Diagnostic>) {
    let ToolKind::Http { arguments, .. } = &tool.kind else { return };
    let wanted: Vec<Field> = arguments.iter().filter(|field| !GIVEN_FOR_EACH_PART.contains(&&*field.name)).cloned().collect();
    let given = GivenValues {
        found,
        owner: format!("tool \"{}\"", send.to.value),
        what: "argument",
        span: send.to.span,
        with: &send.with,
        fixed: &tool.with,
        others_are_wrong: false,
    };
    given.check(names, &names.seat(ix), &AskedFields::of(&wanted), out);
}

/// What `send` cannot do without.
fn needed(send: &SendStep, keys: &[SendKey], fixed: &[(Spanned<String>, Filling)], out: &mut Vec<Diagnostic>) {
    let has = |name: &str| send.with.iter().chain(fixed).any(|(given, _)| given.value == name);
    for SendKey { name, example, .. } in keys.iter().filter(|key| key.is_needed && !has(key.name)) {
        let message = format!("send to \"{}\": the argument \"{name}\" is missing", send.to.value);
        let place = send.with.last().map_or(send.to.span, |(name, _)| name.span);
        let help = if send.with.is_empty() {
            format!("add with: {{ {name}: {example} }}")
        } else {
            format!("add {name}: to with, such as {name}: {example}")
        };
        out.push(found(place, message).help(help));
    }
}

/// The names that texts of an `http` tool read of `with`, and its arguments; `None`: one reads all of them.
fn read_by(tool: &Tool) -> Option<Vec<&str>> {
    let ToolKind::Http { arguments, .. } = &tool.kind else { return None };
    let mut names: Vec<&str> = arguments.iter().map(|field| field.name.as_str()).collect();
    let mut is_whole = false;
    tool.each_text(&mut |authored| {
        for read in
            authored.text().into_iter().flat_map(|text| &text.reads).filter(|read| read.path.first().is_some_and(|root| root == "with"))
        {
            match read.path.get(1) {
                Some(name) if !names.contains(&name.as_str()) => names.push(name),
                Some(_) => {}
                None => is_whole = true,
            }
        }
    });
    names.retain(|name| !GIVEN_FOR_EACH_PART.contains(name));
    (!is_whole).then_some(names)
}

/// The value of a key that is written out: a mode, addresses, a subject, and the names of headers.
fn send_value(given: &Spanned<String>, value: &Filling, out: &mut Vec<Diagnostic>) {
    if let ("mode", Filling::Constant(mode)) = (given.value.as_str(), value)
        && mode.as_str().is_none_or(|word| !FileMode::VARIANTS.contains(&word))
    {
        let near = did_you_mean(mode.as_str().unwrap_or_default(), FileMode::VARIANTS.iter().copied());
        let told = found(given.span, format!("{mode} is no mode of a file{near}")).near(near);
        out.push(told.help(format!("write mode: with one of {}", FileMode::VARIANTS.join(", "))));
    }
    let mut wrong = |message: String, help: String| out.push(found(given.span, message).help(help));
    let texts: Option<Vec<&str>> = match value {
        Filling::Constant(Value::String(text)) => Some(vec![text]),
        Filling::Text(text) if text.form == Form::Plain => Some(vec![&text.source]),
        Filling::Constant(Value::Array(list)) => Some(list.iter().filter_map(Value::as_str).collect()),
        _ => None,
    };
    if let (Some(texts), true) = (&texts, RECIPIENTS.contains(&&*given.value) || given.value == "reply_to") {
        let all: Vec<&str> = texts
            .iter()
            .flat_map(|text| if matches!(value, Filling::Constant(Value::Array(_))) { vec![*text] } else { recipients(text) })
            .collect();
        if let Some((address, fault)) = all.iter().find_map(|address| Some((*address, address_fault(address)?))) {
            wrong(format!("{address:?} is no mail address: {fault}"), "write name@example.com, or Name <name@example.com>".to_owned());
        } else if all.is_empty() && given.value == "to" {
            wrong("to of the mail names nobody".to_owned(), "write name@example.com".to_owned());
        }
    }
    if let (Filling::Text(text), true) = (value, RECIPIENTS.contains(&&*given.value) || given.value == "reply_to")
        && text.form == Form::Template
        && recipients(&without_places(&text.source).replace(' ', "_")).len() > 1
    {
        let message = format!("{} puts several recipients together in one text", given.value);
        wrong(message, format!("write a list, an entry for each: {}: [\"{{{{ … }}}}\", name@example.com]", given.value));
    }
    if let ("subject", Some([text])) = (given.value.as_str(), texts.as_deref())
        && text.contains(['\n', '\r'])
    {
        wrong("the subject of a mail is one line".to_owned(), "write it in one line".to_owned());
    }
    match (given.value.as_str(), value) {
        ("headers", Filling::Text(_)) => {}
        ("headers", Filling::List(_)) => wrong("headers of a mail are no list".to_owned(), HEADERS.to_owned()),
        ("headers", value) => {
            let names: Vec<&String> = match value {
                Filling::Map(pairs) => pairs.iter().map(|(name, _)| name).collect(),
                Filling::Constant(Value::Object(pairs)) => pairs.keys().collect(),
                Filling::Constant(Value::Null) => return,
                _ => return wrong("headers of a mail are names with their values".to_owned(), HEADERS.to_owned()),
            };
            for (place, name) in names.iter().enumerate() {
                if let Some(fault) = header_fault(name) {
                    wrong(
                        format!("header \"{name}\" cannot be given here: {fault}"),
                        "write a header of your own, such as X-Topic".to_owned(),
                    );
                } else if names[..place].iter().any(|other| other.eq_ignore_ascii_case(name)) {
                    wrong(
                        format!("header \"{name}\" is given twice; small and capital letters are the same in it"),
                        "remove one".to_owned(),
                    );
                }
            }
        }
        _ => {}
    }
}

/// How headers are written.
const HEADERS: &str = "write names with their values, such as headers: { X-Topic: report }";
