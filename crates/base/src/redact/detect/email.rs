//! E-mail addresses (the forms of RFC 5322 that people use; letters of any script).

use super::super::{Detection, PiiKind};
use super::add;

pub(super) fn find(text: &str, found: &mut Vec<Detection>) {
    let mut floor = 0;
    for (at, sign) in text.match_indices(SIGNS) {
        if at < floor {
            continue;
        }
        if let Some((start, end)) = address(text, floor, at, sign.len()) {
            add(found, PiiKind::Email, start, end);
            floor = end;
        }
    }
}

/// The sign of an address, as it is typed and in the forms of East Asian keyboards; programs for mail read them alike.
const SIGNS: [char; 3] = ['@', '\u{ff20}', '\u{fe6b}'];
/// The dots of a domain, likewise (UTS #46).
const DOTS: [char; 4] = ['.', '\u{ff0e}', '\u{3002}', '\u{ff61}'];

fn address(text: &str, floor: usize, at: usize, sign: usize) -> Option<(usize, usize)> {
    let (left, right) = (text.get(floor..at)?, text.get(at + sign..)?);
    let local: usize = left.chars().rev().take(64).take_while(|c| is_local(*c)).map(char::len_utf8).sum();
    let local = left.get(left.len() - local..)?.trim_start_matches(['.', '-', '\'', '/', '=', '&']);
    // `a%40b` and `name=ana@…`: what is before the last `=` is not part of an address in a query.
    let local = local.rsplit(['=', '/', '&']).next().unwrap_or(local);
    if local.is_empty() || local.ends_with('.') {
        return None;
    }
    if is_user_of_address(left) {
        return None;
    }
    let domain: usize =
        right.chars().take(253).take_while(|c| c.is_alphanumeric() || *c == '-' || DOTS.contains(c)).map(char::len_utf8).sum();
    let domain = right.get(..domain)?.trim_end_matches(|c| c == '-' || DOTS.contains(&c));
    let (name, top) = domain.rsplit_once(DOTS)?;
    let top_is_fine = top.chars().count() >= 2 && (top.chars().all(char::is_alphabetic) || top.starts_with("xn--"));
    if !top_is_fine
        || name.is_empty()
        || name.starts_with(|c| c == '-' || DOTS.contains(&c))
        || name.ends_with(DOTS)
        || domain.contains("..")
    {
        return None;
    }
    // Pictures for sharp screens (`logo@2x.png`), and addresses of code (`git@host:path`).
    let is_picture = name.strip_suffix('x').is_some_and(|scale| !scale.is_empty() && scale.bytes().all(|byte| byte.is_ascii_digit()));
    let after = right.get(domain.len()..)?;
    let is_code = local == "git" && after.starts_with([':', '/']);
    if is_picture || is_code {
        return None;
    }
    Some((at - local.len(), at + sign + domain.len()))
}

/// Whether what is before the `@` is the user of a web address, which is found as such.
fn is_user_of_address(left: &str) -> bool {
    let near: usize = left.chars().rev().take(128).take_while(|c| !c.is_whitespace()).map(char::len_utf8).sum();
    let near = left.get(left.len() - near..).unwrap_or_default();
    near.rfind("://").is_some_and(|at| !near[at + 3..].contains(['/', '?', '#']))
}

fn is_local(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '.' | '_' | '%' | '+' | '-' | '\'' | '!' | '#' | '$' | '&' | '/' | '=' | '?' | '^' | '{' | '|' | '}' | '~')
}
