//! What a finding says to write is what takes it away: each code says whether its findings have an edit, and why not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use flow::diagnostic::{Code, Diagnostic};
use flow_adapters::disk_files::DiskFiles;
use flow_adapters::files::yaml_files;
use flow_base::source::FileId;
use flow_lang::check::{Checked, check_file, check_with_edits, edited};

use super::{each, slipped, with};

/// Codes with an edit, where what was meant is plain.
const WITH_EDIT: &[&str] = &[
    "F001", "F002", "F005", "F007", "F009", "F010", "F016", "F020", "F024", "F025", "F102", "F114", "F105", "F200", "F201", "F202", "F203",
    "F207", "F209", "F210", "F211", "F212", "F214", "F216", "F217", "F218", "F219", "F221", "F222", "F230", "F300", "F303", "F422", "F900",
];

/// Codes without an edit, by reason.
const WITHOUT_EDIT: &[(&str, &[&str])] = &[
    (
        "the author decides which of two parts stays",
        &[
            "F003", "F006", "F013", "F018", "F109", "F110", "F111", "F400", "F401", "F402", "F409", "F414", "F421", "F430", "F501", "F502",
            "F503", "F504", "F507", "F512", "F513", "F508", "F509", "F510", "F610",
        ],
    ),
    (
        "what is missing is the author's to say",
        &[
            "F004", "F014", "F015", "F103", "F108", "F115", "F220", "F305", "F310", "F313", "F320", "F321", "F403", "F404", "F405", "F406",
            "F407", "F412", "F423", "F500", "F506", "F605", "F608", "F614", "F701", "F703", "F705", "F706", "F318", "F322", "F323", "F901",
        ],
    ),
    ("a number with a unit may mean several units", &["F008"]),
    ("a name has to change wherever it is used", &["F011", "F012"]),
    (
        "the mistake may be here or in another file",
        &[
            "F017", "F019", "F021", "F026", "F104", "F106", "F107", "F112", "F113", "F301", "F304", "F408", "F410", "F411", "F413", "F415",
            "F416", "F116", "F223", "F420", "F702", "F704", "F707", "F224", "F225", "F226", "F227", "F228", "F229", "F319", "F417", "F418",
            "F419", "F511",
        ],
    ),
    (
        "several names are near, and the editor offers each",
        &["F100", "F101", "F204", "F205", "F206", "F208", "F213", "F215", "F302", "F306", "F311", "F312", "F700"],
    ),
    ("a part of the file cannot stay as it is, and no other is plain", &["F022", "F023", "F505"]),
    (
        "it is about what may leave or be done, which nobody decides for the author",
        &[
            "F314", "F315", "F316", "F600", "F601", "F602", "F603", "F604", "F606", "F607", "F609", "F611", "F612", "F613", "F615", "F616",
            "F617", "F317", "F618", "F514",
        ],
    ),
];

/// Kinds of things, of which the help names one and no text.
const KINDS: &[&str] = &["text", "https://"];

#[test]
fn each_code_has_an_edit_or_a_reason_why_not() {
    let all: Vec<&str> = WITH_EDIT.iter().copied().chain(WITHOUT_EDIT.iter().flat_map(|(_, codes)| codes.iter().copied())).collect();
    let listed: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), listed.len(), "a code stands there twice");
    let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.id()).collect();
    assert_eq!(listed, codes, "each code stands in one of the lists");
    let mut offered = BTreeSet::new();
    for path in yaml_files(Path::new("tests/check/err")) {
        let project = Path::new("tests/check");
        let candidates = check_file(&path, project, &DiskFiles).diagnostics;
        for (found, candidate) in check_with_edits(&path, project, &DiskFiles).diagnostics.iter().zip(candidates) {
            let code = found.code.id();
            assert!(candidate.candidate.is_none() || WITH_EDIT.contains(&code), "{code} has an edit");
            // In a file with one mistake what is proposed holds.
            offered.extend(found.fix.is_some().then_some(code));
        }
    }
    assert_eq!(offered, WITH_EDIT.iter().copied().collect(), "each of these has a file in tests/check/err that is fixed");
}

/// The text that a line of help says to write, if it says one: `write "no" for the word` does, `write a whole number` does not.
fn literal(help: &str) -> Option<&str> {
    let text = help.strip_prefix("write ")?;
    let is_whole = text.starts_with('"') && text.len() > 1 && text.ends_with('"') || !text.contains(' ');
    (is_whole && !text.contains('…') && !KINDS.contains(&text)).then_some(text)
}

#[test]
fn what_a_help_says_to_write_takes_the_finding_away() {
    let mut all = slipped(super::count() / 5);
    // One slip each, so that no other is in the way.
    all.retain(|slipped| slipped.kinds.len() == 1);
    let wrong = std::sync::Mutex::new(BTreeMap::<String, String>::new());
    let tried = std::sync::atomic::AtomicUsize::new(0);
    each(&all, |slipped| {
        let checked = check_file(&slipped.path, &slipped.project, &with(&slipped.path, &slipped.text));
        let texts = |found: &Diagnostic| found.help.first().and_then(|help| literal(help)).map(str::to_owned);
        for found in checked.diagnostics.iter().filter(|found| found.span.file == FileId(0)) {
            let Some(text) = texts(found) else { continue };
            let edit = match &found.candidate {
                Some(fix) => fix.edits.clone(),
                None => vec![(found.span, text.clone())],
            };
            let Some(after) = edited(&slipped.text, &edit.iter().collect::<Vec<_>>()) else { continue };
            tried.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let is = check_file(&slipped.path, &slipped.project, &with(&slipped.path, &after));
            let line_of_found = checked.loaded.sources.start(found.span).line;
            // What "*" repeats may be right in one of its places only; then the finding of the other place is another one.
            let count = |checked: &Checked| {
                let line = |found: &Diagnostic| (found.span.file, checked.loaded.sources.start(found.span).line);
                let own = (FileId(0), line_of_found);
                let same = |other: &&Diagnostic| other.code == found.code && other.message == found.message && line(other) == own;
                // What is wrong in the same way at other places of the line is told there.
                let others = |found: &Diagnostic| found.related.iter().filter(|(_, label)| label.contains(", too: ")).count();
                checked.diagnostics.iter().filter(same).map(|found| 1 + others(found)).sum::<usize>()
            };
            if count(&is) >= count(&checked) {
                let shown = format!("{} {:?}: {}: {:?}", slipped.path.display(), slipped.kinds, found.message, found.help);
                wrong.lock().unwrap().insert(found.code.id().to_owned(), shown);
            }
            if let [(_, new)] = found.candidate.iter().flat_map(|fix| &fix.edits).collect::<Vec<_>>().as_slice() {
                let agrees = text == *new || text.starts_with(new.as_str()) || new.trim().len() < 2;
                assert!(agrees || found.code == Code::YamlSyntax, "{} says {text}, and its edit {new}", found.message);
            }
        }
    });
    println!("{tried:?} texts of helps were tried");
    assert!(tried.into_inner() > 20, "the slips are too far from what helps say");
    assert!(wrong.lock().unwrap().is_empty(), "{:#?}", wrong.lock().unwrap());
}
