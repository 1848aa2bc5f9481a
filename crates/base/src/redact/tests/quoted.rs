//! Secrets as shells, databases and build tools quote them, and as programs without their letters write them.

use proptest::prelude::*;

use super::super::{Secrets, is_recognised};

/// A way to write a secret inside a text.
type Writing = (&'static str, fn(&str) -> String);

const QUOTED: [Writing; 11] = [
    ("bash -x", |s| format!("'{}'", s.replace('\'', "'\\''"))),
    ("shlex.quote", |s| format!("'{}'", s.replace('\'', "'\"'\"'"))),
    ("printf %q", |s| s.chars().map(|c| if c.is_alphanumeric() { c.to_string() } else { format!("\\{c}") }).collect()),
    ("ANSI-C", |s| format!("$'{}'", s.replace('\\', "\\\\").replace('\'', "\\'"))),
    ("double quotes", |s| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`"))),
    ("SQL", |s| format!("'{}'", s.replace('\'', "''"))),
    ("CSV", |s| format!("\"{}\"", s.replace('"', "\"\""))),
    ("make", |s| s.replace('$', "$$")),
    ("batch", |s| s.replace('%', "%%")),
    ("cmd", |s| s.chars().map(|c| if "&|<>^()%!\"".contains(c) { format!("^{c}") } else { c.to_string() }).collect()),
    ("bash -x in JSON", |s| serde_json::json!({ "log": format!("+ true '{}'", s.replace('\'', "'\\''")) }).to_string()),
];

const ESCAPED: [Writing; 7] = [
    ("Rust", |s| s.chars().map(|c| format!("\\u{{{:x}}}", u32::from(c))).collect()),
    ("Rust, beyond ASCII", |s| {
        s.chars().map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{{{:x}}}", u32::from(c)) }).collect()
    }),
    ("escape()", |s| s.encode_utf16().map(|unit| format!("%u{unit:04X}")).collect()),
    ("CSS", |s| s.chars().map(|c| format!("\\{:06x}", u32::from(c))).collect()),
    ("octal numbers", |s| s.bytes().map(|byte| format!("0o{byte:o}")).collect::<Vec<_>>().join(", ")),
    ("bytes of Python", |s| {
        s.bytes().map(|byte| if byte.is_ascii() { char::from(byte).to_string() } else { format!("\\x{byte:02x}") }).collect()
    }),
    ("a line that goes on", |s| {
        let (beginning, end) = s.split_at(s.char_indices().nth(5).map_or(0, |(at, _)| at));
        format!("{beginning}\\\n{end}")
    }),
];

/// As programs write what they read wrong; the last three lose letters.
const MISREAD: [Writing; 6] = [
    ("Latin-1", |s| s.bytes().map(char::from).collect()),
    ("Windows-1252", |s| encoding(s)),
    ("Latin-1 in JSON", |s| {
        s.bytes()
            .flat_map(|byte| if byte.is_ascii() { vec![char::from(byte)] } else { format!("\\u{byte:04x}").chars().collect() })
            .collect()
    }),
    ("a question mark a letter", |s| s.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()),
    ("U+FFFD a byte", |s| s.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { '\u{FFFD}' }).collect()),
    ("nothing", |s| s.chars().filter(char::is_ascii).collect()),
];

/// Of the letters that are used here: where Windows-1252 has another sign than Latin-1.
fn encoding(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            0x9f => 'Ÿ',
            0x84 => '„',
            0x96 => '–',
            0x9c => 'œ',
            other => char::from(other),
        })
        .collect()
}

fn is_hidden(secret: &str, name: &str, written: &str) {
    let hidden = Secrets::new([secret]).hide(&format!("before {written} after")).into_owned();
    assert!(hidden.contains("***") && hidden.starts_with("before ") && hidden.ends_with(" after"), "{name}: {secret}: {hidden}");
    assert!(hidden.len() <= "before *** after".len() + 24, "{name}: {secret}: {hidden}");
}

#[test]
fn a_secret_is_hidden_however_it_is_quoted_escaped_or_misread() {
    for (name, write) in QUOTED.into_iter().chain(ESCAPED) {
        for secret in ["it's-9k$Lm&7 q%2", "aB3\"x'y`z^1\\2$3%4", "Zürich-9k-Straße-7q", "plain-9kLm7q2x", "correct horse 9k battery"] {
            is_hidden(secret, name, &write(secret));
        }
    }
    for (name, write) in MISREAD {
        for secret in ["Zürich-9k-Straße-7q", "Köln-Öl_Überlauf-42", "ÄÖÜ-abc-12345-ß"] {
            is_hidden(secret, name, &write(secret));
        }
    }
}

#[test]
fn signs_that_quote_and_lost_letters_hide_no_other_text() {
    let secrets = Secrets::new(["it's-9k$Lm&7 q%2", "Zürich-9k-Straße-7q", "пароль-слово-мир12"]);
    for text in ["it's $9 and 7% \"off\": C:\\temp\\q%2", "????????-?????-???12", "Zürich, Straße 7", "'it''s' \\ 100%% $$ ^^", "a\\\nb"]
    {
        assert_eq!(secrets.hide(text), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_secret_of_any_signs_is_hidden_however_it_is_quoted(secret in "[a-z][!-~ ]{0,5}[A-Z0-9]{8}[!-~ ]{0,9}[a-z]", way in 0..QUOTED.len()) {
        prop_assume!(is_recognised(&secret));
        is_hidden(&secret, QUOTED[way].0, &QUOTED[way].1(&secret));
    }
}
