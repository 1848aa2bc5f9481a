use serde_json::{Value, json};

use super::*;
use crate::report::graph::ran_alone;

/// A text of a model, a tool or a person that tries to be more than text.
const HOSTILE: &str = "<script>alert(1)</script> ]]> </style></pre> <!-- & \" ' \u{1b}[31m \u{202e}evil\u{2066} \u{200b} \0";

fn try_of(from: u32, to: u32, attempt: u32, round: u32) -> Value {
    json!({ "attempt": attempt, "round": round, "started": format!("2026-01-05T09:00:{from:02}Z"), "ended": format!("2026-01-05T09:00:{to:02}Z") })
}

fn verdict(passed: bool, said: &str) -> Value {
    json!({ "id": "long", "description": said, "expected": said, "passed": passed, "feedback": said, "evidence": said })
}

/// Returns a run with a refinement, in which all texts are `said`.
fn refined(said: &str) -> Value {
    let call = |action: &str| {
        json!({
            "agent": "writer", "action": action, "input": [{ "role": "system", "text": said }, { "role": "user", "text": said }], "output": said,
            "duration_ms": 900, "success": true, "error": null, "model": "default", "time": "2026-01-05T09:00:01Z",
            "usage": { "input_tokens": 1200, "output_tokens": 30, "cost_usd": 0.0123 },
        })
    };
    json!({
        "run": "r_1", "pipeline": "shop", "hash": "h", "inputs": { "message": said }, "channel": "email",
        "person": { "id": "p7", "name": "<PERSON_1>" }, "started": "2026-01-05T09:00:00Z", "ended": "2026-01-05T09:00:10Z",
        "status": "quality_not_met", "scripted": false,
        "phases": [{ "name": "created", "time": "2026-01-05T09:00:00Z", "step": "" }],
        "steps": [
            { "step": "ask", "status": "succeeded", "output": [said], "details": { "duration_ms": 1000 }, "error": null,
              "tries": [{ "attempt": 1, "round": 1, "started": "2026-01-05T09:00:00Z", "ended": "2026-01-05T09:00:01Z", "error": said }, try_of(1, 2, 2, 1)] },
            { "step": "write", "status": "succeeded", "output": said, "details": { "duration_ms": 900 }, "error": null,
              "tries": [try_of(2, 4, 1, 1), try_of(5, 7, 1, 2)] },
            { "step": "check", "status": "failed", "output": null, "details": { "verdicts": [verdict(false, said)] },
              "error": { "kind": "bad_shape", "message": said, "attempts": 1 }, "tries": [try_of(4, 5, 1, 1), try_of(7, 8, 1, 2)] },
        ],
        "interactions": [call("turn write"), call("turn write")],
        "tool_calls": [{ "step": "ask", "tool": "sql", "attempt": 1, "with": { "query": said, said: 1 }, "result": { said: said }, "error": said,
                         "time": "2026-01-05T09:00:00Z", "duration_ms": 12 }],
        "decisions": [{ "seq": 3, "time": "2026-01-05T09:00:00Z", "step": "ask", "agent": "", "act": "tool", "target": said, "allowed": true, "rule": "auto" }],
        "failures": [{
            "gate": "check", "question": said, "scorecard": [], "verdicts": [[verdict(false, said)], [verdict(false, said)]],
            "judged": [{ "text": said, "parts": [] }, said], "refinement_tried": true, "refinement_worked": false, "sent": said, "cause": said,
            "time": "2026-01-05T09:00:08Z",
        }],
        "sent": [{ "step": "deliver", "to": "stdout", "parts": 1, "texts": [said] }],
        "outputs": { "reply": said }, "failure": { "step": "check", "kind": "bad_shape", "message": said },
        "usage": { "input_tokens": 2400, "output_tokens": 60, "cost_usd": 0.0246 },
    })
}

fn of(record: Value) -> String {
    let record: Record = serde_json::from_value(record).unwrap();
    page(&record, &ran_alone(&record))
}

/// Returns the page without its graph and its styles.
fn without_drawing(page: &str) -> String {
    let cut = |text: &str, from: &str, to: &str| {
        let (before, rest) = text.split_once(from).unwrap();
        format!("{before}{}", rest.split_once(to).unwrap().1)
    };
    cut(&cut(page, "<svg", "</svg>"), "<style>", "</style>").replace('>', ">\n")
}

#[test]
fn a_small_page() {
    insta::assert_snapshot!(without_drawing(&of(refined("You have logged 32 hours.\nBye."))));
}

#[test]
fn what_others_say_is_text_and_never_markup() {
    let (hostile, plain) = (of(refined(HOSTILE)), of(refined("said")));
    for bad in ["<script", "]]> ", "</style></pre>", "<!-- ", "\u{1b}", "\u{202e}", "\u{2066}", "\u{200b}", "\0"] {
        assert!(!hostile.contains(bad), "{bad:?} is in the page");
    }
    assert!(hostile.contains("&lt;script&gt;alert(1)&lt;/script&gt; ]]&gt; &lt;/style&gt;&lt;/pre&gt; &lt;!-- &amp; "), "{hostile}");
    assert!(hostile.contains("\\x1B[31m \\u202Eevil\\u2066 \\u200B \\x00"), "{hostile}");
    // The elements are equal regardless of the texts.
    let tags = |page: &str| regex::Regex::new("<[^>]*>").unwrap().find_iter(page).map(|tag| tag.as_str().to_owned()).collect::<Vec<_>>();
    let body = |page: &str| page.split_once("<h2 id=\"timeline\">").unwrap().1.to_owned();
    assert_eq!(tags(&body(&hostile)), tags(&body(&plain)));
}

#[test]
fn a_page_brings_its_styles_and_asks_for_nothing_else() {
    let page = of(refined("said"));
    assert!(
        page.starts_with("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\"")
    );
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\""), "{page}");
    let links = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for bad in ["<script", "<link", "<img", "src=", "href", "http:", "https:", "@import", "url(h", " onclick", "javascript:"] {
        assert!(!links.contains(bad), "{bad}");
    }
}

#[test]
fn headings_are_in_order_and_ids_are_used_once() {
    let page = of(refined("said"));
    let mut before = 0;
    for found in regex::Regex::new("<h([1-6])").unwrap().captures_iter(&page) {
        let level: u32 = found[1].parse().unwrap();
        assert!(level <= before + 1, "h{level} follows h{before}");
        before = level;
    }
    let ids: Vec<String> = regex::Regex::new(" id=\"([^\"]*)\"").unwrap().captures_iter(&page).map(|id| id[1].to_owned()).collect();
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(ids.len(), once.len(), "{ids:?}");
    for named in regex::Regex::new("aria-labelledby=\"([^\"]*)\"").unwrap().captures_iter(&page) {
        assert!(named[1].split(' ').all(|id| ids.iter().any(|known| known == id)), "{}", &named[1]);
    }
}

#[test]
fn what_nobody_reported_is_said_to_be_unknown() {
    let with = |usage: Value| {
        let mut record = refined("said");
        record["usage"] = usage;
        of(record)
    };
    let none = with(json!({ "input_tokens": 0, "output_tokens": 0 }));
    assert!(none.contains("<dt>Tokens</dt><dd>none reported</dd>") && none.contains("<dt>Cost</dt><dd>none</dd>"), "{none}");
    let unknown = with(json!({ "input_tokens": 0, "output_tokens": 0, "unknown_tokens": 4096 }));
    assert!(unknown.contains("<dd>unknown, 4,096 at most</dd>") && unknown.contains("<dt>Cost</dt><dd>unknown</dd>"), "{unknown}");
    let unpriced = with(json!({ "input_tokens": 1200, "output_tokens": 3 }));
    assert!(unpriced.contains("<dd>1,200 read, 3 written</dd>") && unpriced.contains("<dt>Cost</dt><dd>unpriced</dd>"), "{unpriced}");
    let partly = with(json!({ "input_tokens": 12, "output_tokens": 3, "cost_usd": 0.5, "unknown_tokens": 7 }));
    assert!(partly.contains("<dd>12 read, 3 written; besides, unknown: 7 at most</dd>"), "{partly}");
    assert!(partly.contains("<dd>0.5000 USD; besides, unknown</dd>"), "{partly}");
}

#[test]
fn the_page_of_a_run_with_many_steps_and_long_texts_is_bounded_and_says_what_it_left_out() {
    let mut record = refined("said");
    let step = |place: usize| {
        let status = if place == 999 { "failed" } else { "succeeded" };
        json!({ "step": format!("each[{place}]"), "status": status, "output": "x".repeat(50_000), "details": {}, "error": null,
                "tries": [try_of(2, 4, 1, 1)] })
    };
    record["steps"] = (0..1_000).map(step).collect();
    let page = of(record);
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    assert!(page.contains("800 steps are left out here, of 1,000. Steps that did not succeed are shown first."), "the timeline");
    assert!(page.contains("600 steps are left out here, of 1,000."), "the steps");
    assert!(page.contains("30,000 characters are left out here: <code>flow runs export r_1</code>"), "a text");
    assert!(page.contains("Not drawn here: it has 1,000 steps. <code>flow graph --run r_1 --format svg</code>"), "the graph");
    assert_eq!(page.matches("each[999]").count(), 2, "the one that failed is shown");
}

#[test]
fn a_run_that_is_not_over_and_one_in_which_nothing_began_have_pages() {
    let mut record = refined("said");
    record["ended"] = Value::Null;
    record["status"] = Value::Null;
    record["steps"][2]["tries"][1]["ended"] = Value::Null;
    let open = of(record.clone());
    assert!(open.contains("<dt>Ended</dt><dd>not yet</dd>") && open.contains("class=\"bar open\""), "{open}");
    assert!(open.contains("<dd>2,400 read, 60 written so far</dd>"), "{open}");
    for list in ["steps", "interactions", "tool_calls", "failures", "sent"] {
        record[list] = json!([]);
    }
    record["person"] = Value::Null;
    let empty = of(record);
    assert!(empty.contains("No step began.") && empty.contains("Nothing was sent."), "{empty}");
}

#[test]
fn a_page_of_a_thousand_elements_shows_those_that_failed_first_and_the_others_in_closed_groups() {
    let mut record = refined("said");
    let is_bad = |place: usize| place % 100 == 7;
    let element = |place: usize| {
        let (status, error) =
            if is_bad(place) { ("failed", json!({ "kind": "timeout", "message": HOSTILE })) } else { ("succeeded", Value::Null) };
        let of = |path: String| json!({ "step": path, "status": status, "output": "x".repeat(500), "details": {}, "error": error, "tries": [try_of(2, 4, 1, 1)] });
        [of(format!("each[{place}]")), of(format!("each[{place}]/out"))]
    };
    let open = |place: usize| json!({ "step": format!("each[{place}]"), "item": { "id": HOSTILE }, "status": "failed", "kind": "timeout", "at": format!("each[{place}]/out"), "message": HOSTILE });
    record["steps"] = (0..1_000).flat_map(element).collect();
    record["sent"] = (0..1_000).map(|place| json!({ "step": format!("each[{place}]/out"), "to": "hook", "parts": 1 })).collect();
    record["batches"] = json!([{ "step": "each", "elements": 1_000, "succeeded": 990, "sent": 990, "failed": [{ "kind": "timeout", "count": 10 }],
                                 "open": (0..1_000).filter(|place| is_bad(*place)).map(open).collect::<Value>() }]);
    let page = of(record);
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert!(page.contains("990 of 1,000 sent, 10 failed: timeout") && page.contains("1,000 × Sent by <code>each/out</code>"), "{page}");
    assert!(!page.contains("<script") && !page.contains('\u{1b}'), "what is in an element is text");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in the page"));
    assert!(place("Elements that failed") < place("id=\"graph\"") && place("<code>each[7]</code>") < place("id=\"graph\""));
    let steps = &page[place("id=\"steps\"")..];
    // Three of the failed elements are open, each with its failed step.
    assert_eq!((steps.matches("<details open>").count(), page.matches("<details open>").count()), (6, 6));
    assert!(steps.find("each[907]").unwrap() < steps.find("each[0]").unwrap(), "those that failed come first");
    assert!(steps.contains("990 succeeded, 1,980 steps") && steps.contains("1,880 steps are left out here."), "{steps}");
}
