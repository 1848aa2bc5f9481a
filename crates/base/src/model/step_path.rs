//! How the path of a step is written, as in events, tests and messages: `facts`, `facts/today`, `facts/report/text`, `each[2]/draft`.
//! Nothing else writes or reads one.

use std::borrow::Cow;

use super::Case;

/// The path of a step or case inside another one; of one in a pipeline's own list where that is empty.
pub fn inside(above: &str, id: &str) -> String {
    if above.is_empty() { id.to_owned() } else { format!("{above}/{id}") }
}

/// The path of an element of a `for_each`, counted from 0, or of a call of a tool that is a pipeline.
pub fn element(list: &str, place: impl std::fmt::Display) -> String {
    format!("{list}[{place}]")
}

/// The path of the `for_each` that an element belongs to.
pub fn element_of(path: &str) -> Option<&str> {
    Some(path.strip_suffix(']')?.rsplit_once('[')?.0)
}

/// Of a path that is, or leads into, an element of a `for_each` in the pipeline's own list: that list, the element's place, and the path below the
/// element, which is empty for the element itself.
pub fn outermost_element(path: &str) -> Option<(&str, usize, &str)> {
    let (first, below) = path.split_once('/').unwrap_or((path, ""));
    let (list, place) = first.strip_suffix(']')?.rsplit_once('[')?;
    Some((list, place.parse().ok()?, below))
}

/// The name under which something is written for a step: its path, or one that leaves out places of elements and rounds; the nearest of those
/// that are known.
pub fn written_for<'p>(path: &'p str, is_known: impl Fn(&str) -> bool) -> Option<Cow<'p, str>> {
    if is_known(path) {
        return Some(Cow::Borrowed(path));
    }
    // Places from the inside out, one more left out each time.
    let mut name = path.to_owned();
    while let Some(from) = name.rfind('[') {
        let to = name[from..].find(']').map_or(name.len(), |end| from + end + 1);
        name.replace_range(from..to, "");
        if is_known(&name) {
            return Some(Cow::Owned(name));
        }
    }
    None
}

/// What a step stands in, and its own part of the path.
pub fn split(path: &str) -> Option<(&str, &str)> {
    path.rsplit_once('/')
}

/// The last part: `draft[2]` of `each[1]/draft[2]`.
pub fn last(path: &str) -> &str {
    split(path).map_or(path, |(_, last)| last)
}

/// The ids of which it consists: `each`, `draft` of `each[1]/draft[2]`.
pub fn ids(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').map(|part| part.split('[').next().unwrap_or(part))
}

/// Whether a path is another one without some of its numbers: `s/ask/b` of `s/ask[2]/b`.
pub fn leaves_out_numbers(path: &str, other: &str) -> bool {
    let (mut parts, mut others) = (path.split('/'), other.split('/'));
    let each = parts.by_ref().zip(others.by_ref()).all(|(part, other)| {
        let rest = other.strip_prefix(part);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    });
    each && path != other && path.matches('/').count() == other.matches('/').count()
}

/// The id of the step: `draft` of `each[1]/draft[2]`.
pub fn id(path: &str) -> &str {
    ids(path).next_back().unwrap_or(path)
}

/// The step of the pipeline's own list that it is, or is in: `each` of `each[1]/draft[2]`.
pub fn outermost(path: &str) -> &str {
    ids(path).next().unwrap_or(path)
}

/// Whether a path leads into a step: to an element of it, or to something that is in it.
pub fn leads_into(path: &str, step: &str) -> bool {
    path.strip_prefix(step).is_some_and(|rest| rest.starts_with(['/', '[']))
}

impl Case {
    /// What the paths of its steps begin with; of a case that is one step, that step has the case's id.
    pub fn path_in(&self, route: &str) -> String {
        if self.has_steps { inside(route, &self.id.value) } else { route.to_owned() }
    }
}
