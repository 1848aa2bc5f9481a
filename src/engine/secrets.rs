//! What is secret in a run, by where the author put it.

use std::collections::BTreeMap;

use crate::model::{Program, ServerKind, Text, Tool, ToolKind};
use crate::port::Secret;
use crate::redact::names_a_secret;

/// The key of the model that variables put in place of `default`.
const KEY: &str = "FLOW_API_KEY";

/// Values that no text of a run may hold: of the declared secrets, of `FLOW_API_KEY`, keys and passwords that stand in the file, and the
/// variables that keys, passwords and what is named like one (`authorization: Bearer {{ env.NAME }}`) are made of.
pub fn secret_values(program: &Program, env: &BTreeMap<String, Secret>) -> Vec<Secret> {
    let mut all: Vec<Secret> = env.get(KEY).cloned().into_iter().collect();
    for pipeline in &program.pipelines {
        all.extend(pipeline.secrets.keys().filter_map(|name| env.get(name).cloned()));
        let keys: Vec<&Text> = pipeline
            .models
            .values()
            .filter_map(|model| model.api_key.as_ref())
            .chain(pipeline.tools.values().filter_map(password))
            .collect();
        all.extend(keys.iter().filter(|text| text.reads.is_empty()).map(|text| Secret::new(&*text.source)));
        let named = pipeline.tools.values().flat_map(named).filter(|(name, _)| names_a_secret(name)).map(|(_, text)| text);
        let variables = keys.into_iter().chain(named).flat_map(|text| &text.reads).filter_map(|read| match read.path.as_slice() {
            [root, name, ..] if root == "env" => env.get(name).cloned(),
            _ => None,
        });
        all.extend(variables);
    }
    all.retain(|secret| !secret.reveal().trim().is_empty());
    all
}

fn password(tool: &Tool) -> Option<&Text> {
    if let ToolKind::Smtp { password, .. } = &tool.kind { password.as_ref() } else { None }
}

/// What a tool is given by name and shows to its server only.
fn named(tool: &Tool) -> Vec<(&str, &Text)> {
    match &tool.kind {
        ToolKind::Http { headers, .. } | ToolKind::Server(ServerKind::Url { headers, .. }) => {
            headers.iter().map(|(name, text)| (name.as_str(), text)).collect()
        }
        ToolKind::Server(ServerKind::Program { env, .. }) => env.iter().map(|(name, text)| (name.value.as_str(), text)).collect(),
        ToolKind::Smtp { .. } | ToolKind::Sql(_) | ToolKind::File(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => vec![],
    }
}
