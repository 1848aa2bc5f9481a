//! Secrets in texts: whatever way they are written, wherever a text is cut.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Secrets, is_recognised};

const SECRET: &str = "tok-Zq8/x+Lm?4~\"é&w2";

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(text: &str, keep: &str) -> String {
    text.bytes().map(|byte| if keep.contains(char::from(byte)) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

fn joined(text: &str, separator: &str, write: fn(u8) -> String) -> String {
    text.bytes().map(write).collect::<Vec<_>>().join(separator)
}

/// RFC 4648, 6.
fn base32(text: &str) -> String {
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let letters = bits.as_bytes().chunks(5).map(|five| {
        let five = format!("{:0<5}", String::from_utf8_lossy(five));
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from_str_radix(&five, 2).unwrap()])
    });
    letters.collect()
}

/// A way to write a secret inside a text.
type Writing = (&'static str, fn(&str) -> String);

const WRITTEN: [Writing; 33] = [
    ("as it is", str::to_owned),
    ("base64", |s| STANDARD.encode(s)),
    ("base64 behind one byte", |s| STANDARD.encode(format!("x{s}"))),
    ("base64 behind two bytes", |s| STANDARD.encode(format!("u:{s}yy"))),
    ("base64 of the web", |s| URL_SAFE_NO_PAD.encode(s)),
    ("base64 in lines", |s| {
        STANDARD.encode(format!("user:{s}:more")).as_bytes().chunks(9).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\r\n")
    }),
    ("hex", hex),
    ("hex in capitals", |s| hex(s).to_uppercase()),
    ("hex with blanks", |s| hex(s).as_bytes().chunks(2).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ")),
    ("percent", |s| percent(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")),
    ("percent of everything", |s| percent(s, "")),
    ("percent in small letters", |s| percent(s, "tokZqxLm").to_lowercase().replace("zq", "Zq").replace("lm", "Lm")),
    ("percent twice", |s| percent(&percent(s, ""), "0123456789ABCDEF")),
    ("JSON", |s| Value::from(s).to_string()),
    ("JSON with every character escaped", |s| s.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()),
    ("HTML", html),
    ("HTML with every character escaped", |s| s.chars().map(|c| format!("&#{};", u32::from(c))).collect()),
    ("JSON in base64", |s| STANDARD.encode(json!({ "a": s }).to_string())),
    ("hex with colons", |s| joined(s, ":", |byte| format!("{byte:02x}"))),
    ("hex with hyphens in capitals", |s| joined(s, "-", |byte| format!("{byte:02X}"))),
    ("hex with 0x", |s| joined(s, " ", |byte| format!("0x{byte:02x}"))),
    ("hex as an array of C", |s| format!("{{ {} }}", joined(s, ", ", |byte| format!("0x{byte:02X}")))),
    ("hex as a shell writes it", |s| joined(s, "", |byte| format!("\\x{byte:02x}"))),
    ("octal as a shell writes it", |s| joined(s, "", |byte| format!("\\{byte:03o}"))),
    ("octal numbers", |s| joined(s, " ", |byte| format!("{byte:03o}"))),
    ("a list of bytes", |s| format!("[{}]", joined(s, ", ", |byte| byte.to_string()))),
    ("a list of bytes in lines", |s| format!("[\n  {}\n]", joined(s, ",\n  ", |byte| byte.to_string()))),
    ("quoted-printable", |s| joined(s, "", |byte| format!("={byte:02X}"))),
    ("hex of UTF-16", |s| s.encode_utf16().flat_map(u16::to_le_bytes).map(|byte| format!("{byte:02x}")).collect()),
    ("base64 of UTF-16", |s| STANDARD.encode(s.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())),
    ("base32", base32),
    ("letters of full width", |s| {
        s.chars().map(|c| if c.is_ascii_graphic() { char::from_u32(u32::from(c) + 0xFEE0).unwrap() } else { c }).collect()
    }),
    ("with characters that nobody sees", |s| s.chars().flat_map(|c| [c, '\u{200b}', '\u{ad}', '\u{7}']).collect()),
];

#[test]
fn a_secret_is_hidden_however_it_is_written() {
    let secrets = Secrets::new([SECRET]);
    for (name, write) in WRITTEN {
        let written = write(SECRET);
        let hidden = secrets.hide(&format!("before {written} after")).into_owned();
        assert!(hidden.contains("***") && hidden.starts_with("before ") && hidden.ends_with(" after"), "{name}: {hidden}");
        // Of encodings that lie over bytes of the neighbours, letters at the edges may stay.
        assert!(hidden.len() <= "before *** after".len() + 24, "{name}: {hidden}");
        assert!(!hidden.contains(&written), "{name}");
        assert_eq!(secrets.hide(&hidden), hidden, "{name}: twice changes nothing");
    }
    assert_eq!(secrets.hide("nothing of it: tok-Zq8, x+Lm"), "nothing of it: tok-Zq8, x+Lm");
}

#[test]
fn a_secret_that_escapes_break_is_hidden_with_them() {
    let secret = "sk-proj-AbC9dEf2GhI4jKl6";
    let secrets = Secrets::new([secret]);
    let base64 = STANDARD.encode(secret);
    for escape in ["\\n", "\\r\\n", "\\u200b", "\\u0000", "%0A", "%0D%0A", "&#8203;", "\\u001b[31m"] {
        for written in [secret, &base64] {
            let text = format!("{{\"k\": \"{}{escape}{}{escape}{}\"}}", &written[..7], &written[7..15], &written[15..]);
            let hidden = secrets.hide(&text).into_owned();
            assert!(hidden.starts_with("{\"k\": \"***"), "{escape}: {hidden}");
            assert!(!hidden.contains(&written[7..15]), "{escape}: {hidden}");
        }
    }
}

#[test]
fn named_references_of_html_are_read() {
    for (secret, written) in [
        ("Kd81(qq72)Zp9", "Kd81&lpar;qq72&rpar;Zp9"),
        ("Kd81(qq72)Zp9", "Kd&shy;81&lpar;qq&ZeroWidthSpace;72)Zp9"),
        ("Kd81qq72Zp9", "Kd81&shy;qq72&zwj;Zp9"),
        ("Kd81+qq=72@Zp9/_", "Kd81&plus;qq&equals;72&commat;Zp9&sol;&lowbar;"),
        ("Kd81&qq\"72'Zp9", "Kd81&amp;qq&quot;72&apos;Zp9"),
        ("pässwörtß-99é", "p&auml;ssw&ouml;rt&szlig;-99&eacute;"),
        ("Kd81+qq72Zp9", "Kd81&amp;plus;qq72Zp9"),
    ] {
        assert_eq!(Secrets::new([secret]).hide(&format!("a {written} b")), "a *** b", "{written}");
    }
}

#[test]
fn a_letter_may_be_written_with_its_accent_behind_it() {
    let (composed, apart) = ("p\u{e4}ssw\u{f6}rt\u{df}-99\u{e9}", "pa\u{308}sswo\u{308}rt\u{df}-99e\u{301}");
    for (secret, written) in [(composed, apart), (apart, composed)] {
        let secrets = Secrets::new([secret]);
        for written in [written.to_owned(), percent(written, "psw"), STANDARD.encode(format!("xy {written} xyz"))] {
            let hidden = secrets.hide(&format!("a {written} b")).into_owned();
            assert!(hidden.starts_with("a ") && hidden.contains("***") && hidden.len() <= "a *** b".len() + 12, "{written}: {hidden}");
        }
    }
}

#[test]
fn a_password_is_hidden_also_as_it_is_once_its_address_was_read() {
    let secrets = Secrets::new(["p%40ssw0rd%21X9"]);
    assert_eq!(secrets.hide("password=p@ssw0rd!X9 of p%40ssw0rd%21X9"), "password=*** of ***");
}

#[test]
fn a_secret_with_an_unseen_character_of_its_own_is_hidden_where_those_are_left_out() {
    let secret = "Zq8/x+Lm4\u{e0100}w2";
    let spread: String = secret.chars().flat_map(|c| [c, '\u{200b}']).collect();
    assert_eq!(Secrets::new([secret]).hide(&format!("a {spread} b {} c", secret.replace('\u{e0100}', ""))), "a ***\u{200b} b *** c");
}

#[test]
fn a_secret_that_commands_to_a_terminal_break_is_hidden_with_them() {
    let secret = "Zq8/x+Lm4#w2";
    let secrets = Secrets::new([secret]);
    for command in [
        "\x1b[31m",
        "\x1b[0;1;38:5:9m",
        "\u{9b}2K",
        "\x1b]8;;https://x.example\x1b\\",
        "\x1b]0;title\x07",
        "\x1bPq#0\x1b\\",
        "\x1b(B",
        "\x1bc",
    ] {
        for at in 1..secret.len() {
            let text = format!("a {}{command}{}{command} b", &secret[..at], &secret[at..]);
            assert_eq!(secrets.hide(&text), format!("a ***{command} b"), "{text:?}");
        }
        assert_eq!(secrets.hide(command), command);
    }
}

#[test]
fn values_are_hidden_in_keys_lists_and_numbers_and_no_field_is_lost() {
    let secrets = Secrets::new(["48151623", "sk-canary-1"]);
    let mut value = json!({ "sk-canary-1": 1, "a": ["x sk-canary-1 y", 48151623, 4.5, true, null], "***": 2, "b": { "sk-canary-1x": "c2stY2FuYXJ5LTE=" } });
    secrets.hide_in_value(&mut value);
    assert_eq!(value, json!({ "***": 1, "a": ["x *** y", "***", 4.5, true, null], "***_2": 2, "b": { "***x": "***=" } }));
}

#[test]
fn what_stands_in_ordinary_texts_is_no_secret_that_is_recognised() {
    for (secret, is) in [
        ("test", false),
        ("1234", false),
        ("password", false),
        ("  hunter2  ", false),
        ("verylongwordofletters", true),
        ("hunter2hunter2", true),
        ("12345678", true),
        ("Grünspan", false),
        ("Grün-span", true),
    ] {
        assert_eq!(is_recognised(secret), is, "{secret}");
    }
    assert_eq!(Secrets::new(["test", "password", ""]).hide("a test of password"), "a test of password");
}

#[test]
fn the_beginning_of_a_secret_is_hidden_where_a_text_is_cut() {
    let secrets = Secrets::new(["sk-canary-0123456789"]);
    assert_eq!(secrets.hide_cut("wrong key: sk-canary-01"), "wrong key: ***");
    assert_eq!(secrets.hide_cut("said: sk-canary-01… and more"), "said: ***… and more");
    assert_eq!(secrets.hide_cut("a … b sk-canary-0123456789 c"), "a … b *** c");
    assert_eq!(secrets.hide_cut("said: sk-canary-01 … and more\n"), "said: *** … and more\n");
    assert_eq!(secrets.hide_cut("said: sk-canary-01\n"), "said: ***\n");
    assert_eq!(secrets.hide_cut("we risk"), "we risk");
}

#[test]
fn the_words_of_a_secret_behind_a_cut_are_hidden() {
    let secrets = Secrets::new(["correct horse 9k battery\nsecond-line-77 of it"]);
    for end in ["horse 9k battery\nsecond-line-77 of it", "battery\nsecond-line-77 of it", "second-line-77 of it", "horse 9k battery"] {
        assert_eq!(secrets.hide_torn(&format!("{end} and more")), "*** and more", "{end}");
        assert_eq!(secrets.hide_torn(&format!(" \n{end}")), " \n***", "{end}");
        assert_eq!(secrets.hide_cut(&format!("began… {end} and more")), "began… *** and more", "{end}");
    }
    for text in ["line-77 of it", "rect horse", "no battery", "it", ""] {
        assert_eq!(Secrets::new(["tok-line-77 of-it"]).hide_torn(text), text);
    }
    assert_eq!(secrets.hide_cut("it said: correct horse…"), "it said: ***…");
}

#[test]
fn a_long_text_is_looked_at_in_all_its_pieces() {
    let secrets = Secrets::new([SECRET]);
    let filler = "word Word2 ".repeat(5_957);
    for at in [65_500, 65_520, 65_526] {
        let text = format!("{}{}{}", &filler[..at], percent(SECRET, ""), filler);
        let hidden = secrets.hide(&text);
        assert!(hidden.contains("***") && !hidden.contains("%74"), "{at}");
    }
}

fn longest_part_of(secret: &str, text: &str) -> usize {
    (0..secret.len())
        .flat_map(|from| (from..=secret.len()).map(move |to| (from, to)))
        .filter(|(from, to)| secret.get(*from..*to).is_some_and(|part| text.contains(part)))
        .map(|(from, to)| to - from)
        .max()
        .unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_text_that_grows_shows_no_part_of_a_secret(
        before in "(word |[a-z]{1,6} |é |\n){0,300}", after in "( word|!){0,40}", way in 0..WRITTEN.len(), cut in 0.0..1.0_f64,
    ) {
        let secret = "tok-81Q/x+Lm?47~9W2";
        let secrets = Secrets::new([secret]);
        let text = format!("{before}{}{after}", WRITTEN[way].1(secret));
        let mut cut = (cut * text.len() as f64) as usize;
        while !text.is_char_boundary(cut) { cut -= 1 }
        let shown = secrets.so_far(&text[..cut]);
        prop_assert!(longest_part_of(secret, &shown) < 4, "{shown}");
        if way == 0 {
            prop_assert!(!shown.contains('?'), "{shown}");
        }
    }

    #[test]
    fn a_secret_of_any_characters_is_hidden_in_any_encoding(
        secret in "[!-~]{8,40}|[a-zA-Z0-9]{12,30}|\\PC{9,20}", before in "[a-z ]{0,12}", after in "[a-z ]{0,12}", way in 0..WRITTEN.len(),
    ) {
        prop_assume!(is_recognised(&secret) && secret.trim() == secret && way != 11);
        // As a reference of HTML, a blank that does not break is a blank.
        prop_assume!(!secret.contains('\u{a0}'));
        // UTF-16 is told by the zeros beside letters of ASCII, and only those have letters of full width.
        prop_assume!(secret.is_ascii() || !["UTF-16", "full width"].iter().any(|form| WRITTEN[way].0.contains(form)));
        let text = format!("{before} {} {after}", WRITTEN[way].1(&secret));
        let hidden = Secrets::new([secret.as_str()]).hide(&text).into_owned();
        prop_assert!(hidden.contains("***"), "{}: {text} -> {hidden}", WRITTEN[way].0);
        prop_assert!(hidden.len() <= before.len() + after.len() + 2 + 3 + 24, "{}: {text} -> {hidden}", WRITTEN[way].0);
    }
}

#[test]
fn keys_inside_a_secret_are_secret_too() {
    let pem = "-----BEGIN PRIVATE KEY-----\ngtD7fZq7xK29vbNmQ4tR8wLs\nQQ81Zw47xKd9gtD7fZq7xK29\n-----END PRIVATE KEY-----\n";
    let account = serde_json::json!({
        "type": "service_account", "private_key_id": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334", "private_key": pem,
        "auth_uri": "https://accounts.example.com/o/oauth2/auth", "inner": [{ "client_secret": "Zq7xK29vbN" }],
    });
    let secrets = Secrets::new([&*account.to_string()]);
    let mut read = account.clone();
    secrets.hide_in_value(&mut read);
    assert_eq!(read["type"], "service_account");
    assert_eq!(read["auth_uri"], "https://accounts.example.com/o/oauth2/auth");
    for hidden in [&read["private_key_id"], &read["private_key"], &read["inner"][0]["client_secret"]] {
        assert!(hidden.as_str().unwrap().starts_with("***"), "{read}");
    }
    let pretty = secrets.hide(&serde_json::to_string_pretty(&account).unwrap()).into_owned();
    assert!(!pretty.contains("gtD7f") && !pretty.contains("0f1e2d") && pretty.contains("service_account"), "{pretty}");
    for (kept, read) in [(pem.trim().replace('\n', "\\n"), pem.to_owned()), (pem.trim().replace('\n', "\\r\\n"), pem.replace('\n', "\r\n"))]
    {
        assert!(!Secrets::new([&*kept]).hide(&read).contains("gtD7f"), "{kept}");
    }
}

/// Secrets of several parts: the key in each is `KEY`; and what of it is common text.
const COMPOUND: [(&str, &str); 24] = [
    (
        "Endpoint=sb://queue.servicebus.example.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=KEY",
        "queue.servicebus.example.net RootManageSharedAccessKey SharedAccessKey Endpoint",
    ),
    (
        "DefaultEndpointsProtocol=https;AccountName=storage;AccountKey=KEY==;EndpointSuffix=core.windows.example.net",
        "https storage core.windows.example.net AccountName",
    ),
    (
        "Server=tcp:sales.database.example.net,1433;Initial Catalog=orders_2025;User ID=reader;Password={KEY};Encrypt=True",
        "sales.database.example.net 1433 orders_2025 reader Encrypt",
    ),
    ("host=db.example.com port=5432 user=reader password=KEY", "db.example.com 5432 reader password"),
    ("postgresql://reader:KEY@db.example.com:5432/orders_2025?sslmode=require", "db.example.com orders_2025 sslmode reader"),
    ("jdbc:mysql://db.example.com/sales?user=reader&password=KEY", "db.example.com sales reader mysql"),
    ("redis://:KEY@cache.example.com:6379/0", "cache.example.com"),
    ("https://KEY@errors.example.com/42", "errors.example.com 42"),
    ("https://hooks.example.com/services/T02AB3CD4/B05EF6GH7/KEY", "hooks.example.com services"),
    ("https://chat.example.com/api/webhooks/1234567890/KEY?wait=true", "chat.example.com webhooks api wait 1234567890"),
    ("https://api.example.org/bot12345:KEY/sendMessage", "api.example.org sendMessage"),
    ("https://maps.example.com/geo?q=Lisbon&client_secret=KEY&lang=en", "maps.example.com Lisbon lang client_secret"),
    ("https://blob.example.net/c?sv=2024-11-04&sig=KEY", "blob.example.net 2024-11-04"),
    ("https://app.example.com/#access_token=KEY", "app.example.com access_token"),
    ("reader:KEY", "reader"),
    ("Basic cmVhZGVyOmFCM2RFNWZHN2hJOWtMMW1OM29QNXFSN3NU", "Basic"),
    ("Bearer KEY", "Bearer"),
    ("session=KEY; lang=en; theme=dark", "session theme dark"),
    ("a=KEY; b=12", "12"),
    ("Cookie: theme=dark; sid=KEY", "Cookie theme dark"),
    (
        "{\"type\":\"service_account\",\"host\":\"db.example.com\",\"client_secret\":\"KEY\"}",
        "service_account db.example.com client_secret",
    ),
    ("[\"KEY\", \"production\"]", "production"),
    ("aws_access_key_id = first\naws_secret_access_key = KEY\nregion = us-east-1", "us-east-1 region"),
    ("-----BEGIN PRIVATE KEY-----\nKEY\nKEYa1\nQ7==\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE"),
];

#[test]
fn each_part_of_a_secret_that_is_secret_is_hidden_and_common_text_is_not() {
    let key = "aB3dE5fG7hI9kL1mN3oP5qR7sT";
    for (form, common) in COMPOUND {
        let secret = form
            .replace("KEY", key)
            .replace(&format!("BEGIN PRIVATE {key}"), "BEGIN PRIVATE KEY")
            .replace(&format!("END PRIVATE {key}"), "END PRIVATE KEY");
        for secrets in [Secrets::new([&*secret]), Secrets::for_logs([&*secret])] {
            assert_eq!(secrets.hide(&format!("no access for {key} today")), "no access for *** today", "{form}");
            assert_eq!(secrets.hide(&format!("x {secret} y")), "x *** y");
            for word in common.split(' ') {
                assert_eq!(secrets.hide(&format!("see {word} there")), format!("see {word} there"), "{form}");
            }
            let plain = "The service answered in 120 ms: the queue of orders_2025 at db-1.example.com is not available (HTTP 503, application/json).";
            assert_eq!(secrets.hide(plain), plain, "{form}");
        }
    }
}

#[test]
fn the_address_of_a_hook_shows_no_more_than_its_host() {
    let key = "aB3dE5fG7hI9kL1mN3oP5qR7sT";
    let secrets = Secrets::new([&*format!("https://hooks.example.com/services/T02AB3CD4/B05EF6GH7/{key}")]);
    assert_eq!(secrets.hide(&format!("POST /services/T02AB3CD4/B05EF6GH7/{key} failed")), "POST *** failed");
    let secrets = Secrets::new([&*format!("https://api.example.org/bot12345:{key}/sendMessage")]);
    for part in [format!("bot12345:{key}"), key.to_owned()] {
        assert_eq!(secrets.hide(&format!("wrong token {part}")), "wrong token ***");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_part_of_a_secret_hides_common_words(
        words in prop::collection::vec("[a-z]{2,9}|[A-Z][a-z]{2,9}|[1-9][0-9]{0,3}", 2..12),
        separators in prop::collection::vec("[;=&/:. ,-]|://|: ", 11),
        key in "[A-Z][0-9][a-z][A-Z][0-9a-zA-Z]{14,40}",
    ) {
        // However words and one key are joined: the words stay readable.
        let mut secret: String = words.iter().zip(separators.iter().cycle()).flat_map(|(word, separator)| [word.as_str(), separator.as_str()]).collect();
        secret.push_str(&key);
        let secrets = Secrets::new([&*secret]);
        let text = format!("<{}>", words.join("> <"));
        prop_assert_eq!(secrets.hide(&text), text.clone(), "{}", secret);
    }
}
