//! Agents that ask other agents, from the command line.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::endpoint::served;
use crate::program::flow;
use crate::readme::blocks;

/// The example of the manual as a project, and what its page says that it prints.
fn example() -> (TempDir, String) {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/asking_agents.md")).unwrap();
    let (yaml, console) = (blocks(&page, "yaml"), blocks(&page, "console"));
    let project = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("trip.yaml", yaml[0])] {
        std::fs::write(project.path().join(name), text).unwrap();
    }
    let told: Vec<&str> = console[0].lines().skip(1).collect();
    (project, told.join("\n"))
}

#[test]
fn the_example_of_the_manual_asks_as_it_says() {
    let (project, told) = example();
    let ran = flow(project.path(), &["run", "trip.yaml", "--input", "wish=A quiet day near water."]);
    assert_eq!((ran.exit, format!("{}{}", ran.err, ran.out).trim_end()), (0, told.as_str()));
    let tested = flow(project.path(), &["test", "trip.yaml"]);
    assert!(tested.exit == 0 && tested.err.contains("2 passed, 0 failed"), "{}{}", tested.out, tested.err);
    // An agent that is asked sees its instructions and the request, and nothing of the other's conversation.
    let record: Value = serde_json::from_str(&flow(project.path(), &["runs", "export"]).out).unwrap();
    let decided: Vec<&str> = record["decisions"].as_array().unwrap().iter().map(|one| one["target"].as_str().unwrap()).collect();
    assert_eq!(decided, ["ask-chooser", "ask-writer"]);
    let events = flow(project.path(), &["runs", "export", "--events"]).out;
    let asked: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let prompt = |step: &str| {
        let called = asked.iter().find(|event| event["step"] == step && event["type"] == "model_called").unwrap();
        serde_json::to_string(&called["messages"]).unwrap()
    };
    let chooser = prompt("plan/ask-chooser[2]/chooser");
    assert!(chooser.contains("near Ulm that fits") && chooser.contains("A quiet place near water"), "{chooser}");
    assert!(!chooser.contains("A quiet day near water") && !chooser.contains("Plan one day"), "{chooser}");
    let replayed = flow(project.path(), &["runs", "replay", record["run"].as_str().unwrap()]);
    assert_eq!(replayed.exit, 0, "{}{}", replayed.out, replayed.err);
}

#[test]
fn a_run_whose_agents_were_asked_at_once_is_replayed_in_the_order_in_which_they_answered() {
    // The first agent that is asked answers last, and both ask a third one.
    let turn = |content: Value| json!({ "choices": [{ "message": content, "finish_reason": "stop" }] });
    let asks = json!({ "id": "1", "type": "function", "function": { "name": "ask-deep", "arguments": "{\"request\": \"slow\"}" } });
    let slow = served(move |_, body| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        let has_asked = body["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
        if has_asked { turn(json!({ "content": "Slow." })) } else { turn(json!({ "content": null, "tool_calls": [asks.clone()] })) }
    });
    let file = format!(
        "flow: 1\nname: lead\ndescription: It asks two at once.\nmodels:\n  default: {{ provider: scripted, replies: said.yaml }}\n  \
         slow: {{ provider: openai, base_url: \"http://{slow}/v1\", model: m }}\nagents:\n  lead: {{ instructions: You ask., agents: [slow, quick], max_turns: 4 }}\n  \
         slow: {{ model: slow, instructions: You ask., agents: [deep], max_turns: 3 }}\n  quick: {{ instructions: You ask., agents: [deep], max_turns: 3 }}\n  \
         deep: {{ instructions: You know. }}\nsteps:\n  - {{ id: plan, agent: lead, prompt: Go., timeout: 60s }}\noutputs: \"{{{{ steps.plan.output }}}}\"\n"
    );
    let said = "flow: 1\nreplies:\n  plan: [{ calls: [{ tool: ask-slow, with: { request: a } }, { tool: ask-quick, with: { request: b } }] }, Both.]\n  \
        plan/ask-quick/quick: [{ calls: [{ tool: ask-deep, with: { request: quick } }] }, Quick.]\n  plan/ask-quick/quick/ask-deep/deep: Deep.\n  \
        plan/ask-slow/slow/ask-deep/deep: Deep.\n";
    let project = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("lead.yaml", &file), ("said.yaml", said)] {
        std::fs::write(project.path().join(name), text).unwrap();
    }
    let ran = flow(project.path(), &["run", "lead.yaml", "--trust"]);
    assert_eq!((ran.exit, ran.out.as_str()), (0, "Both.\n"), "{}", ran.err);
    let record: Value = serde_json::from_str(&flow(project.path(), &["runs", "export"]).out).unwrap();
    let replayed = flow(project.path(), &["runs", "replay", record["run"].as_str().unwrap()]);
    assert!(replayed.exit == 0 && replayed.out.ends_with("equal (succeeded)\n"), "{}{}", replayed.out, replayed.err);
}

#[test]
fn explain_and_plan_say_who_may_be_asked_and_what_that_may_cost() {
    let (project, _) = example();
    let said = flow(project.path(), &["explain", "trip.yaml"]).out;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("It may ask the agents chooser and writer."), "{said}");
    assert!(said.contains("agent writer on model default: answers what other agents ask it."), "{said}");
    assert_eq!(said.matches("- model default:").count(), 1, "{said}");
    let plan = flow(project.path(), &["plan", "trip.yaml", "--input", "wish=x"]).out;
    assert!(plan.contains("9 for each use of ask-chooser by lead, and 3 for each use of ask-writer by lead"), "{plan}");
    let guarantees: Value = serde_json::from_str(&flow(project.path(), &["explain", "--guarantees", "trip.yaml", "--json"]).out).unwrap();
    assert_eq!(guarantees["pipelines"].as_array().unwrap().len(), 1, "nobody runs an agent alone");
}

#[test]
fn what_an_asked_agent_does_needs_the_leave_of_all_who_asked() {
    let file = |lead: &str, clerk: &str, whole: &str| {
        format!(
            "flow: 1
name: desk
description: Looks things up.
models: {{ default: {{ provider: scripted, replies: replies.yaml }} }}
agents:
  lead: {{ instructions: Ask., agents: [clerk]{lead} }}
  clerk: {{ instructions: Look it up., tools: [docs]{clerk} }}
tools: {{ docs: {{ file: notes }} }}
policies:
  quiet: {{ permission_mode: auto, disallowed_tools: [docs.read] }}
  alone: {{ permission_mode: auto, disallowed_tools: [ask-clerk] }}
steps: [{{ id: one, agent: lead, prompt: Go. }}]
outputs: {{ calls: \"{{{{ steps.one.details.tool_calls }}}}\" }}
{whole}"
        )
    };
    let replies = "flow: 1
replies:
  one: [{ calls: [{ tool: ask-clerk, with: { request: rules } }] }, Done.]
  one/ask-clerk/clerk: [{ calls: [{ tool: docs.read, with: { name: rules.md } }] }, Looked.]
";
    let result = |lead: &str, clerk: &str, whole: &str| {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("notes")).unwrap();
        for (name, text) in
            [("flow.toml", ""), ("p.yaml", &file(lead, clerk, whole)), ("replies.yaml", replies), ("notes/rules.md", "Be kind.")]
        {
            std::fs::write(project.path().join(name), text).unwrap();
        }
        let ran = flow(project.path(), &["run", "p.yaml", "--json"]);
        let record: Value = serde_json::from_str(&flow(project.path(), &["runs", "export"]).out).unwrap();
        let decisions = record["decisions"].as_array().unwrap().iter();
        let denied = decisions.filter(|one| one["allowed"] == json!(false)).map(|one| one["target"].as_str().unwrap().to_owned());
        (ran.exit, denied.collect::<Vec<_>>())
    };
    assert_eq!(result("", "", ""), (0, vec![]));
    assert_eq!(result("", ", policy: quiet", ""), (0, vec!["docs.read".to_owned()]));
    assert_eq!(result(", policy: quiet", "", ""), (0, vec!["docs.read".to_owned()]));
    assert_eq!(result("", "", "policy: quiet\n"), (0, vec!["docs.read".to_owned()]));
    assert_eq!(result(", policy: alone", "", ""), (0, vec!["ask-clerk".to_owned()]));
}

/// What the check says of a file, as far as its codes go.
fn codes(file: &str, more: &[&str]) -> Vec<String> {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("flow.toml"), "").unwrap();
    std::fs::write(project.path().join("p.yaml"), file).unwrap();
    let said = flow(project.path(), &[&["validate", "p.yaml", "--format", "json"], more].concat());
    let said: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}{}", said.out, said.err));
    let all = said["findings"].as_array().unwrap().iter();
    let mut codes: Vec<String> = all.map(|found| found["code"].as_str().unwrap().to_owned()).filter(|code| code != "F210").collect();
    codes.dedup();
    codes
}

#[test]
fn what_an_asked_agent_reads_and_may_do_is_judged_where_it_is_asked() {
    let file = |agents: &str, head: &str, step: &str| {
        format!(
            "flow: 1
name: desk
description: Asks somebody.
inputs: {{ wish: {{ type: text, example: x }}, home: {{ type: text, pii: true, example: x }} }}
person: {{ id: \"{{{{ inputs.wish }}}}\", name: Ana, language: en }}
agents:
{agents}
{head}steps: [{{ id: one, agent: lead, prompt: \"{{{{ inputs.wish }}}}\"{step} }}]
outputs: \"{{{{ steps.one.output }}}}\"
"
        )
    };
    let reads = |what: &str| {
        format!(
            "  lead: {{ instructions: Ask., agents: [middle], max_turns: 4 }}\n  middle: {{ instructions: Ask., agents: [last], max_turns: 4 }}\n  last: {{ instructions: \"Say {what}.\" }}"
        )
    };
    let declared = ["--require", "personal_declared"];
    // An input that two agents down reads, and the step that asks for it.
    assert_eq!(codes(&file(&reads("{{ inputs.home }}"), "", ""), &declared), ["F618"]);
    assert_eq!(codes(&file(&reads("{{ inputs.home }}"), "", ", pii: true"), &declared), Vec::<String>::new());
    assert_eq!(codes(&file(&reads("{{ inputs.wish }} {{ person.language }}"), "", ""), &declared), Vec::<String>::new());
    // Policies name the agents that are asked, at each depth.
    let policy = "policies: { p: { allowed_tools: [ask-middle, ask-last] } }\npolicy: p\n";
    assert_eq!(codes(&file(&reads("it"), policy, ""), &[]), Vec::<String>::new());
    // No circle through the tools, and no name that is none.
    let by_tool =
        "  lead: { instructions: Ask., agents: [other], max_turns: 4 }\n  other: { instructions: Ask., tools: [ask-other], max_turns: 4 }";
    assert_eq!(codes(&file(by_tool, "", ""), &[]), ["F300"]);
    let odd = "  lead: { instructions: Ask., agents: [b c], max_turns: 4 }\n  b c: { instructions: \"{{ inputs.wish }}\" }";
    assert_eq!(codes(&file(odd, "", ""), &[]), ["F011"]);
}

#[test]
fn only_the_request_is_an_argument_of_a_call() {
    let (project, _) = example();
    let path = project.path().join("trip.yaml");
    let file = std::fs::read_to_string(&path).unwrap();
    let file = file.replace("default: Ulm }", "default: Ulm, untrusted: true }").replace("  lead:\n", "  lead:\n    policy: wary\n");
    let wary = "policies: { wary: { allowed_tools: [ask-chooser, ask-writer], untrusted: { otherwise: allow, ask-chooser(city): deny } } }\nsteps:";
    std::fs::write(&path, file.replace("steps:", wary)).unwrap();
    let ran = flow(project.path(), &["run", "trip.yaml", "--input", "wish=x"]);
    let record: Value = serde_json::from_str(&flow(project.path(), &["runs", "export"]).out).unwrap();
    let denied = record["decisions"].as_array().unwrap().iter().filter(|one| one["allowed"] == json!(false)).count();
    assert_eq!((ran.exit, denied), (0, 0), "{}", ran.err);
}

#[test]
fn a_test_that_leaves_out_the_number_of_a_call_is_told_which_ran() {
    let (project, _) = example();
    let path = project.path().join("trip.yaml");
    let file = std::fs::read_to_string(&path).unwrap();
    let expect = |steps: &str| {
        std::fs::write(&path, file.replace("expect: { result: { contains: Blautopf } }", &format!("expect: {{ steps: {{ {steps} }} }}")))
            .unwrap();
        flow(project.path(), &["test", "trip.yaml"])
    };
    assert_eq!(expect("\"plan/ask-chooser[2]/chooser\": succeeded").exit, 0);
    let told = expect("plan/ask-chooser/chooser: not_run");
    assert!(
        told.exit != 0 && format!("{}{}", told.out, told.err).contains("it ran as plan/ask-chooser[2]/chooser; write that"),
        "{}{}",
        told.out,
        told.err
    );
}
