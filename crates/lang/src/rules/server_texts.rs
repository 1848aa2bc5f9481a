//! MCP servers of a pipeline, and the texts they are started with.

use crate::model::{ServerKind, Text, Tool, ToolKind};
use crate::plan::PipelinePlan;

/// All servers, by name.
pub(super) fn servers(pipeline: &PipelinePlan) -> impl Iterator<Item = (&str, &ServerKind)> {
    pipeline.pipeline.tools.iter().filter_map(|(name, tool): (&String, &Tool)| {
        let ToolKind::Server(server) = &tool.kind else { return None };
        Some((name.as_str(), server))
    })
}

/// All texts of a server.
pub(super) fn texts(server: &ServerKind) -> Vec<&Text> {
    match server {
        ServerKind::Program { args, env, .. } => args.iter().chain(env.iter().map(|(_, text)| text)).collect(),
        ServerKind::Url { url, headers } => std::iter::once(url).chain(headers.iter().map(|(_, text)| text)).collect(),
    }
}
