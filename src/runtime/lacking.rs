//! What this machine lacks for a run.

use std::sync::Arc;

use serde_json::json;

use crate::adapter::data::check_engines;
use crate::check::Checked;
use crate::event::{RunEnd, RunStatus, StepFailure, StepPath, Usage};
use crate::model::StepKind;
use crate::plan::PipelinePlan;

/// The end of a run that does not start, since this machine lacks something for it.
pub(crate) fn lacking(checked: &Checked) -> Option<RunEnd> {
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
