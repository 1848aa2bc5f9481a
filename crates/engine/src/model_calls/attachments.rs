//! Files attached to a prompt.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::event::{Failure, FailureKind, StepStatus};
use crate::model::{Filling, StepKind};
use crate::parts::Files;
use crate::state::talk::MOST_PICTURES;
use crate::state::{Frame, FrameKind, NodeRef};

/// A prompt and its pictures.
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) pictures: Vec<PathBuf>,
}

impl From<String> for Prompt {
    fn from(text: String) -> Prompt {
        Prompt { text, pictures: vec![] }
    }
}

impl Files<'_> {
    /// Adds the files of `attach`, which `read` steps returned. Texts, pages and tables go below the prompt. A path that no `read` step returned is
    /// not opened, whoever wrote it.
    ///
    /// # Errors
    /// Fails if a value is not a file of a `read` step, if a file could not be read, or if there are too many pictures.
    pub(crate) fn attach(&self, at: NodeRef, attach: Option<&Filling>, prompt: &mut Prompt) -> Result<(), Failure> {
        let Some(attach) = attach else { return Ok(()) };
        let mut files = vec![];
        flatten(self.filling(at, attach)?, &mut files);
        for file in files {
            let wrong = |message: String| Failure::new(FailureKind::WrongType, message);
            let text = |key: &str| file.get(key).and_then(Value::as_str);
            let (Some(path), Some(kind)) = (text("path"), text("type")) else {
                return Err(wrong(format!("attach takes files of a read step, found {}", crate::words::kind_of(&file))));
            };
            if !self.was_read(path) {
                return Err(Failure::new(FailureKind::Denied, format!("attach: no read step of this run has read \"{path}\"")));
            }
            match kind {
                "image" => prompt.pictures.push(self.opened_at(at, path)),
                "unreadable" => return Err(wrong(format!("attach: \"{path}\" could not be read"))),
                _ => prompt.text.push_str(&as_text(path, &file)),
            }
        }
        if prompt.pictures.len() > MOST_PICTURES {
            let message = format!("attach: {} pictures; a prompt takes at most {MOST_PICTURES}", prompt.pictures.len());
            return Err(Failure::new(FailureKind::TooLarge, message));
        }
        Ok(())
    }

    /// Whether a `read` step of this run returned a file with this path, or the code of a step made a picture there.
    pub(crate) fn was_read(&self, path: &str) -> bool {
        // Steps of a plan read no files.
        let is_of_file = |frame: &Frame| !matches!(frame.kind, FrameKind::Written(_));
        self.state.steps.frames.iter().flatten().filter(|frame| is_of_file(frame)).any(|frame| {
            let steps = self.planned(frame.instance);
            frame.nodes.iter().filter(|node| node.status == StepStatus::Succeeded).any(|node| {
                let kind = &steps.step(node.step).step.kind;
                let is_read = matches!(kind, StepKind::Read(_) | StepKind::Resource(_));
                is_read && node.output.as_deref().is_some_and(|output| names(output, path))
                    || matches!(kind, StepKind::Python(_) | StepKind::Task(_)) && node.details().files().any(|file| file == path)
            })
        })
    }
}

fn names(output: &Value, path: &str) -> bool {
    match output {
        Value::Array(list) => list.iter().any(|output| names(output, path)),
        file => file.get("path").and_then(Value::as_str) == Some(path),
    }
}

fn flatten(value: Value, into: &mut Vec<Value>) {
    match value {
        Value::Array(list) => list.into_iter().for_each(|value| flatten(value, into)),
        Value::Null => {}
        file => into.push(file),
    }
}

/// A file that is not a picture, as text below a prompt.
fn as_text(path: &str, file: &Value) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut text = format!("\n\nFile {name}:\n");
    let list = |key: &str| file.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let part = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let (pages, tables) = (list("pages"), list("tables"));
    for page in &pages {
        let _ = write!(text, "Page {}:\n{}\n", page["number"], part(page, "text"));
    }
    for table in &tables {
        let _ = write!(
            text,
            "Table {} ({} rows), its first rows:\n{}\n",
            part(table, "name"),
            table["row_count"],
            part(table, "sample_markdown")
        );
    }
    if pages.is_empty() && tables.is_empty() {
        text.push_str(&part(file, "text"));
    }
    text
}
