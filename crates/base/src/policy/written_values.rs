//! What in an argument is judged, and whether the author or the person wrote it.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::model::ArgumentClass;
use crate::redact::{PiiKind, find_pii};
use crate::source::is_unseen;

/// How a tool uses an argument.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArgumentUse {
    /// What all of it decides.
    pub classes: Vec<ArgumentClass>,
    /// Whether addresses and recipients are looked for in it.
    pub is_searched: bool,
}

impl ArgumentUse {
    /// All of it decides this.
    pub fn whole(class: ArgumentClass) -> ArgumentUse {
        ArgumentUse { classes: vec![class], is_searched: false }
    }

    /// An argument of a program.
    pub fn command() -> ArgumentUse {
        ArgumentUse { classes: vec![ArgumentClass::Commands, ArgumentClass::Paths], is_searched: false }
    }

    /// An argument of a tool of which nothing is known but its name.
    pub fn searched(name: &str) -> ArgumentUse {
        ArgumentUse { classes: class_of_name(name).into_iter().collect(), is_searched: true }
    }
}

/// Names of arguments that say what they are, whatever is in them: `recipient: Bob`, `url: example.com`.
fn class_of_name(name: &str) -> Option<ArgumentClass> {
    const RECIPIENTS: &str =
        "to cc bcc recipient recipients receiver receivers invitee invitees attendee attendees participants email emails phone iban";
    const ADDRESSES: &str = "url urls uri uris link links href website webhook endpoint host domain";
    let name = name.to_lowercase();
    let among = |names: &str| names.split(' ').any(|known| known == name);
    match (among(RECIPIENTS), among(ADDRESSES)) {
        (true, _) => Some(ArgumentClass::Recipients),
        (_, true) => Some(ArgumentClass::Addresses),
        (false, false) => None,
    }
}

/// A part of an argument that is judged by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentPiece<'v> {
    /// As it stands in the argument, without white space around it.
    pub text: Cow<'v, str>,
    /// What it decides.
    pub classes: Vec<ArgumentClass>,
}

/// What is judged in an argument: each value in it however deep it lies, each key of an object, and the addresses and recipients in a text.
pub fn pieces_of<'v>(value: &'v Value, used: &ArgumentUse) -> Vec<ArgumentPiece<'v>> {
    let mut pieces = vec![];
    add_pieces(value, used, &mut pieces);
    pieces
}

fn add_pieces<'v>(value: &'v Value, used: &ArgumentUse, pieces: &mut Vec<ArgumentPiece<'v>>) {
    match value {
        Value::Null => {}
        Value::String(text) => pieces_of_text(Cow::Borrowed(text.trim()), used, pieces),
        Value::Bool(_) | Value::Number(_) => pieces_of_text(Cow::Owned(value.to_string()), used, pieces),
        Value::Array(list) => list.iter().for_each(|value| add_pieces(value, used, pieces)),
        Value::Object(map) => {
            for (name, value) in map {
                pieces_of_text(Cow::Borrowed(name.trim()), used, pieces);
                let class = class_of_name(name).filter(|class| used.is_searched && !used.classes.contains(class));
                match class {
                    Some(class) => {
                        let classes = used.classes.iter().copied().chain([class]).collect();
                        add_pieces(value, &ArgumentUse { classes, is_searched: true }, pieces);
                    }
                    None => add_pieces(value, used, pieces),
                }
            }
        }
    }
}

fn pieces_of_text<'v>(text: Cow<'v, str>, used: &ArgumentUse, pieces: &mut Vec<ArgumentPiece<'v>>) {
    if text.is_empty() {
        return;
    }
    // `to` is also the end of a time.
    let is_time = text.get(..10).is_some_and(|day| day.parse::<chrono::NaiveDate>().is_ok());
    let names = |class: &ArgumentClass| match class {
        ArgumentClass::Recipients => !is_time,
        // `v1.2` may be a file.
        ArgumentClass::Paths => !used.classes.contains(&ArgumentClass::Commands) || text.contains(['/', '\\', '.', '~']),
        ArgumentClass::Addresses | ArgumentClass::Commands => true,
    };
    let mut classes: Vec<ArgumentClass> = used.classes.iter().copied().filter(names).collect();
    if used.is_searched {
        // A web address may have commas in it, a list of recipients has them between.
        let webs = text.split_whitespace().filter(|word| is_web(word)).map(|word| (word, ArgumentClass::Addresses));
        let mails = words(&text).filter(|word| is_mail(word)).map(|word| (word, ArgumentClass::Recipients));
        let numbers = numbers(&text).map(|found| (found, ArgumentClass::Recipients));
        let hidden = text.split_whitespace().flat_map(|word| hidden_classes(word).into_iter().map(move |class| (word, class)));
        for (word, class) in webs.chain(mails).chain(numbers).chain(hidden) {
            match trimmed(word) {
                whole if *whole == *text => classes.push(class),
                part => pieces.push(ArgumentPiece { text: Cow::Owned(part.to_owned()), classes: vec![class] }),
            }
        }
    }
    pieces.push(ArgumentPiece { text, classes });
}

/// Phone numbers and accounts in a text, with the letters and digits beside them, which would make others of them.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    const FEWEST_DIGITS: usize = 7;
    let has_enough = text.bytes().filter(u8::is_ascii_digit).nth(FEWEST_DIGITS - 1).is_some();
    let found = if has_enough { find_pii(text) } else { vec![] };
    let found = found.into_iter().filter(|found| matches!(found.kind, PiiKind::Phone | PiiKind::Iban | PiiKind::Card));
    let known = found.map(|found| {
        let joined = |c: &char| is_inner(*c) && !matches!(c, ':' | '.' | '/');
        let before: usize = text[..found.range.start].chars().rev().take_while(joined).map(char::len_utf8).sum();
        let after: usize = text[found.range.end..].chars().take_while(joined).map(char::len_utf8).sum();
        &text[found.range.start - before..found.range.end + after]
    });
    // `00` in place of `+`, or zeros before an account.
    let is_dialled = |run: &&str| run.starts_with("00") && run.bytes().filter(u8::is_ascii_digit).count() >= FEWEST_DIGITS + 2;
    let runs = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, ' ' | '-' | '/' | '.' | '(' | ')'))).filter(move |_| has_enough);
    known.chain(runs.map(|run| run.trim_matches(|c: char| !c.is_ascii_digit())).filter(is_dialled))
}

/// What a word decides for a reader that reads it in another notation, and not as it stands: signs written with `%` or as entities, letters of another
/// form, signs that nobody sees. It is judged as it stands, so only who wrote it in this notation vouches for it.
fn hidden_classes(word: &str) -> Vec<ArgumentClass> {
    const MOST_TIMES: usize = 3;
    if word.is_ascii() && !word.contains(['%', '&', '\\']) {
        return vec![];
    }
    let mut read = word.to_owned();
    for _ in 0..MOST_TIMES {
        let next: String = unescaped(&read).nfkc().filter(|c| !is_unseen(*c)).collect();
        if next == read {
            break;
        }
        read = next;
    }
    let is_number = |text: &str| numbers(text).next().is_some();
    let is_recipient = is_mail(&read) && !is_mail(word) || is_number(&read) && !is_number(word);
    let is_address = is_web(&read) && !is_web(word);
    let recipient = is_recipient.then_some(ArgumentClass::Recipients);
    recipient.into_iter().chain(is_address.then_some(ArgumentClass::Addresses)).collect()
}

/// A text in which `%40`, `&#64;`, `&#x40;`, `&commat;` and `\u0040` are what they stand for.
fn unescaped(text: &str) -> String {
    const NAMED: [(&str, char); 4] = [("&commat;", '@'), ("&period;", '.'), ("&colon;", ':'), ("&sol;", '/')];
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    let first = |rest: &str| -> Option<(char, usize)> {
        if let Some((name, sign)) =
            NAMED.iter().find(|(name, _)| rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)))
        {
            return Some((*sign, name.len()));
        }
        if rest.starts_with('%') {
            return hex(rest.get(1..3)?).filter(char::is_ascii).map(|sign| (sign, 3));
        }
        if rest.starts_with("\\u") {
            return hex(rest.get(2..6)?).map(|sign| (sign, 6));
        }
        let entity = rest.strip_prefix("&#")?.split_once(';')?.0;
        let sign = match entity.strip_prefix(['x', 'X']) {
            Some(digits) => hex(digits),
            None => entity.parse().ok().and_then(char::from_u32),
        };
        sign.map(|sign| (sign, entity.len() + 3))
    };
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let (sign, length) = first(rest).unwrap_or((c, c.len_utf8()));
        out.push(sign);
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

/// Each text in a value, and each key of an object in it; numbers and truth values as they are written.
fn each_text<'v>(value: &'v Value, found: &mut dyn FnMut(Cow<'v, str>)) {
    match value {
        Value::Null => {}
        Value::String(text) => found(Cow::Borrowed(text)),
        Value::Bool(_) | Value::Number(_) => found(Cow::Owned(value.to_string())),
        Value::Array(list) => list.iter().for_each(|value| each_text(value, found)),
        Value::Object(map) => {
            for (name, value) in map {
                found(Cow::Borrowed(name));
                each_text(value, found);
            }
        }
    }
}

/// What the author and the person wrote, as far as it may vouch for a value.
#[derive(Debug, Default, Clone)]
pub struct GivenTexts<'t> {
    texts: Vec<Cow<'t, str>>,
    /// Those in which an e-mail address may stand, in small letters: made once, when one is first looked for in any case.
    small: OnceLock<Vec<String>>,
}

impl<'t> GivenTexts<'t> {
    /// Adds a text.
    pub fn add(&mut self, text: impl Into<Cow<'t, str>>) {
        self.texts.push(text.into());
        self.small.take();
    }

    /// The same, without what it borrows, to be asked often: the short texts come first.
    pub fn into_owned(self) -> GivenTexts<'static> {
        let mut texts: Vec<Cow<'static, str>> = self.texts.into_iter().map(|text| Cow::Owned(text.into_owned())).collect();
        texts.sort_by_key(|text| text.len());
        GivenTexts { texts, small: self.small }
    }

    /// Adds each text in a value.
    pub fn add_value(&mut self, value: &Value) {
        each_text(value, &mut |text| self.add(text.into_owned()));
    }

    /// Whether one of them has this very value, as a whole word or several; or, of a list of addresses in one text, whether they have each.
    pub fn have(&self, value: &str) -> bool {
        let has = |value: &str| {
            let is_address = || is_mail(value) && !value.contains(char::is_whitespace);
            self.texts.iter().any(|text| has_word(text, value)) || is_address() && self.have_in_any_case(value)
        };
        let value = value.trim();
        value.is_empty() || has(value) || {
            let mut words = words(value).peekable();
            words.peek().is_some() && words.all(|word| (is_mail(word) || is_web(word)) && has(trimmed(word)))
        }
    }

    /// Whether one of them has an e-mail address, in small or capital letters.
    fn have_in_any_case(&self, address: &str) -> bool {
        let texts = || self.texts.iter().filter(|text| is_mail(text)).map(|text| text.to_ascii_lowercase());
        let address = address.to_ascii_lowercase();
        self.small.get_or_init(|| texts().collect()).iter().any(|text| has_word(text, &address))
    }
}

/// Whether a text has a value as a whole word.
fn has_word(text: &str, value: &str) -> bool {
    if value.is_empty() || value.len() > text.len() {
        return false;
    }
    text.match_indices(value).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let rest = &text[at + value.len()..];
        let ends = match rest.chars().next() {
            // The end of a sentence is followed by a blank, or by nothing.
            Some('.' | ':' | '?' | '!') => {
                let after = rest.trim_start_matches(['.', ':', '?', '!']).chars().next();
                after.is_none_or(|c| c.is_whitespace() || is_quote(c) || matches!(c, ')' | ']' | '}' | '"' | '\'' | '*'))
            }
            next => next.is_none_or(|c| !is_inner(c)),
        };
        let is_sum = value.starts_with(|c: char| c.is_ascii_digit()) && before.is_some_and(|c| matches!(c, '$' | '€' | '£' | '¥'));
        ends && (is_sum || before.is_none_or(|c| !is_inner(c)))
    })
}

/// Whether what stands beside this character is one word with it.
fn is_inner(c: char) -> bool {
    c.is_alphanumeric()
        || is_unseen(c)
        || is_combining_mark(c)
        || matches!(c, '_' | '-' | '@' | '.' | '/' | '\\' | ':' | '%' | '+' | '=' | '&' | '?' | '#' | '~' | '$' | '|' | '^' | '!')
        || !c.is_ascii() && !c.is_whitespace() && !is_quote(c)
}

/// Marks around words that are not of ASCII.
fn is_quote(c: char) -> bool {
    matches!(c, '\u{201c}'..='\u{201f}' | '\u{2018}'..='\u{201b}' | '«' | '»' | '‹' | '›' | '。' | '、' | '，' | '…' | '–' | '—' | '\u{00bf}' | '\u{00a1}')
}

/// The words of a text with white space, commas or semicolons between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).filter(|word| !word.is_empty())
}

/// A word without brackets and quotes around it, and without the end of a sentence.
fn trimmed(word: &str) -> &str {
    let word = word.trim_start_matches(['(', '[', '{', '<', '"', '\'']);
    word.trim_end_matches([')', ']', '}', '>', '"', '\'', '.', '!', '?', ':'])
}

/// Signs of an e-mail address, as programs for mail read them.
fn is_mail(word: &str) -> bool {
    word.contains(['@', '\u{ff20}', '\u{fe6b}'])
}

/// Whether a word is a web address, or may be read as one.
fn is_web(word: &str) -> bool {
    let word = trimmed(word);
    let start = word.trim_start_matches(['/', '\\']);
    let begins = |with: &str| start.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
    word.contains("://")
        || word.contains(":\\\\")
        || begins("www.")
        || word.starts_with("//")
        || begins("javascript:")
        || begins("data:")
        || begins("mailto:")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn searched(name: &str, value: &Value) -> Vec<(String, Vec<ArgumentClass>)> {
        let pieces = pieces_of(value, &ArgumentUse::searched(name));
        pieces.into_iter().map(|piece| (piece.text.into_owned(), piece.classes)).collect()
    }

    #[test]
    fn addresses_and_recipients_are_found_wherever_they_stand() {
        use ArgumentClass::{Addresses, Recipients};
        let body = json!("Write to <bob@example.com>, or see https://evil.example/a,b(c).");
        let text = body.as_str().unwrap().to_owned();
        let of_body = [("https://evil.example/a,b(c", Addresses), ("bob@example.com", Recipients)];
        let mut expected: Vec<(String, Vec<ArgumentClass>)> = of_body.map(|(text, class)| (text.to_owned(), vec![class])).to_vec();
        expected.push((text, vec![]));
        assert_eq!(searched("body", &body), expected);
        for (name, value, class) in [
            ("recipient", json!("Bob"), Some(Recipients)),
            ("message", json!({ "to": ["Bob"] }), Some(Recipients)),
            ("url", json!("evil.example"), Some(Addresses)),
            ("account", json!("GB33BUKB20201555555555"), Some(Recipients)),
            ("text", json!("+41 79 123 45 67"), Some(Recipients)),
            ("text", json!("www.evil.example"), Some(Addresses)),
            ("text", json!("//evil.example/x"), Some(Addresses)),
            ("text", json!("bob\u{ff20}evil.example"), Some(Recipients)),
            ("to", json!("2026-01-31"), None),
            ("text", json!("Hello Bob"), None),
            ("day", json!(7), None),
        ] {
            let found = searched(name, &value);
            assert_eq!(found.last().unwrap().1.first().copied(), class, "{name} {value}: {found:?}");
        }
        let keys = searched("values", &json!({ "mallory@evil.example": 1 }));
        assert_eq!(keys[0], ("mallory@evil.example".to_owned(), vec![Recipients]));
        let of_program = ArgumentUse { classes: vec![ArgumentClass::Commands, ArgumentClass::Paths], is_searched: false };
        let classes = |value: Value| pieces_of(&value, &of_program).into_iter().map(|piece| piece.classes.len()).collect::<Vec<_>>();
        assert_eq!((classes(json!(["push", "a/b"])), classes(json!([null, " "]))), (vec![1, 2], vec![]));
    }

    /// The safe side: a value is looked at as soon as any reader could take it for an address, and is the person's only as they wrote it.
    #[test]
    fn a_value_in_another_notation_is_judged_and_only_vouched_for_as_it_stands() {
        use ArgumentClass::{Addresses, Recipients};
        let given = given(&["Write to bob@example.com, call +49 151 1234567, see https://a.example/x, read 13, and bill 00491511234568."]);
        for (value, class) in [
            ("bob%40example.com", Recipients),
            ("bob%2540example.com", Recipients),
            ("bob&#64;example.com", Recipients),
            ("bob&#x40;example.com", Recipients),
            ("bob&commat;example.com", Recipients),
            ("bob\\u0040example.com", Recipients),
            ("https%3A%2F%2Fa.example%2Fx", Addresses),
            ("00491511234567", Recipients),
            ("0049 151 1234567", Recipients),
            ("+４９１５１１２３４５６７", Recipients),
            ("%2B491511234567", Recipients),
        ] {
            for text in [value.to_owned(), format!("Hello, {value} it is")] {
                let pieces = pieces_of(&json!(text), &ArgumentUse::searched("text"))
                    .into_iter()
                    .map(|p| (p.text.into_owned(), p.classes))
                    .collect::<Vec<_>>();
                let judged: Vec<_> = pieces.iter().filter(|(_, classes)| classes.contains(&class)).collect();
                assert!(!judged.is_empty() && judged.iter().all(|(text, _)| !given.have(text)), "{text} {pieces:?}");
            }
        }
        for plain in ["Save 20% & more", "a/b", "0.0012345678", "2026-11-18 15:00:00", "A%20B", "1 000 000 000"] {
            let pieces = searched("text", &json!(plain));
            assert!(pieces.iter().all(|(_, classes)| classes.is_empty()), "{plain} {pieces:?}");
        }
        // A number is theirs only as they wrote it.
        for (value, is_theirs) in
            [(json!(13), true), (json!("13"), true), (json!("013"), false), (json!(13.0), false), (json!("1e1"), false)]
        {
            let pieces = pieces_of(&value, &ArgumentUse::default()).into_iter().map(|piece| piece.text.into_owned()).collect::<Vec<_>>();
            assert_eq!(pieces.iter().all(|piece| given.have(piece)), is_theirs, "{value}");
        }
        assert!(given.have("00491511234568"));
    }

    fn given(texts: &[&str]) -> GivenTexts<'static> {
        let mut given = GivenTexts::default();
        texts.iter().for_each(|text| given.add((*text).to_owned()));
        given
    }

    #[test]
    fn a_value_is_vouched_for_only_as_a_whole_word() {
        let given =
            given(&["Send it to Bob@Example.com (or ana@example.com), see https://a.example/x. Pay €500!", "Never push --force to main"]);
        for value in [
            "bob@example.com",
            " ana@example.com ",
            "ana@example.com; bob@example.com",
            "https://a.example/x",
            "500",
            "push --force",
            "",
            "Pay",
        ] {
            assert!(given.have(value), "{value}");
        }
        for value in [
            "ob@example.com",
            "bob@example.co",
            "bob@example.com.evil.example",
            "https://a.example",
            "https://a.example/x?to=evil",
            "https://a.example/x,secret",
            "50",
            "force",
            "ana@example.com mallory@evil.example",
            "ana@example.com, Bob",
            "b\u{43e}b@example.com",
            "bob@example.com\u{200b}",
            "HTTPS://A.EXAMPLE/x",
        ] {
            assert!(!given.have(value), "{value}");
        }
        assert!(!GivenTexts::default().have("x"));
    }

    /// What an attacker may put around and into an address of the person.
    fn hostile() -> impl Strategy<Value = Value> {
        let part = "[a-zA-Z0-9.@%+/:_-]{1,6}|[\u{430}-\u{44f}\u{200b}-\u{200f}\u{301}\u{ff01}-\u{ff5e}\u{2800}]{1,3}";
        let address = (part, prop::option::of(part), 0usize..3).prop_map(|(one, two, place)| match place {
            0 => format!("{one}bob@example.com"),
            1 => format!("bob@example.com{one}"),
            _ => format!("{one}bob@example.com{}", two.unwrap_or_default()),
        });
        (address, 0usize..6).prop_map(|(address, way)| match way {
            0 => json!(address),
            1 => json!(["bob@example.com", address]),
            2 => json!({ "to": [{ "email": address }] }),
            3 => json!({ address: "bob@example.com" }),
            4 => json!(format!("bob@example.com, {address}")),
            _ => json!(format!("\"Bob\" <{address}>")),
        })
    }

    proptest! {
        #[test]
        fn no_address_but_the_very_one_of_the_person_is_vouched_for(value in hostile(), name in "to|text|recipients") {
            let given = given(&["Please write to bob@example.com about it."]);
            let pieces = pieces_of(&value, &ArgumentUse::searched(&name));
            let judged: Vec<&ArgumentPiece> = pieces.iter().filter(|piece| piece.classes.contains(&ArgumentClass::Recipients)).collect();
            let whole = ArgumentUse { classes: vec![ArgumentClass::Recipients], is_searched: false };
            let others = |pieces: &[ArgumentPiece]| pieces.iter().any(|piece| piece.classes.contains(&ArgumentClass::Recipients) && !given.have(&piece.text));
            // Marks that end a sentence, and brackets, are no part of an address.
            let harmless = |text: &str| text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).all(|word| {
                !word.contains("example.com") || trimmed(word) == "bob@example.com" || word == "\"Bob\""
            });
            let mut all_harmless = true;
            each_text(&value, &mut |text| all_harmless &= harmless(&text));
            prop_assert!(!judged.is_empty());
            prop_assert!(all_harmless || others(&pieces), "{value} {pieces:?}");
            prop_assert!(all_harmless || others(&pieces_of(&value, &whole)), "{value}");
        }
    }
}
