//! Tests of requests, and of pipelines as tools.

use serde_json::{Value, json};

use super::super::messages::{self, ClientMessage};
use super::super::protocol::{Todo, todo};
use super::super::{PipelineService, Tool, tool};
use super::{StandIn, alone, hello, request};
use crate::adapter::disk_files::DiskFiles;

fn asked(message: &Value, tools: &[Tool]) -> Result<Todo, (i32, u16)> {
    let Ok(ClientMessage::Request(request)) = messages::read(message.to_string().as_bytes()) else { panic!("{message}") };
    todo(tools, request, None).map_err(|refused| (refused.error.code.0, refused.status))
}

#[test]
fn the_version_of_a_handshake_is_the_one_asked_for_or_the_newest_with_one() {
    for (wanted, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let Ok(Todo::Agreed(version, result)) = asked(&hello(wanted), &[]) else { panic!("{wanted}") };
        assert_eq!((version.as_str(), &result["protocolVersion"]), (agreed, &json!(agreed)), "{wanted}");
    }
    assert_eq!(asked(&request(1, "initialize", json!({})), &[]).unwrap_err(), (-32602, 200));
}

#[test]
fn a_request_that_stands_alone_says_all_it_must() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut message = alone(1, "tools/list", json!({}));
        change(&mut message["params"]["_meta"]);
        asked(&message, &[]).map(|_| ())
    };
    assert_eq!(with(&|_| ()), Ok(()));
    assert_eq!(with(&|meta| meta["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01")), Err((-32022, 400)));
    assert_eq!(with(&|meta| meta["io.modelcontextprotocol/protocolVersion"] = json!(7)), Err((-32602, 400)));
    assert_eq!(with(&|meta| meta["io.modelcontextprotocol/clientCapabilities"] = Value::Null), Err((-32602, 400)));
    assert_eq!(asked(&request(1, "tools/list", json!({})), &[]).unwrap_err(), (-32602, 400));
    assert_eq!(asked(&alone(1, "resources/list", json!({})), &[]).unwrap_err(), (-32601, 404));
    assert_eq!(asked(&alone(1, "ping", json!({})), &[]).unwrap_err(), (-32601, 404));
}

#[test]
fn a_long_list_of_tools_comes_in_pages() {
    let tools = vec![StandIn::new(None).tools()[0].clone(); 150];
    let page = |cursor: Value| {
        let Todo::Answer(result) = asked(&alone(1, "tools/list", json!({ "cursor": cursor })), &tools)? else { panic!() };
        Ok((result["tools"].as_array().unwrap().len(), result["nextCursor"].clone()))
    };
    assert_eq!(page(Value::Null), Ok((100, json!("100"))));
    assert_eq!(page(json!("100")), Ok((50, Value::Null)));
    for wrong in [json!("200"), json!("7"), json!("x"), json!(100)] {
        assert_eq!(page(wrong.clone()), Err((-32602, 200)), "{wrong}");
    }
}

fn tool_of(yaml: &str) -> Value {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("p.yaml");
    std::fs::write(&file, format!("flow: 1\nname: p\n{yaml}")).unwrap();
    let checked = crate::check::check_file(&file, home.path(), &DiskFiles);
    assert!(!checked.plan.pipelines.is_empty(), "{:?}", checked.diagnostics);
    json!(tool(&checked.plan))
}

#[test]
fn a_pipeline_is_a_tool_with_its_inputs_and_outputs() {
    let tool = tool_of(
        "description: It doubles.\ninputs:\n  n: { type: integer, minimum: 1, example: 4 }\n  tone: { type: text, default: kind }\nsteps: [{ id: a, set: '{{ inputs.n }}' }]\noutputs: { doubled: '{{ steps.a.output }}' }\n",
    );
    assert_eq!((&tool["name"], &tool["description"]), (&json!("p"), &json!("It doubles.")));
    let input = &tool["inputSchema"];
    assert_eq!(input["required"], json!(["n"]));
    assert_eq!(input["properties"]["n"], json!({ "type": "integer", "minimum": 1, "examples": [4] }));
    assert_eq!(input["properties"]["tone"], json!({ "type": "string", "default": "kind" }));
    assert!(input["properties"].get("channel").is_none(), "{input}");
    assert_eq!(tool["outputSchema"], json!({ "type": "object", "properties": { "doubled": { "type": "integer" } } }));
    assert_eq!(tool["annotations"], json!({ "readOnlyHint": true, "openWorldHint": false }));
}

#[test]
fn a_pipeline_that_acts_outside_says_so_and_one_without_description_says_its_name() {
    let tool = tool_of("steps: [{ id: a, http: POST https://example.com/ }]\noutputs: '{{ steps.a.output }}'\n");
    assert_eq!(tool["annotations"], json!({ "readOnlyHint": false, "openWorldHint": true }));
    assert_eq!(tool["description"], "Runs the pipeline p.");
    assert_eq!(tool["outputSchema"]["properties"], json!({ "output": {} }));
}

#[test]
fn outputs_have_a_type_where_every_run_gives_it() {
    let outputs = |outputs: &str| {
        let inputs = "inputs:\n  n: { type: integer }\n  tone: { type: text, default: kind }\n  note: { type: text, required: false, enum: [a, b] }\n";
        tool_of(&format!("{inputs}steps: [{{ id: a, set: '{{{{ inputs.n }}}}' }}]\noutputs: {outputs}\n"))
    };
    let typed = outputs(
        "{ n: '{{ inputs.n }}', tone: '{{ inputs.tone }}', note: '{{ inputs.note }}', text: 'n is {{ steps.a.output }}', sum: '{{ inputs.n + 1 }}', list: ['{{ inputs.n }}'], step: '{{ steps.a.output }}' }",
    );
    let kinds = json!({ "n": { "type": "integer" }, "tone": { "type": "string" }, "note": {}, "text": { "type": "string" }, "sum": {},
        "list": { "type": "array" }, "step": { "type": "integer" } });
    assert_eq!(typed["outputSchema"]["properties"], kinds);
    assert_eq!(typed["inputSchema"]["properties"]["note"], json!({ "type": "string", "enum": ["a", "b"] }));
    let field = "{ type: object, fields: { k: { type: integer, required: false, minimum: 1 } } }";
    let inside = tool_of(&format!("inputs:\n  o: {field}\n  l: {{ type: list, items: {field} }}\nsteps: [{{ id: a, set: 1 }}]\n"));
    for place in ["/inputSchema/properties/o/properties/k", "/inputSchema/properties/l/items/properties/k"] {
        assert_eq!(inside.pointer(place), Some(&json!({ "type": "integer", "minimum": 1 })));
    }
    let said = "agents: { w: {}, f: { output: { n: integer, maybe: { type: text, required: false } } } }
steps:
  - { id: said, agent: w, prompt: Hi }
  - { id: own, agent: f, prompt: Hi }
  - { id: each, for_each: '[1]', agent: w, prompt: Hi }
outputs: { said: '{{ steps.said.output }}', own: '{{ steps.own.output }}', n: '{{ steps.own.output.n }}', maybe: '{{ steps.own.output.maybe }}', each: '{{ steps.each.output }}' }
";
    let kinds = json!({ "said": { "type": "string" }, "own": { "type": "object" }, "n": { "type": "integer" }, "maybe": {}, "each": { "type": "array" } });
    assert_eq!(tool_of(said)["outputSchema"]["properties"], kinds);
    assert_eq!(outputs("'Number {{ inputs.n }}'")["outputSchema"]["properties"], json!({ "output": { "type": "string" } }));
}
