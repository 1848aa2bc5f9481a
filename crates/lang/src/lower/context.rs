//! What all readers of one file share.

use std::cell::{Cell, RefCell, RefMut};
use std::path::PathBuf;

use unicode_normalization::UnicodeNormalization;

use super::FileKind;
use super::ids::Ids;
use super::world::{OtherFileError, World};
use crate::diagnostic::{Code, Diagnostic, Hints, LONGEST_QUOTE, cut};
pub use crate::diagnostic::{LONGEST_MESSAGE, quoted};
use crate::source::{FileId, Span, Spanned};
use crate::syntax::{Node, NodeKind};
use crate::template::patterns::Room;

/// Most bytes of the texts and schemas that one file takes from others, each counted as often as it is named.
const MOST_TAKEN: usize = 4 * 1024 * 1024;

/// One file while it is read.
pub struct Lower<'w> {
    /// The file.
    pub file: FileId,
    /// Whether its texts are used by other files, where no step can be read.
    pub is_shared: bool,
    /// Whether a model wrote it: then its texts are data, never templates.
    pub is_data: bool,
    /// For "did you mean" among names of other files.
    hints: Hints,
    /// For its patterns.
    pub room: Room,
    /// Bytes of the texts and schemas it took from files so far.
    taken: Cell<usize>,
    world: RefCell<&'w mut dyn World>,
    diagnostics: RefCell<&'w mut Vec<Diagnostic>>,
}

impl<'w> Lower<'w> {
    pub fn new(file: FileId, world: &'w mut dyn World, diagnostics: &'w mut Vec<Diagnostic>) -> Lower<'w> {
        Lower {
            file,
            is_shared: false,
            is_data: false,
            hints: Hints::default(),
            room: Room::default(),
            taken: Cell::new(0),
            world: RefCell::new(world),
            diagnostics: RefCell::new(diagnostics),
        }
    }

    /// The other files.
    pub fn world(&self) -> RefMut<'_, &'w mut dyn World> {
        self.world.borrow_mut()
    }

    /// The list that other rooms add to.
    pub fn diagnostics(&self) -> RefMut<'_, &'w mut Vec<Diagnostic>> {
        self.diagnostics.borrow_mut()
    }

    /// The folder of the file.
    pub fn folder(&self) -> PathBuf {
        self.world().folder(self.file)
    }

    /// Adds a finding, its message cut to one line of 160 characters.
    pub fn report(&self, mut diagnostic: Diagnostic) {
        diagnostic.message = cut(&diagnostic.message, LONGEST_MESSAGE);
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    /// What `answer` holds; else one finding (F025) at `place`, about the `thing` of this name (`channel "sms"`, `instructions file "a.md"`).
    pub fn found<T>(&self, thing: &str, name: &str, place: Span, answer: Result<T, OtherFileError>) -> Option<T> {
        self.taken_in(Some(thing), name, place, answer)
    }

    /// The same, for a file that `imports` names (F016).
    pub(crate) fn imported<T>(&self, name: &str, place: Span, answer: Result<T, OtherFileError>) -> Option<T> {
        self.taken_in(None, name, place, answer)
    }

    fn taken_in<T>(&self, thing: Option<&str>, name: &str, place: Span, answer: Result<T, OtherFileError>) -> Option<T> {
        let is_import = thing.is_none();
        let what = thing.map_or_else(|| quoted(name), |thing| format!("{thing} {}", quoted(name)));
        let missing = |message: String| match is_import {
            true => Diagnostic::new(Code::ImportMissing, place, message),
            false => Diagnostic::missing_file(place, message),
        };
        let diagnostic = match answer {
            Ok(value) => return Some(value),
            Err(OtherFileError::Reported) => return None,
            Err(OtherFileError::Missing(names)) if names.iter().any(|other| other.nfc().eq(name.nfc())) => {
                let same = names.iter().find(|other| other.nfc().eq(name.nfc())).map_or("", String::as_str);
                let message =
                    format!("{what} does not exist; there is a name that looks the same, but whose letters are composed in another way");
                let help = "copy the name from the folder, or rename the file: an accent is a part of its letter in one of the two, and a character of its own in the other";
                missing(message).help(help).proposed_fix(vec![(place, same.to_owned())])
            }
            Err(OtherFileError::Missing(names)) => {
                let near = self.hints.did_you_mean(name, names.iter().map(String::as_str));
                let message = match is_import {
                    true => format!("cannot read {what}, imported here: no such file"),
                    false => format!("{what} does not exist"),
                };
                match self.elsewhere(name, &names) {
                    Some(meant) => {
                        let message = format!("{message}: {}", self.why(name, &meant));
                        missing(message).help(format!("write {meant}")).proposed_fix(vec![(place, meant)])
                    }
                    None if is_import && name.contains('*') => {
                        let files: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.ends_with(".yaml")).take(8).collect();
                        missing(format!("cannot import {what}: it is a pattern, and each file is imported by its name"))
                            .help(format!("write out each file: [{}]", files.join(", ")))
                    }
                    None => {
                        let by_name = thing.is_some_and(|thing| ["channel", "style guide"].contains(&thing)) && !names.is_empty();
                        let help = match near.names.first() {
                            Some(near) => format!("write {near}"),
                            None if by_name => {
                                format!("remove it, write one that there is ({}), or create the file of {name}", names.join(", "))
                            }
                            None => "create the file, or correct the path".to_owned(),
                        };
                        missing(format!("{message}{near}")).near(near).help(help)
                    }
                }
            }
            Err(OtherFileError::Outside) => Diagnostic::new(Code::PathEscape, place, format!("{what} is outside the project folder"))
                .help("write a path inside the project, such as ../out, wherever it is named; or name the project with --project"),
            Err(OtherFileError::Own(why)) => Diagnostic::own_file(place, format!("{what} cannot be read by a step: it {why}"))
                .help("name another file; a step gets a secret by secrets, and earlier runs are shown by flow runs"),
            Err(OtherFileError::Circle(files)) => {
                Diagnostic::new(Code::ImportCircle, place, format!("imports go in a circle: {}", files.join(" -> ")))
                    .help("remove one of these imports")
            }
            Err(OtherFileError::WrongKind(kind)) => {
                let message = match is_import {
                    true => format!("cannot import {what}: it is {}, not one of shared definitions", kind.words()),
                    false => format!("{what} is {}", kind.words()),
                };
                // A file with none of the keys that say what it is may have lost its own.
                let own = [("channel", "channel"), ("style guide", "style_guide"), ("replies file", "replies"), ("pipeline", "name")];
                let key = own.iter().find(|(own, _)| kind == FileKind::Definitions && thing == Some(own));
                let found = missing(message);
                match key {
                    None if is_import && kind == FileKind::Pipeline => {
                        let id = name.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or("other");
                        found
                            .help(format!("remove it, and call the pipeline, if its steps are wanted: - {{ id: {id}, call: {name} }}"))
                            .help("remove it, and write the agents of it that are used here below agents, if they are wanted")
                    }
                    Some((_, key)) => found.help(format!("check whether {} is spelt right in that file, or name another one", quoted(key))),
                    None => found.help("name a file of the right kind, or correct the path"),
                }
            }
            Err(OtherFileError::Because(reason, help)) => missing(format!("cannot read {what}: {reason}")).help(help),
        };
        self.report(diagnostic);
        None
    }

    /// Where a file is that is not at this path: seen from the project, one folder up, or with its ending; or the name of one that is named
    /// and not given as a path.
    fn elsewhere(&self, name: &str, names: &[String]) -> Option<String> {
        let stem = name.rsplit('/').next()?.trim_end_matches(".yaml").trim_end_matches(".yml");
        if name.contains('/') && names.iter().any(|known| known == stem) {
            return Some(stem.to_owned());
        }
        let (folder, project) = (self.folder(), self.world().project());
        let inside: Vec<String> = folder.strip_prefix(&project).ok()?.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let plain = name.trim_start_matches("./").trim_start_matches('/');
        let shared = inside.iter().zip(plain.split('/')).take_while(|(one, other)| one == other).count();
        let rest: Vec<&str> = plain.split('/').skip(shared).collect();
        let from_project = format!("{}{}", "../".repeat(inside.len() - shared), rest.join("/"));
        let ways = [from_project.clone(), format!("{from_project}.yaml"), format!("{plain}.yaml"), format!("../{plain}")];
        ways.into_iter().find(|way| way != name && self.world().existing(self.file, way).is_ok())
    }

    fn why(&self, name: &str, meant: &str) -> &'static str {
        if meant.ends_with(name) || name.ends_with(meant.trim_start_matches("../")) && meant.contains('.') {
            "a path begins in the folder of this file"
        } else if meant.contains('.') {
            "a file is wanted here, not a name"
        } else {
            "a name is wanted here, not a path"
        }
    }

    /// F022: a text or schema of another file is taken as often as it is named, so that a short file could fill the memory.
    pub fn takes(&self, text: &str, place: Span) -> bool {
        self.taken.set(self.taken.get() + text.len());
        let is_within = self.taken.get() <= MOST_TAKEN;
        if !is_within {
            let message = "the texts and schemas that this file takes from others are larger than 4 MiB together";
            self.report(Diagnostic::too_large(place, message).help("name a long file once, in what several steps share"));
        }
        is_within
    }

    /// F007; nothing can be read in its place.
    pub(crate) fn reject<T>(&self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Option<T> {
        self.report(Diagnostic::bad_value(span, message).help(help));
        None
    }

    /// The entries of a list, each with an id of its own. `read` gets the number of an entry, from 1.
    pub(crate) fn unique<T>(
        &self,
        what: &str,
        list: Option<&[Node]>,
        read: impl Fn(&Node, usize) -> Option<T>,
        id: fn(&T) -> &Spanned<String>,
    ) -> Vec<T> {
        let mut ids = Ids::default();
        let entries = list.unwrap_or_default().iter().zip(1..).filter_map(|(node, number)| read(node, number));
        entries.inspect(|entry| self.check_unique(what, id(entry), ids.take(id(entry)))).collect()
    }

    /// F013: two of one id in one place. `first` is where it was used before.
    pub(crate) fn check_unique(&self, what: &str, id: &Spanned<String>, first: Option<Span>) {
        if let Some(first) = first {
            self.report(
                Diagnostic::duplicate_id(id.span, format!("two {what} are called {}", quoted(&id.value)))
                    .related(first, "first used here")
                    .help(format!("write another one here, such as {}_2", id.value)),
            );
        }
    }
}

/// What is there, in words.
pub fn found(node: &Node) -> String {
    match &node.kind {
        NodeKind::List(_) => "a list".to_owned(),
        NodeKind::Map(_) => "a group of keys".to_owned(),
        NodeKind::Broken => "something that cannot be read".to_owned(),
        NodeKind::Scalar(scalar) => match &scalar.value {
            serde_json::Value::Null => "nothing".to_owned(),
            serde_json::Value::Bool(value) => value.to_string(),
            serde_json::Value::Number(_) => format!("the number {}", cut(&scalar.text, LONGEST_QUOTE)),
            _ => format!("the text {}", quoted(&scalar.text)),
        },
    }
}
