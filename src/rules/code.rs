//! F603: texts of others that would be read as code.

use super::roles::{self, Role};
use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{PipelinePlan, Plan};

/// F603: a template inside a query, whose values would be read as SQL.
pub(super) fn text_as_code(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    roles::texts(&pipeline.pipeline, &mut |role, text| {
        let Some(at) = text.source.find("{{").filter(|_| role == Role::Code) else { return };
        let (span, what, name) = match text.reads.first() {
            Some(read) => (read.span, read.path.join("."), read.path.last().cloned().unwrap_or_default()),
            None => (text.place.inside(at, at + 2), quoted(text.source.get(at..).unwrap_or_default()), "value".to_owned()),
        };
        let message = format!("{what} becomes part of the SQL; pass it with \"with\" and write ${name}");
        out.push(
            finding(Code::TextAsCode, span, &message).help(format!("write with: {{ {name}: \"{{{{ … }}}}\" }} and ${name} in the query")),
        );
    });
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn values_do_not_become_sql() {
        let query = |query: &str| says(text_as_code, &format!("inputs: {{ a: text }}\nsteps:\n  - id: q\n    sql: {query}\n"));
        assert_eq!(
            query("select * from t where x = '{{ inputs.a }}'"),
            "F603 6:40 inputs.a becomes part of the SQL; pass it with \"with\" and write $a\n"
        );
        assert_eq!(query("select * from t where x = $a"), "");
    }
}
