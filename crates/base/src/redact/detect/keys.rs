//! API keys and tokens by their prefixes or their names, JSON web tokens, PEM blocks.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::{Detection, PiiKind};
use super::{add, before};

/// What keys begin with, by how many characters of `A–Z a–z 0–9 _ -` follow at least. From the documentation of the services.
const BEGINNINGS: [(usize, &str); 12] = [
    (16, "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ AKIA ASIA"),
    (20, "sk- glpat- gldt- glrt- xoxb- xoxp- xoxa- xoxr- xoxs- xapp- ya29. GOCSPX- tvly- dckr_pat_ NRAK- tskey-"),
    (22, "sq0atp-"),
    (24, "whsec_ hvs."),
    (30, "hf_"),
    (32, "shpat_ shpss_ shpca_ shppa_ key- lin_api_ cio dapi pscale_tkn_ lsv2_"),
    (35, "AIza"),
    (36, "ghp_ gho_ ghu_ ghs_ ghr_ npm_ r8_ sbp_"),
    (40, "github_pat_ SG. gsk_ xai- pplx- ntn_ figd_ sq0csp- sntrys_ PMAK- rubygems_ nvapi- fly_ CFPAT-"),
    (43, "oy2"),
    (50, "pypi- EAAA AGE-SECRET-KEY-1"),
    (60, "dop_v1_ doo_v1_ ATATT3"),
];
static PREFIXES: LazyLock<Vec<(&str, usize)>> =
    LazyLock::new(|| BEGINNINGS.iter().flat_map(|(least, all)| all.split(' ').map(|prefix| (prefix, *least))).collect());
const JWT: &str = "eyJ";
pub(in super::super) const PEM: &str = "-----BEGIN ";
/// Names that are followed by `=` or `:` and a key, in any case.
const NAMES: &str = "api_key apikey api-key secret token password passwd access_key accesskey private_key auth_key authkey account_key \
accountkey credential bearer x-api-key signing_key encryption_key";

/// Whether a text begins as the keys of some service do.
pub(in super::super) fn begins_as_key(text: &str) -> bool {
    PREFIXES.iter().any(|(prefix, _)| text.starts_with(prefix))
}

/// All of them in one pass; a prefix counts only as it is written here.
static SHAPES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let shapes = PREFIXES.iter().map(|(prefix, _)| *prefix).chain([JWT, PEM]).chain(NAMES.split(' '));
    AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA)).build(shapes).ok()
});

pub(in super::super) fn find(text: &str, found: &mut Vec<Detection>) {
    let mut floor = 0;
    for shape in SHAPES.iter().flat_map(|shapes| shapes.find_overlapping_iter(text)) {
        let (start, index) = (shape.start(), shape.pattern().as_usize());
        if index > PREFIXES.len() + 1 {
            if let Some((start, end)) = named(text, shape.end()) {
                add(found, PiiKind::Key, start, end);
            }
            continue;
        }
        if start < floor {
            continue;
        }
        let written = text.get(start..shape.end()).unwrap_or_default();
        let hit = match PREFIXES.get(index) {
            Some((prefix, least)) if *prefix == written => key(text, start, prefix, *least).map(|end| (PiiKind::Key, end)),
            None if written == JWT => jwt(text, start).map(|end| (PiiKind::Jwt, end)),
            None if written == PEM => pem(text, start).map(|end| (PiiKind::Pem, end)),
            _ => None,
        };
        if let Some((kind, end)) = hit {
            add(found, kind, start, end);
            floor = end;
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn token_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_token(**byte)).count()
}

/// A key by its prefix. Its rest must have digits and letters: `sk-learn-contrib-…` is none.
fn key(text: &str, start: usize, prefix: &str, least: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if before(bytes, start).is_ascii_alphanumeric() || matches!(before(bytes, start), b'_') {
        return None;
    }
    let from = start + prefix.len();
    let mut end = from + token_length(&bytes[from..]);
    // Keys of two or three parts with a dot between.
    while matches!(prefix, "SG." | "hvs." | "ya29." | "ATATT3") && bytes.get(end) == Some(&b'.') && token_length(&bytes[end + 1..]) > 0 {
        end += 1 + token_length(&bytes[end + 1..]);
    }
    let rest = &bytes[from..end];
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = rest.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    // Short prefixes that are also parts of words want a rest like noise, in exactly their length.
    let exact = !matches!(prefix, "cio" | "dapi" | "oy2" | "AKIA" | "ASIA") || rest.len() == least;
    let upper = !matches!(prefix, "AKIA" | "ASIA") || rest.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let has_both = rest.iter().any(u8::is_ascii_lowercase) && rest.iter().any(u8::is_ascii_uppercase);
    let noise = matches!(prefix, "AKIA" | "ASIA") && digits + letters == least || digits >= 2 && letters >= 2 || digits == 1 && has_both;
    (rest.len() >= least && exact && upper && noise).then_some(end)
}

/// Three (signed) or five (encrypted) parts, the first a JSON object with `alg`.
fn jwt(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if is_token(before(bytes, start)) {
        return None;
    }
    let head_end = start + token_length(&bytes[start..]);
    let head = URL_SAFE_NO_PAD.decode(&bytes[start..head_end]).ok()?;
    let head: serde_json::Value = serde_json::from_slice(&head).ok()?;
    head.get("alg").or_else(|| head.get("typ"))?;
    let mut end = head_end;
    let mut parts = 1;
    while parts < 5 && bytes.get(end) == Some(&b'.') {
        let length = token_length(&bytes[end + 1..]);
        if length == 0 && parts > 2 {
            break;
        }
        end += 1 + length;
        parts += 1;
    }
    (parts >= 2).then_some(end)
}

/// From the first line to the last; a block that was cut off: to the end of its letters. Lines may also be written as `\n`.
fn pem(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start + PEM.len()..];
    let label_length = rest.bytes().take(64).take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ').count();
    let label = &rest[..label_length];
    let body = rest[label_length..].strip_prefix("-----")?;
    let body_start = text.len() - body.len();
    let is_body = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'\n' | b'\r' | b' ' | b'\t' | b':' | b',' | b'-' | b'"' | b'>')
    };
    let length = body.bytes().take(1 << 16).take_while(|byte| is_body(byte)).count();
    let body = &body[..length];
    let last = format!("-----END {label}-----");
    if let Some(at) = body.find(&last) {
        return Some(body_start + at + last.len());
    }
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let is_key = body.split(|c| !is_letter(c)).any(|line| line.len() >= 32);
    body.rfind(is_letter).filter(|_| is_key).map(|end| body_start + end + 1)
}

/// The value behind a name, if it looks like noise.
fn named(text: &str, name_end: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = name_end + bytes[name_end..].iter().take(24).take_while(|byte| is_token(**byte)).count();
    let skip = |at: &mut usize, set: &[u8], most: usize| {
        let count = bytes[*at..].iter().take(most).take_while(|byte| set.contains(byte)).count();
        *at += count;
        count
    };
    skip(&mut at, b"\"'", 1);
    skip(&mut at, b" \t", 4);
    let marks = skip(&mut at, b"=:>", 2);
    let spaces = skip(&mut at, b" \t", 4);
    // "Bearer abc": a space is enough there.
    let is_bearer =
        name_end.checked_sub(6).and_then(|from| text.get(from..name_end)).is_some_and(|name| name.eq_ignore_ascii_case("bearer"));
    if marks == 0 && !(is_bearer && (spaces > 0 || at > name_end)) {
        return None;
    }
    skip(&mut at, b"\"'", 1);
    let length = bytes[at..].iter().take_while(|byte| is_token(**byte) || matches!(byte, b'/' | b'+' | b'=' | b'.' | b'~')).count();
    let value = text.get(at..at + length)?.trim_end_matches(['.', '/']);
    (is_noise(value) && bytes.get(at + length) != Some(&b'(')).then_some((at, at + value.len()))
}

/// At least 16 characters, letters and digits mixed as no word mixes them.
fn is_noise(value: &str) -> bool {
    let classes = value.bytes().map(|byte| match byte {
        b'0'..=b'9' => 1,
        b'a'..=b'z' => 2,
        b'A'..=b'Z' => 3,
        _ => 0,
    });
    let classes: Vec<u8> = classes.collect();
    let changes = classes.windows(2).filter(|pair| pair[0] != pair[1] && pair[0] != 0 && pair[1] != 0).count();
    let digits = classes.iter().filter(|class| **class == 1).count();
    let letters = classes.iter().filter(|class| **class > 1).count();
    let different = value.bytes().collect::<std::collections::HashSet<u8>>().len();
    value.len() >= 16 && digits >= 2 && letters >= 4 && different >= 8 && changes >= 4 && !value.contains("://")
}
