//! A scorecard that a model wrote. It is held to the rules of a file, and its texts stay data: none is ever a template, and
//! it can reach no file.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::Definitions;
use super::checks;
use super::context::Lower;
use super::keys;
use super::reader::KeyReader;
use super::world::{OtherFileError, World};
use crate::diagnostic::Diagnostic;
use crate::model::{Channel, OnJudgeError, PipelineId, Replies, Scorecard, StyleGuide};
use crate::source::{FileId, Span};
use crate::syntax::{Map, MapKey, Node, NodeKind, QuoteStyle, Scalar};

/// Reads a scorecard that a step gave: `criteria` only, without the check `expression` (section 9 of the language page). There
/// is no file, so the findings have no place; their messages name the criterion.
pub(crate) fn written_scorecard(value: &Value, diagnostics: &mut Vec<Diagnostic>) -> Scorecard {
    let tree = node(value);
    let mut world = Nowhere;
    let mut lower = Lower::new(FileId::default(), &mut world, diagnostics);
    lower.is_data = true;
    let empty = Scorecard { span: tree.span, judge: None, on_judge_error: OnJudgeError::Fail, criteria: vec![] };
    match KeyReader::new(&lower, "the scorecard", &[&keys::WRITTEN_SCORECARD], &tree) {
        Some(keys) => Scorecard { criteria: checks::criteria(&keys), ..empty },
        None => empty,
    }
}

pub(super) fn node(value: &Value) -> Node {
    let kind = match value {
        Value::Array(list) => NodeKind::List(list.iter().map(node).collect()),
        Value::Object(map) => {
            let key = |text: &String| MapKey { text: text.clone(), span: Span::default() };
            NodeKind::Map(Map { entries: map.iter().map(|(text, value)| (key(text), node(value))).collect(), is_cut: false })
        }
        scalar => {
            let text = scalar.as_str().map_or_else(|| scalar.to_string(), str::to_owned);
            NodeKind::Scalar(Scalar::new(text, QuoteStyle::Double, scalar.clone()))
        }
    };
    Node { span: Span::default(), kind }
}

/// A world without files.
pub(super) struct Nowhere;

impl Nowhere {
    fn no<T>() -> Result<T, OtherFileError> {
        Err(OtherFileError::Because("what a step writes can name no file".to_owned(), "write it out".into()))
    }
}

impl World for Nowhere {
    fn folder(&self, _: FileId) -> PathBuf {
        PathBuf::new()
    }
    fn project(&self) -> PathBuf {
        PathBuf::new()
    }
    fn path(&self, _: FileId, _: &str) -> Result<PathBuf, OtherFileError> {
        Nowhere::no()
    }
    fn existing(&self, _: FileId, _: &str) -> Result<PathBuf, OtherFileError> {
        Nowhere::no()
    }
    fn existing_folder(&self, _: FileId, _: &str) -> Result<PathBuf, OtherFileError> {
        Nowhere::no()
    }
    fn import(&mut self, _: Span, _: &str) -> Result<Arc<Definitions>, OtherFileError> {
        Nowhere::no()
    }
    fn channel(&mut self, _: FileId, _: &str) -> Result<Arc<Channel>, OtherFileError> {
        Nowhere::no()
    }
    fn style_guide(&mut self, _: FileId, _: &str) -> Result<Arc<StyleGuide>, OtherFileError> {
        Nowhere::no()
    }
    fn text(&mut self, _: FileId, _: &str) -> Result<(FileId, Arc<str>), OtherFileError> {
        Nowhere::no()
    }
    fn replies(&mut self, _: FileId, _: &str) -> Result<Arc<Replies>, OtherFileError> {
        Nowhere::no()
    }
    fn pipeline(&mut self, _: Span, _: &str) -> Result<PipelineId, OtherFileError> {
        Nowhere::no()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Check, Form, Judging};
    use serde_json::json;

    fn told(value: Value) -> Vec<String> {
        let mut found = vec![];
        written_scorecard(&value, &mut found);
        found.into_iter().map(|d| format!("{} {}", d.code.id(), d.message)).collect()
    }

    #[test]
    fn texts_of_a_model_stay_data() {
        let mut found = vec![];
        let card = json!({"criteria": [{"id": "a", "description": "It says {{ this }}.", "check": {
            "contains": "{{ inputs.x }}", "equals": ["{{ 7*7 }}"], "numbers_from": "with.facts"
        }}]});
        let card = written_scorecard(&card, &mut found);
        assert_eq!(found, []);
        let Judging::Checks(checks) = &card.criteria[0].judging else { panic!() };
        assert_eq!(checks.len(), 3);
        for check in checks {
            match &check.value {
                Check::Contains(texts, _) => assert_eq!((texts[0].form, &*texts[0].source), (Form::Plain, "{{ inputs.x }}")),
                Check::Equals(value) => assert!(value.texts().is_empty()),
                Check::NumbersFrom(text) => assert_eq!(text.form, Form::Bare),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn expressions_judges_and_files_are_refused() {
        assert_eq!(told(json!({"criteria": []})), [""; 0]);
        assert_eq!(
            told(json!({"judge": "x", "criteria": [{"id": "a", "description": "It is good enough.", "check": {
                "expression": "value", "numbers_from": "range(9) | list", "json_schema": {"file": "/etc/passwd"}, "regex": "(?=a)"
            }}]})),
            [
                "F002 unknown key \"judge\" in the scorecard",
                "F021 the pattern of the check of criterion \"a\" looks ahead or behind (such as \"(?=\"), which is not possible here",
                "F025 cannot read schema file \"/etc/passwd\": what a step writes can name no file",
                "F007 \"numbers_from\" of a scorecard that a step wrote can only be a name such as with.facts",
                "F007 a scorecard that a step wrote cannot use the check \"expression\"",
            ]
        );
    }
}
