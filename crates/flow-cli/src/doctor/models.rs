//! Known facts about the endpoints of a pipeline's models.

use std::collections::BTreeMap;

use crate::adapter::providers::family;
use crate::doctor::Examination;
use crate::model::{Addition, DEFAULT_MODEL, Model, Pipeline, Provider};
use crate::port::Secret;
use crate::runtime::world;
use flow_lang::plan::asks_default;

impl Examination {
    /// Reports the family of each endpoint, and the fields left out of requests to it.
    pub(super) fn endpoints(&mut self, pipeline: &Pipeline) {
        let of_variables = of_variables(&self.env);
        let is_asked = asks_default(pipeline);
        let default =
            of_variables.as_ref().or_else(|| self.settled.model.as_ref().filter(|_| !pipeline.models.contains_key(DEFAULT_MODEL)));
        let default = default.filter(|_| is_asked).map(|model| (DEFAULT_MODEL, model));
        let own = pipeline.models.iter().filter(|(name, _)| default.is_none() || *name != DEFAULT_MODEL);
        let models = default.into_iter().chain(own.map(|(name, model)| (name.as_str(), model)));
        let known: Vec<String> = models.filter_map(|(name, model)| Some(format!("model {name}: {}", known(model)?))).collect();
        known.into_iter().for_each(|what| self.sign("note", what));
    }
}

fn of_variables(env: &BTreeMap<String, Secret>) -> Option<Model> {
    world::default_model(env).ok().flatten()
}

/// Returns the known facts about the endpoint of a model.
fn known(model: &Model) -> Option<String> {
    let Provider::Service(service) = model.provider else { return None };
    let family = family(model.address()?, Some(service));
    let words = |omitted: &[Addition]| omitted.iter().map(<&str>::from).collect::<Vec<_>>().join(", ");
    let name = family.map(|family| format!("its endpoint is one of {}", family.name));
    let omitted = match (&model.endpoint.omit, family) {
        (Some(own), _) if own.is_empty() => Some("nothing is left out of requests (omit: [])".to_owned()),
        (Some(own), _) => Some(format!("omit leaves out {}", words(own))),
        (None, Some(family)) if !family.omit.is_empty() => Some(format!("requests leave out {} ({})", words(&family.omit), family.about)),
        (None, _) => None,
    };
    let said: Vec<String> = name.into_iter().chain(omitted).collect();
    (!said.is_empty()).then(|| said.join("; "))
}
