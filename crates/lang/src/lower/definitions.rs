//! What `imports` bring: models, agents, tools, scorecards, policies, data, secrets; of a shared file and of a pipeline.

use std::sync::Arc;

use super::context::{Lower, quoted};
use super::data::data;
use super::ids::Ids;
use super::keys;
use super::other_file::FileRole;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use super::unknown_keys::unknown_key;
use super::values::NameLetters;
use super::world::{Definitions, Section, World};
use super::{agents, checks, knowledge, models, policies, tools};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FileId, Span, Spanned};
use crate::syntax::{MapKey, Node, NodeKind};

/// Reads a file of shared definitions. What it imports itself is checked, but not passed on.
pub fn definitions(tree: &Node, file: FileId, world: &mut dyn World, diagnostics: &mut Vec<Diagnostic>) -> Definitions {
    let mut lower = Lower::new(file, world, diagnostics);
    lower.is_shared = true;
    let Some(keys) = lower.root(tree, &keys::DEFINITIONS, "this file of shared definitions") else { return Definitions::default() };
    keys.sentence("description");
    let own = read(&keys);
    import_all(&keys, own.clone());
    own
}

/// The sections of a file.
pub fn read(keys: &KeyReader) -> Definitions {
    let mut tools = section(keys, "tools", "tool", tools::tool);
    for (name, value) in section(keys, "knowledge", "knowledge", knowledge::knowledge) {
        match tools.get(&name) {
            // Agents list both by name.
            Some(first) => keys.lower.report(knowledge::clash(&name, first.span, value.span)),
            None => drop(tools.insert(name, value)),
        }
    }
    Definitions {
        models: section(keys, "models", "model", models::model),
        agents: section(keys, "agents", "agent", agents::agent),
        tools,
        scorecards: section(keys, "scorecards", "scorecard", checks::scorecard),
        policies: section(keys, "policies", "policy", policies::policy),
        data: section(keys, "data", "table", data),
        secrets: secrets(keys),
    }
}

/// One section: names of the author's choice. `read` gets the file, whose it is, the place of the name, and the value.
fn section<T>(keys: &KeyReader, key: &str, what: &'static str, read: impl Fn(&Lower, &KeyOwner, Span, &Node) -> T) -> Section<T> {
    let entries: Vec<_> = keys.entries(key).collect();
    let (mut rest, mut section) = (entries.as_slice(), Section::default());
    while let Some(((name, node), below)) = rest.split_first() {
        NameLetters::Small.check(keys.lower, &format!("{what} name"), &name.text, name.span);
        let owner = KeyOwner::Named(what, name.text.clone());
        let is_empty = node.as_scalar().is_some_and(|scalar| scalar.value.is_null());
        let slid = below.iter().take_while(|(own, _)| is_empty && keys.is_of_each(key, &own.text)).count();
        let (slid, below) = below.split_at(slid);
        report_slid(keys.lower, &owner, name, slid);
        let nothing = Node { span: node.span, kind: NodeKind::Broken };
        let value = read(keys.lower, &owner, name.span, if slid.is_empty() { node } else { &nothing });
        section.insert(name.text.clone(), Spanned::new(value, name.span));
        rest = below;
    }
    section
}

/// F002 for keys that stand beside the name of what they are keys of.
fn report_slid(lower: &Lower, owner: &KeyOwner, name: &MapKey, slid: &[(&MapKey, &Node)]) {
    let Some((first, _)) = slid.first() else { return };
    let message = format!("{} is beside {owner}, and belongs below it: its line is indented too little", quoted(&first.text));
    let all: Vec<&str> = slid.iter().map(|(key, _)| key.text.as_str()).collect();
    let help = format!("indent {} two spaces more than {}", all.join(" and "), name.text);
    lower.report(unknown_key(first.span, message).related(name.span, "its name").help(help));
}

fn secrets(keys: &KeyReader) -> Section<Spanned<String>> {
    keys.entries("secrets")
        .map(|(name, node)| {
            NameLetters::Capitals.check(keys.lower, "secret name", &name.text, name.span);
            let sentence = keys.lower.sentence(&name.text, node).unwrap_or_default();
            (name.text.clone(), Spanned::new(Spanned::new(sentence, node.span), name.span))
        })
        .collect()
}

/// Adds the definitions of all `imports` (F016, F017, F018).
pub(crate) fn import_all(keys: &KeyReader, mut own: Definitions) -> Definitions {
    let lower = keys.lower;
    let mut files: Vec<(FileId, String)> = vec![(lower.file, "this file".to_owned())];
    let mut paths = Ids::default();
    for path in keys.list("imports").unwrap_or_default().iter().filter_map(|node| lower.name("imports", node)) {
        if let Some(first) = paths.take(&path) {
            let message = format!("{} is imported twice", quoted(&path.value));
            lower.report(import_clash(&path, message).related(first, "first here").help("remove one of the two"));
            continue;
        }
        let answer = lower.world().import(path.span, &path.value);
        if let Some(theirs) = lower.found(FileRole::Import, &path.value, path.span, answer) {
            merge_all(&mut own, &theirs, &mut Clashes { lower, files: &mut files, path: &path });
        }
    }
    own
}

fn merge_all(own: &mut Definitions, theirs: &Arc<Definitions>, clashes: &mut Clashes) {
    merge("model", &mut own.models, &theirs.models, clashes);
    merge("agent", &mut own.agents, &theirs.agents, clashes);
    merge("tool", &mut own.tools, &theirs.tools, clashes);
    merge("scorecard", &mut own.scorecards, &theirs.scorecards, clashes);
    merge("policy", &mut own.policies, &theirs.policies, clashes);
    merge("table", &mut own.data, &theirs.data, clashes);
    merge("secret", &mut own.secrets, &theirs.secrets, clashes);
}

/// F018: two imports that cannot stand together.
fn import_clash(path: &Spanned<String>, message: String) -> Diagnostic {
    Diagnostic::new(Code::ImportClash, path.span, message)
}

/// Where names that clash come from.
struct Clashes<'a, 'w> {
    lower: &'a Lower<'w>,
    files: &'a mut Vec<(FileId, String)>,
    path: &'a Spanned<String>,
}

fn merge<T: Clone>(what: &str, own: &mut Section<T>, theirs: &Section<T>, clashes: &mut Clashes) {
    for (name, value) in theirs {
        if !clashes.files.iter().any(|(file, _)| *file == value.span.file) {
            clashes.files.push((value.span.file, clashes.path.value.clone()));
        }
        match own.get(name) {
            None => {
                own.insert(name.clone(), value.clone());
            }
            Some(first) => clashes.report(what, name, first.span, value.span),
        }
    }
}

impl Clashes<'_, '_> {
    /// F018.
    fn report(&self, what: &str, name: &str, first: Span, second: Span) {
        let other = self.files.iter().find(|(file, _)| *file == first.file).map_or("another file", |(_, path)| path);
        let message = format!("{what} {} comes from both {other} and {}", quoted(name), self.path.value);
        self.lower.report(
            import_clash(self.path, message)
                .related(first, format!("rename this, such as {name}_2"))
                .related(second, "the other one")
                .help(format!("rename the one in {other}, such as {name}_2, there and where it is used")),
        );
    }
}
