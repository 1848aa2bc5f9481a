//! One list of keys: says at once what is unknown, missing or not yet available, then hands out typed values.

use std::str::FromStr;

use super::aliases::{Alias, alias, is_retries, rules_for};
use super::context::{Lower, found, quoted};
use super::foreign::{ForeignKey, foreign};
use super::ids::id_of_name;
use super::keys::{
    DEFINITIONS, EVERY_STEP, FIELD, KINDS, KeyRule, KeyTable, MODEL, PIPELINE, PROVIDERS, STEP, TOOL, TOOL_KINDS, Tables, Takes,
};
use super::misplaced::{Misplaced, misplaced};
use super::other_shapes;
use super::values::{empty_section, value_of, wrong_type};
use super::written_form::written_form;
use crate::diagnostic::{About, Code, Diagnostic, Near, akin, listed, nearest};
use crate::model::{Filling, Text};
use crate::source::{Span, Spanned};
use crate::syntax::{self, Map, Node, NodeKind};

/// The keys of one place in a file.
pub(crate) struct KeyReader<'a, 'w> {
    /// The file.
    pub lower: &'a Lower<'w>,
    /// Whose keys they are: `step "draft"`.
    pub owner: String,
    /// Where findings about the whole stand: its first key.
    pub span: Span,
    map: &'a Map,
    places: Vec<&'static KeyTable>,
    /// Misspelt keys: what was meant, and the value if it can be read as such.
    meant: Vec<(&'static str, Option<&'a Node>)>,
    /// Keys of this place that stand inside a section of it.
    misplaced: Vec<Misplaced<'a>>,
}

impl<'a, 'w> KeyReader<'a, 'w> {
    /// Reads a list of keys whose keys are those of `places`; reports every unknown, missing or not yet available one.
    pub fn new(lower: &'a Lower<'w>, owner: impl Into<String>, places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        let reader = KeyReader::lenient(lower, owner, places, node)?;
        reader.report_missing(places);
        Some(reader)
    }

    /// The same, of the value of a key. `whole`: that value in words.
    pub(crate) fn of_key(lower: &'a Lower<'w>, (key, whole): (&str, String), places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        let reader = KeyReader::opened(lower, (value_of(key), whole), places, node)?;
        reader.report_missing(places);
        Some(reader)
    }

    /// The same, silent about what is missing.
    pub fn lenient(lower: &'a Lower<'w>, owner: impl Into<String>, places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        KeyReader::opened(lower, (About::Other, owner.into()), places, node)
    }

    fn opened(lower: &'a Lower<'w>, (about, owner): (About, String), places: Tables, node: &'a Node) -> Option<KeyReader<'a, 'w>> {
        let map = match &node.kind {
            NodeKind::Map(map) => map,
            NodeKind::Broken => return None,
            NodeKind::Scalar(scalar) if scalar.value.is_null() => {
                lower.report(empty_section(node.span, &owner).about(about).help("fill it in, or remove it"));
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
        let mut reader = KeyReader { lower, owner, span, map, places: places.to_vec(), meant: vec![], misplaced: vec![] };
        for (key, value) in &map.entries {
            let is_told = key.text == "delay" && map.entries.iter().any(|(key, _)| is_retries(&key.text)) && reader.allows("retry");
            if reader.rule(&key.text).is_none() && !is_told {
                reader.report_unknown(key, value);
            }
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
        self.map.get(key).is_some() || self.meant.iter().any(|(meant, _)| *meant == key)
    }

    /// Whether the key may be here.
    pub fn allows(&self, key: &str) -> bool {
        self.rule(key).is_some()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.rule(key).is_some(), "{key} is in no table of {}", self.owner);
        let meant = || self.meant.iter().find(|(meant, _)| *meant == key).and_then(|(_, node)| *node);
        self.map.get(key).or_else(meant)
    }

    /// The place of a key; of the whole if it is not there.
    pub(crate) fn key_span(&self, key: &str) -> Span {
        self.map.entry(key).map_or(self.span, |(key, _)| key.span)
    }

    /// The place of a key's value; of the whole if it is not there.
    pub(crate) fn value_span(&self, key: &str) -> Span {
        self.get(key).map_or(self.span, |node| node.span)
    }

    /// F006: at most one of these may be there.
    pub(crate) fn check_one_of(&self, names: &[&str]) {
        let given: Vec<&str> = names.iter().copied().filter(|name| self.map.get(name).is_some()).collect();
        if let [first, .., last] = given.as_slice() {
            let message = format!("{} has both {} and {}; keep one", self.owner, quoted(first), quoted(last));
            let found = Diagnostic::new(Code::TwoKinds, self.key_span(last), message).related(self.key_span(first), "the other one");
            let is_kind = |name: &str| KINDS.iter().any(|kind| kind.name == name);
            self.lower.report(match self.is_at(&STEP) && is_kind(first) && is_kind(last) {
                true => {
                    let id = self.map.get("id").and_then(Node::as_scalar).map_or("ID", |id| &id.text);
                    // What only the second kind knows goes with it.
                    let knows = |kind: &str, key: &str| KINDS.iter().any(|table| table.name == kind && table.key(key).is_some());
                    let moved = self.map.entries.iter().map(|(key, _)| &*key.text);
                    let moved: Vec<&str> = moved.filter(|key| knows(last, key) && !knows(first, key)).collect();
                    let value =
                        |key: &str| self.map.get(key).and_then(|node| written_form(&node.to_value())).unwrap_or_else(|| "…".to_owned());
                    let mut step: Vec<String> = moved.iter().map(|key| format!("{key}: {}", value(key))).collect();
                    if (*last == "send" || *last == "gate") && !moved.contains(&"of") {
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
        let of = self.map.get("of").and_then(Node::as_scalar).and_then(|of| of.text.strip_prefix("steps.")?.strip_suffix(".output"));
        let tools = self.map.get("allowed_tools").and_then(|node| written_form(&node.to_value()));
        let help = is_on.and_then(|is_on| match (key, of, tools) {
            ("refine", Some(id), _) if is_on => Some(format!("write the id of a step: refine: {id}")),
            ("approval_required", _, Some(tools)) if is_on => {
                Some(format!("write a list, approval_required:, with those of {tools} that a person is to confirm each time"))
            }
            ("writes", ..) if is_on && let Some(folder) = self.map.get("folder").and_then(Node::as_scalar) => {
                Some(format!("write writes: [{}], a list of the folders that it may change", folder.text))
            }
            _ => other_shapes::named(self.rule(key)?, is_on),
        });
        if let Some(help) = &help {
            let is_list = self.rule(key).is_some_and(|rule| matches!(rule.takes, Takes::Many(_) | Takes::List(_)));
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
        match self.rule(key)?.takes {
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
        if let (Some(rule), true) = (self.rule(key), node.as_scalar().is_some_and(|scalar| scalar.value.is_null())) {
            let message = format!("{} must be text, found nothing", quoted(key));
            self.lower
                .report(wrong_type(node, message).about(value_of(key)).help(format!("write a text behind \"{key}:\": {}", rule.about)));
            return None;
        }
        self.lower.text(key, node)
    }

    pub fn expression(&self, key: &str) -> Option<Text> {
        self.lower.expression(key, self.get(key)?)
    }

    pub fn filling(&self, key: &str) -> Option<Filling> {
        self.get(key).map(|node| self.lower.any_filling(key, node))
    }

    /// Names of the author's choice, each with a value to fill in.
    pub fn pairs(&self, key: &str) -> Vec<(Spanned<String>, Filling)> {
        let pairs =
            self.entries(key).map(|(name, node)| (Spanned::new(name.text.clone(), name.span), self.lower.any_filling(&name.text, node)));
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
            self.rule(section).and_then(|rule| if let Takes::Defined(Takes::Keys(table)) = rule.takes { Some(*table) } else { None });
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
        KeyReader::of_key(self.lower, (key, format!("{} of {}", quoted(key), self.owner)), &[place], self.get(key)?)
    }

    /// The keys that were probably meant by misspelt ones.
    pub fn meant(&self) -> impl Iterator<Item = &'static str> {
        self.meant.iter().map(|(key, _)| *key)
    }

    /// The rule of a key that is allowed here.
    fn rule(&self, name: &str) -> Option<&'static KeyRule> {
        self.places.iter().find_map(|place| place.key(name))
    }

    /// F002, with what was probably meant.
    fn report_unknown(&mut self, key: &syntax::MapKey, value: &'a Node) {
        let place_names: Vec<&str> = self.places.iter().map(|place| place.name).collect();
        if self.report_cut_text(key, value) {
            return;
        }
        let alias = alias(&key.text, &place_names, |name| self.rule(name).is_some()).filter(|alias| alias.takes(&value.to_value()));
        if let Some(foreign) = foreign(&key.text, &place_names)
            && !alias.is_some_and(|alias| foreign.is_only_named(alias.key, self.map, value))
        {
            return self.report_foreign(foreign, key, value);
        }
        let alias = alias.map(|alias| (alias, self.keys_for(alias))).filter(|(_, keys)| !keys.is_empty());
        let is_step = place_names.contains(&"step");
        let kinds: Vec<&str> = KINDS.iter().filter(|kind| is_step && kind.key(&key.text).is_some()).map(|kind| kind.name).collect();
        // The wait between two tries, which other tools write beside their number.
        let delay = self.map.get("delay").and_then(Node::as_scalar).filter(|_| matches!(&alias, Some((alias, _)) if alias.key == "retry"));
        let delay = delay.map(|delay| format!("{}{}", delay.text, if delay.value.is_number() { "s" } else { "" }));
        let meant = alias.as_ref().and_then(|(alias, _)| alias.meant_for(&value.to_value(), delay.as_deref()));
        let near = match &alias {
            Some((alias, keys)) if keys == &[alias.key] => meant.as_deref().into_iter().collect(),
            Some((_, keys)) => keys.clone(),
            None if !kinds.is_empty() => vec![],
            None => {
                let near = nearest(&key.text, names(&self.places)).into_iter();
                near.filter(|name| self.type_has(name) && self.takes_keys_of(name, value)).collect()
            }
        };
        let meanings = Near::new(&key.text, near.iter().copied());
        let message = format!("unknown key {} in {}{}", quoted(&key.text), self.owner, meanings);
        let mut diagnostic = unknown_key(key.span, message).near(meanings);
        let is_set = |name: &str| self.map.get(name).is_some();
        match (&alias, near.as_slice()) {
            (Some((_, keys)), _) if let Some(other) = keys.iter().find(|key| is_set(key)) => {
                diagnostic = diagnostic.help(format!("remove it: {} is set, too", quoted(other)));
            }
            (Some((alias, keys)), [meant]) => {
                self.meant.extend(keys.iter().map(|key| (*key, alias.is_same_shape.then_some(value))));
                let and_delay = delay.map(|_| format!(" in place of {} and delay", key.text)).unwrap_or_default();
                diagnostic = diagnostic.help(format!("write {meant}{and_delay}"));
                if !alias.is_same_shape {
                    diagnostic = diagnostic.about(value_of(alias.key));
                }
                let edit = vec![(key.span, (*meant).to_owned())];
                diagnostic = match alias.is_same_shape {
                    // What opens tools is not written for anybody.
                    true if alias.key == "allow" => diagnostic.proposed_fix(edit),
                    true => diagnostic.safe_fix(edit),
                    false => diagnostic,
                };
            }
            (Some(_), []) => diagnostic = diagnostic.help("remove it: it changes nothing"),
            (Some((_, keys)), [_, ..]) => {
                self.meant.extend(keys.iter().map(|key| (*key, None)));
                diagnostic = diagnostic.help(format!("write {}, depending on the type", keys.join(" or ")));
            }
            (None, [name]) if is_set(name) => diagnostic = diagnostic.help(format!("remove it: {} is set, too", quoted(name))),
            (None, [name]) => {
                let meant = self.rule(name).map(|rule| rule.name);
                self.meant.extend(meant.map(|name| (name, Some(value))));
                diagnostic = diagnostic.help(format!("write {name}")).proposed_fix(vec![(key.span, (*name).to_owned())]);
            }
            (None, [_, ..]) => {
                let meant: Vec<_> = near.iter().filter_map(|name| self.rule(name)).map(|rule| (rule.name, None)).collect();
                self.meant.extend(meant);
                diagnostic = diagnostic.help("write one of the two, or remove it");
            }
            (None, []) if let Some((section, node)) = self.section_of(&key.text, value) => {
                let (key, value) = (&key.text, written_form(&node.to_value()).unwrap_or_else(|| "…".to_owned()));
                let last = self.map.get(section).and_then(|section| section.as_map()?.entries.last());
                diagnostic = diagnostic.help(match last {
                    Some((last, _)) => format!("move it into {section}, below {} there and indented like it: {key}: {value}", last.text),
                    None => format!("move it below {section}: {section}: {{ {key}: {value} }}"),
                });
            }
            (None, []) if place_names == ["person"] => {
                diagnostic = diagnostic.about(value_of("person")).help(match written_form(&value.to_value()) {
                    Some(value) => format!("remove it, and read the value itself where it is needed: {}", value.trim_matches('"')),
                    None => "remove it, and read the value itself where it is needed".to_owned(),
                });
            }
            (None, []) if key.text.starts_with("x-") => {
                let keys = value.as_map().and_then(|map| {
                    let keys = map.entries.iter().map(|(key, node)| Some(format!("{}: {}", key.text, written_form(&node.to_value())?)));
                    keys.collect::<Option<Vec<_>>>()
                });
                diagnostic = diagnostic.about(value_of("<<")).help(match keys {
                    Some(keys) => {
                        let keys = listed(&keys, "and");
                        format!("remove it and what stands below it, and write {keys} in place of each line that begins with <<:")
                    }
                    None => "remove it, and write its keys out in each place that takes them by <<".to_owned(),
                });
            }
            (None, []) if is_step && super::aliases::alias(&key.text, &["agent"], |name| name == "instructions").is_some() => {
                diagnostic = diagnostic.help("write it as instructions of an agent below agents, and name that agent in the step");
            }
            (None, []) if !kinds.is_empty() => {
                diagnostic = diagnostic.help(format!("remove it; only these kinds of steps have it: {}", kinds.join(", ")));
            }
            (None, []) if let Some(name) = akin(&key.text, names(&self.places)) => {
                self.meant.extend(self.rule(name).map(|rule| (rule.name, None)));
                diagnostic = diagnostic.help(format!("write {name}"));
            }
            (None, []) => diagnostic = diagnostic.help(format!("use one of: {}", self.allowed())),
        }
        self.lower.report(diagnostic);
    }

    /// F002 for what follows a comma of a text without quotes in `{ }`, where it reads as a key.
    fn report_cut_text(&self, key: &syntax::MapKey, value: &Node) -> bool {
        if !key.text.contains(' ') {
            return false;
        }
        let place = self.map.entries.iter().position(|(own, _)| own.span == key.span);
        let before = place.and_then(|place| self.map.entries.get(place.checked_sub(1)?));
        let Some((name, text)) = before.and_then(|(name, node)| Some((name, node.as_scalar()?))) else { return false };
        let is_plain = text.style == syntax::QuoteStyle::Plain && text.value.is_string();
        if !is_plain || !value.as_scalar().is_some_and(|scalar| scalar.value.is_null()) {
            return false;
        }
        let whole = syntax::quoted(&format!("{}, {}", text.text, key.text));
        let span = before.map_or(key.span, |(_, node)| node.span.to(key.span));
        let message = format!("the text of {} ends at its \",\": in {{ }} a text with a comma stands in quotes", quoted(&name.text));
        let found = unknown_key(key.span, message).help(format!("write {}: {whole}", name.text));
        self.lower.report(found.proposed_fix(vec![(span, whole)]));
        true
    }

    /// The one section of this place that has a key of this name, and the value.
    fn section_of<'n>(&self, name: &str, value: &'n Node) -> Option<(&'static str, &'n Node)> {
        let mut sections = self.places.iter().flat_map(|place| place.keys).filter(|rule| match rule.takes {
            Takes::Keys(table) => table.key(name).is_some(),
            _ => false,
        });
        match (sections.next(), sections.next()) {
            (Some(section), None) => Some((section.name, value)),
            _ => None,
        }
    }

    /// F002 for keys of other tools, at the first of those that say one thing together.
    fn report_foreign(&mut self, foreign: &ForeignKey, key: &syntax::MapKey, value: &'a Node) {
        let mut own = self.map.entries.iter().map(|(key, _)| key).filter(|key| foreign.has(&key.text) && self.rule(&key.text).is_none());
        if own.next().is_some_and(|first| first.span != key.span) {
            return;
        }
        let others: Vec<_> = own.collect();
        let message = format!("unknown key {} in {}", quoted(&key.text), self.owner);
        let help = foreign.help(self.map, value);
        // All of them go.
        let (help, go) = match help.strip_prefix("remove it") {
            Some(why) if !others.is_empty() => {
                let all: Vec<&str> = [key].into_iter().chain(others.iter().copied()).map(|key| key.text.as_str()).collect();
                (format!("remove {}{why}", listed(&all, "and")), "remove ")
            }
            _ => (help, ""),
        };
        let found = unknown_key(key.span, message).about(foreign.instead.map_or(About::Other, value_of)).help(help);
        let related = |found: Diagnostic, other: &&syntax::MapKey| found.related(other.span, format!("{go}{}, too", quoted(&other.text)));
        self.lower.report(others.iter().fold(found, related));
        self.meant.extend(foreign.instead.map(|name| (name, None)));
    }

    /// F002 for a key of another kind that can only be a slip of `meant`.
    pub(crate) fn report_slip(&self, key: &syntax::MapKey, meant: &str) {
        let near = Near::new(&key.text, [meant]);
        let message = format!("unknown key {} in {}{near}", quoted(&key.text), self.owner);
        let found = unknown_key(key.span, message).near(near).help(format!("write {meant}"));
        self.lower.report(found.proposed_fix(vec![(key.span, meant.to_owned())]));
    }

    /// What another tool's key may be called here, by the type of a field: `max` of a text is `max_length`.
    fn keys_for(&self, alias: &Alias) -> Vec<&'static str> {
        if self.is_field() { rules_for(alias.key, self.written_type()) } else { vec![alias.key] }
    }

    /// Whether a rule goes with the type of a field.
    fn type_has(&self, rule: &'static str) -> bool {
        !self.is_field() || rules_for(rule, self.written_type()).contains(&rule)
    }

    /// Whether a group of keys has one that belongs below this key; of another value nothing is asked.
    fn takes_keys_of(&self, name: &str, value: &Node) -> bool {
        match (self.rule(name).map(|rule| &rule.takes), value.as_map()) {
            (Some(Takes::Keys(table)), Some(map)) => {
                map.entries.is_empty() || map.entries.iter().any(|(key, _)| table.key(&key.text).is_some())
            }
            _ => true,
        }
    }

    fn is_field(&self) -> bool {
        self.is_at(&FIELD)
    }

    /// Whether these are among the keys of the place.
    fn is_at(&self, table: &'static KeyTable) -> bool {
        self.places.iter().any(|place| std::ptr::eq(*place, table))
    }

    fn written_type(&self) -> Option<&'a str> {
        self.map.get("type")?.as_scalar().map(|scalar| scalar.text.as_str())
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

    /// The keys that may be here, for a help line. Of a step that has no kind yet they are those of every step.
    fn allowed(&self) -> String {
        let (kinds, common): (Vec<&'static KeyTable>, Vec<&'static KeyTable>) =
            self.places.iter().partition(|place| KINDS.iter().any(|kind| std::ptr::eq(*kind, **place)));
        let listed = |places: Tables, without: Option<&str>| {
            let mut listed: Vec<&str> = vec![];
            for key in places.iter().flat_map(|place| place.keys).filter(|key| Some(key.name) != without) {
                if !listed.contains(&key.name) {
                    listed.push(key.name);
                }
            }
            listed.join(", ")
        };
        match kinds.as_slice() {
            [] => listed(&common, None),
            [kind] if kind.keys.len() == 1 => listed(&common, None),
            [kind] => format!("{} (of {}); {} (of every step)", listed(&[kind], Some(kind.name)), quoted(kind.name), listed(&common, None)),
            _ => format!("{}, or a key of its kind", listed(&common, None)),
        }
    }

    /// F004 for every required key that is not there.
    pub(crate) fn report_missing(&self, places: Tables) {
        for rule in places.iter().flat_map(|place| place.keys).filter(|rule| rule.is_required && !self.has(rule.name)) {
            let found = self.lacks(&format!("has no {}", quoted(rule.name))).about(About::Missing(rule.name));
            let code = self.map.get("python").and_then(Node::as_scalar).filter(|_| rule.name == "returns");
            let returned = code.and_then(|code| code.text.lines().find_map(|line| line.trim().strip_prefix("return ")));
            // A name for people tells what the id may be.
            let name = self.map.get("name").and_then(Node::as_scalar).filter(|_| rule.name == "id");
            let is_first = self.map.entries.first().is_some_and(|(key, _)| key.text == "name");
            let id = name.and_then(|name| id_of_name(&name.text, is_first, self.is_at(&EVERY_STEP)));
            self.lower.report(match returned {
                None if let Some(help) = id => found.help(help),
                Some(value) => Diagnostic { span: code.map_or(found.span, |_| self.key_span("python")), ..found }
                    .help(format!("write result = {value} in place of return {value}, and add returns: [result]: the code is no function")),
                None => found.help(format!("add {}: {}", rule.name, rule.about)),
            });
        }
    }
}

fn names(places: Tables) -> impl Iterator<Item = &'static str> {
    places.iter().flat_map(|place| place.keys).map(|key| key.name)
}

/// F002: a key that does not belong here.
pub(super) fn unknown_key(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownKey, span, message)
}
