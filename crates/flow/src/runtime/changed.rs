//! Changes in the files of a run since it started, and the steps that they affect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use crate::diagnostic::visible;
use crate::report::Diff;
use crate::source::{FileId, SourceFile};
use crate::syntax;

/// Keys of a pipeline that do not affect the result of any step.
const BESIDE: [&str; 6] = ["description", "outputs", "on_failure", "finally", "limits", "tests"];
/// Keys with entries that steps and other entries refer to.
const NAMED: [&str; 4] = ["agents", "models", "scorecards", "tools"];
/// Maximum number of files whose differences are shown.
const MOST_SHOWN: usize = 5;

/// Files of a run that have changed since it started.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ChangedFiles {
    /// The run.
    pub run: String,
    /// Each file, relative to the project's folder, with its change in a few words.
    pub files: Vec<(String, &'static str)>,
    /// The differences of the texts, if the old text is known; for the first files only.
    pub differences: Vec<(String, Diff)>,
    /// The finished steps that the change affects; `None`: unknown, since the old files were not stored.
    pub touched: Option<Vec<String>>,
}

impl ChangedFiles {
    /// Finds the changed files by their hashes.
    pub(super) fn between(run: &str, before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> ChangedFiles {
        let files = all_names(before, now).into_iter().filter_map(|name| match (before.get(name), now.get(name)) {
            (Some(before), Some(now)) if before == now => None,
            (Some(_), Some(_)) => Some((name.clone(), "changed")),
            (Some(_), None) => Some((name.clone(), "no longer brought in")),
            (None, _) => Some((name.clone(), "brought in now")),
        });
        ChangedFiles { run: run.to_owned(), files: files.collect(), ..ChangedFiles::default() }
    }

    /// Adds the differences, if the old texts are known. `root` is the name of the pipeline's own file; `ended`: its steps that have ended.
    pub(super) fn with_texts(
        self,
        before: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
        root: &str,
        ended: &[String],
    ) -> ChangedFiles {
        let text = |texts: &BTreeMap<String, String>, name: &str| texts.get(name).cloned().unwrap_or_default();
        let differ = |(name, _): &(String, &str)| Some((name.clone(), Diff::between(&text(before, name), &text(now, name))?));
        let differences = self.files.iter().take(MOST_SHOWN).filter_map(differ).collect();
        let touched = Touched::between(before, now, root);
        let touched = ended.iter().filter(|step| touched.is_touched(step)).cloned().collect();
        ChangedFiles { differences, touched: Some(touched), ..self }
    }
}

impl fmt::Display for ChangedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} cannot continue: its pipeline, or a file that it imports, has changed since it began", self.run)?;
        self.files.iter().try_for_each(|(name, what)| write!(f, "\n  {what}: {}", visible(name)))?;
        match self.touched.as_deref() {
            None => Ok(()),
            Some([]) => write!(f, "\nno finished step is touched by that"),
            Some(steps) => write!(f, "\nfinished steps that it touches: {}", visible(&steps.join(", "))),
        }
    }
}

fn all_names<'a>(before: &'a BTreeMap<String, String>, now: &'a BTreeMap<String, String>) -> BTreeSet<&'a String> {
    before.keys().chain(now.keys()).collect()
}

/// The steps of a pipeline that a change affects: they, or things they use, have changed. In doubt a step counts as affected.
#[derive(Debug, Default)]
pub(super) struct Touched {
    all: bool,
    steps: BTreeSet<String>,
}

impl Touched {
    /// Compares the files of a run, by name.
    pub(super) fn between(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>, root: &str) -> Touched {
        let others = all_names(before, now).into_iter().filter(|name| *name != root);
        if others.into_iter().any(|name| before.get(name) != now.get(name)) {
            return Touched { all: true, ..Touched::default() };
        }
        match (before.get(root).map(|text| keys(text)), now.get(root).map(|text| keys(text))) {
            (Some(before), Some(now)) => Touched::in_file(&before, &now),
            _ => Touched { all: true, ..Touched::default() },
        }
    }

    /// Whether a change affects a step of the pipeline.
    pub(super) fn is_touched(&self, step: &str) -> bool {
        self.all || self.steps.contains(step)
    }

    fn in_file(before: &Map<String, Value>, now: &Map<String, Value>) -> Touched {
        let differs = |key: &str| before.get(key) != now.get(key);
        let names = before.keys().chain(now.keys());
        let is_own = |key: &str| key == "steps" || NAMED.contains(&key) || BESIDE.contains(&key);
        if names.into_iter().any(|key| !is_own(key) && differs(key)) {
            return Touched { all: true, ..Touched::default() };
        }
        let sections: Vec<(&Value, &Value)> =
            NAMED.iter().map(|key| (before.get(*key).unwrap_or(&Value::Null), now.get(*key).unwrap_or(&Value::Null))).collect();
        let Some(changed) = changed_names(&sections) else { return Touched { all: true, ..Touched::default() } };
        let (was, is) = (steps(before), steps(now));
        let ids = was.keys().chain(is.keys()).map(|id| (*id).to_owned());
        let is_touched = |id: &String| was.get(&**id) != is.get(&**id) || is.get(&**id).is_some_and(|step| names_any(step, &changed));
        Touched { all: false, steps: ids.filter(is_touched).collect() }
    }
}

/// Returns the entries that changed or refer to one that did. `None`: the default model changed, or a section is not a map.
fn changed_names(sections: &[(&Value, &Value)]) -> Option<BTreeSet<String>> {
    const DEFAULT: &str = "default";
    let mut changed = BTreeSet::new();
    let mut entries: Vec<(&String, &Value)> = vec![];
    for (before, now) in sections {
        let of = |value: &'_ Value| value.is_null() || value.is_object();
        if before != now && !(of(before) && of(now)) {
            return None;
        }
        let (before, now) = (before.as_object(), now.as_object());
        for name in before.into_iter().chain(now).flat_map(Map::keys) {
            if before.and_then(|map| map.get(name)) != now.and_then(|map| map.get(name)) {
                changed.insert(name.clone());
            }
        }
        entries.extend(now.into_iter().flatten());
    }
    while let Some((name, _)) = entries.iter().find(|(name, value)| !changed.contains(*name) && names_any(value, &changed)) {
        changed.insert((*name).clone());
    }
    (!changed.contains(DEFAULT)).then_some(changed)
}

/// Whether a text in a value is one of these names, or refers to a part of one (`server.tool`).
fn names_any(value: &Value, names: &BTreeSet<String>) -> bool {
    match value {
        Value::String(text) => names.contains(text) || text.split_once('.').is_some_and(|(name, _)| names.contains(name)),
        Value::Array(list) => list.iter().any(|value| names_any(value, names)),
        Value::Object(map) => map.iter().any(|(key, value)| names.contains(key) || names_any(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn keys(text: &str) -> Map<String, Value> {
    match syntax::parse(FileId(0), &SourceFile::new("", text), &mut vec![]).to_value() {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}

/// Returns the steps by their ids; a step without an id has the empty key.
fn steps(keys: &Map<String, Value>) -> BTreeMap<&str, &Value> {
    let all = keys.get("steps").and_then(Value::as_array).into_iter().flatten();
    all.map(|step| (step.get("id").and_then(Value::as_str).unwrap_or_default(), step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "flow: 1
name: p
agents:
  writer: { model: small, instructions: Write. }
  judge: { instructions: Judge. }
  reader: { tools: [shop] }
models: { small: { provider: openai }, default: { provider: openai } }
tools: { shop: { mcp: { command: [x] } } }
scorecards: { card: { judge: judge, criteria: [] } }
limits: { max_steps: 5 }
steps:
  - { id: a, agent: writer, prompt: a }
  - { id: b, gate: card, of: steps.a.output }
  - { id: c, tool: shop.find }
  - { id: d, agent: reader, prompt: d }
  - { id: e, set: e }
";

    #[test]
    fn a_change_touches_the_steps_that_use_what_changed() {
        let of = |from: &str, to: &str| {
            assert!(FILE.contains(from), "{from}");
            let files = |text: &str| BTreeMap::from([("p.yaml".to_owned(), text.to_owned()), ("x.yaml".to_owned(), "x".to_owned())]);
            let touched = Touched::between(&files(FILE), &files(&FILE.replace(from, to)), "p.yaml");
            ["a", "b", "c", "d", "e"].into_iter().filter(|step| touched.is_touched(step)).collect::<String>()
        };
        for (from, to, touched) in [
            ("name: p", "name: p # a remark", ""),
            ("max_steps: 5", "max_steps: 6", ""),
            ("set: e", "set: f", "e"),
            ("Write.", "Write well.", "a"),
            ("Judge.", "Judge well.", "b"),
            ("small: { provider: openai }", "small: { provider: anthropic }", "a"),
            ("command: [x]", "command: [y]", "cd"),
            ("default: { provider: openai }", "default: { provider: anthropic }", "abcde"),
            ("name: p", "name: q", "abcde"),
            ("flow: 1", "flow: 1\ndata: { t: { file: t.csv } }", "abcde"),
        ] {
            assert_eq!(of(from, to), touched, "{from} → {to}");
        }
        let other = BTreeMap::from([("p.yaml".to_owned(), FILE.to_owned())]);
        let files = BTreeMap::from([("p.yaml".to_owned(), FILE.to_owned()), ("x.yaml".to_owned(), "x".to_owned())]);
        assert!(Touched::between(&files, &other, "p.yaml").is_touched("e"));
    }
}
