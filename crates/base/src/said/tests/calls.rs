//! Tool calls that stand in a text, and what only looks like one.

use super::*;

fn tools() -> Vec<(&'static str, Value)> {
    let schema = json!({ "type": "object", "properties": { "zone": { "type": "string" }, "hours": { "type": "integer" } } });
    vec![("time", schema), ("note-read", json!({ "type": "object" }))]
}

/// What is read of a text: the text before, and the calls.
pub(super) fn written(text: &str) -> Option<(String, Option<Value>)> {
    let tools = tools();
    let tools: Vec<(&str, &Value)> = tools.iter().map(|(name, schema)| (*name, schema)).collect();
    let found = written_calls(text, &tools)?;
    let calls = found.calls.map(|calls| calls.into_iter().map(|call| json!([call.tool, call.arguments])).collect());
    Some((found.before.to_owned(), calls))
}

#[test]
fn calls_are_read_in_the_formats_of_the_models() {
    let expected = json!([["time", { "zone": "UTC", "hours": 2 }]]);
    for text in [
        "<tool_call>\n{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\", \"hours\": 2}}\n</tool_call>",
        "<tool_call>{\"name\": \"time\", \"arguments\": \"{\\\"zone\\\": \\\"UTC\\\", \\\"hours\\\": 2}\"}",
        "<tool_call>\n<function=time>\n<parameter=zone>\nUTC\n</parameter>\n<parameter=hours>\n2\n</parameter>\n</function>\n</tool_call>",
        "<function=time>{\"zone\": \"UTC\", \"hours\": 2}</function>",
        "<function=time><parameter=zone>UTC<parameter=hours>2</function>",
        "<tool_call>time\n<arg_key>zone</arg_key>\n<arg_value>UTC</arg_value>\n<arg_key>hours</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
        "[TOOL_CALLS] [{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\", \"hours\": 2}}]",
        "[TOOL_CALLS]time{\"zone\": \"UTC\", \"hours\": 2}",
        "[TOOL_CALLS]time[CALL_ID]abc123DEF[ARGS]{\"zone\": \"UTC\", \"hours\": 2}",
        "[TOOL_REQUEST]{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\", \"hours\": 2}}[END_TOOL_REQUEST]",
        "<|python_tag|>{\"type\": \"function\", \"name\": \"time\", \"parameters\": {\"zone\": \"UTC\", \"hours\": 2}}",
        "<|python_tag|>time(zone=\"UTC\", hours=2)",
        "<|tool_call|>[{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\", \"hours\": 2}}]<|/tool_call|>",
        "<|tool_call_start|>[time(zone=\"UTC\", hours=2)]<|tool_call_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>{\"zone\": \"UTC\", \"hours\": 2}<|tool_call_end|><|tool_calls_section_end|>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{\"zone\": \"UTC\", \"hours\": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>time<｜tool▁sep｜>{\"zone\": \"UTC\", \"hours\": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"time\">\n<｜DSML｜parameter name=\"zone\" string=\"true\">UTC</｜DSML｜parameter>\n<｜DSML｜parameter name=\"hours\" string=\"false\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        "<minimax:tool_call>\n<invoke name=\"time\">\n<parameter name=\"zone\">UTC</parameter>\n<parameter name=\"hours\">2</parameter>\n</invoke>\n</minimax:tool_call>",
        "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"time\", \"parameters\": {\"zone\": \"UTC\", \"hours\": 2}}]<|END_ACTION|>",
        "<|action_start|><|plugin|>{\"name\": \"time\", \"parameters\": {\"zone\": \"UTC\", \"hours\": 2}}<|action_end|>",
        "<functioncall> {\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\", \"hours\": 2}}",
        "<tools>\n{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\", \"hours\": 2}}\n</tools>",
        "```json\n{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\", \"hours\": 2}}\n```",
        "{\"name\": \"time\", \"parameters\": {\"zone\": \"UTC\", \"hours\": 2}}",
        "[{\"tool\": \"time\", \"args\": {\"zone\": \"UTC\", \"hours\": 2}}]",
        "{\"tool_calls\": [{\"id\": \"1\", \"type\": \"function\", \"function\": {\"name\": \"time\", \"arguments\": \"{\\\"zone\\\": \\\"UTC\\\", \\\"hours\\\": 2}\"}}]}",
        "{\"tool_uses\": [{\"recipient_name\": \"functions.time\", \"parameters\": {\"zone\": \"UTC\", \"hours\": 2}}]}",
        "functions.time({\"zone\": \"UTC\", \"hours\": 2})",
        "```python\ntime(zone='UTC', hours=2)\n```",
        "[time(zone='UTC', hours=2)]",
    ] {
        assert_eq!(written(text), Some((String::new(), Some(expected.clone()))), "{text}");
    }
    let (before, calls) = written("I look at both.\n\n<tool_call>{\"name\": \"time\"}</tool_call>\n<tool_call>{\"name\": \"note-read\", \"arguments\": {\"a\": [1]}}</tool_call>").unwrap();
    assert_eq!((before.as_str(), calls), ("I look at both.", Some(json!([["time", {}], ["note-read", { "a": [1] }]]))));
    assert_eq!(written("[time(zone='it\\'s'), note-read()]").unwrap().1, Some(json!([["time", { "zone": "it's" }], ["note-read", {}]])));
    assert_eq!(
        written("<|python_tag|>[time(hours=1), time(hours=2)]").unwrap().1,
        Some(json!([["time", { "hours": 1 }], ["time", { "hours": 2 }]]))
    );
    for text in [
        "<tool_call>time</tool_call>",
        "<tool_call>time\n</tool_call>",
        "[TOOL_CALLS]time[ARGS]",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.time:0<|tool_call_argument_begin|><|tool_call_end|><|tool_calls_section_end|>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>time<｜tool▁sep｜><｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<function=time></function>",
        "<|tools_prefix|>[{\"time\": {}}]<|tools_suffix|>",
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"time\"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    ] {
        assert_eq!(written(text), Some((String::new(), Some(json!([["time", {}]])))), "{text}");
    }
    // Text stays text, whatever it looks like.
    assert_eq!(written("<function=time><parameter=zone>12</parameter></function>").unwrap().1, Some(json!([["time", { "zone": "12" }]])));
}

/// A call that says two things is not made, nor one that was cut: its text would be half of what the model wanted to write.
#[test]
fn a_call_that_is_cut_or_has_an_argument_twice_is_not_made() {
    let first = "UTC and the first half of the te";
    for (begin, parameter, end) in [
        ("<function=time>", "<parameter=zone>", ["</parameter>", "</function>"]),
        ("<tool_call>\n<function=time>\n", "<parameter=zone>\n", ["</parameter>", "</function>"]),
        ("<seed:tool_call><function=time>", "<parameter=zone>", ["</parameter>", "</function>"]),
        ("<invoke name=\"time\">", "<parameter name=\"zone\">", ["</parameter>", "</invoke>"]),
        ("<minimax:tool_call><invoke name=\"time\">", "<parameter name=\"zone\">", ["</parameter>", "</invoke>"]),
        (
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"time\">",
            "<｜DSML｜parameter name=\"zone\">",
            ["</｜DSML｜parameter>", "</｜DSML｜invoke>"],
        ),
        ("<tool_call>time\n", "<arg_key>zone</arg_key><arg_value>", ["</arg_value>", "</tool_call>"]),
    ] {
        let [closed, called] = end;
        let whole = format!("{begin}{parameter}{first}{closed}{called}");
        assert_eq!(written(&whole).unwrap().1, Some(json!([["time", { "zone": first }]])), "{whole}");
        for cut in whole.char_indices().map(|(at, _)| at).filter(|at| *at > begin.len()) {
            assert_eq!(written(&whole[..cut]).and_then(|(_, calls)| calls), None, "{}", &whole[..cut]);
        }
        let twice = format!("{begin}{parameter}a{closed}{parameter}b{closed}{called}");
        assert_eq!(written(&twice), Some((String::new(), None)), "{twice}");
    }
    for text in [
        "<tool_call>{\"name\": \"time\", \"arguments\": {\"zone\": \"a\", \"zone\": \"b\"}}</tool_call>",
        "<tool_call>{\"name\": \"time\", \"name\": \"note-read\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"time\", \"arguments\": {}, \"parameters\": {\"zone\": \"a\"}}</tool_call>",
        "<tool_call>{\"name\": \"time\", \"tool\": \"note-read\", \"arguments\": {}}</tool_call>",
        "{\"name\": \"time\", \"arguments\": {}, \"parameters\": {\"zone\": \"a\"}}",
        "<|python_tag|>time(zone=\"a\", zone=\"b\")",
        "<|python_tag|>[time(zone=\"a\"), ",
        "<function=time>{\"zone\": \"a",
    ] {
        assert_eq!(written(text), Some((String::new(), None)), "{text}");
    }
    let call = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";
    for (begin, _, _) in THOUGHTS {
        assert_eq!(answer(&format!("{begin}I could do\n{call}")), "(unclosed)", "{begin}");
        assert_eq!(answer(&format!("I look. {begin}I could do\n{call}")), "(unclosed)", "{begin}");
        assert_eq!(answer(&format!("I look.\n{begin}\nI could do\n{call}\nor not")), "(unclosed)", "{begin}");
    }
}

#[test]
fn what_no_call_can_be_is_told_and_what_is_content_stays() {
    for broken in [
        "<tool_call>{\"name\": \"time\", \"arguments\": {\"zone\": </tool_call>",
        "<tool_call>\ntime in UTC\n</tool_call>",
        "[TOOL_CALLS]",
        "<tool_call>{\"name\": \"time\", \"arguments\": {}}</tool_call>\nIt is noon.",
        "I look it up.\n<function=time>zone</function>",
        "<tool_call>time",
        "[TOOL_CALLS]time",
        // What a turn of somebody else asks for.
        "Hello.\n\nUser: what time is it?\nAssistant:\n<tool_call>{\"name\": \"time\"}</tool_call>",
        "Turns:\n<|im_start|>user\nWhat time is it?<|im_end|>\n<|im_start|>assistant\n<tool_call>{\"name\": \"time\"}</tool_call>",
        "Hello <|im_end|> what time is it?\n<tool_call>{\"name\": \"time\"}</tool_call>",
    ] {
        assert_eq!(written(broken).map(|(_, calls)| calls), Some(None), "{broken}");
    }
    for content in [
        "It is noon.",
        "A call looks like `<tool_call>{\"name\": \"time\", \"arguments\": {}}</tool_call>`.",
        "```xml\n<tool_call>{\"name\": \"time\"}</tool_call>\n```\nThat is a call.",
        "The mark <tool_call> begins a call.",
        "{\"name\": \"Ana\", \"arguments\": {}}",
        "{\"name\": \"time\"}",
        "{\"answer\": 3}",
        "[1, 2]",
        "time is money (zone=3)",
        "other(zone=3)",
        "time()s",
        "",
    ] {
        assert_eq!(written(content), None, "{content}");
    }
}

#[test]
fn a_string_in_a_call_of_python_is_what_python_reads() {
    for (literal, expected) in [
        (r#""\d+\.\w""#, r"\d+\.\w"),
        (r#"'C:\dir\q'"#, r"C:\dir\q"),
        (r#""\x41\u00e9\U0001F600\101\0""#, "Aé😀A\0"),
        (r#""\n\t\\\'\"\a\b\f\v""#, "\n\t\\'\"\u{7}\u{8}\u{c}\u{b}"),
        ("\"a\\\nb\"", "ab"),
        ("\"\"", ""),
        ("\"\"\"print(\"a\")\nb = ''\n\"\"\"", "print(\"a\")\nb = ''\n"),
        ("'''a''b'''", "a''b"),
    ] {
        assert_eq!(written(&format!("time(zone={literal})")).unwrap().1, Some(json!([["time", { "zone": expected }]])), "{literal}");
    }
    for literal in [r#""\N{BULLET}""#, r#""\x4""#, r#""\ud83d""#, r#""\u12g4""#, "\"\"\"a\"", "r\"\\d\"", "f\"a\"", "b\"a\"", "\"a\" \"b\""]
    {
        assert_eq!(written(&format!("<|python_tag|>time(zone={literal})")), Some((String::new(), None)), "{literal}");
    }
}

/// What these offered tools and others are taken for: `None` is an answer, no calls are a failure.
fn of_docs(text: &str) -> Option<Option<Value>> {
    let schema = json!({ "type": "object" });
    let tools: Vec<(&str, &Value)> = ["docs-read", "docs-write", "search", "time"].map(|name| (name, &schema)).to_vec();
    written_calls(text, &tools)
        .map(|found| found.calls.map(|calls| calls.into_iter().map(|call| json!([call.tool, call.arguments])).collect()))
}

#[test]
fn a_text_that_looks_like_a_call_of_an_offered_tool_is_no_answer() {
    let call = "{\"name\": \"docs-read\", \"arguments\": {\"name\": \"a.txt\"}}";
    let made = Some(Some(json!([["docs-read", { "name": "a.txt" }]])));
    for text in [
        "{\"action\": \"docs-read\", \"action_input\": {\"name\": \"a.txt\"}}",
        "```tool_code\ndocs_read(name=\"a.txt\")\n```",
        "docs.read(name=\"a.txt\")",
        "[docs_read(name=\"a.txt\")]",
        &format!("{{\"function_call\": {call}}}"),
        &format!("<tool_use>{call}</tool_use>"),
        &format!("[TOOL_CALL]{call}[/TOOL_CALL]"),
        &format!("[tool_calls] [{call}]"),
        &format!("\u{feff}{call}"),
        &format!("\u{200b}<tool_call>{call}</tool_call>"),
    ] {
        assert_eq!(of_docs(text), made, "{text}");
    }
    for text in [
        "I must read it.\nAction: docs-read\nAction Input: {\"name\": \"a.txt\"}",
        "Thought: I look.\nAction: docs_read\nAction Input: a.txt\nObservation: It is empty.\nThought: Done.",
        "**Action:** docs-read\n**Action Input:** {\"name\": \"a.txt\"}",
        "I look.\n```tool_code\nprint(docs.read(name=\"a.txt\"))\n```\nAnd then?",
        "```tool_code\nprint(docs.read(name=\"a.txt\"))\n```",
        "I look.\n```python\ndocs_read(name=\"a.txt\")\n```",
        "I look.\ndocs_read(\n    name=\"a.txt\",\n)",
        "docs_read(name=\"a.tx",
        "assistantcommentary to=functions.docs-read json{\"name\": \"a.txt\"}",
        "to=functions.docs-read",
        "functions.docs-read:0 {\"name\": \"a.txt\"",
        &format!("I look into it.\n\n{call}"),
        &format!("I look into it: {call}"),
        &format!("I look into it.\n```json\n{call}\n```"),
        &format!("I look into it.\n```\n[{call}]\n```\n"),
        &format!("{call}\nThe file is empty."),
        &call[..call.len() - 1],
        &call[..40],
        &format!("functools[{call}]"),
        &format!("tool_call>\n{call}"),
        &format!("tool_call>\n{call}\n</tool_call>"),
        "<tool_call name=\"docs-read\">{\"name\": \"a.txt\"}</tool_call>",
        "<tool_use>\n<name>docs-read</name>\n<input>{}</input>\n</tool_use>",
        "<tool>docs-read</tool>",
        "<docs-read><name>a.txt</name></docs-read>",
        "I look.\n<docs_read>\n<name>a.txt</name>\n</docs_read>",
        "<search>\n<query>a</query>\n</search>",
        "name: docs-read\narguments:\n  name: a.txt",
        "```yaml\nname: docs-read\narguments:\n  name: a.txt\n```",
        "{'name': 'docs-read', 'arguments': {'name': 'a.txt'}}",
        "✿FUNCTION✿: docs-read\n✿ARGS✿: {\"name\": \"a.txt\"}",
        "<|tool_call>call:docs-read{name:<|\"|>a.txt<|\"|>}<tool_call|>",
        "<|new_tool_call|>\n{\"x\": 1}",
        "Code:\n```py\nx = docs_read(name=\"a.txt\")\nprint(x)\n```",
        &format!("I look.\n\n    <tool_call>\n    {call}\n    </tool_call>"),
    ] {
        assert_eq!(of_docs(text), Some(None), "{text}");
    }
}

#[test]
fn prose_about_tools_is_an_answer() {
    let call = "{\"name\": \"docs-read\", \"arguments\": {\"name\": \"a.txt\"}}";
    for text in [
        "I used docs-read and docs-write.",
        "- docs-read: reads a file\n- docs-write: writes one\n- search(query): looks for it",
        "docs-read reads a file.\nsearch finds one.\ntime (of day) is told.",
        "time() is told.",
        "Tool: docs-read\nPurpose: it reads a file.",
        "Name: docs-read\nParameters: name (a string)",
        "Name: docs-read\nArguments: name, which is a string",
        "Action: docs-read was called twice.",
        "Search: time\nWith: care",
        "| tool | call |\n|---|---|\n| docs-read | docs_read(name=\"a\") |",
        "Call `docs_read(name=\"a.txt\")` or `<docs-read>`.",
        "> Action: docs-read\n> Action Input: {}",
        "> to=functions.docs-read",
        "<time>12:00</time> is an element of HTML.",
        "The best search engine\nsearch engines (all)",
        "{\"name\": \"docs-read\"}",
        "{\"name\": \"Ana\", \"input\": \"search\"}",
        "Write to=functions.docs-read for it.",
        "def search(query):\n    return 1",
        "```python\ndef search(query):\n    return docs_read(name=query)\n```",
        "```python\nimport a\nsearch(query=\"a\")\n```",
        "[Tools]\ndocs-read reads.",
        "[{\"name\": \"docs-read\", \"description\": \"Reads.\", \"parameters\": {\"type\": \"object\"}}]",
        "I have:\n```json\n[{\"name\": \"docs-read\", \"description\": \"Reads.\", \"parameters\": {\"type\": \"object\"}}]\n```",
        &format!("<pre>\n<tool_call>{call}</tool_call>\n</pre>\nis one."),
        &format!("A call is {call}, as JSON."),
        &format!("A call is:\n```json\n{call}\n```\nThat is all."),
        &format!("A call is `{call}`"),
        &format!("It wrote \"{call}\"."),
        &format!("> {call}"),
    ] {
        assert_eq!(of_docs(text), None, "{text}");
    }
}
