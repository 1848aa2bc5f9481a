use super::*;

fn from(value: Value) -> FilledCheck {
    FilledCheck::NumbersFrom(value)
}

#[test]
fn every_figure_occurs_in_the_value_whatever_its_form() {
    for (text, value) in [
        ("No figures at all.", json!(null)),
        ("32 of 40 hours", json!({ "logged": 32, "target": 40 })),
        ("32.0 hours", json!([32])),
        ("32 hours", json!("32.0")),
        ("32 hours", json!({ "rows": [{ "hours": "32" }] })),
        ("032", json!(32)),
        ("1,250.5 hours", json!(1250.5)),
        ("1.250,5 Stunden", json!(1250.5)),
        ("1,250 hours", json!(1250)),
        ("1 250 heures, 1\u{202F}250,50 euros", json!([1250, 1250.5])),
        ("1'250 Franken", json!(1250)),
        ("12,34,567 rupees", json!(1_234_567)),
        ("7,5 Stunden", json!(7.5)),
        ("1250", json!("1,250 hours in all")),
        ("29.3 hours", json!(29.299_999_999_999_997)),
        ("0.5 or .5", json!(0.5)),
        ("7½ hours", json!(7.5)),
        ("-5 hours", json!(-5)),
        ("5 hours under", json!(-5)),
        ("−$5.50", json!(-5.5)),
        ("- 8 hours\n- 8 hours", json!(8)),
        ("between 8-10", json!([8, 10])),
        ("+5", json!(5)),
        ("80% done", json!({ "done": "80 %" })),
        ("8,7,6 in a row", json!([8, 7, 6])),
        ("version 1.2.3", json!("1.2.3")),
        ("at 9:30", json!("09:30")),
        ("at 9:30 pm", json!("2026-11-16T21:30:00Z")),
        ("at 21:30:15", json!("21:30:15")),
        ("at 9:30", json!("9:30 p.m.")),
        ("at 9 am", json!("09:00")),
        ("um 9.30 Uhr, 9 Uhr", json!(["09:30", "9:00"])),
        ("32:30 in all", json!("32:30")),
        ("at 9:30", json!({ "hour": 9, "minute": 30 })),
        ("on 2026-11-16", json!("2026-11-16")),
        ("on 16.11.2026, 16.11., 16/11/2026, 11/16/26 or 11/16", json!("2026-11-16T09:00:00Z")),
        ("on 16 November", json!("2026-11-16")),
        ("on Nov 16th, 2026", json!("2026-11-16")),
        ("on the 16th of November 2026", json!("2026-11-16")),
        ("am 16. November, le 16 novembre, el 16 de noviembre de 2026, il 16 novembre", json!("2026-11-16")),
        ("Nov. 16–18", json!(["2026-11-16", "2026-11-18"])),
        ("16, 17 and 18 November", json!(["2026-11-16", "2026-11-17", "2026-11-18"])),
        ("in November 2026, in 2026-11 and in 2026", json!("2026-11-16")),
        ("Mon 16: 8 h, on the 17th 7 h", json!({ "2026-11-16": 8, "2026-11-17": 7 })),
        ("2026-11-16", json!("16 November 2026")),
        ("16 November 2026", json!({ "day": "16 November", "year": 2026 })),
        ("May 16", json!({ "month": "May", "day": 16 })),
        ("May 8.5 hours", json!(8.5)),
        ("You logged 8.5. Well done.", json!(8.5)),
        ("1st and 2nd", json!([1, 2])),
        ("person p7 and R2D2", json!({ "id": "P7", "name": "r2d2" })),
        ("40h, 3.5h, 8hrs", json!([40, 3.5, 8])),
        ("40 hours", json!("40h")),
        ("今週は32時間、2026年", json!([32, "2026-01-01"])),
        ("３２ hours, ٣٢ hours", json!(32)),
        ("3\u{200B}2 hours", json!(32)),
        ("12 m²", json!(12)),
        ("3k users, 1.2 million rows, -2k", json!([3000, 1_200_000, -2000])),
        ("2,5 Millionen, 3 Mio. Euro, 1.2 Mrd., 1 250 million", json!([2_500_000, 3_000_000, 1_200_000_000_i64, 1_250_000_000_i64])),
        ("3000 users", json!("3k users")),
        ("4K screens, 12 km, a 3-million deal", json!(["4k", 12, 3_000_000])),
        ("1. First\n2. Second\n\n**1.** Again\n  2) and so on", json!(null)),
        ("COVID-19", json!("COVID-19")),
        ("call +49 30 123-4567", json!("+49 30 123-4567")),
        ("https://acme.example/t/47?v=2", json!("https://acme.example/t/47?v=2")),
    ] {
        let result = of_text(&from(value.clone()), text);
        assert!(passes(&result), "{text} from {value}: {}", result.feedback);
    }
}

#[test]
fn a_figure_that_does_not_occur_is_told() {
    for (text, value, missing) in [
        ("35 hours", json!(32), "35"),
        ("35 hours", json!(null), "35"),
        ("35 hours", json!(true), "35"),
        ("35 hours", json!("thirty-five"), "35"),
        ("3 of 40", json!({ "logged": 32, "target": 40 }), "3"),
        ("320", json!(32), "320"),
        ("32.5", json!([32, 5]), "32.5"),
        ("8,5 Stunden", json!([8, 5]), "8,5"),
        ("1,250.5", json!([1, 250.5, 1250]), "1,250.5"),
        ("it is -5 hours", json!(5), "-5"),
        ("it is -5 hours", json!("5 hours"), "-5"),
        ("3k users", json!(3), "\"3k\""),
        ("1.2 million users", json!(1.2), "\"1.2 million\""),
        ("3 users", json!("3k users"), "3"),
        ("it is −$1 250.5", json!(1250.5), "-$1 250.5"),
        ("32.46", json!(32.456), "32.46"),
        ("80%", json!(0.8), "80"),
        ("16 hours", json!("2026-11-16"), "16"),
        ("11 hours", json!("2026-11-16T09:30:00Z"), "11"),
        ("9 hours", json!("2026-11-16T09:30:00Z"), "9"),
        ("on 17 November", json!("2026-11-16"), "\"17 November\""),
        ("on Nov 16, 2025", json!("2026-11-16"), "\"Nov 16, 2025\""),
        ("on 2026-16-11", json!("2026-11-16"), "2026-16-11"),
        ("16–17 November", json!("2026-11-16"), "\"16–17 November\""),
        ("October 2025", json!("2026-11-16"), "\"October 2025\""),
        ("at 9:30 am", json!("9:30 pm"), "\"9:30 am\""),
        ("at 9:45", json!("9:30"), "9:45"),
        ("at 21:30:16", json!("21:30:15"), "21:30:16"),
        ("in 1.2.4", json!("1.2.3"), "1.2.4"),
        ("7 hours", json!("p7"), "7"),
        ("p8", json!("p7"), "\"p8\""),
        ("41h", json!("40h"), "\"41h\""),
        ("the 17th", json!("2026-11-16"), "\"17th\""),
        ("35時間", json!(32), "35"),
        ("3\u{200B}5 hours", json!([3, 5]), "35"),
        ("٣٥ hours", json!(32), "35"),
        ("3. Third", json!(null), "3"),
        ("Done.\n35. Well", json!(null), "35"),
        ("24/8", json!(null), "24/8"),
        ("**35** hours", json!(32), "35"),
        ("$35", json!(32), "35"),
    ] {
        let result = of_text(&from(value.clone()), text);
        assert_eq!(result.feedback, format!("The figure {missing} does not occur in the data."), "{text} from {value}");
        assert!(!result.evidence.is_empty());
    }
}

#[test]
fn no_way_to_write_a_number_hides_that_it_is_another() {
    for text in [
        "10 trillion",
        "10 quadrillion",
        "10 crore",
        "10 lakh",
        "10 hundred",
        "10 dozen",
        "10 mil.",
        "10 billones",
        "10万",
        "10億円",
        "10 million million",
        "10B",
        "10T",
        "10 M users",
        "10M",
        "1.5M",
        "$10m",
        "$10 b",
        "10 m €",
        "10 **million**",
        "10 thousand",
        "10&nbsp;million",
        "10 × 10^10",
        "10 x 10^10",
        "10·10¹⁰",
        "10<sup>10</sup>",
        "10¹⁰",
        "10^10",
        "10**10",
        "10e10",
        "1.5E10",
        "10 * 10**10",
        "10^(10)",
        "⁹⁹⁸⁷¹",
        "₉₉₈₇₁",
        "x⁹⁹⁸⁷¹",
        "10₁₀",
        "Ⅻ",
        "❿❿",
        "1️⃣0️⃣1️⃣0️⃣",
        "10**10**",
        "10<span>10</span>",
        "10<!-- -->10",
        "10~~10~~",
        "10*10*",
        "10<wbr>10",
        "10`10`",
        "10[10](https://acme.example)",
        "10&shy;10",
        "it is minus 10",
        "a negative 10",
        "it is minus $10",
        "**minus** 10",
    ] {
        assert!(!passes(&of_text(&from(json!({ "a": 10, "b": 1.5 })), text)), "{text}");
    }
    for (text, value) in [
        ("10 %, Q2, 2025-Q2, 10 km, 10 kg, 10 m, 10m, 10 t, 10 GB, P02", json!([10, "2025-Q2", "Q2", "P02"])),
        ("1.5 million, 1.5M, 1.5 M, $1.5m, 1.5 Mio. €, 1.5 × 10^6, 1.5×10⁶, 1.5e6, 15 lakh", json!(1_500_000)),
        ("10 trillion, 10T, 10 Billionen", json!(10_000_000_000_000_i64)),
        ("10万人, 100千, 100 mil", json!(100_000)),
        ("2 dozen", json!(24)),
        ("1.5e6", json!("1.5e6")),
        ("seat 10B, 4K", json!("seat 10b, 4k")),
        ("30 minus 10 is 20, 30 hours minus 10", json!([30, 10, 20])),
        ("minus 10, negative 10", json!(-10)),
        ("**10** of *15*, `10`, ~~15~~, <b>10</b>, 8~10, 3*4", json!([10, 15, 8, 3, 4])),
        ("| 10 | 15 |\n|---|---|\n<td>10</td><td>15</td>, 10<br>15", json!([10, 15])),
        ("* 10 hours\n* 15 hours", json!([10, 15])),
        ("10 T-shirts, 10 B-sides", json!(10)),
        ("CO₂: 10 m², done.¹\n¹ As of 2026", json!([10, 2026])),
        ("3 × 4 m", json!([3, 4])),
        ("3*4 = 12", json!("3*4 = 12")),
        ("Ⅻ", json!(12)),
    ] {
        let result = of_text(&from(value.clone()), text);
        assert!(passes(&result), "{text} from {value}: {}", result.feedback);
    }
}

#[test]
fn several_missing_figures_are_told_together() {
    let judge = |text: &str| of_text(&from(json!(32)), text);
    assert_eq!(judge("35 and 12, 35 again, of 32").feedback, "The figures 35 and 12 do not occur in the data.");
    assert_eq!(judge("1, 2, 3, 4 and 5").feedback, "The figures 1, 2, 3 and 2 more do not occur in the data.");
    assert_eq!(judge("All is well.\nYou logged 35 hours.\nBye").evidence, "You logged 35 hours.");
}

#[test]
fn what_channel_and_style_guide_add_needs_no_data() {
    let facts = from(json!({ "logged": 32 }));
    let judge = |text: &str, name: Option<&str>| of_formatted(&facts, text, &plain(), Some(&style()), name);
    assert!(passes(&judge("You logged 32 hours.", Some("Agent 47"))), "{}", judge("You logged 32 hours.", Some("Agent 47")).feedback);
    assert!(passes(&judge("Hey Agent 47! You logged 32 hours.", Some("Agent 47"))));
    assert!(passes(&judge(&"You logged 32 hours in this week. ".repeat(40), None)), "too_long names a page");
    assert_eq!(judge("You logged 47 hours.", Some("Agent 47")).feedback, "The figure 47 does not occur in the data.");
    assert_eq!(judge("You logged 47 hours.", Some("47")).feedback, "The figure 47 does not occur in the data.");
    assert_eq!(judge("Acme 36/5 has 32 hours.", None).feedback, "The figure 36/5 does not occur in the data.");
    assert_eq!(judge("See page 2 of your timesheet.", None).feedback, "The figure 2 does not occur in the data.");
}

#[test]
fn the_number_of_a_part_is_not_in_the_text() {
    let text = "You logged 32 hours in this week. ".repeat(8);
    let formatted = crate::channel::format(&text, &plain(), None, None).unwrap();
    assert!(formatted.is_split && passes(&of_formatted(&from(json!(32)), &text, &plain(), None, None)));
}

#[test]
fn a_number_that_is_asked_for_stands_in_the_text_as_a_figure_of_its_own() {
    for (text, value) in [
        ("You've logged *32 of 40 hours* this week.", json!(32.0)),
        ("<b>7.5</b> hours, 7,5 Stunden", json!(7.5)),
        ("You've logged 1,250 hours", json!([1250])),
        ("It was 40h.", json!(40)),
        ("Nothing so far.", json!(0)),
        ("Nothing so far.", json!(null)),
        ("-3 hours, 4 more", json!({ "a": -3, "b": [4, "p7", 0.0] })),
        ("29.3 hours", json!(29.299_999_999_999_997)),
    ] {
        let result = of_text(&FilledCheck::StatesNumbers(value.clone()), text);
        assert!(passes(&result), "{value} in {text}: {}", result.feedback);
    }
    for (text, value, told) in [
        ("Your target is 40 hours.", json!(4), "4 does not occur in the text."),
        ("You've logged 32.5 hours.", json!(32), "32 does not occur in the text."),
        ("On 19 November 2026.", json!([8, 8, 7.5]), "8 and 7.5 do not occur in the text."),
        ("", json!(1), "1 does not occur in the text."),
    ] {
        let result = of_text(&FilledCheck::StatesNumbers(value), text);
        assert_eq!((passes(&result), result.feedback.as_str()), (false, told), "{text}");
    }
}
