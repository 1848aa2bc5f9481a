//! `flow runs show --html`: the page of a run, through the program.

use std::path::Path;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::program::{Ran, flow};
use crate::reference_systems::project;

const TIMESHEET: &str = "pipelines/timesheet/pipeline.yaml";

/// Elements of HTML that have no end.
const VOID: [&str; 1] = ["meta"];

/// Reads a page to its end: every element is closed, each attribute quoted, every escape known. Gives what people read.
fn read(page: &str) -> String {
    let mut reader = Reader::from_str(page);
    reader.config_mut().check_end_names = false;
    let (mut open, mut text) = (vec![], String::new());
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} at {}", reader.error_position())) {
            Event::Eof => break,
            Event::Start(tag) => {
                tag.attributes().for_each(|attribute| drop(attribute.unwrap()));
                if !VOID.contains(&tag.name().as_ref()) {
                    open.push(tag.name().as_ref().to_owned());
                }
            }
            Event::End(tag) => assert_eq!(open.pop().as_deref(), Some(tag.name().as_ref()), "at {}", reader.buffer_position()),
            Event::Text(part) => text.push_str(&part),
            Event::GeneralRef(name) => text.push_str(match &*name {
                "lt" => "<",
                "gt" => ">",
                "amp" => "&",
                "quot" => "\"",
                "apos" => "'",
                "#10" => "\n",
                other => panic!("&{other};"),
            }),
            Event::Empty(_) | Event::DocType(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    text
}

/// Runs the timesheet so that its first reply is written once more.
fn refined(folder: &Path) {
    let replies = folder.join("pipelines/timesheet/demo.replies.yaml");
    let text = std::fs::read_to_string(&replies).unwrap();
    let weak = "\n  compose:\n    - when: not refinement\n      text: \"You did fine <b>this week</b> \\e[31m\\u202E.\"\n";
    std::fs::write(&replies, text.replacen("\n  compose:\n", weak, 1)).unwrap();
    let ran =
        flow(folder, &["run", TIMESHEET, "--input", "message=Check my timesheet", "--channel", "email", "--now", "2026-11-20T09:00:00Z"]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
}

#[test]
fn the_page_of_a_refined_run_shows_all_of_it_and_nothing_personal() {
    let project = project();
    refined(project.path());
    let Ran { exit, out, err } = flow(project.path(), &["runs", "show", "--html", "run.html"]);
    assert_eq!((exit, out.as_str(), err.as_str()), (0, "", ""));
    let page = std::fs::read_to_string(project.path().join("run.html")).unwrap();
    let text = read(&page);
    for wanted in [
        "Check my timesheet",
        "email",
        "none reported",
        "Rounds of the refinement",
        "not met: states_hours",
        "Round 1: not met",
        "You did fine <b>this week</b> \\x1B[31m\\u202E.",
        "Feedback: 32 does not occur in the text.",
        "Round 2: met",
        "You've logged **32 of 40 hours** this week",
        "The refinement worked.",
        "Sent by deliver to stdout, 1 part",
        "select logged, case when logged = 1",
        "facts/hours/by_day",
        "Prompt: system",
        "2 tries · refined",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(
        page.contains("class=\"flow-graph\"") && !page.contains("<script") && !page.contains("<b>"),
        "the graph, and no markup of a model"
    );
    let people = std::fs::read_to_string(project.path().join("pipelines/timesheet/data/people.csv")).unwrap();
    let own = people.lines().find(|line| line.starts_with("p7,")).unwrap();
    for personal in own.split(',').filter(|cell| cell.contains(['@', '+'])).chain(["Ana"]) {
        assert!(!text.contains(personal), "{personal}");
    }
    assert!(text.contains("Hi <PERSON_1>,"), "{text}");

    let printed = flow(project.path(), &["runs", "show", "--html", "-"]);
    assert_eq!((printed.exit, printed.out == page), (0, true), "{}", printed.err);
}

#[test]
fn a_page_takes_the_place_of_a_file_and_an_error_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("p.yaml"), "flow: 1\nname: p\nsteps: [{ id: a, set: 1 }]\n").unwrap();
    assert_eq!(flow(folder, &["run", "p.yaml"]).exit, 0);
    let show = |more: &[&str]| flow(folder, &[&["runs", "show"], more].concat());

    std::fs::write(folder.join("run.html"), "old").unwrap();
    assert_eq!(show(&["--html", "run.html"]).exit, 0);
    let page = std::fs::read_to_string(folder.join("run.html")).unwrap();
    read(&page);

    let unknown = show(&["r_none", "--html", "run.html"]);
    assert_eq!((unknown.exit, unknown.err.contains("run \"r_none\" not found")), (2, true), "{}", unknown.err);
    assert_eq!(std::fs::read_to_string(folder.join("run.html")).unwrap(), page);
    let nowhere = show(&["--html", "no/such/run.html"]);
    assert_eq!((nowhere.exit, nowhere.err.contains("cannot write no/such/run.html")), (2, true), "{}", nowhere.err);
    let a_folder = show(&["--html", "."]);
    assert_eq!((a_folder.exit, a_folder.err.contains("cannot write .")), (2, true), "{}", a_folder.err);
    let both = show(&["--html", "run.html", "--json"]);
    assert_eq!((both.exit, both.err.contains("cannot be used with")), (2, true), "{}", both.err);
    if std::fs::File::options().write(true).open("/dev/full").is_ok() {
        let full = show(&["--html", "/dev/full"]);
        assert_eq!((full.exit, full.err.contains("cannot write /dev/full")), (6, true), "{}", full.err);
    }

    // The file that ran is another one now: the graph is drawn from the record.
    std::fs::write(folder.join("p.yaml"), "flow: 1\nname: p\nsteps: [{ id: b, set: 2 }]\n").unwrap();
    let changed = show(&["--html", "-"]);
    assert_eq!((changed.exit, changed.err.contains("p.yaml has changed since")), (0, true), "{}", changed.err);
    assert!(read(&changed.out).contains('a'));
}
