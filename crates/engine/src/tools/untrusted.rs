//! Arguments that a model, a tool or a stranger wrote: `untrusted` of the policies decides about a call with them.
//!
//! A value that the author or the person wrote, too, is theirs: it is looked for in the texts that vouch for it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::acts::{CalledTool, DecidedAct};
use crate::command::CallRequest;
use crate::model::{
    ActKind, ArgumentClass, FilePart, Filling, HttpStep, Policy, ProgramCommand, RECIPIENTS, Step, StepKind, Text, Tool, ToolKind,
    ToolName, Writer,
};
use crate::parts::Origins;
use crate::policy::{ArgumentUse, Decision, GivenArgument, GivenTexts, decide_pieces, judges_untrusted, pieces_of};
use crate::source::Spanned;
use crate::state::NodeRef;

/// An argument of a call, and who wrote it.
struct GivenValue<'a> {
    name: String,
    value: Value,
    used: ArgumentUse,
    by: WrittenBy<'a>,
}

enum WrittenBy<'a> {
    /// A model, for this step.
    Model,
    /// The author, with what these texts read.
    Texts(Vec<&'a Text>),
}

/// A call with its arguments.
struct GivenCall<'a> {
    /// As policies name it.
    tool: String,
    /// Whether it does something outside.
    is_effect: bool,
    values: Vec<GivenValue<'a>>,
}

impl Origins<'_> {
    /// The decisions about arguments of a request that nobody trusted wrote; empty if there are none.
    pub(super) fn untrusted_acts(
        &self,
        at: NodeRef,
        policies: &[(&str, &Policy)],
        tool: Option<CalledTool>,
        request: &CallRequest,
    ) -> Vec<DecidedAct> {
        if !judges_untrusted(policies) {
            return vec![];
        }
        let step = self.step(at);
        let Some(call) = self.given_call(at, &step, tool, request) else { return vec![] };
        let mut of_model: Option<Arc<GivenTexts<'static>>> = None;
        let mut acts = vec![];
        for given in &call.values {
            let (writer, own) = match &given.by {
                WrittenBy::Model => (Writer::Model, None),
                WrittenBy::Texts(texts) => (texts.iter().map(|text| self.writer_of(at, text)).max().unwrap_or(Writer::Author), Some(texts)),
            };
            if writer.is_trusted() {
                continue;
            }
            let mut of_texts: Option<GivenTexts> = None;
            let argument = GivenArgument { tool: &call.tool, name: &given.name, classes: &[], is_effect: call.is_effect };
            let strictest = decide_pieces(policies, argument, &given.value, &given.used, &mut |piece| match own {
                None => of_model.get_or_insert_with(|| self.given_to_talk(at)).have(piece),
                Some(texts) => {
                    let vouching = of_texts.get_or_insert_with(|| self.given_to_step(at, texts));
                    vouching.have(piece) || self.reads_only_given(at, texts, vouching)
                }
            });
            acts.extend(strictest.map(|decision| DecidedAct {
                act: ActKind::Argument,
                target: format!("{}({})", call.tool, given.name),
                words: format!("{} from {}", given.name, writer.words()),
                decision: Decision { rule: format!("{}, and {} wrote it", decision.rule, writer.words()), ..decision },
            }));
        }
        acts
    }

    /// What the author and the person wrote that a model was given which calls a tool, or whose plan the step is from.
    pub(crate) fn given_to_model(&self, at: NodeRef) -> GivenTexts<'_> {
        let mut given = GivenTexts::default();
        self.add_words_of_person(&mut given);
        // The agents on the way to it were given texts, too.
        let mut here = Some(at);
        while let Some(seat) = here {
            // An element and its list are one step.
            let inner = std::iter::once(None).chain(self.state.steps.holders(seat).map(Some));
            for (holder, inner) in self.state.steps.holders(seat).zip(inner) {
                if inner.is_none_or(|inner| !self.state.steps.is_element(inner)) {
                    self.add_words_for_agents(holder, &mut given);
                }
            }
            self.add_words_of_pipeline(seat, &mut given);
            here = self.state.steps.instance_around(seat).parent;
        }
        given
    }

    /// The same, worked out once in a conversation: what it reads does not change while it goes on.
    fn given_to_talk(&self, at: NodeRef) -> Arc<GivenTexts<'static>> {
        let work_out = || Arc::new(self.given_to_model(at).into_owned());
        self.state.steps.node(at).talk().map_or_else(work_out, |talk| talk.given.get(work_out))
    }

    /// What may vouch for a value of a step: the words of the person, and those for the agents whose answers it reads.
    fn given_to_step(&self, at: NodeRef, texts: &[&Text]) -> GivenTexts<'_> {
        let mut given = self.given_to_model(at);
        let instance = self.state.steps.instance_of(at);
        for text in texts {
            self.add_words_of_text(at, text, &mut given);
            let steps = text.reads.iter().filter(|read| read.path[0] == "steps").filter_map(|read| read.path.get(1));
            for found in steps.filter_map(|id| self.names().look_up(instance, Some(at), id)) {
                self.add_words_for_agents(found, &mut given);
            }
        }
        given
    }

    /// Whether all that texts read from others is vouched for, value by value.
    fn reads_only_given(&self, at: NodeRef, texts: &[&Text], vouching: &GivenTexts) -> bool {
        let reads = texts.iter().flat_map(|text| &text.reads).filter(|read| read.path[0] != "with");
        reads.filter(|read| !self.writer_at(at, &read.path).is_trusted()).all(|read| {
            let value = self.value_at(at, &read.path);
            // The parts of a list could be put together to something else.
            let single = value.filter(|value| !value.is_array() && !value.is_object());
            single.is_some_and(|value| pieces_of(value, &ArgumentUse::default()).iter().all(|piece| vouching.have(&piece.text)))
        })
    }

    /// A call and its arguments; `None`: it has none that are judged.
    fn given_call<'a>(&'a self, at: NodeRef, step: &'a Step, tool: Option<CalledTool>, request: &CallRequest) -> Option<GivenCall<'a>> {
        match (tool, request) {
            (Some(CalledTool { name, is_program: true, arguments, .. }), CallRequest::Program(_)) => {
                let StepKind::Program(run) = &step.kind else { return None };
                let mut values = vec![GivenValue {
                    name: "args".to_owned(),
                    value: arguments.clone(),
                    used: ArgumentUse::command(),
                    by: WrittenBy::Texts(run.args.iter().collect()),
                }];
                // What a program reads and finds in its environment can be run, too.
                let env = run.env.iter().map(|(_, text)| text).collect();
                values.extend(self.filled_texts(at, "input", run.input.iter().flat_map(Filling::texts).collect(), ArgumentUse::command()));
                values.extend(self.filled_texts(at, "env", env, ArgumentUse::command()));
                Some(GivenCall { tool: name.to_owned(), is_effect: true, values })
            }
            (Some(CalledTool { is_program: true, .. }), _) => None,
            (Some(called), _) => self.given_to_tool(at, step, called, request),
            (None, CallRequest::Http(request)) => {
                let StepKind::Http(own) = &step.kind else { return None };
                Some(GivenCall { tool: "http".to_owned(), is_effect: true, values: self.given_to_http(at, own, &request.url) })
            }
            (None, CallRequest::Resource(call)) => {
                let own = step.kind.resource()?;
                let (used, by) = (ArgumentUse::whole(ArgumentClass::Addresses), WrittenBy::Texts(vec![&own.uri]));
                let value = GivenValue { name: "uri".to_owned(), value: json!(call.uri), used, by };
                Some(GivenCall { tool: own.server.value.clone(), is_effect: true, values: vec![value] })
            }
            (None, CallRequest::Python(call)) if call.is_written_by_model => {
                let used = ArgumentUse::whole(ArgumentClass::Commands);
                let value = GivenValue { name: "code".to_owned(), value: json!(call.code), used, by: WrittenBy::Model };
                Some(GivenCall { tool: "python".to_owned(), is_effect: true, values: vec![value] })
            }
            // What only reads, or what an author wrote.
            (None, _) => None,
        }
    }

    fn given_to_http<'a>(&self, at: NodeRef, own: &'a HttpStep, url: &str) -> Vec<GivenValue<'a>> {
        let query = own.query.iter().flat_map(|(_, value)| value.texts());
        let mut values = vec![GivenValue {
            name: "url".to_owned(),
            value: json!(url),
            used: ArgumentUse::whole(ArgumentClass::Addresses),
            by: WrittenBy::Texts(std::iter::once(&own.url).chain(query).collect()),
        }];
        // A secret in it was written by nobody who is not trusted.
        let body = own.body.as_ref().and_then(|body| Some((body, self.names().filling_with(at, body, &self.names().secret_names()).ok()?)));
        values.extend(body.map(|(body, value)| GivenValue {
            name: "body".to_owned(),
            value,
            used: ArgumentUse::searched("body"),
            by: WrittenBy::Texts(body.texts()),
        }));
        let headers = own.headers.iter().map(|(_, text)| text).chain(&own.idempotency_key).collect();
        values.extend(self.filled_texts(at, "headers", headers, ArgumentUse::searched("headers")));
        values
    }

    /// Texts that go with a call, as one value; none where they read nothing. What cannot be filled in here is vouched for by nobody.
    fn filled_texts<'a>(&self, at: NodeRef, name: &str, texts: Vec<&'a Text>, used: ArgumentUse) -> Option<GivenValue<'a>> {
        let reading: Vec<&Text> = texts.into_iter().filter(|text| text.reads.iter().any(|read| read.path[0] != "with")).collect();
        if reading.is_empty() {
            return None;
        }
        let secrets = self.names().secret_names();
        let filled = |text: &&Text| self.names().fill_text_with(at, text, &secrets).map_or_else(|_| Value::from("\u{fffd}"), Value::from);
        let value = Value::Array(reading.iter().map(filled).collect());
        Some(GivenValue { name: name.to_owned(), value, used, by: WrittenBy::Texts(reading) })
    }

    /// The arguments of a tool: of an agent, of a step, or of a step that an agent planned.
    fn given_to_tool<'a>(&'a self, at: NodeRef, step: &'a Step, called: CalledTool, request: &CallRequest) -> Option<GivenCall<'a>> {
        let tool = self.tool(at, called.name).ok()?;
        let part = ToolName::parse(called.name).part;
        let by_model =
            self.state.steps.node(at).talk().is_some_and(|talk| !talk.asked().is_empty()) || self.state.steps.planner(at).is_some();
        let own: &[(Spanned<String>, Filling)] = step.kind.facts().with;
        let texts_of = |name: &str| {
            let among =
                |list: &'a [(Spanned<String>, Filling)]| list.iter().find(|(own, _)| own.value == name).map(|(_, value)| value.texts());
            among(&tool.with).or_else(|| if by_model { None } else { among(own) })
        };
        let of_send = if let StepKind::Send(send) = &step.kind { Some(&send.of) } else { None };
        let mut values: Vec<GivenValue> = vec![];
        for (name, value) in called.whole.as_object().into_iter().flatten() {
            let used = use_of(tool, part, name);
            let (by, used) = match (texts_of(name), by_model) {
                (Some(texts), _) => (WrittenBy::Texts(texts), used),
                (None, true) => (WrittenBy::Model, used),
                // What is said to somebody may name anybody.
                (None, false) => match of_send.filter(|_| name == "content") {
                    Some(said) => (WrittenBy::Texts(vec![said]), ArgumentUse { is_searched: false, ..used }),
                    None => continue,
                },
            };
            values.push(GivenValue { name: name.clone(), value: value.clone(), used, by });
        }
        if let (ToolKind::Http { url, query, .. }, CallRequest::Http(request)) = (&tool.kind, request) {
            let texts = std::iter::once(url).chain(query.iter().flat_map(|(_, value)| value.texts())).collect();
            let used = ArgumentUse::whole(ArgumentClass::Addresses);
            values.push(GivenValue { name: "url".to_owned(), value: json!(request.url), used, by: WrittenBy::Texts(texts) });
        }
        // What the tool itself reads of the run goes with each call.
        if let ToolKind::Http { headers, body, .. } = &tool.kind {
            let key = step.kind.idempotency_key().filter(|_| !by_model);
            let headers = headers.iter().map(|(_, text)| text).chain(key).collect();
            values.extend(self.filled_texts(at, "headers", headers, ArgumentUse::searched("headers")));
            let body = body.iter().flat_map(Filling::texts).collect();
            values.extend(self.filled_texts(at, "body", body, ArgumentUse::searched("body")));
        }
        if let ToolKind::Smtp { from, .. } = &tool.kind {
            values.extend(self.filled_texts(at, "from", vec![from], ArgumentUse::searched("from")));
            let key = step.kind.idempotency_key().filter(|_| !by_model).into_iter().collect();
            values.extend(self.filled_texts(at, "idempotency_key", key, ArgumentUse::searched("idempotency_key")));
        }
        if let ToolKind::Program { run, .. } = &tool.kind {
            let given = run.texts().chain(run.env.iter().map(|(_, text)| text)).collect();
            values.extend(self.filled_texts(at, "program", given, ArgumentUse::command()));
        }
        Some(GivenCall { tool: called.name.to_owned(), is_effect: tool.may_act(part), values })
    }
}

/// What a tool makes of an argument.
fn use_of(tool: &Tool, part: Option<&str>, name: &str) -> ArgumentUse {
    match &tool.kind {
        ToolKind::Http { url, query, .. } => {
            let address = std::iter::once(url).chain(query.iter().flat_map(|(_, value)| value.texts()));
            match reads_argument(address, name) {
                true => ArgumentUse { classes: vec![ArgumentClass::Addresses], is_searched: true },
                false => ArgumentUse::searched(name),
            }
        }
        ToolKind::Program { run: ProgramCommand { args, .. }, .. } if reads_argument(args.iter(), name) => ArgumentUse::command(),
        ToolKind::File(_) if name == "name" && tool.file_part(part).is_none_or(FilePart::changes) => {
            ArgumentUse::whole(ArgumentClass::Paths)
        }
        // Who is written in reply_to gets what the recipients answer.
        ToolKind::Smtp { .. } if RECIPIENTS.contains(&name) || name == "reply_to" => {
            ArgumentUse { classes: vec![ArgumentClass::Recipients], is_searched: true }
        }
        ToolKind::Smtp { .. } if name == "headers" => ArgumentUse::searched(name),
        ToolKind::Server(_) | ToolKind::Pipeline { .. } => ArgumentUse::searched(name),
        ToolKind::Program { .. } | ToolKind::File(_) | ToolKind::Smtp { .. } => ArgumentUse::default(),
        ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_) | ToolKind::Broken => ArgumentUse::default(),
    }
}

/// Whether texts of a tool read this argument, or all of them.
fn reads_argument<'t>(mut texts: impl Iterator<Item = &'t Text>, name: &str) -> bool {
    texts.any(|text| text.reads.iter().any(|read| read.path[0] == "with" && read.path.get(1).is_none_or(|own| own == name)))
}
