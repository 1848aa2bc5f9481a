use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::diagnostic::Severity;
use crate::source::Sources;

pub(super) struct Read {
    pub(super) sources: Sources,
    pub(super) root: Node,
    pub(super) found: Vec<Diagnostic>,
}

pub(super) fn read(text: &str) -> Read {
    let mut sources = Sources::default();
    let file = sources.add("a.yaml", text);
    let mut found = vec![];
    let root = parse(file, sources.file(file), &mut found);
    Read { sources, root, found }
}

impl Read {
    /// `F001 3:5 "marked": message / help`, one finding a line.
    pub(super) fn lines(&self) -> String {
        let line = |d: &Diagnostic| {
            let at = self.sources.start(d.span);
            format!("{} {}:{} {:?}: {} / {}", d.code.id(), at.line, at.column, self.sources.text(d.span), d.message, d.help.join(" / "))
        };
        self.found.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The text after all safe fixes.
    fn fixed(&self) -> String {
        let mut text = self.sources.file(FileId(0)).text.to_string();
        let mut edits: Vec<_> =
            self.found.iter().filter_map(|d| d.candidate.as_ref()).filter(|fix| fix.safe).flat_map(|fix| &fix.edits).collect();
        edits.sort_by_key(|(span, _)| std::cmp::Reverse(*span));
        for (span, new) in edits {
            text.replace_range(span.start as usize..span.end as usize, new);
        }
        text
    }
}

pub(super) fn clean(text: &str) -> Node {
    let read = read(text);
    assert_eq!(read.lines(), "", "{text}");
    read.root
}

#[test]
fn a_file_becomes_plain_data() {
    let root = clean(
        "\u{feff}flow: 1\r\nname: hours # why\r\nlist:\r\n- a\r\n- {b: [1.5, true, ~], \"c\": 'it''s'}\r\nempty:\r\nblock: |\r\n  one\r\n\r\n   two\r\nfold: >-\r\n  a\r\n  b\r\n",
    );
    assert_eq!(
        root.to_value(),
        json!({"flow": 1, "name": "hours", "list": ["a", {"b": [1.5, true, null], "c": "it's"}], "empty": null, "block": "one\n\n two\n", "fold": "a b"})
    );
}

#[test]
fn an_empty_file_is_empty() {
    for text in ["", "\n", "# only a remark\n", "\u{feff}", "---\n", "%YAML 1.2\n---\n"] {
        assert_eq!(clean(text).to_value(), json!(null), "{text:?}");
    }
}

#[test]
fn spans_cover_exactly_what_was_written() {
    let read = read("é: \"x y\"\nlist:\n- a: 1\n  b:\n- [1, {c: d}]\ntext: |\n  one\n  two\n\nlast: |-\n  end\n");
    let map = read.root.as_map().unwrap();
    let text = |node: &Node| read.sources.text(node.span).to_owned();
    assert_eq!(read.sources.text(map.entries[0].0.span), "é");
    assert_eq!(text(map.get("é").unwrap()), "\"x y\"");
    assert_eq!(text(map.get("text").unwrap()), "one\n  two");
    assert_eq!(text(map.get("last").unwrap()), "end");
    let list = map.get("list").unwrap();
    assert_eq!(text(list), "- a: 1\n  b:\n- [1, {c: d}]");
    let [first, second] = list.as_list().unwrap() else { panic!() };
    assert_eq!((text(first).as_str(), text(second).as_str()), ("a: 1\n  b:", "[1, {c: d}]"));
    let empty = first.as_map().unwrap().get("b").unwrap();
    assert_eq!(read.sources.start(empty.span), crate::source::Position { line: 4, column: 5 });
}

/// Every place of the text of `key` that can be followed, as the file has it there.
fn places(text: &str, key: &str) -> Vec<String> {
    let read = read(text);
    let scalar = read.root.as_map().unwrap().get(key).unwrap().as_scalar().unwrap();
    scalar
        .text
        .char_indices()
        .filter_map(|(at, c)| {
            let (in_text, in_file) = scalar.offsets.iter().rev().find(|(t, _)| *t as usize <= at)?;
            let place = *in_file as usize + at - *in_text as usize;
            Some(format!("{c}={}", text[place..].chars().next().unwrap()))
        })
        .filter(|pair| pair.chars().next() != pair.chars().last() || !pair.contains('='))
        .collect()
}

#[test]
fn places_inside_a_text_lead_back_to_the_file() {
    let same: [&str; 0] = [];
    assert_eq!(places("k: plain text {{ x }} # y\n", "k"), same);
    assert_eq!(places("k: 'it''s {{ x }}'\n", "k"), same);
    assert_eq!(places("k: \"a\\u263Ab\\\\c\\\"é\\uD83D\\uDE00 \\x41z\"\n", "k"), ["☺=\\", "\"=\\", "😀=\\", "A=\\"]);
    assert_eq!(places("k: |\n\n  one é\n\n    two\n  three\n", "k"), same);
    assert_eq!(places("k: |\r\n  one\r\n  two\r\n", "k"), ["\n=\r", "\n=\r"]);
    assert_eq!(places("a:\n  - k\nk: |2-\n    deep\n  x\n", "k"), same);
}

#[test]
fn places_inside_a_folded_text_lead_back_to_the_file() {
    for text in [
        "k: >\n  one\n  {{ x }}\n",
        "k: >-\n\n\n  one\n\n    deep {{\n  two {{ x }}\n\n  three\n\n",
        "k: >+2\n    deep\n  {{ x }}  \n  end\n\n",
        "k: >\r\n  one\r\n  é {{ x }} end\r\n",
        "k: one\n  two   \n\n  {{ x }} three\n  four\n",
        "k: \"one\n  \\u263A two {{ x }}\n\n  three\"\n",
        "k: \"one \\\n  {{ x }}\\\n  \\  two\"\n",
        "k: 'one it''s\n\n  it''s {{ x }}\n  two'\n",
    ] {
        let root = clean(text);
        let value = root.as_map().unwrap().get("k").unwrap();
        let scalar = value.as_scalar().unwrap();
        let at = scalar.text.find("{{ x").unwrap();
        let (in_text, in_file) = scalar.offsets.iter().rev().find(|(t, _)| *t as usize <= at).unwrap();
        assert!(text[*in_file as usize + at - *in_text as usize..].starts_with("{{ x"), "{:?} of {text:?}", scalar.offsets);
        let mut ends = scalar.offsets.windows(2);
        assert!(ends.all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1), "{:?}", scalar.offsets);
    }
    let root = clean("k: |\n  x\n");
    assert_eq!(root.as_map().unwrap().get("k").unwrap().as_scalar().unwrap().offsets, [(0, 7)]);
}

#[test]
fn aliases_repeat_what_their_anchor_holds() {
    let root = clean("a: &x [1, {b: c}]\nd: *x\ne: &y text\nf: [*y, *y]\n*y : 5\n");
    assert_eq!(root.to_value(), json!({"a": [1, {"b": "c"}], "d": [1, {"b": "c"}], "e": "text", "f": ["text", "text"], "text": 5}));
}

#[test]
fn what_stands_before_a_mistake_is_read_and_says_that_it_was_cut() {
    let read = read("flow: 1\nsteps:\n  - id: a\n    prompt: \"x\n    agent: y\n  - id: b\n");
    assert_eq!(read.root.to_value(), json!({"flow": 1, "steps": [{"id": "a", "prompt": null}]}));
    let map = read.root.as_map().unwrap();
    assert!(map.is_cut);
    let step = map.get("steps").unwrap().as_list().unwrap()[0].as_map().unwrap();
    assert!(step.is_cut);
    assert_eq!(step.get("prompt").unwrap().kind, NodeKind::Broken);
    assert!(!clean("a: {b: c}\n").as_map().unwrap().is_cut);
}

#[test]
fn the_first_of_two_equal_keys_stays() {
    let read = read("agents:\n  writer:\n    model: a\n    model: b\nsteps:\n  - id: draft\n    tool: x\n    tool: z\n");
    insta::assert_snapshot!(read.lines(), @r#"
    F003 4:5 "model": "model" is set twice in "writer" (first at 3:5) / keep one of the two
    F003 8:5 "tool": "tool" is set twice in "draft" (first at 7:5) / keep one of the two
    "#);
    assert_eq!(read.sources.text(read.found[0].related[0].0), "model");
    assert_eq!(read.root.to_value(), json!({"agents": {"writer": {"model": "a"}}, "steps": [{"id": "draft", "tool": "x"}]}));
}

#[test]
fn values_that_mean_something_else_elsewhere_are_told_and_keys_are_not() {
    let read = read(
        "no: yes\non: [012, 1_000]\n1.10: {y: 2026-01-05}\nquoted: [\"no\", 'on', 1.5, true]\nphone: +4915112345678\ntext: |\n  no\nprice: 0.50\n",
    );
    insta::assert_snapshot!(read.lines(), @r#"
    F009 1:5 "yes": yes without quotes is text here and true elsewhere; write "yes" or true / write "yes" for the word, true for true/false
    F009 2:6 "012": 012 without quotes is the number 12 here and 10 elsewhere; write "012" or 12 / write "012" if the zero counts, 12 for the number
    F009 2:11 "1_000": 1_000 without quotes is text here and a number elsewhere; write "1_000" or 1000 / write 1000 for the number, "1_000" for the text
    F009 3:11 "2026-01-05": 2026-01-05 without quotes is text here and a date elsewhere; write "2026-01-05" / write "2026-01-05"
    F010 5:8 "+4915112345678": +4915112345678 without quotes is a number and loses its "+"; put it in quotes / write "+4915112345678"
    "#);
    assert_eq!(read.root.as_map().unwrap().get("phone").unwrap().to_value(), json!("+4915112345678"));
    let fixed = read.fixed();
    insta::assert_snapshot!(fixed, @r#"
    no: "yes"
    on: [012, "1_000"]
    1.10: {y: "2026-01-05"}
    quoted: ["no", 'on', 1.5, true]
    phone: "+4915112345678"
    text: |
      no
    price: 0.50
    "#);
}

#[test]
fn a_template_without_quotes_is_told_read_as_meant_and_put_in_quotes() {
    let text = "a: {{ inputs.x }}\nb: {{ x }} and more # why\nc: [{{ x }}, {{ y[\"z\"] }} z]\nd: { e: {{ x | default(\"q\") }} }\nf: {{ not closed }\ng:\n  - {{ x }}{{ y }}\nh: {% if x %}1{% endif %}\ni: {{ x\n  | first }}\nj: fine {{ x }}\nk: 1\n";
    let read = read(text);
    assert!(read.found.iter().all(|d| d.code == Code::UnquotedTemplate), "{}", read.lines());
    insta::assert_snapshot!(read.found[1].message, @"a value that starts with {{ must be in quotes");
    insta::assert_snapshot!(read.found[1].help.join("\n"), @r#"write "{{ x }} and more""#);
    let meant = json!({
        "a": "{{ inputs.x }}", "b": "{{ x }} and more", "c": ["{{ x }}", "{{ y[\"z\"] }} z"], "d": {"e": "{{ x | default(\"q\") }}"},
        "f": "{{ not closed }", "g": ["{{ x }}{{ y }}"], "h": "{% if x %}1{% endif %}", "i": "{{ x | first }}", "j": "fine {{ x }}", "k": 1,
    });
    assert_eq!(read.root.to_value(), meant);
    assert_eq!(clean(&read.fixed()).to_value(), meant);
}

#[test]
fn what_yaml_has_and_flow_has_not_is_named() {
    let cases = [
        "a: !!python/object x\n",
        "a: !x!y z\n",
        "a: !important\n",
        "base: &b {x: 1}\na:\n  <<: *b\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\nb: 2\n",
        "%TAG ! tag:x,2000:\n---\na: 1\n",
        "%YAML 2.0\n---\na: 1\n",
        "\u{feff}%X\n---\na: 1\n",
        "[a, b]: 1\n",
        "a: &x [1, *x]\n",
    ];
    insta::assert_snapshot!(cases.map(|text| read(text).lines()).join("\n"), @r#"
    F024 1:4 "!!python/object": "!!python/object" is not allowed / write "!!python/object x": a text that begins with "!" stands in quotes
    F024 1:4 "!x!y": "!x!y" is not allowed / remove it; put a text that begins with "!" in quotes
    F024 1:4 "!important": "!important" is not allowed / write "!important": a text that begins with "!" stands in quotes
    F024 3:3 "<<": "<<" is not allowed / write out the keys it would bring, or use "*name" as a value
    F024 2:1 "---": a second document begins here; a file holds one / remove the "---" or "...", or put what follows into a file of its own
    F024 3:1 "": a second document begins here; a file holds one / remove the "---" or "...", or put what follows into a file of its own
    F024 1:1 "%TAG ! tag:x,2000:": "%TAG" is not allowed / remove the line
    F024 1:1 "%YAML 2.0": lines that begin with "%" are not allowed here / remove the line
    F024 1:2 "%X": "%X" is not allowed / remove the line
    F024 1:1 "[a, b]": a list cannot be a key; a key is a text / write a text before the ":"
    F024 1:11 "*x": "*x" is inside "&x" and would never end / write out the value
    "#);
    clean("%YAML 1.2\n---\n\"<<\": 1\na: \"!x\"\n...\n");
}

#[test]
fn sizes_have_limits() {
    let nest = |open: &str, close: &str, n: usize| format!("a: {}{}\n", open.repeat(n), close.repeat(n));
    let bomb = |levels: usize| {
        let level = |i: usize| format!("l{i}: &l{i} [{}]\n", vec![format!("*l{}", i - 1); 9].join(", "));
        format!("l0: &l0 [x]\n{}", (1..=levels).map(level).collect::<String>())
    };
    let long_text = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), vec!["*a"; 20].join(", "));
    let cases = [
        "x".repeat((1 << 20) + 1),
        nest("[", "]", 64),
        nest("{a: ", "}", 64),
        "[".repeat(1 << 20),
        "- ".repeat(1 << 19),
        "? ".repeat(1 << 19),
        (0..65).map(|i| format!("{}a:\n", " ".repeat(i))).collect(),
        "- x\n".repeat(100_001),
        bomb(3) + "deep: *l3\n",
        bomb(5),
        bomb(20),
        long_text,
    ];
    let show = |text: &String| {
        let read = read(text);
        read.found.iter().map(|d| format!("{} {}", d.code.id(), d.message)).collect::<Vec<_>>().join(" + ")
    };
    insta::assert_snapshot!(cases.iter().map(show).collect::<Vec<_>>().join("\n"), @r#"
    F022 this file is larger than 1 MiB
    F022 more than 64 lists and groups of keys are nested inside each other here
    F022 more than 64 lists and groups of keys are nested inside each other here
    F022 more than 64 lists and groups of keys are nested inside each other here
    F022 more than 64 lists and groups of keys are nested inside each other here
    F022 more than 64 lists and groups of keys are nested inside each other here
    F022 more than 64 lists and groups of keys are nested inside each other here
    F022 this file holds more than 100,000 keys and values

    F022 "&" and "*" make this file grow past 100,000 values
    F022 "&" and "*" make this file grow past 100,000 values
    F022 "&" and "*" make this file grow past 100,000 values
    "#);
    clean(&nest("[", "]", 63));
    clean(&"# remark\n".repeat(2000));
}

#[test]
fn findings_of_one_file_end_somewhere() {
    assert_eq!(read(&"- no\n".repeat(5000)).found.len(), limits::FINDINGS);
}

#[test]
fn characters_nobody_can_see_are_told_once_a_line() {
    let cases = [
        "a: x\u{202e}y\u{2066}\n",
        "# \u{200b}\n",
        "a\u{200d}b: 1\n",
        "a: x\0y\n",
        "a: \u{1b}[31m\n",
        "a: 1\n\u{feff}b: 2\n",
        "a: x\u{2028}y\n",
        "a: b\rc: d\n",
        "a: hi\u{e0041}\u{e0042}\n",
        "a: \u{1f3f4}\u{e0048}\u{e0069}\u{e0021}\n",
        "a: x\u{fe00}\u{fe01}\n",
        "a: x\u{e0101}\n",
        "a: \u{200f}x\n",
        "a: \u{3164}\n",
        "\u{a0}a: 1\n",
    ];
    let show = |text: &str| read(text).lines();
    insta::assert_snapshot!(cases.map(show).join("\n"), @r#"
    F023 1:5 "\u{202e}": line 1 holds an invisible character, which reverses text (U+202E) / remove it, or write it as \u202E in double quotes
    F023 1:3 "\u{200b}": line 1 holds an invisible character, which takes no room (U+200B) / remove it, or write it as \u200B in double quotes
    F023 1:2 "\u{200d}": line 1 holds an invisible character, which takes no room (U+200D) / remove it, or write it as \u200D in double quotes
    F023 1:5 "\0": line 1 holds an invisible character, a control character (U+0000) / remove it, or write it as \x00 in double quotes
    F023 1:4 "\u{1b}": line 1 holds an invisible character, a control character (U+001B) / remove it, or write it as \x1B in double quotes
    F023 2:1 "\u{feff}": line 2 holds an invisible character, which some programs put at the start of a file (U+FEFF) / delete the text around it and type it again; it came with pasted or joined text
    F023 1:5 "\u{2028}": line 1 holds an invisible character, which some programs read as a line end (U+2028) / remove it, or write it as \u2028 in double quotes
    F023 1:5 "\r": line 1 holds an invisible character, which some programs read as a line end (U+000D) / remove it, or write it as \r in double quotes
    F023 1:6 "\u{e0041}": line 1 holds an invisible character, which can carry hidden text (U+E0041) / remove it, or write it as \U000E0041 in double quotes
    F023 1:5 "\u{e0048}": line 1 holds an invisible character, which can carry hidden text (U+E0048) / remove it, or write it as \U000E0048 in double quotes
    F023 1:6 "\u{fe01}": line 1 holds an invisible character, which can carry hidden text (U+FE01) / remove it, or write it as \uFE01 in double quotes
    F023 1:5 "\u{e0101}": line 1 holds an invisible character, which can carry hidden text (U+E0101) / remove it, or write it as \U000E0101 in double quotes
    F023 1:4 "\u{200f}": line 1 holds an invisible character, which takes no room (U+200F) / remove it, or write it as \u200F in double quotes
    F023 1:4 "ㅤ": line 1 holds an invisible character, which takes no room (U+3164) / remove it, or write it as \u3164 in double quotes
    F023 1:1 "\u{a0}": line 1 is indented with a character that looks like a space and is none (U+00A0) / write a space in its place
    "#);
}

#[test]
fn characters_that_belong_where_they_stand_are_fine() {
    clean("family: 👨\u{200d}👩\u{200d}👧\nheart: ❤\u{fe0f}\nscotland: 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\n");
    clean(
        "persian: می\u{200c}خواهم\nhindi: क्\u{200d}ष\nthai: ไทย\u{200b}คำ\nhebrew: שלום\u{200f}!\nkanji: 葛\u{e0100}\nfrench: 5\u{a0}000\u{202f}€\n",
    );
    clean("escaped: \"\\x1B[0m \\u202E\"\ncrlf: x\r\ntab:\tz\n");
}

fn check_node(node: &Node, text: &str, depth: usize) {
    assert!(depth <= limits::DEPTH + 1);
    check_span(node.span, text);
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            for pair in scalar.offsets.windows(2) {
                assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1, "{:?} in {text:?}", scalar.offsets);
            }
            for (in_text, in_file) in &scalar.offsets {
                assert!(scalar.text.is_char_boundary(*in_text as usize) && text.is_char_boundary(*in_file as usize), "{text:?}");
            }
        }
        NodeKind::List(list) => list.iter().for_each(|node| check_node(node, text, depth + 1)),
        NodeKind::Map(map) => {
            for (key, node) in &map.entries {
                check_span(key.span, text);
                check_node(node, text, depth + 1);
            }
        }
        NodeKind::Broken => {}
    }
}

fn check_span(span: Span, text: &str) {
    assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} in {text:?}");
}

fn check_all(text: &str) {
    let mut read = read(text);
    check_node(&read.root, text, 1);
    suppressions(FileId(0), read.sources.file(FileId(0)), &mut read.found);
    for d in &read.found {
        check_span(d.span, text);
        d.related.iter().for_each(|(span, _)| check_span(*span, text));
        d.candidate.iter().flat_map(|fix| &fix.edits).for_each(|(span, _)| check_span(*span, text));
        assert!(d.message.chars().count() <= 160 && !d.message.contains('\n') && d.help.iter().all(|h| !h.contains('\n')), "{:?}", d);
        assert!(!d.help.is_empty() && d.help.iter().all(|h| h.starts_with(|c: char| c.is_ascii_lowercase())), "{d:?}");
    }
    // A file that cannot be read is never silent.
    let is_whole = |node: &Node| node.kind != NodeKind::Broken && !node.as_map().is_some_and(|map| map.is_cut);
    assert!(is_whole(&read.root) || read.found.iter().any(|d| d.severity() == Severity::Error), "{text:?}");
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic_and_with_places_inside_the_file(text in any::<String>()) {
        check_all(&text);
    }

    #[test]
    fn any_mix_of_yaml_pieces_is_read_without_panic_and_with_places_inside_the_file(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "b: ", "c:", "- ", "-", "\n", "\n  ", "\n    ", "  ", "\t", "{{", " x }}", "{% if %}", "[", "]", "{", "}", ", ", "\"", "'", "|\n", ">-\n",
            " # ", "#", "&a ", "*a", "*b ", "!t ", "!e!x ", "---\n", "...\n", "%TAG\n", "é", "😀", "\u{feff}", "\0", "\r\n", "\r", "\u{202e}", "\u{85}",
            "yes", "012", "+4912345678", "? ", "<<: ", "\\", "\\u12", "\\x", "# flow-ignore: F105 x\n", "# flow-ignore: F1", "\u{a0}", "@", "`", "%", ":",
        ]), 0..40)
    ) {
        check_all(&pieces.concat());
    }
}
