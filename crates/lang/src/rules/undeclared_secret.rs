//! F608: a secret that the file does not declare.

use std::collections::HashSet;

use super::roles::secret_reads;
use super::{Code, Diagnostic, PipelinePlan, Plan, finding};
use crate::diagnostic::Hints;

/// F608: a secret that the file does not declare; each once.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let declared = &pipeline.pipeline.secrets;
    let (mut told, hints) = (HashSet::new(), Hints::default());
    for (_, read) in secret_reads(&pipeline.pipeline) {
        let Some(name) = read.path.get(1).filter(|name| !declared.contains_key(*name)) else { continue };
        if told.insert(name) {
            let hint = hints.did_you_mean(name, declared.keys().map(String::as_str));
            let message = format!("secrets.{name} is not declared; add it to \"secrets\" with a sentence that says what it is{hint}");
            out.push(
                finding(Code::UndeclaredSecret, read.span, &message)
                    .near(hint)
                    .related(pipeline.pipeline.name.span, "secrets stand below this line")
                    .help(format!("write secrets: {{ {name}: What it is, and where to get it. }}")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn a_secret_is_declared() {
        let declared = |names: &str| {
            says(
                check,
                &format!(
                    "secrets: {{ {names}: A key. }}\nmodels: {{ default: {{ provider: openai, model: m, api_key: '{{{{ secrets.CRM_TOKEN }}}}' }} }}\nsteps: [{{ id: a, set: 1 }}]\n"
                ),
            )
        };
        assert_eq!(declared("CRM_TOKEN"), "");
        assert_eq!(
            declared("CRM_TOKN"),
            "F608 4:63 secrets.CRM_TOKEN is not declared; add it to \"secrets\" with a sentence that says what it is; did you mean \"CRM_TOKN\"?\n"
        );
    }
}
