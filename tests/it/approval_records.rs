//! What is told of questions to a person: in the record, in lists, and when an answer cannot count.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::extras::{Extra, has};
use crate::program::{command, flow, ran};
use crate::terminal::at;

const ASKS: &str = "flow: 1
name: offer
description: Sends an offer when a person agrees.
steps:
  - id: ask
    approval: Send this offer?
    form: { nights: { type: integer, minimum: 1 }, kind: { type: text, default: single } }
    timeout: 2d
    on_timeout: late
  - { id: late, set: Nobody answered. }
  - { id: send, set: \"{{ steps.ask.output.nights }}\", needs: [ask] }
outputs: { sent: \"{{ steps.send.output | default('nothing') }}\", late: \"{{ steps.late.output | default('in time') }}\", either: \"{{ steps.ask.output.kind | default(steps.late.output) }}\" }
";

fn place(pipeline: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("p.yaml"), pipeline).unwrap();
    std::fs::write(place.path().join("flow.toml"), "").unwrap();
    place
}

/// A run that waits for a person; gives its id, and what it told.
fn waiting(folder: &Path) -> (String, String) {
    let ran = flow(folder, &["run", "p.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (8, ""), "{}", ran.err);
    (ran.err[ran.err.find("r_").unwrap()..].split(' ').next().unwrap().to_owned(), ran.err)
}

#[test]
fn the_time_limit_is_told_wherever_the_question_is() {
    let folder = place(ASKS);
    let (run, told) = waiting(folder.path());
    let limit = "an answer counts until 20";
    assert!(told.contains(limit) && told.contains(" UTC"), "{told}");
    for arguments in [&["approve", &run, "ask", "--show"][..], &["runs", "show", &run]] {
        let ran = flow(folder.path(), arguments);
        assert!(ran.out.contains(limit), "{arguments:?} {}", ran.out);
    }
    let (_, _, shown) = at(folder.path(), &["run", "p.yaml"], "\u{4}", &[]);
    assert!(shown.contains(limit), "{shown}");
    // A question without a limit names none.
    let folder = place(&ASKS.replace("    timeout: 2d\n    on_timeout: late\n", ""));
    let (_, told) = waiting(folder.path());
    assert!(!told.contains("an answer counts until"), "{told}");
}

#[test]
fn the_record_tells_what_was_answered_by_whom_and_with_what() {
    let folder = place(ASKS);
    let (run, _) = waiting(folder.path());
    let answered =
        ran(command(folder.path(), &["approve", &run, "ask", "--field", "nights=2", "--comment", "Fine by me."]).env("USER", "ana"));
    assert_eq!(answered.exit, 0, "{}", answered.err);
    let ended = flow(folder.path(), &["runs", "resume", &run]);
    let outputs: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}{}", ended.out, ended.err));
    // The step that stands in for an answer was skipped.
    assert_eq!(outputs, serde_json::json!({ "sent": 2, "late": "in time", "either": "single" }));
    let shown = flow(folder.path(), &["runs", "show", &run]).out;
    for told in ["answers:", "ask  yes by ana, 20", "Send this offer?", "nights: 2", "kind: single", "comment: Fine by me."] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let record: Value = serde_json::from_str(&flow(folder.path(), &["runs", "show", &run, "--json"]).out).unwrap();
    let answer = &record["answers"][0];
    assert_eq!((&answer["approved"], &answer["fields"]["nights"], &answer["by"]), (&true.into(), &2.into(), &"ana".into()), "{record}");
    assert_eq!(flow(folder.path(), &["runs", "show", &run, "--html", "run.html"]).exit, 0);
    let page = std::fs::read_to_string(folder.path().join("run.html")).unwrap();
    assert!(page.contains("Decided by a person") && page.contains("Send this offer?") && page.contains("yes by ana"), "{page}");
}

#[test]
fn whoever_answers_is_known_without_a_name_in_the_environment() {
    for (variables, by) in [(&[("USER", ""), ("LOGNAME", "bo")][..], "bo"), (&[("USER", ""), ("LOGNAME", "")], "uid ")] {
        let folder = place(ASKS);
        let (run, _) = waiting(folder.path());
        let mut approve = command(folder.path(), &["approve", &run, "ask", "--reject"]);
        let said = ran(approve.env_remove("USERNAME").envs(variables.iter().copied()));
        assert_eq!(said.exit, 0, "{}", said.err);
        let shown = flow(folder.path(), &["runs", "show", &run]).out;
        assert!(shown.contains(&format!("ask  no by {by}")), "{shown}");
    }
}

#[test]
fn no_answer_is_taken_for_a_run_whose_file_has_changed() {
    let folder = place(ASKS);
    let (run, _) = waiting(folder.path());
    let before = flow(folder.path(), &["runs", "show", &run, "--json"]).out;
    let answer = || flow(folder.path(), &["approve", &run, "ask", "--field", "nights=2"]);
    std::fs::write(folder.path().join("p.yaml"), ASKS.replace("this offer", "that offer")).unwrap();
    let said = answer();
    assert_eq!(said.exit, 6, "{}", said.err);
    for told in ["has changed since it began", "changed: p.yaml", "nothing was decided", &format!("flow runs fork {run} --from ask")] {
        assert!(said.err.contains(told), "{told}: {}", said.err);
    }
    // The question can still be looked at.
    assert!(flow(folder.path(), &["approve", &run, "ask", "--show"]).out.contains("Send this offer?"));
    std::fs::remove_file(folder.path().join("p.yaml")).unwrap();
    let said = answer();
    assert!(said.exit == 6 && said.err.contains("does not exist any more"), "{}", said.err);
    std::fs::write(folder.path().join("p.yaml"), ASKS).unwrap();
    assert_eq!(flow(folder.path(), &["runs", "show", &run, "--json"]).out, before, "the run is as it was");
    assert_eq!(answer().exit, 0);
}

#[test]
fn an_answer_after_the_time_is_told_as_such_also_when_the_run_has_gone_on() {
    let goes_on = ASKS
        .replace("timeout: 2d", "timeout: 1s")
        .replace("  - { id: send,", "  - { id: second, approval: And now?, needs: [late] }\n  - { id: send,");
    let folder = place(&goes_on);
    let (run, _) = waiting(folder.path());
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(flow(folder.path(), &["runs", "resume", &run]).exit, 8);
    let late = flow(folder.path(), &["approve", &run, "ask", "--field", "nights=1"]);
    assert!(late.exit == 2 && late.err.contains("\"ask\" is not decided any more: the step went on without an answer"), "{}", late.err);
    assert_eq!(flow(folder.path(), &["approve", &run, "second"]).exit, 0);
}

#[test]
fn a_recording_that_nobody_could_finish_does_not_begin() {
    let folder = place(ASKS);
    let said = flow(folder.path(), &["run", "p.yaml", "--record", "tape"]);
    assert_eq!((said.exit, folder.path().join("tape").exists()), (2, false), "{}", said.err);
    assert!(said.err.contains("--record: step \"ask\" asks a person, and nobody can answer here"), "{}", said.err);
    // At a terminal somebody may leave the question open: the run waits, and continues without a recording.
    let (exit, _, shown) = at(folder.path(), &["run", "p.yaml", "--record", "tape"], "\u{4}", &[]);
    assert!(exit == 8 && shown.contains("nothing was recorded"), "{exit} {shown}");
    let run = shown[shown.find("r_").unwrap()..].split(' ').next().unwrap();
    assert_eq!(flow(folder.path(), &["approve", run, "ask", "--field", "nights=2"]).exit, 0);
    let ended = flow(folder.path(), &["runs", "resume", run]);
    assert!(ended.exit == 0 && ended.err.contains("it continues, and nothing is recorded"), "{}{}", ended.out, ended.err);
    // Answered at once, it is recorded, and the recording is replayed.
    let (exit, _, shown) = at(folder.path(), &["run", "p.yaml", "--record", "tape"], "yes\n2\n\n", &[]);
    assert!(exit == 0 && shown.contains("recorded 0 calls in tape"), "{exit} {shown}");
}

/// An agent under a policy that asks about what no list names.
fn prompting(folder: &Path) {
    let pipeline = "flow: 1
name: front_desk
description: Looks prices up by itself, and asks before anything else.
models: { default: { provider: scripted, replies: r.yaml } }
tools:
  prices: { file: prices }
  guests: { file: guests, allow: [write] }
policies:
  careful: { allowed_tools: [prices.read], file_access: { read: ['prices/*'] }, permission_mode: prompt }
policy: careful
agents: { clerk: { instructions: Answer guests., tools: [prices.read, guests.write] } }
steps:
  - { id: answer, agent: clerk, prompt: Hi }
outputs: { answer: \"{{ steps.answer.output }}\" }
";
    let calls = "flow: 1\nreplies:\n  answer:\n    - calls: [{ tool: guests.write, with: { name: ana.txt, text: Room 7 } }]\n    - calls: [{ tool: prices.read, with: { name: rooms.txt } }]\n    - Done.\n";
    for (name, text) in [("p.yaml", pipeline), ("r.yaml", calls), ("flow.toml", "")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    for name in ["prices", "guests"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    std::fs::write(folder.join("prices/rooms.txt"), "Room 7: 80 EUR").unwrap();
}

#[test]
fn what_no_list_of_a_policy_names_is_asked_once_in_whatever_process() {
    let folder = tempfile::tempdir().unwrap();
    prompting(folder.path());
    let question = "\"answer\" wants to call guests.write with {\"name\":\"ana.txt\",\"text\":\"Room 7\"} (write guests/ana.txt) (policy careful: no list names it, and permission_mode is prompt); allow it?";
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "no\n", &[("USER", "ana")]);
    assert!(exit == 0 && out == "Done.\n" && shown.contains(question), "{exit} {shown}");
    assert!(!folder.path().join("guests/ana.txt").exists());
    let (run, told) = waiting(folder.path());
    assert!(told.contains(question), "{told}");
    assert_eq!(flow(folder.path(), &["approve", &run, "answer", "--show"]).out, format!("{question}\n"));
    let approved = ran(command(folder.path(), &["approve", &run, "answer"]).env("USER", "bo"));
    assert_eq!(approved.exit, 0, "{}", approved.err);
    let ended = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!((ended.exit, ended.out.as_str()), (0, "Done.\n"), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(folder.path().join("guests/ana.txt")).unwrap(), "Room 7");
    let shown = flow(folder.path(), &["runs", "show", &run]).out;
    for told in [
        "clerk  tool guests.write  allowed: policy careful: no list names it, and permission_mode is prompt, and a person said yes (bo)",
        "clerk  write guests/ana.txt  allowed: ",
        "clerk  read prices/rooms.txt  allowed: policy careful: file_access.read prices/*",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    // Silence is no yes.
    let (exit, _, shown) = at(folder.path(), &["run", "p.yaml"], "\u{4}", &[]);
    assert_eq!(exit, 8, "{shown}");
}

#[test]
fn a_test_names_the_call_that_asks_a_person() {
    let folder = tempfile::tempdir().unwrap();
    prompting(folder.path());
    let tests = "flow: 1\ntest: ./p.yaml\ncases:\n  - id: one\n    replies:\n      answer:\n        - calls: [{ tool: guests.write, with: { name: ana.txt, text: Room 7 } }]\n        - Done.\n    MOCKS\n    expect: { outputs: { answer: Done. } }\n";
    std::fs::write(folder.path().join("p.test.yaml"), tests.replace("MOCKS", "")).unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert!(ran.exit != 0 && ran.out.contains("has side effects and no mock"), "{}{}", ran.out, ran.err);
    std::fs::write(folder.path().join("p.test.yaml"), tests.replace("MOCKS", "mocks: { guests.write: written }")).unwrap();
    assert_eq!(flow(folder.path(), &["test"]).exit, 0);
    // A call that stays here asks, too.
    let reads = tests.replace("guests.write, with: { name: ana.txt, text: Room 7 }", "prices.read, with: { name: rooms.txt }");
    let pipeline = std::fs::read_to_string(folder.path().join("p.yaml")).unwrap();
    std::fs::write(folder.path().join("p.yaml"), pipeline.replace("allowed_tools: [prices.read], ", "")).unwrap();
    std::fs::write(folder.path().join("p.test.yaml"), reads.replace("MOCKS", "")).unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert!(
        ran.exit != 0 && ran.out.contains("step \"answer\" asks a person about tool \"prices.read\", which has no mock"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn a_picture_tells_a_missing_answer_from_a_failure() {
    let folder = place(ASKS);
    for (format, told) in [
        ("mermaid", "|\"if nobody answers\"|"),
        ("dot", "label=\"if nobody answers\""),
        ("json", "\"no_answer\""),
        ("svg", "if nobody answers"),
    ] {
        let drawn = flow(folder.path(), &["graph", "p.yaml", "--format", format]).out;
        assert!(drawn.contains(told) && !drawn.contains("if it fails"), "{format}: {drawn}");
    }
    let explained = flow(folder.path(), &["explain", "p.yaml"]).out;
    assert!(explained.contains("Only if nobody answered in time."), "{explained}");
    let both = ASKS.replace("    on_timeout: late\n", "    on_timeout: late\n    on_failure: late\n");
    let folder = place(&both);
    assert!(flow(folder.path(), &["graph", "p.yaml", "--format", "mermaid"]).out.contains("|\"if it fails\"|"));
}

#[test]
fn doctor_looks_at_the_conversations_that_a_file_keeps_elsewhere() {
    let folder = place(
        "flow: 1\nname: talk\ndescription: Talks.\ninputs: { who: text, message: text }\nconversation: { id: \"{{ inputs.who }}\", message: inputs.message, store: own/talks.db }\nsteps:\n  - { id: say, set: \"Hello {{ inputs.message }}\" }\noutputs: { reply: \"{{ steps.say.output }}\" }\n",
    );
    std::fs::create_dir(folder.path().join("own")).unwrap();
    let run = flow(folder.path(), &["run", "p.yaml", "--input", "who=ana", "--input", "message=Hi"]);
    assert_eq!(run.exit, 0, "{}", run.err);
    let fine = flow(folder.path(), &["doctor", "p.yaml"]);
    assert!(fine.exit == 0 && fine.out.contains("conversations: 1, in ") && fine.out.contains("own/talks.db"), "{}", fine.out);
    std::fs::write(folder.path().join("own/talks.db"), "this is no database at all, and long enough".repeat(50)).unwrap();
    let broken = flow(folder.path(), &["doctor", "p.yaml"]);
    assert!(broken.exit == 1 && broken.out.contains("fault  conversations: "), "{}", broken.out);
}

#[test]
fn an_answer_to_an_earlier_question_of_a_step_does_not_count_for_the_next() {
    let pipeline = "flow: 1\nname: notes\ntools: { notes: { file: ., allow: [write], approve: true } }\nmodels: { default: { provider: scripted, replies: calls.yaml } }\nagents: { clerk: { instructions: Note it., tools: [notes.write] } }\nsteps:\n  - { id: answer, agent: clerk, prompt: Go. }\noutputs: { answer: \"{{ steps.answer.output }}\" }\n";
    let call = |name: &str| format!("    - calls: [{{ tool: notes.write, with: {{ name: {name}.txt, text: x }} }}]\n");
    let folder = place(pipeline);
    let replies = format!("flow: 1\nreplies:\n  answer:\n{}{}    - Done.\n", call("one"), call("two"));
    std::fs::write(folder.path().join("calls.yaml"), replies).unwrap();
    let (run, told) = waiting(folder.path());
    assert!(!told.contains("--question"), "the first one needs no number: {told}");
    let approve = |more: &[&str]| flow(folder.path(), &[&["approve", run.as_str(), "answer"], more].concat());
    assert_eq!(approve(&[]).exit, 0);
    let ran = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!(ran.exit, 8, "{}", ran.err);
    let number = ran.err[ran.err.find("--question ").unwrap()..].split(' ').nth(1).unwrap().to_owned();
    let late = approve(&[]);
    assert!(late.exit == 2 && late.err.contains(&format!("--question {number}; look at it with")), "{}", late.err);
    let other = approve(&["--question", "1"]);
    assert!(other.exit == 2 && other.err.contains(&format!("now it asks question {number}")), "{}", other.err);
    assert!(approve(&["--show"]).out.contains("two.txt"));
    assert!(!folder.path().join("two.txt").exists());
    assert_eq!(approve(&["--question", &number]).exit, 0);
    let ran = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(folder.path().join("two.txt").exists());
}

/// A server of an older version, which asks in the middle of a call and says what it was told.
const SERVER: &str = r#"
import json, sys
def say(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        say({"id": number, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}})
    elif method == "tools/list":
        say({"id": number, "result": {"tools": [{"name": "book", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        call = number
        say({"id": "q1", "method": "elicitation/create", "params": {"message": "Which room?", "requestedSchema": {"type": "object", "properties": {"room": {"type": "integer"}}}}})
    elif number == "q1":
        say({"id": call, "result": {"content": [{"type": "text", "text": "told: " + message["result"]["action"]}]}})
    elif number is not None:
        say({"id": number, "error": {"code": -32601, "message": "unknown"}})
"#;

#[test]
fn a_server_that_asks_in_the_middle_of_a_call_is_told_at_once_that_nobody_is_there() {
    if !has(&[Extra::Python]) {
        return;
    }
    let folder = place(
        "flow: 1\nname: books\ntools: { hotel: { command: python3, args: [server.py], allow: [book], questions: true } }\nsteps:\n  - { id: book, tool: hotel.book, with: {} }\n  - { id: ask, approval: Fine? }\noutputs: { said: \"{{ steps.book.output }}\" }\n",
    );
    std::fs::write(folder.path().join("server.py"), SERVER).unwrap();
    assert_eq!(flow(folder.path(), &["trust", "p.yaml"]).exit, 0);
    // The other question waits for another process as always.
    let (run, told) = waiting(folder.path());
    assert!(told.contains("a person decides: Fine?") && !told.contains("Which room"), "{told}");
    let shown = flow(folder.path(), &["runs", "show", &run]).out;
    assert!(shown.contains("book  no answer") && !shown.contains("book  yes"), "{shown}");
    assert_eq!(flow(folder.path(), &["approve", &run, "ask"]).exit, 0);
    let ran = flow(folder.path(), &["runs", "resume", &run]);
    assert!(ran.exit == 0 && ran.out.contains("told: cancel"), "{} {}", ran.out, ran.err);
    // Somebody who is there answers as before.
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "yes\n7\nyes\n", &[]);
    assert!(exit == 0 && out.contains("told: accept"), "{exit} {out} {shown}");
}

#[test]
fn a_question_of_a_server_is_taken_back_when_its_call_has_ended() {
    if !has(&[Extra::Python]) {
        return;
    }
    let asks = "        say({\"id\": \"q1\"";
    let early = "        import time; time.sleep(0.5)\n        say({\"id\": call, \"result\": {\"content\": [{\"type\": \"text\", \"text\": \"booked anyway\"}]}})\n";
    let dies = "        import time; time.sleep(0.5); sys.exit(1)\n";
    for (then, wanted) in [(early, "booked anyway"), (dies, "server \\\"hotel\\\" ")] {
        let folder = place(
            "flow: 1\nname: books\ntools: { hotel: { command: python3, args: [server.py], allow: [book], questions: true } }\nsteps:\n  - { id: book, tool: hotel.book, with: {}, on_failure: continue }\noutputs: { said: \"{{ steps.book.output | default(steps.book.error.message) }}\", failed: \"{{ steps.book.error.kind | default('no') }}\" }\n",
        );
        let (before, after) = SERVER.split_once(asks).unwrap();
        let (line, rest) = after.split_once('\n').unwrap();
        std::fs::write(folder.path().join("server.py"), format!("{before}{asks}{line}\n{then}{rest}")).unwrap();
        assert_eq!(flow(folder.path(), &["trust", "p.yaml"]).exit, 0);
        // Nobody types anything.
        let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "", &[]);
        assert!(exit == 0 && out.contains(wanted) && shown.contains("Which room?"), "{exit} {out} {shown}");
        let told = flow(folder.path(), &["runs", "show"]).out;
        assert!(told.contains("book  no answer") && told.contains("its call ended before an answer"), "{told}");
        assert!(told.contains("it showed: server \"hotel\" asks, during a call of its tool \"book\": | Which room?"), "{told}");
    }
}
