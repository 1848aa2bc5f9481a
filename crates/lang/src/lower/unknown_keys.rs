//! F002: a key that its place does not know, with what was probably meant.

use super::aliases::{Alias, alias, rules_for};
use super::context::quoted;
use super::foreign::{ForeignKey, foreign};
use super::keys::{FIELD, KINDS, KeyRule, KeyTable, Tables, Takes};
use super::owner::KeyOwner;
use super::values::value_of;
use super::written_form::written_form;
use crate::diagnostic::{About, Code, Diagnostic, LONGEST_QUOTE, Near, akin, listed, nearest, one_line};
use crate::source::Span;
use crate::syntax::{self, Map, MapKey, Node};

/// The keys that are written at a place, and those that may be.
pub(super) struct KeyPlace<'a> {
    /// What is written.
    pub(super) map: &'a Map,
    /// What may be.
    pub(super) tables: Vec<&'static KeyTable>,
}

impl<'a> KeyPlace<'a> {
    /// The rule of a key that is allowed here.
    pub(super) fn rule(&self, name: &str) -> Option<&'static KeyRule> {
        self.tables.iter().find_map(|table| table.key(name))
    }

    /// Whether these are among the keys of the place.
    pub(super) fn is_at(&self, table: &'static KeyTable) -> bool {
        self.tables.iter().any(|own| std::ptr::eq(*own, table))
    }

    /// The text of a key's value.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.map.get(key)?.as_scalar().map(|scalar| scalar.text.as_str())
    }

    /// What another tool's key may be called here, by the type of a field: `max` of a text is `max_length`.
    fn keys_for(&self, alias: &Alias) -> Vec<&'static str> {
        if self.is_at(&FIELD) { rules_for(alias.key, self.text("type")) } else { vec![alias.key] }
    }

    /// Whether a rule goes with the type of a field.
    fn type_has(&self, rule: &'static str) -> bool {
        !self.is_at(&FIELD) || rules_for(rule, self.text("type")).contains(&rule)
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

    /// The one section of this place that has a key of this name.
    fn section_with(&self, name: &str) -> Option<&'static str> {
        let mut sections = self.tables.iter().flat_map(|table| table.keys).filter(|rule| match rule.takes {
            Takes::Keys(table) => table.key(name).is_some(),
            _ => false,
        });
        match (sections.next(), sections.next()) {
            (Some(section), None) => Some(section.name),
            _ => None,
        }
    }

    /// The keys that may be here, for a help line. Of a step that has no kind yet they are those of every step.
    fn allowed(&self) -> String {
        let (kinds, common): (Vec<&'static KeyTable>, Vec<&'static KeyTable>) =
            self.tables.iter().partition(|table| KINDS.iter().any(|kind| std::ptr::eq(*kind, **table)));
        let listed = |tables: Tables, without: Option<&str>| {
            let mut listed: Vec<&str> = vec![];
            for key in tables.iter().flat_map(|table| table.keys).filter(|key| Some(key.name) != without) {
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
}

/// The keys that were probably meant, each with its value if it can be read as such.
type MeantKeys<'a> = Vec<(&'static str, Option<&'a Node>)>;

/// A key that is not known where it stands.
pub(super) struct UnknownKey<'r, 'a> {
    /// The keys of the place.
    pub(super) place: &'r KeyPlace<'a>,
    /// Whose keys they are.
    pub(super) owner: &'r KeyOwner,
    /// The key.
    pub(super) key: &'a MapKey,
    /// Its value.
    pub(super) value: &'a Node,
}

impl<'a> UnknownKey<'_, 'a> {
    /// The finding, and what was meant; `None`: the first of the keys that say one thing together has it.
    pub(super) fn report(&self) -> Option<(Diagnostic, MeantKeys<'a>)> {
        if let Some(found) = self.cut_text() {
            return Some((found, vec![]));
        }
        let tables: Vec<&str> = self.place.tables.iter().map(|table| table.name).collect();
        let alias = alias(&self.key.text, &tables, |name| self.place.rule(name).is_some());
        let alias = alias.filter(|alias| alias.takes(&self.value.to_value()));
        if let Some(foreign) = foreign(&self.key.text, &tables)
            && !alias.is_some_and(|alias| foreign.is_only_named(alias.key, self.place.map, self.value))
        {
            return self.foreign(foreign);
        }
        let alias = alias.map(|alias| (alias, self.place.keys_for(alias))).filter(|(_, keys)| !keys.is_empty());
        Some(match alias {
            Some((alias, keys)) => self.called_otherwise(alias, &keys),
            None => self.misspelt(tables.contains(&"step")),
        })
    }

    fn found(&self, near: &[&str]) -> Diagnostic {
        let near = Near::new(&self.key.text, near.iter().copied());
        let message = format!("unknown key {} in {}{near}", quoted(&self.key.text), self.owner);
        unknown_key(self.key.span, message).near(near)
    }

    fn is_set(&self, name: &str) -> bool {
        self.place.map.get(name).is_some()
    }

    /// F002 for what follows a comma of a text without quotes in `{ }`, where it reads as a key.
    fn cut_text(&self) -> Option<Diagnostic> {
        let key = self.key;
        let entries = &self.place.map.entries;
        let before = entries.iter().position(|(own, _)| own.span == key.span).and_then(|place| place.checked_sub(1));
        let (name, node) = entries.get(before.filter(|_| key.text.contains(' '))?)?;
        let text = node.as_scalar().filter(|text| text.style == syntax::QuoteStyle::Plain && text.value.is_string())?;
        if !self.value.as_scalar()?.value.is_null() {
            return None;
        }
        let whole = syntax::quoted(&format!("{}, {}", text.text, key.text));
        let message = format!("the text of {} ends at its \",\": in {{ }} a text with a comma stands in quotes", quoted(&name.text));
        let found = unknown_key(key.span, message).help(format!("write {}: {whole}", name.text));
        Some(found.proposed_fix(vec![(node.span.to(key.span), whole)]))
    }

    /// A key that other tools have, and that is called otherwise here: one of these.
    fn called_otherwise(&self, alias: &Alias, keys: &[&'static str]) -> (Diagnostic, MeantKeys<'a>) {
        // The wait between two tries, which other tools write beside their number.
        let delay = self.place.map.get("delay").and_then(Node::as_scalar).filter(|_| alias.key == "retry");
        let delay = delay.map(|delay| format!("{}{}", delay.text, if delay.value.is_number() { "s" } else { "" }));
        let meant = alias.meant_for(&self.value.to_value(), delay.as_deref());
        let near: Vec<&str> = if keys == [alias.key] { meant.as_deref().into_iter().collect() } else { keys.to_vec() };
        let found = self.found(&near);
        if let Some(other) = keys.iter().find(|key| self.is_set(key)) {
            return (found.help(format!("remove it: {} is set, too", quoted(other))), vec![]);
        }
        let [meant] = near.as_slice() else {
            return match near.is_empty() {
                true => (found.help("remove it: it changes nothing"), vec![]),
                false => (
                    found.help(format!("write {}, depending on the type", keys.join(" or "))),
                    keys.iter().map(|key| (*key, None)).collect(),
                ),
            };
        };
        let and_delay = delay.map(|_| format!(" in place of {} and delay", self.key.text)).unwrap_or_default();
        let found = found.help(format!("write {meant}{and_delay}"));
        let edit = vec![(self.key.span, (*meant).to_owned())];
        let found = match alias.is_same_shape {
            false => found.about(value_of(alias.key)),
            // What opens tools is not written for anybody.
            true if alias.key == "allow" => found.proposed_fix(edit),
            true => found.safe_fix(edit),
        };
        (found, keys.iter().map(|key| (*key, alias.is_same_shape.then_some(self.value))).collect())
    }

    /// A key that is nearly one of the place, or one of another place.
    fn misspelt(&self, is_step: bool) -> (Diagnostic, MeantKeys<'a>) {
        let of_kind = |kind: &&&KeyTable| is_step && kind.key(&self.key.text).is_some();
        let kinds: Vec<&str> = KINDS.iter().filter(of_kind).map(|kind| kind.name).collect();
        let mut near = if kinds.is_empty() { nearest(&self.key.text, names(&self.place.tables)) } else { vec![] };
        near.retain(|name| self.place.type_has(name) && self.place.takes_keys_of(name, self.value));
        let found = self.found(&near);
        let rules = || near.iter().filter_map(|name| self.place.rule(name));
        match near.as_slice() {
            [] => self.elsewhere(found, &kinds, is_step),
            [name] if self.is_set(name) => (found.help(format!("remove it: {} is set, too", quoted(name))), vec![]),
            [name] => {
                let found = found.help(format!("write {name}")).proposed_fix(vec![(self.key.span, (*name).to_owned())]);
                (found, rules().map(|rule| (rule.name, Some(self.value))).collect())
            }
            [_, ..] => (found.help("write one of the two, or remove it"), rules().map(|rule| (rule.name, None)).collect()),
        }
    }

    /// A key that nothing here is called like: where it belongs, or what may be here.
    fn elsewhere(&self, found: Diagnostic, kinds: &[&str], is_step: bool) -> (Diagnostic, MeantKeys<'a>) {
        let key = &self.key.text;
        if let Some(section) = self.place.section_with(key) {
            let value = written_form(&self.value.to_value()).unwrap_or_else(|| "…".to_owned());
            let last = self.place.map.get(section).and_then(|section| section.as_map()?.entries.last());
            let help = match last {
                Some((last, _)) => format!("move it into {section}, below {} there and indented like it: {key}: {value}", last.text),
                None => format!("move it below {section}: {section}: {{ {key}: {value} }}"),
            };
            return (found.help(help), vec![]);
        }
        if let [table] = self.place.tables.as_slice()
            && table.name == "person"
        {
            let help = "remove it, and read the value itself where it is needed";
            let help = match (self.value.as_scalar(), written_form(&self.value.to_value())) {
                (Some(scalar), Some(_)) => format!("{help}: {}", one_line(&scalar.text, LONGEST_QUOTE)),
                (None, Some(value)) => format!("{help}: {value}"),
                (_, None) => help.to_owned(),
            };
            return (found.about(value_of("person")).help(help), vec![]);
        }
        if key.starts_with("x-") {
            return (found.about(value_of("<<")).help(self.written_out()), vec![]);
        }
        if is_step && alias(key, &["agent"], |name| name == "instructions").is_some() {
            return (found.help("write it as instructions of an agent below agents, and name that agent in the step"), vec![]);
        }
        if !kinds.is_empty() {
            return (found.help(format!("remove it; only these kinds of steps have it: {}", kinds.join(", "))), vec![]);
        }
        match akin(key, names(&self.place.tables)) {
            Some(name) => (found.help(format!("write {name}")), self.place.rule(name).map(|rule| (rule.name, None)).into_iter().collect()),
            None => (found.help(format!("use one of: {}", self.place.allowed())), vec![]),
        }
    }

    /// What is written in place of a part that other files share by an anchor.
    fn written_out(&self) -> String {
        let keys = self.value.as_map().and_then(|map| {
            let keys = map.entries.iter().map(|(key, node)| Some(format!("{}: {}", key.text, written_form(&node.to_value())?)));
            keys.collect::<Option<Vec<_>>>()
        });
        match keys {
            Some(keys) => {
                let keys = listed(&keys, "and");
                format!("remove it and what stands below it, and write {keys} in place of each line that begins with <<:")
            }
            None => "remove it, and write its keys out in each place that takes them by <<".to_owned(),
        }
    }

    /// Keys of other tools, at the first of those that say one thing together.
    fn foreign(&self, foreign: &ForeignKey) -> Option<(Diagnostic, MeantKeys<'a>)> {
        let is_one = |key: &&MapKey| foreign.has(&key.text) && self.place.rule(&key.text).is_none();
        let all: Vec<&MapKey> = self.place.map.entries.iter().map(|(key, _)| key).filter(is_one).collect();
        let (first, others) = all.split_first()?;
        if first.span != self.key.span {
            return None;
        }
        let words = if others.is_empty() { "it".to_owned() } else { listed(&all.iter().map(|key| &*key.text).collect::<Vec<_>>(), "and") };
        let (help, is_removed) = foreign.help(self.place.map, self.value, &words);
        let go = if is_removed { "remove " } else { "" };
        let found = self.found(&[]).about(foreign.instead.map_or(About::Other, value_of)).help(help);
        let related = |found: Diagnostic, other: &&MapKey| found.related(other.span, format!("{go}{}, too", quoted(&other.text)));
        Some((others.iter().fold(found, related), foreign.instead.map(|name| (name, None)).into_iter().collect()))
    }
}

/// The names of the keys of these tables.
pub(super) fn names(tables: Tables) -> impl Iterator<Item = &'static str> {
    tables.iter().flat_map(|table| table.keys).map(|key| key.name)
}

/// F002: a key that does not belong here.
pub(super) fn unknown_key(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownKey, span, message)
}
