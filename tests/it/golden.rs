//! `flow test`, through the program: tests that pass, and every way a test can fail.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};

/// The tests that ship with the project, in a folder of their own.
struct Bench(TempDir);

const TEST: &str = "reminder.test.yaml";
const NOTE: &str = "goldens/reminder.test/missing_hours/note.txt";

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_runner"), folder.path());
        Bench(folder)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), text).unwrap();
    }

    /// Replaces a text that occurs once or more.
    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        self.write(path, &text.replace(from, to));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command(self.0.path(), &[&["test"], arguments].concat())
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// Runs everything and wants these failures, each in the report.
    fn fails_with(&self, texts: &[&str]) -> Ran {
        let ran = self.run(&[]);
        assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
        for text in texts {
            assert!(ran.out.contains(text), "no {text:?} in\n{}", ran.out);
        }
        ran
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn tests_that_hold_pass_with_one_line_each() {
    let ran = Bench::new().run(&[]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "7 passed, 0 failed\n"), "{}", ran.out);
    insta::assert_snapshot!(ran.out, @r"
    ok   reminder.test.yaml/missing_hours/note
    ok   reminder.test.yaml/missing_hours/card
    ok   reminder.test.yaml/said_better/note
    ok   reminder.test.yaml/never_kind/note
    ok   reminder.test.yaml/model_away/note
    ok   reminder.test.yaml/said_by_name/note
    ok   reminder.test.yaml/nobody/note
    ");
}

#[test]
fn a_golden_that_differs_fails_and_shows_the_words() {
    let bench = Bench::new();
    bench.edit(NOTE, "32", "31");
    let ran = bench.run(&["--filter", "missing_hours/note"]);
    assert_eq!((ran.exit, ran.err.as_str()), (1, "0 passed, 1 failed\n"));
    insta::assert_snapshot!(ran.out, @r"
    FAIL reminder.test.yaml/missing_hours/note

    FAIL reminder.test.yaml/missing_hours/note
      golden goldens/reminder.test/missing_hours/note.txt differs
            - golden   + this run
          1 - You logged [-31-] of 40 hours so far. (1/2)
          1 + You logged {+32+} of 40 hours so far. (1/2)
          2   --- part 2 of 2 ---
          3   Eight are missing, shall I help you to add them? (2/2)
    ");
}

#[test]
fn a_missing_golden_fails_until_update_writes_it() {
    let bench = Bench::new();
    let before = bench.read(NOTE);
    std::fs::remove_file(bench.at(NOTE)).unwrap();
    bench.fails_with(&["golden goldens/reminder.test/missing_hours/note.txt is missing; if this is right, run flow test --update"]);
    let ran = bench.run(&["--update"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "7 passed, 0 failed, 1 golden written\n"), "{}", ran.out);
    assert_eq!(bench.read(NOTE), before);
    assert_eq!(bench.run(&[]).exit, 0);
}

#[test]
fn update_is_refused_in_ci_and_for_runs_that_are_not_as_expected() {
    let bench = Bench::new();
    bench.edit(NOTE, "32", "31");
    let refused = ran(bench.command(&["--update"]).env("CI", "true"));
    assert_eq!(refused.exit, 2);
    assert!(refused.err.contains("--update is not allowed where CI is set"), "{}", refused.err);
    bench.edit(TEST, "hours: 32", "hours: 33");
    let ran = bench.run(&["--update"]);
    assert_eq!(ran.exit, 1);
    assert!(ran.out.contains("differs; it was not written, since the run is not as expected"), "{}", ran.out);
    assert!(bench.read(NOTE).contains("31"));
}

#[test]
fn expectations_that_do_not_hold_name_their_line_and_what_was_found() {
    let bench = Bench::new();
    bench.edit(TEST, "hours: 32", "hours: 33");
    bench.edit(TEST, "contains: shall I help", "contains: shall we help");
    bench.edit(TEST, "deliver: succeeded", "deliver: skipped");
    // What a reply rules out is an error of the check; here only the run can tell.
    bench.edit(TEST, "exit: 5, refined: true", "exit: 5, refined: false");
    bench.edit(TEST, "steps: { logged: succeeded } }", "status: failed, exit: 6 }");
    bench.edit(TEST, "exit: 2", "status: failed");
    let ran = bench.fails_with(&[
        "reminder.test.yaml:14: output \"hours\":",
        "reminder.test.yaml:15: sent:",
        "reminder.test.yaml:16: step \"deliver\": expected skipped, found succeeded",
        "status: expected failed, found succeeded",
        "exit: expected 6, found 0",
        "expected the run to be not refined, it was refined",
        "the run did not start (exit 2): person \"p9\" not found in table \"people\"",
    ]);
    assert_eq!(ran.err, "2 passed, 5 failed\n");
}

#[test]
fn replies_that_are_missing_or_left_over_fail_with_step_and_call() {
    let bench = Bench::new();
    bench.edit(TEST, "{ is_kind: Blame nobody. } }, passed]", "{ is_kind: Blame nobody. } }]");
    bench.edit(TEST, "[You forgot eight hours!, ", "[You forgot eight hours!, Once more., Twice more., ");
    bench.fails_with(&["no reply for call 2 of step \"validate\", which asks agent \"reader\"; add one to replies"]);

    let bench = Bench::new();
    bench.edit(TEST, "add them?\"]", "add them?\", A third.]");
    bench.fails_with(&["reminder.test.yaml:22: reply 3 of 3 for step \"compose\" is left over: call 3 never came"]);

    let bench = Bench::new();
    bench.edit("reminder.yaml", "  - id: fit\n", "  - { id: extra, agent: writer, prompt: More?, when: false }\n  - id: fit\n");
    bench.edit(TEST, "  validate: passed\n", "  validate: passed\n  extra: More.\n");
    let ran = bench.fails_with(&["reminder.test.yaml:9: the reply for step \"extra\" is left over: the step did not call a model"]);
    assert_eq!(ran.err, "6 passed, 1 failed\n", "{}", ran.out);
}

#[test]
fn steps_that_act_outside_need_a_mock_and_mocks_need_a_step() {
    let bench = Bench::new();
    bench.edit(TEST, "  record: { status: 201, headers: {}, body: null }\n", "  logged: { hours: 32 }\n");
    bench.fails_with(&["step \"record\" has side effects and no mock; add one to mocks", "found failed at \"record\""]);

    let bench = Bench::new();
    bench.edit(
        "reminder.yaml",
        "    http: POST https://office.example/reminders\n",
        "    when: false\n    http: POST https://office.example/reminders\n",
    );
    bench.edit(TEST, "record: succeeded", "record: skipped");
    bench.fails_with(&["reminder.test.yaml:5: the mock of \"record\" is left over: it was never needed"]);
}

#[test]
fn what_send_would_give_to_a_tool_is_taken_down_and_goes_nowhere() {
    let bench = Bench::new();
    bench.edit("reminder.yaml", "agents:\n", "tools:\n  mail: { smtp: \"127.0.0.1:1\", from: me@office.example }\nagents:\n");
    bench.edit(
        "reminder.yaml",
        "    send: stdout\n",
        "    send: mail\n    with: { to: \"{{ person.id }}@office.example\", subject: Hours }\n",
    );
    let ran = bench.run(&[]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "7 passed, 0 failed\n"), "{}", ran.out);
}

#[test]
fn goldens_of_nobody_fail_also_with_update_and_stay() {
    let bench = Bench::new();
    bench.write("goldens/reminder.test/missing_hours/fax.txt", "x");
    bench.write("goldens/gone.test/a/note.txt", "x");
    for arguments in [[].as_slice(), &["--update"]] {
        let ran = bench.run(arguments);
        assert_eq!((ran.exit, ran.err.as_str()), (1, "7 passed, 0 failed, 2 unused goldens\n"), "{}", ran.out);
        assert!(ran.out.contains("  goldens/gone.test/a/note.txt\n  goldens/reminder.test/missing_hours/fax.txt\n"), "{}", ran.out);
    }
    assert!(bench.at("goldens/gone.test/a/note.txt").exists());
}

#[test]
fn a_file_that_is_named_twice_runs_once() {
    let ran = Bench::new().run(&[".", "./reminder.test.yaml", "reminder.test.yaml", "--filter", "model_away"]);
    assert_eq!((ran.exit, ran.out.as_str()), (0, "ok   reminder.test.yaml/model_away/note\n"), "{}", ran.err);
}

#[test]
fn a_filter_hides_nothing_from_the_tests_it_leaves_out() {
    let ran = Bench::new().run(&["--filter", "model_away"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "1 passed, 0 failed\n"), "{}", ran.out);
}

#[test]
fn no_test_is_a_failure_unless_it_may_be() {
    let bench = Bench::new();
    for arguments in [["--filter", "nothing like this"].as_slice(), &["gone"], &["channels"]] {
        let ran = bench.run(arguments);
        assert_eq!((ran.exit, ran.out.as_str()), (4, ""), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(bench.run(&["channels", "--no-tests", "pass"]).exit, 0);
}

#[test]
fn a_file_with_mistakes_fails_and_the_others_run() {
    let bench = Bench::new();
    bench.write("broken.test.yaml", "flow: 1\ntest: reminder.yaml\ncases:\n  - { id: a, gold: true }\n");
    let ran = bench.fails_with(&["FAIL broken.test.yaml", "broken.test.yaml:4:"]);
    assert_eq!(ran.err, "7 passed, 0 failed, 1 file with errors\n");
}

#[test]
fn a_pipeline_may_hold_its_own_tests_and_waits_take_no_time() {
    let bench = Bench::new();
    bench.write(
        "own.yaml",
        "flow: 1\nname: own\ndescription: Waits a year.\nsteps:\n  - { id: nap, wait: 365d }\n  - { id: each, for_each: [1, 2, 3], agent: writer, prompt: \"{{ item }}\" }\n\
         agents:\n  writer: { instructions: You write. }\noutputs: { words: \"{{ steps.each.output }}\" }\n\
         tests:\n  - id: slow\n    golden: true\n    replies: { each: [one, two, three] }\n    expect: { outputs: { words: [one, two, three] } }\n  - id: mocked\n    mocks: { each: [four, five, six], nap: null }\n    expect: { outputs: { words: [four, five, six] } }\n",
    );
    let ran = bench.run(&["own.yaml", "--update"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "2 passed, 0 failed, 1 golden written\n"), "{}", ran.out);
    assert_eq!(bench.read("goldens/own/slow/outputs.json"), "{\n  \"words\": [\n    \"one\",\n    \"two\",\n    \"three\"\n  ]\n}\n");
    bench.edit("own.yaml", "[one, two, three] } }", "[one, 2, three] } }");
    insta::assert_snapshot!(bench.run(&["own.yaml", "--quiet"]).out, @r#"
    FAIL own.yaml/slow

    FAIL own.yaml/slow
      own.yaml:14: output "words": The value is not ["one",2,"three"].
            - expected   + this run
          1   [
          2     "one",
          3 -   [-2-],
          3 +   {+"two"+},
          4     "three"
          5   ]
    "#);
}

/// A pipeline with one text as its result, and a test whose cases are these rows.
fn with_rows(rows: &str) -> Bench {
    let bench = Bench::new();
    bench.write(
        "rows.yaml",
        "flow: 1\nname: rows\ndescription: Answers.\ninputs: { days: integer, question: text }\nagents:\n  writer: { instructions: You write. }\nsteps:\n  - { id: answer, agent: writer, prompt: \"{{ inputs.question }}\" }\n\
         outputs: \"{{ steps.answer.output }} ({{ inputs.days }})\"\n",
    );
    bench.write(
        "rows.test.yaml",
        "flow: 1\ntest: rows.yaml\nreplies: { answer: { text: Open on Monday., usage: { input_tokens: 400, output_tokens: 20 } } }\ncases_from: { file: rows.csv }\n",
    );
    bench.write("rows.csv", rows);
    bench
}

#[test]
fn a_row_of_a_table_is_a_case_and_its_line_is_named() {
    let header = "id,inputs.days,inputs.question,expect.result.contains,expect.max_tokens\n";
    let good = format!("{header}one,7,When?,on Monday. (7),\ntwo,3,\"When, please?\",(3),420\n");
    let ran = with_rows(&good).run(&["rows.test.yaml"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "2 passed, 0 failed\n"), "{}", ran.out);
    let bad = format!("{header}one,7,When?,on Tuesday,\ntwo,3,When?,(3),419\n");
    let ran = with_rows(&bad).run(&["rows.test.yaml", "--quiet"]);
    for told in ["rows.csv:2: result: ", "rows.csv:3: max_tokens: expected at most 419, found 420 (400 in, 20 out)"] {
        assert!(ran.out.contains(told), "no {told:?} in\n{}", ran.out);
    }
}

#[test]
fn a_table_of_cases_is_read_as_spreadsheets_write_it() {
    let bench = Bench::new();
    bench.write(
        "rows.yaml",
        "flow: 1\nname: rows\ninputs: { who: text, paid: boolean }\nsteps:\n  - { id: say, set: \"{{ inputs.who }} {{ inputs.paid }}\" }\noutputs: \"{{ steps.say.output }}\"\n",
    );
    bench.write("rows.test.yaml", "flow: 1\ntest: rows.yaml\ncases_from: { file: rows.csv }\n");
    let rows =
        "sep=;\r\nid;inputs.who;inputs.paid;expect.result;;\r\none;Ana;TRUE;Ana true;;\r\ntwo;Bo, B.;False;Bo, B. false;;;;\r\n;;;;;\r\n";
    let utf16: Vec<u8> = std::iter::once(0xFEFF).chain(rows.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    for bytes in [rows.as_bytes(), &utf16] {
        std::fs::write(bench.0.path().join("rows.csv"), bytes).unwrap();
        let ran = bench.run(&["rows.test.yaml"]);
        assert_eq!((ran.exit, ran.err.as_str()), (0, "2 passed, 0 failed\n"), "{}", ran.out);
    }
    for (rows, told) in [
        ("id;inputs.paid;expect.result\none;WAHR;x\n", "WAHR"),
        ("id;expect.result;\none;x;y\n", "this row has 3 values, and there are 2 columns"),
        ("id;;expect.result\none;;y\n", "unknown column"),
    ] {
        bench.write("rows.csv", rows);
        let ran = bench.run(&["rows.test.yaml"]);
        assert!(ran.exit == 1 && ran.out.contains(told), "no {told:?} in\n{}", ran.out);
    }
}

#[test]
fn a_file_of_tests_that_a_folder_does_not_run_is_told() {
    let bench = Bench::new();
    bench.write("sub/hours.yaml", "flow: 1\nname: hours\nsteps: [{ id: say, set: Hi }]\noutputs: \"{{ steps.say.output }}\"\n");
    let test = "flow: 1\ntest: hours.yaml\ncases: [{ id: one, expect: { result: Bye } }]\n";
    for (name, right) in
        [("n.tests.yaml", "n.test.yaml"), ("n_test.yaml", "n.test.yaml"), ("test.yaml", "hours.test.yaml"), ("cases.yml", "hours.test.yml")]
    {
        let name = format!("sub/{name}");
        bench.write(&name, test);
        let ran = bench.run(&["sub"]);
        let told = format!("not run: {name}: its name does not end in .test.yaml; rename it to {right}\n");
        assert!(ran.exit == 4 && ran.err.contains(&told), "{}", ran.err);
        assert!(bench.run(&[&name]).out.contains("FAIL"), "a file that is named is run");
        std::fs::remove_file(bench.0.path().join(&name)).unwrap();
    }
    bench.write("sub/other.yaml", "jobs:\n  test: 1\n  cases: 2\n");
    assert!(!bench.run(&["sub"]).err.contains("not run"));
}

#[test]
fn a_judge_says_whether_a_result_is_as_wanted_and_is_never_left_out() {
    let bench = with_rows(
        "id,inputs.days,inputs.question,replies.expect.judge,expect.judge\none,7,When?,passed,It names a day.\ntwo,3,When?,,It names a day.\n",
    );
    let ran = bench.run(&["rows.test.yaml"]);
    let told = "rows.csv:3: judge: nobody judged the result: add expect.judge: passed to replies, or run flow test --live";
    assert!(ran.exit == 1 && ran.out.contains("ok   rows.test.yaml/one\n") && ran.out.contains(told), "{}", ran.out);
    let failed = "flow: 1\ntest: rows.yaml\ncases:\n  - id: rude\n    inputs: { days: 1, question: When? }\n    replies: { answer: Monday., expect.judge: { failed: { judge: Not polite. } } }\n    expect: { judge: Is polite to people. }\n";
    bench.write("rows.test.yaml", failed);
    let ran = bench.run(&["rows.test.yaml"]);
    assert!(ran.exit == 1 && ran.out.ends_with("  rows.test.yaml:7: judge: Not polite.\n"), "{}", ran.out);
}

#[test]
fn cases_are_compared_on_several_models_where_models_are_asked() {
    let bench = with_rows("");
    let models =
        "models:\n  small: { provider: scripted, replies: small.yaml }\n  large: { provider: scripted, replies: large.yaml }\nagents:";
    bench.edit("rows.yaml", "agents:", models);
    bench.write("small.yaml", "flow: 1\nreplies: { answer: Hm. }\n");
    bench.write("large.yaml", "flow: 1\nreplies: { answer: Monday. }\n");
    let case = |id: &str, wanted: &str| {
        format!("  - {{ id: {id}, inputs: {{ days: 1, question: When? }}, expect: {{ result: {{ contains: {wanted} }} }} }}\n")
    };
    let cases = [case("day", "Monday"), case("any", "(1)")].concat();
    bench.write("rows.test.yaml", &format!("flow: 1\ntest: rows.yaml\nmodels: [small, large]\ncases:\n{cases}"));
    let ran = bench.run(&["rows.test.yaml", "--live", "--trust"]);
    let table = "model  passed  cost (USD)  tokens  time\nsmall  1 of 2  ";
    assert!(ran.exit == 1 && ran.out.contains("FAIL rows.test.yaml/day@small\n") && ran.out.contains(table), "{}{}", ran.out, ran.err);
    let ran = bench.run(&["rows.test.yaml", "--live", "--trust", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let large = &report["models"][1];
    assert_eq!((&large["model"], &large["passed"], &large["cases"]), (&"large".into(), &2.into(), &2.into()));
    bench.edit("rows.test.yaml", "cases:", "replies: { answer: Monday. }\ncases:");
    let ran = bench.run(&["rows.test.yaml"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "models of rows.test.yaml is used only with --live\n2 passed, 0 failed\n"), "{}", ran.out);
    bench.edit("rows.test.yaml", "[small,", "[smal,");
    let ran = bench.run(&["rows.test.yaml"]);
    assert!(ran.out.contains("the test names model \"smal\", which does not exist; did you mean \"small\"?"), "{}", ran.out);
}

#[test]
fn a_case_that_costs_more_than_expected_fails_with_the_figures() {
    let bench = with_rows("id,inputs.days,inputs.question,expect.max_cost_usd\none,7,When?,0.001\n");
    let ran = bench.run(&["rows.test.yaml"]);
    assert!(ran.out.contains("rows.csv:2: max_cost_usd: the cost of 420 tokens is not known"), "{}", ran.out);
    // A price of one of two models says nothing of the other.
    let dear = "models: { dear: { provider: openai, model: x, price: { input: 1, output: 1 } } }\nagents:\n  second: { instructions: You check., model: dear }\n";
    bench.edit("rows.yaml", "agents:\n", dear);
    bench.edit("rows.yaml", "outputs:", "  - { id: more, agent: second, prompt: x }\noutputs:");
    let usage = "usage: { input_tokens: 4, output_tokens: 2 } }";
    bench.edit("rows.test.yaml", "replies: {", &format!("replies: {{ more: {{ text: Yes., {usage},"));
    let ran = bench.run(&["rows.test.yaml"]);
    assert!(ran.out.contains("rows.csv:2: max_cost_usd: the cost of model \"default\" is not known"), "{}", ran.out);
}

#[test]
fn programs_read_the_report_as_json_and_junit() {
    let bench = Bench::new();
    bench.edit(NOTE, "32", "31");
    let ran = bench.run(&["--json", "--junit", "report.xml"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["summary"]["passed"], 6);
    let first = &report["tests"][0];
    assert_eq!((&first["case"], &first["channel"], &first["passed"]), (&"missing_hours".into(), &"note".into(), &false.into()));
    assert!(first["failures"][0]["diff"].as_str().unwrap().contains("{+32+}"), "{first}");
    let xml = bench.read("report.xml");
    let mut reader = quick_xml::Reader::from_str(&xml);
    let mut failures = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(tag) if tag.name().as_ref() == "failure" => failures += 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(failures, 1, "{xml}");
    assert!(xml.contains("<testcase name=\"missing_hours/card\" classname=\"reminder.test.yaml\"/>"), "{xml}");
    assert_eq!(bench.run(&["--format", "junit"]).out, xml);
}

#[test]
fn the_table_of_people_can_be_mocked() {
    let bench = Bench::new();
    let case = |mock: &str, expect: &str| {
        format!(
            "flow: 1\ntest: reminder.yaml\nmocks: {{ record: {{ status: 201, headers: {{}}, body: null }} }}\ncases:\n  - id: a\n    inputs: {{ message: Hi, who: p7 }}\n    mocks: {{ person: {mock}, \
             logged: {{ hours: 1 }} }}\n    replies: {{ compose: \"{{{{ person.name }}}}, shall I help?\", validate: passed }}\n    expect: {expect}\n"
        )
    };
    bench.write("people.test.yaml", &case("{ id: p7, name: Zoe }", "{ sent: { contains: 'Zoe, shall I' } }"));
    let ran = bench.run(&["people.test.yaml"]);
    assert_eq!(ran.exit, 0, "{}", ran.out);
    bench.write("people.test.yaml", &case("[Zoe]", "{ status: succeeded }"));
    let ran = bench.run(&["people.test.yaml"]);
    assert!(ran.out.contains("the mock of \"person\" must hold the person's fields, or be empty, or an error"), "{}", ran.out);
    bench.edit("reminder.yaml", "person: { id: \"{{ inputs.who }}\", from: people }", "person: { id: \"{{ inputs.who }}\", name: Ben }");
    bench.write("people.test.yaml", &case("{ name: Zoe }", "{ sent: { contains: 'Ben, shall I' } }"));
    let ran = bench.run(&["people.test.yaml"]);
    assert!(ran.out.contains("people.test.yaml:7: the mock of \"person\" is left over: it was never needed"), "{}", ran.out);
}

#[test]
fn a_data_file_that_is_not_there_fails_only_the_tests_that_read_it() {
    let bench = Bench::new();
    std::fs::remove_file(bench.at("hours.csv")).unwrap();
    let ran = bench.run(&["--filter", "missing_hours/note"]);
    assert_eq!(ran.exit, 1);
    assert!(
        ran.out.contains("hours.csv does not exist in /") && ran.out.contains(". Check the path, or put the file there. (unavailable)"),
        "{}",
        ran.out
    );
    bench.edit(TEST, "  - id: missing_hours\n", "  - id: missing_hours\n    mocks: { logged: { hours: 32 } }\n");
    let ran = bench.run(&["--filter", "missing_hours/note"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "1 passed, 0 failed\n"), "{}", ran.out);
}

#[test]
fn a_test_can_say_that_a_step_never_started() {
    let bench = Bench::new();
    bench.edit(
        "reminder.yaml",
        "steps:\n  - id: logged",
        "steps:\n  - id: kind\n    route: inputs.message\n    cases:\n      - { id: done, phrases: [am I done], set: 1 }\n      - { id: more, phrases: [more], set: 2 }\n    otherwise: { set: 3 }\n  - id: logged",
    );
    let steps = |steps: &str| bench.edit(TEST, "steps: { deliver: succeeded, record: succeeded }", &format!("steps: {{ {steps} }}"));
    steps("kind/done: succeeded, kind/more: not_run, kind/otherwise: not_run, sorry: not_run, say_sorry: not_run");
    bench.edit(TEST, "steps: { deliver: blocked }", "steps: { deliver: not_run, record: not_run, say_sorry: succeeded }");
    let ran = bench.run(&[]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "7 passed, 0 failed\n"), "{}", ran.out);
    bench.edit(TEST, "kind/done: succeeded, kind/more: not_run", "kind/done: not_run, kind/more: skipped");
    bench.fails_with(&[
        "reminder.test.yaml:16: step \"kind/done\": expected not_run, found succeeded",
        "reminder.test.yaml:16: step \"kind/more\": expected skipped, it did not run; write not_run if it should not",
    ]);
}

#[test]
fn a_scripted_verdict_on_what_no_judge_is_asked_is_told() {
    let bench = Bench::new();
    bench.edit(TEST, "[{ failed: { is_kind: Blame nobody. } }, passed]", "[{ failed: { is_knd: Blame nobody. } }, passed]");
    let told = "error[F700]: a reply for gate \"validate\" fails criterion \"is_knd\", which does not exist; did you mean \"is_kind\"?";
    bench.fails_with(&[told, "reminder.test.yaml:23:30"]);

    // What a step wrote is known only in the run.
    let bench = Bench::new();
    bench.edit("reminder.yaml", "    gate: kind\n", "    gate: [kind, inputs.card | default(none)]\n");
    bench.edit(
        "reminder.yaml",
        "  who: { type: text, default: p1 }\n",
        "  who: { type: text, default: p1 }\n  card: { type: scorecard, required: false }\n",
    );
    bench.edit(
        "reminder.yaml",
        "        judge: true\n",
        "        judge: true\n      - { id: is_short, description: It is a short text., check: { max_length: 900 } }\n",
    );
    bench.edit(TEST, "[{ failed: { is_kind: Blame nobody. } }, passed]", "[{ failed: { is_knd: Blame nobody., is_short: No. } }]");
    bench.edit(TEST, "[You forgot eight hours!, \"Eight", "[\"Eight");
    bench.edit(TEST, "refined: true, sent: { fits_channel", "refined: false, sent: { fits_channel");
    bench.fails_with(&[
        "reminder.test.yaml:23: the reply for gate \"validate\" fails criterion \"is_knd\", which it does not have; did you mean \"is_kind\"?",
        "reminder.test.yaml:23: the reply for gate \"validate\" fails criterion \"is_short\", which has a check and asks no judge",
    ]);
}

#[test]
fn a_broken_output_that_no_check_notices_is_told_with_what_would() {
    let bench = Bench::new();
    let ran = bench.run(&["--mutate", "--filter", "missing_hours"]);
    assert_eq!(ran.exit, 1);
    for text in [
        "SURVIVED reminder.test.yaml/missing_hours/note\n  gate \"validate\" lets a changed figure through: You logged 33 of 40 hours",
        "a criterion with this would notice: numbers_from, with the data of the answer",
        "Broken on purpose, one at a time:\n",
        "a banned word: noticed 0, survived 0, not applicable ",
        "(no word is banned)",
    ] {
        assert!(ran.out.contains(text), "{text}\n{}", ran.out);
    }
    assert!(ran.err.contains("broken outputs survived"), "{}", ran.err);
    let ran = bench.run(&["--mutate", "--filter", "missing_hours", "--json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let mutations = report["tests"][0]["mutations"].as_array().unwrap();
    assert!(
        mutations.iter().any(|m| m["gate"] == "validate" && m["mutation"] == "a changed figure" && m["result"] == "survived"),
        "{mutations:?}"
    );
    let refused = bench.run(&["--mutate", "--update"]);
    assert_eq!(refused.exit, 2, "{}", refused.err);
}

#[test]
fn gates_in_groups_rounds_cases_elements_and_called_pipelines_are_tested_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(folder.path().join("inner.yaml"), GATE_IN_A_CALL).unwrap();
    std::fs::write(folder.path().join("gates.yaml"), GATES_EVERYWHERE).unwrap();
    let ran = flow(folder.path(), &["test", "gates.yaml", "--mutate", "--json"]);
    assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let links: Vec<String> = report["tests"][0]["mutations"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|mutant| mutant["mutation"] == "a link")
        .map(|mutant| format!("{} {} {}", mutant["gate"], mutant["result"], mutant["by"]).replace('"', "").replace("\\n", " "))
        .collect();
    let (survived, nothing) = ("See https://example.com/login for more. ", "the gate let nothing through");
    let mut wanted: Vec<String> = [("group[0]/check", "GOOD 1"), ("group[2]/check", "GOOD at last"), ("loop[1]/check", "GOOD, round 1")]
        .into_iter()
        .chain([("loop[2]/check", "GOOD, round 2"), ("way/only/check", "GOOD way"), ("each[0]", "GOOD one"), ("each[1]", "GOOD two")])
        .chain([("inner/check", "GOOD called")])
        .map(|(gate, text)| format!("{gate} survived {text}  {survived}"))
        .chain(["group[1]/check", "top"].map(|gate| format!("{gate} not_applicable {nothing}")))
        .collect();
    wanted.sort();
    let mut links: Vec<&str> = links.iter().map(String::as_str).collect();
    links.sort_unstable();
    assert_eq!(links, wanted);
    let ran = flow(folder.path(), &["test", "gates.yaml", "--mutate"]);
    for text in [
        "gate \"group[0]/check\" (and 1 other) lets a link through: GOOD 1",
        "  a link: noticed 0, survived 8, not applicable 2 (the gate let nothing through)\n",
    ] {
        assert!(ran.out.contains(text), "{text}\n{}", ran.out);
    }
}

const GATE_IN_A_CALL: &str = r#"
flow: 1
name: inner
scorecards: { ok: { criteria: [ { id: good, description: The text says GOOD in capitals., check: { contains: GOOD } } ] } }
inputs: { text: text }
steps: [ { id: check, gate: ok, of: inputs.text } ]
outputs: "{{ steps.check.output }}"
"#;

const GATES_EVERYWHERE: &str = r#"
flow: 1
name: gates
inputs: { way: { type: text, enum: [only], default: only } }
agents: { writer: { instructions: You write. } }
scorecards: { ok: { criteria: [ { id: good, description: The text says GOOD in capitals., check: { contains: GOOD } } ] } }
steps:
  - id: group
    for_each: "['a', 'b', 'c']"
    steps:
      - { id: draft, agent: writer, prompt: "{{ item }}" }
      - { id: check, gate: ok, of: steps.draft.output, refine: draft, otherwise: SORRY }
  - id: loop
    repeat: { until: round == 2, at_most: 2 }
    steps:
      - { id: draft, set: "GOOD, round {{ round }}" }
      - { id: check, gate: ok, of: steps.draft.output }
  - id: way
    route: inputs.way
    cases: [ { id: only, equals: only, steps: [ { id: check, gate: ok, of: "'GOOD way'" } ] } ]
  - { id: each, for_each: "['GOOD one', 'GOOD two']", gate: ok, of: item }
  - { id: inner, call: inner.yaml, with: { text: GOOD called } }
  - { id: top, gate: ok, of: "'nothing'", otherwise: SORRY }
outputs: { all: "{{ steps | length }}" }
tests:
  - id: t
    replies: { "group[0]/draft": GOOD 1, "group[1]/draft": [ bad, still bad ], "group[2]/draft": [ bad, GOOD at last ] }
    expect: { status: quality_not_met }
"#;

#[test]
fn a_weak_gate_lets_a_wrong_subject_person_figure_and_meaning_through_and_a_strict_one_notices_each() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(folder.path().join("gates.yaml"), WEAK_AND_STRICT).unwrap();
    std::fs::write(folder.path().join("people.csv"), "id,name\np1,Ana\n").unwrap();
    let ran = flow(folder.path(), &["test", "gates.yaml", "--mutate", "--json"]);
    assert_eq!(ran.exit, 1, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let mutants = report["tests"][0]["mutations"].as_array().unwrap();
    let of = |gate: &str, way: &str| mutants.iter().find(|m| m["gate"] == gate && m["mutation"] == way).unwrap();
    for (way, text, by) in [
        ("a text about something else", "The roses behind the castle are in bloom", "answers"),
        ("a text about something else with the same figures", "strolls along. Ask for 32 and 40.", "in_words"),
        ("two figures in each other's place", "You have logged 40 of 32 hours this week, Ana.", "in_words"),
        ("a sentence that says the opposite", "You have not logged 32 of 40 hours this week, Ana.", "in_words"),
        ("the text three times", "this week, Ana.\n\nYou have logged 32 of 40 hours", "once"),
        ("another person's name", "hours this week, Nora.", "names"),
    ] {
        let survived = of("weak", way);
        assert!(survived["result"] == "survived" && survived["by"].as_str().unwrap().contains(text), "{survived}");
        let noticed = of("strict", way);
        assert!(noticed["result"] == "noticed" && noticed["by"].as_array().unwrap().contains(&by.into()), "{noticed}");
        assert_eq!(
            of("bare", way)["result"],
            if way.contains("figure") || way.contains("opposite") { "not_applicable" } else { "survived" }
        );
    }
}

const WEAK_AND_STRICT: &str = r#"
flow: 1
name: gates
models: { default: { provider: scripted, replies: { weak: passed, bare: passed } } }
agents: { quality: { instructions: You judge. } }
data: { people: { file: people.csv } }
inputs: { text: { type: text, default: "You have logged 32 of 40 hours this week, Ana." } }
person: { id: p1, from: people }
scorecards:
  weak:
    judge: quality
    criteria: [ { id: good, description: The reply answers the question., expected: An answer., judge: true } ]
  strict:
    criteria:
      - { id: answers, description: The reply names the hours that are logged., check: { contains: "{{ with.words }}" } }
      - { id: in_words, description: Each figure stands in its words., check: { regex: '^\D*$', apart_from: with.words } }
      - { id: once, description: The words stand in the reply once., check: { expression: text | split(with.words) | length == 2 } }
      - { id: names, description: The reply names nobody but the person., check: { regex: '^\p{Lu}\P{Lu}*$', apart_from: person.name } }
steps:
  - { id: weak, gate: weak, of: inputs.text }
  - { id: bare, gate: weak, of: "'Well done.'" }
  - { id: strict, gate: strict, of: inputs.text, with: { words: have logged 32 of 40 hours } }
outputs: { all: "{{ steps.strict.output }}" }
tests: [ { id: t, expect: { status: succeeded } } ]
"#;

#[test]
fn the_gate_of_the_timesheet_notices_every_broken_output_on_every_channel() {
    let asked = ["test", "--mutate", "tests/golden/timesheet/questions.test.yaml", "--filter", "hours_this_week/"];
    let ran = flow(Path::new(env!("CARGO_MANIFEST_DIR")), &asked);
    assert_eq!((ran.exit, ran.err.as_str()), (0, "5 passed, 0 failed\n"), "{}", ran.out);
    assert!(ran.out.contains("  a changed figure: noticed 5, survived 0\n"), "{}", ran.out);
    assert!(
        ran.out.contains(
            "  Markdown that the channel cannot show: noticed 4, survived 0, not applicable 1 (the channel shows all Markdown)\n"
        ),
        "{}",
        ran.out
    );
}
