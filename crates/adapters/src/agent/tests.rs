//! Command lines and answers, as the programs have them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::model::{AgentOutput, AnswerPlace, PrintMode, PromptOption};
use crate::port::{AgentRule, ProgramCall, ProgramEnd, ProgramReply};

/// Programs that answer from a list, and keep what they were asked.
#[derive(Default)]
struct Told {
    asked: Mutex<Vec<ProgramCall>>,
    replies: Mutex<Vec<ProgramReply>>,
}

impl Programs for Told {
    fn run(&self, call: ProgramCall) -> Pending<ProgramReply> {
        lock(&self.asked).push(call);
        let reply = lock(&self.replies).pop().unwrap_or_default();
        Box::pin(std::future::ready(Ok(reply)))
    }
}

fn call(mode: PrintMode) -> AgentCall {
    AgentCall {
        program: ProgramCall {
            project: ".".into(),
            ..ProgramCall::closed("model \"m\"", vec!["agent".into(), "-p".into()], Duration::from_secs(9))
        },
        speaks: AgentProtocol::Print(Box::new(mode)),
        model: "m".into(),
        options: vec![],
        system: Some("You review.".into()),
        prompt: "Is it right?".into(),
        continues: None,
        home: "run m reviewer".into(),
        held: vec![],
        rule: AgentRule::new(|_| unreachable!("it asks for nothing")),
        step: "ask".into(),
        person: None,
        listener: None,
    }
}

fn mode(options: &[(PromptOption, &[&str])], prompt: Option<&[&str]>) -> PrintMode {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    PrintMode {
        prompt: prompt.map(words),
        options: options.iter().map(|(option, list)| (*option, words(list))).collect(),
        ..PrintMode::default()
    }
}

/// The command line, and the input.
fn line(call: &AgentCall) -> (String, String) {
    let AgentProtocol::Print(mode) = &call.speaks else { unreachable!("it prints") };
    let program = command::program_call(call, mode).map_err(|failure| failure.message);
    program
        .map_or_else(|message| (message, String::new()), |program| (program.command.join(" "), String::from_utf8(program.input).unwrap()))
}

#[test]
fn a_prompt_is_input_or_the_last_argument_and_never_an_option() {
    let with = |prompt: Option<&[&str]>, options: &[(PromptOption, &[&str])], said: &str| {
        line(&AgentCall { prompt: said.into(), ..call(mode(options, prompt)) })
    };
    assert_eq!(with(None, &[], "Hi"), ("agent -p".into(), "You review.\n\nHi".into()));
    assert_eq!(with(None, &[(PromptOption::System, &["--system"])], "Hi"), ("agent -p --system You review.".into(), "Hi".into()));
    let system: &[(PromptOption, &[&str])] = &[(PromptOption::System, &["--system"])];
    assert_eq!(with(Some(&["--"]), system, "--evil").0, "agent -p --system You review. -- --evil");
    assert_eq!(with(Some(&["--prompt="]), system, "--evil").0, "agent -p --system You review. --prompt=--evil");
    assert_eq!(with(Some(&["-m"]), system, "--evil").0, "agent -p --system You review. -m \n--evil");
    assert_eq!(with(Some(&[]), system, "--evil").0, "agent -p --system You review. \n--evil");
    assert!(with(Some(&[]), system, &"x".repeat(200_000)).0.contains("128 KiB"));
    assert!(with(Some(&[]), system, "a\0b").0.contains("NUL"));
}

#[test]
fn options_carry_what_the_call_says() {
    let all: &[(PromptOption, &[&str])] = &[
        (PromptOption::Model, &["--model"]),
        (PromptOption::AllowedTools, &["--allow"]),
        (PromptOption::MaxTurns, &["--turns="]),
        (PromptOption::ReadOnly, &["--mode", "plan"]),
        (PromptOption::Edit, &["--mode", "edit"]),
        (PromptOption::Session, &["resume"]),
    ];
    let mut asked = call(mode(all, None));
    asked.options = vec![
        (PromptOption::Model, vec!["small".into()]),
        (PromptOption::AllowedTools, vec!["Read".into(), "Bash(git diff *)".into()]),
        (PromptOption::MaxTurns, vec!["3".into()]),
        (PromptOption::ReadOnly, vec![]),
    ];
    assert_eq!(line(&asked).0, "agent -p --model small --allow Read --allow Bash(git diff *) --turns=3 --mode plan");
    asked.options = vec![(PromptOption::Model, vec!["--dangerous".into()]), (PromptOption::Edit, vec![])];
    assert_eq!(line(&asked).0, "model \"m\": the value \"--dangerous\" would be read as an option by its program");
    asked.options = vec![(PromptOption::Edit, vec![])];
    asked.continues = Some(("s-1".into(), "And now?".into()));
    assert_eq!(line(&asked), ("agent -p --mode edit resume s-1".into(), "You review.\n\nAnd now?".into()));
}

#[test]
fn what_stands_for_the_sandbox_replaces_the_bounds_of_its_own() {
    let both: &[(PromptOption, &[&str])] = &[(PromptOption::ReadOnly, &["-s", "read"]), (PromptOption::Edit, &["-s", "write"])];
    let three: &[(PromptOption, &[&str])] = &[both[0], both[1], (PromptOption::Sandboxed, &["-s", "all"])];
    for (known, given, is_shut_in, told) in [
        (three, PromptOption::ReadOnly, true, "agent -p -s all"),
        (three, PromptOption::Edit, true, "agent -p -s all"),
        (three, PromptOption::ReadOnly, false, "agent -p -s read"),
        (three, PromptOption::Edit, false, "agent -p -s write"),
        (both, PromptOption::ReadOnly, true, "agent -p -s read"),
    ] {
        let mut asked = call(mode(known, None));
        asked.options = [given].into_iter().chain(is_shut_in.then_some(PromptOption::Sandboxed)).map(|option| (option, vec![])).collect();
        assert_eq!(line(&asked).0, told);
    }
}

#[tokio::test]
async fn only_without_the_sandbox_of_flow_a_program_bounds_itself() {
    for (sandbox, told) in
        [(SandboxMode::Required, "agent -p -s all"), (SandboxMode::None, "agent -p -s read"), (SandboxMode::Preferred, "agent -p -s read")]
    {
        let asked = Arc::new(Told::default());
        *lock(&asked.replies) = vec![ProgramReply { stdout: r#"{"result": "a"}"#.into(), ..ProgramReply::default() }];
        let mut mode = json_mode();
        mode.options =
            vec![(PromptOption::ReadOnly, vec!["-s".into(), "read".into()]), (PromptOption::Sandboxed, vec!["-s".into(), "all".into()])];
        let mut call = AgentCall { options: vec![(PromptOption::ReadOnly, vec![])], ..call(mode) };
        call.program.sandbox = sandbox;
        AgentRuns::new(asked.clone()).ask(call).await.unwrap();
        assert_eq!(lock(&asked.asked)[0].command.join(" "), told, "{sandbox:?}");
    }
}

#[tokio::test]
async fn what_a_session_told_before_is_counted_once() {
    let asked = |continues: Option<&str>, home: &str, is_cumulative| {
        let mut mode = json_mode();
        mode.options = vec![(PromptOption::Session, vec!["--resume".into()])];
        mode.answer.cumulative = is_cumulative;
        AgentCall { continues: continues.map(|id| (id.to_owned(), "new".to_owned())), home: home.into(), ..call(mode) }
    };
    // The session that goes on, the one that is told, its usage; then what is counted.
    let turns = [
        (None, "a", Some((10, 5, 0.25)), Some((10, 5, 0.25))),
        (Some("a"), "a", Some((20, 10, 0.5)), Some((10, 5, 0.25))),
        // An answer that tells nothing; the next tells of both.
        (Some("a"), "a", None, None),
        // Another session counts whole, whatever it tells.
        (Some("a"), "b", Some((20, 10, 0.5)), Some((20, 10, 0.5))),
        (Some("b"), "b", Some((22, 15, 0.5)), Some((2, 5, 0.0))),
        (Some("b"), "", Some((24, 15, 0.75)), Some((2, 0, 0.25))),
        // A session that has less began anew, and so has one that is not known.
        (Some("b"), "b", Some((7, 3, 0.125)), Some((7, 3, 0.125))),
        (Some("b"), "b", Some((9, 4, 0.25)), Some((2, 1, 0.125))),
        (None, "c", Some((9, 4, 0.25)), Some((9, 4, 0.25))),
    ];
    let said = |(session, usage): (&str, Option<(u64, u64, f64)>)| {
        let usage = usage.map_or(json!({}), |(input, output, cost)| json!({ "usage": { "input": input, "output": output }, "cost": cost }));
        let mut object = json!({ "result": "x", "session_id": Some(session).filter(|session| !session.is_empty()) });
        object.as_object_mut().unwrap().extend(usage.as_object().unwrap().clone());
        ProgramReply { stdout: object.to_string().into(), ..ProgramReply::default() }
    };
    for is_cumulative in [true, false] {
        let told = Arc::new(Told::default());
        *lock(&told.replies) = turns.iter().rev().map(|(_, session, usage, _)| said((session, *usage))).collect();
        let runs = AgentRuns::new(told);
        for (at, (continues, _, tells, counts)) in turns.into_iter().enumerate() {
            let reply = runs.ask(asked(continues, "home", is_cumulative)).await.unwrap();
            let usage = reply.usage.map(|usage| (usage.input_tokens, usage.output_tokens, usage.cost_usd.unwrap()));
            assert_eq!(usage, if is_cumulative { counts } else { tells }, "turn {at}");
        }
    }
}

#[tokio::test]
async fn what_a_failed_call_told_is_counted_once() {
    let told = Arc::new(Told::default());
    let said = |code, input| ProgramReply {
        stdout: json!({ "result": "x", "session_id": "a", "usage": { "input": input, "output": 1 } }).to_string().into(),
        end: ProgramEnd::Exited(code),
        ..ProgramReply::default()
    };
    *lock(&told.replies) = vec![said(0, 60), said(1, 30), said(0, 10)];
    let runs = AgentRuns::new(told);
    let mut mode = json_mode();
    mode.options = vec![(PromptOption::Session, vec!["--resume".into()])];
    mode.answer.cumulative = true;
    let mut counted = vec![];
    for _ in 0..3 {
        let asked = AgentCall { continues: Some(("a".into(), "new".into())), ..call(mode.clone()) };
        let reply = runs.ask(asked).await.unwrap();
        counted.push((reply.failed.is_some(), reply.usage.unwrap().input_tokens));
    }
    assert_eq!(counted, [(false, 10), (true, 20), (false, 30)]);
}

fn place(path: &str) -> AnswerPlace {
    AnswerPlace { path: path.split('.').map(str::to_owned).collect(), only: vec![], takes_all: false }
}

fn only(path: &str, key: &str, value: &str) -> AnswerPlace {
    AnswerPlace { only: vec![(vec![key.to_owned()], json!(value))], ..place(path) }
}

fn reads(mode: &PrintMode, end: ProgramEnd, stdout: &str) -> Result<ModelReply, (FailureKind, String)> {
    let reply = ProgramReply { end, stdout: stdout.into(), stderr: b"  it broke\n".to_vec(), ..ProgramReply::default() };
    answered(answer::read("m", mode, reply))
}

fn answered(reply: Result<ModelReply, Failure>) -> Result<ModelReply, (FailureKind, String)> {
    let reply = reply.and_then(|mut reply| reply.failed.take().map_or(Ok(reply), |failure| Err(*failure)));
    reply.map_err(|failure| (failure.kind, failure.message))
}

fn json_mode() -> PrintMode {
    let mut mode = PrintMode { output: AgentOutput::Json, ..PrintMode::default() };
    mode.answer.text = vec![place("result")];
    mode.answer.failed = vec![place("is_error")];
    mode.answer.error = vec![place("result")];
    mode.answer.session = vec![place("session_id")];
    mode.answer.input_tokens = vec![place("usage.input"), place("usage.cached")];
    mode.answer.output_tokens = vec![place("usage.output")];
    mode.answer.cost_usd = vec![place("cost")];
    mode.answer.denied = vec![place("denials")];
    mode
}

#[test]
fn a_json_answer_is_taken_apart() {
    let said = json!({
        "is_error": false, "result": "Line 3 is wrong.", "session_id": "a-1", "usage": { "input": 10, "cached": 5, "output": 7 }, "cost": 0.25,
        "denials": [{ "tool_name": "Bash" }, "Edit", 3],
    });
    let reply = reads(&json_mode(), ProgramEnd::Exited(0), &format!("Update available\n{said}\n")).unwrap();
    assert_eq!((reply.text.as_str(), reply.session.as_deref()), ("Line 3 is wrong.", Some("a-1")));
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cost_usd), (15, 7, Some(0.25)));
    let denied: Vec<(&str, bool)> = reply.decisions.iter().map(|one| (one.target.as_str(), one.is_allowed)).collect();
    assert_eq!(denied, [("Bash", false), ("Edit", false)]);
}

#[test]
fn success_with_an_error_is_a_failure() {
    let text = r#"{"subtype": "success", "is_error": true, "result": "API Error: Connection refused"}"#;
    let failed = reads(&json_mode(), ProgramEnd::Exited(0), text).unwrap_err();
    assert_eq!(failed, (FailureKind::ServerError, "the program of model \"m\" says that it failed: API Error: Connection refused".into()));
    let crashed = reads(&json_mode(), ProgramEnd::Signaled(9), "").unwrap_err();
    assert_eq!(crashed, (FailureKind::ServerError, "the program of model \"m\" was ended by signal 9: it broke".into()));
    assert_eq!(reads(&json_mode(), ProgramEnd::Exited(127), "").unwrap_err().0, FailureKind::Unavailable);
}

#[test]
fn what_is_no_answer_is_told() {
    for (text, told) in [
        ("", "printed no JSON object: \"\""),
        ("Thinking \u{1b}[31m…", "printed no JSON object: \"Thinking \\x1B[31m…\""),
        ("[1, 2]", "printed no JSON object: \"[1, 2]\""),
        (
            "{\"other\": 1, \"in\": {\"x\": {\"y\": 1}, \"z\": 2}}",
            "printed JSON without an answer at result (it has in.x, in.z, other): it broke",
        ),
        ("{\"result\": null}", "printed JSON without an answer at result (it has result): it broke"),
    ] {
        let failed = reads(&json_mode(), ProgramEnd::Exited(0), text).unwrap_err();
        assert_eq!(failed, (FailureKind::BadResponse, format!("the program of model \"m\" {told}")), "{text}");
    }
    let mut mode = json_mode();
    mode.answer.error = vec![place("error")];
    let both = |text: &str| reads(&mode, ProgramEnd::Exited(0), &format!("{{\"result\": \"{text}\", \"error\": \"quota is used up\"}}"));
    let (kind, why) = both(" ").unwrap_err();
    assert!(kind == FailureKind::ServerError && why.contains("gave no text: quota is used up"), "{why}");
    assert_eq!(both("Done.").unwrap().text, "Done.");
    let many: String = (0..50).map(|n| format!("\"f{n:02}\\u001b\": 1,")).collect();
    let (_, told) = reads(&json_mode(), ProgramEnd::Exited(0), &format!("{{{many}\"long{}\": 1}}", "x".repeat(500))).unwrap_err();
    assert!(told.contains("(it has f00\\x1B, f01") && told.contains(", …)") && told.len() < 500, "{told}");
    let (_, spoken) = reads(&json_mode(), ProgramEnd::Exited(0), r#"{"jsonrpc": "2.0", "error": {}}"#).unwrap_err();
    assert!(spoken.ends_with("one that speaks the Agent Client Protocol is provider: acp"), "{spoken}");
    let hostile = r#"{"result": "x", "session_id": "--dangerous", "usage": {"input": -5, "output": 1e300}, "cost": -1}"#;
    let reply = reads(&json_mode(), ProgramEnd::Exited(0), hostile).unwrap();
    assert_eq!((reply.session, reply.usage), (None, None), "nonsense is as good as nothing");
}

#[test]
fn what_was_told_counts_though_the_program_failed() {
    let told = r#"{"result": "x", "usage": {"input": 10, "output": 7}, "cost": 0.25}"#;
    let (input, cost) = (r#"{"result": "x", "usage": {"input": 10}}"#, r#"{"result": "x", "cost": 0.25}"#);
    let failed = r#"{"result": "x", "is_error": true, "usage": {"input": 10, "output": 7}, "cost": 0.25}"#;
    let no_answer = r#"{"usage": {"input": 10, "output": 7}, "cost": 0.25}"#;
    let odd = r#"{"result": "x", "usage": {"input": 10, "output": -7}, "cost": 1e300}"#;
    let (all, part) = (Some((10, 7, Some(0.25), false)), Some((10, 0, None, true)));
    let out_of_time = || Some(Box::new(Failure::new(FailureKind::Timeout, "too late")));
    let too_much = || Some(Box::new(Failure::new(FailureKind::Limit, "too much memory")));
    for (text, end, ended_for, counts) in [
        (told, ProgramEnd::Exited(0), None, all),
        (told, ProgramEnd::Exited(1), None, all),
        (told, ProgramEnd::Signaled(9), None, all),
        (told, ProgramEnd::Exited(0), too_much(), all),
        (failed, ProgramEnd::Exited(0), None, all),
        (failed, ProgramEnd::Exited(0), out_of_time(), all),
        (no_answer, ProgramEnd::Exited(0), None, all),
        (no_answer, ProgramEnd::Exited(0), out_of_time(), all),
        (input, ProgramEnd::Exited(0), None, part),
        (input, ProgramEnd::Exited(2), None, part),
        (odd, ProgramEnd::Exited(0), None, part),
        (cost, ProgramEnd::Exited(0), None, Some((0, 0, Some(0.25), true))),
        (cost, ProgramEnd::Exited(2), None, Some((0, 0, Some(0.25), true))),
        ("{}", ProgramEnd::Exited(2), None, None),
        ("", ProgramEnd::Exited(0), out_of_time(), None),
    ] {
        let reply = ProgramReply { end, stdout: text.into(), ended_for, ..ProgramReply::default() };
        let usage = answer::read("m", &json_mode(), reply).ok().and_then(|reply| reply.usage);
        let usage = usage.map(|used| (used.input_tokens, used.output_tokens, used.cost_usd, used.unknown_tokens == Usage::PART));
        assert_eq!(usage, counts, "{text} {end:?}");
    }
}

#[test]
fn an_answer_that_is_over_counts_though_its_program_hangs() {
    let end = "{\"type\":\"over\"}\n";
    let line = "{\"type\":\"text\",\"result\":\"Line 3.\"}\n";
    let lines = |ended: bool| {
        let mut mode = PrintMode { output: AgentOutput::Jsonl, ..json_mode() };
        mode.answer.ended = if ended { vec![only("type", "type", "over")] } else { vec![] };
        mode
    };
    for (mode, text, kind, is_answer) in [
        (json_mode(), line.to_owned(), FailureKind::Timeout, true),
        (json_mode(), line.to_owned(), FailureKind::Limit, false),
        (json_mode(), "{\"result\": \"Lin".to_owned(), FailureKind::Timeout, false),
        (json_mode(), "{\"other\": 1}".to_owned(), FailureKind::Timeout, false),
        (lines(true), format!("{line}{end}"), FailureKind::Timeout, true),
        (lines(true), format!("{line}{end}{{\"type\":\"la"), FailureKind::Timeout, true),
        (lines(true), format!("{line}{end}"), FailureKind::TooLarge, false),
        (lines(true), line.to_owned(), FailureKind::Timeout, false),
        (lines(false), format!("{line}{end}"), FailureKind::Timeout, false),
        (PrintMode::default(), "Line 3.\n".to_owned(), FailureKind::Timeout, false),
    ] {
        let ended_for = Some(Box::new(Failure::new(kind, "it was ended")));
        let reply = ProgramReply { stdout: text.clone().into(), ended_for, ..ProgramReply::default() };
        let read = answered(answer::read("m", &mode, reply)).map(|reply| (reply.text, reply.notes));
        let note = "the program of model \"m\" did not end after its answer, and was ended".to_owned();
        let answer = is_answer.then(|| ("Line 3.".to_owned(), vec![note])).ok_or((kind, "it was ended".to_owned()));
        assert_eq!(read, answer, "{text} {kind:?}");
    }
}

#[test]
fn lines_are_chosen_by_what_they_hold() {
    let mut mode = PrintMode { output: AgentOutput::Jsonl, ..PrintMode::default() };
    mode.answer.text = vec![AnswerPlace { takes_all: true, ..only("part.text", "type", "text") }];
    mode.answer.cost_usd = vec![AnswerPlace { takes_all: true, ..only("cost", "type", "step") }];
    mode.answer.failed = vec![only("error", "type", "failed")];
    let lines = "noise\n{\"type\":\"text\",\"part\":{\"text\":\"One.\"}}\n{\"type\":\"step\",\"cost\":0.5}\n{\"type\":\"text\",\"part\":{\"text\":\"Two.\"}}\n{\"type\":\"step\",\"cost\":0.25}\n";
    let reply = reads(&mode, ProgramEnd::Exited(0), lines).unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.unwrap().cost_usd), ("One.\nTwo.", Some(0.75)));
    mode.answer.text = vec![only("part.text", "type", "text")];
    assert_eq!(reads(&mode, ProgramEnd::Exited(0), lines).unwrap().text, "Two.");
    let failed = format!("{lines}{{\"type\":\"failed\",\"error\":{{\"message\":\"no\"}}}}\n");
    assert_eq!(reads(&mode, ProgramEnd::Exited(0), &failed).unwrap_err().0, FailureKind::ServerError);
}

#[test]
fn a_stream_that_ends_in_the_middle_is_no_answer() {
    let thought = "{\"type\":\"text\",\"part\":{\"text\":\"Let me look.\"}}\n";
    let end = "{\"type\":\"over\",\"usage\":{}}";
    let in_a_line = "stopped in the middle of a line, before its answer was over";
    let before_its_end = "stopped before its answer was over";
    // What follows a thought; what is said of it if nothing tells the end, and if an event does.
    for (rest, without, with) in [
        ("", None, Some(before_its_end)),
        ("\n", None, Some(before_its_end)),
        ("{", Some(in_a_line), Some(before_its_end)),
        ("{\"type\":\"text\",\"part\":{\"text\":\"The fau", Some(in_a_line), Some(before_its_end)),
        ("  {\"type\":\"text\",\"part\":{\"text\":\"x\"}", Some(in_a_line), Some(before_its_end)),
        ("{\"type\":\"text\",\"part\":{\"text\":\"x\"}\r", Some(in_a_line), Some(before_its_end)),
        ("{broken\n", None, Some(before_its_end)),
        ("a note", None, Some(before_its_end)),
        (end, None, None),
        (&format!("{end}\n"), None, None),
        (&format!("{end}\n{{\"type\":\"late"), Some(in_a_line), None),
    ] {
        let mut mode = PrintMode { output: AgentOutput::Jsonl, ..PrintMode::default() };
        mode.answer.text = vec![only("part.text", "type", "text")];
        for (ended, told) in [(vec![], without), (vec![only("type", "type", "over")], with)] {
            mode.answer.ended = ended;
            let read = reads(&mode, ProgramEnd::Exited(0), &format!("{thought}{rest}"));
            let told = told.map(|told| (FailureKind::BadResponse, format!("the program of model \"m\" {told}: it broke")));
            assert_eq!(read.map(|reply| reply.text), told.map_or(Ok("Let me look.".into()), Err), "{rest:?}");
        }
    }
    let mut whole = json_mode();
    whole.answer.ended = vec![only("stop", "stop", "end")];
    assert!(reads(&whole, ProgramEnd::Exited(0), "{\"result\":\"a\",\"stop\":\"end\"}").is_ok());
    assert!(reads(&whole, ProgramEnd::Exited(0), "{\"result\":\"a\",\"stop\":\"length\"}").is_err());
}

#[test]
fn a_text_loses_what_would_steer_a_terminal() {
    let text = "\u{feff}\u{1b}[1;31mRed\u{1b}[0m\r\nand \u{1b}]0;title\u{7}plain\u{8}\u{9b}\tend\u{1b}\n";
    assert_eq!(reads(&PrintMode::default(), ProgramEnd::Exited(0), text).unwrap().text, "Red\nand plain\tend");
    assert_eq!(reads(&PrintMode::default(), ProgramEnd::Exited(1), "x").unwrap_err().0, FailureKind::ServerError);
    for (text, shown) in [
        ("a\u{1b}]0;title\u{1b}\\b", "ab"),
        ("a\u{1b}]8;;https://example.com\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
        ("a\u{1b}P1$r0m\u{1b}\\b", "ab"),
        ("a\u{1b}_x\u{1b}\\b\u{1b}^y\u{1b}\\c\u{1b}Xz\u{1b}\\d", "abcd"),
        ("a\u{1b}]0;title\u{9c}b\u{9d}0;title\u{7}c\u{90}q\u{9c}d", "abcd"),
        ("a\u{1b}]0;title\u{1b}[31mb", "ab"),
        ("a\u{1b}]0;no end\nb", "a\nb"),
        ("a\u{1b}(Bb\u{1b}#8c\u{1b}=d\u{1b}7e", "abcde"),
        ("a\u{9b}1;31mb\u{1b}[?25lc", "abc"),
        ("a\u{1b}[31\nb\u{1b}\nc", "a\nb\nc"),
        ("a\u{1b}\u{1b}[31mb", "ab"),
        ("10 %\r100 %\r\ndone\r\r\nC:\\x\r", "10 %\n100 %\ndone\n\nC:\\x"),
    ] {
        assert_eq!(reads(&PrintMode::default(), ProgramEnd::Exited(0), text).unwrap().text, shown, "{text:?}");
    }
}

#[tokio::test]
async fn a_session_continues_only_where_it_began() {
    let told = Arc::new(Told::default());
    let said = |text: &str| ProgramReply { stdout: text.into(), ..ProgramReply::default() };
    *lock(&told.replies) = vec![said(r#"{"result": "b"}"#), said(r#"{"result": "a", "session_id": "s-1"}"#)];
    let runs = AgentRuns::new(told.clone());
    let asked = |continues: Option<&str>, home: &str| {
        let mut mode = json_mode();
        mode.options = vec![(PromptOption::Session, vec!["--resume".into()])];
        AgentCall { continues: continues.map(|id| (id.to_owned(), "new".to_owned())), home: home.into(), ..call(mode) }
    };
    assert_eq!(runs.ask(asked(Some("s-0"), "one")).await.unwrap().session.as_deref(), Some("s-1"));
    runs.ask(asked(Some("s-1"), "one")).await.unwrap();
    runs.ask(asked(Some("s-1"), "another")).await.unwrap_err();
    let calls = lock(&told.asked);
    let lines: Vec<String> = calls.iter().map(|call| call.command.join(" ")).collect();
    assert_eq!(lines, ["agent -p", "agent -p --resume s-1", "agent -p"]);
    let home = |at: usize| calls[at].home.clone().unwrap();
    assert_eq!((home(0) == home(1), home(1) == home(2)), (true, false));
    assert_eq!(calls[0].env[0].1.reveal(), home(0).to_string_lossy());
    let kept = home(0);
    assert!(kept.is_dir());
    drop(calls);
    drop(runs);
    assert!(!kept.exists(), "the homes go with their run");
}
