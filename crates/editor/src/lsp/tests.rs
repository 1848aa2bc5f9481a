//! Tests the server through its messages, without a process.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::LanguageServer;
use crate::port::MemoryFiles;

const PIPELINE: &str = r#"flow: 1
name: hours
inputs:
  message: text
  tone: { type: text, enum: [formal, casual], default: formal }
imports: [team.yaml]
channels: [sms]
steps:
  - id: plan
    agent: planner
    prompt: "Plan {{ inputs.message }} in a {{ inputs.tone }} tone"
    output: { title: text, points: list }
  - id: draft
    agent: writer
    needs: [plan]
    prompt: |
      Write about {{ steps.plan.output.title }}.
      Say {{ steps.plan.output.points | join(", ") }}.
  - id: reply
    format: "{{ steps.draft.output }}"
outputs:
  text: "{{ steps.reply.output }}"
"#;
const TEAM: &str = "flow: 1\nagents:\n  planner: { instructions: You plan the answer. }\n  writer: { instructions: You write. }\n";

/// An editor with one project.
struct Editor {
    root: PathBuf,
    server: LanguageServer<'static>,
    ids: i64,
}

static DISK: LazyLock<MemoryFiles> = LazyLock::new(|| {
    MemoryFiles::from_iter([
        ("/project/flow.toml", ""),
        ("/project/team.yaml", TEAM),
        ("/project/channels/sms.yaml", "flow: 1\nchannel: sms\nmax_length: 160\n"),
    ])
});

impl Editor {
    fn new(encoding: &str) -> Editor {
        let mut editor = Editor { server: LanguageServer::new(&*DISK, Path::new("/project")), root: "/project".into(), ids: 0 };
        let params = json!({
            "rootUri": editor.uri(""),
            "capabilities": { "general": { "positionEncodings": [encoding] } },
            "initializationOptions": { "codePages": "https://example.com/codes" },
        });
        let answer = editor.ask("initialize", params);
        assert_eq!(answer["capabilities"]["positionEncoding"], encoding);
        editor
    }

    fn uri(&self, name: &str) -> String {
        url::Url::from_file_path(self.root.join(name)).unwrap().into()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.ids += 1;
        let answers = self.server.handle(&json!({ "jsonrpc": "2.0", "id": self.ids, "method": method, "params": params }));
        let [answer] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(answer["id"], self.ids);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    fn tell(&mut self, method: &str, params: Value) {
        assert!(self.server.handle(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).is_empty());
    }

    fn open(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        self.tell("textDocument/didOpen", json!({ "textDocument": { "uri": uri, "languageId": "yaml", "version": 1, "text": text } }));
    }

    fn change(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        self.tell("textDocument/didChange", json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": text }] }));
    }

    /// Lets the server check everything, and returns what it last published for each file.
    fn settle(&mut self) -> Vec<(String, Vec<Value>)> {
        let mut told: Vec<(String, Vec<Value>)> = vec![];
        while self.server.is_waiting() {
            for message in self.server.idle() {
                let uri = message["params"]["uri"].as_str().unwrap().to_owned();
                told.retain(|(other, _)| *other != uri);
                told.push((uri, message["params"]["diagnostics"].as_array().unwrap().clone()));
            }
        }
        told
    }

    fn codes(&mut self, name: &str) -> Vec<String> {
        let uri = self.uri(name);
        let told = self.settle().into_iter().find(|(other, _)| *other == uri).map(|(_, found)| found).unwrap_or_default();
        told.iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the position of `‸` in a text, and the text without it.
    fn at(name: &str, marked: &str, editor: &Editor) -> (String, Value) {
        let (before, after) = marked.split_once('‸').unwrap();
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap().encode_utf16().count();
        let place = json!({ "textDocument": { "uri": editor.uri(name) }, "position": { "line": line, "character": character } });
        (format!("{before}{after}"), place)
    }

    /// Returns the proposals at `‸`, after a check of the valid file.
    fn proposed(&mut self, marked: &str) -> Vec<String> {
        self.open("hours.yaml", PIPELINE);
        self.settle();
        let (text, place) = Editor::at("hours.yaml", marked, self);
        self.change("hours.yaml", &text);
        let answer = self.ask("textDocument/completion", place);
        answer.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    }

    fn hover(&mut self, marked: &str) -> String {
        let (text, place) = Editor::at("hours.yaml", marked, self);
        self.open("hours.yaml", &text);
        self.settle();
        self.ask("textDocument/hover", place)["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    fn goal(&mut self, marked: &str) -> String {
        let (text, place) = Editor::at("hours.yaml", marked, self);
        self.open("hours.yaml", &text);
        self.settle();
        let goal = self.ask("textDocument/definition", place);
        let file = goal["uri"].as_str().unwrap_or_default().rsplit('/').next().unwrap().to_owned();
        format!("{file}:{}:{}", goal["range"]["start"]["line"], goal["range"]["start"]["character"])
    }
}

/// Returns the pipeline with one piece replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(PIPELINE.matches(old).count(), 1, "{old}");
    PIPELINE.replace(old, new)
}

#[test]
fn findings_come_after_typing_with_place_code_help_and_page() {
    let mut editor = Editor::new("utf-16");
    editor.open("hours.yaml", PIPELINE);
    assert_eq!(editor.codes("hours.yaml"), [""; 0]);
    editor.change("hours.yaml", &with("agent: writer", "agent: wrïter😀r"));
    let uri = editor.uri("hours.yaml");
    let told = editor.settle();
    let (_, found) = told.iter().find(|(other, _)| *other == uri).unwrap();
    let found = found.iter().find(|found| found["code"] == "F300").unwrap();
    assert_eq!(found["range"], json!({ "start": { "line": 13, "character": 11 }, "end": { "line": 13, "character": 20 } }));
    assert_eq!(found["severity"], 1);
    assert_eq!(found["codeDescription"]["href"], "https://example.com/codes/F300.md");
    assert!(found["message"].as_str().unwrap().contains("wrïter"));
    editor.change("hours.yaml", PIPELINE);
    assert_eq!(editor.settle().iter().find(|(other, _)| *other == uri).unwrap().1, [Value::Null; 0]);
}

#[test]
fn columns_count_bytes_where_the_editor_wants_it() {
    let mut editor = Editor::new("utf-8");
    editor.open("hours.yaml", &with("agent: writer", "agent: wrïter😀r"));
    let uri = editor.uri("hours.yaml");
    let told = editor.settle();
    let (_, found) = told.iter().find(|(other, _)| *other == uri).unwrap();
    let found = found.iter().find(|found| found["code"] == "F300").unwrap();
    assert_eq!(found["range"]["end"]["character"], 11 + "wrïter😀r".len());
}

#[test]
fn an_open_import_stands_over_the_one_on_disk_and_gets_its_own_findings() {
    let mut editor = Editor::new("utf-16");
    editor.open("hours.yaml", PIPELINE);
    editor.settle();
    editor.open("team.yaml", &TEAM.replace("  writer:", "  author:"));
    assert!(editor.codes("hours.yaml").contains(&"F300".to_owned()));
    editor.change("team.yaml", &TEAM.replace("instructions: You write.", "instruction: You write."));
    let told = editor.settle();
    let of = |name: &str| told.iter().find(|(uri, _)| uri.ends_with(name)).map(|(_, found)| found.clone()).unwrap_or_default();
    let codes: Vec<Value> = of("team.yaml").iter().map(|found| found["code"].clone()).collect();
    assert_eq!(codes, ["F002"], "told once, though two files are checked");
    editor.change("team.yaml", TEAM);
    assert_eq!(editor.codes("team.yaml"), [""; 0]);
}

#[test]
fn what_an_author_hides_stays_hidden() {
    let mut editor = Editor::new("utf-16");
    let unused = with("channels: [sms]", "models:\n  big: { provider: openai, model: x }\nchannels: [sms]");
    editor.open("hours.yaml", &unused);
    assert_eq!(editor.codes("hours.yaml"), ["F301"]);
    editor.change("hours.yaml", &unused.replace("model: x }", "model: x } # flow-ignore: F301 kept for March"));
    assert_eq!(editor.codes("hours.yaml"), [""; 0]);
}

#[test]
fn typing_costs_one_check_and_no_check_a_letter() {
    let mut editor = Editor::new("utf-16");
    let steps: String =
        (0..1_000).map(|n| format!("  - id: s{n}\n    needs: []\n    set:\n      a: 1\n      b: \"{{{{ inputs.m }}}}\"\n")).collect();
    let text = format!("flow: 1\nname: long\ninputs: {{ m: text }}\nsteps:\n{steps}outputs: {{ x: \"{{{{ steps.s9.output.a }}}}\" }}\n");
    assert!(text.lines().count() > 5_000);
    editor.open("long.yaml", &text);
    editor.settle();
    let before = editor.server.checks();
    let uri = editor.uri("long.yaml");
    for letter in ["a", "b", "c", "d"] {
        let start = json!({ "line": 1, "character": 6 });
        let edit = json!({ "range": { "start": start, "end": start }, "text": letter });
        editor.tell("textDocument/didChange", json!({ "textDocument": { "uri": uri, "version": 3 }, "contentChanges": [edit] }));
        let place = json!({ "textDocument": { "uri": uri }, "position": { "line": 4000, "character": 4 } });
        editor.ask("textDocument/completion", place);
    }
    assert_eq!(editor.server.checks(), before, "requests wait for no check");
    editor.settle();
    assert_eq!(editor.server.checks(), before + 1);
}

#[test]
fn keys_are_proposed_at_every_level_with_what_they_mean() {
    let mut editor = Editor::new("utf-16");
    for (old, new, some, none) in [
        ("imports: [team.yaml]\n", "imports: [team.yaml]\nli‸\n", "limits", "agent"),
        ("    needs: [plan]\n", "    needs: [plan]\n    ‸\n", "when", "id"),
        ("    needs: [plan]\n", "    needs: [plan]\n    ti‸\n", "output_schema", "cases"),
        ("    needs: [plan]\n", "    needs: [plan]\n    retry: { back‸ }\n", "backoff", "needs"),
        ("    needs: [plan]\n", "    needs: [plan]\n    retry:\n      max_attempts: 2\n      ‸\n", "delay", "max_attempts"),
        ("    format: \"{{", "    ‸\n    format: \"{{", "style_guide", "prompt"),
        ("  - id: reply\n", "  - id: early\n    ‸\n  - id: reply\n", "agent", "prompt"),
        ("default: formal }", "default: formal, ‸ }", "pattern", "enum"),
        ("channels: [sms]", "agents:\n  poet:\n    inst‸\nchannels: [sms]", "instructions", "prompt"),
        ("    needs: [plan]\n", "    nee‸ds: [plan]\n", "needs", "id"),
    ] {
        let proposed = editor.proposed(&with(old, new));
        assert!(proposed.contains(&some.to_owned()) && !proposed.contains(&none.to_owned()), "{new:?} {proposed:?}");
    }
}

#[test]
fn ids_and_words_are_proposed_as_values() {
    let mut editor = Editor::new("utf-16");
    for (old, new, some, none) in [
        ("agent: writer", "agent: ‸", "planner", "plan"),
        ("agent: writer", "agent: wr‸", "writer", "stop"),
        ("needs: [plan]", "needs: [‸]", "plan", "draft"),
        ("needs: [plan]", "needs:\n      - ‸", "reply", "draft"),
        ("needs: [plan]", "on_failure: ‸", "continue", "draft"),
        ("needs: [plan]", "retry: { backoff: ‸ }", "linear", "plan"),
        ("channels: [sms]", "channels: [‸]", "sms", "sms.yaml"),
        ("message: text", "message: ‸", "datetime", "formal"),
        ("needs: [plan]", "once: ‸", "true", "plan"),
        ("  - id: reply\n", "  - id: check\n    gate: c‸\n    of: x\n  - id: reply\n", "card", "plan"),
        (
            "  - id: reply\n",
            "  - id: each\n    steps:\n      - { id: first, set: x }\n      - { id: check, gate: card, of: x, refine: ‸ }\n  - id: reply\n",
            "first",
            "draft",
        ),
    ] {
        let text = with(old, new).replace("channels:", "scorecards:\n  card: { criteria: [] }\nchannels:");
        let proposed = editor.proposed(&text);
        assert!(proposed.contains(&some.to_owned()) && !proposed.contains(&none.to_owned()), "{new:?} {proposed:?}");
    }
}

#[test]
fn names_and_filters_are_proposed_in_templates_and_expressions() {
    let mut editor = Editor::new("utf-16");
    for (old, new, some, none) in [
        ("{{ inputs.message }}", "{{ ‸ }}", "steps", "upper"),
        ("{{ inputs.message }}", "{{ inputs.‸ }}", "message", "steps"),
        ("{{ inputs.message }}", "{{ inputs.‸", "tone", "steps"),
        ("{{ steps.plan.output.title }}", "{{ steps.‸ }}", "plan", "draft"),
        ("{{ steps.plan.output.title }}", "{{ steps.plan.‸ }}", "output", "plan"),
        ("{{ steps.plan.output.title }}", "{{ steps.plan.output.ti‸ }}", "points", "output"),
        ("points | join", "points | ‸join", "length", "steps"),
        ("points | join(\", \") }}", "points | ‸ }}", "upper", "steps"),
        ("needs: [plan]", "when: steps.plan.output.‸", "title", "plan"),
        ("needs: [plan]", "when: inputs.tone == 'x' and ‸", "inputs", "upper"),
        ("needs: [plan]", "for_each: steps.plan.output.points\n    name: \"{{ it‸ }}\"", "inputs", "title"),
    ] {
        let proposed = editor.proposed(&with(old, new));
        assert!(proposed.contains(&some.to_owned()) && !proposed.contains(&none.to_owned()), "{new:?} {proposed:?}");
    }
}

#[test]
fn steps_inside_a_route_are_proposed_to_those_beside_them_only() {
    let mut editor = Editor::new("utf-16");
    let route = "  - id: way\n    route: inputs.message\n    cases:\n      - { id: inner, phrases: [x], set: 1 }\n  - id: late\n    set: \"{{ steps.‸way.output }}\"\n  - id: reply\n";
    let (text, place) = Editor::at("hours.yaml", &with("  - id: reply\n", route), &editor);
    editor.open("hours.yaml", &text);
    editor.settle();
    let answer = editor.ask("textDocument/completion", place);
    let labels: Vec<&str> = answer.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap()).collect();
    assert!(labels.contains(&"way") && labels.contains(&"plan"), "{labels:?}");
    assert!(!labels.contains(&"inner") && !labels.contains(&"late"), "{labels:?}");
}

#[test]
fn a_file_that_cannot_be_read_keeps_its_last_good_names() {
    let mut editor = Editor::new("utf-16");
    let broken = with("agent: writer", "agent: ‸").replace("outputs:\n", "outputs: [\n\"}{\n");
    editor.open("hours.yaml", PIPELINE);
    editor.settle();
    editor.change("hours.yaml", &broken.replace('‸', ""));
    assert!(editor.codes("hours.yaml").contains(&"F001".to_owned()));
    let (text, place) = Editor::at("hours.yaml", &broken, &editor);
    editor.change("hours.yaml", &text);
    editor.settle();
    let answer = editor.ask("textDocument/completion", place);
    assert!(answer.as_array().unwrap().iter().any(|item| item["label"] == "writer"), "{answer}");
}

#[test]
fn a_proposal_replaces_the_word_that_was_begun() {
    let mut editor = Editor::new("utf-16");
    editor.open("hours.yaml", PIPELINE);
    editor.settle();
    let (text, place) = Editor::at("hours.yaml", &with("    needs: [plan]\n", "    needs: [plan]\n    tim‸e\n"), &editor);
    editor.change("hours.yaml", &text);
    let answer = editor.ask("textDocument/completion", place);
    let item = answer.as_array().unwrap().iter().find(|item| item["label"] == "timeout").unwrap();
    let range = json!({ "start": { "line": 15, "character": 4 }, "end": { "line": 15, "character": 8 } });
    assert_eq!(item["textEdit"], json!({ "range": range, "newText": "timeout: " }));
    assert_eq!(item["documentation"], "time for one attempt");
}

#[test]
fn hover_over_guarantees_tells_the_verdicts() {
    let mut editor = Editor::new("utf-16");
    let told = editor.hover(&with("steps:\n", "guaran‸tees: [secrets_kept]\nsteps:\n"));
    assert!(told.contains("- secrets_kept: holds") && told.contains("- bounded: "), "{told}");
}

#[test]
fn classes_of_untrusted_are_proposed_and_told() {
    let mut editor = Editor::new("utf-16");
    editor.open("hours.yaml", PIPELINE);
    editor.settle();
    let policy = |entries: &str| with("steps:\n", &format!("policies:\n  p:\n    untrusted: {{ {entries} }}\nsteps:\n"));
    for entries in ["rec‸", "addresses: ask, rec‸", "docs(name): ask, rec‸"] {
        let (text, place) = Editor::at("hours.yaml", &policy(entries), &editor);
        editor.change("hours.yaml", &text);
        let answer = editor.ask("textDocument/completion", place);
        let item = answer.as_array().unwrap().iter().find(|item| item["label"] == "recipients");
        assert_eq!(item.unwrap()["documentation"], "who gets something: e-mail addresses, phone numbers, accounts", "{entries}");
    }
    let (text, place) = Editor::at("hours.yaml", &policy("recipients: ask, docs(name): d‸"), &editor);
    editor.change("hours.yaml", &text);
    let answer = editor.ask("textDocument/completion", place);
    assert!(answer.as_array().unwrap().iter().any(|item| item["label"] == "deny"), "{answer}");
    for entries in ["recip‸ients: ask", "docs: ask, recip‸ients: ask"] {
        let told = editor.hover(&policy(entries));
        assert!(told.contains("who gets something"), "{told}");
    }
}

#[test]
fn hover_tells_keys_findings_steps_agents_and_values() {
    let mut editor = Editor::new("utf-16");
    for (old, new, words) in [
        ("    needs: [plan]", "    ne‸eds: [plan]", "the steps that must be over before it"),
        ("needs: [plan]", "needs: [pl‸an]", "**step plan**"),
        ("agent: writer", "agent: wri‸ter", "You write."),
        ("agent: writer", "agent: wri‸ters", "**F300 unknown-reference**"),
        ("\"Plan {{ inputs.message", "\"Plan {{ inputs.mess‸age", "text"),
        ("format: \"{{ steps.draft", "format: \"{{ steps.dr‸aft", "agent"),
    ] {
        let told = editor.hover(&with(old, new));
        assert!(told.contains(words), "{new:?} {told:?}");
    }
}

#[test]
fn definitions_are_found_in_this_file_and_in_others() {
    let mut editor = Editor::new("utf-16");
    for (old, new, goal) in [
        ("agent: writer", "agent: wri‸ter", "team.yaml:3:2"),
        ("needs: [plan]", "needs: [pl‸an]", "hours.yaml:8:8"),
        ("imports: [team.yaml]", "imports: [te‸am.yaml]", "team.yaml:0:0"),
        ("channels: [sms]", "channels: [s‸ms]", "sms.yaml:0:0"),
        ("\"Plan {{ inputs.message", "\"Plan {{ inputs.mess‸age", "hours.yaml:3:2"),
        ("format: \"{{ steps.draft", "format: \"{{ steps.dr‸aft", "hours.yaml:12:8"),
    ] {
        assert_eq!(editor.goal(&with(old, new)), goal, "{new:?}");
    }
}

#[test]
fn a_finding_offers_its_edit_and_the_names_that_were_perhaps_meant() {
    let mut editor = Editor::new("utf-16");
    for (old, new, line, title, is_safe, text) in [
        ("    needs: [plan]", "    depends_on: [plan]", 14, "Write needs", true, "needs"),
        ("    needs: [plan]", "    nedes: [plan]", 14, "Write needs", false, "needs"),
        ("needs: [plan]", "needs: [plna]", 14, "Write plan", false, "plan"),
        ("agent: writer", "agent: \"writter\"", 13, "Write writer", false, "\"writer\""),
    ] {
        editor.open("hours.yaml", &with(old, new));
        editor.settle();
        let uri = editor.uri("hours.yaml");
        let range = json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 40 } });
        let actions = editor
            .ask("textDocument/codeAction", json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } }));
        let action = actions.as_array().unwrap().iter().find(|action| action["title"] == title);
        let action = action.unwrap_or_else(|| panic!("{new:?} {actions}"));
        assert_eq!(action["isPreferred"], is_safe);
        assert_eq!(action["edit"]["changes"][&uri][0]["newText"], text);
        editor.change("hours.yaml", PIPELINE);
        let actions = editor
            .ask("textDocument/codeAction", json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } }));
        assert_eq!(actions, json!([]), "edits of an older text are not offered");
    }
}

#[test]
fn strange_messages_change_nothing() {
    let mut editor = Editor::new("utf-16");
    editor.open("hours.yaml", PIPELINE);
    let uri = editor.uri("hours.yaml");
    for params in [
        json!(null),
        json!([]),
        json!({ "textDocument": 3 }),
        json!({ "textDocument": { "uri": "untitled:x" }, "position": { "line": 0, "character": 0 } }),
        json!({ "textDocument": { "uri": uri }, "position": { "line": -1, "character": 0.5 } }),
        json!({ "textDocument": { "uri": uri }, "position": { "line": 99999999999_u64, "character": 99999999999_u64 } }),
        json!({ "textDocument": { "uri": uri }, "contentChanges": [{ "range": { "start": { "line": 9, "character": 9 }, "end": { "line": 0, "character": 0 } }, "text": "x" }] }),
    ] {
        for method in ["completion", "hover", "definition", "codeAction", "didOpen", "didChange", "didClose"] {
            let method = format!("textDocument/{method}");
            editor.server.handle(&json!({ "id": "a", "method": method, "params": params }));
            editor.server.handle(&json!({ "method": method, "params": params }));
            editor.settle();
        }
    }
    for message in [json!(1), json!([]), json!({}), json!({ "id": 1, "result": 2 }), json!({ "method": 5 })] {
        assert!(editor.server.handle(&message).is_empty());
    }
    let unknown = editor.server.handle(&json!({ "id": 5, "method": "textDocument/rename", "params": {} }));
    assert_eq!(unknown[0]["error"]["code"], -32601);
}

#[test]
fn requests_before_the_first_and_after_the_last_are_refused() {
    let mut server = LanguageServer::new(&*DISK, Path::new("/"));
    assert_eq!(server.handle(&json!({ "id": 1, "method": "textDocument/hover" }))[0]["error"]["code"], -32002);
    server.handle(&json!({ "id": 2, "method": "initialize", "params": {} }));
    assert_eq!(server.handle(&json!({ "id": 3, "method": "shutdown" }))[0]["result"], Value::Null);
    assert_eq!(server.handle(&json!({ "id": 4, "method": "textDocument/hover" }))[0]["error"]["code"], -32600);
    server.handle(&json!({ "method": "exit" }));
    assert!(server.has_ended() && server.was_shut_down());
}

#[test]
fn files_of_other_programs_are_left_alone() {
    let mut editor = Editor::new("utf-16");
    editor.open("compose.yaml", "services:\n  db: { image: x }\n");
    assert_eq!(editor.codes("compose.yaml"), [""; 0]);
    assert_eq!(editor.server.checks(), 0);
}

#[test]
fn every_place_of_every_beginning_of_a_file_can_be_asked_about() {
    let mut editor = Editor::new("utf-8");
    editor.open("hours.yaml", PIPELINE);
    editor.settle();
    let uri = editor.uri("hours.yaml");
    for (end, _) in PIPELINE.char_indices().step_by(7) {
        let text = &PIPELINE[..end];
        editor.change("hours.yaml", text);
        let (line, character) = (text.matches('\n').count(), text.rsplit('\n').next().unwrap().len());
        for method in ["completion", "hover", "definition"] {
            let place = json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
            editor.ask(&format!("textDocument/{method}"), place);
        }
    }
}
