//! What all readers of one file share.

use std::cell::{Cell, RefCell, RefMut};
use std::path::PathBuf;

use super::ids::Ids;
use super::world::World;
use crate::diagnostic::{Diagnostic, Hints, LONGEST_QUOTE, cut};
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
    pub(super) hints: Hints,
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
