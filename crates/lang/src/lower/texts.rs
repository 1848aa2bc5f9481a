//! Texts of authors: templates, bare expressions, and values with templates in them.

use serde_json::Value;

use super::context::Lower;
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use crate::diagnostic::Diagnostic;
use crate::model::{Filling, Form, Text, TextPlace};
use crate::source::Span;
use crate::syntax::{self, Node, NodeKind, Scalar};
use crate::template;

/// Reads what authors write at length: texts with `{{ … }}`, expressions, values with them, and JSON Schemas.
#[derive(Clone, Copy)]
pub struct TextReader<'l, 'w>(pub(super) &'l Lower<'w>);

impl<'w> Lower<'w> {
    /// The reader of what authors write at length.
    pub fn texts(&self) -> TextReader<'_, 'w> {
        TextReader(self)
    }
}

impl TextReader<'_, '_> {
    /// A text with `{{ … }}`.
    pub fn text(&self, label: &str, node: &Node) -> Option<Text> {
        match node.as_scalar().filter(|scalar| scalar.value.is_string()) {
            Some(scalar) => Some(self.template(&scalar.text, place(scalar, node.span, 0))),
            None => {
                self.0.sentence(label, node);
                None
            }
        }
    }

    /// A text where numbers and true/false count as their text: headers, arguments of programs.
    pub(crate) fn loose_text(&self, label: &str, node: &Node) -> Option<Text> {
        match node.as_scalar() {
            Some(scalar) if scalar.value.is_number() || scalar.value.is_boolean() => Some(plain(&scalar.text, place(scalar, node.span, 0))),
            _ => self.text(label, node),
        }
    }

    /// A template from its text.
    pub fn template(&self, source: &str, place: TextPlace) -> Text {
        if self.0.is_data {
            return plain(source, place);
        }
        let text = template::text(source, place, &mut self.0.diagnostics());
        self.check_shared(&text);
        text
    }

    /// A bare expression.
    pub fn expression(&self, label: &str, node: &Node) -> Option<Text> {
        match node.as_scalar().filter(|scalar| !scalar.value.is_null() && !scalar.text.trim().is_empty()) {
            Some(scalar) => Some(self.bare(&scalar.text, place(scalar, node.span, 0))),
            None => {
                self.0.wrong(label, node, "an expression such as inputs.name");
                None
            }
        }
    }

    pub(crate) fn bare(&self, source: &str, place: TextPlace) -> Text {
        let text = template::expression(source, place, &mut self.0.diagnostics());
        self.check_shared(&text);
        text
    }

    /// Any value, with templates at its leaves.
    pub fn filling(&self, node: &Node) -> Filling {
        self.filling_with(node, &|scalar, span| {
            let text = self.template(&scalar.text, place(scalar, span, 0));
            match text.form {
                // What reads like a name without its braces keeps its place: see the rule F218.
                Form::Plain if template::is_like_a_name(&text) || template::holds_a_name(&text.source) => Filling::Text(text),
                Form::Plain => Filling::Constant(Value::String(scalar.text.clone())),
                _ => Filling::Text(text),
            }
        })
    }

    /// The same under a key that takes any value: a number in it may have been meant as text.
    pub fn any_filling(&self, key: &str, node: &Node) -> Filling {
        self.tell_numbers(key, node);
        self.filling(node)
    }

    fn tell_numbers(&self, key: &str, node: &Node) {
        match &node.kind {
            NodeKind::Scalar(_) => self.0.diagnostics().extend(syntax::reread_number(node, key)),
            NodeKind::List(list) => list.iter().for_each(|one| self.tell_numbers(key, one)),
            NodeKind::Map(map) => map.entries.iter().for_each(|(key, one)| self.tell_numbers(&key.text, one)),
            NodeKind::Broken => {}
        }
    }

    /// A bare expression, or a list of them.
    pub fn expressions(&self, label: &str, node: &Node) -> Option<Filling> {
        match node.as_list() {
            Some(list) => Some(Filling::List(list.iter().filter_map(|node| self.expression(label, node)).map(Filling::Text).collect())),
            None if node.as_map().is_some() => {
                self.0.wrong(label, node, "an expression such as inputs.name, or a list of them");
                None
            }
            None => self.expression(label, node).map(Filling::Text),
        }
    }

    fn filling_with(&self, node: &Node, leaf: &dyn Fn(&Scalar, Span) -> Filling) -> Filling {
        if let Some(list) = node.as_list() {
            let fillings: Vec<Filling> = list.iter().map(|node| self.filling_with(node, leaf)).collect();
            return match fillings.iter().all(is_constant) {
                true => Filling::Constant(Value::Array(fillings.into_iter().filter_map(constant).collect())),
                false => Filling::List(fillings),
            };
        }
        if let Some(map) = node.as_map() {
            if let [(key, value)] = map.entries.as_slice()
                && value.to_value().is_null()
            {
                self.0.diagnostics().extend(template::in_brackets(&key.text, node.span));
            }
            let fillings: Vec<(String, Filling)> =
                map.entries.iter().map(|(key, node)| (key.text.clone(), self.filling_with(node, leaf))).collect();
            return match fillings.iter().all(|(_, filling)| is_constant(filling)) {
                true => {
                    let values = fillings.into_iter().filter_map(|(name, filling)| Some((name, constant(filling)?)));
                    Filling::Constant(Value::Object(values.collect()))
                }
                false => Filling::Map(fillings),
            };
        }
        match node.as_scalar() {
            Some(scalar) if scalar.value.is_string() => leaf(scalar, node.span),
            _ => Filling::Constant(node.to_value()),
        }
    }

    /// A text that is here, or in `{ file: … }`.
    pub(crate) fn text_or_file(&self, label: &str, owner: &KeyOwner, node: &Node) -> Option<Text> {
        if node.as_map().is_none() {
            return self.text(label, node);
        }
        let keys = KeyReader::of_key(self.0, label, owner, &[&keys::FILE], node)?;
        let text = self.taken_text(label, &keys)?;
        Some(self.template(&text.source, text.place))
    }

    /// The text of `{ file: … }`, as it is.
    pub(super) fn taken_text(&self, label: &str, keys: &KeyReader) -> Option<Text> {
        let path = keys.name("file")?;
        let answer = self.0.world().text(self.0.file, &path.value);
        let (file, whole) = self.0.found(&*format!("{label} file"), &path.value, path.span, answer)?;
        if !self.0.takes(&whole, path.span) {
            return None;
        }
        let text = whole.strip_prefix('\u{feff}').unwrap_or(&whole);
        let start = whole.len() - text.len();
        let text = text.trim_end();
        Some(plain(text, TextPlace { span: Span::new(file, start, start + text.len()), offsets: vec![(0, start as u32)] }))
    }

    /// F208: what other files use cannot read the steps of one of them.
    fn check_shared(&self, text: &Text) {
        if !self.0.is_shared {
            return;
        }
        for read in text.reads.iter().filter(|read| read.path.first().is_some_and(|name| name == "steps")) {
            let message = "\"steps\" exists only in a pipeline; this text is shared by several";
            self.0.report(Diagnostic::wrong_place(read.span, message).help("pass the value in by the step that uses this"));
        }
    }
}

/// A text that is taken as it is.
pub fn plain(source: &str, place: TextPlace) -> Text {
    Text { place, ..Text::plain(source) }
}

/// The place of the text of a scalar from byte `start` on.
pub fn place(scalar: &Scalar, span: Span, start: usize) -> TextPlace {
    let start = start as u32;
    let offsets = match scalar.offsets.partition_point(|(text, _)| *text <= start).checked_sub(1) {
        None => vec![],
        Some(first) => {
            scalar.offsets[first..].iter().map(|(text, file)| (text.saturating_sub(start), file + start.saturating_sub(*text))).collect()
        }
    };
    TextPlace { span, offsets }
}

/// Whether a value is filled in by the run, or was meant to be: half of a template is told as such.
pub(super) fn is_filled(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| ["{{", "{%", "}}", "%}"].iter().any(|mark| scalar.text.contains(mark)))
}

fn is_constant(filling: &Filling) -> bool {
    matches!(filling, Filling::Constant(_))
}

fn constant(filling: Filling) -> Option<Value> {
    match filling {
        Filling::Constant(value) => Some(value),
        _ => None,
    }
}
