//! Each place where a text reads a secret, with what the text is for.

use super::roles::{self, SinkRole};
use crate::model::{Read, Text};
use crate::plan::PipelinePlan;

/// All reads of secrets in a pipeline.
pub(super) fn secret_reads<'p>(pipeline: &'p PipelinePlan) -> Vec<(SinkRole, &'p Read)> {
    let mut list = vec![];
    roles::texts(&pipeline.pipeline, &mut |role, text: &'p Text| {
        let of_secrets = text.reads.iter().filter(|read| read.path.first().is_some_and(|name| name == "secrets"));
        list.extend(of_secrets.map(|read| (role, read)));
    });
    list
}
