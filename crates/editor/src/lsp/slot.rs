//! What a place of a file accepts, according to the tables of the language.

use crate::lower::FileKind;
use crate::lower::keys::{
    CASE, CASE_STEPS, CHECKS, EVERY_STEP, FIELD, FILE, KINDS, KeyRule, KeyTable, MODEL, OTHERWISE_STEPS, PROVIDERS, REPLY, STEP, TOOL,
    TOOL_KINDS, Takes,
};
use crate::syntax::Map;

/// A place that holds a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slot {
    /// The whole file.
    File(FileKind),
    /// The value of a key, or of a part of it.
    Takes(&'static Takes),
    /// An element of a list of steps.
    Step,
    /// One scripted reply.
    Reply,
}

/// The keys that a map accepts.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    /// The keys of these tables.
    pub places: Vec<&'static KeyTable>,
    /// Any other names, each with a value for this slot.
    each: Option<Slot>,
}

const SENTENCE: &Takes = &Takes::Sentence;
const LOOSE: &Takes = &Takes::Loose;
const FIELDS_EACH: &Takes = &Takes::Field;

impl Slot {
    /// Returns the slot of the elements of a list here.
    pub fn element(self) -> Option<Slot> {
        match self {
            Slot::Takes(Takes::Steps) => Some(Slot::Step),
            Slot::Takes(Takes::Replies) => Some(Slot::Reply),
            Slot::Takes(takes @ (Takes::Value | Takes::Constant)) => Some(Slot::Takes(takes)),
            Slot::Takes(Takes::Either(several)) => several.iter().find_map(|takes| Slot::Takes(takes).element()),
            Slot::Takes(Takes::List(each) | Takes::Filled(each) | Takes::Many(each)) => Some(Slot::Takes(each)),
            _ => None,
        }
    }

    /// Returns the keys that a map accepts here.
    pub fn keys(self, map: &Map) -> Keys {
        match self {
            Slot::File(kind) => Keys::from_tables(vec![kind.place()]),
            Slot::Step => of_kind(&[&STEP, &EVERY_STEP], KINDS, map),
            Slot::Reply => Keys::from_tables(vec![&REPLY]),
            Slot::Takes(takes) => match takes {
                Takes::Keys(place) if is_same_table(place, &CASE) => match map.get("steps") {
                    Some(_) => Keys::from_tables(vec![&CASE_STEPS]),
                    None => of_kind(&[&CASE, &EVERY_STEP], KINDS, map),
                },
                Takes::Keys(place) if is_same_table(place, &TOOL) => of_kind(&[&TOOL], TOOL_KINDS, map),
                Takes::Keys(place) if is_same_table(place, &MODEL) => {
                    let provider = map.get("provider").and_then(|node| node.as_scalar()).map(|scalar| scalar.text.as_str());
                    let own = PROVIDERS.iter().copied().filter(|own| provider.is_none_or(|provider| own.name == provider));
                    Keys::from_tables([&MODEL].into_iter().chain(own).collect())
                }
                Takes::Keys(place) => Keys::from_tables(vec![place]),
                Takes::Otherwise if map.get("steps").is_some() => Keys::from_tables(vec![&OTHERWISE_STEPS]),
                Takes::Otherwise => of_kind(&[&EVERY_STEP], KINDS, map),
                Takes::Field => Keys::from_tables(vec![&FIELD]),
                Takes::Fields => Keys::named(Slot::Takes(FIELDS_EACH)),
                Takes::Replies => Keys::from_tables(vec![&REPLY]),
                Takes::Expected => Keys::from_tables(vec![&CHECKS]),
                Takes::Schema => Keys::from_tables(vec![&FILE]),
                Takes::Secrets => Keys::named(Slot::Takes(SENTENCE)),
                Takes::Environment => Keys::named(Slot::Takes(LOOSE)),
                Takes::Named(each) | Takes::Defined(each) => Keys::named(Slot::Takes(each)),
                Takes::Many(each) => Slot::Takes(each).keys(map),
                Takes::Value | Takes::Constant | Takes::Mock => Keys::named(self),
                Takes::Either(several) => several.iter().fold(Keys::default(), |mut all, takes| {
                    let own = Slot::Takes(takes).keys(map);
                    all.places.extend(own.places);
                    Keys { each: own.each.or(all.each), ..all }
                }),
                _ => Keys::default(),
            },
        }
    }

    /// Returns what a single value accepts here; if there are several forms, all those that a text may have.
    pub fn values(self) -> Vec<&'static Takes> {
        match self {
            Slot::Takes(Takes::Either(several)) => several.iter().flat_map(|takes| Slot::Takes(takes).values()).collect(),
            Slot::Takes(Takes::Many(each)) => Slot::Takes(each).values(),
            Slot::Takes(takes) => vec![takes],
            _ => vec![],
        }
    }
}

impl Keys {
    fn from_tables(places: Vec<&'static KeyTable>) -> Keys {
        Keys { places, each: None }
    }

    fn named(each: Slot) -> Keys {
        Keys { places: vec![], each: Some(each) }
    }

    /// Returns the rule of a key.
    pub fn rule(&self, name: &str) -> Option<&'static KeyRule> {
        self.places.iter().find_map(|place| place.key(name))
    }

    /// Returns the slot of a key's value.
    pub fn under(&self, name: &str) -> Option<Slot> {
        self.rule(name).map(|key| Slot::Takes(&key.takes)).or(self.each)
    }
}

fn is_same_table(place: &'static KeyTable, other: &'static KeyTable) -> bool {
    std::ptr::eq(place, other)
}

/// Returns the keys of something with one of several kinds; those of all kinds if none is chosen.
fn of_kind(common: &[&'static KeyTable], kinds: &'static [&'static KeyTable], map: &Map) -> Keys {
    let chosen: Vec<&'static KeyTable> = kinds.iter().copied().filter(|kind| map.get(kind.name).is_some()).collect();
    let kinds = if chosen.is_empty() { kinds.to_vec() } else { chosen };
    Keys::from_tables(common.iter().copied().chain(kinds).collect())
}
