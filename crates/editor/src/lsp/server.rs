//! The state of the server, and its replies. Changes are only recorded when they arrive; [`LanguageServer::idle`] checks the changed files
//! once the editor has been idle for a moment, so that not every keystroke causes a check.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::complete::complete;
use super::documents::{Document, address_of, number, path_of, range};
use super::findings::{Drawer, MOST, range_of};
use super::look::{Goal, definition, hover};
use super::things::FileContext;
use crate::check::{Checked, EditTrial, check_file};
use crate::diagnostic::{Diagnostic, Fix};
use crate::load::project_of;
use crate::port::{Files, Overlay};
use crate::source::{FileId, Unit};

/// Error codes of JSON-RPC and of the protocol.
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_REQUEST: i64 = -32600;
const NOT_INITIALIZED: i64 = -32002;

/// A language server.
pub struct LanguageServer<'f> {
    disk: &'f dyn Files,
    /// The project's folder, unless a `flow.toml` defines another.
    root: PathBuf,
    unit: Unit,
    pages: Option<String>,
    phase: ServerPhase,
    was_shut_down: bool,
    open: BTreeMap<PathBuf, Document>,
    /// The last check of each open file.
    checked: BTreeMap<PathBuf, Checked>,
    /// The last complete check of each open file: it keeps names known while the file is broken.
    good: BTreeMap<PathBuf, Checked>,
    /// Open files that changed, or use a changed file.
    changed: BTreeSet<PathBuf>,
    /// Files whose findings were sent to the editor.
    told: BTreeSet<PathBuf>,
    checks: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerPhase {
    New,
    Running,
    Shutdown,
    Ended,
}

impl<'f> LanguageServer<'f> {
    /// Creates a server that has received no message. `root`: the folder where it was started.
    pub fn new(disk: &'f dyn Files, root: &Path) -> LanguageServer<'f> {
        LanguageServer {
            disk,
            root: root.to_path_buf(),
            unit: Unit::Utf16,
            pages: None,
            phase: ServerPhase::New,
            was_shut_down: false,
            open: BTreeMap::new(),
            checked: BTreeMap::new(),
            good: BTreeMap::new(),
            changed: BTreeSet::new(),
            told: BTreeSet::new(),
            checks: 0,
        }
    }

    /// Whether the editor has sent `exit`.
    pub fn has_ended(&self) -> bool {
        self.phase == ServerPhase::Ended
    }

    /// Whether no message has been received yet.
    pub fn is_new(&self) -> bool {
        self.phase == ServerPhase::New
    }

    /// Whether the editor sent `shutdown` before `exit`.
    pub fn was_shut_down(&self) -> bool {
        self.was_shut_down
    }

    /// Whether [`LanguageServer::idle`] has work to do.
    pub fn is_waiting(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Returns how many files were checked so far.
    pub fn checks(&self) -> usize {
        self.checks
    }

    /// Handles a message and returns the replies.
    pub fn handle(&mut self, message: &Value) -> Vec<Value> {
        let Some(method) = message["method"].as_str() else { return vec![] };
        let params = &message["params"];
        match message.get("id") {
            Some(id) => {
                let answer = self.request(method, params);
                let (key, value) = match answer {
                    Ok(result) => ("result", result),
                    Err((code, message)) => ("error", json!({ "code": code, "message": message })),
                };
                vec![json!({ "jsonrpc": "2.0", "id": id, key: value })]
            }
            None => {
                self.notification(method, params);
                vec![]
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, (i64, String)> {
        match (self.phase, method) {
            (ServerPhase::New, "initialize") => {
                self.phase = ServerPhase::Running;
                Ok(self.initialize(params))
            }
            (ServerPhase::New, _) => Err((NOT_INITIALIZED, "the first request must be initialize".to_owned())),
            (ServerPhase::Running, "shutdown") => {
                self.phase = ServerPhase::Shutdown;
                Ok(Value::Null)
            }
            (ServerPhase::Running, _) => {
                self.answer(method, params).ok_or_else(|| (METHOD_NOT_FOUND, format!("there is no request {method}")))
            }
            (ServerPhase::Shutdown | ServerPhase::Ended, _) => Err((INVALID_REQUEST, "the server is shutting down".to_owned())),
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let offered = params["capabilities"]["general"]["positionEncodings"].as_array();
        let is_utf8 = offered.is_some_and(|all| all.iter().any(|encoding| encoding == "utf-8"));
        self.unit = if is_utf8 { Unit::Utf8 } else { Unit::Utf16 };
        let folder = params["workspaceFolders"][0]["uri"].as_str().or(params["rootUri"].as_str());
        if let Some(root) = folder.and_then(path_of) {
            self.root = root;
        }
        self.pages = params["initializationOptions"]["codePages"].as_str().map(str::to_owned);
        json!({
            "capabilities": {
                "positionEncoding": if is_utf8 { "utf-8" } else { "utf-16" },
                "textDocumentSync": { "openClose": true, "change": 2, "save": true },
                "completionProvider": { "triggerCharacters": [".", " ", "|", "{", ":"] },
                "hoverProvider": true,
                "definitionProvider": true,
                "codeActionProvider": { "codeActionKinds": ["quickfix"] },
            },
            "serverInfo": { "name": "flow", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Returns `None` for an unknown method. The reply is empty if nothing is known.
    fn answer(&mut self, method: &str, params: &Value) -> Option<Value> {
        let answer = match method {
            "textDocument/completion" => self.completion(params),
            "textDocument/hover" => self.hover(params),
            "textDocument/definition" => self.definition(params),
            "textDocument/codeAction" => self.actions(params),
            _ => return None,
        };
        Some(answer.unwrap_or(Value::Null))
    }

    fn notification(&mut self, method: &str, params: &Value) {
        if method == "exit" {
            self.was_shut_down = self.phase == ServerPhase::Shutdown;
            self.phase = ServerPhase::Ended;
        }
        if self.phase != ServerPhase::Running {
            return;
        }
        let document = &params["textDocument"];
        let Some(path) = document["uri"].as_str().and_then(path_of) else {
            if method == "workspace/didChangeWatchedFiles" {
                self.changed.extend(self.open.keys().cloned());
            }
            return;
        };
        match method {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or_default();
                self.open.insert(path.clone(), Document::new(&path, text, document["version"].as_i64()));
            }
            "textDocument/didChange" => {
                let Some(open) = self.open.get_mut(&path) else { return };
                for change in params["contentChanges"].as_array().into_iter().flatten() {
                    open.change(change, self.unit);
                }
                open.version = document["version"].as_i64();
            }
            "textDocument/didClose" => {
                self.open.remove(&path);
                self.good.remove(&path);
            }
            "textDocument/didSave" => {}
            _ => return,
        }
        let uses = |checked: &Checked| checked.loaded.sources.files().any(|(_, file)| Path::new(&file.name) == path);
        let users: Vec<PathBuf> = self.checked.iter().filter(|(_, checked)| uses(checked)).map(|(user, _)| user.clone()).collect();
        self.changed.extend(users);
        self.changed.insert(path);
    }

    /// Checks one changed file, and publishes the findings of this file and of all files it includes.
    pub fn idle(&mut self) -> Vec<Value> {
        let Some(path) = self.changed.pop_first() else { return vec![] };
        let is_ours = self.open.get(&path).is_some_and(|document| document.is_ours(&path));
        let mut touched = files_of(self.checked.remove(&path).as_ref());
        if is_ours {
            self.checks += 1;
            let overlay = self.files();
            let checked = check_file(&path, &project_of(&path, &self.root, &overlay), &overlay);
            touched.extend(files_of(Some(&checked)));
            if !checked.loaded.cut_off.contains(&FileId(0)) {
                self.good.insert(path.clone(), checked.clone());
            }
            self.checked.insert(path, checked);
        }
        touched.into_iter().filter_map(|file| self.publish(&file)).collect()
    }

    /// Publishes the findings of a file: those of its own check if it is open, and those of the files that include it.
    fn publish(&mut self, path: &Path) -> Option<Value> {
        let mut found: Vec<Value> = vec![];
        let mut known: HashSet<(u32, u32, &str, &str)> = HashSet::new();
        for checked in self.checked.values() {
            let drawer = self.drawer(checked);
            for diagnostic in checked.diagnostics.iter().filter(|found| drawer.path(found.span) == path).take(MOST) {
                let place = diagnostic.span;
                if known.insert((place.start, place.end, diagnostic.code.id(), &diagnostic.message)) {
                    found.push(drawer.diagnostic(diagnostic));
                }
            }
        }
        let is_new = if found.is_empty() { self.told.remove(path) } else { self.told.insert(path.to_path_buf()) };
        if found.is_empty() && !is_new && !self.open.contains_key(path) {
            return None;
        }
        let mut params = json!({ "uri": address_of(path)?, "diagnostics": found });
        if let Some(version) = self.open.get(path).and_then(|document| document.version) {
            params["version"] = version.into();
        }
        Some(json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params }))
    }

    fn drawer<'a>(&'a self, checked: &'a Checked) -> Drawer<'a> {
        Drawer { sources: &checked.loaded.sources, unit: self.unit, pages: self.pages.as_deref() }
    }

    /// Returns the open file of a request, and the byte at its position.
    fn place(&self, params: &Value) -> Option<(PathBuf, &Document, usize)> {
        let path = path_of(params["textDocument"]["uri"].as_str()?)?;
        let document = self.open.get(&path)?;
        let (line, column) = (number(&params["position"]["line"])?, number(&params["position"]["character"])?);
        let at = document.source.offset(line, column, self.unit);
        Some((path, document, at))
    }

    /// Returns the open files over those on disk.
    fn files(&self) -> Overlay<'_> {
        let texts = self.open.iter().map(|(path, document)| (path.clone(), document.source.text.clone()));
        Overlay { below: self.disk, texts: texts.collect() }
    }

    fn around<T>(&self, path: &Path, ask: impl FnOnce(&FileContext) -> T) -> T {
        let files = self.files();
        let project = project_of(path, &self.root, &files);
        ask(&FileContext { files: &files, folder: path.parent().unwrap_or(Path::new("")), project: &project })
    }

    fn completion(&self, params: &Value) -> Option<Value> {
        let (path, document, at) = self.place(params)?;
        let (items, (start, end)) = self.around(&path, |around| complete(&document.source, at, self.good.get(&path), around));
        let range = range_of(&document.source, start as u32, end as u32, self.unit);
        let items = items.iter().enumerate().map(|(place, item)| {
            let mut drawn = json!({
                "label": item.label,
                "kind": item.kind,
                "sortText": format!("{place:04}"),
                "textEdit": { "range": range, "newText": item.text },
            });
            for (key, text) in [("detail", &item.detail), ("documentation", &item.about)] {
                if !text.is_empty() {
                    drawn[key] = text.as_str().into();
                }
            }
            drawn
        });
        Some(items.collect())
    }

    fn hover(&self, params: &Value) -> Option<Value> {
        let (path, document, at) = self.place(params)?;
        let at = u32::try_from(at).ok()?;
        let found = self.findings_at(&path, at, at);
        let text = hover(&document.source, at, self.good.get(&path), &found)?;
        Some(json!({ "contents": { "kind": "markdown", "value": text } }))
    }

    /// Returns the findings of the last check of a file that overlap a range.
    fn findings_at(&self, path: &Path, start: u32, end: u32) -> Vec<&Diagnostic> {
        let all = self.checked.get(path).map(|checked| checked.diagnostics.as_slice()).unwrap_or_default();
        let is_here = |found: &&Diagnostic| found.span.file == FileId(0) && found.span.start <= end && start <= found.span.end;
        all.iter().filter(is_here).collect()
    }

    fn definition(&self, params: &Value) -> Option<Value> {
        let (path, document, at) = self.place(params)?;
        let last = self.good.get(&path);
        match self.around(&path, |around| definition(&document.source, u32::try_from(at).ok()?, last, around))? {
            Goal::Span(span) => self.drawer(last?).location(span),
            Goal::File(file) => {
                let start = json!({ "line": 0, "character": 0 });
                Some(json!({ "uri": address_of(&file)?, "range": { "start": start, "end": start } }))
            }
        }
    }

    /// Offers edits only for the text they were made for, and only if they fix the finding when tried: in this file, and in the open files
    /// that read it.
    fn actions(&self, params: &Value) -> Option<Value> {
        let path = path_of(params["textDocument"]["uri"].as_str()?)?;
        let (document, checked) = (self.open.get(&path)?, self.checked.get(&path)?);
        let (start, end) = range(&document.source, &params["range"], self.unit)?;
        if checked.loaded.sources.file(FileId(0)).text != document.source.text {
            return Some(json!([]));
        }
        let files = self.files();
        let projects: Vec<PathBuf> = self.checked.keys().map(|path| project_of(path, &self.root, &files)).collect();
        let all = self.checked.iter().zip(&projects);
        let trials: Vec<EditTrial> = all.map(|((path, checked), project)| EditTrial { checked, path, project, files: &files }).collect();
        let (own, others): (Vec<&EditTrial>, Vec<&EditTrial>) = trials.iter().partition(|trial| trial.path == path);
        let own = own.first()?;
        let drawer = self.drawer(checked);
        let mut actions = vec![];
        for found in self.findings_at(&path, u32::try_from(start).ok()?, u32::try_from(end).ok()?) {
            let holds = |fix: &Fix| own.allows(found, fix) && others.iter().all(|other| own.is_allowed_by(other, fix));
            let edits = drawer.edits(found);
            actions.extend(edits.iter().filter(|(_, fix)| holds(fix)).map(|(title, fix)| drawer.action(found, title, fix)));
        }
        Some(actions.into())
    }
}

/// Returns the files that a check read.
fn files_of(checked: Option<&Checked>) -> BTreeSet<PathBuf> {
    checked.into_iter().flat_map(|checked| checked.loaded.sources.files().map(|(_, file)| PathBuf::from(&file.name))).collect()
}
