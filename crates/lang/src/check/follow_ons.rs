//! One mistake, one finding: what may only follow from another finding is held back, and what one habit does several times on a line is
//! told once, with the other places beside it.
//!
//! How to add a follow-on: a row in [`OF_READING`], if it follows from what could not be read, or in [`FOLLOWS`].

use std::collections::{HashMap, HashSet};
use std::path::Path;

use Code::{
    AbsentSection, ApprovalIgnored, ArgumentUnread, BadDuration, BadId, BadValue, BracesInCondition, CallInputs, ChannelConflict,
    ChannelImpossible, CheckImpossible, ComparisonType, ConstantCondition, ConversationUnread, DefaultTimeout, DefaultUnused, DollarBraces,
    DuplicateKey, EmptySection, GateNoWayOut, GateOnInput, GateTooLate, ImportCircle, ImportClash, ImportMissing, InputRules, JudgeMissing,
    MissingFile, MissingKey, NoEffect, NoOutputFields, NoResult, OneConversation, OtherwiseFails, OutsidePolicy, PiiUnmarked, PolicyEntry,
    QueryFails, QueryValues, RawSend, RefineRepeatsEffect, RouteOpen, SchemaInvalid, SingleBraces, StyleConflict, TemplateSyntax,
    TestContradicts, TestExpectsNothing, TestLacksAnswer, TestUnknownName, TooLarge, ToolArguments, TwoKinds, UndeclaredSecret,
    UnknownField, UnknownFilter, UnknownKey, UnknownName, UnknownReference, UnknownStep, UnknownTable, UnquotedTemplate, UnreachableStep,
    UnsupportedYaml, UnusedDefinition, UnusedInput, UnusedOutput, WrongPlace, WrongType, YamlSyntax, YamlTrap,
};

use super::slid;
use crate::diagnostic::{About, Code, Diagnostic, Fix, Severity};
use crate::load::Loaded;
use crate::source::{FileId, Sources, Span};

/// What a finding may follow from.
enum Cause {
    /// A finding of one of these codes.
    Found(&'static [Code]),
    /// The same, so many lines below it.
    Near(i8, &'static [Code]),
    /// A finding of one of these codes about the value of one of these keys.
    Value(&'static [Code], &'static [&'static str]),
    /// This key is missing.
    Missing(&'static str),
    /// A section stands inside another one, and hides what comes after it there.
    HiddenSection,
    /// The end of a file is not known.
    CutOff,
    /// Any error.
    AnyError,
    /// An error in the same file.
    ErrorInFile,
    /// An error in a file of this folder.
    ErrorIn(&'static str),
    /// One of these.
    OneOf(&'static [Cause]),
}
use Cause::{AnyError, CutOff, ErrorIn, ErrorInFile, Found, HiddenSection, Missing, Near, OneOf, Value};

/// Findings of these codes, or of all, where this holds of them and of the text that they mark; and what they may follow from.
type FollowOn = (&'static [Code], fn(&Diagnostic, &str) -> bool, &'static [Cause]);

/// Sections whose names others use.
const SECTIONS: &[&str] = &["inputs", "steps", "agents", "models", "tools", "scorecards", "policies", "data", "imports", "secrets"];
const SHAPE: &[Code] = &[WrongType, EmptySection, DuplicateKey];

/// The end of a file.
const END: Cause = OneOf(&[CutOff, Found(&[TooLarge, UnsupportedYaml, YamlSyntax])]);
/// A whole section.
const SECTION: Cause = OneOf(&[HiddenSection, Value(SHAPE, SECTIONS)]);
/// Names: the end of a file, a whole section or an imported file.
const NAMES: Cause = OneOf(&[END, SECTION, Found(&[ImportMissing, ImportCircle, ImportClash])]);
/// Something that reads or uses.
const USES: Cause = OneOf(&[END, SECTION, Found(NO_USE)]);
const NO_USE: &[Code] = &[
    TemplateSyntax, UnknownFilter, BracesInCondition, SingleBraces, UnquotedTemplate, WrongType, EmptySection, MissingKey, TwoKinds,
    MissingFile,
];
/// A channel or a style guide.
const MANNERS: Cause = OneOf(&[HiddenSection, Found(&[MissingFile]), ErrorIn("channels"), ErrorIn("style_guides")]);
/// A part of something, which may have been the one that is missing.
const PARTS: Cause = OneOf(&[END, HiddenSection, Found(&[WrongType, EmptySection, MissingKey])]);
/// What is given to a tool or a pipeline.
const ARGUMENTS: Cause = Value(&[EmptySection, WrongType], &["with"]);
/// The shape of an output. With `on_failure` a list has what each element gave, or what went wrong.
const SHAPES: Cause = OneOf(&[
    Found(&[SchemaInvalid, MissingFile]),
    ARGUMENTS,
    Missing("cases"),
    Value(Code::ALL, &["on_failure"]),
    Value(&[WrongType], &["one", "output", "fields", "items", "type"]),
]);
/// A key, which may be a name that slid out of its place.
const KEYS: Cause = Found(&[UnknownKey]);

/// What may follow from what could not be read.
const OF_READING: &[FollowOn] = &[
    (&[UnknownName], |_, text| begins(text, "steps"), &[NAMES]),
    (&[UnknownField], always, &[NAMES, SHAPES]),
    // The words of a program may be those that were lost.
    (&[UnknownStep, UnknownReference, UnknownTable, UndeclaredSecret, OutsidePolicy, TestUnknownName], always, &[NAMES]),
    (&[QueryValues], always, &[NAMES, ARGUMENTS, KEYS]),
    (&[CallInputs, ToolArguments], always, &[NAMES, ARGUMENTS]),
    (&[TestUnknownName], |found, _| found.about == About::CaseChannel, &[MANNERS]),
    (&[ComparisonType], always, &[Found(&[UnknownFilter])]),
    (&[AbsentSection], always, &[NAMES, MANNERS, PARTS]),
    (&[OtherwiseFails], always, &[MANNERS]),
    (&[NoResult, RouteOpen, TestExpectsNothing, GateNoWayOut], always, &[PARTS]),
    (&[ChannelImpossible, ChannelConflict, NoEffect, StyleConflict, TestContradicts], always, &[ErrorInFile]),
    // What lacks or reads nothing may have had it in what was lost.
    (
        &[TestLacksAnswer, ConversationUnread, ApprovalIgnored, GateOnInput, ArgumentUnread, DefaultUnused],
        always,
        &[PARTS, KEYS, USES, NAMES, ErrorInFile],
    ),
    (&[UnusedOutput, UnusedInput, UnusedDefinition], always, &[USES]),
    (&[NoOutputFields], always, &[SHAPES, NAMES]),
];

/// What may follow from any other finding.
const FOLLOWS: &[FollowOn] = &[
    // Quotes alone would not make it right.
    (&[YamlTrap], always, &[Near(0, &[InputRules, BadValue, WrongType])]),
    // What YAML made of a text that it could not read.
    (&[WrongType], always, &[Near(0, &[YamlSyntax, UnsupportedYaml])]),
    (&[UnknownKey], always, &[Near(1, &[YamlSyntax])]),
    (&[YamlSyntax], always, &[Near(-1, &[YamlSyntax])]),
    // A time is there, and cannot be read.
    (&[DefaultTimeout], always, &[Found(&[BadDuration])]),
    // A check of personal data is there, and cannot be read.
    (&[PiiUnmarked], always, &[Found(&[BadValue])]),
    // The host that a request needs is written with its scheme.
    (&[PolicyEntry], always, &[Near(0, &[OutsidePolicy])]),
    // A key whose value was not seen.
    (&[WrongType], always, &[Near(0, &[BadId])]),
    // Names that are read otherwise than they are meant.
    (&[UnknownReference, UnknownTable, QueryFails, UnknownName], always, &[Found(&[BadId])]),
    (&[UnknownTable], always, &[Near(0, &[QueryFails])]),
    // What cannot be met by any text is not met by this one, and what is moved is not in the way.
    (&[OtherwiseFails], always, &[Found(&[CheckImpossible])]),
    (&[RefineRepeatsEffect], always, &[Found(&[GateTooLate])]),
    // Its judge is written, and cannot be read.
    (&[JudgeMissing], always, &[Near(1, &[WrongType])]),
    // Which of the two values is meant is not known: one of them may belong to another key.
    (&[UnknownKey, MissingKey], always, &[Near(0, &[DuplicateKey])]),
    // A key whose value is lost by an unknown key, or by a case that is none.
    (&[ToolArguments, CallInputs, QueryValues], always, &[Value(LOSING, &["with"])]),
    (&[TestExpectsNothing], always, &[Value(LOSING, &["expect"])]),
    (&[RouteOpen], always, &[Value(LOSING, &["cases"])]),
    (&[MissingKey], always, &[Value(LOSING, &["channels"])]),
    (&[WrongPlace], |_, text| begins(text, "env"), &[Value(LOSING, &["env"])]),
    (&[UnsupportedYaml], |_, text| begins(text, "<<"), &[Value(LOSING, &["<<"])]),
    (&[UnknownField], |_, text| begins(text, "person"), &[Value(LOSING, &["person"])]),
    (&[], |found, _| matches!(found.about, About::Missing(_)), &[Found(&[UnsupportedYaml])]),
    // Why something seems to be unused.
    (&[UnusedInput, UnusedOutput, UnusedDefinition], always, &[AnyError, Found(WHY_UNUSED)]),
];
const LOSING: &[Code] = &[UnknownKey, WrongPlace];
const WHY_UNUSED: &[Code] = &[AbsentSection, OneConversation, ConstantCondition, SingleBraces, DollarBraces, RawSend, UnreachableStep];

fn always(_: &Diagnostic, _: &str) -> bool {
    true
}

fn begins(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Takes the follow-ons out of what was found, and gives them.
pub(super) fn take_follow_ons(found: &mut Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
    let mut slid = slid::take_slid(found, sources);
    let causes = Causes::of(found, sources);
    slid.extend(found.extract_if(.., |found| causes.explain(FOLLOWS, found, sources)));
    slid
}

/// Takes what may only follow from what could not be read out of what the rules found, and gives it. `early` was found by reading the files, and `of_plan`
/// in their plan.
pub(super) fn take_unknown(
    early: &mut Vec<Diagnostic>,
    of_plan: &[Diagnostic],
    later: &mut Vec<Diagnostic>,
    loaded: &Loaded,
) -> Vec<Diagnostic> {
    let mut causes = Causes::of(early, &loaded.sources);
    causes.is_cut = !loaded.cut_off.is_empty();
    of_plan.iter().for_each(|found| causes.note_about(found));
    let mut taken: Vec<Diagnostic> = later.extract_if(.., |found| causes.explain(OF_READING, found, &loaded.sources)).collect();
    taken.extend(early.extract_if(.., |found| found.code == NoEffect && causes.explain(OF_READING, found, &loaded.sources)));
    taken
}

/// What was found, by all that decides whether another finding follows from it.
#[derive(Default)]
struct Causes {
    codes: HashSet<Code>,
    lines: HashSet<(Code, FileId, usize)>,
    values: HashMap<String, Vec<Code>>,
    missing: HashSet<&'static str>,
    has_hidden_section: bool,
    is_cut: bool,
    wrong: HashSet<FileId>,
    wrong_folders: HashSet<String>,
}

impl Causes {
    fn of(found: &[Diagnostic], sources: &Sources) -> Causes {
        let mut causes = Causes::default();
        for found in found {
            causes.codes.insert(found.code);
            causes.lines.insert((found.code, found.span.file, sources.start(found.span).line));
            // The value that counts is the first one.
            let first = found.related.first().filter(|_| found.code == DuplicateKey);
            causes.lines.extend(first.map(|(span, _)| (found.code, span.file, sources.start(*span).line)));
            if found.severity() == Severity::Error && causes.wrong.insert(found.span.file) {
                let folder = Path::new(&sources.file(found.span.file).name).parent().and_then(Path::file_name);
                causes.wrong_folders.extend(folder.map(|folder| folder.to_string_lossy().into_owned()));
            }
            causes.note_about(found);
        }
        causes
    }

    fn note_about(&mut self, found: &Diagnostic) {
        match &found.about {
            About::Value(key) => self.values.entry(key.clone()).or_default().push(found.code),
            About::Missing(key) => _ = self.missing.insert(key),
            About::HiddenSection => self.has_hidden_section = true,
            About::Other | About::Columns | About::UnusedModel(_) | About::CaseChannel => {}
        }
    }

    /// Whether a finding follows from one of these.
    fn explain(&self, follow_ons: &[FollowOn], found: &Diagnostic, sources: &Sources) -> bool {
        let of_code = |(codes, _, _): &&FollowOn| codes.is_empty() || codes.contains(&found.code);
        let mut rows = follow_ons.iter().filter(of_code).filter(|(_, holds, _)| holds(found, sources.text(found.span)));
        rows.any(|(_, _, causes)| causes.iter().any(|cause| self.has(cause, found, sources)))
    }

    fn has(&self, cause: &Cause, found: &Diagnostic, sources: &Sources) -> bool {
        match cause {
            Found(codes) => codes.iter().any(|code| self.codes.contains(code)),
            Near(below, codes) => {
                let line = sources.start(found.span).line.saturating_add_signed((*below).into());
                codes.iter().any(|code| self.lines.contains(&(*code, found.span.file, line)))
            }
            Value(codes, keys) => keys.iter().filter_map(|key| self.values.get(*key)).flatten().any(|code| codes.contains(code)),
            Missing(key) => self.missing.contains(key),
            HiddenSection => self.has_hidden_section,
            CutOff => self.is_cut,
            AnyError => !self.wrong.is_empty(),
            ErrorInFile => self.wrong.contains(&found.span.file),
            ErrorIn(folder) => self.wrong_folders.contains(*folder),
            OneOf(causes) => causes.iter().any(|cause| self.has(cause, found, sources)),
        }
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

/// Findings that one habit makes on one line become one: the places and the help of all are kept. It stays a pass: it withholds nothing, and what is one
/// habit is known only when all files are read.
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
