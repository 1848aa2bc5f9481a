//! What holds for any text on any channel.

use proptest::prelude::*;
use strum::VariantArray;
use unicode_segmentation::UnicodeSegmentation;

use super::{channel, chat, plain, splitting, style, telegram, text_or_nothing};
use crate::channel::{Formatted, MessagePart, fits, format as may_format, measure};
use crate::model::{Body, Channel, Features, LengthUnit, SplitAt};

/// Texts of words, marks, links, emojis and hostile pieces.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Zäß ,.]{1,12}",
        2 => prop::sample::select(vec![
            "**", "*", "_", "`", "~~", "\n", "\n\n", "\n- ", "\n1. ", "\n# ", "> ", "[x](https://a.example/b)", "https://c.example/d?e=f", "\n```\n",
            "|", "\n|a|b|\n|-|-|\n|c|d|\n", "<b>", "</b>", "<br>", "<img src=x>", "![i](https://p.example)", "&amp;", "\\", "  \n", "---", "\t",
            "e\u{301}", " \u{301}", "👩‍💻", "🇩🇪", "✅", "漢字。", "é", "\u{202E}", "\u{200D}", "1.", "{part}", "{{ x }}", "Dr. ", "! ", "? ", "\u{A0}",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Lines with numbers where Markdown looks for those of lists.
fn numbered() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "1. ", "2. ", "3. ", "18. ", "1) ", "01. ", "2026", "7 h", "\n", "\n\n", "\n   ", "- ", "> ", "May ", "**b** ", ". ", "(4)",
        "12.50", "0. ",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// What must stay as it is: figures, addresses, code, names.
const KEPT: [&str; 22] = [
    "18.",
    "3. Dezember",
    "26. 6. 2019",
    "12:30",
    "1.250,50",
    "-5",
    "30%",
    "+4915112345",
    "client@client.example",
    "client.example/help",
    "https://client.example/client?a=1_b&c=*d*",
    "/srv/client/data_x",
    "C:\\client\\x",
    "@client",
    "#client",
    "--client",
    "client.pdf",
    "client_1",
    "`client*_~`",
    "`a  b`",
    "`5. x`",
    "ID-7_8",
];

/// Texts that hold some of them between marks, in lists, quotes, cells and paragraphs; with what they hold.
fn keeping() -> impl Strategy<Value = (String, Vec<&'static str>)> {
    let around = prop::sample::select(vec![
        ("", " "),
        ("**", "** "),
        ("*", "* "),
        ("~~", "~~ "),
        ("**Label:**", " "),
        ("(", ") "),
        ("\n- ", "\n"),
        ("\n\n", "\n\n"),
        ("\n> ", "\n\n"),
        ("\n2. ", "\n"),
        ("\n# ", "\n"),
        ("**（", "）**は "),
        ("see ", ", "),
        ("<b>", "</b> "),
        ("\n\n| h |\n|---|\n| ", " |\n\n"),
    ]);
    prop::collection::vec((around, prop::sample::select(KEPT.to_vec())), 1..8).prop_map(|pieces| {
        let text = pieces.iter().map(|((before, after), kept)| format!("{before}{kept}{after}")).collect();
        (text, pieces.into_iter().map(|(_, kept)| kept).collect())
    })
}

fn channels() -> impl Strategy<Value = Channel> {
    let base = prop_oneof![
        Just(plain()),
        Just(chat()),
        Just(telegram()),
        (prop::sample::select(Body::VARIANTS), any::<bool>())
            .prop_map(|(body, full)| channel(body, if full { Features::FULL } else { Features::NONE })),
    ];
    let unit = prop::sample::select(vec![LengthUnit::Characters, LengthUnit::Utf16, LengthUnit::Bytes, LengthUnit::SmsSegments]);
    let at = prop::sample::select(vec![SplitAt::Paragraph, SplitAt::Sentence, SplitAt::Word]);
    (base, unit, at, 1u64..200, 1u64..15, any::<bool>(), any::<bool>()).prop_map(|(base, unit, at, most, parts, emojis, limited)| {
        let most = match (base.body, unit) {
            (body, LengthUnit::SmsSegments) if body.is_object() => most % 4 + 3,
            (_, LengthUnit::SmsSegments) => most % 4 + 1,
            // The empty card and its one text.
            (body, _) if body.is_object() => most + 200,
            (Body::Html, _) => most + 60,
            _ => most,
        };
        let channel = Channel { length_unit: unit, emojis, ..splitting(base, most, at, parts) };
        if limited { channel } else { Channel { max_length: None, ..channel } }
    })
}

fn squeezed(text: &str) -> String {
    text.graphemes(true).filter(|grapheme| !grapheme.chars().all(char::is_whitespace)).collect()
}

fn letters(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The parts without indicators, without white space.
fn joined(formatted: &Formatted) -> String {
    let part = |part: &MessagePart| squeezed(part.text.strip_suffix(&part.indicator).unwrap_or(&part.text));
    formatted.parts.iter().map(part).collect()
}

/// What was written as Markdown gives the same text again, and is written the same way from then on.
fn reads_back(text: &str) -> Result<(), TestCaseError> {
    let full = channel(Body::Markdown, Features::FULL);
    let once = text_or_nothing(text, &full, None);
    let twice = text_or_nothing(&once, &full, None);
    prop_assert_eq!(letters(&text_or_nothing(&once, &plain(), None)), letters(&text_or_nothing(text, &plain(), None)), "{}", once);
    prop_assert_eq!(&twice, &text_or_nothing(&twice, &full, None));
    Ok(())
}

#[test]
fn markdown_that_once_read_as_another_text_does_no_more() {
    for text in [
        "> A<br>\n,",
        ".`  \n`A",
        "~~A\nä~~",
        "<s>A<br> ä</s>",
        "<s> </s>a",
        "~~Dr. ![i](https://p.example)~~",
        "~~https://c.example/d?e=f~~",
    ] {
        reads_back(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_part_fits_its_channel(text in texts(), channel in channels(), name in prop::option::of("[A-Z*_][a-z*]{0,8}")) {
        let Ok(formatted) = may_format(&text, &channel, Some(&style()), name.as_deref()) else { return Ok(()) };
        prop_assert_eq!(fits(&formatted, &channel), Ok(()));
        prop_assert!(!formatted.parts.is_empty());
        prop_assert_eq!(formatted.is_split, formatted.parts.len() > 1);
    }

    #[test]
    fn every_part_says_something_and_all_hold_the_text_or_its_end_says_that_there_was_more(
        text in texts(), channel in channels(), tight in 1u64..40, is_tight in any::<bool>(), too_long in prop::sample::select(vec!["The rest was left out.", "More", "…", ""]),
        indicator in prop::sample::select(vec!["({part}/{parts})", "", "[part {part} of {parts}]"]),
    ) {
        let mut channel = Channel { too_long: too_long.into(), ..channel };
        channel.max_length = channel.max_length.map(|most| if is_tight { tight } else { most });
        channel.split = channel.split.map(|split| crate::model::Split { indicator: indicator.into(), ..split });
        let Ok(formatted) = may_format(&text, &channel, None, None) else { return Ok(()) };
        prop_assert_eq!(fits(&formatted, &channel), Ok(()));
        let bodies: Vec<&str> = formatted.parts.iter().map(|part| part.text.strip_suffix(&part.indicator).unwrap_or(&part.text).trim()).collect();
        prop_assert!(bodies.iter().all(|body| !body.is_empty()), "{:?}", bodies);
        let whole = may_format(&text, &Channel { max_length: None, ..channel.clone() }, None, None).unwrap();
        // Addresses give way to their hosts, tables to lines; marks are closed and opened at a cut.
        if text.contains("://") || text.contains('|') || channel.body != Body::Text {
            return Ok(());
        }
        // So are the signs around struck text.
        let words = |text: String| text.replace('>', "").replace("~~", "");
        let (sent, all) = (words(joined(&formatted)), words(squeezed(&whole.text)));
        if !formatted.shortened {
            prop_assert_eq!(sent, all);
        } else if let Some(before) = sent.strip_suffix(&squeezed(too_long)) {
            prop_assert!(all.starts_with(before.trim_end_matches('.')), "{:?} of {:?}", before, all);
        } else {
            prop_assert!(false, "{:?} of {:?} does not say that there was more", sent, all);
        }
    }

    #[test]
    fn the_parts_are_the_whole_text(text in texts(), most in 12u64..80, at in prop::sample::select(vec![SplitAt::Paragraph, SplitAt::Sentence, SplitAt::Word])) {
        let channel = splitting(plain(), most, at, 1000);
        let Ok(formatted) = may_format(&text, &channel, None, None) else { return Ok(()) };
        if !formatted.shortened {
            // The sign of a quote is in each part again, and those around struck text.
            let words = |text: String| text.replace('>', "").replace("~~", "");
            prop_assert_eq!(words(joined(&formatted)), words(squeezed(&formatted.text)));
        }
    }

    #[test]
    fn graphemes_are_never_cut(text in texts(), most in 1u64..40) {
        let channel = splitting(plain(), most, SplitAt::Word, 1000);
        let whole = text_or_nothing(&text, &Channel { max_length: None, ..channel.clone() }, None);
        let known: std::collections::HashSet<&str> = whole.graphemes(true).collect();
        let Ok(formatted) = may_format(&text, &channel, None, None) else { return Ok(()) };
        for part in &formatted.parts {
            let body = part.text.strip_suffix(&part.indicator).unwrap_or(&part.text);
            for grapheme in body.graphemes(true) {
                prop_assert!(known.contains(grapheme) || formatted.shortened || grapheme.trim().is_empty(), "{:?} of {:?}", grapheme, whole);
            }
        }
    }

    #[test]
    fn written_markdown_reads_as_the_same_text(text in texts()) {
        reads_back(&text)?;
    }

    #[test]
    fn the_figures_of_a_text_are_sent_in_their_order(lines in numbered(), which in 0..4) {
        let figures = |text: &str| text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let channel = match which {
            0 => plain(),
            1 => chat(),
            2 => telegram(),
            _ => channel(Body::Markdown, Features::FULL),
        };
        let sent = text_or_nothing(&lines, &channel, None);
        prop_assert_eq!(figures(&sent), figures(&lines), "{:?}", sent);
    }

    #[test]
    fn figures_addresses_and_code_stay_as_they_are((text, kept) in keeping(), channel in channels()) {
        let style = crate::model::StyleGuide {
            words: crate::model::Words { prefer: vec![("client".to_owned(), "customer".to_owned()), ("a b".to_owned(), "c".to_owned())], ..style().words },
            ..style()
        };
        let wide = Channel { max_length: None, split: None, ..channel };
        let Ok(formatted) = may_format(&text, &wide, Some(&style), None) else { return Ok(()) };
        let mut rest = formatted.plain.as_str();
        for kept in kept {
            let shown = kept.trim_matches('`');
            let Some(at) = rest.find(shown) else {
                return Err(TestCaseError::fail(format!("{shown:?} is not in {rest:?} of {text:?}")));
            };
            rest = &rest[at + shown.len()..];
        }
        let figures = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        prop_assert_eq!(figures(&formatted.plain).len(), figures(&text.replace("\n2. ", if formatted.plain.contains("2. ") { "\n2. " } else { "\n" })).len());
    }

    #[test]
    fn preferred_words_twice_are_preferred_words_once(text in "((one|two|three|big|One TWO|x)[ \n,]){0,20}") {
        let mut style = style();
        style.words.prefer = [("one two", "three"), ("two", "one"), ("big three", "huge"), ("x", "big x")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        style.formatting.greeting = crate::model::Phrase::Off;
        let once = text_or_nothing(&text, &plain(), Some(&style));
        prop_assert_eq!(letters(&text_or_nothing(&once, &plain(), Some(&style))), letters(&once));
    }

    #[test]
    fn html_has_no_tag_but_its_own(text in texts()) {
        let Ok(formatted) = may_format(&text, &channel(Body::Html, Features::FULL), None, None) else { return Ok(()) };
        let content = formatted.parts[0].content.as_str().unwrap_or_default().to_owned();
        for piece in content.split('<').skip(1) {
            let name: String = piece.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
            let own = ["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "blockquote", "pre", "code",
                "strong", "em", "del", "a", "br", "hr"];
            prop_assert!(own.contains(&name.as_str()), "{}", content);
        }
    }

    #[test]
    fn segments_never_shrink_when_text_is_added(text in any::<String>(), more in any::<String>()) {
        let longer = [text.as_str(), more.as_str()].concat();
        prop_assert!(measure(&text, LengthUnit::SmsSegments) <= measure(&longer, LengthUnit::SmsSegments));
    }
}
