//! What filters take and give: for types, for the texts that are known before a run, and for whose values are in what they give. A test holds it to
//! what they do.

use super::super::Value;
use super::super::types::Type;

/// What a filter takes; empty is left to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum FilterInput {
    /// Any value.
    Anything,
    /// What prints on one line: a text, a number, true or false.
    Printable,
    /// A text.
    Text,
    /// A date or a time, as a text.
    Moment,
    /// A text that holds JSON.
    Json,
    /// A list or a text.
    Sequence,
    /// What has a length: a list, an object or a text.
    Counted,
    /// A list, or an object for its keys.
    Elements,
    /// A list of numbers.
    Numbers,
    /// A list of objects.
    Rows,
    /// An object.
    Pairs,
    /// A number.
    Number,
    /// A number, or a text that holds one.
    Numeral,
}

impl FilterInput {
    /// Whether a value of this type may be given.
    pub(in super::super) fn accepts(self, kind: &Type) -> bool {
        let is_list = matches!(kind, Type::List(_));
        let is_object = matches!(kind, Type::Object(_));
        if matches!(kind, Type::Any | Type::Empty) {
            return true;
        }
        match self {
            FilterInput::Anything => true,
            FilterInput::Printable | FilterInput::Numeral => !is_list && !is_object,
            FilterInput::Text | FilterInput::Moment | FilterInput::Json => kind.is_text(),
            FilterInput::Sequence => is_list || kind.is_text(),
            FilterInput::Counted => is_list || is_object || kind.is_text(),
            FilterInput::Elements | FilterInput::Numbers => is_list || is_object,
            FilterInput::Rows => matches!(kind, Type::List(row) if matches!(**row, Type::Object(_) | Type::Any | Type::Empty)),
            FilterInput::Pairs => is_object,
            FilterInput::Number => kind.is_number(),
        }
    }

    /// In words.
    pub(in super::super) fn words(self) -> &'static str {
        match self {
            FilterInput::Anything => "any value",
            FilterInput::Printable => "a text or a number",
            FilterInput::Text => "a text",
            FilterInput::Moment => "a date such as 2026-11-18",
            FilterInput::Json => "a text that holds JSON",
            FilterInput::Sequence => "a list or a text",
            FilterInput::Counted => "a list, an object or a text",
            FilterInput::Elements | FilterInput::Numbers => "a list",
            FilterInput::Rows => "a list of rows",
            FilterInput::Pairs => "an object",
            FilterInput::Number => "a number",
            FilterInput::Numeral => "a number, or a text that holds one",
        }
    }
}

/// What a filter gives. Unless it says otherwise, that is made of all that the filter is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Gives {
    /// A text.
    Text,
    /// The text that it was given, with the same letters or others.
    Spelled(Respelling),
    /// A text: a date in the form of the first argument.
    DateText,
    /// A number.
    Number,
    /// How many there are, which shows none of them.
    Count,
    /// A list of texts.
    Texts,
    /// An element of what it was given. The other arguments only choose it.
    Element,
    /// The elements of what it was given, as a list. The other arguments only choose and order them.
    Elements,
    /// A list of pairs.
    Pairs,
    /// A list of groups, which are pairs with names.
    Groups,
    /// A date where it was given one, else a text.
    Moment,
    /// What it was given, with its elements in another order.
    Same,
    /// Anything.
    Anything,
}

/// What a filter does with the letters of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Respelling {
    /// All become capital letters.
    Capital,
    /// All become small letters.
    Small,
    /// Those at the ends go: blanks, or what the first argument says.
    Trimmed,
    /// They stay.
    Kept,
}

/// What stands first behind the name of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum FirstArgument<'v> {
    /// Nothing.
    Missing,
    /// A value that is written out.
    Written(&'v Value),
    /// What is known in a run.
    Computed,
}

impl Respelling {
    fn spell(self, text: &str) -> String {
        match self {
            Respelling::Capital => text.to_uppercase(),
            Respelling::Small => text.to_lowercase(),
            Respelling::Trimmed => text.trim().to_owned(),
            Respelling::Kept => text.to_owned(),
        }
    }
}

impl Gives {
    /// What it gives when it is given a value of this type, and this behind its name.
    pub(in super::super) fn result_type(self, kind: &Type, first: FirstArgument) -> Type {
        let element = || match kind {
            Type::List(element) => (**element).clone(),
            Type::Object(_) => Type::Text,
            kind if kind.is_text() => Type::Text,
            _ => Type::Any,
        };
        match (self, kind) {
            (Gives::Spelled(spelling), Type::OneOf(values)) if spelling != Respelling::Trimmed || first == FirstArgument::Missing => {
                let spelled: Vec<String> = values.iter().map(|value| spelling.spell(value)).collect();
                Type::one_of(spelled.iter().map(String::as_str))
            }
            (Gives::DateText, _) if let FirstArgument::Written(format) = first => match format.as_str().and_then(named_parts) {
                Some(names) => Type::one_of(names.iter().copied()),
                None => Type::Text,
            },
            (Gives::Text | Gives::Spelled(_) | Gives::DateText, _) => Type::Text,
            (Gives::Number, _) => Type::Number,
            (Gives::Count, _) => Type::within(Some(0.0), None),
            (Gives::Texts, _) => Type::list(Type::Text),
            (Gives::Element, _) => element(),
            (Gives::Elements, _) => Type::list(element()),
            (Gives::Pairs, _) => Type::list(Type::list(Type::Any)),
            (Gives::Groups, _) => Type::list(Type::Any),
            (Gives::Moment, Type::Date) => Type::Date,
            (Gives::Moment, _) => Type::Text,
            (Gives::Same, _) => kind.clone(),
            (Gives::Anything, _) => Type::Any,
        }
    }
}

/// What a part of a date can be, where that is a name.
fn named_parts(format: &str) -> Option<&'static [&'static str]> {
    Some(match format {
        "%A" => &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        "%a" => &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        "%B" => &["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"],
        "%b" | "%h" => &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        "%m" => &["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::TextPlace;
    use crate::template::{Scope, compile, expression, from_json};

    /// A filter with the least it needs.
    fn call(name: &str) -> String {
        match name {
            "replace" => "value | replace(\"a\", \"b\")".to_owned(),
            "date" => "value | date(\"%Y\")".to_owned(),
            "days" | "weeks" | "months" => format!("value | {name}(1)"),
            "start_of" => "value | start_of(\"month\")".to_owned(),
            "days_until" => "value | days_until(\"2026-11-19\")".to_owned(),
            "regex_replace" => "value | regex_replace(\"a\", \"b\")".to_owned(),
            "groupby" => "value | groupby(\"a\")".to_owned(),
            name => format!("value | {name}"),
        }
    }

    #[test]
    fn a_filter_runs_with_what_its_table_says_it_takes_and_gives_what_it_says() {
        let values = [
            json!("2026-11-18"),
            json!("7"),
            json!(3.5),
            json!(true),
            json!(["a", "b"]),
            json!([1, 2]),
            json!([{ "a": 1 }]),
            json!({ "a": 1 }),
        ];
        for filter in super::super::FILTERS {
            for value in &values {
                let kind = Type::of_value(value);
                let text = expression(&call(filter.name), TextPlace::default(), &mut vec![]);
                let mut scope = Scope::new();
                scope.set("value", from_json(value));
                let given = compile(&text).unwrap().fill(&scope);
                // Of a text only the run knows what it holds, and of a list what may be added and ordered.
                if filter.takes.accepts(&kind) {
                    let by_content =
                        matches!(filter.takes, FilterInput::Moment | FilterInput::Json | FilterInput::Numeral | FilterInput::Numbers)
                            || matches!(kind, Type::List(_));
                    assert!(given.is_ok() || by_content, "{} of {value}: {given:?}", filter.name);
                } else {
                    assert!(given.is_err(), "{} of {value} gives {given:?}", filter.name);
                }
                if let Ok(given) = given {
                    let given = Type::of_value(&crate::template::to_json(&given).unwrap());
                    assert!(
                        given.fits(&filter.gives.result_type(&kind, FirstArgument::Missing)),
                        "{} of {value} gives {given:?}",
                        filter.name
                    );
                }
            }
        }
    }
}
