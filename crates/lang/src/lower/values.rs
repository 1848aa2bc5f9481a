//! Single values: a node becomes a number, a text, a word, or a finding. `label` is the key the value belongs to.

use std::fmt;
use std::time::Duration;

use super::context::{LONGEST_MESSAGE, Lower, found, quoted};
use super::other_shapes::{self, Instead, truth};
use super::owner::KeyOwner;
use super::units::{parse_duration, parse_size};
use crate::diagnostic::{About, Code, Diagnostic, akin, did_you_mean, listed};
use crate::model::UnitError;
use crate::source::{Span, Spanned};
use crate::syntax::{Map, Node, NodeKind, Scalar, quoted as in_quotes};

/// F005: a value of another kind than the place asks for.
pub fn wrong_type(node: &Node, message: String) -> Diagnostic {
    Diagnostic::new(Code::WrongType, node.head(), message)
}

/// F008: no time, or no size, that can be understood.
pub(crate) fn bad_duration(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::BadDuration, span, message)
}

/// F011: a name with letters that names have not.
fn bad_id(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::BadId, span, message)
}

/// F015: a section with nothing in it.
pub(crate) fn empty_section(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(Code::EmptySection, span, format!("{what} is empty"))
}

/// What a finding about the value of a key is about.
pub(crate) fn value_of(label: &str) -> About {
    About::Value(label.to_owned())
}

/// The number that `1_000`, `"700"`, `$0.50`, `4,096`, `200k` or `160 characters` means elsewhere.
fn without_marks(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['$', '€', '£']);
    let end = text.find(|c: char| !(c.is_ascii_digit() || ['.', ',', '_'].contains(&c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let is_unit = unit.chars().all(|c| c.is_alphabetic() || [' ', '%', '€', '£'].contains(&c));
    let in_threes = number.split(',').skip(1).all(|part| part.len() == 3);
    let number = number.replace([',', '_'], "");
    let is_number = is_unit && in_threes && number.starts_with(|c: char| c.is_ascii_digit()) && number.parse::<f64>().is_ok();
    is_number.then(|| if unit.trim() == "k" { format!("{number}000") } else { number })
}

/// The letters of a name; digits and `_` may follow the first (F011).
#[derive(Clone, Copy, PartialEq, Eq, strum::Display)]
pub(crate) enum NameLetters {
    /// Those of ids.
    #[strum(serialize = "small letters, digits and \"_\", a letter first")]
    Small,
    /// Those of secrets.
    #[strum(serialize = "capitals, digits and \"_\", a capital first")]
    Capitals,
}

impl NameLetters {
    fn has(self, c: char) -> bool {
        match self {
            NameLetters::Small => c.is_ascii_lowercase(),
            NameLetters::Capitals => c.is_ascii_uppercase(),
        }
    }

    fn cased(self, name: &str) -> String {
        match self {
            NameLetters::Small => name.to_lowercase(),
            NameLetters::Capitals => name.to_uppercase(),
        }
    }

    /// F011 for a name with other letters.
    pub(crate) fn check(self, lower: &Lower, label: &str, id: &str, span: Span) {
        let wrong = match id.chars().next() {
            None => "is empty".to_owned(),
            Some(first) => {
                let mut wrong: Vec<String> = vec![];
                for c in id.chars().filter(|c| !(self.has(*c) || c.is_ascii_digit() || *c == '_')) {
                    let what = match c {
                        ' ' => "blanks".to_owned(),
                        'A'..='Z' => "capitals".to_owned(),
                        'a'..='z' => "small letters".to_owned(),
                        c => quoted(&c.to_string()),
                    };
                    if !wrong.contains(&what) {
                        wrong.push(what);
                    }
                }
                match wrong.as_slice() {
                    [] if self.has(first) => return,
                    [] => format!("begins with {}", quoted(&first.to_string())),
                    wrong => format!("has {}", listed(wrong, "and")),
                }
            }
        };
        let valid: String = self.cased(id).chars().map(|c| if self.has(c) || c.is_ascii_digit() { c } else { '_' }).collect();
        let valid = valid.trim_start_matches(|c: char| !self.has(c));
        if let Some(at) = id.find('：') {
            let message = format!("a wide colon stands in {label} {}, which separates nothing", quoted(id));
            let place = Span { start: span.start + at as u32, end: span.start + (at + '：'.len_utf8()) as u32, ..span };
            let help = format!("write {}: with an ordinary colon", id.get(..at).unwrap_or_default());
            return lower.report(bad_id(place, message).help(help));
        }
        let diagnostic = bad_id(span, format!("{label} {} {wrong}; use {self}", quoted(id)));
        lower.report(match valid {
            "" => diagnostic.help("write a name such as draft"),
            name => diagnostic.help(format!("write {name}, here and wherever it is used")),
        });
    }
}

/// What a value must be.
pub enum WantedValue<'t> {
    /// A number.
    Number,
    /// A whole number: these words.
    Whole(&'static str),
    /// The same, or the word `none`.
    NoneOrWhole,
    /// True or false.
    Switch,
    /// A time with its unit.
    Time,
    /// What these words say.
    Words(&'t str),
}

impl<'t> From<&'t str> for WantedValue<'t> {
    fn from(words: &'t str) -> WantedValue<'t> {
        WantedValue::Words(words)
    }
}

impl fmt::Display for WantedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WantedValue::Number => "a number",
            WantedValue::NoneOrWhole => "none or a whole number",
            WantedValue::Switch => "true or false",
            WantedValue::Time => "a time such as 5s",
            WantedValue::Whole(words) | WantedValue::Words(words) => words,
        })
    }
}

impl WantedValue<'_> {
    /// F005.
    fn report(&self, lower: &Lower, (about, what): (About, &str), node: &Node) {
        if node.kind == NodeKind::Broken {
            return;
        }
        let label = if let About::Value(label) = &about { label.as_str() } else { "" };
        let (help, text) = self.instead(label, node);
        let found = wrong_type(node, format!("{what} must be {self}, found {}", found(node))).about(about).help(help);
        lower.report(match text {
            Some(text) => found.proposed_fix(vec![(node.span, text)]),
            None => found,
        });
    }

    /// What is written in place of a value behind this key, with the text of it where there is one.
    fn instead(&self, label: &str, node: &Node) -> Instead {
        let text = node.as_scalar().filter(|scalar| scalar.value.is_string());
        let number = text.and_then(|scalar| without_marks(&scalar.text)).filter(|number| match self {
            WantedValue::Number => true,
            WantedValue::Whole(_) | WantedValue::NoneOrWhole => number.parse::<u64>().is_ok(),
            WantedValue::Switch | WantedValue::Time | WantedValue::Words(_) => false,
        });
        let help = match self {
            _ if let Some(number) = &number => match label {
                "keep" => format!("write {number}: how many messages are kept, whatever their age"),
                _ => format!("write {number}"),
            },
            _ if label == "readability" => "write the highest school grade that the text may need, such as 7".to_owned(),
            WantedValue::Switch if label.is_empty() => format!("write {self}"),
            WantedValue::Switch => match node.as_scalar().is_some_and(|scalar| ["none", "never", "disabled", "0"].contains(&&*scalar.text))
            {
                true => format!("write {label}: false"),
                false => format!("write {label}: true, or {label}: false for the opposite"),
            },
            WantedValue::Time => match node.as_map() {
                Some(map) => {
                    let keys: Vec<&str> = map.entries.iter().map(|(key, _)| &*key.text).collect();
                    format!("write a time behind {label}:, such as {label}: 1h, in place of {}", listed(&keys, "and"))
                }
                None => format!("write {label}: with a time, such as {label}: 1h"),
            },
            _ if label == "most_parts" && text.is_some() => "write the most parts that may be sent, such as most_parts: 10".to_owned(),
            WantedValue::Whole(words) if text.is_some() => format!("write {words}, in digits, such as 10"),
            WantedValue::Number | WantedValue::Whole(_) | WantedValue::NoneOrWhole | WantedValue::Words(_) => format!("write {self}"),
        };
        (help, number)
    }
}

impl Lower<'_> {
    /// F005.
    pub fn wrong<'t>(&self, label: &str, node: &Node, wanted: impl Into<WantedValue<'t>>) {
        wanted.into().report(self, (value_of(label), &quoted(label)), node);
    }

    /// F005 about something that has no key: `input "tone"`.
    pub(crate) fn wrong_thing(&self, what: &KeyOwner, node: &Node, must_be: &str) {
        WantedValue::Words(must_be).report(self, (About::Other, &what.to_string()), node);
    }

    /// F005, with what to write in place of a value of another shape.
    pub(super) fn other_shape<'t>(&self, label: &str, node: &Node, wanted: impl Into<WantedValue<'t>>, instead: Option<Instead>) {
        let wanted = wanted.into();
        let Some((help, text)) = instead else { return self.wrong(label, node, wanted) };
        let found =
            wrong_type(node, format!("{} must be {wanted}, found {}", quoted(label), found(node))).about(value_of(label)).help(help);
        self.report(match text {
            Some(text) => found.proposed_fix(vec![(node.span, text)]),
            None => found,
        });
    }

    /// F007: `label "written" is not one of: …`.
    fn not_one_of(&self, label: &str, written: &str, span: Span, allowed: &[&str]) {
        if let Some(word) = allowed.iter().find(|word| **word == written.trim()) {
            // Behind `|` or `>` a line break belongs to the text.
            let message = format!("{label} {} has a line break or spaces around it", quoted(written));
            return self.report(Diagnostic::bad_value(span, message).help(format!("write {word} on the line of its key")));
        }
        let near = did_you_mean(written, allowed.iter().copied());
        let head = format!("{label} {} is not one of", quoted(written));
        let all = format!("{head}: {}", allowed.join(", "));
        let is_short = all.chars().count() <= LONGEST_MESSAGE;
        let message = if is_short { all } else { format!("{label} {} is not known{near}", quoted(written)) };
        let diagnostic = Diagnostic::bad_value(span, message).near(near.clone());
        self.report(match near.names.first() {
            Some(name) => diagnostic.help(format!("write {name}")).proposed_fix(vec![(span, name.clone())]),
            None => match (allowed, akin(written, allowed.iter().copied())) {
                (&[word], _) | (_, Some(word)) => diagnostic.help(format!("write {word}")).proposed_fix(vec![(span, word.to_owned())]),
                _ if is_short => diagnostic.help("write one of these"),
                _ => diagnostic.help(format!("write one of: {}", allowed.join(", "))),
            },
        });
    }

    /// A text for people or models.
    pub fn sentence(&self, label: &str, node: &Node) -> Option<String> {
        self.text_scalar(label, node).map(|scalar| scalar.text.clone())
    }

    /// A description that models and people read as it is written: nothing is filled in, so braces are a finding. One that a model wrote is data.
    pub fn description(&self, label: &str, node: &Node, instead: &str) -> Option<String> {
        let text = self.sentence(label, node)?;
        if !self.is_data && (text.contains("{{") || text.contains("{%")) {
            let message = format!("{} is read as it is written: nothing in it is filled in", quoted(label));
            self.report(Diagnostic::bad_value(node.span, message).help(instead));
        }
        Some(text)
    }

    /// A text that is fixed before the run; braces are a finding.
    pub fn fixed(&self, label: &str, node: &Node) -> Option<Spanned<String>> {
        let scalar = self.text_scalar(label, node)?;
        if scalar.text.contains("{{") || scalar.text.contains("{%") {
            let message = format!("{} is read before the run, so it cannot hold {{{{ }}}}", quoted(label));
            return self.reject(node.span, message, "write the text itself");
        }
        Some(Spanned::new(scalar.text.clone(), node.span))
    }

    /// The name of something: a fixed text that is not empty.
    pub fn name(&self, label: &str, node: &Node) -> Option<Spanned<String>> {
        let name = self.fixed(label, node)?;
        if name.value.trim().is_empty() {
            return self.reject(node.span, format!("{} is an empty text", quoted(label)), "write a name");
        }
        Some(name)
    }

    /// A new id. It is given back even when F011 was reported, so that nothing else stumbles over it.
    pub(crate) fn new_id(&self, label: &str, node: &Node) -> Option<Spanned<String>> {
        let id = self.fixed(label, node)?;
        NameLetters::Small.check(self, label, &id.value, id.span);
        Some(id)
    }

    /// A whole number, 0 or more, that is also an `i64`.
    pub fn whole(&self, label: &str, node: &Node) -> Option<u64> {
        let number = node.as_scalar().and_then(|scalar| scalar.value.as_u64());
        let wanted = if number.is_none() { "a whole number, 0 or more" } else { "a whole number up to 9223372036854775807" };
        let kept = number.filter(|number| i64::try_from(*number).is_ok());
        if kept.is_none() {
            self.wrong(label, node, WantedValue::Whole(wanted));
        }
        kept
    }

    /// A whole number, 1 or more (F505).
    pub fn limit(&self, label: &str, node: &Node) -> Option<u64> {
        let value = node.as_scalar().map(|scalar| &scalar.value);
        if value.is_some_and(|value| value.as_i64().is_some_and(|n| n < 1)) {
            return self.zero(node, &format!("{label} must be 1 or more"));
        }
        let number = value.and_then(serde_json::Value::as_u64);
        if number.is_none() {
            self.wrong(label, node, WantedValue::Whole("a whole number"));
        }
        number
    }

    /// A number.
    pub fn number(&self, label: &str, node: &Node) -> Option<f64> {
        let number = node.as_scalar().and_then(|scalar| scalar.value.as_f64()).filter(|n| n.is_finite());
        if number.is_none() {
            self.wrong(label, node, WantedValue::Number);
        }
        number
    }

    /// A number above 0 (F505).
    pub(crate) fn positive(&self, label: &str, node: &Node) -> Option<f64> {
        let number = self.number(label, node)?;
        if number > 0.0 { Some(number) } else { self.zero(node, &format!("{label} must be above 0")) }
    }

    /// F505; nothing can be read in its place.
    fn zero<T>(&self, node: &Node, message: &str) -> Option<T> {
        let message = format!("{message}; leave it out for the default");
        self.report(Diagnostic::new(Code::ZeroLimit, node.span, message).help("write a number above 0, or remove the key"));
        None
    }

    /// True or false.
    pub fn boolean(&self, label: &str, node: &Node) -> Option<bool> {
        let scalar = node.as_scalar();
        let value = scalar.and_then(|scalar| scalar.value.as_bool());
        if value.is_none() {
            match scalar.and_then(truth) {
                Some(word) => {
                    let message = format!("{} must be true or false, found {}", quoted(label), found(node));
                    let found = wrong_type(node, message).about(value_of(label)).help(format!("write {word}"));
                    self.report(found.safe_fix(vec![(node.span, word.to_owned())]));
                }
                None => self.wrong(label, node, WantedValue::Switch),
            }
        }
        value
    }

    /// A time with its unit, above 0.
    pub fn duration(&self, label: &str, node: &Node) -> Option<Duration> {
        let duration = self.with_unit(label, node, WantedValue::Time, parse_duration)?;
        if duration.is_zero() { self.zero(node, &format!("{label} must be above 0")) } else { Some(duration) }
    }

    /// A time with its unit, 0 too.
    pub(crate) fn duration_or_zero(&self, label: &str, node: &Node) -> Option<Duration> {
        self.with_unit(label, node, WantedValue::Time, parse_duration)
    }

    /// A size with its unit, in bytes.
    pub fn size(&self, label: &str, node: &Node) -> Option<u64> {
        self.with_unit(label, node, "a size such as 10MB".into(), parse_size)
    }

    fn with_unit<T>(&self, label: &str, node: &Node, wanted: WantedValue, parse: fn(&str) -> Result<T, UnitError>) -> Option<T> {
        let Some(scalar) = node.as_scalar().filter(|scalar| scalar.value.is_string() || scalar.value.is_number()) else {
            self.wrong(label, node, wanted);
            return None;
        };
        match parse(&scalar.text) {
            Ok(value) => Some(value),
            Err(UnitError { what, write }) => {
                let help = format!("write {}", write.unwrap_or_else(|| wanted.to_string()));
                self.report(bad_duration(node.span, format!("{label} {} {what}", quoted(&scalar.text))).help(help));
                None
            }
        }
    }

    /// One of these words.
    pub fn word<'s>(&self, label: &str, node: &Node, allowed: &[&'s str]) -> Option<&'s str> {
        let Some(scalar) = node.as_scalar().filter(|scalar| !scalar.value.is_null()) else {
            self.wrong(label, node, &*format!("one of {}", allowed.join(", ")));
            return None;
        };
        let word = allowed.iter().find(|word| **word == scalar.text).copied();
        if word.is_none() {
            self.not_one_of(label, &scalar.text, node.span, allowed);
        }
        word
    }

    /// A list.
    pub fn list<'a>(&self, label: &str, node: &'a Node) -> Option<&'a [Node]> {
        let list = node.as_list();
        if list.is_none() && !self.is_nothing(label, node) {
            self.other_shape(label, node, "a list", other_shapes::list(label, node));
        }
        list
    }

    /// A list with something in it (F015).
    pub(crate) fn filled_list<'a>(&self, label: &str, node: &'a Node) -> Option<&'a [Node]> {
        let list = self.list(label, node)?;
        if list.is_empty() {
            self.empty(label, node.span);
            return None;
        }
        Some(list)
    }

    /// A list, or one value in place of a list of one.
    pub(crate) fn one_or_many<'a>(&self, label: &str, node: &'a Node) -> &'a [Node] {
        let list = self.members(label, node);
        if node.as_list().is_some_and(<[Node]>::is_empty) {
            self.empty(label, node.span);
        }
        list
    }

    /// The same of texts, where the list may be empty.
    pub(crate) fn members<'a>(&self, label: &str, node: &'a Node) -> &'a [Node] {
        if node.as_map().is_some() {
            self.other_shape(label, node, "text or a list of texts", other_shapes::text(label, node));
            return &[];
        }
        node.as_list().unwrap_or(std::slice::from_ref(node))
    }

    /// Names of the author's choice with their values.
    pub fn entries<'a>(&self, label: &str, node: &'a Node) -> Option<&'a Map> {
        let map = node.as_map();
        if map.is_none() && !self.is_nothing(label, node) && node.kind != NodeKind::Broken {
            let message = format!("{} must map names to values, found {}", quoted(label), found(node));
            let found = wrong_type(node, message).about(value_of(label));
            self.report(match other_shapes::entries(label, node) {
                Some((help, Some(text))) => found.help(help).proposed_fix(vec![(node.span, text)]),
                Some((help, None)) => found.help(help),
                None => {
                    let example = other_shapes::entry_example(label);
                    found.help(format!("write each as {example} on a line of its own, without \"-\""))
                }
            });
        }
        map
    }

    /// F015 for a section of which only the key is there.
    pub fn is_nothing(&self, label: &str, node: &Node) -> bool {
        let is_nothing = node.as_scalar().is_some_and(|scalar| scalar.value.is_null());
        if is_nothing {
            self.empty(label, node.span);
        }
        is_nothing
    }

    /// F015.
    pub fn empty(&self, label: &str, span: Span) {
        self.report(empty_section(span, &quoted(label)).about(value_of(label)).help("fill it in, or remove the key"));
    }

    fn text_scalar<'a>(&self, label: &str, node: &'a Node) -> Option<&'a Scalar> {
        let scalar = node.as_scalar().filter(|scalar| scalar.value.is_string());
        if scalar.is_none() && node.kind != NodeKind::Broken {
            let diagnostic = wrong_type(node, format!("{} must be text, found {}", quoted(label), found(node))).about(value_of(label));
            self.report(match node.as_scalar() {
                Some(scalar) if !scalar.value.is_null() => {
                    let text = in_quotes(&scalar.text);
                    diagnostic.help(format!("write {text}")).safe_fix(vec![(node.span, text)])
                }
                _ => match other_shapes::text(label, node) {
                    Some((help, Some(text))) => diagnostic.help(help).proposed_fix(vec![(node.span, text)]),
                    Some((help, None)) => diagnostic.help(help),
                    None => diagnostic.help("write a text"),
                },
            });
        }
        scalar
    }
}
