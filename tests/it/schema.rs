//! `flow schema`: what editors are told about a file agrees with what `flow validate` says of it.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flow::diagnostic::{Diagnostic, Severity};
use flow_adapters::files::yaml_files;
use flow_base::model::{Channel, PipelineId, Replies, StyleGuide};
use flow_base::source::{FileId, SourceFile, Span};
use flow_lang::lower::keys::json_schema;
use flow_lang::lower::{self, Definitions, FileKind, OtherFileError, World, kind_of};
use serde_json::{Value, json};

const KINDS: [FileKind; 6] =
    [FileKind::Pipeline, FileKind::Channel, FileKind::Test, FileKind::Replies, FileKind::StyleGuide, FileKind::Definitions];

/// The schema of all kinds, and those of each.
struct Schemas {
    all: jsonschema::Validator,
    each: Vec<jsonschema::Validator>,
}

impl Schemas {
    fn new() -> Schemas {
        let compiled = |kind| jsonschema::validator_for(&json_schema(kind)).unwrap();
        Schemas { all: compiled(None), each: KINDS.iter().map(|kind| compiled(Some(*kind))).collect() }
    }

    fn own(&self, kind: FileKind) -> &jsonschema::Validator {
        &self.each[KINDS.iter().position(|other| *other == kind).unwrap()]
    }

    /// Whether a file fits its schema; the two schemas of it must agree.
    fn fits(&self, kind: FileKind, value: &Value) -> bool {
        let fits = self.own(kind).is_valid(value);
        assert_eq!(fits, self.all.is_valid(value), "the schema of all kinds and that of {kind:?} differ");
        fits
    }

    /// What the schema of a file says.
    fn faults(&self, kind: FileKind, value: &Value) -> Vec<String> {
        self.own(kind).iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }
}

/// A file as plain data, and its kind.
fn read(path: &Path) -> (FileKind, Value) {
    let text = std::fs::read_to_string(path).unwrap();
    let tree = flow_lang::syntax::parse(FileId::default(), &SourceFile::new("x", text), &mut vec![]);
    (kind_of(&tree), tree.to_value())
}

/// The files that the project ships.
fn shipped() -> Vec<PathBuf> {
    let folders =
        ["pipelines", "channels", "style_guides", "tests/golden", "tests/golden_runner", "tests/check/ok", "tests/check/channels"];
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| yaml_files(Path::new(folder))).collect();
    assert!(files.len() > 100);
    files
}

#[test]
fn every_correct_file_fits_the_schema() {
    let schemas = Schemas::new();
    let mut wrong = vec![];
    for path in shipped() {
        let (kind, value) = read(&path);
        assert!(schemas.fits(kind, &value) == schemas.faults(kind, &value).is_empty());
        for fault in schemas.faults(kind, &value) {
            wrong.push(format!("{}: {fault}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Codes that speak of the shape of a file. What they say of a wrong file and a schema cannot see is in this list of beginnings.
const SHAPE: [&str; 4] = ["F002", "F004", "F005", "F007"];

/// Mistakes a schema cannot see, by what `flow validate` says of them.
const UNSEEN: &[(&str, &str)] = &[
    ("has no place for", "places in braces"),
    ("is called by the name of its file", "the name of the file"),
    ("is not a date and time", "only the form of a date is seen"),
    ("is read as it is written", "braces in a text"),
    ("is taken as it is written", "braces in a text"),
    ("is sent as it is written", "names in a text"),
    ("is a text, which people would read", "a word in quotes"),
    ("but has no embed", "a key that another one needs"),
    ("is more than 50", "the most of one key"),
    ("has neither \"preset\" nor \"program\"", "one of two keys"),
    ("prints text, so its answer", "a key that goes with another one"),
    ("does not say where the answer stands", "a key that another one needs"),
    ("holds a space; it is one program", "the form of a word in a list"),
    ("is sent as it is written", "a place in a text that is not filled in"),
    ("is no code of a language", "the form of a name"),
];

#[test]
fn wrong_files_about_the_shape_do_not_fit_the_schema() {
    let schemas = Schemas::new();
    let mut seen = 0;
    let mut wrong = vec![];
    for path in yaml_files(Path::new("tests/check/err")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !SHAPE.iter().any(|code| name.starts_with(code)) {
            continue;
        }
        let (kind, value) = read(&path);
        let (_, found) = findings(&value);
        let shape: Vec<&Diagnostic> = found.iter().filter(|found| SHAPE.contains(&found.code.id())).collect();
        if shape.iter().all(|found| is_unseen(found)) {
            continue;
        }
        seen += 1;
        if schemas.fits(kind, &value) {
            wrong.push(format!("{name}: {}", shape.iter().map(|found| found.message.as_str()).collect::<Vec<_>>().join("; ")));
        }
    }
    assert!(wrong.is_empty() && seen >= 4, "{seen}\n{}", wrong.join("\n"));
}

fn is_unseen(found: &Diagnostic) -> bool {
    UNSEEN.iter().any(|(words, _)| found.message.contains(words))
}

/// A world that says nothing about other files.
struct Alone;

fn unknown<T>() -> Result<T, OtherFileError> {
    Err(OtherFileError::Reported)
}

impl World for Alone {
    fn folder(&self, _: FileId) -> PathBuf {
        PathBuf::new()
    }

    fn project(&self) -> PathBuf {
        PathBuf::new()
    }

    fn path(&self, _: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        Ok(path.into())
    }

    fn existing(&self, _: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        Ok(path.into())
    }

    fn existing_folder(&self, _: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        Ok(path.into())
    }

    fn import(&mut self, _: Span, _: &str) -> Result<Arc<Definitions>, OtherFileError> {
        unknown()
    }

    fn channel(&mut self, _: FileId, _: &str) -> Result<Arc<Channel>, OtherFileError> {
        unknown()
    }

    fn style_guide(&mut self, _: FileId, _: &str) -> Result<Arc<StyleGuide>, OtherFileError> {
        unknown()
    }

    fn text(&mut self, _: FileId, _: &str) -> Result<(FileId, Arc<str>), OtherFileError> {
        unknown()
    }

    fn replies(&mut self, _: FileId, _: &str) -> Result<Arc<Replies>, OtherFileError> {
        unknown()
    }

    fn pipeline(&mut self, _: Span, _: &str) -> Result<PipelineId, OtherFileError> {
        unknown()
    }
}

/// What is wrong in the shape of a file.
fn findings(value: &Value) -> (FileKind, Vec<Diagnostic>) {
    let (file, mut found) = (FileId::default(), vec![]);
    let tree = flow_lang::syntax::parse(file, &SourceFile::new("x", value.to_string()), &mut found);
    let (kind, world) = (kind_of(&tree), &mut Alone);
    match kind {
        FileKind::Pipeline => {
            lower::pipeline(&tree, file, world, &mut found);
            lower::inline_tests(&tree, file, world, &mut found);
        }
        FileKind::Channel => drop(lower::channel(&tree, file, world, &mut found)),
        FileKind::Test => drop(lower::test_file(&tree, file, world, &mut found)),
        FileKind::Replies => drop(lower::replies(&tree, file, world, &mut found)),
        FileKind::StyleGuide => drop(lower::style_guide(&tree, file, world, &mut found)),
        FileKind::Definitions => drop(lower::definitions(&tree, file, world, &mut found)),
    }
    (kind, found)
}

/// A place in a value: keys and places in lists.
type Way = Vec<String>;

fn at<'v>(value: &'v mut Value, way: &[String]) -> &'v mut Value {
    way.iter().fold(value, |value, part| match value {
        Value::Array(list) => &mut list[part.parse::<usize>().unwrap()],
        other => &mut other[part.as_str()],
    })
}

/// All places of a value, the outer ones first.
fn ways(value: &Value, way: &Way, out: &mut Vec<Way>) {
    out.push(way.clone());
    let mut inner = |part: String, value: &Value| ways(value, &[way.clone(), vec![part]].concat(), out);
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(place, value)| inner(place.to_string(), value)),
        Value::Object(map) => map.iter().for_each(|(key, value)| inner(key.clone(), value)),
        _ => {}
    }
}

/// What stands in for every value once: each shape a value can have, and words that no key knows.
fn wrong_values() -> Vec<Value> {
    vec![json!(7), json!(true), json!(null), json!("no such word"), json!([]), json!([7]), json!({"zz": 1})]
}

/// The changed files: each value replaced, each key removed, a key added to each list of keys. Places that look alike (the same
/// key of the same owner with a value of the same shape) are changed once.
fn mutations(value: &Value, kind: &str, seen: &mut BTreeSet<String>) -> Vec<(String, Value)> {
    let mut all = vec![];
    ways(value, &vec![], &mut all);
    let mut changed = vec![];
    for way in all {
        let mut copy = value.clone();
        let here = at(&mut copy, &way).clone();
        let names: Vec<&String> = way.iter().rev().filter(|part| part.parse::<usize>().is_err()).take(2).collect();
        let shape = match &here {
            Value::Object(_) => "keys".to_owned(),
            Value::Array(_) => "list".to_owned(),
            other => json!([other.is_string(), other.is_number()]).to_string(),
        };
        if !seen.insert(format!("{kind} {names:?} {shape}")) {
            continue;
        }
        let mut change = |what: String, edit: &dyn Fn(&mut Value)| {
            let mut copy = value.clone();
            edit(&mut copy);
            changed.push((format!("{} {what}", way.join("/")), copy));
        };
        if here.is_object() {
            change("has one more key".into(), &|copy| at(copy, &way)["zz"] = json!(1));
        }
        if let Some((last, owner)) = way.split_last() {
            change("is gone".into(), &|copy| {
                if let Some(map) = at(copy, owner).as_object_mut() {
                    map.shift_remove(last);
                }
            });
            for wrong in wrong_values() {
                change(format!("is {wrong}"), &|copy| *at(copy, &way) = wrong.clone());
            }
        }
    }
    changed
}

/// A file without its steps or cases, and each of them in a file of its own: they say as much about its shape and are looked at sooner.
fn parts(value: &Value) -> Vec<Value> {
    let long = ["steps", "cases"].into_iter().find_map(|key| Some((key, value.get(key)?.as_array()?)));
    let Some((key, list)) = long else { return vec![value.clone()] };
    let head = ["flow", "name", "test"].into_iter().filter_map(|key| Some((key.to_owned(), value.get(key)?.clone())));
    let head = Value::Object(head.collect());
    let with = |rest: &Value, element: &Value| {
        let mut part = rest.clone();
        part[key] = json!([element]);
        part
    };
    list.iter().take(1).map(|first| with(value, first)).chain(list.iter().skip(1).map(|element| with(&head, element))).collect()
}

/// Both ways: a mistake in the shape that the check names is seen by the schema, and what the schema rejects is a mistake.
#[test]
fn one_mistake_in_a_shipped_file_is_seen_by_both_or_by_neither() {
    let schemas = Schemas::new();
    let (mut seen, mut wrong, mut count, mut refused) = (BTreeSet::new(), vec![], 0, 0);
    let files = shipped().into_iter().filter(|path| !path.starts_with("tests/check/ok"));
    for path in files {
        let (kind, whole) = read(&path);
        let all = parts(&whole).into_iter().flat_map(|part| mutations(&part, &format!("{kind:?}"), &mut seen)).collect::<Vec<_>>();
        for (what, changed) in all {
            let (now, found) = findings(&changed);
            if now != kind {
                continue;
            }
            count += 1;
            let fits = schemas.own(kind).is_valid(&changed);
            refused += usize::from(!fits);
            let shape = found.iter().find(|found| SHAPE.contains(&found.code.id()) && !is_unseen(found));
            let is_wrong = found.iter().any(|found| found.severity() == Severity::Error);
            match shape {
                Some(shape) if fits => {
                    wrong.push(format!("{}: {what}: not seen: {} {}", path.display(), shape.code.id(), shape.message));
                }
                _ if !fits && !is_wrong => {
                    let faults = schemas.faults(kind, &changed);
                    wrong.push(format!("{}: {what}: refused without need: {}", path.display(), faults.join("; ")));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
    assert!(count > 500 && refused > count / 2, "{refused} of {count}");
}

#[test]
fn the_command_prints_a_schema_of_each_kind() {
    for kind in [None, Some("pipeline"), Some("channel"), Some("style_guide"), Some("test"), Some("replies"), Some("definitions")] {
        let output = assert_cmd::Command::cargo_bin("flow").unwrap().arg("schema").args(kind).output().unwrap();
        assert!(output.status.success());
        let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(schema["$defs"].is_object(), "{kind:?}");
    }
    let unknown = assert_cmd::Command::cargo_bin("flow").unwrap().args(["schema", "recipe"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}
