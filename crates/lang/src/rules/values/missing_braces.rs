//! F218: a whole text that is the name of a value without braces around it: the name itself is used, and not the value.

use std::collections::HashSet;

use crate::model::{Form, Root, StepKind, Text, is_file_ending};
use crate::plan::PlannedStep;
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Seat, StepPart, Texts, Viewpoint, listed};
use crate::rules::support::problem::ReadProblem;
use crate::rules::support::seat::unbraced;
use crate::source::Span;
use crate::template;

/// Most endings of a text that are tried as a path.
const MOST_PARTS: usize = 8;

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let read = [Root::Inputs, Root::Steps].map(|root| {
        let names = texts.reads(root.word()).filter_map(|read| read.path.get(1).map(String::as_str));
        (root, names.collect::<HashSet<&str>>())
    });
    let own_code =
        |planned: &PlannedStep| if let StepKind::Python(step) = &planned.step.kind { Some(step.run.code.place.span) } else { None };
    let code: Vec<Span> = names.pipeline.steps.iter().filter_map(own_code).collect();
    // A text that writes a value under its own path, as in `inputs.message: {{ inputs.message }}`, makes the path a name that others may use.
    let filled = texts.all.iter().filter(|placed| placed.text.form == Form::Template);
    let outside = filled.flat_map(|placed| placed.text.source.split("}}")).filter_map(|part| part.split("{{").next());
    let labels: Vec<&str> = outside.filter(|part| template::holds_a_name(part)).collect();
    for placed in &texts.all {
        let Some(seat) = texts.seats.get(placed.seat).filter(|seat| !seat.is_for_others()) else { continue };
        out.extend(named(names, seat, placed.text).map(|meant| report(placed.text, meant)));
        let is_read = |root: Root, name: &str| read.iter().any(|(of, names)| *of == root && names.contains(name));
        inside(names, seat, placed.text, &is_read, (&code, &labels), out);
    }
}

/// The names of values in a longer text: each was meant to be filled in. In the languages of others a name that something reads may be one of theirs.
fn inside(
    names: &PipelineNames,
    seat: &Seat,
    text: &Text,
    is_read: &dyn Fn(Root, &str) -> bool,
    (code, labels): (&[Span], &[&str]),
    out: &mut Vec<Diagnostic>,
) {
    // Of what has braces the reading of templates has told.
    if template::is_like_a_name(text) || ["{{", "}}", "{%"].iter().any(|braces| text.source.contains(braces)) {
        return;
    }
    let is_of_others = match seat.at {
        Viewpoint::Step(ix, StepPart::Work) => {
            matches!(names.step(ix).kind, StepKind::Python(_) | StepKind::Sql(_) | StepKind::Program(_))
        }
        Viewpoint::Step(..) | Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation | Viewpoint::Shared { .. } => false,
    };
    for (at, root, name) in Root::slips().flat_map(|root| unbraced(text, root.word()).map(move |(at, name)| (at, root, name))) {
        let before = text.source[..at].trim_end_matches(['$', '=']);
        // F214 tells those in single braces.
        if name.is_empty()
            || !template::begins_name(before)
            || is_of_others && (!matches!(root, Root::Inputs | Root::Steps) || is_read(root, name))
        {
            continue;
        }
        let rest = &text.source[at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.')).unwrap_or(rest.len());
        let Some((path, value)) = value(names, seat, root, name, rest[..end].trim_end_matches('.')) else { continue };
        if labels.iter().any(|label| label.contains(path)) {
            continue;
        }
        let wanted = format!("{{{{ {value} }}}}");
        let span = text.place.inside(before.len(), at + path.len());
        let named = &text.source[before.len()..at + path.len()];
        if code.contains(&text.place.span) {
            let message = format!("\"{named}\" is no name of the code, which knows only what with gives it");
            let help = format!("write {name} in its place, and add with: {{ {name}: \"{wanted}\" }} to the step");
            out.push(Diagnostic { message, ..new_finding(span, named) }.help(help));
            continue;
        }
        let found = new_finding(span, named);
        // Without quotes YAML may read the braces as its own, but not in a text of several lines.
        let begins_bare = text.place.offsets.first().is_some_and(|(_, file)| *file == text.place.span.start);
        let is_bare = begins_bare && !text.source.contains('\n');
        out.push(match text.place.offsets.is_empty() || is_bare {
            true => found.help(format!("write {wanted} in its place, and the whole text in quotes")),
            false => found.help(format!("write {wanted}")).proposed_fix(vec![(span, wanted)]),
        });
    }
}

/// What of a path in a text is one, and the value that is meant; `None`: there is no such value.
fn value<'t>(names: &PipelineNames, seat: &Seat, root: Root, name: &str, path: &'t str) -> Option<(&'t str, String)> {
    let file = &names.pipeline.pipeline;
    let is_at_step = matches!(seat.at, Viewpoint::Step(..));
    let is_known = match root {
        Root::Inputs => file.input_fields().iter().any(|field| field.name == name),
        Root::Steps => names.ids().any(|id| id == name),
        Root::Item => is_at_step && name.starts_with(char::is_alphabetic),
        Root::Person => file.person.is_some(),
        Root::Conversation => file.conversation.is_some(),
        Root::Env => seat.more.secrets && name.len() > 1 && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'),
        _ => true,
    };
    if !is_known {
        return None;
    }
    let split = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<String>>();
    // A sentence that begins behind the name without a blank is no part of it.
    let mut whole = path;
    for _ in 0..MOST_PARTS {
        let parts = split(whole);
        match names.path(seat, &parts) {
            Err(ReadProblem::UnknownField { .. }) if parts.len() > 2 => whole = whole.rsplit_once('.')?.0,
            Err(ReadProblem::UnknownField { .. }) if root == Root::Item => {
                let element = names.path(seat, &parts[..1]).ok()?;
                return element.is_text().then(|| (whole, "item".to_owned()));
            }
            Err(_) if !matches!(root, Root::Inputs | Root::Steps) => return None,
            Ok(_) | Err(_) => break,
        }
    }
    let is_step = matches!(root, Root::Steps | Root::Previous) && whole.matches('.').count() == 1;
    Some((whole, if is_step { format!("{whole}.output") } else { whole.to_owned() }))
}

/// What to write in place of a name.
enum Meant {
    /// This expression, in braces.
    Path(String),
    /// What the help says: nothing has this name as it is written.
    Help(String),
}

/// The value that a plain text names: one that can be read there, perhaps with a slip, or one that a step surely does not have.
fn named(names: &PipelineNames, seat: &Seat, text: &Text) -> Option<Meant> {
    if text.form != Form::Plain || !template::is_like_a_name(text) {
        return None;
    }
    let source = text.source.trim();
    let source = source.strip_prefix(['$', '=']).unwrap_or(source);
    // `input.message`, `sort.output`
    let with_root = meant_root(names, seat, source);
    let source = with_root.as_deref().unwrap_or(source);
    let root = source.split_once('.')?.0;
    // F600 reports those.
    let file = &names.pipeline.pipeline;
    // `style.css` is a file where there is no style guide.
    let is_absent = match Root::parse(root) {
        Some(Root::Secrets) => true,
        Some(Root::Style) => file.style_guide.is_none(),
        Some(Root::Channel) => file.channels.is_empty(),
        Some(Root::Conversation) => file.conversation.is_none(),
        _ => false,
    };
    if is_absent {
        return None;
    }
    if !root.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') || !names.known(seat).contains(&root) {
        return None;
    }
    let mut wrong = vec![];
    let read = template::expression(source, text.place.clone(), &mut wrong);
    let [path] = read.reads.as_slice() else { return None };
    let is_whole = wrong.is_empty() && source.starts_with(root) && path.path.len() > 1;
    if !is_whole {
        return None;
    }
    // A step alone is no value: its output is meant.
    let of_step = |path: &str| {
        let is_step = matches!(root, "steps" | "previous") && path.matches('.').count() == 1 && !path.contains('|');
        if is_step { format!("{path}.output") } else { path.to_owned() }
    };
    let [_, name, below @ ..] = path.path.as_slice() else { return None };
    let (wrong, near) = match names.path(seat, &path.path) {
        Ok(_) | Err(ReadProblem::MaybeMissing(_) | ReadProblem::NotUpstream { .. }) => return Some(Meant::Path(of_step(source))),
        Err(_) if with_root.is_some() => return None,
        // `inputs.csv` is a file.
        Err(_) if below.is_empty() && is_file_ending(name) => return None,
        Err(ReadProblem::UnknownStep(id)) => {
            let near = names.hints.nearest(&id, names.ids()).first().map(|near| (*near).to_owned());
            (id, near)
        }
        Err(ReadProblem::UnknownField { field, known, .. }) => {
            let near = names.hints.nearest(&field, known.names()).first().map(|near| (*near).to_owned());
            (field, near)
        }
        Err(ReadProblem::NoOutputFields(_)) => (below.get(1)?.clone(), None),
        Err(ReadProblem::UnknownName(_) | ReadProblem::WrongPlace(..) | ReadProblem::BesideOutputs(..) | ReadProblem::NoRounds(_)) => {
            return None;
        }
    };
    let Some(near) = near else {
        if let Some(help) = of_no_step(names, seat, &path.path, &wrong) {
            return Some(Meant::Help(help));
        }
        // What a `set` step gives may be any text.
        let is_data = matches!(seat.at, Viewpoint::Step(ix, _) if matches!(names.step(ix).kind, StepKind::Set(_)));
        let is_input = root == "inputs" && below.is_empty() && !is_data;
        return is_input.then(|| Meant::Help(format!("write \"{{{{ {source} }}}}\", and add {name}: text under inputs")));
    };
    let parts: Vec<String> = path.path.iter().map(|part| if *part == wrong { near.clone() } else { part.clone() }).collect();
    let is_there = matches!(names.path(seat, &parts), Ok(_) | Err(ReadProblem::MaybeMissing(_)));
    is_there.then(|| Meant::Path(of_step(&parts.join("."))))
}

/// What can be read of a step.
const OF_STEP: [&str; 4] = ["output", "status", "error", "details"];

/// The path with the root that is meant: `inputs` for `input`, `steps` before the id of a step.
fn meant_root(names: &PipelineNames, seat: &Seat, source: &str) -> Option<String> {
    let (root, rest) = source.split_once('.')?;
    if names.known(seat).contains(&root) {
        return None;
    }
    let of_step = |rest: &str| OF_STEP.contains(&rest.split('.').next().unwrap_or_default());
    match root {
        "input" => Some(format!("inputs.{rest}")),
        "step" => Some(format!("steps.{rest}")),
        id if of_step(rest) && names.has_step(id) => Some(format!("steps.{source}")),
        _ => None,
    }
}

/// What to write for the output, the status and so on of a step that is not there, or does not have what is named.
fn of_no_step(names: &PipelineNames, seat: &Seat, path: &[String], wrong: &str) -> Option<String> {
    let [root, id, part, ..] = path else { return None };
    if root != "steps" || !OF_STEP.contains(&part.as_str()) {
        return None;
    }
    if id == wrong {
        return Some(format!("write \"{{{{ steps.ID.{part} }}}}\" with the id of a step: {}", listed(names.ids())));
    }
    let place = path.iter().rposition(|part| part == wrong)?;
    let known = path.get(..place)?;
    names.path(seat, known).ok()?;
    let is_place = |part: &String| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = known.iter().skip(1).map(|part| if is_place(part) { format!("[{part}]") } else { format!(".{part}") });
    Some(format!("write \"{{{{ {root}{} }}}}\": it has no \"{wrong}\"", parts.collect::<String>()))
}

fn new_finding(span: Span, name: &str) -> Diagnostic {
    Diagnostic::new(Code::MissingBraces, span, format!("\"{name}\" is only text here; a value is written in two braces"))
}

fn report(text: &Text, meant: Meant) -> Diagnostic {
    let span = text.place.span;
    let found = new_finding(span, text.source.trim());
    let name = match meant {
        Meant::Path(name) => name,
        Meant::Help(help) => return found.help(help),
    };
    let wanted = format!("{{{{ {name} }}}}");
    // Within quotes and in block texts the name alone is replaced.
    let is_bare = text.place.offsets.first().is_some_and(|(_, file)| *file == span.start);
    let found = found.help(format!("write \"{wanted}\""));
    match text.place.offsets.is_empty() {
        true => found,
        false if is_bare => found.proposed_fix(vec![(span, format!("\"{wanted}\""))]),
        false => {
            let (from, to) = (text.source.len() - text.source.trim_start().len(), text.source.trim_end().len());
            found.proposed_fix(vec![(text.place.inside(from, to), wanted)])
        }
    }
}
