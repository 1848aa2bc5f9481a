//! Keys and passwords in files of authors, where they should not be.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::detect::{address, keys};
use super::{Kind, is_recognised};

/// Parts of names whose values let somebody in.
const WORDS: [&str; 9] = ["authorization", "api_key", "apikey", "token", "secret", "password", "passwd", "credential", "cookie"];

/// Whether a value of this name is a key, token or password.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    name == "key" || name.ends_with("_key") || WORDS.iter().any(|word| name.contains(word))
}

/// Whether a value that stands where a key does is one: with digits, of 8 characters or more, and without blanks but for `Bearer …`. Not
/// what stands in for a key where none is needed (`none`, `not-needed`).
pub fn looks_like_key(value: &str) -> bool {
    let value = value.trim();
    let bare =
        ["Bearer ", "Basic ", "bearer ", "basic ", "Token "].iter().find_map(|scheme| value.strip_prefix(scheme)).unwrap_or(value).trim();
    is_recognised(bare)
        && bare.chars().any(|c| c.is_ascii_digit())
        && bare.chars().any(char::is_alphabetic)
        && !bare.contains(char::is_whitespace)
}

/// What has the shape of a key, of a token, of a private key, or of a log-in in a web address.
pub fn keys_in(text: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    keys::find(text, &mut found);
    address::find(text, &mut found);
    found.into_iter().filter(|found| matches!(found.kind, Kind::Key | Kind::Jwt | Kind::Pem | Kind::Url)).map(|found| found.range).collect()
}

/// `name: value`, `name = value`, as YAML, TOML and JSON write them.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)["']?([a-z0-9_-]*(?:authorization|api[_-]?key|token|secret|password|passwd|_key))["']?[ \t]*[:=][ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s,}\]#"'{$][^\n,}\]#]*))"#).ok()
});

/// The same in the text of a file, which may be broken: also what a name such as `password` or `CRM_TOKEN` gives away.
pub fn keys_in_source(text: &str) -> Vec<Range<usize>> {
    let mut found = keys_in(text);
    for captures in NAMED.iter().flat_map(|named| named.captures_iter(text)) {
        let name = captures.get(1).map_or("", |name| name.as_str()).to_ascii_lowercase();
        let Some(value) = (2..5).find_map(|group| captures.get(group)) else { continue };
        let written = value.as_str().trim();
        let is_filled = written.contains("{{")
            || written.starts_with(['$', '&', '*'])
            || ["secrets.", "env."].iter().any(|root| written.starts_with(root));
        let is_password = name.ends_with("password") && written.len() >= 4 && !written.contains(char::is_whitespace) && written != "text";
        if !is_filled && (is_password || looks_like_key(written)) {
            let length = value.as_str().trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).len();
            found.push(value.start()..value.start() + length);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_of_keys_are_known_and_ordinary_ones_left_alone() {
        for name in ["api_key", "X-API-Key", "Authorization", "CRM_TOKEN", "password", "client_secret", "key"] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["keyboard", "content-type", "user", "monkeys"] {
            assert!(!names_a_secret(name), "{name}");
        }
        for value in ["Bearer Zq8wLm47", "sk-live-12ab34cd", "x9x9x9x9"] {
            assert!(looks_like_key(value), "{value}");
        }
        for value in ["none", "not-needed", "Token of the CRM, page 2", "2026-01-05", "Bearer x"] {
            assert!(!looks_like_key(value), "{value}");
        }
    }

    #[test]
    fn keys_are_found_in_the_text_of_a_file_that_is_broken() {
        let hidden = |text: &str| keys_in_source(text).into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>();
        assert_eq!(hidden("tools: { m: { smtp: h:25, password: hunter2, from: a }"), ["hunter2"]);
        assert_eq!(hidden("secrets:\n  CRM_TOKEN: tok4711abc # old\n  B_KEY: Key of B, from page 2\n"), ["tok4711abc"]);
        assert_eq!(hidden("api_key = \"my0wnk3y8\""), ["my0wnk3y8"]);
        assert_eq!(hidden("headers: { Authorization: Bearer q8w7e6r5 }"), ["Bearer q8w7e6r5"]);
        for text in [
            "max_tokens: 4000",
            "api_key: \"{{ secrets.A_KEY1 }}\"",
            "password: $PASS1234",
            "inputs: { password: text }",
            "api_key: {{ env.X1 }}",
        ] {
            assert_eq!(hidden(text), [""; 0], "{text}");
        }
    }
}
