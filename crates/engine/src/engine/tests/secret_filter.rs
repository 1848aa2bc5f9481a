//! Secrets that flow itself puts together.

use serde_json::json;

use super::build::*;
use super::world::{Says, World, options};
use crate::engine::RunSettings;
use crate::model::Outputs;
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
