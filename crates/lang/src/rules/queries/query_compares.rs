//! F223: values of a query that cannot be what they stand for: texts of dates, of true and false, of names. What the cells of a column look like
//! is seen of CSV and TSV files, all of whose columns that are no numbers are texts to SQLite.

use super::query_operands::{CompareSign, Operand, QueryWalk, unquoted, values, within};
use super::query_view::QueryView;
use super::{query_dates, query_view};
use crate::model::CellForm;
use crate::rules::prelude::{Diagnostic, PipelineNames, Texts};
use crate::sql::{Name, QueryNode};
use crate::template::types::Type;

/// Functions that add up.
const SUMS: [&str; 3] = ["sum", "avg", "total"];
/// What stands before a condition.
const BEFORE: [&str; 5] = ["where", "and", "or", "not", "having"];
/// What stands behind a condition.
const BEHIND: [&str; 9] = ["and", "or", "then", "group", "order", "limit", "having", "union", "end"];

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    query_view::each(names, out, |view, nodes| view.list(nodes));
}

impl QueryView<'_, '_> {
    fn list(&mut self, nodes: &[QueryNode]) {
        self.quoted_names(nodes);
        let walk = QueryWalk(nodes);
        for at in 0..nodes.len() {
            if let Some((left, sign, right)) = walk.comparison(at) {
                self.compared(&left, sign, &right);
            }
            self.condition(nodes, at);
            query_dates::at(self, nodes, at);
            self.added(nodes, at);
            if let Some((Operand::Call(name, arguments), _)) = walk.operand(at)
                && let Some((Operand::Column(column), next)) = QueryWalk(arguments).operand(0)
                && arguments.len() == next
                && SUMS.iter().any(|sum| name.is(sum))
                && let Some((what, one, _)) = self.truth(column)
            {
                let help = format!("write {}({} = '{one}')", name.text, column.text);
                self.say(within(column), &format!("{} holds {what}, which count as 0", column.text), help);
            }
        }
        nodes.iter().filter_map(QueryNode::inner).for_each(|inner| self.list(inner));
    }

    /// `order by 'hours'`, `group by 'person'`, `having 'hours' > 10`: a text in single quotes is no name.
    fn quoted_names(&mut self, nodes: &[QueryNode]) {
        let mut is_by = false;
        for (at, node) in nodes.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| &nodes[at]);
            match node {
                QueryNode::Word(word) if word.is("by") => is_by = true,
                QueryNode::Word(word)
                    if ["limit", "having", "order", "union", "where", "rows", "range"].iter().any(|other| word.is(other)) =>
                {
                    is_by = false;
                }
                QueryNode::Value(name) if is_by => {
                    let begins = before.is_some_and(|before| before.is("by") || *before == QueryNode::Mark(','));
                    let ends = nodes.get(at + 1).is_none_or(|next| {
                        matches!(next, QueryNode::Mark(',' | ';'))
                            || next.is_one_of(&["asc", "desc", "limit", "having", "order", "nulls", "collate", "union"])
                    });
                    if let Some(inner) = unquoted(name.text).filter(|_| begins && ends) {
                        let message = "in single quotes this is a text, the same for every row, and no column";
                        self.say(within(*name), message, format!("write {} without single quotes", column_name(inner)));
                    }
                }
                _ => {}
            }
        }
    }

    /// What a column of texts holds, and the texts that stand for true and false, where one is used as a truth value.
    fn truth(&self, column: Name) -> Option<(&'static str, &str, &str)> {
        let look = self.look(column.text)?;
        match look.form {
            CellForm::TrueFalse => Some(("the texts true and false", "true", "false")),
            CellForm::Words | CellForm::Day | CellForm::DayFirst => {
                let is_no = |text: &&String| ["no", "n", "nein", "falsch", "off", "0", "f"].contains(&text.to_lowercase().as_str());
                let no = look.values.iter().find(is_no);
                let yes = look.values.iter().find(|text| Some(*text) != no);
                Some(("texts", yes.map_or("…", String::as_str), no.map_or("…", String::as_str)))
            }
            CellForm::Codes => None,
        }
    }

    /// `where done`, where done holds the texts true and false, or others.
    fn condition(&mut self, nodes: &[QueryNode], at: usize) {
        let walk = QueryWalk(nodes);
        let Some((Operand::Column(column), next)) = walk.operand(at) else { return };
        let before = at.checked_sub(1).map(|at| &nodes[at]);
        let joins_on = || nodes.get(next).is_some_and(|next| next.is_one_of(&["and", "or"]));
        let is_first = before.map_or_else(joins_on, |before| {
            before.is_one_of(&BEFORE)
                || before.is("when") && !at.checked_sub(2).is_some_and(|at| !nodes[at].is("case") && !nodes[at].is("end"))
        });
        let is_last = nodes.get(next).is_none_or(|next| next.is_one_of(&BEHIND) || *next == QueryNode::Mark(';'));
        // `between a and done`
        let is_bound = nodes[..at].iter().rev().take(5).any(|node| node.is("between"));
        if is_first
            && is_last
            && !is_bound
            && let Some((holds, one, other)) = self.truth(column)
        {
            let is_not = before.is_some_and(|before| before.is("not"));
            let what = if is_not { "always" } else { "never" };
            let message = format!("{} holds {holds}, so this {what} holds", column.text);
            let help = if is_not {
                format!("write {} = '{other}' in place of not {0}", column.text)
            } else {
                format!("write {} = '{one}'", column.text)
            };
            self.say(within(column), &message, help);
        }
    }

    fn compared(&mut self, left: &Operand, sign: CompareSign, right: &Operand) {
        for (one, other, is_left) in [(left, right, true), (right, left, false)] {
            if let (Operand::Text(text), CompareSign::Order(_) | CompareSign::Equal(_)) = (one, sign)
                && is_left
                && let Some(inner) = unquoted(text.text)
                && self.stands_for_a_column(inner, other)
            {
                let message = "in single quotes this is a text, the same for every row, and no column";
                self.say(within(*text), message, format!("write {} without single quotes", column_name(inner)));
            }
            match self.form(one) {
                Some(CellForm::TrueFalse) => self.true_false(one, sign, other),
                Some(CellForm::Words) => self.words(one, sign, other),
                Some(CellForm::Codes) => self.codes(one, sign, other),
                Some(CellForm::Day | CellForm::DayFirst) | None => {}
            }
            query_dates::compared(self, one, sign, other);
            self.known_values(one, sign, other);
            self.letters(one, sign, other);
        }
    }

    /// Whether a text in single quotes that is compared is meant as a name: of two that are written out, or of a column.
    fn stands_for_a_column(&self, text: &str, other: &Operand) -> bool {
        let is_name = text.starts_with(|c: char| c.is_alphabetic()) && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        match other {
            Operand::Number(_) => is_name,
            Operand::Text(_) | Operand::Place(_) => self.columns.iter().any(|column| column.eq_ignore_ascii_case(text)),
            Operand::Column(_) | Operand::Call(..) | Operand::Truth(_) | Operand::List(_) => false,
        }
    }

    /// A column of texts is compared with true, false or a number.
    fn words(&mut self, column: &Operand, sign: CompareSign, other: &Operand) {
        let (Operand::Column(name), CompareSign::Equal(_)) = (column, sign) else { return };
        let (value, what) = match other {
            Operand::Number(value) => (value, "a number"),
            Operand::Truth(value) if !value.text.eq_ignore_ascii_case("null") => (value, "the number 1 or 0 to SQLite"),
            Operand::Column(_) | Operand::Call(..) | Operand::Text(_) | Operand::Truth(_) | Operand::Place(_) | Operand::List(_) => return,
        };
        let texts: Vec<String> = self.look(name.text).into_iter().flat_map(|look| &look.values).map(|text| format!("'{text}'")).collect();
        let help = match texts.len() {
            1..=6 => format!("compare it with one of its texts: {}", texts.join(", ")),
            _ => "compare it with one of its texts, in single quotes".to_owned(),
        };
        self.say(within(*value), &format!("{} holds texts, and this is {what}", name.text), help);
    }

    /// A column of codes such as `01067` is compared with a number: the text of the number has no zeros before it.
    fn codes(&mut self, column: &Operand, sign: CompareSign, other: &Operand) {
        let Operand::Column(name) = column else { return };
        let width = self.look(name.text).into_iter().flat_map(|look| &look.values).map(String::len).max().unwrap_or_default();
        for value in values(other).into_iter().filter(|value| unquoted(value.text).is_none()) {
            let message = format!("{} holds texts of digits, some with a zero before them, and this is a number", name.text);
            let help = match sign {
                CompareSign::Equal(_) | CompareSign::In => format!("write '{:0>width$}', the text as it stands in the file", value.text),
                CompareSign::Order(_) | CompareSign::Between => {
                    format!("write cast({0} as integer) in place of {0}, or columns: {{ {0}: integer }} under data", name.text)
                }
            };
            self.say(within(value), &message, help);
        }
    }

    /// A column with the texts true and false is compared with what is none of them.
    fn true_false(&mut self, column: &Operand, sign: CompareSign, other: &Operand) {
        let (Operand::Column(name), CompareSign::Equal(equal)) = (column, sign) else { return };
        let message = format!("{} holds the texts true and false, so this compares a text with a number", name.text);
        let is_not = matches!(equal, "<>" | "!=" | "is not");
        let sign = if is_not { "<>" } else { "=" };
        match other {
            Operand::Truth(word) | Operand::Number(word) => {
                let value = match word.text.to_lowercase().as_str() {
                    "true" | "1" => "true",
                    "false" | "0" => "false",
                    _ => return,
                };
                self.say(from_to(*name, *word), &message, format!("write {} {sign} '{value}'", name.text));
            }
            Operand::Place(place) => {
                if let Some((Type::Boolean, _)) = self.given(*place) {
                    let written = self.written(within(*place));
                    let help = format!("write {} {sign} iif({written}, 'true', 'false')", name.text);
                    self.say(from_to(*name, *place), &message, help);
                }
            }
            Operand::Column(_) | Operand::Text(_) | Operand::Call(..) | Operand::List(_) => {}
        }
    }

    /// A text that a column does not have, but for its letters, or several in one pair of quotes.
    fn known_values(&mut self, column: &Operand, sign: CompareSign, other: &Operand) {
        let (Operand::Column(name), CompareSign::Equal(_) | CompareSign::In) = (column, sign) else { return };
        let Some(known) = self.look(name.text).map(|look| look.values.clone()).filter(|known| !known.is_empty()) else { return };
        for text in values(other) {
            let Some(inner) = unquoted(text.text).filter(|inner| !known.iter().any(|value| value == inner)) else { continue };
            let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
            let is_known = |part: &str| known.iter().any(|value| value == part);
            if parts.len() > 1 && parts.iter().all(|part| is_known(part)) {
                let quoted: Vec<String> = parts.iter().map(|part| format!("'{part}'")).collect();
                let message = format!("no {} is {}: each value stands in quotes of its own", name.text, text.text);
                let help = match sign {
                    CompareSign::In => format!("write {} in place of {}", quoted.join(", "), text.text),
                    _ => format!("write {} in ({})", name.text, quoted.join(", ")),
                };
                self.say(within(text), &message, help);
            } else if let Some(meant) = known.iter().find(|value| value.to_lowercase() == inner.to_lowercase()) {
                // Who names both forms knows of them.
                if !self.query.text.contains(&format!("'{meant}'")) && !self.query.text.to_lowercase().contains("nocase") {
                    let message = format!("no {} is {}: capitals and small letters differ in a query", name.text, text.text);
                    self.say(within(text), &message, format!("write '{meant}'"));
                }
            }
        }
    }

    /// `lower(team) = 'North'`
    fn letters(&mut self, call: &Operand, sign: CompareSign, other: &Operand) {
        let (Operand::Call(name, _), CompareSign::Equal(_) | CompareSign::In) = (call, sign) else { return };
        let changed: fn(&str) -> String = match () {
            () if name.is("lower") => str::to_lowercase,
            () if name.is("upper") => str::to_uppercase,
            () => return,
        };
        if let Operand::Place(place) = other
            && let Some((Type::OneOf(given), _)) = self.given(*place)
            && given.iter().all(|value| changed(value) != *value)
        {
            let message = format!("what {} gives is never one of: {}", name.text, given.join(", "));
            let help = format!("write {}({})", name.text.to_lowercase(), self.written(within(*place)));
            self.say(within(*place), &message, help);
        }
        for text in values(other) {
            if let Some(inner) = unquoted(text.text).filter(|inner| inner.is_ascii() && changed(inner) != *inner) {
                let message = format!("what {} gives is never {}", name.text, text.text);
                self.say(within(text), &message, format!("write '{}'", changed(inner)));
            }
        }
    }

    /// `person + ' ' + team`
    fn added(&mut self, nodes: &[QueryNode], at: usize) {
        if nodes.get(at) != Some(&QueryNode::Mark('+')) {
            return;
        }
        let is_words = |check: &Self, node: Option<&QueryNode>| match node {
            Some(QueryNode::Value(value)) => unquoted(value.text)
                .is_some_and(|inner| !inner.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')),
            Some(QueryNode::Word(name)) => check.look(name.text).is_some_and(|look| look.form == CellForm::Words),
            _ => false,
        };
        let before = at.checked_sub(1).and_then(|at| nodes.get(at));
        let is_first =
            !nodes[..at].iter().rev().take_while(|node| !node.is_one_of(&["select", "where"])).any(|node| *node == QueryNode::Mark('+'));
        if (is_words(self, before) || is_words(self, nodes.get(at + 1))) && is_first {
            let start = before.and_then(end_of).unwrap_or_default();
            let place = self.query.text.get(start..).and_then(|rest| rest.find('+')).map_or(start, |plus| start + plus);
            self.say((place, place + 1), "+ adds numbers, and a text counts as 0", "write || in place of each + between texts".to_owned());
        }
    }
}

/// From one name to another, whichever stands first.
fn from_to(one: Name, other: Name) -> (usize, usize) {
    let ((start, end), (other_start, other_end)) = (within(one), within(other));
    (start.min(other_start), end.max(other_end))
}

fn column_name(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_plain { text.to_owned() } else { format!("\"{text}\"") }
}

/// Where a piece ends that is a word or a value.
fn end_of(node: &QueryNode) -> Option<usize> {
    match node {
        QueryNode::Word(name) | QueryNode::Quoted(name) | QueryNode::Value(name) | QueryNode::Place(name) => {
            Some(name.start + name.text.len())
        }
        QueryNode::Group(..) | QueryNode::Mark(_) => None,
    }
}
