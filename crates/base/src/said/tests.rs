//! What is the answer in a text of a model, and what is spoken of in it.

use serde_json::{Value, json};

use super::*;

fn answer(text: &str) -> String {
    answer_text(text).map_or_else(|_| "(unclosed)".to_owned(), |answer| answer.text)
}

#[test]
fn thoughts_and_control_marks_are_no_part_of_an_answer() {
    for (begin, end) in THOUGHTS {
        for text in [
            format!("{begin}\nI must not mention it.\n{end}\n\nHello Ana!"),
            format!("\n {begin}I must not mention it.{end}Hello Ana!"),
            format!("{begin}\n\n{end}\n\nHello Ana!"),
            format!("{begin}One.{end}\n{begin}Two.{end}\nHello Ana!"),
            format!("{}One.{}Hello Ana!", begin.to_uppercase(), end.to_lowercase()),
            format!("I must not mention it.\n{end}\n\nHello Ana!"),
            format!("I must not mention it.\n{end}Hello Ana!"),
            format!("I must not\nmention it.{end}\n\nHello Ana!"),
            format!("I must not mention it.{end}Hello Ana!"),
            format!("`{end}` ends it.\nI must not mention it.\n{end}\nHello Ana!"),
            format!("{end}\n\nHello Ana!"),
            format!("<|im_start|>assistant\n{begin}I must not.{end}Hello Ana!<|im_end|>"),
        ] {
            let read = answer_text(&text).unwrap();
            assert_eq!((read.text.as_str(), read.notes.as_slice()), ("Hello Ana!", [THOUGHTS_NOTE].as_slice()), "{text}");
        }
        for text in [format!("{begin}\nI must not mention it, and so on"), begin.to_owned()] {
            assert_eq!(answer_text(&text), Err(UnclosedThoughtsError), "{text}");
        }
        assert_eq!(answer(&format!("{begin}Only thoughts.{end}")), "");
    }
    for end in ENDS {
        assert_eq!(answer(&format!("Hello Ana!{end}")), "Hello Ana!", "{end}");
        assert_eq!(answer(&format!("Hello Ana!\n{end}\n")), "Hello Ana!", "{end}");
    }
    for start in STARTS {
        assert_eq!(answer(&format!("{start}\n\nHello Ana!")), "Hello Ana!", "{start}");
    }
    for text in [
        "Hello Ana!<|im_end|>\n<|im_start|>user\nAnd Bo?<|im_end|>\n<|im_start|>assistant\nHello Bo!",
        "Hello Ana!<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd Bo?",
        "Hello Ana!<|eot_id|><|eot_id|>",
    ] {
        assert_eq!(answer(text), "Hello Ana!", "{text}");
    }
}

#[test]
fn an_answer_that_speaks_of_marks_stays_as_it_is() {
    for text in [
        "Write <think> and </think> around your thoughts.",
        "`<think>` begins it, `</think>` ends it.",
        "A reply ends its thoughts with </think> and then goes on.",
        "The end mark is \"</think>\".",
        "Thoughts end with </think>.",
        "Use this:\n```xml\n<think>\nhm\n</think>\n```\nThen answer.",
        "```\nthoughts\n</think>\nanswer\n```",
        "Hello Ana! <think>Not at the beginning.</think> So it stays.",
        "The mark of the end is <|im_end|>",
        "The marks: <|eot_id|>",
        "It ends with `<|im_end|>`",
        "```\nHello<|im_end|>\n```",
        "Qwen writes `<|im_end|>\n<|im_start|>` between turns.",
        "Old <s>price</s>",
        "<s>Old price</s> 3 euros",
        "{\"text\": \"a</think>b\"}",
        "  indented\n",
        "final answer: 3",
        "analysis of the data: it is fine",
        "An array[THINK] is no mark",
    ] {
        let read = answer_text(text).unwrap();
        assert_eq!((read.text.as_str(), read.notes.is_empty()), (text, true), "{text}");
    }
}

#[test]
fn harmony_has_one_channel_that_is_the_answer() {
    for (text, expected) in [
        ("<|channel|>analysis<|message|>I must not.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!", "Hello Ana!"),
        (
            "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!<|return|>",
            "Hello Ana!",
        ),
        ("analysis<|message|>I must not.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!", "Hello Ana!"),
        ("<|channel|>final <|constrain|>json<|message|>{\"a\": 1}<|return|>", "{\"a\": 1}"),
        ("<|channel|>commentary<|message|>I look it up.<|end|>", "I look it up."),
        ("analysisThe user wants a greeting.assistantfinalHello Ana!", "Hello Ana!"),
        ("<|channel|>analysis<|message|>I must not and so on", "(unclosed)"),
        ("<|channel|>analysis", "(unclosed)"),
    ] {
        assert_eq!(answer(text), expected, "{text}");
    }
    let called = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.time <|constrain|>json<|message|>{\"zone\":\"UTC\"}<|call|>";
    for text in [called, "commentary to=functions.time <|constrain|>json<|message|>{\"zone\":\"UTC\"}"] {
        assert_eq!(answer_text(text).unwrap().calls, [("time".to_owned(), "{\"zone\":\"UTC\"}".to_owned())]);
    }
}

#[test]
fn thoughts_and_marks_are_not_shown_while_an_answer_comes() {
    for whole in [
        "<think>\nI must not mention it.\n</think>\n\nHello Ana!<|im_end|>",
        "<|channel|>analysis<|message|>I must not.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!",
        "[THINK]I must not.[/THINK]Hello Ana!",
        "<tool_call>{\"name\": 1}</tool_call>",
    ] {
        let cuts = whole.char_indices().map(|(at, _)| at).chain([whole.len()]);
        for cut in cuts {
            let shown = so_far(&whole[..cut], false);
            assert!("Hello Ana!".starts_with(shown.trim()), "{:?}: {shown}", &whole[..cut]);
        }
    }
    assert_eq!(so_far("2 < 3 and [1]", false), "2 < 3 and [1]");
    assert_eq!((so_far("I must not", true), so_far("I must not.\n</think>\nHello", true)), (String::new(), "Hello".to_owned()));
}

fn tools() -> Vec<(&'static str, Value)> {
    let schema = json!({ "type": "object", "properties": { "zone": { "type": "string" }, "hours": { "type": "integer" } } });
    vec![("time", schema), ("note-read", json!({ "type": "object" }))]
}

/// What is read of a text: the text before, and the calls.
fn written(text: &str) -> Option<(String, Option<Value>)> {
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
    // Text stays text, whatever it looks like.
    assert_eq!(written("<function=time><parameter=zone>12</parameter></function>").unwrap().1, Some(json!([["time", { "zone": "12" }]])));
}

#[test]
fn what_no_call_can_be_is_told_and_what_is_content_stays() {
    for broken in [
        "<tool_call>{\"name\": \"time\", \"arguments\": {\"zone\": </tool_call>",
        "<tool_call>\ntime in UTC\n</tool_call>",
        "[TOOL_CALLS]",
        "<tool_call>{\"name\": \"time\", \"arguments\": {}}</tool_call>\nIt is noon.",
        "I look it up.\n<function=time>zone</function>",
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
fn hostile_texts_take_time_in_proportion() {
    let many = |text: &str| text.repeat(40_000 / text.len());
    for text in [
        "a </think> b ",
        "</think>",
        "a</think>\n",
        "<think>",
        "</s>",
        "Hi<|im_end|>",
        "`",
        "```\n",
        "<|channel|>analysis<|message|>",
        "[",
        "{",
        "<",
    ] {
        let _ = (answer_text(&many(text)), answer_text(&format!("Hello {}", many(text))), so_far(&many(text), false));
    }
    for text in [
        "function ",
        "function[",
        "<parameter=a>",
        "<arg_key>a</arg_key><arg_value>",
        "[time(",
        "time(a=[",
        "{\"a\":",
        "<function=time>",
        ";",
    ] {
        for start in ["", "<tool_call>", "<function=time>", "<tool_call>time", "[TOOL_CALLS]["] {
            let _ = written(&format!("{start}{}", many(text)));
        }
    }
}
