//! Words, emojis, greetings, names, links and hostile pieces.

use super::{channel, chat, format, html, one, plain, splitting, style, telegram, text, text_or_nothing, words};
use crate::channel::{prompt, style_prompt};
use crate::model::{Body, Channel, Features, Formatting, Languages, Markup, Multilingual, Phrase, SplitAt, StyleGuide};

#[test]
fn the_example_reply_fits_each_channel() {
    let reply = "You've logged 32 of 40 time units this week. ✅";
    let formatted = format(reply, &splitting(plain(), 160, SplitAt::Sentence, 10), Some(&style()), Some("Ana"));
    assert_eq!(formatted.text, "Hi Ana,\n\nYou've logged 32 of 40 hours this week. ✅");
    assert_eq!((formatted.parts.len(), formatted.is_split, formatted.shortened), (1, false, false));
    assert_eq!(formatted.emojis_used, ["✅"]);
    assert_eq!(
        serde_json::to_value(&formatted).ok(),
        Some(serde_json::json!({
            "channel": "test", "text": formatted.text, "plain": formatted.text, "is_split": false, "shortened": false, "emojis_used": ["✅"], "markdown_removed": false,
            "parts": [{ "number": 1, "text": formatted.text, "plain": formatted.text, "indicator": "", "content": formatted.text }],
        }))
    );
}

#[test]
fn numbers_that_count_no_list_are_text() {
    let card = |text: &str| {
        let formatted = one(text, &channel(Body::AdaptiveCard, Features::FULL));
        let all =
            formatted.parts[0].content["body"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>();
        all.join("|").replace('\\', "")
    };
    for same in [
        "18. November\n\n3. Dezember\n\n24. Dezember",
        "26. 6. 2019 is the day.",
        "12. 10. ist Feiertag.",
        "2. 0. 1",
        "3.",
        "7. 5 h\n8. 4 h\n15. 3 h",
        "1) a\n3) b\n7) c",
        "01. a\n02. b",
        "1. Mai\n1. Juni",
        "1. one\n2. two\n3. 12. 2026",
        "1. 1. 2026",
        "Days:\n\n5. a\n\n9. b",
        "1. a\n2. b\n3. c",
        "18. a\n19. b",
    ] {
        assert_eq!(text(same, &plain()), same);
        assert_eq!(text(same, &chat()), same);
        let shown = card(same).replace('\r', "\n").replace("\n\n", "\n").replace('|', "\n");
        assert_eq!(shown, same.replace("\n\n", "\n"), "{same}");
    }
    assert_eq!(text("1.\n\n3.\n4. <!-- no text -->", &plain()), "1.\n3.\n\n4.");
    assert_eq!(text("> 3. Dezember\n>\n> 24. Dezember", &plain()), "> 3. Dezember\n\n> 24. Dezember");
    assert_eq!(text("1. - milk\n   - eggs\n2. - bread", &plain()), "1. - milk\n   - eggs\n2. - bread");
    assert_eq!(html("18. November\n\n3. Dezember"), "<p>18. November</p>\n<p>3. Dezember</p>");
    assert_eq!(html("- 4. Mai\n- 8. Mai"), "<ul>\n<li>4. Mai</li>\n<li>8. Mai</li>\n</ul>");
    assert_eq!(html("5. `x`\n9. **y** z"), "<p>5. <code>x</code><br>\n9. <strong>y</strong> z</p>");
    assert_eq!(text("5. ```\n   x\n   ```\n9. # y", &plain()), "5.\n\nx\n\n9. y");
}

#[test]
fn marks_that_touch_a_word_are_marks() {
    for (source, shown, sent) in [
        ("**Status:**OK", "Status:OK", "Status:OK"),
        ("**Status:**OK and **Zone:**EU", "Status:OK and Zone:EU", "Status:OK and Zone:EU"),
        ("**Status:**OK. **All** well", "Status:OK. All well", "Status:OK. *All* well"),
        ("- **Preis:**5 €\n- **10 %**iger", "- Preis:5 €\n- 10 %iger", "- Preis:5 €\n- 10 %iger"),
        ("__Note:__text, das**(neu)**e", "Note:text, das(neu)e", "Note:text, das(neu)e"),
        ("*“Zitat”*sagte er", "“Zitat”sagte er", "“Zitat”sagte er"),
        ("これは**「重要」**です。", "これは「重要」です。", "これは「重要」です。"),
        ("请在**“周五”**前**（含）**提交", "请在“周五”前（含）提交", "请在“周五”前（含）提交"),
        ("***Wow!***yes", "Wow!yes", "Wow!yes"),
        ("~~gone.~~next", "~~gone.~~next", "~~gone.~~next"),
        ("_*Note:*a_", "Note:a", "_Note:a_"),
        ("**a**b", "ab", "ab"),
    ] {
        assert_eq!(text(source, &plain()), shown, "{source}");
        assert_eq!(text(source, &chat()), sent, "{source}");
        let written = text(source, &channel(Body::Markdown, Features::FULL));
        assert_eq!(text(&written, &plain()).replace('\\', ""), shown, "{source}: {written}");
        let shown = pulldown_cmark::Parser::new(&written).filter_map(|event| match event {
            pulldown_cmark::Event::Text(text) => Some(text.into_string()),
            _ => None,
        });
        assert!(!shown.collect::<String>().contains('*'), "{source}: {written}");
    }
    for same in [
        "2**(3)**x",
        "x**(n)**y",
        "f(**a,**b)",
        "f(**kwargs, **more)",
        "**/*.rs,**/*.md",
        "a ** b ** c",
        "3*4*5",
        "2*(3+4)*5",
        "f(x)*g(y)*h",
        "_private_field and other_x",
        "snake_case_name",
        "*.rs and *.toml",
        "*.py,*.rs",
        "5 * 3 * 2",
        "a_ b_c _d",
    ] {
        assert_eq!(text(same, &plain()), same);
    }
    assert_eq!(text("\\*\\*Status:\\*\\*OK", &plain()), "**Status:**OK");
}

#[test]
fn what_is_not_certainly_a_mark_is_text() {
    for same in [
        // Sums, masks, wildcards, codes to dial, names.
        "(5+3)*(2+1)*(4-1)",
        "f(x)**2 + g(x)**2",
        "x*(-1)*y*(-2)*z",
        "***-**-6789",
        "****-****-****-4242",
        "+49 ***-***-12",
        "Card ****4242, mail j***@x.example.",
        "{\"Action\": \"s3:*\", \"Resource\": \"*\"} or \"arn:aws:iam::*:role/*\"",
        "GRANT SELECT ON *.* TO x; see a.*",
        "*.* and *.exe",
        "*https://x.example/?c=*d** https://x.example/?c=*d* end",
        "*a** b*",
        "\"*\" and \"*\"",
        "^.*$ and .*?",
        "find -name *_test* -o -name *_spec*",
        "**61*+4930123**20#",
        "**21*+4930123#",
        "*#*#4636#*#*",
        "\"_id_\" '__v__'",
        "__name__ == \"__main__\"",
        "def f(*args, **kwargs): g(*a, *b); x**2",
        "from ~5 to 10~ kg, ~10時 / 20時~",
        "-_- and ^_^",
        // Addresses.
        "https://en.wikipedia.example/wiki/A_(b)_C_(d)_E and https://en.wikipedia.example/wiki/F_(g)_H",
        "https://x.example/a_-_b and https://x.example/x-_-y",
        // Comparisons, fields of cron, sums over lines.
        "Grades:\n> 90: A\n80-90: B",
        ">= 5 kg: 10 €\nless: 5 €",
        ">5 kg or < 5 kg",
        "* * * * * /usr/bin/job",
        "* * * * *",
        "* 2 * * * /bin/b",
        "Net 100 €\n- 10 € discount\n= 90 €",
        "12 + 3\n=\n15",
        "100\n-\n30\n=\n70",
        "Price 5 €*\n\n* incl. VAT",
        // Brackets that are no links.
        "§ 5[2](b) and Art. 3[1](a)(ii)",
        "handlers[0](event), see [2](b), [optional](required)",
        "[Anna]: Hi\n[Bob]: Hello [Anna]",
        "[10:32]: ok\n[10:40]: see [10:32]",
        "[ERROR]: disk\nCount of [ERROR] is 5",
        "Costs [1] are 50 €.\n\n[1]: net",
        // Backslashes.
        "cd ..\\..\\src",
        "D:\\!a D:\\-x D:\\@x C:\\=x C:\\%x%",
        "HKCU\\Software\\{GUID} %TEMP%\\{a} ACME\\$pc1 ..\\.git",
        "C:\\Users\\_john_\\x C:\\#temp\\[old]",
        "C:\\temp\\\nnext",
        "^\\d\\{1,2\\}$",
        // Named tags.
        "Put it between <script> and </script>.",
    ] {
        assert_eq!(text(same, &plain()), same);
        assert_eq!(one(same, &chat()).plain, same);
        let written = text(same, &channel(Body::Markdown, Features::FULL));
        assert_eq!(text(&written, &plain()), same, "{written}");
    }
    for (source, shown) in [
        ("| cmd | use |\n|---|---|\n| `a | b` | pipe |", "cmd: a | b, use: pipe"),
        ("> one\n> 32 hours", "> one\n> 32 hours"),
        ("> 3. Dezember\n\n1. *a*\n2. **b**", "> 3. Dezember\n\n1. a\n2. b"),
        ("* *a* b\n* c", "- a b\n- c"),
        ("***a** b* and **c *d***", "a b and c d"),
        ("**#1** of **€5**, **-5 %**, *(so)* and **„ja“**", "#1 of €5, -5 %, (so) and „ja“"),
        ("**Projekt**-Leiter, *Projekt*-Leiter, **Yes**/no, **a**:b", "Projekt-Leiter, Projekt-Leiter, Yes/no, a:b"),
        ("これは*重要*です。**注意**：次", "これは重要です。注意：次"),
        ("<ol><li>Open</li><li>Close</li></ol>Repeat step 2.", "1. Open\n2. Close\nRepeat step 2."),
        ("<ol start=\"3\"><li>a<ul><li>b</li></ul></li><li>c</li></ol>", "3. a\n  - b\n4. c"),
        ("https://x.example/🎉/win and https://x.example/a🎉", "https://x.example/%F0%9F%8E%89/win and https://x.example/a🎉"),
        ("[a](README.md), [b](/x), [c](#d), [e](mailto:f@g.example)", "a (README.md), b (/x), c (#d), e (f@g.example)"),
    ] {
        assert_eq!(text(source, &plain()), shown, "{source}");
    }
}

#[test]
fn a_link_ends_with_its_address() {
    for (source, links) in [
        ("见https://x.example/a、次。https://x.example/b）と「https://x.example/c」", vec!["a", "b", "c"]),
        ("https://x.example/a， https://x.example/b– «https://x.example/c» https://x.example/d’s", vec!["a", "b", "c", "d"]),
    ] {
        let written = html(source);
        let found: Vec<&str> = written.split("href=\"https://x.example/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(found, links, "{written}");
    }
}

#[test]
fn addresses_and_paths_keep_the_signs_that_are_marks_elsewhere() {
    for same in [
        "src/__init__.py",
        "__init__.py and __main__.py",
        "https://a.example/_x_/y?q=*d*&r=__z__",
        "www.a.example/*b*",
        "/srv/*data*/x",
        "_john_@a.example",
        "\\\\server\\share\\x",
        "C:\\Users\\_cache\\.git\\-x",
        "(C:\\new\\#tmp)",
        "see \\\\nas\\old\\_x",
        "8~10 h and 12~14 h",
        "@_ana_",
        "--x=_y_",
        "~/a and ~/b",
    ] {
        assert_eq!(text(same, &plain()), same);
        assert_eq!(one(same, &chat()).plain, same);
        let written = text(same, &channel(Body::Markdown, Features::FULL));
        assert_eq!(text(&written, &plain()), same, "{written}");
    }
    for (source, shown) in [
        ("**Ja**/**Nein**, _so_. (_x_) and/*or*", "Ja/Nein, so. (x) and/or"),
        ("C:\\\\Users\\\\x", "C:\\Users\\x"),
        ("\\\\\\\\server\\\\share", "\\\\server\\share"),
        ("a\\*b\\*", "a*b*"),
        ("**https://a.example**", "https://a.example"),
    ] {
        assert_eq!(text(source, &plain()), shown);
    }
}

#[test]
fn figures_signs_and_addresses_do_not_join_what_stands_beside_them() {
    for (source, shown) in [
        ("Revenue grew to 5[1].\n\n[1]: https://x.example/a", "Revenue grew to 5[1] (https://x.example/a)."),
        ("Rose 5 % [1](https://x.example/a)", "Rose 5 % 1 (https://x.example/a)"),
        ("<https://x.example/5>6", "https://x.example/5 6"),
        ("<https://x.example/a>を見て", "https://x.example/a を見て"),
        ("<https://x.example/1><https://x.example/2>", "https://x.example/1 https://x.example/2"),
        ("<ana@x.example>5", "ana@x.example 5"),
        ("5<sup>2</sup>3 and 10<sup>3</sup> x<sub>1</sub>2", "5^(2)3 and 10^3 x_(1)2"),
        ("<sup>235</sup><sub>92</sub>U, 2<sup>2<sup>3</sup></sup> = 256, 10<sup>3</sup>.5", "^(235)_(92)U, 2^(2^(3)) = 256, 10^(3).5"),
        ("SO<sub>4</sub><sup>2-</sup>", "SO_(4)^(2-)"),
        ("Cost = a*b, tax = c*d; rm a*b c*d", "Cost = a*b, tax = c*d; rm a*b c*d"),
        ("Name (*) and e-mail (*) are required", "Name (*) and e-mail (*) are required"),
        ("Start 500\n+ 50\n- 30\n= 520", "Start 500\n+ 50\n- 30\n= 520"),
        ("Grew to 5 [1].\n\n[1]: https://x.example/a", "Grew to 5 [1] (https://x.example/a)."),
        ("Cost: €[99](https://x.example/r)", "Cost: €99 (https://x.example/r)"),
        ("<del>\n\n```\nold --force\n```\n\n</del>\n\nnew", "~~old --force~~\n\nnew"),
        ("- Set:\n\n  ```yaml\n  a:\n    b: 5\n  c: 6\n  ```", "- Set:\n\n  a:\n    b: 5\n  c: 6"),
        ("5\u{1f}6", "5 6"),
        ("5\u{b}6 and 7\u{85}8 and 9\u{c}10", "5\n6 and 7\n8 and 9\n10"),
        ("SELECT a.*, b.* FROM a, b", "SELECT a.*, b.* FROM a, b"),
        ("call __init__() and __exit__()", "call __init__() and __exit__()"),
        ("a*b*c and d*e*f", "a*b*c and d*e*f"),
        ("Change:\n+ 5 % in May\n- 3 % in June", "Change:\n+ 5 % in May\n- 3 % in June"),
        ("+ fast\n+ small\n- loud", "+ fast\n+ small\n- loud"),
        ("+ one\n+ two", "- one\n- two"),
        ("| a: | b |\n|---|---|\n| 1 | 2 |", "a: 1, b: 2"),
        ("<del>\n\n40\n\n</del>\n\n32", "~~40~~\n\n32"),
    ] {
        assert_eq!(text(source, &plain()), shown, "{source:?}");
    }
    let no_emojis = Channel { emojis: false, ..plain() };
    assert_eq!(
        text("See [✅](https://x.example/5) and <https://x.example/✅/5>", &no_emojis),
        "See https://x.example/5 and https://x.example/%E2%9C%85/5"
    );
    for (source, shown) in [
        ("5️⃣", "5"),
        ("Sold 3🎉,5🎉 and 7🎉", "Sold 3 ,5 and 7"),
        ("ana🔥@x.example", "ana @x.example"),
        ("Room 4🔟5", "Room 4 10 5"),
        ("Dial *️⃣31*️⃣ first", "Dial *31* first"),
    ] {
        assert_eq!(text(source, &no_emojis), shown, "{source}");
    }
    let mut greeting = style();
    greeting.formatting.sign_off = Phrase::On;
    assert_eq!(format("| a |\n|---|\n| 1 |", &plain(), Some(&greeting), Some("Ana")).text, "Hi Ana,\n\na: 1\n\nAcme Time");
}

#[test]
fn a_figure_is_whole_in_its_part() {
    let parts = |source: &str, most: u64| {
        let parts = format(source, &splitting(plain(), most, SplitAt::Sentence, 9), None, None).parts;
        parts.into_iter().map(|part| part.text).collect::<Vec<_>>()
    };
    assert_eq!(
        parts("The total is 1 250 000 EUR and 3 500 EUR more.", 40),
        ["The total is 1 250 000 EUR and (1/2)", "3 500 EUR more. (2/2)"]
    );
    assert_eq!(
        parts("A loss of - 5 EUR in May and more of it.", 20),
        ["A loss of (1/4)", "- 5 EUR in May (2/4)", "and more of (3/4)", "it. (4/4)"]
    );
    let cut = |source: &str| text(source, &Channel { max_length: Some(55), ..plain() });
    assert_eq!(cut("It is not true that we owe 5 million EUR to all of the banks"), "It is not true that we owe... The rest was left out.");
    assert_eq!(
        text("We meet on 16. 11. 2026 in the room on the first floor, all of us.", &Channel { max_length: Some(55), ..plain() }),
        "We meet on 16. 11. 2026 in... The rest was left out."
    );
    let struck = parts("~~Old price 1 is 10 EUR. Old price 2 is 20 EUR. Old price 3 is 30 EUR.~~ New price is 99 EUR.", 40);
    assert_eq!(struck[..3], ["~~Old price 1 is 10 EUR.~~ (1/4)", "~~Old price 2 is 20 EUR.~~ (2/4)", "~~Old price 3 is 30 EUR.~~ (3/4)"]);
    let code = format(
        "```python\nif x:\n    return x\nelse:\n    return x ** 3\n```",
        &splitting(channel(Body::Markdown, Features::FULL), 50, SplitAt::Sentence, 9),
        None,
        None,
    );
    let whole: String = code.parts.iter().map(|part| part.plain.clone() + "\n").collect();
    assert!(whole.contains("\n    return x ** 3"), "{whole}");
}

#[test]
fn struck_text_is_never_sent_as_valid() {
    for (source, shown, sent) in [
        ("Was ~~40~~ 32 hours", "Was ~~40~~ 32 hours", "Was ~40~ 32 hours"),
        ("~~5~~6", "~~5~~6", "~~5~~6"),
        ("<s>5</s>6 <del>7</del>", "~~5~~6 ~~7~~", "~~5~~6 ~7~"),
        ("~~**5** h, `x`~~", "~~5 h, x~~", "~*5* h, `x`~"),
        ("Old ~~**Price:** 40 EUR~~ now 32", "Old ~~Price: 40 EUR~~ now 32", "Old ~*Price:* 40 EUR~ now 32"),
        ("~~EUR **40**~~ 32", "~~EUR 40~~ 32", "~EUR *40*~ 32"),
        ("a~~b\nc~~ d", "a~~b~~\n~~c~~ d", "a~~b~~\n~c~ d"),
    ] {
        assert_eq!(text(source, &plain()), shown);
        assert_eq!(one(source, &chat()).plain, shown);
        assert_eq!(text(source, &chat()), sent);
    }
    let formatted = one("| a |\n|---|\n| ~~5~~6 |", &channel(Body::AdaptiveCard, Features::FULL));
    assert!(formatted.markdown_removed);
    assert!(formatted.parts[0].content.to_string().contains("\\\\~\\\\~5\\\\~\\\\~6"), "{:?}", formatted.parts[0].content);
    assert_eq!(html("~~5~~6"), "<p><del>5</del>6</p>");
    let written = text("<s>5</s>6", &channel(Body::Markdown, Features::FULL));
    assert_eq!(text(&written, &plain()), "~~5~~6", "{written}");
}

#[test]
fn a_quote_in_a_card_can_be_told_from_what_is_said() {
    let card = one(
        "You wrote:\n\n> # Ha\n>\n> one  \n> two\n>\n> - a\n>\n> ```\n> x\n> y\n> ```\n\nNo.",
        &channel(Body::AdaptiveCard, Features::FULL),
    );
    let all: Vec<String> =
        card.parts[0].content["body"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect();
    let table = one("> | a | b |\n> |---|---|\n> | 1 | 2 |", &channel(Body::AdaptiveCard, Features::FULL)).parts[0].content.to_string();
    assert!(table.contains("\"> a\"") && table.contains("\"> 1\"") && table.contains("\"2\""), "{table}");
    assert_eq!(all, ["You wrote:", "> Ha", "> one\n\n> two", "> - a", "> x\n\n> y", "No."]);
}

#[test]
fn emojis_go_unless_channel_and_style_guide_allow_them() {
    let no_emojis = Channel { emojis: false, ..plain() };
    assert_eq!(format("Done 🎉 now", &no_emojis, None, None).text, "Done now");
    let mut sober = style();
    sober.emojis.enabled = false;
    sober.formatting.greeting = Phrase::Own("Hi 👋 there,".into());
    assert_eq!(format("Done 🎉 now", &plain(), Some(&sober), None).text, "Hi there,\n\nDone now");
    assert_eq!(text_or_nothing("🎉", &no_emojis, None), "");
    assert_eq!(text_or_nothing("🎉", &no_emojis, Some(&style())), "", "a greeting alone is no text");
}

#[test]
fn greeting_and_sign_off_are_added_once() {
    let mut style = style();
    style.formatting.sign_off = Phrase::On;
    let greeted = format("All done.", &plain(), Some(&style), Some("Ana")).text;
    assert_eq!(greeted, "Hi Ana,\n\nAll done.\n\nAcme Time");
    assert_eq!(format(&greeted, &plain(), Some(&style), Some("Ana")).text, greeted);
    assert_eq!(format("Hello Ana!\n\nDone.\n\n*Acme Time*", &plain(), Some(&style), Some("Ana")).text, "Hello Ana!\n\nDone.\n\nAcme Time");
    assert_eq!(format("Hi-fi sales rose.", &plain(), Some(&style), None).text, "Hello,\n\nHi-fi sales rose.\n\nAcme Time");
    assert_eq!(text_or_nothing("  ", &plain(), Some(&style)), "");
    style.formatting.use_user_name = false;
    assert!(format("x", &plain(), Some(&style), Some("Ana")).text.starts_with("Hello,"));
}

#[test]
fn a_greeting_uses_the_given_name() {
    let greeted = |name: &str| format("x", &plain(), Some(&style()), Some(name)).text.lines().next().unwrap_or_default().to_owned();
    for (name, greeting) in [
        ("Ana Moreira", "Hi Ana,"),
        ("  Ana\tMaria  Moreira ", "Hi Ana,"),
        ("D'Arcy O'Brien", "Hi D'Arcy,"),
        ("Jean-Luc Picard", "Hi Jean-Luc,"),
        ("Zoë", "Hi Zoë,"),
        // What comes first is no given name, or only its beginning: then the whole name.
        ("Dr. Ana Moreira", "Hi Dr. Ana Moreira,"),
        ("J Moreira", "Hi J Moreira,"),
        ("Moreira, Ana", "Hi Moreira, Ana,"),
        ("佐藤 花子", "Hi 佐藤 花子,"),
        ("김 민준", "Hi 김 민준,"),
        ("", "Hello,"),
        (" \u{200B}", "Hello,"),
    ] {
        assert_eq!(greeted(name), greeting, "{name:?}");
    }
}

#[test]
fn a_greeting_of_ones_own_names_the_person_where_it_says() {
    let greeted = |own: &str, name: Option<&str>| {
        let mut style = style();
        style.formatting.greeting = Phrase::Own(own.into());
        format("Fertig.", &telegram(), Some(&style), name).text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(greeted("Hallo **{name}**,", Some("Ana Moreira")), "Hallo *Ana*,");
    assert_eq!(greeted("Hallo **{name}**,", Some("*A*")), "Hallo *\\*A\\**,");
    assert_eq!(greeted("{name}, hallo!", Some("Ana")), "Ana, hallo\\!");
    // Nobody is known by name.
    assert_eq!(greeted("Hallo {name},", None), "Hallo,");
    assert_eq!(greeted("{name}, hallo!", None), "hallo\\!");
    let mut style = style();
    style.formatting.greeting = Phrase::Own("Hallo {name},".into());
    let text = "hallo ana!\n\nFertig.";
    assert_eq!(format(text, &plain(), Some(&style), Some("Ana Moreira")).text, text, "greeted already");
}

#[test]
fn a_person_gets_the_words_of_the_language() {
    let spoken = |sign_off: &str| StyleGuide {
        formatting: Formatting { sign_off: Phrase::Own(sign_off.into()), ..Formatting::default() },
        ..style()
    };
    let guide = StyleGuide {
        languages: Languages(vec![
            ("de".into(), spoken("Dein Team")),
            ("de-AT".into(), spoken("Baba")),
            ("pt-BR".into(), spoken("Abraço")),
        ]),
        ..spoken("Your team")
    };
    let signed = |language| guide.in_language(language).formatting.sign_off.clone();
    for (language, said) in [
        (None, "Your team"),
        (Some(""), "Your team"),
        (Some("en"), "Your team"),
        (Some("de"), "Dein Team"),
        (Some("DE_at"), "Baba"),
        (Some("de-CH"), "Dein Team"),
        (Some("pt-br"), "Abraço"),
        (Some("pt"), "Your team"),
    ] {
        assert_eq!(signed(language), Phrase::Own(said.into()), "{language:?}");
    }
}

#[test]
fn a_name_is_a_name_and_no_markup() {
    let formatted = format("Done.", &telegram(), Some(&style()), Some("*A_na*[x](https://evil.example)\u{202E}\nx"));
    assert!(formatted.text.starts_with("Hi \\*A\\_na\\*\\[x\\]\\(https://evil\\.example\\),\n\n"), "{}", formatted.text);
    let markdown = format("Done.", &channel(Body::Markdown, Features::FULL), Some(&style()), Some("<b>#"));
    assert_eq!(markdown.text, "Hi \\<b>#,\n\nDone.");
}

#[test]
fn text_that_looks_like_marks_stays_text() {
    assert_eq!(text(r"2 \* 3 \* 4 and \_x\_ and a_b_c", &plain()), "2 * 3 * 4 and _x_ and a_b_c");
    assert_eq!(text("1.5 - 2 = (-0.5)!", &telegram()), r"1\.5 \- 2 \= \(\-0\.5\)\!");
    let markdown = channel(Body::Markdown, Features::FULL);
    assert_eq!(text(r"\# no heading, 3 \< 4, 5\*", &markdown), r"\# no heading, 3 < 4, 5\*");
    assert_eq!(text(r"-5 +1 #x 1.5 a! \<b>", &markdown), r"-5 +1 #x 1.5 a! \<b>");
    assert_eq!(text(r"a\![b](https://c.example)!", &markdown), r"a\![b](https://c.example)!");
    let slack = Channel {
        markup: Markup {
            link: Some("<{url}|{text}>".into()),
            escape: vec![("&".into(), "&amp;".into()), ("<".into(), "&lt;".into()), (">".into(), "&gt;".into())],
            ..Markup::default()
        },
        ..channel(Body::Markup, words(&["links"]))
    };
    assert_eq!(text("a < b & c [d](https://e.example/?f&g)", &slack), "a &lt; b &amp; c <https://e.example/?f&amp;g|d>");
}

#[test]
fn figures_stay_what_they_are_and_signs_that_are_no_marks_are_not_written() {
    let as_sent = |text: &str, channel: &Channel| one(text, channel).text;
    for figures in ["Total 3*4*5 = 60", "Price 2*50*EUR", "2**10**5", "a 1*b*c", "*3*4"] {
        for channel in [plain(), channel(Body::Html, Features::FULL)] {
            assert!(as_sent(figures, &channel).contains(figures), "{figures}: {}", as_sent(figures, &channel));
        }
        let in_chat = as_sent(figures, &chat());
        assert!(!in_chat.contains('_') && in_chat.chars().count() == figures.chars().count(), "{in_chat}");
    }
    assert_eq!(as_sent("un*x*y and *x*, **b**: _i_, **3**rd", &chat()), "un*x*y and _x_, *b*: _i_, 3rd");
    assert_eq!(as_sent("a *3*4 **5**", &plain()), "a *3*4 5");
    assert_eq!(as_sent("Hi\n\n[x]: <a b>", &plain()), "Hi\n\n[x]: <a b>");
}

#[test]
fn what_only_looks_like_a_tag_stays_visible() {
    for (source, expected) in [
        ("Project <script>: 8 h", "Project <script>: 8 h"),
        ("<script>", "<script>"),
        ("<title> and </time> and <B>", "<title> and </time> and <B>"),
        ("<b>, then <i> x", "<b>, then <i> x"),
        ("<section>\n\nrest", "<section>\n\nrest"),
        ("a <!-- never closed", "a <!-- never closed"),
        ("<!-- never closed\n\nrest", "<!-- never closed\n\nrest"),
        ("<!DOCTYPE x", "<!DOCTYPE x"),
        // Real markup: it has both its tags, needs no second one, or has attributes.
        ("<b>a</b> b <span>c</span><br>d <p>e", "a b c\nd\ne"),
        ("a <script>b</script> c", "a c"),
        ("a <script src=x> c", "a"),
        ("a <!-- b --> c", "a c"),
        ("a <span></span> <em>b</em>  c", "a b  c"),
    ] {
        assert_eq!(text(source, &plain()), expected, "{source:?}");
    }
    assert_eq!(html("<script> & <b>"), "<p>&lt;script&gt; &amp; &lt;b&gt;</p>");
    assert_eq!(text("*a* <script>", &channel(Body::Markdown, Features::FULL)), "*a* \\<script>");
}

#[test]
fn no_image_script_or_strange_address_survives_in_any_body() {
    let hostile = "![pic](https://evil.example/1.png) <img src=https://evil.example/2.png alt=two> [![a](https://evil.example/3.png)][r]\n\n\
        <script>fetch('https://evil.example/4')</script>\n\n<style>@import url(https://evil.example/5)</style>\n\n[x](javascript:alert(1)) \
        [y](data:text/html;base64,AA) <iframe src=\"https://evil.example/6\"></iframe> <svg onload=alert(1)> ![b][q]\n\n\
        <p><img\nsrc='https://evil.example/7'>\n\n&#x202E;\n\n[r]: javascript:alert(2)\n[q]: https://evil.example/8\n";
    let bodies = [Body::Text, Body::Markdown, Body::Html, Body::AdaptiveCard];
    for channel in bodies.map(|body| channel(body, Features::FULL)).iter().chain([&telegram(), &chat()]) {
        let formatted = one(hostile, channel);
        let sent = serde_json::to_string(&formatted).unwrap_or_default();
        // The address of an image is text to see, and nothing that is fetched; those of scripts, styles and frames are gone.
        for bad in [
            "example/4", "example/5", "example/6", "javascript", "data:", "fetch", "onload", "import", "<script", "<img", "<iframe", "![",
            "\u{202E}",
        ] {
            assert!(!sent.contains(bad), "{bad} in {sent}");
        }
        assert!(formatted.text.contains("pic") && formatted.text.contains("two"), "{}", formatted.text);
        let shown = formatted.text.replace('\\', "");
        assert!(["1.png", "2.png", "3.png", "7"].iter().all(|image| shown.contains(&format!("https://evil.example/{image}"))), "{shown}");
        assert_eq!(formatted.hidden_removed, 1);
    }
}

#[test]
fn links_are_links_where_they_are_allowed_and_text_elsewhere() {
    let source = "See https://a.example/x_(y). Or [here](https://b.example \"t\"), <c@d.example>, <a href='https://e.example'>e</a>.";
    assert_eq!(text(source, &plain()), "See https://a.example/x_(y). Or here (https://b.example), c@d.example, e (https://e.example).");
    assert_eq!(
        text(source, &channel(Body::Markdown, Features::FULL)),
        "See <https://a.example/x_(y)>. Or [here](https://b.example), [c@d.example](mailto:c@d.example), [e](https://e.example)."
    );
    assert!(html("https://a.example/?b=\"><script>").starts_with("<p><a href=\"https://a.example/?b=\" "));
    assert_eq!(text("[a\u{200B}b](https://a.exa\u{200B}mple)", &plain()), "ab (https://a.example)");
}

#[test]
fn prompts_say_the_rules_in_sentences() {
    insta::assert_snapshot!(prompt(&splitting(chat(), 4096, SplitAt::Sentence, 3)), @r#"The reply is sent over the channel "test". One message holds 4,096 characters; keep to one if you can, and to 3 at most. Of Markdown use only bold, italic, strike, code and lists. Emojis can be shown."#);
    insta::assert_snapshot!(prompt(&Channel { emojis: false, max_length: Some(70), ..plain() }), @r#"The reply is sent over the channel "test". It holds 70 characters; a longer reply is cut off. Write plain text, without Markdown. Use no emojis."#);
    insta::assert_snapshot!(style_prompt(&style()), @r#"You speak for Acme Time. Your personality: A friendly colleague. Your tone: conversational in general. You may use emojis, sparingly: ✅ for success. No jokes. Say "hours", not "time units". Avoid "utilise". Never use "synergy". Do not greet and do not sign off: where that is wanted, it is added later."#);
}

#[test]
fn hidden_characters_are_taken_out_and_counted() {
    let formatted = format("pay\u{202E}me \u{E0041}now\u{200B}", &plain(), None, None);
    assert_eq!((formatted.text.as_str(), formatted.hidden_removed), ("payme now", 3));
}
