use std::sync::Arc;

use insta::assert_snapshot;
use regex::Regex;

use super::*;
use crate::model::{LetterCase, PlainCheck};

/// All checks but `equals` and `expression`, which do not read.
fn all() -> Vec<(&'static str, FilledCheck)> {
    vec![
        ("contains", FilledCheck::Contains(vec!["of 40".into()], LetterCase::Exact)),
        ("not_contains", FilledCheck::NotContains(vec!["sorry".into(), "Sorry".into()], LetterCase::Exact)),
        ("regex", FilledCheck::Plain(PlainCheck::Regex(Regex::new(r"^\w+( Ana)?,").unwrap()))),
        (
            "json_schema",
            FilledCheck::Plain(PlainCheck::JsonSchema(Arc::new(json!({ "if": { "type": "string" }, "then": { "pattern": "32" } })))),
        ),
        ("max_length", FilledCheck::Plain(PlainCheck::MaxLength(150))),
        ("min_length", FilledCheck::Plain(PlainCheck::MinLength(40))),
        ("fits_channel", FilledCheck::Plain(PlainCheck::FitsChannel)),
        ("style_guide", FilledCheck::Plain(PlainCheck::StyleGuide)),
        ("markdown", FilledCheck::Plain(PlainCheck::Markdown(Features::NONE))),
        ("emojis", FilledCheck::Plain(PlainCheck::Emojis(1))),
        ("language", FilledCheck::Plain(PlainCheck::Language("en".into()))),
        ("pii", FilledCheck::Plain(PlainCheck::PiiNone)),
        ("links", FilledCheck::Plain(PlainCheck::Links(vec!["acme.example".into()]))),
        ("readability", FilledCheck::Plain(PlainCheck::Readability(9.0))),
        ("numbers_from", FilledCheck::NumbersFrom(json!({ "logged": 32, "target": 40.0, "team": "+49 30 1234567" }))),
    ]
}

fn failing(value: &Value, text: &str) -> Vec<(&'static str, CheckResult)> {
    let (channel, style) = (plain(), style());
    let judged = JudgedText { value, text, formatted: None, channel: Some(&channel), style: Some(&style), person_name: Some("Ana") };
    let results = all().into_iter().map(|(name, checked)| (name, check(&checked, &judged)));
    results.filter(|(_, result)| !passes(result)).collect()
}

#[test]
fn a_good_text_passes_every_check() {
    let text = "Hi Ana,\n\nYou have logged 32 of 40 hours this week. 🎉 Friday is still open: https://acme.example/week\n\nAcme 36/5";
    assert_eq!(failing(&json!(text), text), []);
}

#[test]
fn each_check_fails_on_its_own_fault_only_and_says_what_to_do() {
    let greeted = |body: &str| format!("Hi Ana,\n\n{body}\n\nAcme 36/5");
    let texts = [
        ("contains", greeted("You have logged 32 hours this week, and Friday is still open.")),
        ("not_contains", greeted("Sorry! You have logged 32 of 40 hours this week.")),
        ("regex", greeted("You have logged 32 of 40 hours this week.").replacen("Hi Ana,", "Hi Ana!", 1)),
        ("json_schema", greeted("You have logged thirty-two of 40 hours this week.")),
        (
            "max_length",
            greeted(
                "You have logged 32 of 40 hours this week. Friday is still open, and so is the week after it. Now it is time to do the rest, I think.",
            ),
        ),
        ("min_length", "Hi Ana,\n\n32 of 40 hours.\n\nAcme 36/5".into()),
        ("style_guide", greeted("You have logged 32 of 40 Time\nUnits this week.")),
        ("markdown", greeted("You have logged **32** of 40 hours this week.")),
        ("emojis", greeted("You have logged 32 of 40 hours this week 🎉🎉.")),
        ("language", greeted("Sie haben diese Woche 32 von 40 Stunden gebucht (32 of 40), und Freitag ist noch nichts da.")),
        ("pii", greeted("You have logged 32 of 40 hours this week. Call +49 30 1234567.")),
        ("links", greeted("You have logged 32 of 40 hours this week: https://acme.example.evil.example/week")),
        ("readability", greeted("You have accumulated 32 of 40 contractually obligatory administrative working hours.")),
        ("numbers_from", greeted("You have logged 32 of 40 hours this week, and 35 hours last week.")),
    ];
    let mut said = String::new();
    for (name, text) in texts {
        let mut failed = failing(&json!(text), &text);
        let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [name], "{text}\n{failed:?}");
        let (_, result) = failed.remove(0);
        said.push_str(&format!("{name}: {} | {}\n", result.feedback, result.evidence));
    }
    assert_snapshot!(said, @r#"
    contains: "of 40" does not occur in the text. | Hi Ana, You have logged 32 hours this week, and Friday is still open. Acme 36/5
    not_contains: "Sorry" must not occur in the text. | Sorry! You have logged 32 of 40 hours this week.
    regex: Nothing in the text fits the pattern "^\w+( Ana)?,". | Hi Ana! You have logged 32 of 40 hours this week. Acme 36/5
    json_schema: The value does not have the right shape: "Hi Ana,\n\nYou have logged thirty-two of 40 hours this week.\n\nAcme 36/5" does not match "32". | 
    max_length: The text has 152 characters; at most 150 are allowed. | and so is the week after it. Now it is time to do the rest, I think. Acme 36/5
    min_length: The text has 35 characters; at least 40 are needed. | Hi Ana, 32 of 40 hours. Acme 36/5
    style_guide: The style guide bans the word "time units". | You have logged 32 of 40 Time
    markdown: The text uses Markdown for bold; no Markdown is allowed. | You have logged **32** of 40 hours this week.
    emojis: The text has 2 emojis; at most 1 is allowed. | You have logged 32 of 40 hours this week 🎉🎉.
    language: The text is not English but German. | Hi Ana, Sie haben diese Woche 32 von 40 Stunden gebucht (32 of 40), und Freitag ist noch nichts da. Acme 36/5
    pii: The text has personal data: a phone number. | +4…
    links: The text has the link "https://acme.example.evil.example/week"; allowed are only links to "acme.example". | You have logged 32 of 40 hours this week: https://acme.example.evil.example/week
    readability: The text needs school grade 14.5; at most 9 is allowed: use shorter words. | You have accumulated 32 of 40 contractually obligatory administrative working hours.
    numbers_from: The figure 35 does not occur in the data. | You have logged 32 of 40 hours this week, and 35 hours last week.
    "#);
}

#[test]
fn a_formatted_text_is_measured_part_by_part_as_it_is_sent() {
    let long = "You have logged 32 of 40 hours this week. ".repeat(8);
    assert!(passes(&of_formatted(&FilledCheck::Plain(PlainCheck::FitsChannel), &long, &plain(), None, None)), "three parts of 160 hold it");
    let formatted = crate::channel::format(&long, &plain(), None, None).unwrap();
    let value = serde_json::to_value(&formatted).unwrap();
    let narrow = Channel { max_length: Some(100), ..plain() };
    let judged = JudgedText {
        value: &value,
        text: &formatted.plain,
        formatted: Some(&formatted),
        channel: Some(&narrow),
        style: None,
        person_name: None,
    };
    assert_eq!(
        check(&FilledCheck::Plain(PlainCheck::FitsChannel), &judged).feedback,
        "Part 1 has 131 characters; channel \"test\" allows 100."
    );
    let one = Channel { split: None, ..plain() };
    let judged = JudgedText { channel: Some(&one), ..judged };
    assert_eq!(check(&FilledCheck::Plain(PlainCheck::FitsChannel), &judged).feedback, "The text has 3 parts; channel \"test\" allows 1.");
}

#[test]
fn a_formatted_text_is_judged_as_it_reads_on_every_channel() {
    let full = |body| Channel { emojis: true, max_length: None, ..channel(body, Features::FULL) };
    let chat = Channel {
        markup: Markup { bold: Some("*".into()), italic: Some("_".into()), link: Some("<{url}|{text}>".into()), ..Markup::default() },
        ..full(Body::Markup)
    };
    let silent = crate::model::Formatting { greeting: Phrase::Off, sign_off: Phrase::Off, use_user_name: false };
    let style = StyleGuide { formatting: silent, words: Words { banned: vec!["synergy".into()], ..Words::default() }, ..style() };
    for channel in [full(Body::Text), chat, full(Body::Markdown), full(Body::Html), full(Body::AdaptiveCard)] {
        let body = channel.body;
        let judge = |checked: FilledCheck, text: &str| of_formatted(&checked, text, &channel, Some(&style), None).passed;
        let contains = |wanted: &str| FilledCheck::Contains(vec![wanted.to_owned()], LetterCase::Exact);
        let (guide, none) = (|| FilledCheck::Plain(PlainCheck::StyleGuide), || FilledCheck::Plain(PlainCheck::Links(vec![])));
        assert!(judge(contains("32 of 40"), "You have **32** of 40 hours."), "{body:?}");
        assert!(judge(contains("a_b 2*3 [x] 1. R&D"), "So: a\\_b 2\\*3 \\[x] 1\\. R&D"), "{body:?}");
        assert!(!judge(FilledCheck::NotContains(vec!["synergy".into()], LetterCase::Exact), "More syn**er**gy now."), "{body:?}");
        assert!(!judge(guide(), "More syn**er**gy now.") && judge(guide(), "More of it."), "{body:?}");
        assert!(judge(FilledCheck::Equals(json!("Hi Ana")), "Hi **Ana**"), "{body:?}");
        assert!(judge(FilledCheck::Plain(PlainCheck::MaxLength(6)), "Hi **Ana**"), "{body:?}");
        assert!(!judge(none(), "See [here](https://acme.example/x).") && judge(none(), "See x[0](y) and **more**."), "{body:?}");
        // Marks are what this check is about: those that are sent.
        let marks = judge(FilledCheck::Plain(PlainCheck::Markdown(Features::NONE)), "Hi **Ana**");
        assert_eq!(marks, !matches!(body, Body::Markdown | Body::Markup), "{body:?}");
    }
}

#[test]
fn a_card_is_measured_as_its_json() {
    let card = Channel { max_length: Some(400), ..channel(Body::AdaptiveCard, Features::NONE) };
    assert!(passes(&of_formatted(&FilledCheck::Plain(PlainCheck::FitsChannel), "Short.", &card, None, None)));
    assert!(
        passes(&of_formatted(&FilledCheck::Plain(PlainCheck::MaxLength(6)), "Short.", &card, None, None)),
        "max_length asks for the text only"
    );
}

#[test]
fn a_text_that_was_not_formatted_must_fit_as_one_message() {
    let mut narrow = Channel { emojis: false, max_length: Some(10), ..plain() };
    let judge = |channel: &Channel, text: &str| {
        check(
            &FilledCheck::Plain(PlainCheck::FitsChannel),
            &JudgedText { value: &json!(text), text, formatted: None, channel: Some(channel), style: None, person_name: None },
        )
    };
    assert!(passes(&judge(&narrow, "1234567890")));
    assert_eq!(judge(&narrow, "12345678901").feedback, "The text has 11 characters; channel \"test\" allows 10.");
    assert_eq!(judge(&narrow, "ok 🎉").feedback, "The text has emojis; channel \"test\" has none.");
    narrow.length_unit = LengthUnit::Bytes;
    assert!(!passes(&judge(&narrow, "äöüäöü")));
    assert!(!passes(&of_text(&FilledCheck::Plain(PlainCheck::FitsChannel), "no channel")));
}

#[test]
fn lengths_count_in_the_unit_of_the_channel() {
    let channel = Channel { length_unit: LengthUnit::SmsSegments, ..plain() };
    let text = "a".repeat(161);
    let judged = JudgedText { value: &json!(text), text: &text, formatted: None, channel: Some(&channel), style: None, person_name: None };
    assert_eq!(
        check(&FilledCheck::Plain(PlainCheck::MaxLength(1)), &judged).feedback,
        "The text has 2 SMS segments; at most 1 is allowed."
    );
    assert!(passes(&check(&FilledCheck::Plain(PlainCheck::MinLength(2)), &judged)));
    assert!(passes(&of_text(&FilledCheck::Plain(PlainCheck::MaxLength(161)), &text)), "without a channel in characters");
}

#[test]
fn a_text_that_format_made_keeps_to_the_style_guide() {
    let (mut guide, text) = (style(), "You have logged 32 of 40 hours. ✅");
    assert!(passes(&of_formatted(&FilledCheck::Plain(PlainCheck::StyleGuide), text, &plain(), Some(&guide), Some("Ana"))));
    assert!(
        passes(&of_formatted(&FilledCheck::Plain(PlainCheck::StyleGuide), &"More words. ".repeat(100), &plain(), Some(&guide), None)),
        "cut at its end"
    );
    guide.emojis.enabled = false;
    assert!(
        passes(&of_formatted(&FilledCheck::Plain(PlainCheck::StyleGuide), text, &plain(), Some(&guide), None)),
        "format takes emojis out"
    );
    let raw = |guide: &StyleGuide, text: &str| {
        check(
            &FilledCheck::Plain(PlainCheck::StyleGuide),
            &JudgedText { value: &json!(text), text, formatted: None, channel: None, style: Some(guide), person_name: Some("Ana") },
        )
        .feedback
    };
    let own = json!({ "shortened": true });
    let judged =
        JudgedText { value: &own, text: "Hello, done.", formatted: None, channel: None, style: Some(&guide), person_name: Some("Ana") };
    let found = check(&FilledCheck::Plain(PlainCheck::StyleGuide), &judged).feedback;
    assert_eq!(found, "The text does not end with the sign-off \"Acme 36/5\".", "a field of a step's own value says nothing of a text");
    assert_eq!(raw(&guide, "Hello, done ✅ Acme 36/5"), "The style guide allows no emojis.");
    for (text, feedback) in [
        ("Hi there,\n\nDone.\n\nAcme 36/5", "The text greets with \"Hi there\" in place of \"Hi Ana,\"."),
        (
            "Hi Ana,\n\nDear Ms Moreira,\n\nDone.\n\nAcme 36/5",
            "The text greets twice: \"Dear Ms Moreira\" is not the greeting of the style guide.",
        ),
        (
            "Hi Ana,\n\nDone.\n\nBest regards,\nEleanor\n\nAcme 36/5",
            "The text signs off with \"Best regards,\", which is not the sign-off of the style guide.",
        ),
        ("Hello Ana,\n\nDone. Thanks!\n\nAcme 36/5", ""),
        ("Hello,\n\nDone.\n\nAcme 36/5", ""),
    ] {
        assert_eq!(raw(&guide, text), feedback, "{text}");
    }
    let silent = StyleGuide { formatting: Formatting::default(), ..guide.clone() };
    assert_eq!(
        raw(&silent, "Done.\n\nViele Grüße\nMaya"),
        "The text signs off with \"Viele Grüße\", which is not the sign-off of the style guide."
    );
    assert_eq!(raw(&silent, "Sehr geehrte Frau Moreira,\n\nfertig."), "The text greets, but the style guide sets no greeting.");
    assert_eq!(raw(&guide, "Done. Acme 36/5"), "The text does not begin with the greeting \"Hi Ana,\".");
    assert_eq!(raw(&guide, "Hello, done."), "The text does not end with the sign-off \"Acme 36/5\".");
    guide.formatting = Formatting::default();
    assert_eq!(raw(&guide, "Hi Ana, done."), "The text greets, but the style guide sets no greeting.");
    assert_eq!(raw(&guide, "Cheaply done."), "");
    assert!(!passes(&of_text(&FilledCheck::Plain(PlainCheck::StyleGuide), "no style guide")));
}

#[test]
fn only_marks_that_markdown_really_reads_are_markdown() {
    let none = FilledCheck::Plain(PlainCheck::Markdown(Features::NONE));
    for text in [
        "2 * 3 * 4 = 24, a_b_c, 5 > 3, #1, ~5 and 1. May",
        "16. November war frei.",
        "    indented",
        "Total:\n32",
        "It is *not done",
        "[32] of (40)",
        "a | b",
    ] {
        assert!(passes(&of_text(&none, text)), "{text}");
    }
    for (text, feature) in [
        ("a **b** c", "bold"),
        ("a *b* c", "italic"),
        ("a _b_ c", "italic"),
        ("a ~~b~~ c", "strike"),
        ("# Title", "headers"),
        ("Title\n=====", "headers"),
        ("|a|b|\n|-|-|\n|1|2|", "tables"),
        ("[a](https://a.example)", "links"),
        ("![a](https://a.example/x.png)", "links"),
        ("a `b` c", "code"),
        ("```\na\n```", "code"),
        ("- a\n- b", "lists"),
        ("1. a", "lists"),
        ("3. a\n4. b", "lists"),
    ] {
        assert_eq!(of_text(&none, text).feedback, format!("The text uses Markdown for {feature}; no Markdown is allowed."), "{text}");
        let mut features = Features::FULL;
        assert!(passes(&of_text(&FilledCheck::Plain(PlainCheck::Markdown(features)), text)), "{text}");
        features = Features::NONE;
        features.enable(feature);
        assert!(passes(&of_text(&FilledCheck::Plain(PlainCheck::Markdown(features)), text)), "{text}");
    }
    let mut bold = Features::NONE;
    bold.enable("bold");
    assert_eq!(
        of_text(&FilledCheck::Plain(PlainCheck::Markdown(bold)), "*a*").feedback,
        "The text uses Markdown for italic; allowed is only bold."
    );
}

#[test]
fn the_own_marks_of_a_channel_count_in_a_formatted_text() {
    let mut features = Features::NONE;
    features.enable("bold");
    let mut chat = channel(Body::Markup, features);
    chat.markup.bold = Some("*".into());
    assert!(
        passes(&of_formatted(&FilledCheck::Plain(PlainCheck::Markdown(features)), "a **b** c", &chat, None, None)),
        "*b* is bold there"
    );
    assert!(!passes(&of_formatted(&FilledCheck::Plain(PlainCheck::Markdown(Features::NONE)), "a **b** c", &chat, None, None)));
    assert!(
        passes(&of_formatted(&FilledCheck::Plain(PlainCheck::Markdown(Features::NONE)), "- a\n- b", &plain(), None, None)),
        "plain lines"
    );
    chat.markup.bullet = Some("- ".into());
    assert!(!passes(&of_formatted(
        &FilledCheck::Plain(PlainCheck::Markdown(features)),
        "- a\n- b",
        &channel(Body::Markdown, Features::FULL),
        None,
        None
    )));
}

#[test]
fn a_language_fails_only_where_another_is_certain() {
    let english = FilledCheck::Plain(PlainCheck::Language("en".into()));
    for text in
        ["", "OK", "32", "Hola", "Danke!", "https://www.beispiel.example/stunden-der-letzten-woche-im-ueberblick", "Montag: 8, Dienstag: 7"]
    {
        assert!(passes(&of_text(&english, text)), "{text}");
    }
    for text in [
        "You have logged 32 of 40 hours.",
        "You've logged 32 of 40 hours this week.",
        "I can't help with that right now. Please try rephrasing your question.",
        "The rest is in your timesheet.",
        "Overtime: 3 hours. Sick leave: 8 hours. Holiday: 16 hours.",
    ] {
        assert!(passes(&of_text(&english, text)), "{text}");
    }
    for (text, language) in [
        ("Sie haben in dieser Woche bereits 32 von 40 Stunden gebucht.", "German"),
        ("Has registrado 32 de las 40 horas de esta semana y todavía falta el viernes.", "Spanish"),
        ("Привет!", "Russian"),
        ("你好", "Mandarin"),
    ] {
        assert_eq!(of_text(&english, text).feedback, format!("The text is not English but {language}."), "{text}");
    }
    let greek = FilledCheck::Plain(PlainCheck::Language("el".into()));
    assert!(passes(&of_text(&greek, "OK, Acme")), "names are written in Latin letters everywhere");
    assert!(!passes(&of_text(&greek, "You have already logged 32 of 40 hours this week.")));
    assert!(
        passes(&of_text(&FilledCheck::Plain(PlainCheck::Language("ja".into())), "今週")),
        "Japanese is written with Chinese characters too"
    );
    assert!(passes(&of_text(&FilledCheck::Plain(PlainCheck::Language("zh".into())), "你好")));
    assert!(!passes(&of_text(&FilledCheck::Plain(PlainCheck::Language("xx".into())), "anything")));
}

#[test]
fn a_link_inside_a_word_hides_it_from_no_check() {
    let linked = channel(Body::Markdown, Features { links: true, ..Features::NONE });
    let html = channel(Body::Html, Features { links: true, ..Features::NONE });
    let text = "Hi! It is ch[ea](https://acme.example)p.";
    for channel in [&linked, &html] {
        let result = of_formatted(&FilledCheck::Plain(PlainCheck::StyleGuide), text, channel, Some(&style()), None);
        assert_eq!(result.feedback, "The style guide bans the word \"cheap\".");
        assert!(!passes(&of_formatted(&FilledCheck::NotContains(vec!["cheap".into()], LetterCase::Exact), text, channel, None, None)));
    }
    assert!(!passes(&of_text(&FilledCheck::NotContains(vec!["cheap".into()], LetterCase::Exact), text)));
    assert!(!passes(&of_text(&FilledCheck::Plain(PlainCheck::PiiNone), "write to ana@ac[me](https://x.example).example")));
    // Where a reader sees the address in the word, the word is not there.
    assert!(passes(&of_formatted(&FilledCheck::NotContains(vec!["cheap".into()], LetterCase::Exact), text, &plain(), None, None)));
}

#[test]
fn addresses_in_the_forms_of_other_scripts_are_found() {
    for text in ["ana＠acme.example", "ana@acme．example", "ana﹫acme。example"] {
        assert!(!passes(&of_text(&FilledCheck::Plain(PlainCheck::PiiNone), text)), "{text}");
    }
    for text in [
        "müller.example/x",
        "mu\u{308}ller.example",
        "see müller.xn--p1ai",
        "на пример.рф сегодня",
        "例え。中国/x",
        "acme．com",
        "www.müller.example",
    ] {
        assert!(!passes(&of_text(&FilledCheck::Plain(PlainCheck::Links(vec![])), text)), "{text}");
    }
    for text in ["Fertig.Das ist gut.", "Привет.Как дела?", "今日は。明日も。"] {
        assert!(passes(&of_text(&FilledCheck::Plain(PlainCheck::Links(vec![])), text)), "{text}");
    }
}

#[test]
fn personal_data_is_found_and_not_repeated() {
    let none = FilledCheck::Plain(PlainCheck::PiiNone);
    for (text, kind) in [
        ("Write to ana.lopez+work@mail.acme.example today", "an e-mail address"),
        ("ana@ac\u{200B}me.example", "an e-mail address"),
        ("Call +1 (555) 010-9999", "a phone number"),
        ("Call 0049 151 23456789", "a phone number"),
        ("Call (030) 1234567", "a phone number"),
        ("Call 555-555-0199", "a phone number"),
    ] {
        let result = of_text(&none, text);
        assert_eq!(result.feedback, format!("The text has personal data: {kind}."), "{text}");
        assert!(result.evidence.chars().count() <= 3, "{}", result.evidence);
    }
    for text in ["32 of 40 hours on 2026-11-16 at 09:30:00", "1,250,000.00", "order 4711-0815-2026", "me @ home", "+5 hours", "10.11.2026"]
    {
        assert!(passes(&of_text(&none, text)), "{text}");
    }
}

#[test]
fn links_lead_only_where_they_may() {
    let none = FilledCheck::Plain(PlainCheck::Links(vec![]));
    for text in [
        "[here](https://acme.example/x)",
        "<https://acme.example>",
        "https://acme.example",
        "www.acme.example",
        "![x](//acme.example/x.png)",
        "<ana@acme.example>",
        "[x](javascript:alert)",
        "see acme.com.",
        "see bit.ly/x",
        "htt\u{200B}ps://ac\u{200D}me.example/x",
        "<a href='https://acme.example'>x</a>",
        "[x][1]\n\n[1]: https://acme.example",
    ] {
        assert!(!passes(&of_text(&none, text)), "{text}");
    }
    for text in ["No link here.", "e.g. this, 3.5 hours, and/or 9:30", "ana@acme.com", "End.Start", "file.rs", "a://"] {
        assert!(passes(&of_text(&none, text)), "{text}");
    }
    let some = FilledCheck::Plain(PlainCheck::Links(vec!["acme.example".into(), "*.Acme.example".into(), "bücher.example".into()]));
    for text in [
        "[a](https://acme.example/x?u=evil.example)",
        "https://help.acme.example:8443/x, (www.acme.example).",
        "HTTPS://ACME.EXAMPLE.",
        "https://xn--bcher-kva.example",
        "[mail](mailto:ana@acme.example)",
        "acme.example/x",
        "no link",
    ] {
        assert!(passes(&of_text(&some, text)), "{text}: {}", of_text(&some, text).feedback);
    }
    for text in [
        "https://acme.example.evil.example",
        "https://acme.example@evil.example",
        "https://evil.example\\@acme.example",
        "https://evilacme.example",
        "[https://acme.example](https://evil.example)",
        "[x](//evil.example)",
        "[x](evil.example)",
        "[x](tel:+123)",
        "[x](mailto:ana@acme.example,eve@evil.example)",
        "ftp://acme.example",
        "https://acmé.example",
        "https://acme.example and https://evil.example",
        "ev\u{AD}il.com",
    ] {
        assert!(!passes(&of_text(&some, text)), "{text}");
    }
    assert_eq!(
        of_text(&FilledCheck::Plain(PlainCheck::Links(vec!["acme.example".into()])), "see https://evil.example/x.").feedback,
        "The text has the link \"https://evil.example/x\"; allowed are only links to \"acme.example\"."
    );
}

#[test]
fn a_value_equals_by_what_it_means() {
    let equals = |expected: Value, value: Value, text: &str| {
        let judged = JudgedText { value: &value, text, formatted: None, channel: None, style: None, person_name: None };
        passes(&check(&FilledCheck::Equals(expected), &judged))
    };
    assert!(equals(json!(3), json!(3.0), "3.0"));
    assert!(equals(json!({"a": [1], "b": null}), json!({"b": null, "a": [1.0]}), ""));
    assert!(equals(json!("Done."), json!({"text": "Done.", "parts": []}), "Done."), "the text of a formatted value");
    assert!(equals(json!("3"), json!(3), "3"));
    assert!(!equals(json!("Done."), json!("Done"), "Done"));
    assert!(!equals(json!(1), json!(true), "true"));
    assert!(!equals(json!([1]), json!([1, 2]), "[1,2]"));
    let result = of_text(&FilledCheck::Equals(json!("Ängste: 33")), "Ängste: 32");
    assert_eq!((result.feedback.as_str(), result.evidence.as_str()), ("The value is not \"Ängste: 33\".", "Ängste: 32"));
}

#[test]
fn a_check_that_looks_for_nothing_is_not_passed() {
    for checked in [
        FilledCheck::Contains(vec![String::new()], LetterCase::Exact),
        FilledCheck::NotContains(vec!["x".into(), String::new()], LetterCase::Exact),
    ] {
        assert_eq!(of_text(&checked, "text").feedback, "There is nothing to look for: the text of the check is empty.");
    }
}

#[test]
fn a_schema_is_held_against_the_value() {
    let checked =
        FilledCheck::Plain(PlainCheck::JsonSchema(Arc::new(json!({ "type": "object", "properties": { "n": { "type": "integer" } } }))));
    let judge = |value: Value| {
        check(&checked, &JudgedText { value: &value, text: "", formatted: None, channel: None, style: None, person_name: None })
    };
    assert!(passes(&judge(json!({ "n": 1 }))));
    assert_eq!(judge(json!({ "n": "x" })).feedback, "The value does not have the right shape: n: \"x\" is not of type \"integer\".");
    assert!(
        !passes(&of_text(&FilledCheck::Plain(PlainCheck::JsonSchema(Arc::new(json!({ "type": "nothing" })))), "x")),
        "a schema that cannot be used"
    );
}

#[test]
fn letters_are_small_or_capital_where_their_case_is_ignored() {
    let ignored = |wanted: &str| FilledCheck::Contains(vec![wanted.into()], LetterCase::Ignored);
    for (wanted, text) in [("refund", "Your REFUND is on its way."), ("ÜBER (50%)", "über (50%) mehr")] {
        assert!(passes(&of_text(&ignored(wanted), text)), "{text}");
        assert!(!passes(&of_text(&FilledCheck::Contains(vec![wanted.into()], LetterCase::Exact), text)), "{text}");
        assert!(!passes(&of_text(&FilledCheck::NotContains(vec![wanted.into()], LetterCase::Ignored), text)), "{text}");
    }
    assert!(!passes(&of_text(&ignored("refund."), "A refund")));
}
