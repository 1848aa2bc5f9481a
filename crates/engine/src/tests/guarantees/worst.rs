//! A world that does its worst: models say again whatever they are shown and a mark of their own, services give back what they are sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::world::{options, start};
use super::drawn::{MOST_TOKENS, PERSONAL_QUERIES, QUERIES};
use crate::event::{Canceller, Failure, FailureKind, Happening, Marks, RunStart, RunStatus, Usage};
use crate::plan::Plan;
use crate::port::{FileToWrite, HttpReply, ModelReply, ModelRequest, ProgramEnd, ProgramReply, Rows, Secret, ToolCall};
use crate::{CallReply, CallRequest, Command, Input, Moment, Run, RunSettings, Unscripted};

/// The personal input.
const PHONE: &str = "PHONEOFANN";
/// What each text of a model begins with.
const MODEL: &str = "MODELWROTE";

/// What happened that some guarantee rules out.
#[derive(Default)]
pub(super) struct Seen {
    /// Texts of models where a person or a host got them, and no gate had let them through.
    pub(super) unjudged: Vec<String>,
    /// Personal values where a step that is not marked gave them to a model or a host, or in a log.
    pub(super) leaks: Vec<String>,
    /// Effects without a key.
    pub(super) keyless: Vec<String>,
    /// Steps and agents that used more tokens than any limit allows.
    pub(super) unbounded: Vec<String>,
    /// Groups that were opened, and first rounds.
    pub(super) opened: usize,
    /// Further rounds.
    pub(super) again: usize,
    /// Second rounds of refinements in lists inside.
    pub(super) refined: usize,
    /// Queries, programs, and files that are read or written.
    pub(super) outside: usize,
}

/// What judges do.
#[derive(Clone, Copy)]
enum Judges {
    LetPass,
    SayNonsense,
    Refuse,
    /// What one of them lets pass, the next one refuses: so rounds of a loop end in different ways.
    TakeTurns,
}

pub(super) struct Worst<'a> {
    marked: &'a BTreeSet<String>,
    judges: Judges,
    said: usize,
    /// Marks of texts that a gate let through.
    judged: BTreeSet<String>,
    /// Of each call its step, and the agent that is asked.
    steps: BTreeMap<u64, (String, String)>,
    /// How often a step began: limits of agents are those of each time.
    began: BTreeMap<String, u64>,
    /// All that was written into files.
    disk: String,
    /// Tokens of an agent in a step, each time that it began.
    used: BTreeMap<(String, String, u64), u64>,
    seen: Seen,
}

impl Worst<'_> {
    pub(super) fn run(plan: &Arc<Plan>, mood: u8, marked: &BTreeSet<String>) -> Seen {
        let inputs = json!({ "topic": "a topic with one word", "mode": "a", "phone": PHONE, "chosen": PHONE });
        let mut world = Worst {
            marked,
            judges: [Judges::LetPass, Judges::SayNonsense, Judges::Refuse, Judges::TakeTurns][usize::from(mood % 4)],
            said: 0,
            judged: BTreeSet::new(),
            steps: BTreeMap::new(),
            began: BTreeMap::new(),
            disk: String::new(),
            used: BTreeMap::new(),
            seen: Seen::default(),
        };
        let mut run = begun(plan, inputs);
        let mut rounds = 0;
        while run.state().finished.is_none() && rounds < 2_000 {
            rounds += 1;
            world.hear(&mut run);
            let out: Vec<(u64, Box<CallRequest>)> = std::iter::from_fn(|| run.next_command())
                .filter_map(|command| if let Command::Call { call, request } = command { Some((call, request)) } else { None })
                .collect();
            if out.is_empty() && !world.answer_a_person(&mut run) {
                if run.state().finished.is_none() && run.next_timeout().is_some() {
                    run.handle(Input::Cancel { by: Canceller::Person }, moment());
                }
                world.hear(&mut run);
                break;
            }
            for (call, request) in out {
                let result = world.reply(call, &request);
                run.handle(Input::Reply { call, result }, moment());
                world.hear(&mut run);
            }
        }
        let over = world.used.iter().filter(|(_, tokens)| **tokens > MOST_TOKENS);
        world.seen.unbounded = over.map(|((step, agent, _), tokens)| format!("{agent} of {step} used {tokens} tokens")).collect();
        world.seen
    }

    /// A person says yes to what is asked.
    fn answer_a_person(&mut self, run: &mut Run) -> bool {
        let Some(step) = run.state().undecided().next().map(ToString::to_string) else { return false };
        let question = run.state().question(&step).unwrap_or_default();
        let (comment, by) = ("fine".to_owned(), "ann".to_owned());
        let said = Input::Decided { step: step.as_str().into(), question, approved: true, comment, by, nobody: false, fields: None };
        run.handle(said, moment());
        true
    }

    fn hear(&mut self, run: &mut Run) {
        while let Some(event) = run.next_event() {
            match &event.happening {
                Happening::ModelCalled { step, call, agent, .. } => {
                    self.steps.insert(*call, (step.to_string(), agent.clone()));
                }
                Happening::ToolCalled { step, call, .. } => {
                    self.steps.insert(*call, (step.to_string(), String::new()));
                }
                Happening::ModelReplied { call, usage, .. } => {
                    let (step, agent) = self.steps.get(call).cloned().unwrap_or_default();
                    let time = self.began.get(&step).copied().unwrap_or_default();
                    *self.used.entry((step, agent, time)).or_default() += usage.total_tokens();
                }
                Happening::StepStarted { step, attempt: 1, .. } => *self.began.entry(step.to_string()).or_default() += 1,
                Happening::StepsOpened { round: 1, .. } => self.seen.opened += 1,
                Happening::StepsOpened { .. } => self.seen.again += 1,
                Happening::RefinementStarted { step, .. } => self.seen.refined += usize::from(step.contains('/')),
                // Who says yes to a call, or to what is shown, has read it.
                Happening::ApprovalRequested { question, form, .. } => {
                    self.judged.extend(marks(question));
                    self.judged.extend(form.iter().filter_map(|form| form.show.as_ref()).flat_map(|show| marks(show)));
                }
                Happening::StepSucceeded { output, details, .. } => {
                    let is_gate = details.get("verdicts").is_some() && !details["used_otherwise"].as_bool().unwrap_or(false);
                    if is_gate {
                        self.judged.extend(marks(&output.to_string()));
                    }
                }
                Happening::RunFinished(end) if end.status != RunStatus::Failed => self.shown("the outputs", &end.outputs.to_string()),
                _ => {}
            }
        }
    }

    /// A person or a host gets a text.
    fn shown(&mut self, what: &str, text: &str) {
        for mark in marks(text) {
            if !self.judged.contains(&mark) {
                self.seen.unjudged.push(format!("{what} have {mark}"));
            }
        }
    }

    fn gives_personal(&mut self, call: u64, what: &str, text: &str) {
        let (step, _) = self.steps.get(&call).cloned().unwrap_or_default();
        let is_marked = step.split(['/', '[']).any(|part| self.marked.contains(part));
        if text.contains(PHONE) && !is_marked {
            self.seen.leaks.push(format!("{what} gets it from {step}"));
        }
    }

    fn reply(&mut self, call: u64, request: &CallRequest) -> Result<CallReply, Failure> {
        Ok(match request {
            CallRequest::Model(request) => {
                let shown = request.messages.iter().map(|message| serde_json::to_string(&**message).unwrap()).collect::<String>();
                self.gives_personal(call, "a model", &shown);
                let text = self.says(request, &shown);
                // The whole prompt is read again each time, and the answer is as long as it may be.
                let usage = Usage {
                    input_tokens: request.messages.iter().map(|message| message.text.len() as u64).sum(),
                    output_tokens: 50,
                    ..Usage::default()
                };
                CallReply::Model(ModelReply { calls: self.calls(&text, &shown), text, usage: Some(usage), ..ModelReply::default() })
            }
            CallRequest::Http(request) => {
                let body = request.body.as_ref().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
                let is_key = |(name, _): &&(String, Secret)| name == "Idempotency-Key";
                if request.headers.iter().find(is_key).is_none() {
                    self.seen.keyless.push(format!("{} has no key", request.url));
                }
                let all = format!("{} {body}", request.url);
                self.shown("the parts of a request", &all);
                self.gives_personal(call, "a host", &all);
                let echo: Value = serde_json::from_str(&body).unwrap_or_else(|_| json!({ "x": body }));
                let echo = if echo.get("x").is_some() { echo } else { json!({ "x": body }) };
                CallReply::Http(HttpReply { status: 200, headers: vec![], body: echo })
            }
            CallRequest::Print(parts) => {
                self.shown("the printed parts", &parts.join(" "));
                CallReply::Sent(String::new())
            }
            CallRequest::Held { request, .. } => self.reply(call, request)?,
            CallRequest::Query(request) => {
                self.seen.outside += 1;
                if self.seen.outside.is_multiple_of(2) && request.query.contains("people") {
                    return Err(Failure::new(FailureKind::Program, format!("bad value: {PHONE}")));
                }
                let is_personal = QUERIES.iter().position(|query| *query == request.query).is_none_or(|at| at < PERSONAL_QUERIES);
                let (name, value) = ("x".to_owned(), json!(if is_personal { PHONE } else { "1" }));
                let rows = vec![serde_json::Map::from_iter([(name.clone(), value)])];
                CallReply::Rows(Rows { rows, columns: vec![(name, "text".into())], ..Rows::default() })
            }
            // It prints what it was given.
            CallRequest::Program(request) => {
                self.seen.outside += 1;
                let said = [request.command.join(" ").into_bytes(), request.input.clone()].concat();
                let fails = request.command.iter().any(|word| word.ends_with("fail"));
                let (end, stdout, stderr) =
                    if fails { (ProgramEnd::Exited(3), vec![], said) } else { (ProgramEnd::Exited(0), said, vec![]) };
                CallReply::Program(ProgramReply { end, stdout, stderr, sandbox: Some("bubblewrap".into()), ..ProgramReply::default() })
            }
            CallRequest::Write { name, content, .. } => {
                self.seen.outside += 1;
                let FileToWrite::Text(text) = content else { panic!("no picture is drawn") };
                self.gives_personal(call, "a file", &format!("{name} {text}"));
                self.disk.push_str(text);
                CallReply::Sent(format!("/p/out/{name}"))
            }
            CallRequest::Open { .. } => {
                self.seen.outside += 1;
                CallReply::Value(json!(self.disk))
            }
            other => panic!("{other:?} is not drawn"),
        })
    }

    /// Calls of every tool there is, again and again, whether it is offered or not, with words of the model wherever they fit or not.
    fn calls(&self, text: &str, shown: &str) -> Vec<ToolCall> {
        let turns = shown.matches("\"role\":\"tool\"").count();
        if !shown.contains("Call.") || turns > 12 {
            return vec![];
        }
        let list = [
            ("hook", json!({ "x": text })),
            ("pick", json!({ "m": text, "sure": true, "list": ["a"] })),
            ("pick", json!({ "m": "a", "sure": text, "list": ["a"] })),
            ("pick", json!({ "m": "a", "sure": true, "list": [text] })),
            ("pick", json!({ "m": "a", "sure": true, "list": ["b"], "more": text })),
            ("pick", json!({ "m": "b", "sure": false, "list": ["b", "a"] })),
            ("say", json!({ "x": text })),
            ("disk.read", json!({ "name": "a.txt" })),
            ("inside", json!({ "x": text, "m": text })),
            ("inside", json!({ "x": text, "m": "b" })),
        ];
        let call =
            |(at, (tool, arguments)): (usize, (&str, Value))| ToolCall { id: format!("c{turns}-{at}"), tool: tool.into(), arguments };
        list.into_iter().enumerate().map(call).collect()
    }

    fn says(&mut self, request: &ModelRequest, shown: &str) -> String {
        self.said += 1;
        // What it is shown, without the marks of others: else a judged text would seem to come back unjudged.
        let repeats = if shown.contains(PHONE) { PHONE } else { "" };
        let text = format!("{MODEL}{}X one {repeats}", self.said);
        let Some(schema) = &request.schema else { return text };
        let fields = &schema["properties"];
        if fields.get("verdicts").is_some() {
            let passed = match self.judges {
                Judges::LetPass => true,
                Judges::SayNonsense => return "no verdict at all".into(),
                Judges::Refuse => false,
                Judges::TakeTurns => self.said.is_multiple_of(2),
            };
            let verdict = json!({ "id": "good", "passed": passed, "feedback": text, "evidence": "" });
            return json!({ "verdicts": [verdict] }).to_string();
        }
        let mode = ["a", "b"][self.said % 2];
        let answer = |(name, field): (&String, &Value)| {
            let value = match (name.as_str(), field["type"].as_str()) {
                ("mode", _) => json!(mode),
                (_, Some("boolean")) => json!(!self.said.is_multiple_of(3)),
                (_, Some("array")) => json!([]),
                (_, _) if field["enum"].is_array() => field["enum"][0].clone(),
                _ => json!(text),
            };
            (name.clone(), value)
        };
        Value::Object(fields.as_object().into_iter().flatten().map(answer).collect()).to_string()
    }
}

/// The marks of models in a text, whatever became of its case.
fn marks(text: &str) -> Vec<String> {
    let text = text.to_uppercase();
    let found = text.match_indices(MODEL).map(|(at, _)| {
        let rest = &text[at + MODEL.len()..];
        format!("{MODEL}{}", rest.chars().take_while(char::is_ascii_digit).collect::<String>())
    });
    found.collect()
}

fn moment() -> Moment {
    Moment { wall: start(), ms: 0 }
}

/// A run that has begun.
fn begun(plan: &Arc<Plan>, inputs: Value) -> Run {
    let mut run = Run::new("r_test", plan.clone(), RunSettings { unscripted: Unscripted::Live, ..options() }, moment());
    let begins = RunStart {
        pipeline: "main".into(),
        hash: String::new(),
        file: String::new(),
        inputs: Arc::new(inputs),
        channel: None,
        style_guide: None,
        person: Arc::new(json!({})),
        conversation: None,
        origin: None,
        names_outputs: false,
        failure: None,
        now: start(),
        scripted: false,
        served: false,
        seed: 1,
        deadline_ms: None,
        files: Default::default(),
        tape: None,
        trace: None,
        max_cost_usd: None,
        marks: Marks::default(),
    };
    run.handle(Input::Start(Box::new(begins)), moment());
    run
}
