//! One mistake, one finding: what only follows from another finding is held back, and what one habit does several times on a line is
//! told once, with the other places beside it.
//!
//! How to add a follow-on: a line in [`FOLLOWS`].

use std::collections::{BTreeMap, HashSet};

use crate::diagnostic::{About, Code, Diagnostic, Fix, Severity};
use crate::source::{FileId, Sources};

/// How near the finding must be that another one follows from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nearness {
    /// In the same file.
    File,
    /// On the same line.
    Line,
    /// On the line below.
    LineBelow,
    /// On the line above.
    LineAbove,
}

/// Findings, and those they follow from.
const FOLLOWS: &[(&[Code], &[Code], Nearness)] = &[
    // Quotes alone would not make it right.
    (&[Code::YamlTrap], &[Code::InputRules, Code::BadValue, Code::WrongType], Nearness::Line),
    // What YAML made of a text that it could not read.
    (&[Code::WrongType], &[Code::YamlSyntax, Code::UnsupportedYaml], Nearness::Line),
    (&[Code::UnknownKey], &[Code::YamlSyntax], Nearness::LineBelow),
    (&[Code::YamlSyntax], &[Code::YamlSyntax], Nearness::LineAbove),
    // A time or a price is there, and cannot be read.
    (&[Code::DefaultTimeout], &[Code::BadDuration], Nearness::File),
    (&[Code::UnpricedModel], &[Code::WrongType], Nearness::File),
    (&[Code::PiiUnmarked], &[Code::BadValue], Nearness::File),
    // A key whose value was not seen.
    (&[Code::WrongType], &[Code::BadId], Nearness::Line),
    (&[Code::UnknownReference], &[Code::BadId], Nearness::File),
    // Names that are read otherwise than they are meant.
    (&[Code::UnknownTable], &[Code::BadId], Nearness::File),
    (&[Code::UnknownTable], &[Code::QueryFails], Nearness::Line),
    (&[Code::QueryFails], &[Code::BadId], Nearness::File),
    (&[Code::UnknownName], &[Code::BadId], Nearness::File),
    // What cannot be met by any text is not met by this one, and what is moved is not in the way.
    (&[Code::OtherwiseFails], &[Code::CheckImpossible], Nearness::File),
    (&[Code::RefineRepeatsEffect], &[Code::GateTooLate], Nearness::File),
];

/// Warnings that tell why something seems to be unused.
const WHY_UNUSED: [Code; 7] = [
    Code::AbsentSection,
    Code::OneConversation,
    Code::ConstantCondition,
    Code::SingleBraces,
    Code::DollarBraces,
    Code::RawSend,
    Code::UnreachableStep,
];

/// Takes the follow-ons out of what was found, and gives them.
pub(super) fn take_follow_ons(found: &mut Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
    let causes = Causes::of(found, sources);
    found.extract_if(.., |found| causes.explain(found, sources)).collect()
}

/// What was found, by all that decides whether another finding follows from it.
#[derive(Default)]
struct Causes {
    codes: HashSet<Code>,
    lines: HashSet<(Code, FileId, usize)>,
    /// Keys whose values are lost by an unknown key, or by a case that is none.
    lost: HashSet<String>,
    tell_why_unused: bool,
}

impl Causes {
    fn of(found: &[Diagnostic], sources: &Sources) -> Causes {
        let mut causes = Causes::default();
        for found in found {
            causes.codes.insert(found.code);
            if FOLLOWS.iter().any(|(_, causes, near)| *near != Nearness::File && causes.contains(&found.code)) {
                causes.lines.insert((found.code, found.span.file, sources.start(found.span).line));
            }
            if let About::Value(key) = &found.about
                && matches!(found.code, Code::UnknownKey | Code::WrongPlace)
            {
                causes.lost.insert(key.clone());
            }
            causes.tell_why_unused |= found.severity() == Severity::Error || WHY_UNUSED.contains(&found.code);
        }
        causes
    }

    /// Whether a finding follows from one of these.
    fn explain(&self, found: &Diagnostic, sources: &Sources) -> bool {
        let (file, line) = (found.span.file, sources.start(found.span).line);
        let is_there = |code: &Code, near: Nearness| match near {
            Nearness::File => self.codes.contains(code),
            Nearness::Line => self.lines.contains(&(*code, file, line)),
            Nearness::LineBelow => self.lines.contains(&(*code, file, line + 1)),
            Nearness::LineAbove => self.lines.contains(&(*code, file, line.saturating_sub(1))),
        };
        let mut follows = FOLLOWS.iter().filter(|(codes, _, _)| codes.contains(&found.code));
        if follows.any(|(_, causes, near)| causes.iter().any(|cause| is_there(cause, *near))) {
            return true;
        }
        let is_lost = |key: &str| self.lost.contains(key);
        let text = sources.text(found.span);
        let begins = |name: &str| text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        match found.code {
            Code::UnusedInput | Code::UnusedOutput | Code::UnusedDefinition => self.tell_why_unused,
            Code::ToolArguments | Code::CallInputs | Code::QueryValues => is_lost("with"),
            Code::TestExpectsNothing => is_lost("expect"),
            Code::RouteOpen => is_lost("cases"),
            Code::WrongPlace => begins("env") && is_lost("env"),
            Code::UnsupportedYaml => text.starts_with("<<") && is_lost("<<"),
            Code::UnknownName => !begins("steps") && is_lost("for_each"),
            Code::UnknownField => begins("person") && is_lost("person"),
            Code::MissingKey => {
                is_lost("channels")
                    || matches!(found.about, About::Missing(_)) && [Code::UnsupportedYaml].iter().any(|code| self.codes.contains(code))
            }
            _ => false,
        }
    }
}

/// Most places of one habit that are told beside the first.
const MOST_PLACES: usize = 8;

/// Findings of one code and one kind of message on one line become one: of all that they say nothing is lost.
pub(super) fn tell_once(found: &mut Vec<Diagnostic>, sources: &Sources) {
    let mut first: BTreeMap<(FileId, usize, &'static str, String), usize> = BTreeMap::new();
    let mut kept: Vec<Diagnostic> = vec![];
    let mut at = None;
    for next in std::mem::take(found) {
        let line = if next.code == Code::UnsupportedYaml { 0 } else { sources.start(next.span).line };
        // They come in the order of their places: what stands on other lines is not needed any more.
        if line > 0 && at != Some((next.span.file, line)) {
            first.retain(|(_, line, ..), _| *line == 0);
            at = Some((next.span.file, line));
        }
        let frame = match next.code {
            Code::YamlTrap => String::new(),
            Code::UnknownKey | Code::WrongType => without_names(&next.message),
            _ => without_last_name(&next.message),
        };
        let key = (next.span.file, line, next.code.id(), frame);
        let is_safe = |found: &Diagnostic| found.candidate.as_ref().is_some_and(|fix| fix.safe);
        let is_one_habit = |other: &&mut Diagnostic| match next.code {
            Code::UnknownKey => {
                is_safe(other) && is_safe(&next) || other.near.is_empty() && next.near.is_empty() && other.help == next.help
            }
            Code::WrongType => other.candidate.is_some() && next.candidate.is_some(),
            // Names that are nearly right are slips, each by itself.
            _ => other.near.is_empty() && next.near.is_empty(),
        };
        let other = first
            .get(&key)
            .and_then(|index| kept.get_mut(*index))
            .filter(|other| other.span != next.span && other.related.len() < MOST_PLACES)
            .filter(is_one_habit);
        match other.map(|other| (joined(other, &next), other)) {
            Some((Some(candidate), other)) => {
                other.candidate = candidate;
                let name = sources.text(next.span);
                other.related.push((next.span, if name.contains('\n') { "here, too".to_owned() } else { format!("{name}, too") }));
                let new: Vec<String> = next.help.into_iter().filter(|line| !other.help.contains(line)).collect();
                other.help.extend(new);
            }
            _ => {
                first.insert(key, kept.len());
                kept.push(next);
            }
        }
    }
    *found = kept;
}

/// A message without the names in it.
fn without_names(message: &str) -> String {
    let outside = message.split('"').step_by(2).collect::<String>();
    outside.split("{{").map(|part| part.rsplit("}}").next().unwrap_or_default()).collect()
}

/// The same without the last of them: whose it is stays.
fn without_last_name(message: &str) -> String {
    let plain: String = message.split("{{").map(|part| part.rsplit("}}").next().unwrap_or_default()).collect();
    let end = plain.rfind('"').unwrap_or(plain.len());
    let start = plain.get(..end).and_then(|before| before.rfind('"')).unwrap_or(end);
    format!("{}{}", plain.get(..start).unwrap_or_default(), plain.get(end..).unwrap_or_default())
}

/// The edits of both; `None`: only one of them has some, so that it would leave the other there.
fn joined(one: &Diagnostic, other: &Diagnostic) -> Option<Option<Fix>> {
    match (&one.candidate, &other.candidate) {
        (None, None) => Some(None),
        (Some(a), Some(b)) => {
            let touches = a.edits.iter().any(|(span, _)| b.edits.iter().any(|(new, _)| span.start < new.end && new.start < span.end));
            (!touches).then(|| Some(Fix { edits: a.edits.iter().chain(&b.edits).cloned().collect(), safe: a.safe && b.safe }))
        }
        _ => None,
    }
}
