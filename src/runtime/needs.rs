//! What a run needs of models and of this machine: known prices, an SQL engine; and whether models are real.

use super::RunError;
use crate::adapter::data::check_engines;
use crate::check::Checked;
use crate::event::Failure;
use crate::model::{DEFAULT_MODEL, Limits, Model, Program, Provider, StepKind};
use crate::plan::PipelinePlan;

/// A bound on money needs the price of every model that may be asked, also of the pipelines that are called.
pub(crate) fn know_prices(checked: &Checked, default_model: Option<&Model>, limits: &Limits) -> Result<(), RunError> {
    let program = &checked.loaded.program;
    let has_bound = program.pipelines.iter().any(|pipeline| pipeline.bounds().max_cost_usd.is_some());
    if limits.max_cost_usd.is_none() && !has_bound {
        return Ok(());
    }
    let unpriced = models(program, default_model.is_some()).filter(|(_, model)| model.price.is_none() && !is_file(model));
    let replaced = default_model.map(|_| "default (from FLOW_MODEL)");
    match unpriced.map(|(name, _)| name).chain(replaced).next() {
        Some(name) => Err(RunError::usage(format!("a bound on money cannot be held: model {name} has no price"))),
        None => Ok(()),
    }
}

/// Whether any model that may be asked is scripted.
pub(crate) fn is_scripted(program: &Program, default_replaced: bool) -> bool {
    models(program, default_replaced).any(|(_, model)| is_file(model))
}

/// The models of all files, without `default` where a variable stands for it.
fn models(program: &Program, default_replaced: bool) -> impl Iterator<Item = (&str, &Model)> {
    let all = program.pipelines.iter().flat_map(|pipeline| &pipeline.models);
    all.map(|(name, model)| (name.as_str(), model)).filter(move |(name, _)| !(default_replaced && *name == DEFAULT_MODEL))
}

/// Answers come from a file: nothing is asked.
pub(crate) fn is_file(model: &Model) -> bool {
    matches!(model.provider, Provider::Scripted(_) | Provider::Replay(_))
}

/// What this machine lacks for a run, which would end therefore.
pub(crate) fn lacking(checked: &Checked) -> Option<Failure> {
    let of_one = |plan: &PipelinePlan| {
        let queries = plan.steps.iter().filter_map(|planned| {
            let StepKind::Sql(sql) = &planned.step.kind else { return None };
            Some(&*sql.query.source)
        });
        check_engines(&plan.pipeline.data, queries).err()
    };
    checked.plan.pipelines.iter().find_map(of_one)
}
