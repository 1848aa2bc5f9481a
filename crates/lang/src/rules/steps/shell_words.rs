//! F224: words of a shell where none reads them: they stay as they are.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::model::{Authored, Form, Interpreter, Leaf, StartedBy, StartedCommand, TextKey};
use crate::redact::each_seat;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    // What stands where a key does is told by F600.
    let mut keys: HashSet<Span> = HashSet::new();
    each_seat(file, &mut |_, _, text| keys.extend([text.place.span]));
    file.each_text(&mut |authored| {
        if !authored.text().is_some_and(|text| keys.contains(&text.place.span)) {
            expansions(authored, out);
        }
    });
    file.commands().iter().for_each(|command| redirections(command, out));
}

fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::ShellWords, span, message)
}

/// `$(date)`, `${PORT:-80}`, `$HOME/x`, `~/x`.
fn expansions(authored: Authored, out: &mut Vec<Diagnostic>) {
    use TextKey::*;
    // Addresses and headers have no such signs of their own; elsewhere the whole value has to be one.
    let is_inside = match authored.key {
        Url | Header | Query | BaseUrl | MailServer => true,
        Fixed | FixedInput | ProgramArgument | Env | Argument | Value | SendValue | GateValue | Output => false,
        _ => return,
    };
    let (text, span) = match authored.leaf {
        Leaf::Text(text) if text.form == Form::Plain || is_inside => (&*text.source, text.place.span),
        Leaf::Text(_) => return,
        Leaf::Constant(serde_json::Value::String(text)) => (text.as_str(), authored.owner),
        Leaf::Constant(_) => return,
    };
    let Some((written, help)) = expansion(text, is_inside, authored.key == ProgramArgument) else { return };
    out.push(found(span, &format!("{} stays as it is: no shell reads this", quoted(written))).help(help));
}

/// What a shell would put another text for, and what to write instead.
fn expansion(text: &str, is_inside: bool, is_argument: bool) -> Option<(&str, String)> {
    static VARIABLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\$\{([A-Z_][A-Z0-9_]*)(?::?[-=?]([^}]*))?\}|\$([A-Z][A-Z0-9_]+)(?:/|$)").ok());
    let whole = text.trim();
    if whole.starts_with("$(") && whole.ends_with(')') {
        let is_date = whole[2..].trim_start().starts_with("date");
        let help = if is_date {
            "write \"{{ run.today }}\" for the day, or \"{{ run.now }}\" for the time"
        } else {
            "put the program into a step, and read its output"
        };
        return Some((whole, help.to_owned()));
    }
    if is_argument && (whole == "~" || whole.starts_with("~/")) {
        return Some((whole, "take the folder as an input: inputs: { folder: folder }, and \"{{ inputs.folder }}\"".to_owned()));
    }
    let groups = VARIABLE.as_ref()?.captures(text)?;
    let found = groups.get(0)?;
    let is_at_start = found.start() == text.len() - text.trim_start().len();
    let is_whole = found.len() == whole.len();
    if !(is_inside || is_whole || is_argument && is_at_start) {
        return None;
    }
    let name = groups.get(1).or_else(|| groups.get(3))?.as_str();
    let help = match groups.get(2) {
        Some(default) if is_inside => format!("write {{{{ env.{name} | default('{}') }}}}", default.as_str()),
        None if is_inside => format!("write {{{{ env.{name} }}}}"),
        _ => {
            let (name, kind) = if whole.contains('/') { ("folder", "folder") } else { (&*name.to_lowercase(), "text") };
            format!(
                "write inputs: {{ {name}: {kind} }} in the head of the file, and \"{{{{ inputs.{name} }}}}\" in place of the whole argument"
            )
        }
    };
    Some((found.as_str().trim_end_matches('/'), help))
}

/// Programs behind a pipe, besides interpreters.
const BEHIND: [&str; 15] =
    ["wc", "sort", "head", "tail", "grep", "cut", "uniq", "tee", "tr", "jq", "cat", "less", "curl", "gzip", "column"];

/// `|`, `&&`, `>` and the like among the arguments of a program.
fn redirections(command: &StartedCommand, out: &mut Vec<Diagnostic>) {
    let program = command.program.value.rsplit('/').next().unwrap_or_default();
    if ["expr", "test", "[", "echo", "printf", "jq", "find"].contains(&program) {
        return;
    }
    let words: Vec<&str> = command.args.iter().map(|arg| &*arg.source).collect();
    let counted = format!(
        "remove | and what is behind it, add output: lines to the step, and write steps.{}.output | length where the number is read",
        if command.by == StartedBy::Step { command.who } else { "ID" }
    );
    for (place, word) in words.iter().enumerate() {
        let next = words.get(place + 1).copied().unwrap_or_default();
        let help = match *word {
            "|" if next == "wc" => &counted,
            "|" | "||" | "&&" if BEHIND.contains(&next) || Interpreter::parse(next).is_some() => {
                "put the second program into a step of its own, or use a filter such as | length"
            }
            "2>&1" | "&>" | "2>/dev/null" => "remove it: what a program prints on standard error is in details.stderr of its step",
            ">" | ">>" if place + 2 == words.len() && place > 0 => {
                "remove it, and read the output of the step, or write it with a file tool"
            }
            _ => continue,
        };
        let Some(arg) = command.args.get(place) else { continue };
        let message = format!("{} is an argument of {}: no shell reads this", quoted(word), quoted(program));
        out.push(found(arg.place.span, &message).help(help));
        return;
    }
}
