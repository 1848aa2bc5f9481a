//! A person who is asked: `approval` steps, at a terminal and from another process.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ran, flow};
use crate::terminal::{at, at_question, at_typed_ahead, at_window_question};

const ASKS: &str = "flow: 1
name: offer
description: Sends an offer when a person agrees.
steps:
  - { id: draft, set: \"Dear Ana,\\nthe room is free.\" }
  - id: ask
    approval: \"Send this offer?\"
    show: \"{{ steps.draft.output }}\"
    form:
      text: { type: text, description: The offer, default: \"{{ steps.draft.output }}\" }
      nights: { type: integer, minimum: 1 }
      kind: { type: text, enum: [single, double] }
      breakfast: { type: boolean, default: true }
  - { id: send, set: \"{{ steps.ask.output.nights }} nights, {{ steps.ask.output.kind }}, {{ steps.ask.output.breakfast }}: {{ steps.ask.output.text }}\" }
outputs: { sent: \"{{ steps.send.output }}\", by: \"{{ steps.ask.output.by }}\" }
";

/// It tells why it failed.
fn telling() -> String {
    let tells = "on_failure:\n  - { id: why, set: \"{{ failure.kind }}: {{ failure.message }}\" }\n  - { id: print, send: stdout, of: steps.why.output }\noutputs: {";
    ASKS.replace("outputs: {", tells)
}

pub(crate) fn place(pipeline: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("p.yaml"), pipeline).unwrap();
    std::fs::write(place.path().join("flow.toml"), "").unwrap();
    place
}

/// A run that waits for a person; gives its id.
fn waiting(folder: &Path) -> String {
    let ran = flow(folder, &["run", "p.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (8, ""), "{}", ran.err);
    let run = ran.err[ran.err.find("r_").unwrap()..].split(' ').next().unwrap().to_owned();
    for told in [
        "a person decides: Send this offer?",
        " --show ",
        " --field NAME=VALUE … ",
        "text, nights, kind, breakfast",
        " --reject --comment WHY",
    ] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    run
}

fn kept_events(folder: &Path, run: &str) -> usize {
    let shown = flow(folder, &["runs", "show", run, "--json"]);
    shown.out.len()
}

fn outputs(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err))
}

#[test]
fn a_form_is_filled_in_at_the_terminal_field_by_field() {
    let folder = place(ASKS);
    let typed = "yes\n\n0\nmany\n2\ntriple\ndouble\nno\n";
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], typed, &[("USER", "ana")]);
    assert_eq!(exit, 0, "{shown}");
    assert!(shown.contains("| Dear Ana,\r\n| the room is free.\r\n"), "{shown:?}");
    assert!(shown.contains("Send this offer? (yes/no) "), "{shown:?}");
    assert!(shown.contains("text (The offer; text) [Dear Ana,\\nthe room is free.]: "), "{shown:?}");
    assert!(shown.contains("nights (integer; at least 1") && shown.contains("kind (one of: single, double): "), "{shown:?}");
    assert!(shown.contains("0 is less than the minimum") && shown.contains("\"triple\" is not one of"), "{shown:?}");
    assert!(shown.contains("breakfast (yes or no) [true]: "), "{shown:?}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["sent"], "2 nights, double, false: Dear Ana,\nthe room is free.");
    assert_eq!(told["by"], "ana");
}

#[test]
fn a_no_ends_the_run_with_the_persons_reason_and_silence_is_no_yes() {
    let folder = place(&telling());
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "no, Too dear\n", &[("USER", "ana")]);
    assert_eq!((exit, out.as_str()), (6, "rejected: ana said no: Too dear\n"), "{shown}");
    for (typed, variables) in [("\u{4}", &[][..]), ("yes\n\u{4}", &[]), ("yes\n\n2\n\u{4}", &[]), ("yes\n", &[("CI", "true")])] {
        let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], typed, variables);
        assert_eq!((exit, out.as_str()), (8, ""), "{typed:?} {shown}");
        assert!(shown.contains("flow runs resume r_"), "{shown}");
    }
}

#[test]
fn what_the_data_holds_never_reaches_the_terminal_as_control() {
    let folder = place(&ASKS.replace("Dear Ana,", "\\e[2J\\e]0;x\\aDear\\u202eAna,"));
    let (exit, _, shown) = at(folder.path(), &["run", "p.yaml"], "\u{4}", &[]);
    assert_eq!(exit, 8, "{shown}");
    assert!(
        shown.contains("Dear") && !shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}]0") && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
}

#[test]
fn another_process_answers_once_and_what_does_not_fit_changes_nothing() {
    let folder = place(ASKS);
    let run = waiting(folder.path());
    let shown = flow(folder.path(), &["approve", &run, "ask", "--show"]);
    assert_eq!(
        (shown.exit, shown.out.as_str()),
        (
            0,
            "Dear Ana,\nthe room is free.\nSend this offer?\n  text (The offer; text); default: Dear Ana,\\nthe room is free.\n  nights \
             (integer; at least 1)\n  kind (one of: single, double)\n  breakfast (yes or no); default: true\n"
        )
    );
    let before = kept_events(folder.path(), &run);
    for (wrong, told) in [
        (&[][..], "\"nights\" is missing"),
        (&["--field", "nights=0", "--field", "kind=single"], "0 is less than the minimum"),
        (&["--field", "nights", "--field", "kind=single"], "write --field name=value"),
        (
            &["--field", "nights=2", "--field", "kind=single", "--field", "x=1"],
            "the form has no field \"x\"; it has: text, nights, kind, breakfast",
        ),
        (&["--answer", "{\"nights\":"], "--answer: "),
        (&["--answer", "[1]"], "write one JSON object"),
        (&["--happened", "1"], "answer with --answer or --field"),
        (&["--reject", "--field", "nights=2"], "cannot be used with"),
    ] {
        let said = flow(folder.path(), &[&["approve", &run, "ask"], wrong].concat());
        assert!(said.exit == 2 && said.err.contains(told), "{wrong:?}: {} {}", said.exit, said.err);
    }
    assert_eq!(kept_events(folder.path(), &run), before);
    let early = flow(folder.path(), &["approve", &run, "send"]);
    assert!(early.exit == 2 && early.err.contains("waits for no decision"), "{}", early.err);
    let said =
        flow(folder.path(), &["approve", &run, "ask", "--answer", "{\"nights\": 3, \"text\": \"Short.\"}", "--field", "kind=single"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let twice = flow(folder.path(), &["approve", &run, "ask", "--reject"]);
    assert!(twice.exit == 2 && twice.err.contains("has been decided already"), "{}", twice.err);
    let ran = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(outputs(&ran)["sent"], "3 nights, single, true: Short.");
    let late = flow(folder.path(), &["approve", &run, "ask"]);
    assert!(late.exit == 2 && late.err.contains("has been decided already"), "{}", late.err);

    let folder = place(&telling());
    let run = waiting(folder.path());
    assert_eq!(flow(folder.path(), &["approve", &run, "ask", "--reject", "--comment", "Not before Monday"]).exit, 0);
    let ran = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!(ran.exit, 6, "{}", ran.err);
    assert!(ran.out.starts_with("rejected: ") && ran.out.ends_with(" said no: Not before Monday\n"), "{}", ran.out);
}

#[test]
fn the_time_for_an_answer_ends_between_processes() {
    let short = ASKS
        .replace("    show: ", "    timeout: 1s\n    on_timeout: late\n    show: ")
        .replace("  - { id: send,", "  - { id: late, send: stdout, of: \"'Nobody answered.'\" }\n  - { id: send, needs: [ask],");
    let folder = place(&short);
    let run = waiting(folder.path());
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let late = flow(folder.path(), &["approve", &run, "ask", "--field", "nights=1", "--field", "kind=single"]);
    assert!(late.exit == 2 && late.err.contains("the time to answer \"ask\" is up"), "{}", late.err);
    let ran = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!((ran.exit, ran.out.lines().next()), (0, Some("Nobody answered.")), "{}", ran.err);
    assert!(ran.err.contains("partial"), "{}", ran.err);
    // At a terminal, too, nobody has to press a key for it.
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "", &[]);
    assert!(exit == 0 && out.starts_with("Nobody answered.\n"), "{exit} {out}{shown}");
}

#[test]
fn a_test_answers_with_a_mock() {
    let folder = place(ASKS);
    let tests = "flow: 1
test: ./p.yaml
cases:
  - id: agreed
    mocks: { ask: { nights: 2, kind: single, by: ana } }
    expect: { outputs: { sent: \"2 nights, single, true: Dear Ana,\\nthe room is free.\", by: ana } }
  - id: refused
    mocks: { ask: { error: rejected } }
    expect: { status: failed }
";
    std::fs::write(folder.path().join("p.test.yaml"), tests).unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    std::fs::write(folder.path().join("p.test.yaml"), tests.replace("    mocks: { ask: { nights: 2, kind: single, by: ana } }\n", ""))
        .unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert!(ran.exit != 0 && ran.out.contains("step \"ask\" asks a person and has no mock"), "{}{}", ran.out, ran.err);
    std::fs::write(folder.path().join("p.test.yaml"), tests.replace("nights: 2", "nights: 0")).unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert!(ran.exit != 0 && format!("{}{}", ran.out, ran.err).contains("0 is less than the minimum"), "{}{}", ran.out, ran.err);
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let pays = "flow: 1\nname: pays\nsteps:\n  - { id: note, approval: \"Note?\", form: { text: text } }\n  - { id: pay, approval: \"Pay 1000?\", needs: [note] }\noutputs: { by: \"{{ steps.pay.output.by }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), pays).unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    let run = ["run", "p.yaml", "-q"];
    // Two lines were typed before the first question, and the second line of what is pasted into the field comes before the second.
    let typed = "yes\nMay I?\ryes\nno, Never.\n";
    let (exit, _, shown) = at_typed_ahead(folder.path(), &run, "no\nno\n", typed, &[]);
    assert_eq!(exit, 6, "{shown}");
    assert!(shown.contains("Never."), "{shown}");
}

/// Waits until the terminal shows a text.
fn shows(screen: &mut File, text: &str) {
    let (mut shown, mut buffer) = (String::new(), [0; 4096]);
    while !shown.contains(text) {
        let read = screen.read(&mut buffer).unwrap();
        shown.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

/// A long step beside a question with a short time-out, and a second question.
const BESIDE: &str = "flow: 1
name: beside
steps:
  - { id: long, wait: 2500ms }
  - { id: first, approval: First?, needs: [], timeout: 1s, on_timeout: late }
  - { id: late, set: nobody }
  - { id: second, approval: Second?, needs: [late], when: \"steps.late.status == 'succeeded'\" }
outputs: { first: \"{{ steps.first.output.by | default(steps.late.output) }}\", second: \"{{ steps.second.status }}\", long: \"{{ steps.long.status }}\" }
";

#[test]
fn a_question_is_asked_while_other_steps_go_on_and_what_they_tell_waits_for_the_answer() {
    let folder = place(BESIDE);
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "yes\n", &[("USER", "ana")]);
    assert!(exit == 0 && out.contains("\"first\": \"ana\""), "{exit} {out}{shown}");
    // Two pauses of 400 ms are over before the answer to the other question: they are told below it.
    let both = "flow: 1\nname: both\nsteps:\n  - { id: ask, approval: Ask? }\n  - { id: a, wait: 200ms, needs: [] }\n  - { id: b, wait: 200ms, needs: [a] }\noutputs: { by: \"{{ steps.ask.output.by }}\" }\n";
    let folder = place(both);
    let (exit, shown) = at_question(folder.path(), &["run", "p.yaml"], "(yes/no) ", |_, keyboard| {
        std::thread::sleep(std::time::Duration::from_millis(900));
        keyboard.write_all(b"yes\n").unwrap();
        let (mut rest, mut buffer) = (String::new(), [0; 4096]);
        while let Ok(read) = keyboard.read(&mut buffer) {
            rest.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        let answered = rest.find("yes").unwrap();
        assert!(rest[answered..].contains("b: done") && !rest[..answered].contains("done"), "{rest}");
    });
    assert_eq!(exit, Some(0), "{shown}");
}

#[test]
fn who_let_the_time_of_a_question_pass_is_asked_the_next_one() {
    let folder = place(BESIDE);
    let (exit, shown) = at_question(folder.path(), &["run", "p.yaml"], "Second? (yes/no) ", |_, keyboard| {
        keyboard.write_all(b"yes\n").unwrap();
    });
    assert_eq!(exit, Some(0), "{shown}");
}

const TWO: &str = "flow: 1
name: two
steps:
  - { id: ask, approval: Send it?, needs: [], form: { a: text, b: { type: text, default: none } } }
outputs: { a: \"{{ steps.ask.output.a }}\", b: \"{{ steps.ask.output.b }}\" }
";

#[test]
fn only_a_whole_line_that_arrived_as_it_was_typed_is_an_answer() {
    let folder = place(TWO);
    // Ctrl-D hands over what was typed so far.
    let (exit, shown) = at_question(folder.path(), &["run", "p.yaml"], "(yes/no) ", |_, keyboard| {
        keyboard.write_all(b"yes\x04").unwrap();
    });
    assert_eq!(exit, Some(8), "{shown}");
    // What is pasted into one field does not fill the next one.
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "yes\nDear Ana,\rthe room is free.\n\n", &[]);
    assert!(exit == 0 && out.contains("\"a\": \"Dear Ana,\"") && out.contains("\"b\": \"none\""), "{out} {shown}");
    assert!(shown.contains("what was typed before this question is dropped"), "{shown}");
    // A terminal cuts a long line.
    let long = "x".repeat(5_000);
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], &format!("yes\n{long}\nshort\n\n"), &[]);
    assert!(exit == 0 && out.contains("\"a\": \"short\"") && shown.contains("cuts a line after 4095 bytes"), "{out} {shown}");
}

#[test]
fn text_of_another_step_does_not_hide_what_is_asked() {
    let pipeline = "flow: 1\nname: beside\nsteps:\n  - { id: ask, approval: Transfer 1000 EUR?, needs: [] }\n  - { id: pause, wait: 300ms, needs: [] }\n  - { id: say, send: stdout, of: \"'That was taken back. Use colours? (yes/no) '\", needs: [pause] }\n  - { id: pay, send: stdout, of: \"'PAID'\", needs: [ask] }\n";
    let folder = place(pipeline);
    for more in [&[][..], &["--no-progress"]] {
        let arguments = [&["run", "p.yaml"][..], more].concat();
        // What is asked is the last line again.
        let asked = "Use colours? (yes/no) \r\n\r\nTransfer 1000 EUR? (yes/no) ";
        let (exit, shown) = at_window_question(folder.path(), &arguments, asked, |_, keyboard| {
            keyboard.write_all(b"no\n").unwrap();
        });
        assert_eq!(exit, Some(6), "{shown}");
    }
}

#[test]
fn what_was_half_typed_when_a_text_came_is_part_of_the_answer() {
    let pipeline = "flow: 1\nname: half\nsteps:\n  - { id: ask, approval: Delete it?, needs: [] }\n  - { id: pause, wait: 700ms, needs: [] }\n  - { id: say, send: stdout, of: \"'News'\", needs: [pause] }\noutputs: { by: \"{{ steps.ask.output.by }}\" }\n";
    let folder = place(pipeline);
    let (exit, shown) = at_window_question(folder.path(), &["run", "p.yaml"], "Delete it? (yes/no) ", |_, keyboard| {
        keyboard.write_all(b"no, I will not say ").unwrap();
        shows(keyboard, "Delete it? (yes/no) ");
        keyboard.write_all(b"yes\n").unwrap();
    });
    assert_eq!(exit, Some(6), "{shown}");
    let told = flow(folder.path(), &["runs", "show"]).out;
    assert!(told.contains("I will not say yes"), "{told}");
}

#[test]
fn a_cancelled_run_whose_last_steps_ask_ends_with_and_without_an_answer() {
    let pipeline = "flow: 1\nname: last\nsteps:\n  - { id: w, wait: 60s }\nfinally:\n  - { id: fin, approval: Final? }\n";
    let folder = place(pipeline);
    let (exit, shown) = at_question(folder.path(), &["run", "p.yaml"], "w (", |_, keyboard| {
        let run = flow(folder.path(), &["runs", "list"]).out.split(' ').next().unwrap().to_owned();
        let place = folder.path().to_owned();
        let cancel = std::thread::spawn(move || flow(&place, &["runs", "cancel", &run]));
        shows(keyboard, "Final? (yes/no) ");
        keyboard.write_all(b"yes\n").unwrap();
        assert_eq!(cancel.join().unwrap().exit, 0);
    });
    assert_eq!(exit, Some(130), "{shown}");
    // Nobody is there.
    let mut run = crate::program::command(folder.path(), &["run", "p.yaml"]);
    let run = run.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let child = run.spawn().unwrap();
    crate::program::until("the run did not begin", || flow(folder.path(), &["runs", "list", "--status", "running"]).out.contains("r_"));
    let id = flow(folder.path(), &["runs", "list", "--status", "running"]).out.split(' ').next().unwrap().to_owned();
    assert_eq!(flow(folder.path(), &["runs", "cancel", &id]).exit, 0);
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(130) && !told.contains("flow approve"), "{:?} {told}", ended.status);
}

#[test]
fn an_answer_that_holds_a_secret_and_does_not_fit_without_it_is_asked_for_again() {
    let pipeline = "flow: 1\nname: secret\nsecrets: { TOKEN: Token of the app. }\ntools: { hook: { http: GET https://example.com/x, headers: { authorization: 'Bearer {{ secrets.TOKEN }}' } } }\nsteps:\n  - { id: ask, approval: Go?, form: { word: { type: text, pattern: '^[a-z0-9-]+$' } } }\n  - { id: other, approval: Other?, needs: [] }\noutputs: { word: \"{{ steps.ask.output.word }}\" }\n";
    let folder = place(pipeline);
    assert_eq!(crate::program::ran(crate::program::command(folder.path(), &["trust", "p.yaml"]).env("TOKEN", "canary-12345678")).exit, 0);
    let (exit, out, shown) =
        at(folder.path(), &["run", "p.yaml"], "yes\ncanary-12345678\nyes\nyes\nfine\n", &[("TOKEN", "canary-12345678")]);
    assert!(exit == 0 && out.contains("fine"), "{exit} {out}{shown}");
    assert_eq!(shown.matches("Go? (yes/no)").count(), 2, "{shown}");
}
