//! `form` of an `approval` that is a list of questions which a step gave.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, flow};
use crate::terminal::at;

const QUESTIONS: &str = r#"[
  { "id": "room", "question": "Which room?", "type": "integer", "choices": [1, 7] },
  { "id": "note", "question": "Anything\u001b[2J\u202e else?" },
  { "id": "late", "question": "Do you arrive late?", "type": "boolean" }
]"#;

/// A project whose pipeline asks these questions.
fn place(questions: &str) -> TempDir {
    crate::approvals::place(&format!(
        "flow: 1
name: trip
description: Asks what a step wants to know.
steps:
  - id: design
    set: {{ questions: {} }}
  - {{ id: ask, approval: May I ask you something?, form: steps.design.output.questions }}
outputs: {{ answers: \"{{{{ steps.ask.output | tojson }}}}\", room: \"{{{{ steps.ask.output.room }}}}\" }}
",
        questions.replace('\n', " ")
    ))
}

fn waiting(folder: &Path) -> String {
    let ran = flow(folder, &["run", "p.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (8, ""), "{}", ran.err);
    assert!(ran.err.contains("room, note, late"), "{}", ran.err);
    ran.err[ran.err.find("r_").unwrap()..].split(' ').next().unwrap().to_owned()
}

fn outputs(out: &str, told: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|_| panic!("{out}{told}"))
}

#[test]
fn a_person_answers_them_at_the_terminal_and_their_text_is_no_control() {
    let folder = place(QUESTIONS);
    let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "yes\n5\n7\nA cot.\nno\n", &[("USER", "ana")]);
    assert_eq!(exit, 0, "{shown}");
    assert!(shown.contains("room (Which room?; one of: 1, 7): "), "{shown:?}");
    assert!(shown.contains("5 is not one of 1 or 7") || shown.contains("5 is not one of"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}') && shown.contains("Anything\\x1B[2J\\u202E else?"), "{shown:?}");
    let told = outputs(&out, &shown);
    assert_eq!(told["room"], 7);
    let answers: Value = serde_json::from_str(told["answers"].as_str().unwrap()).unwrap();
    assert_eq!(answers, json!({ "by": "ana", "comment": "", "room": 7, "note": "A cot.", "late": false }));
}

#[test]
fn another_process_answers_them_and_each_answer_is_held_to_its_question() {
    let folder = place(QUESTIONS);
    let run = waiting(folder.path());
    let shown = flow(folder.path(), &["approve", &run, "ask", "--show"]);
    assert_eq!(
        (shown.exit, shown.out.as_str()),
        (
            0,
            "May I ask you something?\n  room (Which room?; one of: 1, 7)\n  note (Anything\\x1B[2J\\u202E else?; text)\n  late (Do you \
             arrive late?; yes or no)\n"
        )
    );
    for (wrong, told) in [
        (&["--field", "room=7", "--field", "note=x"][..], "\"late\" is missing"),
        (&["--field", "room=5", "--field", "note=x", "--field", "late=no"], "5 is not one of"),
        (
            &["--field", "room=7", "--field", "note=x", "--field", "late=no", "--field", "other=1"],
            "the form has no field \"other\"; it has: room, note, late",
        ),
    ] {
        let said = flow(folder.path(), &[&["approve", &run, "ask"], wrong].concat());
        assert!(said.exit == 2 && said.err.contains(told), "{wrong:?}: {} {}", said.exit, said.err);
    }
    let said = flow(folder.path(), &["approve", &run, "ask", "--field", "room=7", "--field", "note=x", "--field", "late=yes"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let ran = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!((ran.exit, &outputs(&ran.out, &ran.err)["room"]), (0, &json!(7)), "{}", ran.err);
}

#[test]
fn a_bad_list_fails_the_step_with_the_entry_and_the_field() {
    for (questions, told) in [
        (r#"[{ "id": "a", "question": "x" }, { "id": "b" }]"#, "question 2 of the form: has no question"),
        (r#"[{ "id": "a", "question": "x", "type": "colour" }]"#, "question 1 of the form: type \"colour\" is not known"),
        (r#"[{ "id": "a", "question": "x", "choices": [] }]"#, "question 1 of the form: choices has 0 choices"),
    ] {
        let folder = place(questions);
        let ran = flow(folder.path(), &["run", "p.yaml"]);
        assert!(ran.exit == 6 && ran.err.contains(told), "{questions}: {} {}", ran.exit, ran.err);
    }
}

/// What a check says of a pipeline whose form is this.
fn checked(form: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = format!(
        "flow: 1\nname: p\ndescription: Asks.\nagents: {{ a: {{ instructions: You ask. }} }}\nsteps:\n  - id: design\n    agent: a\n    prompt: Ask.\n    output:\n      title: text\n      names: {{ type: list, items: text }}\n      questions: {{ type: list, items: {{ type: object, fields: {{ id: text, question: text }} }} }}\n  - {{ id: ask, approval: Well?, form: {form} }}\noutputs: {{ a: \"{{{{ steps.ask.output | tojson }}}}\" }}\n"
    );
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    flow(folder.path(), &["validate", "p.yaml"])
}

#[test]
fn the_path_must_lead_to_a_list_of_questions() {
    let ran = checked("steps.design.output.questions");
    assert_eq!((ran.exit, ran.out.contains("F2")), (0, false), "{}{}", ran.out, ran.err);
    for (form, told) in [
        ("steps.desing.output.questions", "F201"),
        ("steps.design.output.question", "F202"),
        ("steps.design.output.title", "form needs a list of questions, each with id and question; steps.design.output.title is text"),
        (
            "steps.design.output.names",
            "form needs a list of questions, each with id and question; steps.design.output.names is a list of text",
        ),
        ("5", "must map names to values"),
    ] {
        let ran = checked(form);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(ran.exit == 1 && said.contains(told), "{form}: {said}");
    }
}

#[test]
fn a_test_answers_by_id() {
    let folder = place(QUESTIONS);
    let tests = "flow: 1
test: ./p.yaml
cases:
  - id: agreed
    mocks: { ask: { room: 7, note: x, late: true, by: ana } }
    expect: { outputs: { room: 7 } }
  - id: refused
    mocks: { ask: { error: rejected } }
    expect: { status: failed }
";
    std::fs::write(folder.path().join("p.test.yaml"), tests).unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    std::fs::write(folder.path().join("p.test.yaml"), tests.replace("room: 7,", "room: 5,")).unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert!(ran.exit != 0 && format!("{}{}", ran.out, ran.err).contains("5 is not one of"), "{}{}", ran.out, ran.err);
    std::fs::write(folder.path().join("p.test.yaml"), tests.replace("room: 7,", "rom: 7,")).unwrap();
    let ran = flow(folder.path(), &["test"]);
    assert!(
        ran.exit != 0 && format!("{}{}", ran.out, ran.err).contains("the form has no field \"rom\"; did you mean \"room\"?"),
        "{}{}",
        ran.out,
        ran.err
    );
}
