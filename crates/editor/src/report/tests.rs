use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::diagnostic::Code;
use crate::source::{FileId, Span};

const MAIL: &str = "flow: 1\nname: mail\nsteps:\n  - id: draft\n    agent: writer\n    prompt: Write.\n    needs: [review]\n  - id: send\n    send: stdout\n  - id: review\n    agent: critic\n    needs: [draft]\n";

/// Returns the span of the nth (from 0) `what` in a file.
fn at(sources: &Sources, file: FileId, what: &str, nth: usize) -> Span {
    let (start, _) = sources.file(file).text.match_indices(what).nth(nth).unwrap();
    Span::new(file, start, start + what.len())
}

pub(super) fn example() -> (Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let mail = sources.add("pipelines/mail.yaml", MAIL);
    let team = sources.add("pipelines/a team,1.yaml", "agents:\n  critic: { instructions: Be kind. }\n  idle: { tools: no }\n");
    sources.add("pipelines/clean.yaml", "flow: 1\n");
    let no = at(&sources, team, "no", 0);
    let mut found = vec![
        Diagnostic::new(Code::Cycle, at(&sources, mail, "draft", 1), "steps wait for each other: draft -> review -> draft")
            .related(at(&sources, mail, "review", 0), "\"draft\" waits for \"review\"")
            .related(at(&sources, mail, "draft", 1), "\"review\" waits for \"draft\"")
            .help("remove one of the two names"),
        Diagnostic::new(Code::UnusedOutput, at(&sources, mail, "review", 1), "the output of \"review\" is never used")
            .related(at(&sources, team, "critic", 0), "its agent")
            .help("use steps.review.output, 100% or remove the step"),
        Diagnostic::new(Code::YamlTrap, no, "no without quotes is text here and false elsewhere; write \"no\" or false")
            .help("write \"no\" for the word, false for true/false")
            .safe_fix(vec![(no, "\"no\"".to_owned())]),
    ];
    found.iter_mut().for_each(|found| found.fix = found.candidate.take());
    (sources, found)
}

#[test]
fn people_get_a_picture_with_help() {
    let (sources, found) = example();
    insta::assert_snapshot!(human(&Findings::new(&sources, &found), Look::default()), @r#"
    error[F101]: steps wait for each other: draft -> review -> draft
      --> pipelines/mail.yaml:12:13
       |
     7 |     needs: [review]
       |             ------ "draft" waits for "review"
    ...
    12 |     needs: [draft]
       |             ^^^^^ "review" waits for "draft"
       |
       = help: remove one of the two names
       = more: flow explain F101

    warning[F105]: the output of "review" is never used
      --> pipelines/mail.yaml:10:9
       |
    10 |   - id: review
       |         ^^^^^^
       |
      ::: pipelines/a team,1.yaml:2:3
       |
     2 |   critic: { instructions: Be kind. }
       |   ------ its agent
       |
       = help: use steps.review.output, 100% or remove the step
       = more: flow explain F105

    warning[F009]: no without quotes is text here and false elsewhere; write "no" or false
     --> pipelines/a team,1.yaml:3:18
      |
    3 |   idle: { tools: no }
      |                  ^^
      |
      = help: write "no" for the word, false for true/false
      = fix: flow fix can write this
      = more: flow explain F009
    "#);
}

#[test]
fn colour_changes_no_letter() {
    let (sources, found) = example();
    let findings = Findings::new(&sources, &found);
    let coloured = human(&findings, Look { is_coloured: true, ..Look::default() });
    assert!(coloured.contains("\u{1b}["));
    let bare = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(&coloured, "").into_owned();
    assert_eq!(bare, human(&findings, Look::default()));
}

#[test]
fn what_cannot_be_seen_is_escaped_and_columns_stay_those_of_the_file() {
    let mut sources = Sources::default();
    let file = sources.add("a\u{1b}.yaml", "a:\t\u{1b}[31m\u{202e}evil # x\n");
    let span = at(&sources, file, "evil", 0);
    let found =
        [Diagnostic::new(Code::HiddenCharacters, span, "a \u{1b}[31m\u{202e} message").related(span, "l\u{7}abel").help("remove \u{9b}it")];
    insta::assert_snapshot!(human(&Findings::new(&sources, &found), Look::default()), @r#"
    error[F023]: a \x1B[31m\u202E message
     --> a\x1B.yaml:1:10
      |
    1 | a:    \x1B[31m\u202Eevil # x
      |                     ^^^^ l\x07abel
      |
      = help: remove \x9Bit
      = more: flow explain F023
    "#);
}

#[test]
fn a_long_line_is_cut_around_the_mark() {
    let mut sources = Sources::default();
    let file = sources.add("a.yaml", format!("a: \"{}MARK{}\"\n", "é ".repeat(200), " z".repeat(200)));
    let found = [Diagnostic::new(Code::BadValue, at(&sources, file, "MARK", 0), "too long")];
    insta::assert_snapshot!(human(&Findings::new(&sources, &found), Look::default()), @"
    error[F007]: too long
     --> a.yaml:1:405
      |
    1 | …é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é MARK z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z z…
      |                                                              ^^^^
      |
      = more: flow explain F007
    ");
}

/// Returns a long line with wide characters, a mark with a label, a far one in that line, and one in another file.
fn wide_example() -> (Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let file = sources.add(
        "pipelines/reports/quarterly_figures.yaml",
        "steps:\n  - id: 日本\n    prompt: \"日本語の報告 🎉🎉 {{ steps.nobody.output }} and more of it, until the line is long\"\n",
    );
    let other = sources.add("channels/email.yaml", "max_length: 20 # of 日本\n");
    let found = [Diagnostic::new(
        Code::BadValue,
        at(&sources, file, "steps.nobody.output", 0),
        "step \"nobody\" does not exist in this pipeline, which has only one",
    )
    .related(at(&sources, file, "日本", 0), "the only step there is, with a long label")
    .related(at(&sources, other, "20", 0), "the length")
    .help("write \"{{ steps.日本.output }}\", or add a step of this name to the pipeline")];
    (sources, found.into())
}

#[test]
fn a_finding_is_drawn_in_a_narrow_window() {
    let (sources, found) = wide_example();
    let at_width = |width| human(&Findings::new(&sources, &found), Look { width: Some(width), ..Look::default() });
    insta::assert_snapshot!(at_width(40), @r#"
    error[F007]: step "nobody" does not
                 exist in this pipeline,
                 which has only one
     --> pipelines/reports/quarterly_figures.yaml:3:27
      |
    2 |   - id: 日本
      |         ----
    3 | …告 🎉🎉 {{ steps.nobody.output }}…
      |             ^^^^^^^^^^^^^^^^^^^
      |
      = line 2: the only step there is,
                with a long label
      |
     ::: channels/email.yaml:1:13
      |
    1 | max_length: 20 # of 日本
      |             -- the length
      |
      = help: write "{{ steps.日本.output
              }}", or add a step of this
              name to the pipeline
      = more: flow explain F007
    "#);
    insta::assert_snapshot!(at_width(60), @r#"
    error[F007]: step "nobody" does not exist in this pipeline,
                 which has only one
     --> pipelines/reports/quarterly_figures.yaml:3:27
      |
    2 |   - id: 日本
      |         ---- the only step there is, with a long label
    3 | …本語の報告 🎉🎉 {{ steps.nobody.output }} and more of…
      |                     ^^^^^^^^^^^^^^^^^^^
      |
     ::: channels/email.yaml:1:13
      |
    1 | max_length: 20 # of 日本
      |             -- the length
      |
      = help: write "{{ steps.日本.output }}", or add a step of
              this name to the pipeline
      = more: flow explain F007
    "#);
    assert_eq!(at_width(300), human(&Findings::new(&sources, &found), Look::default()));
}

#[test]
fn a_span_over_many_lines_and_one_at_the_end_of_the_file_are_marked_on_one_line() {
    let mut sources = Sources::default();
    let file = sources.add("a.yaml", "a: |\n  one\n  two\nb:");
    let found = [
        Diagnostic::new(Code::BadValue, Span::new(file, 7, 16), "many lines"),
        Diagnostic::new(Code::MissingKey, Span::new(file, 19, 19), "at the end"),
        Diagnostic::new(Code::MissingKey, Span::file_start(file), "at the start").related(Span::new(file, 19, 19), "here"),
    ];
    insta::assert_snapshot!(human(&Findings::new(&sources, &found), Look::default()), @"
    error[F007]: many lines
     --> a.yaml:2:3
      |
    2 |   one
      |   ^^^
      |
      = more: flow explain F007

    error[F004]: at the end
     --> a.yaml:4:3
      |
    4 | b:
      |   ^
      |
      = more: flow explain F004

    error[F004]: at the start
     --> a.yaml:1:1
      |
    1 | a: |
      | ^
    ...
    4 | b:
      |   - here
      |
      = more: flow explain F004
    ");
}

#[test]
fn the_summary_counts_in_words() {
    let (sources, found) = example();
    assert_eq!(summary(&Findings::new(&sources, &found)), "1 error and 2 warnings in 3 files");
    assert_eq!(summary(&Findings::new(&sources, &[])), "no findings in 3 files");
    let mut denied = found.clone();
    denied.iter_mut().for_each(|found| found.is_denied = true);
    assert_eq!(summary(&Findings::new(&sources, &denied)), "3 errors in 3 files");
}

proptest! {
    #[test]
    fn anything_anywhere_can_be_drawn(text in "(?s).{0,300}", start in 0usize..400, length in 0usize..400, other in 0usize..400, width in 40usize..90, message in any::<String>()) {
        let mut sources = Sources::default();
        let file = sources.add(message.clone(), text.as_str());
        let found = [Diagnostic::new(Code::YamlTrap, Span::new(file, start, start + length), message.clone())
            .related(Span::new(file, other, other + 1), message.clone())
            .help(message)];
        let findings = Findings::new(&sources, &found);
        let narrow = human(&findings, Look { width: Some(width), ..Look::default() });
        for line in narrow.lines().filter(|line| !line.contains("--> ") && !line.contains("::: ")) {
            prop_assert!(super::look::columns(line) <= width, "{line:?}");
        }
        prop_assert!(human(&findings, Look::default()).chars().all(|c| c == '\n' || !c.is_control()));
        serde_json::from_str::<Value>(&json(&findings)).unwrap();
        serde_json::from_str::<Value>(&sarif(&findings)).unwrap();
        prop_assert_eq!(github(&findings).lines().count(), 1);
        prop_assert!(junit(&findings).chars().all(|c| c == '\n' || !c.is_control()));
    }
}
