//! F601: a secret where people, models or the record would see it.

use crate::model::{Filling, Form, Outputs, Pipeline};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, sole_path};
use crate::rules::support::roles::{SinkRole, secret_reads};
use crate::source::Span;

/// Where secrets may stand.
const PLACES: &str = "secrets are allowed only in models, tools, and headers and bodies of http steps";

/// The output that has a read, and whether it is all of it.
fn output_of(pipeline: &Pipeline, span: Span) -> Option<(&str, bool)> {
    let of = |filling: &Filling| {
        filling.texts().into_iter().find(|text| text.reads.iter().any(|read| read.span == span)).map(|text| sole_path(text).is_some())
    };
    match &pipeline.outputs {
        Outputs::None | Outputs::Whole(_) => None,
        Outputs::Named(outputs) => outputs.iter().find_map(|(name, filling)| Some((name.as_str(), of(filling)?))),
    }
}

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (role, read) in secret_reads(&pipeline.pipeline) {
        let whereto = match role {
            SinkRole::Sealed | SinkRole::Address | SinkRole::Code => continue,
            SinkRole::Prompt => "reach a model",
            SinkRole::Condition => "be used in a condition",
            SinkRole::Log => "be in a log",
            SinkRole::Output => "be in a text that is sent",
            SinkRole::Record => "be stored in the record of the run",
            SinkRole::CommandLine => "be on a command line, where every program on this machine can read it",
        };
        let message = format!("{} would {whereto}", read.path.join("."));
        let found = finding(Code::SecretInText, read.span, &message);
        out.push(match role {
            SinkRole::CommandLine => {
                let (name, path) = (read.path.last().map_or("NAME", String::as_str), read.path.join("."));
                // The option before it says nothing without it.
                let option = pipeline.pipeline.commands().into_iter().find_map(|command| {
                    let place = command.args.iter().position(|arg| arg.reads.iter().any(|own| own.span == read.span))?;
                    let before = command.args.get(place.checked_sub(1)?).filter(|arg| arg.form == Form::Plain)?.source.as_ref();
                    (before.starts_with('-') && !before.contains('=')).then(|| format!("{before} and its value"))
                });
                let what = option.unwrap_or_else(|| "it".to_owned());
                found.help(format!(
                    "write it in the environment of the program: env: {{ {name}: \"{{{{ {path} }}}}\" }}, and take {what} off the command line"
                ))
            }
            SinkRole::Output | SinkRole::Record => found.help(match output_of(&pipeline.pipeline, read.span) {
                Some((name, true)) => format!("remove output {name}: {PLACES}"),
                Some((name, false)) => format!("remove output {name}, or the secret and what says nothing without it: {PLACES}"),
                None => format!("remove it, and its key if nothing else is in the value: {PLACES}"),
            }),
            SinkRole::Prompt
            | SinkRole::Condition
            | SinkRole::Log
            | SinkRole::Sealed
            | SinkRole::Address
            | SinkRole::Code => {
                found.help(format!(
                    "remove {{{{ {} }}}}, and what says nothing without it: {PLACES}",
                    read.path.join(".")
                ))
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_secret_goes_only_where_nobody_reads() {
        let step = |step: &str| says(check, &format!("secrets: {{ KEY: A key. }}\nagents: {{ w: {{}} }}\nsteps: [{{ id: a, {step} }}]\n"));
        assert_eq!(step("agent: w, prompt: 'Use {{ secrets.KEY }}'"), "F601 5:44 secrets.KEY would reach a model\n");
        assert_eq!(step("set: '{{ secrets.KEY }}'"), "F601 5:27 secrets.KEY would be stored in the record of the run\n");
        assert_eq!(step("when: secrets.KEY == 'x', set: 1"), "F601 5:24 secrets.KEY would be used in a condition\n");
        assert_eq!(step("gate: [secrets.KEY], of: run.id"), "F601 5:25 secrets.KEY would be used in a condition\n");
        assert_eq!(step("http: GET https://example.com/, headers: { X-Key: '{{ secrets.KEY }}' }"), "");
        let tool = "secrets: { KEY: A key. }\ntools: { t: { http: GET https://example.com/, headers: { X-Key: '{{ secrets.KEY }}' } } }\nsteps: [{ id: a, tool: t }]\n";
        assert_eq!(says(check, tool), "");
    }
}
