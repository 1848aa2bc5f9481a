//! What a person sees of a text on every channel: something, and every word of it that is not left out on purpose.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;
use std::sync::LazyLock;

use flow_adapters::disk_files::DiskFiles;
use flow_base::model::{Body, Channel, Features};
use flow_lang::channel::{FormatError, Formatted, format};
use flow_lang::load::load;
use proptest::prelude::*;
use strum::VariantArray;

/// The channels that are shipped, and each kind of body with all features and with none.
static CHANNELS: LazyLock<Vec<Channel>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| load(&root.join(file), root, &DiskFiles).channel.unwrap();
    let shipped = ["sms", "email", "whatsapp", "teams", "telegram"].map(|name| read(&format!("channels/{name}.yaml")));
    let starter = ["sms", "email"].map(|name| read(&format!("starter/channels/{name}.yaml")));
    let free = Channel { max_length: None, split: None, emojis: true, ..shipped[4].clone() };
    let kinds = Body::VARIANTS.iter().flat_map(|body| [Features::FULL, Features::NONE].map(|markdown| (*body, markdown)));
    let kinds = kinds.map(|(body, markdown)| Channel { name: format!("{body:?}"), body, markdown, ..free.clone() });
    shipped.iter().chain(&starter).cloned().chain(kinds.collect::<Vec<_>>()).collect()
});

fn sms() -> &'static Channel {
    &CHANNELS[0]
}

fn is_refused(text: &str, channel: &Channel) -> bool {
    matches!(format(text, channel, None, None), Err(FormatError::Nothing { .. }))
}

/// What Unicode calls white space, a control or "default ignorable", and what is drawn as nothing.
fn is_blank(c: char) -> bool {
    let ignorable = matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}' | '\u{2800}' | '\u{16FE4}' | '\u{1D159}');
    c.is_whitespace() || c.is_control() || ignorable
}

#[test]
fn an_address_of_any_length_is_sent_or_gives_way_to_its_host_wherever_it_stands() {
    let small = |body: Body, most: u64| Channel { max_length: Some(most), split: sms().split.clone(), body, ..sms().clone() };
    let markdown = Channel { markdown: Features::FULL, ..small(Body::Markdown, 80) };
    for (channel, lengths) in [(small(Body::Text, 60), 20..80), (markdown, 20..100), (sms().clone(), 1560..1610)] {
        for before in ["", "> ", "- ", "# ", "1. ", "> - ", "- - 1. "] {
            for link in ["ADDRESS", "[see](ADDRESS)", "![see](ADDRESS)", "**[see](ADDRESS)**"] {
                for length in lengths.clone() {
                    let address = format!("https://h.example/{}", "a".repeat(length));
                    let text = format!("{before}{} {}end.", link.replace("ADDRESS", &address), "word ".repeat(14));
                    let sent = format(&text, &channel, None, None).unwrap_or_else(|error| panic!("{text:?}: {error}"));
                    let all: String = sent.parts.iter().map(|part| part.content.as_str().unwrap()).collect();
                    assert!(all.contains(&address) || sent.shortened && all.contains("h.example..."), "{text:?}: {all}");
                }
            }
        }
    }
}

#[test]
fn a_text_of_blank_characters_is_refused_on_every_channel() {
    let blank: Vec<char> = (0..=0x10FFFF).filter_map(char::from_u32).filter(|c| is_blank(*c)).collect();
    assert!(blank.len() > 4_000);
    // Of the thousands of one block some stand for all.
    let some: Vec<&char> = blank.iter().filter(|c| !('\u{E0010}'..'\u{E0FF0}').contains(*c) || u32::from(**c) % 97 == 0).collect();
    for channel in CHANNELS.iter() {
        for c in &some {
            for text in [c.to_string(), format!("# {c}"), format!("&#{};", u32::from(**c))] {
                // A character that Markdown does not read as a number stays as it is written.
                let is_text = text.starts_with('&') && matches!(**c, '\0' | '\u{80}'..='\u{9F}');
                assert!(is_text || is_refused(&text, channel), "{c:?} as {text:?} on {}", channel.name);
            }
        }
        let all: String = blank.iter().collect();
        assert!(is_refused(&all, channel), "{}", channel.name);
        assert!(is_refused("", channel), "{}", channel.name);
    }
}

#[test]
fn a_text_of_marks_around_nothing_is_refused_on_every_channel() {
    let marks = [
        "#",
        "## \u{A0}",
        "- ",
        "- \n- \n  - ",
        "> ",
        "> - \n>\n> # ",
        "---",
        "***\n\n---",
        "* * *",
        "| | |\n|-|-|\n| | |",
        "| \u{A0} |\n|-|",
        "|\u{200E}|\n|-|\n|\u{3000}|",
        "![]()",
        "[]()",
        "[ ]()",
        "[ ](javascript:alert)",
        "![](data:image/png;base64,AA)",
        "[![]()](<>)",
        "```\n```",
        "```\n \n```",
        "    \u{A0}",
        "` `",
        "<b></b>",
        "<b>\u{3000}</b>",
        "<br>",
        "<p></p>",
        "<!-- x -->",
        "<!-- x\n\ny -->",
        "<script>x</script>",
        "<style>x</style>",
        "<svg><text>x</text></svg>",
        "<template>x</template>",
        "<img>",
        "<img alt=''>",
        "<a href=''> </a>",
        "<table><tr><td></td></tr></table>",
        "&nbsp;",
        "&#8203;",
        "&zwnj;",
        "<sup></sup>",
    ];
    for channel in CHANNELS.iter() {
        for text in marks {
            let sent = format(text, channel, None, None);
            assert!(matches!(sent, Err(FormatError::Nothing { .. })), "{text:?} on {}: {sent:?}", channel.name);
        }
        for text in ["🎉", "- 🎉\n- ✅", "# ✅", "| ✅ |\n|-|\n| 🎉 |", "**🎉**"].iter().filter(|_| !channel.emojis) {
            assert!(is_refused(text, channel), "{text:?} on {}", channel.name);
        }
        for text in [
            ".",
            "0",
            "–",
            "[ ](https://a.example)",
            "![](https://a.example/p.png)",
            "[](report.pdf)",
            "<b>",
            "| a |\n|-|\n| |",
            "\\*",
            "1. \n2. \u{3000}",
        ] {
            let sent = format(text, channel, None, None).unwrap();
            assert!(sent.parts.iter().all(|part| part.text.chars().any(|c| !is_blank(c))), "{text:?} on {}", channel.name);
            assert!(sent.parts.iter().all(|part| part.content["body"].as_array().is_none_or(|body| !body.is_empty())), "{text:?}");
        }
    }
}

#[test]
fn what_only_looks_like_markup_stays_and_what_is_markup_leaves_its_words() {
    for (source, expected) in [
        ("if a <b and c> d then", "if a <b and c> d then"),
        ("if a <i and j=3> d, x <s y> z", "if a <i and j=3> d, x <s y> z"),
        ("Hello.\n\n[1]: https://x.example/source", "Hello.\n\n[1]: https://x.example/source"),
        ("[1]: https://x.example/source", "[1]: https://x.example/source"),
        ("See [it][1].\n\n[1]: https://x.example/s 'T'\n[2]: https://y.example", "See it (https://x.example/s).\n\n[2]: https://y.example"),
        ("[1]: a.pdf\n[1]: b.pdf\n\nSee [1].", "[1]: b.pdf\n\nSee 1 (a.pdf)."),
        ("- a\n\n  [1]: x.pdf\n- b\n\n> [2]: y.pdf", "- a\n\n  [1]: x.pdf\n\n- b\n\n> [2]: y.pdf"),
        ("text[^1]\n\n[^1]: note", "text[^1]\n\n[^1]: note"),
        ("Fact[^1].\n\n[^1]: Report_2026.pdf", "Fact[^1].\n\n[^1]: Report_2026.pdf"),
        ("Fact[^1].\n\n[^1]: a longer *note*", "Fact[^1].\n\n[^1]: a longer note"),
        ("[the report](report.pdf)", "the report (report.pdf)"),
        ("[a](<b c>) [d](#top) [e](//f.example/g) [h](ftp://i.example)", "a (b c) d (#top) e (//f.example/g) h (ftp://i.example)"),
        ("[report.pdf](report.pdf) <foo:bar>", "report.pdf foo:bar"),
        ("Hi![photo](https://x.example/p.png)", "Hiphoto (https://x.example/p.png)"),
        ("![](https://x.example/p.png) ![x](p.png)", "https://x.example/p.png x (p.png)"),
        ("[![build](https://x.example/b.svg)](https://y.example)", "build (https://x.example/b.svg) (https://y.example)"),
        ("<img src=p.png alt='a b'> <a href=q.html>c</a>", "a b (p.png) c (q.html)"),
        ("<a href=https://x.example>a <a href=https://y.example>b", "a b (https://y.example) (https://x.example)"),
        ("[ ](https://x.example) [x](https://x.example \"Title\")", "https://x.example x (https://x.example)"),
        ("About 10<sup>3</sup> hours, CO<sub>2</sub>, e<sup>n+1</sup>, 1<sup></sup>2", "About 10^3 hours, CO_2, e^(n+1), 12"),
        ("<title>T</title>Body <noscript>on</noscript> <iframe src=x>in</iframe>", "T\nBody on in"),
        ("a <script>b</script><style>c</style><!-- d -->e", "a e"),
        ("| a |\n|-|\n| 1 | 2 | 3 |", "a: 1 | 2 | 3"),
        ("| a | b |\n|-|-|\n| | 1 |\n| | |", "a:, b: 1\na:, b:"),
        ("```Total: 8 hours\nx\n```\n\n```rust\ny\n```\n\n```hello\n```", "Total: 8 hours\nx\n\ny\n\nhello"),
        ("[x](javascript:alert(1)) ![y](data:z) [w](java\tscript:v)", "x y [w](java\tscript:v)"),
    ] {
        assert_eq!(format(source, sms(), None, None).unwrap().text, expected, "{source:?}");
    }
}

#[test]
fn a_part_is_never_a_rule_alone() {
    for channel in CHANNELS.iter().filter(|channel| !channel.body.is_object()) {
        let split = sms().split.clone();
        let channel = Channel { max_length: Some(40), split, ..channel.clone() };
        let text = format!("---\n\nA part of its own, {}\n\n---\n\n---\n\n---\n\nAnother one here, of words.\n\n---", "of words, too");
        let Formatted { parts, .. } = format(&text, &channel, None, None).unwrap();
        assert!(
            parts.iter().all(|part| part.text.replace(&part.indicator, "").contains(char::is_alphabetic)),
            "{parts:?} on {}",
            channel.name
        );
    }
}

/// A piece of a document, with `@` for each of its words.
fn pieces() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "@ @",
        "**@** @",
        "*@* ~~@~~ `@`",
        "[@](https://@.example/@)",
        "[@](@.pdf)",
        "[@ **@**](</@ @>)",
        "![@](https://a.example/@.png)",
        "![@](@.png)",
        "[![@](@.png)](https://@.example)",
        "<https://a.example/@>",
        "@@a.example",
        "<b>@</b> @",
        "<i>@ @</i>",
        "@<sup>@</sup> @<sub>@ @</sub>",
        "@ <b and @> @",
        "@ <@ and @> @",
        "@ < @ > @",
        "<a href=\"https://a.example/@\">@</a>",
        "<a href='@.html'>@",
        "<img src=@.png alt=@>",
        "@<br>@",
        "<span class=x>@</span>",
        "<title>@</title>",
        "@[^1]",
        "@ [@]",
        "[@][@]",
        "Vec<@>",
        "<@>",
        "@ & @",
        "&lt;@&gt;",
        "a_@_b",
        "\\*@\\*",
        "@: @",
    ]);
    let block = prop_oneof![
        4 => prop::collection::vec(line.clone(), 1..4).prop_map(|lines| lines.join(" ")),
        1 => line.clone().prop_map(|line| format!("# {line}")),
        1 => prop::collection::vec(line.clone(), 1..4).prop_map(|lines| lines.iter().map(|line| format!("- {line}\n")).collect()),
        1 => prop::collection::vec(line.clone(), 1..3).prop_map(|lines| lines.iter().zip(3..).map(|(line, at)| format!("{at}. {line}\n   - @\n")).collect()),
        1 => line.clone().prop_map(|line| format!("> {line}\n> @")),
        1 => line.prop_map(|line| line.replace('|', "")).prop_map(|line| format!("| @ | {line} | |\n|---|---|---|\n| @ | {line} | |\n| | | |\n| @ | @ | @ | @ | @ |")),
        1 => prop::sample::select(vec![
            "```\n@ <b> @\n```", "```rust\n@\n```", "```@ @\n@\n```", "    @ @", "[@]: https://a.example/@", "[^1]: @", "[^1]: @ @", "[@]: <@ @>", "[@]: @\n[@]: @",
            "> [@]: @\n> @", "<div>@\n<p>@</p> <b a> @", "<table><tr><td>@</td><td>@</td></tr></table>", "<ul><li>@</li><li>@</li></ul>", "<details open><summary>@</summary>@</details>",
            "---", "@\n===", "@  \n@\\\n@",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(block, 1..6).prop_map(|blocks| blocks.join("\n\n"))
}

/// The text with its words, and these.
fn worded(text: &str) -> (String, Vec<String>) {
    let mut words = vec![];
    let text = text.split('@').enumerate().map(|(at, piece)| {
        if at == 0 {
            return piece.to_owned();
        }
        words.push(format!("w{at}x"));
        format!("w{at}x{piece}")
    });
    let text = text.collect();
    (text, words)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_word_is_sent_or_the_text_says_that_it_is_shortened(text in pieces(), most in prop::option::of(150_u64..900)) {
        let (text, words) = worded(&text);
        for channel in CHANNELS.iter() {
            let channel = Channel { max_length: most.filter(|_| !channel.body.is_object()).or(channel.max_length), ..channel.clone() };
            let Ok(sent) = format(&text, &channel, None, None) else { continue };
            let all: String = sent.parts.iter().map(|part| part.content.to_string()).collect();
            let lost: Vec<&String> = words.iter().filter(|word| !all.contains(*word)).collect();
            prop_assert!(lost.is_empty() || sent.shortened, "{:?} is lost on {}:\n{}\n=>\n{}", lost, channel.name, text, all);
        }
    }
}
