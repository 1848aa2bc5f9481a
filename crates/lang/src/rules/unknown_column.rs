//! F215: a column of `data` that the table does not have: what it was to protect, or to type, is there under another name.

use super::{Code, Diagnostic, PipelinePlan, Plan, listed};
use crate::diagnostic::did_you_mean;
use crate::source::Span;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (table, data) in &pipeline.pipeline.data {
        let Some(header) = &data.header else { continue };
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        let has = |column: &str| names.iter().any(|name| name.to_lowercase() == column.to_lowercase());
        let mut told = |key: &str, column: &str, span: Span| {
            let near = did_you_mean(column, names.iter().copied());
            let message = format!("\"{key}\" names column \"{column}\", which table \"{table}\" does not have{near}");
            out.push(Diagnostic::new(Code::UnknownColumn, span, message).near(near).help(format!("use one of: {}", listed(&names))));
        };
        for column in data.pii.iter().filter(|column| !has(&column.value)) {
            told("pii", &column.value, column.span);
        }
        for column in data.columns.keys().filter(|column| !has(column)) {
            told("columns", column, data.file.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says_of;
    use super::*;

    fn said(data: &str) -> String {
        let text = format!("flow: 1\nname: a\ndata: {{ people: {{ file: p.csv, {data} }} }}\nsteps: [{{ id: a, set: 1 }}]\n");
        says_of(check, &[("a.yaml", &text), ("p.csv", "id,name,Phone\n1,Ana,2\n")])
    }

    #[test]
    fn a_column_that_the_table_lacks_is_reported_with_the_near_one() {
        assert_eq!(
            said("pii: [nmae, phone]"),
            "F215 3:38 \"pii\" names column \"nmae\", which table \"people\" does not have; did you mean \"name\"?\n"
        );
        assert!(
            said("columns: { nam: text }")
                .contains("\"columns\" names column \"nam\", which table \"people\" does not have; did you mean \"name\"?")
        );
        assert_eq!(said("pii: [NAME], columns: { phone: text }"), "");
    }
}
