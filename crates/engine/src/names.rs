//! The names in templates. Only names that a text mentions are made, from the state.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Days, NaiveDate, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::Context;
use crate::event::{ConversationSoFar, Failure, FailureKind, PipelineFailure, StepStatus};
use crate::model::{Channel, Filling, Form, PastMessage, Phrase, Read, SUMMARY_STEP, Sample, StyleGuide, Text};
use crate::parts::Names;
use crate::port::Secret;
use crate::run::{Answerer, NOT_KNOWN_HERE};
use crate::secrets::named_by;
use crate::state::{FrameKind, NodeRef};
use crate::template::{self, Compiled, FillError, Scope, Value as Named};
use crate::words::plain;

/// Names besides those of the run: `value`, `text`, `with` in checks, `with` in tools.
pub(crate) type Extra<'a> = &'a [(&'a str, Named)];

/// The most bytes of memory for a value that a step builds.
const MOST_VALUE: usize = 64 << 20;

impl Context {
    /// Fills in a text for a step.
    pub(crate) fn fill(&self, at: NodeRef, text: &Text) -> Result<Value, Failure> {
        self.names().fill_with(at, text, &[])
    }

    /// Fills in a text and returns what it prints.
    pub(crate) fn fill_text(&self, at: NodeRef, text: &Text) -> Result<String, Failure> {
        self.names().fill_text_with(at, text, &[])
    }

    /// Evaluates a condition, which must be true or false.
    pub(crate) fn condition(&self, at: NodeRef, text: &Text) -> Result<bool, Failure> {
        self.names().condition_with(at, text, &[])
    }

    /// Fills in a value with templates at its leaves.
    pub(crate) fn filling(&self, at: NodeRef, filling: &Filling) -> Result<Value, Failure> {
        self.names().filling_with(at, filling, &[])
    }

    /// The channel of a running pipeline.
    pub(crate) fn channel(&self, instance: u32) -> Option<&Channel> {
        let name = self.state.steps.instance(instance).channel.as_deref()?;
        self.planned(instance).pipeline.channels.iter().find(|c| c.name == name).map(|own| self.spoken(instance, &**own))
    }
}

impl Names<'_> {
    /// Fills in a text for a step, with more names.
    pub(crate) fn fill_with(&self, at: NodeRef, text: &Text, extra: Extra) -> Result<Value, Failure> {
        self.value(self.state.steps.instance_of(at), Some(at), text, extra)
    }

    /// The value of a text for a step of a running pipeline, or for the pipeline itself.
    fn value(&self, instance: u32, at: Option<NodeRef>, text: &Text, extra: Extra) -> Result<Value, Failure> {
        if text.form == Form::Plain {
            return Ok(Value::String(text.source.to_string()));
        }
        self.filled(instance, at, text, extra, |compiled, scope| compiled.fill(scope).and_then(|value| template::to_json(&value)))
    }

    fn filled<T>(
        &self,
        instance: u32,
        at: Option<NodeRef>,
        text: &Text,
        extra: Extra,
        fill: impl FnOnce(&Compiled, &Scope) -> Result<T, FillError>,
    ) -> Result<T, Failure> {
        let scope = self.names().scope(instance, at, text, extra);
        let filled = template::compile(text).and_then(|compiled| fill(&compiled, &scope));
        let kind = |error: &FillError| match error.is_too_large {
            true => FailureKind::TooLarge,
            false if self.names().is_stood_in(text) => NOT_KNOWN_HERE,
            false => FailureKind::WrongType,
        };
        filled.map_err(|error| Failure::new(kind(&error), error.message))
    }

    /// Same as `fill_text`, with more names.
    pub(crate) fn fill_text_with(&self, at: NodeRef, text: &Text, extra: Extra) -> Result<String, Failure> {
        if text.form == Form::Plain {
            return Ok(text.source.to_string());
        }
        self.filled(self.state.steps.instance_of(at), Some(at), text, extra, |compiled, scope| compiled.fill_text(scope))
    }

    /// Same as `condition`, with more names.
    pub(crate) fn condition_with(&self, at: NodeRef, text: &Text, extra: Extra) -> Result<bool, Failure> {
        self.filled(self.state.steps.instance_of(at), Some(at), text, extra, |compiled, scope| compiled.fill_condition(scope))
    }

    /// Same as `filling`, with more names.
    pub(crate) fn filling_with(&self, at: NodeRef, filling: &Filling, extra: Extra) -> Result<Value, Failure> {
        bounded(filling.filled(&|text| self.fill_with(at, text, extra))?)
    }

    /// Fills in a text of the pipeline itself (`outputs`).
    pub(crate) fn fill_in_pipeline(&self, instance: u32, text: &Text) -> Result<Value, Failure> {
        self.value(instance, None, text, &[])
    }

    /// Same as `fill_in_pipeline`, for a value.
    pub(crate) fn filling_in_pipeline(&self, instance: u32, filling: &Filling) -> Result<Value, Failure> {
        bounded(filling.filled(&|text| self.fill_in_pipeline(instance, text))?)
    }

    /// Makes `secrets` and `env` available to the few texts that may read them; each text sees only what it names.
    pub(crate) fn secret_names(&self) -> [(&'static str, Named); 2] {
        [("secrets", template::empty_name()), ("env", template::empty_name())]
    }
}

impl Names<'_> {
    /// Whether names stand for the secrets and variables of a text, as in a request that is not sent.
    pub(crate) fn is_stood_in(&self, text: &Text) -> bool {
        let is_unset = |read: &Read| !read.is_guarded && read.path.first().is_some_and(|root| self.secrets_below(root).is_some());
        self.answerer != Answerer::World && text.reads.iter().any(is_unset)
    }

    /// The names that a text mentions, with their values.
    pub(crate) fn scope(&self, instance_ix: u32, at: Option<NodeRef>, text: &Text, extra: Extra) -> Scope {
        let mut scope = Scope::new();
        let mut steps: Vec<(&str, Named)> = vec![];
        let mut reads_all_steps = false;
        for read in &text.reads {
            let Some(root) = read.path.first() else { continue };
            if root == "steps" && !extra.iter().any(|(name, _)| name == root) {
                match read.path.get(1) {
                    Some(id) if !steps.iter().any(|(known, _)| known == id) => {
                        if let Some(found) = self.look_up(instance_ix, at, id) {
                            steps.push((id, self.step_value(found)));
                        }
                    }
                    Some(_) => {}
                    None => reads_all_steps = true,
                }
            } else if let Some(values) = self.secrets_below(root).filter(|_| extra.iter().any(|(name, _)| name == root)) {
                scope.set(root, named_by(root, values, &text.reads, self.answerer != Answerer::World));
            } else if let Some((name, value)) = extra.iter().find(|(name, _)| name == root) {
                scope.set(name, value.clone());
            } else if let Some(value) = self.named(instance_ix, at, root) {
                scope.set(root, value);
            }
        }
        if reads_all_steps {
            let frame = self.state.steps.instance(instance_ix).main;
            for (node, inner) in (0..).zip(&self.state.steps.frame(frame).nodes) {
                let id = &*self.planned(instance_ix).step(inner.step).id;
                if !steps.iter().any(|(known, _)| *known == id) {
                    steps.push((id, self.step_value(NodeRef { frame, node })));
                }
            }
        }
        if !steps.is_empty() {
            scope.set("steps", template::object(steps));
        }
        scope
    }

    /// The value of a name other than `steps`.
    fn named(&self, instance_ix: u32, at: Option<NodeRef>, name: &str) -> Option<Named> {
        let instance = self.state.steps.instance(instance_ix);
        let value = match name {
            "inputs" => instance.cached.inputs.get(|| template::from_json(&instance.inputs)),
            // Without `person` in the file, all its fields are empty.
            "person" => instance.cached.person.get(|| match &*instance.person {
                Value::Object(fields) if fields.is_empty() => template::empty_name(),
                fields => template::from_json(fields),
            }),
            "run" => instance.cached.run.get(|| self.run_values(&self.id, instance_ix)),
            "channel" => instance.cached.channel.get(|| channel_names(self.channel(instance_ix))),
            "style" => instance.cached.style.get(|| style_names(self.style(instance_ix, None))),
            "conversation" => {
                let own = self.state.start.as_ref().and_then(|start| start.conversation.as_deref());
                // Only the run's own pipeline writes a summary.
                let older = own.filter(|_| instance.parent.is_none()).map(|own| own.older.as_slice()).unwrap_or_default();
                instance.cached.conversation.get(|| template::from_json(&conversation_names(own, older, self.summary_so_far())))
            }
            "refinement" => self.refinement(at),
            "failure" => {
                let failure = instance.ending.failure.as_ref().or(self.state.steps.frame(instance.main).failure.as_ref());
                failure.map_or_else(template::empty_name, |f| {
                    let (kind, message) = (f.failure.kind, f.failure.message.clone());
                    template::from_json(&PipelineFailure { step: f.step.to_string(), kind, message }.into_value())
                })
            }
            "previous" => match self.state.steps.repeating(at?).map(|own| own.before)? {
                Some(frame) => self.round_before(instance_ix, frame),
                None => template::empty_name(),
            },
            "round" => template::from_json(&json!(self.state.steps.repeating(at?)?.round)),
            "item_number" | "item_count" => {
                let at = self.state.steps.holders(at?).find(|at| self.state.steps.is_element(*at))?;
                let count = self.state.steps.frame(at.frame).nodes.len();
                template::from_json(&if name == "item_number" { json!(at.node + 1) } else { json!(count) })
            }
            _ => return self.element(at, name),
        };
        Some(value)
    }

    /// `run` for a step, with the id of another run.
    pub(crate) fn run_named(&self, id: &str, at: NodeRef) -> Named {
        self.run_values(id, self.state.steps.instance_of(at))
    }

    fn run_values(&self, id: &str, instance: u32) -> Named {
        let now = self.state.start.as_ref().map_or(self.now.wall, |start| start.now);
        template::from_json(&run_names(id, now, &self.state.steps.instance(instance).person))
    }

    /// The steps of the round before, by their ids.
    fn round_before(&self, instance_ix: u32, frame: u32) -> Named {
        let planned = self.planned(instance_ix);
        let nodes = (0..).zip(&self.state.steps.frame(frame).nodes);
        let steps: Vec<(&str, Named)> =
            nodes.map(|(node, inner)| (&*planned.step(inner.step).id, self.step_value(NodeRef { frame, node }))).collect();
        template::object(steps)
    }

    /// The summary of the messages left out of the conversation: the one of this run, otherwise the earlier one.
    pub(crate) fn summary_so_far(&self) -> Option<String> {
        let made = self.state.steps.find(SUMMARY_STEP).and_then(|at| self.state.steps.node(at).output.as_deref().map(plain));
        made.or_else(|| self.state.start.as_ref()?.conversation.as_ref()?.summary.clone())
    }

    /// `item`, or the name in `as`, of the step itself or of the `for_each` around it.
    fn element(&self, at: Option<NodeRef>, name: &str) -> Option<Named> {
        let is_named = |at: &NodeRef| {
            let step = self.step(*at);
            name == "item" || step.for_each.as_ref().and_then(|f| f.name.as_ref()).is_some_and(|own| own.value == name)
        };
        let at = self.state.steps.holders(at?).find(|at| self.state.steps.node(*at).item.is_some() && is_named(at))?;
        let node = self.state.steps.node(at);
        let item = node.item.as_deref()?;
        Some(node.cached_item.get(|| template::from_json(item)))
    }

    /// `refinement`: filled in during the second round for the steps that are part of it; empty otherwise.
    fn refinement(&self, at: Option<NodeRef>) -> Named {
        let in_second_round = at.is_some_and(|at| self.state.steps.node(at).round == 2);
        match at.and_then(|at| self.state.steps.refinement_around(at)) {
            Some(round) if in_second_round => template::from_json(&json!({
                "original": *round.original,
                "failed": round.failed.iter().map(|v| json!({
                    "id": v.id, "description": v.description, "expected": v.expected, "feedback": v.feedback, "evidence": v.evidence,
                })).collect::<Value>(),
                "feedback": round.feedback,
            })),
            _ => template::empty_name(),
        }
    }

    /// A step by its id, as seen from a place: in its own list, the lists around it, then the pipeline's steps.
    pub(crate) fn look_up(&self, instance_ix: u32, at: Option<NodeRef>, id: &str) -> Option<NodeRef> {
        let instance = self.state.steps.instance(instance_ix);
        let planned = self.planned(instance_ix);
        let mut frame = at.map(|at| at.frame);
        while let Some(ix) = frame {
            let here = self.state.steps.frame(ix);
            if let FrameKind::Block(block) = here.kind
                && let Some(place) = planned.block(block).place(id)
            {
                return Some(NodeRef { frame: ix, node: place as u32 });
            }
            frame = here.parent.map(|parent| parent.frame);
        }
        let place = planned.block(planned.main).place(id)?;
        Some(NodeRef { frame: instance.main, node: place as u32 })
    }

    fn step_value(&self, at: NodeRef) -> Named {
        let node = self.state.steps.node(at);
        let make = || self.step_value_of(at, node.output.as_deref());
        if node.status.is_final() { node.cached.get(make) } else { make() }
    }

    /// A step as texts see it, with this output if it succeeded.
    pub(crate) fn step_value_of(&self, at: NodeRef, output: Option<&Value>) -> Named {
        let node = self.state.steps.node(at);
        let output = output.filter(|_| node.status == StepStatus::Succeeded).map(template::from_json);
        let (error, details) =
            (template::from_json(&json!(node.error())), template::from_json(node.details.as_deref().unwrap_or(&Value::Null)));
        template::step_value(&self.own_plan(at).step(node.step).id, node.status.word(), output, error, details)
    }

    fn secrets_below(&self, root: &str) -> Option<&BTreeMap<String, Secret>> {
        match root {
            "secrets" => Some(&self.options.secrets),
            "env" => Some(&self.options.env),
            _ => None,
        }
    }
}

/// `run`: in the person's time zone, otherwise in UTC, at the time when the run started.
pub(crate) fn run_names(id: &str, now: DateTime<Utc>, person: &Value) -> Value {
    let zone_name = person.get("time_zone").and_then(Value::as_str).filter(|z| !z.is_empty()).unwrap_or("UTC");
    let zone: chrono_tz::Tz = zone_name.parse().unwrap_or(chrono_tz::UTC);
    let now = now.with_timezone(&zone);
    let today = now.date_naive();
    let monday = today - Days::new(u64::from(today.weekday().num_days_from_monday()));
    json!({
        "id": id,
        "now": now.to_rfc3339_opts(SecondsFormat::Secs, true),
        "today": iso(today),
        "week_start": iso(monday),
        "month_start": iso(today.with_day(1).unwrap_or(today)),
        "time_zone": zone.name(),
    })
}

fn iso(date: NaiveDate) -> String {
    date.format("%Y-%m-%d").to_string()
}

/// `conversation`: the messages before this run; `older`: the messages that the summary covers. Empty if the run is not part of a conversation.
pub(crate) fn conversation_names(own: Option<&ConversationSoFar>, older: &[PastMessage], summary: Option<String>) -> Value {
    let lines = |messages: &[PastMessage]| messages.iter().map(PastMessage::line).collect::<Vec<_>>().join("\n");
    let said = own.map(|own| own.messages.as_slice()).unwrap_or_default();
    let message = |message: &PastMessage| {
        let role: &str = message.role.into();
        let time = message.time.map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true));
        json!({ "role": role, "text": message.text, "channel": message.channel, "time": time })
    };
    json!({
        "id": own.map(|own| &own.of),
        "messages": said.iter().map(message).collect::<Value>(),
        "text": lines(said),
        "summary": summary.unwrap_or_default(),
        "older": lines(older),
    })
}

/// `channel`: its name, the keys of its file, and its rules as a prompt. Without a channel, all of it is empty.
pub(crate) fn channel_names(channel: Option<&Channel>) -> template::Value {
    let Some(channel) = channel else { return template::empty_name() };
    let markup = &channel.markup;
    let characters =
        |list: &[(String, String)]| list.iter().map(|(character, sent)| (character.clone(), json!(sent))).collect::<Map<_, _>>();
    template::from_json(&json!({
        "name": channel.name,
        "description": channel.description,
        "max_length": channel.max_length,
        "length_unit": channel.length_unit.word(),
        "markdown": channel.markdown.words(),
        "emojis": channel.emojis,
        "split": {
            "at": channel.split.as_ref().map(|split| split.at.word()),
            "most_parts": channel.split.as_ref().map_or(1, |split| split.most_parts),
            "indicator": channel.split.as_ref().map_or("", |split| &split.indicator),
        },
        "too_long": channel.too_long,
        "body": channel.body.word(),
        "markup": {
            "bold": markup.bold, "italic": markup.italic, "strike": markup.strike, "code": markup.code, "bullet": markup.bullet,
            "link": markup.link, "heading": markup.heading, "table": markup.table, "escape": characters(&markup.escape),
            "lookalike": characters(&markup.lookalike),
        },
        "prompt": crate::channel::prompt(channel),
    }))
}

/// `style`: its name, keys, and its rules as a prompt. Without a style guide, all of it is empty.
pub(crate) fn style_names(style: Option<&StyleGuide>) -> template::Value {
    let Some(style) = style else { return template::empty_name() };
    let phrase = |phrase: &Phrase| match phrase {
        Phrase::Off => json!(false),
        Phrase::On => json!(true),
        Phrase::Own(text) => json!(text),
    };
    template::from_json(&json!({
        "name": style.name,
        "version": style.version,
        "brand_name": style.brand_name,
        "personality": style.personality,
        "tone": { "default": style.tone.default, "error": style.tone.error, "success": style.tone.success },
        "emojis": {
            "enabled": style.emojis.enabled, "success": style.emojis.success, "warning": style.emojis.warning,
            "error": style.emojis.error, "info": style.emojis.info,
        },
        "humor": { "enabled": style.humor.enabled, "style": style.humor.style, "frequency": style.humor.frequency },
        "formatting": {
            "greeting": phrase(&style.formatting.greeting), "sign_off": phrase(&style.formatting.sign_off),
            "use_user_name": style.formatting.use_user_name,
        },
        "words": {
            "prefer": style.words.prefer.iter().map(|(left, right)| (left.clone(), json!(right))).collect::<Map<_, _>>(),
            "avoid": style.words.avoid, "banned": style.words.banned,
        },
        "prompt": crate::channel::style_prompt(style),
    }))
}

/// Checks the size of a value that is built from several others, since each step could double it.
///
/// # Errors
/// Fails if the value is larger than a step may build (`too_large`).
fn bounded(value: Value) -> Result<Value, Failure> {
    fn takes(value: &Value, left: &mut usize) -> bool {
        let text = match value {
            Value::String(text) => text.len(),
            _ => 0,
        };
        let Some(rest) = left.checked_sub(size_of::<Value>() + text) else { return false };
        *left = rest;
        match value {
            Value::Array(list) => list.iter().all(|value| takes(value, left)),
            Value::Object(map) => map.iter().all(|(name, value)| {
                *left = left.saturating_sub(name.len());
                takes(value, left)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }
    if takes(&value, &mut MOST_VALUE.clone()) {
        return Ok(value);
    }
    let message = format!("the value takes more than {} MiB; pass on less data", MOST_VALUE >> 20);
    Err(Failure::new(FailureKind::TooLarge, message))
}
