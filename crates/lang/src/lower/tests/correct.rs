//! Correct files of every kind, in which every key of this version occurs: nothing is said about them.

use std::collections::BTreeSet;

use super::super::keys::{self, KeyRule, KeyTable};
use super::*;

const PIPELINE: &str = r#"flow: 1
name: order_desk
description: Answers questions about orders.
imports: [shared/desk.yaml]
inputs:
  question: { type: text, required: true, min_length: 1, max_length: 2000, pattern: "[a-z]", description: What is asked, example: Where is it? }
  customer: { type: text, default: c1, pii: true, untrusted: true }
  amounts: { type: list, items: { type: number, minimum: 0, maximum: 9 } }
  kind: { type: text, enum: [open, done], required: false }
  address: { type: object, fields: { street: text, zip: { type: text, required: false } } }
  day: { type: date, default: "2026-11-18" }
  report: file
data:
  customers: { file: data/customers.csv, pii: [name], columns: { zip: text, paid: { type: amount, decimal: "," } }, engine: sqlite, untrusted: true, separator: ";", encoding: windows-1252, header_row: 2 }
  orders: { file: data/orders.xlsx, sheet: All, fill_merged: true, errors: empty }
  stock: { file: data/stock.sqlite, table: items }
knowledge:
  manual: { files: ["docs/**/*.md", terms.pdf], search: both, embed: third, description: How the desk works., untrusted: false }
person: { id: "{{ inputs.customer }}", language: en, time_zone: UTC, name: Ana, email: a@x.org, phone: "+1" }
secrets: { DESK_TOKEN: "Token of the desk, from its settings page" }
conversation: { id: "{{ inputs.customer }}", message: inputs.question, keep: 10, max_tokens: 4000, summary: clerk, store: talks.db }
channels: [sms, mail]
style_guide: house
models:
  default:
    provider: openai
    model: small
    base_url: https://models.example/v1
    api_key: "{{ secrets.DESK_TOKEN }}"
    temperature: 0.2
    max_output_tokens: 500
    seed: 7
    timeout: 20s
    retry: { max_attempts: 4, delay: 500ms, backoff: linear, max_delay: 5s, jitter: false, on: [timeout, unknown_outcome] }
    fallback: [other]
    price: { input: 0.5, output: 1 }
    api: responses
  other: { provider: anthropic, tool_calls: schema }
  third: { provider: ollama, reasoning: low, context: 32768, extra: { top_p: 0.9 }, omit: [stream_options] }
  fourth: { provider: scripted, replies: demo.yaml }
  fifth: { provider: replay, folder: recorded }
  sixth: { provider: cli, preset: claude_code, folder: work, reads: [docs], writes: [work], max_cost_usd: 0.5, network: true }
  ninth: { provider: tool, tool: desk, prompt: question, system: role, answer: body.text }
  eighth: { provider: acp, preset: gemini, folder: work }
  seventh:
    provider: cli
    program: [agent, --print]
    version: -V
    prompt: [--prompt=]
    options:
      model: [--model]
      system: [--system]
      allowed_tools: [--allow]
      disallowed_tools: [--deny]
      max_turns: [--turns]
      cost_usd: [--budget]
      read_only: [--plan]
      edit: [--edit]
      sandboxed: [--no-own-sandbox]
      session: [--resume]
    output: jsonl
    answer:
      text: { path: item.text, only: { type: answer }, all: true }
      ended: { path: type, only: { type: over } }
      session: id
      failed: is_error
      error: [error.message, error]
      model: model
      input_tokens: [usage.input, usage.cached]
      output_tokens: usage.output
      cost_usd: cost
      denied: denied
      cumulative: true
    api_key_variable: AGENT_KEY
    base_url_variable: AGENT_URL
    env: { NO_COLOR: "1" }
agents:
  clerk:
    model: default
    instructions: { file: clerk.md }
    output: { answer: text, score: { type: integer, minimum: 0 } }
    tools: [tables, files.read]
    agents: [strict]
    max_turns: 4
    limits: { max_tokens: 900 }
    policy: careful
    style_guide: house
  strict: { instructions: "Judge {{ person.name }}.", output_schema: { type: object, properties: { a: { type: string } } } }
tools:
  issues:
    url: https://issues.example/mcp
    allow: [find]
    auth: { grant: login, client_id: a, client_secret: "{{ secrets.DESK_TOKEN }}", scopes: [read], issuer: https://login.example }
  reports:
    url: https://reports.example/mcp
    allow: [find]
    auth: { client_id: a, private_key: "{{ secrets.DESK_TOKEN }}", token_url: https://login.example/token }
  desk:
    http: POST https://desk.example/orders/{{ with.id }}
    headers: { Authorization: "Bearer {{ secrets.DESK_TOKEN }}" }
    query: { limit: 5 }
    body: { id: "{{ with.id }}" }
    arguments: { id: text }
    description: Looks an order up.
    with: { limit: 3 }
    allow: [orders]
    deny: [refund]
    timeout: 5s
    connect_timeout: 2s
    approve: true
  tables: { sql: [orders] }
  files: { file: reports }
  lint: { program: [ruff, check, --, "{{ with.file }}"], arguments: { file: text }, output: { count: integer }, reads_only: true, ok_exits: [0, 1] }
  price: { python: { code: "price = amount * 2", requires: [numpy], venv: .venv }, arguments: { amount: number }, returns: [price] }
  sub: { pipeline: sub.yaml }
  post: { smtp: "mail.example:25", from: a@x.org, user: a, password: "{{ secrets.DESK_TOKEN }}" }
  clock: { command: mcp-server-time, args: [--local-timezone, "{{ inputs.customer }}"], env: { TZ: UTC }, allow: [get_time], optional: true, instructions: false, pictures: true, questions: true }
scorecards:
  reply:
    judge: strict
    on_judge_error: pass
    criteria:
      - { id: answers, description: The reply answers the question., expected: The state of the order., judge: true }
      - id: all_checks
        description: Every check that needs no model.
        feedback: "Name the {{ inputs.kind }} orders."
        check:
          contains: [order, "{{ inputs.kind }}"]
          not_contains: refund
          regex: "[0-9]+"
          equals: { a: 1 }
          json_schema: { type: string }
          max_length: 300
          min_length: 3
          fits_channel: true
          style_guide: true
          markdown: [bold]
          emojis: none
          language: en
          pii: none
          links: [x.org]
          readability: 9
          numbers_from: with.facts
          states_numbers: with.facts
          apart_from: with.facts
          expression: value.a > 1
policies:
  careful:
    description: Reads only.
    allowed_tools: [read]
    disallowed_tools: [write]
    approval_required: [read]
    permission_mode: deny
    resource_limits: { time: 10m, cost_usd: 1.5, tokens: 1000, memory: 2GB, file_size: 10MB }
    file_access: { read: ["src/**"], write: [] }
    network_access: { hosts: [x.org] }
    sandbox: required
    untrusted: { addresses: ask, recipients: deny, commands: ask, paths: ask, otherwise: allow, clock.*: deny, clock.now(zone): ask }
  lax: { untrusted: ask }
limits: { deadline: 5m, max_parallel: 2, max_tokens: 1000, max_cost_usd: 0.5, max_steps: 9 }
guarantees: [secrets_kept, bounded]
steps:
  - id: facts
    name: Facts for {{ person.name }}
    phase: extracting
    route: inputs.question
    cases:
      - { id: open, phrases: [open orders, what is open], equals: [open, ""], unless: [opening hours], sql: select 1 where a = $a, with: { a: "{{ person.id }}" }, one: true, max_rows: 5 }
      - id: report
        when: inputs.kind == "done"
        steps:
          - { id: rows, set: [1, "{{ inputs.kind }}"] }
          - { id: text, agent: clerk, prompt: "Sum up {{ steps.rows.output }}" }
    otherwise: { set: [] }
  - { id: pair, parallel: true, steps: [{ id: left, set: 1 }, { id: right, set: 2 }] }
  - { id: polish, repeat: { until: steps.again.output > 2, at_most: 3, unmet: keep, stop_on_same: 2 }, steps: [{ id: again, set: "{{ round }}" }] }
  - { id: page, http: GET https://x.org/, headers: { a: 1 }, query: { q: x }, body: x, output: { status: any }, idempotency_key: k }
  - { id: files, read: ["{{ inputs.report }}"], type: table, needs: [] }
  - { id: asked, sql: "select 1 where a = {{ inputs.kind }} and b = $b", with: { b: 1 } }
  - { id: kept, sql: { file: kept.sql } }
  - { id: build, program: [make, "{{ inputs.kind }}"], input: { a: 1 }, env: { CI: "1" }, output: lines, network: [x.org, "*.y.org:*", "127.0.0.1:80"], writes: out, ok_exits: 0 }
  - { id: sums, python: { file: sums.py }, with: { rows: "{{ inputs.amounts }}" }, returns: [total] }
  - { id: found, search: manual, for: "{{ inputs.question }}", top: 3 }
  - { id: note, read: { server: clock, uri: "docs://{{ inputs.kind }}" } }
  - id: each
    needs: [facts, files]
    when: inputs.kind is defined
    for_each: inputs.amounts
    as: amount
    max_parallel: 3
    fail_fast: true
    timeout: 5s
    deadline: 1m
    retry: { max_attempts: 2 }
    on_failure: continue
    pii: true
    once: true
    tool: desk
    with: { id: "{{ amount }}" }
    output_schema: { type: object }
    idempotency_key: "{{ item }}"
  - { id: sub, call: sub.yaml, with: { a: 1 }, channel: "{{ inputs.kind }}", on_failure: compose }
  - { id: compose, agent: clerk, prompt: "{{ inputs.question }}", model: other, attach: steps.files.output, history: true, cache: 1d }
  - { id: fit, format: "{{ steps.compose.output }}", channel: sms, style_guide: house }
  - { id: check, gate: [reply, steps.sub.output.card], of: steps.fit.output, with: { facts: 1 }, judge: strict, refine: compose, otherwise: Sorry. }
  - { id: job, task: clerk, prompt: Go., artefact: text, accept: [The text is short.], judge: strict, attach: steps.files.output, with: { before: 1 }, pictures: true, venv: .venv, requires: [numpy], max_attempts: 3, stop_on_identical_failures: 2, history: kept }
  - { id: talk, dialogue: [clerk, strict], topic: Go., attach: steps.files.output, max_turns: 6, until: { all_say: AGREED, judge: arbiter, repeats: 2, expression: turns | length > 3 }, limits: { deadline: 5m, max_tokens: 9000, max_cost_usd: 0.5 }, policy: narrow, summary: arbiter }
  - { id: work, plan: clerk, prompt: Go., may_use: [strict, desk, files.read], attach: steps.files.output, max_steps: 3, max_parallel: 2, rounds: 2, check: strict, history: own }
  - { id: ask, approval: Go on?, show: "{{ steps.fit.output.text }}", form: { note: { type: text, default: "{{ steps.fit.output.text }}" } }, timeout: 2h, on_timeout: pause }
  - { id: pause, wait: 5m }
  - { id: deliver, send: post, of: steps.check.output, with: { to: a@x.org, subject: Hi }, idempotency_key: x }
  - { id: done, stop: succeeded, reason: All is said. }
on_failure: [{ id: sorry, send: stdout, of: failure.message }]
finally: [{ id: last, wait: "2026-11-18T09:00:00Z" }]
outputs: { reply: "{{ steps.check.output.text }}", count: 3 }
tests: [{ id: t, inputs: { question: x }, golden: true }]
"#;

const CHANNEL: &str = r#"flow: 1
channel: sms
description: Text messages.
max_length: 300
length_unit: sms_segments
markdown: [bold, italic, strike, headers, tables, links, code, lists]
emojis: false
split: { at: word, most_parts: 3, indicator: "({part}/{parts})" }
too_long: The rest follows by mail.
body: markup
markup: { bold: "*", italic: "_{text}_", strike: "~", code: "`", bullet: "- ", link: "{text} ({url})", heading: "*{text}*", table: lines, escape: { "&": "&amp;" }, lookalike: { "*": "∗" } }
languages: { de: { too_long: Der Rest folgt per Mail., indicator: "[{part}/{parts}]" } }
"#;

const STYLE_GUIDE: &str = r#"flow: 1
style_guide: house
version: "2"
description: How we write.
brand_name: House
personality: A calm colleague.
tone: { default: calm, error: sorry, success: glad }
emojis: { enabled: true, success: "✅", warning: "⚠️", error: "❌", info: "ℹ️" }
humor: { enabled: false, style: dry, frequency: rare }
formatting: { greeting: true, sign_off: "The desk", use_user_name: true }
words: { prefer: { purchase: order }, avoid: [utilise], banned: [cheap] }
languages:
  de-AT:
    brand_name: Haus
    personality: Ein ruhiger Kollege.
    tone: { default: ruhig }
    humor: { enabled: true }
    formatting: { greeting: "Servus {name}," }
    words: { banned: [billig] }
"#;

const REPLIES: &str = r#"flow: 1
meanings: [[order, purchase], [bill, invoice]]
description: For demonstrations.
replies:
  compose: "You asked {{ inputs.question }}"
  facts/report/text:
    - { when: inputs.kind == "done", action: turn, text: Done., usage: { input_tokens: 5, output_tokens: 2 } }
    - { data: { answer: x } }
  each[2]: [{ calls: [{ tool: desk, with: { id: 1 } }] }, { error: timeout }, { passed: true }, passed, { failed: { answers: Say it. } }]
"#;

const TEST: &str = r#"flow: 1
test: order_desk.yaml
description: What must hold.
now: "2026-11-18T09:00:00Z"
mocks: { page: { error: connection } }
replies: { compose: Hello }
cases_from: { file: cases.csv }
models: [small, large]
judge_model: large
cases:
  - id: one
    description: The usual case.
    inputs: { question: x }
    channels: [sms]
    conversation: [{ role: user, text: Hi, channel: sms }]
    mocks: { facts: [1] }
    replies: { check: passed }
    expect: { status: succeeded, exit: 0, refined: false, outputs: { reply: { contains: x, ignore_case: true }, count: 3 }, result: 4, judge: It names a next step., blocked: [work.write], calls: { check: { agent: [writer], prompt: { contains: x }, pictures: [a.png], request: GET https://a.example/, body: { a: 1 }, idempotency_key: k-1, arguments: { id: 4 } } }, asked: [writer], max_parallel: 2, max_tokens: 500, max_cost_usd: 0.2, sent: { max_length: 9 }, steps: { check: succeeded } }
    golden: true
"#;

const DEFINITIONS: &str = "flow: 1
description: What several pipelines share.
imports: [more.yaml]
data: { d: { file: d.csv } }
secrets: { KEY: The key }
agents: { a: { instructions: Be brief. } }
models: { m: { provider: ollama } }
tools: { t: { file: reports } }
scorecards: { s: { criteria: [] } }
policies: { p: { sandbox: none } }
";

#[test]
fn correct_files_are_silent() {
    assert_eq!(read(PIPELINE, pipeline).1, "");
    assert_eq!(read(PIPELINE, inline_tests).1, "");
    assert_eq!(read(CHANNEL, channel).1, "");
    assert_eq!(read(STYLE_GUIDE, style_guide).1, "");
    assert_eq!(read(REPLIES, replies).1, "");
    assert_eq!(read(TEST, test_file).1, "");
    assert_eq!(read(DEFINITIONS, definitions).1, "");
    assert_eq!(
        findings("flow: 1\nname: a\ninputs: { schema_file: in.json }\nsteps: [{ id: a, set: 1 }]\noutputs: \"{{ steps.a.output }}\"\n"),
        ""
    );
}

/// All places, each once.
fn places() -> Vec<&'static KeyTable> {
    let mut places: Vec<&'static KeyTable> = vec![
        &keys::PIPELINE,
        &keys::DEFINITIONS,
        &keys::CHANNEL,
        &keys::STYLE_GUIDE,
        &keys::KNOWLEDGE,
        &keys::REPLIES,
        &keys::TEST,
        &keys::FIELD,
        &keys::REPLY,
        &keys::EXPECT,
        &keys::MOCK_ERROR,
        &keys::STEP,
        &keys::EVERY_STEP,
        &keys::CASE,
        &keys::CASE_STEPS,
        &keys::SCHEMA_INPUTS,
    ];
    let kinds = keys::KINDS.iter().chain(keys::TOOL_KINDS).chain(keys::PROVIDERS);
    places.extend(kinds);
    keys::places_from(places)
}

#[test]
fn the_correct_files_use_every_key_of_this_version() {
    let all = [PIPELINE, CHANNEL, STYLE_GUIDE, REPLIES, TEST, DEFINITIONS, "schema_file: x"].concat();
    let is_used = |key: &KeyRule| all.contains(&format!("{}:", key.name));
    let unused: BTreeSet<&str> = places().iter().flat_map(|place| place.keys).filter(|key| !is_used(key)).map(|key| key.name).collect();
    assert_eq!(unused, BTreeSet::new());
}

#[test]
fn every_key_is_told_once_and_in_one_plain_line() {
    for place in places() {
        let names: BTreeSet<&str> = place.keys.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), place.keys.len(), "{}", place.name);
        for key in place.keys {
            assert!((3..=90).contains(&key.about.chars().count()) && !key.about.ends_with('.'), "{}", key.about);
            for jargon in ["mapping", "sequence", "scalar", "string", "integer", "boolean", "null", "node", "regex"] {
                assert!(!key.about.contains(jargon), "{}", key.about);
            }
        }
    }
}
