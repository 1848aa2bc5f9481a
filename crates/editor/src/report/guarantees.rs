//! `flow explain --guarantees FILE`: guarantees that hold for every run of each pipeline, that hold on a condition, or that are broken.

use serde_json::{Value, json};
use strum::VariantArray;

use super::escape::json_text;
use super::json::at;
use crate::diagnostic::visible;
use crate::model::{Guarantee, PipelineId};
use crate::plan::{PipelinePlan, Plan};
use crate::rules::guarantees::{Exception, GuaranteeVerdict, of};
use crate::source::{Sources, Span};

/// Changes when a field changes its meaning or is removed; new fields may be added at any time.
const VERSION: u32 = 1;
/// Maximum number of reasons listed for a guarantee that holds.
const MOST_REASONS: usize = 12;

/// Formats the guarantees of each pipeline of a plan, followed by those of called pipelines, for people.
pub fn guarantees(plan: &Plan, sources: &Sources) -> String {
    let mut out = String::new();
    for (at, planned) in of_files(plan) {
        let name = visible(&planned.pipeline.name.value);
        let gap = if at == 0 { "" } else { "\n" };
        out.push_str(&format!("{gap}{name}\n{}\n", "=".repeat(name.chars().count())));
        for guarantee in Guarantee::VARIANTS {
            let verdict = of(plan, PipelineId(at), *guarantee);
            out.push_str(&format!("\n{}: {}\n  {}\n", guarantee.word(), verdict.words(), guarantee.sentence()));
            match verdict {
                GuaranteeVerdict::Holds(reasons) => {
                    reasons.iter().take(MOST_REASONS).for_each(|reason| out.push_str(&format!("  - {}\n", visible(reason))));
                    if let Some(more) = reasons.len().checked_sub(MOST_REASONS).filter(|more| *more > 0) {
                        out.push_str(&format!("  - and {more} more\n"));
                    }
                }
                GuaranteeVerdict::HoldsIf(exceptions) | GuaranteeVerdict::Broken(exceptions) => {
                    exceptions.iter().for_each(|exception| push_exception(sources, exception, &mut out));
                }
            }
        }
    }
    out
}

/// Returns the pipelines of a file. Agents that other agents call belong to the run of their file.
fn of_files(plan: &Plan) -> impl Iterator<Item = (usize, &PipelinePlan)> {
    plan.pipelines.iter().enumerate().filter(|(_, planned)| planned.pipeline.asked.is_none())
}

fn push_exception(sources: &Sources, exception: &Exception, out: &mut String) {
    out.push_str(&format!("  - {}\n    at {}\n", visible(&exception.message), place(sources, exception.span)));
    for (span, words) in &exception.way {
        out.push_str(&format!("      {}: {}\n", place(sources, *span), visible(words)));
    }
    out.push_str(&format!("    help: {}\n", visible(&exception.help)));
}

/// Formats a place as `file:line:column`.
fn place(sources: &Sources, span: Span) -> String {
    let at = sources.start(span);
    format!("{}:{}:{}", visible(&sources.file(span.file).name), at.line, at.column)
}

/// Formats the guarantees as one JSON object: `version`, and for each pipeline `name` and `guarantees`, each with `name`, `sentence`,
/// `verdict` (`holds`, `holds_if`, `broken`), `because` and `exceptions`.
pub fn guarantees_json(plan: &Plan, sources: &Sources) -> String {
    let pipelines = of_files(plan).map(|(at, planned)| {
        let list = Guarantee::VARIANTS.iter().map(|guarantee| {
            let (word, because, exceptions) = match of(plan, PipelineId(at), *guarantee) {
                GuaranteeVerdict::Holds(reasons) => ("holds", reasons, vec![]),
                GuaranteeVerdict::HoldsIf(exceptions) => ("holds_if", vec![], exceptions),
                GuaranteeVerdict::Broken(exceptions) => ("broken", vec![], exceptions),
            };
            let exceptions: Vec<Value> = exceptions.iter().map(|exception| exception_json(sources, exception)).collect();
            json!({
                "name": guarantee.word(),
                "sentence": guarantee.sentence(),
                "verdict": word,
                "because": because,
                "exceptions": exceptions,
            })
        });
        json!({ "name": planned.pipeline.name.value, "guarantees": list.collect::<Vec<_>>() })
    });
    json_text(&json!({ "version": VERSION, "pipelines": pipelines.collect::<Vec<_>>() }), false) + "\n"
}

fn exception_json(sources: &Sources, exception: &Exception) -> Value {
    let way = exception.way.iter().map(|(span, words)| at(sources, *span, json!({ "words": words })));
    let more = json!({ "message": exception.message, "way": way.collect::<Vec<_>>(), "help": exception.help });
    at(sources, exception.span, more)
}
