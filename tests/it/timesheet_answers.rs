//! The timesheet pipeline with other tables than the shipped ones: what people type into cells, and what a reply makes of it.

use std::path::Path;

use regex::Regex;
use tempfile::TempDir;

use crate::program::{Ran, flow};
use crate::reference_systems::project;

const PIPELINE: &str = "pipelines/timesheet/pipeline.yaml";
const SORRY: &str = "I can't reach your timesheet right now. Please try again in a few minutes.";

/// A copy of the project with these rows of entries, and with these people if any are given.
fn with_rows(entries: &str, people: &str) -> TempDir {
    let project = project();
    let data = project.path().join("pipelines/timesheet/data");
    let entries = format!("id,person,day,project,task,hours,note\n{entries}");
    std::fs::write(data.join("entries.csv"), entries).expect("a copy can be written");
    if !people.is_empty() {
        let people = format!("id,name,email,phone,language,time_zone,weekly_target\n{people}");
        std::fs::write(data.join("people.csv"), people).expect("a copy can be written");
    }
    project
}

fn ask(project: &TempDir, message: &str, person: &str, channel: &str) -> Ran {
    let (message, person) = (format!("message={message}"), format!("person={person}"));
    let now = "2026-11-20T09:00:00Z";
    flow(project.path(), &["run", PIPELINE, "--input", &message, "--input", &person, "--channel", channel, "--now", now])
}

/// Asks by SMS as p7 and wants this answer, without the greeting.
fn says(project: &TempDir, message: &str, person: &str, expected: &str) {
    let ran = ask(project, message, person, "sms");
    let said = ran.out.split_once("\n\n").map_or("", |(_, said)| said.trim_end());
    assert_eq!((ran.exit, said), (0, expected), "{message}: {}", ran.err);
}

#[test]
fn a_cell_that_is_no_number_or_no_date_is_told_and_never_counted_as_nothing() {
    for (row, told) in [
        ("e1,p7,2026-11-16,atlas,atlas_research,\"8,5\",", "line 2: \"8,5\" in column \"hours\" is not a number"),
        ("e1,p7,2026-11-16,atlas,atlas_research,eight,", "line 2: \"eight\" in column \"hours\" is not a number"),
        ("e1,p7,16.11.2026,atlas,atlas_research,8,", "line 2: \"16.11.2026\" in column \"day\" is not a date"),
    ] {
        let ran = ask(&with_rows(row, ""), "Check my timesheet", "p7", "sms");
        assert_eq!(ran.exit, 6, "{row}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(SORRY) && ran.err.contains(told), "{row}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn tenths_of_hours_have_no_noise_of_binary_fractions() {
    let project = with_rows("e1,p7,2026-11-16,atlas,,0.1,\ne2,p7,2026-11-17,atlas,,0.2,\ne3,p7,2026-11-18,atlas,,7.1,\n", "");
    says(&project, "Check my timesheet", "p7", "You've logged 7.4 of 40 hours this week, which leaves 32.6 to go.");
    says(&project, "My projects", "p7", "Your projects: R&D *Atlas* (7.4 h this week, 7.4 h in all).");
}

#[test]
fn hours_of_a_project_or_task_that_no_table_names_are_told_all_the_same() {
    let project = with_rows("e1,p7,2026-11-16,mars,mars_landing,3,\ne2,p7,2026-11-17,,,1,\n", "");
    says(&project, "Last entry", "p7", "Your last entry is from Tuesday, 17 November: 1 hour on no project.");
    says(&project, "My projects", "p7", "Your projects: mars (3 h this week, 3 h in all), no project (1 h this week, 1 h in all).");
    let summary = "You've logged 4 of 40 hours this week, which leaves 36 to go.\n\nBy day: Monday 3 h, Tuesday 1 h.\n\n\
        By project: 3 h on mars; 1 h on no project.";
    says(&project, "Weekly summary", "p7", summary);
}

#[test]
fn of_several_entries_of_a_day_the_last_is_the_one_that_stands_last() {
    let project = with_rows("e9,p7,2026-11-19,atlas,,2,\ne10,p7,2026-11-19,website,,3,\ne11,p7,2026-11-18,atlas,,4,\n", "");
    says(&project, "Last entry", "p7", "Your last entry is from Thursday, 19 November: 3 hours on Website relaunch.");
}

#[test]
fn people_without_a_name_or_a_target_and_with_a_target_of_one_hour_are_answered() {
    let people = "p1,,a@example.com,,en,Europe/Berlin,40\np2,Bo Li,b@example.com,,en,Europe/Berlin,\np3,Cy,c@example.com,,en,,0\n\
        p4,Di,d@example.com,,en,,1\n";
    let rows: String = ["p1", "p2", "p3", "p4"].map(|person| format!("e,{person},2026-11-18,atlas,,1,\n")).concat();
    let project = with_rows(&rows, people);
    says(&project, "Check my timesheet", "p1", "You've logged 1 of 40 hours this week, which leaves 39 to go.");
    says(&project, "Check my timesheet", "p2", "You've logged 1 hour this week.");
    says(&project, "What's my status?", "p3", "Here is where you stand: you've logged 1 hour this week.");
    says(&project, "Check my timesheet", "p4", "You've logged 1 of 1 hour this week, which is right on target.");
    says(&project, "How was last week?", "p2", "You didn't log any hours last week.");
    says(&project, "How was last week?", "p4", "You didn't log any hours last week. Your target was 1 hour.");
    let summary = ask(&project, "Weekly summary", "p2", "email");
    assert!(summary.exit == 0 && summary.out.contains("You've logged **1 hour**.\n"), "{}", summary.out);
}

#[test]
fn a_time_zone_that_does_not_exist_is_told_since_a_day_elsewhere_is_another_day() {
    let project = with_rows("e1,p7,2026-11-20,atlas,,2,\n", "p7,Ana Moreira,,,en,Europe/Berln,40\n");
    let ran = ask(&project, "Hours today", "p7", "sms");
    assert_eq!((ran.exit, ran.out.as_str()), (6, format!("Hi Ana,\n\n{SORRY}\n").as_str()));
    assert!(ran.err.contains("unknown time zone \"Europe/Berln\"; did you mean \"Europe/Berlin\"?"), "{}", ran.err);
}

#[test]
fn questions_as_people_type_them_need_no_planner() {
    let project = with_rows("e1,p7,2026-11-20,atlas,,2,\n", "");
    for (message, expected) in [
        ("What are my hours for today?", "You've logged 2 hours today, all on R&D *Atlas*."),
        ("How much did I work this week?", "You've logged 2 of 40 hours this week, which leaves 38 to go."),
        ("my last time entry", "Your last entry is from Friday, 20 November: 2 hours on R&D *Atlas*."),
    ] {
        says(&project, message, "p7", expected);
    }
}

fn shipped(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("it is shipped")
}

/// The ids of the criteria that a file holds.
fn criteria(file: &str) -> Vec<String> {
    let text = shipped(file);
    let pattern = Regex::new(r"(?m)^ +- id: ([a-z_]+)\n +description: ").expect("a pattern");
    pattern.captures_iter(&text).map(|found| found[1].to_owned()).collect()
}

#[test]
fn every_shipped_criterion_has_a_reply_that_fails_exactly_that_one() {
    let (mut own, mut planned) = (criteria("pipelines/timesheet/team.yaml"), criteria("pipelines/timesheet/demo.replies.yaml"));
    // No reply of a model fails it: it holds for the fixed words alone, which `flow test --mutate` breaks.
    own.retain(|id| id != "fixed_words");
    // Where nothing is looked up, fixed words answer, and no criterion of the plan is asked.
    planned.retain(|id| id != "stays_with_the_timesheet");
    assert!(own.len() >= 16 && planned.len() >= 4, "{own:?} {planned:?}");
    let tests = shipped("tests/golden/timesheet/gate.test.yaml");
    let ran = flow(Path::new(env!("CARGO_MANIFEST_DIR")), &["test", "tests/golden/timesheet/gate.test.yaml", "--filter", "criterion_"]);
    assert_eq!(ran.exit, 0, "{}", ran.out);
    for id in own.iter().chain(&planned) {
        let case = tests.split("\n  - id: ").find(|case| case.lines().next() == Some(&format!("criterion_{id}")));
        let case = case.unwrap_or_else(|| panic!("no case criterion_{id} in gate.test.yaml: a reply that fails this criterion alone"));
        // The second reply says which criteria the first one failed.
        assert!(case.contains(&format!("refined: true, sent: {{ contains: \"Mended: {id}.\" }}")), "{case}");
        assert!(case.contains("Mended: {{ refinement.failed | map(attribute='id') | join(', ') }}."), "{case}");
        assert!(ran.out.contains(&format!("ok   tests/golden/timesheet/gate.test.yaml/criterion_{id}/")), "{id}: {}", ran.out);
    }
}

#[test]
fn no_scripted_reply_contains_a_figure() {
    let replies = shipped("pipelines/timesheet/demo.replies.yaml");
    let (_, replies) = replies.split_once("\nreplies:\n").expect("there are replies");
    let templates = Regex::new(r"\{\{.*?\}\}|\{%.*?%\}").expect("a pattern");
    // What a template compares with is not said.
    let quoted = Regex::new(r#"\[0\]|!= 1 |"[^"]*"|'[^']*'"#).expect("a pattern");
    for line in replies.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let said = templates.replace_all(line, "");
        assert!(!said.contains(|c: char| c.is_numeric()), "a figure in {line:?}");
        for template in templates.find_iter(line) {
            let names = quoted.replace_all(template.as_str(), "");
            assert!(!names.contains(|c: char| c.is_numeric()), "a figure in {line:?}");
        }
    }
}

#[test]
fn what_a_project_is_called_does_not_keep_its_hours_from_a_person() {
    let rows = "e1,p7,2026-11-19,a,,4,\ne2,p7,2026-11-20,b,,2,Wir haben mit den Kunden über die Störung gesprochen\n";
    let project = with_rows(rows, "");
    let names = project.path().join("pipelines/timesheet/data/projects.csv");
    for (first, second) in [
        ("Wöchentliche Besprechung mit den Kunden und der Geschäftsführung", "Überarbeitung der Internetseite für die Kundinnen"),
        ("🚀🎉 Atlas_2", "❤️ *Support*"),
        ("Synergy board", "I have added value"),
        ("Internationalisation responsibilities and interdepartmental documentation", "Organisational considerations"),
    ] {
        std::fs::write(&names, format!("id,name\na,{first}\nb,{second}\n")).unwrap();
        for (message, channel) in [
            ("My projects", "sms"),
            ("My projects", "whatsapp"),
            ("Weekly summary", "email"),
            ("Last entry", "telegram"),
            ("Hours today", "teams"),
        ] {
            let ran = ask(&project, message, "p7", channel);
            assert_eq!(ran.exit, 0, "{first}, {message} by {channel}: {}{}", ran.out, ran.err);
        }
    }
}
