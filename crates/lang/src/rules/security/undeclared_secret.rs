//! F608: a secret that the file does not declare.

use std::collections::HashSet;

use crate::diagnostic::Hints;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding};
use crate::rules::support::roles::secret_reads;

/// F608: a secret that the file does not declare; each once.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let declared = &pipeline.pipeline.secrets;
    let (mut told, hints) = (HashSet::new(), Hints::default());
    for (_, read) in secret_reads(&pipeline.pipeline) {
        let Some(name) = read.path.get(1).filter(|name| !declared.contains_key(*name)) else { continue };
        if told.insert(name) {
            let hint = hints.did_you_mean(name, declared.keys().map(String::as_str));
            let message = format!("secrets.{name} is not declared; add it to \"secrets\" with a sentence that says what it is{hint}");
            let found = finding(Code::UndeclaredSecret, read.span, &message).near(hint);
            let head = pipeline.pipeline.name.span;
            let own = declared.values().map(|secret| secret.span).rfind(|span| span.file == head.file);
            out.push(match own {
                Some(own) => {
                    let add = format!("add {name}: What it is.");
                    found.related(own, format!("{add} beside this")).help(format!("{add} to secrets"))
                }
                None => {
                    let add = format!("add secrets: {{ {name}: What it is. }}");
                    found.related(head, format!("{add} below this line")).help(format!("{add} to the head of the file"))
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

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
