//! Files that name each other.

use std::time::Duration;

use insta::assert_snapshot;

use super::*;
use crate::model::{Mock, PipelineId, ReplySet, StepKind};
use crate::port::{MemoryFiles, ReadFileError};

fn disk(files: &[(&str, &str)]) -> MemoryFiles {
    files.iter().copied().collect()
}

fn load_from(files: &[(&str, &str)]) -> Loaded {
    load(Path::new(files[0].0), Path::new(""), &disk(files))
}

fn told(loaded: &Loaded) -> String {
    let place = |span: Span| {
        let at = loaded.sources.start(span);
        format!("{}:{}:{}", loaded.sources.file(span.file).name, at.line, at.column)
    };
    let lines = loaded.diagnostics.iter().map(|d| {
        let related: Vec<String> = d.related.iter().map(|(span, label)| format!(" <{} {label}>", place(*span))).collect();
        format!("{} {} {}{}\n", d.code.id(), place(d.span), d.message, related.concat())
    });
    lines.collect()
}

fn findings(files: &[(&str, &str)]) -> String {
    told(&load_from(files))
}

const CHANNEL: &str = "flow: 1\nchannel: sms\n";
const ACME: &str = "flow: 1\nstyle_guide: acme\n";

#[test]
fn everything_a_pipeline_names_is_brought_together() {
    let loaded = load_from(&[
        (
            "work/a.yaml",
            "flow: 1\nname: a\nimports: [shared/team.yaml]\nchannels: [sms]\nstyle_guide: acme\ndata: { d: { file: d.csv } }\nsteps:\n  - { id: one, call: b.yaml }\n  - { id: two, call: b.yaml }\n",
        ),
        ("work/b.yaml", "flow: 1\nname: b\nsteps: [{ id: one, set: 1 }]\n"),
        ("work/d.csv", "a,b\n"),
        (
            "work/shared/team.yaml",
            "flow: 1\nimports: [more.yaml]\nagents: { w: { instructions: { file: w.md } } }\nmodels: { default: { provider: scripted, replies: r.yaml } }\n",
        ),
        ("work/shared/more.yaml", "flow: 1\nagents: { other: {} }\n"),
        ("work/shared/w.md", "Be brief, {{ inputs.name }}.\n"),
        ("work/shared/r.yaml", "flow: 1\nreplies: { one: Hello }\n"),
        ("work/channels/sms.yaml", CHANNEL),
        ("style_guides/acme.yaml", ACME),
    ]);
    assert_eq!(told(&loaded), "");
    assert_eq!(loaded.kind, FileKind::Pipeline);
    assert_eq!(loaded.program.pipelines.len(), 2);
    let a = &loaded.program.pipelines[0];
    assert_eq!(a.folder, Path::new("work"));
    assert_eq!(a.agents.keys().collect::<Vec<_>>(), ["w"], "imports are not passed on");
    let instructions = a.agents["w"].instructions.as_ref().unwrap();
    assert_eq!(&*instructions.source, "Be brief, {{ inputs.name }}.");
    let read = &instructions.reads[0];
    assert_eq!((loaded.sources.text(read.span), loaded.sources.file(read.span.file).name.as_str()), ("inputs.name", "work/shared/w.md"));
    assert_eq!(a.data["d"].file.value, Path::new("work/d.csv"));
    assert_eq!((a.channels[0].name.as_str(), a.style_guide.as_ref().unwrap().name.as_str()), ("sms", "acme"));
    let ids: Vec<_> = a.steps.iter().map(|step| if let StepKind::Call(call) = &step.kind { call.pipeline } else { None }).collect();
    assert_eq!(ids, [Some(crate::model::PipelineId(1)); 2], "a pipeline is loaded once");
}

#[test]
fn the_hash_changes_with_every_file_that_is_brought_in_and_with_no_other() {
    let files = [
        ("a.yaml", "flow: 1\nname: a\nimports: [t.yaml]\nchannels: [sms]\nsteps: [{ id: one, call: b.yaml }]\n"),
        ("b.yaml", "flow: 1\nname: b\nsteps: [{ id: one, format: x, style_guide: acme }]\n"),
        ("t.yaml", "flow: 1\nagents: { w: { instructions: { file: w.md } } }\n"),
        ("w.md", "Be brief.\n"),
        ("channels/sms.yaml", CHANNEL),
        ("style_guides/acme.yaml", ACME),
        ("other.yaml", "flow: 1\n"),
    ];
    let hash = |disk: &MemoryFiles| load(Path::new("a.yaml"), Path::new(""), disk).program.pipelines[0].hash.clone();
    let before = hash(&disk(&files));
    assert_eq!(before.len(), 64);
    assert_eq!(before, hash(&disk(&files)));
    for (path, _) in files {
        let mut changed = disk(&files);
        changed.0.get_mut(Path::new(path)).unwrap().push_str("# more\n");
        assert_eq!(hash(&changed) == before, path == "other.yaml", "{path}");
    }
}

#[test]
fn a_project_that_moves_keeps_its_hash() {
    let at = |folder: &str| {
        let file = format!("{folder}/a.yaml");
        let channel = format!("{folder}/channels/sms.yaml");
        let files = [(file.as_str(), "flow: 1\nname: a\nchannels: [sms]\nsteps: [{ id: one, set: 1 }]\n"), (channel.as_str(), CHANNEL)];
        load(Path::new(&file), Path::new(folder), &disk(&files)).program.pipelines[0].hash.clone()
    };
    assert_eq!(at("here"), at("there/deeper"));
}

#[test]
fn the_same_name_twice_is_a_clash() {
    assert_snapshot!(findings(&[
        ("a.yaml", "flow: 1\nname: a\nimports: [t.yaml, u.yaml, t.yaml]\nagents: { v: {} }\nsteps: [{ id: one, set: 1 }]\n"),
        ("t.yaml", "flow: 1\nagents: { w: {}, v: {} }\nsecrets: { KEY: The key }\n"),
        ("u.yaml", "flow: 1\nagents: { w: {} }\nsecrets: { KEY: The key }\n"),
    ]), @r#"
    F018 a.yaml:3:11 agent "v" comes from both this file and t.yaml <a.yaml:4:11 rename this, such as v_2> <t.yaml:2:18 the other one>
    F018 a.yaml:3:19 agent "w" comes from both t.yaml and u.yaml <t.yaml:2:11 rename this, such as w_2> <u.yaml:2:11 the other one>
    F018 a.yaml:3:19 secret "KEY" comes from both t.yaml and u.yaml <t.yaml:3:12 rename this, such as KEY_2> <u.yaml:3:12 the other one>
    F018 a.yaml:3:27 "t.yaml" is imported twice <a.yaml:3:11 first here>
    "#);
}

#[test]
fn imports_in_a_circle_are_told_with_their_path() {
    assert_snapshot!(findings(&[
        ("a.yaml", "flow: 1\nname: a\nimports: [x/t.yaml]\nsteps: [{ id: one, set: 1 }]\n"),
        ("x/t.yaml", "flow: 1\nimports: [u.yaml]\n"),
        ("x/u.yaml", "flow: 1\nimports: [../x/t.yaml]\n"),
    ]), @"F017 x/u.yaml:2:11 imports go in a circle: x/t.yaml -> x/u.yaml -> x/t.yaml <x/t.yaml:2:11 imported here> <a.yaml:3:11 imported here>");
    assert_snapshot!(findings(&[("t.yaml", "flow: 1\nimports: [t.yaml]\n")]), @"F017 t.yaml:2:11 imports go in a circle: t.yaml -> t.yaml");
}

#[test]
fn a_mistake_in_an_imported_file_tells_the_way_there() {
    assert_snapshot!(findings(&[
        ("a.yaml", "flow: 1\nname: a\nimports: [t.yaml]\nsteps: [{ id: one, set: 1 }]\n"),
        ("t.yaml", "flow: 1\nimports: [u.yaml]\n"),
        ("u.yaml", "flow: 1\nagent: {}\n"),
    ]), @r#"F002 u.yaml:2:1 unknown key "agent" in this file of shared definitions; did you mean "agents"? <t.yaml:2:11 imported here> <a.yaml:3:11 imported here>"#);
}

#[test]
fn files_that_are_missing_wrong_or_outside_are_told_where_they_are_named() {
    assert_snapshot!(findings(&[
        ("p/a.yaml", "flow: 1\nname: a\nimports: [taem.yaml, b.yaml, ../../etc/team.yaml]\nchannels: [smss, mail]\nsteps: [{ id: one, call: team.yaml }, { id: two, call: x/y.yaml }]\n"),
        ("p/team.yaml", "flow: 1\n"),
        ("p/b.yaml", "flow: 1\nname: b\nsteps: [{ id: one, set: 1 }]\n"),
        ("p/channels/sms.yaml", CHANNEL),
        ("p/channels/mail.yaml", "flow: 1\nchannel: email\n"),
    ]), @r#"
    F016 p/a.yaml:3:11 cannot read "taem.yaml", imported here: no such file; did you mean "team.yaml"?
    F016 p/a.yaml:3:22 cannot import "b.yaml": it is a pipeline, not one of shared definitions
    F604 p/a.yaml:3:30 "../../etc/team.yaml" is outside the project folder
    F025 p/a.yaml:4:12 channel "smss" does not exist; did you mean "sms"?
    F025 p/a.yaml:5:26 pipeline "team.yaml" is a file of shared definitions
    F025 p/a.yaml:5:56 pipeline "x/y.yaml" does not exist
    F007 p/channels/mail.yaml:2:10 this channel is called by the name of its file, "mail", but says "email"
    "#);
    assert_snapshot!(told(&load(Path::new("none.yaml"), Path::new(""), &disk(&[]))), @r#"F025 none.yaml:1:1 cannot read "none.yaml": no such file"#);
}

#[test]
fn pipelines_that_call_each_other_in_a_circle_are_told_once() {
    let calls = |name: &str, file: &str| format!("flow: 1\nname: {name}\nsteps: [{{ id: one, call: {file} }}]\n");
    let files = [("a.yaml", calls("a", "b.yaml")), ("b.yaml", calls("b", "c.yaml")), ("c.yaml", calls("c", "b.yaml"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_snapshot!(findings(&files), @"F107 b.yaml:3:26 this pipeline calls itself: b.yaml -> c.yaml -> b.yaml <c.yaml:3:26 called here>");
    assert_snapshot!(findings(&[("a.yaml", "flow: 1\nname: a\nsteps: [{ id: r, route: inputs.x, cases: [{ id: c, when: x, call: a.yaml }] }]\n")]), @"F107 a.yaml:3:67 this pipeline calls itself: a.yaml -> a.yaml");
    assert_snapshot!(findings(&[("a.yaml", "flow: 1\nname: a\ntools: { me: { pipeline: a.yaml } }\nsteps: [{ id: one, set: 1 }]\n")]), @"");
    let own = "flow: 1\nname: a\ntools: { me: { pipeline: a.yaml } }\nmodels: { m: { provider: tool, tool: me } }\nagents: { x: { model: m } }\nsteps: [{ id: one, agent: x, prompt: x }]\n";
    assert_snapshot!(findings(&[("a.yaml", own)]), @"F107 a.yaml:4:38 this pipeline calls itself: a.yaml -> a.yaml");
}

#[test]
fn imports_end_at_their_bounds() {
    let mut deep: Vec<(String, String)> =
        (0..20).map(|i| (format!("f{i}.yaml"), format!("flow: 1\nimports: [f{}.yaml]\n", i + 1))).collect();
    deep.push(("f20.yaml".to_owned(), "flow: 1\n".to_owned()));
    let files: Vec<(&str, &str)> = deep.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let found = findings(&files);
    assert!(found.contains("F016 f15.yaml:2:11 cannot read \"f16.yaml\": imports go more than 16 files deep"), "{found}");

    let names: Vec<String> = (0..300).map(|i| format!("f{i}.yaml")).collect();
    let mut many = disk(&[("a.yaml", &format!("flow: 1\nimports: [{}]\n", names.join(", ")))]);
    many.0.extend(names.iter().map(|name| (PathBuf::from(name), "flow: 1\n".to_owned())));
    let loaded = load(Path::new("a.yaml"), Path::new(""), &many);
    assert_eq!(loaded.sources.files().count(), 256);
    assert!(told(&loaded).contains("cannot read \"f255.yaml\": more than 256 files are brought in"));

    let big = format!("flow: 1\ndescription: {}\n", "x".repeat(1_000_000));
    for text in many.0.values_mut().skip(1) {
        text.clone_from(&big);
    }
    let loaded = load(Path::new("a.yaml"), Path::new(""), &many);
    assert_eq!(loaded.sources.files().count(), 9);
    assert!(told(&loaded).contains("larger than 8 MiB together"));
}

#[test]
fn a_test_brings_its_pipeline() {
    let files = [
        ("t/a.test.yaml", "flow: 1\ntest: ../a.yaml\ncases: [{ id: one, mocks: { x: 1 }, replies: { y: Hi }, golden: true }]\n"),
        ("a.yaml", "flow: 1\nname: a\nsteps: [{ id: one, set: 1 }]\n"),
    ];
    let loaded = load_from(&files);
    assert_eq!((told(&loaded), loaded.kind), (String::new(), FileKind::Test));
    let test = loaded.tests.unwrap();
    assert_eq!(test.pipeline.value, Path::new("a.yaml"));
    assert_eq!(test.cases[0].mocks.get("x").unwrap().value, Mock::Output(1.into()));
    assert!(matches!(test.cases[0].replies.get("y"), Some(ReplySet::Every(_))));
    assert_eq!(loaded.program.pipelines[0].name.value, "a");
    assert_snapshot!(findings(&[("a.test.yaml", "flow: 1\ntest: b.yaml\ncases: [{ id: one }]\n"), ("b.yaml", "flow: 1\n")]), @r#"F025 a.test.yaml:2:7 "b.yaml" is a file of shared definitions, not a pipeline"#);
}

#[test]
fn tests_inside_a_pipeline_are_its_own() {
    let loaded = load_from(&[("a.yaml", "flow: 1\nname: a\nsteps: [{ id: one, set: 1 }]\ntests: [{ id: t, expect: { exit: 0 } }]\n")]);
    assert_eq!(told(&loaded), "");
    assert_eq!(loaded.tests.unwrap().cases[0].id.value, "t");
}

#[test]
fn the_project_is_the_nearest_folder_with_its_settings() {
    let files = disk(&[("p/flow.toml", ""), ("p/x/y/a.yaml", ""), ("q/a.yaml", "")]);
    assert_eq!(project_of(Path::new("p/x/y/a.yaml"), Path::new("here"), &Real(&files)), Path::new("p"));
    assert_eq!(project_of(Path::new("q/a.yaml"), Path::new("here"), &Real(&files)), Path::new("here"));
}

/// A disk whose paths are real as they are.
struct Real<'f>(&'f MemoryFiles);

impl Files for Real<'_> {
    fn read_text(&self, path: &Path) -> Result<String, ReadFileError> {
        self.0.read_text(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn names(&self, folder: &Path) -> Vec<String> {
        self.0.names(folder)
    }
    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_path_buf())
    }
}

#[test]
fn a_long_file_that_is_named_again_and_again_does_not_fill_the_memory() {
    let agents: String = (0..200).map(|i| format!("  a{i}: {{ instructions: {{ file: long.md }} }}\n")).collect();
    let fields: String = (0..200).map(|i| format!("  b{i}: {{ output_schema: {{ file: long.json }} }}\n")).collect();
    let text = format!("flow: 1\nagents:\n{agents}{fields}");
    let (long, schema) = ("Be brief. ".repeat(6000), format!("{{\"description\":\"{}\"}}", "x".repeat(200_000)));
    let loaded = load_from(&[("t.yaml", &text), ("long.md", &long), ("long.json", &schema)]);
    let told: Vec<&str> = loaded.diagnostics.iter().map(|found| found.message.as_str()).collect();
    let message = "the texts and schemas that this file takes from others are larger than 4 MiB together";
    assert!(told.iter().all(|told| *told == message), "{:?}", told.first());
    assert_eq!(told.len(), 400 - 4 * 1024 * 1024 / long.len());
}

/// A pipeline with inputs of three types, and a test whose cases are the rows of this file.
fn with_rows(csv: &str) -> Loaded {
    let pipeline = "flow: 1\nname: a\ninputs: { zip: text, days: integer, late: { type: boolean, required: false } }\nsteps: [{ id: s, set: 1 }]\noutputs: { n: '{{ inputs.days }}' }\n";
    let test = "flow: 1\ntest: a.yaml\ncases_from: { file: cases.csv }\n";
    load_from(&[("a.test.yaml", test), ("a.yaml", pipeline), ("cases.csv", csv)])
}

#[test]
fn a_row_is_a_case_whose_inputs_have_the_types_of_the_pipeline() {
    for csv in [
        "id,inputs.zip,inputs.days,inputs.late,expect.outputs.n,expect.status\none,01067,3,,3,\n\n\"two\",\"a, \"\"b\"\"\",4,true,,failed\n,,,,,\n",
        "\u{feff}id;inputs.zip;inputs.days;inputs.late;expect.outputs.n;expect.status\r\none;01067;3;;3;\r\ntwo;\"a, \"\"b\"\"\";4;true;;failed\r\n",
    ] {
        let loaded = with_rows(csv);
        assert_eq!(told(&loaded), "");
        let cases = loaded.tests.unwrap().cases;
        let shown: Vec<String> = cases
            .iter()
            .map(|case| {
                let inputs: Vec<String> = case.inputs.iter().map(|(name, value)| format!("{name}={}", value.value)).collect();
                let expect = case.expect.as_ref().unwrap();
                let status = expect.status.as_ref().map_or("-", |status| status.as_str());
                let line = loaded.sources.start(case.id.span).line;
                format!("{} {} {status} {} at {line}", case.id.value, inputs.join(" "), expect.outputs.len())
            })
            .collect();
        let second = if csv.contains("\n\n") { 4 } else { 3 };
        let two = format!("two zip=\"a, \\\"b\\\"\" days=4 late=true failed 0 at {second}");
        assert_eq!(shown, ["one zip=\"01067\" days=3 - 1 at 2", &two]);
    }
}

#[test]
fn mistakes_of_a_table_of_cases_are_found_in_their_line() {
    for (csv, found) in [
        ("", "F007 a.test.yaml:3:21 cases file \"cases.csv\" is empty\n"),
        ("id,inputs.zip\n", "F007 cases.csv:1:1 cases file \"cases.csv\" has no row below its columns\n"),
        (
            "id,expect.status\none,failed\ntwo,\"fai\nled,x\n",
            "F007 cases.csv:3:1 a quote in this row is never closed, so the row takes all that follows\n",
        ),
        (
            "id,expect.status\n1,failed\n",
            "F011 cases.csv:2:1 case id \"1\" begins with \"1\"; use small letters, digits and \"_\", a letter first\n",
        ),
        ("id,,expect.status\none,,failed\n", "F002 cases.csv:1:3 unknown column \"\"\n"),
        ("inputs.zip\nx\n", "F004 cases.csv:1:1 cases file \"cases.csv\" has no column \"id\"\n"),
        (
            "id,zip,expect.statsu\none,x,failed\n",
            "F002 cases.csv:1:4 unknown column \"zip\"\nF002 cases.csv:1:8 unknown column \"expect.statsu\"; did you mean \"expect.status\"?\n",
        ),
        (
            "id,inputs,channels\na,x,y\n",
            "F002 cases.csv:1:4 column \"inputs\" cannot be a value of a row\nF002 cases.csv:1:11 column \"channels\" cannot be a value of a row\n",
        ),
        ("id,mocks.x\na,y\n", "F002 cases.csv:1:4 column \"mocks.x\" cannot be a value of a row\n"),
        ("id,id\na,b\n", "F007 cases.csv:1:4 columns \"id\" and \"id\" give the same value\n"),
        ("id,inputs.zip,inputs.zip.x\na,b,c\n", ""),
        ("id,expect.status\none,failed\none,failed\n", "F013 cases.csv:3:1 two cases are called \"one\" <cases.csv:2:1 first used here>\n"),
        ("id,expect.status\n,failed\n", "F004 cases.csv:2:2 case 1 has no \"id\"\n"),
        (
            "id,expect.status\none,fialed\n",
            "F007 cases.csv:2:5 status \"fialed\" is not one of: succeeded, partial, quality_not_met, failed, timed_out, over_budget, cancelled\n",
        ),
        ("id,inputs.zip\none,a,b\n", "F007 cases.csv:2:1 this row has 3 values, and there are 2 columns\n"),
        (
            "id,expect.outputs.n.contains,expect.outputs.n\none,a,b\n",
            "F007 cases.csv:1:30 columns \"expect.outputs.n.contains\" and \"expect.outputs.n\" give the same value\n",
        ),
    ] {
        assert_eq!(told(&with_rows(csv)), found, "{csv}");
    }
    let neither = findings(&[("a.test.yaml", "flow: 1\ntest: a.yaml\n"), ("a.yaml", "flow: 1\nname: a\nsteps: [{ id: s, set: 1 }]\n")]);
    assert_eq!(neither, "F004 a.test.yaml:1:1 this test has neither \"cases\" nor \"cases_from\"\n");
    let broken = told(&with_rows("id,inputs.days\none,[1\n"));
    assert!(broken.starts_with("F007 cases.csv:2:5 input \"days\" of case \"one\": "), "{broken}");
    let many = format!("id\n{}", (0..10_001).map(|i| format!("c{i}\n")).collect::<String>());
    assert_eq!(told(&with_rows(&many)), "F022 cases.csv:10002:1 cases file \"cases.csv\" has more than 10000 rows\n");
}

const TEAM: &str = "flow: 1
name: team
inputs: { city: text, other: { type: text, required: false } }
agents:
  lead: { instructions: Ask., agents: [chooser, writer] }
  chooser: { instructions: \"For {{ inputs.city }}.\" }
  writer: { instructions: Write., agents: [chooser], limits: { deadline: 9s } }
steps: [{ id: one, agent: lead, prompt: \"{{ inputs.other }}\" }]
";

#[test]
fn an_agent_that_others_ask_becomes_a_pipeline_of_one_step_and_a_tool() {
    let loaded = load_from(&[("team.yaml", TEAM)]);
    assert_eq!(told(&loaded), "");
    let pipelines = &loaded.program.pipelines;
    let names: Vec<&str> = pipelines.iter().map(|pipeline| pipeline.name.as_str()).collect();
    assert_eq!(names, ["team", "ask-chooser", "ask-writer"]);
    let tools = |agent: &str| pipelines[0].agents[agent].tools.iter().map(|tool| tool.value.clone()).collect::<Vec<_>>();
    assert_eq!((tools("lead"), tools("writer")), (vec!["ask-chooser".into(), "ask-writer".into()], vec!["ask-chooser".to_owned()]));
    // Only what instructions read is passed on, also to an agent that asks one that reads it.
    let inputs = |at: usize| pipelines[at].input_fields().iter().map(|field| field.name.as_str()).collect::<Vec<_>>();
    assert_eq!((inputs(1), inputs(2)), (vec!["request", "city"], vec!["request", "city"]));
    let fixed = &pipelines[0].tools["ask-writer"];
    assert_eq!((fixed.kind.pipeline(), fixed.with.len(), fixed.timeout), (Some(PipelineId(2)), 1, Some(Duration::from_secs(9))));
    assert_eq!(pipelines[0].tools["ask-chooser"].timeout, Some(Duration::from_secs(600)));
    assert_eq!(pipelines[2].tools.keys().collect::<Vec<_>>(), ["ask-chooser"]);
    assert_eq!(pipelines[1].hash, pipelines[0].hash);
}

#[test]
fn agents_of_a_called_pipeline_ask_those_of_their_own_file() {
    let main = "flow: 1\nname: main\nsteps: [{ id: one, call: team.yaml, with: { city: Ulm } }, { id: two, call: last.yaml }]\n";
    let last = "flow: 1\nname: last\nsteps: [{ id: one, set: 1 }]\n";
    let loaded = load_from(&[("main.yaml", main), ("team.yaml", TEAM), ("last.yaml", last)]);
    assert_eq!(told(&loaded), "");
    let pipelines = &loaded.program.pipelines;
    let names: Vec<&str> = pipelines.iter().map(|pipeline| pipeline.name.as_str()).collect();
    assert_eq!(names, ["main", "team", "last", "ask-chooser", "ask-writer"]);
    let ids = ["ask-chooser", "ask-writer"].map(|tool| pipelines[1].called_tool(tool));
    assert_eq!(ids, [Some(PipelineId(3)), Some(PipelineId(4))]);
}

#[test]
fn agents_that_ask_in_a_circle_or_read_an_input_called_request_are_told() {
    let file = "flow: 1
name: bad
inputs: { request: text }
agents:
  lead: { instructions: Ask., agents: [chooser, lead] }
  chooser: { instructions: \"{{ inputs.request }}\", agents: [writer] }
  writer: { agents: [chooser] }
steps: [{ id: one, agent: lead, prompt: Go. }]
";
    assert_snapshot!(findings(&[("bad.yaml", file)]), @r#"
    F007 bad.yaml:3:11 input "request" is read by agent "chooser", whose own request is what agents ask it <bad.yaml:5:40 asked here>
    F107 bad.yaml:5:49 agent "lead" asks itself
    F107 bad.yaml:6:61 agents ask each other in a circle: chooser -> writer -> chooser <bad.yaml:7:22 asked here>
    "#);
}
