//! Author texts: templates, bare expressions, and values with templates in them.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::Root;
use crate::source::Span;

/// A text an author wrote, with what it reads. Only these are ever compiled as templates.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// The text as the template engine gets it (a bare expression without braces).
    pub source: Arc<str>,
    /// How it is filled.
    pub form: Form,
    /// Where it stands, and how places inside it map to the file.
    pub place: TextPlace,
    /// The names it reads, in order of appearance.
    pub reads: Vec<Read>,
}

impl Text {
    /// A text without templates that is in no file.
    pub fn plain(text: &str) -> Text {
        Text { source: text.into(), form: Form::Plain, place: TextPlace::default(), reads: vec![] }
    }
}

/// How a [`Text`] is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// No braces: the text itself.
    Plain,
    /// Text with `{{ … }}` or `{% … %}` in it; gives a text.
    Template,
    /// Nothing but one `{{ … }}`; keeps the type of its expression.
    Sole,
    /// A bare expression (`when`, `of`, …); keeps its type.
    Bare,
}

/// The place of a text and of what is inside it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextPlace {
    /// The whole value.
    pub span: Span,
    /// As in `syntax::Scalar::offsets`.
    pub offsets: Vec<(u32, u32)>,
}

impl TextPlace {
    /// The place of `start..end` of the text; the whole value where that cannot be reported.
    pub fn inside(&self, start: usize, end: usize) -> Span {
        match (self.offset(start), self.offset(end)) {
            (Some(from), Some(to)) if from <= to => Span { file: self.span.file, start: from, end: to.min(self.span.end) },
            _ => self.span,
        }
    }

    /// The place of the text from byte `start` on.
    pub fn from(&self, start: usize) -> TextPlace {
        let later = self.offsets.iter().filter(|(text, _)| *text as usize > start).map(|(text, file)| (text - start as u32, *file));
        let first = self.offset(start).map(|file| (0, file));
        TextPlace { span: self.span, offsets: first.into_iter().chain(later).collect() }
    }

    /// The place of a text in which each of these parts, which are in order and apart, was replaced by a text of so many bytes.
    pub fn replaced(&self, parts: &[(Range<usize>, usize)]) -> TextPlace {
        let mut offsets = vec![];
        let (mut old, mut new) = (0, 0);
        for (part, length) in parts {
            let kept = self.from(old).offsets.into_iter().take_while(|(text, _)| (*text as usize) < part.start - old);
            offsets.extend(kept.map(|(text, file)| (text + new, file)));
            new += (part.start - old) as u32;
            offsets.extend(self.offset(part.start).map(|file| (new, file)));
            (old, new) = (part.end, new + *length as u32);
        }
        offsets.extend(self.from(old).offsets.into_iter().map(|(text, file)| (text + new, file)));
        TextPlace { span: self.span, offsets }
    }

    fn offset(&self, at: usize) -> Option<u32> {
        let at = at as u32;
        let index = self.offsets.partition_point(|(text, _)| *text <= at).checked_sub(1)?;
        let (text, file) = self.offsets[index];
        Some(file + (at - text))
    }
}

/// A path of names that a text reads: `steps.facts.output[0].logged` is `steps`, `facts`, `output`, `0`, `logged`.
/// It ends before the first part that is not written out (`x[name]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The parts of the path; list places as decimal numbers.
    pub path: Vec<String>,
    /// Where it stands.
    pub span: Span,
    /// Guarded against missing parts: by `default(…)`, `is defined` or the like.
    pub is_guarded: bool,
    /// What was not there if this is read: it stands in the `default(…)` or the `else` of these paths.
    pub instead_of: Vec<Vec<String>>,
}

impl Read {
    /// The name that its path begins with; `None`: that of an element, or an unknown one.
    pub fn root(&self) -> Option<Root> {
        self.path.first().and_then(|name| Root::parse(name))
    }
}

/// A value with templates at its leaves, such as `with: { person: "{{ person.id }}", limit: 3 }`.
#[derive(Debug, Clone, PartialEq)]
pub enum Filling {
    /// A value without templates.
    Constant(Value),
    /// A text to fill in.
    Text(Text),
    /// A list.
    List(Vec<Filling>),
    /// Names and values in file order.
    Map(Vec<(String, Filling)>),
}

impl Filling {
    /// All texts in it, in file order.
    pub fn texts(&self) -> Vec<&Text> {
        match self {
            Filling::Constant(_) => vec![],
            Filling::Text(text) => vec![text],
            Filling::List(list) => list.iter().flat_map(Filling::texts).collect(),
            Filling::Map(map) => map.iter().flat_map(|(_, value)| value.texts()).collect(),
        }
    }

    /// The value, with each text as `fill` makes it.
    ///
    /// # Errors
    /// The first of `fill`.
    pub fn filled<E>(&self, fill: &dyn Fn(&Text) -> Result<Value, E>) -> Result<Value, E> {
        Ok(match self {
            Filling::Constant(value) => value.clone(),
            Filling::Text(text) => fill(text)?,
            Filling::List(list) => Value::Array(list.iter().map(|inner| inner.filled(fill)).collect::<Result<_, _>>()?),
            Filling::Map(map) => {
                let pairs = map.iter().map(|(name, inner)| Ok((name.clone(), inner.filled(fill)?)));
                Value::Object(pairs.collect::<Result<_, E>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    #[test]
    fn places_of_what_is_around_a_replaced_part_stay() {
        let place = TextPlace { span: Span::new(FileId(0), 10, 90), offsets: vec![(0, 10), (6, 20)] };
        // `ab {x}\ncd {yy} e` becomes `ab $first\ncd $y e`.
        let replaced = place.replaced(&[(3..6, 6), (9..13, 2)]);
        let inside = |start, end| (replaced.inside(start, end).start, replaced.inside(start, end).end);
        assert_eq!(inside(0, 2), (10, 12));
        assert_eq!(inside(3, 9), (13, 20));
        assert_eq!(inside(10, 12), (21, 23));
        assert_eq!(inside(12, 14), (23, 27));
        assert_eq!(inside(15, 16), (28, 29));
        assert_eq!(TextPlace::default().replaced(&[(1..2, 5)]), TextPlace::default());
    }
}
