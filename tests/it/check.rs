//! Every code has a file that yields it and the nearest correct file, which is silent; what the pages of `flow explain` show is run.
//!
//! How to add a code: `tests/check/err/F123_words.yaml` and `tests/check/ok/F123_words.yaml`, then `FLOW_UPDATE=1 cargo test --test it check`
//! to write the `.out`. A first line `# also: F105` names further codes the file yields. Files that cases name stand in
//! `tests/check/parts`, `channels` and `style_guides`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use flow::diagnostic::{Code, Severity, quoted};
use flow::port::{Files, ReadFileError};
use flow_adapters::disk_files::DiskFiles;
use flow_editor::report::{Findings, human, json};
use flow_lang::check::{Checked, check_with_edits, fix_file};
use flow_lang::lower::keys::{self, Takes};

/// The project all cases stand in.
const PROJECT: &str = "tests/check";

/// Codes without cases, and why.
const WITHOUT_CASES: &[(&str, &str)] = &[("F703", "tests may stand anywhere: told only when a whole project is checked")];

/// Checks a case.
fn check(path: &str) -> Checked {
    check_with_edits(Path::new(path), Path::new(PROJECT), &DiskFiles)
}

/// The YAML files directly in a folder.
#[expect(clippy::unwrap_used, reason = "part of each test below")]
fn cases(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(Path::new(PROJECT).join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut cases: Vec<String> = names.filter(|name| name.ends_with(".yaml")).collect();
    cases.sort();
    cases.into_iter().map(|name| format!("{PROJECT}/{folder}/{name}")).collect()
}

fn code_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default().get(..4).unwrap_or_default()
}

/// The findings of a case in the format for people: its own code, and whatever else is more than a remark.
fn drawn(checked: &Checked, code: &str) -> String {
    let shown: Vec<_> = checked.diagnostics.iter().filter(|d| d.severity() != Severity::Info || d.code.id() == code).cloned().collect();
    human(&Findings::new(&checked.loaded.sources, &shown), flow_editor::report::Look::default())
}

fn codes(checked: &Checked) -> BTreeSet<&'static str> {
    checked.diagnostics.iter().map(|d| d.code.id()).collect()
}

fn graver(checked: &Checked) -> BTreeSet<&'static str> {
    checked.diagnostics.iter().filter(|d| d.severity() != Severity::Info).map(|d| d.code.id()).collect()
}

#[test]
fn names_that_a_message_proposes_stand_in_the_finding() {
    let mut proposing = 0;
    for path in cases("err").into_iter().chain(cases("many")) {
        for found in check(&path).diagnostics {
            let Some((_, said)) = found.message.split_once("; did you mean ") else { continue };
            let kept: Vec<String> = found.near.names.iter().map(|name| quoted(name)).collect();
            assert_eq!(said.trim_end_matches('?'), kept.join(" or "), "{path}: {}", found.message);
            proposing += 1;
        }
    }
    assert!(proposing > 20, "{proposing}");
}

#[test]
fn each_wrong_file_yields_its_own_code_and_what_is_written_beside_it() {
    let mut wrong = vec![];
    for path in cases("err") {
        let checked = check(&path);
        let code = code_of(&path);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let also: BTreeSet<&str> =
            text.lines().next().and_then(|line| line.strip_prefix("# also: ")).into_iter().flat_map(|list| list.split(", ")).collect();
        let extra: Vec<&str> = graver(&checked).into_iter().filter(|found| *found != code && !also.contains(found)).collect();
        let missing: Vec<&str> = also.iter().chain([&code]).copied().filter(|code| !codes(&checked).contains(code)).collect();
        if !extra.is_empty() || !missing.is_empty() {
            wrong.push(format!("{path}: too many {extra:?}, missing {missing:?}\n{}", drawn(&checked, code)));
        }
        let out = PathBuf::from(&path).with_extension("out");
        let found = drawn(&checked, code);
        if std::env::var_os("FLOW_UPDATE").is_some() {
            std::fs::write(&out, &found).unwrap();
        } else if std::fs::read_to_string(&out).unwrap_or_default() != found {
            wrong.push(format!("{} differs; FLOW_UPDATE=1 writes it:\n{found}", out.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_right_file_is_silent() {
    let loud: Vec<String> = cases("ok")
        .into_iter()
        .map(|path| (check(&path), path))
        .filter(|(checked, path)| !graver(checked).is_empty() || codes(checked).contains(code_of(path)))
        .map(|(checked, path)| format!("{path}:\n{}", drawn(&checked, code_of(&path))))
        .collect();
    assert!(loud.is_empty(), "{}", loud.join("\n"));
}

#[test]
fn each_wrong_file_has_a_right_one_of_its_name() {
    let names =
        |folder: &str| -> BTreeSet<String> { cases(folder).iter().filter_map(|path| path.rsplit('/').next().map(str::to_owned)).collect() };
    let lacking: Vec<String> = names("err").difference(&names("ok")).cloned().collect();
    assert!(lacking.is_empty(), "tests/check/ok lacks {lacking:?}");
}

#[test]
fn each_code_has_a_wrong_and_a_right_file() {
    let names = |folder: &str| -> BTreeSet<String> { cases(folder).iter().map(|path| code_of(path).to_owned()).collect() };
    let (err, ok) = (names("err"), names("ok"));
    let mut lacking = vec![];
    for code in Code::ALL {
        let id = code.id();
        let excused = WITHOUT_CASES.iter().any(|(without, _)| *without == id);
        if !excused && !err.contains(id) {
            lacking.push(format!("err/{id}"));
        }
        if !excused && !ok.contains(id) {
            lacking.push(format!("ok/{id}"));
        }
    }
    let says_why = |id: &str| Code::find(id).is_some_and(|code| code.page().contains("\n## Why there is no example\n"));
    let in_pages = ["F703"];
    lacking.extend(in_pages.iter().filter(|id| !says_why(id)).map(|id| format!("docs/codes/{id}.md, which says why")));
    assert!(lacking.is_empty(), "{lacking:?} are missing");
    for name in err.iter().chain(&ok) {
        assert!(Code::find(name).is_some(), "no code is called {name}");
        assert!(WITHOUT_CASES.iter().all(|(without, _)| without != name), "{name} has cases: take it out of the list");
    }
}

/// A file that is in no folder, among the files of the project.
struct Page(String);

const PAGE: &str = "tests/check/example.yaml";

impl Files for Page {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        if path == Path::new(PAGE) { Ok(self.0.clone()) } else { DiskFiles.read_text(path) }
    }
    fn exists(&self, path: &Path) -> bool {
        path == Path::new(PAGE) || DiskFiles.exists(path)
    }
    fn names(&self, folder: &Path) -> Vec<String> {
        DiskFiles.names(folder)
    }
    fn has_fitting(&self, pattern: &flow_base::model::FilePattern) -> bool {
        // What a folder holds that only the page speaks of is not known.
        !pattern.root.exists() || DiskFiles.has_fitting(pattern)
    }
    fn columns(&self, table: &flow::port::TableSource) -> Option<Vec<String>> {
        DiskFiles.columns(table)
    }
    fn look_of(&self, table: &flow::port::TableSource) -> flow_base::model::TableLook {
        DiskFiles.look_of(table)
    }
    fn prepare(&self, tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<flow_base::model::PreparedQuery>> {
        DiskFiles.prepare(tables, queries)
    }
    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        if path == Path::new(PAGE) { Some(DiskFiles.real_path(path.parent()?)?.join("example.yaml")) } else { DiskFiles.real_path(path) }
    }
}

/// The YAML below a heading of a page. What is left out there, the head of the file and the agents it may use, is put before it.
fn block(page: &str, heading: &str) -> Option<String> {
    let (_, below) = page.split_once(&format!("\n## {heading}\n\n```yaml\n"))?;
    let (yaml, _) = below.split_once("\n```")?;
    let mut head = String::new();
    if !yaml.starts_with("flow:") {
        head.push_str("flow: 1\nname: example\n");
        if !yaml.contains("imports:") && !yaml.contains("agents:") {
            head.push_str("imports: [parts/team.yaml]\n");
        }
    }
    Some(format!("{head}{yaml}\n"))
}

#[test]
fn the_pages_show_what_happens() {
    let mut wrong = vec![];
    for code in Code::ALL {
        let page = code.page();
        let id = code.id();
        if !page.starts_with(&format!("# {id} {}\n", code.name())) {
            wrong.push(format!("{id}: the first line is not \"# {id} {}\"", code.name()));
        }
        if WITHOUT_CASES.iter().any(|(without, _)| *without == id) {
            if page.contains("```yaml") || !page.contains("\n## Why there is no example\n\n") {
                wrong.push(format!("{id}: has no cases, and does not say why there is no example"));
            }
            continue;
        }
        let (Some(bad), Some(good)) = (block(page, "Wrong"), block(page, "Right")) else {
            wrong.push(format!("{id}: no wrong or no right block"));
            continue;
        };
        let check = |yaml: String| check_with_edits(Path::new(PAGE), Path::new(PROJECT), &Page(yaml));
        let (bad, good) = (check(bad), check(good));
        if !codes(&bad).contains(id) {
            wrong.push(format!("{id}: the wrong block does not yield it, but {:?}", codes(&bad)));
        }
        if codes(&good).contains(id) || good.has_errors() {
            wrong.push(format!("{id}: the right block yields\n{}", drawn(&good, id)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_that_promises_an_edit_shows_one_that_flow_fix_makes() {
    let mut promised = 0;
    for code in Code::ALL.iter().filter(|code| code.page().contains("`flow fix`")) {
        let bad = block(code.page(), "Wrong").unwrap_or_default();
        let of_code = |text: &str| {
            let checked = check_with_edits(Path::new(PAGE), Path::new(PROJECT), &Page(text.to_owned()));
            checked.diagnostics.iter().filter(|found| found.code == *code).count()
        };
        let fixed = fix_file(Path::new(PAGE), Path::new(PROJECT), &Page(bad.clone()), &Vec::new).unwrap();
        assert!(of_code(&fixed.text) < of_code(&bad), "{}: {}", code.id(), fixed.text);
        promised += 1;
    }
    assert!(promised >= 9, "only {promised} pages");
}

#[test]
fn channels_and_style_guides_that_are_checked_alone_get_their_own_checks() {
    let found = |folder: &str| -> Vec<(String, Vec<String>)> {
        let codes =
            |path: &str| codes(&check_with_edits(Path::new(path), Path::new(PROJECT), &DiskFiles)).into_iter().map(str::to_owned).collect();
        cases(folder).into_iter().map(|path| (path.clone(), codes(&path))).filter(|(_, codes): &(_, Vec<_>)| !codes.is_empty()).collect()
    };
    let with = |path: &str, code: &str| (format!("{PROJECT}/{path}.yaml"), vec![code.to_owned()]);
    let channels = [("bare", "F423"), ("bold_text", "F421"), ("loose", "F423"), ("marked", "F423"), ("tiny", "F420")];
    assert_eq!(found("channels"), channels.map(|(name, code)| with(&format!("channels/{name}"), code)));
    assert_eq!(found("style_guides"), [with("style_guides/torn", "F430"), with("style_guides/warm", "F423")]);
}

/// A place in a file that takes a path, as `place.key` of the tables of keys, and a file that leads out of the project there.
const PATHS: &[(&str, &str)] = &[
    ("pipeline.imports", "name: a\nimports: [OUT.yaml]\nsteps: [{ id: s, set: 1 }]"),
    ("shared definitions.imports", "imports: [OUT.yaml]"),
    ("data.file", "name: a\ndata: { t: { file: OUT.csv } }\nsteps: [{ id: s, set: 1 }]"),
    ("inputs.schema_file", "name: a\ninputs: { schema_file: OUT.json }\nsteps: [{ id: s, set: 1 }]"),
    ("file.file", "agents: { w: { instructions: { file: OUT.md } } }"),
    ("agent.output_schema", "agents: { w: { instructions: x, output_schema: { file: OUT.json } } }"),
    ("step agent.output_schema", "name: a\nsteps: [{ id: s, agent: w, prompt: x, output_schema: { file: OUT.json } }]"),
    ("step tool.output_schema", "name: a\nsteps: [{ id: s, tool: w, output_schema: { file: OUT.json } }]"),
    ("step http.output_schema", "name: a\nsteps: [{ id: s, http: GET https://a.example, output_schema: { file: OUT.json } }]"),
    (
        "check.json_schema",
        "scorecards: { c: { criteria: [{ id: x, description: Fits the schema., check: { json_schema: { file: OUT.json } } }] } }",
    ),
    ("program.output_schema", "tools: { t: { program: [x], output_schema: { file: OUT.json } } }"),
    ("step program.output_schema", "name: a\nsteps: [{ id: s, program: [x], output_schema: { file: OUT.json } }]"),
    ("cli.folder", "models: { m: { provider: cli, program: [x], folder: OUT } }"),
    ("cli.reads", "models: { m: { provider: cli, program: [x], reads: OUT } }"),
    ("cli.writes", "models: { m: { provider: cli, program: [x], writes: OUT } }"),
    ("acp.folder", "models: { m: { provider: acp, program: [x], folder: OUT } }"),
    ("acp.reads", "models: { m: { provider: acp, program: [x], reads: OUT } }"),
    ("acp.writes", "models: { m: { provider: acp, program: [x], writes: OUT } }"),
    ("program.writes", "name: a\nsteps: [{ id: s, program: [x], writes: OUT }]"),
    ("python.python", "name: a\nsteps: [{ id: s, python: { file: OUT.py }, returns: x }]"),
    ("python.python", "name: a\nsteps: [{ id: s, python: { code: x = 1, venv: OUT }, returns: x }]"),
    (
        "task.venv",
        "name: a\nsteps: [{ id: s, task: w, prompt: Go., artefact: python, accept: [It is true enough.], max_attempts: 2, venv: OUT }]",
    ),
    ("scripted.replies", "models: { m: { provider: scripted, replies: OUT.yaml } }"),
    ("file.file", "tools: { t: { file: OUT } }"),
    ("pipeline.pipeline", "tools: { t: { pipeline: OUT.yaml } }"),
    ("call.call", "name: a\nsteps: [{ id: s, call: OUT.yaml }]"),
    ("read.read", "name: a\nsteps: [{ id: s, read: OUT.txt }]"),
    ("read.read", "name: a\nsteps: [{ id: s, read: [entries.csv, OUT.txt] }]"),
    ("sql.sql", "name: a\nsteps: [{ id: s, sql: { file: OUT.sql } }]"),
    ("test.cases_from", "test: entries.yaml\ncases_from: { file: OUT.csv }"),
    ("test.test", "test: OUT.yaml\ncases: [{ id: a, golden: true }]"),
];

#[test]
fn every_key_that_takes_a_path_keeps_inside_the_project() {
    for (key, yaml) in PATHS {
        for out in ["../../../../../../../../etc/x", "/etc/x", "parts/../../../../../../../etc/x"] {
            let yaml = format!("flow: 1\n{}\n", yaml.replace("OUT", out));
            let checked = check_with_edits(Path::new(PAGE), Path::new(PROJECT), &Page(yaml.clone()));
            let found: Vec<_> = checked.diagnostics.iter().filter(|d| d.code == Code::PathEscape).collect();
            assert_eq!(found.len(), 1, "{key}: {yaml}{}", drawn(&checked, "F604"));
            assert!(checked.loaded.sources.text(found[0].span).contains(out), "{key} marks {:?}", found[0].span);
        }
    }
}

#[test]
fn every_key_that_takes_a_path_is_in_the_list() {
    fn takes_path(takes: &Takes) -> bool {
        match takes {
            Takes::Path | Takes::Schema => true,
            Takes::Keys(place) => matches!(place.name, "file" | "python"),
            Takes::Either(several) => several.iter().any(takes_path),
            _ => false,
        }
    }
    let own =
        [&keys::PIPELINE, &keys::DEFINITIONS, &keys::DATA, &keys::SCHEMA_INPUTS, &keys::FILE, &keys::AGENT, &keys::CHECKS, &keys::TEST];
    let places = own.into_iter().chain([&keys::CHANNEL, &keys::STYLE_GUIDE, &keys::REPLIES, &keys::TEST_CASE, &keys::MODEL, &keys::TOOL]);
    let kinds = keys::KINDS.iter().map(|place| ("step ", *place));
    let all = places.map(|place| ("", place)).chain([keys::PROVIDERS, keys::TOOL_KINDS].into_iter().flatten().map(|place| ("", *place)));
    let mut missing = BTreeSet::new();
    for (before, place) in all.chain(kinds) {
        for key in place.keys.iter().filter(|key| takes_path(&key.takes)) {
            let names = [format!("{before}{}.{}", place.name, key.name), format!("{}.{}", place.name, key.name)];
            if !PATHS.iter().any(|(known, _)| names.iter().any(|name| name == known)) {
                missing.insert(names[0].clone());
            }
        }
    }
    // Not yet available as a whole; the texts of an agent are in `file.file`.
    let excused = ["replay.folder", "agent.instructions"];
    missing.retain(|name| !excused.contains(&name.as_str()));
    assert!(missing.is_empty(), "{missing:?}");
}

/// Line and code of each finding that is more than a remark.
fn lines(checked: &Checked) -> Vec<(usize, &'static str)> {
    let graver = checked.diagnostics.iter().filter(|d| d.severity() != Severity::Info && d.span.file.0 == 0);
    graver.map(|d| (checked.loaded.sources.start(d.span).line, d.code.id())).collect()
}

#[test]
fn twenty_mistakes_in_one_file_are_found_at_once() {
    let expected = [
        (5, "F020"),
        (11, "F300"),
        (13, "F008"),
        (17, "F002"),
        (18, "F213"),
        (19, "F303"),
        (20, "F205"),
        (21, "F205"),
        (22, "F300"),
        (23, "F204"),
        (23, "F202"),
        (25, "F110"),
        (28, "F203"),
        (29, "F209"),
        (30, "F101"),
        (31, "F201"),
        (31, "F208"),
        (32, "F100"),
        (32, "F008"),
    ];
    assert_eq!(lines(&check("tests/check/many/twenty.yaml")), expected);
}

#[test]
fn mistakes_in_routes_loops_and_tests_are_found_at_once() {
    let (places, codes): (Vec<usize>, Vec<&str>) = lines(&check("tests/check/many/routes.yaml")).into_iter().unzip();
    assert_eq!(places, [7, 12, 13, 13, 14, 15, 16, 16, 17, 17, 18, 20, 20, 20]);
    let expected = "F202 F300 F201 F008 F002 F208 F201 F103 F205 F203 F202 F700 F700 F202";
    assert_eq!(codes.join(" "), expected);
}

#[test]
fn before_a_line_that_cannot_be_read_all_is_checked_and_behind_it_nothing_is_missed() {
    let expected = [(5, "F201"), (7, "F205"), (8, "F001")];
    assert_eq!(lines(&check("tests/check/many/cut.yaml")), expected);
}

#[test]
fn the_same_files_give_the_same_bytes_in_any_order() {
    let paths = [
        "tests/check/many/cut.yaml",
        "tests/check/err/F208_names_out_of_place.yaml",
        "tests/check/err/F301_definitions_that_nothing_uses.yaml",
    ];
    let draw = |path: &str| {
        let checked = check(path);
        json(&Findings::new(&checked.loaded.sources, &checked.diagnostics))
    };
    let first: BTreeMap<&str, String> = paths.iter().map(|path| (*path, draw(path))).collect();
    for round in 0..100usize {
        // Each round begins elsewhere and steps differently through the list, whose length is a prime number.
        for index in 0..paths.len() {
            let path = paths[(round + index * (round % 2 + 1)) % paths.len()];
            assert_eq!(draw(path), first[path], "round {round}");
        }
    }
}

#[test]
fn messages_and_help_are_plain_words() {
    const JARGON: [&str; 12] =
        ["mapping", "sequence", "string", "scalar", "integer", "boolean", "null", "node", "graph", "regex", "invalid", "illegal"];
    const VERBS: [&str; 47] = [
        "add", "ask", "change", "check", "choose", "compare", "correct", "fill", "give", "keep", "leave", "look", "make", "fix", "move",
        "name", "pass", "put", "quote", "read", "remove", "rename", "split", "take", "use", "write", "do", "spell", "close", "begin",
        "indent", "replace", "delete", "define", "set", "say", "show", "turn", "end", "insert", "lower", "raise", "declare", "save",
        "install", "describe", "create",
    ];
    let mut wrong = vec![];
    for path in cases("err").into_iter().chain(["tests/check/many/twenty.yaml".to_owned()]) {
        for found in check(&path).diagnostics {
            let id = found.code.id();
            if found.message.chars().count() > 160 {
                wrong.push(format!("{id}: {} characters: {}", found.message.chars().count(), found.message));
            }
            if found.help.is_empty() {
                wrong.push(format!("{id} has no help: {}", found.message));
            }
            for help in &found.help {
                let first = help.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
                if !VERBS.contains(&first) {
                    wrong.push(format!("{id}: help does not start with a verb: {help}"));
                }
            }
            let outside: String = found.message.split('"').step_by(2).collect();
            let words = outside.split(|c: char| !c.is_alphanumeric());
            wrong.extend(words.filter(|word| JARGON.contains(word)).map(|word| format!("{id}: \"{word}\" in: {}", found.message)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_that_lost_any_line_or_its_end_is_still_checked() {
    let text = std::fs::read_to_string("tests/check/many/twenty.yaml").unwrap().replace("../parts", "parts");
    let lines: Vec<&str> = text.lines().collect();
    for index in 0..lines.len() {
        let lost: Vec<&str> = lines.iter().enumerate().filter(|(line, _)| *line != index).map(|(_, line)| *line).collect();
        let half = &lines[index][..lines[index].len() / 2];
        let broken_off: Vec<&str> = lines[..index].iter().copied().chain([half]).collect();
        for text in [lost.join("\n"), broken_off.join("\n")] {
            let checked = check_with_edits(Path::new(PAGE), Path::new(PROJECT), &Page(text));
            assert!(!checked.diagnostics.is_empty(), "line {}", index + 1);
        }
    }
}

#[test]
fn a_broken_file_in_a_folder_is_found_however_its_first_line_is_written() {
    let steps = "name: p\nsteps:\n  - { id: a, set: \"{{ steps.x.output }}\" }\n";
    for (name, first) in [("a.yaml", "%YAML 1.2\n---\nflow: 1\n"), ("b.yml", "'flow' : 1\n"), ("c.yaml", "# \u{ff}\nflow: 1\n")] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("flow.toml"), "").unwrap();
        // The third one is not UTF-8.
        let bytes: Vec<u8> = format!("{first}{steps}").chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let ran = crate::program::flow(folder.path(), &["validate"]);
        assert!(ran.exit == 1 && ran.out.contains(name), "{name}: {} {}", ran.out, ran.err);
    }
}

#[test]
fn files_that_are_not_checked_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let own = "name: p\nsteps:\n  - { id: a, set: x }\n  - { id: b, format: \"{{ steps.a.output }}\" }\n";
    put("flow.toml", "");
    put("lost.yaml", own);
    let none = crate::program::flow(folder.path(), &["validate"]);
    assert_eq!((none.exit, none.err.as_str()), (4, "no file found: lost.yaml does not begin with flow: 1\n"));
    put(
        "whole.yaml",
        "flow: 1\nname: p\nmodels: { default: { provider: scripted, replies: r.yaml } }\nsteps: [{ id: a, set: x }]\noutputs: { a: \"{{ steps.a.output }}\" }\n",
    );
    put("r.yaml", "replies: { a: x }\n");
    put("compose.yaml", "services: { web: { image: x } }\n");
    let ran = |arguments: &[&str]| {
        let ran = crate::program::flow(folder.path(), arguments);
        ran.err.lines().filter(|line| line.starts_with("not checked")).map(str::to_owned).collect::<Vec<_>>()
    };
    let lost = "not checked: lost.yaml: it does not begin with flow: 1; add that line, or list the file under exclude in flow.toml";
    assert_eq!(ran(&["validate", "."]), [lost, "not checked: 1 other YAML file without flow: 1 (-v lists them)"]);
    assert_eq!(ran(&["validate", "-v"]), [lost, "not checked: compose.yaml: it has no flow: 1"]);
    assert_eq!((ran(&["validate", "whole.yaml"]), ran(&["validate", "-q"])), (vec![], vec![]));
    put("flow.toml", "exclude = [\"lost.yaml\", \"compose.yaml\"]\n");
    assert!(ran(&["validate"]).is_empty());
}
