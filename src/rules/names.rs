//! The symbol table: which names are known at a place, and what they are as far as that is known before a run. The run's own
//! names are made in `engine`; both follow section 8 of the language page.
//!
//! How to add a name: an arm in [`Names::root`], its type in `known.rs`, its value in `engine`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::known;
use super::seat::{At, More, Part, Seat};
use super::types::Type;
use crate::diagnostic::Hints;
use crate::model::{Filling, Form, OnFailure, Read, Step, StepKind, Text};
use crate::plan::{BlockIx, Edge, PipelinePlan, Plan, StepIx};

/// How deep outputs that are made of other outputs are followed.
const DEEPEST: usize = 64;

/// The names of one pipeline.
pub struct Names<'a> {
    pub(super) plan: &'a Plan,
    pub(super) pipeline: &'a PipelinePlan,
    /// Where ids stand, in all lists.
    steps: HashMap<&'a str, Vec<StepIx>>,
    /// Names of loop elements, anywhere in the file.
    loop_names: HashMap<&'a str, StepIx>,
    inputs: Type,
    /// For each list the `when` of the case that it is.
    case_whens: Vec<Option<&'a Text>>,
    outputs: RefCell<Vec<Option<Type>>>,
    depth: Cell<usize>,
    /// For "did you mean".
    pub(super) hints: Hints,
}

/// What a read gives, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What it is.
    pub kind: Type,
    /// What is wrong.
    pub problem: Option<Problem>,
}

/// What is wrong with a read. Each is one code.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// F201: nothing has this name.
    UnknownName(String),
    /// F201: no step has this id.
    UnknownStep(String),
    /// F208: the name exists, but not here. Message and help.
    WrongPlace(String, String),
    /// F103: the step may not be over.
    NotUpstream {
        /// The step that is read.
        read: StepIx,
        /// The step that reads.
        reader: StepIx,
    },
    /// F202: there is no such field.
    UnknownField {
        /// Whose, in words.
        owner: String,
        /// What is missing.
        field: String,
        /// What there is.
        known: Vec<String>,
    },
    /// F211: the step's output is a plain text.
    NoOutputFields(StepIx),
    /// F204: it may not be there; why.
    MaybeMissing(String),
}

impl Problem {
    /// Whether `default(…)` or another guard makes it harmless.
    fn is_caught_by_guard(&self) -> bool {
        matches!(self, Problem::UnknownField { .. } | Problem::NoOutputFields(_) | Problem::MaybeMissing(_))
    }
}

type Looked = Result<Type, Problem>;

impl<'a> Names<'a> {
    /// Builds the table; outputs are worked out when they are asked for.
    pub fn new(pipeline: &'a PipelinePlan, plan: &'a Plan) -> Names<'a> {
        let mut steps: HashMap<&str, Vec<StepIx>> = HashMap::new();
        let mut loop_names = HashMap::new();
        let mut case_whens = vec![None; pipeline.blocks.len()];
        for (index, planned) in pipeline.steps.iter().enumerate() {
            let ix = StepIx(index as u32);
            steps.entry(&planned.id).or_default().push(ix);
            if let Some(name) = planned.step.for_each.as_ref().and_then(|for_each| for_each.name.as_ref()) {
                loop_names.entry(name.value.as_str()).or_insert(ix);
            }
            if let StepKind::Route(route) = &planned.step.kind {
                for (case, block) in route.cases.iter().zip(&planned.cases) {
                    if let Some(slot) = case_whens.get_mut(block.0 as usize) {
                        *slot = case.when.as_ref();
                    }
                }
            }
        }
        let inputs = Type::of_inputs(&pipeline.pipeline.inputs);
        let outputs = RefCell::new(vec![None; pipeline.steps.len()]);
        Names { plan, pipeline, steps, loop_names, inputs, case_whens, outputs, depth: Cell::new(0), hints: Hints::default() }
    }

    /// What a read of a text gives.
    pub fn read(&self, seat: &Seat, read: &Read) -> Found {
        let found = self.path(seat, &read.path);
        match found {
            Ok(kind) => Found { kind, problem: None },
            Err(problem) if read.is_guarded && problem.is_caught_by_guard() => Found { kind: Type::Any, problem: None },
            Err(problem) => Found { kind: Type::Any, problem: Some(problem) },
        }
    }

    /// What a text gives, as far as it is one path alone; a text in which something else is written too gives a text.
    pub fn text(&self, seat: &Seat, text: &Text) -> Type {
        match text.form {
            Form::Plain | Form::Template => Type::Text,
            Form::Sole | Form::Bare => match sole_path(text) {
                Some(read) => self.path(seat, &read.path).unwrap_or(Type::Any),
                None => Type::Any,
            },
        }
    }

    /// What a value with templates at its leaves gives.
    pub fn filling(&self, seat: &Seat, filling: &Filling) -> Type {
        match filling {
            Filling::Constant(value) => Type::of_value(value),
            Filling::Text(text) => self.text(seat, text),
            Filling::List(list) => {
                let kinds = list.iter().map(|filling| self.filling(seat, filling));
                Type::list(kinds.reduce(Type::same).unwrap_or(Type::Any))
            }
            Filling::Map(map) => Type::object(map.iter().map(|(name, filling)| (name.as_str(), self.filling(seat, filling)))),
        }
    }

    /// The names that may begin a path here, in the order of the manual.
    pub fn known(&self, seat: &Seat) -> Vec<String> {
        let mut known: Vec<String> =
            ["inputs", "steps", "channel", "style", "person", "conversation", "run", "refinement"].map(str::to_owned).to_vec();
        let more = ["item", "failure", "value", "text", "with", "secrets", "env"];
        let loops = self.loop_names.keys().copied();
        let mut rest: Vec<&str> = loops.filter(|name| self.root(seat, name).is_ok()).collect();
        rest.sort_unstable();
        let more = more.into_iter().filter(|name| self.root(seat, name).is_ok());
        known.extend(more.chain(rest).map(str::to_owned));
        if !seat.more.secrets {
            known.retain(|name| name != "secrets");
        }
        if matches!(seat.at, At::Person) {
            known.retain(|name| name != "steps" && name != "person");
        }
        known
    }

    /// The ids of the steps that can be read from here, for "did you mean".
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.steps.keys().copied()
    }

    /// Whether any list has a step of this id.
    pub fn has_step(&self, id: &str) -> bool {
        self.steps.contains_key(id)
    }

    /// What `path` gives here.
    pub fn path(&self, seat: &Seat, path: &[String]) -> Looked {
        let Some((root, rest)) = path.split_first() else { return Ok(Type::Any) };
        if root == "steps" {
            return self.step_path(seat, rest);
        }
        let kind = self.root(seat, root)?;
        if root == "failure" && !rest.is_empty() && self.may_lack_failure(seat) {
            return Err(Problem::MaybeMissing("\"failure\" is empty when nothing failed".to_owned()));
        }
        self.below(kind, root, rest)
    }

    /// The name a path begins with.
    fn root(&self, seat: &Seat, name: &str) -> Looked {
        let pipeline = &self.pipeline.pipeline;
        let wrong = |message: &str, help: &str| Err(Problem::WrongPlace(message.to_owned(), help.to_owned()));
        Ok(match name {
            "inputs" => self.inputs.clone(),
            "channel" if pipeline.channels.is_empty() => Type::Any,
            "channel" => known::channel(),
            "style" if pipeline.style_guide.is_none() => Type::Any,
            "style" => known::style(),
            "person" => known::person(),
            "conversation" => known::conversation(),
            "run" => known::run(),
            // Empty in round one, and so is every field of it: never a finding.
            "refinement" => Type::Any,
            "failure" => return self.failure(seat),
            "item" => return self.element(seat, name),
            "value" if seat.more.judged => Type::Any,
            "text" if seat.more.judged => Type::Text,
            "with" if seat.more.with.is_some() => seat.more.with.clone().unwrap_or(Type::Any),
            // Secrets have codes of their own: where they may stand depends on what becomes of the text.
            "secrets" => Type::Any,
            "env" if seat.more.secrets => Type::Any,
            "env" => return wrong("\"env\" may stand only in models, tools and http steps", "pass the value as an input"),
            "value" | "text" => {
                return wrong(
                    &format!("\"{name}\" exists only in the checks of a scorecard"),
                    "name what is meant: steps.ID.output or inputs.NAME",
                );
            }
            "with" => {
                return wrong(
                    "\"with\" exists only in tools and in the checks of a scorecard",
                    "name what is meant: steps.ID.output or inputs.NAME",
                );
            }
            other => return self.element(seat, other),
        })
    }

    /// `item`, or the name in `as`, of the step itself or of one around it.
    fn element(&self, seat: &Seat, name: &str) -> Looked {
        let unknown = || match self.loop_names.get(name) {
            _ if name == "item" => Err(Problem::WrongPlace(
                "\"item\" exists only in a step with for_each".to_owned(),
                "add for_each to the step, or name what is meant".to_owned(),
            )),
            Some(step) => Err(Problem::WrongPlace(
                format!("\"{name}\" is the element of step \"{}\" and exists only there", self.step(*step).id.value),
                "read the step's output instead".to_owned(),
            )),
            None => Err(Problem::UnknownName(name.to_owned())),
        };
        match &seat.at {
            At::Step(ix, part) => {
                let mut ix = *ix;
                let mut is_list = *part == Part::List;
                loop {
                    let step = self.step(ix);
                    if let Some(for_each) = step.for_each.as_ref().filter(|_| !is_list)
                        && (name == "item" || for_each.name.as_ref().is_some_and(|own| own.value == name))
                    {
                        let list = Seat { at: At::Step(ix, Part::List), more: Default::default() };
                        return Ok(match self.filling(&list, &for_each.list) {
                            Type::List(element) => (*element).clone(),
                            _ => Type::Any,
                        });
                    }
                    is_list = false;
                    match self.pipeline.owner(self.pipeline.step(ix).block) {
                        Some(owner) => ix = owner,
                        None => return unknown(),
                    }
                }
            }
            // One of the steps that use it has the name; which one asks is known only in the run.
            At::Shared { users, is_imported } => {
                let is_known = |ix: &StepIx| {
                    let seat = Seat { at: At::Step(*ix, Part::Work), more: Default::default() };
                    self.element(&seat, name).is_ok()
                };
                if users.iter().any(is_known) || (*is_imported && users.is_empty()) { Ok(Type::Any) } else { unknown() }
            }
            At::Outputs | At::Person => unknown(),
        }
    }

    fn failure(&self, seat: &Seat) -> Looked {
        let is_after = |ix: StepIx| self.root_of(ix).1 != self.pipeline.main;
        let is_known = match &seat.at {
            At::Step(ix, _) => is_after(*ix),
            At::Shared { users, is_imported } => users.iter().any(|ix| is_after(*ix)) || *is_imported,
            At::Outputs | At::Person => false,
        };
        if is_known {
            return Ok(known::failure());
        }
        let message = "\"failure\" exists only in on_failure and finally".to_owned();
        Err(Problem::WrongPlace(message, "read steps.ID.error of the step that may fail".to_owned()))
    }

    /// In `finally` there is no failure when nothing failed; in `on_failure` something did.
    fn may_lack_failure(&self, seat: &Seat) -> bool {
        let At::Step(ix, part) = seat.at else { return false };
        let asks = |when: &Text| when.reads.iter().any(|read| read.path.first().is_some_and(|name| name == "failure"));
        Some(self.root_of(ix).1) == self.pipeline.finally && !self.whens_of(ix, part).into_iter().any(asks)
    }

    /// What stands below a value.
    fn below(&self, kind: Type, owner: &str, rest: &[String]) -> Looked {
        let mut kind = kind;
        let mut owner = owner.to_owned();
        for part in rest {
            kind = match &kind {
                Type::Any => return Ok(Type::Any),
                Type::List(element) if is_place(part) => (**element).clone(),
                Type::Text if is_place(part) => Type::Text,
                Type::Object(object) => match object.fields.get(part) {
                    Some(member) if member.is_optional => {
                        return Err(Problem::MaybeMissing(format!("\"{owner}\" may come without \"{part}\"")));
                    }
                    Some(member) => member.kind.clone(),
                    None if object.is_open => return Ok(Type::Any),
                    None => {
                        let known = object.fields.keys().cloned().collect();
                        return Err(Problem::UnknownField { owner: format!("\"{owner}\""), field: part.clone(), known });
                    }
                },
                other => {
                    let owner = format!("\"{owner}\" is {} and", other.words());
                    return Err(Problem::UnknownField { owner, field: part.clone(), known: vec![] });
                }
            };
            owner = if is_place(part) { format!("{owner}[{part}]") } else { format!("{owner}.{part}") };
        }
        Ok(kind)
    }

    /// A path below `steps`.
    fn step_path(&self, seat: &Seat, rest: &[String]) -> Looked {
        let Some((id, rest)) = rest.split_first() else { return Ok(Type::Any) };
        match &seat.at {
            At::Step(reader, part) => self.step_from(*reader, *part, seat, id, rest),
            At::Outputs => {
                let main = self.pipeline.block(self.pipeline.main);
                match main.place(id) {
                    Some(place) => self.member(self.at(self.pipeline.main, place), rest),
                    None => Err(self.elsewhere(id, "outputs")),
                }
            }
            At::Person => Err(Problem::WrongPlace(
                "\"steps\" cannot be read in person: no step has run when the person is looked up".to_owned(),
                "use inputs here".to_owned(),
            )),
            At::Shared { is_imported: true, .. } => Ok(Type::Any),
            At::Shared { users, .. } => {
                if !self.steps.contains_key(id.as_str()) {
                    return Err(Problem::UnknownStep(id.clone()));
                }
                let mut kind = Type::Any;
                for user in users {
                    kind = self.step_from(*user, Part::Work, seat, id, rest)?;
                }
                Ok(kind)
            }
        }
    }

    /// A path below one step, read from another.
    fn step_from(&self, reader: StepIx, part: Part, seat: &Seat, id: &str, rest: &[String]) -> Looked {
        let mut ix = reader;
        loop {
            let planned = self.pipeline.step(ix);
            let block = self.pipeline.block(planned.block);
            if let Some(place) = block.place(id) {
                let read = self.at(planned.block, place);
                if !block.is_upstream(place, planned.place) {
                    return Err(Problem::NotUpstream { read, reader });
                }
                let kind = self.member(read, rest)?;
                return match self.may_be_missing(read, ix, reader, part, seat, rest) {
                    Some(why) => Err(Problem::MaybeMissing(why)),
                    None => Ok(kind),
                };
            }
            match self.pipeline.owner(planned.block) {
                Some(owner) => ix = owner,
                None => break,
            }
        }
        let (_, root) = self.root_of(reader);
        match self.pipeline.block(self.pipeline.main).place(id) {
            Some(place) if root != self.pipeline.main => {
                let read = self.at(self.pipeline.main, place);
                let kind = self.member(read, rest)?;
                let is_read = needs_output(rest);
                if is_read && !self.is_tested(read, self.whens_of(reader, part)) {
                    return Err(Problem::MaybeMissing(format!("\"{id}\" may not have run when this is read")));
                }
                Ok(kind)
            }
            _ => Err(self.elsewhere(id, &format!("step \"{}\"", self.step(reader).id.value))),
        }
    }

    /// An id that is none of a step that can be read here.
    fn elsewhere(&self, id: &str, reader: &str) -> Problem {
        let Some(ix) = self.steps.get(id).and_then(|steps| steps.first()) else { return Problem::UnknownStep(id.to_owned()) };
        let (top, root) = self.root_of(*ix);
        let (message, help) = if top != *ix {
            let route = &self.step(top).id.value;
            (
                format!("\"{id}\" stands inside route \"{route}\" and is seen only there"),
                format!("read steps.{route}.output: it is the output of the case that was chosen"),
            )
        } else {
            let list = if Some(root) == self.pipeline.finally { "finally" } else { "on_failure" };
            (format!("\"{id}\" stands in {list}, which {reader} cannot read"), "read a step of the pipeline's own list".to_owned())
        };
        Problem::WrongPlace(message, help)
    }

    /// `output`, `status`, `error`, `details` of a step, and what is below.
    fn member(&self, ix: StepIx, rest: &[String]) -> Looked {
        let Some((member, rest)) = rest.split_first() else { return Ok(Type::Any) };
        let step = self.step(ix);
        let id = &step.id.value;
        match member.as_str() {
            "output" => {
                if let (StepKind::Agent(_), None, Type::Text, Some(field)) = (&step.kind, &step.for_each, self.output(ix), rest.first())
                    && !is_place(field)
                {
                    return Err(Problem::NoOutputFields(ix));
                }
                let kind = self.output(ix);
                self.below(kind, &format!("steps.{id}.output"), rest).map_err(|problem| of_output(problem, id, step.for_each.is_some()))
            }
            "status" => self.below(Type::Text, &format!("steps.{id}.status"), rest),
            "error" => self.below(known::error(), &format!("steps.{id}.error"), rest),
            "details" => self.below(known::details(step), &format!("steps.{id}.details"), rest),
            _ => {
                let known = ["output", "status", "error", "details"].map(str::to_owned).to_vec();
                Err(Problem::UnknownField { owner: format!("step \"{id}\""), field: member.clone(), known })
            }
        }
    }

    /// What the output of a step is.
    pub fn output(&self, ix: StepIx) -> Type {
        let place = ix.0 as usize;
        if let Some(Some(kind)) = self.outputs.borrow().get(place) {
            return kind.clone();
        }
        if self.depth.get() >= DEEPEST {
            return Type::Any;
        }
        self.depth.set(self.depth.get() + 1);
        let step = self.step(ix);
        let kind = known::output(self, ix, step);
        let kind = match (&step.for_each, &step.on_failure) {
            (None, _) => kind,
            (Some(_), OnFailure::Continue) => {
                Type::list(Type::object([("item", Type::Any), ("status", Type::Text), ("output", kind), ("error", known::error())]))
            }
            (Some(_), _) => Type::list(kind),
        };
        self.depth.set(self.depth.get() - 1);
        if let Some(slot) = self.outputs.borrow_mut().get_mut(place) {
            *slot = Some(kind.clone());
        }
        kind
    }

    /// Why what `reader` reads of `read` may not be there. `beside` is the step of `read`'s own list that is, or holds, the reader.
    fn may_be_missing(&self, read: StepIx, beside: StepIx, reader: StepIx, part: Part, seat: &Seat, rest: &[String]) -> Option<String> {
        if !needs_output(rest) || matches!(seat.at, At::Outputs) {
            return None;
        }
        let planned = self.pipeline.step(read);
        let step = &planned.step;
        let id = &step.id.value;
        let block = self.pipeline.block(planned.block);
        let is_for_each = step.for_each.is_some();
        let why = if step.when.as_ref().is_some_and(|when| !is_for_each || !reads_element(when, step)) {
            format!("\"{id}\" may be skipped and then has no output")
        } else if let Some((failing, _)) = block.needs(planned.place).iter().find(|(_, edge)| *edge == Edge::Failure) {
            let failing = self.step(self.at(planned.block, *failing));
            format!("\"{id}\" runs only if \"{}\" fails; otherwise it has no output", failing.id.value)
        } else {
            match &step.on_failure {
                OnFailure::Stop => return None,
                OnFailure::Continue if is_for_each || matches!(step.kind, StepKind::Gate(_)) => return None,
                OnFailure::Continue => format!("\"{id}\" may fail and then has no output: its on_failure is continue"),
                OnFailure::Step(_) if block.is_held_back_by(self.pipeline.step(beside).place, planned.place) => return None,
                OnFailure::Step(target) => {
                    format!("\"{id}\" may have failed and then has no output: \"{}\" runs in its place", target.value)
                }
            }
        };
        (!self.is_tested(read, self.whens_of(reader, part))).then_some(why)
    }

    /// Whether one of these conditions holds only if the step ran, or asks whether it did.
    fn is_tested(&self, read: StepIx, whens: Vec<&Text>) -> bool {
        let step = self.step(read);
        let own = step.when.as_ref().map(|when| when.source.trim());
        whens.into_iter().any(|when| {
            let asks = |read: &Read| matches!(read.path.as_slice(), [steps, id, ..] if steps == "steps" && *id == step.id.value);
            own.is_some_and(|own| implies(&when.source, own)) || when.reads.iter().any(asks)
        })
    }

    /// The conditions under which a step's text is filled: its own `when` and those of what it stands in.
    fn whens_of(&self, ix: StepIx, part: Part) -> Vec<&'a Text> {
        let mut whens = vec![];
        let mut ix = ix;
        let mut is_own = part == Part::When;
        loop {
            let planned = self.pipeline.step(ix);
            whens.extend(planned.step.when.as_ref().filter(|_| !is_own));
            whens.extend(self.case_whens.get(planned.block.0 as usize).copied().flatten());
            is_own = false;
            match self.pipeline.owner(planned.block) {
                Some(owner) => ix = owner,
                None => return whens,
            }
        }
    }

    /// The step of one of the pipeline's own lists that a step is, or stands in, and that list.
    pub fn root_of(&self, ix: StepIx) -> (StepIx, BlockIx) {
        let mut ix = ix;
        loop {
            let block = self.pipeline.step(ix).block;
            match self.pipeline.owner(block) {
                Some(owner) => ix = owner,
                None => return (ix, block),
            }
        }
    }

    /// The path of a step as events and messages write it: `facts/report/text`.
    pub fn shown(&self, ix: StepIx) -> String {
        let planned = self.pipeline.step(ix);
        let own = &planned.step.id.value;
        let Some(owner) = self.pipeline.owner(planned.block) else { return own.clone() };
        let above = self.shown(owner);
        let holder = self.pipeline.step(owner);
        let StepKind::Route(route) = &holder.step.kind else { return format!("{above}/{own}") };
        let place = holder.cases.iter().position(|block| *block == planned.block);
        match place.and_then(|place| route.cases.iter().chain(&route.otherwise).nth(place)).filter(|case| case.has_steps) {
            Some(case) => format!("{above}/{}/{own}", case.id.value),
            None => format!("{above}/{own}"),
        }
    }

    /// The seat of a step's own work.
    pub fn seat(&self, ix: StepIx) -> Seat {
        let secrets = matches!(self.step(ix).kind, StepKind::Http(_));
        Seat { at: At::Step(ix, Part::Work), more: More { secrets, ..More::default() } }
    }

    /// A step by its number.
    pub fn step(&self, ix: StepIx) -> &'a Step {
        &self.pipeline.step(ix).step
    }

    fn at(&self, block: BlockIx, place: usize) -> StepIx {
        StepIx(self.pipeline.block(block).first.0 + place as u32)
    }
}

/// The one read that a text consists of.
pub fn sole_path(text: &Text) -> Option<&Read> {
    let [read] = text.reads.as_slice() else { return None };
    let inner = text.source.trim();
    let inner = match text.form {
        Form::Sole => inner.strip_prefix("{{")?.strip_suffix("}}")?.trim_matches(['-', '+']).trim(),
        Form::Bare => inner,
        Form::Plain | Form::Template => return None,
    };
    let is_path = inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '"' | '\''));
    let parts = inner.split(['.', '[']).count();
    (is_path && parts == read.path.len()).then_some(read)
}

/// Whether a part of a path is a place in a list.
fn is_place(part: &str) -> bool {
    part.strip_prefix('-').unwrap_or(part).bytes().all(|b| b.is_ascii_digit())
}

/// Whether this reads something that a step has only if it ran well.
fn needs_output(rest: &[String]) -> bool {
    match rest.first().map(String::as_str) {
        Some("output") => true,
        Some("details") => rest.len() > 1,
        _ => false,
    }
}

/// Whether a condition is judged for each element.
fn reads_element(when: &Text, step: &Step) -> bool {
    let own = step.for_each.as_ref().and_then(|for_each| for_each.name.as_ref());
    let is_element = |name: &String| name == "item" || own.is_some_and(|own| own.value == *name);
    when.reads.iter().any(|read| read.path.first().is_some_and(is_element))
}

/// Whether `when` can be true only if `other` is: the same text, or one of its parts joined by `and`.
fn implies(when: &str, other: &str) -> bool {
    let when = when.trim();
    if when == other {
        return true;
    }
    let is_plain = !when.contains(" or ") && !when.contains(['(', '"', '\'']);
    is_plain && when.split(" and ").any(|part| part.trim() == other)
}

/// A finding about the output itself names the step.
fn of_output(problem: Problem, id: &str, is_list: bool) -> Problem {
    match problem {
        Problem::UnknownField { owner, field, known } if owner == format!("\"steps.{id}.output\"") && !is_list => {
            Problem::UnknownField { owner: format!("step \"{id}\""), field, known }
        }
        other => other,
    }
}
