//! Secrets that flow itself puts together.

use serde_json::json;

use super::build::*;
use super::world::{Says, World, options};
use crate::RunSettings;
use crate::model::{HttpStep, Method, Outputs, StepKind};
use crate::port::Secret;

#[test]
fn what_is_recorded_is_what_was_masked_and_every_prefix_replays_to_it() {
    let joined = "{{ 'canary-' ~ '7Q-x81' }}";
    let mut main = pipeline("p", vec![set("a", joined), needs(agent("b", &format!("Say {joined} {{{{ steps.a.output }}}}")), &["a"])]);
    main.outputs = Outputs::Named(vec![output("last", &format!("{joined} {{{{ steps.b.output | replace('~', '') }}}}"))]);
    let mut world = World::with(planned(vec![main]), RunSettings { hidden: vec![Secret::new("canary-7Q-x81")], ..options() });
    assert_eq!(world.output("a"), Some(json!("***")));
    world.answer("b", Says::Text("canary-~7Q-x81"));
    assert_eq!(*world.end().outputs, json!({ "last": "*** ***" }));
    world.check();
    let record = serde_json::to_string(&world.events).unwrap();
    assert!(record.contains("Say *** ***") && !record.contains("canary-7Q"), "{record}");
}

#[test]
fn of_an_address_that_holds_a_secret_the_record_tells_the_host() {
    let hook = "http://127.0.0.1:8778/redir/T0AB1/red-fox-77?sig=Zz9Yy8Xx7w";
    for (url, secret) in [
        ("{{ secrets.HOOK }}", hook),
        ("http://127.0.0.1:8778/redir/{{ secrets.HOOK }}", "T0"),
        ("{{ secrets.HOOK }}/x1", "http://127.0.0.1:8778/a"),
    ] {
        let query = vec![("page".to_owned(), crate::model::Filling::Constant(json!(2)))];
        let own =
            HttpStep { method: Method::Post, url: text(url), headers: vec![], query, body: None, output: None, idempotency_key: None };
        let mut settings = RunSettings { hidden: vec![Secret::new(secret)], ..options() };
        settings.secrets.insert("HOOK".into(), Secret::new(secret));
        let world = World::with(planned(vec![pipeline("p", vec![step("post", StepKind::Http(own))])]), settings);
        let record = serde_json::to_string(&world.events).unwrap();
        assert!(record.contains("\"http://127.0.0.1:8778/***\""), "{record}");
        assert!(["redir", "T0AB1", "red-fox", "/a", "x1"].iter().all(|part| !record.contains(part)), "{record}");
    }
}
