//! Everything a run may hold at once: routes, called pipelines, tools of agents, refinement, lists, an end from outside, and resuming.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::build::*;
use super::tools::{asks, hook, tool, with_tools};
use super::world::{Says, World};
use crate::event::{Canceller, FailureKind, Happening, StepStatus};
use crate::model::{CallStep, HttpStep, Method, OnFailure, Outputs, Pipeline, PipelineId, RouteStep, Step, StepKind, ToolKind};
use crate::{Input, RunState};

/// A step of a random graph: what it is, a detail of it, and which of those before it it needs.
type Drawn = (u8, u8, Vec<usize>);

fn graph() -> impl Strategy<Value = Vec<Drawn>> {
    proptest::collection::vec((0u8..8, any::<u8>(), proptest::collection::vec(any::<usize>(), 0..3)), 1..7)
}

fn post(id: &str) -> Step {
    let url = text("https://example.com/");
    let (headers, query) = (vec![], vec![]);
    step(id, StepKind::Http(HttpStep { method: Method::Post, url, headers, query, body: None, output: None, idempotency_key: None }))
}

fn call(id: &str, of: usize) -> Step {
    step(id, StepKind::Call(CallStep { file: named("f.yaml"), pipeline: Some(PipelineId(of)), with: vec![], channel: None }))
}

/// The steps of one place: those of 7 are a draft and its gate, beside the others or in a group for each of two elements.
fn steps_at(place: usize, kind: u8, detail: u8) -> Vec<Step> {
    let (id, inner) = (format!("s{place}"), |name: &str| format!("{name}{place}"));
    let at_once = Some(1 + u64::from(detail) % 2);
    let mut made = vec![match kind {
        0 => query(&id),
        1 => Step { retry: Some(retry(2)), ..post(&id) },
        2 => for_each(post(&id), "[1, 2, 3]", false, at_once),
        3 => agent(&id, "Go."),
        4 => {
            let one = vec![agent(&inner("x"), "Go."), for_each(query(&inner("y")), "[1, 2]", false, at_once)];
            let cases = vec![case("one", one), case("two", vec![call(&inner("z"), 1 + usize::from(detail) % 2), set(&inner("w"), "x")])];
            let subject = text(["one", "two", "none"][usize::from(detail) % 3]);
            step(&id, StepKind::Route(RouteStep { subject, cases, otherwise: None }))
        }
        5 => for_each(call(&id, 1 + usize::from(detail) % 2), "[1, 2]", false, at_once),
        6 => call(&id, 2),
        _ => agent(&inner("d"), "{{ refinement.feedback }}"),
    }];
    if kind == 7 {
        let draft = inner("d");
        let otherwise = detail.is_multiple_of(2).then_some("none");
        let judged = |id: &str| needs(gate(id, &format!("steps.{draft}.output"), Some(&draft), otherwise), &[&draft]);
        if detail % 4 < 2 {
            made.push(judged(&id));
        } else {
            made.push(judged(&inner("g")));
            made = vec![for_each(group(&id, detail.is_multiple_of(3), made), "[1, 2]", false, at_once)];
        }
    }
    made
}

/// What is drawn, a pipeline that is called or a tool, and one that refines a text of its own. `all_continue`: no failure ends anything else.
fn build(drawn: &[Drawn], parallel: u64, all_continue: bool) -> Vec<Pipeline> {
    let mut steps = vec![];
    for (place, (kind, detail, needed)) in drawn.iter().enumerate() {
        let needed: BTreeSet<String> = needed.iter().filter(|_| place > 0).map(|need| format!("s{}", need % place.max(1))).collect();
        let mut made = steps_at(place, *kind, *detail);
        made[0].needs = Some(needed.iter().map(|need| named(need)).collect());
        for step in &mut made {
            let may_fail = (all_continue || detail % 3 == 0) && !matches!(step.kind, StepKind::Gate(_));
            step.on_failure = if may_fail { OnFailure::Continue } else { OnFailure::Stop };
        }
        steps.extend(made);
    }
    let of = |pipeline| tool(ToolKind::Pipeline { file: named("f.yaml"), pipeline: Some(PipelineId(pipeline)) });
    let mut outer = with_tools(steps, vec![("hook", hook("https://example.com/x")), ("look_up", of(1)), ("polish", of(2))]);
    outer.limits.max_parallel = Some(parallel);
    outer.finally = vec![post("tidy").into()];
    let on_failure = if all_continue { OnFailure::Continue } else { OnFailure::Stop };
    let beside = [post("pay"), query("look")].map(|made| Step { on_failure: on_failure.clone(), ..needs(made, &[]) });
    let inner = pipeline("inner", beside.into());
    let refined = || vec![agent("draft", "{{ refinement.feedback }}"), gate("check", "steps.draft.output", Some("draft"), Some("none"))];
    let mut polish = pipeline(
        "polish",
        match parallel % 3 {
            0 => refined(),
            1 => vec![repeat("check", refined(), "round == 2", 2)],
            _ => vec![step("check", StepKind::Route(RouteStep { subject: text("x"), cases: vec![case("x", refined())], otherwise: None }))],
        },
    );
    // An agent that is asked asks in turn.
    polish.tools.insert("look_up".into(), of(1));
    polish.agents["writer"].tools = vec![named("look_up")];
    polish.outputs = Outputs::Named(vec![output("text", "{{ steps.check.output }}")]);
    let mut all = vec![outer, inner, polish];
    all.iter_mut().for_each(|pipeline| drop(pipeline.scorecards.insert("card".into(), good())));
    all
}

impl World {
    /// Answers one of the calls that are out. What it is told follows from its step and from how often that was answered, not from when.
    fn answer_by_luck(&mut self, pick: u8, luck: &[u8]) {
        let (call, path) = self.out.remove(usize::from(pick) % self.out.len());
        let (mut is_model, mut answered, mut place) = (false, 0, None);
        for event in &self.events {
            match &event.happening {
                Happening::ModelCalled { call: other, .. } if *other == call => is_model = true,
                Happening::ToolCalled { call: other, asked, .. } if *other == call => place = *asked,
                Happening::ModelReplied { step, .. } | Happening::ToolReplied { step, asked: None, .. } if **step == *path => answered += 1,
                _ => {}
            }
        }
        let start = path.bytes().fold(answered + place.unwrap_or(0), |sum, byte| sum * 31 % 1009 + usize::from(byte));
        let luck = luck[start % luck.len()];
        let tools = ["hook", "look_up", "polish"].map(|name| (name, name, json!({ "id": "7" })));
        match (is_model, luck % 8) {
            (true, few @ 1..=3) if answered < 2 => {
                let result = asks(&tools[..usize::from(few)]);
                self.handle(Input::Reply { call, result });
            }
            (true, 0 | 4) => self.reply(call, Says::Text("bad")),
            (true, 5) if answered == 0 => self.reply(call, Says::No(FailureKind::Refused)),
            (true, _) => self.reply(call, Says::Text("good")),
            (false, 0) => self.reply(call, Says::No(FailureKind::Auth)),
            (false, 1 | 2) if answered == 0 => self.reply(call, Says::No(FailureKind::Connection)),
            (false, _) => self.reply(call, Says::Yes),
        }
    }

    /// Continues for some answers, or to the end. At each point, what the events tell is the live state.
    fn play(&mut self, order: &[u8], luck: &[u8], most: usize) {
        let (mut replayed, mut applied) = (RunState::default(), 0);
        for turn in 0..most {
            self.events[applied..].iter().for_each(|event| replayed.apply(&self.plan, event));
            applied = self.events.len();
            assert!(replayed == *self.run.state(), "{:#?}", self.lines());
            match (self.is_over(), self.out.is_empty()) {
                (true, _) => return,
                (false, true) => self.wait(),
                (false, false) => self.answer_by_luck(order[turn % order.len()], luck),
            }
        }
        assert!(most < ALL, "the run does not end: {:#?}", self.lines());
    }

    /// What holds of every run: it ended, kept to its permits, and each call was opened before it was closed, each once.
    fn is_sound(&self, parallel: u64) {
        assert!(
            self.is_over() && self.run.state().calls.is_empty() && self.most_out as u64 <= parallel,
            "{} calls out, {parallel} permits",
            self.most_out
        );
        let (mut open, mut closed) = (BTreeSet::new(), BTreeSet::new());
        for event in &self.events {
            match &event.happening {
                Happening::ModelCalled { call, .. } | Happening::ToolCalled { call, .. } => {
                    assert!(!closed.contains(call) && open.insert(*call), "call {call} went out twice");
                }
                Happening::ModelReplied { call, .. } | Happening::ToolReplied { call, .. } | Happening::OutcomeUnknown { call, .. } => {
                    open.remove(call);
                    assert!(closed.insert(*call), "call {call} was closed twice");
                }
                _ => {}
            }
        }
    }

    /// How each step ended, and what came out.
    fn result(&self) -> (BTreeMap<String, Option<StepStatus>>, String) {
        let steps = self.lines().into_iter().filter_map(|line| line.split_once(' ').map(|(_, step)| step.to_owned()));
        let end = self.end();
        (steps.map(|step| (step.clone(), self.step(&step))).collect(), format!("{:?} {}", end.status, end.outputs))
    }
}

#[test]
fn the_mix_has_everything_in_it() {
    let drawn: Vec<Drawn> = (0..16).map(|place| (place % 8, place / 8, vec![])).collect();
    let lines = (0..4).flat_map(|first| {
        let mut world = World::new(planned(build(&drawn, 3, true)));
        world.play(&[0], &(first..first + 61).collect::<Vec<_>>(), ALL);
        world.lines()
    });
    let lines: Vec<String> = lines.collect();
    for kind in ["case_chosen", "call_opened", "refinement_started", "attempt_failed", "gate_passed", "gate_failed", "tool_called s3"] {
        assert!(lines.iter().any(|line| line.starts_with(kind)), "no {kind}: {lines:#?}");
    }
}

/// More answers than any of these runs takes.
const ALL: usize = 2_000;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 61)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_run_of_everything_ends_soundly_also_when_it_is_ended_and_resumed_anywhere(
        drawn in graph(), parallel in 1u64..6, order in bytes(), luck in bytes(),
        before in proptest::option::of(0usize..30), grace in 0usize..4,
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 1..4), away in 0u64..100_000,
    ) {
        let mut world = World::new(planned(build(&drawn, parallel, false)));
        world.play(&order, &luck, before.unwrap_or(ALL));
        if !world.is_over() {
            world.handle(Input::Cancel { by: Canceller::Interrupt });
            for pick in order.iter().take(grace) {
                if !world.out.is_empty() && !world.is_over() { world.answer_by_luck(*pick, &luck) }
            }
            while !world.is_over() { world.wait() }
        }
        world.is_sound(parallel);
        for cut in cuts {
            // A run that nobody ended has ended with its last event.
            let most = world.events.len() - usize::from(world.run.state().interrupted.is_none());
            world = world.after_crash(1 + cut.index(most), away);
            world.play(&order, &luck, ALL);
            world.is_sound(parallel);
        }
        world.check();
    }

    #[test]
    fn the_same_answers_in_another_order_give_the_same_result(
        drawn in graph(), parallel in 1u64..6, order in bytes(), other in bytes(), luck in bytes(),
    ) {
        let result = |order: &[u8]| {
            let mut world = World::new(planned(build(&drawn, parallel, true)));
            world.play(order, &luck, ALL);
            world.is_sound(parallel);
            world.result()
        };
        let ((steps, end), (others, other_end)) = (result(&order), result(&other));
        prop_assert_eq!(&end, &other_end);
        // A gate whose draft failed ends the run; what has begun by then depends on the order.
        if !end.starts_with("Failed") {
            prop_assert_eq!(steps, others);
        }
    }
}
