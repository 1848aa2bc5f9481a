//! Where in a file a mistake can be made: every key and value of the language, found by the tables of keys.

use flow_lang::lower::keys::{self, KeyTable, Takes};
use flow_lang::syntax::{Map, MapKey, Node};

/// A key of the language as it is written somewhere.
pub struct KeySite<'a> {
    /// The list of keys it stands in.
    pub owner: &'a Map,
    /// Which of them it is.
    pub index: usize,
    /// All keys that could be there.
    pub places: Vec<&'static KeyTable>,
    /// Whether the owner cannot do without it.
    pub is_required: bool,
    /// Whether it makes the step what it is.
    pub is_kind: bool,
}

/// A value and what its key takes.
pub struct ValueSite<'a> {
    /// The value.
    pub node: &'a Node,
    /// What may be there.
    pub takes: &'static Takes,
    /// The key, where the value has one.
    pub key: Option<&'a MapKey>,
}

/// A name of the author's.
pub struct Definition<'a> {
    /// The section: `agents`, `inputs`, `steps`, …
    pub section: &'static str,
    /// The name as it is written.
    pub name: &'a str,
    /// Where.
    pub start: usize,
}

/// All of them.
#[derive(Default)]
pub struct Sites<'a> {
    pub keys: Vec<KeySite<'a>>,
    pub values: Vec<ValueSite<'a>>,
    pub definitions: Vec<Definition<'a>>,
    /// Lists of steps.
    pub steps: Vec<&'a [Node]>,
}

impl<'a> Sites<'a> {
    /// Those of a file whose head is `place`.
    pub fn of(tree: &'a Node, place: &'static KeyTable) -> Sites<'a> {
        let mut sites = Sites::default();
        if let Some(map) = tree.as_map() {
            sites.map(map, &[place]);
        }
        sites
    }

    fn map(&mut self, map: &'a Map, places: &[&'static KeyTable]) {
        for (index, (key, node)) in map.entries.iter().enumerate() {
            let Some(known) = places.iter().find_map(|place| place.key(&key.text)) else { continue };
            let is_kind = keys::KINDS.iter().chain(keys::TOOL_KINDS).any(|kind| {
                places.iter().any(|place| std::ptr::eq(*place, *kind)) && kind.keys.first().is_some_and(|first| first.name == key.text)
            });
            let is_required = known.is_required;
            self.keys.push(KeySite { owner: map, index, places: places.to_vec(), is_required, is_kind });
            let section = ["inputs", "data", "agents", "models", "tools", "scorecards", "policies", "secrets"];
            if let (Some(section), Some(names)) = (section.iter().find(|name| **name == key.text), node.as_map())
                && places.iter().any(|place| place.name == "pipeline" || place.name == "shared definitions")
            {
                let named = names.entries.iter().map(|(key, _)| (key.text.as_str(), key.span.start as usize));
                self.definitions.extend(named.map(|(name, start)| Definition { section, name, start }));
            }
            self.value(node, &known.takes, Some(key));
        }
    }

    fn value(&mut self, node: &'a Node, takes: &'static Takes, key: Option<&'a MapKey>) {
        if !matches!(takes, Takes::Either(_)) || key.is_some() {
            self.values.push(ValueSite { node, takes, key });
        }
        self.inside(node, takes);
    }

    fn inside(&mut self, node: &'a Node, takes: &'static Takes) {
        match takes {
            Takes::Keys(place) => {
                if let Some(map) = node.as_map() {
                    self.map(map, &with_kinds(map, place));
                }
            }
            Takes::Named(takes) | Takes::Defined(takes) => {
                for (key, node) in node.as_map().map(|map| map.entries.as_slice()).unwrap_or_default() {
                    self.value(node, takes, Some(key));
                }
            }
            Takes::List(takes) | Takes::Filled(takes) | Takes::Many(takes) => {
                for node in node.as_list().unwrap_or_default() {
                    self.value(node, takes, None);
                }
            }
            Takes::Either(several) => {
                let fits = |takes: &&Takes| match takes {
                    Takes::Keys(_) | Takes::Named(_) | Takes::Defined(_) | Takes::Secrets | Takes::Environment | Takes::Fields => {
                        node.as_map().is_some()
                    }
                    Takes::List(_) | Takes::Filled(_) | Takes::Many(_) => node.as_list().is_some(),
                    _ => node.as_scalar().is_some(),
                };
                // `inputs` takes fields, or the one key `schema_file`: the first that fits is right for all shipped files.
                if let Some(takes) = several.iter().find(fits) {
                    self.inside(node, takes);
                }
            }
            Takes::Fields => {
                for (key, node) in node.as_map().map(|map| map.entries.as_slice()).unwrap_or_default() {
                    self.value(node, &Takes::Field, Some(key));
                }
            }
            Takes::Environment => {
                for (key, node) in node.as_map().map(|map| map.entries.as_slice()).unwrap_or_default() {
                    self.value(node, &Takes::Loose, Some(key));
                }
            }
            Takes::Field => {
                if let Some(map) = node.as_map() {
                    self.map(map, &[&keys::FIELD]);
                }
            }
            Takes::Steps => {
                let steps = node.as_list().unwrap_or_default();
                self.steps.push(steps);
                for map in steps.iter().filter_map(Node::as_map) {
                    if let Some((_, node)) = map.entry("id")
                        && let Some(id) = node.as_scalar()
                    {
                        self.definitions.push(Definition { section: "steps", name: &id.text, start: node.span.start as usize });
                    }
                    self.map(map, &step(map, Some(&keys::STEP)));
                }
            }
            Takes::Otherwise => {
                if let Some(map) = node.as_map() {
                    let places = if map.get("steps").is_some() { vec![&keys::OTHERWISE_STEPS] } else { step(map, None) };
                    self.map(map, &places);
                }
            }
            Takes::Replies => {
                for map in node.as_list().unwrap_or(std::slice::from_ref(node)).iter().filter_map(Node::as_map) {
                    self.map(map, &[&keys::REPLY]);
                }
            }
            _ => {}
        }
    }
}

fn with_kinds(map: &Map, place: &'static KeyTable) -> Vec<&'static KeyTable> {
    if std::ptr::eq(place, &keys::CASE) {
        return if map.get("steps").is_some() { vec![&keys::CASE_STEPS] } else { step(map, Some(place)) };
    }
    let mut places = vec![place];
    if std::ptr::eq(place, &keys::MODEL) {
        let provider = map.get("provider").and_then(Node::as_scalar).map(|scalar| scalar.text.as_str());
        places.extend(keys::PROVIDERS.iter().filter(|kind| Some(kind.name) == provider));
    }
    if std::ptr::eq(place, &keys::TOOL) {
        places.extend(of_kind(map, keys::TOOL_KINDS));
    }
    places
}

fn step(map: &Map, head: Option<&'static KeyTable>) -> Vec<&'static KeyTable> {
    head.into_iter().chain([&keys::EVERY_STEP]).chain(of_kind(map, keys::KINDS)).collect()
}

fn of_kind(map: &Map, kinds: &'static [&'static KeyTable]) -> impl Iterator<Item = &'static KeyTable> {
    kinds.iter().copied().filter(|kind| kind.keys.first().is_some_and(|key| map.get(key.name).is_some()))
}
