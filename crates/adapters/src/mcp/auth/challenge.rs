//! The header `WWW-Authenticate`, with which a server requests a token (RFC 9110 11.6.1, RFC 6750, RFC 9728).

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// The parameters of a `Bearer` challenge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::mcp) struct Challenge {
    /// The address of the server's metadata.
    pub(super) resource_metadata: Option<String>,
    /// The scopes that this request requires.
    pub(in crate::mcp) scopes: Vec<String>,
    /// Why a token was rejected.
    pub(in crate::mcp) error: Option<String>,
}

impl Challenge {
    pub(in crate::mcp) fn from_headers(headers: &HeaderMap) -> Challenge {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let mut challenge = Challenge::default();
        values.for_each(|value| challenge.read(value));
        challenge
    }

    fn read(&mut self, text: &str) {
        let (mut rest, mut is_bearer) = (text, false);
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return;
            }
            // A name without a value is the scheme of a new challenge.
            let Some(value) = after.trim_start().strip_prefix('=') else {
                is_bearer = name.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let (value, after) = read_value(value.trim_start());
            rest = after;
            if !is_bearer {
                continue;
            }
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => self.resource_metadata = Some(value),
                "scope" => self.scopes = value.split(' ').filter(|scope| is_scope(scope)).map(str::to_owned).collect(),
                "error" => self.error = Some(value),
                _ => {}
            }
        }
    }
}

/// Reads a token or a quoted string, and returns it with the rest of the text.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut value, mut characters) = (String::new(), quoted.char_indices());
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, next)| next)),
            other => value.push(other),
        }
    }
    (value, "")
}

/// Whether this is a valid scope (RFC 6749, appendix A.4) of at most 256 bytes.
pub(in crate::mcp) fn is_scope(scope: &str) -> bool {
    !scope.is_empty() && scope.len() <= 256 && scope.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Challenge {
        let mut challenge = Challenge::default();
        challenge.read(text);
        challenge
    }

    #[test]
    fn a_bearer_challenge_is_read_among_others() {
        let found =
            of("Basic realm=\"a, scope=no\", Bearer error=\"insufficient_scope\",scope=\"a:b c\" , resource_metadata=\"https://a/\\x\"");
        assert_eq!(found.scopes, ["a:b", "c"]);
        assert_eq!(found.error.as_deref(), Some("insufficient_scope"));
        assert_eq!(found.resource_metadata.as_deref(), Some("https://a/x"));
        for odd in ["", "Bearer", "Bearer scope", "=", "Bearer scope=\"", "DPoP scope=\"x\", resource_metadata=\"y\"", "Bearer \u{e9}=1"] {
            assert_eq!(of(odd), Challenge::default(), "{odd}");
        }
    }
}
