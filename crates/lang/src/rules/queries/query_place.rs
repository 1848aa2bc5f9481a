//! F230: a `{{ … }}` of a query where no value can be, since it would become a part of the SQL.

use crate::diagnostic::{LONGEST_QUOTE, cut};
use crate::model::{FilledPlace, FilledValue, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let StepKind::Sql(step) = &planned.step.kind else { continue };
        // A text in quotes is told once, whatever is in it.
        let mut told: Vec<Span> = vec![];
        for filled in &step.filled {
            let around = if let FilledPlace::Quotes(around, _) = &filled.place { Some(*around) } else { None };
            if !around.is_some_and(|around| told.contains(&around)) {
                told.extend(around);
                out.extend(misplaced(filled));
            }
        }
    }
}

fn misplaced(filled: &FilledValue) -> Option<Diagnostic> {
    let written = cut(&filled.written, LONGEST_QUOTE);
    let found = |message: String| finding(Code::QueryPlace, filled.span, &message);
    Some(match &filled.place {
        FilledPlace::Value => return None,
        FilledPlace::Quotes(around, instead) => {
            found(format!("{written} is in quotes, where the query has a text of its own and takes no value"))
                .help(match *instead == written {
                    true => format!("write {instead} without the quotes around it: it is bound as a value, whatever it holds"),
                    false => format!("write {instead} in place of the whole text in quotes"),
                })
                .proposed_fix(vec![(*around, instead.clone())])
        }
        FilledPlace::Column => found(format!("{written} is in place of a column; it would be one fixed value, the same for each row"))
            .help(format!("write the column, or choose among columns: case {written} when 'name' then name else city end")),
        FilledPlace::Brackets => found(format!("{written} is in place of a name in square brackets, and only values are filled in"))
            .help("write the name; a list of DuckDB is list_value({{ … }}, {{ … }})"),
        FilledPlace::Name(what) => found(format!("{written} is in place of {what}, and only values are filled in"))
            .help("write the name in the query; where a value decides which, use a route with a query in each case"),
        FilledPlace::In => found(format!("a list is one value, so it cannot stand alone behind \"in\": {written}"))
            .help(format!("write in (select value from json_each({}))", written.replace(" }}", " | tojson }}"))),
        FilledPlace::Statement => found(format!("a query has no statements of templates, and {written} is one")).help(
            "write the condition in SQL, such as: where {{ inputs.city }} is null or city = {{ inputs.city }}; or two steps with when",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says_of;

    #[test]
    fn values_stand_where_sql_takes_them() {
        let query = |query: &str| {
            let head = "flow: 1\nname: a\ninputs: { a: text, l: { type: list, items: text } }\ndata: { t: { file: t.csv } }\nsteps:\n";
            says_of(check, &[("a.yaml", &format!("{head}  - id: q\n    sql: >-\n      {query}\n")), ("t.csv", "x,y\n1,2\n")])
        };
        assert_eq!(query("select * from t where x = {{ inputs.a }} and y > $y"), "");
        for (wrong, message) in [
            ("select * from t where x like '%{{ inputs.a }}-{{ inputs.a }}%'", "8:38 {{ inputs.a }} is in quotes"),
            ("select * from {{ inputs.a }}", "8:21 {{ inputs.a }} is in place of a table"),
            ("select * from t order by {{ inputs.a }}", "8:32 {{ inputs.a }} is in place of a column"),
            ("select * from t where x in {{ inputs.l }}", "8:34 a list is one value"),
            (
                "select * from t {% if inputs.a %} where x = 1 {% endif %}",
                "8:23 a query has no statements of templates, and {% if inputs.a %} is one",
            ),
        ] {
            let said = query(wrong);
            assert!(said.starts_with(&format!("F230 {message}")), "{wrong}: {said}");
            assert!(said.lines().count() == 1 || wrong.contains("{%"), "{said}");
        }
    }
}
