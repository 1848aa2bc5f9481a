//! How long texts become parts.

use super::{channel, chat, contents, format, plain, splitting, style, words};
use crate::channel::fits;
use crate::model::{Body, Channel, Features, LengthUnit, SplitAt};

#[test]
fn a_long_text_is_split_at_sentences_with_the_indicator_in_the_length() {
    let formatted = format("One is here. Two is here. Three is here.", &splitting(plain(), 32, SplitAt::Sentence, 10), None, None);
    assert_eq!(contents(&formatted), ["One is here. Two is here. (1/2)", "Three is here. (2/2)"]);
    assert_eq!(formatted.parts[0].indicator, "(1/2)");
    assert!(formatted.is_split && !formatted.shortened);
    assert_eq!(formatted.text, "One is here. Two is here. Three is here.");
}

#[test]
fn paragraphs_stay_whole_while_they_can_and_long_ones_are_cut_at_sentences() {
    let at =
        |most| format("Short one.\n\nThe second. It is longer.\n\nThird.", &splitting(plain(), most, SplitAt::Paragraph, 10), None, None);
    assert_eq!(contents(&at(44)), ["Short one.\n\nThe second. It is longer. (1/2)", "Third. (2/2)"]);
    assert_eq!(contents(&at(42)), ["Short one. (1/2)", "The second. It is longer.\n\nThird. (2/2)"]);
    assert_eq!(contents(&at(31)), ["Short one. (1/3)", "The second. It is longer. (2/3)", "Third. (3/3)"]);
    assert_eq!(contents(&at(30)), ["Short one.\n\nThe second. (1/2)", "It is longer.\n\nThird. (2/2)"]);
}

#[test]
fn headings_and_greetings_stay_with_what_follows() {
    let channel = splitting(plain(), 40, SplitAt::Paragraph, 10);
    let formatted = format("First paragraph here.\n\n# Title\n\nSecond paragraph.", &channel, None, None);
    assert_eq!(contents(&formatted), ["First paragraph here. (1/2)", "Title\n\nSecond paragraph. (2/2)"]);
    let formatted = format("Words that fill a part.\n\nSecond paragraph.", &channel, Some(&style()), Some("Ana"));
    assert_eq!(contents(&formatted), ["Hi Ana,\n\nWords that fill a part. (1/2)", "Second paragraph. (2/2)"]);
}

#[test]
fn marks_are_closed_at_a_cut_and_opened_after_it() {
    let formatted = format("**one two three four five six**", &splitting(chat(), 24, SplitAt::Word, 10), None, None);
    assert_eq!(contents(&formatted), ["*one two three* (1/2)", "*four five six* (2/2)"]);
    let formatted = format("- **a** b\n- c d e f\n- g h", &splitting(chat(), 18, SplitAt::Sentence, 10), None, None);
    assert_eq!(contents(&formatted), ["- *a* b (1/3)", "- c d e f (2/3)", "- g h (3/3)"]);
    let code = format(
        "```\nlet a = 1;\nlet b = 2;\n```",
        &splitting(channel(Body::Markdown, Features::FULL), 28, SplitAt::Sentence, 10),
        None,
        None,
    );
    assert_eq!(contents(&code), ["```\nlet a = 1;\n```\n\n(1/2)", "```\nlet b = 2;\n```\n\n(2/2)"]);
}

#[test]
fn a_table_that_is_cut_has_its_header_in_each_part() {
    let table = "| Day | Hours |\n|---|---|\n| Mon | 8 |\n| Tue | 7 |\n";
    let formatted = format(table, &splitting(channel(Body::Markdown, Features::FULL), 50, SplitAt::Paragraph, 10), None, None);
    let head = "| Day | Hours |\n| --- | --- |\n";
    assert_eq!(contents(&formatted), [format!("{head}| Mon | 8 |\n\n(1/2)"), format!("{head}| Tue | 7 |\n\n(2/2)")]);
    let narrow = format(table, &splitting(channel(Body::Markdown, Features::FULL), 32, SplitAt::Paragraph, 10), None, None);
    assert_eq!(contents(&narrow), ["Day: Mon, Hours: 8 (1/2)", "Day: Tue, Hours: 7 (2/2)"]);
}

#[test]
fn links_and_graphemes_are_never_cut() {
    let formatted = format("Read https://a.example/page now, then rest", &splitting(plain(), 31, SplitAt::Word, 10), None, None);
    assert_eq!(contents(&formatted), ["Read (1/3)", "https://a.example/page (2/3)", "now, then rest (3/3)"]);
    let family = "👩‍👩‍👧‍👦".repeat(6);
    let formatted = format(&family, &splitting(plain(), 20, SplitAt::Sentence, 10), None, None);
    assert_eq!(contents(&formatted).iter().map(|part| part.matches("👩‍👩‍👧‍👦").count()).sum::<usize>(), 6);
}

#[test]
fn what_fits_into_no_part_is_an_error_and_never_an_empty_or_another_part() {
    let fails = |text: &str, channel: &Channel| crate::channel::format(text, channel, None, None).unwrap_err().to_string();
    let family = "👩‍👩‍👧‍👦";
    let zalgo = format!("Z{}", "\u{334}\u{321}\u{489}".repeat(200));
    let sms = |most| Channel { length_unit: LengthUnit::SmsSegments, ..splitting(plain(), most, SplitAt::Sentence, 3) };
    // The example: a letter with its marks is longer than the one segment.
    for text in [zalgo.clone(), format!("Hello {zalgo} you")] {
        let told = fails(&text, &sms(1));
        assert!(told.contains("has at most 1 SMS segments (max_length), too few for \"Z"), "{told}");
    }
    let silent = |channel: Channel| Channel {
        split: channel.split.map(|split| crate::model::Split { indicator: String::new(), ..split }),
        ..channel
    };
    let three = |body| silent(splitting(channel(body, Features::NONE), 3, SplitAt::Sentence, 10));
    for (text, channel) in [
        (family.to_owned(), three(Body::Text)),
        (format!("a{family}b"), three(Body::Text)),
        (format!("a {family} b"), three(Body::Markup)),
        (family.to_owned(), three(Body::Markdown)),
        ("Hello".into(), three(Body::Html)),
        ("Hello".into(), three(Body::AdaptiveCard)),
    ] {
        let told = fails(&text, &channel);
        assert!(told.contains("has at most 3 characters (max_length), too few for \"") && told.contains("cannot be cut"), "{told}");
    }
    for unit in [LengthUnit::Bytes, LengthUnit::Utf16, LengthUnit::Characters] {
        let narrow = Channel { length_unit: unit, ..three(Body::Text) };
        assert!(fails(family, &narrow).contains("which cannot be cut"));
    }
    // An escape makes one character two.
    let escaped = Channel { max_length: Some(1), ..silent(splitting(super::telegram(), 1, SplitAt::Word, 9)) };
    assert!(fails("a.b.c", &escaped).contains("\".\", which cannot be cut"), "{}", fails("a.b.c", &escaped));
    // Marks, the indicator and too_long take room, too.
    let bold = silent(splitting(chat(), 2, SplitAt::Word, 9));
    assert!(fails("**ab** and more", &bold).contains("cannot be cut"));
    assert!(fails("a b c d", &splitting(plain(), 4, SplitAt::Word, 9)).contains("too few for the indicator \"(9/9)\""));
    assert!(fails("a b c d e", &splitting(plain(), 5, SplitAt::Word, 9)).contains("which cannot be cut, and the indicator"));
    let one_part = Channel { max_length: Some(10), ..plain() };
    let told = fails("A text of more than ten.", &one_part);
    assert!(told.contains("the end of a text that is longer than one part and too_long \"The rest was left out.\""), "{told}");
    let one_part = Channel { max_length: Some(24), ..plain() };
    assert!(fails(&family.repeat(4), &one_part).contains("the end of a text that is longer than one part"));
    assert!(fails("", &plain()).starts_with("nothing of the text can be shown in channel \"test\": it is empty,"));
}

#[test]
fn an_address_longer_than_a_part_gives_way_to_its_host() {
    let long = format!("See [the page](https://a.example/{}) or https://b.example/{}", "x".repeat(60), "y".repeat(60));
    let formatted = format(&long, &splitting(channel(Body::Markdown, Features::FULL), 40, SplitAt::Sentence, 10), None, None);
    assert_eq!(contents(&formatted), ["See the page (a.example...) or (1/2)", "b.example... (2/2)"]);
    assert!(formatted.shortened);
}

#[test]
fn more_than_the_parts_allow_is_cut_at_a_sentence_and_says_so() {
    let mut channel = splitting(plain(), 40, SplitAt::Sentence, 2);
    channel.too_long = "More is in your sheet.".into();
    let formatted = format("One is here, a bit long. Two. Three is here. Four is here. Five is here.", &channel, None, None);
    assert_eq!(contents(&formatted), ["One is here, a bit long. Two. (1/2)", "Three is... More is in your sheet. (2/2)"]);
    assert!(formatted.shortened && formatted.text.ends_with("More is in your sheet."));
    let single = Channel { max_length: Some(50), ..plain() };
    let formatted = format("One is here. Two is here. Three is here. Four is here.", &single, None, None);
    assert_eq!(contents(&formatted), ["One is here. Two is here. The rest was left out."]);
    let formatted = format("a very long sentence without any end in sight for long", &single, None, None);
    assert_eq!(contents(&formatted), ["a very long sentence... The rest was left out."]);
    let formatted = format("a very long sentence… notwithstanding all the rest of it", &single, None, None);
    assert_eq!(contents(&formatted), ["a very long sentence… The rest was left out."]);
}

#[test]
fn ten_parts_leave_room_for_two_digits() {
    let source = "Sentence number is x. ".repeat(12);
    let formatted = format(&source, &splitting(plain(), 30, SplitAt::Sentence, 20), None, None);
    assert_eq!(formatted.parts.len(), 12);
    assert_eq!(formatted.parts[11].indicator, "(12/12)");
    assert!(fits(&formatted, &splitting(plain(), 30, SplitAt::Sentence, 20)).is_ok());
}

#[test]
fn a_card_is_measured_as_its_json() {
    let mut channel = splitting(channel(Body::AdaptiveCard, words(&["bold"])), 250, SplitAt::Sentence, 10);
    channel.length_unit = LengthUnit::Bytes;
    let formatted = format(&"A sentence of **words**. ".repeat(20), &channel, None, None);
    assert!(formatted.is_split);
    for part in &formatted.parts {
        assert!(part.content.to_string().len() <= 250);
        assert_eq!(part.content["type"], "AdaptiveCard");
    }
}

#[test]
fn fits_names_part_and_numbers() {
    let wide = format("One is here. Two is here.", &plain(), None, None);
    let narrow = splitting(plain(), 10, SplitAt::Sentence, 10);
    assert_eq!(fits(&wide, &narrow).unwrap_err().to_string(), "Part 1 has 25 characters; channel \"test\" allows 10.");
    let smiling = format("Hi 🎉", &plain(), None, None);
    assert_eq!(
        fits(&smiling, &Channel { emojis: false, ..plain() }).unwrap_err().to_string(),
        "Part 1 has emojis; channel \"test\" has none."
    );
}

#[test]
fn deep_and_long_texts_end_soon() {
    for piece in [">", "- ", "**a ", "[", "<a ", "&", "a", "https://a.example/ "] {
        let hostile = piece.repeat(5_000);
        for channel in [plain(), channel(Body::Markdown, Features::FULL), channel(Body::Html, Features::FULL)] {
            let channel = splitting(channel, 160, SplitAt::Paragraph, 5);
            match crate::channel::format(&hostile, &channel, None, None) {
                Ok(formatted) => assert_eq!(fits(&formatted, &channel), Ok(()), "{piece}"),
                Err(error) => assert!([">", "- "].contains(&piece), "{piece}: {error}"),
            }
        }
    }
}
