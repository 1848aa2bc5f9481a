//! One mistake, one finding: what only follows from another finding is held back, and what one habit does several times on a line is
//! told once, with the other places beside it.
//!
//! How to add a follow-on: a line in [`FOLLOWS`].

use std::collections::{HashMap, HashSet};

use super::slid;
use crate::diagnostic::{About, Code, Diagnostic, Fix, Severity};
use crate::source::{FileId, Sources, Span};

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
    // The host that a request needs is written with its scheme.
    (&[Code::PolicyEntry], &[Code::OutsidePolicy], Nearness::Line),
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
    // Its judge is written, and cannot be read.
    (&[Code::JudgeMissing], &[Code::WrongType], Nearness::LineBelow),
    // Which of the two values is meant is not known: one of them may belong to another key.
    (&[Code::UnknownKey, Code::MissingKey], &[Code::DuplicateKey], Nearness::Line),
];

/// What follows from a key whose value is lost, and the name that its place begins with, if it must begin with one.
const LOST: &[(&[Code], &str, Option<&str>)] = &[
    (&[Code::ToolArguments, Code::CallInputs, Code::QueryValues], "with", None),
    (&[Code::TestExpectsNothing], "expect", None),
    (&[Code::RouteOpen], "cases", None),
    (&[Code::MissingKey], "channels", None),
    (&[Code::WrongPlace], "env", Some("env")),
    (&[Code::UnsupportedYaml], "<<", Some("<<")),
    (&[Code::UnknownField], "person", Some("person")),
];

/// What seems to be unused.
const UNUSED: [Code; 3] = [Code::UnusedInput, Code::UnusedOutput, Code::UnusedDefinition];

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
    let mut slid = slid::take_slid(found, sources);
    let causes = Causes::of(found, sources);
    slid.extend(found.extract_if(.., |found| causes.explain(found, sources)));
    slid
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
                // The value that counts is the first one.
                let first = found.related.first().filter(|_| found.code == Code::DuplicateKey);
                causes.lines.extend(first.map(|(span, _)| (found.code, span.file, sources.start(*span).line)));
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
        let text = sources.text(found.span);
        let begins = |name: &str| text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        let mut of_lost = LOST.iter().filter(|(codes, key, _)| codes.contains(&found.code) && self.lost.contains(*key));
        of_lost.any(|(_, _, name)| name.is_none_or(begins))
            || self.tell_why_unused && UNUSED.contains(&found.code)
            || found.code == Code::UnknownName && self.lost.contains("for_each") && !begins("steps")
            || matches!(found.about, About::Missing(_)) && [Code::UnsupportedYaml].iter().any(|code| self.codes.contains(code))
    }
}

/// Most places of one habit that are told beside the first.
const MOST_PLACES: usize = 8;

/// What findings of one code have in common that one habit makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alike {
    /// The file.
    File,
    /// The line.
    Line,
    /// The line, and what stands before the last dot: whose it is.
    Owner,
    /// The line, and nothing but a comma stands between them.
    List,
}

/// Codes that one habit makes several times.
const HABITS: &[(&[Code], Alike)] = &[
    (&[Code::UnsupportedYaml], Alike::File),
    (&[Code::YamlTrap, Code::UnknownKey, Code::WrongType, Code::UnusedInput, Code::QueryNever], Alike::Line),
    (&[Code::SingleBraces, Code::DollarBraces, Code::MissingBraces], Alike::Line),
    (&[Code::UnknownField, Code::WrongPlace], Alike::Owner),
    (&[Code::BadValue, Code::OwnFile], Alike::List),
];

/// Findings that one habit makes on one line become one: the places and the help of all are kept.
pub(super) fn tell_once(found: &mut Vec<Diagnostic>, sources: &Sources) {
    let mut first: HashMap<(FileId, usize, Code, &str), usize> = HashMap::new();
    let mut kept: Vec<Diagnostic> = vec![];
    for next in std::mem::take(found) {
        let Some((_, alike)) = HABITS.iter().find(|(codes, _)| codes.contains(&next.code)) else {
            kept.push(next);
            continue;
        };
        let text = |span: Span| sources.text(span);
        let line = if *alike == Alike::File { 0 } else { sources.start(next.span).line };
        let owner = if *alike == Alike::Owner { text(next.span).rsplit_once('.').map_or(text(next.span), |(owner, _)| owner) } else { "" };
        let key = (next.span.file, line, next.code, owner);
        let is_beside = |other: &Diagnostic| {
            let last = other.related.last().map_or(other.span, |(span, _)| *span);
            let between = Span { start: last.end, end: next.span.start.max(last.end), ..next.span };
            *alike != Alike::List || text(between).trim_matches([' ', '"', '\'']) == ","
        };
        let is_safe = |found: &Diagnostic| found.candidate.as_ref().is_some_and(|fix| fix.safe);
        // Names that are nearly right are slips, each by itself.
        let is_one_habit = |other: &&mut Diagnostic| {
            let has_no_name = other.near.is_empty() && next.near.is_empty();
            if next.code == Code::WrongType {
                return other.candidate.is_some() && next.candidate.is_some();
            }
            let is_key = next.code == Code::UnknownKey;
            is_key && is_safe(other) && is_safe(&next) || has_no_name && (!is_key || other.help == next.help)
        };
        let other = first
            .get(&key)
            .and_then(|index| kept.get_mut(*index))
            .filter(|other| other.span != next.span && other.related.len() < MOST_PLACES && is_beside(other))
            .filter(is_one_habit);
        match other.map(|other| (joined(other, &next), other)) {
            Some((Some(candidate), other)) => {
                other.candidate = candidate;
                let name = sources.text(next.span);
                let here = if name.contains('\n') { "here, too".to_owned() } else { format!("{name}, too") };
                // What is to be done at this place stands there: several lines of help are a choice.
                let own = next.help.first().filter(|line| !other.help.contains(line));
                other.related.push((next.span, own.map_or(here.clone(), |own| format!("{here}: {own}"))));
            }
            _ => {
                first.insert(key, kept.len());
                kept.push(next);
            }
        }
    }
    *found = kept;
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
