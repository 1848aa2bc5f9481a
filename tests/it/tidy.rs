//! Invariants of the house: who may name whom, where the world is touched, how long files are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each room and the rooms its code may name. The table of ARCHITECTURE.md is compared with this one.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("diagnostic", &["source"]),
    ("syntax", &["source", "diagnostic"]),
    ("model", &["source"]),
    ("template", &["source", "diagnostic", "model", "channel"]),
    ("lower", &["source", "diagnostic", "syntax", "model", "template"]),
    ("plan", &["source", "diagnostic", "model"]),
    ("rules", &["source", "diagnostic", "model", "template", "plan", "channel", "gate", "policy", "redact"]),
    ("channel", &["model"]),
    ("redact", &["source", "model"]),
    ("policy", &["model", "source"]),
    ("gate", &["model", "template", "channel", "redact"]),
    ("event", &["model"]),
    ("engine", &["source", "diagnostic", "model", "plan", "template", "gate", "channel", "redact", "policy", "event", "port"]),
    ("port", &["model", "event"]),
    ("driver", &["engine", "port", "event", "model", "redact", "journal"]),
    ("adapter", &["port", "model", "event", "diagnostic", "redact", "journal"]),
    ("load", &["source", "diagnostic", "syntax", "model", "template", "lower", "plan", "rules", "port", "redact"]),
    ("journal", &["event", "port", "model", "redact"]),
    ("report", &["source", "diagnostic", "model", "plan", "event", "journal"]),
    ("lsp", &["source", "diagnostic", "syntax", "model", "template", "lower", "plan", "rules", "load", "check", "port", "report"]),
];
/// Rooms that may name every other one.
const FREE: &[&str] = &["golden", "cli", "check", "serve"];

/// Where a crate may be named.
const CRATES: &[(&str, &[&str])] = &[
    ("granit_parser", &["syntax"]),
    ("minijinja", &["template"]),
    ("petgraph", &["plan", "engine"]),
    ("tokio", &["driver", "adapter", "cli", "golden", "serve"]),
    ("hyper", &["adapter", "serve"]),
    ("hyper_util", &["serve"]),
    ("rmcp", &["adapter", "serve"]),
    ("reqwest", &["adapter"]),
    ("rusqlite", &["adapter"]),
    ("duckdb", &["adapter"]),
    ("annotate_snippets", &["report"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
];
/// Rooms that may touch files, processes and sockets.
const TOUCH_THE_WORLD: &[&str] = &["adapter", "golden", "serve", "cli"];
/// Files that only tests use.
const HELPS_TESTS: &[&str] = &["adapter/data/testing.rs", "adapter/faultd.rs", "rules/testing.rs"];
/// Files over 600 lines. This list may only shrink.
const LONG: &[&str] = &[];
const MOST_LINES: usize = 600;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found.sort();
}

/// Code of a file of `src` without comments and without its tests, and the room it belongs to.
fn sources() -> Vec<(String, PathBuf, String)> {
    let mut found = vec![];
    files(&root().join("src"), "rs", &mut found);
    let is_test = |path: &Path| {
        let mut names = path.components().filter_map(|c| c.as_os_str().to_str());
        HELPS_TESTS.iter().any(|helper| path == Path::new(helper))
            || names.any(|name| matches!(name, "tests" | "tests.rs") || name.ends_with("_tests.rs"))
    };
    found.retain(|path| !is_test(path.strip_prefix(root().join("src")).unwrap()));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_string();
        let code: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
        let inner = path.strip_prefix(root().join("src")).unwrap().to_path_buf();
        let room = inner.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_string();
        (room, inner, code.join("\n"))
    };
    found.into_iter().map(read).collect()
}

/// Rooms a piece of code names: `crate::room` and the rooms in `use crate::{…}`.
fn named_rooms(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        rooms.insert(name);
    }
    rooms
}

#[test]
fn rooms_name_only_the_rooms_they_may() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_NAME.iter().copied().collect();
    let mut wrong = vec![];
    for (room, path, code) in sources() {
        if FREE.contains(&room.as_str()) || matches!(room.as_str(), "lib" | "main") {
            continue;
        }
        let Some(may) = allowed.get(room.as_str()) else {
            wrong.push(format!("{}: room \"{room}\" is not in the table", path.display()));
            continue;
        };
        for named in named_rooms(&code) {
            let is_room = allowed.contains_key(named.as_str()) || FREE.contains(&named.as_str());
            if is_room && named != room && !may.contains(&named.as_str()) {
                wrong.push(format!("{}: \"{room}\" names \"{named}\"", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_rooms_stands_in_the_architecture_page() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (room, _) in MAY_NAME {
        assert!(page.contains(&format!("`{room}`")), "ARCHITECTURE.md does not name the room {room}");
    }
}

#[test]
fn crates_are_named_only_in_their_rooms() {
    let mut wrong = vec![];
    for (room, path, code) in sources() {
        for (name, rooms) in CRATES {
            let is_named = code.contains(&format!("{name}::")) || code.contains(&format!("use {name};"));
            if is_named && !rooms.contains(&room.as_str()) {
                wrong.push(format!("{}: names {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_adapters_and_commands_touch_files_processes_and_sockets() {
    let mut wrong = vec![];
    for (room, path, code) in sources() {
        let touches = ["std::fs::", "std::process::Command", "std::net::Tcp", "std::net::Udp", "ToSocketAddrs", "std::env::", "File::open"]
            .iter()
            .any(|t| code.contains(t));
        if touches && !TOUCH_THE_WORLD.contains(&room.as_str()) && room != "main" {
            wrong.push(path.display().to_string());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Who writes to standard output and standard error, and what for.
const DOORS: &[(&str, &str)] = &[
    ("adapter/stdout.rs", "results, and what `send: stdout` prints"),
    ("cli/stdout.rs", "what commands show"),
    ("cli/tell.rs", "everything on standard error"),
    ("cli/outcome.rs", "--events -"),
    ("cli/lsp.rs", "messages to an editor"),
    ("cli/mcp.rs", "messages to a client"),
];

#[test]
fn what_is_printed_goes_through_one_of_the_doors() {
    let prints = |line: &&str| {
        let line = line.trim_start();
        ["println!(", "print!(", "eprintln!(", "eprint!(", "dbg!("].iter().any(|name| line.contains(name))
            || ["io::stdout()", "io::stderr()", "io::{stdout", "io::{stderr"].iter().any(|name| line.contains(name))
                && !line.contains(".is_terminal()")
    };
    for (_, path, code) in sources() {
        let code = code.split("#[cfg(test)]").next().unwrap();
        let found = code.lines().find(prints);
        // clap's own help, which repeats no argument, and the live line, whose text is made visible before.
        let is_door = DOORS.iter().any(|(door, _)| path == Path::new(door));
        assert!(found.is_none() || is_door, "{} prints by itself: {}", path.display(), found.unwrap_or_default());
    }
}

#[test]
fn no_code_knows_a_channel_by_name() {
    // A detector of phone numbers knows words that people write before one; they are no channels there.
    for (_, path, code) in sources().into_iter().filter(|(room, ..)| room != "redact") {
        for name in ["\"sms\"", "\"whatsapp\"", "\"teams\"", "\"telegram\""] {
            assert!(!code.contains(name), "{} knows the channel {name}", path.display());
        }
    }
}

/// Codes of what cannot be written yet; taking one out is all that a new capability needs here.
const NOT_YET_MADE: &[&str] = &["NoEnd", "DialogueParticipants", "TaskUnmeasured", "ApproveBySilence", "NoSandbox"];

/// Codes that a piece of code makes findings of: all that it names, but where it only asks for one (`==`, a pattern, a list).
fn made_codes(code: &str) -> Vec<String> {
    let mut made = vec![];
    for (at, _) in code.match_indices("Code::") {
        let (before, after) = (&code[..at], &code[at + "Code::".len()..]);
        let name: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
        let is_ours = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_variant = name.chars().any(|c| c.is_ascii_lowercase()) && name.starts_with(|c: char| c.is_ascii_uppercase());
        if is_ours && is_variant && !after[name.len()..].starts_with('(') && !is_question(before, &after[name.len()..]) {
            made.push(name);
        }
    }
    made
}

fn is_question(before: &str, after: &str) -> bool {
    let (before, after) = (before.trim_end(), after.trim_start());
    let is_pattern = after.starts_with("=>") || after.starts_with('|') || before.ends_with('|');
    if is_pattern || before.ends_with("==") || before.ends_with("!=") {
        return true;
    }
    let mut closed = 0;
    let opener = before.char_indices().rev().find(|(_, c)| match c {
        ')' | ']' | '}' => {
            closed += 1;
            false
        }
        '(' | '[' | '{' if closed > 0 => {
            closed -= 1;
            false
        }
        other => matches!(other, '(' | '[' | '{'),
    });
    opener.is_some_and(|(at, mark)| mark == '[' || before[..at].ends_with("matches!"))
}

#[test]
fn what_only_asks_for_a_code_makes_no_finding() {
    for asks in [
        "found.code == Code::Cycle",
        "matches!(found.code, Code::Cycle | Code::TooLarge)",
        "match code { Code::Cycle => 1, Code::TooLarge => 2 }",
        "any(&[Code::Cycle, Code::TooLarge])",
        "http::StatusCode::Ok, ErrorCode::TooBig, Code::ALL, Code::find(text)",
    ] {
        assert_eq!(made_codes(asks), Vec::<String>::new(), "{asks}");
    }
    for makes in [
        "Diagnostic::new(\n    Code::Cycle, span)",
        "Given { code: Code::Cycle }",
        "if x { Code::Cycle } else { y }",
        "f(span, Code::Cycle)",
    ] {
        assert_eq!(made_codes(makes), ["Cycle"], "{makes}");
    }
}

#[test]
fn each_code_is_made_at_one_place() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, path, code) in sources().into_iter().filter(|(_, path, _)| path != Path::new("diagnostic/codes.rs")) {
        for made in made_codes(&code) {
            places.entry(made).or_default().push(path.display().to_string());
        }
    }
    let mut wrong = vec![];
    for code in flow::diagnostic::Code::ALL {
        let name = format!("{code:?}");
        let places = places.remove(&name).unwrap_or_default();
        if places.len() != usize::from(!NOT_YET_MADE.contains(&name.as_str())) {
            wrong.push(format!("{} {name} is made at {} places: {}", code.id(), places.len(), places.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(places.is_empty(), "no codes: {places:?}");
}

#[test]
fn each_file_of_rules_makes_one_code() {
    for (_, path, code) in sources().into_iter().filter(|(room, ..)| room == "rules") {
        let made = made_codes(&code);
        assert!(made.len() <= 1, "{} makes {}; a file holds one rule", path.display(), made.join(", "));
        let Some(code) = made.first() else { continue };
        let id = flow::diagnostic::Code::ALL.iter().find(|known| format!("{known:?}") == *code).unwrap().id();
        let text = std::fs::read_to_string(root().join("src").join(&path)).unwrap();
        assert!(text.starts_with(&format!("//! {id}: ")), "{} does not begin with \"//! {id}: …\"", path.display());
    }
}

#[test]
fn files_stay_short_enough_to_read_in_a_sitting() {
    let mut found = vec![];
    files(&root().join("src"), "rs", &mut found);
    let long: Vec<String> = found
        .iter()
        .filter(|p| std::fs::read_to_string(p).unwrap().lines().count() > MOST_LINES)
        .map(|p| p.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    assert_eq!(long, LONG, "files over {MOST_LINES} lines; split them, and let the list only shrink");
}

#[test]
fn every_room_says_what_it_is_for() {
    for entry in std::fs::read_dir(root().join("src")).unwrap().flatten().filter(|e| e.path().is_dir()) {
        let text = std::fs::read_to_string(entry.path().join("mod.rs")).unwrap();
        assert!(text.starts_with("//! "), "{} has no job sentence", entry.path().display());
        assert!(text.contains("How to add"), "{} does not say how to add something", entry.path().display());
    }
}

#[test]
fn exit_codes_are_the_same_in_code_help_and_manual() {
    let manual = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let help = assert_cmd::Command::cargo_bin("flow").unwrap().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for (_, number, meaning) in flow::cli::Exit::TABLE {
        assert!(help.contains(&format!("{number:>3}  {meaning}")), "--help lacks {number}: {meaning}");
        assert!(manual.contains(&format!("| {number} | {meaning} |")), "docs/cli.md lacks | {number} | {meaning} |");
    }
}

#[test]
fn every_event_stands_in_the_manual() {
    let manual = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    let code = std::fs::read_to_string(root().join("src/event/happening.rs")).unwrap();
    let body = code.split("pub enum Happening {").nth(1).unwrap().split("\n}\n").next().unwrap();
    let variants = body.lines().filter(|l| l.starts_with("    ") && !l.starts_with("     ")).filter_map(|l| {
        let name: String = l.trim().chars().take_while(|c| c.is_alphanumeric()).collect();
        name.chars().next().filter(char::is_ascii_uppercase).map(|_| name)
    });
    let mut count = 0;
    for variant in variants {
        let mut word = String::new();
        for c in variant.chars() {
            if c.is_ascii_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.push(c.to_ascii_lowercase());
        }
        assert!(manual.contains(&format!("`{word}`")), "docs/events.md lacks {word}");
        count += 1;
    }
    assert!(count > 20, "only {count} events found");
}

#[test]
fn every_dependency_is_used() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap().parse::<toml_edit::DocumentMut>().unwrap();
    let code = |folders: &[&str]| {
        let mut found = vec![];
        folders.iter().for_each(|folder| files(&root().join(folder), "rs", &mut found));
        found.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect::<String>()
    };
    let (own, of_tests) = (code(&["src"]), code(&["src", "tests", "benches"]));
    for (table, code) in [("dependencies", own), ("dev-dependencies", of_tests)] {
        let names = manifest[table].as_table().unwrap().iter().map(|(name, _)| name.replace('-', "_"));
        let unused: Vec<String> =
            names.filter(|name| ![format!("{name}::"), format!("use {name} as ")].iter().any(|use_of| code.contains(use_of))).collect();
        assert!(unused.is_empty(), "{table} that no code names: {unused:?}");
    }
}
