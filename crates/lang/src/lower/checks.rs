//! Scorecards, criteria and the checks that need no model.

use super::context::{Lower, quoted};
use super::ids::Ids;
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::values::WantedValue;
use super::written_form::written_form;
use crate::diagnostic::{Code, Diagnostic};
use crate::gate::letters_of;
use crate::model::{
    AcceptItem, Check, Criterion, Features, Judging, LetterCase, OnJudgeError, PlainCheck, SHORTEST_DESCRIPTION, Scorecard, ScorecardRef,
    Text, accept_id,
};
use crate::source::{Span, Spanned};
use crate::syntax::Node;

/// One scorecard; criteria that cannot be read are left out.
pub fn scorecard(lower: &Lower, owner: &KeyOwner, span: Span, node: &Node) -> Scorecard {
    let mut scorecard = Scorecard { span, judge: None, on_judge_error: OnJudgeError::Fail, criteria: vec![] };
    let Some(keys) = KeyReader::new(lower, owner, &[&keys::SCORECARD], node) else { return scorecard };
    scorecard.judge = keys.name("judge");
    scorecard.on_judge_error = keys.choice("on_judge_error").unwrap_or_default();
    scorecard.criteria = criteria(&keys);
    scorecard
}

/// The section `criteria`.
pub fn criteria(keys: &KeyReader) -> Vec<Criterion> {
    let read = |node: &Node, number| criterion(keys.lower, node, number);
    keys.lower.unique("criteria", keys.list("criteria"), read, |criterion| &criterion.id)
}

/// A name, or an expression if it holds what no name does.
pub(super) fn scorecard_ref(lower: &Lower, label: &str, node: &Node) -> Option<ScorecardRef> {
    let text = node.as_scalar().map(|scalar| scalar.text.trim()).unwrap_or_default();
    match text.contains(['.', '|', '{', '(', '[']) {
        true => lower.texts().expression(label, node).map(ScorecardRef::Written),
        false => lower.name(label, node).map(ScorecardRef::Named),
    }
}

/// The entries of `accept`: texts that a judge decides on, and criteria.
pub(super) fn accept_items(keys: &KeyReader, list: &[Node]) -> Vec<AcceptItem> {
    let (lower, mut ids) = (keys.lower, Ids::default());
    let mut item = |(place, node): (usize, &Node)| {
        if node.as_map().is_none() {
            let text = lower.texts().text("accept", node)?;
            if text.reads.is_empty() {
                is_measurable(lower, "accept", &keys.owner, &text.source, node.span, None);
            }
            ids.take(&Spanned::new(accept_id(place), node.span));
            return Some(AcceptItem::Text(text));
        }
        let criterion = criterion(lower, node, place + 1)?;
        lower.check_unique("criteria of accept", &criterion.id, ids.take(&criterion.id));
        Some(AcceptItem::Criterion(criterion))
    };
    list.iter().enumerate().filter_map(&mut item).collect()
}

/// F406.
pub(super) fn is_measurable(lower: &Lower, label: &str, owner: &KeyOwner, text: &str, span: Span, check: Option<&Node>) {
    let length = text.trim().chars().count();
    if length < SHORTEST_DESCRIPTION {
        let message = format!("{label} {} of {owner} has {length} characters; write at least {SHORTEST_DESCRIPTION}", quoted(text));
        let word = text.trim().trim_end_matches('.');
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || c == '-');
        let help = match is_word {
            _ if let Some(sentence) = check.and_then(sentence) => format!("write a sentence that can be measured: {sentence}"),
            true => format!("write a sentence that is true or not, such as: The text is {}.", word.to_lowercase()),
            false => "write a sentence that can be measured, such as: The text has at most 60 characters.".to_owned(),
        };
        lower.report(Diagnostic::new(Code::CriterionTooShort, span, message).help(help));
    }
}

/// What a check asks, as a sentence.
fn sentence(check: &Node) -> Option<String> {
    let (key, value) = check.as_map()?.entries.first()?;
    let value = written_form(&value.to_value())?;
    Some(match key.text.as_str() {
        "max_length" => format!("The text has at most {value} characters."),
        "min_length" => format!("The text has at least {value} characters."),
        "contains" => format!("The text contains {value}."),
        "not_contains" => format!("The text does not contain {value}."),
        _ => return None,
    })
}

/// A description that reads values of the run: they are named in words, and the judge gets them with the gate.
fn beside(node: &Node) -> String {
    let text = node.as_scalar().map_or("", |scalar| &*scalar.text);
    let (mut plain, mut names) = (String::new(), vec![]);
    for (at, part) in text.split("{{").enumerate() {
        match part.split_once("}}").filter(|_| at > 0) {
            Some((inner, rest)) => {
                let name = inner.trim().rsplit('.').next().unwrap_or_default();
                let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                plain.push_str(&format!("the {}{rest}", name.replace('_', " ")));
                names.push(format!("{name}: \"{{{{ {} }}}}\"", inner.trim()));
            }
            None => plain.push_str(part),
        }
    }
    match names.is_empty() {
        true => "write the text itself; a value that the judge needs goes into with of the gate".to_owned(),
        false => format!("write \"{plain}\", and with: {{ {} }} in the gate: the judge reads it there", names.join(", ")),
    }
}

fn criterion(lower: &Lower, node: &Node, number: usize) -> Option<Criterion> {
    let owner = KeyOwner::entry("criterion", node.text_of("id"), number);
    let keys = KeyReader::new(lower, owner.clone(), &[&keys::CRITERION], node)?;
    let id = keys.get("id").and_then(|node| lower.new_id("criterion id", node));
    let when = match keys.get("when").filter(|_| lower.is_data) {
        Some(node) => {
            lower.reject(node.span, "a scorecard that a step wrote cannot use \"when\"", "leave the criterion out, or remove when")
        }
        None => keys.expression("when"),
    };
    let description = keys.get("description").and_then(|node| lower.description("description", node, &beside(node)));
    let expected = keys.get("expected").and_then(|node| lower.description("expected", node, &beside(node)));
    if let (Some(text), Some(node)) = (&description, keys.get("description")) {
        is_measurable(lower, "description", &owner, text, node.span, keys.get("check"));
    }
    let judging = judging(&keys);
    let feedback = match (keys.get("feedback"), &judging) {
        (Some(node), _) if lower.is_data => lower.reject(
            node.span,
            "a scorecard that a step wrote cannot use \"feedback\"",
            "remove feedback, and say in description what is wanted",
        ),
        (Some(node), Judging::Judge) => lower.reject(
            keys.key_span("feedback").to(node.span),
            format!("{owner} has \"feedback\", but its judge writes the feedback itself"),
            "remove feedback; what the judge is to know goes into with of the gate",
        ),
        (node, Judging::Judge | Judging::Checks(_) | Judging::Neither) => node.and_then(|node| feedback(lower, node)),
    };
    let id = id.unwrap_or_else(|| Spanned::new(format!("criterion {number}"), keys.span));
    Some(Criterion { id, when, description: description.unwrap_or_default(), expected, feedback, judging })
}

/// What the writer is told; an empty text would tell nothing.
fn feedback(lower: &Lower, node: &Node) -> Option<Text> {
    let text = lower.texts().text("feedback", node)?;
    if text.source.trim().is_empty() {
        lower.empty("feedback", node.span);
        return None;
    }
    Some(text)
}

/// `check` or `judge: true`: exactly one (F404, F006).
fn judging(keys: &KeyReader) -> Judging {
    let judge = keys.boolean("judge");
    if let Some(node) = keys.get("check") {
        if judge == Some(true) {
            keys.check_one_of(&["check", "judge"]);
        }
        return Judging::Checks(checks(keys.lower, &keys.owner, node));
    }
    if judge == Some(true) {
        if !keys.has("expected") {
            keys.missing("has judge: true but no \"expected\"", "add expected: what a good answer looks like");
        }
        return Judging::Judge;
    }
    let is_silent = judge == Some(false) || !keys.has("judge");
    if is_silent && !keys.has("check") {
        let message = format!("{} has neither check nor judge: true", keys.owner);
        unchecked(keys.lower, keys.span, &message, "add check: { … } or judge: true");
    }
    Judging::Neither
}

fn unchecked(lower: &Lower, span: Span, message: &str, help: &str) {
    lower.report(Diagnostic::new(Code::CriterionUnchecked, span, message).help(help));
}

/// A value to compare with, or checks: a list of keys that are all names of checks.
pub fn expected(lower: &Lower, owner: &KeyOwner, node: &Node) -> Vec<Spanned<Check>> {
    let names = |map: &crate::syntax::Map| map.entries.iter().any(|(key, _)| keys::CHECKS.key(&key.text).is_some());
    match node.as_map() {
        Some(map) if names(map) => checks(lower, owner, node),
        _ => vec![Spanned::new(Check::Equals(lower.texts().filling(node)), node.span)],
    }
}

/// The checks of a list of keys, in file order.
pub fn checks(lower: &Lower, owner: &KeyOwner, node: &Node) -> Vec<Spanned<Check>> {
    let Some(keys) = KeyReader::new(lower, owner.part("the check"), &[&keys::CHECKS], node) else { return vec![] };
    if node.as_map().is_some_and(|map| map.entries.is_empty()) {
        lower.empty("check", node.span);
    }
    if keys.has("ignore_case") && !keys.has("contains") && !keys.has("not_contains") {
        keys.does_not_fit(
            "ignore_case",
            "has ignore_case, and neither contains nor not_contains",
            "remove it; a regex ignores the case with (?i) at its beginning",
        );
    }
    let case = letter_case(&keys);
    let mut checks: Vec<Spanned<Check>> = keys::CHECKS
        .keys
        .iter()
        .filter_map(|rule| Some((rule.name, keys.get(rule.name)?)))
        .filter_map(|(name, node)| Some(Spanned::new(check(&keys, case, name, node)?, keys.key_span(name))))
        .collect();
    checks.sort_by_key(|check| check.span);
    if let [only] = checks.as_slice()
        && matches!(only.value, Check::ApartFrom(_))
    {
        unchecked(keys.lower, only.span, "apart_from alone checks nothing", "add a check beside it, such as language: en");
    }
    checks
}

/// `ignore_case`, of the texts that are looked for beside it.
fn letter_case(keys: &KeyReader) -> LetterCase {
    if keys.boolean("ignore_case").unwrap_or(false) { LetterCase::Ignored } else { LetterCase::Exact }
}

fn check(keys: &KeyReader, case: LetterCase, name: &str, node: &Node) -> Option<Check> {
    let lower = keys.lower;
    match name {
        "contains" => Some(Check::Contains(texts(lower, name, node), case)),
        "not_contains" => Some(Check::NotContains(texts(lower, name, node), case)),
        "equals" => Some(Check::Equals(lower.texts().filling(node))),
        "expression" | "numbers_from" | "states_numbers" | "apart_from" if lower.is_data => written_expression(lower, name, node),
        "numbers_from" => lower.texts().expression(name, node).map(Check::NumbersFrom),
        "states_numbers" => lower.texts().expression(name, node).map(Check::StatesNumbers),
        "apart_from" => lower.texts().expression(name, node).map(Check::ApartFrom),
        "expression" => lower.texts().expression(name, node).map(Check::Expression),
        _ => plain(keys, name, node).map(Check::Plain),
    }
}

fn plain(keys: &KeyReader, name: &str, node: &Node) -> Option<PlainCheck> {
    let lower = keys.lower;
    match name {
        "regex" => lower.texts().pattern(&keys.owner, node).map(PlainCheck::Regex),
        "json_schema" => lower.texts().schema(name, &keys.owner, node).map(PlainCheck::JsonSchema),
        "max_length" => lower.whole(name, node).map(PlainCheck::MaxLength),
        "min_length" => lower.whole(name, node).map(PlainCheck::MinLength),
        "fits_channel" => only_true(lower, name, node).map(|()| PlainCheck::FitsChannel),
        "style_guide" => only_true(lower, name, node).map(|()| PlainCheck::StyleGuide),
        "markdown" => features(lower, name, node).map(PlainCheck::Markdown),
        "emojis" if is_none(node) => Some(PlainCheck::Emojis(0)),
        "emojis" => none_or(lower, name, node, WantedValue::NoneOrWhole, |node| node.as_scalar()?.value.as_u64()).map(PlainCheck::Emojis),
        "language" => language(lower, node).map(PlainCheck::Language),
        "pii" => lower.word(name, node, &["none"]).map(|_| PlainCheck::PiiNone),
        "links" if is_none(node) => Some(PlainCheck::Links(vec![])),
        "links" => {
            let hosts = none_or(lower, name, node, WantedValue::Words("none or a list of hosts"), Node::as_list)?;
            Some(PlainCheck::Links(hosts.iter().filter_map(|node| lower.name(name, node)).map(|host| host.value).collect()))
        }
        "readability" => lower.number(name, node).map(PlainCheck::Readability),
        _ => None,
    }
}

fn texts(lower: &Lower, label: &str, node: &Node) -> Vec<Text> {
    lower.one_or_many(label, node).iter().filter_map(|node| lower.texts().loose_text(label, node)).collect()
}

fn is_none(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.text == "none")
}

fn none_or<'a, T>(lower: &Lower, label: &str, node: &'a Node, wanted: WantedValue, read: impl Fn(&'a Node) -> Option<T>) -> Option<T> {
    let value = read(node);
    if value.is_none() {
        let is_off = node.as_scalar().is_some_and(|scalar| scalar.value == false);
        lower.other_shape(label, node, wanted, is_off.then(|| ("write none".to_owned(), Some("none".to_owned()))));
    }
    value
}

/// In a scorecard that a step wrote nothing is computed: a name may be there, an expression may not.
fn written_expression(lower: &Lower, name: &str, node: &Node) -> Option<Check> {
    let text = node.as_scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    let (message, help) = match name {
        "numbers_from" if is_name => return lower.texts().expression(name, node).map(Check::NumbersFrom),
        "states_numbers" if is_name => return lower.texts().expression(name, node).map(Check::StatesNumbers),
        "apart_from" if is_name => return lower.texts().expression(name, node).map(Check::ApartFrom),
        "numbers_from" | "states_numbers" | "apart_from" => {
            (format!("\"{name}\" of a scorecard that a step wrote can only be a name such as with.facts"), "write with.facts")
        }
        _ => ("a scorecard that a step wrote cannot use the check \"expression\"".to_owned(), "use another check, or judge: true"),
    };
    lower.reject(node.span, message, help)
}

/// A check that is asked for by `true`.
fn only_true(lower: &Lower, label: &str, node: &Node) -> Option<()> {
    if lower.boolean(label, node)? {
        return Some(());
    }
    let message = format!("{label}: false checks nothing; write true, or leave it out");
    lower.reject(node.span, message, "write true, or remove the key")
}

fn language(lower: &Lower, node: &Node) -> Option<String> {
    let language = lower.name("language", node)?;
    let is_code = language.value.len() == 2 && language.value.chars().all(|c| c.is_ascii_lowercase());
    if !is_code {
        let message = format!("language {} is not two small letters", quoted(&language.value));
        let help = letters_of(&language.value).map_or("write for example en, de or es".to_owned(), |letters| format!("write {letters}"));
        return lower.reject(node.span, message, help);
    }
    Some(language.value)
}

/// `none`, `full`, or a list of Markdown features.
pub(super) fn features(lower: &Lower, label: &str, node: &Node) -> Option<Features> {
    let Some(list) = node.as_list() else {
        if let Some(word) = node.as_scalar().and_then(|scalar| scalar.value.as_str())
            && Features::WORDS.iter().any(|known| word.split([',', ' ']).any(|word| word == *known))
        {
            let message = format!("{label} {} is not none, full, or a list", quoted(word));
            return lower.reject(node.span, message, format!("write a list: [{word}]"));
        }
        return match lower.word(label, node, &["none", "full"])? {
            "full" => Some(Features::FULL),
            _ => Some(Features::NONE),
        };
    };
    let mut features = Features::NONE;
    for word in list.iter().filter_map(|node| lower.word(label, node, &Features::WORDS)) {
        features.enable(word);
    }
    Some(features)
}
