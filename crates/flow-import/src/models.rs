//! The models of a result: each with the settings that it is used with, the first one called `default`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::id;
use super::yaml::{Yaml, map, map_of, may, pair};

/// A model as another program names it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ImportedModel {
    pub(super) provider: &'static str,
    pub(super) name: String,
    pub(super) temperature: Option<Value>,
    pub(super) max_output_tokens: Option<Value>,
}

#[derive(Debug, Default)]
pub(super) struct ImportedModels {
    known: Vec<(String, ImportedModel)>,
    taken: BTreeSet<String>,
}

impl ImportedModels {
    /// The id of a model; `None`: it is the one called `default`.
    pub(super) fn id(&mut self, model: ImportedModel) -> Option<Yaml> {
        let place = self.known.iter().position(|(_, known)| *known == model).unwrap_or_else(|| {
            let id = if self.known.is_empty() { "default".to_owned() } else { id(&model.name, &mut self.taken) };
            self.taken.insert(id.clone());
            self.known.push((id, model));
            self.known.len() - 1
        });
        self.known.get(place).filter(|_| place > 0).map(|(id, _)| id.clone().into())
    }

    /// The section; `None`: there is no model.
    pub(super) fn section(&self) -> Option<Yaml> {
        map_of(self.known.iter().map(|(id, model)| {
            let settings = [
                pair("provider", model.provider),
                pair("model", model.name.as_str()),
                may("temperature", model.temperature.clone()),
                may("max_output_tokens", model.max_output_tokens.clone()),
            ];
            pair(id, map(settings))
        }))
    }
}
