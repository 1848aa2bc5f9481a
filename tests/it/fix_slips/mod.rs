//! `flow fix` on thousands of files with slips: whatever the slip, a file is fixed once and for all, and nothing but the slip changes.
//!
//! Each file of the project gets one to five slips of `make`. `cargo test --test it slips -- --nocapture` prints how many were fixed;
//! `FLOW_SLIPS=20000` tries that many.
//! How to add a slip: a line in `make::KINDS` or `make::KEYS`.

mod helps;
mod make;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flow::diagnostic::{Diagnostic, Severity};
use flow::port::{Files, Overlay};
use flow_adapters::disk_files::DiskFiles;
use flow_adapters::files::yaml_files;
use flow_base::source::{FileId, SourceFile};
use flow_lang::check::{Checked, Fixed, add_edits, check_file, edited, fix_file};
use make::{Dice, slip};

/// A file that was broken.
struct Slipped {
    path: PathBuf,
    project: PathBuf,
    text: String,
    kinds: Vec<&'static str>,
}

/// Small files of our own, in which most values are of a kind that slips.
const SMALL: &[&str] = &[
    "flow: 1\nname: own\ninputs:\n  lang: { type: text, default: de }\n  loud: { type: boolean, default: true }\n  count: { type: integer, minimum: 1, maximum: 30 }\nagents:\n  writer: { instructions: \"Speak {{ inputs.lang }}.\", max_turns: 3 }\nsteps:\n  - id: a\n    agent: writer\n    prompt: \"Say {{ inputs.count }} words\"\n  - id: b\n    needs: [a]\n    when: inputs.loud\n    set: \"{{ steps.a.output | upper }}\"\noutputs: { a: \"{{ steps.a.output }}\", b: \"{{ steps.b.output | default('') }}\" }\n",
    "flow: 1\nname: own\ndescription: Greets a person.\ninputs:\n  who: { type: text, max_length: 30 }\n  phone: { type: text, required: false }\nsteps:\n  - id: greet\n    set:\n      text: \"Hello {{ inputs.who }}\"\n      phone: \"{{ inputs.phone | default('') }}\"\n      on: true\n  - id: wait_a_bit\n    needs: [greet]\n    wait: 5s\noutputs:\n  all: \"{{ steps.greet.output }}\"\n",
];

/// The files that are broken, each with its project.
fn originals() -> Vec<(PathBuf, PathBuf, String)> {
    let mut found = vec![];
    for (folder, project) in [
        ("pipelines", ""),
        ("starter", "starter"),
        ("channels", ""),
        ("style_guides", ""),
        ("tests/golden/timesheet", ""),
        ("tests/check/ok", "tests/check"),
        ("tests/check/parts", "tests/check"),
    ] {
        for path in yaml_files(Path::new(folder)) {
            let text = std::fs::read_to_string(&path).unwrap();
            // Long files are slow to check, and their slips are those of the shorter ones.
            if text.len() < 40_000 && !path.to_string_lossy().ends_with(".replies.yaml") {
                found.push((path, PathBuf::from(project), text));
            }
        }
    }
    let own = SMALL.iter().enumerate();
    let own = own.map(|(i, text)| (PathBuf::from(format!("tests/check/own_{i}.yaml")), PathBuf::from("tests/check"), (*text).to_owned()));
    found.extend(own.cycle().take(24));
    found
}

/// So many files with slips, always the same.
fn slipped(count: usize) -> Vec<Slipped> {
    let originals = originals();
    let mut made = vec![];
    let mut seen = BTreeSet::new();
    for seed in 0.. {
        if made.len() == count {
            break;
        }
        let mut dice = Dice::new(seed);
        let Some((path, project, text)) = originals.get(seed as usize % originals.len()) else { continue };
        let mut text = text.clone();
        let mut kinds = vec![];
        let wanted = if dice.below(2) == 0 { 1 } else { 2 + dice.below(4) };
        for _ in 0..wanted {
            if let Some((next, kind)) = slip(&text, &mut dice) {
                text = next;
                kinds.push(kind);
            }
        }
        match dice.below(12) {
            0 => text = text.replace("\r\n", "\n").replace('\n', "\r\n"),
            1 => text = format!("\u{feff}{text}"),
            2 => text = text.trim_end().to_owned(),
            _ => {}
        }
        if !kinds.is_empty() && seen.insert((path.clone(), text.clone())) {
            made.push(Slipped { path: path.clone(), project: project.clone(), text, kinds });
        }
    }
    made
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch, not a setting of flow")]
fn count() -> usize {
    std::env::var("FLOW_SLIPS").ok().and_then(|count| count.parse().ok()).unwrap_or(2_500)
}

/// Does the same with each of many, on all cores.
fn each(all: &[Slipped], look: impl Fn(&Slipped) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            std::thread::Builder::new()
                .stack_size(16 * 1024 * 1024)
                .spawn_scoped(scope, || {
                    while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                        look(one);
                    }
                })
                .unwrap();
        }
    });
}

fn with<'a>(path: &Path, text: &str) -> Overlay<'a> {
    let place = DiskFiles.real_path(path).unwrap_or_else(|| std::env::current_dir().unwrap().join(path));
    Overlay { below: &DiskFiles, texts: [(place, text.into()), (path.to_path_buf(), text.into())].into() }
}

/// What was found and where, apart from words and columns.
type Places = BTreeMap<(String, &'static str, usize), usize>;

fn places(checked: &Checked) -> Places {
    places_of(checked, &checked.diagnostics)
}

fn places_of<'c>(checked: &Checked, found: impl IntoIterator<Item = &'c Diagnostic>) -> Places {
    let mut places = BTreeMap::new();
    let sources = &checked.loaded.sources;
    for found in found {
        let key = (sources.file(found.span.file).name.clone(), found.code.id(), sources.start(found.span).line);
        *places.entry(key).or_default() += 1;
    }
    places
}

/// What is wrong with what an edit made of a file, if anything; lines are compared, not values, as a second opinion.
fn harm(before: &str, after: &str, edits: usize, was: &Checked, is: &Checked) -> Option<String> {
    let lines = |text: &str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (old, new) = (lines(before), lines(after));
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new);
        for (old, new) in changed.clone() {
            let ends = |line: &str| (line.ends_with("\r\n"), line.ends_with('\n'));
            if ends(old) != ends(new) {
                return Some(format!("the end of a line changed: {old:?} became {new:?}"));
            }
        }
        if changed.count() > 2 * edits {
            return Some("more lines changed than there were edits".to_owned());
        }
    } else if !before.contains("flow-ignore") || new.len() > old.len() || old.len() - new.len() > edits {
        return Some(format!("{} lines became {}", old.len(), new.len()));
    }
    if after.len() > before.len() + 40 * edits {
        return Some(format!("{edits} edits made {} bytes {}", before.len(), after.len()));
    }
    if after.starts_with('\u{feff}') != before.starts_with('\u{feff}') {
        return Some("the mark at the beginning is lost".to_owned());
    }
    if old.len() == new.len() {
        // As the manual says: what the check had held back because of the mistake does not come through the edit.
        let known = places_of(was, was.diagnostics.iter().chain(&was.held_back));
        for ((file, code, line), count) in places(is) {
            if known.get(&(file.clone(), code, line)).is_none_or(|earlier| *earlier < count) {
                return Some(format!("{code} is new on line {line} of {file}"));
            }
        }
    }
    let errors = |checked: &Checked| checked.diagnostics.iter().filter(|found| found.severity() == Severity::Error).count();
    let has_room = |checked: &Checked| checked.diagnostics.len() < 900;
    (errors(is) > errors(was) + 20 && has_room(was)).then(|| "many errors more".to_owned())
}

#[test]
fn a_file_with_slips_is_fixed_once_and_for_all_and_nothing_else_changes() {
    let all = slipped(count());
    let wrong = Mutex::new(vec![]);
    let (changed, left, edits, growth) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let by_code = Mutex::new(BTreeMap::<String, usize>::new());
    each(&all, |slipped| {
        let Slipped { path, project, text, kinds } = slipped;
        let before = with(path, text);
        let Ok(fixed) = fix_file(path, project, &before, &Vec::new) else {
            wrong.lock().unwrap().push(format!("{} {kinds:?}: no end\n{text}", path.display()));
            return;
        };
        if fixed.findings.is_empty() {
            assert_eq!(fixed.text, *text);
            return;
        }
        let now = with(path, &fixed.text);
        let is = check_file(path, project, &now);
        if is.has_errors() {
            left.fetch_add(1, Ordering::Relaxed);
        }
        changed.fetch_add(1, Ordering::Relaxed);
        edits.fetch_add(fixed.findings.len(), Ordering::Relaxed);
        growth.fetch_max(fixed.text.len().saturating_sub(text.len()), Ordering::Relaxed);
        for (code, _) in &fixed.findings {
            *by_code.lock().unwrap().entry(code.clone()).or_default() += 1;
        }
        let was = check_file(path, project, &before);
        let again = fix_file(path, project, &now, &Vec::new);
        let is_end = again == Ok(Fixed { before: fixed.text.clone(), text: fixed.text.clone(), findings: vec![] });
        let harm = if is_end { harm(text, &fixed.text, fixed.findings.len(), &was, &is) } else { Some("twice is not once".to_owned()) };
        if let Some(harm) = harm {
            let diff = similar::TextDiff::from_lines(text.as_str(), fixed.text.as_str()).unified_diff().to_string();
            wrong.lock().unwrap().push(format!("{} {kinds:?}: {harm}\n{:?}\n{diff}", path.display(), fixed.findings));
        }
    });
    let (changed, left, edits) = (changed.into_inner(), left.into_inner(), edits.into_inner());
    println!("{} files, {changed} changed by {edits} edits, {left} of them with errors left, largest growth {growth:?} bytes", all.len());
    println!("{:?}", by_code.into_inner().unwrap());
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), all.len(), wrong[..wrong.len().min(8)].join("\n"));
    assert!(changed * 8 > all.len(), "only {changed} of {} files were changed: the slips are too far from what is fixed", all.len());
}

#[test]
fn each_edit_that_is_offered_takes_its_finding_away_and_brings_none() {
    let all = slipped(count() / 3);
    let wrong = Mutex::new(vec![]);
    let (tried, offered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let not_offered = Mutex::new(BTreeMap::<String, usize>::new());
    each(&all, |slipped| {
        let Slipped { path, project, text, kinds } = slipped;
        let files = with(path, text);
        let was = check_file(path, project, &files);
        let mut checked = was.clone();
        add_edits(&mut checked, path, project, &files);
        for (found, candidate) in checked.diagnostics.iter().zip(&was.diagnostics) {
            tried.fetch_add(usize::from(candidate.candidate.is_some()), Ordering::Relaxed);
            if let (Some(fix), None) = (&candidate.candidate, &found.fix)
                && kinds.len() == 1
            {
                let shown = format!("{} {} {:?} {}", found.code.id(), found.message, fix.edits, kinds[0]);
                *not_offered.lock().unwrap().entry(shown).or_default() += 1;
            }
            let Some(fix) = &found.fix else { continue };
            offered.fetch_add(1, Ordering::Relaxed);
            if fix.edits.iter().any(|(span, _)| span.file != FileId(0)) {
                continue;
            }
            let after = edited(text, &fix.edits.iter().collect::<Vec<_>>()).unwrap();
            let is = check_file(path, project, &with(path, &after));
            let line = |text: &str, at: u32| SourceFile::new("", text).position(at).line;
            let key = (was.loaded.sources.file(FileId(0)).name.clone(), found.code.id(), line(text, found.span.start));
            let is_gone =
                places(&is).get(&key).copied().unwrap_or_default() < places(&was)[&key] || after.lines().count() != text.lines().count();
            let harm = if is_gone { harm(text, &after, 1, &was, &is) } else { Some("the finding is still there".to_owned()) };
            if let Some(harm) = harm {
                let diff = similar::TextDiff::from_lines(text.as_str(), after.as_str()).unified_diff().to_string();
                wrong.lock().unwrap().push(format!("{} {kinds:?}: {harm}\n{} {}\n{diff}", path.display(), found.code.id(), found.message));
            }
        }
    });
    println!("{} files, {offered:?} of {tried:?} edits were offered", all.len());
    if std::env::var_os("FLOW_SHOW_ALL").is_some() {
        not_offered.into_inner().unwrap().iter().for_each(|(shown, count)| println!("{count} {shown}"));
    }
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} edits\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
}
