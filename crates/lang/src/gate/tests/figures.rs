//! Signs, units, ranges, notes and names: what of them is a figure, and which.

use super::*;

fn judge(text: &str, value: &Value) -> CheckResult {
    of_text(&FilledCheck::NumbersFrom(value.clone()), text)
}

fn all_pass(cases: &[(&str, Value)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(text, value)| (text, value, judge(text, value)))
        .filter(|(.., result)| !passes(result))
        .map(|(text, value, result)| format!("{text} from {value}: {}", result.feedback))
        .collect();
    assert!(wrong.is_empty(), "called wrong:\n{}", wrong.join("\n"));
}

fn none_passes(cases: &[(&str, Value)]) {
    let missed: Vec<String> =
        cases.iter().filter(|(text, value)| passes(&judge(text, value))).map(|(text, value)| format!("{text} from {value}")).collect();
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
}

#[test]
fn a_minus_counts_wherever_it_stands() {
    let forms = [
        "-5.00 is the result",
        "It fell.\n-5.00 is left",
        "is –5.00",
        "\u{2011}5.00",
        "\u{2010}5.00",
        "\u{2212}5.00",
        "\u{FE63}5.00",
        "\u{FF0D}5.00",
        "$-5.00",
        "is €-5.00",
        "EUR -5.00",
        "EUR-5.00",
        "-EUR 5.00",
        "–$5.00",
        "[-5.00, 2]",
        "[2,-5.00]",
        "|-5.00|",
        "*-5.00*",
        "_-5.00_",
        "<td>-5.00</td>",
        "(-5.00)",
        "Balance: (5.00)",
        "| North | (5.00) |",
        "(5.00)",
        "= ($5.00)",
        "$(5.00)",
        "EUR (5.00)",
        "It was (5.00) EUR.",
        "The result is (5.00).",
        "ein Ergebnis von (5,00) €",
        "5,00-",
        "| 5,00- |",
        "5,00- EUR",
        "5- €",
        "Es sind 5,00-, sagt SAP",
        "minus 5.00",
        "-5.00h",
        "-5.00 hours",
    ];
    let values = |number: f64| json!({ "a": number, "b": 2 });
    none_passes(&forms.map(|text| (text, values(5.0))));
    all_pass(&forms.map(|text| (text, values(-5.0))));
    none_passes(&[("it is -40h", json!("40h")), ("-2k", json!("2k users")), ("-1 250 left", json!([1, 250, 1250]))]);
    all_pass(&[
        ("fell by 5", json!(-5)),
        ("-5 or 5", json!("(5.00)")),
        ("-5 or 5", json!({ "x": "5,00-" })),
        ("-40h and -2k", json!(["-40h", -2000])),
    ]);
}

#[test]
fn a_dash_or_a_bracket_that_is_no_minus_counts_as_none() {
    all_pass(&[
        ("- 5 hours\n– 10 hours\n— 5 hours", json!([5, 10])),
        ("5–10, 5 – 10, 5 –10, 5—10, $5–$10, 5€-10€, 5 €-10 €, 5-10", json!([5, 10])),
        ("the mean of North (5.25) is above South (4.75)", json!([5.25, 4.75])),
        ("Five (5), the total ($5.25), five euros (5.25 €)", json!([5, 5.25])),
        ("(1) First\n(5) Second", json!([1, 5])),
        ("Report\n(2024)\n| 32 (80 %) |", json!([2024, 32, 80])),
        ("5- and 10-year plans, 2,5- bis 3-fach, 1990-, 5,- Euro", json!([5, 10, 2.5, 3, 1990])),
        ("COVID-19, A-5, Boeing–747", json!(["COVID-19", 5, 747])),
    ]);
}

#[test]
fn a_minus_counts_with_a_blank_behind_it_and_in_any_form() {
    let forms = [
        "Gewinn: − 5 €", "Gewinn − 5 €", "− 5 €", "Im Jahr 2024 − 5 €", "−\u{202F}5", "−\u{2009}5", "−\u{A0}5", "− €5", "| − 5 € |",
        "| - 5 € |", "Gewinn: - 5 €", "Gewinn: – 5 €", "Gewinn = - 5", "(- 5)", "EUR - 5", "It is – 5 €", "**Gewinn:** - 5 €", "-&nbsp;5",
        "-\u{A0}5", "<td>- 5</td>", "\\−5", "\\- 5", "&ndash;5", "&minus;5", "&minus; 5", "―5", "-R$5", "-zł5", "-EUR5", "| (5 %) |",
        "| (5.0%) |", "Margin: (5 %)",
    ];
    none_passes(&forms.map(|text| (text, json!({ "p": 5, "year": 2024 }))));
    all_pass(&forms.map(|text| (text, json!({ "p": -5, "year": 2024 }))));
    all_pass(&[
        ("2024 – 10 million, 5 - 10, 5 – 10 %", json!([2024, 5, 10, 10_000_000])),
        ("- 5 apples\n– 10 pears\n> - 5 plums\n  - 10 figs\n* - 5 nuts\n+ 10 dates", json!([5, 10])),
        ("Nord – 5 Filialen, North - 10 stores, €5 – €10, 5 € - 10 €", json!([5, 10])),
        ("30 − 10 = 20, so 20 h = 30 h − 10 h", json!([30, 10, 20])),
    ]);
    none_passes(&[("&#8722;5", json!([5, 8722])), ("EUR5 million", json!(5)), ("&#53;5", json!(["53;5", 53, 5]))]);
}

#[test]
fn a_plus_counts() {
    let forms = ["Growth: +5 %", "| +5 % |", "Growth: + 5 %", "+5", "+$5", "$+5", "\\+5", "+5h", "+5.0", "&plus;5"];
    none_passes(&forms.map(|text| (text, json!({ "g": -5 }))));
    none_passes(&forms.map(|text| (text, json!({ "g": "-5 h" }))));
    all_pass(&forms.map(|text| (text, json!({ "g": 5 }))));
    all_pass(&forms.map(|text| (text, json!({ "g": "+5 h" }))));
    none_passes(&[("+5k", json!({ "g": -5000 })), ("+5k", json!({ "g_teur": -5 }))]);
    all_pass(&[
        ("+5k", json!({ "g_teur": 5 })),
        ("fell by 5k", json!({ "g_teur": -5 })),
        ("5+5 = 10", json!([-5, 10])),
        ("+1.2.3", json!("1.2.3")),
    ]);
}

#[test]
fn a_month_in_figures_is_that_month() {
    for known in [json!([{ "month": "2026-03" }]), json!({ "y": 2026 }), json!("2026-03-16"), json!({ "2026-03": 1 })] {
        none_passes(&["2026-07", "2026/07", "07/2026", "7.2026"].map(|month| (month, known.clone())));
    }
    for known in [json!("2026-03"), json!("2026-03-16"), json!({ "year": 2026, "month": 3 }), json!({ "2026-03": 1 })] {
        all_pass(&[("The best month was 2026-03.", known.clone()), ("It was March 2026.", known)]);
    }
}

#[test]
fn digits_of_a_phone_number_are_no_amount() {
    let known = json!({ "phone": "+49 30 1234567" });
    none_passes(&["Revenue 1,234,567 EUR", "€1234567", "30 %", "EUR 30", "+30 %"].map(|text| (text, known.clone())));
    all_pass(&[("+49 30 1234567, or 1234567", known), ("1 234 567 EUR, €5", json!(["+1 234 567 EUR", -5]))]);
}

#[test]
fn units_of_money_and_size_multiply() {
    for (text, wrong, right) in [
        ("5 Tsd.", 5, 5_000_i64),
        ("5 Tsd. Euro", 5, 5_000),
        ("5 TEUR", 5, 5_000),
        ("5TEUR", 5, 5_000),
        ("5 T€", 5, 5_000),
        ("TEUR 5", 5, 5_000),
        ("5 kEUR", 5, 5_000),
        ("5 k€", 5, 5_000),
        ("5 MEUR", 5, 5_000_000),
        ("5 Mio€", 5, 5_000_000),
        ("5 Bio. €", 5, 5_000_000_000_000),
        ("5 Bio €", 5, 5_000_000_000_000),
        ("5 Bio. Euro", 5, 5_000_000_000_000),
        ("$5 m", 5, 5_000_000),
        ("$5m", 5, 5_000_000),
        ("5m euros", 5, 5_000_000),
        ("5 m dollars", 5, 5_000_000),
        ("EUR 5m", 5, 5_000_000),
        ("5 m CHF", 5, 5_000_000),
        ("5 _million_", 5, 5_000_000),
        ("_5_ __million__", 5, 5_000_000),
        ("5 *Mio.*", 5, 5_000_000),
        ("1.250.000 TEUR", 1_250_000, 1_250_000_000),
        ("EUR million 5", 5, 5_000_000),
        ("€ million: 5", 5, 5_000_000),
        ("EURm 5", 5, 5_000_000),
        ("$bn 5", 5, 5_000_000_000),
        ("TEUR: 5", 5, 5_000),
        ("Revenue (TEUR): 5", 5, 5_000),
        ("5 (million)", 5, 5_000_000),
        ("5 (in millions)", 5, 5_000_000),
        ("5 (in Mio. €)", 5, 5_000_000),
        ("5 € (EUR million)", 5, 5_000_000),
        ("5 Euro-Millionen", 5, 5_000_000),
        ("5 EUR million", 5, 5_000_000),
    ] {
        none_passes(&[(text, json!(wrong))]);
        all_pass(&[(text, json!(right)), (text, json!(text))]);
    }
    all_pass(&[
        ("5 m, 5m, 5 t, 5 t Eisen, 5 Bio-Eier, a_5_b", json!([5, 5_000])),
        ("1.250 TEUR, 3 Mio. Euro", json!([{ "umsatz_teur": 1250, "Gewinn (Mio. EUR)": "3" }])),
        ("5 million", json!({ "revenue_million": { "2024": 5 } })),
        ("a 3.7-million-euro deal, a 5-euro note, 5-EUR-Gutscheine", json!([3_700_000, 5])),
        ("TEUR: -5, TEUR: − 5", json!(-5_000)),
        ("In 2024 (million-fold growth) 5 (five)", json!([2024, 5])),
    ]);
    none_passes(&[("5 million", json!({ "revenue": 5 })), ("10 million", json!({ "revenue_million": 5 }))]);
}

#[test]
fn one_unit_serves_the_whole_range() {
    let known = json!([5_000_000, 10_000_000]);
    all_pass(
        &[
            "5–10 million",
            "5-10 Mio.",
            "5 - 10 million",
            "5 to 10 million",
            "5 bis 10 Mio. Euro",
            "between 5 and 10 million",
            "$5–10m",
            "$5–$10 m",
            "5–10 m €",
            "5–10 M users",
            "€5 to 10 million",
            "5 million to 10 million",
            "5 or 10 million",
            "5 → 10 million",
            "von 5 auf 10 Mio. €",
        ]
        .map(|text| (text, known.clone())),
    );
    all_pass(&[
        ("5–10k", json!([5_000, 10_000])),
        ("5, 10 and 15 million", json!([5_000_000, 10_000_000, 15_000_000])),
        ("2024 – 10 million, team 5 – 10 million, in 2024, 10 million", json!([2024, 5, 10_000_000])),
        ("from 500,000 to 2 million", json!([500_000, 2_000_000])),
        ("5 customers and 10 million", json!([5, 10_000_000])),
        ("-5–10 million", json!([-5_000_000, 10_000_000])),
        ("10 **million**, 5 _million_", json!([5_000_000, 10_000_000])),
    ]);
    none_passes(&[
        ("5–10 million", json!([5, 10_000_000])),
        ("5 to 10 million", json!([5, 10_000_000])),
        ("5–10 million", json!([6_000_000, 10_000_000])),
        ("$5–10m", json!([5, 10])),
        ("between 5 and 10 million", json!([6, 10_000_000])),
        ("-5–10 million", json!([5_000_000, 10_000_000])),
    ]);
}

#[test]
fn dates_with_spaces_business_years_and_phone_numbers_are_read_in_any_form() {
    all_pass(&[
        ("am 7. 11. 2026 und am 7. 11.", json!("2026-11-07")),
        ("1. 11. 2026 war es", json!("2026-11-01")),
        ("1. 7. 11. 2026\n2. 8. 11. 2026", json!(["2026-11-07", "2026-11-08"])),
        ("2026\u{2011}11\u{2011}07", json!("2026-11-07")),
        ("2025/26, 2025-26, 2025–26, 2025/2026, 2026", json!("2025/26")),
        ("im Jahr 2025/26", json!([2025, 2026])),
        ("+49 (0)30 123 45 67, +49 30 1234-567, 030/1234567, (030) 123 4567", json!("+49 30 1234567")),
        ("030 123 45 67", json!("0301234567")),
        ("+5, +12.5 13.5, +100 200 300", json!([5, 12.5, 13.5, 100_200_300])),
        ("01 02 03 04 05", json!([1, 2, 3, 4, 5])),
    ]);
    none_passes(&[
        ("7. 11. 2025", json!("2026-11-07")),
        ("1. 11. 2026", json!("2026-11-02")),
        ("2025/26", json!([2025])),
        ("2025/27", json!("2025/26")),
        ("+43 30 1234567", json!("+49 30 1234567")),
        ("+49 30 1234568", json!("+49 30 1234567")),
        ("030 123 45 68", json!("+49 30 1234567")),
    ]);
}

#[test]
fn notes_addresses_and_fixed_names_are_no_figures() {
    all_pass(&[
        ("It is 32 hours[1], so[2][3]. More.[12] Done[^7].\n[^7]: Note", json!(32)),
        ("It is so [1] and so [2].\n[1] One\n[2] Two", json!(null)),
        ("See [the report](https://acme.example/2024/47?v=2).", json!(null)),
        ("See https://acme.example/2024/47 and <https://acme.example/9> and www.acme.example/9.", json!(null)),
        ("See https://acme.example/A_(2024)?x=1,5.", json!(null)),
        ("CO2, CO₂, CO2-Ausstoß, H2O, B2B, open 24/7, 3D, 5G, MP3, COVID-19", json!(null)),
    ]);
    none_passes(&[
        ("The answer is [5].", json!(null)),
        ("{\"hours\":[5]}", json!(null)),
        ("10[10](https://acme.example)", json!(10)),
        ("[35](https://acme.example)", json!(null)),
        ("https://acme.example/9, 35 hours", json!(null)),
        ("https://acme.example/9)35", json!(null)),
        ("[x](https://acme.example/9)35", json!(null)),
        ("p7", json!(null)),
        ("Q2", json!(null)),
        ("3d and 5g", json!(null)),
        ("24/8", json!(null)),
    ]);
}

#[test]
fn a_name_vouches_for_figures_only_where_it_is_one_or_where_the_text_says_the_name() {
    all_pass(&[
        ("In 2024 and Nov 2026, at 9:30, aged 10–20", json!({ "2024": 1, "2026-11": 1, "9:30": 1, "10-20": 1 })),
        ("5 in 2024 and Q1", json!({ "revenue_2024": 5, "Q1": 5 })),
        ("`col_17`, col 17 and Column 18 have 5", json!({ "col_17": 5, "column 18": 5 })),
        (
            "Store 17 of the top 10, last 30 days, 18–25 years",
            json!({ "Store 17": 1, "top_10_sales": 2, "last_30_days": 1, "18-25 years": 1 }),
        ),
        ("Store 17", json!([{ "name": "Store 17" }])),
    ]);
    none_passes(&[
        ("17 orders", json!({ "col_17": 5 })),
        ("17 stores", json!({ "Store 17": 5 })),
        ("the store. 17 orders", json!({ "Store 17": 5 })),
        ("column 18", json!({ "column_17": 5 })),
        ("99", json!({ "p99": 5, "p_99": 5 })),
        ("16 hours", json!({ "2026-11-16": 5 })),
    ]);
}
