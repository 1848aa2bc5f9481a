//! `flow graph`, `flow plan` and `flow explain FILE`, through the program: goldens are in `tests/draw/goldens`. With
//! `FLOW_UPDATE_DRAWN` set the goldens are written instead of compared.

use std::path::PathBuf;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::program::{Ran, flow as flow_in};
use crate::reference_systems::project;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn flow(arguments: &[&str]) -> Ran {
    flow_in(&root(), arguments)
}

/// The pipelines that are drawn, and the names of their goldens.
const PIPELINES: [(&str, &str); 5] = [
    ("timesheet", "pipelines/timesheet/pipeline.yaml"),
    ("everything", "tests/draw/everything.yaml"),
    ("counted", "tests/draw/counted.yaml"),
    ("hostile", "tests/draw/hostile.yaml"),
    ("cities", "tests/golden/cities/pipeline.yaml"),
];

fn golden(name: &str, found: &str) {
    let path = root().join("tests/draw/goldens").join(name);
    if std::env::var_os("FLOW_UPDATE_DRAWN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{name} differs; look at it, then run with FLOW_UPDATE_DRAWN=1\n{}", similar(&expected, found));
}

/// The first lines that differ.
fn similar(expected: &str, found: &str) -> String {
    let differ = expected.lines().zip(found.lines()).enumerate().filter(|(_, (one, other))| one != other).take(5);
    differ.map(|(line, (one, other))| format!("line {}:\n- {one}\n+ {other}\n", line + 1)).collect()
}

#[test]
fn every_pipeline_is_drawn_in_every_format_as_its_golden_says() {
    for (name, file) in PIPELINES {
        for (format, ending) in [("mermaid", "mmd"), ("dot", "dot"), ("svg", "svg"), ("json", "json")] {
            let ran = flow(&["-q", "graph", file, "--format", format]);
            assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{name} {format}");
            golden(&format!("{name}.{ending}"), &ran.out);
        }
    }
    let plain = flow(&["graph", "-q", PIPELINES[1].1]).out;
    assert_eq!(plain, flow(&["graph", "-q", PIPELINES[1].1, "--format", "mermaid"]).out, "mermaid is what comes without a format");
    assert!(flow(&["graph", "-q", PIPELINES[1].1, "--json"]).out.starts_with('{'));
}

#[test]
fn plans_and_explanations_are_as_their_goldens_say() {
    let given = ["--now", "2026-11-18T09:00:00Z"];
    for (name, file) in &PIPELINES[..3] {
        let plan = |more: &[&str]| flow(&[&["-q", "plan", file, "--input", "message=How was last week?"], &given[..], more].concat());
        let shown = plan(&[]);
        assert_eq!((shown.exit, shown.err.as_str()), (0, ""), "{name}");
        golden(&format!("{name}.plan.txt"), &shown.out);
        golden(&format!("{name}.plan.json"), &plan(&["--json"]).out);
        golden(&format!("{name}.explained.txt"), &flow(&["-q", "explain", file]).out);
    }
}

/// An element's name, and its attributes with their values.
type Element = (String, Vec<(String, String)>);

/// All elements of a well-formed document, and all its texts.
fn parts(svg: &str) -> (Vec<Element>, Vec<String>) {
    let mut reader = Reader::from_str(svg);
    reader.config_mut().check_end_names = true;
    let (mut elements, mut texts, mut text) = (vec![], vec![], String::new());
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} at {}", reader.error_position())) {
            Event::Start(start) | Event::Empty(start) => {
                let name = start.name().as_ref().to_string();
                let attributes = start.attributes().map(|attribute| {
                    let attribute = attribute.unwrap();
                    let value = attribute.value.to_string();
                    (attribute.key.as_ref().to_string(), value)
                });
                elements.push((name, attributes.collect()));
                text.clear();
            }
            Event::Text(piece) => text.push_str(&piece),
            Event::GeneralRef(name) => text.push_str(&format!("&{};", &*name)),
            Event::End(_) => texts.push(std::mem::take(&mut text)),
            Event::Eof => return (elements, texts),
            other => panic!("an SVG of ours has no {other:?}"),
        }
    }
}

#[test]
fn an_svg_is_sound_xml_without_script_or_anything_from_elsewhere_whatever_the_names_say() {
    let known = ["svg", "title", "desc", "style", "defs", "marker", "path", "rect", "g", "text"];
    for (name, file) in PIPELINES {
        let svg = flow(&["-q", "graph", file, "--format", "svg"]).out;
        let (elements, texts) = parts(&svg);
        for (element, attributes) in &elements {
            assert!(known.contains(&element.as_str()), "{name}: <{element}>");
            for (attribute, value) in attributes {
                let is_ours = !attribute.starts_with("on") && !attribute.contains("href");
                let is_local = attribute == "xmlns" || !value.contains("http") && (!value.contains("url(") || value.contains("url(#"));
                assert!(is_ours && is_local, "{name}: {attribute}={value}");
            }
        }
        let title = texts.iter().any(|text| text == &format!("Pipeline {name}"));
        assert!(title && elements.iter().any(|(element, _)| element == "desc"), "{name}: for those who cannot see it");
    }
}

#[test]
fn dot_and_mermaid_hold_every_name_in_balanced_quotes() {
    for (name, file) in PIPELINES {
        for (format, escape) in [("mermaid", None), ("dot", Some('\\'))] {
            let text = flow(&["-q", "graph", file, "--format", format]).out;
            for line in text.lines() {
                let (mut inside, mut is_escaped, mut outside) = (false, false, String::new());
                for c in line.chars() {
                    match c {
                        _ if is_escaped => is_escaped = false,
                        _ if inside && Some(c) == escape => is_escaped = true,
                        '"' => inside = !inside,
                        _ if !inside => outside.push(c),
                        _ => {}
                    }
                }
                assert!(!inside, "{name} {format}: {line}");
                let is_free = !["script", "javascript", "click", "href", "onerror", "<"].iter().any(|word| outside.contains(word));
                assert!(is_free || outside.trim().starts_with("accDescr"), "{name} {format}: {line}");
            }
        }
    }
}

#[test]
fn what_really_ran_is_drawn_with_its_statuses_and_from_the_record_alone_where_the_file_has_changed() {
    let project = project();
    let folder = project.path();
    let file = "pipelines/timesheet/pipeline.yaml";
    assert_eq!(flow_in(folder, &["run", file, "--input", "message=Check my timesheet"]).exit, 0);
    let runs: serde_json::Value = serde_json::from_str(&flow_in(folder, &["runs", "list", "--json"]).out).unwrap();
    let id = runs[0]["run"].as_str().unwrap();
    let drawn = flow_in(folder, &["graph", "--run", id, "--format", "json"]);
    assert_eq!((drawn.exit, drawn.err.as_str()), (0, ""));
    let drawn: serde_json::Value = serde_json::from_str(&drawn.out).unwrap();
    let nodes = |list: &serde_json::Value| list["nodes"].as_array().unwrap().clone();
    let status = |nodes: &[serde_json::Value], path: &str| {
        nodes.iter().find(|node| node["path"] == path).unwrap_or_else(|| panic!("no {path}"))["state"]["status"]
            .as_str()
            .unwrap()
            .to_string()
    };
    let steps = nodes(&drawn["sections"][0]);
    let found: Vec<String> = ["plan", "facts", "compose", "validate", "deliver"].iter().map(|path| status(&steps, path)).collect();
    assert_eq!(found, ["succeeded"; 5]);
    let cases = nodes(&steps[2]["inner"]);
    assert_eq!((status(&cases, "plan/week").as_str(), status(&cases, "plan/today").as_str()), ("succeeded", "not run"));
    let cases = nodes(&steps[4]["inner"]);
    assert_eq!((status(&cases, "facts/hours").as_str(), status(&cases, "facts/projects").as_str()), ("succeeded", "not run"));
    assert_eq!(drawn["sections"].as_array().unwrap().len(), 1, "on_failure did not run");
    let svg = flow_in(folder, &["graph", "--run", id, "--format", "svg"]).out;
    let (_, texts) = parts(&svg);
    assert!(texts.iter().any(|text| text.starts_with("succeeded · ")) && texts.iter().any(|text| text.starts_with("Run ")), "{svg}");

    let path = folder.join(file);
    let changed = std::fs::read_to_string(&path).unwrap() + "\n# changed\n";
    std::fs::write(&path, changed).unwrap();
    let alone = flow_in(folder, &["graph", "--run", id]);
    assert_eq!(alone.exit, 0);
    assert!(alone.err.contains("has changed since"), "{}", alone.err);
    assert!(alone.out.contains("facts/hours/total") && alone.out.contains("-->"), "{}", alone.out);
    assert_eq!(flow_in(folder, &["graph", "--run", "r_none"]).exit, 2);
}

#[test]
fn errors_missing_files_and_wrong_inputs_end_as_for_a_run() {
    let file = "tests/draw/everything.yaml";
    let broken = "tests/check/err/F100_step_that_does_not_exist.yaml";
    for command in ["graph", "plan", "explain"] {
        let ran = flow(&[command, broken]);
        assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{command}");
        assert!(ran.err.contains("error[F100]") && ran.err.contains("nothing was started"), "{command}: {}", ran.err);
        let ran = flow(&[command, "tests/draw/nothing.yaml"]);
        assert_eq!((ran.exit, ran.out.as_str()), (4, ""), "{command}: {}", ran.err);
        assert_eq!(flow(&[command, "channels/sms.yaml"]).exit, 2, "{command}");
    }
    for (wrong, said) in [
        (vec!["--input", "mesage=x"], "did you mean \"message\"?"),
        (vec!["--input", "cities=5"], "cities"),
        (vec!["--channel", "sms"], "it lists no channels"),
        (vec!["--now", "today"], "--now today"),
        (vec!["--deadline", "5"], "--deadline"),
    ] {
        let ran = flow(&[&["plan", file], &wrong[..]].concat());
        assert_eq!(ran.exit, 2, "{wrong:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{wrong:?}: {}", ran.err);
    }
    let ran = flow(&["explain", "F10x"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.err.contains("did you mean \"F10"), "{}", ran.err);
    assert!(flow(&["explain", "cycle"]).out.starts_with("# F101"), "a code is still explained");
}

#[test]
fn a_dry_run_shows_the_plan_and_leaves_nothing_behind() {
    let project = project();
    let file = "pipelines/timesheet/pipeline.yaml";
    let dry = flow_in(project.path(), &["run", file, "--dry-run", "--input", "message=hi", "--now", "2026-11-18T09:00:00Z"]);
    let plan = flow_in(project.path(), &["plan", file, "--input", "message=hi", "--now", "2026-11-18T09:00:00Z"]);
    assert_eq!((dry.exit, &dry.out), (0, &plan.out));
    assert!(dry.out.contains("Question: hi\n"), "{}", dry.out);
    assert!(!project.path().join(".flow").exists(), "no run is kept");
    let nobody = flow_in(project.path(), &["plan", file, "--input", "person=p99"]);
    assert_eq!((nobody.exit, nobody.err.trim()), (2, "person \"p99\" not found in table \"people\""));
}

#[test]
fn elements_and_the_second_round_of_a_run_are_told_in_its_picture() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "flow: 1
name: small
inputs: { what: { type: text, default: x } }
models: { default: { provider: scripted, replies: small.replies.yaml } }
agents: { writer: { instructions: You write. } }
scorecards: { card: { criteria: [{ id: long_enough, description: The text is long enough., check: { min_length: 5 } }] } }
steps:
  - { id: each, for_each: [1, 2, 3], set: \"{{ 10 // (item - 2) }}\", on_failure: continue }
  - { id: write, agent: writer, prompt: \"{{ steps.each.output }} {{ refinement.feedback }} {{ inputs.what }}\" }
  - { id: check, gate: card, of: steps.write.output, refine: write, otherwise: Sorry. }
outputs: { text: \"{{ steps.check.output }}\" }
";
    std::fs::write(folder.path().join("small.yaml"), pipeline).unwrap();
    std::fs::write(folder.path().join("small.replies.yaml"), "flow: 1\nreplies: { write: [abc, abcdefgh] }\n").unwrap();
    let ran = flow_in(folder.path(), &["run", "small.yaml", "--json"]);
    let ran: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!((&ran["status"], &ran["outputs"]["text"]), (&"partial".into(), &"abcdefgh".into()));
    let drawn = flow_in(folder.path(), &["graph", "--run", ran["run_id"].as_str().unwrap(), "--json"]);
    let drawn: serde_json::Value = serde_json::from_str(&drawn.out).unwrap_or_else(|_| panic!("{}", drawn.err));
    let nodes = &drawn["sections"][0]["nodes"];
    let element = &nodes[0]["inner"]["nodes"][0]["state"];
    assert_eq!((&element["status"], &element["note"]), (&"mixed".into(), &"2 of 3 succeeded, 1 failed: wrong_type".into()));
    let refined: Vec<bool> = (0..3).map(|place| nodes[place]["state"]["is_refined"] == true).collect();
    assert_eq!(refined, [false, true, true], "{nodes}");
}

#[test]
fn a_second_round_inside_a_loop_is_told_in_the_picture_beside_the_way_to_the_next_round() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = "flow: 1
name: small
models: { default: { provider: scripted, replies: small.replies.yaml } }
agents: { writer: { instructions: You write. } }
scorecards: { card: { criteria: [{ id: long_enough, description: The text is long enough., check: { min_length: 5 } }] } }
steps:
  - id: again
    repeat: { until: steps.check.details.passed, at_most: 3 }
    steps:
      - { id: write, agent: writer, prompt: \"{{ previous.check.output }}\" }
      - { id: check, gate: card, of: steps.write.output, refine: write, otherwise: Sorry. }
outputs: { text: \"{{ steps.again.output.check }}\" }
";
    std::fs::write(folder.path().join("small.yaml"), pipeline).unwrap();
    std::fs::write(folder.path().join("small.replies.yaml"), "flow: 1\nreplies: { again/write: [abc, abcd, abc, abcdefgh] }\n").unwrap();
    let ran = flow_in(folder.path(), &["run", "small.yaml", "--json"]);
    let ran: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!((&ran["status"], &ran["outputs"]["text"]), (&"succeeded".into(), &"abcdefgh".into()));
    let run = ran["run_id"].as_str().unwrap();
    let drawn = flow_in(folder.path(), &["graph", "--run", run, "--json"]);
    let drawn: serde_json::Value = serde_json::from_str(&drawn.out).unwrap_or_else(|_| panic!("{}", drawn.err));
    let inside = &drawn["sections"][0]["nodes"][0]["inner"];
    assert_eq!([0, 1].map(|place| inside["nodes"][place]["state"]["is_refined"] == true), [true, true], "{inside}");
    // The two ways back from the gate to the draft have their own columns.
    let svg = flow_in(folder.path(), &["graph", "--run", run, "--format", "svg"]).out;
    let ways = svg.split("<path class=\"back\" d=\"M").skip(1).filter_map(|way| way.split_once('L')?.1.split(' ').next());
    let columns: Vec<&str> = ways.collect();
    assert!(columns.len() == 2 && columns[0] != columns[1], "{columns:?} {svg}");
}

#[test]
fn a_chain_of_calls_that_doubles_at_each_link_is_planned_and_explained() {
    // The last link is run 2 to the power of 40 times: whoever writes out each of them never ends.
    const LINKS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let head = |n: usize| format!("flow: 1\nname: link{n}\ndescription: A link.\ninputs: {{ list: {{ type: list, items: text }} }}\n");
    for n in 0..LINKS {
        let call = |id: &str| {
            format!(
                "  - {{ id: {id}, call: p{}.yaml, when: \"inputs.list | length > 0\", with: {{ list: \"{{{{ inputs.list }}}}\" }} }}\n",
                n + 1
            )
        };
        write(
            &format!("p{n}.yaml"),
            &format!("{}steps:\n{}{}outputs: {{ a: \"{{{{ [steps.a.output, steps.b.output] }}}}\" }}\n", head(n), call("a"), call("b")),
        );
    }
    let last = "models: { default: { provider: ollama, model: m } }\nagents: { writer: { instructions: You write. } }\nsteps:\n  - { id: each, for_each: inputs.list, agent: writer, prompt: \"{{ item }}\" }\noutputs: { a: \"{{ steps.each.output }}\" }\n";
    write(&format!("p{LINKS}.yaml"), &(head(LINKS) + last));
    let plan = flow_in(folder.path(), &["plan", "p0.yaml", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&plan.out).unwrap_or_else(|_| panic!("{}", plan.err));
    assert_eq!(found["open_calls"], serde_json::json!([[3u64 << LINKS, ["element of inputs.list"]]]));
    let told = flow_in(folder.path(), &["explain", "p0.yaml"]);
    assert_eq!((told.exit, told.out.contains("for each element of inputs.list")), (0, true), "{}{}", told.out, told.err);
}

#[test]
fn a_tab_in_a_text_stays_in_the_sentence_and_a_query_names_the_tables_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let text = "flow: 1\nname: tabs\ndescription: Tabs.\ninputs: { m: { type: text, default: x, description: \"Say\\thello\" } }\n\
        data: { hours: { file: h.csv }, entries: { file: e.csv } }\n\
        steps:\n  - { id: rows, sql: select hours from entries }\n\
        \x20 - { id: greet, route: inputs.m, cases: [{ id: one, when: inputs.m == 'x', steps: [{ id: a, set: \"x\\ty\" }] }], otherwise: { set: \"{{ steps.rows.output }}\" } }\n\
        outputs: { text: \"{{ steps.greet.output }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), text).unwrap();
    for name in ["h.csv", "e.csv"] {
        std::fs::write(folder.path().join(name), "hours\n1\n").unwrap();
    }
    for command in ["explain", "graph", "plan"] {
        let ran = flow_in(folder.path(), &[command, "p.yaml"]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert!(ran.out.contains("queries entries") && !ran.out.contains("queries hours"), "{}", ran.out);
        assert!(command != "explain" || ran.out.contains("\n  - m (x unless it is given). Say\\thello.\n"), "{}", ran.out);
    }
}
