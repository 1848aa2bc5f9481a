//! Keys and passwords in files of authors, where they should not be.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::detect::{address, begins_as_key, keys};
use super::{PiiKind, is_recognised};

/// Parts of names whose values let somebody in.
const WORDS: [&str; 9] = ["authorization", "api_key", "apikey", "token", "secret", "password", "passwd", "credential", "cookie"];

/// The same at the end of a name: `DB_PASS`, `GH_PAT`.
const ENDS: [&str; 8] = ["auth", "bearer", "dsn", "jwt", "pass", "passphrase", "pat", "pwd"];

/// Whether a value of this name is a key, token or password.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    name == "key"
        || name.ends_with("_key") && !names_no_secret(&name)
        || WORDS.iter().any(|word| name.contains(word))
        || name.rsplit('_').next().is_some_and(|last| ENDS.contains(&last))
}

/// Whether a name that ends as those of secrets do is one of a key that lets nobody in: `idempotency_key`, `Idempotency-Key`.
fn names_no_secret(name: &str) -> bool {
    name.trim_end_matches([' ', '\t', ':', '"', '\'']).to_ascii_lowercase().replace('-', "_").ends_with("idempotency_key")
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

/// What has the shape of a key or token, or is a private key; not what is made to be public.
pub fn private_keys_in(text: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    keys::find(text, &mut found);
    let is_private = |range: &Range<usize>| {
        let found = &text[range.clone()];
        !found.starts_with("pk_") && (!found.starts_with(keys::PEM) || found.contains("PRIVATE KEY-----"))
    };
    found.into_iter().map(|found| found.range).filter(is_private).collect()
}

/// What has the shape of a key, of a token, of a private key, or of a log-in in a web address.
pub fn keys_in(text: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    keys::find(text, &mut found);
    address::find(text, &mut found);
    found
        .into_iter()
        .filter(|found| matches!(found.kind, PiiKind::Key | PiiKind::Jwt | PiiKind::Pem | PiiKind::Url))
        .map(|found| found.range)
        .collect()
}

/// What all the names hold that are looked for below: most files have none, and the patterns take longer to make than such a file to check.
static NAMES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let names = ["authorization", "key", "token", "secret", "passw", "headers", "journal", "smtp", "encrypt"];
    AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(names).ok()
});

/// `name: value`, `name = value`, as YAML, TOML and JSON write them.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"["']?((?i-u:[a-z0-9_-]*(?:authorization|api[_-]?key|token|secret|password|passwd|_key)))["']?[ \t]*[:=][ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s,}\]#"'{$][^\n,}\]#]*))"#).ok()
});

/// The same in the text of a file, which may be broken: also what a name such as `password` or `CRM_TOKEN` gives away.
pub fn keys_in_source(text: &str) -> Vec<Range<usize>> {
    let mut found = keys_in(text);
    found.extend(apart(text).iter().flat_map(|text| keys_in(text)));
    found.extend(in_braces(text));
    let names = NAMES.as_ref().filter(|names| names.is_match(text));
    if names.is_some() {
        found.extend(below_names(text));
        found.extend(in_seats(text));
    }
    for captures in names.and(NAMED.as_ref()).into_iter().flat_map(|named| named.captures_iter(text)) {
        let name = captures.get(1).map_or("", |name| name.as_str()).to_ascii_lowercase();
        let Some(value) = (2..5).find_map(|group| captures.get(group)) else { continue };
        let written = value.as_str().trim();
        let is_filled = written.contains("{{")
            || written.starts_with(['$', '&', '*'])
            || ["secrets.", "env."].iter().any(|root| written.starts_with(root));
        if names_no_secret(&name) {
            continue;
        }
        let is_password = name.ends_with("password") && written.len() >= 4 && !written.contains(char::is_whitespace) && written != "text";
        if !is_filled && (is_password || looks_like_key(written)) {
            let length = value.as_str().trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).len();
            found.push(value.start()..value.start() + length);
        }
    }
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    found.dedup_by(|inner, outer| inner.end <= outer.end);
    found
}

/// The parts of a key that are no words: a message may name one of them alone.
pub fn parts_of_key(key: &str) -> impl Iterator<Item = &str> {
    key.split(|c: char| !c.is_alphanumeric()).filter(|part| looks_like_key(part))
}

/// The least length of a random part of a word, in bytes.
const RANDOM_LENGTH: usize = 16;

/// Whether a word is random: no plain word, no name of words and numbers such as `orders_2025` or `customerNumber1`.
pub(super) fn looks_random(word: &str) -> bool {
    word.split(['_', '-']).any(|part| {
        let classes = part.bytes().map(|byte| (byte.is_ascii_digit(), byte.is_ascii_uppercase()));
        // A word may begin with a capital.
        let changes = classes.clone().zip(classes.skip(1)).filter(|(a, b)| a != b && *a != (false, true)).count();
        let least = if part.bytes().any(|byte| byte.is_ascii_digit()) { 4 } else { part.len() / 5 };
        part.len() >= RANDOM_LENGTH && changes >= least.max(4)
    })
}

/// Whether a quoted text is random. Of a pattern, which has letters, digits and signs in turn as keys have, only what it spells out counts.
fn is_random_text(text: &str) -> bool {
    let is_pattern =
        ["(?", "[^", "\\d", "\\w", "\\s", "\\b", ".*", ".+", "]+", "]*", ")+", ")*", "]{", "){"].iter().any(|sign| text.contains(sign));
    match is_pattern {
        true => text.split(|c: char| !c.is_ascii_alphanumeric()).any(looks_random),
        false => looks_random(text),
    }
}

/// What an expression names or quotes: between braces, which may not be closed on their line, and after `secrets.` and `env.`.
static FILLED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\{\{[^\n]*?(?:\}\}|\n|\z)|\b(?:secrets|env)\.[A-Za-z0-9_-]+"#).ok());
static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""([^"\n]*)"?|'([^'\n]*)'?|([A-Za-z0-9_]+)"#).ok());

fn in_braces(text: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    // Each byte of a line is looked at once, however many braces are on it.
    let (mut line_end, mut looked_to, mut is_seat) = (0, 0, false);
    for place in FILLED.iter().flat_map(|filled| filled.find_iter(text)) {
        let (start, inner) = inside(place);
        if start >= line_end {
            looked_to = text[looked_to..start].rfind('\n').map_or(looked_to, |end| looked_to + end + 1);
            line_end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
            is_seat = false;
        }
        let mut names = text[looked_to..start].split([':', '=']);
        is_seat = is_seat || names.any(|name| names_a_secret(name.trim_matches([' ', '"', '\'', '{', '-'])));
        looked_to = start;
        // Most hold neither a quote nor a word of such a length, and the pattern costs more than all else here.
        if !inner.contains(['"', '\'']) && !inner.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.len() >= RANDOM_LENGTH) {
            continue;
        }
        for word in WORD.iter().flat_map(|word| word.captures_iter(inner)) {
            let is_key = |quoted: &str| is_random_text(quoted) || is_seat && looks_like_key(quoted);
            let quoted = word.get(1).or(word.get(2)).filter(|quoted| is_key(quoted.as_str()));
            let bare = word.get(3).filter(|bare| looks_random(bare.as_str()));
            found.extend(quoted.or(bare).map(|word| start + word.start()..start + word.end()));
        }
    }
    found
}

/// What an expression holds of what [`FILLED`] matched, and where that begins.
fn inside(place: regex::Match<'_>) -> (usize, &str) {
    let whole = place.as_str();
    match whole.strip_prefix("{{") {
        Some(rest) => (place.start() + 2, rest.strip_suffix("}}").or(rest.strip_suffix('\n')).unwrap_or(rest)),
        None => {
            let name = whole.find('.').map_or(0, |dot| dot + 1);
            (place.start() + name, &whole[name..])
        }
    }
}

/// A name behind which a key may stand, however what follows is written.
static SEAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?m)(?:^|[\s{,\["'])((?i-u:secrets|headers|journal|smtp|encrypt|key_file|key|[a-z0-9_-]*(?:authorization|api[_-]?key|token|secret|password|passwd|_key)))["']?[ \t]*(?:[:=\].]|[ \t]["']|$)"#).ok()
});
/// Where the next key of a line begins, and a value that is filled in.
static NEXT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#",[ \t]*["']?[A-Za-z_]+["']?[ \t]*[:=]|#"#).ok());
static TEMPLATE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{\{[^\n]*?\}\}").ok());

/// Keys beside the name of a secret in lines that are broken, or of another shape than they should have: a list, a map, a name without ":".
fn in_seats(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut seen, mut line) = (vec![], 0, 0..0);
    for seat in SEAT.iter().flat_map(|seat| seat.captures_iter(text)) {
        let (Some(whole), Some(name)) = (seat.get(0), seat.get(1)) else { continue };
        // Inside what another name holds, all words have been looked at.
        if name.start() < seen || names_no_secret(name.as_str()) {
            continue;
        }
        let is_section = ["secrets", "headers", "journal"].iter().any(|section| name.as_str().eq_ignore_ascii_case(section));
        if name.start() >= line.end {
            line.start = text[line.end..name.start()].rfind('\n').map_or(line.end, |end| line.end + end + 1);
            line.end = text[name.start()..].find('\n').map_or(text.len(), |end| name.start() + end);
        }
        let indent = text[line.start..].len() - text[line.start..].trim_start_matches([' ', '\t', '-']).len();
        let line_end = line.end.max(whole.end());
        let rest = text.get(whole.end()..line_end).unwrap_or_default();
        let mut end = match NEXT.as_ref().and_then(|next| next.find(rest)).filter(|_| !is_section) {
            Some(next) => whole.end() + next.start(),
            None => line_end,
        };
        let below = text.get(line_end..).unwrap_or_default().split_inclusive('\n').skip(1);
        let is_table = text[line.start..].starts_with('[');
        let deeper = |line: &&str| {
            if is_table { !line.starts_with('[') } else { line.trim().is_empty() || line.len() - line.trim_start().len() > indent }
        };
        if is_section {
            end = (line_end + 1 + below.take_while(deeper).map(str::len).sum::<usize>()).min(text.len());
        } else if rest.trim().is_empty() {
            end = (line_end + 1 + below.take(1).map(str::len).sum::<usize>()).min(text.len());
        }
        let held = text.get(whole.end()..end).unwrap_or_default();
        seen = end;
        let mut filled = TEMPLATE.iter().flat_map(|template| template.find_iter(held)).map(|found| found.range()).peekable();
        let mut at = 0;
        for token in held.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '-' | '.' | '$' | '!'))) {
            let word = token.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '-' | '!')));
            let place = at..at + word.len();
            at += token.len();
            let is_name = word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
            let is_path = word.contains('/') && word.len() < 32 || word.contains('.') || word.starts_with('$');
            while filled.next_if(|template| template.end <= place.start).is_some() {}
            let is_filled = filled.peek().is_some_and(|template| template.start < place.end) || names_no_secret(&held[..place.start]);
            if looks_like_key(word) && !is_name && !is_path && !is_filled {
                found.push(whole.end() + place.start..whole.end() + place.end);
            }
        }
    }
    found
}

/// A name of a secret with nothing, a list or a map behind it, and its indentation.
static HOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?m)^([ \t]*)[^\n]*?["']?(?i-u:[a-z0-9_-]*(?:authorization|api[_-]?key|token|secret|password|passwd|_key))["']?[ \t]*[:=][ \t]*([|>&!\[{#][^\n]*)?$"#).ok()
});
static SCALAR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""([^"\n]*)"|'([^'\n]*)'|([^\s,{}\[\]"']+)"#).ok());

/// Keys in what a name of a secret holds, where it should hold a text.
fn below_names(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut seen) = (vec![], 0);
    for holder in HOLDER.iter().flat_map(|holder| holder.captures_iter(text)) {
        let (Some(whole), indent) = (holder.get(0), holder.get(1).map_or(0, |indent| indent.len())) else { continue };
        if whole.start() < seen || names_no_secret(whole.as_str()) {
            continue;
        }
        let start = holder.get(2).map_or(whole.end(), |own| own.start());
        let below = text[whole.end()..].split_inclusive('\n').skip(1);
        let deeper = below.take_while(|line| line.trim().is_empty() || line.len() - line.trim_start().len() > indent);
        let end = (whole.end() + 1 + deeper.map(str::len).sum::<usize>()).min(text.len());
        let held = text.get(start..end).unwrap_or_default();
        seen = end;
        for scalar in
            SCALAR.iter().flat_map(|scalar| scalar.captures_iter(held)).filter_map(|found| (1..4).find_map(|group| found.get(group)))
        {
            let written = scalar.as_str();
            let is_filled =
                written.contains("{{") || written.starts_with(['$', '&', '*']) || written.contains("secrets.") || written.contains("env.");
            if !is_filled && looks_like_key(written.trim_end_matches(':')) {
                found.push(start + scalar.start()..start + scalar.end());
            }
        }
    }
    found
}

/// The text with a blank in place of each `_` before what keys begin with: a key may be a part of a name.
fn apart(text: &str) -> Option<String> {
    let starts: Vec<usize> = text.match_indices('_').map(|(at, _)| at).filter(|at| begins_as_key(&text[at + 1..])).collect();
    let mut apart = (!starts.is_empty()).then(|| text.to_owned())?;
    starts.iter().for_each(|at| apart.replace_range(*at..at + 1, " "));
    Some(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_of_keys_are_known_and_ordinary_ones_left_alone() {
        for name in
            ["api_key", "X-API-Key", "Authorization", "CRM_TOKEN", "password", "client_secret", "key", "DB_PASS", "GH_PAT", "MYSQL_PWD"]
        {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "keyboard", "content-type", "user", "monkeys", "passengers", "author", "path", "auth_uri", "idempotency_key", "Idempotency-Key",
        ] {
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
    #[expect(clippy::too_many_lines, reason = "one list of cases")]
    fn keys_are_found_in_the_text_of_a_file_that_is_broken() {
        let hidden = |text: &str| keys_in_source(text).into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>();
        assert_eq!(hidden("tools: { m: { smtp: h:25, password: hunter2, from: a }"), ["hunter2"]);
        assert_eq!(hidden("secrets:\n  CRM_TOKEN: tok4711abc # old\n  B_KEY: Key of B, from page 2\n"), ["tok4711abc"]);
        assert_eq!(hidden("api_key = \"my0wnk3y8\""), ["my0wnk3y8"]);
        assert_eq!(hidden("headers: { Authorization: Bearer q8w7e6r5 }"), ["Bearer q8w7e6r5"]);
        for own in ["idempotency_key: order-7-2026", "headers: { Idempotency-Key: order-7-2026 }", "idempotency_key:\n  order-7-2026\n"] {
            assert_eq!(hidden(own), [""; 0], "{own}");
        }
        let random = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z";
        for text in [
            format!("api_key: \"{{{{ secrets.{random} }}}}\""),
            format!("api_key: \"{{{{ {random} }}}}\""),
            format!("set: \"{{{{ {random} }}}}\""),
            format!("of: secrets.{random}"),
            format!("api_key: \"{{{{ secrets.TOK or '{random}' \""),
            format!("api_key: \"{{{{ env.TOK | default('{random}') | bad }}}}\""),
            format!("api_key: {{ value: {random} }}"),
            format!("api_key:\n  value: {random}\nname: p\n"),
            format!("api_key: |\n  {random}\n"),
        ] {
            assert_eq!(hidden(&text), [random], "{text}");
        }
        for key in [random, "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "Hunter2-Passw0rd-9911"] {
            for text in [
                format!("secrets: {{ TOK: {{ value: {key} }} }}\n"),
                format!("secrets:\n  - {key}\n  - TOK={key}\nname: p\n"),
                format!("secrets:\n  TOK {key}\n"),
                format!("secrets:\n  TOK: {key}: x\n"),
                format!("secrets:\n  TOK: \"{key}\n"),
                format!("api_key: *{key}\n"),
                format!("api_key: &{key}\n"),
                format!("  api_key:\n {key}\n"),
                format!("\"api_key\" \"{key}\"\n"),
                format!("api_key: \"{{{{ secrets.TOK }}}}{key}\"\n"),
                format!("api_key: \"{{% {key} %}}\"\n"),
                format!("headers: [{key}]\n"),
                format!("smtp: \"u:{key}@mail.example:587\"\n"),
                format!("journal = \"{key}\"\n"),
                format!("[journal]\n{key}\n[limits]\n"),
                format!("[journal]\nencrypt = true\n\"{key}\" = 1\n"),
                format!("[journal.\"{key}\"]\n"),
                format!("[journal]\nkey = {key}\nencrypt = \"{key}\"\nkey_file = '{key}'\n"),
            ] {
                let found = hidden(&text);
                assert!(!found.is_empty() && found.iter().all(|found| found.contains(key)), "{text}: {found:?}");
            }
        }
        for pattern in [
            "(a{1,900}){1,900}",
            r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$",
            "[A-Z]{2}[0-9]{6}[A-Z0-9]{3}",
            r"(?i)order[ -]?(\d{6,8})\b",
            "(x+x+)+y9Z8x7W6",
        ] {
            assert_eq!(hidden(&format!("set: \"{{{{ inputs.text | regex_replace('{pattern}', '') }}}}\"")), [""; 0], "{pattern}");
            let holds_key = format!("set: \"{{{{ inputs.text | regex_replace('{pattern}-{random}', '') }}}}\"");
            assert!(hidden(&holds_key).iter().any(|hidden| hidden.contains(random)), "{pattern}");
        }
        let key = format!("sk-proj-{random}");
        assert_eq!(hidden(&format!("flow_{key}: 1")), [&*key]);
        assert!(hidden(&format!("api_key: \"{{{{ secrets.{key} }}}}\"")).contains(&key));
        assert_eq!(parts_of_key(&key).collect::<Vec<_>>(), [random]);
        for text in [
            "max_tokens: 4000",
            "api_key: \"{{ secrets.TOKNE }}\"",
            "api_key: \"{{secrets.CRM_TOKEN_OF_2025}}\"",
            "set: \"{{ steps.customerAccountNumber1.output.sha256_of_orders_2025 }}\"",
            "set: \"{{ inputs.text | replace('2025-01-01', 'utf8mb4') }}\"",
            "password:\n  type: text\n  description: The password of 2025\n",
            "api_key: { type: text }",
            "api_key: \"{{ secrets.A_KEY1 }}\"",
            "password: $PASS1234",
            "inputs: { password: text }",
            "api_key: {{ env.X1 }}",
            "models: { m: { max_tokens: 4000, model: gpt-4o-mini, api_key: \"{{ secrets.A_KEY1 }}\" } }",
            "headers: { X-Version: \"{{ run.today }}\", Accept: application/json }",
            "secrets:\n  CRM_TOKEN2: Key of the CRM, from page 2\n",
            "smtp: smtp.mail4you.example:587, from: a",
        ] {
            assert_eq!(hidden(text), [""; 0], "{text}");
        }
    }
}
