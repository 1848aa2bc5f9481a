//! `flow validate` finds what matters: every shipped file is broken in one place, again and again, and the finding must be there.
//!
//! For each mutation: at least one finding, the first (the first error, if there are errors) at the place or naming what was broken, and
//! few others. `cargo test --test it mutations -- --nocapture` prints how many were tried, found and helped; with `FLOW_ALL_MUTATIONS=1`
//! all there are are tried, with `FLOW_SHOW_ALL=1` every one that is not found is shown, with `FLOW_SHOW_UNHELPED=1` those without help.
//! How to add a kind of mistake: a method of `make::Maker`, with its rule for the right lines.

mod layout;
mod make;
mod references;
mod sites;
mod values;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use flow::diagnostic::{Diagnostic, Severity};
use flow::port::{Files, ReadFileError};
use flow_adapters::disk_files::DiskFiles;
use flow_adapters::files::yaml_files;
use flow_base::source::SourceFile;
use flow_editor::report::{Findings, human};
use flow_lang::check::{Checked, check_file};
use flow_lang::lower::keys::{self, KeyTable};
use flow_lang::lower::{FileKind, kind_of};
use make::{Maker, Mutation, tree_of};

/// The files of the project, one of them with another text. What was read once is kept.
struct Overlay {
    path: PathBuf,
    text: String,
    texts: RefCell<HashMap<PathBuf, Result<String, ReadFileError>>>,
    real: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
}

impl Overlay {
    fn new(path: &Path) -> Overlay {
        Overlay { path: path.to_owned(), text: String::new(), texts: RefCell::default(), real: RefCell::default() }
    }
}

impl Files for Overlay {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        if path == self.path {
            return Ok(self.text.clone());
        }
        // Scripted replies are long, and say nothing about the pipeline. Where they are broken themselves they are checked alone.
        if path.to_string_lossy().ends_with(".replies.yaml") && DiskFiles.exists(path) {
            return Ok("flow: 1\nreplies: { any: text }\n".to_owned());
        }
        self.texts.borrow_mut().entry(path.to_owned()).or_insert_with(|| DiskFiles.read_text(path)).clone()
    }
    fn exists(&self, path: &Path) -> bool {
        DiskFiles.exists(path)
    }
    fn names(&self, folder: &Path) -> Vec<String> {
        DiskFiles.names(folder)
    }
    fn prepare(&self, tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<flow_base::model::PreparedQuery>> {
        DiskFiles.prepare(tables, queries)
    }
    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.real.borrow_mut().entry(path.to_owned()).or_insert_with(|| DiskFiles.real_path(path)).clone()
    }
}

/// How many were tried, found at the right place, have one fix, and were told it.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    tried: usize,
    found: usize,
    mendable: usize,
    helped: usize,
}

/// Most findings of one mistake.
const MOST_FINDINGS: usize = 6;

/// What a check says about a mutation; `Err` says what is wrong with it.
struct Verdict {
    helped: bool,
    wrong: Option<String>,
}

fn judge(mutation: &Mutation, checked: &Checked, mutated: &str) -> Verdict {
    let sources = &checked.loaded.sources;
    let graver: Vec<&Diagnostic> = checked.diagnostics.iter().filter(|found| found.severity() != Severity::Info).collect();
    let errors: Vec<&Diagnostic> = graver.iter().copied().filter(|found| found.severity() == Severity::Error).collect();
    let first = errors.first().or(graver.first());
    let is_at_line = |found: &Diagnostic| {
        let spans = std::iter::once(found.span).chain(found.related.iter().map(|(span, _)| *span));
        let in_file = |file| Path::new(&sources.file(file).name) == Path::new(mutated);
        let mut lines = spans.filter(|span| in_file(span.file)).map(|span| sources.start(span).line);
        lines.any(|line| mutation.lines.contains(&line))
    };
    // Where another file names the broken one, that it is not what it should be is right too.
    let file = Path::new(mutated).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_at_place = |found: &Diagnostic| is_at_line(found) || found.message.contains(file);
    let is_there = |found: &Diagnostic| is_at_place(found) || mutation.names.iter().any(|name| found.message.contains(name));
    let helps = |found: &&Diagnostic| {
        let edits = found.candidate.iter().flat_map(|fix| fix.edits.iter().map(|(_, text)| text));
        let words: Vec<&String> = found.help.iter().chain([&found.message]).chain(edits).collect();
        mutation.mend.iter().any(|mend| words.iter().any(|word| word.contains(mend)))
    };
    let helped = graver.iter().filter(|found| is_there(found)).any(helps);
    let wrong = match first {
        None => Some("not found".to_owned()),
        Some(first) if !is_there(first) => {
            Some(format!("found elsewhere (expected lines {:?}, names {:?})", mutation.lines, mutation.names))
        }
        // That a whole section is lost is true, but the mistake is made where the file ends.
        _ if mutation.category == "end of file" && !graver.iter().any(|found| is_at_place(found)) => {
            Some(format!("not told where the file ends (expected lines {:?})", mutation.lines))
        }
        // A name that is missing is missing at each place that uses it; that counts as one.
        _ if graver.iter().filter(|found| !mutation.names.iter().any(|name| found.message.contains(name))).count() > MOST_FINDINGS => {
            Some(format!("{} findings", graver.len()))
        }
        _ => None,
    };
    let drawn = || {
        let shown: Vec<Diagnostic> = graver.iter().take(4).map(|found| (*found).clone()).collect();
        human(&Findings::new(sources, &shown), flow_editor::report::Look::default())
    };
    Verdict { helped, wrong: wrong.map(|why| format!("[{}] {}: {why}\n{}", mutation.category, mutation.what, drawn())) }
}

/// A choice that looks random and is the same every time.
fn sample(mutations: Vec<Mutation>, most_each: usize) -> Vec<Mutation> {
    let mut by_category: BTreeMap<&str, Vec<Mutation>> = BTreeMap::new();
    for mutation in mutations {
        by_category.entry(mutation.category).or_default().push(mutation);
    }
    let mut chosen = vec![];
    for mut group in by_category.into_values() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for last in (1..group.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            group.swap(last, (state >> 33) as usize % (last + 1));
        }
        group.truncate(most_each);
        chosen.extend(group);
    }
    chosen
}

fn place_of(kind: FileKind) -> &'static KeyTable {
    match kind {
        FileKind::Pipeline => &keys::PIPELINE,
        FileKind::Channel => &keys::CHANNEL,
        FileKind::Test => &keys::TEST,
        FileKind::Replies => &keys::REPLIES,
        FileKind::StyleGuide => &keys::STYLE_GUIDE,
        FileKind::Definitions => &keys::DEFINITIONS,
    }
}

/// Breaks `path` in every sampled way and checks `root`, which is the file itself or one that names it.
fn run(path: &str, root: &str, most_each: usize) -> (BTreeMap<&'static str, Row>, Vec<String>) {
    let text = std::fs::read_to_string(path).unwrap();
    let users = if path == root { String::new() } else { std::fs::read_to_string(root).unwrap() };
    let source = SourceFile::new(path, text.clone());
    let tree = tree_of(&text);
    let mutations = Maker::new(&source, &tree, place_of(kind_of(&tree)), &users).all();
    let mutations = match std::env::var_os("FLOW_ALL_MUTATIONS").is_some() {
        true => mutations,
        false => sample(mutations, most_each),
    };
    let meaning = tree.to_value();
    // What `flow init` writes is a project of its own.
    let project = Path::new(if root.starts_with("starter/") { "starter" } else { "" });
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let work = || {
        let mut files = Overlay::new(Path::new(path));
        let (mut rows, mut wrong) = (BTreeMap::<&'static str, Row>::new(), vec![]);
        while let Some(mutation) = mutations.get(next.fetch_add(1, Ordering::Relaxed)) {
            let broken = mutation.text(&text);
            // What means the same is no mistake.
            if tree_of(&broken).to_value() == meaning {
                continue;
            }
            files.text = broken;
            let checked = check_file(Path::new(root), project, &files);
            let verdict = judge(mutation, &checked, path);
            let row = rows.entry(mutation.category).or_default();
            row.tried += 1;
            row.found += usize::from(verdict.wrong.is_none());
            row.mendable += usize::from(!mutation.mend.is_empty());
            row.helped += usize::from(verdict.helped && !mutation.mend.is_empty());
            wrong.extend(verdict.wrong);
            if !verdict.helped && !mutation.mend.is_empty() && std::env::var_os("FLOW_SHOW_UNHELPED").is_some() {
                let shown = human(&Findings::new(&checked.loaded.sources, &checked.diagnostics), flow_editor::report::Look::default());
                println!("UNHELPED [{}] {} wants {:?}\n{shown}", mutation.category, mutation.what, mutation.mend);
            }
        }
        (rows, wrong)
    };
    let parts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a check must not panic")).collect::<Vec<_>>()
    });
    let (mut rows, mut wrong) = (BTreeMap::<&'static str, Row>::new(), vec![]);
    for (part, found) in parts {
        for (category, row) in part {
            let sum = rows.entry(category).or_default();
            sum.tried += row.tried;
            sum.found += row.found;
            sum.mendable += row.mendable;
            sum.helped += row.helped;
        }
        wrong.extend(found);
    }
    wrong.sort();
    (rows, wrong)
}

/// Breaks a file and demands that all of it is found, and that all that have one fix are told it.
fn assert_found(path: &str, root: &str, most_each: usize, at_least: usize) {
    let wrong = not_found(path, root, most_each, at_least);
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Breaks a file: what is not as it should be.
fn not_found(path: &str, root: &str, most_each: usize, at_least: usize) -> Vec<String> {
    let (rows, wrong) = run(path, root, most_each);
    println!("\n{path}\n{:<16}{:>8}{:>8}{:>10}{:>8}", "category", "tried", "found", "mendable", "helped");
    for (category, row) in &rows {
        println!("{category:<16}{:>8}{:>8}{:>10}{:>8}", row.tried, row.found, row.mendable, row.helped);
    }
    let tried: usize = rows.values().map(|row| row.tried).sum();
    println!("{:<16}{tried:>8}", "all");
    let shown = wrong.len().min(if std::env::var_os("FLOW_SHOW_ALL").is_some() { 1_000_000 } else { 12 });
    let mut told = vec![];
    if !wrong.is_empty() {
        let first = wrong[..shown].join("\n");
        told.push(format!("{path}: {} of {tried} were not found as they should be\n{first}\n", wrong.len()));
    }
    if tried < at_least {
        told.push(format!("{path}: only {tried} mutations\n"));
    }
    let unhelped: Vec<_> = rows.iter().filter(|(_, row)| row.helped < row.mendable).collect();
    if !unhelped.is_empty() {
        told.push(format!("{path}: {unhelped:?}\n"));
    }
    told
}

#[test]
fn every_mistake_in_a_shipped_pipeline_is_found() {
    let files: Vec<String> = yaml_files(Path::new("pipelines")).into_iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let is_pipeline = |path: &&String| kind_of(&tree_of(&std::fs::read_to_string(path).unwrap())) == FileKind::Pipeline;
    let pipelines: Vec<&String> = files.iter().filter(is_pipeline).collect();
    assert!(pipelines.len() >= 5, "{pipelines:?}");
    let mut told = vec![];
    for path in pipelines {
        // The small ones, which the others use as tools, have fewer keys and ids that can be wrong.
        let (most_each, at_least) = match path {
            path if path.contains("/examples/") => (30, 120),
            // One level of steps, and a policy in braces.
            path if path.contains("/twin_review/") => (40, 250),
            path if path.ends_with("pipeline.yaml") => (40, 250),
            // Lookups of a query or two.
            path if path.contains("/timesheet/") => (60, 150),
            _ => (60, 150),
        };
        told.extend(not_found(path, path, most_each, at_least));
    }
    assert!(told.is_empty(), "{}", told.concat());
}

#[test]
fn every_mistake_in_what_a_new_project_begins_with_is_found() {
    assert_found("starter/pipelines/shop/pipeline.yaml", "starter/pipelines/shop/pipeline.yaml", 100, 400);
    assert_found("starter/tests/shop.test.yaml", "starter/tests/shop.test.yaml", 80, 150);
    for path in ["starter/channels/sms.yaml", "starter/channels/email.yaml", "starter/style_guides/friendly.yaml"] {
        assert_found(path, path, 100, 50);
    }
    assert_found("starter/pipelines/shop/demo.replies.yaml", "starter/pipelines/shop/pipeline.yaml", 100, 50);
}

#[test]
fn every_mistake_in_the_definitions_of_a_team_is_found() {
    assert_found("pipelines/timesheet/team.yaml", "pipelines/timesheet/pipeline.yaml", 20, 100);
}

#[test]
fn every_mistake_in_a_channel_or_a_style_guide_is_found() {
    for path in yaml_files(Path::new("channels")).into_iter().chain(yaml_files(Path::new("style_guides"))) {
        let path = path.to_string_lossy().into_owned();
        assert_found(&path, &path, 15, 50);
    }
}

#[test]
fn every_mistake_in_tests_and_replies_is_found() {
    assert_found("tests/golden/timesheet/trouble.test.yaml", "tests/golden/timesheet/trouble.test.yaml", 15, 80);
    assert_found("pipelines/timesheet/demo.replies.yaml", "pipelines/timesheet/pipeline.yaml", 15, 80);
}
