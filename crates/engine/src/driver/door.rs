//! The single entry for text from outside. It hides every known secret before text reaches a run, so none is in an event, a record, a prompt or an
//! output.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::event::{ConversationSoFar, Failure, RunStart, ServerQuestion, ServerTool};
use crate::model::read_json;
use crate::port::{
    ColumnSummary, FileContent, FoundPiece, FoundPieces, HttpReply, MailReceipt, ModelReply, PageText, ProgramReply, PythonError,
    PythonReply, RefusedHost, ResourceReply, Rows, ServerReply, TableSource, TableSummary, ToolCall, ToolList, ValueCount,
};
use crate::redact::Secrets;
use crate::{CallReply, Input};

/// Replaces each secret of a run with `***`.
#[derive(Debug, Clone, Default)]
pub struct Door {
    secrets: Secrets,
}

impl Door {
    /// Creates a door that hides these secrets, as far as they are [recognised](crate::redact::is_recognised).
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Door {
        Door { secrets: Secrets::new(secrets) }
    }

    /// Hides the secrets in an input of a run.
    pub fn pass(&self, mut input: Input) -> Input {
        match &mut input {
            Input::Start(start) => self.start(start),
            Input::Reply { call: _, result: Ok(reply) } => self.reply(reply),
            Input::Reply { call: _, result: Err(failure) } => self.failure(failure),
            Input::Decided { step: _, question: _, approved: _, comment, by, nobody: _, fields } => {
                self.texts([comment, by]);
                fields.iter_mut().for_each(|fields| self.value(fields));
            }
            Input::Resume { away_ms: _ } | Input::Tick | Input::Cancel { by: _ } => {}
        }
        input
    }

    /// The end of an answer that is still streaming, as far as it can be shown.
    pub fn so_far(&self, text: &str) -> String {
        self.secrets.so_far(text)
    }

    /// Hides the secrets in a text, such as a person's message.
    pub fn text(&self, text: &mut String) {
        self.secrets.hide_in(text);
    }

    /// Hides the secrets in a value.
    pub fn value(&self, value: &mut Value) {
        self.secrets.hide_in_value(value);
    }

    /// What a program printed: `json` is it as JSON, if it is and secrets were hidden in it. What is no text stays: a run does not take it.
    fn printed(&self, stdout: &mut Vec<u8>, json: &mut Option<Value>) {
        if let Ok(text) = std::str::from_utf8(stdout)
            && let Cow::Owned(hidden) = self.secrets.hide(text)
        {
            *json = read_json(text).ok();
            json.iter_mut().for_each(|json| self.value(json));
            *stdout = hidden.into_bytes();
        }
    }

    /// Only the end of it may have been kept. What is no text in it becomes a sign for that, as wherever it is shown.
    fn log(&self, stderr: &mut Vec<u8>) {
        if let Cow::Owned(hidden) = self.secrets.hide_torn(&String::from_utf8_lossy(stderr)) {
            *stderr = hidden.into_bytes();
        }
    }

    fn texts<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    /// What is said about others in words of flow: a quote in it may have been cut in the middle of a secret.
    fn hide_in_texts<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>) {
        for text in texts {
            if text.contains('…') { *text = self.secrets.hide_cut(text) } else { self.text(text) }
        }
    }

    fn start(&self, start: &mut RunStart) {
        let RunStart { inputs, person, conversation, failure, .. } = start;
        self.value(Arc::make_mut(inputs));
        self.value(Arc::make_mut(person));
        if let Some(ConversationSoFar { of, message, messages, left_out: _, older, older_until: _, summary, agents, personal, store: _ }) =
            conversation.as_deref_mut()
        {
            self.text(of);
            self.texts(summary);
            self.texts(personal);
            for message in messages.iter_mut().chain(older).chain(agents.values_mut().flatten()).chain([message]) {
                self.text(&mut message.text);
                message.content.iter_mut().for_each(|content| self.value(content));
            }
        }
        failure.iter_mut().for_each(|failure| self.failure(failure));
    }

    /// A message may have been cut in the middle of a secret.
    fn failure(&self, failure: &mut Failure) {
        failure.message = self.secrets.hide_cut(&failure.message);
    }

    fn reply(&self, reply: &mut CallReply) {
        match reply {
            CallReply::Model(reply) => self.answer(reply),
            CallReply::Rows(Rows { rows, columns, is_cut: _, personal }) => {
                rows.iter_mut().for_each(|row| self.secrets.hide_in_map(row));
                self.texts(columns.iter_mut().map(|(name, _)| name).chain(personal));
            }
            CallReply::Files(files) => files.iter_mut().for_each(|(content, tables)| {
                self.file(content);
                tables.iter_mut().for_each(|table| self.table(table));
            }),
            CallReply::Found(FoundPieces { pieces, files: _, all_pieces: _, read: _, tokens: _, rebuilt, left_out }) => {
                for FoundPiece { text, file, page: _, heading, score: _ } in pieces {
                    self.texts([text, file, heading]);
                }
                self.hide_in_texts(left_out.iter_mut().chain([rebuilt]));
            }
            CallReply::Http(HttpReply { status: _, headers, body }) => {
                self.texts(headers.iter_mut().flat_map(|(name, value)| [name, value]));
                self.value(body);
            }
            CallReply::Program(ProgramReply { end: _, stdout, json, stderr, files: _, sandbox: _, help: _, ended_for: _, refused }) => {
                self.printed(stdout, json);
                self.log(stderr);
                self.texts(refused.iter_mut().map(|RefusedHost { host, rule: _ }| host));
            }
            CallReply::Python(PythonReply { returns, printed, notes, files: _, error }) => {
                self.secrets.hide_in_map(returns);
                self.hide_in_texts(notes);
                self.text(printed);
                if let Some(PythonError { message, traceback, line: _, fault: _ }) = error {
                    self.texts([message, traceback]);
                }
            }
            CallReply::Tools(list) => self.tools(list),
            CallReply::Tool(ServerReply { value, is_structured: _, is_error: _, pictures: _, notes, asks }) => {
                self.value(value);
                self.hide_in_texts(notes);
                for ServerQuestion { id: _, message, fields, url } in asks.iter_mut().flat_map(|asks| &mut asks.questions) {
                    self.hide_in_texts(url.iter_mut().chain([message]));
                    self.value(fields);
                }
            }
            CallReply::Resource(ResourceReply { text, file: content, notes }, file) => {
                self.text(text);
                self.hide_in_texts(notes);
                self.texts(content.iter_mut().map(|content| &mut content.media_type));
                file.iter_mut().for_each(|file| self.file(file));
            }
            CallReply::Sent(id) => self.text(id),
            CallReply::Mailed(MailReceipt { id, accepted, rejected }) => {
                self.texts(accepted.iter_mut().chain([id]));
                self.hide_in_texts(rejected.iter_mut().flat_map(|one| [&mut one.recipient, &mut one.reason]));
            }
            CallReply::Value(value) => self.value(value),
        }
    }

    /// The answer of a model.
    fn answer(&self, reply: &mut ModelReply) {
        let ModelReply { text, calls, usage: _, model, session, files, state, notes, decisions, failed } = reply;
        failed.iter_mut().for_each(|failure| self.failure(failure));
        self.text(text);
        self.texts(model.iter_mut().chain(session).chain(files));
        self.hide_in_texts(notes);
        state.iter_mut().for_each(|state| self.value(&mut Arc::make_mut(state).parts));
        self.hide_in_texts(decisions.iter_mut().map(|decision| &mut decision.target));
        for ToolCall { id, tool, arguments } in calls {
            self.texts([id, tool]);
            self.value(arguments);
        }
    }

    /// The tools of a server.
    fn tools(&self, list: &mut ToolList) {
        let ToolList { version, hash: _, tools, instructions, changed, unpinned, notes, absent, left_out } = list;
        self.texts([version, instructions]);
        for ServerTool { name, description, input, output, hash: _ } in tools {
            self.texts([name, description]);
            self.value(input);
            output.iter_mut().for_each(|output| self.value(output));
        }
        for named in [changed, left_out] {
            for (mut name, mut what) in std::mem::take(named) {
                self.hide_in_texts([&mut name, &mut what]);
                named.insert(name, what);
            }
        }
        self.hide_in_texts(notes.iter_mut().chain(unpinned));
        absent.iter_mut().for_each(|failure| self.failure(failure));
    }

    /// Paths are recorded, so a secret in one is hidden. Such a path no longer leads to its file.
    fn table(&self, TableSource { name, file, kind: _, table, columns: _, engine: _, pii: _, form: _ }: &mut TableSource) {
        self.text(name);
        self.texts(table);
        let mut path = file.to_string_lossy().into_owned();
        self.text(&mut path);
        if path != file.to_string_lossy() {
            *file = PathBuf::from(path);
        }
    }

    fn file(&self, content: &mut FileContent) {
        let FileContent { path, kind: _, text, tables, pages, width: _, height: _, figures: _, summary } = content;
        self.texts([path, text, summary]);
        for TableSummary { name, row_count: _, sample_markdown, columns } in tables {
            self.texts([name, sample_markdown]);
            for ColumnSummary { name, pct_distinct: _, min, max, top_3 } in columns {
                self.text(name);
                top_3.iter_mut().map(|ValueCount { value, count: _ }| value).chain([min, max]).for_each(|value| self.value(value));
            }
        }
        for PageText { number: _, text, images: _ } in pages {
            self.text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::event::{AnswerState, FailureKind, RejectedRecipient, ServerQuestions};
    use crate::model::{DataKind, SqlEngine};

    const CANARY: &str = "sk-canary-7Q";
    /// `sk-canary-7Q` in base64, behind one byte.
    const ENCODED: &str = "eHNrLWNhbmFyeS03UQ==";

    fn content() -> FileContent {
        let text = || format!("a {CANARY} b");
        let column = ColumnSummary {
            name: text(),
            min: json!(text()),
            max: json!([text()]),
            top_3: vec![ValueCount { value: json!(text()), count: 1 }],
            ..ColumnSummary::default()
        };
        let table = TableSummary { name: text(), sample_markdown: text(), columns: vec![column], ..TableSummary::default() };
        let page = PageText { text: text(), ..PageText::default() };
        FileContent { path: text(), text: text(), tables: vec![table], pages: vec![page], summary: text(), ..FileContent::default() }
    }

    fn replies() -> Vec<CallReply> {
        let text = || format!("a {CANARY} b {ENCODED}");
        let value = || json!({ text(): [{ "deep": text() }], "plain": 1 });
        let row = || Map::from_iter([(text(), value())]);
        let source = TableSource {
            name: text(),
            file: PathBuf::from(text()),
            kind: DataKind::Csv,
            table: Some(text()),
            columns: Default::default(),
            engine: SqlEngine::Sqlite,
            form: Default::default(),
            pii: vec![],
        };
        let tool = ServerTool { name: text(), description: text(), input: value(), output: Some(value()), hash: String::new() };
        let changed = [(text(), text())].into();
        vec![
            CallReply::Model(ModelReply {
                text: text(),
                calls: vec![ToolCall { id: text(), tool: text(), arguments: value() }],
                usage: None,
                model: Some(text()),
                session: Some(text()),
                files: vec![text()],
                state: Some(Arc::new(AnswerState { from: String::new(), parts: value() })),
                notes: vec![text()],
                decisions: vec![crate::port::AgentDecision {
                    act: crate::model::ActKind::Tool,
                    target: text(),
                    is_allowed: true,
                    rule: String::new(),
                    by: String::new(),
                }],
                failed: Some(Box::new(Failure::new(FailureKind::Timeout, text()))),
            }),
            CallReply::Rows(Rows { rows: vec![row()], columns: vec![(text(), "text".into())], is_cut: false, personal: vec![text()] }),
            CallReply::Files(vec![(content(), vec![source])]),
            CallReply::Found(FoundPieces {
                pieces: vec![FoundPiece { text: text(), file: text(), heading: text(), ..FoundPiece::default() }],
                left_out: vec![text()],
                ..FoundPieces::default()
            }),
            CallReply::Http(HttpReply { status: 200, headers: vec![(text(), text())], body: value() }),
            CallReply::Tools(ToolList {
                version: text(),
                hash: String::new(),
                tools: vec![tool],
                instructions: text(),
                changed,
                left_out: [(text(), text())].into(),
                unpinned: vec![text()],
                notes: vec![text()],
                absent: Some(Failure::new(FailureKind::Timeout, text())),
            }),
            CallReply::Tool(ServerReply { value: value(), notes: vec![text()], ..ServerReply::default() }),
            CallReply::Sent(text()),
            CallReply::Mailed(MailReceipt {
                id: text(),
                accepted: vec![text()],
                rejected: vec![RejectedRecipient { recipient: text(), reason: text() }],
            }),
            CallReply::Value(value()),
        ]
    }

    #[test]
    fn nothing_that_reaches_a_run_holds_a_secret() {
        let door = Door::new([CANARY, "word"]);
        let decided = || Input::Decided {
            step: "s".into(),
            question: 1,
            approved: true,
            comment: format!("yes, {CANARY}"),
            by: String::new(),
            nobody: false,
            fields: Some(json!({ "a": CANARY })),
        };
        let failed = || Input::Reply { call: 1, result: Err(Failure::new(FailureKind::Auth, "wrong key sk-canary…")) };
        let inputs = replies().into_iter().map(|reply| Input::Reply { call: 1, result: Ok(reply) }).chain([decided(), failed()]);
        for input in inputs {
            let before = format!("{input:?}");
            assert!(before.contains("canary"));
            let after = format!("{:?}", door.pass(input));
            assert!(!after.contains("canary") && !after.contains("NrLWNhbmFyeS03U"), "{after}");
            assert!(after.contains("***"), "{after}");
        }
    }

    #[test]
    fn a_note_that_was_cut_in_the_middle_of_a_secret_shows_no_part_of_it_and_other_texts_keep_their_ends() {
        let (door, cut) = (Door::new([CANARY]), || "it said: key sk-canary…, and more".to_owned());
        let question = ServerQuestion { id: String::new(), message: cut(), fields: Value::Null, url: None };
        let asks = ServerQuestions { questions: vec![question], state: None, live: None };
        let absent = Some(Failure::new(FailureKind::Unavailable, cut()));
        let named = || [("a".to_owned(), cut())].into();
        let replies = vec![
            CallReply::Tool(ServerReply { notes: vec![cut()], ..ServerReply::default() }),
            CallReply::Tool(ServerReply { asks: Some(Box::new(asks)), ..ServerReply::default() }),
            CallReply::Tools(ToolList { notes: vec![cut()], absent, changed: named(), left_out: named(), ..ToolList::default() }),
            CallReply::Python(PythonReply { notes: vec![cut()], ..PythonReply::default() }),
            CallReply::Model(ModelReply { notes: vec![cut()], ..ModelReply::default() }),
        ];
        for reply in replies {
            let after = format!("{:?}", door.pass(Input::Reply { call: 1, result: Ok(reply) }));
            assert!(!after.contains("sk-c") && after.contains("***…, and more"), "{after}");
        }
        let said = || CallReply::Model(ModelReply { text: "Begin with sk-canary…".to_owned(), ..ModelReply::default() });
        assert!(format!("{:?}", door.pass(Input::Reply { call: 1, result: Ok(said()) })).contains("sk-canary…"));
    }

    #[test]
    fn json_that_a_program_prints_stays_json() {
        let cases = [
            ("12345678901", "{\"n\": 12345678901, \"m\": [1, \"12345678901\"]}", json!({ "n": "***", "m": [1, "***"] })),
            ("nKey9988", "{\"x\":\"line\\nKey9988\"}", json!({ "x": "line\nKey9988" })),
            ("[\"Kh84qq72Zp9\",\"Kh85qq72Zp9\"]", "{\"k\":[\"Kh84qq72Zp9\",\"Kh85qq72Zp9\"]}", json!({ "k": ["***", "***"] })),
            ("{\"a\": \"Kh84qq72Zp9\"}", "{\"k\": {\"a\": \"Kh84qq72Zp9\"}}", json!({ "k": { "a": "***" } })),
        ];
        for (secret, printed, kept) in cases {
            let reply = |stdout: &str| ProgramReply {
                stdout: stdout.as_bytes().to_vec(),
                stderr: [&b"a\xff "[..], secret.as_bytes()].concat(),
                ..ProgramReply::default()
            };
            let input = Input::Reply { call: 1, result: Ok(CallReply::Program(reply(printed))) };
            let Input::Reply { result: Ok(CallReply::Program(after)), .. } = Door::new([secret]).pass(input) else {
                unreachable!("a reply stays what it is")
            };
            assert_eq!(after.json, Some(kept), "{secret}");
            assert!(!String::from_utf8_lossy(&after.stdout).contains(secret));
            assert!(!String::from_utf8_lossy(&after.stderr).contains(secret), "also beside what is no text");
            let mut plain = reply("{\"n\": 1}");
            Door::new([secret]).printed(&mut plain.stdout, &mut plain.json);
            assert_eq!(plain.json, None);
        }
    }

    #[test]
    fn what_is_no_known_secret_stays() {
        let door = Door::new([CANARY]);
        let session = json!({ "session_token": "sk-other-canary-8Z", "n": 12.50 });
        let Input::Reply { result: Ok(CallReply::Value(after)), .. } =
            door.pass(Input::Reply { call: 1, result: Ok(CallReply::Value(session.clone())) })
        else {
            unreachable!("a reply stays what it is")
        };
        assert_eq!(after, session);
    }
}
