use std::sync::Arc;

use proptest::prelude::*;
use regex::Regex;

use super::*;
use crate::model::PlainCheck;

fn all() -> Vec<FilledCheck> {
    vec![
        FilledCheck::Contains(vec!["é".into()], crate::model::LetterCase::Exact),
        FilledCheck::NotContains(vec!["1".into()], crate::model::LetterCase::Exact),
        FilledCheck::Plain(PlainCheck::Regex(Regex::new("a+b").unwrap())),
        FilledCheck::Equals(json!("é1\u{200B}")),
        FilledCheck::Plain(PlainCheck::JsonSchema(Arc::new(json!({ "type": "string", "maxLength": 3 })))),
        FilledCheck::Plain(PlainCheck::MaxLength(3)),
        FilledCheck::Plain(PlainCheck::MinLength(300)),
        FilledCheck::Plain(PlainCheck::FitsChannel),
        FilledCheck::Plain(PlainCheck::StyleGuide),
        FilledCheck::Plain(PlainCheck::Markdown(Features::NONE)),
        FilledCheck::Plain(PlainCheck::Emojis(0)),
        FilledCheck::Plain(PlainCheck::Language("en".into())),
        FilledCheck::Plain(PlainCheck::PiiNone),
        FilledCheck::Plain(PlainCheck::Links(vec![])),
        FilledCheck::Plain(PlainCheck::Links(vec!["acme.example".into(), "*.".into(), "%".into()])),
        FilledCheck::Plain(PlainCheck::Readability(0.0)),
        FilledCheck::NumbersFrom(json!({ "9": "8:30 16 Nov p7" })),
        FilledCheck::Expression { unmet: "é".repeat(100), is_true: false },
    ]
}

/// Pieces that mean something to some check.
fn pieces() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "16", " November ", "9:30", " pm", "-", ".", ",", "/", "1.\n", "½", "٣", "p7", "²", "\u{200B}", "🎉", "👩‍💻", "**", "_", "`", "[a](",
        ")", "https://", "www.", "@", "acme.example", "|", "\n", "<", "é", "\u{301}", "ß", "İ", "今", "2026-11-16T09:00Z", "+49", "'",
        " 250",
    ]);
    prop::collection::vec(prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)], 0..40)
        .prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        pieces().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(null))
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop_oneof![pieces(), Just("parts".to_owned()), Just("text".to_owned())], inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_text_and_no_value_makes_a_check_panic_or_say_nothing(text in pieces(), value in values(), name in pieces(), is_for in any::<bool>()) {
        let (channel, style) = (channel(Body::Markup, Features::FULL), style());
        let (channel, style) = (Some(&channel).filter(|_| is_for), Some(&style).filter(|_| is_for));
        for checked in all() {
            let judged = JudgedText { value: &value, text: &text, formatted: None, channel, style, person_name: Some(&name) };
            passes(&check(&checked, &judged));
        }
    }
}

proptest! {
    #[test]
    fn the_figures_of_a_text_occur_in_the_text_itself(text in pieces()) {
        let result = of_text(&FilledCheck::NumbersFrom(json!(text)), &text);
        prop_assert!(passes(&result), "{}", result.feedback);
    }

    #[test]
    fn a_number_of_the_value_may_be_said_and_one_more_may_not(number in 0u32..1_000_000, place in 0usize..3) {
        let facts = FilledCheck::NumbersFrom(json!({ "rows": [{ "n": number }] }));
        let said = |number: u32| [format!("You have {number}."), format!("{number}h"), format!("({number} of it)")][place].clone();
        prop_assert!(passes(&of_text(&facts, &said(number))));
        prop_assert!(!passes(&of_text(&facts, &said(number + 1))));
    }
}

#[test]
fn a_large_text_is_judged_as_well() {
    for piece in
        ["1 ", "-5 ", "16, ", "9:30", "1.\n", "Nov ", "p7", "a", "[", "*", "https://", "|", "\n", "1,", "🎉", "@a.", "(", " ", "- "]
    {
        let text = piece.repeat(2_000 / piece.len());
        let (channel, style) = (plain(), style());
        for checked in all() {
            let judged = JudgedText {
                value: &json!(text),
                text: &text,
                formatted: None,
                channel: Some(&channel),
                style: Some(&style),
                person_name: Some("Ana"),
            };
            passes(&check(&checked, &judged));
        }
    }
}
