//! Values and files: what is said about each mistake.

use insta::assert_snapshot;

use super::*;

#[test]
fn values_of_the_wrong_type_are_told_with_what_was_found() {
    assert_snapshot!(with_steps("  - { id: a, set: 1, max_parallel: two, for_each: [1], fail_fast: yes, name: 5, once: 1, pii: }"), @r#"
    F005 4:36 "max_parallel" must be a whole number, found the text "two" = write a whole number, in digits, such as 10
    F005 4:67 "fail_fast" must be true or false, found the text "yes" = write true
    F005 4:78 "name" must be text, found the number 5 = write "5"
    F005 4:87 "once" must be true or false, found the number 1 = write once: true, or once: false for the opposite
    F005 4:94 "pii" must be true or false, found nothing = write pii: true, or pii: false for the opposite
    "#);
    assert_snapshot!(with_steps("  - { id: a, agent: [w], prompt: { a: 1 } }\n  - text\n  - { id: b, set: 1, retry: 3, needs: { a: b } }"), @r#"
    F005 4:21 "agent" must be text, found a list = write w
    F005 4:34 "prompt" must be text, found a group of keys = write a text
    F005 5:5 step 2 must be a group of keys, found the text "text" = write keys such as id, needs, when
    F005 6:29 "retry" of step "b" must be a group of keys, found the number 3 = write { max_attempts: 3 }
    F005 6:39 "needs" must be text or a list of texts, found a group of keys = write text or a list of texts
    "#);
    assert_snapshot!(head("inputs: [a]\noutputs: 5\nchannels: sms"), @r#"
    F005 3:9 "inputs" must map names to values, found a list = write inputs: { a: text }
    F005 4:10 "outputs" must be a group of keys, or one text, found the number 5 = write a group of keys, or one text
    F005 5:11 "channels" must be a list, found the text "sms" = write [sms]
    "#);
}

#[test]
fn two_kinds_in_one_are_told() {
    assert_snapshot!(with_steps("  - { id: a, agent: w, tool: t, prompt: Hi }\n  - { id: b, tool: t, output: { a: text }, output_schema: {} }"), @r#"
    F006 4:24 step "a" has both "agent" and "tool"; keep one = keep agent here, and move tool into a step of its own below: - { id: tool_a, tool: t }
    F006 5:44 step "b" has both "output" and "output_schema"; keep one = remove "output" or "output_schema"
    "#);
    assert_snapshot!(head("tools: { t: { sql: [a], file: b } }\nperson: { id: x, from: people, email: y }\ndata: { people: { file: a.xlsx, sheet: a, table: b } }"), @r#"
    F006 3:25 tool "t" has both "sql" and "file"; keep one = remove "sql" or "file"
    F006 4:32 "person" of this pipeline has both "from" and "email"; keep one = remove "from" or "email"
    F006 5:43 table "people" has both "sheet" and "table"; keep one = remove "sheet" or "table"
    "#);
}

#[test]
fn values_outside_their_words_are_told() {
    assert_snapshot!(with_steps("  - { id: a, stop: later }\n  - { id: b, set: 1, retry: { backoff: expo, on: [timeouts, quality] } }\n  - { id: c, http: https://x.org }\n  - { id: d, read: a, type: pdf }"), @r#"
    F007 4:20 stop "later" is not one of: succeeded, failed = write one of these
    F007 5:40 backoff "expo" is not one of: fixed, linear, exponential = write exponential
    F007 5:51 on "timeouts" is not one of: rate_limited, server_error, connection, timeout, bad_response, unknown_outcome = write timeout
    F007 5:61 on "quality" is not one of: rate_limited, server_error, connection, timeout, bad_response, unknown_outcome = write one of these
    F007 6:20 http "https://x.org" does not begin with a method and an address = write GET https://x.org, or another method (methods: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS)
    F007 7:29 type "pdf" is not one of: text, table, document, image = write one of these
    "#);
    assert_snapshot!(head("data: { a: { file: a.docx }, b: { file: b.csv, sheet: x, columns: { c: string } } }\ninputs: { s: string, t: { type: flaot }, u: zzz }"), @r#"
    F007 3:20 data file "a.docx" has an ending that is not known = use a file that ends in .csv, .tsv, .xlsx, .jsonl, .parquet, .sqlite or .duckdb
    F007 3:48 "sheet" of table "b" is only for an Excel file = remove it
    F007 3:72 type "string" of column "c" is not known; did you mean "text"? = write text
    F007 4:14 type "string" of input "s" is not known; did you mean "text"? = write text
    F007 4:33 type "flaot" of input "t" is not known = use one of: text, number, integer, boolean, date, datetime, list, object, file, folder, any, plan, scorecard
    F007 4:45 type "zzz" of input "u" is not known = use one of: text, number, integer, boolean, date, datetime, list, object, file, folder, any, plan, scorecard
    "#);
    assert_snapshot!(with_steps("  - { id: a, route: inputs.x, cases: [{ id: b, when: x, gate: s, of: x }], otherwise: { id: c, set: 1 } }"), @r#"
    F007 4:57 case "a/b" cannot itself be a gate = put the gate into a list: steps: [ … ]
    F002 4:89 unknown key "id" in "a/otherwise" = use one of: name, for_each, as, max_parallel, fail_fast, timeout, deadline, retry, on_failure, cache, phase, pii, once
    "#);
    assert_snapshot!(head("style_guide: \"{{ inputs.x }}\""), @r#"F007 3:14 "style_guide" is read before the run, so it cannot hold {{ }} = write the text itself"#);
}

#[test]
fn times_and_sizes_need_a_unit() {
    assert_snapshot!(with_steps("  - { id: a, set: 1, timeout: 60, deadline: 5 sec }\n  - { id: b, wait: 5 }\n  - { id: c, wait: \"2026-11-18 09:00\" }\n  - { id: d, wait: 0s }"), @r#"
    F008 4:31 timeout "60" has no unit = write 60s or 60m
    F008 4:45 deadline "5 sec" is not a time = write 5s
    F008 5:20 wait "5" has no unit = write 5s or 5m
    F008 6:20 wait "2026-11-18 09:00" is not a time with a time zone = write for example 2026-11-18T09:00:00Z
    "#);
    assert_snapshot!(head("policies: { p: { resource_limits: { memory: 2, file_size: 10 apples } } }"), @r#"
    F008 3:45 memory "2" has no unit = write 2MB or 2GB
    F008 3:59 file_size "10 apples" is not a size = write a whole number and one of B, KB, MB, GB, TB, such as 10MB
    "#);
}

#[test]
fn ids_are_plain_words() {
    assert_snapshot!(findings("flow: 1\nname: My Pipeline\ninputs: { Zip: text }\nsecrets: { token: A token }\nagents: { 1st: {} }\nsteps: [{ id: draft-1, set: 1 }, { id: é, set: 1 }, { id: \"\", set: 1 }]\n"), @r#"
    F011 2:7 pipeline name "My Pipeline" has capitals and blanks; use small letters, digits and "_", a letter first = write my_pipeline, here and wherever it is used
    F011 3:11 input "Zip" has capitals; use small letters, digits and "_", a letter first = write zip, here and wherever it is used
    F011 4:12 secret name "token" has small letters; use capitals, digits and "_", a capital first = write TOKEN, here and wherever it is used
    F011 5:11 agent name "1st" begins with "1"; use small letters, digits and "_", a letter first = write st, here and wherever it is used
    F011 6:15 step id "draft-1" has "-"; use small letters, digits and "_", a letter first = write draft_1, here and wherever it is used
    F011 6:40 step id "é" has "é"; use small letters, digits and "_", a letter first = write a name such as draft
    F011 6:59 step id "" is empty; use small letters, digits and "_", a letter first = write a name such as draft
    "#);
}

#[test]
fn names_that_mean_something_else_are_reserved() {
    assert_snapshot!(findings("flow: 1\nname: a\ninputs: { channel: text }\nsteps: [{ id: stop, set: 1 }, { id: b, set: 1, for_each: [1], as: inputs }, { id: c, route: inputs.x, cases: [{ id: otherwise, when: x, set: 1 }] }]\n"), @r#"
    F012 3:11 "channel" cannot be used as an input name; it means the run's channel = choose another name
    F012 4:15 "stop" cannot be used as a step id; it means what to do after a failure = choose another name
    F012 4:67 "inputs" cannot be used as a loop name; it is reserved = choose another name
    F012 4:117 "otherwise" cannot be used as a case id; it means what is done when no case fits = choose another name
    "#);
}

#[test]
fn two_of_one_id_are_told_with_the_first() {
    assert_snapshot!(findings("flow: 1\nname: a\nchannels: [sms, sms]\nsteps:\n  - { id: a, set: 1 }\n  - { id: a, set: 2 }\n  - id: b\n    route: inputs.x\n    cases:\n      - { id: c, when: x, steps: [{ id: rows, set: 1 }, { id: a, set: 1 }] }\n      - { id: c, when: x, steps: [{ id: rows, set: 1 }] }\nfinally: [{ id: b, set: 1 }]\n"), @r#"
    F013 3:17 channel "sms" is listed twice = remove one of the two
    F013 6:11 two steps are called "a" = write another one here, such as a_2
    F013 10:63 two steps are called "a" = write another one here, such as a_2
    F013 11:15 two cases are called "c" = write another one here, such as c_2
    F013 12:17 two steps are called "b" = write another one here, such as b_2
    "#);
}

#[test]
fn sections_with_nothing_in_them_are_told() {
    assert_snapshot!(findings("flow: 1\nname: a\nagents:\nlimits:\nchannels: []\nsteps: []\n"), @r#"
    F015 3:8 "agents" is empty = fill it in, or remove the key
    F015 4:8 "limits" of this pipeline is empty = fill it in, or remove it
    F015 5:11 "channels" is empty = fill it in, or remove the key
    F015 6:8 "steps" is empty = fill it in, or remove the key
    "#);
    assert_snapshot!(with_steps("  - { id: a, route: x, cases: [] }\n  - { id: b, gate: [], of: x }\n  - { id: c, sql: \"\" }\n  - { id: d, route: x, cases: [{ id: e, phrases: [], set: 1 }] }"), @r#"
    F015 4:31 "cases" is empty = fill it in, or remove the key
    F015 5:20 "gate" is empty = fill it in, or remove the key
    F015 6:19 "sql" is empty = fill it in, or remove the key
    F015 7:50 "phrases" is empty = fill it in, or remove the key
    "#);
}

#[test]
fn missing_files_are_told_where_they_are_named() {
    assert_snapshot!(head("imports: [nothing.yaml]\nchannels: [none]\nstyle_guide: none\nagents: { w: { instructions: { file: notes.md } }, v: { output_schema: { file: no.json } } }\nmodels: { m: { provider: scripted, replies: no.yaml }, r: { provider: replay, folder: nowhere } }\ndata: { d: { file: no.csv } }\ntools: { t: { pipeline: no.yaml } }"), @r#"
    F016 3:11 cannot read "nothing.yaml", imported here: no such file = create the file, or correct the path
    F025 4:12 channel "none" does not exist = remove it, write one that there is (note.md), or create the file of none
    F025 5:14 style guide "none" does not exist = remove it, write one that there is (note.md), or create the file of none
    F025 6:38 instructions file "notes.md" does not exist; did you mean "note.md"? = write note.md
    F025 6:80 schema file "no.json" does not exist = create the file, or correct the path
    F025 7:45 replies file "no.yaml" does not exist = create the file, or correct the path
    F025 7:87 folder of recordings "nowhere" does not exist = create the file, or correct the path
    F025 8:20 data file "no.csv" does not exist = create the file, or correct the path
    F025 9:25 pipeline "no.yaml" does not exist = create the file, or correct the path
    "#);
    assert_snapshot!(with_steps("  - { id: a, call: no.yaml }\n  - { id: b, format: x, channel: none, style_guide: none }"), @r#"
    F025 4:20 pipeline "no.yaml" does not exist = create the file, or correct the path
    F025 5:34 channel "none" does not exist = remove it, write one that there is (note.md), or create the file of none
    F025 5:53 style guide "none" does not exist = remove it, write one that there is (note.md), or create the file of none
    "#);
    assert_snapshot!(head("data: { d: { file: ../../etc/hosts.csv } }\ntools: { t: { file: ../.. } }"), @r#"
    F604 3:20 data file "../../etc/hosts.csv" is outside the project folder = write a path inside the project, such as ../out, wherever it is named; or name the project with --project
    F604 4:21 folder "../.." is outside the project folder = write a path inside the project, such as ../out, wherever it is named; or name the project with --project
    "#);
}

#[test]
fn schemas_are_told_at_the_part_that_is_wrong() {
    assert_snapshot!(with_steps("  - id: a\n    agent: w\n    prompt: Hi\n    output_schema:\n      type: object\n      properties:\n        n: { type: int }"), @r#"F019 10:20 output_schema of step "a": type "int" is not known; did you mean "integer"? = write one of: string, number, integer, boolean, array, object, null"#);
    assert_snapshot!(with_steps("  - { id: a, agent: w, prompt: Hi, output_schema: { $ref: http://x/y } }\n  - { id: b, agent: w, prompt: Hi, output_schema: { pattern: \"(?=a)\" } }\n  - { id: c, agent: w, prompt: Hi, output_schema: { required: true } }\n  - { id: d, agent: w, prompt: Hi, output_schema: { properties: { pii: { type: string, pii: true } } } }"), @r#"
    F019 4:59 output_schema of step "a": the reference "http://x/y" leads out of the schema = write a reference that begins with # and put what it names into $defs
    F019 5:62 output_schema of step "b": the pattern looks ahead or behind (such as "(?="), which is not possible here = correct the pattern
    F019 6:63 output_schema of step "c": "required" is not of type "array" = correct this part of the schema
    F019 7:93 output_schema of step "d": a JSON Schema cannot mark personal data = write the fields in this language (output: { name: { type: text, pii: true } }), or pii: true on the step
    "#);
}

#[test]
fn field_rules_that_contradict_are_told() {
    assert_snapshot!(head("inputs:\n  tone: { type: text, enum: [formal, casual], default: friendly }\n  len: { type: text, min_length: 9, max_length: 5 }\n  num: { type: number, minimum: 5, maximum: 1, min_length: 1 }\n  int: { type: integer, default: 1.5 }\n  day: { type: date, default: 18.11.2026 }\n  list: { type: list, items: integer, default: [1, a] }\n  zip: { type: text, pattern: \"([0-9]\" }\n  low: { type: integer, minimum: 3, default: 2 }\n  pat: { type: text, pattern: \"^a\", default: b }"), @r#"
    F020 4:56 default "friendly" of input "tone" is not one of: formal, casual = write formal or casual here, or add friendly to enum
    F020 5:34 min_length 9 of input "len" is above max_length 5 = change one of the two so that they match
    F020 6:33 minimum 5 of input "num" is above maximum 1 = change one of the two so that they match
    F020 6:48 min_length of input "num" goes with text and list only, and its type is number = change one of the two so that they match
    F020 7:34 default 1.5 of input "int" is not of type "integer" = change one of the two so that they match
    F020 8:31 default "18.11.2026" of input "day" is not of type "date" = write "2026-11-18"
    F020 9:48 default [1,"a"] of input "list" has an element that is not of type "integer" = change one of the two so that they match
    F021 10:31 the pattern of input "zip" has a "(" that is never closed = correct the pattern "([0-9]"
    F020 11:46 default 2 of input "low" is below minimum 3 = change one of the two so that they match
    F020 12:46 default "b" of input "pat" does not match its pattern = change one of the two so that they match
    "#);
}

#[test]
fn limits_of_nothing_are_told() {
    assert_snapshot!(head("limits: { max_parallel: 0, max_cost_usd: 0, deadline: 0s, max_steps: -1, max_tokens: 1.5 }"), @r#"
    F505 3:25 max_parallel must be 1 or more; leave it out for the default = write a number above 0, or remove the key
    F505 3:42 max_cost_usd must be above 0; leave it out for the default = write a number above 0, or remove the key
    F505 3:55 deadline must be above 0; leave it out for the default = write a number above 0, or remove the key
    F505 3:70 max_steps must be 1 or more; leave it out for the default = write a number above 0, or remove the key
    F005 3:86 "max_tokens" must be a whole number, found the number 1.5 = write a whole number
    "#);
    assert_snapshot!(with_steps("  - { id: a, set: 1, retry: { max_attempts: 0, delay: 0s } }"), @"F505 4:45 max_attempts must be 1 or more; leave it out for the default = write a number above 0, or remove the key");
}

#[test]
fn criteria_must_say_what_is_measured() {
    assert_snapshot!(head("scorecards:\n  s:\n    criteria:\n      - { id: a, description: Good., check: { contains: x } }\n      - { id: b, description: It is good enough. }\n      - { id: c, description: It is good enough., judge: false }\n      - { id: d, description: It is good enough., judge: true, expected: x, check: { emojis: none } }\n      - { id: a, description: It is good enough., check: {} }"), @r#"
    F406 6:31 description "Good." of criterion "a" has 5 characters; write at least 10 = write a sentence that can be measured: The text contains x.
    F404 7:11 criterion "b" has neither check nor judge: true = add check: { … } or judge: true
    F404 8:11 criterion "c" has neither check nor judge: true = add check: { … } or judge: true
    F006 9:51 criterion "d" has both "check" and "judge"; keep one = remove "check" or "judge"
    F013 10:15 two criteria are called "a" = write another one here, such as a_2
    F015 10:58 "check" is empty = fill it in, or remove the key
    "#);
}

#[test]
fn checks_are_read_one_by_one() {
    assert_snapshot!(head("scorecards:\n  s:\n    criteria:\n      - id: a\n        description: It is good enough.\n        check: { regex: \"(\", emojis: many, language: english, pii: some, links: 5, markdown: [bolt], fits_channel: false, max_length: -1, contain: x, readability: high }"), @r#"
    F021 8:25 the pattern of the check of criterion "a" has a "(" that is never closed = correct the pattern "("
    F005 8:38 "emojis" must be none or a whole number, found the text "many" = write none or a whole number
    F007 8:54 language "english" is not two small letters = write en
    F007 8:68 pii "some" is not one of: none = write none
    F005 8:81 "links" must be none or a list of hosts, found the number 5 = write none or a list of hosts
    F007 8:95 markdown "bolt" is not one of: bold, italic, strike, headers, tables, links, code, lists = write bold
    F007 8:116 fits_channel: false checks nothing; write true, or leave it out = write true, or remove the key
    F005 8:135 "max_length" must be a whole number, 0 or more, found the number -1 = write a whole number, 0 or more
    F002 8:139 unknown key "contain" in the check of criterion "a"; did you mean "contains"? = write contains
    F005 8:164 "readability" must be a number, found the text "high" = write the highest school grade that the text may need, such as 7
    "#);
}

#[test]
fn a_dialogue_has_two_agents_a_topic_and_an_end() {
    let dialogues = "  - { id: a, dialogue: [x], topic: t, max_turns: 3 }\n  - { id: b, dialogue: [x, y, x], topic: t, until: { judge: y, repeat: 2 } }\n  - { id: c, dialogue: [x, y], max_turns: 200, limits: { max_steps: 3 } }\n  - { id: d, dialogue: x, topic: t, max_turns: 0, until: AGREED }";
    assert_snapshot!(with_steps(dialogues), @r#"
    F311 4:24 step "a" has 1 agent; a dialogue needs two or more = name another agent
    F310 5:14 step "b" has neither "max_turns" nor "limits", so nothing says when it ends = add max_turns: with the most turns, such as 6
    F311 5:31 agent "x" is in the dialogue twice = write x_2 here, and add x_2: { instructions: … } below agents, with what the second one is to say
    F311 5:61 agent "y" talks in the dialogue and judges whether it agrees with the others = remove y from dialogue, or name a judge that does not talk in it
    F002 5:64 unknown key "repeat" in "until" of step "b"; did you mean "repeats"? = write repeats
    F004 6:7 step "c" has no "topic" = add topic: what they talk about
    F022 6:43 "max_turns" of step "c" is 200; at most 100 are allowed = write 100 or less
    F002 6:58 unknown key "max_steps" in "limits" of step "c" = use one of: deadline, max_tokens, max_cost_usd
    F005 7:24 "dialogue" must be a list, found the text "x" = write [x]
    F505 7:48 max_turns must be 1 or more; leave it out for the default = write a number above 0, or remove the key
    F005 7:58 "until" of step "d" must be a group of keys, found the text "AGREED" = write { all_say: AGREED }
    "#);
}

#[test]
fn what_is_read_is_a_path_or_a_list_of_paths() {
    assert_snapshot!(with_steps("  - { id: a, read: }\n  - { id: b, read: 7 }\n  - { id: c, read: [a.csv, 7] }\n  - { id: d, read: true }"), @r#"
    F005 4:19 "read" must be text, found nothing = write a text
    F005 5:20 "read" must be text, found the number 7 = write "7"
    F005 6:28 "read" must be text, found the number 7 = write "7"
    F005 7:20 "read" must be text, found true = write "true"
    "#);
    assert_snapshot!(with_steps("  - { id: a, task: w, prompt: Go., artefact: python, accept: [It is true enough.], judge: w, max_attempts: 2, with: { two-words: 1 } }"), @r#"F007 4:119 "two-words" cannot be the name of a variable = use letters, digits and "_", a letter first, and no word that Python keeps for itself"#);
}

#[test]
fn a_task_says_what_it_makes_what_it_must_meet_and_how_often_it_is_tried() {
    let task = |keys: &str| with_steps(&format!("  - {{ id: a, set: 5 }}\n  - {{ id: b, task: w, prompt: Go., {keys} }}"));
    assert_snapshot!(task("artefact: sqll, accept: [], stop_on_identical_failures: 0"), @r#"
    F310 5:14 step "b" has no "max_attempts", so nothing says when it gives up = add max_attempts: with the most tries, such as 5
    F007 5:46 artefact "sqll" is not one of: text, sql, python = write sql
    F313 5:60 step "b" has nothing in accept, so no work could be accepted = write what the work must meet, one text each, such as: The result names each city once.
    F505 5:92 stop_on_identical_failures must be 1 or more; leave it out for the default = write a number above 0, or remove the key
    "#);
    assert_snapshot!(task("artefact: '{{ inputs.x }}', accept: [good, { id: c1, description: It is short enough., check: { max_length: 5 } }, { id: d, description: It is short enough., judge: true }], max_attempts: 21"), @r#"
    F406 5:73 accept "good" of step "b" has 4 characters; write at least 10 = write a sentence that is true or not, such as: The text is good.
    F013 5:85 two criteria of accept are called "c1" = write another one here, such as c1_2
    F004 5:153 criterion "d" has judge: true but no "expected" = add expected: what a good answer looks like
    F022 5:224 "max_attempts" of step "b" is 21; at most 20 are allowed = write 20 or less
    "#);
    assert_snapshot!(task("artefact: text, accept: { a: 1 }, max_attempts: many"), @r#"
    F005 5:60 "accept" must be a list of texts or criteria, the name of a scorecard, or an expression, found a group of keys = write a list of texts or criteria, the name of a scorecard, or an expression
    F005 5:84 "max_attempts" must be a whole number, found the text "many" = write a whole number, in digits, such as 10
    "#);
    assert_snapshot!(task("max_attempts: 2"), @r#"
    F004 5:7 step "b" has no "accept" = add accept: what its work must meet
    F004 5:7 step "b" has no "artefact" = add artefact: what it makes: text, sql or python
    "#);
    assert_snapshot!(task("artefact: text, accept: '{{ inputs.x }}', max_attempts: 2"), @r#"F207 5:60 {{ }} around an expression that stands without them: inputs.x = remove {{ and }}"#);
}

#[test]
fn a_form_has_fields_of_its_own_and_silence_is_no_yes() {
    let asks = |keys: &str| with_steps(&format!("  - {{ id: a, set: 5 }}\n  - {{ id: ask, approval: Go?, {keys} }}"));
    assert_snapshot!(asks("form: { by: text, n: { type: integer, default: x }, t: { type: integer, default: \"{{ steps.a.output }}\" } }, on_timeout: later, timeout: 5m"), @r#"
    F012 5:39 "by" cannot be used as a field of a form; each answer has it = choose another name
    F020 5:78 default "x" of field "n" is not of type "integer" = change one of the two so that they match
    "#);
    assert_snapshot!(asks("on_timeout: reject"), @r#"F004 5:7 step "ask" has on_timeout but no "timeout" = add timeout: the time a person has, such as 2h, or remove on_timeout"#);
    assert_snapshot!(asks("on_timeout: approve, timeout: 5m"), @r#"F314 5:43 on_timeout "approve" would approve the step without a person = write reject, or the id of a step below that runs only then"#);
    assert_snapshot!(asks("form: { n: { type: integer, default: 0, minimum: 1 } }, show: [1], timeout: 5m, on_timeout: reject"), @r#"F020 5:68 default 0 of field "n" is below minimum 1 = change one of the two so that they match"#);
}

#[test]
fn loops_do_not_nest() {
    assert_snapshot!(with_steps("  - id: a\n    for_each: [1]\n    route: x\n    cases: [{ id: b, when: x, set: 1, for_each: [2] }]"), @r#"F208 7:39 "for_each" is inside the for_each of "a" = put the inner one into a pipeline of its own and call it"#);
}

#[test]
fn shared_texts_cannot_read_steps() {
    let text = "flow: 1\nagents: { w: { instructions: \"Use {{ steps.a.output }} and {{ inputs.b }}\" } }\n";
    assert_snapshot!(read(text, definitions).1, @r#"F208 2:38 "steps" exists only in a pipeline; this text is shared by several = pass the value in by the step that uses this"#);
    assert_snapshot!(read("flow: 1\nsteps: []\nagents: {}\n", definitions).1, @r#"F002 2:1 unknown key "steps" in this file of shared definitions = use one of: flow, description, imports, data, knowledge, secrets, agents, models, tools, scorecards, policies"#);
}

#[test]
fn channel_files_are_checked() {
    let text = "flow: 1\nchannel: sms-1\nmax_length: 0\nlength_unit: words\nmarkdown: [bold, color]\nemoji: true\nsplit: { at: line, most_parts: 0, indicator: \"{page}/{parts}\" }\nbody: htm\nmarkup: { bold: \"*{txt}*\", escape: { ab: x }, table: grid }\n";
    assert_snapshot!(read(text, channel).1, @r#"
    F011 2:10 channel "sms-1" has "-"; use small letters, digits and "_", a letter first = write sms_1, here and wherever it is used
    F505 3:13 max_length must be 1 or more; leave it out for the default = write a number above 0, or remove the key
    F007 4:14 length_unit "words" is not one of: characters, utf16, bytes, sms_segments = write one of these
    F007 5:18 markdown "color" is not one of: bold, italic, strike, headers, tables, links, code, lists = write one of these
    F002 6:1 unknown key "emoji" in this channel; did you mean "emojis"? = write emojis
    F007 7:14 at "line" is not one of: paragraph, sentence, word = write one of these
    F505 7:32 most_parts must be 1 or more; leave it out for the default = write a number above 0, or remove the key
    F007 7:46 indicator has no place for {page}, only for {part} and {parts} = write {part}
    F007 8:7 body "htm" is not one of: text, markup, markdown, html, adaptive_card = write html
    F007 9:17 bold has no place for {txt}, only for {text} = write {text}
    F007 9:38 escape "ab" is not one character = write one character, and what is sent for it
    F007 9:54 table "grid" is not one of: lines = write lines
    "#);
}

#[test]
fn style_guides_are_checked() {
    let text = "flow: 1\nstyle_guide: acme\nversion: 1.0\nemojis: { enabled: sometimes }\nformatting: { greeting: 5 }\nwords: { forbidden: [a], avoid: b }\ntone: loud\n";
    let (guide, found) = read(text, style_guide);
    assert_snapshot!(found, @r#"
    F005 4:20 "enabled" must be true or false, found the text "sometimes" = write enabled: true, or enabled: false for the opposite
    F005 5:25 "greeting" must be true, false or your own text, found the number 5 = write true, false or your own text
    F002 6:10 unknown key "forbidden" in "words" of this style guide; did you mean "banned"? = write banned
    F005 7:7 "tone" of this style guide must be a group of keys, found the text "loud" = write { default: loud }
    "#);
    let guide = guide.unwrap();
    assert_eq!(guide.version.as_deref(), Some("1.0"));
    assert_eq!(guide.words.banned, ["a"]);
    assert_eq!(guide.words.avoid, ["b"]);
}

#[test]
fn what_would_be_sent_as_it_stands_is_told_to_whoever_edits_a_style_guide_or_a_channel() {
    let text = "flow: 1\nstyle_guide: acme\nformatting: { greeting: \"Hey {first_name}!\", sign_off: \"The {{ brand_name }} team\" }\n\
        words:\n  banned: synergy, slacker\n  avoid: [\"well, so\"]\n";
    assert_snapshot!(read(text, style_guide).1, @r#"
    F007 3:25 greeting is sent as it is written: nothing is filled in for "Hey {first_name}!" = write {name} for the person's name; nothing else is filled in
    F007 3:56 sign_off is sent as it is written: nothing is filled in for "The {{ brand_name }} team" = write sign_off: true for the name of the brand, or words without braces
    F007 5:11 banned "synergy, slacker" is one text with commas in it = write a list: [synergy, slacker]
    "#);
    let text = "flow: 1\nchannel: sms\nmarkdown: bold, italic\nmax_length: 100\nsplit: { indicator: (1/3) }\ntoo_long: More at {url}.\n";
    assert_snapshot!(read(text, channel).1, @r#"
    F007 3:11 markdown "bold, italic" is not none, full, or a list = write a list: [bold, italic]
    F007 5:21 indicator "(1/3)" has no place for {part}: every part would say the same = write "({part}/{parts})"
    F007 6:11 too_long is sent as it is written: nothing is filled in for "More at {url}." = write words without braces
    "#);
    let fine = "flow: 1\nchannel: sms\nmax_length: 100\nsplit: { indicator: (more) }\ntoo_long: \"More :-} or {}.\"\n";
    assert_eq!(read(fine, channel).1, "");
}

#[test]
fn tests_and_replies_are_checked() {
    let text = "flow: 1\ntest: no.yaml\nnow: yesterday\nmocks: { a: { error: tired } }\ncases:\n  - { id: a, replies: { x: { txt: a }, y: {}, z: { text: a, data: 1 } }, expect: { status: good, steps: { a: done }, sent: { contains: a, contaions: b } } }\n  - { id: a, channels: [], conversation: [] }\n";
    assert_snapshot!(read(text, test_file).1, @r#"
    F025 2:7 pipeline "no.yaml" does not exist = create the file, or correct the path
    F007 3:6 now "yesterday" is not a date and time with a time zone = write it as "2026-11-18T09:00:00Z": year, month, day, T, time, Z
    F007 4:22 error "tired" is not known = write one of: rate_limited, server_error, connection, timeout, bad_response, unknown_outcome, auth, bad_request, bad_shape, blocked, denied, limit, no_answer, no_case, not_accepted, program, quality, refused, rejected, too_large, truncated, unavailable, wrong_type, internal
    F002 6:30 unknown key "txt" in the reply of "x"; did you mean "text"? = write text
    F004 6:43 the reply of "y" says nothing = add one of: text, data, calls, error, passed, failed
    F006 6:61 the reply of "z" has both "text" and "data"; keep one = remove "text" or "data"
    F007 6:92 status "good" is not one of: succeeded, partial, quality_not_met, failed, timed_out, over_budget, cancelled = write one of these
    F007 6:110 status of "a" "done" is not one of: succeeded, failed, skipped, blocked, cancelled, not_run = write succeeded
    F002 6:139 unknown key "contaions" in the check of "sent"; did you mean "contains"? = remove it: "contains" is set, too
    F013 7:11 two cases are called "a" = write another one here, such as a_2
    F015 7:24 "channels" is empty = fill it in, or remove the key
    "#);
    assert_snapshot!(read("flow: 1\nreplies: { a: [], b: 5, c: { passed: false }, d: { error: slow } }\n", replies).1, @r#"
    F015 2:15 "replies of a" is empty = fill it in, or remove the key
    F005 2:22 "replies.b" must be text, found the number 5 = write "5"
    F007 2:30 passed: false does not say which criteria fail = write failed: { criterion: feedback }
    F007 2:59 error "slow" is not known = write one of: rate_limited, server_error, connection, timeout, bad_response, unknown_outcome, auth, bad_request, bad_shape, blocked, denied, limit, no_answer, no_case, not_accepted, program, quality, refused, rejected, too_large, truncated, unavailable, wrong_type, internal
    "#);
}

#[test]
fn twenty_mistakes_in_one_file_are_twenty_findings() {
    let text = "flow: 1
name: twenty
descripton: A file with many mistakes.
inputs:
  tone: { type: string }
  channel: text
  len: { type: text, min_length: 9, max_length: 5 }
limits: { max_parallel: 0, deadline: 60 }
channels: [none]
agents:
  writer: { instructions: 5, output: { a: strin } }
scorecards:
  reply:
    criteria:
      - { id: ok, description: Good., judge: true, expected: x }
      - { id: tone, description: The tone is right. }
steps:
  - { id: draft-1, agent: writer, prompt: Hi }
  - { id: b, agent: writer }
  - { id: c, needs: [b] }
  - { id: d, agent: writer, prompt: Hi, tool: x }
  - { id: b, set: 1 }
  - { id: e, set: 1, retry: { backoff: expo } }
  - { id: f, stop: never }
  - { id: g, python: x, returns: [for] }
  - { id: h, sql: select 1, once: maybe }
";
    let found = findings(text);
    assert_eq!(found.lines().count(), 20, "{found}");
    let lines: std::collections::BTreeSet<&str> = found.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(lines.len(), 20, "one place each: {found}");
}

#[test]
fn a_program_is_a_list_and_code_is_code() {
    assert_snapshot!(with_steps("  - { id: a, program: [x], network: [API.example, https://a.example, '*', 0x7f.1, 'a.example:443x', '*.10.0.0.1'] }\n  - { id: b, program: [x], network: [] }\n  - { id: c, program: [x], network: a.example }"), @r#"
    F007 4:51 "https://a.example" in network is no host = write a.example
    F007 4:70 "*" in network is no host = write network: true for all hosts
    F007 4:75 "0x7f.1" in network is not written plainly = write 127.0.0.1
    F007 4:83 "a.example:443x" in network is no host = write a name or an address, with a port where it is not that of https: api.example.com, "127.0.0.1:8080"
    F007 4:101 "*.10.0.0.1" in network is no host = write a name or an address, with a port where it is not that of https: api.example.com, "127.0.0.1:8080"
    F015 5:37 "network" is empty = fill it in, or remove the key
    F005 6:37 network must be true, false or a list of hosts, found the text "a.example" = write network: [a.example]
    "#);
    assert_snapshot!(with_steps("  - { id: a, program: git log -3 }\n  - { id: b, program: [./lint.sh, x] }\n  - { id: c, program: [git log] }\n  - { id: d, program: [\"{{ inputs.x }}\", y] }\n  - { id: e, program: [make], output: xml, ok_exits: [0, 300], reads_only: true, writes: [out] }\n  - { id: f, program: [] }\n  - { id: g, program: [make], env: { A-B: x }, writes: ../out }"), @r#"
    F005 4:23 program "git log -3" is a text; it takes a list: the program, then each argument = write program: [git, log, '-3']
    F007 5:24 program "./lint.sh" is a path relative to a folder; which program it is depends on where it is run = write the name of a program in PATH, or its absolute path; a script can be an argument: [python3, report.py]
    F007 6:24 program "git log" holds a space; it is one program, without its arguments = write each argument as an item of its own
    F007 7:24 the program itself must be written out: which one is started is not for a value to say = write its name as the first item, and values as arguments behind it
    F007 8:39 output "xml" is not one of: text, json, lines = write one of these
    F007 8:58 300 is no exit code; they go from 0 to 255 = write for example ok_exits: [0, 1]
    F007 8:91 step "e" changes nothing (reads_only), but has writes = remove writes, or reads_only
    F015 9:23 "program" is empty = fill it in, or remove the key
    F007 10:38 "A-B" cannot be the name of a variable of the environment = use letters, digits and "_", a letter first
    F604 10:56 folder "../out" is outside the project folder = write a path inside the project, such as ../out, wherever it is named; or name the project with --project
    "#);
    assert_snapshot!(with_steps("  - { id: a, python: { requires: [x] }, returns: [y] }\n  - { id: b, python: { code: x = 1, file: x.py }, returns: [x] }\n  - { id: c, python: '', returns: [1x] }\n  - { id: d, python: { file: no.py }, returns: x }\n  - { id: e, python: x = 1 }"), @r#"
    F004 4:24 "python" of step "a" has neither "code" nor "file" = add code: with the code, or file: with the file that holds it
    F006 5:24 "python" of step "b" has both "file" and "code"; keep one = remove "file" or "code"
    F015 6:22 "python" is empty = fill it in, or remove the key
    F007 6:36 "1x" cannot be the name of a variable = use letters, digits and "_", a letter first, and no word that Python keeps for itself
    F025 7:30 python file "no.py" does not exist = create the file, or correct the path
    F004 8:7 step "e" has no "returns" = add returns: names of the variables it gives
    "#);
}

#[test]
fn a_plan_says_who_plans_what() {
    assert_snapshot!(with_steps("  - { id: a, plan: w, may_use: [], max_steps: 0 }\n  - { id: b, plan: w, prompt: Hi, may_use: w, rounds: 2 }\n  - { id: c, plan: w, prompt: Hi, may_use: [w], max_step: 3 }"), @r#"
    F004 4:7 step "a" has no "prompt" = add prompt: what it is asked
    F015 4:32 "may_use" is empty = fill it in, or remove the key
    F505 4:47 max_steps must be 1 or more; leave it out for the default = write a number above 0, or remove the key
    F004 5:7 step "b" has rounds but no "check" = add check: with the agent that decides whether the work is done, or remove rounds
    F002 6:49 unknown key "max_step" in step "c"; did you mean "max_steps"? = write max_steps
    "#);
}

#[test]
fn feedback_equals_and_channels_are_told() {
    assert_snapshot!(head("scorecards:\n  s:\n    criteria:\n      - { id: a, description: It is good enough., expected: x, judge: true, feedback: Better. }\n      - { id: b, description: It is good enough., check: { contains: x }, feedback: }\n      - { id: c, description: It is good enough., check: { contains: x }, feedback: [a] }"), @r#"
    F007 6:77 criterion "a" has "feedback", but its judge writes the feedback itself = remove feedback; what the judge is to know goes into with of the gate
    F005 7:84 "feedback" must be text, found nothing = write a text
    F005 8:85 "feedback" must be text, found a list = write a
    "#);
    assert_snapshot!(with_steps("  - id: r\n    route: inputs.a\n    cases:\n      - { id: a, equals: 2026, set: 1 }\n      - { id: b, equals: '{{ inputs.b }}', set: 1 }\n      - { id: c, equals: 'a, b, c', set: 1 }\n      - { id: d, equal: a, set: 1 }\n      - { id: e, equals: [], set: 1 }\n      - { id: f, set: 1 }\n    otherwise: { set: 2 }"), @r#"
    F005 7:26 "equals" must be text, found the number 2026 = write "2026"
    F007 8:26 "equals" is read before the run, so it cannot hold {{ }} = write the text itself, or compare in a condition: when: inputs.a == inputs.b
    F007 9:26 equals "a, b, c" is one text with commas in it, and fits only if the value is all of it = write a list: [a, b, c]
    F002 10:18 unknown key "equal" in case "r/d"; did you mean "equals"? = write equals
    F015 11:26 "equals" is empty = fill it in, or remove the key
    F004 12:11 case "r/f" has neither equals, phrases nor when = add equals: the value, phrases: [words that occur in the text], or when: an expression
    "#);
    assert_snapshot!(with_steps("  - { id: a, sql: hours.sql }\n  - { id: b, sql: { file: no.sql } }\n  - { id: c, sql: { path: hours.sql } }\n  - { id: d, sql: 'select {{ inputs.a' }\n  - { id: e, call: x.yaml, channel: '' }\n  - { id: f, sql: [select 1] }"), @r#"
    F007 4:19 "hours.sql" is the name of a file, and not a query = write sql: { file: hours.sql }
    F025 5:27 sql file "no.sql" does not exist = create the file, or correct the path
    F002 6:21 unknown key "path" in "sql" of step "c"; did you mean "file"? = write file
    F200 7:27 "{{ inputs.a" is not closed; add "}}" = write }} at its end
    F007 8:37 "channel" is an empty text = write a name, or remove the key
    F005 9:19 "sql" must be text, found a list = write select 1
    "#);
}
