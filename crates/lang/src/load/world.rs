//! The files of one load: each is read and parsed once, and knows what it brings in.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::hash::{hash, texts};
use super::paths::{normalised, real, shown};
use crate::diagnostic::{Code, Diagnostic};
use crate::lower::{self, Definitions, FileKind, OtherFileError, World, kind_of};
use crate::model::{
    Channel, Data, FilePattern, Pipeline, PipelineId, PreparedQuery, Program, Replies, StyleGuide, TableLook, Touch, own_by_name,
};
use crate::port::{Files, ReadFileError, TableSource};
use crate::source::{FileId, Sources, Span, Spanned};
use crate::syntax::{self, Node, NodeKind};

/// Most files of one load.
const MOST_FILES: usize = 256;
/// Most bytes of all these files.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Deepest chain of imports.
const DEEPEST_IMPORT: usize = 16;

/// Most folders that one load lists for "did you mean".
const MOST_LISTINGS: usize = 200;

/// One load in progress.
pub(crate) struct Loader<'f> {
    files: &'f dyn Files,
    /// The project's folder as it was given.
    project: PathBuf,
    /// The folders files may come from, links followed: the project's, and that of the file that was asked for.
    roots: Vec<PathBuf>,
    pub sources: Sources,
    pub diagnostics: Vec<Diagnostic>,
    pub(crate) imported_at: BTreeMap<FileId, Span>,
    pub cut_off: Vec<FileId>,
    /// Folders that were listed for "did you mean".
    listings: Cell<usize>,
    bytes: usize,
    /// The current folder, where the first file is named from there: so all are, for people.
    here: Option<PathBuf>,
    /// By file id: the path as it was reached.
    paths: Vec<PathBuf>,
    /// By file id: the name that counts for the hash, from the project's folder where possible.
    pub(super) names: Vec<String>,
    /// By real path.
    by_path: HashMap<PathBuf, FileId>,
    trees: HashMap<FileId, Arc<Node>>,
    /// What each file brings in directly.
    brings: BTreeMap<FileId, BTreeSet<FileId>>,
    /// Files whose imports are being read, the outermost first.
    importing: Vec<FileId>,
    definitions: HashMap<FileId, Arc<Definitions>>,
    channels: HashMap<FileId, Option<Arc<Channel>>>,
    style_guides: HashMap<FileId, Option<Arc<StyleGuide>>>,
    replies: HashMap<FileId, Arc<Replies>>,
    /// The files of pipelines by id, and those that have been read.
    pipelines: Vec<(FileId, Option<Pipeline>)>,
}

impl<'f> Loader<'f> {
    pub fn new(files: &'f dyn Files, path: &Path, project: &Path) -> Loader<'f> {
        let home = normalised(path).parent().map(Path::to_path_buf).unwrap_or_default();
        Loader {
            files,
            project: normalised(project),
            roots: vec![real(&normalised(project), files), real(&home, files)],
            here: path.is_relative().then(|| files.real_path(Path::new(""))).flatten(),
            sources: Sources::default(),
            diagnostics: vec![],
            imported_at: BTreeMap::new(),
            cut_off: vec![],
            listings: Cell::new(0),
            bytes: 0,
            paths: vec![],
            names: vec![],
            by_path: HashMap::new(),
            trees: HashMap::new(),
            brings: BTreeMap::new(),
            importing: vec![],
            definitions: HashMap::new(),
            channels: HashMap::new(),
            style_guides: HashMap::new(),
            replies: HashMap::new(),
            pipelines: vec![],
        }
    }

    /// Reads a file, once.
    pub fn read(&mut self, path: &Path) -> Result<FileId, ReadFileError> {
        let place = real(path, self.files);
        if let Some(file) = self.by_path.get(&place) {
            return Ok(*file);
        }
        if self.paths.len() >= MOST_FILES {
            return Err(ReadFileError::Refused(format!("more than {MOST_FILES} files are brought in")));
        }
        let text = self.files.read_text(path)?;
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            return Err(ReadFileError::Refused("the files brought in are larger than 8 MiB together".to_owned()));
        }
        let told = self.here.as_ref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path);
        let file = self.sources.add(shown(told), text);
        let name = self.roots.iter().find_map(|root| place.strip_prefix(root).ok()).unwrap_or(&place);
        self.names.push(shown(name));
        self.paths.push(path.to_path_buf());
        self.by_path.insert(place, file);
        Ok(file)
    }

    /// The path of a file as it was reached.
    pub fn path_of(&self, file: FileId) -> &Path {
        self.paths.get(file.0 as usize).map_or(Path::new(""), PathBuf::as_path)
    }

    /// The tree of a file.
    pub fn tree(&mut self, file: FileId) -> Arc<Node> {
        if let Some(tree) = self.trees.get(&file) {
            return tree.clone();
        }
        let mut found = vec![];
        let is_toml = self.path_of(file).extension().is_some_and(|ending| ending == "toml");
        let parse = if is_toml { syntax::parse_toml } else { syntax::parse };
        let tree = Arc::new(parse(file, self.sources.file(file), &mut found));
        if found.iter().any(|diagnostic| matches!(diagnostic.code, Code::YamlSyntax | Code::TooLarge)) {
            self.cut_off.push(file);
        }
        self.diagnostics.append(&mut found);
        self.trees.insert(file, tree.clone());
        tree
    }

    /// Reads the tree of a file. Of a file that breaks off, nothing is said to be missing.
    pub(crate) fn lowering<T>(&mut self, file: FileId, read: impl FnOnce(&Node, FileId, &mut dyn World, &mut Vec<Diagnostic>) -> T) -> T {
        let tree = self.tree(file);
        let mut found = vec![];
        let value = read(&tree, file, self, &mut found);
        if self.cut_off.contains(&file) {
            let of_absence = [Code::MissingKey, Code::LanguageVersion, Code::EmptySection, Code::CriterionUnchecked, Code::NoEnd];
            found.retain(|diagnostic| diagnostic.span.file != file || !of_absence.contains(&diagnostic.code));
        }
        self.diagnostics.append(&mut found);
        value
    }

    /// The definitions of a file.
    pub(crate) fn load_definitions(&mut self, file: FileId) -> Arc<Definitions> {
        if let Some(definitions) = self.definitions.get(&file) {
            return definitions.clone();
        }
        self.importing.push(file);
        let definitions = Arc::new(self.lowering(file, lower::definitions));
        self.importing.pop();
        self.definitions.insert(file, definitions.clone());
        definitions
    }

    /// A pipeline that is to be read, once.
    pub(crate) fn add_pipeline(&mut self, file: FileId) -> PipelineId {
        let known = self.pipelines.iter().position(|(other, _)| *other == file);
        PipelineId(known.unwrap_or_else(|| {
            self.pipelines.push((file, None));
            self.pipelines.len() - 1
        }))
    }

    /// Reads all pipelines that were added, and those that they call. Agents that others ask follow as pipelines of their own.
    pub(crate) fn load_called(&mut self) {
        let mut next = 0;
        while let Some((file, read)) = self.pipelines.get(next) {
            let (file, is_read) = (*file, read.is_some());
            if !is_read {
                let mut pipeline = self.lowering(file, lower::pipeline);
                // Those that it calls have their ids, and are read later.
                let asked = lower::asked_agents(&mut pipeline, self.pipelines.len(), &mut self.diagnostics);
                if let Some((_, slot)) = self.pipelines.get_mut(next) {
                    *slot = Some(pipeline);
                }
                self.pipelines.extend(asked.into_iter().map(|agent| (file, Some(agent))));
            }
            next += 1;
        }
    }

    /// The pipelines by id with their files, and where findings about them go.
    pub(crate) fn read_pipelines(&mut self) -> (&[(FileId, Option<Pipeline>)], &mut Vec<Diagnostic>) {
        (&self.pipelines, &mut self.diagnostics)
    }

    /// The files of the pipelines, by id.
    pub(crate) fn pipeline_files(&self) -> Vec<FileId> {
        self.pipelines.iter().map(|(file, _)| *file).collect()
    }

    /// All pipelines, each with its hash.
    pub fn program(&mut self) -> Program {
        let mut read = std::mem::take(&mut self.pipelines);
        share_marks(
            read.iter_mut().filter_map(|(_, pipeline)| pipeline.as_mut()).flat_map(|pipeline| pipeline.data.values_mut()).collect(),
        );
        self.pipelines = read.iter().map(|(file, _)| (*file, None)).collect();
        let texts = texts(&self.sources);
        let hashed = read.into_iter().filter_map(|(file, pipeline)| {
            let hash = hash(file, &self.brings, &self.names, &texts);
            pipeline.map(|pipeline| Arc::new(Pipeline { hash, ..pipeline }))
        });
        Program { pipelines: hashed.collect() }
    }

    /// The beginning of the hash of each file's text, by name.
    pub fn prints(&self) -> BTreeMap<String, String> {
        self.names.iter().zip(texts(&self.sources)).map(|(name, text)| (name.clone(), hex::encode(&text[..8]))).collect()
    }

    /// A file that another one names.
    fn bring(&mut self, from: FileId, path: &Path) -> Result<FileId, OtherFileError> {
        let file = self.read(path).map_err(|problem| match problem {
            ReadFileError::Missing => OtherFileError::Missing(self.neighbours(from, path)),
            other => OtherFileError::Because(other.to_string(), other.help().into()),
        })?;
        self.brings.entry(from).or_default().insert(file);
        Ok(file)
    }

    /// The same, if it is a file of this kind.
    fn bring_kind(&mut self, from: FileId, path: &Path, kind: FileKind) -> Result<FileId, OtherFileError> {
        let file = self.bring(from, path)?;
        let tree = self.tree(file);
        match kind_of(&tree) {
            found if found == kind => Ok(file),
            _ if tree.kind == NodeKind::Broken || self.cut_off.contains(&file) => Err(OtherFileError::Reported),
            // What is no list of keys is no file of any kind: the reading says so, once.
            _ if tree.as_map().is_none() => Ok(file),
            found => Err(OtherFileError::WrongKind(found)),
        }
    }

    /// A pipeline by its path, to be read later.
    pub(crate) fn request_pipeline(&mut self, from: FileId, path: &Path) -> Result<PipelineId, OtherFileError> {
        let file = self.bring_kind(from, path, FileKind::Pipeline)?;
        Ok(self.add_pipeline(file))
    }

    /// A file that is called by name: `FOLDER/NAME.yaml` beside the file that names it, else in the project.
    fn bring_named(&mut self, from: FileId, folder: &str, name: &str, kind: FileKind) -> Result<FileId, OtherFileError> {
        let folders = [self.folder(from).join(folder), self.project.join(folder)];
        if name.contains(['/', '\\']) || name.starts_with('.') {
            let names = folders.iter().flat_map(|folder| self.list(folder));
            return Err(OtherFileError::Missing(names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned)).collect()));
        }
        match folders.iter().map(|folder| folder.join(format!("{name}.yaml"))).find(|path| self.files.exists(path)) {
            Some(path) if !self.is_inside(&path) => Err(OtherFileError::Outside),
            Some(path) => self.bring_kind(from, &path, kind),
            None => {
                let names = folders.iter().flat_map(|folder| self.list(folder));
                Err(OtherFileError::Missing(names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned)).collect()))
            }
        }
    }

    /// A name that a file gives itself is the one it is called by (F007).
    fn check_own_name(&mut self, file: FileId, what: &str, own: &str, span: Span) {
        let stem = self.path_of(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if own != stem {
            let message = format!("this {what} is called by the name of its file, \"{stem}\", but says \"{own}\"");
            self.diagnostics.push(Diagnostic::bad_value(span, message).help(format!("write {stem}, or rename the file")));
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        let place = real(path, self.files);
        self.roots.iter().any(|root| place.starts_with(root))
    }

    /// The files beside a path, for "did you mean", as `from` would write them.
    fn neighbours(&self, from: FileId, path: &Path) -> Vec<String> {
        let Some(folder) = path.parent() else { return vec![] };
        let home = self.folder(from);
        let written = |name: &String| shown(folder.join(name).strip_prefix(&home).unwrap_or(&folder.join(name)));
        self.list(folder).iter().map(written).collect()
    }

    /// The files of a folder; none when many were listed before, so that a file full of wrong names is checked soon.
    fn list(&self, folder: &Path) -> Vec<String> {
        self.listings.set(self.listings.get() + 1);
        if self.listings.get() > MOST_LISTINGS { vec![] } else { self.files.names(folder) }
    }
}

impl World for Loader<'_> {
    fn folder(&self, file: FileId) -> PathBuf {
        let folder = self.path_of(file).parent().unwrap_or(Path::new(""));
        let is_below = |rest: &Path| rest.components().all(|part| matches!(part, Component::Normal(_)));
        if normalised(folder).strip_prefix(&self.project).is_ok_and(is_below) {
            return folder.to_path_buf();
        }
        // Reached in another way (`..`, a link, a whole path): named from the project all the same, so that what is in it is found there.
        let place = real(&normalised(folder), self.files);
        let inside = self.roots.first().and_then(|project| place.strip_prefix(project).ok());
        match inside {
            Some(inside) => self.project.join(inside),
            // Paths of a whole project and others would not be comparable.
            None if self.project.is_absolute() => place,
            None => folder.to_path_buf(),
        }
    }

    fn project(&self) -> PathBuf {
        self.project.clone()
    }

    fn path(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        if path == "~" || path.starts_with("~/") || path.starts_with('$') {
            let why = "no shell expands it, so it would be the name of a folder here".to_owned();
            let last = path.rsplit('/').next().filter(|last| path.contains('/') && !last.is_empty()).unwrap_or("data");
            let help = format!("write the path from the folder of this file, inside the project, such as ../{last}");
            return Err(OtherFileError::Because(why, help.into()));
        }
        let path = normalised(&self.folder(from).join(path));
        let place = real(&path, self.files);
        match self.roots.iter().find_map(|root| place.strip_prefix(root).ok()) {
            None => Err(OtherFileError::Outside),
            Some(inside) => own_by_name(inside, Touch::Read).map_or(Ok(path), |why| Err(OtherFileError::Own(why))),
        }
    }

    fn existing(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        let path = self.path(from, path)?;
        if self.files.exists(&path) { Ok(path) } else { Err(OtherFileError::Missing(self.neighbours(from, &path))) }
    }

    fn columns(&self, name: &str, data: &Data) -> Option<Vec<String>> {
        // What is outside the project is reported, and not opened.
        let place = self.files.real_path(&data.file.value)?;
        self.roots.iter().any(|root| place.starts_with(root)).then(|| self.files.columns(&TableSource::find(name, data)))?
    }

    fn look_of(&self, name: &str, data: &Data) -> TableLook {
        let place = self.files.real_path(&data.file.value);
        let is_inside = place.is_some_and(|place| self.roots.iter().any(|root| place.starts_with(root)));
        if is_inside { self.files.look_of(&TableSource::find(name, data)) } else { TableLook::default() }
    }

    fn table_text(&mut self, data: &Data) -> Option<(FileId, Arc<str>)> {
        let file = self.bring(data.file.span.file, &data.file.value).ok()?;
        Some((file, self.sources.file(file).text.clone()))
    }

    fn prepare(&self, tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
        self.files.prepare(tables, queries)
    }

    fn style_guides(&self, from: FileId) -> Vec<String> {
        let folders = [self.folder(from).join("style_guides"), self.project.join("style_guides")];
        let names: BTreeSet<String> = folders.iter().flat_map(|folder| self.list(folder)).collect();
        names.iter().filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned)).collect()
    }

    fn fitting(&self, from: FileId, pattern: &str) -> Vec<String> {
        let (folder, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let Ok(path) = self.path(from, folder) else { return vec![] };
        let Some((start, end)) = last.split_once('*').filter(|(_, end)| !folder.contains('*') && !end.contains('*')) else { return vec![] };
        let names = self.list(&path).into_iter().filter(|name| name.starts_with(start) && name.ends_with(end));
        names.map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") }).collect()
    }

    fn has_fitting(&self, pattern: &FilePattern) -> bool {
        self.files.has_fitting(pattern)
    }

    fn existing_folder(&self, from: FileId, path: &str) -> Result<PathBuf, OtherFileError> {
        let path = self.path(from, path)?;
        match self.files.real_path(&path) {
            Some(_) if self.files.exists(&path) => {
                Err(OtherFileError::Because("it is a file, not a folder".to_owned(), "name a folder".into()))
            }
            Some(_) => Ok(path),
            None => Err(OtherFileError::Missing(vec![])),
        }
    }

    fn import(&mut self, from: Span, path: &str) -> Result<Arc<Definitions>, OtherFileError> {
        let path = self.path(from.file, path)?;
        let file = self.bring_kind(from.file, &path, FileKind::Definitions)?;
        if let Some(start) = self.importing.iter().position(|open| *open == file) {
            let circle = self.importing.iter().skip(start).chain([&file]).map(|file| self.sources.file(*file).name.clone());
            return Err(OtherFileError::Circle(circle.collect()));
        }
        if self.importing.len() >= DEEPEST_IMPORT {
            let reason = format!("imports go more than {DEEPEST_IMPORT} files deep");
            return Err(OtherFileError::Because(reason, "put definitions together in fewer files".into()));
        }
        self.imported_at.entry(file).or_insert(from);
        Ok(self.load_definitions(file))
    }

    fn channel(&mut self, from: FileId, name: &str) -> Result<Arc<Channel>, OtherFileError> {
        let file = self.bring_named(from, "channels", name, FileKind::Channel)?;
        if !self.channels.contains_key(&file) {
            let channel = self.lowering(file, lower::channel).map(Arc::new);
            channel.iter().for_each(|channel| self.check_own_name(file, "channel", &channel.name, channel.span));
            self.channels.insert(file, channel);
        }
        self.channels.get(&file).cloned().flatten().ok_or(OtherFileError::Reported)
    }

    fn style_guide(&mut self, from: FileId, name: &str) -> Result<Arc<StyleGuide>, OtherFileError> {
        let file = self.bring_named(from, "style_guides", name, FileKind::StyleGuide)?;
        if !self.style_guides.contains_key(&file) {
            let guide = self.lowering(file, lower::style_guide).map(Arc::new);
            guide.iter().for_each(|guide| self.check_own_name(file, "style guide", &guide.name, guide.span));
            self.style_guides.insert(file, guide);
        }
        self.style_guides.get(&file).cloned().flatten().ok_or(OtherFileError::Reported)
    }

    fn text(&mut self, from: FileId, path: &str) -> Result<(FileId, Arc<str>), OtherFileError> {
        let path = self.path(from, path)?;
        let file = self.bring(from, &path)?;
        Ok((file, self.sources.file(file).text.clone()))
    }

    fn replies(&mut self, from: FileId, path: &str) -> Result<Arc<Replies>, OtherFileError> {
        let path = self.path(from, path)?;
        let file = self.bring_kind(from, &path, FileKind::Replies)?;
        if let Some(replies) = self.replies.get(&file) {
            return Ok(replies.clone());
        }
        let replies = Arc::new(self.lowering(file, lower::replies));
        self.replies.insert(file, replies.clone());
        Ok(replies)
    }

    fn pipeline(&mut self, from: Span, path: &str) -> Result<PipelineId, OtherFileError> {
        let path = self.path(from.file, path)?;
        self.request_pipeline(from.file, &path)
    }
}

/// Tables that are the same hold the same, whatever pipelines call them: what one of them marks, is so in all.
fn share_marks(tables: Vec<&mut Data>) {
    let same = |data: &Data| (normalised(&data.file.value), data.table.as_ref().map(|table| table.value.clone()));
    let mut marks: HashMap<_, (Vec<Spanned<String>>, bool)> = HashMap::new();
    for data in tables.iter().filter(|data| !data.pii.is_empty() || data.is_untrusted) {
        let (pii, is_untrusted) = marks.entry(same(data)).or_default();
        let new: Vec<_> = data.pii.iter().filter(|column| pii.iter().all(|known| known.value != column.value)).cloned().collect();
        pii.extend(new);
        *is_untrusted |= data.is_untrusted;
    }
    for own in tables.into_iter().filter(|_| !marks.is_empty()) {
        let Some((pii, is_untrusted)) = marks.get(&same(own)) else { continue };
        own.is_untrusted |= is_untrusted;
        let new: Vec<_> = pii.iter().filter(|column| own.pii.iter().all(|known| known.value != column.value)).cloned().collect();
        own.pii.extend(new);
    }
}
