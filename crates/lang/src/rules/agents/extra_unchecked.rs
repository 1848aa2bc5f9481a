//! F514: keys that a model passes on to its endpoint as they are.

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (name, model) in &pipeline.pipeline.models {
        let keys: Vec<String> = model.endpoint.extra.keys().map(|key| quoted(key)).collect();
        if !keys.is_empty() {
            let message =
                format!("model {} passes {} on to its endpoint; flow does not check what it means", quoted(name), keys.join(", "));
            let help = "compare it with the documentation of the endpoint; flow doctor names what is known of it";
            out.push(finding(Code::ExtraUnchecked, model.span, &message).help(help));
        }
    }
}
