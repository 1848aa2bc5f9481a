//! What is recorded and replayed is the same text, byte by byte, or is reported.

use std::sync::Mutex as StdMutex;

use proptest::prelude::*;
use serde_json::json;

use super::tests::{called, event, nobody, request, started_with};
use super::*;

/// A model that gives what it is told to give.
struct Says(StdMutex<Option<String>>);

impl ModelClient for Says {
    fn call(&self, _: ModelRequest) -> Pending<ModelReply> {
        let text = self.0.lock().unwrap().take().unwrap_or_default();
        Box::pin(std::future::ready(Ok(ModelReply { text, ..ModelReply::default() })))
    }
}

/// Values that overlap, differ in a mark or a letter, or look like something of ours.
const VALUES: &[&str] = &[
    "Zoe Nunez",
    "0151 23456789",
    "Ana",
    "Ana.",
    "ana",
    "ANA",
    "Ana B",
    "Ana B.",
    "Ana Lopez",
    "Lopez Garcia",
    "O'Neil",
    "ONeil",
    "O’Neil",
    "12.5",
    "12",
    "1234",
    "1234.5",
    "Zoë Núñez",
    "Will Power",
    "Bo",
    "ana@example.org",
    "+49 151 23456789",
    "+4915123456789",
    "12 Rue \"Neuve\", Lyon",
    "Ana  Lopez",
    "王小明",
    "PERSON_1",
    "<PERSON_1>",
    "The line broke while Ana Lopez spoke.",
];
const SECRETS: &[&str] = &["s3cret-token", "s3cret", "tok*en"];

fn encoded(value: &str, how: usize) -> String {
    use base64::Engine;
    let hex = || hex::encode(value);
    match how {
        0..=3 => value.to_owned(),
        4 => value.to_uppercase(),
        5 => value.to_lowercase(),
        6 => percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string(),
        7 => serde_json::to_string(value).unwrap(),
        8 => base64::engine::general_purpose::STANDARD.encode(value),
        9 => hex(),
        10 => value.replace('\'', "&#39;").replace('"', "&quot;"),
        11 => value.chars().enumerate().map(|(at, c)| if at % 2 == 0 { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect(),
        12 => value.split_whitespace().next().unwrap_or_default().to_owned(),
        _ => format!("{value}{value}"),
    }
}

fn texts() -> impl Strategy<Value = String> {
    let value = (prop::sample::select(VALUES), 0usize..14).prop_map(|(value, how)| encoded(value, how));
    let secret = (prop::sample::select(SECRETS), 0usize..10).prop_map(|(value, how)| encoded(value, how));
    let literal = prop::sample::select(vec![
        "<PERSON_1>", "<PERSON_1.2u>", "<PERSON_1~1>", "<\\PERSON_2>", "<RUN>", "***", "*", "r_1", "<EMAIL_1>", "<", "\\", ">", "#",
        "x@y.example",
    ]);
    let mark = prop::sample::select(vec![" ", ".", ", ", "\n", "", "-", "/", "_", " said to "]);
    let piece = prop_oneof![4 => value, 1 => secret, 2 => literal.prop_map(str::to_owned), 3 => mark.prop_map(str::to_owned), 1 => "[a-zA-Z0-9 ]{0,6}"];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(VALUES), 0..6)
}

/// The events of a run up to the call: its values that are known.
fn begun(tape: &Cassette, run: &str, early: &[&str]) {
    tape.watch(&started_with(run, json!({ "id": "p1", "name": early.first() }), json!({ "said": early })));
    tape.watch(&called("a", 5));
}

fn answered(pending: Pending<ModelReply>) -> Result<ModelReply, Failure> {
    futures_util::FutureExt::now_or_never(pending).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_replay_gives_back_the_same_text_or_it_was_reported(
        early in values(), late in values(), prompt in texts(), answer in texts()
    ) {
        let home = tempfile::tempdir().unwrap();
        let tape = Cassette::new(Mode::Record, SECRETS.iter().copied());
        begun(&tape, "r_1", &early);
        let model: Arc<dyn ModelClient> = Arc::new(Says(StdMutex::new(Some(answer.clone()))));
        let _ = answered(tape.model(5, request(&prompt), &model));
        let found = Happening::StepSucceeded { step: "who".into(), output: Arc::new(json!(late)), details: Arc::new(json!({})) };
        tape.watch(&event("r_1", found));
        let reported = tape.write(home.path(), &Head::new("p", None, false)).unwrap();
        prop_assert!(reported.len() <= 1);

        let again = Cassette::new(Mode::Replay(home.path().to_path_buf()), SECRETS.iter().copied());
        begun(&again, "r_1", &early);
        let reply = answered(again.model(5, request(&prompt), &nobody()));
        match (reported.first(), reply) {
            (None, reply) => prop_assert_eq!(reply.map(|reply| reply.text), Ok(answer)),
            (Some(told), Ok(reply)) => {
                prop_assert!(told.contains("returns placeholders"), "{} {:?}", told, reply);
                prop_assert!(reply.text.contains('<') || reply.text.contains("***"), "{}", reply.text);
            }
            (Some(_), Err(failure)) => prop_assert_eq!(failure.kind, FailureKind::Unavailable),
        }
    }
}

#[test]
fn what_overlaps_comes_back_as_it_was() {
    for (values, text) in [
        (vec!["Ana", "Ana.", "Ana B", "Ana B."], "Ana. met Ana B. and Ana B and ana, then Ana"),
        (vec!["O'Neil", "ONeil"], "O'Neil, ONeil, O%27Neil"),
        (vec!["12.5", "1234"], "12.5 of 1234 or 1234.5"),
        (vec!["Ana Lopez", "Lopez Garcia"], "Ana Lopez Garcia and Lopez, Ana"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let tape = Cassette::new(Mode::Record, []);
        begun(&tape, "r_1", &values);
        let model: Arc<dyn ModelClient> = Arc::new(Says(StdMutex::new(Some(format!("You said: {text}!")))));
        let _ = answered(tape.model(5, request(text), &model));
        assert_eq!(tape.write(home.path(), &Head::new("p", None, false)).unwrap(), [""; 0]);
        let kept = std::fs::read_to_string(home.path().join("steps/a.json")).unwrap();
        assert!(!kept.contains("Ana") && !kept.contains("Neil"), "{kept}");
        let again = Cassette::new(Mode::Replay(home.path().to_path_buf()), []);
        begun(&again, "r_1", &values);
        assert_eq!(answered(again.model(5, request(text), &nobody())).unwrap().text, format!("You said: {text}!"));
    }
}

#[test]
fn an_answer_with_values_that_nobody_asked_about_is_reported_and_a_failure_gets_its_values_back() {
    let home = tempfile::tempdir().unwrap();
    let tape = Cassette::new(Mode::Record, []);
    begun(&tape, "r_1", &["Ana Lopez"]);
    let model: Arc<dyn ModelClient> = Arc::new(Says(StdMutex::new(Some("Ask jo@example.org.".to_owned()))));
    let _ = answered(tape.model(5, request("Whom?"), &model));
    struct Fails;
    impl ModelClient for Fails {
        fn call(&self, _: ModelRequest) -> Pending<ModelReply> {
            Box::pin(std::future::ready(Err(Failure::new(FailureKind::Denied, "Ana Lopez may not"))))
        }
    }
    tape.watch(&called("a", 6));
    let fails: Arc<dyn ModelClient> = Arc::new(Fails);
    let _ = answered(tape.model(6, request("May Ana Lopez?"), &fails));
    let reported = tape.write(home.path(), &Head::new("p", None, false)).unwrap();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].starts_with("call 1 of step \"a\": its answer contains personal values or secrets"), "{reported:?}");
    let again = Cassette::new(Mode::Replay(home.path().to_path_buf()), []);
    begun(&again, "r_2", &["Bo Diddley"]);
    assert_eq!(answered(again.model(5, request("Whom?"), &nobody())).unwrap().text, "Ask <EMAIL_1>.");
    again.watch(&called("a", 6));
    assert_eq!(answered(again.model(6, request("May Bo Diddley?"), &nobody())).unwrap_err().message, "Bo Diddley may not");
}

#[test]
fn a_value_has_the_number_of_the_run_in_every_recording() {
    let home = tempfile::tempdir().unwrap();
    let tape = Cassette::new(Mode::Record, []);
    begun(&tape, "r_1", &["Ana Lopez", "Bo Diddley"]);
    let model: Arc<dyn ModelClient> = Arc::new(Says(StdMutex::new(None)));
    let _ = answered(tape.model(5, request("Bo Diddley first"), &model));
    tape.watch(&called("b", 6));
    let _ = answered(tape.model(6, request("Ana Lopez, then Bo Diddley"), &model));
    tape.write(home.path(), &Head::new("p", None, false)).unwrap();
    let read = |step: &str| std::fs::read_to_string(home.path().join(format!("steps/{step}.json"))).unwrap();
    assert!(read("a").contains("<PERSON_2> first"), "{}", read("a"));
    assert!(read("b").contains("<PERSON_1>, then <PERSON_2>"), "{}", read("b"));
}
