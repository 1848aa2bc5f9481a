//! The pages of the manual: each stands in the table of contents, every link leads somewhere, every pipeline is whole.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::program::flow;
use crate::readme::blocks;

const CONTENTS: &str = "docs/SUMMARY.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The Markdown files of a folder.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// A page without its code, in which nothing is a link.
fn prose(page: &str) -> String {
    Regex::new(r"(?ms)^ *```.*?^ *```|`[^`\n]+`").unwrap().replace_all(page, "code").into_owned()
}

/// Where the links of a page lead.
fn links(page: &str) -> Vec<String> {
    let page = prose(page);
    Regex::new(r"\]\(([^)\s]+)\)").unwrap().captures_iter(&page).map(|link| link[1].to_owned()).collect()
}

/// What the headings of a page are called in addresses, as GitHub and mdbook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let code = Regex::new(r"(?ms)^ *```.*?^ *```").unwrap();
    let page = code.replace_all(page, "").replace('`', "");
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings.map(|heading| heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let contents = root().join(CONTENTS);
    let linked = links(&text(&contents));
    let listed: BTreeSet<PathBuf> = linked.iter().map(|link| root().join("docs").join(link)).collect();
    assert_eq!(listed.len(), linked.len(), "a page is in {CONTENTS} twice");
    let written: BTreeSet<PathBuf> = pages("docs").into_iter().chain(pages("docs/codes")).filter(|page| *page != contents).collect();
    assert!(written.len() > 100);
    assert_eq!(written.difference(&listed).collect::<Vec<_>>(), Vec::<&PathBuf>::new(), "not in {CONTENTS}");
    assert_eq!(listed.difference(&written).collect::<Vec<_>>(), Vec::<&PathBuf>::new(), "in {CONTENTS}, and there is no such page");
}

#[test]
fn the_page_of_codes_has_each_range_of_them_and_the_table_of_contents_their_order() {
    let page = text(&root().join("docs/codes/README.md"));
    let ranges = page.lines().filter_map(|line| line.strip_prefix("| F")?.split_once(" |")).map(|(range, _)| format!("F{range}"));
    let ends: Vec<(String, String)> =
        ranges.map(|range| range.split_once('–').map_or((range.clone(), range.clone()), |(a, b)| (a.into(), b.into()))).collect();
    let codes: Vec<&str> = flow::diagnostic::Code::ALL.iter().map(|code| code.id()).collect();
    for code in &codes {
        assert_eq!(ends.iter().filter(|(first, last)| (&**first..=&**last).contains(code)).count(), 1, "{code} is in one range");
    }
    for end in ends.iter().flat_map(|(first, last)| [first, last]) {
        assert!(codes.contains(&&**end), "{end} is no code");
    }
    let contents = text(&root().join("docs/SUMMARY.md"));
    let listed: Vec<&str> = contents
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- [F")?.get(..3))
        .filter(|code| code.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert!(listed.is_sorted(), "{listed:?}");
}

#[test]
fn every_link_of_the_manual_leads_somewhere() {
    let all = ["", "docs", "docs/codes", "pipelines/timesheet", "pipelines/city_facts"].into_iter().flat_map(pages);
    let (mut count, mut wrong) = (0, vec![]);
    for page in all {
        let here = text(&page);
        for link in links(&here).into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let is_there = target.exists() && (anchor.is_empty() || anchors(&text(&target)).contains(anchor));
            // The book holds `docs` and nothing else.
            let leaves = page.starts_with(root().join("docs"))
                && link.contains("..")
                && !target.canonicalize().is_ok_and(|target| target.starts_with(root().join("docs")));
            if !is_there || leaves {
                wrong.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(count > 150, "only {count} links were found");
}

/// The pipelines of a page, whole files each, and the tables that stand beside them.
fn pipelines(page: &Path) -> Vec<(String, Option<String>)> {
    let text = text(page);
    let table = blocks(&text, "csv").first().map(|csv| (*csv).to_owned());
    let whole = |block: &&str| block.starts_with("flow: 1\n") && block.contains("\nsteps:\n");
    blocks(&text, "yaml").into_iter().filter(whole).map(|block| (block.to_owned(), table.clone())).collect()
}

#[test]
fn each_pipeline_of_the_manual_is_whole_and_runs_where_its_models_are_scripted() {
    let file = Regex::new(r"file: (\w+\.csv)").unwrap();
    let (mut checked, mut ran) = (0, vec![]);
    for page in ["", "docs"].into_iter().flat_map(pages) {
        for (pipeline, table) in pipelines(&page) {
            let project = tempfile::tempdir().unwrap();
            let write = |name: &str, text: &str| {
                std::fs::create_dir_all(project.path().join(name).parent().unwrap()).unwrap();
                std::fs::write(project.path().join(name), text).unwrap();
            };
            write("flow.toml", "");
            write("p.yaml", &pipeline);
            // What the pages say lies there, too.
            write("docs/leave.md", "# Leave\nThirty days.\n");
            write("policy.pdf", "%PDF-1.4");
            if let Some((table, name)) = table.zip(file.captures(&pipeline)) {
                write(&name[1], &table);
            }
            if pipeline.contains("imports: [policies/") {
                assert_eq!(flow(project.path(), &["init", "--policies"]).exit, 0);
            }
            let found = flow(project.path(), &["validate", "p.yaml"]);
            assert_eq!(found.exit, 0, "{}:\n{}{}", page.display(), found.out, found.err);
            checked += 1;
            if pipeline.contains("provider: scripted") {
                let outcome = flow(project.path(), &["run", "p.yaml"]);
                assert_eq!(outcome.exit, 0, "{}:\n{}{}", page.display(), outcome.out, outcome.err);
                ran.push(page.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    ran.sort();
    assert_eq!(ran, ["README", "asking_agents", "dialogues", "loops", "loops", "tasks"]);
    assert!(checked >= 14, "only {checked} pipelines were found");
}
