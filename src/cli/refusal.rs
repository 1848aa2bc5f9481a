//! What stops a command before anything is started: mistakes in files, on the command line, and what this machine lacks.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::arguments::Shared;
use super::{Exit, tell};
use crate::adapter::data::check_engines;
use crate::check::Checked;
use crate::diagnostic::{Severity, visible};
use crate::event::{RunEnd, RunStatus, StepFailure, StepPath, Usage};
use crate::model::{Pipeline, StepKind};
use crate::plan::PipelinePlan;
use crate::port::StoreError;
use crate::report::{self, Findings};

/// What stops a run before it starts: its exit code and what to say.
pub(super) struct Refusal(pub(super) Exit, pub(super) Vec<String>);

impl Refusal {
    pub(super) fn usage(line: impl ToString) -> Refusal {
        Refusal(Exit::Usage, vec![line.to_string()])
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal(Exit::of_store(&error), vec![visible(&error.to_string()).into_owned()])
    }
}

/// Tells a refusal, and gives the exit code.
pub(super) fn told(result: Result<Exit, Refusal>) -> Exit {
    result.unwrap_or_else(|Refusal(exit, lines)| {
        for line in lines {
            tell::refused(&line);
        }
        exit
    })
}

/// The end of a run that does not start, since this machine lacks something for it.
pub(super) fn lacking(checked: &Checked) -> Option<RunEnd> {
    let of_one = |plan: &PipelinePlan| {
        let queries = plan.steps.iter().filter_map(|planned| {
            let StepKind::Sql(sql) = &planned.step.kind else { return None };
            Some(&*sql.query.source)
        });
        check_engines(&plan.pipeline.data, queries).err()
    };
    let failure = checked.plan.pipelines.iter().find_map(of_one)?;
    Some(RunEnd {
        status: RunStatus::Failed,
        outputs: Arc::new(json!({})),
        failure: Some(StepFailure { step: StepPath::default(), failure }),
        usage: Usage::default(),
    })
}

/// Errors stop the run before it starts; warnings become one line.
pub(super) fn report_findings(checked: &Checked, shared: &Shared) -> Result<(), Refusal> {
    let errors = checked.errors();
    let warnings = checked.diagnostics.iter().filter(|d| d.severity() == Severity::Warning).count();
    if !errors.is_empty() {
        let findings = Findings::new(&checked.loaded.sources, &errors);
        let text = report::human(&findings, super::validate::colour_on_stderr(shared));
        tell::drawn(&text);
        return Err(Refusal(Exit::Findings, vec![format!("nothing was started: {}", report::summary(&findings))]));
    }
    if shared.quiet {
        return Ok(());
    }
    for found in checked.missing_data() {
        let (file, at) = (checked.loaded.sources.file(found.span.file), checked.loaded.sources.start(found.span));
        tell_as_written!("{}:{}:{}: {} (steps that read it will fail)", file.name, at.line, at.column, found.message);
    }
    if warnings > 0 {
        let noun = if warnings == 1 { "warning" } else { "warnings" };
        tell!("{warnings} {noun}; see flow validate");
    }
    Ok(())
}

pub(super) fn channel(pipeline: &Pipeline, wanted: Option<&str>) -> Result<Option<String>, Refusal> {
    let names: Vec<&str> = pipeline.channels.iter().map(|c| c.name.as_str()).collect();
    match wanted {
        None => Ok(names.first().map(|n| n.to_string())),
        Some(name) if names.contains(&name) => Ok(Some(name.to_string())),
        Some(name) => {
            let near = crate::diagnostic::did_you_mean(name, names.iter().copied());
            let hint = near.or("; another one is a file in channels/ and its name in channels of the pipeline");
            let listed = if names.is_empty() { "it lists no channels".to_string() } else { format!("it lists: {}", names.join(", ")) };
            Err(Refusal::usage(format!("the pipeline has no channel \"{}\"; {listed}{hint}", visible(name))))
        }
    }
}

pub(super) fn time(text: &str) -> Result<DateTime<Utc>, Refusal> {
    chrono::DateTime::parse_from_rfc3339(text)
        .map(|t| t.with_timezone(&Utc))
        .map_err(|_| Refusal::usage(format!("--now {}: write a time such as 2026-11-18T09:00:00Z", visible(text))))
}
