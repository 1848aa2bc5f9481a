//! A cassette on disk: `cassette.json`, and in `steps/` one file for each step with its calls in order. Readable by its owner only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::files::{self, FileError, cannot};
use crate::event::Failure;
use crate::model::PastMessage;

/// Version of the file format.
const VERSION: u64 = 1;
/// The file that makes a folder a cassette.
const HEAD: &str = "cassette.json";
/// Maximum size of one file in bytes, and maximum depth of nested steps.
const LARGEST: u64 = 64 * 1024 * 1024;
const DEEPEST: usize = 32;

/// The properties of a cassette's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the file format.
    pub flow: u64,
    /// The pipeline's name.
    pub pipeline: String,
    /// The run's clock at its start; omitted if nothing in the files reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// Whether `FLOW_MODEL` replaced the model called `default`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_model_replaced: bool,
    /// Whether the settings provided a model for a file that has none called `default`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_model_given: bool,
    /// Earlier messages in the conversation of the run, masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<PastMessage>,
    /// The messages that the run summarized, masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older: Vec<PastMessage>,
    /// The summary of the messages before all of these, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Earlier messages to and from agents, by the name of the agent, masked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Vec<PastMessage>>,
}

impl Head {
    /// Creates the properties of a new cassette.
    pub fn new(pipeline: &str, now: Option<String>, default_model_replaced: bool) -> Head {
        let (conversation, older, summary, agents) = Default::default();
        let pipeline = pipeline.to_owned();
        Head { flow: VERSION, pipeline, now, default_model_replaced, default_model_given: false, conversation, older, summary, agents }
    }
}

/// One call and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The number of the call within its step, from 1. Local calls count too.
    pub call: u64,
    /// The request, masked.
    pub asked: Value,
    /// The lengths of values that became known to be personal only after the request, by placeholder.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub lengths: Map<String, Value>,
    /// The origins (`person.name`) of values that occur in the answer but not in the request, by placeholder.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub origins: Map<String, Value>,
    /// The answer, masked.
    #[serde(flatten)]
    pub answer: RecordedAnswer,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAnswer {
    /// A reply.
    Reply(Value),
    /// The call failed.
    Failure(Failure),
}

/// The recordings of a cassette by step.
pub type Steps = BTreeMap<String, Vec<Recording>>;

/// Why a folder cannot be used as a cassette.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum CassetteError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    #[error("{} contains no recordings: {HEAD} is missing", .0.display())]
    NoHead(PathBuf),
    #[error("{}: {source}", file.display())]
    Head { file: PathBuf, source: serde_json::Error },
    #[error("{}: {what}; record it again", file.display())]
    Broken { file: PathBuf, what: String },
}

/// Reads the properties of a cassette's run.
///
/// # Errors
/// Fails if the folder is not a cassette.
pub fn head(folder: &Path) -> Result<Head, CassetteError> {
    let file = folder.join(HEAD);
    if !folder.is_dir() {
        return Err(CassetteError::NoFolder(folder.to_path_buf()));
    }
    if !file.is_file() {
        return Err(CassetteError::NoHead(folder.to_path_buf()));
    }
    match serde_json::from_value::<Head>(read_json(&file)?) {
        Ok(head) if head.flow == VERSION => Ok(head),
        Ok(head) => Err(CassetteError::Broken { file, what: format!("unknown version {}", head.flow) }),
        Err(source) => Err(CassetteError::Head { file, source }),
    }
}

/// Reads a cassette.
///
/// # Errors
/// See [`head`]. Also fails if a file is broken.
pub fn read(folder: &Path) -> Result<Steps, CassetteError> {
    head(folder)?;
    let mut steps = Steps::new();
    read_steps(&folder.join("steps"), 0, &mut steps)?;
    Ok(steps)
}

fn read_steps(folder: &Path, depth: usize, steps: &mut Steps) -> Result<(), CassetteError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() && depth < DEEPEST {
            read_steps(&path, depth + 1, steps)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            let broken = |what: &str| CassetteError::Broken { file: path.clone(), what: what.to_owned() };
            let mut whole = read_json(&path)?;
            let step = whole["step"].as_str().ok_or_else(|| broken("\"step\" is missing"))?.to_owned();
            let Value::Array(calls) = whole["calls"].take() else { return Err(broken("\"calls\" is missing")) };
            let calls: Option<Vec<Recording>> = calls.into_iter().map(recording).collect();
            steps.insert(step, calls.ok_or_else(|| broken("a call has no request or no answer"))?);
        }
    }
    Ok(())
}

fn recording(mut value: Value) -> Option<Recording> {
    texts(&mut value, &|text| {
        if let Value::Array(lines) = text {
            let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
            *text = json!(lines.join("\n"));
        }
    });
    serde_json::from_value(value).ok().filter(|recording: &Recording| recording.asked.is_object())
}

fn read_json(file: &Path) -> Result<Value, FileError> {
    let text = files::read_text(file, LARGEST).map_err(cannot("read", file))?;
    crate::model::read_json(&text).map_err(cannot("read", file))
}

/// Whether a cassette can be created here: the folder does not exist or is empty.
pub fn is_free(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(!folder.exists(), |mut entries| entries.next().is_none())
}

/// Writes a cassette into a new or empty folder. `cassette.json` is written last, so that an incomplete cassette is not a valid one.
///
/// # Errors
/// Fails if a file or folder cannot be created.
pub fn write(folder: &Path, head: &Head, steps: &Steps) -> std::io::Result<()> {
    for (step, recordings) in steps {
        let file = folder.join("steps").join(format!("{step}.json"));
        let calls: Vec<Value> = recordings.iter().map(readable).collect();
        files::write_private(&file, &json!({ "flow": VERSION, "step": step, "calls": calls }))?;
    }
    files::write_private(&folder.join(HEAD), head)
}

fn readable(recording: &Recording) -> Value {
    let mut value = json!(recording);
    // Texts are split into lines, so that people can read a prompt and see in a diff what changed.
    texts(&mut value, &|text| {
        let lines = text.as_str().filter(|text| text.contains('\n')).map(|text| text.split('\n').collect::<Vec<_>>());
        if let Some(lines) = lines {
            *text = json!(lines);
        }
    });
    value
}

/// Changes the texts of people and models in a recording.
fn texts(recording: &mut Value, change: &dyn Fn(&mut Value)) {
    let mut at = |path: &str| {
        if let Some(text) = recording.pointer_mut(path) {
            change(text);
        }
    };
    at("/asked/text");
    at("/reply/text");
    for message in recording.pointer_mut("/asked/messages").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(text) = message.get_mut("text") {
            change(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FailureKind;
    use crate::os;

    fn recording(call: u64, text: &str, answer: RecordedAnswer) -> Recording {
        let asked = json!({ "to": "model", "messages": [{ "role": "user", "text": text }] });
        Recording { call, asked, answer, lengths: Map::new(), origins: Map::new() }
    }

    #[test]
    fn a_cassette_that_is_read_is_the_one_that_was_written() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("c");
        let failed = Failure::new(FailureKind::RateLimited, "slow down");
        let reply = json!({ "text": "One\nTwo\n", "usage": null, "model": null });
        let steps = Steps::from([
            (
                "facts/today".to_owned(),
                vec![recording(1, "One line", RecordedAnswer::Failure(failed)), recording(2, "Two\nlines", RecordedAnswer::Reply(reply))],
            ),
            ("each[2]".to_owned(), vec![recording(1, "", RecordedAnswer::Reply(json!({ "text": "" })))]),
        ]);
        let written = Head::new("p", Some("2026-01-05T09:00:00Z".into()), true);
        assert!(is_free(&folder));
        write(&folder, &written, &steps).unwrap();
        assert!(!is_free(&folder));
        assert_eq!((head(&folder).unwrap(), read(&folder).unwrap()), (written, steps));
        let text = std::fs::read_to_string(folder.join("steps/facts/today.json")).unwrap();
        assert!(text.contains("\"Two\",\n"), "{text}");
        for file in [folder.join("cassette.json"), folder.join("steps/facts/today.json"), folder.join("steps/each[2].json")] {
            assert_eq!(os::mode(&std::fs::metadata(file).unwrap()) & 0o777, 0o600);
        }
    }

    #[test]
    fn what_is_no_cassette_is_told() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let told = |folder: &Path| read(folder).unwrap_err().to_string();
        assert!(told(&at("none")).starts_with("there is no folder"));
        assert!(told(home.path()).ends_with("cassette.json is missing"));
        std::fs::write(at("cassette.json"), "{\"flow\": 9, \"pipeline\": \"p\"}").unwrap();
        assert!(told(home.path()).contains("unknown version 9"));
        std::fs::write(at("cassette.json"), "{\"flow\": 1, \"pipeline\": \"p\"}").unwrap();
        assert_eq!(read(home.path()).unwrap(), Steps::new());
        std::fs::create_dir(at("steps")).unwrap();
        for (text, part) in [
            ("{", "cannot read"),
            ("[]", "\"step\" is missing"),
            ("{\"step\": \"a\"}", "\"calls\" is missing"),
            ("{\"step\": \"a\", \"calls\": [{\"call\": 1, \"asked\": {}}]}", "a call has no"),
        ] {
            std::fs::write(at("steps/a.json"), text).unwrap();
            assert!(told(home.path()).contains(part), "{text}");
        }
    }
}
