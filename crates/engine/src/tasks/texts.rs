//! Prompts of a task: what to make of which tables, the criteria, and what failed before.

use std::fmt::Write as _;

use serde_json::Map;

use crate::event::{Failure, Purpose};
use crate::gate::wanted;
use crate::model::{ArtefactKind, Criterion, MOST_ROWS, PythonNeeds, SqlEngine, TaskStep};
use crate::parts::Tasks;
use crate::questions::Brief;
use crate::state::{NodeRef, TaskTry};
use crate::words::{cut, kind_of, plain};

/// Failed tries that the next one is told in full; of the earlier ones it is told what the agent made of them.
pub(super) const TOLD_TRIES: usize = 3;
/// The most characters of what a failed try is told with.
const LONGEST_THOUGHT: usize = 500;
const LONGEST_CODE: usize = 3_000;
const LONGEST_RESULT: usize = 1_000;
const LONGEST_FAILURE: usize = 2_000;

impl Tasks<'_> {
    pub(super) fn task_brief(&self, at: NodeRef, own: &TaskStep, kind: ArtefactKind, opens: bool) -> Result<Brief, Failure> {
        let tries = self.tries(at);
        let mut prompt = None;
        if opens {
            let asked = prompt.insert(self.conversations().with_refinement(at, &own.agent.value, &own.prompt)?);
            self.files().attach(at, own.attach.as_ref(), asked)?;
            let cards = self.accept_cards(at, own)?;
            let criteria: Vec<&Criterion> = cards.iter().flat_map(|card| &card.criteria).collect();
            let what = [self.what_to_make(at, own, kind)?, told_criteria(&criteria), told_tries(tries)];
            asked.text.truncate(asked.text.trim_end().len());
            what.iter().filter(|told| !told.is_empty()).for_each(|told| asked.text.push_str(&format!("\n\n{told}")));
        }
        self.conversations().brief(at, &own.agent.value, None, prompt, Some(wanted::artefact(kind, !tries.is_empty())), Purpose::Turn)
    }

    fn what_to_make(&self, at: NodeRef, own: &TaskStep, kind: ArtefactKind) -> Result<String, Failure> {
        let mut told = match kind {
            ArtefactKind::Text => return Ok("Give the work itself in \"result\".".to_owned()),
            ArtefactKind::Sql => {
                let tables = self.files().tables_here(at);
                let engine = |engine| tables.iter().any(|table| table.engine == engine);
                let dialect = match (engine(SqlEngine::Sqlite), engine(SqlEngine::DuckDb)) {
                    (_, false) => "SQLite",
                    (false, true) => "DuckDB",
                    (true, true) => "SQLite; where it reads a table of DuckDB, for DuckDB",
                };
                format!(
                    "Write one query for {dialect}. It only reads these tables, and no file or other database. At most {MOST_ROWS} rows come \
                     back, so let the query work out what is asked for. If no query can give it, leave \"sql_code\" empty and say why in \
                     \"reason_code_not_created\".\nTables:"
                )
            }
            ArtefactKind::Python => "Write code in Python with the standard library{PACKAGES}. It reaches no network, and only files in its own folder. It sets \
                 the variables that you name in \"output_variables\" to what is asked for: texts, numbers, lists, dicts, rows of a table as a list \
                 of dicts, or a picture as the bytes of a PNG or JPEG. If the work needs no code, give it in \"result\" and leave \"python_code\" empty. Say in \"is_malicious\" whether \
                 the code does harm: then it is not run.\nVariables that are there:"
                .replace("{PACKAGES}", &packages(&own.needs)),
        };
        let rows = if kind == ArtefactKind::Python { ", a list of rows, each a dict with" } else { "" };
        for (name, columns) in self.described(at) {
            let columns: Vec<String> =
                columns.iter().map(|(name, kind)| format!("\"{name}\" {}", if kind.is_empty() { "any" } else { kind })).collect();
            let _ = write!(told, "\n- {name}{rows}: {}", columns.join(", "));
        }
        let variables = if kind == ArtefactKind::Python { self.arguments(at, &own.with)? } else { Map::new() };
        for (name, value) in &variables {
            let _ = write!(told, "\n- {name}, {}: {}", kind_of(value), cut(&plain(value), LONGEST_RESULT));
        }
        if self.described(at).next().is_none() && variables.is_empty() {
            told.push_str(" none");
        }
        Ok(told)
    }
}

/// The packages that code may use besides the standard library.
fn packages(needs: &PythonNeeds) -> String {
    let names: Vec<&str> = needs.requires.iter().map(|name| name.value.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" and these packages: {}", names.join(", ")) }
}

fn told_criteria(criteria: &[&Criterion]) -> String {
    let mut told = "The result must meet all of these criteria:".to_owned();
    for criterion in criteria {
        let _ = write!(told, "\n- {}: {}", criterion.id.value, criterion.description);
        if let Some(expected) = &criterion.expected {
            let _ = write!(told, " Wanted: {expected}");
        }
    }
    told
}

/// What was tried, and why it failed; bounded, however many tries there were.
fn told_tries(tries: &[TaskTry]) -> String {
    let Some(last) = tries.last() else { return String::new() };
    let first = tries.len().saturating_sub(TOLD_TRIES);
    let mut told = "What you tried before was not accepted. Do not repeat it: find the cause, and go about it differently.".to_owned();
    if first > 0 && !last.artefact.summary_of_previous_failures.is_empty() {
        let summary = cut(&last.artefact.summary_of_previous_failures, LONGEST_THOUGHT);
        let _ = write!(told, "\nWhat you made of the first {first}: {summary}");
    }
    for (place, one) in tries.iter().enumerate().skip(first) {
        let _ = write!(told, "\n\nTry {}:", place + 1);
        let mut line = |name: &str, text: &str, most: usize| {
            if !text.trim().is_empty() {
                let _ = write!(told, "\n{name}: {}", cut(text.trim(), most));
            }
        };
        line("Thought", &one.artefact.thought, LONGEST_THOUGHT);
        line("Code", &one.artefact.code, LONGEST_CODE);
        line("Printed", &one.printed, LONGEST_RESULT);
        let result = one.result.as_deref().map(plain).unwrap_or_default();
        line("Result", &result, LONGEST_RESULT);
        line("Failed", one.error.as_deref().unwrap_or_default(), LONGEST_FAILURE);
        for verdict in one.unmet() {
            let feedback = if verdict.feedback.is_empty() { &verdict.description } else { &verdict.feedback };
            line(&format!("Not met, {}", verdict.id), feedback, LONGEST_FAILURE);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    use crate::event::Verdict;
    use crate::model::WrittenArtefact;

    fn failed(number: usize) -> TaskTry {
        let artefact = WrittenArtefact {
            thought: format!("thought {number}"),
            code: format!("select {}", "x".repeat(10_000)),
            summary_of_previous_failures: "the column has another name".into(),
            ..WrittenArtefact::default()
        };
        let error = Some(format!("bad_request: failure {number}"));
        TaskTry { artefact: Arc::new(artefact), error, ..TaskTry::default() }
    }

    #[test]
    fn what_failed_before_is_told_in_bounds() {
        let tries: Vec<TaskTry> = (1..=20).map(failed).collect();
        let told = told_tries(&tries);
        assert!(told.len() < 15_000, "{}", told.len());
        assert!(told.contains("What you made of the first 17: the column has another name"));
        assert!(!told.contains("failure 17") && told.contains("Try 18:\nThought: thought 18") && told.contains("failure 20"));
        assert_eq!(told_tries(&[]), "");
    }

    #[test]
    fn what_was_not_met_is_told_with_the_result() {
        let verdict = Verdict {
            id: "c1".into(),
            scorecard: None,
            description: "It names the city.".into(),
            expected: None,
            passed: false,
            skipped: false,
            feedback: "No city.".into(),
            evidence: String::new(),
            needs_review: false,
        };
        let one = TaskTry { result: Some(Arc::new(json!([{ "n": 3 }]))), verdicts: Some(vec![verdict]), ..TaskTry::default() };
        assert!(told_tries(&[one]).ends_with("Try 1:\nResult: [{\"n\":3}]\nNot met, c1: No city."));
    }
}
