//! Files of every kind against a world in which every other file is there.

mod any_tree;
mod correct;
mod mistakes;
mod models;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::diagnostic::{Diagnostic, sort};
use crate::model::*;
use crate::source::{FileId, Sources, Span};

/// A world in which every file is there and holds next to nothing, but for those whose name begins with `no`.
struct Alone;

fn there<T>(name: &str, value: T) -> Result<T, OtherFileError> {
    let is_missing = name.trim_start_matches("../").starts_with("no");
    if is_missing { Err(OtherFileError::Missing(vec!["note.md".to_owned()])) } else { Ok(value) }
}

impl World for Alone {
    fn folder(&self, _: FileId) -> PathBuf {
        PathBuf::from("home")
    }
    fn project(&self) -> PathBuf {
        PathBuf::from("home")
    }
    fn path(&self, _: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        if path.starts_with("../") { Err(OtherFileError::Outside) } else { Ok(PathBuf::from("home").join(path)) }
    }
    fn existing(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        self.path(from, path).and_then(|file| there(path, file))
    }
    fn existing_folder(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        self.existing(from, path)
    }
    fn import(&mut self, _: Span, path: &str) -> Result<Arc<Definitions>, OtherFileError> {
        there(path, Arc::default())
    }
    fn channel(&mut self, _: FileId, name: &str) -> Result<Arc<Channel>, OtherFileError> {
        there(name, Arc::new(read("flow: 1\nchannel: sms\n", channel).0.unwrap()))
    }
    fn style_guide(&mut self, _: FileId, name: &str) -> Result<Arc<StyleGuide>, OtherFileError> {
        there(name, Arc::new(read("flow: 1\nstyle_guide: acme\n", style_guide).0.unwrap()))
    }
    fn text(&mut self, _: FileId, path: &str) -> Result<(FileId, Arc<str>), OtherFileError> {
        let text = match path.rsplit_once('.') {
            Some((_, "json")) => "{\"type\": \"object\"}",
            Some((_, "csv")) => "id\ntwo\n",
            _ => "Be brief.",
        };
        there(path, (FileId(0), text.into()))
    }
    fn replies(&mut self, _: FileId, path: &str) -> Result<Arc<Replies>, OtherFileError> {
        there(path, Arc::default())
    }
    fn pipeline(&mut self, _: Span, path: &str) -> Result<PipelineId, OtherFileError> {
        there(path, PipelineId(0))
    }
}

pub(super) fn read<T>(text: &str, lower: impl FnOnce(&Node, FileId, &mut dyn World, &mut Vec<Diagnostic>) -> T) -> (T, String) {
    let mut sources = Sources::default();
    let file = sources.add("a.yaml", text);
    let mut found = vec![];
    let tree = crate::syntax::parse(file, sources.file(file), &mut vec![]);
    let value = lower(&tree, file, &mut Alone, &mut found);
    sort(&mut found);
    let lines = found.iter().map(|d| {
        let at = sources.start(d.span);
        assert!(d.message.chars().count() <= 160, "{}", d.message);
        let is_of_template = ("F200".."F208").contains(&d.code.id());
        assert!(is_of_template || !d.help.is_empty(), "no help: {}", d.message);
        assert!(d.help.iter().all(|line| line.starts_with(|c: char| c.is_ascii_lowercase())), "{:?}", d.help);
        format!("{} {}:{} {} = {}\n", d.code.id(), at.line, at.column, d.message, d.help.join(" / "))
    });
    (value, lines.collect())
}

fn findings(text: &str) -> String {
    read(text, pipeline).1
}

/// A pipeline with these lines after its first two.
fn head(text: &str) -> String {
    findings(&format!("flow: 1\nname: a\n{text}\nsteps: [{{ id: one, set: 1 }}]\n"))
}

/// A pipeline with these steps.
fn with_steps(text: &str) -> String {
    findings(&format!("flow: 1\nname: a\nsteps:\n{text}\n"))
}

#[test]
fn what_a_file_is_follows_from_its_names_in_their_order() {
    for (text, kind) in [
        ("flow: 1\nname: a\nstyle_guide: b\n", FileKind::Pipeline),
        ("flow: 1\nchannel: a\nreplies: {}\n", FileKind::Channel),
        ("flow: 1\nreplies: {}\ntest: a.yaml\n", FileKind::Test),
        ("flow: 1\nstyle_guide: b\nreplies: {}\n", FileKind::Replies),
        ("flow: 1\nstyle_guide: b\n", FileKind::StyleGuide),
        ("flow: 1\nagents: {}\n", FileKind::Definitions),
        ("flow: 1\nsteps: []\n", FileKind::Pipeline),
        ("[1]", FileKind::Definitions),
    ] {
        let mut sources = Sources::default();
        let file = sources.add("a.yaml", text);
        assert_eq!(kind_of(&crate::syntax::parse(file, sources.file(file), &mut vec![])), kind, "{text}");
    }
}
