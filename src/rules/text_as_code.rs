//! F603: texts of others that would be read as code.

use super::roles::{self, Role};
use super::server_texts::servers;
use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Form, ServerKind};
use crate::plan::{PipelinePlan, Plan};
use crate::source::Span;

/// F603: a value that becomes a part of a query, or of an argument of a server.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    in_arguments(pipeline, out);
    in_queries(pipeline, out);
}

/// A template inside a query, whose values would be read as SQL.
fn in_queries(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    roles::texts(&pipeline.pipeline, &mut |role, text| {
        let Some(at) = text.source.find("{{").filter(|_| role == Role::Code) else { return };
        let (span, what, name) = match text.reads.first() {
            Some(read) => (read.span, read.path.join("."), read.path.last().cloned().unwrap_or_default()),
            None => (text.place.inside(at, at + 2), quoted(text.source.get(at..).unwrap_or_default()), "value".to_owned()),
        };
        let message = format!("{what} becomes part of the SQL; pass it with \"with\" and write ${name}");
        out.push(found(span, &message).help(format!("write with: {{ {name}: \"{{{{ … }}}}\" }} and ${name} in the query")));
    });
}

/// A value inside an argument of a server may become an option, or two.
fn in_arguments(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    for (_, server) in servers(pipeline) {
        let ServerKind::Program { args, .. } = server else { continue };
        for text in args.iter().filter(|text| text.form == Form::Template) {
            for read in text.reads.iter().filter(|read| read.path.first().is_some_and(|root| root == "inputs")) {
                let message = format!("{} becomes a part of an argument; a value may only be a whole one", read.path.join("."));
                let help = format!("write it as an argument of its own: args: [ …, \"{{{{ {} }}}}\" ]", read.path.join("."));
                out.push(found(read.span, &message).help(help));
            }
        }
    }
}

fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::TextAsCode, span, message)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{says, with_server};
    use super::*;

    #[test]
    fn values_do_not_become_sql() {
        let query = |query: &str| says(check, &format!("inputs: {{ a: text }}\nsteps:\n  - id: q\n    sql: {query}\n"));
        assert_eq!(
            query("select * from t where x = '{{ inputs.a }}'"),
            "F603 6:40 inputs.a becomes part of the SQL; pass it with \"with\" and write $a\n"
        );
        assert_eq!(query("select * from t where x = $a"), "");
    }

    #[test]
    fn a_value_is_a_whole_argument() {
        let found = "F603 4:51 inputs.dir becomes a part of an argument; a value may only be a whole one\n";
        assert_eq!(with_server(check, "command: srv, args: ['--root={{ inputs.dir }}']", ""), found);
        assert_eq!(with_server(check, "command: srv, args: [--root, '{{ inputs.dir }}', '{{ env.A }}/x']", ""), "");
    }
}
