//! F306: a knowledge is embedded by a model that makes no vectors.

use crate::model::Provider;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for (name, embed) in file.tools.iter().filter_map(|(name, tool)| Some((name, tool.knowledge()?.embed.as_ref()?))) {
        let Some(model) = file.models.get(&embed.value) else { continue };
        let why = match &model.provider {
            Provider::Service(service) if service.embeds() => continue,
            Provider::Service(_) => "whose provider has no endpoint for vectors",
            Provider::Program(_) => "which is a program",
            Provider::Tool(_) => "which is a tool",
            Provider::Replay(_) => "whose recordings hold no vectors",
            Provider::Scripted(_) | Provider::Broken => continue,
        };
        let message = format!("knowledge \"{name}\" is embedded by model \"{}\", {why}", embed.value);
        out.push(
            Diagnostic::new(Code::EmbedModel, embed.span, message)
                .related(model.span, "this model")
                .help("name a model with provider openai (or any endpoint like it) or ollama; scripted in tests"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_model_that_makes_no_vectors_is_told_with_its_reason() {
        let with = |model: &str| {
            says(
                check,
                &format!(
                    "models: {{ m: {{ {model} }} }}\nknowledge: {{ k: {{ files: '*.yaml', search: both, embed: m }} }}\nsteps: [{{ id: a, search: k, for: x }}]\n"
                ),
            )
        };
        let found = "F306 4:57 knowledge \"k\" is embedded by model \"m\", whose provider has no endpoint for vectors\n";
        assert_eq!(with("provider: anthropic, model: x"), found);
        for fine in ["provider: openai, model: x", "provider: ollama, model: x"] {
            assert_eq!(with(fine), "", "{fine}");
        }
    }
}
