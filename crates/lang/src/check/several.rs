//! What was found in several files, put together for one report.

use std::collections::{HashMap, HashSet};

use super::Checked;
use crate::diagnostic::{self, About, Diagnostic, Suppressed};
use crate::source::{FileId, Sources, Span};

/// Files that were checked one by one. What two of them bring in is there once, and so is what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Several {
    /// All files that were read.
    pub sources: Sources,
    /// What was found, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// What an author has hidden.
    pub hidden: Vec<Suppressed>,
    /// What a file is called in the report, so that one that is reached in several ways has one name.
    name_of: Option<fn(&str) -> String>,
    by_name: HashMap<String, FileId>,
    /// F703 of pipelines, by the names of their files.
    untested: Vec<(String, Diagnostic)>,
    /// Files of pipelines that a test runs.
    tested: HashSet<String>,
    /// Models that tests name, each with the file of its pipeline.
    named_models: HashSet<(String, String)>,
}

impl Several {
    /// A report that calls files by other names than those they were read by.
    pub fn named(name_of: fn(&str) -> String) -> Several {
        Several { name_of: Some(name_of), ..Several::default() }
    }

    fn name(&self, read_as: &str) -> String {
        self.name_of.map_or_else(|| read_as.to_owned(), |name_of| name_of(read_as))
    }

    /// Adds a file that was checked.
    pub fn add(&mut self, checked: &Checked) {
        self.add_found(&checked.loaded.sources, &checked.diagnostics, &checked.hidden);
        self.add_tested(checked);
        let name = |span: Span| self.name(&checked.loaded.sources.file(span.file).name);
        if let Some(found) = &checked.untested
            && let Some(id) = self.by_name.get(&name(found.span))
        {
            let span = Span { file: *id, ..found.span };
            let untested = (name(found.span), Diagnostic { span, ..found.clone() });
            self.untested.push(untested);
        }
    }

    /// Notes which pipelines a file tests, and nothing else of it.
    pub fn add_tested(&mut self, checked: &Checked) {
        if checked.loaded.tests.is_some() {
            let files = checked.loaded.program.pipelines.iter().map(|pipeline| checked.loaded.sources.file(pipeline.name.span.file));
            let tested: Vec<String> = files.map(|file| self.name(&file.name)).collect();
            if let Some((file, tests)) = tested.first().zip(checked.loaded.tests.as_ref()) {
                self.named_models.extend(tests.named_models().map(|name| (file.clone(), name.value.clone())));
            }
            self.tested.extend(tested);
        }
        let Several { sources, named_models, diagnostics, .. } = self;
        // F301 of a model that only a test uses.
        let place = |found: &Diagnostic, model: &String| (sources.file(found.span.file).name.clone(), model.clone());
        diagnostics.retain(|found| !matches!(&found.about, About::UnusedModel(model) if named_models.contains(&place(found, model))));
    }

    /// F703 of a file, if it is a pipeline that no test runs, as far as files were added.
    pub fn untested<'a>(&self, checked: &'a Checked) -> Option<&'a Diagnostic> {
        let name = |found: &&Diagnostic| self.name(&checked.loaded.sources.file(found.span.file).name);
        checked.untested.as_ref().filter(|found| !self.tested.contains(&name(found)))
    }

    /// F703 for each pipeline that no test runs. To be called when all files of a project were added.
    pub fn tell_untested(&mut self) {
        let untested = std::mem::take(&mut self.untested);
        self.diagnostics.extend(untested.into_iter().filter(|(name, _)| !self.tested.contains(name)).map(|(_, found)| found));
        diagnostic::sort(&mut self.diagnostics);
    }

    /// Adds what was found in some files.
    pub fn add_found(&mut self, sources: &Sources, diagnostics: &[Diagnostic], hidden: &[Suppressed]) {
        let ids: Vec<FileId> = sources
            .files()
            .map(|(_, file)| {
                let name = self.name(&file.name);
                let known = self.by_name.get(&name).filter(|id| self.sources.file(**id).text == file.text).copied();
                let id = known.unwrap_or_else(|| {
                    let id = self.sources.add(name.clone(), file.text.clone());
                    self.by_name.insert(name, id);
                    id
                });
                self.sources.hide(id, file.hidden().iter().cloned());
                id
            })
            .collect();
        // One mistake is one finding, whichever files lead to it.
        let is_same = |a: &Diagnostic, b: &Diagnostic| (a.span, a.code, &a.message) == (b.span, b.code, &b.message);
        self.diagnostics.extend(diagnostics.iter().map(|found| moved(found, &ids)));
        for Suppressed { diagnostic, by, reason } in hidden {
            let hidden = Suppressed { diagnostic: moved(diagnostic, &ids), by: *by, reason: reason.clone() };
            if !self.hidden.iter().any(|known| is_same(&known.diagnostic, &hidden.diagnostic)) {
                self.hidden.push(hidden);
            }
        }
        diagnostic::sort(&mut self.diagnostics);
        // What one of the files that see it does not allow is no edit.
        for same in self.diagnostics.chunk_by_mut(is_same).filter(|same| same.len() > 1) {
            if same.iter().any(|found| found.fix.is_none()) {
                same.iter_mut().for_each(|found| found.fix = None);
            }
            // The shortest way to the file is told: none where it was checked itself.
            same.sort_by_key(|found| found.related.len());
        }
        self.diagnostics.dedup_by(|a, b| is_same(a, b));
    }
}

/// The same finding, its places in the files of another list.
fn moved(found: &Diagnostic, ids: &[FileId]) -> Diagnostic {
    let mut found = found.clone();
    let place = |span: &mut Span| {
        if let Some(id) = ids.get(span.file.0 as usize) {
            span.file = *id;
        }
    };
    place(&mut found.span);
    found.related.iter_mut().for_each(|(span, _)| place(span));
    found.fix.iter_mut().flat_map(|fix| &mut fix.edits).for_each(|(span, _)| place(span));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    #[test]
    fn a_file_and_a_finding_that_two_bring_in_are_there_once() {
        let mut several = Several::default();
        for own in ["a.yaml", "b.yaml"] {
            let mut sources = Sources::default();
            let file = sources.add(own, "flow: 1\n");
            let shared = sources.add("team.yaml", "agents: x\n");
            let of_own = Diagnostic::new(Code::MissingKey, Span::new(file, 0, 4), "found").related(Span::new(shared, 0, 1), "here");
            let of_shared = Diagnostic::new(Code::WrongType, Span::new(shared, 8, 9), "found");
            several.add_found(&sources, &[of_own, of_shared], &[]);
        }
        let names: Vec<&str> = several.sources.files().map(|(_, file)| file.name.as_str()).collect();
        assert_eq!(names, ["a.yaml", "team.yaml", "b.yaml"]);
        let places: Vec<(&str, u32)> =
            several.diagnostics.iter().map(|d| (several.sources.file(d.span.file).name.as_str(), d.span.start)).collect();
        assert_eq!(places, [("a.yaml", 0), ("team.yaml", 8), ("b.yaml", 0)]);
        assert_eq!(several.sources.file(several.diagnostics[2].related[0].0.file).name, "team.yaml");
    }

    #[test]
    fn a_mistake_in_a_file_that_several_import_is_one_finding() {
        use crate::port::MemoryFiles;
        use std::path::Path;
        let text = |name: &str| format!("flow: 1\nname: {name}\nimports: [team.yaml]\nsteps: [{{ id: s, set: 1 }}]\n");
        let (a, b) = (text("a"), text("b"));
        let files: MemoryFiles =
            [("a.yaml", a.as_str()), ("b.yaml", b.as_str()), ("team.yaml", "flow: 1\nagents: { one: { nonsense: 1 } }\n")]
                .into_iter()
                .collect();
        let found = |names: &[&str]| {
            let mut several = Several::default();
            for name in names {
                several.add(&super::super::check_file(Path::new(name), Path::new(""), &files));
            }
            let of_key = several.diagnostics.iter().filter(|found| found.message.contains("nonsense"));
            of_key.map(|found| found.related.len()).collect::<Vec<_>>()
        };
        assert_eq!(found(&["a.yaml", "b.yaml"]), [1], "with the way that leads there");
        assert_eq!(found(&["a.yaml", "b.yaml", "team.yaml"]), [0], "it was checked itself");
    }

    #[test]
    fn a_model_that_only_a_test_names_is_used() {
        use crate::port::MemoryFiles;
        use std::path::Path;
        let model = "{ provider: openai, model: m, base_url: 'http://127.0.0.1:9/v1' }";
        let pipeline = format!(
            "flow: 1\nname: a\nmodels: {{ large: {model}, judge: {model}, other: {model} }}\nsteps: [{{ id: s, set: 1 }}]\noutputs: {{ a: '{{{{ steps.s.output }}}}' }}\n"
        );
        let test = "flow: 1\ntest: a.yaml\nmodels: [large, large]\njudge_model: judge\ncases: [{ id: t, expect: { status: succeeded } }]\n";
        let once = test.replace("large, large", "large");
        let files: MemoryFiles =
            [("a.yaml", pipeline.as_str()), ("a.test.yaml", test), ("b.test.yaml", once.as_str())].into_iter().collect();
        let found = |names: &[&str]| {
            let mut several = Several::default();
            names.iter().for_each(|name| several.add(&super::super::check_file(Path::new(name), Path::new(""), &files)));
            several.diagnostics.into_iter().map(|found| found.message).collect::<Vec<_>>()
        };
        let [large, judge, other] = ["large", "judge", "other"].map(|name| format!("model \"{name}\" is never used"));
        assert_eq!(found(&["a.yaml"]), [large, judge, other.clone()]);
        let twice = "model \"large\" is in models twice".to_owned();
        for names in [["a.yaml", "a.test.yaml"], ["a.test.yaml", "a.yaml"]] {
            let mut told = found(&names);
            told.sort();
            assert_eq!(told, [twice.clone(), other.clone()], "{names:?}");
        }
        assert_eq!(found(&["b.test.yaml"]), [other], "the test alone, with its pipeline");
    }

    #[test]
    fn a_pipeline_that_no_test_runs_is_told_when_all_files_are_there() {
        use crate::port::MemoryFiles;
        use std::path::Path;
        let pipeline = |name: &str, more: &str| {
            format!("flow: 1\nname: {name}\nsteps: [{{ id: s, set: 1 }}]\noutputs: {{ a: '{{{{ steps.s.output }}}}' }}\n{more}")
        };
        let texts = [
            ("a.yaml", pipeline("a", "")),
            ("b.yaml", pipeline("b", "")),
            ("c.yaml", pipeline("c", "tests: [{ id: t, expect: { status: succeeded } }]\n")),
            ("d.yaml", pipeline("d", "").replace("name: d", "name: d # flow-ignore: F703 tried by hand")),
            ("a.test.yaml", "flow: 1\ntest: a.yaml\ncases: [{ id: t, expect: { status: succeeded } }]\n".to_owned()),
        ];
        let files: MemoryFiles = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let mut several = Several::default();
        for (name, _) in &texts {
            several.add(&super::super::check_file(Path::new(name), Path::new(""), &files));
        }
        assert!(several.diagnostics.is_empty(), "{:?}", several.diagnostics);
        several.tell_untested();
        let told: Vec<&str> = several.diagnostics.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(told, ["pipeline \"b\" has no tests"]);
        let place = several.diagnostics[0].span;
        assert_eq!(several.sources.file(place.file).name, "b.yaml");
    }
}
