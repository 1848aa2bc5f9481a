//! Paths below `steps`: which step is seen from where, and what its output is.

use super::known;
use super::names::{DEEPEST, Looked, PipelineNames, is_place, needs_output};
use super::problem::{KnownFields, Owner, ReadProblem};
use super::seat::{Seat, StepPart, Viewpoint};
use crate::diagnostic::one_line;
use crate::event::PlanOutput;
use crate::model::{Filling, OnFailure, OutputWord, PlanStep, PreparedQuery, ProgramOutput, Step, StepKind, ToolKind};
use crate::plan::{PlannedStep, StepIx};
use crate::port::{FileContent, FoundPiece};
use crate::source::Spanned;
use crate::sql;
use crate::template::types::{Member, Type};

/// Most fields and lists of an output that are kept in mind; of a larger one nothing is known.
const LARGEST: usize = 2_000;

impl PipelineNames<'_> {
    /// A path below `steps`.
    pub(super) fn step_path(&self, seat: &Seat, rest: &[String]) -> Looked {
        let Some((id, rest)) = rest.split_first() else { return Ok(Type::Any) };
        match &seat.at {
            Viewpoint::Step(reader, part) => self.step_from(*reader, *part, seat, id, rest),
            Viewpoint::Outputs => {
                let main = self.pipeline.block(self.pipeline.main);
                match main.place(id) {
                    Some(place) => self.member(self.at(self.pipeline.main, place), rest),
                    None => Err(self.elsewhere(id, None)),
                }
            }
            Viewpoint::Conversation => {
                let message = "\"steps\" cannot be read in conversation: no step has run when it is looked up";
                // Of `message`, which is an expression, no text can stand in place.
                let is_id = self.pipeline.pipeline.conversation.iter().flat_map(|conversation| conversation.id.texts());
                let is_id = is_id.flat_map(|text| &text.reads).any(|read| read.path.get(1) == Some(id));
                let set = self.steps.get(id.as_str()).filter(|_| is_id).and_then(|places| places.first()).and_then(|ix| {
                    let StepKind::Set(Filling::Text(text)) = &self.step(*ix).kind else { return None };
                    (!text.source.contains("steps.")).then_some(&text.source)
                });
                Err(ReadProblem::wrong_place(
                    message,
                    match set {
                        Some(text) => {
                            let read: String = rest.iter().map(|part| format!(".{part}")).collect();
                            format!("write {} in place of {{{{ steps.{id}{read} }}}}, and remove step {id}", one_line(text, 80))
                        }
                        None => "use inputs or person here".to_owned(),
                    },
                ))
            }
            Viewpoint::Person => {
                let message = "\"steps\" cannot be read in person: no step has run when the person is looked up";
                Err(ReadProblem::wrong_place(message, "use inputs here"))
            }
            Viewpoint::Shared { is_imported: true, .. } => Ok(Type::Any),
            Viewpoint::Shared { users, .. } => {
                if !self.steps.contains_key(id.as_str()) {
                    return Err(ReadProblem::UnknownStep(id.clone()));
                }
                let mut kind = Type::Any;
                for user in users {
                    kind = self.step_from(*user, StepPart::Work, seat, id, rest)?;
                }
                Ok(kind)
            }
        }
    }

    /// A path below one step, read from another.
    fn step_from(&self, reader: StepIx, part: StepPart, seat: &Seat, id: &str, rest: &[String]) -> Looked {
        let inside = self.pipeline.step(reader).cases.first().filter(|_| part == StepPart::Until);
        if let Some((block, place)) = inside.and_then(|block| Some((*block, self.pipeline.block(*block).place(id)?))) {
            let read = self.at(block, place);
            let kind = self.member(read, rest)?;
            return self.may_be_missing(read, read, reader, part, seat, rest).map_or(Ok(kind), |why| Err(ReadProblem::MaybeMissing(why)));
        }
        for ix in self.pipeline.around(reader) {
            let planned = self.pipeline.step(ix);
            let block = self.pipeline.block(planned.block);
            let Some(place) = block.place(id) else { continue };
            let read = self.at(planned.block, place);
            if !block.is_upstream(place, planned.place) {
                return Err(ReadProblem::NotUpstream { read, reader });
            }
            let kind = self.member(read, rest)?;
            return match self.may_be_missing(read, ix, reader, part, seat, rest) {
                Some(why) => Err(ReadProblem::MaybeMissing(why)),
                None => Ok(kind),
            };
        }
        let (_, root) = self.root_of(reader);
        match self.pipeline.block(self.pipeline.main).place(id) {
            Some(place) if root != self.pipeline.main => {
                let read = self.at(self.pipeline.main, place);
                let kind = self.member(read, rest)?;
                if needs_output(rest) && !self.is_tested(read, self.whens_of(reader, part)) {
                    return Err(ReadProblem::MaybeMissing(format!("\"{id}\" may not have run when this is read")));
                }
                Ok(kind)
            }
            _ => Err(self.elsewhere(id, Some(&self.step(reader).id.value))),
        }
    }

    /// An id that is none of a step that can be read here: in this step, or in the outputs.
    fn elsewhere(&self, id: &str, reader: Option<&str>) -> ReadProblem {
        let Some(ix) = self.steps.get(id).and_then(|steps| steps.first()) else { return ReadProblem::UnknownStep(id.to_owned()) };
        let (top, root) = self.root_of(*ix);
        if top != *ix {
            let (holder, kind) = (&self.step(top).id.value, self.step(top).kind.word());
            let message = format!("\"{id}\" is inside {kind} \"{holder}\" and can be read only there");
            let help = match matches!(self.step(top).kind, StepKind::Route(_)) {
                false => format!("read steps.{holder}.output.{id}: its output has those of the steps inside by their ids"),
                true => format!("read steps.{holder}.output: it is the output of the case that was chosen"),
            };
            return ReadProblem::wrong_place(message, help);
        }
        let list = if Some(root) == self.pipeline.finally { "finally" } else { "on_failure" };
        match reader {
            None => ReadProblem::BesideOutputs(id.to_owned(), list),
            Some(reader) => {
                let message = format!("\"{id}\" is in {list}, which step \"{reader}\" cannot read");
                ReadProblem::wrong_place(message, "read a step of the pipeline's own list")
            }
        }
    }

    /// `output`, `status`, `error`, `details` of a step, and what is below.
    pub(super) fn member(&self, ix: StepIx, rest: &[String]) -> Looked {
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
    pub(super) fn answer_is_text(&self, ix: StepIx) -> bool {
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
            StepKind::Http(http) => {
                let body = http.output.as_ref().map_or(Type::Any, known::of_shape);
                Type::object([("status", Type::Number), ("headers", Type::open_object([])), ("body", body)])
            }
            StepKind::Sql(step) => {
                let prepared = self.pipeline.pipeline.prepared.get(&*step.query.source);
                let row = match prepared {
                    Some(PreparedQuery::Gives(columns)) => Some(Type::row(columns, !sql::names_its_columns(&step.query.source))),
                    Some(PreparedQuery::Fails(_)) | None => None,
                };
                let row = row.unwrap_or(Type::open_object([]));
                // What took a key into the query took its meaning, too.
                if matches!(prepared, Some(PreparedQuery::Fails(_))) && step.one.is_none() {
                    return Type::Any;
                }
                if step.one.is_some() { row } else { Type::list(row) }
            }
            StepKind::Program(run) => match &run.gives {
                ProgramOutput::Word(OutputWord::Text) => Type::Text,
                ProgramOutput::Word(OutputWord::Lines) => Type::list(Type::Text),
                ProgramOutput::Word(OutputWord::Json) => Type::Any,
                ProgramOutput::Fields(shape) => known::of_shape(shape),
            },
            StepKind::Python(step) => Type::object(step.run.returns.iter().map(|name| (name.as_str(), Type::Any))),
            StepKind::Resource(_) => Type::of_sample::<FileContent>(),
            StepKind::Search(_) => Type::list(Type::of_sample::<FoundPiece>()),
            StepKind::Read(read) => match &read.paths {
                Filling::Constant(value) if value.is_array() => Type::list(Type::of_sample::<FileContent>()),
                Filling::List(_) => Type::list(Type::of_sample::<FileContent>()),
                Filling::Constant(_) => Type::of_sample::<FileContent>(),
                paths => match self.filling(&seat, paths) {
                    Type::List(_) => Type::list(Type::of_sample::<FileContent>()),
                    Type::Text => Type::of_sample::<FileContent>(),
                    _ => Type::Any,
                },
            },
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

    /// The steps of a group or of a `repeat`.
    pub(super) fn inner(&self, ix: StepIx) -> impl DoubleEndedIterator<Item = StepIx> + '_ {
        let block = self.pipeline.step(ix).cases.first().map(|block| self.pipeline.block(*block));
        block.into_iter().flat_map(|block| (0..block.len()).map(|place| StepIx(block.first.0 + place as u32)))
    }

    /// The output of a step that stands in another, as the next round sees it.
    pub(super) fn in_round(&self, ix: StepIx) -> Member {
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
