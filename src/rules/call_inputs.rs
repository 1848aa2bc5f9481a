//! F209: what a call gives and what the called pipeline takes. F303 asks the same of tools.

use std::collections::{HashMap, HashSet};

use super::names::Names;
use super::seat::{Seat, Texts};
use super::types::{Type, of_field};
use super::wording::listed;
use crate::diagnostic::{Code, Diagnostic, in_words};
use crate::model::{Field, Filling, Shape, StepKind};
use crate::plan::StepIx;
use crate::source::{Span, Spanned};

pub(super) fn check(names: &Names, _texts: &Texts, out: &mut Vec<Diagnostic>) {
    for (index, planned) in names.pipeline.steps.iter().enumerate() {
        let StepKind::Call(call) = &planned.step.kind else { continue };
        let Some(called) = call.pipeline.map(|id| &names.plan.pipeline(id).pipeline) else { continue };
        let Shape::Fields(fields) = &called.inputs else { continue };
        let given = Given {
            code: Code::CallInputs,
            owner: format!("call \"{}\"", called.name.value),
            what: "input",
            span: call.file.span,
            with: &call.with,
            fixed: &[],
            others_are_wrong: true,
        };
        given.check(names, &names.seat(StepIx(index as u32)), fields, out);
    }
}

/// Values given by name.
pub(super) struct Given<'a> {
    pub(super) code: Code,
    /// Who is given them, in words.
    pub(super) owner: String,
    /// What one is called.
    pub(super) what: &'static str,
    /// Where it is said who is given them.
    pub(super) span: Span,
    pub(super) with: &'a [(Spanned<String>, Filling)],
    /// Values that are given besides.
    pub(super) fixed: &'a [(Spanned<String>, Filling)],
    /// Whether a name that is not asked for is a mistake.
    pub(super) others_are_wrong: bool,
}

impl Given<'_> {
    /// Compares them with the fields that are asked for.
    pub(super) fn check(&self, names: &Names, seat: &Seat, fields: &[Field], out: &mut Vec<Diagnostic>) {
        let (owner, what) = (&self.owner, self.what);
        let known: HashMap<&str, &Field> = fields.iter().map(|field| (field.name.as_str(), field)).collect();
        let given: HashSet<&str> = self.with.iter().chain(self.fixed).map(|(name, _)| name.value.as_str()).collect();
        let not_given: Vec<&str> = fields.iter().map(|field| field.name.as_str()).filter(|name| !given.contains(name)).collect();
        let mut meant = HashSet::new();
        for (name, value) in self.with {
            match known.get(name.value.as_str()) {
                Some(field) => {
                    if let Some(why) = misfit(names, seat, field, value) {
                        let message = format!("{what} \"{}\" of {owner} {why}", name.value);
                        out.push(Diagnostic::new(self.code, name.span, message).help(format!("give it {}", wanted(field))));
                    }
                }
                None => {
                    let near = names.hints.nearest(&name.value, not_given.iter().copied());
                    if self.others_are_wrong || !near.is_empty() {
                        let message = format!("{owner} has no {what} \"{}\"{}", name.value, in_words(&near));
                        let help = match fields.is_empty() {
                            true => "remove it".to_owned(),
                            false => format!("use one of: {}", listed(fields.iter().map(|field| &field.name))),
                        };
                        out.push(Diagnostic::new(self.code, name.span, message).help(help));
                    }
                    meant.extend(near);
                }
            }
        }
        let is_needed = |field: &&Field| field.is_required && field.default.is_none();
        for field in fields.iter().filter(is_needed).map(|field| &field.name) {
            if !given.contains(field.as_str()) && !meant.contains(field.as_str()) {
                let message = match what {
                    "input" => format!("{owner}: the required input \"{field}\" is missing"),
                    _ => format!("{owner}: the {what} \"{field}\" is missing"),
                };
                out.push(Diagnostic::new(self.code, self.span, message).help(format!("add with: {{ {field}: … }}")));
            }
        }
    }
}

fn misfit(names: &Names, seat: &Seat, field: &Field, value: &Filling) -> Option<String> {
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
        _ => None,
    }
}

fn wanted(field: &Field) -> String {
    if field.one_of.is_empty() {
        return of_field(field).words().to_owned();
    }
    let values: Vec<String> = field.one_of.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
    format!("one of: {}", listed(&values))
}
