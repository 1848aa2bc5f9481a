//! Names that lead nowhere, and expressions that cannot be read.

use std::collections::BTreeSet;
use std::ops::Range;

use flow_lang::lower::keys::Takes;
use flow_lang::syntax::{Map, Node};
use regex::Regex;

use super::make::{Maker, range};
use super::sites::Sites;
use super::values::typos;

impl<'a> Maker<'a> {
    /// Bare expressions and what stands between braces, where they begin in the file.
    pub(super) fn expressions_of_file(&self) -> Vec<(usize, &'a str)> {
        let mut found = vec![];
        let filled = Regex::new(r"\{[\{%](.*?)[\}%]\}").unwrap();
        for site in &self.sites.values {
            let at = range(site.node.span);
            let text = &self.text[at.clone()];
            let is_bare = matches!(site.takes, Takes::Expression) || site.node.as_scalar().is_some_and(|text| is_expression(&text.text));
            if is_bare && !matches!(site.takes, Takes::Either(_)) && site.node.as_scalar().is_some() {
                let quote = usize::from(text.starts_with(['"', '\'']));
                found.push((at.start + quote, &text[quote..text.len() - quote]));
            }
        }
        let data: Vec<Range<usize>> = self
            .sites
            .values
            .iter()
            .filter(|site| matches!(site.takes, Takes::Constant | Takes::Expected | Takes::Mock | Takes::Sentence | Takes::Fixed))
            .map(|site| range(site.node.span))
            .collect();
        for whole in filled.captures_iter(self.text) {
            let inside = whole.get(1).unwrap();
            if data.iter().any(|data| data.contains(&inside.start())) {
                continue;
            }
            found.push((inside.start(), inside.as_str()));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A name of something defined elsewhere, with a slip of the finger; also the names in expressions.
    pub(super) fn wrong_ids(&mut self) {
        let known: BTreeSet<String> = self.sites.definitions.iter().map(|definition| definition.name.to_owned()).collect();
        let mut names = vec![];
        for site in &self.sites.values {
            let is_kind = |takes: &Takes| matches!(takes, Takes::Of(_) | Takes::Path);
            let takes = match site.takes {
                Takes::Either(several) => several.iter().any(is_kind),
                takes => is_kind(takes),
            };
            if let Some(scalar) = site.node.as_scalar()
                && takes
                && !is_expression(&scalar.text)
            {
                names.push((range(site.node.span), scalar.text.clone()));
            }
        }
        for (at, expression) in self.expressions_of_file() {
            let named = names_in(expression, &self.sites);
            names.extend(named.into_iter().map(|(from, name)| (at + from..at + from + name.len(), name.to_owned())));
        }
        let tables = Regex::new(r"\b(?:from|join) ([a-z]\w*)").unwrap();
        for found in tables.captures_iter(self.text) {
            let table = found.get(1).unwrap();
            if self.sites.definitions.iter().any(|known| known.section == "data" && known.name == table.as_str()) {
                names.push((table.range(), table.as_str().to_owned()));
            }
        }
        for (at, name) in names {
            let lines = self.lines_at(at.start);
            let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_');
            let typos: Vec<String> = if is_word {
                typos(&name)
            } else {
                let (before, last) = name.rsplit_once('/').map_or(("", name.as_str()), |(before, last)| (&name[..before.len() + 1], last));
                typos(last).into_iter().map(|typo| format!("{before}{typo}")).collect()
            };
            for typo in typos {
                if !known.contains(&typo)
                    && let Some(made) = self.add("wrong id", at.clone(), &typo, lines.clone())
                {
                    made.names = vec![format!("\"{typo}\"")];
                    if is_word {
                        made.mend = vec![name.clone()];
                    }
                }
            }
        }
    }

    /// A definition that got another name while its users kept the old one.
    pub(super) fn renamed_definitions(&mut self) {
        for definition in std::mem::take(&mut self.sites.definitions) {
            let name = regex::escape(definition.name);
            let use_of = match definition.section {
                "steps" => format!(r"\bsteps\.{name}\b"),
                "inputs" => format!(r"\binputs\.{name}\b"),
                "data" => format!(r"\b(from|join|from:) {name}\b"),
                "scorecards" => format!(r"gate: \[?{name}\b"),
                "agents" => format!(r"\b(agent|judge|plan): {name}\b"),
                _ => format!(r"\b{name}\b"),
            };
            let at = definition.start..definition.start + definition.name.len();
            let others = format!("{}\n{}", &self.text[..at.start], &self.text[at.end..]);
            let use_of = Regex::new(&use_of).unwrap();
            // Without a model called "default" the settings give one.
            let may_be_given = definition.section == "models" && definition.name == "default";
            if may_be_given {
                self.sites.definitions.push(definition);
                continue;
            }
            if use_of.is_match(&others) || use_of.is_match(self.users) {
                let line = self.line(at.start);
                for typo in typos(definition.name) {
                    if let Some(made) = self.add("wrong id", at.clone(), &typo, line..=line) {
                        made.names = vec![definition.name.to_owned()];
                        made.mend = vec![typo];
                    }
                }
            }
            self.sites.definitions.push(definition);
        }
    }

    /// A filter with a typo, a brace or bracket too few, `=` for `==`.
    pub(super) fn expressions(&mut self) {
        let filter = Regex::new(r"\| *([a-z_]+)").unwrap();
        let equals = Regex::new(r"==").unwrap();
        for (at, expression) in self.expressions_of_file() {
            for name in filter.captures_iter(expression).filter_map(|found| found.get(1)) {
                for typo in typos(name.as_str()) {
                    let lines = self.lines_at(at + name.start());
                    if let Some(made) = self.add("expression", at + name.start()..at + name.end(), &typo, lines) {
                        made.mend = vec![format!("\"{}\"", name.as_str())];
                    }
                }
            }
            for sign in equals.find_iter(expression) {
                let lines = self.lines_at(at + sign.start());
                if let Some(made) = self.add("expression", at + sign.start()..at + sign.end(), "=", lines) {
                    made.mend = vec!["==".to_owned()];
                }
            }
            for (bracket, sign) in expression.match_indices(['(', ')', '[', ']']) {
                let lines = self.lines_at(at + bracket);
                if let Some(made) = self.add("expression", at + bracket..at + bracket + 1, "", lines) {
                    made.mend = vec![sign.to_owned()];
                }
            }
        }
        let braces = Regex::new(r"\{\{|\}\}").unwrap();
        let filled: Vec<usize> = self.expressions_of_file().into_iter().flat_map(|(at, text)| [at - 2, at + text.len()]).collect();
        for brace in braces.find_iter(self.text).filter(|brace| filled.contains(&brace.start())) {
            let lines = self.lines_at(brace.start());
            for by in ["", &brace.as_str()[..1]] {
                if let Some(made) = self.add("expression", brace.range(), by, lines.clone()) {
                    made.mend = vec![brace.as_str().to_owned(), brace.as_str()[..1].to_owned()];
                }
            }
        }
    }
}

/// Names in an expression that can be known before a run: the first of a path, and what follows where its type is known. What a query
/// or a model gives has fields nobody knows yet.
fn names_in<'t>(expression: &'t str, sites: &Sites<'_>) -> Vec<(usize, &'t str)> {
    let path = Regex::new(r"\b(steps|inputs|person|channel|style|conversation|run|refinement|failure)((?:\.\w+)+)").unwrap();
    let mut found = vec![];
    for whole in path.captures_iter(expression) {
        let (root, rest) = (whole.get(1).unwrap(), whole.get(2).unwrap());
        if expression[..root.start()].ends_with(['.', '\'', '"']) {
            continue;
        }
        found.push((root.start(), root.as_str()));
        let known = if root.as_str() == "steps" { 2 } else { 1 };
        let parts: Vec<&str> = rest.as_str()[1..].split('.').collect();
        let mut at = rest.start() + 1;
        for (index, part) in parts.iter().enumerate() {
            let is_declared = index == 2 && parts[1] == "output" && sites.fields_of(parts[0]).is_some_and(|fields| fields.contains(*part));
            if index < known || is_declared {
                found.push((at, *part));
            }
            at += part.len() + 1;
        }
    }
    found
}

/// Whether a text is no name but an expression that reads one: `steps.plan.output.scorecard | default(none)`.
fn is_expression(text: &str) -> bool {
    text.starts_with("steps.") || text.starts_with("inputs.")
}

impl<'a> Sites<'a> {
    /// All fields that the step of this name can give, if they are written down for each way it can go.
    fn fields_of(&self, step: &str) -> Option<BTreeSet<&'a str>> {
        let is_called = |map: &&Map| map.get("id").and_then(Node::as_scalar).is_some_and(|id| id.text == step);
        self.steps.iter().flat_map(|steps| steps.iter()).filter_map(Node::as_map).find(is_called).and_then(fields_given)
    }
}

fn fields_given(step: &Map) -> Option<BTreeSet<&str>> {
    if step.get("route").is_some() {
        let cases = step.get("cases").and_then(Node::as_list)?.iter().chain(step.get("otherwise"));
        let mut all = BTreeSet::new();
        for case in cases {
            let case = case.as_map()?;
            let last = case.get("steps").and_then(Node::as_list).map_or(Some(case), |steps| steps.last()?.as_map())?;
            all.extend(fields_given(last)?);
        }
        return Some(all);
    }
    let fields = ["output", "set"].iter().find_map(|key| step.get(key)?.as_map())?;
    Some(fields.entries.iter().map(|(key, _)| key.text.as_str()).collect())
}
