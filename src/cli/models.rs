//! Models of a run: may they be asked within its bounds, and are they real?

use std::sync::Arc;

use super::run::Refusal;
use crate::check::Checked;
use crate::model::{Limits, Model, Pipeline, Provider};

/// A bound on money needs the price of every model that may be asked.
pub(super) fn know_prices(
    checked: &Checked,
    default_model: Option<&Model>,
    of_settings: Option<&Model>,
    limits: &Limits,
) -> Result<(), Refusal> {
    let pipelines = &checked.loaded.program.pipelines;
    let has_bound = |pipeline: &Arc<Pipeline>| pipeline.bounds().max_cost_usd.is_some();
    if limits.max_cost_usd.is_none() && !pipelines.iter().any(has_bound) {
        return Ok(());
    }
    let own = pipelines.first().into_iter().flat_map(|pipeline| &pipeline.models);
    let own = own.filter(|(name, _)| default_model.is_none() || *name != "default");
    let unpriced = own.filter(|(_, model)| is_unpriced(model));
    let replaced = default_model.map(|_| "default (from FLOW_MODEL)");
    let has_own = pipelines.first().is_some_and(|pipeline| pipeline.models.contains_key("default"));
    let is_asked = replaced.is_none() && !has_own;
    let of_settings = of_settings.filter(|model| is_asked && is_unpriced(model)).map(|_| "default (from the settings)");
    match unpriced.map(|(name, _)| name.as_str()).chain(replaced).chain(of_settings).next() {
        Some(name) => Err(Refusal::usage(format!("a bound on money cannot be held: model {name} has no price"))),
        None => Ok(()),
    }
}

fn is_unpriced(model: &Model) -> bool {
    model.price.is_none() && !matches!(model.provider, Provider::Scripted(_) | Provider::Replay(_))
}

/// Whether any model that may be asked is scripted.
pub(super) fn is_scripted(pipeline: &Pipeline, default_replaced: bool, of_settings: Option<&Model>) -> bool {
    let own = pipeline.models.iter().filter(|(name, _)| !(default_replaced && *name == "default")).map(|(_, model)| model);
    let of_settings = of_settings.filter(|_| !default_replaced && !pipeline.models.contains_key("default"));
    own.chain(of_settings).any(|model| matches!(model.provider, Provider::Scripted(_) | Provider::Replay(_)))
}
