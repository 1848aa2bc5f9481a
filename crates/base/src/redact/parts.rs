//! The parts of a secret that are secret by themselves: somebody who read it repeats one of them. One rule for connection strings, addresses with a key in
//! them, cookies, JSON, `user:password` and texts of several lines.
//!
//! A part counts by its place (the password of an address, the value behind a name such as `client_secret`), or because it is no common text:
//! names of hosts, keys and folders, words, versions and dates stay readable.

use std::collections::BTreeSet;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use serde_json::Value;

use super::encoded::percent_decoded;
use super::is_recognised;
use super::lists::{HARMLESS, is_cookie, items, of_xml, pair, properties, readings};
use super::written::{looks_random, names_a_secret};

/// Parts inside parts, at most: a cookie in JSON in base64.
const DEEPEST: usize = 5;
/// Most parts of one secret.
const MOST: usize = 256;
/// Base64 with or without the signs that fill it up.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// A secret and its parts, the whole first.
pub(super) fn with_parts(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned()];
    parts_of(secret, 0, &mut all);
    all.truncate(MOST);
    all
}

/// What lets somebody in of an address, or of a part of one, that is no secret as a whole: its log-in, and what is no common text in its path and behind it.
pub fn keys_in_address(address: &str) -> Vec<String> {
    let (address, mut found) = (address.trim(), vec![]);
    match address.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
        Some((_, rest)) => parts_of_address(rest, false, 1, &mut found),
        None => word_of(address, 1, &mut found),
    }
    found.retain(|key| is_recognised(key));
    found.truncate(MOST);
    found
}

/// Adds the parts of a text.
fn parts_of(text: &str, depth: usize, found: &mut Vec<String>) {
    let text = text.trim();
    if depth > DEEPEST || found.len() >= MOST {
        return;
    }
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
        return parts_of_json(None, &value, depth, found);
    }
    let read = [percent_decoded(text), text.contains("\\n").then(|| text.replace("\\r", "").replace("\\n", "\n"))];
    for read in read.into_iter().flatten() {
        parts_of(&read, depth + 1, found);
        // Of a part it was decided already whether all of it counts.
        found.extend(Some(read).filter(|_| depth == 0));
    }
    if let Some(named_values) = of_xml(text) {
        return named_values.into_iter().for_each(|(name, value)| named(name, value, depth, found));
    }
    if text.contains('\n') {
        return parts_of_lines(text, depth, found);
    }
    if let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
        return parts_of_address(rest, ["http", "https", "ws", "wss"].contains(&&*scheme.to_ascii_lowercase()), depth, found);
    }
    if text.contains(" = ") {
        parts_of(&text.replace(" = ", "="), depth + 1, found);
    }
    logins_of(text, depth, found);
    let pairs = |separator: char| items(text, separator).into_iter().filter(|part| pair(part).is_some()).count();
    // What separates most pairs: a value may hold other separators. Of equal ones the last counts.
    let separator = [' ', ',', '&', ';'].into_iter().max_by_key(|separator| pairs(*separator)).filter(|separator| pairs(*separator) > 0);
    match separator {
        Some(separator) => {
            let items = items(text, separator);
            if depth == 0 && separator == ';' && is_cookie(&items) {
                items.iter().for_each(|item| part_of_cookie(item, found));
            }
            items.into_iter().for_each(|part| part_of_list(part.trim(), depth, found));
        }
        None if text.contains(char::is_whitespace) => parts_of_words(text, depth, found),
        None if text.contains([',', '|', ';']) && text.split([',', '|', ';']).any(tells) => {
            text.split([',', '|', ';']).for_each(|piece| word_of(piece, depth, found));
            inner_of(text, depth, found);
        }
        None => inner_of(text, depth, found),
    }
}

/// Words: of a command, what is behind or in an option that lets in (`-pSECRET`, `--password SECRET`), too.
fn parts_of_words(text: &str, depth: usize, found: &mut Vec<String>) {
    let mut option = "";
    for word in text.split_whitespace() {
        word_of(word, depth, found);
        if let Some(value) = word.strip_prefix("-p").filter(|value| is_by_place(value)) {
            add(value, found);
        }
        if lets_in(&snake(option)) && !word.starts_with('-') {
            named(option, word, depth, found);
        }
        option = word.strip_prefix("--").unwrap_or_default();
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b':'))
}

/// `name=value`, or a value alone.
fn part_of_list(part: &str, depth: usize, found: &mut Vec<String>) {
    match pair(part) {
        Some((name, value)) => named(name, value, depth, found),
        None => word_of(part, depth, found),
    }
}

/// Adds what a cookie holds, whatever its name is: a value that joins words or digits by hyphens is a session, too.
fn part_of_cookie(item: &str, found: &mut Vec<String>) {
    if let Some((_, value)) = pair(item).filter(|(name, value)| !is_attribute(name) && is_by_place(value)) {
        add(value, found);
    }
}

/// What a server says about its cookie (RFC 6265, 4.1.1).
fn is_attribute(name: &str) -> bool {
    ["domain", "expires", "max-age", "path", "samesite"].contains(&&*name.to_ascii_lowercase())
}

/// Whether a text counts where keys stand: it need not be random, but is neither a host, an address nor a date.
fn is_by_place(text: &str) -> bool {
    let is_date = text.len() >= 10
        && text.bytes().take(10).enumerate().all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() });
    is_recognised(text) && !is_host(text) && !text.contains("://") && !is_date
}

/// A value with its name.
fn named(name: &str, value: &str, depth: usize, found: &mut Vec<String>) {
    let name = snake(name);
    let is_harmless = HARMLESS.contains(&&*name.replace(['_', ' '], ""));
    for value in readings(value) {
        let counts = if lets_in(&name) {
            is_recognised(&value)
        } else if is_harmless {
            looks_random(&value) && tells(&value)
        } else {
            tells(&value)
        };
        if counts {
            add(&value, found);
        }
        parts_of(&value, depth + 1, found);
    }
}

/// Whether a value of this name lets somebody in.
fn lets_in(name: &str) -> bool {
    names_a_secret(name) || ["sig", "signature"].iter().any(|end| name == *end || name.ends_with(&format!("_{end}")))
}

/// A name in one form: `SharedAccessKey` is `shared_access_key`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            snake.push('_');
        }
        snake.extend(if c == '-' { '_' } else { c }.to_lowercase());
        before = c;
    }
    snake
}

/// Adds a part, also as it is once it was read, and without the signs that fill up base64 or end a list.
fn add(part: &str, found: &mut Vec<String>) {
    let bare = Some(part.trim_end_matches(['=', ';', ','])).filter(|bare| bare.len() < part.len() && is_recognised(bare));
    found.extend([Some(part.to_owned()), percent_decoded(part), bare.map(str::to_owned)].into_iter().flatten());
}

/// A part without a name.
fn word_of(word: &str, depth: usize, found: &mut Vec<String>) {
    if tells(word) {
        add(word, found);
    }
    parts_of(word, depth + 1, found);
}

/// The password of `user:password@…`, `user/password@…`, and of `user:pass phrase` with blanks in it.
fn logins_of(text: &str, depth: usize, found: &mut Vec<String>) {
    // A password may hold the sign that ends it, and so may what follows.
    let ends: BTreeSet<usize> = [text.find('@'), text.rfind('@')].into_iter().flatten().collect();
    for login in ends.into_iter().map(|end| &text[..end]) {
        // Before the user may stand what the address is for: `jdbc:oracle:thin:user/password`.
        let slash = login.split_once('/').map(|(user, password)| (user.rsplit(':').next().unwrap_or(user), password));
        for (_, password) in [login.split_once(':'), slash].into_iter().flatten().filter(|(user, _)| is_user(user)) {
            if is_recognised(password) && !password.starts_with("//") {
                add(password, found);
                parts_of(password, depth + 1, found);
            }
        }
    }
    if let Some((_, phrase)) = text.split_once(':').filter(|(user, phrase)| is_user(user) && !phrase.starts_with(char::is_whitespace)) {
        found.extend(Some(phrase.to_owned()).filter(|phrase| phrase.contains(char::is_whitespace) && is_recognised(phrase)));
    }
}

fn is_user(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+' | '$' | '#' | '\\'))
}

/// What is in a text without blanks and pairs: `user:password`, and the same in base64.
fn inner_of(text: &str, depth: usize, found: &mut Vec<String>) {
    if let Some((user, password)) = text.split_once(':').filter(|(user, _)| is_user(user)) {
        if is_recognised(password) && !is_host(password) && !password.starts_with("//") {
            add(password, found);
        }
        word_of(user, depth + 1, found);
        return parts_of(password, depth + 1, found);
    }
    let decoded = BASE64.decode(text.replace('-', "+").replace('_', "/")).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(inner) = decoded.filter(|inner| inner.contains(':') && !inner.contains(char::is_control)) {
        parts_of(&inner, depth + 1, found);
    }
}

/// What stands behind `scheme://`.
fn parts_of_address(rest: &str, is_web: bool, depth: usize, found: &mut Vec<String>) {
    let (place, list) = properties(rest);
    list.iter().for_each(|item| part_of_list(item.trim(), depth + 1, found));
    let split = |rest: &str| rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password before the host may look like a property.
    let authority = &rest[..split(rest)];
    let after = &place[split(place)..];
    if let Some((login, _)) = authority.rsplit_once('@') {
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        if is_recognised(password) {
            add(password, found);
        }
        word_of(user, depth + 1, found);
        parts_of(password, depth + 1, found);
    }
    let (path, asked) = after.split_at(after.find(['?', '#']).unwrap_or(after.len()));
    path.split('/').for_each(|segment| word_of(segment, depth + 1, found));
    let asked: Vec<&str> = asked.split(['?', '#', '&', ';']).collect();
    asked.iter().for_each(|pair| part_of_list(pair, depth + 1, found));
    if is_web && depth == 0 {
        whole_path(authority.rsplit('@').next().unwrap_or(authority), path, after, found);
    }
    let has_other_key = authority.contains('@') || asked.iter().any(|item| pair(item).is_some_and(|(name, _)| lets_in(&snake(name))));
    if is_web && !has_other_key {
        end_of_path(path, found);
    }
}

/// Adds the path of a web address, with what is asked behind it and without: of such an address no more is told than its host. A path of one folder or of
/// a few letters is in ordinary texts, too, and counts behind its host alone.
fn whole_path(host: &str, path: &str, after: &str, found: &mut Vec<String>) {
    let is_telling = is_recognised(path) && path.trim_matches('/').contains('/');
    let forms = [path.trim_end_matches('/'), path, after].into_iter().filter(|form| !form.trim_matches('/').is_empty());
    found.extend(forms.map(|form| if is_telling { form.to_owned() } else { format!("{host}{form}") }));
}

/// Adds what follows the last common word of a path: a hook is told by it, also if it is made of words. Numbers stay.
fn end_of_path(path: &str, found: &mut Vec<String>) {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let is_version =
        |text: &str| text.strip_prefix('v').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()) && number.len() <= 3);
    let is_common = |segment: &&str| segment.chars().all(char::is_alphabetic) && is_plain(segment) || is_version(segment);
    let first = segments.iter().rposition(is_common).map_or(0, |at| at + 1);
    for segment in &segments[first..] {
        if is_by_place(segment) && !segment.bytes().all(|byte| byte.is_ascii_digit()) {
            add(segment, found);
        }
    }
}

/// Each line that is recognised and is no pair, host, address, date or heading; of a block in base64 the lines are one text, too.
fn parts_of_lines(text: &str, depth: usize, found: &mut Vec<String>) {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_block =
        |line: &&str| line.len() >= 4 && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let is_pem = text.contains("-----BEGIN ");
    let body: Vec<&str> = lines().filter(is_block).collect();
    if is_pem && body.len() > 1 {
        found.push(body.concat());
    }
    for line in lines() {
        let is_line = pair(line).is_none() && !line.starts_with("-----") && is_by_place(line);
        if is_line || tells(line) {
            found.push(line.to_owned());
        }
        part_of_list(line, depth + 1, found);
    }
}

fn parts_of_json(name: Option<&str>, value: &Value, depth: usize, found: &mut Vec<String>) {
    match value {
        Value::String(text) => match name {
            Some(name) => named(name, text, depth, found),
            None => word_of(text, depth, found),
        },
        Value::Array(list) => list.iter().for_each(|value| parts_of_json(name, value, depth, found)),
        Value::Object(map) => map.iter().for_each(|(name, value)| parts_of_json(Some(name), value, depth, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a text is long enough to be recognised, and no common text.
fn tells(text: &str) -> bool {
    is_recognised(text)
        && !is_host(text)
        && !text.contains("://")
        && text.split(|c: char| !c.is_alphanumeric()).any(|piece| !is_plain(piece))
}

/// A host: small letters, digits and hyphens between dots, perhaps with a port or what stands before one (`tcp:`).
fn is_host(text: &str) -> bool {
    let name = text.split([':', ',']).find(|part| part.contains('.')).unwrap_or_default();
    let (_, last) = name.rsplit_once('.').unwrap_or_default();
    let is_last = last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_lowercase())
        || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let is_of_host =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'_'));
    is_last && name.len() <= 253 && text.split([':', ',']).all(is_of_host)
}

/// Whether a piece is a word, words in capitals and small letters, a number, or a word with a short number.
fn is_plain(piece: &str) -> bool {
    let letters = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = piece.len() - letters.len();
    if letters.is_empty() {
        return digits <= 10;
    }
    if letters.contains(|c: char| c.is_ascii_digit()) {
        // `v2beta1`, `8h`, `2026T`: short, and hardly a key.
        return piece.len() < 8;
    }
    let count = letters.chars().count();
    let changes = letters.chars().zip(letters.chars().skip(1)).filter(|(a, b)| a.is_lowercase() && b.is_uppercase()).count();
    let starts = letters.chars().zip(letters.chars().skip(1)).filter(|(a, b)| a.is_uppercase() && b.is_lowercase()).count();
    // Words joined by capitals have four letters and more on average.
    let is_worded = if changes == 0 && starts <= 1 { count < 20 } else { count >= 4 * (changes + 1).max(starts) };
    is_worded && digits <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_what_lets_in_is_found_and_what_names_it_is_not() {
        for (address, key) in [
            ("https://hooks.example.com/services/T02AB3CD4/aZ9bY8cX7dW6", "aZ9bY8cX7dW6"),
            ("http://127.0.0.1:8080/bot123456789:AAHdqTcvCH1vGWJxfSeo/send", "bot123456789:AAHdqTcvCH1vGWJxfSeo"),
            ("https://api.example.com/v1?api_key=red-fox-77-blue", "red-fox-77-blue"),
            ("https://ana:Plain-Pw99x@example.com/v1", "Plain-Pw99x"),
            ("smtp://ana:Plain-Pw99x@example.com:25", "Plain-Pw99x"),
            ("ana:Plain-Pw99x@example.com:25", "Plain-Pw99x"),
            ("aZ9bY8cX7dW6", "aZ9bY8cX7dW6"),
        ] {
            assert!(keys_in_address(address).iter().any(|found| found == key), "{address}: {:?}", keys_in_address(address));
        }
        for address in [
            "https://api.example.com/v1",
            "http://127.0.0.1:11434/v1",
            "https://ana-east.openai.example.com/openai/deployments/gpt-4o-mini/chat?api-version=2024-10-21",
            "mail.example.com:587",
            "[::1]:25",
            "eu-west-1",
            "production-2",
        ] {
            assert_eq!(keys_in_address(address), Vec::<String>::new(), "{address}");
        }
    }

    #[test]
    fn common_texts_are_no_parts_and_keys_are() {
        for text in [
            "services",
            "webhooks",
            "RootManageSharedAccessKey",
            "mysql.database.example.com",
            "tcp:db1.example.net,1433",
            "orders_2025",
            "us-east-1",
            "api-version",
            "application/json",
            "2026-11-28",
            "v2beta1",
            "production",
            "sendMessage",
            "my-project-42",
            "DefaultEndpointsProtocol",
            "1234567890",
            "10.0.0.1:5432",
            "correct horse battery staple",
            "postgresql://",
            "customerAccountNumber1",
        ] {
            assert!(!tells(text), "{text}");
        }
        for text in [
            "T02AB3CD4",
            "aZ9bY8cX7dW6",
            "zZqYxWvUtSrQpOnMlKjI",
            "4a7d1ed414474e4033ac29ccb8653d9b",
            "ABC-DEF1234ghIkl-zyx57W2v1u123ew11",
            "qwmzxncbvlaksjdhfgpq",
            "SG.aB3dE5fG7hI9.kL1mN3oP5qR7sT9u",
            "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
        ] {
            assert!(tells(text), "{text}");
        }
    }
}
