//! F220: a name that is always empty, since the file has not the section that fills it, the person not the field, or a file that is read not what is asked of it.

use std::collections::HashMap;

use super::one_conversation::{conversation_line, person_line};
use crate::model::{Filling, Form, PersonSource, Pipeline, Read, ReadKind, ReadStep, Step, StepKind, Text};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, quoted};
use crate::rules::support::giving::{output_of, sole_output};
use crate::rules::support::style_guides::style_guide_help;
use crate::source::Span;

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    // What its file has, the run fills for an agent that others ask, too.
    if file.asked.is_some() {
        return;
    }
    let sections = [
        ("person", file.person.is_none(), "person", String::new()),
        ("channel", !file.lists_channels, "channels", "add channels: [email], or the ones that replies leave by".to_owned()),
        ("style", file.style_guide_at.is_none(), "style_guide", style_guide_help(file)),
        (
            "conversation",
            file.conversation.is_none(),
            "conversation",
            format!("add {} to the head of the file; only flow chat fills it without one", conversation_line(file)),
        ),
    ];
    refinement(names, texts, out);
    person_fields(names, texts, out);
    fields_of_files(names, texts, out);
    for (root, _, section, help) in sections.into_iter().filter(|(_, is_absent, ..)| *is_absent) {
        let mut places = reads(names, texts, file.name.span, root);
        let Some((first, field)) = places.next() else { continue };
        let help = match root {
            "person" => format!("add {} to the head of the file, or read an input", person_line(file, field.unwrap_or("id"))),
            _ => help,
        };
        let message = format!("\"{root}\" is always empty: the file has no {section}");
        let mut found = found(first, message).help(help);
        found.related.push((file.name.span, format!("{section} stands below this line")));
        found.related.extend(places.take(3).map(|(span, _)| (span, "and here".to_owned())));
        out.push(found);
    }
}

/// Fields of a person, besides the id.
const PERSON_FIELDS: [&str; 5] = ["name", "email", "phone", "language", "time_zone"];

/// Whether the person of a file may have a field.
pub(in crate::rules) fn is_person_field_given(file: &Pipeline, field: &str) -> bool {
    match file.person.as_ref().map(|person| &person.from) {
        None | Some(PersonSource::Nothing) => false,
        Some(PersonSource::Fields(fields)) => fields.iter().any(|(name, _)| name.value == field),
        Some(PersonSource::Table(table)) => {
            let header = file.data.get(&table.value).and_then(|data| data.header.as_ref());
            header.is_none_or(|header| header.iter().any(|name| name == field))
        }
    }
}

/// A field of the person that nothing gives, in a file that has a person.
fn person_fields(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let Some(person) = &file.person else { return };
    for field in PERSON_FIELDS.into_iter().filter(|field| !is_person_field_given(file, field)) {
        let mut places = reads(names, texts, file.name.span, "person").filter(|(_, read)| *read == Some(field));
        let Some((first, _)) = places.next() else { continue };
        let (lacks, help) = match &person.from {
            PersonSource::Table(table) => {
                let header = file.data.get(&table.value).and_then(|data| data.header.as_ref());
                let near = header.and_then(|header| header.iter().find(|name| name.to_lowercase().contains(field)));
                let help = match near {
                    Some(near) => format!("rename column {near} of table {} to {field}, or read an input", table.value),
                    None => format!("add a column {field} to table {}, or read an input", table.value),
                };
                (format!("table {} has no column {field}", quoted(&table.value)), help)
            }
            PersonSource::Nothing | PersonSource::Fields(_) => {
                let has_input = file.input_fields().iter().any(|input| input.name == *field);
                let with = if has_input { String::new() } else { format!(", with an input {field}: text") };
                let help = format!("add {field}: \"{{{{ inputs.{field} }}}}\" to person{with}, or do not read it");
                (format!("person of the file has no {field}"), help)
            }
        };
        let mut found = found(first, format!("\"person.{field}\" is always empty: {lacks}")).help(help);
        found.related.extend(places.take(3).map(|(span, _)| (span, "and here".to_owned())));
        out.push(found);
    }
}

/// Fields of a file that a `read` step gives, of which the others are empty for each kind of file.
const FILE_FIELDS: [&str; 10] =
    ["text", "tables", "pages", "page_count", "image_count", "text_length", "longest_page", "median_page", "width", "height"];

/// Endings of files that are read as text.
const TEXT_ENDINGS: [&str; 9] = ["txt", "md", "markdown", "log", "json", "yaml", "yml", "html", "xml"];

/// A field that a file of this kind does not fill, where the `read` step has the path written out.
fn fields_of_files(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let own = names.pipeline.pipeline.name.span.file;
    let mut files = HashMap::new();
    for planned in &names.pipeline.steps {
        let is_first = files.insert(planned.step.id.value.as_str(), file_of(&planned.step)).is_none();
        if !is_first {
            files.insert(&planned.step.id.value, None);
        }
    }
    for placed in texts.all.iter().filter(|placed| placed.text.place.span.file == own) {
        let of_files = || {
            placed.text.reads.iter().filter_map(|read| {
                let (id, [field, ..]) = output_of(read)? else { return None };
                let (path, kind) = files.get(id).copied().flatten()?;
                Some((read, id, field.as_str(), path, kind))
            })
        };
        // A text that takes whatever a file has may read all fields.
        let takes_any = |of: &str| of_files().any(|(_, id, field, _, kind)| id == of && kind.fields().contains(&field));
        let empty = |(read, id, field, _, kind): &(&Read, &str, &str, &str, ReadKind)| {
            !read.is_guarded && FILE_FIELDS.contains(field) && !kind.fields().contains(field) && !takes_any(id)
        };
        let Some((read, id, field, path, kind)) = of_files().find(empty) else { continue };
        let (what, help) = match kind {
            ReadKind::Table(_) if field == "text" => {
                ("a table", format!("read steps.{id}.output.tables[0].sample_markdown, or add type: text to step {}", quoted(id)))
            }
            ReadKind::Table(_) => ("a table", format!("read steps.{id}.output.tables")),
            ReadKind::Text => ("a text file", format!("read steps.{id}.output.text")),
            ReadKind::Pdf | ReadKind::Word => ("a document", format!("read steps.{id}.output.text or pages")),
            ReadKind::Picture => ("a picture", format!("show it to an agent with attach: steps.{id}.output, or read its width and height")),
        };
        let message = format!("\"steps.{id}.output.{field}\" is always empty: {} is {what}", quoted(path));
        out.push(found(read.span, message).help(help));
    }
}

/// The one file that a step reads, and what it is, as far as its name says so.
fn file_of(step: &Step) -> Option<(&str, ReadKind)> {
    let StepKind::Read(ReadStep { paths, kind }) = &step.kind else { return None };
    let path = match paths {
        Filling::Text(path) if path.form == Form::Plain => &*path.source,
        Filling::Constant(path) => path.as_str()?,
        Filling::Text(_) | Filling::List(_) | Filling::Map(_) => return None,
    };
    let by_name = || {
        let ending = path.rsplit_once('.')?.1;
        ReadKind::of_ending(ending).or_else(|| TEXT_ENDINGS.contains(&ending).then_some(ReadKind::Text))
    };
    let kind = match kind.as_ref().map(|kind| kind.value.as_str()) {
        None => by_name()?,
        Some("text") => ReadKind::Text,
        // What else is asked for still goes by the file.
        Some(_) => return None,
    };
    step.for_each.is_none().then_some((path, kind))
}

fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::AbsentSection, span, message)
}

/// `refinement`, where no gate has a second try.
fn refinement<'a>(names: &'a PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let own = names.pipeline.pipeline.name.span.file;
    let gate_of = |step: &'a Step| if let StepKind::Gate(gate) = &step.kind { Some((step, gate)) } else { None };
    let gates = || names.pipeline.steps.iter().filter_map(|planned| gate_of(&planned.step));
    if gates().any(|(_, gate)| gate.refine.is_some()) {
        return;
    }
    let reads =
        |text: &Text| text.reads.iter().find(|read| read.path.first().is_some_and(|root| root == "refinement")).map(|read| read.span);
    let mut places = texts.all.iter().filter(|placed| placed.text.place.span.file == own).filter_map(|placed| reads(placed.text));
    let Some(first) = places.next() else { return };
    // The agent whose answer a gate of the same list judges is most likely to try again.
    let writer = gates().find_map(|(step, gate)| Some((step, sole_output(&gate.of)?.0)));
    let help = match writer {
        Some((gate, writer)) => format!("add refine: {writer} to gate {}, or do not read refinement", quoted(&gate.id.value)),
        None => "add a gate with refine: and the id of the step that is to try again, or do not read refinement".to_owned(),
    };
    let mut found = found(first, "\"refinement\" is always empty: no gate of the file has refine".to_owned()).help(help);
    found.related.extend(places.take(3).map(|span| (span, "and here".to_owned())));
    out.push(found);
}

/// Where texts of the file itself read below a root, but for those that ask whether something is there, and what is reported for itself.
fn reads<'a>(names: &'a PipelineNames, texts: &'a Texts, own: Span, root: &'a str) -> impl Iterator<Item = (Span, Option<&'a str>)> + 'a {
    let of_file = texts.all.iter().filter(move |placed| placed.text.place.span.file == own.file);
    let reads = of_file.flat_map(|placed| placed.text.reads.iter().map(|read| (placed.seat, read)));
    let reads = reads.filter(move |(_, read)| !read.is_guarded && read.path.first().is_some_and(|name| name == root));
    reads
        .filter(|(seat, read)| names.path(&texts.seats[*seat], &read.path).is_ok())
        .map(|(_, read)| (read.span, read.path.get(1).map(String::as_str)))
}
