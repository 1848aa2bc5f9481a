//! The elements of lists, and their fields.

use minijinja::value::ValueKind;

use super::super::Value;
use super::super::budget::Budget;
use super::super::print::shortened;
use super::super::stop::FillStop;

/// The elements of a list, and the keys of an object; empty has none. `None` for what is neither.
pub(in super::super) fn list_of(value: &Value, budget: &mut Budget) -> Result<Option<Vec<Value>>, FillStop> {
    match value.kind() {
        ValueKind::None => Ok(Some(vec![])),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
            budget.elements(value.len().unwrap_or(0))?;
            Ok(value.try_iter().ok().map(Iterator::collect))
        }
        _ => Ok(None),
    }
}

/// The field of an element; a name with dots goes down. `None` where it is not there.
pub(in super::super) fn field(element: &Value, name: &Value) -> Option<Value> {
    let Some(path) = name.as_str() else {
        return element.get_item(name).ok().filter(|value| !value.is_undefined());
    };
    path.split('.').try_fold(element.clone(), |value, part| {
        let found = match part.parse::<usize>() {
            Ok(index) if value.kind() == ValueKind::Seq => value.get_item_by_index(index),
            _ => value.get_attr(part),
        };
        found.ok().filter(|value| !value.is_undefined())
    })
}

/// The reason when an element has no such field.
pub(in super::super) fn no_field(index: usize, name: &Value) -> FillStop {
    FillStop::failed(format!("element {} of the list has no \"{}\"", index + 1, shortened(&name.to_string())))
}
