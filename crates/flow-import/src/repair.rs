//! The result is checked as any file is; what has an error is given up and told, so that what is left is right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use yaml::{map, pair};

const TESTS: &str = "tests";

/// How often a result is checked; each round gives something up.
const ROUNDS: usize = 100;

/// The files of a result, checked where they will be, and the errors that are left. What is printed is one file, with its tests.
pub(super) fn finished(import: &mut Import, imported: Imported, request: &ImportRequest<'_>) -> (Vec<(PathBuf, String)>, Vec<String>) {
    let folder = request.output.unwrap_or_else(|| request.file.parent().unwrap_or(Path::new("")));
    let (name, cases) = (imported.name.clone(), imported.cases.clone());
    let mut pipeline = imported.pipeline(import);
    if let (Yaml::Map(entries), false) = (&mut pipeline, cases.is_empty()) {
        entries.push((TESTS.into(), Yaml::List(cases)));
    }
    // On standard output it has no name of its own yet, and must not be taken for a file that is there.
    let path = folder.join(if request.output.is_some() { format!("{name}.yaml") } else { format!("{name}.imported.yaml") });
    let mut errors = vec![];
    for _ in 0..ROUNDS {
        let written = WrittenYaml::write(&import.head(request.format), &pipeline, &import.words);
        let texts = BTreeMap::from([(path.clone(), written.text.as_str().into())]);
        let found = check(&path, &Overlay { below: &DiskFiles, texts }, request.project);
        errors = found.iter().map(|(line, ..)| line.clone()).collect();
        if !found
            .iter()
            .fold(false, |is_changed, (_, at, snippet, why)| give_up(import, &mut pipeline, &written, (*at, snippet, why), is_changed))
        {
            break;
        }
    }
    // Written once more: the head names all that is lost.
    let head = import.head(request.format);
    let mut texts = vec![];
    if let (Yaml::Map(entries), true) = (&mut pipeline, request.output.is_some()) {
        for (_, cases) in entries.extract_if(.., |(key, _)| key == TESTS) {
            let test = map([pair("flow", 1_u64), pair("test", format!("{name}.yaml")), pair("cases", cases)]);
            texts.push((folder.join(format!("{name}.test.yaml")), WrittenYaml::write("", &test, &import.words).text));
        }
    }
    texts.insert(0, (path, WrittenYaml::write(&head, &pipeline, &import.words).text));
    (texts, errors)
}

/// The errors of a file: a line for people, where, the text there, and why.
fn check(path: &Path, files: &Overlay<'_>, project: &dyn Fn(&Path) -> PathBuf) -> Vec<(String, usize, String, String)> {
    let checked = check_file(path, &project(path), files);
    let sources = &checked.loaded.sources;
    let own = sources.files().find(|(_, file)| Path::new(&file.name) == path).map(|(id, _)| id);
    let is_error = |found: &&Diagnostic| found.severity() == Severity::Error;
    let told = |found: &Diagnostic| {
        let line = format!("{}: {} {}", sources.place(found.span), found.code.id(), found.message);
        let at = if own == Some(found.span.file) || own.is_none() { found.span.start as usize } else { 0 };
        (line, at, sources.text(found.span).to_owned(), found.message.clone())
    };
    checked.diagnostics.iter().filter(is_error).map(told).collect()
}

/// Gives up what an error is about; whether anything was. Only the first change of a round moves keys: the places of the others would be wrong.
fn give_up(import: &mut Import, tree: &mut Yaml, written: &WrittenYaml, (at, snippet, why): (usize, &str, &str), is_changed: bool) -> bool {
    let words = written.words.iter().find(|(range, _)| range.contains(&at)).map(|(_, number)| *number);
    if let Some(words) = words.and_then(|number| import.words.get_mut(number)) {
        let snippet = if snippet.len() < 200 { snippet } else { "" };
        if let Some(given) = words.give_up(snippet) {
            let (span, what) = (words.span, format!("{}: {}", words.what, one_line(&given, 80)));
            import.lose(span, what, LostWhy::Finding(why.to_owned()));
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
    let inside = written.words.iter().find(|(words, _)| range.contains(&words.start)).and_then(|(_, number)| import.words.get(*number));
    let start = inside.map_or_else(|| Span::file_start(import.file), |words| words.span);
    import.lose(start, one_line(line, 80), LostWhy::Finding(why.to_owned()));
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
        (Yaml::Map(_) | Yaml::List(_) | Yaml::Words(_) | Yaml::Value(_), _) => false,
    }
}
