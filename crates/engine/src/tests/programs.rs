//! Programs and Python code: what goes out, what policies make of it, and what comes back.

use serde_json::{Value, json};

use super::build::*;
use super::serving::asks;
use super::world::{World, options};
use crate::CallReply;
use crate::event::{Failure, FailureKind, Happening, StepStatus};
use crate::model::*;
use crate::port::{HttpReply, ModelReply, ProgramEnd, ProgramReply, PythonError, PythonReply, RefusedHost};
use crate::source::Spanned;

pub(super) fn git(args: &[&str]) -> ProgramCommand {
    ProgramCommand {
        program: named("git"),
        args: args.iter().map(|arg| text(arg)).collect(),
        input: None,
        env: vec![],
        gives: ProgramOutput::Word(OutputWord::Text),
        ok_exits: vec![0],
        reads_only: true,
        network: ProgramNetwork::None,
        writes: vec![],
    }
}

fn code(code: &str) -> PythonCode {
    PythonCode { code: Text::plain(code), file: None, returns: vec![named("x")], needs: PythonNeeds::default() }
}

fn with_policy(run: ProgramCommand, policy: Policy) -> World {
    let mut pipeline = pipeline("p", vec![step("a", StepKind::Program(run))]);
    pipeline.policies.insert("p".into(), policy);
    pipeline.policy = Some(named("p"));
    World::new(planned(vec![pipeline]))
}

fn names(list: &[&str]) -> Option<Vec<Spanned<String>>> {
    Some(list.iter().map(|name| named(name)).collect())
}

fn open() -> Policy {
    Policy { permission_mode: Some(PermissionMode::Auto), ..Policy::default() }
}

fn ended(world: &World, step: &str) -> (StepStatus, String) {
    let node = world.run.state().steps.node(world.run.state().steps.paths[step]);
    let failed = world.events.iter().rev().find_map(|event| match &event.happening {
        Happening::StepFailed { step: failed, failure, .. } if **failed == *step => Some(failure.message.clone()),
        _ => None,
    });
    (node.status, failed.unwrap_or_default())
}

fn printed(stdout: &str) -> Result<CallReply, Failure> {
    Ok(CallReply::Program(ProgramReply { stdout: stdout.into(), sandbox: Some("landlock".into()), ..ProgramReply::default() }))
}

#[test]
fn what_deceives_is_taken_out_of_what_a_program_prints() {
    let hidden = r"a\u202eb\u001bc\udb40\udc41";
    let of = |gives: ProgramOutput, stdout: &str| {
        let mut world = World::new(planned(vec![pipeline("p", vec![step("a", StepKind::Program(ProgramCommand { gives, ..git(&[]) }))])]));
        world.hands(printed(stdout));
        world.output("a").unwrap()
    };
    let json = format!(r#"{{"{hidden}": ["{hidden}"]}}"#);
    assert_eq!(of(ProgramOutput::Word(OutputWord::Json), &json), json!({ "ab": ["ab"] }));
    assert_eq!(of(ProgramOutput::Word(OutputWord::Text), "a\u{202e}b\u{1b}[0m\n"), json!("ab"));
    assert_eq!(of(ProgramOutput::Word(OutputWord::Lines), "a\u{200b}\nb"), json!(["a", "b"]));
    let reply = HttpReply { status: 200, headers: vec![("x".into(), "a\u{202e}b".into())], body: json!({ "a\u{200b}": ["b\u{1b}"] }) };
    let CallReply::Http(reply) = CallReply::Http(reply).cleaned() else { panic!("an answer") };
    assert_eq!((reply.headers[0].1.as_str(), reply.body), ("ab", json!({ "a": ["b"] })));
}

#[test]
fn a_program_gets_its_arguments_and_the_strictest_bounds() {
    let mut run = git(&["log", "--", "{{ inputs.path }}"]);
    run.env = vec![(named("TOKEN"), text("{{ secrets.KEY }}"))];
    let mut pipeline = pipeline("p", vec![step("a", StepKind::Program(run))]);
    let narrow = Policy { max_memory: Some(5), sandbox: Some(SandboxMode::None), ..open() };
    pipeline.policies.insert("p".into(), narrow);
    pipeline.policy = Some(named("p"));
    let mut settings = options();
    settings.secrets.insert("KEY".into(), crate::port::Secret::new("s3cret".to_owned()));
    settings.user_policies = vec![Policy { max_memory: Some(9), max_file_size: Some(7), sandbox: Some(SandboxMode::Preferred), ..open() }];
    let mut world = World::given(planned(vec![pipeline]), settings, json!({ "path": "a; b" }));
    let call = world.programs.pop().unwrap();
    assert_eq!(call.command, ["git", "log", "--", "a; b"]);
    assert_eq!(call.named, ["log", "--"], "a value behind them names no program");
    assert_eq!((call.bounds.memory, call.bounds.file_size, call.sandbox), (5, 7, SandboxMode::Preferred));
    assert_eq!((call.env[0].0.as_str(), call.env[0].1.reveal()), ("TOKEN", "s3cret"));
    assert!(!world.events.iter().any(|event| format!("{event:?}").contains("s3cret")));
    world.reply_with(printed("one\n"));
    let output = world.run.state().steps.node(world.run.state().steps.paths["a"]).output.clone();
    assert_eq!((ended(&world, "a").0, output.as_deref().cloned()), (StepStatus::Succeeded, Some(json!("one"))));
}

#[test]
fn without_a_policy_a_program_is_shut_in() {
    let pipeline = pipeline("p", vec![step("a", StepKind::Program(git(&["log"])))]);
    let world = World::new(planned(vec![pipeline]));
    assert_eq!(world.programs[0].sandbox, SandboxMode::Required);
}

#[test]
fn policies_decide_about_a_program_its_folders_and_the_network() {
    let denied = |run: ProgramCommand, policy: Policy| {
        let world = with_policy(run, policy);
        assert!(world.programs.is_empty());
        ended(&world, "a").1
    };
    let started = |run: ProgramCommand, policy: Policy| with_policy(run, policy).programs.len();
    let lists = |tools: &[&str]| Policy { allowed_tools: names(tools), read: names(&["**"]), ..Policy::default() };
    assert_eq!(started(git(&["diff", "HEAD"]), lists(&["git(diff *)"])), 1);
    let push = denied(git(&["push"]), lists(&["git(diff *)"]));
    assert_eq!(push, "tool \"git\" is not allowed: policy p: no list names it, and permission_mode is deny");
    let reads = denied(git(&["diff"]), Policy { allowed_tools: names(&["git"]), read: names(&["docs/**"]), ..Policy::default() });
    assert!(reads.starts_with("read \"") && reads.contains("is not allowed: policy p"), "{reads}");
    let online = || ProgramCommand { network: ProgramNetwork::All, ..git(&["fetch"]) };
    assert_eq!(started(online(), open()), 1);
    let host = denied(online(), Policy { hosts: names(&["a.example", "*.b.example"]), ..open() });
    assert!(host.contains("network_access.hosts does not list it"), "{host}");
    assert_eq!(started(online(), Policy { hosts: names(&["*"]), ..open() }), 1);
    let to = |hosts: &[&str]| ProgramCommand { network: ProgramNetwork::Hosts(names(hosts).unwrap()), ..git(&["fetch"]) };
    let listing = |hosts: &[&str]| Policy { hosts: names(hosts), ..open() };
    assert_eq!(started(to(&["a.example", "b.example:8080", "*.c.example"]), listing(&["a.example", "b.example:*", "*.c.example"])), 1);
    for (asked, listed) in [
        ("a.example", "b.example"),
        ("a.example:8443", "a.example"),
        ("a.example:*", "a.example:8443"),
        ("*.a.example", "b.a.example"),
        ("*.a.example", "a.example"),
        ("127.0.0.1:80", "*"),
    ] {
        let host = denied(to(&["c.example", asked]), listing(&["c.example", listed]));
        assert!(host.contains("network_access.hosts does not list it"), "{asked} {listed}: {host}");
    }
    let out = || ProgramCommand { reads_only: false, writes: vec![Spanned::new("./out".into(), Default::default())], ..git(&["x"]) };
    let writes =
        denied(out(), Policy { write: names(&["other/**"]), allowed_tools: names(&["git"]), read: names(&["**"]), ..Policy::default() });
    assert!(writes.starts_with("write \"out/**\" is not allowed"), "{writes}");
    assert_eq!(
        started(out(), Policy { write: names(&["out/**"]), allowed_tools: names(&["git"]), read: names(&["**"]), ..Policy::default() }),
        1
    );
}

#[test]
fn a_person_may_have_to_allow_a_program() {
    let policy = Policy { approval_required: names(&["git(push *)"]).unwrap(), ..open() };
    let world = with_policy(git(&["push", "origin"]), policy);
    let asked = world.events.iter().find_map(|event| match &event.happening {
        Happening::ApprovalRequested { question, .. } => Some(question.clone()),
        _ => None,
    });
    assert_eq!(asked.as_deref(), Some(r#""a" wants to start git with ["push","origin"]; allow it?"#));
    assert!(world.programs.is_empty());
}

#[test]
fn a_tool_cannot_hide_the_program_that_it_starts() {
    let after = |policy: Policy| {
        let mut pipeline = pipeline("p", vec![agent("a", "Go.")]);
        pipeline.agents.get_mut("writer").unwrap().tools = vec![named("tidy_up")];
        let kind =
            ToolKind::Program { run: ProgramCommand { program: named("/usr/bin/git"), ..git(&["push", "origin"]) }, arguments: vec![] };
        pipeline.tools.insert("tidy_up".into(), Tool { kind, ..Tool::default() });
        pipeline.policies.insert("p".into(), policy);
        pipeline.policy = Some(named("p"));
        let mut world = World::new(planned(vec![pipeline]));
        world.reply_with(asks("tidy_up", json!({})));
        let asked = world.events.iter().any(|event| matches!(event.happening, Happening::ApprovalRequested { .. }));
        let denied = world.events.iter().find_map(|event| match &event.happening {
            Happening::PolicyDecided { target, allowed: false, rule, .. } => Some(format!("{target}: {rule}")),
            _ => None,
        });
        (world.programs.len(), asked, denied)
    };
    let denies = Policy { disallowed_tools: names(&["git(push *)"]).unwrap(), ..open() };
    assert_eq!(after(denies), (0, false, Some("/usr/bin/git: policy p: disallowed_tools git(push *)".to_owned())));
    let confirms = Policy { approval_required: names(&["git(push *)"]).unwrap(), ..open() };
    assert_eq!(after(confirms), (0, true, None));
    assert_eq!(after(open()), (1, false, None));
}

#[test]
fn hosts_that_a_program_was_kept_from_are_told_and_recorded() {
    let kept = |end| {
        let refused = vec![RefusedHost { host: "evil.example:443".into(), rule: "network does not list it".into() }];
        ProgramReply { end, refused, ..ProgramReply::default() }
    };
    let blocked = |world: &World| {
        let decided = world.events.iter().filter_map(|event| match &event.happening {
            Happening::PolicyDecided { step, agent, target, allowed: false, rule, .. } => Some(format!("{step} {agent} {target}: {rule}")),
            _ => None,
        });
        decided.collect::<Vec<_>>()
    };
    let mut world = World::new(planned(vec![pipeline("p", vec![step("a", StepKind::Program(git(&["fetch"])))])]));
    world.reply_with(Ok(CallReply::Program(kept(ProgramEnd::Exited(1)))));
    let told = "the program \"git\" ended with exit code 1; it was kept from evil.example:443 (network does not list it)";
    assert_eq!(ended(&world, "a"), (StepStatus::Failed, told.to_owned()));
    assert_eq!(blocked(&world), ["a  evil.example:443: network does not list it"]);
    let mut pipeline = pipeline("p", vec![agent("a", "Go.")]);
    pipeline.agents.get_mut("writer").unwrap().tools = vec![named("fetch")];
    let kind = ToolKind::Program { run: git(&["fetch"]), arguments: vec![] };
    pipeline.tools.insert("fetch".into(), Tool { kind, ..Tool::default() });
    let mut world = World::new(planned(vec![pipeline]));
    world.reply_with(asks("fetch", json!({})));
    world.reply_with(Ok(CallReply::Program(kept(ProgramEnd::Exited(0)))));
    assert_eq!(blocked(&world), ["a writer evil.example:443: network does not list it"]);
}

#[test]
fn an_agent_is_told_why_a_program_failed_and_goes_on() {
    let mut pipeline = pipeline("p", vec![agent("a", "Go.")]);
    pipeline.agents.get_mut("writer").unwrap().tools = vec![named("log")];
    let arguments = vec![Field::new("path", FieldKind::Text)];
    let kind = ToolKind::Program { run: git(&["log", "--", "{{ with.path }}"]), arguments };
    pipeline.tools.insert("log".into(), Tool { kind, ..Tool::default() });
    let mut world = World::new(planned(vec![pipeline]));
    world.reply_with(asks("log", json!({ "path": "x.rs" })));
    assert_eq!(world.programs[0].command, ["git", "log", "--", "x.rs"]);
    let failed = ProgramReply { end: ProgramEnd::Exited(128), stderr: b"no such path\n".to_vec(), ..ProgramReply::default() };
    world.reply_with(Ok(CallReply::Program(failed)));
    let told = world.asked.last().unwrap().messages.last().unwrap().text.clone();
    assert!(
        told.contains("the program \\\"git\\\" ended with exit code 128: no such path")
            || told.contains("ended with exit code 128: no such path"),
        "{told}"
    );
    world.reply_with(Ok(CallReply::Model(ModelReply { text: "Done.".into(), ..ModelReply::default() })));
    assert_eq!(ended(&world, "a").0, StepStatus::Succeeded);
}

#[test]
fn code_gets_variables_and_a_failure_names_its_line() {
    let with = vec![(named("rows"), Filling::Constant(json!([{ "n": 1, "path": "/etc/passwd", "type": "image" }])))];
    let steps = || vec![step("a", StepKind::Python(PythonStep { run: code("x = 1\nx = y\n"), with: with.clone() }))];
    let mut world = World::new(planned(vec![pipeline("p", steps())]));
    let call = world.coded.pop().unwrap();
    assert_eq!((call.file.as_str(), call.returns.as_slice(), call.is_written_by_model), ("a", ["x".to_owned()].as_slice(), false));
    assert_eq!(call.variables["rows"][0]["n"], 1);
    assert!(call.reads.is_empty(), "no read step gave this path");
    let error = PythonError { message: "NameError: name 'y' is not defined".into(), line: Some(2), ..PythonError::default() };
    world.reply_with(Ok(CallReply::Python(PythonReply { error: Some(error), ..PythonReply::default() })));
    assert_eq!(ended(&world, "a").1, "NameError: name 'y' is not defined (line 2 of a: x = y)");
    let mut world = World::new(planned(vec![pipeline("p", steps())]));
    let error = PythonError { fault: crate::port::PythonFault::MissingPackage, ..PythonError::default() };
    world.reply_with(Ok(CallReply::Python(PythonReply { error: Some(error), ..PythonReply::default() })));
    assert_eq!(ended(&world, "a").0, StepStatus::Failed);
    let mut world = World::new(planned(vec![pipeline("p", steps())]));
    let returns = json!({ "x": [1, 2] }).as_object().cloned().unwrap();
    world.reply_with(Ok(CallReply::Python(PythonReply { returns, printed: "hi\n".into(), ..PythonReply::default() })));
    let node = world.run.state().steps.node(world.run.state().steps.paths["a"]).clone();
    assert_eq!(node.output.as_deref(), Some(&json!({ "x": [1, 2] })));
    let mut world = World::new(planned(vec![pipeline("p", steps())]));
    world.reply_with(Ok(CallReply::Python(PythonReply::default())));
    assert!(ended(&world, "a").1.contains("\"x\" is a required property"), "{}", ended(&world, "a").1);
}

#[test]
fn a_picture_that_code_made_can_be_attached_and_no_other_path() {
    let attached = |path: &str, made: &[&str]| {
        let mut see = agent("see", "Look.");
        if let StepKind::Agent(own) = &mut see.kind {
            own.attach = Some(Filling::Text(bare("steps.a.output.x")));
        }
        let steps = vec![step("a", StepKind::Python(PythonStep { run: code("x = 1"), with: vec![] })), see];
        let mut world = World::new(planned(vec![pipeline("p", steps)]));
        let returns = json!({ "x": { "path": path, "type": "image" } }).as_object().cloned().unwrap();
        let files = made.iter().map(Into::into).collect();
        world.reply_with(Ok(CallReply::Python(PythonReply { returns, files, ..PythonReply::default() })));
        (world.asked.len(), ended(&world, "see").1)
    };
    assert_eq!(attached("/kept/1.png", &["/kept/1.png"]), (1, String::new()));
    let (asked, why) = attached("/etc/passwd", &["/kept/1.png"]);
    assert_eq!((asked, why.as_str()), (0, "attach: no read step of this run has read \"/etc/passwd\""));
}

#[test]
fn what_a_program_changes_needs_a_mock_in_a_test() {
    let run = |run: ProgramCommand| {
        let mut settings = options();
        settings.mocks.refuses_effects = true;
        World::with(planned(vec![pipeline("p", vec![step("a", StepKind::Program(run))])]), settings)
    };
    let acts = run(ProgramCommand { reads_only: false, ..git(&["push"]) });
    assert_eq!(ended(&acts, "a").1, "\"a\" has side effects; add a mock");
    assert_eq!(run(git(&["log"])).programs.len(), 1);
}

#[test]
fn an_answer_that_was_lost_is_not_assumed() {
    let of = |reads_only: bool| {
        let mut world = with_policy(ProgramCommand { reads_only, ..git(&["x"]) }, open());
        world.wait();
        world.events.iter().rev().find_map(|event| match &event.happening {
            Happening::StepFailed { failure, .. } => Some(failure.kind),
            _ => None,
        })
    };
    assert_eq!((of(true), of(false)), (Some(FailureKind::Timeout), Some(FailureKind::UnknownOutcome)));
}

#[test]
fn the_arguments_of_a_tool_that_is_code_are_its_variables() {
    let mut pipeline = pipeline("p", vec![super::serving::uses("double", json!({ "n": 4 }))]);
    let kind = ToolKind::Python { run: code("x = n * 2"), arguments: vec![Field::new("n", FieldKind::Number)] };
    pipeline.tools.insert("double".into(), Tool { kind, ..Tool::default() });
    let mut world = World::new(planned(vec![pipeline]));
    assert_eq!(world.coded[0].variables, json!({ "n": 4 }).as_object().cloned().unwrap());
    let returns = json!({ "x": 8 }).as_object().cloned().unwrap();
    world.reply_with(Ok(CallReply::Python(PythonReply { returns, ..PythonReply::default() })));
    let output: Value = world.run.state().steps.node(world.run.state().steps.paths["a"]).output.as_deref().cloned().unwrap();
    assert_eq!(output, json!({ "x": 8 }));
}
