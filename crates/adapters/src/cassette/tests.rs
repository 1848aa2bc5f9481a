use std::sync::Mutex as StdMutex;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::event::{AnswerState, Marks, MessageRole, Purpose, RunStart};
use crate::model::{Method, ToolCalls};
use crate::port::Message;

/// A model that answers with a greeting, or with what it was reported.
struct Echo(StdMutex<Vec<Result<&'static str, FailureKind>>>);

impl ModelClient for Echo {
    fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
        let asked = request.messages.iter().map(|message| message.text.as_str()).collect::<String>();
        let next = self.0.lock().unwrap().pop();
        Box::pin(std::future::ready(match next {
            Some(Err(kind)) => Err(Failure::new(kind, "not now")),
            Some(Ok(text)) => Ok(ModelReply { text: text.to_owned(), ..ModelReply::default() }),
            None => Ok(ModelReply { text: format!("You said: {asked}"), ..ModelReply::default() }),
        }))
    }
}

fn echo(answers: Vec<Result<&'static str, FailureKind>>) -> Arc<dyn ModelClient> {
    Arc::new(Echo(StdMutex::new(answers)))
}

pub(super) fn nobody() -> Arc<dyn ModelClient> {
    struct Nobody;
    impl ModelClient for Nobody {
        fn call(&self, _: ModelRequest) -> Pending<ModelReply> {
            panic!("a replay went live")
        }
    }
    Arc::new(Nobody)
}

pub(super) fn request(text: &str) -> ModelRequest {
    ModelRequest {
        wire: WireFormat::OpenAiChat,
        base_url: "http://127.0.0.1:9".into(),
        host_from: Default::default(),
        model: "m".into(),
        api_key: None,
        endpoint: Default::default(),
        messages: vec![Message { text: text.into(), ..Message::default() }.into()],
        schema: None,
        tools: vec![],
        tool_calls: ToolCalls::Native,
        temperature: None,
        max_output_tokens: None,
        bounded_as: None,
        seed: None,
        timeout: Duration::from_secs(1),
        silence: None,
        connect_timeout: Duration::from_secs(1),
        listener: None,
        trace: None,
    }
}

pub(super) fn event(run: &str, happening: Happening) -> Event {
    Event { v: 1, seq: 1, time: chrono::DateTime::UNIX_EPOCH, at_ms: 0, run: run.into(), happening }
}

fn started(run: &str, name: &str) -> Event {
    started_with(run, json!({ "id": "p1", "name": name }), json!({}))
}

/// For a person, with a marked input `said`, and a marked step `who`.
pub(super) fn started_with(run: &str, person: Value, inputs: Value) -> Event {
    let start = RunStart {
        pipeline: "p".into(),
        hash: String::new(),
        files: Default::default(),
        tape: None,
        trace: None,
        file: String::new(),
        inputs: Arc::new(inputs),
        channel: None,
        style_guide: None,
        person: Arc::new(person),
        conversation: None,
        origin: None,
        names_outputs: false,
        failure: None,
        now: chrono::DateTime::UNIX_EPOCH,
        scripted: false,
        served: false,
        seed: 1,
        deadline_ms: None,
        max_cost_usd: None,
        marks: Marks { steps: vec!["who".into()], inputs: vec!["said".into()], ..Marks::default() },
    };
    event(run, Happening::RunStarted(Box::new(start)))
}

pub(super) fn called(step: &str, call: u64) -> Event {
    let happening = Happening::ModelCalled {
        step: step.into(),
        call,
        agent: "w".into(),
        model: "default".into(),
        purpose: Purpose::Turn,
        attempt: 1,
        fresh: true,
        fallback: 0,
        timeout_at_ms: 0,
        messages: vec![],
        scripted: false,
        reserved_tokens: 0,
        reserved_usd: 0.0,
    };
    event("r_1", happening)
}

/// Records these calls of step `a` and gives the folder.
fn recorded(name: &str, model: &Arc<dyn ModelClient>, prompts: &[&str]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let tape = Cassette::new(Mode::Record, ["s3cret-token"]);
    tape.watch(&started("r_1", name));
    for (place, prompt) in prompts.iter().enumerate() {
        let call = place as u64 + 5;
        tape.watch(&called("a", call));
        let _ = futures_util::FutureExt::now_or_never(tape.model(call, request(prompt), model)).unwrap();
    }
    tape.write(home.path(), &Head::new("p", None, false)).unwrap();
    home
}

fn replay(folder: &Path, run: &str, name: &str) -> Cassette {
    let tape = Cassette::new(Mode::Replay(folder.to_path_buf()), []);
    tape.watch(&started(run, name));
    tape
}

fn asked(tape: &Cassette, call: u64, prompt: &str) -> Result<ModelReply, Failure> {
    tape.watch(&called("a", call));
    futures_util::FutureExt::now_or_never(tape.model(call, request(prompt), &nobody())).unwrap()
}

#[test]
fn a_replay_gives_the_recorded_answer_to_the_one_who_asks_now() {
    let home = recorded("Ana Lopez", &echo(vec![]), &["Greet Ana Lopez with s3cret-token in r_1."]);
    let text = std::fs::read_to_string(home.path().join("steps/a.json")).unwrap();
    for canary in ["Ana", "Lopez", "s3cret", "r_1", "127.0.0.1"] {
        assert!(!text.contains(canary), "{canary} in {text}");
    }
    let tape = replay(home.path(), "r_2", "Bo Diddley");
    let reply = asked(&tape, 1, "Greet Bo Diddley with *** in r_2.").unwrap();
    assert_eq!(reply.text, "You said: Greet Bo Diddley with *** in r_2.");
    assert!(tape.misses().is_empty() && tape.left_over(home.path()).is_empty());
}

#[test]
fn a_call_that_was_not_recorded_so_fails_for_good_and_is_told() {
    let home = recorded("Ana", &echo(vec![]), &["Write a short text.", "Once more."]);
    let tape = replay(home.path(), "r_2", "Ana");
    let failure = asked(&tape, 1, "Write a long text.").unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.contains("message 1 (user): Write a [-short-]{+long+} text."), "{}", failure.message);
    assert_eq!(asked(&tape, 2, "Once more.").unwrap().text, "You said: Once more.");
    let failure = asked(&tape, 3, "Once more.").unwrap_err();
    assert!(failure.message.contains("no recording of call 3 of step \"a\"; the nearest is call 2"), "{}", failure.message);
    assert_eq!(tape.misses().len(), 2);
    assert_eq!(tape.left_over(home.path()), [("a".to_owned(), 1)]);
    let tape = replay(&home.path().join("none"), "r_2", "Ana");
    assert_eq!(asked(&tape, 1, "x").unwrap_err().kind, FailureKind::Unavailable);
}

#[test]
fn failures_and_calls_that_were_given_up_are_recorded_too() {
    let model = echo(vec![Ok("Good."), Err(FailureKind::RateLimited)]);
    let home = recorded("Ana", &model, &["Try.", "Try."]);
    let tape = replay(home.path(), "r_2", "Ana");
    assert_eq!(asked(&tape, 1, "Try.").unwrap_err().kind, FailureKind::RateLimited);
    assert_eq!(asked(&tape, 2, "Try.").unwrap().text, "Good.");
    assert!(tape.misses().is_empty());

    let home = tempfile::tempdir().unwrap();
    let tape = Cassette::new(Mode::Record, []);
    tape.watch(&started("r_1", "Ana"));
    tape.watch(&called("a", 1));
    drop(tape.model(1, request("Wait."), &echo(vec![])));
    tape.write(home.path(), &Head::new("p", None, false)).unwrap();
    assert_eq!(asked(&replay(home.path(), "r_2", "Ana"), 1, "Wait.").unwrap_err().kind, FailureKind::Timeout);
}

#[test]
fn what_a_step_marked_pii_finds_out_is_masked_in_its_own_prompt_and_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let tape = Cassette::new(Mode::Record, []);
    tape.watch(&started("r_1", "Ana"));
    tape.watch(&called("who", 1));
    let model = echo(vec![Ok("Bo Diddley")]);
    let _ = futures_util::FutureExt::now_or_never(tape.model(1, request("Who wrote? Greetings, Bo Diddley"), &model)).unwrap();
    tape.watch(&event(
        "r_1",
        Happening::StepSucceeded { step: "who".into(), output: Arc::new(json!("Bo Diddley")), details: Arc::new(json!({})) },
    ));
    tape.write(home.path(), &Head::new("p", None, false)).unwrap();
    assert!(!std::fs::read_to_string(home.path().join("steps/who.json")).unwrap().contains("Diddley"));
    let tape = replay(home.path(), "r_2", "Ana");
    tape.watch(&called("who", 1));
    let again = tape.model(1, request("Who wrote? Greetings, Bo Diddley"), &nobody());
    assert_eq!(futures_util::FutureExt::now_or_never(again).unwrap().unwrap().text, "Bo Diddley");
}

#[test]
fn headers_that_pass_and_values_of_headers_are_not_kept() {
    let request = HttpRequest {
        method: Method::Post,
        url: "https://api.example/v1/people/Ana%20Lopez?q=Ana+Lopez&n=1".into(),
        told: None,
        host_from: Default::default(),
        headers: vec![("Authorization".into(), crate::port::Secret::new("Bearer abc"))],
        body: Some(("application/json".into(), b"{\"name\":\"Ana Lopez\"}".to_vec())),
        timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(1),
    };
    let name = json!("Ana Lopez");
    let redactor = crate::redact::Redactor::new([], [&name]);
    let masked = Masker::new(&redactor, "").value(&asked::http(&request));
    insta::assert_snapshot!(masked, @r#"{"to":"http","method":"POST","host":"https://api.example","path":["v1","people","<PERSON_1>"],"query":[["q","<PERSON_1>"],["n","1"]],"headers":["authorization"],"body":{"name":"<PERSON_1>"}}"#);
    let told = Some("https://api.example/***?n=1".to_owned());
    let masked = asked::http(&HttpRequest { told, headers: vec![], body: None, ..request });
    insta::assert_snapshot!(masked, @r#"{"to":"http","method":"POST","host":"https://api.example","path":["***"],"query":[["n","1"]]}"#);
    let header = |name: &str| (name.to_owned(), "x".to_owned());
    let headers = ["date", "content-type", "x-request-id", "etag", "set-cookie"].map(header).to_vec();
    let reply = HttpReply { status: 200, headers, body: json!([1]) };
    assert_eq!(reply.to_recorded(), json!({ "status": 200, "headers": [["content-type", "x"], ["etag", "x"]], "body": [1] }));
    assert_eq!(HttpReply::from_kept(reply.to_recorded()).map(|reply| reply.body), Some(json!([1])));
}

#[test]
fn what_an_endpoint_wants_back_is_in_no_recording() {
    let state = Some(Arc::new(AnswerState { from: "m".into(), parts: json!({ "reasoning_content": "I must not." }) }));
    let reply = ModelReply { text: "Hi".into(), state: state.clone(), ..ModelReply::default() };
    assert_eq!(ModelReply::from_kept(reply.to_recorded()), Some(ModelReply { state: None, ..reply }));
    let mut told = request("Go.");
    let said = Message { role: MessageRole::Assistant, text: "Hi".into(), ..Message::default() };
    let plain = |message: Message, request: &ModelRequest| ModelRequest { messages: vec![message.into()], ..request.clone() };
    told = plain(Message { state, ..said.clone() }, &told);
    assert_eq!(super::asked::model(&told), super::asked::model(&plain(said, &told)));
}

#[test]
fn a_name_that_only_the_answer_holds_comes_back_if_the_run_knows_it() {
    let model = echo(vec![Ok("Well done, Ana! Ask Ana Lopez or jo@example.org.")]);
    let home = recorded("Ana Lopez", &model, &["Say something nice."]);
    assert!(!std::fs::read_to_string(home.path().join("steps/a.json")).unwrap().contains("Ana"));
    let reply = asked(&replay(home.path(), "r_2", "Bo Diddley"), 1, "Say something nice.").unwrap();
    assert_eq!(reply.text, "Well done, Bo! Ask Bo Diddley or <EMAIL_1>.");
}

#[test]
fn calls_that_were_out_when_a_replay_was_interrupted_have_their_number_again() {
    let home = recorded("Ana", &echo(vec![]), &["One.", "Two.", "Three.", "Four."]);
    let tape = replay(home.path(), "r_2", "Ana");
    let replied = |call: u64| {
        let reply = crate::event::ModelAnswer::Said {
            text: String::new(),
            calls: vec![],
            model: None,
            session: None,
            files: vec![],
            state: None,
            notes: vec![],
        };
        event("r_1", Happening::ModelReplied { step: "a".into(), call, reply, duration_ms: 0, usage: Default::default() })
    };
    assert!(asked(&tape, 1, "One.").is_ok());
    tape.watch(&replied(1));
    tape.watch(&called("a", 2));
    tape.watch(&called("a", 3));
    tape.watch(&event("r_1", Happening::RunResumed { away_ms: 5 }));
    for (call, prompt) in [(4, "Two."), (5, "Three."), (6, "Four.")] {
        assert_eq!(asked(&tape, call, prompt).map(|reply| reply.text), Ok(format!("You said: {prompt}")));
    }
    assert_eq!((tape.misses(), tape.left_over(home.path())), (vec![], vec![]));
}
