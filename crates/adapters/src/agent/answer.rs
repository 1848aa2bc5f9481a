//! What a program in print mode answered.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::diagnostic::{behind_cut, cut_words, ends, terminal_sequence, visible};
use crate::event::{Failure, Usage};
use crate::model::{ActKind, AgentAnswer, AgentOutput, AnswerPlace, FailureKind, PrintMode};
use crate::port::{AgentDecision, ModelReply, ProgramEnd, ProgramReply, RefusedHost};

/// The most characters of what it told in a failure: half of them from its beginning, where many a program says why, half from its end.
const MOST_SAID: usize = 600;
/// The most bytes of the id of a session.
const LONGEST_SESSION: usize = 200;
/// The most names of fields that are told, and the most characters of each.
const MOST_FIELDS: usize = 20;
const LONGEST_FIELD: usize = 40;
/// Behind a message about a program that printed messages of the protocol.
const SPEAKS_ACP: &str = "; it prints messages of JSON-RPC: one that speaks the Agent Client Protocol is provider: acp";
/// The most tools in the list of those that it was denied.
const MOST_DENIED: usize = 100;

/// Reads an answer. What the program told beside it counts of a failure, too.
///
/// # Errors
/// Fails with `server_error` if the program says that it failed or ended with another exit code than 0, with `bad_response` for what is no answer, and as
/// [`ProgramReply::ended_for`] says if it was ended before its answer was whole.
pub(super) fn read(model: &str, mode: &PrintMode, reply: ProgramReply) -> Result<ModelReply, Failure> {
    let refused: Vec<AgentDecision> = kept_from(&reply.refused).collect();
    let text = String::from_utf8_lossy(&reply.stdout);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let objects = match mode.output {
        AgentOutput::Text => vec![],
        AgentOutput::Json => whole(text).into_iter().collect(),
        AgentOutput::Jsonl => lines(text),
    };
    let mut beside = PrintedObjects { objects: &objects }.beside(&mode.answer);
    beside.decisions.extend(refused);
    let is_text = std::str::from_utf8(&reply.stdout).is_ok();
    match read_text(&PrintedAnswer { model, mode, reply: &reply, text: is_text.then_some(text), objects: &objects }) {
        Ok((text, note)) => Ok(ModelReply { text, notes: note.into_iter().collect(), ..beside }),
        Err(failure) => ModelReply::failing(failure, beside),
    }
}

/// What a program printed.
struct PrintedAnswer<'p> {
    model: &'p str,
    mode: &'p PrintMode,
    reply: &'p ProgramReply,
    /// `None`: it is no text.
    text: Option<&'p str>,
    objects: &'p [Value],
}

/// The text of the answer, and what is to be noted of it.
fn read_text(printed: &PrintedAnswer) -> Result<(String, Option<String>), Failure> {
    let PrintedAnswer { model, mode, reply, text, objects } = *printed;
    let failed = |kind, what: String| Failure::new(kind, format!("the program of model \"{model}\" {what}"));
    let how = match reply.end {
        ProgramEnd::Exited(0) => None,
        ProgramEnd::Exited(code) => Some(format!("ended with exit code {code}")),
        ProgramEnd::Signaled(signal) => Some(format!("was ended by signal {signal}")),
    };
    let help = reply.help.iter().map(|help| format!("; {help}")).chain(refused_hosts_text(&reply.refused)).collect::<String>();
    // What could not start is not tried again: shells say so by these codes.
    let kind = match reply.end {
        ProgramEnd::Exited(126 | 127) => FailureKind::Unavailable,
        ProgramEnd::Exited(_) | ProgramEnd::Signaled(_) => FailureKind::ServerError,
    };
    let stderr = after_name(&String::from_utf8_lossy(&reply.stderr));
    let found = PrintedObjects { objects };
    let answer = &mode.answer;
    if let Some(failure) = reply.ended_for.as_deref().filter(|failure| !found.is_over(mode) || failure.kind != FailureKind::Timeout) {
        return Err(failure.clone());
    }
    let Some(text) = text else {
        return Err(failed(FailureKind::BadResponse, "printed no text: it is not UTF-8".to_owned()));
    };
    if mode.output == AgentOutput::Text {
        return match how {
            None => Ok((plain(text), None)),
            Some(how) => Err(failed(kind, format!("{how}{stderr}{help}"))),
        };
    }
    let why = || found.text(&answer.error).map(|why| after_name(&why)).filter(|why| !why.is_empty()).unwrap_or_else(|| stderr.clone());
    if found.values(&answer.failed).any(is_true) {
        return Err(failed(FailureKind::ServerError, format!("says that it failed{}{help}", why())));
    }
    if let Some(how) = how {
        return Err(failed(kind, format!("{how}{}{help}", why())));
    }
    if objects.is_empty() {
        let what = format!("printed no JSON object: \"{}\"{help}", cut_words(&visible(text.trim()), MOST_SAID));
        return Err(failed(FailureKind::BadResponse, what));
    }
    let Some(said) = found.text(&answer.text) else {
        let places: Vec<String> = answer.text.iter().map(|place| place.path.join(".")).collect();
        let speaks = if objects.iter().any(|object| object.get("jsonrpc").is_some()) { SPEAKS_ACP } else { "" };
        let what = format!("printed JSON without an answer at {}{}{}{speaks}{help}", places.join(" or "), fields(objects), why());
        return Err(failed(FailureKind::BadResponse, what));
    };
    if let Some(what) = found.cut(mode, text) {
        return Err(failed(FailureKind::BadResponse, format!("{what}{}{help}", why())));
    }
    // Beside a text, an error may be one that the program got over; beside none, it is the reason that there is none.
    if said.trim().is_empty() && found.text(&answer.error).is_some_and(|why| !why.trim().is_empty()) {
        return Err(failed(FailureKind::ServerError, format!("gave no text{}{help}", why())));
    }
    let hung = reply.ended_for.as_ref().map(|_| format!("the program of model \"{model}\" did not end after its answer, and was ended"));
    Ok((plain(&said), hung))
}

/// What follows a name in a message, on one line: of a long text the beginning and the end, in whole words.
pub(super) fn after_name(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match ends(&text, MOST_SAID, MOST_SAID / 2, MOST_SAID / 2) {
        None if text.is_empty() => String::new(),
        None => format!(": {}", visible(&text)),
        Some((_, end)) => {
            let end = String::from_utf8_lossy(behind_cut(end.as_bytes()));
            format!(": {} {}", visible(&cut_words(&text, MOST_SAID / 2)), visible(&end)).trim_end().to_owned()
        }
    }
}

/// The text without the sequences and control characters by which programs colour and steer a terminal. A return that ends no line begins one.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.trim();
    while let Some(c) = rest.chars().next() {
        let sequence = terminal_sequence(rest);
        rest = &rest[sequence.max(c.len_utf8())..];
        match c {
            _ if sequence > 0 => {}
            '\r' => plain.extend(Some('\n').filter(|_| !rest.starts_with('\n'))),
            c if c.is_control() && c != '\n' && c != '\t' => {}
            c => plain.push(c),
        }
    }
    plain
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object)
}

/// The one object that is printed; notes may stand before it.
fn whole(text: &str) -> Option<Value> {
    object(text).or_else(|| {
        let starts = text.match_indices('{').filter(|(at, _)| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'));
        starts.take(100).find_map(|(at, _)| object(text.get(at..)?))
    })
}

/// The objects that stand on lines of their own.
fn lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(object).collect()
}

/// Finds the parts of an answer.
struct PrintedObjects<'o> {
    objects: &'o [Value],
}

impl<'o> PrintedObjects<'o> {
    /// What stands at one place: of all objects that fit, or of the last of them.
    fn at(&self, place: &AnswerPlace) -> Vec<&'o Value> {
        let fits = |object: &&Value| place.only.iter().all(|(path, wanted)| at(object, path) == Some(wanted));
        let found = self.objects.iter().filter(fits).filter_map(|object| at(object, &place.path)).filter(|value| !value.is_null());
        let mut found: Vec<&Value> = found.collect();
        if !place.takes_all {
            found.drain(..found.len().saturating_sub(1));
        }
        found
    }

    fn values(&self, places: &[AnswerPlace]) -> impl Iterator<Item = &'o Value> {
        places.iter().flat_map(|place| self.at(place)).collect::<Vec<_>>().into_iter()
    }

    fn text(&self, places: &[AnswerPlace]) -> Option<String> {
        places.iter().find_map(|place| {
            let texts: Vec<String> = self.at(place).into_iter().filter_map(as_text).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        })
    }

    fn number(&self, places: &[AnswerPlace]) -> Option<f64> {
        let numbers: Vec<f64> = self.values(places).filter_map(Value::as_f64).collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum())
    }

    /// What stands beside the text of an answer. Numbers that are nonsense are as good as none.
    fn beside(&self, answer: &AgentAnswer) -> ModelReply {
        let amount = |places| self.number(places).filter(|number| is_amount(*number)).map(|number| number as u64);
        let (input, output) = (amount(&answer.input_tokens), amount(&answer.output_tokens));
        let cost_usd = self.number(&answer.cost_usd).filter(|cost| is_cost(*cost));
        let is_part = input.is_none() || output.is_none();
        let usage = Usage {
            input_tokens: input.unwrap_or_default(),
            output_tokens: output.unwrap_or_default(),
            cost_usd,
            unknown_tokens: if is_part { Usage::PART } else { 0 },
        };
        ModelReply {
            usage: (input.is_some() || output.is_some() || cost_usd.is_some()).then_some(usage),
            model: self.text(&answer.model),
            session: self.text(&answer.session).filter(|session| is_session(session)),
            decisions: self.values(&answer.denied).flat_map(denied).take(MOST_DENIED).collect(),
            ..ModelReply::default()
        }
    }

    /// Whether it is certain that all of an answer was printed.
    fn is_over(&self, mode: &PrintMode) -> bool {
        match mode.output {
            AgentOutput::Text => false,
            AgentOutput::Json => self.text(&mode.answer.text).is_some() && self.has_ended(&mode.answer) != Some(false),
            AgentOutput::Jsonl => self.has_ended(&mode.answer) == Some(true),
        }
    }

    /// Whether it printed what it prints at the end; `None`: nobody knows what that is.
    fn has_ended(&self, answer: &AgentAnswer) -> Option<bool> {
        (!answer.ended.is_empty()).then(|| self.values(&answer.ended).any(is_true))
    }

    /// Why a text that was found is no whole answer.
    fn cut(&self, mode: &PrintMode, printed: &str) -> Option<&'static str> {
        let last = printed.rsplit('\n').next().unwrap_or_default().trim();
        let is_in_a_line = || mode.output == AgentOutput::Jsonl && last.starts_with('{') && object(last).is_none();
        match self.has_ended(&mode.answer) {
            Some(true) => None,
            Some(false) => Some("stopped before its answer was over"),
            None => is_in_a_line().then_some("stopped in the middle of a line, before its answer was over"),
        }
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// A text; of a list its texts. An object is an answer in JSON.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => Some(list.iter().filter_map(as_text).collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty()),
        Value::Object(_) | Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null => None,
    }
}

/// `true`, or anything that is not empty.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_true) => *is_true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Whether a number can be one of tokens of one call.
pub(super) fn is_amount(number: f64) -> bool {
    (0.0..1e12).contains(&number)
}

/// Whether a number can be the US dollars of one call.
pub(super) fn is_cost(number: f64) -> bool {
    (0.0..1e6).contains(&number)
}

/// An id that can be an argument.
pub(super) fn is_session(session: &str) -> bool {
    session.len() <= LONGEST_SESSION
        && session.starts_with(|c: char| c.is_ascii_alphanumeric())
        && session.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
}

/// The names of the fields that came instead, with dots between them: what a path can be made of. Names are the program's own words.
fn fields(objects: &[Value]) -> String {
    fn collect(object: &Value, above: &str, found: &mut BTreeSet<String>) {
        for (name, value) in object.as_object().into_iter().flatten().take(MOST_FIELDS + 1) {
            let path = format!("{above}{}", cut_words(&visible(name), LONGEST_FIELD));
            match value {
                Value::Object(_) if !above.contains('.') => collect(value, &format!("{path}."), found),
                _ if found.len() <= MOST_FIELDS => {
                    found.insert(path);
                }
                _ => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    objects.iter().for_each(|object| collect(object, "", &mut found));
    let more = if found.len() > MOST_FIELDS { ", …" } else { "" };
    let names: Vec<String> = found.into_iter().take(MOST_FIELDS).collect();
    if names.is_empty() { String::new() } else { format!(" (it has {}{more})", names.join(", ")) }
}

/// The hosts that its sandbox kept it from, with what to write, behind a message.
pub(super) fn refused_hosts_text(refused: &[RefusedHost]) -> Option<String> {
    RefusedHost::in_words(refused).map(|told| format!("; {told}; what it may reach stands in network of the model"))
}

/// The hosts that its sandbox kept it from.
pub(super) fn kept_from(refused: &[RefusedHost]) -> impl Iterator<Item = AgentDecision> {
    let decision = |RefusedHost { host, rule }: &RefusedHost| AgentDecision {
        act: ActKind::Host,
        target: host.clone(),
        is_allowed: false,
        rule: rule.clone(),
        by: String::new(),
    };
    refused.iter().map(decision)
}

/// The tools in a list of those that were denied.
fn denied(value: &Value) -> Vec<AgentDecision> {
    let name = |value: &Value| {
        let named = ["tool_name", "tool", "name"].into_iter().find_map(|key| value.get(key)?.as_str());
        let tool = value.as_str().or(named)?;
        Some(AgentDecision {
            act: ActKind::Tool,
            target: cut_words(&visible(tool), 200),
            is_allowed: false,
            rule: "the program itself denied it".to_owned(),
            by: String::new(),
        })
    };
    value.as_array().into_iter().flatten().filter_map(name).collect()
}
