//! F105: an output that nothing reads.

use crate::model::{Form, Provider, SUMMARY_STEP, StepKind};
use crate::plan::{Edge, PlannedStep};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, PlacedText, StepPart, Texts, Viewpoint};
use crate::rules::support::names::is_place;
use crate::source::Span;

/// Most texts that are looked through for the place where unused outputs were to be read.
const MOST_SEARCHED: usize = 10_000;

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let (Some(read), Some(in_next_round)) = (texts.read_below("steps"), texts.read_below("previous")) else { return };
    let has_sql = names.pipeline.steps.iter().any(|planned| matches!(planned.step.kind, StepKind::Sql(_)));
    let mut left = MOST_SEARCHED;
    for planned in &names.pipeline.steps {
        let step = &planned.step;
        let block = names.pipeline.block(planned.block);
        let is_last = planned.place + 1 == block.len();
        let stands_in = block.needs(planned.place).iter().any(|(_, edge)| *edge == Edge::Failure);
        // The engine reads it.
        let is_summary = step.id.value == SUMMARY_STEP;
        let only_computes = if let StepKind::Agent(agent) = &step.kind {
            only_answers(names, &agent.agent.value)
        } else {
            step.kind.facts().only_computes && !(has_sql && matches!(step.kind, StepKind::Read(_)))
        };
        let id = step.id.value.as_str();
        let is_read = || read.contains(id) || in_next_round.contains(id) || is_read_outside(names, texts, planned);
        if only_computes && stands_in && !is_read() {
            unread_stand_in(names, texts, planned, out);
        }
        // What stands beside the outputs gives its last result to nobody.
        let is_beside = [names.pipeline.on_failure, names.pipeline.finally].contains(&Some(planned.block));
        if is_last && is_beside && matches!(step.kind, StepKind::Format(_)) && !is_read() {
            let message = format!("the text that \"{}\" formats is sent to nobody", step.id.value);
            let help = format!("add a step {{ id: send_{0}, send: stdout, of: steps.{0}.output }} below it", step.id.value);
            out.push(found(step.kind_span, message).help(help));
        }
        if only_computes && !is_last && !stands_in && !is_summary && !is_read() {
            let message = format!("the output of \"{}\" is never used", step.id.value);
            left = left.saturating_sub(texts.all.len());
            out.push(match Some(planned).filter(|_| left > 0).and_then(|planned| meant_reader(names, texts, planned)) {
                Some(MeantReader { span, cause: Some(cause), help, .. }) => {
                    found(span, format!("{cause}: {message}")).related(step.id.span, "its output").help(help)
                }
                Some(MeantReader { span, label, cause: None, help }) => found(step.id.span, message).related(span, label).help(help),
                None => found(step.id.span, message)
                    .help(format!("read steps.{}.output in a later step or in outputs, or remove the step", step.id.value)),
            });
        }
    }
}

/// Whether what a step in a group or a `repeat` gives is read as a part of what that gives.
fn is_read_outside(names: &PipelineNames, texts: &Texts, planned: &PlannedStep) -> bool {
    let holder = names.pipeline.owner(planned.block).map(|ix| names.step(ix));
    let Some(group) = holder.filter(|holder| matches!(holder.kind, StepKind::Group(_) | StepKind::Repeat(_))) else { return false };
    let (group, id) = (&group.id.value, &planned.step.id.value);
    let mut reads = texts.all.iter().flat_map(|placed| &placed.text.reads);
    reads.any(|read| match read.path.as_slice() {
        [steps, holder, output, rest @ ..] if steps == "steps" && holder == group && output == "output" => {
            rest.iter().find(|part| !is_place(part)).is_none_or(|part| part == id)
        }
        [steps, holder] => steps == "steps" && holder == group,
        _ => false,
    })
}

/// Where an output was meant to be read.
struct MeantReader {
    span: Span,
    /// What is to be written there.
    label: String,
    /// What is wrong there, if that is known: then the place is the finding's.
    cause: Option<String>,
    help: String,
}

/// Where a step below was most likely to read an output: where it reads what the step was given itself, or else its text without any value, or the
/// prompt of the next agent.
fn meant_reader(names: &PipelineNames, texts: &Texts, planned: &PlannedStep) -> Option<MeantReader> {
    let id = &planned.step.id.value;
    let own = |placed: &PlacedText| match texts.seats.get(placed.seat)?.at {
        Viewpoint::Step(ix, StepPart::Work) => Some(names.pipeline.step(ix)),
        _ => None,
    };
    let below = |other: &PlannedStep| other.block == planned.block && other.place > planned.place;
    let of_this: Vec<String> = texts
        .all
        .iter()
        .filter(|placed| own(placed).is_some_and(|other| std::ptr::eq(other, planned)))
        .flat_map(|placed| placed.text.reads.iter().map(|read| read.path.join(".")))
        .collect();
    let later = || texts.all.iter().filter_map(|placed| Some((placed, own(placed)?))).filter(|(_, other)| below(other));
    let same = later()
        .flat_map(|(placed, _)| &placed.text.reads)
        .find(|read| read.path.first().is_some_and(|root| root == "steps") && of_this.contains(&read.path.join(".")));
    if let Some(read) = same {
        let path = read.path.join(".");
        let help = format!("write steps.{id}.output in place of {path}, or remove the step");
        return Some(MeantReader { span: read.span, label: format!("write steps.{id}.output here"), cause: None, help });
    }
    let kind = &planned.step.kind;
    let filter = if kind.facts().knowledge.is_some() {
        " | map(attribute='text') | join(' ')"
    } else if matches!(kind, StepKind::Sql(sql) if sql.one.is_none()) {
        " | table"
    } else {
        ""
    };
    let value = format!("{{{{ steps.{id}.output{filter} }}}}");
    let fills = |kind: &StepKind| matches!(kind, StepKind::Agent(_) | StepKind::Format(_) | StepKind::Set(_));
    let plain = later().find(|(placed, other)| fills(&other.step.kind) && placed.text.form == Form::Plain);
    let prompt =
        || later().find(|(placed, other)| matches!(&other.step.kind, StepKind::Agent(agent) if agent.prompt.source == placed.text.source));
    let (placed, other) = plain.or_else(prompt)?;
    let is_word = !placed.text.source.trim().contains(char::is_whitespace) && placed.text.form == Form::Plain;
    if matches!(other.step.kind, StepKind::Format(_)) && is_word {
        let word = placed.text.source.trim();
        let format = &other.step.id.value;
        let cause = format!("the text of \"{format}\" is only the word \"{word}\"");
        let help = format!("write format: \"{value}\" in step \"{format}\": format takes the text itself");
        return Some(MeantReader { span: placed.text.place.span, label: String::new(), cause: Some(cause), help });
    }
    let help = format!("add {value} to the text of step \"{}\", to outputs or to another step, or remove \"{id}\"", other.step.id.value);
    Some(MeantReader { span: placed.text.place.span, label: format!("add {value} at the end of this text"), cause: None, help })
}

fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnusedOutput, span, message)
}

/// What stands in for a step that failed, and is read nowhere: it changes nothing. Told where the failed step is read as if nothing stood in for it.
fn unread_stand_in(names: &PipelineNames, texts: &Texts, planned: &PlannedStep, out: &mut Vec<Diagnostic>) {
    let id = &planned.step.id.value;
    let of =
        names.pipeline.steps.iter().find(|other| other.block == planned.block && other.step.stand_ins().any(|(_, name)| name.value == *id));
    let Some(failing) = of.map(|failing| &failing.step.id.value) else { return };
    let reads = texts.all.iter().flat_map(|placed| &placed.text.reads);
    let read = reads.into_iter().find(|read| {
        read.is_guarded
            && matches!(read.path.as_slice(), [steps, step, output, ..] if steps == "steps" && step == failing && output == "output")
    });
    let Some(read) = read else { return };
    let message = format!("\"{id}\" stands in for \"{failing}\", and nothing reads what it gives");
    out.push(
        found(read.span, message)
            .related(planned.step.id.span, "the step that stands in")
            .help(format!("write steps.{failing}.output | default(steps.{id}.output | default(''))")),
    );
}

/// Whether an agent does nothing but answer: no tools, and no program behind it.
fn only_answers(names: &PipelineNames, agent: &str) -> bool {
    let file = &names.pipeline.pipeline;
    let Some(agent) = file.agents.get(agent) else { return false };
    let model = agent.model_name();
    agent.tools.is_empty() && file.models.get(model).is_none_or(|model| model.provider != Provider::Broken)
}
