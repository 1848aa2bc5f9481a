//! The symbol table: which names are known at a place, and what they are as far as that is known before a run. The run's own
//! names are made in `engine`; both follow section 8 of the language page.
//!
//! How to add a name: an arm in [`PipelineNames::root`], its type in `known.rs`, its value in `engine`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use strum::VariantArray;

use super::known;
use super::problem::{KnownFields, Owner, ReadOutcome, ReadProblem};
use super::seat::{More, Seat, StepPart, Viewpoint};
use super::{PipelinePlan, Plan};
use crate::diagnostic::Hints;
use crate::event::TurnOutput;
use crate::model::{Filling, ForEach, Form, OnFailure, Outputs, PipelineId, Read, Root, RootPlaces, Step, StepKind, Text, is_own_variable};
use crate::plan::{BlockIx, StepIx};
use crate::template::typed;
use crate::template::types::Type;

/// Most steps that are looked through for what a help names.
const MOST_ABOVE: usize = 64;

/// How deep outputs that are made of other outputs are followed.
pub(super) const DEEPEST: usize = 64;

/// The names of one pipeline.
pub struct PipelineNames<'a> {
    pub(super) plan: &'a Plan,
    pub(super) pipeline: &'a PipelinePlan,
    /// Where ids stand, in all lists.
    pub(super) steps: HashMap<&'a str, Vec<StepIx>>,
    /// Names of loop elements, anywhere in the file.
    loop_names: HashMap<&'a str, StepIx>,
    inputs: Type,
    /// For each list the `when` of the case that it is.
    pub(super) case_whens: Vec<Option<&'a Text>>,
    pub(super) outputs: RefCell<Vec<Option<Type>>>,
    /// What the elements of a step's `for_each` are.
    elements: RefCell<HashMap<StepIx, Type>>,
    /// What agents answer: the same for every step that asks them.
    answers: RefCell<HashMap<&'a str, Type>>,
    /// What called pipelines give, also those that they call.
    results: Rc<RefCell<HashMap<PipelineId, Type>>>,
    pub(super) depth: Cell<usize>,
    /// For "did you mean".
    pub(super) hints: Hints,
}

pub(super) type Looked = Result<Type, ReadProblem>;

impl<'a> PipelineNames<'a> {
    /// Builds the table; outputs are worked out when they are asked for.
    pub fn new(pipeline: &'a PipelinePlan, plan: &'a Plan) -> PipelineNames<'a> {
        PipelineNames::with_results(pipeline, plan, Rc::default())
    }

    fn with_results(pipeline: &'a PipelinePlan, plan: &'a Plan, results: Rc<RefCell<HashMap<PipelineId, Type>>>) -> PipelineNames<'a> {
        let mut steps: HashMap<&str, Vec<StepIx>> = HashMap::new();
        let mut loop_names = HashMap::new();
        let mut case_whens = vec![None; pipeline.blocks.len()];
        for (ix, planned) in pipeline.numbered_steps() {
            steps.entry(&planned.id).or_default().push(ix);
            if let Some(name) = planned.step.for_each.as_ref().and_then(|for_each| for_each.name.as_ref()) {
                loop_names.entry(name.value.as_str()).or_insert(ix);
            }
            for (case, block) in planned.step.kind.cases().zip(&planned.cases) {
                if let Some(slot) = case_whens.get_mut(block.0 as usize) {
                    *slot = case.when.as_ref();
                }
            }
        }
        let inputs = Type::of_inputs(&pipeline.pipeline.inputs);
        let outputs = RefCell::new(vec![None; pipeline.steps.len()]);
        PipelineNames {
            plan,
            pipeline,
            steps,
            loop_names,
            inputs,
            case_whens,
            outputs,
            elements: RefCell::default(),
            answers: RefCell::default(),
            results,
            depth: Cell::new(0),
            hints: Hints::default(),
        }
    }

    /// What a read of a text gives.
    pub fn read(&self, seat: &Seat, read: &Read) -> ReadOutcome {
        let found = self.path(seat, &read.path);
        match found {
            Ok(kind) if !read.is_guarded => {
                ReadOutcome { kind, problem: self.may_lack_error(seat, &read.path).map(ReadProblem::MaybeMissing) }
            }
            Ok(kind) => ReadOutcome { kind, problem: None },
            Err(ReadProblem::MaybeMissing(_)) if self.is_there_instead(seat, read) => ReadOutcome { kind: Type::Any, problem: None },
            Err(problem) if read.is_guarded && problem.is_caught_by_guard() => ReadOutcome { kind: Type::Any, problem: None },
            Err(problem) => ReadOutcome { kind: Type::Any, problem: Some(problem) },
        }
    }

    /// What a path gives; what may be missing is what it is where it is there, and what is reported counts as not known.
    pub(super) fn known_type(&self, seat: &Seat, path: &[String]) -> Type {
        match self.path(seat, path) {
            Ok(kind) => kind,
            Err(ReadProblem::MaybeMissing(_)) => self.kind_if_there(seat, path),
            Err(_) => Type::Any,
        }
    }

    /// What a path that may be missing is where it is there.
    pub(super) fn kind_if_there(&self, seat: &Seat, path: &[String]) -> Type {
        let (kind, rest) = match path {
            [root, id, member, rest @ ..] if root == "steps" => match self.steps.get(id.as_str()).map(Vec::as_slice) {
                Some([ix]) => (self.member(*ix, std::slice::from_ref(member)).unwrap_or(Type::Any), rest),
                _ => return Type::Any,
            },
            [root, rest @ ..] if root != "steps" => (self.root(seat, root).unwrap_or(Type::Any), rest),
            _ => return Type::Any,
        };
        rest.iter().fold(kind, |kind, part| match &kind {
            Type::List(element) if is_place(part) => (**element).clone(),
            Type::Object(object) => object.fields.get(part).map_or(Type::Any, |member| member.kind.clone()),
            _ => Type::Any,
        })
    }

    /// What a text gives; one in which something stands beside an expression gives a text.
    pub fn text(&self, seat: &Seat, text: &Text) -> Type {
        match text.form {
            Form::Plain | Form::Template => Type::Text,
            Form::Sole | Form::Bare => typed(text, false, &|path| self.known_type(seat, path)).kind,
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
    pub fn known(&self, seat: &Seat) -> Vec<&'a str> {
        let roots = Root::VARIANTS.iter().filter(|root| self.has_root(seat, **root));
        let mut known: Vec<&str> = roots.map(|root| root.word()).collect();
        if let Viewpoint::Step(ix, part) = seat.at {
            let names = self.loops_around(ix, part).filter_map(|(_, for_each)| for_each.name.as_ref());
            known.extend(names.map(|name| name.value.as_str()));
        }
        known
    }

    /// Whether a path may begin with it here.
    fn has_root(&self, seat: &Seat, root: Root) -> bool {
        match root.places() {
            RootPlaces::Everywhere => match seat.at {
                Viewpoint::Person => !matches!(root, Root::Steps | Root::Person),
                Viewpoint::Conversation => matches!(root, Root::Inputs | Root::Person),
                Viewpoint::Step(..) | Viewpoint::Outputs | Viewpoint::Shared { .. } => true,
            },
            RootPlaces::Outside => seat.more.secrets,
            RootPlaces::AfterFailure | RootPlaces::Judged | RootPlaces::Dialogue => self.root(seat, root.word()).is_ok(),
            RootPlaces::Elements | RootPlaces::Rounds => matches!(seat.at, Viewpoint::Step(..)) && self.root(seat, root.word()).is_ok(),
        }
    }

    /// The ids of all steps, in file order.
    pub fn ids(&self) -> impl Iterator<Item = &'a str> {
        self.pipeline.steps.iter().map(|planned| planned.step.id.as_str())
    }

    /// Whether any list has a step of this id.
    pub(crate) fn has_step(&self, id: &str) -> bool {
        self.steps.contains_key(id)
    }

    /// What `path` gives here.
    pub fn path(&self, seat: &Seat, path: &[String]) -> Looked {
        let Some((root, rest)) = path.split_first() else { return Ok(Type::Any) };
        if seat.is_for_others() {
            return Ok(Type::Any);
        }
        if root == "steps" {
            if let (Some(agent), Viewpoint::Shared { .. }) = (&self.pipeline.pipeline.asked, &seat.at) {
                let message =
                    format!("agent \"{}\" is asked by other agents, so its instructions and tools cannot read steps", agent.value);
                return Err(ReadProblem::wrong_place(
                    &message,
                    "read inputs.NAME here, or let the agent that asks put it into its request",
                ));
            }
            // One whose id could not be read may be any.
            let is_any = || self.pipeline.steps.iter().any(|planned| !planned.step.is_named());
            return match self.step_path(seat, rest) {
                Err(ReadProblem::UnknownStep(_)) if is_any() => Ok(Type::Any),
                found => found,
            };
        }
        if matches!(root.as_str(), "secrets" | "env") {
            by_name(root, rest.first())?;
        }
        // Of a round one step is looked up alone: the others need not be worked out.
        let found = match rest.first().filter(|_| root == "previous") {
            Some(id) => self.of_round(seat, root, Some(id)),
            None => self.root(seat, root),
        };
        let kind = found.map_err(|problem| match (problem, root.as_str(), rest.first()) {
            (ReadProblem::WrongPlace(message, _), "env", Some(name)) => {
                let name = name.to_lowercase();
                let help = format!("write inputs.{name} here, and {name}: text under inputs: whoever starts the run gives it");
                ReadProblem::WrongPlace(message, help)
            }
            (problem, ..) => problem,
        });
        let kind = self.below(kind?, root, rest)?;
        if root == "failure" && !rest.is_empty() && self.may_lack_failure(seat) {
            return Err(ReadProblem::MaybeMissing("\"failure\" is empty when nothing failed".to_owned()));
        }
        Ok(kind)
    }

    /// The name a path begins with.
    fn root(&self, seat: &Seat, name: &str) -> Looked {
        let pipeline = &self.pipeline.pipeline;
        let Some(root) = Root::parse(name) else { return self.element(seat, name) };
        Ok(match root {
            Root::Channel | Root::Style | Root::Conversation | Root::Run | Root::Refinement
                if matches!(seat.at, Viewpoint::Conversation) =>
            {
                let message = format!("\"{name}\" cannot be read in conversation: the conversation is chosen before the run starts");
                return Err(ReadProblem::wrong_place(&message, "use inputs or person here"));
            }
            Root::Inputs => self.inputs.clone(),
            Root::Channel if pipeline.channels.is_empty() => Type::Any,
            Root::Channel => known::channel(pipeline.channels.iter().map(|channel| channel.name.as_str())),
            Root::Style if pipeline.style_guide.is_none() => Type::Any,
            Root::Style => known::style(),
            Root::Person => known::person(),
            Root::Conversation => known::conversation(),
            Root::Run => known::run(),
            Root::Refinement => known::refinement(),
            Root::Failure => return self.failure(seat),
            Root::Previous | Root::Round => return self.of_round(seat, name, None),
            Root::ItemNumber | Root::ItemCount => {
                return self.element(seat, "item").map(|_| Type::within(Some(1.0), None)).map_err(|_| not_repeated(name));
            }
            Root::Value if seat.more.judged => Type::Any,
            Root::Text if seat.more.judged => Type::Text,
            Root::Turns if seat.more.turns => Type::list(Type::of_sample::<TurnOutput>()),
            Root::Turn if seat.more.turns => Type::of_sample::<TurnOutput>(),
            Root::With if seat.more.with.is_some() => seat.more.with.clone().unwrap_or(Type::Any),
            // Secrets have codes of their own: where they may stand depends on what becomes of the text.
            Root::Secrets => Type::Any,
            Root::Env if seat.more.secrets => Type::Any,
            Root::Env => {
                let message = match seat.at {
                    Viewpoint::Step(_, StepPart::When) => {
                        "\"env\" cannot be read in when: only models, tools and what an http step sends read it"
                    }
                    Viewpoint::Step(..) | Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation | Viewpoint::Shared { .. } => {
                        "\"env\" is allowed only in models, tools and http steps"
                    }
                };
                return Err(ReadProblem::wrong_place(message, "pass the value as an input"));
            }
            Root::Value | Root::Text | Root::With => {
                let where_it_is =
                    if root == Root::With { "in tools and in the checks of a scorecard" } else { "in the checks of a scorecard" };
                let message = format!("\"{name}\" exists only {where_it_is}");
                return Err(ReadProblem::wrong_place(message, "write steps.ID.output or inputs.NAME"));
            }
            Root::Item | Root::Steps | Root::Turns | Root::Turn => return self.element(seat, name),
        })
    }

    /// `item`, or the name in `as`, of the step itself or of one around it.
    fn element(&self, seat: &Seat, name: &str) -> Looked {
        let unknown = || {
            Err(match self.loop_names.get(name) {
                _ if name == "item" => {
                    let message = "\"item\" exists only in a step with for_each";
                    // The elements that a step above gives are most likely meant.
                    let above = match &seat.at {
                        Viewpoint::Step(ix, _) => self
                            .pipeline
                            .steps
                            .iter()
                            .take(ix.0 as usize)
                            .rev()
                            .take(MOST_ABOVE)
                            .find(|planned| planned.step.for_each.is_some()),
                        Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation | Viewpoint::Shared { .. } => None,
                    };
                    let help = match above {
                        Some(above) => {
                            format!("write for_each: steps.{}.output in this step, or the list that is meant", above.step.id.value)
                        }
                        None => {
                            "write for_each: in this step, with the list that item goes through, such as for_each: inputs.NAME".to_owned()
                        }
                    };
                    ReadProblem::wrong_place(message, help)
                }
                Some(step) => {
                    let message = format!("\"{name}\" is the element of step \"{}\" and exists only there", self.step(*step).id.value);
                    ReadProblem::wrong_place(message, "read the step's output instead")
                }
                None => ReadProblem::UnknownName(name.to_owned()),
            })
        };
        match &seat.at {
            Viewpoint::Step(ix, part) => {
                let is_named = |for_each: &ForEach| name == "item" || for_each.name.as_ref().is_some_and(|own| own.value == name);
                match self.loops_around(*ix, *part).find(|(_, for_each)| is_named(for_each) || for_each.is_broken) {
                    Some((ix, for_each)) => Ok(self.element_of(ix, for_each)),
                    None => unknown(),
                }
            }
            // One of the steps that use it has the name; which one asks is known only in the run.
            Viewpoint::Shared { users, .. } => {
                let is_known = |ix: &StepIx| {
                    let seat = Seat { at: Viewpoint::Step(*ix, StepPart::Work), more: Default::default() };
                    self.element(&seat, name).is_ok()
                };
                if users.iter().any(is_known) { Ok(Type::Any) } else { unknown() }
            }
            Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => unknown(),
        }
    }

    /// The `for_each` of a step and of those around it, from the inside; its own does not count in its list.
    fn loops_around(&self, ix: StepIx, part: StepPart) -> impl Iterator<Item = (StepIx, &'a ForEach)> {
        let pipeline = self.pipeline;
        let of = move |ix: StepIx| pipeline.step(ix).step.for_each.as_ref().map(|for_each| (ix, for_each));
        pipeline.around(ix).skip(usize::from(part == StepPart::List)).filter_map(of)
    }

    /// What the elements of a list are.
    fn element_of(&self, ix: StepIx, for_each: &ForEach) -> Type {
        if let Some(kind) = self.elements.borrow().get(&ix) {
            return kind.clone();
        }
        let list = Seat { at: Viewpoint::Step(ix, StepPart::List), more: More::default() };
        let kind = match self.filling(&list, &for_each.list) {
            Type::List(element) => (*element).clone(),
            _ => Type::Any,
        };
        self.elements.borrow_mut().insert(ix, kind.clone());
        kind
    }

    /// What an agent of the file answers where its step says nothing else.
    pub(super) fn answer_of(&self, agent: &str) -> Type {
        let Some((name, agent)) = self.pipeline.pipeline.agents.get_key_value(agent) else { return Type::Any };
        let mut answers = self.answers.borrow_mut();
        answers.entry(name).or_insert_with(|| agent.output.as_ref().map_or(Type::Text, known::of_shape)).clone()
    }

    /// What a called pipeline gives.
    pub(super) fn result_of(&self, id: PipelineId) -> Type {
        if let Some(kind) = self.results.borrow().get(&id) {
            return kind.clone();
        }
        // Until it is known, so that pipelines that call each other come to an end.
        self.results.borrow_mut().insert(id, Type::Any);
        let called = self.plan.pipeline(id);
        let kind = match self.depth.get() < DEEPEST {
            true => {
                let names = PipelineNames::with_results(called, self.plan, Rc::clone(&self.results));
                names.depth.set(self.depth.get() + 1);
                names.result()
            }
            false => Type::Any,
        };
        self.results.borrow_mut().insert(id, kind.clone());
        kind
    }

    /// What it gives whoever calls it.
    fn result(&self) -> Type {
        let seat = Seat { at: Viewpoint::Outputs, more: More::default() };
        match &self.pipeline.pipeline.outputs {
            Outputs::Named(outputs) => Type::object(outputs.iter().map(|(name, value)| (name.value.as_str(), self.filling(&seat, value)))),
            Outputs::None => Type::object([]),
            Outputs::Whole(text) => self.text(&seat, text),
        }
    }

    /// `previous` and `round`, in the steps of a `repeat` and in its `until`; of `previous` one step alone, if it has that.
    fn of_round(&self, seat: &Seat, name: &str, only: Option<&String>) -> Looked {
        let repeat = |ix: StepIx, part: StepPart| {
            let repeats = |ix: &StepIx| self.step(*ix).kind.repeat().is_some();
            self.pipeline.around(ix).skip(usize::from(part != StepPart::Until)).find(repeats)
        };
        let found = match &seat.at {
            Viewpoint::Step(ix, part) => repeat(*ix, *part),
            Viewpoint::Shared { users, .. } => users.iter().find_map(|ix| repeat(*ix, StepPart::Work)),
            Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => None,
        };
        let Some(repeat) = found else {
            if let Viewpoint::Step(ix, _) = seat.at
                && let Some(group) = self.pipeline.around(ix).find(|ix| matches!(self.step(*ix).kind, StepKind::Group(_)))
            {
                return Err(ReadProblem::NoRounds(group));
            }
            let message = format!("\"{name}\" exists only in the steps of a repeat and in its until");
            return Err(ReadProblem::wrong_place(message, "put the step into the steps of a repeat, or read steps.ID.output"));
        };
        if name == "round" {
            let last = self.step(repeat).kind.repeat().map(|repeat| repeat.at_most as f64);
            return Ok(Type::within(Some(1.0), last));
        }
        // Where the types of the steps depend on themselves, `output` ends the circle.
        let one = only.and_then(|id| self.inner(repeat).find(|ix| self.step(*ix).id.value == *id));
        let steps = self.inner(repeat).filter(|ix| one.is_none_or(|one| one == *ix));
        Ok(known::previous(steps.map(|ix| (self.step(ix), self.in_round(ix)))))
    }

    fn failure(&self, seat: &Seat) -> Looked {
        let is_after = |ix: StepIx| self.root_of(ix).1 != self.pipeline.main;
        let is_known = match &seat.at {
            Viewpoint::Step(ix, _) => is_after(*ix),
            Viewpoint::Shared { users, .. } => users.iter().any(|ix| is_after(*ix)),
            Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => false,
        };
        if is_known {
            return Ok(known::failure());
        }
        let message = "\"failure\" exists only in on_failure and finally";
        let fails = self
            .pipeline
            .steps
            .iter()
            .take(MOST_ABOVE)
            .find(|planned| planned.step.on_failure == OnFailure::Continue)
            .map(|planned| &planned.step.id.value);
        let id = fails.map_or("ID", String::as_str);
        Err(ReadProblem::wrong_place(message, format!("write steps.{id}.error.message | default(''), or .kind, of the step that may fail")))
    }

    /// In `finally` there is no failure when nothing failed; in `on_failure` something did.
    fn may_lack_failure(&self, seat: &Seat) -> bool {
        let Viewpoint::Step(ix, part) = seat.at else { return false };
        let asks = |when: &Text| when.reads.iter().any(|read| read.path.first().is_some_and(|name| name == "failure"));
        Some(self.root_of(ix).1) == self.pipeline.finally && !self.whens_of(ix, part).into_iter().any(asks)
    }

    /// What is below a value. That a field can never be there is said before that one above it may be missing.
    pub(super) fn below(&self, kind: Type, owner: &str, rest: &[String]) -> Looked {
        let mut kind = kind;
        let mut owner = owner.to_owned();
        let mut maybe = None;
        for part in rest {
            kind = match &kind {
                Type::Any => break,
                Type::List(element) if is_place(part) => (**element).clone(),
                kind if kind.is_text() && is_place(part) => Type::Text,
                Type::Object(object) => match object.fields.get(part) {
                    Some(member) => {
                        if member.is_optional {
                            maybe.get_or_insert_with(|| ReadProblem::MaybeMissing(format!("\"{owner}\" may have no \"{part}\"")));
                        }
                        member.kind.clone()
                    }
                    None if object.is_open => Type::Any,
                    None => {
                        let known = KnownFields::Of(object.clone());
                        let owner = if owner == "inputs" { Owner::Inputs } else { Owner::Value(owner) };
                        return Err(ReadProblem::UnknownField { owner, field: part.clone(), known });
                    }
                },
                other => {
                    let owner = Owner::Plain(owner, other.clone());
                    return Err(ReadProblem::UnknownField { owner, field: part.clone(), known: KnownFields::None });
                }
            };
            owner = if is_place(part) { format!("{owner}[{part}]") } else { format!("{owner}.{part}") };
        }
        maybe.map_or(Ok(kind), Err)
    }

    /// The step of one of the pipeline's own lists that a step is, or stands in, and that list.
    pub(crate) fn root_of(&self, ix: StepIx) -> (StepIx, BlockIx) {
        let root = self.pipeline.around(ix).last().unwrap_or(ix);
        (root, self.pipeline.step(root).block)
    }

    /// The seat of a step's own work.
    pub fn seat(&self, ix: StepIx) -> Seat {
        let secrets = self.step(ix).kind.facts().method.is_some();
        Seat { at: Viewpoint::Step(ix, StepPart::Work), more: More { secrets, ..More::default() } }
    }

    /// A step by its number.
    pub fn step(&self, ix: StepIx) -> &'a Step {
        &self.pipeline.step(ix).step
    }

    pub(super) fn at(&self, block: BlockIx, place: usize) -> StepIx {
        StepIx(self.pipeline.block(block).first.0 + place as u32)
    }
}

fn not_repeated(name: &str) -> ReadProblem {
    let message = format!("\"{name}\" exists only in a step with for_each");
    ReadProblem::wrong_place(&message, "add for_each to the step, or to the group around it")
}

/// The one read that a text consists of.
pub(crate) fn sole_path(text: &Text) -> Option<&Read> {
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
pub(super) fn is_place(part: &str) -> bool {
    part.strip_prefix('-').unwrap_or(part).bytes().all(|b| b.is_ascii_digit())
}

/// Whether this reads something that a step has only if it ran well.
pub(super) fn needs_output(rest: &[String]) -> bool {
    match rest.first().map(String::as_str) {
        Some("output") => true,
        Some("details") => rest.len() > 1,
        _ => false,
    }
}

/// Secrets and variables are read one by one, each by its name, so that a person who looks at the file sees which leave it.
pub(super) fn by_name(root: &str, name: Option<&String>) -> Result<(), ReadProblem> {
    match name {
        None => {
            let message = format!("\"{root}\" can only be read by name, so that the file shows what it uses");
            Err(ReadProblem::wrong_place(message, format!("write {root}.NAME for each one you need")))
        }
        Some(own) if is_own_variable(own) => {
            let message = format!("{own} is reserved for flow; no file can read it");
            let name = own.strip_prefix("FLOW_").unwrap_or(own);
            let help = format!(
                "write secrets.{name}, and secrets: {{ {name}: What it is. }} in the head of the file, or read a variable of another name"
            );
            Err(ReadProblem::wrong_place(message, help))
        }
        Some(_) => Ok(()),
    }
}
