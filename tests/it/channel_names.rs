//! `channel` and `style` hold the keys of their files, in a run as in the check.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::{Value, json};

use crate::program;

/// Writes a pipeline that reads a name and gives it out, and runs a command on it: exit code and standard output.
fn flow(folder: &Path, command: &str, head: &str, set: &str) -> (i32, String) {
    let yaml = format!("flow: 1\nname: a\n{head}steps:\n  - {{ id: s, set: {set} }}\noutputs: {{ s: \"{{{{ steps.s.output }}}}\" }}\n");
    std::fs::write(folder.join("a.yaml"), yaml).unwrap();
    let ran = program::flow(folder, &[command, "a.yaml"]);
    (ran.exit, ran.out)
}

fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("flow.toml", ""),
        (
            "channels/chat.yaml",
            "flow: 1\nchannel: chat\ndescription: A chat.\nmax_length: 90\nlength_unit: utf16\nmarkdown: [bold, lists]\nemojis: false\n\
             split: { at: word, most_parts: 3, indicator: \"{part}.\" }\ntoo_long: More.\nbody: markup\n\
             markup: { bold: \"*\", bullet: \"- \", escape: { \"*\": x }, lookalike: { \"_\": y } }\n",
        ),
        ("channels/bare.yaml", "flow: 1\nchannel: bare\n"),
        (
            "style_guides/acme.yaml",
            "flow: 1\nstyle_guide: acme\nversion: \"2\"\nbrand_name: Acme\npersonality: Kind.\ntone: { default: plain }\n\
             emojis: { enabled: true, success: \"✅\" }\nhumor: { enabled: true, style: dry }\n\
             formatting: { greeting: Good day, sign_off: true, use_user_name: true }\n\
             words: { prefer: { units: hours }, avoid: [utilise], banned: [cheap] }\n",
        ),
    ] {
        let file = project.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    project
}

/// What a name holds in a run.
fn value(folder: &Path, head: &str, name: &str) -> Value {
    let (exit, out) = flow(folder, "run", head, &format!("\"{{{{ {name} }}}}\""));
    assert_eq!(exit, 0, "{out}");
    let mut value: Value = serde_json::from_str(&out).unwrap();
    assert!(value["prompt"].is_string());
    value["prompt"].take();
    value
}

/// All paths of a value: `split`, `split.at`, …; not into what an author names freely.
fn paths(value: &Value, before: &str) -> Vec<String> {
    let Value::Object(fields) = value else { return vec![] };
    let inside = |(name, value): (&String, &Value)| {
        let path = format!("{before}.{name}");
        let below = if ["escape", "lookalike", "prefer"].contains(&name.as_str()) { vec![] } else { paths(value, &path) };
        [vec![path], below].concat()
    };
    fields.iter().flat_map(inside).collect()
}

#[test]
fn channel_holds_the_keys_of_its_file() {
    let project = project();
    let chat = json!({
        "name": "chat", "description": "A chat.", "max_length": 90, "length_unit": "utf16", "markdown": ["bold", "lists"], "emojis": false,
        "split": { "at": "word", "most_parts": 3, "indicator": "{part}." }, "too_long": "More.", "body": "markup",
        "markup": {
            "bold": "*", "italic": null, "strike": null, "code": null, "bullet": "- ", "link": null, "heading": null, "table": null,
            "escape": { "*": "x" }, "lookalike": { "_": "y" },
        },
        "prompt": null,
    });
    assert_eq!(value(project.path(), "channels: [chat]\n", "channel"), chat);
    let bare = value(project.path(), "channels: [bare]\n", "channel");
    assert_eq!(json!([bare["length_unit"], bare["body"], bare["markdown"], bare["emojis"]]), json!(["characters", "text", [], true]));
    assert_eq!(bare["split"], json!({ "at": null, "most_parts": 1, "indicator": "" }), "without split there is one part");
    assert_eq!(paths(&bare, ""), paths(&chat, ""));
}

#[test]
fn without_a_channel_and_a_style_guide_their_names_are_empty_at_any_depth() {
    let project = project();
    for name in ["channel", "channel.name", "channel.markup.bold", "style", "style.prompt", "style.words.banned"] {
        let (exit, out) = flow(project.path(), "run", "", &format!("\"({{{{ {name} }}}})\""));
        assert_eq!((exit, out.trim_end()), (0, "()"), "{name}");
    }
}

#[test]
fn style_holds_the_keys_of_its_file() {
    let project = project();
    let style = value(project.path(), "style_guide: acme\n", "style");
    assert_eq!(style["formatting"], json!({ "greeting": "Good day", "sign_off": true, "use_user_name": true }));
    assert_eq!(style["words"], json!({ "prefer": { "units": "hours" }, "avoid": ["utilise"], "banned": ["cheap"] }));
    assert_eq!(json!([style["name"], style["version"], style["tone"]["default"]]), json!(["acme", "2", "plain"]));
}

#[test]
fn the_check_knows_the_same_fields_and_no_others() {
    let project = project();
    for (name, head) in [("channel", "channels: [chat]\n"), ("style", "style_guide: acme\n")] {
        let paths = paths(&value(project.path(), head, name), name);
        assert!(paths.len() > 15, "{paths:?}");
        let read = |path: &str| format!("\"{{{{ {path} }}}}\"");
        let all: Vec<String> = paths.iter().map(|path| read(path)).collect();
        let (exit, out) = flow(project.path(), "validate", head, &format!("[{}]", all.join(", ")));
        assert_eq!(exit, 0, "{out}");
        for path in paths.iter().filter(|path| !["escape", "lookalike", "prefer"].iter().any(|name| path.ends_with(name))) {
            let (above, _) = path.rsplit_once('.').unwrap();
            let (exit, out) = flow(project.path(), "validate", head, &read(&format!("{above}.nonsense")));
            assert!(exit == 1 && out.contains("error[F202]"), "{above}: {out}");
        }
    }
}
