//! A run in memory, without ports and without a journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use flow::event::RunStart;
use flow_base::model::Limits;
use flow_engine::{Input, Mocks, Moment, Run, RunSettings, Unscripted};
use flow_lang::load::WrittenRules;
use flow_lang::plan::Plan;

/// A run in memory that has begun.
pub fn begun(plan: &Arc<Plan>) -> Run {
    let now = moment();
    let options = RunSettings {
        secrets: BTreeMap::new(),
        hidden: vec![],
        env: BTreeMap::new(),
        default_model: None,
        every_model: None,
        user_policies: vec![],
        unscripted: Unscripted::Live,
        replies: None,
        mocks: Mocks::default(),
        written: Box::new(WrittenRules),
        most_calls: u64::MAX,
        limits: Limits::default(),
        is_chat: false,
    };
    let mut run = Run::new("r_bench", plan.clone(), options, now);
    let empty = Arc::new(serde_json::json!({}));
    let start = RunStart {
        pipeline: "bench".into(),
        hash: String::new(),
        file: String::new(),
        inputs: empty.clone(),
        channel: None,
        style_guide: None,
        person: empty,
        conversation: None,
        origin: None,
        names_outputs: false,
        failure: None,
        now: now.wall,
        scripted: false,
        served: false,
        seed: 1,
        deadline_ms: None,
        files: Default::default(),
        tape: None,
        trace: None,
        max_cost_usd: None,
        marks: flow::event::Marks::default(),
    };
    run.handle(Input::Start(Box::new(start)), now);
    run
}

/// The moment at which all happens.
pub fn moment() -> Moment {
    Moment { wall: chrono::DateTime::from_timestamp(0, 0).unwrap_or_default(), ms: 0 }
}
