//! Wordings that several rules share.

/// Most names of a list in a message.
const MOST_NAMES: usize = 12;

/// Names with commas between them; a long list is cut.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(AsRef::as_ref).collect();
    let rest = if names.len() > MOST_NAMES { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}
