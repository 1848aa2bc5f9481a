use super::super::tests::{clean, read};
use crate::diagnostic::Code;

/// A syntax mistake and what is said about it.
fn told(text: &str) -> String {
    let read = read(text);
    assert!(!read.found.is_empty(), "{text}");
    read.lines()
}

#[test]
fn missing_and_extra_quotes_are_found() {
    let cases = [
        "a:\n  prompt: \"hello\n  agent: x\n",
        "a: 'hello\n",
        "a: 'it's fine'\n",
        "a: \"say \"hi\" now\"\n",
        "a: \"x\" y\n",
        "\"a\" 1\n",
        "a: \"multi\nline\"\n",
        "a: \"C:\\Users\"\n",
        "a: \"\\d+\"\n",
        "\"key: 1\nb: 2\n",
        "a: \"x\n  y: \"z\"\n",
        "a: \"x\"#y\n",
        "a:\n  - { b: \"c, d: 1 }\n  - { b: \"# e\", d: 1 }\n",
        "a:\n  - { b: # c\", d: 1 }\n  - { b: \"e\", d: 1 }\n",
    ];
    insta::assert_snapshot!(cases.map(told).join("\n"), @r##"
    F001 2:11 "\"hello": the text that begins with " on line 2 has no closing " / write " at its end
    F001 1:4 "'hello": the text that begins with ' on line 1 has no closing ' / write ' at its end
    F001 1:4 "'it's fine'": the text in '…' on line 1 ends at its first apostrophe / write "it's fine", in double quotes
    F001 1:4 "\"say \"hi\" now\"": the text that begins with " on line 1 holds another ", which ends it too early / write \" for a quote inside the text, or put the text in single quotes
    F001 1:8 "y": "y" is after the closing " on line 1 / put the whole text in one pair of quotes, or remove what follows them
    F001 1:5 "": a ":" is missing after "a" / write "a": 1
    F001 2:1 "line\"": line 2 goes on with the text in quotes from line 1 and must be indented further / indent it by two spaces more than the key, or write the text below "|"
    F001 1:7 "\\U": "\U" means nothing in double quotes / write 'C:\Users', in single quotes, where a backslash is one; or \\ for each in double ones
    F001 1:5 "\\d": "\d" means nothing in double quotes / write '\d+', in single quotes, where a backslash is one; or \\ for each in double ones
    F001 1:1 "\"key: 1": the text that begins with " on line 1 has no closing " / write " at its end
    F001 1:4 "\"x": the text that begins with " on line 1 has no closing " / write " at its end
    F001 1:7 "": a space is missing before "#" / write a space before "#" for a remark; put a text that holds "#" in quotes
    F001 2:10 "\"c, d: 1 }": the text that begins with " on line 2 has no closing " / write " at its end
    F001 2:5 "{": "{" on line 2 is never closed; is a "}" missing before line 3? / write "}" after the last entry; put a text that begins with "{" in quotes
    "##);
}

#[test]
fn lines_of_other_languages_are_named_as_what_they_are() {
    for (text, line, message) in [
        ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n", 2, "a merge conflict begins here"),
        ("```yaml\na: 1\n```\n", 1, "the file is inside a code fence"),
        ("a: 1\n// remark\nb: 2\n", 2, "\"//\" begins no comment"),
        ("a: 1\n<!-- remark -->\nb: 2\n", 2, "\"<!--\" begins no comment"),
        ("a: 1\nb： 2\nc: 3\n", 2, "this is a wide colon"),
        ("a: 1\n[words]\nb: 2\n", 2, "[words] is a section of TOML"),
        ("a: 1\nb = 2\nc: 3\n", 2, "\"=\" sets no key"),
    ] {
        let said = told(text);
        assert!(said.starts_with(&format!("F001 {line}:")) && said.contains(message), "{text}\n{said}");
    }
    // A line of a program that fell out of its text is not taken for one.
    assert!(!told("code: |\n  x = 1\ny = 2\nz: 1\n").contains("sets no key"));
}

#[test]
fn missing_and_extra_colons_are_found() {
    let cases = [
        "description: Note: this\n",
        "url: http://x: y\n",
        "id a\nagent: b\n",
        "id: a\nagent b\n",
        "a:b\nc: d\n",
        "id: a\nagent:b\nc: d\n",
        "--- a: b\n",
        "a: [x: y1: z]\n",
    ];
    insta::assert_snapshot!(cases.map(told).join("\n"), @r#"
    F001 1:14 "Note: this": the text after "description:" holds another ":"; put it in quotes / write description: "Note: this"
    F001 1:6 "http://x: y": the text after "url:" holds another ":"; put it in quotes / write url: "http://x: y"
    F001 1:1 "id a": a ":" is missing on line 1, after "id" / write id: a / indent the line further if it goes on with the text above
    F001 2:1 "agent b": a ":" is missing on line 2, after "agent" / write agent: b / indent the line further if it goes on with the text above
    F001 1:1 "a:": a space is missing after the ":" on line 1 / write a: b
    F001 2:1 "agent:": a space is missing after the ":" on line 2 / write agent: b
    F001 1:1 "---": what follows "---" must be on its own line / write it on the next line
    F001 1:10 ":": a text that holds ": " must be in quotes here / put the text in quotes, or separate the entries with ","
    "#);
}

#[test]
fn wrong_indentation_is_found() {
    let cases = [
        "steps:\n\t- id: a\n",
        "steps:\n  - id: a\n\t  agent: x\n",
        "a:\n  b: 1\n\u{a0} c: 2\n",
        "steps:\n  - id: a\n   agent: b\n",
        "steps:\n  - id: a\n      agent: b\n",
        "steps:\n  - id: a\n - id: b\n",
        "steps:\n  - id: a\n   - id: b\n",
        "- a: 1\n- b: c: 2\n",
        " a: b\nc: d\n",
        "prompt: hello\n  foo: bar\n",
        "steps:\n  -id: a\n",
        "a: - b\n",
        "- a\nb: c\n",
        "a:\n  b: c\n  - d\n",
        "a: |\n  x\n y\nb: 1\n",
        "a: |\nhello you\nb: 1\n",
        "a: |\nHello you: 1\n",
        "a: |\n     \n  x\n",
    ];
    insta::assert_snapshot!(cases.map(told).join("\n"), @r#"
    F001 2:1 "\t": line 2 is indented with a tab; only spaces count / indent with spaces, two for each level
    F001 3:1 "\t": line 3 is indented with a tab; only spaces count / indent with spaces, two for each level
    F023 3:1 "\u{a0} ": line 3 is indented with a character that looks like a space and is none (U+00A0) / write 2 spaces in place of these 2 characters
    F001 3:4 "agent: b": line 3 is indented by 3 spaces, which fits no line above it / indent it by 4 spaces, like "id" on line 2
    F001 3:7 "agent": line 3 is indented further than "id" on line 2, which has a value already / write "agent" right below "id", with 4 blanks before it in place of 6
    F001 3:2 "- id: b": line 3 is indented by 1 space, which fits no line above it / indent it by 2 spaces, like "-" on line 2
    F001 3:4 "- id: b": line 3 is indented by 3 spaces, which fits no line above it / indent it by 2 spaces, like "-" on line 2
    F001 2:6 "c: 2": the text after "b:" holds another ":"; put it in quotes / write b: "c: 2"
    F001 2:1 "c: d": line 2 is not indented, but the lines it belongs to are / indent it by 1 space, like "a" on line 1
    F001 2:3 "foo": line 2 is indented further than "prompt" on line 1, which has a value already / write "foo" right below "prompt", with 0 blanks before it in place of 2
    F001 2:3 "-id": a space is missing after the "-" on line 2 / write "- id"
    F001 1:4 "- b": a list cannot begin on the line of its key / start the list on the next line; put a text that begins with "-" in quotes
    F001 2:1 "b: c": line 2 is a key, but is in the column of the list that begins on line 1 / indent line 2 by two more spaces, like the keys of the entry above, or begin a new entry with "- "
    F001 3:3 "- d": line 3 is a list item, but is among the keys that begin on line 2 / give the list a key of its own, or indent it below its key
    F001 3:2 "y": line 3 is indented less than the text above it, but further than the next key / indent it like the first line of the text, or like a key
    F001 2:1 "hello you": the text of "a" must be indented further than "a" on line 1 / indent its lines by two spaces more
    F001 2:1 "Hello you": the text of "a" must be indented further than "a" / indent its lines by two spaces more
    F001 2:1 "     ": the empty line 2 is indented further than the text below it / remove the spaces of line 2
    "#);
}

#[test]
fn what_was_stepped_over_is_quoted_as_its_author_wrote_it() {
    insta::assert_snapshot!(told("a: {{ x }} y\nb: c: {{ z }} d\n"), @r#"
    F212 1:4 "{{ x }} y": a value that starts with {{ must be in quotes / write "{{ x }} y"
    F001 2:4 "c: {{ z }} d": the text after "b:" holds another ":"; put it in quotes / write b: "c: {{ z }} d"
    "#);
}

#[test]
fn a_bracket_that_a_comment_takes_with_it_is_said_to_stand_in_one() {
    let cases = ["a: { b: team #c }\nd: 1\n", "a: { b: 1 #c\nd: 1\n", "a: { b: \"x #c\"\nd: 1\n", "a: [x #{{ y }}, z]\nd: 1\n"];
    let is_told = cases.map(|text| told(text).contains("begins a comment, so the"));
    assert_eq!(is_told, [true, false, false, true], "{}", cases.map(told).join("\n"));
}

#[test]
fn brackets_and_first_characters_are_found() {
    let cases = [
        "needs: [a, b\nagent: x\n",
        "with: { a: 1\nb: 2\n",
        "a: [1, 2\n",
        "a: [1, 2}\n",
        "a: [1, 2]]\n",
        "a: [,]\n",
        "a: {b: \"c\" d}\n",
        "a: [- b]\n",
        "a: @home\n",
        "a: `code`\n",
        "a: *bold* text\n",
        "a: *gone\n",
        "a: & b\n",
        "a: [b] c\n",
        "a: | text\n",
        "a: x #y\n  z\n",
        "a: ? b\n",
    ];
    insta::assert_snapshot!(cases.map(told).join("\n"), @r##"
    F001 1:8 "[": "[" on line 1 is never closed; is a "]" missing before line 2? / write "]" after the last entry; put a text that begins with "[" in quotes
    F001 1:7 "{": "{" on line 1 is never closed; is a "}" missing before line 2? / write "}" after the last entry; put a text that begins with "{" in quotes
    F001 1:4 "[": "[" on line 1 is never closed / write "]" after the last entry; put a text that begins with "[" in quotes
    F001 1:4 "[": "[" on line 1 is closed with "}" / write "]" in place of "}"
    F001 1:10 "]": this "]" closes nothing / remove it, or put the text it belongs to in quotes
    F001 1:5 ",": an entry is missing here / write the entry, or remove the ","
    F001 1:12 "d}": "d}" is after the closing " on line 1 / put the whole text in one pair of quotes, or remove what follows them
    F001 1:5 "-": a "-" cannot begin an entry inside brackets / separate the entries with ","
    F001 1:4 "@home": a text that begins with "@" must be in quotes / write "@home"
    F001 1:4 "`code`": a text that begins with "`" must be in quotes / write "`code`"
    F001 1:4 "*bold* text": a text that begins with "*" must be in quotes / write "*bold* text"
    F001 1:4 "*gone": "*gone" repeats nothing above it; a text that begins with "*" must be in quotes / write "*gone"
    F001 1:4 "& b": a text that begins with "&" must be in quotes / write "& b"
    F001 1:4 "[b] c": a text that begins with "[" must be in quotes / write "[b] c"
    F001 1:4 "| text": a text after "|" must begin on the next line / move the text to the next line, indented, or write "| text"
    F001 1:6 "#": a comment ("#") on line 1 is in the middle of a text / move the remark above the text; put a text that holds " #" in quotes
    F001 1:4 "? b": a text that begins with "?" must be in quotes / write "? b"
        "##);
}

#[test]
fn quotes_of_word_processors_are_no_quotes() {
    for (written, mend) in [
        ("“Hello you”", "\"Hello you\""),
        ("„Hallo“", "\"Hallo\""),
        ("„Sag \"Hallo\"“", "'Sag \"Hallo\"'"),
        ("‘It’s late’", "\"It’s late\""),
        ("‚so‘", "\"so\""),
        ("«Bonjour»", "\"Bonjour\""),
        ("“half\"", "\"half\""),
    ] {
        let read = read(&format!("k: {written}\n"));
        let [found] = read.found.as_slice() else { panic!("{written}: {:?}", read.found) };
        assert_eq!(found.code, Code::YamlTrap, "{written}");
        let fix = found.candidate.as_ref().unwrap();
        assert!(!fix.safe && fix.edits[0].1 == mend, "{written}: {fix:?}");
    }
    for fine in ["“Good” and “better”", "“Good” is what we say", "'“Hello”'", "\"„Hallo“\"", "it’s", "5’", "’tis the season"]
    {
        clean(&format!("k: {fine}\n"));
    }
}

#[test]
fn a_template_where_a_key_belongs_is_told_once_and_the_rest_is_read() {
    for (text, place, message) in [
        ("a:\n  - k: 1\n    {{ x }}\n    b: 2\n", (3, 5), "this line begins with {{, but a key belongs here: name: value"),
        ("k: 1\n{{ x }}\nb: 2\n", (2, 1), "this line begins with {{, but a key belongs here: name: value"),
        ("a:\n  {{ x }}\n  - k: 1\n    b: 2\n", (2, 3), "this line begins with {{, but a key belongs here: name: value"),
        ("a: { k: 1 }\n{% if x %}\nb: 2\n", (2, 1), "this line begins with {%, but a key belongs here: name: value"),
        ("k: 1\n{{ x }}: 3\nb: 2\n", (2, 1), "a key cannot be a template; keys are fixed before the run"),
    ] {
        let read = read(text);
        let [found] = read.found.as_slice() else { panic!("{text}: {:?}", read.found) };
        assert_eq!((found.code, found.message.as_str()), (Code::YamlSyntax, message));
        let at = read.sources.start(found.span);
        assert_eq!((at.line, at.column), place, "{text}");
        assert!(format!("{:?}", read.root).contains("\"b\""), "what stands below is read: {text}");
    }
    clean("k: some text\n  {{ x }}\nb: 2\n");
}

#[test]
fn what_people_do_to_lines_is_told_as_what_it_is() {
    for (text, start) in [
        ("s:\n  - id: a\n    k: 1\n  – id: b\n", "F001 4:3 \"–\": line 4 begins with –, which is not a \"-\""),
        (
            "a:\n  k: |\n    one\n    two\n  three: {{ x }}\n    four: 1\nb: 1\n",
            "F001 5:3 \"three: {{ x }}\": line 5 is indented less than the text of \"k\"",
        ),
        (
            "a:\n   b:\n    k: |\n      one\n  c:\n    k: 1\n",
            "F001 5:3 \"c:\": line 5 is indented less than the text above it, and fits no key above it",
        ),
        ("a:\n  k: |\n    one\n    two\n  three\n    four\n", "F001 5:3 \"three\": line 5 is indented less than the text above it"),
        ("k:\n  {{ a }}\n  {{ b }}\n\n  Hello: {{ c }}\nb: 1\n", "F001 2:3 \"{{ a }}\": a text of several lines begins here; \"k:\" needs"),
        ("a: 'I can't help.\n", "F001 1:4 \"'I can't help.\": the text in '…' on line 1 ends at its first apostrophe"),
        (
            "a:\n  - { b: \"c \\\\\", d: 1 }\n  - { b: \"e, d: 1 }\n  - { b: \"f\", d: 1 }\n",
            "F001 3:10 \"\\\"e, d: 1 }\": the text that begins with \" on line 3 has no closing \"",
        ),
        ("a: \"Hello”\nb: 1\n", "F001 1:4 \"\\\"Hello”\": the text that begins with \" on line 1 ends with ”, which closes nothing"),
        ("a: 1\n  - b: 2\n", "F001 2:5 \"b\": line 2 is indented further than \"a\" on line 1, which has a value already"),
    ] {
        let lines = told(text);
        assert!(lines.starts_with(start) && lines.lines().count() == 1, "{text}{lines}");
    }
    assert!(
        told("a:\n   b:\n    k: |\n      one\n  c:\n    k: 1\n")
            .contains("indent it by 3 spaces, like \"b\" on line 2, or as far as the text")
    );
    assert!(told("a: 1\n  - b: 2\n").contains("write the key of this list on a line above it"));
}

#[test]
fn a_template_without_quotes_in_brackets_is_one_text() {
    let told = told("steps:\n  - { id: a, set: {% if inputs.tags is string %}x{% endif %} }\n");
    assert!(told.contains("write \"{% if inputs.tags is string %}x{% endif %}\""), "{told}");
}
