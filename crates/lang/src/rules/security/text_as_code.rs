//! F603: texts of others that would be read as code.

use crate::diagnostic::one_line;
use crate::model::{Form, Interpreter, Read, StartedBy, StartedCommand, Text, TextKey, loads_code};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::{Span, Spanned};
use crate::template::is_root;

/// F603: a value that becomes code, or a part of an argument of a server.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    in_arguments(pipeline, out);
    in_python(pipeline, out);
}

/// Options behind which interpreters take code.
const TAKE_CODE: [&str; 13] = [
    "--eval", "--exec", "--print", "--command", "--init-command", "--execute", "--run", "-command", "-encodedcommand", "/c", "/k", "eval",
    "exec",
];
/// The letters of such options; several stand together (`-lc`).
const CODE_LETTERS: [char; 6] = ['c', 'C', 'e', 'E', 'r', 'p'];

/// Whether what is behind this argument is read as code.
fn takes_code(before: &str) -> bool {
    let letters = before.strip_prefix('-').filter(|letters| (1..=4).contains(&letters.len()) && letters.chars().all(char::is_alphabetic));
    letters.is_some_and(|letters| letters.ends_with(CODE_LETTERS)) || TAKE_CODE.contains(&&*before.to_ascii_lowercase())
}

/// A value that an interpreter reads as code, or that tells it which to load.
fn as_code(args: &[Text], env: &[(Spanned<String>, Text)], is_value: &dyn Fn(&&Read) -> bool, out: &mut Vec<Diagnostic>) {
    let behind = args.windows(2).filter(|pair| pair[0].form == Form::Plain && takes_code(&pair[0].source)).map(|pair| &pair[1]);
    let loaded = env.iter().filter(|(name, _)| loads_code(&name.value)).map(|(_, text)| text);
    for text in behind.chain(loaded).filter(|text| text.form != Form::Plain) {
        for read in text.reads.iter().filter(is_value) {
            let message = format!("{} would be read as code, or say which to load", read.path.join("."));
            out.push(
                new_finding(read.span, &message)
                    .help("write the code in the file, and give it the value as an argument or a variable of its own"),
            );
        }
    }
}

/// A value that says which program is started, or that its program reads as code, wherever it stands.
fn as_program(command: &StartedCommand, is_value: &dyn Fn(&&Read) -> bool, out: &mut Vec<Diagnostic>) {
    let Some(interpreter) = Interpreter::parse(&command.program.value) else { return };
    let is_plain = |text: &Text| text.form == Form::Plain && !text.source.starts_with('-');
    let starts = interpreter == Interpreter::Starter;
    let (what, ends_options) = match interpreter {
        Interpreter::Shell | Interpreter::Script => ("would say which program or file is run", true),
        Interpreter::Starter => ("would say which program or file is run", false),
        Interpreter::Calculator | Interpreter::Code | Interpreter::Commands => ("would be read as code", false),
    };
    // `timeout 5 x`: a number and `NAME=value` are no program.
    let is_aside = |text: &Text| starts && (text.source.contains('=') || text.source.starts_with(|c: char| c.is_ascii_digit()));
    let mut before = "";
    for text in command.args {
        if text.form != Form::Plain {
            for read in text.reads.iter().filter(|read| is_value(read) && !(ends_options && before == "--")) {
                let help = "write the program or its code in the file, and give it the value as a later argument, as input, or as a variable in env";
                out.push(new_finding(read.span, &format!("{} {what}", read.path.join("."))).help(help));
            }
        }
        if is_plain(text) && !is_aside(text) && interpreter != Interpreter::Commands {
            return;
        }
        before = &text.source;
    }
}

/// `sh -c "head -n 50 {{ inputs.file }}"` as a program with its arguments, where the script is no more than that.
fn without_shell(command: &StartedCommand) -> Option<String> {
    let [flag, script] = command.args else { return None };
    let is_shell = Interpreter::parse(&command.program.value) == Some(Interpreter::Shell);
    let source = script.source.replace("{{ ", "{{").replace(" }}", "}}");
    if !is_shell || !flag.source.ends_with('c') || source.contains(['|', '>', '<', ';', '&', '$', '`', '(', '*', '\n', '\'', '"']) {
        return None;
    }
    let words = source.split_whitespace().map(|word| match word.strip_prefix("{{").and_then(|word| word.strip_suffix("}}")) {
        Some(name) => format!("\"{{{{ {name} }}}}\""),
        None if word.starts_with(|c: char| c.is_alphabetic()) => word.to_owned(),
        None => quoted(word),
    });
    Some(format!("[{}]", words.collect::<Vec<_>>().join(", ")))
}

/// A value inside an argument may become an option, or two.
fn in_arguments(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    for command in pipeline.pipeline.commands() {
        let is_server = command.by == StartedBy::Server;
        // What a server is given comes from the inputs alone; a step or a tool may fill in what a model said.
        let is_value = |read: &&Read| read.path.first().is_some_and(|root| if is_server { root == "inputs" } else { root != "env" });
        let first = out.len();
        as_code(command.args, command.env, &is_value, out);
        let told = out.get(first..).unwrap_or_default().iter().map(|found| found.span).collect::<Vec<_>>();
        if let Some(instead) = without_shell(&command) {
            out.iter_mut().skip(first).for_each(|found| found.help.insert(0, format!("write program: {instead}, without a shell")));
        }
        if !is_server && told.is_empty() {
            as_program(&command, &is_value, out);
        }
        let told: Vec<Span> = out.get(first..).unwrap_or_default().iter().map(|found| found.span).collect();
        for text in command.args.iter().filter(|text| text.form == Form::Template) {
            for read in text.reads.iter().filter(is_value).filter(|read| !told.contains(&read.span)) {
                let message = format!("{} is only part of an argument; a value must be the whole argument", read.path.join("."));
                let value = format!("\"{{{{ {} }}}}\"", read.path.join("."));
                // `--since={{ … }}`, as most programs take it in two words.
                let option = text.source.split_once('=').map(|(option, _)| option).filter(|option| option.starts_with('-'));
                let help = match option.filter(|option| !option.contains(['{', ' '])) {
                    Some(option) => format!("write two arguments, {option}, {value}, in place of \"{}\"", one_line(&text.source, 60)),
                    None => format!("write it as an argument of its own: [ …, {value} ]"),
                };
                out.push(new_finding(read.span, &message).help(help));
            }
        }
    }
}

/// Names in braces inside Python code, which is no template: Python would read them as sets.
fn in_python(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    pipeline.pipeline.each_text(&mut |authored| {
        let Some(text) = authored.text().filter(|_| authored.key == TextKey::Code) else { return };
        for (at, _) in text.source.match_indices("{{") {
            let inside = text.source.get(at + 2..).unwrap_or_default().trim_start();
            let path: String = inside.chars().take_while(|c| c.is_ascii_alphanumeric() || "_.".contains(*c)).collect();
            let is_name = path.split_once('.').is_some_and(|(root, _)| is_root(root));
            if is_name && inside.get(path.len()..).is_some_and(|rest| rest.trim_start().starts_with(['}', '|'])) {
                let name = path.rsplit('.').next().unwrap_or_default();
                let message = format!("{path} becomes part of the code; code is no template");
                let help = format!("pass it as a variable: with: {{ {name}: \"{{{{ {path} }}}}\" }}, and write {name} in the code");
                out.push(new_finding(text.place.inside(at, at + 2), &message).help(help));
            }
        }
    });
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::TextAsCode, span, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says, with_server};

    #[test]
    fn a_value_is_a_whole_argument() {
        let found = "F603 4:51 inputs.dir is only part of an argument; a value must be the whole argument\n";
        assert_eq!(with_server(check, "command: srv, args: ['--root={{ inputs.dir }}']", ""), found);
        assert_eq!(with_server(check, "command: srv, args: [--root, '{{ inputs.dir }}', '{{ env.A }}/x']", ""), "");
    }

    #[test]
    fn what_a_program_of_a_step_or_tool_is_given_is_a_whole_argument() {
        let steps = |program: &str| says(check, &format!("inputs: {{ a: text }}\nsteps:\n  - id: q\n    program: {program}\n"));
        assert_eq!(steps("[git, log, '{{ inputs.a }}']"), "");
        let found = "F603 6:37 inputs.a is only part of an argument; a value must be the whole argument\n";
        assert_eq!(steps("[git, log, '--since={{ inputs.a }}']"), found);
        assert!(steps("[sh, -c, '{{ inputs.a }}']").contains("inputs.a would be read as code"));
        let tool = "tools: { t: { program: [git, '{{ with.a }}..'], arguments: { a: text } } }\nsteps: [{ id: s, set: 1 }]\n";
        assert!(says(check, tool).contains("with.a is only part of an argument"), "{}", says(check, tool));
    }

    #[test]
    fn a_value_names_no_program_and_is_no_code_of_one() {
        let steps = |program: &str| says(check, &format!("inputs: {{ a: text }}\nsteps:\n  - id: q\n    program: {program}\n"));
        for wrong in [
            "[env, '{{ inputs.a }}']",
            "[env, A=1, '{{ inputs.a }}']",
            "[timeout, '5', '{{ inputs.a }}']",
            "[xargs, '{{ inputs.a }}']",
            "[awk, '{{ inputs.a }}', x.txt]",
            "[sqlite3, x.db, '{{ inputs.a }}']",
            "[python3, '{{ inputs.a }}']",
            "[python3, -m, '{{ inputs.a }}']",
            "[/usr/bin/bash, '{{ inputs.a }}']",
        ] {
            assert!(steps(wrong).starts_with("F603 "), "{wrong}: {}", steps(wrong));
        }
        for (_, name) in Interpreter::all() {
            let found = steps(&format!("[{name}, '{{{{ inputs.a }}}}']"));
            assert!(found.starts_with("F603 "), "{name}: {found}");
        }
        for fine in [
            "[python3, x.py, '{{ inputs.a }}']",
            "[env, A=1, git, log, '{{ inputs.a }}']",
            "[awk, '{print}', '{{ inputs.a }}']",
            "[git, log, '{{ inputs.a }}']",
        ] {
            assert_eq!(steps(fine), "", "{fine}");
        }
    }

    #[test]
    fn code_is_no_template() {
        let code = |code: &str| says(check, &format!("inputs: {{ a: text }}\nsteps:\n  - id: q\n    python: {code}\n    returns: x\n"));
        assert_eq!(code("'x = {{ inputs.a }}'"), "F603 6:18 inputs.a becomes part of the code; code is no template\n");
        assert_eq!(code("'x = {{ inputs.a | length }}'").lines().count(), 1);
        for fine in ["'x = {{1}}'", "'x = f\"{{a}} {inputs.a}\"'", "'x = {inputs.a: 1}'"] {
            assert_eq!(code(fine), "", "{fine}");
        }
    }

    #[test]
    fn a_value_is_no_code() {
        let found = |name: &str| format!("F603 {name} inputs.dir would be read as code, or say which to load\n");
        for args in ["-c", "-lc", "-e", "--eval", "eval", "-Command", "-uc"] {
            let said = with_server(check, &format!("command: x, args: [{args}, '{{{{ inputs.dir }}}}']"), "");
            assert!(said.starts_with("F603 ") && said.ends_with(&found("")["F603 ".len()..]), "{args}: {said}");
        }
        let said = with_server(check, "command: x, args: [], env: { NODE_OPTIONS: '{{ inputs.dir }}' }", "");
        assert!(said.contains("would be read as code"), "{said}");
        for fine in ["[-c, 'cd \"$1\"', x, '{{ inputs.dir }}']", "[--path, '{{ inputs.dir }}']", "[-c, '{{ env.SCRIPT }}']"] {
            assert_eq!(with_server(check, &format!("command: x, args: {fine}"), ""), "", "{fine}");
        }
    }
}
