//! Test files, and the cases under `tests` of a pipeline.

use std::sync::Arc;

use indexmap::IndexMap;
use strum::VariantArray;

use super::case_rows;
use super::checks::{expected, is_measurable};
use super::context::{Lower, quoted};
use super::keys;
use super::other_file::FileRole;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::replies::by_step;
use super::world::World;
use crate::diagnostic::Diagnostic;
use crate::model::{CallPart, Channels, Expect, ExpectedCalls, Layered, Mock, PastMessage, ReplySet, TestCase, TestFile};
use crate::source::{FileId, Spanned};
use crate::syntax::{MapKey, Node};

/// What is in a test file for all cases; a case's own replaces it step by step.
#[derive(Debug, Default)]
pub(crate) struct SharedCases {
    now: Option<Spanned<String>>,
    mocks: Arc<IndexMap<String, Spanned<Mock>>>,
    replies: Arc<IndexMap<String, ReplySet>>,
}

/// Reads a test file; `None` if it does not say which pipeline it tests.
pub fn test_file(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Option<TestFile> {
    let lower = Lower::new(file, world, diagnostics);
    let keys = lower.root(tree, &keys::TEST, "this test")?;
    keys.sentence("description");
    let shared = SharedCases { now: now(&keys), mocks: Arc::new(mocks(&keys)), replies: Arc::new(by_step(&keys).by_step) };
    let written = keys.filled_list("cases");
    if written.is_none() && !keys.has("cases") && !keys.has("cases_from") {
        keys.missing("has neither \"cases\" nor \"cases_from\"", "add cases: the cases, or cases_from: { file: cases.csv }");
    }
    let (rows, lacks_column) = case_rows::rows(&keys);
    let first_row = written.map_or(0, <[Node]>::len);
    let all: Vec<Node> = written.unwrap_or_default().iter().cloned().chain(rows).collect();
    let read = |node: &Node, number: usize| {
        Some(TestCase {
            is_row: number > first_row,
            lacks_column: lacks_column && number > first_row,
            ..case(&lower, node, number, &shared)?
        })
    };
    let cases = lower.unique("cases", Some(&all), read, |case| &case.id);
    let written = keys.name("test")?;
    let answer = lower.world().existing(file, &written.value);
    let pipeline = lower.found(FileRole::Pipeline, &written.value, written.span, answer)?;
    let models = keys.filled_list("models").and_then(|_| keys.names("models")).unwrap_or_default();
    for (place, name) in models.iter().enumerate() {
        if let Some(first) = models.iter().take(place).find(|known| known.value == name.value) {
            let found = Diagnostic::duplicate_id(name.span, format!("model {} is in models twice", quoted(&name.value)));
            lower.report(found.related(first.span, "first named here").help("remove it, or name another model"));
        }
    }
    Some(TestFile { pipeline: Spanned::new(pipeline, written.span), cases, models, judge_model: keys.name("judge_model") })
}

/// The cases of a list.
pub fn cases(lower: &Lower, list: Option<&[Node]>, shared: &SharedCases) -> Vec<TestCase> {
    lower.unique("cases", list, |node, number| case(lower, node, number, shared), |case| &case.id)
}

fn case(lower: &Lower, node: &Node, number: usize, shared: &SharedCases) -> Option<TestCase> {
    let owner = KeyOwner::entry("case", node.text_of("id"), number);
    let keys = KeyReader::new(lower, owner, &[&keys::TEST_CASE], node)?;
    keys.sentence("description");
    let id = keys.get("id").and_then(|node| lower.new_id("case id", node));
    let own_mocks = mocks(&keys);
    Some(TestCase {
        id: id.unwrap_or_else(|| Spanned::new(format!("case {number}"), keys.span)),
        is_row: false,
        lacks_column: false,
        now: shared.now.clone(),
        inputs: keys.entries("inputs").map(|(name, node)| (name.text.clone(), Spanned::new(node.to_value(), name.span))).collect(),
        conversation: keys.list("conversation").unwrap_or_default().iter().filter_map(|node| past_message(lower, node)).collect(),
        channels: match keys.filled_list("channels") {
            Some(_) => Channels::Named(keys.names("channels").unwrap_or_default()),
            None => Channels::Default,
        },
        mocks: Layered { shared: shared.mocks.clone(), own: own_mocks },
        replies: Layered { shared: shared.replies.clone(), own: by_step(&keys).by_step },
        expect: expect(&keys),
        golden: keys.boolean("golden").unwrap_or(false),
    })
}

fn past_message(lower: &Lower, node: &Node) -> Option<PastMessage> {
    let keys = KeyReader::new(lower, "the message", &[&keys::PAST_MESSAGE], node)?;
    let (role, text, channel) = (keys.choice("role"), keys.sentence("text"), keys.name("channel").map(|name| name.value));
    let agent = keys.name("agent").map(|name| name.value);
    Some(PastMessage { role: role?, text: text?, channel, agent, ..PastMessage::default() })
}

fn now(keys: &KeyReader) -> Option<Spanned<String>> {
    let now = keys.fixed("now")?;
    if chrono::DateTime::parse_from_rfc3339(&now.value).is_err() {
        let message = format!("now {} is not a date and time with a time zone", quoted(&now.value));
        let forms = ["%Y-%m-%d %H:%M", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M"];
        let value = if now.value.contains(' ') { now.value.clone() } else { format!("{} 09:00", now.value) };
        let time = forms.iter().find_map(|form| chrono::NaiveDateTime::parse_from_str(&value, form).ok());
        let help = match time {
            Some(time) => format!("write \"{}Z\"", time.format("%Y-%m-%dT%H:%M:%S")),
            None => "write it as \"2026-11-18T09:00:00Z\": year, month, day, T, time, Z".to_owned(),
        };
        return keys.lower.reject(now.span, message, help);
    }
    Some(now)
}

fn mocks(keys: &KeyReader) -> IndexMap<String, Spanned<Mock>> {
    let mocks = keys.entries("mocks").filter_map(|(step, node)| {
        let is_error =
            node.as_map().is_some_and(|map| map.entries.len() == 1 && map.get("error").is_some_and(|node| node.as_scalar().is_some()));
        let mock = match is_error {
            true => {
                let keys = KeyReader::new(keys.lower, KeyOwner::Quoted(step.text.clone()).part("the mock"), &[&keys::MOCK_ERROR], node)?;
                Mock::Error(keys.choice("error")?)
            }
            false => Mock::Output(node.to_value()),
        };
        Some((step.text.clone(), Spanned::new(mock, step.span)))
    });
    mocks.collect()
}

fn expect(keys: &KeyReader) -> Option<Expect> {
    let expect = keys.section("expect", &keys::EXPECT)?;
    let at = |key: &str| expect.value_span(key);
    let is_empty = |node: &Node| node.as_map().is_some_and(|map| map.entries.is_empty() && !map.is_cut);
    let written = keys.get("expect").and_then(Node::as_map);
    Some(Expect {
        is_empty: written.is_some_and(|map| !map.is_cut && map.entries.iter().all(|(_, node)| is_empty(node))),
        status: expect.word("status").map(|word| Spanned::new(word.to_owned(), at("status"))),
        exit: expect.read("exit", Lower::whole).and_then(|code| i64::try_from(code).ok()).map(|code| Spanned::new(code, at("exit"))),
        refined: expect.boolean("refined").map(|refined| Spanned::new(refined, at("refined"))),
        outputs: expect
            .entries("outputs")
            .map(|(name, node)| {
                let owner = KeyOwner::Named("output", name.text.clone());
                (Spanned::new(name.text.clone(), name.span), expected(keys.lower, &owner, node))
            })
            .collect(),
        result: expect.get("result").map(|node| expected(keys.lower, &KeyOwner::Quoted("result".to_owned()), node)).unwrap_or_default(),
        judge: expect.get("judge").and_then(|node| {
            let text = keys.lower.description("judge", node, "write the sentence itself; the judge reads the inputs of the run, too")?;
            is_measurable(keys.lower, "judge", &keys.owner, &text, node.span, None);
            Some(Spanned::new(text, node.span))
        }),
        max_tokens: expect.read("max_tokens", Lower::whole).map(|most| Spanned::new(most, at("max_tokens"))),
        max_cost_usd: expect.read("max_cost_usd", Lower::positive).map(|most| Spanned::new(most, at("max_cost_usd"))),
        blocked: expect.names("blocked").map(|names| Spanned::new(names, at("blocked"))),
        sent: expect.get("sent").map(|node| expected(keys.lower, &KeyOwner::Quoted("sent".to_owned()), node)).unwrap_or_default(),
        calls: expect
            .entries("calls")
            .filter_map(|(path, node)| Some((Spanned::new(path.text.clone(), path.span), calls(keys.lower, path, node)?)))
            .collect(),
        asked: expect.names("asked").map(|names| Spanned::new(names, at("asked"))),
        max_parallel: expect.read("max_parallel", Lower::whole).map(|most| Spanned::new(most, at("max_parallel"))),
        steps: expect
            .entries("steps")
            .filter_map(|(path, node)| {
                let words = ["succeeded", "failed", "skipped", "blocked", "cancelled", "not_run"];
                let status = keys.lower.word(&format!("status of {}", quoted(&path.text)), node, &words)?;
                Some((Spanned::new(path.text.clone(), path.span), Spanned::new(status.to_owned(), node.span)))
            })
            .collect(),
    })
}

fn calls(lower: &Lower, path: &MapKey, node: &Node) -> Option<ExpectedCalls> {
    let owner = KeyOwner::Quoted(path.text.clone()).part("calls");
    let keys = KeyReader::new(lower, &owner, &[&keys::EXPECTED_CALLS], node)?;
    if node.as_map().is_some_and(|map| map.entries.is_empty()) {
        lower.empty(&format!("calls of {}", quoted(&path.text)), node.span);
    }
    let names = |key: &str| keys.names(key).map(|names| Spanned::new(names, keys.value_span(key)));
    let part = |part: CallPart| Some((part, expected(lower, &KeyOwner::Quoted(part.key().to_owned()), keys.get(part.key())?)));
    let checks = CallPart::VARIANTS.iter().filter_map(|own| part(*own)).collect();
    Some(ExpectedCalls { agent: names("agent"), pictures: names("pictures"), checks })
}
