//! The page of workflows to copy: what it shows is shipped, runs and is tested.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::golden::copy;
use crate::readme::{blocks, commands, page, shell};
use crate::reference_systems::project;

/// An example of the page: its folder, and what stands below its heading.
struct ShownExample {
    folder: String,
    section: String,
}

impl ShownExample {
    fn pipeline(&self) -> String {
        page(&format!("pipelines/examples/{}/pipeline.yaml", self.folder))
    }
}

/// The examples of the first table, each with the section that it links to.
fn examples(page: &str) -> Vec<ShownExample> {
    let rows = page.lines().filter_map(|line| line.split_once("| [`")?.1.split_once("`](#"));
    let example = |(folder, rest): (&str, &str)| {
        let anchor = rest.split(')').next().unwrap();
        let is_meant = |section: &&str| section.lines().next().unwrap().to_lowercase().replace(',', "").replace(' ', "-") == anchor;
        let section = page.split("\n## ").skip(1).find(is_meant).unwrap_or_else(|| panic!("no heading is #{anchor}"));
        ShownExample { folder: folder.to_owned(), section: section.to_owned() }
    };
    rows.map(example).collect()
}

/// The ids of the steps and cases in a piece of a pipeline.
fn ids(yaml: &str) -> BTreeSet<String> {
    let ids = yaml.lines().filter_map(|line| line.trim_start().strip_prefix("- ")?.trim_start_matches("{ ").strip_prefix("id: "));
    ids.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

#[test]
fn each_block_of_the_examples_is_a_part_of_the_shipped_file() {
    let page = page("docs/examples.md");
    let examples = examples(&page);
    let shown: BTreeSet<&str> = examples.iter().map(|example| example.folder.as_str()).collect();
    let shipped = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/examples")).unwrap();
    let shipped: BTreeSet<String> = shipped.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    assert_eq!(shown, shipped.iter().map(String::as_str).collect(), "the page shows what is shipped");
    let mut count = 0;
    for example in &examples {
        let pipeline = example.pipeline();
        for block in blocks(&example.section, "yaml") {
            assert!(format!("\n{pipeline}").contains(&format!("\n{block}\n")), "{} has no such lines:\n{block}", example.folder);
            count += 1;
        }
    }
    assert_eq!(count, blocks(&page, "yaml").len(), "each block belongs to an example");
    assert!(count >= examples.len(), "{count}");
}

/// A step that a page shows and no run reaches would be an example of nothing.
#[test]
fn the_commands_of_the_examples_reach_each_step_that_is_shown() {
    for example in examples(&page("docs/examples.md")) {
        let project = project();
        let tests = format!("tests/golden/{}", example.folder);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&tests), &project.path().join(&tests));
        let shown: BTreeSet<String> = blocks(&example.section, "yaml").into_iter().flat_map(ids).collect();
        let mut done = BTreeSet::new();
        let mut note = || {
            let (_, record, _) = shell(project.path(), "flow runs export");
            let record: Value = serde_json::from_str(&record).unwrap();
            for step in record["steps"].as_array().unwrap().iter().filter(|step| step["status"] == "succeeded") {
                let parts = step["step"].as_str().unwrap().split('/');
                done.extend(parts.map(|part| part.split('[').next().unwrap().to_owned()));
            }
            record["run"].as_str().unwrap().to_owned()
        };
        let (waits, ends) = (blocks(&example.section, "sh"), blocks(&example.section, "console"));
        assert!(!waits.is_empty() || !ends.is_empty(), "{}: no command is shown", example.folder);
        for line in waits {
            let (exit, out, err) = shell(project.path(), line);
            assert_eq!(exit, Some(8), "{line}\n{out}{err}");
            let run = note();
            let (exit, out, err) = shell(project.path(), &format!("flow approve {run} ask && flow runs resume {run}"));
            assert_eq!(exit, Some(0), "{line}\n{out}{err}");
            note();
        }
        for line in ends.into_iter().flat_map(commands).map(|shown| shown.command) {
            let (exit, out, err) = shell(project.path(), &line);
            assert_eq!(exit, Some(0), "{line}\n{out}{err}");
            if line.starts_with("flow run ") {
                note();
            }
        }
        // Where a run needs a service, its tests stand for it: each names the steps that it reaches.
        let named = page(&format!("{tests}/{}.test.yaml", example.folder));
        let left: Vec<&String> = shown.iter().filter(|id| !done.contains(*id)).collect();
        let is_tested = |id: &&String| example.folder == "tickets" && named.contains(&format!("{id}[1]"));
        assert!(left.iter().all(is_tested), "{}: no command of the page reaches {left:?}", example.folder);
        let (exit, out, err) = shell(project.path(), &format!("flow test {tests}"));
        assert_eq!(exit, Some(0), "{tests}\n{out}{err}");
    }
}

#[test]
fn the_lines_that_the_page_counts_are_those_of_the_files() {
    let page = page("docs/examples.md");
    let lines = |yaml: &str| yaml.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    let of = |path: &str| lines(&self::page(path));
    let (_, compared) = page.split_once("## How they are built elsewhere").unwrap();
    for example in examples(&page) {
        let row = compared.lines().find(|line| line.starts_with(&format!("| `{}` |", example.folder))).unwrap();
        assert!(row.ends_with(&format!("| {} |", lines(&example.pipeline()))), "{} lines: {row}", lines(&example.pipeline()));
    }
    let sum = |folder: &str, files: &[&str]| files.iter().map(|file| of(&format!("pipelines/{folder}/{file}"))).sum::<usize>();
    let timesheet = sum("timesheet", &["hours.yaml", "last_entry.yaml", "projects.yaml", "tables.yaml"]);
    let timesheet = format!("{} lines without SQL; the queries are {timesheet} lines in four files", sum("timesheet", &["pipeline.yaml"]));
    assert!(compared.contains(&timesheet), "{timesheet}");
    let [main, team, queries] =
        [["pipeline.yaml"].as_slice(), &["team.yaml"], &["city.sql", "place.sql"]].map(|files| sum("city_facts", files));
    let cities = format!("{main} lines; agents and checks are {team} lines, the queries {queries} lines");
    assert!(compared.contains(&cities), "{cities}");
}
