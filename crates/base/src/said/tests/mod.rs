//! What is the answer in a text of a model, and what is spoken of in it.

use serde_json::{Value, json};

use super::thoughts::THOUGHTS;
use super::*;

mod calls;

fn answer(text: &str) -> String {
    answer_text(text, ThoughtsPlace::InText).map_or_else(|_| "(unclosed)".to_owned(), |answer| answer.text)
}

#[test]
fn thoughts_and_control_marks_are_no_part_of_an_answer() {
    for (begin, end, is_left_out) in THOUGHTS {
        let marked = [
            format!("{begin}\nI must not mention it.\n{end}\n\nHello Ana!"),
            format!("\n {begin}I must not mention it.{end}Hello Ana!"),
            format!("\u{feff}\u{200b}{begin}I must not mention it.{end}Hello Ana!"),
            format!("{begin}One.{end}\n{begin}Two.{end}\nHello Ana!"),
            format!("{begin}One.{end}\n{end}\nHello Ana!"),
            format!("{}One.{}Hello Ana!", begin.to_uppercase(), end.to_lowercase()),
            format!("<|im_start|>assistant\n{begin}I must not.{end}Hello Ana!<|im_end|>"),
            format!("{begin}It ends with \"{end}\" or `{end}`.{end}Hello Ana!"),
            format!("{begin}One.{end}{begin}Two.{end}").repeat(20) + "Hello Ana!",
            format!("{begin}One.{end}\n{begin}Two.{end}\nHello Ana!\n{begin}Three.{end}"),
            format!("Hello Ana!\n{begin}\nThree.\n{end}\n"),
            format!("Hello Ana!\n\n{begin}Three.{end}<|im_end|>"),
        ];
        let unmarked = [
            format!("I must not mention it.\n{end}\n\nHello Ana!"),
            format!("I must not mention it.\n{end}Hello Ana!"),
            format!("I must not\nmention it.{end}\n\nHello Ana!"),
            format!("I must not mention it.{end}Hello Ana!"),
            format!("`{end}` ends it.\nI must not mention it.\n{end}\nHello Ana!"),
            format!("I must not, so {end} Hello Ana!"),
            format!("I must not, so{end} Hello Ana!"),
            format!("I must not, so {end}\n\nHello Ana!"),
            format!("It is\n```python\nx = 1\n{end}\nHello Ana!"),
        ];
        for text in marked.iter().chain(unmarked.iter().filter(|_| is_left_out)) {
            let read = answer_text(text, ThoughtsPlace::InText).unwrap();
            assert_eq!((read.text.as_str(), read.notes.as_slice()), ("Hello Ana!", [THOUGHTS_NOTE].as_slice()), "{text}");
        }
        for text in unmarked.iter().filter(|text| !is_left_out && !text.contains('`')) {
            assert_eq!(answer(text), *text);
        }
        for text in [format!("{begin}\n\n{end}\n\nHello Ana!"), format!("{end}\n\nHello Ana!")] {
            let read = answer_text(&text, ThoughtsPlace::InText).unwrap();
            assert_eq!((read.text.as_str(), read.notes.as_slice()), ("Hello Ana!", [MARKS_NOTE].as_slice()), "{text}");
        }
        for text in
            [format!("{begin}\nI must not mention it, and so on"), begin.to_owned(), format!("{begin}One.{end}Hello Ana!\n{begin}\nTwo")]
        {
            assert_eq!(answer_text(&text, ThoughtsPlace::InText), Err(ThoughtsError::Unclosed), "{text}");
        }
        assert_eq!(answer(&format!("{begin}Only thoughts.{end}")), "");
        assert_eq!(answer(&format!("{begin}One.{end}\nHello.\n{begin}Two.{end}\nBye.")), "Hello.\n\nBye.");
    }
}

#[test]
fn thoughts_have_other_spellings_and_places() {
    assert_eq!(answer("<|im_start|>Hello Ana!<|im_end|>"), "Hello Ana!");
    let call = "<tool_call>{\"name\": \"time\"}</tool_call>";
    assert_eq!(answer(&format!("{call}\n<think>\nI must not")), call);
    assert_eq!(answer(&format!("I look.\n<think>\nI must not.</think>\n{call}")), format!("I look.\n\n{call}"));
    assert_eq!(answer("Here is my thought process: I must not. Here is my response: Hello Ana!"), "Hello Ana!");
    assert_eq!(answer("<think>I must not.</think><answer>Hello Ana!</answer>"), "Hello Ana!");
    for text in [
        "<think type=\"deep\">I must not.</think>Hello Ana!",
        "<think\n>I must not.</think>Hello Ana!",
        "<think>I must not.</thinking>\nHello Ana!",
        "<thinking>I must not.</ think >\nHello Ana!",
        "<reasoning effort=low>I must not.</reasoning>\nHello Ana!",
    ] {
        assert_eq!(answer(text), "Hello Ana!", "{text}");
    }
}

/// What may be thought is neither shown nor cut away.
#[test]
fn an_answer_is_refused_where_thoughts_cannot_be_told_from_it() {
    for text in [
        "<think>One.<think>Two.</think>Three.</think>Hello Ana!",
        "<think>The tag </think> ends it.</think>Hello Ana!",
        "<think>The tag </think> ends it.\n</think>\nHello Ana!",
        "<think>One.</think>\nThe end tag is\n</think>\nand more.",
        "One.\n</think>\nTwo.\n</think>\nHello Ana!",
        "<think>One.</think>Hello Ana!</think>",
    ] {
        assert_eq!(answer_text(text, ThoughtsPlace::InText), Err(ThoughtsError::EndTwice), "{text}");
    }
    let among = "Hello Ana!\n<think>\nI must not.\n</think>\nAnd so on.";
    assert_eq!(answer_text(among, ThoughtsPlace::InText), Err(ThoughtsError::Among));
    for text in ["<think> is a tag, and </think> ends it.", "<think> ok so she wants a greeting </think> hello Ana"] {
        assert_eq!(answer_text(text, ThoughtsPlace::InText), Err(ThoughtsError::Spoken), "{text}");
    }
    // Where thoughts came apart, a mark of them is content.
    for text in ["The end tag is\n</think>\nand more.", "One.</think>Two.", "Use it.\n</think>\nThen\n</think>\nagain."] {
        assert_eq!(answer_text(text, ThoughtsPlace::Apart).unwrap().text, text);
    }
    assert_eq!(answer_text("<think>One.</think>Hello Ana!", ThoughtsPlace::Apart).unwrap().text, "Hello Ana!");
}

const STARTS: [&str; 16] = [
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|header_start|>assistant<|header_end|>",
    "<|start_of_role|>assistant<|end_of_role|>",
    "<|im_assistant|>assistant<|im_middle|>",
    "<start_of_turn>model",
    "<|turn>model",
    "<|assistant|>",
    "<|START_RESPONSE|>",
    "<|begin_of_solution|>",
    "<|begin_of_text|><|start_header_id|>assistant<|end_header_id|>",
    "<｜Assistant｜>",
    "<bos>",
    "<s>",
    "[/INST]",
    "<|im_sep|>",
];
const ENDS: [&str; 33] = [
    "<eot>",
    "<eod>",
    "<unk>",
    "[PAD]",
    "<end_of_text>",
    "<end_code>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end_of_solution|>",
    "<|end_of_role|>",
    "<|end_of_turn|>",
    "<|END_RESPONSE|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end|>",
    "<|return|>",
    "<|user|>",
    "<|observation|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<turn|>",
    "[EOS]",
    "<eos>",
    "</s>",
    "[/INST]",
    "[|endofturn|]",
    "<|endofturn|>",
    "<pad>",
    "<|role_end|>",
    "<end_of_utterance>",
];

#[test]
fn marks_of_the_wire_are_taken_from_both_ends_and_a_next_turn_with_them() {
    for end in ENDS {
        for text in [format!("Hello Ana!{end}"), format!("Hello Ana!\n{end}\n"), format!("Hello Ana!{}", end.repeat(40))] {
            let read = answer_text(&text, ThoughtsPlace::InText).unwrap();
            assert_eq!((read.text.as_str(), read.notes.as_slice()), ("Hello Ana!", [MARKS_NOTE].as_slice()), "{text}");
        }
        assert_eq!(answer(end), "", "{end}");
    }
    for start in STARTS {
        assert_eq!(answer(&format!("{start}\n\nHello Ana!")), "Hello Ana!", "{start}");
        assert_eq!(answer(&format!("\u{feff}{start}Hello Ana!")), "Hello Ana!", "{start}");
    }
    for text in NEXT_TURNS {
        assert_eq!(answer(text), "Hello Ana!", "{text}");
    }
    assert_eq!(answer("<|begin_of_box|>Hello Ana!<|end_of_box|>"), "Hello Ana!");
    assert_eq!(answer("It is <|begin_of_box|>7<|end_of_box|>."), "It is <|begin_of_box|>7<|end_of_box|>.");
    assert_eq!(answer("It is:<|begin_of_box|>7<|end_of_box|>."), "It is:7.");
}

const NEXT_TURNS: [&str; 20] = [
    "Hello Ana!<|im_end|> And Bo?",
    "Hello Ana!<|endoftext|>Human: And Bo?",
    "Hello Ana!<|eot_id|>user\nAnd Bo?",
    "Hello Ana!<|eot_id|> and Bo?",
    "Hello Ana!<|eot_id|>And Bo?<|eot_id|>",
    "Hello Ana!<|im_end|>\n<|im_start|>user\nAnd Bo?<|im_end|>\n<|im_start|>assistant\nHello Bo!",
    "Hello Ana!<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd Bo?",
    "Hello Ana!<|eot_id|><|eot_id|>",
    "Hello Ana!\n<|im_start|>user\nAnd Bo?",
    "Hello Ana!<|im_end|>user\nAnd Bo?",
    "Hello Ana!<|im_end|>\nAnd Bo?",
    "Hello Ana!<|im_end|>assistant\nAnd Bo?",
    "Hello Ana!<|end|><|user|>And Bo?",
    "Hello Ana!<｜User｜>And Bo?",
    "Hello Ana!</s>[INST] And Bo?",
    "Hello Ana! </s> [INST] And Bo?",
    "Hello Ana!<end_of_turn>\n<start_of_turn>user\nAnd Bo?",
    "Hello Ana!<|end|><|start|>user<|message|>And Bo?",
    "Hello Ana!<|im_end|><|im_start|>assistant\nAnd Bo?",
    "Hello Ana!\n\n<|header_start|>user<|header_end|>\n\nAnd Bo?",
];

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
        "\u{feff}Hello",
        "final answer: 3",
        "analysis of the data: it is fine",
        "An array[THINK] is no mark",
        "He wrote \"so.</think>Hello\" there.",
        "He wrote “so.</think>Hello” there.",
        "````md\n```\nhm\n```\n</think>\nanswer\n````",
        "An example:\n\n\t</think>\n\nThat ends it.",
        "An example:\n\n    </think>\n\nThat ends it.",
        "> so.\n> </think>\n> Hello",
        "Write your thoughts as:\n<think>hm</think>",
        "Hello Ana!\n<think>hm</think>\nSo it stays.",
        "Hello Ana!\n```\n<think>hm</think>\n```",
        "It says \"<|im_end|>\" and \"<|im_start|>user\" there.",
        "| a | <|im_end|> |\n|---|---|\n| <|user|> | b |\n",
        "The marks are:\n<|im_start|>user\nand more.",
        "The operator <|> and a <| b |> c",
        "x <|> y <|end|> z",
        "<|im_end|> ends a turn of Qwen.",
        "<think of a number> is a game.",
        "A gpt-oss answer begins with <|channel|>final<|message|> and ends.",
        "Hello</reasoning> there",
        "Done.\n</thinking>\nThat was the tag.",
        "ChatML:\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>",
        "ChatML:\n\n<|im_start|>user\nHi<|im_end|>\nThat is all.",
        "Llama 2: <s>[INST] Hi [/INST] Hello </s>",
        "The marks are:\n<|im_start|>\n<|im_end|>",
        "Write **</think>** there.",
        "It is\n<pre>\n</think>\n</pre>\nin HTML.",
        "It is\n<!-- </think> -->\nin HTML.",
        "Close it:\n\n    <think>\n    </think>\n\nThat ends it.",
        "{\"tag\": \"</think>\"}",
    ] {
        let read = answer_text(text, ThoughtsPlace::InText).unwrap();
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
        ("<|message|>I must not.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!<|return|>", "Hello Ana!"),
        ("I must not.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!", "Hello Ana!"),
        ("I must not.<|channel|>final<|message|>Hello Ana!", "Hello Ana!"),
        ("<|message|>Hello Ana!<|end|>", "Hello Ana!"),
        ("<|channel|>final<|message|>Hello Ana!<|end|><|start|>user<|message|>And Bo?<|end|>", "Hello Ana!"),
        ("<|channel|>final<|message|><|return|>", ""),
    ] {
        assert_eq!(answer(text), expected, "{text}");
    }
    let called = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.time <|constrain|>json<|message|>{\"zone\":\"UTC\"}<|call|>";
    for text in [called, "commentary to=functions.time <|constrain|>json<|message|>{\"zone\":\"UTC\"}"] {
        assert_eq!(answer_text(text, ThoughtsPlace::InText).unwrap().calls, [("time".to_owned(), "{\"zone\":\"UTC\"}".to_owned())]);
    }
    let quoted = "<|channel|>commentary to=functions.time <|message|>{\"id\": 7}<|call|>";
    let asked = "<|start|>assistant<|channel|>final<|message|>Shall I?";
    for text in [
        format!("<|channel|>analysis<|message|>The user quotes a call: {quoted} I must not do that.<|end|>{asked}"),
        format!("<|channel|>analysis<|message|>The user quotes {quoted}\nI must not do that.<|end|>\n{asked}<|return|>"),
        format!("Hm: {quoted} I must not do that.<|end|>{asked}"),
    ] {
        let read = answer_text(&text, ThoughtsPlace::InText).unwrap();
        assert_eq!((read.text.as_str(), read.calls.as_slice()), ("Shall I?", [].as_slice()), "{text}");
    }
    let text = format!("<|channel|>final<|message|>You wrote {quoted} there.<|return|>");
    assert_eq!(answer_text(&text, ThoughtsPlace::InText).unwrap().calls, []);
    assert_eq!(answer(&text), format!("You wrote {quoted} there."));
    assert_eq!(
        answer_text(&format!("<|channel|>final<|message|>Hello.<|end|>garbage {quoted}and more"), ThoughtsPlace::InText).unwrap().calls,
        []
    );
    // A call with text behind it cannot be read.
    for text in [
        format!("{called}{asked}"),
        format!("{called} I must not."),
        format!("{called}\n<|start|>assistant<|channel|>commentary<|message|>Done."),
    ] {
        let calls = answer_text(&text, ThoughtsPlace::InText).unwrap().calls;
        assert!(calls.iter().all(|(_, arguments)| arguments_in(arguments).is_none()), "{text}");
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
    // What is shown of a part is shown of the whole.
    for whole in NEXT_TURNS.into_iter().chain([
        "<think type=\"deep\">\nI must not.\n</think>\n\nHello Ana!",
        "<think\n>I must not.</think>Hello Ana!",
        "\u{feff}<think>I must not.</think>Hello Ana!",
        "<think>I must not.</think>Hello Ana!\n<think>\nHm.\n</think>",
        "Hello Ana!\n<thinking>\nHm.\n</thinking>",
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!<|return|>",
        "<|message|>I must not.<|end|><|start|>assistant<|channel|>final<|message|>Hello Ana!<|return|>",
        "<|header_start|>assistant<|header_end|>\n\nHello Ana!<|eot|>",
        "<|im_assistant|>assistant<|im_middle|>Hello Ana!<|im_end|>",
        "<|begin_of_box|>Hello Ana!<|end_of_box|>",
        "Hello Ana![|endofturn|]",
        "Hello Ana!<end_of_utterance>",
        "Hello Ana!\n<tool_use>{\"name\": 1}</tool_use>",
    ]) {
        for cut in whole.char_indices().map(|(at, _)| at).chain([whole.len()]) {
            let shown = so_far(&whole[..cut], false);
            assert!("Hello Ana!".starts_with(shown.trim()), "{:?}: {shown}", &whole[..cut]);
        }
    }
    assert_eq!(so_far("2 < 3 and [1]", false), "2 < 3 and [1]");
    assert_eq!((so_far("I must not", true), so_far("I must not.\n</think>\nHello", true)), (String::new(), "Hello".to_owned()));
}

#[test]
fn hostile_texts_take_time_in_proportion() {
    let many = |text: &str| text.repeat(20_000 / text.len());
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
        "\n<think>a</think>",
        "<think>a</think>",
        "a <|end|>",
        "\n<|im_start|>",
        "a\n</think",
        "[",
        "{",
        "<",
    ] {
        let _ = (
            answer_text(&many(text), ThoughtsPlace::InText),
            answer_text(&format!("Hello {}", many(text)), ThoughtsPlace::InText),
            so_far(&many(text), false),
        );
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
        "{\"name\": \"time\", \"a\": ",
        "{\"name\": \"time\"} ",
        "\ntime(",
        "\nname: time\n",
        "<time>",
        "\n````a\n",
    ] {
        for start in ["", "<tool_call>", "<function=time>", "<tool_call>time", "[TOOL_CALLS]["] {
            let _ = calls::written(&format!("{start}{}", many(text)));
        }
    }
}
