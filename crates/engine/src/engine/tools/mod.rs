//! Tools of agents: what a model is offered, and the calls it asks for.

pub(crate) mod consent;
pub(crate) mod permissions;
pub(crate) mod server_calls;
pub(crate) mod servers;

use serde_json::{Map, Value, json};

use crate::engine::command::{CallReply, CallRequest};
use crate::engine::state::talk::AskedStage;
use crate::engine::state::{NodeRef, StepWork};
use crate::engine::words::ms;
use crate::engine::{Run, shape};
use crate::event::{Failure, FailureKind, Happening, MessageRole, Note};
use crate::gate::result;
use crate::model::{Agent, MOST_TURNS, Mock, PipelineId, Tool, ToolKind, ToolName};
use crate::policy::may_allow;
use crate::port::ToolDescription;
use crate::source::Spanned;

/// So often a step's agent may make one call with the same arguments; more of it is going round in circles.
const MOST_SAME: usize = 3;

/// Characters of a result that a model is shown.
const MOST_SHOWN: usize = 100_000;
/// Characters of a tool's name on the wire.
const LONGEST_WIRE_NAME: usize = 64;

/// A tool as a model sees it.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    /// `tool` or `tool.part`, as in the file.
    pub(crate) name: String,
    /// What goes to the model.
    pub(crate) description: ToolDescription,
}

/// The name of a tool as the wire formats want it (`[A-Za-z0-9_-]{1,64}`): ids have no hyphen, so it cannot clash. Names of a server's
/// tools may hold anything; a number makes two that come out the same differ.
pub(crate) fn wire_name(name: &str, taken: &[Offered]) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let plain: String = name.replacen('.', "-", 1).chars().map(|c| if is_fine(c) { c } else { '_' }).take(LONGEST_WIRE_NAME).collect();
    let is_taken = |name: &str| taken.iter().any(|other| other.description.name == name);
    let numbered = |number: usize| {
        let start: String = plain.chars().take(LONGEST_WIRE_NAME - 5).collect();
        format!("{start}-{number}")
    };
    if !is_taken(&plain) {
        return plain;
    }
    (2..=taken.len() + 2).map(numbered).find(|name| !is_taken(name)).unwrap_or(plain)
}

/// Tools by the names an author listed, each part of its own that is open; not one of a server that policies refuse whatever its arguments are.
fn offered(run: &Run, at: NodeRef, tools: &[Spanned<String>]) -> Vec<Offered> {
    let planned = run.planned_of(at);
    let policies = run.policies(at, None);
    let mut list: Vec<Offered> = vec![];
    for written in tools {
        let ToolName { tool: name, part } = ToolName::of(&written.value);
        let Some(tool) = planned.pipeline.tools.get(name) else { continue };
        let names: Vec<String> = match (&tool.kind, part) {
            (ToolKind::File(_), None) => tool.parts().iter().map(|part| format!("{name}.{part}")).collect(),
            (ToolKind::File(_), Some(part)) if tool.opens(part) => vec![written.value.clone()],
            (ToolKind::Server(_), part) => {
                let parts = run.offered_parts(at, name, tool, part).into_iter();
                parts.filter(|part| may_allow(&policies, name, part)).map(|part| format!("{name}.{part}")).collect()
            }
            (ToolKind::File(_) | ToolKind::Smtp { .. } | ToolKind::Broken, _) => vec![],
            (ToolKind::Http { .. } | ToolKind::Sql(_) | ToolKind::Pipeline { .. }, _) => vec![name.to_string()],
        };
        for name in names {
            if list.iter().all(|known| known.name != name) {
                let description = ToolDescription { name: wire_name(&name, &list), ..description(run, at, &name, tool) };
                list.push(Offered { description, name });
            }
        }
    }
    list
}

fn description(run: &Run, at: NodeRef, name: &str, tool: &Tool) -> ToolDescription {
    let (planned, plan) = (run.planned_of(at), &run.plan);
    let ToolName { tool: server, part } = ToolName::of(name);
    let part = part.unwrap_or_default();
    let text = |names: &[&str]| {
        let properties: Map<String, Value> = names.iter().map(|name| (name.to_string(), json!({ "type": "string" }))).collect();
        json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
    };
    let (own, mut parameters) = match &tool.kind {
        ToolKind::Http { method, arguments, .. } => (format!("Sends a {method} request."), shape::object_schema(arguments)),
        ToolKind::Sql(tables) => {
            let tables: Vec<&str> = tables.iter().map(|table| table.value.as_str()).collect();
            let own = format!("Runs one SQL query that only reads. Tables: {}. Select a few rows to see the columns.", tables.join(", "));
            (own, text(&["query"]))
        }
        ToolKind::File(_) => match part {
            "list" => ("Lists the files of a folder.".to_string(), text(&[])),
            "read" => ("Gives the text of a file, by its name from the list.".to_string(), text(&["name"])),
            _ => ("Writes a text file.".to_string(), text(&["name", "text"])),
        },
        ToolKind::Pipeline { .. } => {
            let called = planned.called_tool(name).map(|id| &plan.pipeline(id).pipeline);
            let own = called.and_then(|p| p.description.clone()).unwrap_or_default();
            (own, called.map_or_else(|| text(&[]), |p| shape::schema(&p.inputs)))
        }
        // In a test no server is asked, so nothing is known of what it takes.
        ToolKind::Server(_) => match run.server_tool(at, server, part) {
            Some(found) => (found.description.clone(), found.input.clone()),
            None => (String::new(), json!({ "type": "object" })),
        },
        ToolKind::Smtp { .. } | ToolKind::Broken => (String::new(), text(&[])),
    };
    // What the author fixes, a model neither sees nor changes.
    for (fixed, _) in &tool.with {
        if let Some(properties) = parameters.get_mut("properties").and_then(Value::as_object_mut) {
            properties.shift_remove(&fixed.value);
        }
        if let Some(required) = parameters.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| *name != fixed.value);
        }
    }
    let description = match &tool.description {
        Some(written) if part.is_empty() => written.clone(),
        Some(written) => format!("{written} {own}"),
        None => own,
    };
    ToolDescription { name: name.to_string(), description, parameters }
}

/// The name in the file of what a model called; its own word if it has no such tool.
pub(crate) fn known_name(tools: &[Offered], called: &str) -> String {
    let found = tools.iter().find(|tool| tool.description.name == called || tool.name == called);
    found.map_or_else(|| called.to_string(), |tool| tool.name.clone())
}

impl Run {
    /// The tools of an agent in a step's pipeline.
    pub(crate) fn offered(&self, at: NodeRef, agent: &Agent) -> Vec<Offered> {
        offered(self, at, &agent.tools)
    }

    /// Tools of a step's pipeline, by the names an author listed.
    pub(crate) fn offered_as(&self, at: NodeRef, tools: &[Spanned<String>]) -> Vec<Offered> {
        offered(self, at, tools)
    }

    /// Makes the calls that the last answer asked for, as far as permits allow. What they gave, when all are over.
    ///
    /// # Errors
    /// A bound of the agent is passed; the step fails.
    pub(crate) fn use_tools(&mut self, at: NodeRef, agent: &Agent) -> Result<Option<Vec<Note>>, Failure> {
        let bounds = self.planned_of(at).pipeline.bounds_of(agent);
        let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(None) };
        let most = agent.max_turns.unwrap_or(MOST_TURNS);
        if asking.turns > most {
            let message = format!("no answer after {most} rounds of tool calls (max_turns)");
            return Err(Failure::new(FailureKind::Limit, message));
        }
        let uses = asking.uses.len() + self.spent_before(at, &asking.agent).2;
        if let Some(most) = bounds.max_steps.filter(|most| uses as u64 > *most) {
            return Err(Failure::new(FailureKind::Limit, format!("the agent may make {most} tool calls (limits.max_steps)")));
        }
        // What ends the step ends it before anything of this answer has gone out.
        let is_refused = |asked: &crate::engine::state::talk::RequestedCall| {
            let tool = &asked.asked.tool;
            self.options.mocks.refuses_effects && !self.options.mocks.by_name.contains_key(tool) && self.tool_goes_outside(at, tool)
        };
        if let Some(refused) = asking.asked().iter().find(|asked| is_refused(asked)) {
            let message = format!("tool \"{}\" acts outside; give it a mock", refused.asked.tool);
            self.noted.borrow_mut().refused.push(self.state.node(at).path.clone());
            return Err(Failure::new(FailureKind::Denied, message));
        }
        for place in 0..asking.asked().len() {
            let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(None) };
            if asking.asked()[place].stage != AskedStage::Open {
                continue;
            }
            let running = asking.asked().iter().filter(|a| matches!(a.stage, AskedStage::Out(_) | AskedStage::Inside(_))).count() as u64;
            if !self.has_permit(at) || bounds.max_parallel.is_some_and(|most| running >= most) {
                // One that is out wakes it; without any it waits for a permit.
                if running == 0 {
                    self.woken.insert(self.state.key(at));
                }
                return Ok(None);
            }
            if let Err(failure) = self.use_tool(at, agent, place)? {
                self.asked_failed(at, place, failure);
            }
        }
        let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(None) };
        let told = |a: &crate::engine::state::talk::RequestedCall| match &a.stage {
            AskedStage::Over(text) => {
                Some(Note { role: MessageRole::Tool, text: text.clone(), call_id: Some(a.asked.id.clone()), ..Note::default() })
            }
            _ => None,
        };
        Ok(asking.asked().iter().map(told).collect::<Option<Vec<Note>>>())
    }

    /// Makes one call. The inner failure is the model's to hear; the outer one ends the step.
    fn use_tool(&mut self, at: NodeRef, agent: &Agent, place: usize) -> Result<Result<(), Failure>, Failure> {
        let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(Ok(())) };
        let asked = asking.asked()[place].asked.clone();
        let (agent_name, turn) = (asking.agent.clone(), asking.turns);
        let heard = |kind, message: String| Ok(Err(Failure::new(kind, message)));
        if asking.asked()[..place].iter().any(|other| other.asked.id == asked.id) {
            return heard(FailureKind::BadRequest, format!("two calls have the id \"{}\"", asked.id));
        }
        let is_same = |used: &&crate::event::SharedValue| used["tool"] == asked.tool.as_str() && used["with"] == asked.arguments;
        if asking.uses.iter().filter(is_same).count() >= MOST_SAME {
            let message = format!("this call was made {MOST_SAME} times with the same arguments; go on with what it gave, or answer");
            return heard(FailureKind::Limit, message);
        }
        let tools = self.offered(at, agent);
        let Some(offered) = tools.iter().find(|tool| tool.name == asked.tool) else {
            if let Some(failure) = self.refused_unpinned(at, &asked.tool) {
                return Ok(Err(failure));
            }
            let names: Vec<&str> = tools.iter().map(|tool| tool.description.name.as_str()).collect();
            return heard(FailureKind::BadRequest, format!("there is no tool \"{}\"; there are: {}", asked.tool, names.join(", ")));
        };
        let Value::Object(given) = &asked.arguments else {
            return heard(FailureKind::BadRequest, "the arguments are not a JSON object".to_string());
        };
        let problems = shape::problems(&offered.description.parameters, &asked.arguments);
        if !problems.is_empty() {
            return heard(FailureKind::BadRequest, format!("the arguments do not fit: {}", problems.join("; ")));
        }
        let timeout = self.tool_timeout(at, &asked.tool)?;
        if let Some(mock) = self.mock_named(&asked.tool) {
            let call = self.asked_called(at, place, &asked.tool, asked.arguments.clone(), ms(timeout));
            let result = match mock {
                Mock::Output(output) => self.given_by(at, &asked.tool, output),
                Mock::Error(kind) => Err(Failure::new(kind, "mocked failure")),
            };
            self.asked_replied(at, call, place, result, vec![]);
            return Ok(Ok(()));
        }
        if let Some(called) = self.planned_of(at).called_tool(&asked.tool) {
            return Ok(self.use_pipeline(at, place, called, given.clone(), &agent_name, ms(timeout)));
        }
        let conversation = match self.conversation(at) {
            0 => String::new(),
            number => format!("{number}-"),
        };
        let key = format!("{}-{conversation}{turn}-{}", self.own_key(at), place + 1);
        let made = self.tool_request(at, &asked.tool, given.clone(), (Some(key), false), timeout);
        let permitted = made.and_then(|(request, shown)| {
            if !self.agreed(at, Some(&agent_name), &asked.tool, &shown)? {
                return Ok(None);
            }
            self.permit(at, Some(&agent_name), Some((&asked.tool, &shown)), &request)?;
            Ok(Some((request, shown)))
        });
        let (request, shown) = match permitted {
            Ok(Some(made)) => made,
            Ok(None) => return Ok(Ok(())),
            Err(failure) => return Ok(Err(failure)),
        };
        let request = self.bound_to_place(at, Some(&agent_name), request);
        let call = self.asked_called(at, place, &asked.tool, shown, ms(timeout));
        self.send_out(at, &asked.tool, call, request);
        Ok(Ok(()))
    }

    /// What a mock gives in place of a tool: of a pipeline its outputs.
    fn given_by(&self, at: NodeRef, tool: &str, value: Value) -> Result<Value, Failure> {
        let called = self.planned_of(at).called_tool(tool).map(|id| &self.plan.pipeline(id).pipeline.outputs);
        result::outputs(called, value)
            .map_err(|problems| Failure::new(FailureKind::BadShape, format!("the result does not fit: {}", problems.join("; "))))
    }

    /// A tool that is a pipeline. A person of its own is looked up first.
    fn use_pipeline(
        &mut self,
        at: NodeRef,
        place: usize,
        called: PipelineId,
        given: Map<String, Value>,
        agent: &str,
        timeout_ms: u64,
    ) -> Result<(), Failure> {
        let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(()) };
        let tool = asking.asked()[place].asked.tool.clone();
        let mut shown = given.clone();
        for (name, value) in &self.tool(at, &tool)?.with {
            shown.insert(name.value.clone(), self.filling(at, value)?);
        }
        let opening = self.opening(at, called, shown.clone(), None)?;
        let shown = Value::Object(shown);
        if !self.agreed(at, Some(agent), &tool, &shown)? {
            return Ok(());
        }
        // No request goes out, so only the tool itself is decided on.
        self.permit(at, Some(agent), Some((&tool, &shown)), &CallRequest::Print(vec![]))?;
        if let Err(query) = &opening.person {
            self.permit(at, Some(agent), None, &CallRequest::Query(query.clone()))?;
        }
        let call = self.asked_called(at, place, &tool, shown, timeout_ms);
        match opening.person {
            Ok(person) => self.open_call(at, Some(place), opening.inputs, opening.channel, person),
            Err(query) => self.send_out(at, &tool, call, CallRequest::Query(query)),
        }
        Ok(())
    }

    /// The result of a call that an agent asked for has come.
    pub(crate) fn asked_answered(&mut self, at: NodeRef, call: u64, place: usize, result: Result<CallReply, Failure>) {
        let StepWork::Asking(asking) = &self.state.node(at).work else { return };
        let asked = asking.asked()[place].asked.clone();
        let called = self.planned_of(at).called_tool(&asked.tool);
        let result = match result {
            Ok(CallReply::Tool(reply)) => self.server_replied(at, call, &asked.tool, reply).map(CallReply::Value),
            result => result,
        };
        let personal = if let Ok(CallReply::Rows(rows)) = &result { rows.personal.clone() } else { vec![] };
        let result = match (result, called) {
            (Ok(CallReply::Rows(rows)), Some(called)) => match self.opening_with(at, called, &asked, rows) {
                Ok((inputs, channel, person)) => return self.open_call(at, Some(place), inputs, channel, person),
                Err(failure) => Err(failure),
            },
            (result, _) => result.map(shown),
        };
        self.asked_replied(at, call, place, result, personal);
        self.ask_on(at);
    }

    fn opening_with(
        &mut self,
        at: NodeRef,
        called: PipelineId,
        asked: &crate::event::AskedCall,
        rows: crate::port::Rows,
    ) -> Result<(crate::event::SharedValue, Option<String>, crate::event::SharedValue), Failure> {
        let mut given = asked.arguments.as_object().cloned().unwrap_or_default();
        for (name, value) in &self.tool(at, &asked.tool)?.with {
            given.insert(name.value.clone(), self.filling(at, value)?);
        }
        let opening = self.opening(at, called, given, None)?;
        let person = self.person_found(called, rows)?;
        Ok((opening.inputs, opening.channel, person))
    }

    fn asked_called(&mut self, at: NodeRef, place: usize, tool: &str, with: Value, timeout_ms: u64) -> u64 {
        let call = self.state.last_call + 1;
        let step = self.state.node(at).path.clone();
        let timeout_at_ms = self.now.ms + timeout_ms;
        self.emit(Happening::ToolCalled { step, call, tool: tool.to_string(), with, timeout_at_ms, attempt: 1, asked: Some(place) });
        call
    }

    /// A call that an agent asked for could not be made.
    fn asked_failed(&mut self, at: NodeRef, place: usize, failure: Failure) {
        let call = self.state.last_call + 1;
        self.asked_replied(at, call, place, Err(failure), vec![]);
    }

    /// A call that an agent asked for is over.
    /// `personal`: columns of the result that a query made of personal ones.
    pub(crate) fn asked_replied(&mut self, at: NodeRef, call: u64, place: usize, result: Result<Value, Failure>, personal: Vec<String>) {
        let started = match &self.state.node(at).work {
            StepWork::Asking(asking) if !matches!(asking.asked()[place].stage, AskedStage::Open) => asking.asked()[place].started_ms,
            _ => self.now.ms,
        };
        let (result, failure) = match result {
            Ok(value) => (Some(cut(value)), None),
            Err(failure) => (None, Some(failure)),
        };
        self.emit(Happening::ToolReplied {
            step: self.state.node(at).path.clone(),
            call,
            failure,
            duration_ms: self.now.ms.saturating_sub(started),
            result,
            personal,
            asked: Some(place),
        });
    }

    /// The place of a call among those an agent asked for.
    pub(crate) fn asked_place(&self, at: NodeRef, call: u64) -> Option<usize> {
        let StepWork::Asking(asking) = &self.state.node(at).work else { return None };
        asking.asked().iter().position(|asked| asked.stage == AskedStage::Out(call))
    }
}

/// What a model is shown of a reply.
fn shown(reply: CallReply) -> Value {
    match reply {
        CallReply::Rows(rows) => {
            let (most, mut length) = (rows.rows.len(), 0);
            // Whole rows, so that those of personal columns can still be told apart.
            let fits = |(place, row): &(usize, Value)| {
                length += row.to_string().len() + 1;
                *place == 0 || length <= MOST_SHOWN - 100
            };
            let all: Vec<Value> = rows.rows.into_iter().map(Value::Object).enumerate().take_while(fits).map(|(_, row)| row).collect();
            let is_cut = rows.is_cut || all.len() < most;
            let mut shown = json!({ "rows": all });
            if is_cut {
                shown["cut"] = json!("there are more rows than these");
            }
            shown
        }
        CallReply::Http(reply) => json!({ "status": reply.status, "body": reply.body }),
        CallReply::Sent(_) => json!("written"),
        CallReply::Value(value) | CallReply::Tool(crate::port::ServerReply { value, .. }) => value,
        CallReply::Tools(_) => Value::Null,
        CallReply::Model(reply) => Value::String(reply.text),
        CallReply::Files(files) => files.into_iter().map(|(file, _)| serde_json::to_value(file).unwrap_or_default()).collect(),
    }
}

/// A result no longer than a model should read.
fn cut(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MOST_SHOWN) {
        None => value,
        Some((end, _)) => Value::String(format!("{}\n(cut: {} of {} bytes)", &text[..end], end, text.len())),
    }
}
