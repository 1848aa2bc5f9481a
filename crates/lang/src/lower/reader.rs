//! One list of keys: says at once what is unknown, missing or not yet available, then hands out typed values.

use std::str::FromStr;

use super::aliases::is_retries;
use super::context::{Lower, found, quoted};
use super::ids::id_of_name;
use super::keys::{DEFINITIONS, EVERY_STEP, KINDS, KeyTable, MODEL, PIPELINE, PROVIDERS, STEP, TOOL, TOOL_KINDS, Tables, Takes};
use super::misplaced::{Misplaced, misplaced};
use super::other_shapes;
use super::owner::KeyOwner;
use super::unknown_keys::{KeyPlace, UnknownKey, names, unknown_key};
use super::values::{empty_section, value_of, wrong_type};
use super::written_form::written_form;
use crate::diagnostic::{About, Code, Diagnostic, Near};
use crate::model::{Filling, Text};
use crate::source::{Span, Spanned};
use crate::syntax::{self, Node, NodeKind};

/// The keys of one place in a file.
pub(crate) struct KeyReader<'a, 'w> {
    /// The file.
    pub lower: &'a Lower<'w>,
    /// Whose keys they are.
    pub owner: KeyOwner,
    /// Where findings about the whole stand: its first key.
    pub span: Span,
    place: KeyPlace<'a>,
    /// Misspelt keys: what was meant, and the value if it can be read as such.
    meant: Vec<(&'static str, Option<&'a Node>)>,
    /// Keys of this place that stand inside a section of it.
    misplaced: Vec<Misplaced<'a>>,
}

impl<'a, 'w> KeyReader<'a, 'w> {
    /// Reads a list of keys whose keys are those of `places`; reports every unknown, missing or not yet available one.
    pub fn new(lower: &'a Lower<'w>, owner: impl Into<KeyOwner>, places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        KeyReader::of(lower, About::Other, owner, places, node)
    }

    /// The same, of the value of a key.
    pub(crate) fn of_key(lower: &'a Lower<'w>, key: &str, owner: &KeyOwner, places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        KeyReader::of(lower, value_of(key), owner.key(key), places, node)
    }

    /// The same. `about`: what a finding about the whole is about.
    pub(crate) fn of(
        lower: &'a Lower<'w>,
        about: About,
        owner: impl Into<KeyOwner>,
        places: Tables,
        node: &'a Node,
    ) -> Option<KeyReader<'a, 'w>> {
        let reader = KeyReader::opened(lower, (about, owner.into()), places, node)?;
        reader.report_missing(places);
        Some(reader)
    }

    /// The same, silent about what is missing.
    pub fn lenient(lower: &'a Lower<'w>, owner: impl Into<KeyOwner>, places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        KeyReader::opened(lower, (About::Other, owner.into()), places, node)
    }

    fn opened(lower: &'a Lower<'w>, (about, owner): (About, KeyOwner), places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        let map = match &node.kind {
            NodeKind::Map(map) => map,
            NodeKind::Broken => return None,
            NodeKind::Scalar(scalar) if scalar.value.is_null() => {
                lower.report(empty_section(node.span, &owner.to_string()).about(about).help("fill it in, or remove it"));
                return None;
            }
            _ => {
                let message = format!("{owner} must be a group of keys, found {}", found(node));
                let found = wrong_type(node, message).about(about);
                lower.report(match other_shapes::keys(places, node) {
                    Some((help, Some(text))) => found.help(help).proposed_fix(vec![(node.span, text)]),
                    Some((help, None)) => found.help(help),
                    None => found.help(format!("write keys such as {}", names(places).take(3).collect::<Vec<_>>().join(", "))),
                });
                return None;
            }
        };
        let span = map.entries.first().map_or(node.span, |(key, _)| key.span);
        let place = KeyPlace { map, tables: places.to_vec() };
        let mut reader = KeyReader { lower, owner, span, place, meant: vec![], misplaced: vec![] };
        for (key, value) in &map.entries {
            let is_told = key.text == "delay" && map.entries.iter().any(|(key, _)| is_retries(&key.text)) && reader.allows("retry");
            if reader.allows(&key.text) || is_told {
                continue;
            }
            let unknown = UnknownKey { place: &reader.place, owner: &reader.owner, key, value };
            let Some((found, meant)) = unknown.report() else { continue };
            lower.report(found);
            reader.meant.extend(meant);
        }
        if let [head] = places
            && (std::ptr::eq(*head, &PIPELINE) || std::ptr::eq(*head, &DEFINITIONS))
        {
            reader.misplaced = misplaced(head, map);
            reader.report_misplaced();
        }
        Some(reader)
    }

    /// Whether the key is there, or something was written for it.
    pub fn has(&self, key: &str) -> bool {
        self.place.map.get(key).is_some() || self.meant.iter().any(|(meant, _)| *meant == key)
    }

    /// Whether the key may be here.
    pub fn allows(&self, key: &str) -> bool {
        self.place.rule(key).is_some()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.place.rule(key).is_some(), "{key} is in no table of {}", self.owner);
        let meant = || self.meant.iter().find(|(meant, _)| *meant == key).and_then(|(_, node)| *node);
        self.place.map.get(key).or_else(meant)
    }

    /// The place of a key; of the whole if it is not there.
    pub(crate) fn key_span(&self, key: &str) -> Span {
        self.place.map.entry(key).map_or(self.span, |(key, _)| key.span)
    }

    /// The place of a key's value; of the whole if it is not there.
    pub(crate) fn value_span(&self, key: &str) -> Span {
        self.get(key).map_or(self.span, |node| node.span)
    }

    /// F006: at most one of these may be there.
    pub(crate) fn check_one_of(&self, names: &[&str]) {
        let given: Vec<&str> = names.iter().copied().filter(|name| self.place.map.get(name).is_some()).collect();
        if let [first, .., last] = given.as_slice() {
            let message = format!("{} has both {} and {}; keep one", self.owner, quoted(first), quoted(last));
            let found = Diagnostic::new(Code::TwoKinds, self.key_span(last), message).related(self.key_span(first), "the other one");
            let is_kind = |name: &str| KINDS.iter().any(|kind| kind.name == name);
            self.lower.report(match self.place.is_at(&STEP) && is_kind(first) && is_kind(last) {
                true => {
                    let id = self.place.map.get("id").and_then(Node::as_scalar).map_or("ID", |id| &id.text);
                    // What only the second kind knows goes with it.
                    let knows = |kind: &str, key: &str| KINDS.iter().any(|table| table.name == kind && table.key(key).is_some());
                    let moved = self.place.map.entries.iter().map(|(key, _)| &*key.text);
                    let moved: Vec<&str> = moved.filter(|key| knows(last, key) && !knows(first, key)).collect();
                    let value = |key: &str| {
                        self.place.map.get(key).and_then(|node| written_form(&node.to_value())).unwrap_or_else(|| "…".to_owned())
                    };
                    let reads_first = (*last == "send" || *last == "gate") && !moved.contains(&"of");
                    // Whether and how often the step runs stays true of both; what reads the output of the first reads all of its elements.
                    let both: &[&str] = if reads_first { &["when"] } else { &["when", "for_each", "as"] };
                    let both = both.iter().copied().filter(|key| self.place.map.get(key).is_some());
                    let mut step: Vec<String> = both.chain(moved.iter().copied()).map(|key| format!("{key}: {}", value(key))).collect();
                    if reads_first {
                        step.push(format!("of: steps.{id}.output"));
                    }
                    found.help(format!(
                        "keep {first} here, and move {} into a step of its own below: - {{ id: {last}_{id}, {} }}",
                        moved.join(" and "),
                        step.join(", ")
                    ))
                }
                false => found.help(format!("remove {} or {}", quoted(first), quoted(last))),
            });
        }
    }

    /// F004 for a key that something else makes necessary.
    pub fn missing(&self, message: &str, help: &str) {
        self.lower.report(self.lacks(message).help(help));
    }

    /// F001 for a key that belongs here but not beside something else.
    pub(crate) fn does_not_fit(&self, key: &str, message: &str, help: &str) {
        self.lower.report(unknown_key(self.key_span(key), format!("{} {message}", self.owner)).help(help));
    }

    fn lacks(&self, message: &str) -> Diagnostic {
        Diagnostic::missing_key(self.span, format!("{} {message}", self.owner))
    }

    /// The value of a key, by one of the readers of single values.
    pub fn read<T>(&self, key: &str, read: impl FnOnce(&Lower<'w>, &str, &'a Node) -> Option<T>) -> Option<T> {
        read(self.lower, key, self.get(key)?)
    }

    pub fn sentence(&self, key: &str) -> Option<String> {
        self.lower.sentence(key, self.get(key)?)
    }

    pub fn fixed(&self, key: &str) -> Option<Spanned<String>> {
        self.lower.fixed(key, self.get(key)?)
    }

    pub fn name(&self, key: &str) -> Option<Spanned<String>> {
        let node = self.get(key)?;
        if self.is_switch(key, node) { None } else { self.lower.name(key, node) }
    }

    /// Whether true or false stands where names are wanted (F005).
    fn is_switch(&self, key: &str, node: &Node) -> bool {
        let is_on = node.as_scalar().and_then(|scalar| scalar.value.as_bool());
        // A step that tries again is the one whose output is judged; what a person confirms is what may be done at all.
        let of = self.place.map.get("of").and_then(Node::as_scalar).and_then(|of| of.text.strip_prefix("steps.")?.strip_suffix(".output"));
        let tools = self.place.map.get("allowed_tools").and_then(|node| written_form(&node.to_value()));
        let help = is_on.and_then(|is_on| match (key, of, tools) {
            ("refine", Some(id), _) if is_on => Some(format!("write the id of a step: refine: {id}")),
            ("approval_required", _, Some(tools)) if is_on => {
                Some(format!("write a list, approval_required:, with those of {tools} that a person is to confirm each time"))
            }
            ("writes", ..) if is_on && let Some(folder) = self.place.map.get("folder").and_then(Node::as_scalar) => {
                Some(format!("write writes: [{}], a list of the folders that it may change", folder.text))
            }
            _ => other_shapes::named(self.place.rule(key)?, is_on),
        });
        if let Some(help) = &help {
            let is_list = self.place.rule(key).is_some_and(|rule| matches!(rule.takes, Takes::Many(_) | Takes::List(_)));
            let must_be = if is_list { "a list" } else { "a name" };
            let message = format!("{} must be {must_be}, found {}", quoted(key), found(node));
            let found = wrong_type(node, message).about(value_of(key)).help(help);
            self.lower.report(match is_on {
                Some(false) if is_list => found.proposed_fix(vec![(node.span, "[]".to_owned())]),
                _ => found,
            });
        }
        help.is_some()
    }

    /// A list of names; one name may be in place of a list of one.
    pub fn names(&self, key: &str) -> Option<Vec<Spanned<String>>> {
        let node = self.get(key)?;
        if self.is_switch(key, node) {
            return None;
        }
        Some(self.lower.members(key, node).iter().filter_map(|node| self.lower.name(key, node)).collect())
    }

    pub fn limit(&self, key: &str) -> Option<u64> {
        self.lower.limit(key, self.get(key)?)
    }

    pub fn boolean(&self, key: &str) -> Option<bool> {
        self.lower.boolean(key, self.get(key)?)
    }

    /// One of the words that the table of the key lists.
    pub fn word(&self, key: &str) -> Option<&'static str> {
        match self.place.rule(key)?.takes {
            Takes::Word(words) => self.lower.word(key, self.get(key)?, words),
            _ => None,
        }
    }

    /// The same, as what it stands for.
    pub fn choice<C: FromStr>(&self, key: &str) -> Option<C> {
        self.word(key)?.parse().ok()
    }

    pub fn text(&self, key: &str) -> Option<Text> {
        let node = self.get(key)?;
        if let Some((help, None)) = node.as_list().and_then(|_| other_shapes::text(key, node)) {
            // What is wrong is how the value begins, behind its key.
            let message = format!("{} must be text, found {}", quoted(key), found(node));
            let found = wrong_type(node, message).about(value_of(key)).help(help);
            self.lower.report(Diagnostic { span: self.key_span(key), ..found });
            return None;
        }
        if let (Some(rule), true) = (self.place.rule(key), node.as_scalar().is_some_and(|scalar| scalar.value.is_null())) {
            let message = format!("{} must be text, found nothing", quoted(key));
            self.lower
                .report(wrong_type(node, message).about(value_of(key)).help(format!("write a text behind \"{key}:\": {}", rule.about)));
            return None;
        }
        self.lower.texts().text(key, node)
    }

    pub fn expression(&self, key: &str) -> Option<Text> {
        self.lower.texts().expression(key, self.get(key)?)
    }

    pub fn filling(&self, key: &str) -> Option<Filling> {
        self.get(key).map(|node| self.lower.texts().any_filling(key, node))
    }

    /// Names of the author's choice, each with a value to fill in.
    pub fn pairs(&self, key: &str) -> Vec<(Spanned<String>, Filling)> {
        let pairs = self
            .entries(key)
            .map(|(name, node)| (Spanned::new(name.text.clone(), name.span), self.lower.texts().any_filling(&name.text, node)));
        pairs.collect()
    }

    pub fn list(&self, key: &str) -> Option<&'a [Node]> {
        self.lower.list(key, self.get(key)?)
    }

    pub(crate) fn filled_list(&self, key: &str) -> Option<&'a [Node]> {
        self.lower.filled_list(key, self.get(key)?)
    }

    /// Names of the author's choice with their values.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = (&'a syntax::MapKey, &'a Node)> + use<'a> {
        let map = self.get(key).and_then(|node| self.lower.entries(key, node));
        let entries = map.map(|map| map.entries.as_slice()).unwrap_or_default();
        // What is below a section that slid in here belongs to that one.
        let slid = self.misplaced.iter().find(|slid| slid.section.text == key);
        let end = slid.and_then(|slid| entries.iter().position(|(key, _)| key.span == slid.key.span)).unwrap_or(entries.len());
        entries.iter().take(end).map(|(key, node)| (key, node))
    }

    /// Whether what each entry of this section takes has a key of this name.
    pub(super) fn is_of_each(&self, section: &str, name: &str) -> bool {
        let each =
            self.place.rule(section).and_then(|rule| if let Takes::Defined(Takes::Keys(table)) = rule.takes { Some(*table) } else { None });
        let is = |table: &KeyTable| each.is_some_and(|each| std::ptr::eq(each, table));
        let kinds = if is(&MODEL) {
            PROVIDERS
        } else if is(&TOOL) {
            TOOL_KINDS
        } else {
            &[]
        };
        each.iter().chain(kinds).any(|table| table.key(name).is_some())
    }

    /// The keys of a section.
    pub fn section(&self, key: &str, place: &'static KeyTable) -> Option<KeyReader<'a, 'w>> {
        KeyReader::of_key(self.lower, key, &self.owner, &[place], self.get(key)?)
    }

    /// The keys that were probably meant by misspelt ones.
    pub fn meant(&self) -> impl Iterator<Item = &'static str> {
        self.meant.iter().map(|(key, _)| *key)
    }

    /// F002 for a key of another kind that can only be a slip of `meant`.
    pub(crate) fn report_slip(&self, key: &syntax::MapKey, meant: &str) {
        let near = Near::new(&key.text, [meant]);
        let message = format!("unknown key {} in {}{near}", quoted(&key.text), self.owner);
        let found = unknown_key(key.span, message).near(near).help(format!("write {meant}"));
        self.lower.report(found.proposed_fix(vec![(key.span, meant.to_owned())]));
    }

    /// F002 for sections that are indented as if they were part of the one above.
    fn report_misplaced(&mut self) {
        for slid in &self.misplaced {
            let (key, section) = (quoted(&slid.key.text), quoted(&slid.section.text));
            let message = format!("{key} is inside {section}: its line is indented too far");
            self.meant.push((slid.rule.name, None));
            self.lower.report(
                unknown_key(slid.key.span, message)
                    .about(About::HiddenSection)
                    .related(slid.section.span, "the section above")
                    .help(format!("move {key}, and what belongs to it, to the left until it lines up with {section}")),
            );
        }
    }

    /// F004 for every required key that is not there.
    pub(crate) fn report_missing(&self, places: Tables) {
        for rule in places.iter().flat_map(|place| place.keys).filter(|rule| rule.is_required && !self.has(rule.name)) {
            let found = self.lacks(&format!("has no {}", quoted(rule.name))).about(About::Missing(rule.name));
            let code = self.place.map.get("python").and_then(Node::as_scalar).filter(|_| rule.name == "returns");
            let returned = code.and_then(|code| code.text.lines().find_map(|line| line.trim().strip_prefix("return ")));
            // A name for people tells what the id may be.
            let name = self.place.map.get("name").and_then(Node::as_scalar).filter(|_| rule.name == "id");
            let is_first = self.place.map.entries.first().is_some_and(|(key, _)| key.text == "name");
            let id = name.and_then(|name| id_of_name(&name.text, is_first, self.place.is_at(&EVERY_STEP)));
            self.lower.report(match returned {
                None if let Some(help) = id => found.help(help),
                Some(value) => Diagnostic { span: code.map_or(found.span, |_| self.key_span("python")), ..found }
                    .help(format!("write result = {value} in place of return {value}, and add returns: [result]: the code is no function")),
                None => found.help(format!("add {}: {}", rule.name, rule.about)),
            });
        }
    }
}
