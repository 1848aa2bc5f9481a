//! Paths below `steps`: which step is seen from where, and what its output is.

use super::known;
use super::names::{DEEPEST, Looked, PipelineNames, is_place};
use super::problem::{KnownFields, Owner, ReadProblem};
use super::seat::{Seat, StepPart, Viewpoint};
use crate::event::PlanOutput;
use crate::model::{Filling, OnFailure, OutputWord, PlanStep, PreparedQuery, ProgramOutput, SqlStep, Step, StepKind, ToolKind};
use crate::plan::{PlannedStep, StepIx};
use crate::port::{FileContent, FoundPiece};
use crate::source::Spanned;
use crate::template::types::{Member, Type};

/// Most fields and lists of an output that are kept in mind; of a larger one nothing is known.
const LARGEST: usize = 2_000;

impl PipelineNames<'_> {
    /// `output`, `status`, `error`, `details` of a step, and what is below.
    pub(in crate::rules) fn member(&self, ix: StepIx, rest: &[String]) -> Looked {
        let Some((member, rest)) = rest.split_first() else { return Ok(Type::Any) };
        let step = self.step(ix);
        let id = &step.id.value;
        match member.as_str() {
            "output" => {
                let kind = self.output(ix);
                if let (StepKind::Agent(_), None, Type::Text, Some(field)) = (&step.kind, &step.for_each, &kind, rest.first())
                    && !is_place(field)
                {
                    return Err(ReadProblem::NoOutputFields(ix));
                }
                self.below(kind, &format!("steps.{id}.output"), rest).map_err(|problem| of_output(problem, id, step.for_each.is_some()))
            }
            "status" => self.below(known::status(), &format!("steps.{id}.status"), rest),
            "error" => self.below(known::error(), &format!("steps.{id}.error"), rest),
            "details" => self.below(known::details(step), &format!("steps.{id}.details"), rest),
            _ => {
                let known = KnownFields::Names(&["output", "status", "error", "details"]);
                Err(ReadProblem::UnknownField { owner: Owner::Step(id.clone()), field: member.clone(), known })
            }
        }
    }

    /// Whether what an agent of this step answers is a text.
    pub(in crate::rules) fn answer_is_text(&self, ix: StepIx) -> bool {
        self.output(ix) == Type::Text
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
        // Until it is known, so that steps that wait for each other come to an end.
        self.keep(ix, &Type::Any);
        self.depth.set(self.depth.get() + 1);
        let step = self.step(ix);
        let kind = self.once(ix, step);
        let kind = match (&step.for_each, &step.on_failure) {
            (None, _) => kind,
            (Some(_), OnFailure::Continue) => {
                Type::list(Type::object([("item", Type::Any), ("status", known::status()), ("output", kind), ("error", known::error())]))
            }
            (Some(_), _) => Type::list(kind),
        };
        self.depth.set(self.depth.get() - 1);
        // Outputs made of outputs can grow without bound.
        let kind = if kind.is_within(LARGEST) { kind } else { Type::Any };
        self.keep(ix, &kind);
        kind
    }

    /// The output of one run of a step.
    fn once(&self, ix: StepIx, step: &Step) -> Type {
        let seat = Seat { at: Viewpoint::Step(ix, StepPart::Work), more: Default::default() };
        match &step.kind {
            StepKind::Agent(agent) => match (&agent.output, self.pipeline.pipeline.agents.get(&agent.agent.value)) {
                (Some(shape), _) => known::of_shape(shape),
                (None, Some(_)) => self.answer_of(&agent.agent.value),
                (None, None) => Type::Any,
            },
            StepKind::Tool(tool) => tool.output.as_ref().map_or(Type::Any, known::of_shape),
            StepKind::Set(filling) => self.filling(&seat, filling),
            StepKind::Http(http) => known::answered(http.output.as_ref()),
            StepKind::Sql(step) => self.rows(step),
            StepKind::Program(run) => match &run.gives {
                ProgramOutput::Word(OutputWord::Text) => Type::Text,
                ProgramOutput::Word(OutputWord::Lines) => Type::list(Type::Text),
                ProgramOutput::Word(OutputWord::Json) => Type::Any,
                ProgramOutput::Fields(shape) => known::of_shape(shape),
            },
            StepKind::Python(step) => Type::object(step.run.returns.iter().map(|name| (name.as_str(), Type::Any))),
            StepKind::Resource(_) => Type::of_sample::<FileContent>(),
            StepKind::Search(_) => Type::list(Type::of_sample::<FoundPiece>()),
            StepKind::Read(read) => self.files(&seat, &read.paths),
            StepKind::Plan(plan) => self.planned(plan),
            StepKind::Task(task) => known::task(task.fixed_artefact()),
            StepKind::Dialogue(dialogue) => known::dialogue(&dialogue.agents),
            StepKind::Route(_) => {
                let cases = self.pipeline.step(ix).cases.iter().map(|block| {
                    let block = self.pipeline.block(*block);
                    let last = (block.len() as u32).checked_sub(1)?;
                    Some(self.output(StepIx(block.first.0 + last)))
                });
                Type::either(cases.map(|kind| kind.unwrap_or(Type::Any)).collect()).unwrap_or(Type::Any)
            }
            StepKind::Group(_) | StepKind::Repeat(_) => {
                let is_open = !self.inner(ix).all(|ix| self.step(ix).is_named());
                let named = self.inner(ix).filter(|ix| self.step(*ix).is_named());
                Type::of_members(named.map(|ix| (self.step(ix).id.value.clone(), self.given(ix))), is_open)
            }
            StepKind::Call(call) => call.pipeline.map_or(Type::Any, |id| self.result_of(id)),
            StepKind::Format(_) => known::formatted(),
            StepKind::Gate(gate) => {
                let judged = self.text(&seat, &gate.of);
                match (&judged, &gate.otherwise) {
                    (Type::Object(_), Some(_)) if judged != known::formatted() => Type::Any,
                    (_, Some(_)) if !matches!(judged, Type::Text | Type::Object(_)) => Type::Any,
                    _ => judged,
                }
            }
            StepKind::Send(send) => {
                let tool = self.pipeline.pipeline.tools.get(&send.to.value);
                let is_mail = tool.is_some_and(|tool| matches!(tool.kind, ToolKind::Smtp { .. }));
                known::sent(is_mail)
            }
            StepKind::Approval(approval) => known::of_shape(&approval.gives),
            StepKind::Wait(_) | StepKind::Stop(_) => Type::Empty,
            StepKind::Broken => Type::Any,
        }
    }

    /// The rows of a query, or its one row.
    fn rows(&self, step: &SqlStep) -> Type {
        let row = match self.pipeline.pipeline.prepared.get(&*step.query.source) {
            Some(PreparedQuery::Gives(compiled)) => Type::row(&compiled.columns, !compiled.names_its_columns),
            // What took a key into the query took its meaning, too.
            Some(PreparedQuery::Fails(_)) if step.one.is_none() => return Type::Any,
            Some(PreparedQuery::Fails(_)) | None => Type::open_object([]),
        };
        if step.one.is_some() { row } else { Type::list(row) }
    }

    /// What the files at these paths hold.
    fn files(&self, seat: &Seat, paths: &Filling) -> Type {
        let is_list = match paths {
            Filling::Constant(value) => value.is_array(),
            Filling::List(_) => true,
            paths => match self.filling(seat, paths) {
                Type::List(_) => true,
                Type::Text => false,
                _ => return Type::Any,
            },
        };
        let file = Type::of_sample::<FileContent>();
        if is_list { Type::list(file) } else { file }
    }

    /// The steps of a group or of a `repeat`.
    pub(in crate::rules) fn inner(&self, ix: StepIx) -> impl DoubleEndedIterator<Item = StepIx> + '_ {
        let block = self.pipeline.step(ix).cases.first().map(|block| self.pipeline.block(*block));
        block.into_iter().flat_map(|block| (0..block.len()).map(|place| StepIx(block.first.0 + place as u32)))
    }

    /// The output of a step that stands in another, as the next round sees it.
    pub(in crate::rules) fn in_round(&self, ix: StepIx) -> Member {
        let seat = Seat { at: Viewpoint::Step(ix, StepPart::When), more: Default::default() };
        let missing = self.may_be_missing(ix, ix, ix, StepPart::When, &seat, &["output".to_owned()]);
        Member { kind: self.output(ix), is_optional: missing.is_some() }
    }

    /// The same, as what is outside sees it.
    fn given(&self, ix: StepIx) -> Member {
        let Member { kind, is_optional } = self.in_round(ix);
        // What comes before a gate that was not met stays inside.
        let planned = self.pipeline.step(ix);
        let block = self.pipeline.block(planned.block);
        let is_held_back = |(gate, other): (StepIx, &PlannedStep)| {
            let may_fail = matches!(&other.step.kind, StepKind::Gate(own) if own.otherwise.is_some());
            let beside = || self.pipeline.around(gate).map(|ix| self.pipeline.step(ix)).find(|around| around.block == planned.block);
            may_fail && beside().is_some_and(|beside| block.is_upstream(planned.place, beside.place))
        };
        let is_optional = is_optional || self.pipeline.numbered_steps().any(is_held_back);
        Member { kind, is_optional }
    }

    /// The output of `plan`. What a name of `may_use` gave last may be missing: a plan need not use it.
    fn planned(&self, plan: &PlanStep) -> Type {
        let tools = &self.pipeline.pipeline.tools;
        let called = |name: &Spanned<String>| tools.get(&name.value).and_then(|tool| tool.kind.pipeline());
        let given = |name: &Spanned<String>| called(name).map_or(Type::Any, |id| self.result_of(id));
        let perhaps = |name: &Spanned<String>| (name.value.clone(), Member { kind: given(name), is_optional: true });
        let has_parts = |name: &Spanned<String>| tools.get(&name.value).is_some_and(|tool| tool.kind.folder().is_some());
        let by_use = Type::of_members(plan.may_use.iter().map(perhaps), plan.may_use.iter().any(has_parts));
        Type::of_sample::<PlanOutput>().with(Type::object([("by_use", by_use)]))
    }

    fn keep(&self, ix: StepIx, kind: &Type) {
        if let Some(slot) = self.outputs.borrow_mut().get_mut(ix.0 as usize) {
            *slot = Some(kind.clone());
        }
    }
}

/// A finding about the output itself names the step.
fn of_output(problem: ReadProblem, id: &str, is_list: bool) -> ReadProblem {
    match problem {
        ReadProblem::UnknownField { owner, field, known } if owner == Owner::Value(format!("steps.{id}.output")) && !is_list => {
            ReadProblem::UnknownField { owner: Owner::Step(id.to_owned()), field, known }
        }
        other => other,
    }
}
