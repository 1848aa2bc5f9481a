//! The result is checked as any file is; what has an error is given up and told, so that what is left is right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::adapter::disk_files::DiskFiles;
use crate::check::check_file;
use crate::diagnostic::Severity;
use crate::port::Overlay;
use crate::runtime::place;
use yaml::map;

/// What is written, and what could not be made right.
pub(super) struct Finished {
    pub(super) texts: Vec<(PathBuf, String)>,
    pub(super) errors: Vec<String>,
}

/// How often a result is checked; each round gives something up.
const ROUNDS: usize = 100;

/// The files of a result, checked where they will be. On standard output the tests are in the file of the pipeline.
pub(super) fn finished(
    import: &mut Import,
    imported: Imported,
    folder: &Path,
    options: &ImportOptions,
    shared: &SharedOptions,
) -> Finished {
    let Imported { name, mut pipeline, cases } = imported;
    let path = folder.join(format!("{name}.yaml"));
    let path = if options.output.is_none() { folder.join(format!("{name}.imported.yaml")) } else { path };
    let has_file = options.output.is_some() && !cases.is_empty();
    if let (Yaml::Map(entries), false, false) = (&mut pipeline, has_file, cases.is_empty()) {
        entries.push(("tests".into(), Yaml::List(cases.clone())));
    }
    let mut finished = Finished { texts: vec![], errors: vec![] };
    let mut trees = vec![(path, pipeline)];
    if has_file {
        let test =
            map([("flow", Some(Yaml::Value(1.into()))), ("test", Some(format!("{name}.yaml").into())), ("cases", Some(Yaml::List(cases)))]);
        trees.push((folder.join(format!("{name}.test.yaml")), test));
    }
    for (path, mut tree) in trees {
        let mut texts: BTreeMap<PathBuf, Arc<str>> =
            finished.texts.iter().map(|(path, text)| (path.clone(), text.as_str().into())).collect();
        let mut errors = vec![];
        for _ in 0..ROUNDS {
            let written = Written::of(&import.head(options.format), &tree, &import.words);
            texts.insert(path.clone(), written.text.as_str().into());
            let found = check(&path, &Overlay { below: &DiskFiles, texts: texts.clone() }, shared);
            errors = found.iter().map(|(line, ..)| line.clone()).collect();
            if !found
                .iter()
                .fold(false, |is_changed, (_, at, snippet, why)| give_up(import, &mut tree, &written, (*at, snippet, why), is_changed))
            {
                break;
            }
        }
        // Written once more: its head names all that is lost.
        finished.texts.push((path.clone(), Written::of(&import.head(options.format), &tree, &import.words).text));
        finished.errors.extend(errors);
    }
    // What a later file lost stands in the head of the first one, too.
    finished
}

/// The errors of a file: a line for people, where, the text there, and why.
fn check(path: &Path, files: &Overlay<'_>, shared: &SharedOptions) -> Vec<(String, usize, String, String)> {
    let checked = check_file(path, &shared.project_of(path), files);
    let sources = &checked.loaded.sources;
    let own = sources.files().find(|(_, file)| Path::new(&file.name) == path).map(|(id, _)| id);
    let is_error = |found: &&Diagnostic| found.severity() == Severity::Error;
    let told = |found: &Diagnostic| {
        let line = format!("{}: {} {}", place(sources, found), found.code.id(), found.message);
        let at = if own == Some(found.span.file) || own.is_none() { found.span.start as usize } else { 0 };
        (line, at, sources.text(found.span).to_owned(), found.message.clone())
    };
    checked.diagnostics.iter().filter(is_error).map(told).collect()
}

/// Gives up what an error is about; whether anything was. Only the first change of a round moves keys: the places of the others would be wrong.
fn give_up(import: &mut Import, tree: &mut Yaml, written: &Written, (at, snippet, why): (usize, &str, &str), is_changed: bool) -> bool {
    let words = written.words.iter().find(|(range, _)| range.contains(&at)).map(|(_, number)| *number);
    if let Some(words) = words.and_then(|number| import.words.get_mut(number)) {
        let snippet = if snippet.len() < 200 { snippet } else { "" };
        if let Some(given) = words.give_up(snippet) {
            let (span, what) = (words.span, format!("{}: {}", words.what, one_line(&given, 80)));
            import.lose(span, what, why);
            return true;
        }
        return is_changed;
    }
    if is_changed {
        return true;
    }
    let Some((range, way)) = written.entries.iter().rev().find(|(range, _)| range.contains(&at)) else { return false };
    let line = written.text.get(range.clone()).unwrap_or_default();
    const NEEDED: [&str; 8] = ["flow", "name", "steps", "id", "cases", "agents", "test", "prompt"];
    let key = line.split(':').next().unwrap_or_default().trim().to_owned();
    if NEEDED.contains(&key.as_str()) || !removed(tree, way) {
        return false;
    }
    let start = Span::file_start(import.file);
    import.lose(start, one_line(line, 80), why);
    true
}

/// Takes an entry away.
fn removed(node: &mut Yaml, way: &[usize]) -> bool {
    match (node, way) {
        (Yaml::Map(entries), [last]) if *last < entries.len() => {
            entries.remove(*last);
            true
        }
        (Yaml::Map(entries), [first, rest @ ..]) => entries.get_mut(*first).is_some_and(|(_, node)| removed(node, rest)),
        (Yaml::List(list), [first, rest @ ..]) => list.get_mut(*first).is_some_and(|node| removed(node, rest)),
        (Yaml::Map(_) | Yaml::List(_) | Yaml::Words(_) | Yaml::Text(_) | Yaml::Value(_), _) => false,
    }
}
