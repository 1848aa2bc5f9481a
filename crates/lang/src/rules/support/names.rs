//! The symbol table: which names are known at a place, and what they are as far as that is known before a run. The run's own
//! names are made in `engine`; both follow section 8 of the language page.
//!
//! How to add a name: an arm in `SeatView::root`, its type in `known.rs`, its value in `engine`.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::asked_query::AskedQuery;
use super::known;
use super::problem::{KnownFields, Owner, ReadOutcome, ReadProblem};
use super::seat::{More, Seat, StepPart, Viewpoint};
use crate::diagnostic::Hints;
use crate::model::{Filling, ForEach, Form, Outputs, PipelineId, Read, Step, Text, is_own_variable};
use crate::plan::{BlockIx, PipelinePlan, Plan, StepIx};
use crate::template::typed;
use crate::template::types::Type;

/// How deep outputs that are made of other outputs are followed.
pub(in crate::rules) const DEEPEST: usize = 64;

/// The names of one pipeline.
pub struct PipelineNames<'a> {
    pub(in crate::rules) plan: &'a Plan,
    pub(in crate::rules) pipeline: &'a PipelinePlan,
    /// Where ids stand, in all lists.
    pub(in crate::rules) steps: HashMap<&'a str, Vec<StepIx>>,
    /// Names of loop elements, anywhere in the file.
    pub(in crate::rules) loop_names: HashMap<&'a str, StepIx>,
    pub(in crate::rules) inputs: Type,
    /// For each list the `when` of the case that it is.
    pub(in crate::rules) case_whens: Vec<Option<&'a Text>>,
    pub(in crate::rules) outputs: RefCell<Vec<Option<Type>>>,
    /// What the elements of a step's `for_each` are.
    elements: RefCell<HashMap<StepIx, Type>>,
    /// What agents answer: the same for every step that asks them.
    answers: RefCell<HashMap<&'a str, Type>>,
    /// What called pipelines give, also those that they call.
    results: Rc<RefCell<HashMap<PipelineId, Type>>>,
    pub(in crate::rules) depth: Cell<usize>,
    queries: OnceCell<Vec<AskedQuery<'a>>>,
    /// For "did you mean".
    pub(in crate::rules) hints: Hints,
}

pub(in crate::rules) type Looked = Result<Type, ReadProblem>;

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
            queries: OnceCell::new(),
            hints: Hints::default(),
        }
    }

    /// The queries of the pipeline, each read once.
    pub(in crate::rules) fn queries(&self) -> &[AskedQuery<'a>] {
        self.queries.get_or_init(|| AskedQuery::all(&self.pipeline.pipeline))
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
    pub(in crate::rules) fn known_type(&self, seat: &Seat, path: &[String]) -> Type {
        match self.path(seat, path) {
            Ok(kind) => kind,
            Err(ReadProblem::MaybeMissing(_)) => self.kind_if_there(seat, path),
            Err(_) => Type::Any,
        }
    }

    /// What a path that may be missing is where it is there.
    pub(in crate::rules) fn kind_if_there(&self, seat: &Seat, path: &[String]) -> Type {
        let (kind, rest) = match path {
            [root, id, member, rest @ ..] if root == "steps" => match self.steps.get(id.as_str()).map(Vec::as_slice) {
                Some([ix]) => (self.member(*ix, std::slice::from_ref(member)).unwrap_or(Type::Any), rest),
                _ => return Type::Any,
            },
            [root, rest @ ..] if root != "steps" => (self.view(seat).root(root).unwrap_or(Type::Any), rest),
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

    /// The ids of all steps, in file order.
    pub fn ids(&self) -> impl Iterator<Item = &'a str> {
        self.pipeline.steps.iter().map(|planned| planned.step.id.as_str())
    }

    /// Whether any list has a step of this id.
    pub(crate) fn has_step(&self, id: &str) -> bool {
        self.steps.contains_key(id)
    }

    /// The `for_each` of a step and of those around it, from the inside; its own does not count in its list.
    pub(in crate::rules) fn loops_around(&self, ix: StepIx, part: StepPart) -> impl Iterator<Item = (StepIx, &'a ForEach)> {
        let pipeline = self.pipeline;
        let of = move |ix: StepIx| pipeline.step(ix).step.for_each.as_ref().map(|for_each| (ix, for_each));
        pipeline.around(ix).skip(usize::from(part == StepPart::List)).filter_map(of)
    }

    /// What the elements of a list are.
    pub(in crate::rules) fn element_of(&self, ix: StepIx, for_each: &ForEach) -> Type {
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
    pub(in crate::rules) fn answer_of(&self, agent: &str) -> Type {
        let Some((name, agent)) = self.pipeline.pipeline.agents.get_key_value(agent) else { return Type::Any };
        let mut answers = self.answers.borrow_mut();
        answers.entry(name).or_insert_with(|| agent.output.as_ref().map_or(Type::Text, known::of_shape)).clone()
    }

    /// What a called pipeline gives.
    pub(in crate::rules) fn result_of(&self, id: PipelineId) -> Type {
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

    /// What is below a value. That a field can never be there is said before that one above it may be missing.
    pub(in crate::rules) fn below(&self, kind: Type, owner: &str, rest: &[String]) -> Looked {
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

    pub(in crate::rules) fn at(&self, block: BlockIx, place: usize) -> StepIx {
        StepIx(self.pipeline.block(block).first.0 + place as u32)
    }
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
pub(in crate::rules) fn is_place(part: &str) -> bool {
    part.strip_prefix('-').unwrap_or(part).bytes().all(|b| b.is_ascii_digit())
}

/// Whether this reads something that a step has only if it ran well.
pub(in crate::rules) fn needs_output(rest: &[String]) -> bool {
    match rest.first().map(String::as_str) {
        Some("output") => true,
        Some("details") => rest.len() > 1,
        _ => false,
    }
}

/// Secrets and variables are read one by one, each by its name, so that a person who looks at the file sees which leave it.
pub(in crate::rules) fn by_name(root: &str, name: Option<&String>) -> Result<(), ReadProblem> {
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
