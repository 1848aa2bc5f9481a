//! Lists of `name=value`: connection strings, cookies and the properties of an address. A value may stand in quotes or braces, and hold then what
//! separates the others.

/// Names, without what joins their words, of values that say where or who, not how one gets in. What they hold counts only if it is long and random.
#[rustfmt::skip]
pub(super) const HARMLESS: [&str; 33] = [
    "account", "accountname", "address", "apiversion", "app", "application", "clientid", "database", "datasource", "db", "dbname", "domain",
    "driver", "endpoint", "endpointsuffix", "entitypath", "expires", "host", "hostname", "id", "initialcatalog", "name", "path", "port",
    "projectid", "protocol", "region", "scope", "server", "tenant", "type", "user", "userid",
];
/// What may stand around a value.
const AROUND: [(char, char); 3] = [('"', '"'), ('\'', '\''), ('{', '}')];
/// Names, without what joins their words, of which a list is no cookie but says how something is reached.
const CONNECTION: [&str; 16] = [
    "addr",
    "address",
    "database",
    "databasename",
    "datasource",
    "db",
    "dbname",
    "defaultendpointsprotocol",
    "driver",
    "dsn",
    "endpoint",
    "host",
    "hostname",
    "initialcatalog",
    "port",
    "server",
];

/// `name=value`, `name: value`. Base64 ends with `=`, too.
pub(super) fn pair(part: &str) -> Option<(&str, &str)> {
    let (name, value) = part.split_once('=').or_else(|| part.split_once(": "))?;
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && !value.trim_matches('=').is_empty()).then_some((name, value))
}

/// What a value may be read as: as it is written, or what is in its quotes or braces, also with its escapes read.
pub(super) fn readings(value: &str) -> Vec<String> {
    // What ends a list may stand behind its last value.
    let quoted = Some(value.trim_end_matches([';', ','])).filter(|value| value.ends_with(['"', '\'', '}'])).unwrap_or(value);
    let value = if quoted.starts_with(['"', '\'', '{']) { quoted } else { value };
    let inside = |(open, close): &(char, char)| Some((value.strip_prefix(*open)?.strip_suffix(*close)?, *close));
    let Some((inner, close)) = AROUND.iter().find_map(inside) else { return vec![value.to_owned()] };
    let doubled = inner.replace(&format!("{close}{close}"), &close.to_string());
    let mut escaped = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        escaped.push(if c == '\\' { characters.next().unwrap_or(c) } else { c });
    }
    let mut all = vec![inner.to_owned(), doubled, escaped];
    all.dedup();
    all
}

/// The items of a list. A separator in a value that stands in quotes or braces separates nothing.
pub(super) fn items(text: &str, separator: char) -> Vec<&str> {
    let (mut found, mut start, mut at) = (vec![], 0, 0);
    while let Some(c) = text[at..].chars().next() {
        if c == separator {
            found.push(&text[start..at]);
            start = at + c.len_utf8();
        }
        let is_value = matches!(text[start.min(at)..at].trim_end().chars().next_back(), Some('=' | ':'));
        let closing =
            AROUND.iter().find(|(open, _)| is_value && *open == c).and_then(|(_, close)| closed(&text[at + 1..], *close, separator));
        at += closing.map_or(c.len_utf8(), |end| end + 1);
    }
    found.push(&text[start..]);
    found
}

/// Where a value ends that stands in quotes or braces: behind the sign that closes it, and before a separator or the end.
fn closed(rest: &str, close: char, separator: char) -> Option<usize> {
    let mut characters = rest.char_indices();
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            characters.next();
        } else if c == close {
            let after = &rest[at + 1..];
            if after.starts_with(close) {
                characters.next();
            } else if after.is_empty() || after.starts_with([separator, ' ']) {
                return Some(at + 1);
            }
        }
    }
    None
}

/// The names and values of a text in XML: attributes, elements without others in them, and in a list of Apple's the `<key>` before a value. `None`: it is
/// no such text.
pub(super) fn of_xml(text: &str) -> Option<Vec<(&str, &str)>> {
    (text.starts_with('<') && text.ends_with('>')).then_some(())?;
    let (mut found, mut key) = (vec![], None);
    for piece in text.split('<').skip(1) {
        let (tag, inner) = piece.split_once('>')?;
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        found.extend(items(attributes.trim_end_matches(['/', '?']), ' ').into_iter().filter_map(pair));
        let inner = inner.trim();
        if name == "key" {
            key = Some(inner);
        } else if !inner.is_empty() && !name.starts_with('/') {
            found.push((key.take().unwrap_or(name), inner));
        }
    }
    Some(found)
}

/// An address, and the properties behind it: `host:1433;user=svc;password=…`.
pub(super) fn properties(address: &str) -> (&str, Vec<&str>) {
    let is_property = |at: &usize| {
        let next = address[at + 1..].split(';').next().unwrap_or_default();
        pair(next).is_some_and(|(name, _)| is_name(name)) && !address[..*at].contains(['?', '#'])
    };
    match address.match_indices(';').map(|(at, _)| at).find(is_property) {
        Some(at) => (&address[..at], items(&address[at + 1..], ';')),
        None => (address, vec![]),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '))
}

/// Whether the items of a list, separated by `;`, are a cookie: no name of them says how something is reached, and a pair alone has no harmless
/// name.
pub(super) fn is_cookie(items: &[&str]) -> bool {
    let names: Vec<String> =
        items.iter().filter_map(|item| pair(item)).map(|(name, _)| name.to_lowercase().replace(['_', '-', ' '], "")).collect();
    let none_is = |list: &[&str]| names.iter().all(|name| !list.contains(&&**name));
    !names.is_empty() && none_is(&CONNECTION) && (names.len() > 1 || none_is(&HARMLESS))
}
