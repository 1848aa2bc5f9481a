//! Tool calls that a model wrote in the format of its own training, and that its server passed on as text.
//!
//! Formats with marks (Hermes and Qwen, Mistral, Llama, DeepSeek, Kimi, GLM, Granite, Command R, MiniMax, LFM2 and others) are calls, or an answer that
//! cannot be used. JSON and calls like those of Python have no marks; they are calls if the text is nothing else and names offered tools.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::begins;
use super::hints::{self, COLLECTIONS, Names, spelling};
use super::layout::{OpenFence, places, without_invisible};
use super::literal;
use super::marks::has_turns;
use crate::model::{leading_json, read_json};

/// Marks with which calls begin.
pub(super) const OPENINGS: [&str; 30] = [
    "<tool_call>",
    "<tool_calls>",
    "<toolcall>",
    "<tool_use>",
    "<function_call>",
    "<function_calls>",
    "<functioncall>",
    "<function=",
    "<invoke name=",
    "<tools>",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "<longcat_tool_call>",
    "[TOOL_CALLS]",
    "[TOOL_CALL]",
    "[TOOL_REQUEST]",
    "<|python_tag|>",
    "<|tool_call>",
    "<|tool_call|>",
    "<|tool_calls|>",
    "<|tool_call_start|>",
    "<|tool_call_begin|>",
    "<|tool_calls_section_begin|>",
    "<|START_ACTION|>",
    "<|action_start|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool_calls_begin｜>",
    "<|tools_prefix|>",
    "<｜DSML｜",
];
/// Keys that name a tool in JSON, and those that hold its arguments.
const NAMES: [&str; 7] = ["name", "tool", "tool_name", "function", "function_name", "recipient_name", "action"];
const ARGUMENTS: [&str; 8] = ["arguments", "parameters", "args", "input", "tool_input", "kwargs", "with", "action_input"];
/// Keys that hold a list of calls.
const LISTS: [&str; 3] = ["tool_calls", "function_calls", "tool_uses"];
/// Most calls in one text, and most parameters of one whose parameters are elements.
const MOST_CALLS: usize = 64;
const MOST_PARAMETERS: usize = 256;
/// Longest text that is searched, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCall {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

/// Calls in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCalls<'t> {
    /// The text before them.
    pub before: &'t str,
    /// What they look like, for messages.
    pub form: &'static str,
    /// The calls; `None`: they cannot be read, or text follows them.
    pub calls: Option<Vec<WrittenCall>>,
}

/// The calls in a text, for these tools and the schemas of their arguments; `None`: there are none.
pub fn written_calls<'t>(text: &'t str, tools: &[(&str, &Value)]) -> Option<WrittenCalls<'t>> {
    let whole = unfenced(text);
    if whole.len() > MOST_BYTES {
        return None;
    }
    if let Some(at) = opening(whole) {
        let form = OPENINGS.iter().find(|mark| begins(&whole[at..], mark)).copied().unwrap_or_default();
        let calls = CallReader { tools, calls: vec![], is_marked: true, is_list_open: false }.read(&whole[at..]);
        // What a next turn asks for, the model asked itself.
        let calls = calls.filter(|_| !has_turns(&whole[..at]));
        let begins_line = whole[..at].rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        // In the middle of a sentence it is spoken of.
        if calls.is_some() || begins_line {
            return Some(WrittenCalls { before: whole[..at].trim(), form, calls });
        }
    } else if let Some(calls) = (CallReader { tools, calls: vec![], is_marked: false, is_list_open: false }).read(whole)
        && calls.iter().all(|call| tools.iter().any(|(name, _)| *name == call.tool))
    {
        return Some(WrittenCalls { before: "", form: "JSON", calls: Some(calls) });
    }
    let form = hints::form(text, &Names::new(tools.iter().map(|(name, _)| *name)))?;
    Some(WrittenCalls { before: "", form, calls: None })
}

/// The place of the first mark of calls that is not in code.
pub(super) fn opening(text: &str) -> Option<usize> {
    { places(text, OpenFence::Code) }.into_iter().find(|at| OPENINGS.iter().any(|mark| begins(&text[*at..], mark)))
}

/// What is in the one code fence that a text is; otherwise the text.
pub fn unfenced(text: &str) -> &str {
    let whole = without_invisible(text).trim_end();
    let inside = whole.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).and_then(|rest| Some(rest.split_once('\n')?.1.trim()));
    inside.filter(|inside| !inside.contains("```")).unwrap_or(whole)
}

/// A pattern of this file.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file")
}

/// What stands around and between calls and says nothing.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)^(?: \s+ | [;,] | </?(?:[a-z]+[:_])?tool_?(?:calls?|use)> | </?function_?calls?> | </function> | </invoke> | </?tools>
        | <\|/?[a-z_]+\|?> | <[a-z_]+\|> | <｜[^<>｜]+｜> | </?｜DSML｜[a-z_]+> | \[/?(?:TOOL_CALLS?|TOOL_REQUEST|END_TOOL_REQUEST|ARGS)\]
        | \[CALL_ID\]\w+ | ```(?:json|python|tool_code)? )",
    )
});
static HEAD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^<(?:｜DSML｜|antml:|steptml:)?(?:function=|invoke\s+name=)"?([^">\s]+)"?\s*>"#));
static TAIL: LazyLock<Regex> = LazyLock::new(|| pattern(r"</(?:｜DSML｜|antml:|steptml:)?(?:function|invoke)>"));
static PARAMETER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"<(?:｜DSML｜|antml:|steptml:)?parameter(?:=|\s+name=)"?([^">\s]+)"?[^>]*>"#));
static PARAMETER_END: LazyLock<Regex> = LazyLock::new(|| pattern(r"</(?:｜DSML｜|antml:|steptml:)?parameter>"));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:call:)?([A-Za-z_][A-Za-z0-9_.\-]*)(?::\d+)?"));
/// What ends a call whose arguments are left out.
static NO_ARGUMENTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?:<\|tool_call_argument_begin\|>|<｜tool▁sep｜>)?\s*(?:</[a-z_:]*(?:tool_?calls?|function_?calls?|function)>|<\|/?[a-z_]+_end\|>|<｜[^<>｜]+end｜>|\[ARGS\]\s*(?:$|\[TOOL))",
    )
});
static PAIRS_END: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*(?:</[a-z_:]*tool_?calls?>|<\|/?[a-z_]+\|>)"));
static PAIR: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)^\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>"));

/// Reads calls one after the other, to the end of the text.
struct CallReader<'a> {
    tools: &'a [(&'a str, &'a Value)],
    calls: Vec<WrittenCall>,
    is_marked: bool,
    /// Whether a list of calls as Python has it was begun and not ended.
    is_list_open: bool,
}

impl CallReader<'_> {
    fn read(mut self, text: &str) -> Option<Vec<WrittenCall>> {
        let mut rest = text;
        // A list of calls as Python has it.
        if let Some(inside) = text.strip_prefix('[').and_then(|inside| inside.trim_end().strip_suffix(']')).filter(|_| !self.is_marked)
            && inside.trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
        {
            rest = inside;
        }
        while !rest.is_empty() {
            if let Some(mark) = BETWEEN.find(rest) {
                rest = &rest[mark.end()..];
            } else {
                rest = self.next(rest)?;
            }
            if self.calls.len() > MOST_CALLS {
                return None;
            }
        }
        (!self.calls.is_empty() && !self.is_list_open).then_some(self.calls)
    }

    /// Reads what begins here, and returns the rest.
    fn next<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if let Some(head) = HEAD.captures(text) {
            let after = &text[head.get(0)?.end()..];
            // JSON says by itself where it ends. Parameters do not: without the end of the call, some of them or of their text may be missing.
            if after.trim_start().starts_with('{') {
                let (arguments, after) = json(after.trim_start()).filter(|(value, _)| value.is_object())?;
                self.add(&head[1], arguments);
                return Some(after);
            }
            let end = TAIL.find(after)?;
            let arguments = self.parameters(&head[1], &after[..end.start()])?;
            self.add(&head[1], arguments);
            return Some(&after[end.end()..]);
        }
        if text.starts_with(['{', '[']) {
            // A list of calls as Python has it, behind a mark.
            if let Some(inside) = text.strip_prefix('[').filter(|inside| inside.trim_start().starts_with(|c: char| c.is_ascii_alphabetic()))
            {
                self.is_list_open = true;
                return Some(inside.trim_start());
            }
            let (value, after) = json(text)?;
            self.of_json(value)?;
            return Some(after);
        }
        // The rest of such a list.
        if let Some(after) = text.strip_prefix(']').filter(|_| !self.calls.is_empty()) {
            self.is_list_open = false;
            return Some(after);
        }
        let named = |text: &'t str| {
            let name = NAME.captures(text)?;
            let mut after = &text[name.get(0)?.end()..];
            while let Some(mark) = BETWEEN.find(after).filter(|mark| !matches!(mark.as_str(), ";" | ",")) {
                after = &after[mark.end()..];
            }
            Some((name, after))
        };
        let (mut name, mut after) = named(text)?;
        let ended =
            |name: &regex::Captures<'_>| self.is_marked && NO_ARGUMENTS.is_match(&text[name.get(0).map_or(0, |whole| whole.end())..]);
        // DeepSeek and Step write the kind of the call first.
        if &name[1] == "function" && HEAD.is_match(after) {
            return Some(after);
        }
        if &name[1] == "function" && !after.starts_with(['{', '(']) {
            (name, after) = named(after)?;
        }
        let is_ended = ended(&name);
        if after.starts_with("<arg_key>") {
            return self.pairs(&name[1], after);
        }
        let (arguments, after) = match after.strip_prefix('(') {
            Some(inside) => literal::arguments(inside)?,
            None if after.starts_with('{') => json(after)?,
            None if is_ended => (Value::Object(Map::new()), after),
            None => return None,
        };
        self.add(&name[1], arguments);
        Some(after)
    }

    /// Reads a call of this tool whose arguments are pairs of elements, and returns the rest.
    fn pairs<'t>(&mut self, tool: &str, text: &'t str) -> Option<&'t str> {
        let mut arguments = Map::new();
        let mut rest = text;
        while let Some(pair) = PAIR.captures(rest).filter(|_| arguments.len() < MOST_PARAMETERS) {
            let value = self.typed(tool, pair[1].trim(), &pair[2]);
            put(&mut arguments, pair[1].trim(), value)?;
            rest = &rest[pair.get(0)?.end()..];
        }
        // More of them may be missing if the call has no end.
        PAIRS_END.find(rest)?;
        self.add(tool, arguments.into());
        Some(rest)
    }

    fn add(&mut self, name: &str, arguments: Value) {
        self.calls.push(WrittenCall { tool: self.known(name), arguments });
    }

    /// The name of a tool without the collection that it is in, as it is offered.
    fn known(&self, name: &str) -> String {
        let is_offered = |name: &str| self.tools.iter().any(|(offered, _)| *offered == name);
        let bare = COLLECTIONS.iter().find_map(|collection| name.strip_prefix(collection)).filter(|_| !is_offered(name)).unwrap_or(name);
        if is_offered(bare) {
            return bare.to_owned();
        }
        // A name with signs that identifiers cannot have is written with others, where that is certain.
        let mut alike = self.tools.iter().filter(|(offered, _)| spelling(offered) == spelling(bare));
        match (alike.next(), alike.next()) {
            (Some((offered, _)), None) => (*offered).to_owned(),
            _ => bare.to_owned(),
        }
    }

    /// The calls in a JSON value, of which one names its tool under one key and its arguments under another. A description of a tool is none.
    fn of_json(&mut self, value: Value) -> Option<()> {
        let mut object = match value {
            Value::Array(list) => return list.into_iter().try_for_each(|one| self.of_json(one)),
            Value::Object(object) => object,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        if let Some(list) = LISTS.iter().find_map(|key| object.remove(*key)) {
            return self.of_json(list);
        }
        for key in ["function", "function_call", "tool_call"] {
            if object.get(key).is_some_and(Value::is_object) {
                return self.of_json(object.remove(key)?);
            }
        }
        // Apertus has the name of the tool as the key of its arguments.
        if let Some(name) = object.keys().next().filter(|_| self.is_marked && object.len() == 1).cloned()
            && self.tools.iter().any(|(offered, _)| *offered == name)
            && object[&name].is_object()
        {
            self.add(&name, object.remove(&name)?);
            return Some(());
        }
        if object.contains_key("description") {
            return None;
        }
        // Two names, or arguments under two keys, say two things.
        let names = NAMES.iter().filter(|key| object.get(**key).is_some_and(Value::is_string)).count();
        if names > 1 || ARGUMENTS.iter().filter(|key| object.contains_key(**key)).count() > 1 {
            return None;
        }
        let name = NAMES.iter().find_map(|key| object.get(*key)?.as_str())?.to_owned();
        let arguments = match ARGUMENTS.iter().find_map(|key| object.remove(*key)) {
            Some(Value::String(text)) => arguments_in(&text)?,
            Some(value) => value,
            None if self.is_marked => Value::Object(Map::new()),
            None => return None,
        };
        let arguments = if arguments.is_null() { Value::Object(Map::new()) } else { arguments };
        arguments.is_object().then(|| self.add(&name, arguments))
    }

    /// The arguments of a call whose parameters are elements. Each ends with its own end, or where the next or the call's end is.
    fn parameters(&self, tool: &str, body: &str) -> Option<Value> {
        let mut arguments = Map::new();
        let mut rest = body;
        while let Some(start) = PARAMETER.captures(rest).filter(|_| arguments.len() < MOST_PARAMETERS) {
            let whole = start.get(0).filter(|whole| rest[..whole.start()].trim().is_empty())?;
            let after = &rest[whole.end()..];
            let next = PARAMETER.find(after).map_or(after.len(), |next| next.start());
            let (end, behind) = PARAMETER_END.find(&after[..next]).map_or((next, next), |end| (end.start(), end.end()));
            put(&mut arguments, &start[1], self.typed(tool, &start[1], &after[..end]))?;
            rest = &after[behind..];
        }
        rest.trim().is_empty().then_some(Value::Object(arguments))
    }

    /// A value that was written without quotes: text where the schema wants text, otherwise JSON.
    fn typed(&self, tool: &str, key: &str, text: &str) -> Value {
        let text = text.strip_prefix('\n').unwrap_or(text);
        let text = text.strip_suffix('\n').unwrap_or(text);
        let tool = self.known(tool);
        let schema =
            self.tools.iter().find(|(name, _)| *name == tool).and_then(|(_, schema)| schema.pointer(&format!("/properties/{key}/type")));
        let is_text =
            schema.is_some_and(|kind| kind == "string" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == "string")));
        let value = || serde_json::from_str(text.trim()).ok().or_else(|| literal::whole(text.trim()).filter(|value| !value.is_string()));
        if is_text { None } else { value() }.unwrap_or_else(|| Value::String(text.to_owned()))
    }
}

/// Puts an argument to the others; `None`: there is one of its name.
fn put(arguments: &mut Map<String, Value>, name: &str, value: Value) -> Option<()> {
    arguments.insert(name.to_owned(), value).is_none().then_some(())
}

/// The JSON that a text is, in which each key stands once.
pub fn arguments_in(text: &str) -> Option<Value> {
    read_json(text).ok()
}

/// The JSON that a text begins with, and the rest.
fn json(text: &str) -> Option<(Value, &str)> {
    let (value, length) = leading_json(text)?;
    Some((value, &text[length..]))
}
