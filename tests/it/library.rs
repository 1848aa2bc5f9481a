//! The engine in another program: `flow::runtime`.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flow::event::FailureKind;
use flow::event::{Happening, RunStatus};
use flow::port::{MemoryFiles, ModelClient, ModelReply, ModelRequest, Pending};
use flow::runtime::{Answer, CheckError, Consent, Limits, Policy, Price, RunEnding, RunError, Runner, Storage, Turn, Workflow};
use serde_json::json;
use tempfile::TempDir;

const SHIPPED: &str = "pipelines/timesheet/pipeline.yaml";
const ASKS: &str = "flow: 1\nname: asks\ndescription: Asks a model.\ninputs: { who: { type: text } }\n\
    models: { default: { provider: openai, model: m, base_url: \"https://models.example/v1\" } }\n\
    agents: { writer: { instructions: You write. } }\n\
    steps:\n  - { id: say, agent: writer, prompt: \"Greet {{ inputs.who }}\" }\n\
    outputs: { said: \"{{ steps.say.output }}\" }\n";
const WAITS: &str = "flow: 1\nname: waits\ndescription: Waits long.\n\
    steps:\n  - { id: nap, wait: 1h }\nfinally:\n  - { id: tidy, set: done }\noutputs: { done: \"{{ steps.nap.status }}\" }\n";
const NOTES: &str = "flow: 1\nname: keeps\ndescription: Writes a note when a person allows it.\n\
    tools: { notes: { file: ., allow: [write], approve: true } }\n\
    steps:\n  - { id: keep, tool: notes.write, with: { name: note.txt, text: Hello } }\n\
    outputs: { done: \"{{ steps.keep.status }}\" }\n";

struct Place(TempDir);

impl Place {
    fn with(pipeline: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
        Place(folder)
    }

    fn check(&self) -> Result<Workflow, CheckError> {
        Workflow::check_in(self.0.path().join("p.yaml"), self.0.path())
    }

    fn runner(&self) -> Runner {
        self.check().unwrap().runner()
    }
}

/// Says what it was asked, and counts.
#[derive(Default)]
struct Parrot(AtomicUsize);

impl ModelClient for Parrot {
    fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let asked = request.messages.last().unwrap().text.clone();
        Box::pin(async move { Ok(ModelReply { text: format!("heard: {asked}"), ..ModelReply::default() }) })
    }
}

#[test]
fn a_check_gives_a_workflow_or_its_findings() {
    let workflow = Workflow::check(SHIPPED).unwrap();
    assert_eq!((workflow.name(), workflow.inputs_schema()["type"].as_str()), ("timesheet", Some("object")));
    assert!(workflow.channels().any(|channel| channel == "sms"));
    assert!(workflow.wishes().is_empty());

    let error = Place::with(&ASKS.replace("inputs.who", "inputs.whom")).check().unwrap_err();
    let found: Vec<&str> = error.findings().iter().map(|found| found.code.id()).collect();
    assert_eq!(found, ["F202"]);
    let place = error.place(&error.findings()[0]);
    assert!(place.contains("p.yaml:") && place.split(':').rev().take(2).all(|number| number.parse::<usize>().is_ok()), "{place}");
    assert!(error.to_string().contains("inputs.whom") && format!("{error:?}") == error.to_string(), "{error}");
    assert!(matches!(Workflow::check("pipelines/nothing.yaml"), Err(CheckError::Findings(_))));
    for other in ["channels/sms.yaml", "tests/golden/timesheet/week_start.test.yaml"] {
        assert!(matches!(Workflow::check(other), Err(CheckError::NoPipeline(_))), "{other}");
    }
}

#[test]
fn texts_in_memory_are_checked_and_run_as_files_are() {
    let called = "flow: 1\nname: inner\ndescription: Says a word.\ninputs: { word: text }\nsteps:\n  - { id: say, set: \"{{ inputs.word }}!\" }\n\
        outputs: { said: \"{{ steps.say.output }}\" }\n";
    let calls = "flow: 1\nname: outer\ndescription: Calls.\nsteps:\n  - { id: inner, call: parts/inner.yaml, with: { word: Hello } }\n\
        outputs: { said: \"{{ steps.inner.output.said }}\" }\n";
    let check = |texts: &[(&str, &str)]| Workflow::check_with("outer.yaml", "", &MemoryFiles::from_iter(texts.iter().copied()));
    let outcome = check(&[("outer.yaml", calls), ("parts/inner.yaml", called)]).unwrap().runner().run(json!({})).wait().unwrap();
    assert_eq!(outcome.outputs["said"], "Hello!");

    let error = check(&[("outer.yaml", calls)]).unwrap_err();
    assert_eq!((error.findings()[0].code.id(), error.place(&error.findings()[0]).as_str()), ("F025", "outer.yaml:5:24"));
}

#[tokio::test]
async fn a_run_that_a_foreign_loop_drives_continues_in_another_one_wherever_that_stopped() {
    let place = Place::with(ASKS);
    let runner = || place.runner().model_client(Arc::new(Parrot::default())).consent(Consent::Given);
    let whole = runner().run(json!({ "who": "Ana" })).outcome().await.unwrap();
    for stops_after in 0..=2 {
        let (mut kept, mut turns) = (vec![], 0);
        let mut run = runner().stepped(json!({ "who": "Ana" })).unwrap();
        let outcome = loop {
            match run.turn().unwrap() {
                Turn::Keep(events) => kept.extend(events),
                Turn::Call(call) => {
                    let number = call.number();
                    let reply = call.carry_out().await;
                    run.reply(number, reply);
                }
                Turn::Cancel(_) => {}
                Turn::Wait { at_most, .. } => tokio::time::sleep(at_most.unwrap()).await,
                Turn::Ended(outcome) => break outcome,
            }
            turns += 1;
            // The process ends: what it did not keep is lost.
            if turns == stops_after && !kept.is_empty() {
                run = runner().stepped_after(kept.clone()).unwrap();
            }
        };
        assert_eq!(outcome.outputs, whole.outputs, "{stops_after}");
        let seqs: Vec<u64> = kept.iter().map(|event| event.seq).collect();
        assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seqs:?}");
        assert!(matches!(runner().stepped_after(kept), Err(RunError::CannotResume(_))));
    }
    assert!(runner().stepped(json!([])).is_err() && runner().stepped_after(vec![]).is_err());
}

#[tokio::test]
async fn events_come_in_their_order_while_it_runs_and_the_outcome_has_them_all() {
    let mut run = Workflow::check(SHIPPED).unwrap().runner().channel("sms").run(json!({ "message": "Check my timesheet" }));
    let mut told = vec![];
    while let Some(event) = run.next().await {
        told.push(event);
    }
    let outcome = run.outcome().await.unwrap();
    assert!(outcome.is_good() && outcome.is_scripted, "{outcome:?}");
    assert_eq!(told.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=told.len() as u64).collect::<Vec<_>>());
    assert_eq!(told, outcome.events);
    assert!(matches!(told.first().unwrap().happening, Happening::RunStarted(_)));
    assert!(matches!(told.last().unwrap().happening, Happening::RunFinished(_)));
    assert_eq!(outcome.channel.as_deref(), Some("sms"));
    let shown = assert_cmd::Command::new(env!("CARGO_BIN_EXE_flow"))
        .args(["run", "-q", SHIPPED, "--input", "message=Check my timesheet", "--channel", "sms"])
        .env("FLOW_STATE_DIR", tempfile::tempdir().unwrap().path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap().trim_end(), outcome.printed.join("\n\n"));
    assert_eq!(outcome.text(), Some(outcome.printed.join("\n\n")));
}

#[tokio::test]
async fn what_is_cancelled_ends_as_cancelled_and_finally_runs() {
    let place = Place::with(WAITS);
    for by_drop in [false, true] {
        let mut run = place.runner().storage(Storage::Folder(place.0.path().join("runs"))).run(json!(null));
        let mut id = String::new();
        while let Some(event) = run.next().await {
            if matches!(event.happening, Happening::StepPaused { .. }) {
                id = event.run.to_string();
                break;
            }
        }
        if by_drop {
            drop(run);
            // Its record tells how it went on; the thread of the run alone knows when.
            let file = place.0.path().join("runs").join("runs.db");
            let ended = || {
                let mut store = flow_adapters::sqlite_store::SqliteStore::existing(&file, &Default::default()).unwrap();
                let runs = flow::port::Store::list(&mut store, &flow::port::RunFilter::default()).unwrap().runs;
                runs.iter().any(|run| run.run == id && run.status.as_deref() == Some("cancelled"))
            };
            while !ended() {
                tokio::task::yield_now().await;
            }
            continue;
        }
        run.cancel();
        let outcome = run.outcome().await.unwrap();
        assert_eq!(outcome.ending, RunEnding::Over(RunStatus::Cancelled));
        let tidied = |event: &flow::event::Event| matches!(&event.happening, Happening::StepSucceeded { step, .. } if &**step == "tidy");
        assert!(outcome.events.iter().any(tidied));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_own_model_answers_two_runs_at_once() {
    let (place, parrot) = (Place::with(ASKS), Arc::new(Parrot::default()));
    let runner = place.runner().consent(Consent::Given).model_client(parrot.clone());
    let (ana, ben) = (runner.run(json!({ "who": "Ana" })), runner.run(json!({ "who": "Ben" })));
    let (ana, ben) = tokio::join!(ana.outcome(), ben.outcome());
    let (ana, ben) = (ana.unwrap(), ben.unwrap());
    assert!(ana.outputs["said"].as_str().unwrap().contains("Ana"), "{:?}", ana.outputs);
    assert!(ben.outputs["said"].as_str().unwrap().contains("Ben"), "{:?}", ben.outputs);
    assert_ne!(ana.run, ben.run);
    assert_eq!(parrot.0.load(Ordering::Relaxed), 2);
    assert!(!ana.is_scripted);
}

#[test]
fn a_program_without_a_runtime_waits() {
    let place = Place::with(ASKS);
    let runner = place.runner().consent(Consent::Given).model_client(Arc::new(Parrot::default()));
    assert!(runner.run(json!({ "who": "Ana" })).wait().unwrap().is_good());
    assert!(matches!(runner.run(json!({})).wait(), Err(RunError::Inputs(_))));
    assert!(matches!(runner.run(json!([1])).wait(), Err(RunError::Inputs(_))));
    assert!(matches!(runner.channel("fax").run(json!({ "who": "Ana" })).wait(), Err(RunError::Usage(_))));
}

#[tokio::test]
async fn a_person_answers_from_the_program() {
    for (approved, status) in [(true, RunStatus::Succeeded), (false, RunStatus::Failed)] {
        let place = Place::with(NOTES);
        let mut run = place.runner().run(json!(null));
        while let Some(event) = run.next().await {
            if let Happening::ApprovalRequested { step, question, .. } = &event.happening {
                assert!(question.contains("notes.write"), "{question}");
                run.answer(&**step, approved);
            }
        }
        assert_eq!(run.outcome().await.unwrap().ending, RunEnding::Over(status));
        assert_eq!(place.0.path().join("note.txt").exists(), approved);
    }
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_is_the_ending() {
    let place = Place::with(NOTES);
    let outcome = place.runner().run(json!(null)).outcome().await.unwrap();
    let RunEnding::Waiting(questions) = &outcome.ending else { unreachable!("{:?}", outcome.ending) };
    assert_eq!(questions.iter().map(|question| &*question.step).collect::<Vec<_>>(), ["keep"]);
    assert!(questions[0].text.contains("notes.write") && !place.0.path().join("note.txt").exists());
}

#[tokio::test]
async fn what_a_file_wants_is_refused_unless_the_program_agrees() {
    let place = Place::with(ASKS);
    let parrot = Arc::new(Parrot::default());
    let runner = place.runner().model_client(parrot.clone());
    for refused in [Consent::default(), Consent::Decided(Arc::new(|wishes| wishes.hosts.is_empty()))] {
        let error = runner.clone().consent(refused).run(json!({ "who": "Ana" })).outcome().await.unwrap_err();
        let RunError::Untrusted(untrusted) = &error else { unreachable!("{error}") };
        assert_eq!(untrusted.wishes.hosts[0].what, "https://models.example");
        assert!(error.to_string().contains("connects to https://models.example (model default)"), "{error}");
    }
    assert_eq!(parrot.0.load(Ordering::Relaxed), 0);
    let agreed = runner.consent(Consent::Decided(Arc::new(|wishes| wishes.programs.is_empty())));
    assert!(agreed.run(json!({ "who": "Ana" })).outcome().await.unwrap().is_good());
}

/// Says which model it was.
struct Named;

impl ModelClient for Named {
    fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
        Box::pin(async move { Ok(ModelReply { text: request.model, ..ModelReply::default() }) })
    }
}

#[tokio::test]
async fn nothing_of_the_process_reaches_a_run_that_does_not_ask_for_it() {
    let place = Place::with(&ASKS.replace("model: m", "model: \"{{ env.PATH | default('none') }}\""));
    let runner = place.runner().consent(Consent::Given).ports(|ports| ports.models = Arc::new(Named));
    for (runner, is_said) in [
        (runner.clone(), (|said| said == "none") as fn(&str) -> bool),
        (runner.clone().variable("PATH", "/own"), |said| said == "/own"),
        (runner.environment(), |said| !matches!(said, "none" | "/own")),
    ] {
        let outcome = runner.run(json!({ "who": "Ana" })).outcome().await.unwrap();
        assert!(is_said(outcome.outputs["said"].as_str().unwrap()), "{:?}", outcome.outputs);
    }
}

#[tokio::test]
async fn what_is_recorded_is_replayed_without_model_and_without_consent() {
    let (place, parrot) = (Place::with(ASKS), Arc::new(Parrot::default()));
    let tape = place.0.path().join("tape");
    let recorder = place.runner().consent(Consent::Given).model_client(parrot.clone()).record(&tape);
    let live = recorder.run(json!({ "who": "Ana" })).outcome().await.unwrap();
    let recorded = live.recorded.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((&recorded.folder, recorded.calls, recorded.lost.as_slice()), (&tape, 1, [].as_slice()));
    let again = recorder.run(json!({ "who": "Ana" })).outcome().await.unwrap_err();
    assert!(matches!(&again, RunError::Tape(_)) && again.to_string().ends_with("name a new folder, or remove it"), "{again}");

    let replayer = place.runner().replay(&tape);
    let replayed = replayer.run(json!({ "who": "Ana" })).outcome().await.unwrap();
    assert_eq!((&replayed.outputs, replayed.is_good()), (&live.outputs, true));
    let other = replayer.run(json!({ "who": "Ben" })).outcome().await.unwrap();
    assert!(!other.is_good() && other.misses.len() == 1, "{:?}", other.misses);
    assert_eq!(parrot.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_stored_run_goes_on_where_it_stopped() {
    let place = Place::with(NOTES);
    let runner = place.runner().storage(Storage::Folder(place.0.path().join("runs")));
    let waiting = runner.run(json!(null)).outcome().await.unwrap();
    assert!(matches!(waiting.ending, RunEnding::Waiting(_)));

    let mut resumed = runner.resume(&waiting.run);
    let mut asked = 0;
    while let Some(event) = resumed.next().await {
        if let Happening::ApprovalRequested { step, .. } = &event.happening {
            asked += 1;
            resumed.answer(step, true);
        }
    }
    let outcome = resumed.outcome().await.unwrap();
    assert_eq!(asked, 1);
    assert_eq!((&outcome.run, outcome.is_good()), (&waiting.run, true));
    assert!(place.0.path().join("note.txt").exists());
    assert_eq!(outcome.events[..waiting.events.len()], waiting.events);

    let once_more = runner.resume(&waiting.run).outcome().await.unwrap();
    assert_eq!((once_more.outputs, once_more.events), (outcome.outputs, outcome.events));
    for (runner, run) in [(runner.clone(), "r_none".to_owned()), (runner.storage(Storage::Memory), waiting.run)] {
        let error = runner.resume(run).outcome().await.unwrap_err();
        assert!(matches!(error, RunError::CannotResume(_)), "{error}");
    }
}

#[tokio::test]
async fn a_policy_of_the_program_holds_whatever_the_file_says() {
    let place = Place::with(&NOTES.replace(", approve: true", ""));
    let policy = Policy { disallowed_tools: vec!["notes.write".into()], ..Policy::default() };
    let outcome = place.runner().policy(policy).run(json!(null)).outcome().await.unwrap();
    assert_eq!(outcome.ending, RunEnding::Over(RunStatus::Failed));
    assert_eq!(outcome.failure.unwrap().failure.kind, FailureKind::Denied);
    assert!(!place.0.path().join("note.txt").exists());
    let bound = Policy { max_time: Some(std::time::Duration::from_millis(20)), ..Policy::default() };
    let outcome = Place::with(WAITS).runner().policy(bound).run(json!(null)).outcome().await.unwrap();
    assert_eq!(outcome.ending, RunEnding::Over(RunStatus::TimedOut));
}

#[tokio::test]
async fn the_sentence_of_an_answer_stands_in_the_record() {
    let run = Place::with(NOTES).runner().run(json!(null));
    run.answer("keep", Answer { approved: false, comment: "not today".into(), ..Answer::default() });
    let outcome = run.outcome().await.unwrap();
    let said = |event: &flow::event::Event| match &event.happening {
        Happening::ApprovalAnswered { approved, comment, .. } => Some((*approved, comment.clone())),
        _ => None,
    };
    assert_eq!(outcome.events.iter().find_map(said), Some((false, "not today".to_owned())));
}

#[tokio::test]
async fn variables_of_a_file_reach_a_run_and_its_own_win() {
    let place = Place::with(&ASKS.replace("model: m", "model: \"{{ env.WHICH_MODEL }}\""));
    std::fs::write(place.0.path().join("keys"), "WHICH_MODEL=of-file\n").unwrap();
    let runner = place.runner().consent(Consent::Given).ports(|ports| ports.models = Arc::new(Named)).env_file(place.0.path().join("keys"));
    for (runner, said) in [(runner.clone(), "of-file"), (runner.variable("WHICH_MODEL", "own"), "own")] {
        assert_eq!(runner.run(json!({ "who": "Ana" })).outcome().await.unwrap().outputs["said"], said);
    }
}

#[tokio::test]
async fn a_bound_on_money_holds_for_an_own_model_whose_price_is_known() {
    let place = Place::with(ASKS);
    let limits = Limits { max_cost_usd: Some(0.5), ..Limits::default() };
    let runner = place.runner().consent(Consent::Given).model_client(Arc::new(Parrot::default())).limits(limits);
    let error = runner.run(json!({ "who": "Ana" })).outcome().await.unwrap_err().to_string();
    assert!(error.contains("model_price") && !error.contains("FLOW_MODEL"), "{error}");
    let priced = runner.model_price(Price { input: 1.0, output: 2.0 });
    assert!(priced.run(json!({ "who": "Ana" })).outcome().await.unwrap().is_good());
}

#[tokio::test]
async fn no_step_touches_what_a_program_keeps_its_runs_in() {
    for name in ["audit.jsonl", "runs.db", "runs.db-wal", "cache.db", "conversations.db"] {
        let text = NOTES.replace("approve: true", "deny: [read]").replace("file: .,", "file: kept,").replace("note.txt", name);
        let place = Place::with(&text);
        std::fs::create_dir(place.0.path().join("kept")).unwrap();
        let outcome = place.runner().storage(Storage::Folder(place.0.path().join("kept"))).run(json!(null)).outcome().await.unwrap();
        let failure = outcome.failure.as_ref().map(|failure| failure.failure.kind.word());
        assert_eq!(failure, Some("denied"), "{name}: {outcome:?}");
    }
}
