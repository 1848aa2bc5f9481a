//! Wordings that several rules share.

/// Most names of a list in a message.
const MOST_NAMES: usize = 12;

/// Names with commas between them; a long list is cut.
pub(super) fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<T> = names.by_ref().take(MOST_NAMES).collect();
    let rest = if names.next().is_some() { ", …" } else { "" };
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    format!("{}{rest}", shown.join(", "))
}
