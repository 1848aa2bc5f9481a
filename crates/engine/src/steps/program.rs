//! `program`: starts a program, for a step or for a tool.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::decision::{CallCheck, StepCall, StepDecision, Then};
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::channel::{clean, cleaned};
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind};
use crate::gate::result;
use crate::model::{
    ActKind, CALL_TIMEOUT, Filling, Form, OutputWord, Policy, ProgramCommand, ProgramOutput, Sample, Step, Text, read_json,
};
use crate::names::Extra;
use crate::parts::{Files, Gatekeeper, Requests};
use crate::policy::{Decision, sandbox_mode};
use crate::port::{ProgramBounds, ProgramCall, ProgramDetails, ProgramEnd, ProgramReply, RefusedHost, Secret};
use crate::source::{from_folder, normalised};
use crate::state::NodeRef;
use crate::template;
use crate::words::{ms, plain};

/// The most characters of standard error in a failure.
const MOST_SAID: usize = 600;
/// The most bytes of one argument, as Linux bounds it (`MAX_ARG_STRLEN` of execve(2)).
const LONGEST_ARGUMENT: usize = 128 << 10;

impl Kind for ProgramCommand {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let timeout = step.timeout.unwrap_or(CALL_TIMEOUT);
        let owner = format!("step \"{}\"", step.id.value);
        let call = context.requests().program_call(at, self, owner, &[], timeout)?;
        let arguments = json!(call.command.get(1..).unwrap_or_default());
        let shown = json!({ "command": call.command });
        let check = CallCheck::Program(self.program.value.clone(), arguments);
        let request = CallRequest::Program(Box::new(call));
        Ok(StepCall { check, ..StepCall::new("program", shown, request, ms(timeout)) }.into())
    }

    fn take(&self, _context: &Context, _at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        let CallReply::Program(reply) = reply else { return wrong_answer_decision() };
        let details = details(&reply);
        Ok(Then::Give(printed(self, reply)?, Some(details)).into())
    }
}

impl Requests<'_> {
    /// A program with its arguments filled in. `extra`: names beside those of the step.
    pub(crate) fn program_call(
        &self,
        at: NodeRef,
        run: &ProgramCommand,
        name: String,
        extra: Extra,
        timeout: Duration,
    ) -> Result<ProgramCall, Failure> {
        let secrets = self.names().secret_names();
        let files = self.files().files_from_its_folder(at, run);
        let files = files.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let all: Vec<(&str, template::Value)> = extra.iter().cloned().chain(secrets).chain(files).collect();
        let fill = |text: &Text| self.names().filling_with(at, &Filling::Text(text.clone()), &all);
        let mut command = vec![run.program.value.clone()];
        let (filled, named) = arguments(run, &fill)?;
        command.extend(filled);
        let input = match run.input.as_ref().map(|input| self.names().filling_with(at, input, &all)).transpose()? {
            None | Some(Value::Null) => vec![],
            Some(Value::String(text)) => text.into_bytes(),
            Some(value) => value.to_string().into_bytes(),
        };
        let mut env = vec![];
        for (name, text) in &run.env {
            env.push((name.value.clone(), Secret::new(self.names().fill_text_with(at, text, &all)?)));
        }
        let pipeline = &self.planned_of(at).pipeline;
        Ok(ProgramCall {
            name,
            command,
            named,
            project: pipeline.project.clone(),
            input,
            env,
            folder: Some(pipeline.folder.clone()),
            home: None,
            reads: vec![pipeline.project.clone()],
            writes: run.writes.iter().map(|folder| folder.value.clone()).collect(),
            files: vec![],
            keeps_files: false,
            network: run.network.map(|host| host.value.clone()),
            sandbox: sandbox_mode(&self.policies_of_user(at)),
            bounds: self.program_bounds(at),
            timeout,
        })
    }

    /// The policies in force for what a step starts, or its agent.
    fn policies_of_user(&self, at: NodeRef) -> Vec<(&str, &Policy)> {
        self.policies(at, self.state.steps.node(at).talk().map(|talk| &*talk.agent))
    }

    /// What a program may use: the narrowest of all policies in force.
    pub(crate) fn program_bounds(&self, at: NodeRef) -> ProgramBounds {
        narrowed(ProgramBounds::default(), &self.policies_of_user(at))
    }
}

impl Files<'_> {
    /// Inputs, steps and the elements of a `for_each`, if the pipeline is not in the project's folder: as a program that starts in the pipeline's folder
    /// finds their files.
    fn files_from_its_folder(&self, at: NodeRef, run: &ProgramCommand) -> Vec<(String, template::Value)> {
        let pipeline = &self.planned_of(at).pipeline;
        if normalised(&pipeline.folder) == normalised(&pipeline.project) {
            return vec![];
        }
        let tell = |path: &str| from_folder(&pipeline.folder, &pipeline.project.join(path)).to_string_lossy().into_owned();
        let fields = pipeline.input_fields();
        let mut inputs = (*self.state.steps.instance_around(at).inputs).clone();
        for field in fields {
            if let Some(value) = inputs.get_mut(&field.name) {
                *value = field.with_paths(value, &tell);
            }
        }
        let mut told = vec![("inputs".to_owned(), template::from_json(&inputs))];
        let reads = || run.texts().flat_map(|text| &text.reads).map(|read| read.path.as_slice());
        let ids: BTreeSet<&str> = reads().filter(|path| path[0] == "steps").filter_map(|path| path.get(1)).map(String::as_str).collect();
        // A text that reads all steps as one value sees them as every other text does.
        if !ids.is_empty() && !reads().any(|path| *path == ["steps"]) {
            let found = ids.into_iter().filter_map(|id| Some((id, self.names().look_up(self.state.steps.instance_of(at), Some(at), id)?)));
            let steps = found.map(|(id, found)| {
                let mut output = self.state.steps.node(found).output.as_deref().cloned();
                output.iter_mut().for_each(|output| self.tell_files(output, &mut |path| tell(path)));
                (id, self.names().step_value_of(found, output.as_ref()))
            });
            told.push(("steps".to_owned(), template::object(steps.collect::<Vec<_>>())));
        }
        // The innermost first: the first of a name counts.
        for holder in self.state.steps.holders(at) {
            let step = self.step(holder);
            let (Some(item), Some(list)) = (self.state.steps.node(holder).item.as_deref(), &step.for_each) else { continue };
            let of_list = |text: &&Text| matches!(text.form, Form::Sole | Form::Bare) && text.reads.len() == 1;
            let read = list.list.texts().into_iter().find(of_list).and_then(|text| text.reads.first());
            let field = read.and_then(|read| match read.path.as_slice() {
                [root, name] if root == "inputs" => fields.iter().find(|field| field.name == *name),
                _ => None,
            });
            let items = field.and_then(|field| field.items.as_deref());
            let mut item = items.map_or_else(|| item.clone(), |items| items.with_paths(item, &tell));
            self.tell_files(&mut item, &mut |path| tell(path));
            let names = list.name.iter().map(|name| name.value.as_str()).chain(["item"]);
            told.extend(names.map(|name| (name.to_owned(), template::from_json(&item))));
        }
        told
    }
}

impl Gatekeeper<'_> {
    /// Records which hosts a program was kept from.
    pub(crate) fn record_refused(&mut self, at: NodeRef, agent: Option<&str>, reply: &ProgramReply) {
        for RefusedHost { host, rule } in &reply.refused {
            // What the program makes of it is its own affair.
            let _ = self.record_decision(at, agent, (ActKind::Host, host.clone()), Decision::new(false, rule.clone()), String::new());
        }
    }
}

/// What a program may use: the narrowest of these policies, else `own`.
pub(crate) fn narrowed(own: ProgramBounds, policies: &[(&str, &Policy)]) -> ProgramBounds {
    let least = |own: u64, of: &dyn Fn(&Policy) -> Option<u64>| policies.iter().filter_map(|(_, policy)| of(policy)).min().unwrap_or(own);
    let (memory, file_size) = (least(own.memory, &|policy| policy.max_memory), least(own.file_size, &|policy| policy.max_file_size));
    ProgramBounds { memory, file_size, ..own }
}

/// The arguments as a program gets them. A value alone is one argument, a list as many as it has, and nothing none. What is filled in is no option unless `--` stands before it. Second: those
/// that may name what the program runs ([`ProgramCall::named`]).
fn arguments(run: &ProgramCommand, fill: &dyn Fn(&Text) -> Result<Value, Failure>) -> Result<(Vec<String>, Vec<String>), Failure> {
    let wrong = |what: &str| Failure::new(FailureKind::BadRequest, format!("program \"{}\": {what}", run.short_name()));
    let (mut filled, mut named) = (vec![], vec![]);
    let (mut only_values, mut names_script) = (false, false);
    for text in &run.args {
        if text.form == Form::Plain {
            only_values |= *text.source == *"--";
            names_script |= !text.source.starts_with('-');
            filled.push(text.source.to_string());
            named.push(text.source.to_string());
            continue;
        }
        let values = match fill(text)? {
            Value::Null => vec![],
            Value::Array(list) => list.into_iter().filter(|value| !value.is_null()).collect(),
            value => vec![value],
        };
        for value in values {
            let value = plain(&value);
            if value.starts_with('-') && !only_values && !text.source.trim_start().starts_with('-') {
                return Err(wrong("a value that begins with \"-\" is read as an option; write \"--\" before it in the list"));
            }
            if value.contains('\0') {
                return Err(wrong("a value contains a NUL character"));
            }
            if value.len() > LONGEST_ARGUMENT {
                return Err(wrong("an argument is longer than 128 KiB; give it as input"));
            }
            named.extend((!names_script).then(|| value.clone()));
            filled.push(value);
        }
    }
    Ok((filled, named))
}

/// What a program that ended well printed.
pub(crate) fn printed(run: &ProgramCommand, reply: ProgramReply) -> Result<Value, Failure> {
    let name = run.short_name();
    let how = match reply.end {
        ProgramEnd::Exited(code) if run.ok_exits.contains(&code) => None,
        ProgramEnd::Exited(code) => Some(format!("ended with exit code {code}")),
        ProgramEnd::Signaled(signal) => Some(format!("was ended by signal {signal}")),
    };
    if let Some(how) = how {
        let help = reply.help.map(|help| format!("; {help}")).unwrap_or_default();
        let kept = RefusedHost::in_words(&reply.refused).map(|told| format!("; {told}")).unwrap_or_default();
        return Err(Failure::new(
            FailureKind::Program,
            format!("the program \"{name}\" {how}{}{help}{kept}", last_of_stderr(&reply.stderr)),
        ));
    }
    let text = String::from_utf8(reply.stdout).map_err(|error| {
        let place = error.utf8_error().valid_up_to() + 1;
        Failure::new(FailureKind::BadResponse, format!("the program \"{name}\" printed no text: byte {place} is not UTF-8"))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let json = reply.json;
    let wrong = |what: String| Failure::new(FailureKind::BadShape, format!("what the program \"{name}\" printed {what}"));
    let value = match run.gives {
        ProgramOutput::Word(OutputWord::Text) => {
            Value::from(text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text)))
        }
        ProgramOutput::Word(OutputWord::Lines) => text.lines().map(Value::from).collect(),
        ProgramOutput::Word(OutputWord::Json) | ProgramOutput::Fields(_) if text.trim().is_empty() => {
            return Err(wrong("is empty, and not JSON".to_owned()));
        }
        ProgramOutput::Word(OutputWord::Json) | ProgramOutput::Fields(_) => {
            json.map_or_else(|| read_json(text), Ok).map_err(|error| wrong(format!("is not taken as JSON: {error}")))?
        }
    };
    result::printed(&run.gives, cleaned(value)).map_err(|problems| wrong(format!("does not fit: {}", problems.join("; "))))
}

/// The end of what it wrote to standard error, for a failure.
fn last_of_stderr(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let text = clean(text.trim()).0;
    let start = text.char_indices().rev().nth(MOST_SAID - 1).map_or(0, |(at, _)| at);
    let end = text.get(start..).unwrap_or_default();
    if end.is_empty() { String::new() } else { format!(": {}{end}", if start > 0 { "…" } else { "" }) }
}

pub(crate) fn details(reply: &ProgramReply) -> Value {
    let exit = match reply.end {
        ProgramEnd::Exited(code) | ProgramEnd::Signaled(code) => code,
    };
    let sandbox = reply.sandbox.clone().unwrap_or_else(|| "none".to_owned());
    let stderr = String::from_utf8_lossy(&reply.stderr).into_owned();
    ProgramDetails { exit, stderr, sandbox, refused: reply.refused.clone() }.into_value()
}

/// The names of a tool's arguments in its texts.
pub(crate) fn with(with: Map<String, Value>) -> [(&'static str, crate::template::Value); 1] {
    [("with", crate::template::from_json(&Value::Object(with)))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ProgramNetwork;
    use crate::source::Spanned;

    fn command(args: Vec<Text>, gives: OutputWord) -> ProgramCommand {
        ProgramCommand {
            program: Spanned::new("/usr/bin/git".into(), Default::default()),
            args,
            input: None,
            env: vec![],
            gives: ProgramOutput::Word(gives),
            ok_exits: vec![0, 1],
            reads_only: true,
            network: ProgramNetwork::None,
            writes: vec![],
        }
    }

    fn filled(source: &str) -> Text {
        Text { form: Form::Sole, ..Text::plain(source) }
    }

    #[test]
    fn a_value_is_an_argument_and_no_option() {
        let args = |before: &str, value: Value| {
            let run = command(vec![Text::plain(before), filled("{{ x }}")], OutputWord::Text);
            arguments(&run, &|_| Ok(value.clone())).map(|(filled, _)| filled).map_err(|failure| failure.message)
        };
        assert_eq!(args("log", json!("a b; c")).unwrap(), ["log", "a b; c"]);
        assert_eq!(args("log", json!(["a", 2, true])).unwrap(), ["log", "a", "2", "true"]);
        assert_eq!(args("log", json!(null)).unwrap(), ["log"]);
        let option = "program \"git\": a value that begins with \"-\" is read as an option; write \"--\" before it in the list";
        assert_eq!(args("log", json!("--upload-pack=x")).unwrap_err(), option);
        assert_eq!(args("log", json!(["a", "-c"])).unwrap_err(), option);
        assert_eq!(args("--", json!("-c")).unwrap(), ["--", "-c"]);
        assert!(args("log", json!("a\0b")).unwrap_err().ends_with("NUL character"));
        assert!(args("log", json!("a".repeat(200_000))).unwrap_err().contains("128 KiB"));
    }

    #[test]
    fn what_was_printed_is_read_as_the_author_says() {
        let read = |gives, end, stdout: &[u8]| {
            let reply = ProgramReply { end, stdout: stdout.to_vec(), stderr: b"no such thing\n".to_vec(), ..ProgramReply::default() };
            printed(&command(vec![], gives), reply).map_err(|failure| (failure.kind, failure.message))
        };
        let well = ProgramEnd::Exited(1);
        assert_eq!(read(OutputWord::Text, well, b"a\nb\r\n").unwrap(), json!("a\nb"));
        assert_eq!(read(OutputWord::Lines, well, b"a\n\nb\n").unwrap(), json!(["a", "", "b"]));
        assert_eq!(read(OutputWord::Json, well, b" {\"a\": 1}\n").unwrap(), json!({ "a": 1 }));
        assert_eq!(read(OutputWord::Json, well, b"oops").unwrap_err().0, FailureKind::BadShape);
        assert_eq!(read(OutputWord::Json, well, b"18446744073709551615").unwrap(), json!(u64::MAX));
        let long = read(OutputWord::Json, well, b"{\"x\": 18446744073709551616}").unwrap_err();
        assert!(long.0 == FailureKind::BadShape && long.1.contains("more than 64 bits; write it as a text"), "{}", long.1);
        assert_eq!(read(OutputWord::Text, well, b"a\xff").unwrap_err().0, FailureKind::BadResponse);
        let failed = read(OutputWord::Text, ProgramEnd::Exited(2), b"").unwrap_err();
        assert_eq!(failed, (FailureKind::Program, "the program \"git\" ended with exit code 2: no such thing".to_owned()));
        let killed = read(OutputWord::Text, ProgramEnd::Signaled(9), b"").unwrap_err();
        assert_eq!(killed.1, "the program \"git\" was ended by signal 9: no such thing");
    }
}
