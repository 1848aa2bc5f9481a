//! F209: what a call gives and what the called pipeline takes. F303 asks the same of tools.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::gate::schema_problems;
use crate::gate::shape::field_schema;
use crate::model::{Field, FieldKind, Filling, Form, Pipeline, PipelineId, Shape, Step, StepKind, Text};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Seat, Texts, listed, quoted, sole_path};
use crate::source::{Span, Spanned};
use crate::template::types::{Type, of_field};

/// Most missing values that are told one by one at one place.
const MOST_MISSING: usize = 12;

pub(in crate::rules) fn check(names: &PipelineNames, _texts: &Texts, out: &mut Vec<Diagnostic>) {
    let mut asked: HashMap<PipelineId, AskedFields> = HashMap::new();
    for (ix, planned) in names.pipeline.numbered_steps() {
        let StepKind::Call(call) = &planned.step.kind else { continue };
        let Some((id, called)) = call.pipeline.map(|id| (id, &names.plan.pipeline(id).pipeline)) else { continue };
        if let Some(channel) = call.channel.as_ref().filter(|channel| channel.form != Form::Plain) {
            channel_of(names, ix, &planned.step, called, channel, out);
        }
        let Shape::Fields(fields) = &called.inputs else { continue };
        let given = GivenValues {
            found,
            owner: format!("call \"{}\"", called.name.value),
            what: "input",
            span: call.file.span,
            with: &call.with,
            fixed: &[],
            others_are_wrong: true,
        };
        let asked = asked.entry(id).or_insert_with(|| AskedFields::of(fields));
        given.check(names, &names.seat(ix), asked, out);
    }
}

fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::CallInputs, span, message)
}

/// A channel that is filled in, and may be one that the called pipeline does not list.
fn channel_of(names: &PipelineNames, ix: StepIx, step: &Step, called: &Pipeline, channel: &Text, out: &mut Vec<Diagnostic>) {
    let seat = names.seat(ix);
    let is_item = sole_path(channel).is_some_and(|read| matches!(read.path.as_slice(), [root] if root == "item"));
    let values: Vec<String> = match (names.text(&seat, channel), step.for_each.as_ref().map(|each| &each.list)) {
        (Type::OneOf(values), _) => values.to_vec(),
        (_, Some(Filling::Constant(Value::Array(list)))) if is_item => {
            list.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
        }
        (Type::Any | Type::Empty | Type::Text | Type::Date, _) => return,
        (kind @ (Type::Number | Type::Within(_) | Type::Boolean | Type::List(_) | Type::Object(_)), _) => {
            let message =
                format!("channel of the call of \"{}\" must be the name of a channel, and this is {}", called.name.value, kind.words());
            return out.push(found(channel.place.span, message).help("name a text that is the name of a channel"));
        }
    };
    let listed_ones: Vec<&str> = called.channels.iter().map(|channel| channel.name.as_str()).collect();
    let Some(other) = values.iter().find(|value| !listed_ones.contains(&value.as_str())) else { return };
    let message =
        format!("channel {} may be {}, which pipeline \"{}\" does not list", channel.source.trim(), quoted(other), called.name.value);
    let help =
        format!("add {other} to channels of {}, or call it only where the channel is one of: {}", called.name.value, listed(&listed_ones));
    out.push(found(channel.place.span, message).help(help));
}

/// The fields that something asks for, by name: made once for all who give them.
pub(in crate::rules) struct AskedFields<'a> {
    fields: &'a [Field],
    by_name: HashMap<&'a str, &'a Field>,
    /// Those that must be given.
    needed: Vec<&'a str>,
}

impl<'a> AskedFields<'a> {
    pub(in crate::rules) fn of(fields: &'a [Field]) -> AskedFields<'a> {
        let needed = fields.iter().filter(|field| field.is_required && field.default.is_none());
        AskedFields {
            fields,
            by_name: fields.iter().map(|field| (field.name.as_str(), field)).collect(),
            needed: needed.map(|field| field.name.as_str()).collect(),
        }
    }
}

/// Values given by name.
pub(in crate::rules) struct GivenValues<'a> {
    /// The finding of whatever is wrong.
    pub(in crate::rules) found: fn(Span, String) -> Diagnostic,
    /// Who is given them, in words.
    pub(in crate::rules) owner: String,
    /// What one is called.
    pub(in crate::rules) what: &'static str,
    /// Where it is said who is given them.
    pub(in crate::rules) span: Span,
    pub(in crate::rules) with: &'a [(Spanned<String>, Filling)],
    /// Values that are given besides.
    pub(in crate::rules) fixed: &'a [(Spanned<String>, Filling)],
    /// Whether a name that is not asked for is a mistake.
    pub(in crate::rules) others_are_wrong: bool,
}

impl GivenValues<'_> {
    /// Compares them with the fields that are asked for.
    pub(in crate::rules) fn check(&self, names: &PipelineNames, seat: &Seat, asked: &AskedFields, out: &mut Vec<Diagnostic>) {
        let (owner, what, fields) = (&self.owner, self.what, asked.fields);
        let given: HashSet<&str> = self.with.iter().chain(self.fixed).map(|(name, _)| name.value.as_str()).collect();
        let mut meant = HashSet::new();
        // As many names that are not known as are missing: they are the same values under other names.
        let unknown: Vec<&str> =
            self.with.iter().map(|(name, _)| name.value.as_str()).filter(|name| !asked.by_name.contains_key(name)).collect();
        let absent: Vec<&str> = asked.needed.iter().copied().filter(|name| !given.contains(name)).collect();
        let renamed = |name: &str| match unknown.len() == absent.len() && names.hints.nearest(name, absent.iter().copied()).is_empty() {
            true => unknown.iter().position(|other| *other == name).and_then(|place| absent.get(place)).copied(),
            false => None,
        };
        for (name, value) in self.with {
            match asked.by_name.get(name.value.as_str()) {
                Some(field) => {
                    if let Some(why) = misfit(names, seat, field, value) {
                        let message = format!("{what} \"{}\" of {owner} {why}", name.value);
                        // What stands beside a value makes a text of it.
                        let sole = match value {
                            Filling::Text(text) if text.form == Form::Template && text.reads.len() == 1 => {
                                let path = text.reads.first().map(|read| read.path.join("."));
                                path.map(|path| format!("write {}: \"{{{{ {path} }}}}\", without words beside it", name.value))
                            }
                            Filling::Text(_) | Filling::Constant(_) | Filling::List(_) | Filling::Map(_) => None,
                        };
                        out.push((self.found)(name.span, message).help(sole.unwrap_or_else(|| format!("pass {}", wanted(field)))));
                    }
                }
                None if let Some(field) = renamed(&name.value) => {
                    let message = format!("{owner} has no {what} \"{}\", and its \"{field}\" is missing", name.value);
                    out.push(
                        (self.found)(name.span, message).help(format!("write {field}")).proposed_fix(vec![(name.span, field.to_owned())]),
                    );
                    meant.insert(field.to_owned());
                }
                None => {
                    let not_given = fields.iter().map(|field| field.name.as_str()).filter(|name| !given.contains(name));
                    let near = names.hints.did_you_mean(&name.value, not_given);
                    if self.others_are_wrong || !near.is_empty() {
                        let message = format!("{owner} has no {what} \"{}\"{}", name.value, near);
                        let help = match fields.is_empty() {
                            true => "remove it".to_owned(),
                            false => format!("use one of: {}", listed(fields.iter().map(|field| &field.name))),
                        };
                        out.push((self.found)(name.span, message).near(near.clone()).help(help));
                    }
                    meant.extend(near.names);
                }
            }
        }
        let missing = asked.needed.iter().filter(|field| !given.contains(**field) && !meant.contains(**field));
        // Beside what is given already, if anything is.
        let place = self.with.last().map_or(self.span, |(name, _)| name.span);
        for field in missing.take(MOST_MISSING) {
            let message = match what {
                "input" => format!("{owner}: the required input \"{field}\" is missing"),
                _ => format!("{owner}: the {what} \"{field}\" is missing"),
            };
            let is_there = names.pipeline.pipeline.input_fields().iter().any(|input| input.name == **field);
            let value = match asked.by_name.get(*field).filter(|_| !is_there) {
                Some(field) => example(field),
                None => format!("\"{{{{ inputs.{field} }}}}\""),
            };
            let beside = match self.with.is_empty() {
                true => format!("add with: {{ {field}: {value} }}"),
                false => format!("add {field}: {value} to with"),
            };
            let beside = match !is_there && value.contains("inputs.") {
                true => {
                    let kind = asked.by_name.get(*field).map_or("text", |field| field.kind.word());
                    format!("{beside}, and {field}: {kind} to inputs; or the value itself in place of {value}")
                }
                false => beside,
            };
            out.push((self.found)(place, message).help(beside));
        }
    }
}

fn misfit(names: &PipelineNames, seat: &Seat, field: &Field, value: &Filling) -> Option<String> {
    let kind = names.filling(seat, value);
    let asked = of_field(field);
    if !kind.fits(&asked) {
        return Some(format!("must be {}, and this is {}", asked.words(), kind.words()));
    }
    match value {
        Filling::Constant(value) if value.is_null() && field.is_required && field.default.is_none() && asked != Type::Any => {
            Some("must not be empty".to_owned())
        }
        Filling::Constant(value) if !value.is_null() && !field.one_of.is_empty() && !field.one_of.contains(value) => {
            Some(format!("is {value}, which is none of its values"))
        }
        Filling::Constant(value) if !value.is_null() && asked != Type::Any => {
            schema_problems(&field_schema(field), value).first().map(|problem| format!("does not fit its rules: {problem}"))
        }
        _ => None,
    }
}

/// A value of the kind that a field takes.
fn example(field: &Field) -> String {
    match field.kind {
        FieldKind::Number | FieldKind::Integer => "1".to_owned(),
        FieldKind::Boolean => "true".to_owned(),
        FieldKind::List => "[…]".to_owned(),
        FieldKind::Object => "{ … }".to_owned(),
        _ => match field.one_of.first().and_then(|value| value.as_str()) {
            Some(word) => word.to_owned(),
            None => format!("\"{{{{ inputs.{} }}}}\"", field.name),
        },
    }
}

/// A short text that fits a simple pattern.
pub(in crate::rules) fn fitting(pattern: &str) -> Option<String> {
    let regex = regex::Regex::new(pattern).ok()?;
    let (mut text, mut rest) = (String::new(), pattern.trim_start_matches('^').trim_end_matches('$'));
    while let Some(c) = rest.chars().next() {
        let (one, end) = match c {
            '[' => (rest.chars().nth(1)?, rest.find(']')? + 1),
            '\\' if rest.starts_with("\\d") => ('1', 2),
            '(' | ')' | '|' | '.' | '?' | '*' => return None,
            c => (c, c.len_utf8()),
        };
        rest = rest.get(end..)?;
        let count = match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((count, behind)) => {
                rest = behind;
                count.split(',').next()?.parse::<usize>().ok().filter(|count| *count < 40)?
            }
            None => 1,
        };
        rest = rest.strip_prefix(['+', '*']).unwrap_or(rest);
        text.extend(std::iter::repeat_n(if one == '0' { '1' } else { one }, count));
    }
    regex.is_match(&text).then_some(text)
}

fn wanted(field: &Field) -> String {
    if let (true, Some(pattern)) = (field.one_of.is_empty(), &field.pattern) {
        let example = fitting(pattern).map_or(String::new(), |example| format!(", such as {example}"));
        return format!("a text that fits {pattern}{example}");
    }
    if field.one_of.is_empty() {
        return of_field(field).words().to_owned();
    }
    let values: Vec<String> = field.one_of.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
    format!("one of: {}", listed(&values))
}
