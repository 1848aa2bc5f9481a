//! Pinned tools: what each server said about its tools when they were accepted, in `flow.lock` beside `flow.toml`.
//!
//! Like any lock file, it belongs in the project's version control, so that the pipeline runs with the reviewed tools everywhere. It is JSON, one
//! tool after another, so that changes are readable in a diff. The tools of a new server are pinned automatically; any later difference is rejected
//! until `flow tools pin` is run.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};

use super::super::files;
use super::super::os;
use super::protocol::{hash, said_of};
use crate::diagnostic::{cut_words, visible};
use crate::event::Failure;
use crate::model::{FailureKind, JsonError, read_json};
use crate::port::INSTRUCTIONS;

/// The name of the file.
pub const FILE: &str = "flow.lock";
/// Version of the file format, and maximum size of the file in bytes.
const VERSION: u64 = 1;
const LARGEST: u64 = 64 << 20;
/// Maximum number of characters reported of one difference.
const LONGEST: usize = 2_000;
/// Maximum number of characters reported of a server's instructions, before and after each, and of the unchanged text around a difference.
const LONGEST_INSTRUCTIONS: usize = 300;
const AROUND: usize = 40;

/// The pins of a project cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PinsError {
    /// The file exists but cannot be opened or read.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The file is not valid.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Broken(PathBuf, #[source] PinsProblem),
    /// The file cannot be written.
    #[error("cannot write {}: {}", .0.display(), .1)]
    Unwritable(PathBuf, #[source] std::io::Error),
}

impl From<PinsError> for Failure {
    fn from(error: PinsError) -> Failure {
        Failure::new(FailureKind::Unavailable, error.to_string())
    }
}

const FIX: &str = "restore it from version control, or delete it and run: flow tools pin";

/// How a file of pins differs from what `flow tools pin` writes.
#[derive(Debug, thiserror::Error)]
pub enum PinsProblem {
    /// A line is a merge conflict marker.
    #[error("line {0} is a merge conflict marker; keep one side, then run: flow tools pin --check")]
    Conflict(usize),
    /// It is not JSON.
    #[error("{}; {}", .0, FIX)]
    Json(#[from] JsonError),
    /// It was written by a newer flow.
    #[error("unknown version {0}; install a newer flow")]
    Newer(u64),
    /// The first place that does not have the expected shape.
    #[error("{}; {}", .0, FIX)]
    Misshapen(String),
    /// A value does not have the expected type.
    #[error("{}; {}", .0, FIX)]
    Value(#[from] serde_json::Error),
    /// The hash of a tool of a server does not match the text beside it.
    #[error("the pin of tool \"{}\" of server \"{}\" was edited by hand: its text does not match its sha256; {}", .0, .1, FIX)]
    Altered(String, String),
}

/// The pins by server, then tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pins {
    flow: u64,
    servers: BTreeMap<String, BTreeMap<String, Pin>>,
}

/// What a server said about one tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Pin {
    sha256: String,
    said: Value,
}

impl Pin {
    /// Whether the hash matches the text beside it, and the text describes this tool. The order of keys does not matter.
    fn is_of(&self, name: &str) -> bool {
        let said = said_of(&self.said);
        self.sha256 == hash(&said) && said == self.said && said.get("name").and_then(Value::as_str) == Some(name)
    }
}

/// How the tools of a server differ from the pinned ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Difference {
    /// The server has no pins yet.
    pub is_first: bool,
    /// Tools that are new.
    pub new: Vec<String>,
    /// Tools that no longer exist.
    pub gone: Vec<String>,
    /// Tools that changed: the name, and what changed.
    pub changed: BTreeMap<String, String>,
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_none(&self) -> bool {
        *self == Difference::default()
    }
}

/// The path of a project's pins.
pub fn file(project: &Path) -> PathBuf {
    project.join(FILE)
}

impl Pins {
    /// Reads the pins of a project; empty if there is no file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not as `flow tools pin` writes it.
    pub fn read(project: &Path) -> Result<Pins, PinsError> {
        let path = file(project);
        match files::read_text(&path, LARGEST) {
            Ok(text) => Pins::parse(&text).map_err(|source| PinsError::Broken(path, source)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Pins { flow: VERSION, ..Pins::default() }),
            Err(source) => Err(PinsError::Unreadable(path, source)),
        }
    }

    fn parse(text: &str) -> Result<Pins, PinsProblem> {
        if let Some(line) = text.lines().position(is_conflict) {
            return Err(PinsProblem::Conflict(line + 1));
        }
        let value = read_json(text)?;
        // A newer version may have another shape.
        if let Some(version) = value.get("flow").and_then(Value::as_u64).filter(|version| *version != VERSION) {
            return Err(PinsProblem::Newer(version));
        }
        check_shape(&value)?;
        let pins: Pins = serde_json::from_value(value)?;
        for (server, tools) in &pins.servers {
            if let Some((tool, _)) = tools.iter().find(|(name, pin)| !pin.is_of(name)) {
                return Err(PinsProblem::Altered(tool.clone(), server.clone()));
            }
        }
        Ok(pins)
    }

    /// Compares what a server says now with what was pinned.
    pub fn difference(&self, server: &str, said: &BTreeMap<String, Value>) -> Difference {
        let Some(pinned) = self.servers.get(server) else { return Difference { is_first: true, ..Difference::default() } };
        let mut found = Difference::default();
        for (name, said) in said {
            match pinned.get(name) {
                None => found.new.push(name.clone()),
                Some(pin) if pin.sha256 == hash(said) => {}
                Some(pin) => {
                    let differs = if name == INSTRUCTIONS { difference_of_instructions } else { difference };
                    found.changed.insert(name.clone(), differs(&pin.said, said));
                }
            }
        }
        found.gone.extend(pinned.keys().filter(|name| !said.contains_key(*name)).cloned());
        found
    }

    /// Pins what a server says now.
    pub fn pin(&mut self, server: &str, said: &BTreeMap<String, Value>) {
        let pins = said.iter().map(|(name, said)| (name.clone(), Pin { sha256: hash(said), said: said.clone() })).collect();
        self.flow = VERSION;
        self.servers.insert(server.to_owned(), pins);
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, project: &Path) -> Result<(), PinsError> {
        let path = file(project);
        let cannot = |source: std::io::Error| PinsError::Unwritable(path.clone(), source);
        let text = serde_json::to_string_pretty(&json!(self)).map_err(|e| cannot(e.into()))?;
        // The file is for the whole team: the umask of the process decides who can read it.
        let everybody = os::permissions(0o666);
        let mut new = tempfile::Builder::new().permissions(everybody).tempfile_in(project).map_err(cannot)?;
        new.write_all(text.as_bytes()).and_then(|()| new.write_all(b"\n")).map_err(cannot)?;
        new.as_file().sync_all().map_err(cannot)?;
        new.persist(&path).map_err(|e| cannot(e.error))?;
        Ok(())
    }
}

/// Checks that the JSON has the shape that `flow tools pin` writes.
fn check_shape(value: &Value) -> Result<(), PinsProblem> {
    fn object<'v>(value: &'v Value, place: &str) -> Result<&'v Map<String, Value>, PinsProblem> {
        value.as_object().ok_or_else(|| PinsProblem::Misshapen(format!("{place} must be a JSON object")))
    }
    fn keys<'v>(value: &'v Value, place: &str, wanted: &[&str]) -> Result<&'v Map<String, Value>, PinsProblem> {
        let map = object(value, place)?;
        if let Some(unknown) = map.keys().find(|key| !wanted.contains(&key.as_str())) {
            return Err(PinsProblem::Misshapen(format!("{place} has the unknown key {unknown:?}")));
        }
        match wanted.iter().find(|key| !map.contains_key(**key)) {
            Some(missing) => Err(PinsProblem::Misshapen(format!("{place} has no \"{missing}\""))),
            None => Ok(map),
        }
    }
    let file = keys(value, "the file", &["flow", "servers"])?;
    if !file["flow"].is_u64() {
        return Err(PinsProblem::Misshapen(format!("\"flow\" must be {VERSION}")));
    }
    for (server, tools) in object(&file["servers"], "\"servers\"")? {
        for (tool, pin) in object(tools, &format!("server {server:?}"))? {
            let place = format!("tool {tool:?} of server {server:?}");
            if !keys(pin, &place, &["sha256", "said"])?["sha256"].is_string() {
                return Err(PinsProblem::Misshapen(format!("\"sha256\" of {place} must be a text")));
            }
        }
    }
    Ok(())
}

/// Whether a line is a merge conflict marker.
fn is_conflict(line: &str) -> bool {
    ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|mark| line.starts_with(mark))
}

/// The lines that differ, prefixed with `-` and `+`.
fn difference(before: &Value, now: &Value) -> String {
    let lines = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let (before, now) = (lines(before), lines(now));
    let diff = TextDiff::from_lines(&before, &now);
    let changes = diff.iter_all_changes().filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => return None,
        };
        Some(format!("{sign} {}", change.value().trim()))
    });
    cut_words(&changes.collect::<Vec<_>>().join("\n"), LONGEST)
}

/// How a server's instructions differ: the part that changed, with some text around it.
fn difference_of_instructions(before: &Value, now: &Value) -> String {
    let text = |said: &Value| said.get("description").and_then(Value::as_str).unwrap_or_default().chars().collect::<Vec<char>>();
    let (before, now) = (text(before), text(now));
    let same = |pairs: &mut dyn Iterator<Item = (&char, &char)>| pairs.take_while(|(one, other)| one == other).count();
    let first = same(&mut before.iter().zip(&now));
    let last = same(&mut before.iter().skip(first).rev().zip(now.iter().skip(first).rev()));
    let shown = |text: &[char]| {
        let (start, end) = (first.saturating_sub(AROUND), (text.len() - last + AROUND).min(text.len()));
        // Whole words, so that no part of a key is shown.
        let start = text[..start].iter().rposition(|c| c.is_whitespace()).map_or(0, |at| at + 1);
        let end = text[end..].iter().position(|c| c.is_whitespace()).map_or(text.len(), |at| end + at);
        let mark = |is_cut: bool| if is_cut { "…" } else { "" };
        let part = visible(&text[start..end].iter().collect::<String>()).into_owned();
        format!("{}{}{}", mark(start > 0), cut_words(&part, LONGEST_INSTRUCTIONS), mark(end < text.len()))
    };
    format!("- instructions: {}\n+ instructions: {}", shown(&before), shown(&now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_changed_are_shown_around_the_change_and_by_their_name() {
        let of = |text: &str| BTreeMap::from([(INSTRUCTIONS.to_owned(), super::super::protocol::said_of_instructions(text))]);
        let mut pins = Pins::default();
        let long = "Look before you leap. ".repeat(500);
        pins.pin("srv", &of(&format!("{long}Ask once.{long}")));
        let found = pins.difference("srv", &of(&format!("{long}Ask \u{1b}twice.{long}")));
        let told = &found.changed[INSTRUCTIONS];
        assert!(told.starts_with("- instructions: …") && told.contains("\n+ instructions: …"), "{told}");
        assert!(told.contains("Ask once.") && told.contains("Ask \\x1Btwice.") && told.len() < 400, "{told}");
        let found = pins.difference("srv", &of(&"z".repeat(9_000)));
        assert!(found.changed[INSTRUCTIONS].chars().count() < 700, "{}", found.changed[INSTRUCTIONS]);
    }

    fn said(description: &str) -> BTreeMap<String, Value> {
        BTreeMap::from([("get".to_owned(), json!({ "name": "get", "description": description, "inputSchema": { "type": "object" } }))])
    }

    #[test]
    fn one_changed_byte_is_a_difference_that_can_be_read() {
        let home = tempfile::tempdir().unwrap();
        let mut pins = Pins::read(home.path()).unwrap();
        assert!(pins.difference("srv", &said("Gets.")).is_first);
        pins.pin("srv", &said("Gets."));
        pins.write(home.path()).unwrap();
        let pins = Pins::read(home.path()).unwrap();
        assert!(pins.difference("srv", &said("Gets.")).is_none());
        let found = pins.difference("srv", &said("Gets!"));
        assert_eq!(found.changed["get"], "- \"description\": \"Gets.\",\n+ \"description\": \"Gets!\",");
        let mut more = said("Gets.");
        more.insert("put".to_owned(), json!({ "name": "put" }));
        assert_eq!(pins.difference("srv", &more).new, ["put"]);
        assert_eq!(pins.difference("srv", &BTreeMap::new()).gone, ["get"]);
        assert!(pins.difference("other", &more).is_first);
    }

    #[test]
    fn a_pin_changed_by_hand_is_told_by_its_name() {
        let home = tempfile::tempdir().unwrap();
        let mut pins = Pins::default();
        pins.pin("srv", &said("Gets."));
        pins.write(home.path()).unwrap();
        let kept = std::fs::read_to_string(file(home.path())).unwrap();
        let sha256 = hash(&said("Gets.")["get"]);
        for (from, to) in
            [("Gets.", "Sends."), (sha256.as_str(), "0000"), ("\"name\": \"get\"", "\"name\": \"put\""), ("\"get\": {", "\"put\": {")]
        {
            assert!(kept.contains(from), "{from}");
            std::fs::write(file(home.path()), kept.replace(from, to)).unwrap();
            let told = Pins::read(home.path()).unwrap_err().to_string();
            assert!(told.contains("of server \"srv\" was edited by hand") && told.contains("flow tools pin"), "{told}");
        }
        // Tools that sort their keys another way keep the meaning.
        let value: Value = serde_json::from_str(&kept).unwrap();
        let turned = json!({ "servers": value["servers"], "flow": value["flow"] });
        std::fs::write(file(home.path()), turned.to_string()).unwrap();
        assert_eq!(Pins::read(home.path()).unwrap(), pins);
    }

    #[test]
    fn a_file_that_is_no_list_of_pins_is_told() {
        let home = tempfile::tempdir().unwrap();
        for (text, told) in [
            ("{", "cannot read"),
            ("{\"flow\": 9, \"servers\": {}}", "unknown version 9"),
            ("{\"flow\": 1, \"servers\": {\"a\": {}, \"a\": {}}}", "the key \"a\" is there twice"),
            ("{\n<<<<<<< HEAD\n", "line 2 is a merge conflict marker"),
            ("{} {}", "restore it from version control"),
            ("", "flow.lock: it is empty"),
            ("[]", "flow.lock: the file must be a JSON object; restore it"),
            ("{}", "the file has no \"flow\""),
            ("{\"flow\": \"1\", \"servers\": {}}", "\"flow\" must be 1"),
            ("{\"flow\": 1}", "the file has no \"servers\""),
            ("{\"flow\": 1, \"servers\": {}, \"zz\": 1}", "the file has the unknown key \"zz\""),
            ("{\"flow\": 1, \"servers\": []}", "\"servers\" must be a JSON object"),
            ("{\"flow\": 1, \"servers\": {\"a\": []}}", "server \"a\" must be a JSON object"),
            ("{\"flow\": 1, \"servers\": {\"a\": {\"t\": {\"said\": 1}}}}", "tool \"t\" of server \"a\" has no \"sha256\""),
            (
                "{\"flow\": 1, \"servers\": {\"a\": {\"t\": {\"sha256\": 1, \"said\": 1}}}}",
                "\"sha256\" of tool \"t\" of server \"a\" must be a text",
            ),
            ("{\"flow\": 1, \"servers\": {\"a\": {\"t\": {\"sha256\": \"\", \"said\": 1, \"x\": 1}}}}", "has the unknown key \"x\""),
        ] {
            std::fs::write(file(home.path()), text).unwrap();
            assert!(Pins::read(home.path()).unwrap_err().to_string().contains(told), "{text}");
        }
    }
}
