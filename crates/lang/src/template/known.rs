//! Filling in what is known before a run: the rest is in the text as its author wrote it, between `⟨` and `⟩`.

use std::collections::BTreeSet;

use crate::model::Text;

use super::Value;
use super::eval::Evaluation;
use super::fill::compile;
use super::print::PrintedText;
use super::ready::CompiledForm;
use super::scope::Scope;
use super::stop::{FillError, FillStop};
use super::tree::{Expr, For, SourceRange, Statement};

/// Names whose values are known, and paths below them that are not.
#[derive(Debug, Clone, Default)]
pub struct KnownNames {
    scope: Scope,
    unknown: BTreeSet<Vec<String>>,
}

impl KnownNames {
    /// Gives a name its value.
    pub fn set(&mut self, name: &str, value: Value) {
        self.scope.set(name, value);
    }

    /// What is below this path is not known, whatever the value of its first name says.
    pub fn forget(&mut self, path: &[&str]) {
        self.unknown.insert(path.iter().map(|part| part.to_string()).collect());
    }

    /// Whether something on the way to a path, or below it, is not known.
    fn is_unknown(&self, path: &[String]) -> bool {
        let [name, ..] = path else { return true };
        let touches = |unknown: &Vec<String>| unknown.iter().zip(path).all(|(one, other)| one == other);
        self.scope.value(name).is_none() || self.unknown.iter().any(touches)
    }
}

/// A text with everything filled in that is known, and the value if all of it is. What cannot be filled in though it is known
/// shows why.
///
/// # Errors
/// The text is none that could be checked without findings.
pub fn fill_known(text: &Text, known: &KnownNames) -> Result<(String, Option<Value>), FillError> {
    let compiled = compile(text)?;
    let mut filler = KnownFiller { source: &text.source, known, filling: Evaluation::new(&known.scope), locals: vec![], loops: vec![] };
    match compiled.form() {
        CompiledForm::Plain(value) => Ok((text.source.to_string(), Some(value.clone()))),
        CompiledForm::Expression(expression) => {
            if filler.is_unknown(expression) {
                return Ok((placeholder(text.source.trim().trim_start_matches("{{").trim_end_matches("}}")), None));
            }
            match compiled.fill(&known.scope) {
                Ok(value) => Ok((compiled.fill_text(&known.scope)?, Some(value))),
                Err(error) => Ok((format!("⟨{}: {}⟩", text.source.trim(), error.message), None)),
            }
        }
        CompiledForm::Template(nodes) => {
            let mut output = PrintedText::default();
            let mut is_whole = true;
            filler.statements(nodes, &mut output, &mut is_whole).map_err(|stop| FillError::new(stop, Some(text.place.span)))?;
            let filled = output.into_text();
            let value = is_whole.then(|| Value::from(filled.clone()));
            Ok((filled, value))
        }
    }
}

fn placeholder(source: &str) -> String {
    let source = source.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("⟨{}⟩", source.trim_matches('-').trim())
}

struct KnownFiller<'a> {
    source: &'a str,
    known: &'a KnownNames,
    filling: Evaluation<'a>,
    /// For each loop variable from the outermost loop on, whether it is known.
    locals: Vec<bool>,
    /// The same for each loop around.
    loops: Vec<bool>,
}

impl KnownFiller<'_> {
    fn written(&self, at: SourceRange) -> String {
        let text = self.source.get(at.0..at.1).unwrap_or_default();
        placeholder(text.trim().trim_end_matches("}}").trim_end_matches("%}"))
    }

    /// The statement around an expression. The place of an expression may begin after its first name, so it is looked for.
    fn statement(&self, at: SourceRange) -> String {
        let start = self.source.get(..at.0).and_then(|before| before.rfind("{%")).map_or(at.0, |start| start + 2);
        let end = self.source.get(at.1..).and_then(|after| after.find("%}")).map_or(at.1, |end| at.1 + end);
        let text = self.source.get(start..end).unwrap_or_default().trim_matches(['-', '+']);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn statements(&mut self, nodes: &[Statement], output: &mut PrintedText, is_whole: &mut bool) -> Result<(), FillStop> {
        for node in nodes {
            match node {
                Statement::Raw(text) => output.push(text)?,
                Statement::Print(expression, at) if self.is_unknown(expression) => {
                    *is_whole = false;
                    output.push(&self.written(*at))?;
                }
                Statement::If(branches, otherwise) => {
                    // What the branches before the first unknown one decide is decided.
                    let mut open = vec![];
                    let mut body = Some(otherwise);
                    for branch in branches {
                        if self.is_unknown(&branch.condition) {
                            open.push(branch);
                            continue;
                        }
                        match self.filling.value(&branch.condition) {
                            Ok(value) if value.is_true() => {
                                body = Some(&branch.body);
                                break;
                            }
                            Ok(_) => {}
                            Err(_) => open.push(branch),
                        }
                    }
                    for (place, branch) in open.iter().enumerate() {
                        *is_whole = false;
                        let word = if place == 0 { "if" } else { "else if" };
                        let condition = self.statement(branch.at);
                        output.push(&format!("⟨{word} {}⟩", condition.trim_start_matches("el").trim_start_matches("if").trim()))?;
                        self.statements(&branch.body, output, is_whole)?;
                    }
                    let rest = body.take().filter(|body| !body.is_empty());
                    if let Some(rest) = rest {
                        if !open.is_empty() {
                            output.push("⟨else⟩")?;
                        }
                        self.statements(rest, output, is_whole)?;
                    }
                    if !open.is_empty() {
                        output.push("⟨end⟩")?;
                    }
                }
                // In a loop that is not gone through, the places of other loops' variables are not those of a run.
                Statement::For(repeat) if !self.loops.is_empty() || self.is_unknown_loop(repeat) => {
                    *is_whole = false;
                    output.push(&format!("⟨{}⟩", self.statement(repeat.at)))?;
                    self.locals.extend(std::iter::repeat_n(false, repeat.names));
                    self.loops.push(false);
                    self.statements(&repeat.body, output, is_whole)?;
                    self.loops.pop();
                    self.locals.truncate(self.locals.len() - repeat.names);
                    output.push("⟨end⟩")?;
                }
                // All that it reads is known: it is filled in as a run does it.
                known => {
                    let mut own = PrintedText::default();
                    match self.filling.statements(std::slice::from_ref(known), &mut own) {
                        Ok(()) => output.push(&own.into_text())?,
                        Err(stop) => {
                            *is_whole = false;
                            output.push(&format!("⟨{}⟩", stop.message))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a loop, its condition or something in it reads what is not known.
    fn is_unknown_loop(&mut self, repeat: &For) -> bool {
        if self.is_unknown(&repeat.list) {
            return true;
        }
        self.locals.extend(std::iter::repeat_n(true, repeat.names));
        self.loops.push(true);
        let found = repeat.condition.as_ref().is_some_and(|condition| self.is_unknown(condition))
            || self.any_unknown(&repeat.body)
            || self.any_unknown(&repeat.otherwise);
        self.loops.pop();
        self.locals.truncate(self.locals.len() - repeat.names);
        found
    }

    fn any_unknown(&mut self, nodes: &[Statement]) -> bool {
        nodes.iter().any(|node| match node {
            Statement::Raw(_) => false,
            Statement::Print(expression, _) => self.is_unknown(expression),
            Statement::If(branches, otherwise) => {
                branches.iter().any(|branch| self.is_unknown(&branch.condition) || self.any_unknown(&branch.body))
                    || self.any_unknown(otherwise)
            }
            Statement::For(repeat) => self.is_unknown_loop(repeat),
        })
    }

    fn is_unknown(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Local(place) => !self.locals.get(*place).copied().unwrap_or(false),
            Expr::Loop(place, _) => !self.loops.get(*place).copied().unwrap_or(false),
            _ => match expression.names() {
                Some(names) => self.known.is_unknown(&names),
                None => expression.parts().into_iter().any(|part| self.is_unknown(part)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::TextPlace;
    use crate::template::{empty_name, from_json, text};

    fn filled(source: &str) -> String {
        let mut known = KnownNames::default();
        known.set("inputs", from_json(&json!({ "message": "Hi", "list": [1, 2], "person": null })));
        known.set("person", from_json(&json!({ "id": "p7", "name": null })));
        known.set("refinement", empty_name());
        known.forget(&["inputs", "person"]);
        known.forget(&["person", "name"]);
        let mut found = vec![];
        let text = text(source, TextPlace::default(), &mut found);
        assert!(found.is_empty(), "{found:?}");
        fill_known(&text, &known).unwrap().0
    }

    #[test]
    fn what_is_known_is_filled_in_and_the_rest_stands_as_it_was_written() {
        for (source, expected) in [
            ("Question: {{ inputs.message }}", "Question: Hi"),
            ("{{ steps.facts.output }}", "⟨steps.facts.output⟩"),
            ("Data: {{ steps.facts.output | default(\"none\") }}.", "Data: ⟨steps.facts.output | default(\"none\")⟩."),
            ("For {{ person.id }}, {{ person.name }}", "For p7, ⟨person.name⟩"),
            ("All: {{ person }}", "All: ⟨person⟩"),
            ("{{- inputs.message -}} {{- steps.a.output -}} x", "Hi⟨steps.a.output⟩x"),
            ("{{ inputs.list | length }}{{ inputs.person }}", "2⟨inputs.person⟩"),
            ("a{% if refinement %}b{{ refinement.original }}{% endif %}c", "ac"),
            ("{% if steps.a.output %}yes{% elif inputs.message %}known{% endif %}", "⟨if steps.a.output⟩yes⟨else⟩known⟨end⟩"),
            ("{% if inputs.message == \"Hi\" %}yes{% else %}{{ steps.a.output }}{% endif %}", "yes"),
            ("{% for n in inputs.list %}{{ n }},{% endfor %}", "1,2,"),
            (
                "{% for r in steps.rows.output %}{{ loop.index }} {{ r.name }}; {% endfor %}",
                "⟨for r in steps.rows.output⟩⟨loop.index⟩ ⟨r.name⟩; ⟨end⟩",
            ),
            ("{% for n in inputs.list %}{{ n }}{{ steps.a.output }}{% endfor %}", "⟨for n in inputs.list⟩⟨n⟩⟨steps.a.output⟩⟨end⟩"),
            ("{{ inputs[\"person\"] }} {{ inputs.message | upper }}", "⟨inputs[\"person\"]⟩ HI"),
        ] {
            assert_eq!(filled(source), expected, "{source}");
        }
    }

    #[test]
    fn values_are_never_read_as_templates() {
        let mut known = KnownNames::default();
        known.set("inputs", from_json(&json!({ "message": "{{ 7*7 }} ⟨x⟩" })));
        let text = text("{{ inputs.message }}!", TextPlace::default(), &mut vec![]);
        assert_eq!(fill_known(&text, &known).unwrap().0, "{{ 7*7 }} ⟨x⟩!");
    }

    #[test]
    fn what_cannot_be_filled_in_says_why() {
        let shown = filled("x {{ inputs.list.nope }} y");
        assert!(shown.starts_with("x ⟨") && shown.ends_with("⟩ y") && shown.contains("nope"), "{shown}");
    }
}
