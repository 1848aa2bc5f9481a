//! Invariants of the house: who may name whom, where the world is touched, how long files are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where a crate may be named.
const CRATES: &[(&str, &[&str])] = &[
    ("granit_parser", &["syntax"]),
    ("minijinja", &["template"]),
    ("petgraph", &["plan", "engine"]),
    ("tokio", &["driver", "adapters", "flow-cli", "golden", "runtime", "serve"]),
    ("hyper", &["adapters", "serve"]),
    ("hyper_util", &["adapters", "serve"]),
    ("rmcp", &["adapters", "serve"]),
    ("reqwest", &["adapters"]),
    ("rusqlite", &["adapters"]),
    ("duckdb", &["adapters"]),
    ("annotate_snippets", &["report"]),
    ("maud", &["report"]),
    ("clap", &["flow-cli"]),
    ("clap_complete", &["flow-cli"]),
];
/// Rooms that may touch files, processes and sockets.
const TOUCH_THE_WORLD: &[&str] = &["adapters", "flow-import", "golden", "runtime", "serve", "flow-cli"];
/// Files that only tests use.
const HELPS_TESTS: &[&str] = &["adapters/data/testing.rs", "adapters/faultd.rs", "rules/testing.rs"];
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

/// The packages of the workspace, by the name that ARCHITECTURE.md has for them, and their folders.
fn packages() -> Vec<(String, PathBuf)> {
    let inside = std::fs::read_dir(root().join("crates")).unwrap().flatten();
    let crates = inside.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    std::iter::once(("program".to_owned(), root())).chain(crates).collect()
}

/// A file of code.
struct Source {
    /// Its package.
    package: String,
    /// Its room, or the name of a file beside the rooms (`lib`).
    room: String,
    /// Its path in `src`, behind the name of the room where a crate is one.
    path: PathBuf,
    /// Its code, without comments and without its tests.
    code: String,
}

/// Whether a file belongs to a crate that is one room.
fn is_one_room(package: &str, path: &Path) -> bool {
    match package {
        "adapters" | "flow-import" => true,
        "engine" => !path.starts_with("driver"),
        "flow-cli" => !path.starts_with("serve"),
        _ => false,
    }
}

/// The files of all packages, but those of tests.
fn sources() -> Vec<Source> {
    let is_test = |path: &Path| {
        let mut names = path.components().filter_map(|c| c.as_os_str().to_str());
        HELPS_TESTS.iter().any(|helper| path == Path::new(helper))
            || names.any(|name| matches!(name, "tests" | "tests.rs") || name.ends_with("_tests.rs"))
    };
    let mut sources = vec![];
    for (package, folder) in packages() {
        let (mut found, folder) = (vec![], folder.join("src"));
        files(&folder, "rs", &mut found);
        for file in found {
            let path = file.strip_prefix(&folder).unwrap();
            let path = if is_one_room(&package, path) { Path::new(&package).join(path) } else { path.to_path_buf() };
            if is_test(&path) {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let code: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
            let room = path.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_string();
            sources.push(Source { package: package.clone(), room, path, code: code.join("\n") });
        }
    }
    sources
}

/// A row of the table of rooms in ARCHITECTURE.md.
struct Room {
    name: String,
    package: String,
    /// `None`: all.
    may_name: Option<BTreeSet<String>>,
}

fn rooms() -> Vec<Room> {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = page.split("| room | crate |").nth(1).unwrap().split("\n\n").next().unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let names = cells[3].split(',').map(|name| name.trim().to_owned()).filter(|name| name != "–").collect();
        let may_name = (cells[3] != "all").then_some(names);
        Room { name: cells[0].trim_matches('`').to_owned(), package: cells[1].to_owned(), may_name }
    };
    table.lines().skip(2).map(row).collect()
}

/// Rooms a piece of code names: `crate::room` and the rooms in `use crate::{…}`.
fn named_rooms(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    let name = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            rooms.insert(name(rest));
            continue;
        };
        let mut depth = 0;
        let is_inside = |c: &char| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth >= 0
        };
        // What is in brackets inside is no room.
        let mut depth_of_part = 0;
        let outer = group.chars().take_while(is_inside).filter(|c| {
            depth_of_part += i32::from(*c == '{') - i32::from(*c == '}');
            depth_of_part == 0
        });
        rooms.extend(outer.collect::<String>().split(',').map(name));
    }
    rooms
}

#[test]
fn rooms_in_a_group_are_named_too() {
    let named = named_rooms("use crate::{model, plan::{Plan, Wish}, port as own}; crate::event::Event");
    assert_eq!(named.iter().map(String::as_str).collect::<Vec<_>>(), ["event", "model", "plan", "port"]);
}

#[test]
fn the_table_of_rooms_says_what_the_code_does() {
    let (rooms, sources) = (rooms(), sources());
    let mut wrong = vec![];
    let folders: BTreeSet<(&str, &str)> =
        sources.iter().map(|s| (&*s.room, &*s.package)).filter(|(r, _)| !matches!(*r, "lib" | "main")).collect();
    let told: BTreeSet<(&str, &str)> = rooms.iter().map(|room| (&*room.name, &*room.package)).collect();
    wrong.extend(
        folders.symmetric_difference(&told).map(|(room, package)| format!("{package}: \"{room}\" stands in the code or in the table only")),
    );
    for room in &rooms {
        let Some(may_name) = &room.may_name else { continue };
        let code = sources.iter().filter(|source| source.room == room.name);
        // What a crate that is one room has at its root belongs to that room.
        let room_of = |source: &Source, name: String| {
            if is_one_room(&source.package, Path::new("lib.rs")) && !rooms.iter().any(|r| r.name == name) {
                source.package.clone()
            } else {
                name
            }
        };
        let named = code.flat_map(|source| named_rooms(&source.code).into_iter().map(|name| room_of(source, name)));
        let named = named.filter(|name| *name != room.name && rooms.iter().any(|r| r.name == *name));
        let named: BTreeSet<String> = named.collect();
        wrong.extend(named.difference(may_name).map(|name| format!("\"{}\" names \"{name}\", which the table does not allow", room.name)));
        wrong.extend(may_name.difference(&named).map(|name| format!("\"{}\" may name \"{name}\", and does not", room.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a browser has not. Every target has a standard library with these names in it, so only a test keeps them out.
const OF_A_MACHINE: &[&str] = &[
    "std::fs", "std::process", "std::thread", "std::net::Tcp", "std::net::Udp", "ToSocketAddrs", "std::env", "std::os", "Instant::now",
    "SystemTime", "Utc::now", "Local::now", "tokio", "rustix",
];

#[test]
fn language_engine_and_editor_need_no_machine() {
    let is_pure = |source: &Source| matches!(&*source.package, "base" | "lang" | "editor" | "engine") && source.room != "driver";
    let sources = sources();
    let pure: Vec<&Source> = sources.iter().filter(|source| is_pure(source)).collect();
    assert!(pure.len() > 300, "{} files", pure.len());
    let named = |source: &&Source| {
        OF_A_MACHINE.iter().find(|name| source.code.contains(**name)).map(|name| format!("{}: {name}", source.path.display()))
    };
    let wrong: Vec<String> = pure.iter().filter_map(named).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for package in ["flow-base", "flow-lang", "flow-editor", "flow-engine"] {
        let arguments = ["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--package", package];
        let tree = std::process::Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        assert!(tree.starts_with(package), "{tree}");
        for name in ["tokio", "mio", "socket2", "rustix", "tempfile", "rusqlite", "reqwest", "signal-hook-registry", "iana-time-zone"] {
            assert!(!tree.lines().any(|line| line.split(' ').next() == Some(name)), "{package} brings in {name}");
        }
    }
}

/// Where code for Unix stands. The folder of the sandbox is for Linux alone, and has a file for other systems.
#[test]
fn what_only_unix_has_stands_in_one_file_of_two_packages() {
    let seams = ["adapters/os.rs", "flow-cli/signals.rs"];
    let is_seam = |path: &Path| path.starts_with("adapters/sandbox") || seams.iter().any(|seam| path.ends_with(seam));
    for source in sources().iter().filter(|source| !is_seam(&source.path)) {
        for name in ["std::os::unix", "rustix", "tokio::signal", ".process_group("] {
            assert!(!source.code.contains(name), "{} names {name}", source.path.display());
        }
    }
}

#[test]
fn crates_are_named_only_in_their_rooms() {
    let mut wrong = vec![];
    for Source { room, path, code, .. } in sources() {
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
    for Source { room, path, code, .. } in sources() {
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
    ("adapters/stdout.rs", "results, and what `send: stdout` prints"),
    ("flow-cli/stdout.rs", "what commands show"),
    ("flow-cli/tell.rs", "everything on standard error"),
    ("flow-cli/outcome.rs", "--events -"),
    ("flow-cli/lsp.rs", "messages to an editor"),
    ("flow-cli/mcp.rs", "messages to a client"),
    ("adapters/data/child.rs", "what a child read in a file"),
];

#[test]
fn what_is_printed_goes_through_one_of_the_doors() {
    let prints = |line: &&str| {
        let line = line.trim_start();
        ["println!(", "print!(", "eprintln!(", "eprint!(", "dbg!("].iter().any(|name| line.contains(name))
            || ["io::stdout()", "io::stderr()", "io::{stdout", "io::{stderr"].iter().any(|name| line.contains(name))
                && !line.contains(".is_terminal()")
    };
    for Source { path, code, .. } in sources() {
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
    for Source { path, code, .. } in sources().into_iter().filter(|source| source.room != "redact") {
        for name in ["\"sms\"", "\"whatsapp\"", "\"teams\"", "\"telegram\""] {
            assert!(!code.contains(name), "{} knows the channel {name}", path.display());
        }
    }
}

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
    for Source { path, code, .. } in sources().into_iter().filter(|source| source.path != Path::new("diagnostic/codes.rs")) {
        for made in made_codes(&code) {
            places.entry(made).or_default().push(path.display().to_string());
        }
    }
    let mut wrong = vec![];
    for code in flow::diagnostic::Code::ALL {
        let name = format!("{code:?}");
        let places = places.remove(&name).unwrap_or_default();
        if places.len() != 1 {
            wrong.push(format!("{} {name} is made at {} places: {}", code.id(), places.len(), places.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(places.is_empty(), "no codes: {places:?}");
}

#[test]
fn each_file_of_rules_makes_one_code() {
    for Source { path, code, .. } in sources().into_iter().filter(|source| source.room == "rules") {
        let made = made_codes(&code);
        assert!(made.len() <= 1, "{} makes {}; a file holds one rule", path.display(), made.join(", "));
        let Some(code) = made.first() else { continue };
        let id = flow::diagnostic::Code::ALL.iter().find(|known| format!("{known:?}") == *code).unwrap().id();
        let text = std::fs::read_to_string(root().join("crates/lang/src").join(&path)).unwrap();
        assert!(text.starts_with(&format!("//! {id}: ")), "{} does not begin with \"//! {id}: …\"", path.display());
    }
}

#[test]
fn a_type_that_a_search_finds_is_the_only_one_of_its_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // What the sandbox is on other systems has the names of what it is on Linux.
    for Source { path, code, .. } in sources().into_iter().filter(|source| !source.path.ends_with("sandbox/elsewhere.rs")) {
        for line in code.lines().map(str::trim_start) {
            let line = line.strip_prefix("pub").map_or(line, |rest| match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                Some((_, rest)) => rest.trim_start(),
                None => rest.trim_start(),
            });
            let named = ["struct ", "enum ", "trait "].iter().find_map(|kind| line.strip_prefix(kind));
            let name = named.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>());
            if let Some(name) = name.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase())) {
                places.entry(name).or_default().push(path.display().to_string());
            }
        }
    }
    assert!(places.len() > 500, "{} types", places.len());
    let shared: Vec<_> = places.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(shared.is_empty(), "{shared:#?}");
}

#[test]
fn files_stay_short_enough_to_read_in_a_sitting() {
    let mut found = vec![];
    packages().iter().for_each(|(_, folder)| files(&folder.join("src"), "rs", &mut found));
    let long: Vec<String> = found
        .iter()
        .filter(|p| std::fs::read_to_string(p).unwrap().lines().count() > MOST_LINES)
        .map(|p| p.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    assert_eq!(long, LONG, "files over {MOST_LINES} lines; split them, and let the list only shrink");
}

/// Most methods of a type, over all its own `impl` blocks.
const MOST_METHODS: usize = 40;
/// Types that have more, and how many. This list may only shrink.
const LARGE_TYPES: &[(&str, usize)] = &[("Parts", 55), ("PipelineNames", 41)];

#[test]
fn no_type_has_more_methods_than_a_reader_can_keep_apart() {
    let mut methods: BTreeMap<String, usize> = BTreeMap::new();
    for Source { path, code, .. } in sources() {
        let file = syn::parse_file(&code).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for item in file.items {
            let syn::Item::Impl(syn::ItemImpl { trait_: None, self_ty, items, .. }) = item else { continue };
            let syn::Type::Path(name) = *self_ty else { continue };
            let count = items.iter().filter(|item| matches!(item, syn::ImplItem::Fn(_))).count();
            *methods.entry(name.path.segments.last().unwrap().ident.to_string()).or_default() += count;
        }
    }
    let large: Vec<(&str, usize)> =
        methods.iter().map(|(name, count)| (&**name, *count)).filter(|(_, count)| *count > MOST_METHODS).collect();
    assert_eq!(
        large, LARGE_TYPES,
        "types with more than {MOST_METHODS} methods: each of them can change all that the type holds, so who reads one has to know all; \
         make a type of each part, with its own fields, and let the list only shrink"
    );
}

/// Most files that name a kind of step beside all others. This number may only shrink.
const MOST_FILES_OF_A_KIND: usize = 9;

#[test]
fn a_kind_of_step_is_named_in_few_files() {
    // Of this kind nothing is decided by hand: who names it has a list of all kinds.
    let all = sources().into_iter().filter(|source| source.code.contains("StepKind::Search"));
    let all: Vec<String> = all.map(|source| source.path.display().to_string()).collect();
    assert!(
        (1..=MOST_FILES_OF_A_KIND).contains(&all.len()),
        "who adds a kind of step has to answer in {} files: {all:?}; let `StepFacts` answer, and let the number only shrink",
        all.len()
    );
}

#[test]
fn seeds_of_failed_property_tests_are_kept() {
    let mut found = vec![];
    ["crates", "src", "tests"].iter().for_each(|folder| files(&root().join(folder), "rs", &mut found));
    let key = ["failure", "persistence"].join("_");
    found.retain(|path| std::fs::read_to_string(path).unwrap().contains(&key));
    assert!(found.is_empty(), "a seed that is not written to a file is lost: {found:?}");
}

#[test]
fn every_room_says_what_it_is_for() {
    let folders = |(package, folder): (String, PathBuf)| {
        let inside = std::fs::read_dir(folder.join("src")).unwrap().flatten().map(|entry| entry.path());
        let rooms = inside.filter(|path| path.is_dir() && !is_one_room(&package, path.strip_prefix(folder.join("src")).unwrap()));
        let faces = rooms.map(|room| room.join("mod.rs")).collect::<Vec<_>>();
        faces.into_iter().chain(is_one_room(&package, Path::new("lib.rs")).then(|| folder.join("src/lib.rs"))).collect::<Vec<_>>()
    };
    for face in packages().into_iter().flat_map(folders) {
        let text = std::fs::read_to_string(&face).unwrap();
        assert!(text.starts_with("//! "), "{} has no job sentence", face.display());
        assert!(text.contains("How to add"), "{} does not say how to add something", face.display());
    }
}

#[test]
fn exit_codes_are_the_same_in_code_help_and_manual() {
    let manual = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let help = assert_cmd::Command::cargo_bin("flow").unwrap().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for (_, number, meaning) in flow_cli::Exit::TABLE {
        assert!(help.contains(&format!("{number:>3}  {meaning}")), "--help lacks {number}: {meaning}");
        assert!(manual.contains(&format!("| {number} | {meaning} |")), "docs/cli.md lacks | {number} | {meaning} |");
    }
}

#[test]
fn every_event_stands_in_the_manual() {
    let manual = std::fs::read_to_string(root().join("docs/events.md")).unwrap();
    let code = std::fs::read_to_string(root().join("crates/base/src/event/happening.rs")).unwrap();
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
    let manifest = |folder: &Path| std::fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse::<toml_edit::DocumentMut>().unwrap();
    let (mut wrong, mut all) = (vec![], BTreeSet::new());
    for (package, folder) in packages() {
        let code = |folders: &[&str]| {
            let mut found = vec![];
            folders.iter().map(|inner| folder.join(inner)).filter(|inner| inner.exists()).for_each(|inner| files(&inner, "rs", &mut found));
            found.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect::<String>()
        };
        let (manifest, own, of_tests) = (manifest(&folder), code(&["src"]), code(&["src", "tests", "benches", "examples"]));
        let of_targets = manifest.get("target").and_then(|targets| targets.as_table()).into_iter().flatten().map(|(_, target)| target);
        for (place, (table, code)) in std::iter::once(manifest.as_item())
            .chain(of_targets)
            .flat_map(|place| [("dependencies", &own), ("dev-dependencies", &of_tests)].map(|table| (place, table)))
        {
            for (name, asked) in place.get(table).and_then(|table| table.as_table()).into_iter().flatten() {
                all.insert(name.to_owned());
                let name = if name == "flow-library" { "flow".to_owned() } else { name.replace('-', "_") };
                // A package asks for itself to have its own features in its tests.
                if manifest["package"]["name"].as_str().is_some_and(|own| own.replace('-', "_") == name) {
                    continue;
                }
                // What only tests need cannot be optional among the dev-dependencies.
                let code = if asked.get("optional").is_some() { &of_tests } else { code };
                if ![format!("{name}::"), format!("use {name} as ")].iter().any(|use_of| code.contains(use_of)) {
                    wrong.push(format!("{package}: no code names {name} of its {table}"));
                }
            }
        }
    }
    let shared =
        manifest(&root())["workspace"]["dependencies"].as_table().unwrap().iter().map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>();
    wrong.extend(shared.difference(&all).map(|name| format!("no package asks for {name}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words that texts for people do not have, by their beginnings.
const UNWANTED_WORDS: &[&str] = &["mend"];

#[test]
fn messages_and_manual_use_the_words_of_the_field() {
    let root = root();
    let (mut pages, mut wrong) = (vec![root.join("README.md")], vec![]);
    files(&root.join("docs"), "md", &mut pages);
    let texts = pages.iter().map(|page| (page.display().to_string(), std::fs::read_to_string(page).unwrap()));
    let quoted = |code: &str| code.split('"').skip(1).step_by(2).collect::<Vec<_>>().join(" ");
    let messages = sources().into_iter().map(|source| (source.path.display().to_string(), source.code.lines().map(quoted).collect()));
    for (place, text) in texts.chain(messages) {
        let text: String = text;
        for word in text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase) {
            wrong.extend(UNWANTED_WORDS.iter().filter(|unwanted| word.starts_with(**unwanted)).map(|_| format!("{place}: {word}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
