//! What of a record is masked, and what stays as its author and flow wrote it; through the program.

use serde_json::Value;

use crate::program::{Ran, command, ran};

/// Common words, such as a note on a customer is made of.
const NOTE: &str = "the report of the connection was late and the customer asked why nobody called back so we said that the team had no time to \
answer and that the step failed with a timeout because the provider was unavailable then the writer wrote a draft with the facts and the gate \
judged the text it was not good enough so the check was made again and the output was sent to the channel by the tool after one more try every \
day of the week there is a question about the price the order the delivery the payment or the contract and each message needs a reply within an \
hour or the manager will ask for the record of the run which holds the status of all steps the kind of failure the name of the model the input \
and the output please read the notes first and then write down what was decided what was promised and what is still open do not change the \
date the place or the number of the ticket and do not close it before the customer has said yes and thanks for the help that you gave to us with all of this work";

const PIPELINE: &str = "flow: 1
name: report
description: Writes the report of the connection.
data: { people: { file: people.csv, pii: [name, note] } }
models:
  default: { provider: scripted, replies: report.replies.yaml }
agents:
  writer: { instructions: You write the report about the connection and the time of the answer. }
steps:
  - { id: customer, sql: \"select name, note, upper(name) as n, name || '!' as x from people where id = 1\", one: true, pii: true }
  - { id: plain, sql: \"select n from (select name as n from people) where n like 'Zeb%'\" }
  - { id: report, agent: writer, prompt: \"Write the report for {{ steps.customer.output.name }}: {{ steps.customer.output.note }} Will you answer in time?\" }
  - { id: failure, sql: select absent from people, on_failure: continue }
outputs: { text: \"{{ steps.report.output }}\" }
";
const REPLIES: &str =
    "flow: 1\nreplies: { report: \"Dear Zebulon, the report of the connection is late. ZEBULON? Zebulon%20Quickert, WmVidWxvbg==\" }\n";

fn canaries(text: &str) {
    for canary in ["Zebulon", "ZEBULON", "Quickert", "QUICKERT", "WmVidWxvbg"] {
        assert!(!text.contains(canary), "{canary}: {text}");
    }
}

#[test]
fn a_note_of_common_words_leaves_the_record_readable_and_no_name_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    assert!(NOTE.split_whitespace().count() >= 200, "{}", NOTE.split_whitespace().count());
    write("people.csv", &format!("id,name,note\n1,Zebulon Quickert,{NOTE}\n2,Will Power,yes\n"));
    write("report.yaml", PIPELINE);
    write("report.replies.yaml", REPLIES);
    let run = ["run", "report.yaml", "--trust", "--events", "events.jsonl", "--events-content"];
    let Ran { err: progress, .. } = ran(&mut command(folder.path(), &run));
    canaries(&progress);
    let Ran { exit, out, .. } = ran(&mut command(folder.path(), &["runs", "export"]));
    assert_eq!(exit, 0, "{out}");
    canaries(&out);
    let record: Value = serde_json::from_str(&out).unwrap();
    let events = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    canaries(&events);

    let step = |id: &str| record["steps"].as_array().unwrap().iter().find(|step| step["step"] == id).unwrap().clone();
    assert_eq!(step("failure")["error"]["kind"], "bad_request");
    assert!(step("failure")["error"]["message"].as_str().unwrap().contains("no such column: absent"), "{out}");
    let customer = step("customer");
    let name = customer["output"]["name"].as_str().unwrap();
    let note = customer["output"]["note"].as_str().unwrap();
    assert!(name.starts_with("<PERSON_") && note.starts_with("<PERSON_") && name != note, "{customer}");
    // One value, one placeholder: also in a column with another name, in a prompt, an answer and the events.
    assert_eq!(customer["output"]["n"].as_str(), Some(name));
    assert_eq!(step("plain")["output"][0]["n"].as_str(), Some(name));
    let asked = &record["interactions"][0];
    assert_eq!(asked["action"], "turn report");
    assert_eq!(asked["input"][0]["text"], "You write the report about the connection and the time of the answer.");
    assert_eq!(asked["input"][1]["text"], format!("Write the report for {name}: {note} Will you answer in time?"));
    let said = format!("Dear {name}, the report of the connection is late. {name}? {name}, {name}==");
    assert_eq!(asked["output"], said.as_str());
    assert!(events.contains(&said), "{events}");
}

#[test]
fn a_table_without_a_marked_column_is_reported_by_the_check_and_not_read_by_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let pipeline = "flow: 1\nname: p\ndata: { people: { file: people.csv, pii: [nmae] } }\nsteps:\n  - { id: q, sql: select * from people }\noutputs: { q: \"{{ steps.q.output }}\" }\n";
    write("p.yaml", pipeline);
    write("people.csv", "id,name\n1,Zebulon\n");
    let Ran { exit, out, .. } = ran(&mut command(folder.path(), &["validate", "p.yaml"]));
    assert_eq!(exit, 1, "{out}");
    assert!(out.contains("F215") && out.contains("did you mean \"name\"?"), "{out}");
    let Ran { exit, err, out } = ran(&mut command(folder.path(), &["run", "p.yaml"]));
    assert_eq!(exit, 6, "{err}");
    assert!(err.contains("failed at \"q\"") && err.contains("(unavailable)") && err.contains("did you mean \"name\"?"), "{err}");
    assert!(!format!("{err}{out}").contains("Zebulon"), "{err}{out}");
}

/// Values so short or common that no text is searched for them, at every place that is marked, and where they are copied as they are.
const PLACES: &str = "flow: 1
name: places
description: Marks at every kind of place.
models: { default: { provider: scripted, replies: r.replies.yaml } }
data: { people: { file: people.csv, pii: [ward] } }
person: { id: p1, name: 'Ø', email: '7', phone: '12' }
inputs:
  n: { type: integer, pii: true }
  yes: { type: boolean, pii: true }
  sex: { type: text, pii: true }
  sign: { type: text, pii: true }
  deep: { type: object, fields: { mood: { type: text, pii: true }, open: text } }
  many: { type: list, items: { type: text, pii: true } }
agents: { a: { instructions: Answer., output: { finding: { type: text, pii: true }, open: text } } }
steps:
  - { id: row, sql: 'select ward, ward as w from people', one: true, pii: false }
  - { id: count, sql: \"select count(*) as c from people where ward = 'no'\" }
  - { id: all, set: { a: false, b: 5, c: no, d: [no, 6] }, pii: true }
  - { id: said, agent: a, prompt: Say it. }
  - { id: copy, set: '{{ inputs.sex }}' }
  - { id: copies, set: { one: '{{ inputs.n }}', two: '{{ steps.copy.output }}', open: '{{ inputs.deep.open }}' } }
  - { id: inner, call: inner.yaml, with: { given: '{{ inputs.sex }}', open: inside } }
outputs:
  diagnosis: '{{ inputs.sex }}'
  number: '{{ inputs.n }}'
  ward: '{{ steps.row.output.ward }}'
  again: '{{ steps.copies.output.two }}'
  called: '{{ steps.inner.output.given }}'
  open: '{{ inputs.deep.open }}'
";
const INNER: &str = "flow: 1
name: inner
description: Is called.
inputs: { given: text, open: text }
steps:
  - { id: own, set: { ward: yes, open: '{{ inputs.open }}' } }
outputs: { given: '{{ inputs.given }}', open: '{{ inputs.open }}' }
";

#[test]
fn a_value_at_a_marked_place_is_masked_whatever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("people.csv", "id,ward\np1,no\n");
    write("places.yaml", PLACES);
    write("inner.yaml", INNER);
    write("r.replies.yaml", "flow: 1\nreplies: { said: { data: { finding: hello, open: visible } } }\n");
    let inputs = r#"{"n": 43, "yes": true, "sex": "male", "sign": "♀", "deep": {"mood": "hello", "open": "visible"}, "many": ["no", "8"]}"#;
    write("inputs.json", inputs);
    let run = ["run", "places.yaml", "--inputs", "inputs.json", "--events", "events.jsonl", "--events-content"];
    let Ran { exit, err, out } = ran(&mut command(folder.path(), &run));
    assert_eq!(exit, 0, "{err}{out}");
    assert!(out.contains("\"diagnosis\": \"male\"") && out.contains("43"), "the result is not masked: {out}");
    let Ran { out, .. } = ran(&mut command(folder.path(), &["runs", "export"]));
    let record: Value = serde_json::from_str(&out).unwrap();
    let events = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let event = |name: &str, step: &str| {
        events.iter().find(|event| event["type"] == name && (step.is_empty() || event["step"] == step)).unwrap().clone()
    };
    let step = |id: &str| record["steps"].as_array().unwrap().iter().find(|step| step["step"] == id).unwrap()["output"].clone();
    let began = event("run_started", "");
    let called = event("call_opened", "");
    let mut masked = vec![began["person"]["name"].clone(), began["person"]["email"].clone(), began["person"]["phone"].clone()];
    for inputs in [&record["inputs"], &began["inputs"]] {
        masked.extend(["n", "yes", "sex", "sign"].map(|name| inputs[name].clone()));
        masked.extend([inputs["deep"]["mood"].clone(), inputs["many"][0].clone(), inputs["many"][1].clone()]);
        assert_eq!(inputs["deep"]["open"], "visible");
    }
    for output in [&step, &|id: &str| event("step_succeeded", id)["output"].clone()] as [&dyn Fn(&str) -> Value; 2] {
        masked.extend([
            output("row")["ward"].clone(),
            output("row")["w"].clone(),
            output("count")[0]["c"].clone(),
            output("said")["finding"].clone(),
        ]);
        let all = output("all");
        masked.extend([all["a"].clone(), all["b"].clone(), all["c"].clone(), all["d"][0].clone(), all["d"][1].clone()]);
        masked.extend([output("copy"), output("copies")["one"].clone(), output("copies")["two"].clone()]);
        masked.extend([output("inner")["given"].clone(), output("inner/own")["ward"].clone()]);
        assert_eq!([&output("said")["open"], &output("copies")["open"], &output("inner")["open"]], ["visible", "visible", "inside"]);
    }
    masked.push(called["inputs"]["given"].clone());
    for outputs in [&record["outputs"], &event("run_finished", "")["outputs"]] {
        masked.extend(["diagnosis", "number", "ward", "again", "called"].map(|name| outputs[name].clone()));
        assert_eq!(outputs["open"], "visible");
    }
    for (place, value) in masked.iter().enumerate() {
        assert!(value.as_str().is_some_and(|text| text.starts_with("<PERSON_") && text.ends_with('>')), "{place}: {value} in {masked:?}");
    }
    // One value, one number, in the record and in the events.
    assert_eq!(record["inputs"], began["inputs"]);
    assert_eq!(record["outputs"], event("run_finished", "")["outputs"]);
    assert_eq!(record["inputs"]["sex"], record["outputs"]["again"]);
}

/// Marks inside shapes: of inputs, outputs of agents, arguments of tools, inputs of a pipeline that is a tool or is called.
const SHAPES: &str = "flow: 1
name: shapes
description: Marks inside shapes.
models: { default: { provider: scripted, replies: r.replies.yaml } }
tools:
  post: { http: 'POST http://127.0.0.1:9/x', arguments: { who: { type: text, pii: true }, open: text }, body: { who: '{{ with.who }}' }, timeout: 1s }
  inner: { pipeline: inner.yaml, description: Is called. }
inputs: { deep: { type: object, fields: { mood: { type: text, pii: true }, open: text } } }
agents:
  a: { instructions: Answer., tools: [inner], output: { finding: { type: text, pii: true }, open: text } }
  b: { instructions: Answer. }
steps:
  - { id: said, agent: a, prompt: 'Say it about {{ inputs.deep.mood }}.' }
  - { id: sent, tool: post, with: { who: Canarygiven, open: visible }, on_failure: continue }
  - { id: called, call: inner.yaml, with: { given: Canarycalled, open: visible } }
  - { id: yes, agent: b, prompt: Is it so?, pii: true }
  - { id: all, set: { x: '{{ steps.said.output }}', y: 'It is {{ steps.said.output.finding }}.', z: '{{ steps.called.output }}' } }
outputs: { x: '{{ steps.all.output }}' }
";
const SHAPES_INNER: &str = "flow: 1
name: inner
description: Is called.
inputs: { given: { type: text, pii: true }, open: text }
steps:
  - { id: own, set: 'Got {{ inputs.given }} and {{ inputs.open }}' }
outputs: { text: '{{ steps.own.output }}' }
";
const SHAPES_REPLIES: &str = "flow: 1
replies:
  said:
    - calls: [{ tool: inner, with: { given: Canaryasked, open: visible } }]
    - data: { finding: Canaryfound, open: visible }
  yes: 'No'
";

#[test]
fn marks_inside_shapes_hold_in_every_line_that_is_written_while_a_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("shapes.yaml", SHAPES);
    write("inner.yaml", SHAPES_INNER);
    write("r.replies.yaml", SHAPES_REPLIES);
    let deep = "deep={\"mood\": \"Canarymood\", \"open\": \"visible\"}";
    let run = ["run", "shapes.yaml", "--trust", "--json", "--verbose", "--input", deep, "--events", "events.jsonl", "--events-content"];
    let Ran { exit, err, out } = ran(&mut command(folder.path(), &run));
    assert_eq!(exit, 0, "{err}");
    let mut shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["outputs"].take()["x"]["y"], "It is Canaryfound.", "the result is not masked");
    let events = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    let record = ran(&mut command(folder.path(), &["runs", "export"])).out;
    let told = ran(&mut command(folder.path(), &["runs", "show"])).out;
    for text in [&shown.to_string(), &err, &events, &record, &told] {
        assert!(!text.to_lowercase().contains("canary"), "{text}");
    }
    assert!(events.contains("visible") && record.contains("visible"));
    // The text of a marked step is masked whatever it is, also where the model says it.
    let record: Value = serde_json::from_str(&record).unwrap();
    let reply = record["interactions"].as_array().unwrap().iter().find(|asked| asked["action"] == "turn yes").unwrap();
    assert!(reply["output"].as_str().unwrap().starts_with("<PERSON_"), "{reply}");
    let replied = events.lines().find(|line| line.contains("model_replied") && line.contains("\"step\":\"yes\"")).unwrap();
    assert!(replied.contains("\"text\":\"<PERSON_"), "{replied}");
}
