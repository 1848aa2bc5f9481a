//! A conversation as in W5: plan, extract, compose, format, validate; half of them are refined once. Four model calls, or seven.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flow::event::{Event, Marks, RunStart, RunStatus};
use flow::port::{Clock, EventLog, ModelClient, Programs, StoreError, Synced};
use flow_adapters::agent::AgentRuns;
use flow_adapters::clock::SystemClock;
use flow_adapters::data::DataFiles;
use flow_adapters::folder::DiskFolder;
use flow_adapters::http::{Http, HttpSettings, StepHttpClient};
use flow_adapters::knowledge::Documents;
use flow_adapters::mcp::McpServers;
use flow_adapters::providers::HttpModelClient;
use flow_adapters::providers::embeddings::HttpEmbedder;
use flow_adapters::python::PythonRuns;
use flow_adapters::sandbox::{FirstStage, Sandbox};
use flow_adapters::shared_store::SharedStores;
use flow_adapters::smtp::SmtpMailSender;
use flow_adapters::sqlite_cache::SqliteCache;
use flow_adapters::stdout::Silent;
use flow_base::journal::Journal;
use flow_base::model::Limits;
use flow_engine::driver::{Ports, drive};
use flow_engine::{Input, Mocks, Run, RunSettings, Unscripted};
use flow_lang::load::WrittenRules;
use flow_lang::plan::Plan;
use futures_util::future::join_all;
use nix::sys::resource::UsageWho::RUSAGE_SELF;
use serde_json::json;

use crate::floor;
use crate::measure::{clock, cost_of, ms, peak_mb};
use crate::memory::planned;

/// Conversations at once; half of them are refined.
pub const RUNS: usize = 200;
/// Their model calls.
pub const CALLS: usize = RUNS / 2 * 4 + RUNS / 2 * 7;

/// Writes a pipeline that has all of these conversations in one run: it prints how many had a good reply, which is [`RUNS`]. Its model has a
/// key, the variable `KEY`, as models of users do: texts are searched for it.
///
/// # Errors
/// A file cannot be written.
pub fn write_as_one(folder: &Path, url: &str) -> std::io::Result<()> {
    let pipeline = PIPELINE.replace("base_url: \"URL\"", &format!("base_url: \"{url}\", api_key: \"{{{{ env.KEY }}}}\""));
    std::fs::write(folder.join("talk.yaml"), pipeline)?;
    std::fs::write(folder.join("all.yaml"), ALL.replace("RUNS", &RUNS.to_string()))
}

/// Runs all conversations at once and prints what they cost.
///
/// # Errors
/// A sentence about what went wrong.
pub fn run_all(kind: &str, url: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (kind, url) = (kind.to_owned(), url.to_owned());
    let worker = std::thread::Builder::new().stack_size(64 * 1024 * 1024).spawn(move || -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let (times, cost) = cost_of(RUSAGE_SELF, || match kind.as_str() {
            "floor" => runtime.block_on(by_hand(&url)),
            _ => runtime.block_on(by_flow(&url, kind == "durable")),
        });
        let mut times = times?;
        assert_eq!(times.len(), RUNS);
        times.sort();
        println!(
            "{kind:<7} {RUNS} runs, {CALLS} calls: {:>7.3} ms CPU a run, {:>6.0} runs/s, p50 {:>6.1} ms, p99 {:>6.1} ms, {:>4.0} MB",
            ms(cost.cpu) / RUNS as f64,
            RUNS as f64 / cost.wall.as_secs_f64(),
            ms(times[RUNS / 2]),
            ms(times[RUNS * 99 / 100]),
            peak_mb("self").unwrap_or_default()
        );
        Ok(())
    })?;
    worker.join().map_err(|_| "the thread ended badly")?.map_err(Into::into)
}

/// What the mock says: rough at first where it is asked to, fine once it is told to fix.
pub fn says(body: &str) -> String {
    let is_rough = body.contains("rough");
    if body.contains("You judge") {
        let feedback = if is_rough { "please mend" } else { "" };
        return json!({ "verdicts": [{ "id": "good", "passed": !is_rough, "feedback": feedback, "evidence": "the text" }] }).to_string();
    }
    let text = if is_rough && !body.contains("please mend") { "a rough reply" } else { "a fine reply" };
    text.to_owned()
}

/// What a conversation asks: every other one gets a rough reply first.
fn question(number: usize) -> String {
    let manner = if number.is_multiple_of(2) { "rough" } else { "plain" };
    format!("Question {number}, {manner}")
}

async fn by_hand(url: &str) -> Result<Vec<Duration>, String> {
    let client = floor::client()?;
    let talk = async |number: usize| -> Result<Duration, String> {
        let began = clock();
        floor::ask(&client, url, &format!("You plan. Question {number}")).await?;
        let data = format!("hours of {number}");
        let mut prompt = format!("You compose. {}: {data}", question(number));
        for _ in 0..2 {
            let draft = floor::ask(&client, url, &prompt).await?;
            let fitted = floor::ask(&client, url, &format!("You format. {draft}")).await?;
            let verdict = floor::ask(&client, url, &format!("You judge. {fitted}")).await?;
            let verdict: serde_json::Value = serde_json::from_str(&verdict).map_err(|e| e.to_string())?;
            if verdict["verdicts"][0]["passed"] == true {
                assert_eq!(fitted, "a fine reply");
                return Ok(began.elapsed());
            }
            prompt = format!("{prompt} {draft} {}", verdict["verdicts"][0]["feedback"]);
        }
        Err("the second round was not better".to_owned())
    };
    join_all((0..RUNS).map(talk)).await.into_iter().collect()
}

/// The floor of all conversations in one process: prints how many had a good reply.
///
/// # Errors
/// A sentence about what went wrong.
pub fn count_by_hand(url: &str) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(by_hand(url))?.len());
    Ok(())
}

async fn by_flow(url: &str, is_durable: bool) -> Result<Vec<Duration>, String> {
    at_once(0..RUNS, url, is_durable, None).await
}

/// Runs of these numbers at once, in this thread; another model in the place of the one at the address, if there is one.
///
/// # Errors
/// A sentence about what went wrong.
pub async fn at_once(
    runs: Range<usize>,
    url: &str,
    is_durable: bool,
    model: Option<Arc<dyn ModelClient>>,
) -> Result<Vec<Duration>, String> {
    let plan = planned(&PIPELINE.replace("URL", url));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let http = Http::new(HttpSettings::default(), clock.clone());
    let data = Arc::new(DataFiles::default());
    let programs: Arc<dyn Programs> = Arc::new(Sandbox::new(Arc::default(), FirstStage::default()));
    let ports = Ports {
        agents: Arc::new(AgentRuns::new(programs.clone())),
        python: Arc::new(PythonRuns::new(programs.clone(), data.clone())),
        programs,
        servers: Arc::new(McpServers::new(http.clone(), clock.clone())),
        models: model.unwrap_or_else(|| Arc::new(HttpModelClient::new(http.clone(), Arc::default()))),
        database: data.clone(),
        reader: data,
        documents: Arc::new(Documents::new(Arc::default(), Arc::new(HttpEmbedder::new(http.clone())), clock.clone())),
        http: Arc::new(StepHttpClient::new(http)),
        mail: Arc::new(SmtpMailSender::new(clock.clone(), vec![])),
        folder: Arc::new(DiskFolder::keeping(Arc::default())),
        cache: Arc::new(SqliteCache::new("cache.db".into(), "r", Default::default())),
        door: Default::default(),
        printer: Arc::new(Silent),
        heard: None,
        person: None,
        tape: None,
        trace: None,
        clock,
    };
    let stores = SharedStores::default();
    let log = || -> Result<Box<dyn EventLog>, String> {
        if is_durable {
            Ok(Box::new(stores.log(Path::new("runs.db"), &Default::default()).map_err(|e| e.to_string())?))
        } else {
            Ok(Box::new(Nowhere))
        }
    };
    join_all(runs.map(async |number| talk(number, &plan, &ports, log()?).await)).await.into_iter().collect()
}

/// One run, from its start to its end.
async fn talk(number: usize, plan: &Arc<Plan>, ports: &Ports, log: Box<dyn EventLog>) -> Result<Duration, String> {
    let began: Instant = clock();
    let mut journal = Journal::new(log);
    let moment = flow_engine::driver::RunClock::new(ports.clock.clone(), 0).now();
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
        is_chat: false,
        limits: Limits { max_parallel: Some(8), ..Limits::default() },
    };
    let mut run = Run::new(format!("r_{number:06}"), plan.clone(), options, moment);
    let start = RunStart {
        pipeline: "talk".into(),
        hash: String::new(),
        file: String::new(),
        inputs: Arc::new(json!({ "number": number, "message": question(number) })),
        channel: None,
        style_guide: None,
        person: Arc::new(json!({})),
        conversation: None,
        origin: None,
        names_outputs: false,
        now: moment.wall,
        scripted: false,
        served: false,
        seed: number as u64,
        deadline_ms: None,
        files: Default::default(),
        tape: None,
        trace: None,
        max_cost_usd: None,
        marks: Marks::default(),
        failure: None,
    };
    let (_stop, mut stop) = tokio::sync::mpsc::unbounded_channel();
    let end = drive(
        &mut run,
        Input::Start(Box::new(start)),
        ports,
        &mut journal,
        &mut stop,
        &mut tokio::sync::mpsc::unbounded_channel().1,
        &mut |_| {},
    )
    .await
    .map_err(|e| e.to_string())?;
    let end = end.ok_or("a person is asked")?;
    assert_eq!((end.status, end.outputs["reply"].as_str()), (RunStatus::Succeeded, Some("a fine reply")), "{:?}", end.failure);
    Ok(began.elapsed())
}

/// Keeps nothing.
struct Nowhere;

impl EventLog for Nowhere {
    fn append(&mut self, _: &[Event]) -> Result<(), StoreError> {
        Ok(())
    }
    fn sync(&mut self) -> Synced {
        Box::pin(std::future::ready(Ok(())))
    }
}

const ALL: &str = r#"
flow: 1
name: all
limits: { max_parallel: RUNS }
steps:
  - id: each
    for_each: range(RUNS)
    max_parallel: RUNS
    call: talk.yaml
    with: { number: "{{ item }}", message: "Question {{ item }}, {{ 'plain' if item % 2 else 'rough' }}" }
outputs: { fine: "{{ steps.each.output | selectattr('reply', 'in', ['a fine reply']) | length }}" }
"#;

const PIPELINE: &str = r#"
flow: 1
name: talk
inputs: { number: integer, message: text }
models: { default: { provider: openai, model: m, base_url: "URL" } }
agents:
  planner: { instructions: You plan. }
  composer: { instructions: You compose. }
  formatter: { instructions: You format. }
  judge: { instructions: You judge. }
scorecards:
  reply:
    judge: judge
    criteria:
      - { id: good, description: The reply answers the question., expected: A fine reply., judge: true }
steps:
  - { id: plan, agent: planner, prompt: "Question {{ inputs.number }}" }
  - { id: extract, set: "hours of {{ inputs.number }}" }
  - { id: compose, agent: composer, prompt: "{{ inputs.message }}: {{ steps.extract.output }}" }
  - { id: fit, agent: formatter, prompt: "{{ steps.compose.output }}" }
  - { id: validate, gate: reply, of: steps.fit.output, refine: compose, otherwise: I cannot say. }
outputs: { reply: "{{ steps.validate.output }}" }
"#;
