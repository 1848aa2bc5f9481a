//! What one text sees: the names that a path may begin with there, and what a path gives.

use strum::VariantArray;

use super::known;
use super::names::{Looked, PipelineNames, by_name, needs_output};
use super::problem::ReadProblem;
use super::seat::{Seat, StepPart, Viewpoint};
use crate::diagnostic::one_line;
use crate::event::TurnOutput;
use crate::model::{Filling, ForEach, OnFailure, Root, RootPlaces, StepKind, Text};
use crate::plan::StepIx;
use crate::template::types::Type;

/// Most steps that are looked through for what a help names.
const MOST_ABOVE: usize = 64;

/// The names of a pipeline as a text of one seat sees them.
pub(in crate::rules) struct SeatView<'n, 'a> {
    names: &'n PipelineNames<'a>,
    seat: &'n Seat,
}

impl<'a> PipelineNames<'a> {
    /// What a text of this seat sees.
    pub(in crate::rules) fn view<'n>(&'n self, seat: &'n Seat) -> SeatView<'n, 'a> {
        SeatView { names: self, seat }
    }

    /// The names that may begin a path here, in the order of the manual.
    pub fn known(&self, seat: &Seat) -> Vec<&'a str> {
        self.view(seat).known()
    }

    /// What `path` gives here.
    pub fn path(&self, seat: &Seat, path: &[String]) -> Looked {
        self.view(seat).path(path)
    }
}

impl<'a> SeatView<'_, 'a> {
    fn known(&self) -> Vec<&'a str> {
        let roots = Root::VARIANTS.iter().filter(|root| self.has_root(**root));
        let mut known: Vec<&str> = roots.map(|root| root.word()).collect();
        if let Viewpoint::Step(ix, part) = self.seat.at {
            let names = self.names.loops_around(ix, part).filter_map(|(_, for_each)| for_each.name.as_ref());
            known.extend(names.map(|name| name.value.as_str()));
        }
        known
    }

    /// Whether a path may begin with it here.
    fn has_root(&self, root: Root) -> bool {
        match root.places() {
            RootPlaces::Everywhere => match self.seat.at {
                Viewpoint::Person => !matches!(root, Root::Steps | Root::Person),
                Viewpoint::Conversation => matches!(root, Root::Inputs | Root::Person),
                Viewpoint::Step(..) | Viewpoint::Outputs | Viewpoint::Shared { .. } => true,
            },
            RootPlaces::Outside => self.seat.more.secrets,
            RootPlaces::AfterFailure | RootPlaces::Judged | RootPlaces::Dialogue => self.root(root.word()).is_ok(),
            RootPlaces::Elements | RootPlaces::Rounds => matches!(self.seat.at, Viewpoint::Step(..)) && self.root(root.word()).is_ok(),
        }
    }

    fn path(&self, path: &[String]) -> Looked {
        let Some((root, rest)) = path.split_first() else { return Ok(Type::Any) };
        if self.seat.is_for_others() {
            return Ok(Type::Any);
        }
        if root == "steps" {
            if let (Some(agent), Viewpoint::Shared { .. }) = (&self.names.pipeline.pipeline.asked, &self.seat.at) {
                let message =
                    format!("agent \"{}\" is asked by other agents, so its instructions and tools cannot read steps", agent.value);
                return Err(ReadProblem::wrong_place(
                    &message,
                    "read inputs.NAME here, or let the agent that asks put it into its request",
                ));
            }
            // One whose id could not be read may be any.
            let is_any = || self.names.pipeline.steps.iter().any(|planned| !planned.step.is_named());
            return match self.step_path(rest) {
                Err(ReadProblem::UnknownStep(_)) if is_any() => Ok(Type::Any),
                found => found,
            };
        }
        if matches!(root.as_str(), "secrets" | "env") {
            by_name(root, rest.first())?;
        }
        // Of a round one step is looked up alone: the others need not be worked out.
        let found = match rest.first().filter(|_| root == "previous") {
            Some(id) => self.of_round(root, Some(id)),
            None => self.root(root),
        };
        let kind = found.map_err(|problem| match (problem, root.as_str(), rest.first()) {
            (ReadProblem::WrongPlace(message, _), "env", Some(name)) => {
                let name = name.to_lowercase();
                let help = format!("write inputs.{name} here, and {name}: text under inputs: whoever starts the run gives it");
                ReadProblem::WrongPlace(message, help)
            }
            (problem, ..) => problem,
        });
        let kind = self.names.below(kind?, root, rest)?;
        if root == "failure" && !rest.is_empty() && self.may_lack_failure() {
            return Err(ReadProblem::MaybeMissing("\"failure\" is empty when nothing failed".to_owned()));
        }
        Ok(kind)
    }

    /// The name a path begins with.
    pub(in crate::rules) fn root(&self, name: &str) -> Looked {
        let pipeline = &self.names.pipeline.pipeline;
        let Some(root) = Root::parse(name) else { return self.element(name) };
        Ok(match root {
            Root::Channel | Root::Style | Root::Conversation | Root::Run | Root::Refinement
                if matches!(self.seat.at, Viewpoint::Conversation) =>
            {
                let message = format!("\"{name}\" cannot be read in conversation: the conversation is chosen before the run starts");
                return Err(ReadProblem::wrong_place(&message, "use inputs or person here"));
            }
            Root::Inputs => self.names.inputs.clone(),
            Root::Channel if pipeline.channels.is_empty() => Type::Any,
            Root::Channel => known::channel(pipeline.channels.iter().map(|channel| channel.name.as_str())),
            Root::Style if pipeline.style_guide.is_none() => Type::Any,
            Root::Style => known::style(),
            Root::Person => known::person(),
            Root::Conversation => known::conversation(),
            Root::Run => known::run(),
            Root::Refinement => known::refinement(),
            Root::Failure => return self.failure(),
            Root::Previous | Root::Round => return self.of_round(name, None),
            Root::ItemNumber | Root::ItemCount => {
                return self.element("item").map(|_| Type::within(Some(1.0), None)).map_err(|_| not_repeated(name));
            }
            Root::Value if self.seat.more.judged => Type::Any,
            Root::Text if self.seat.more.judged => Type::Text,
            Root::Turns if self.seat.more.turns => Type::list(Type::of_sample::<TurnOutput>()),
            Root::Turn if self.seat.more.turns => Type::of_sample::<TurnOutput>(),
            Root::With if self.seat.more.with.is_some() => self.seat.more.with.clone().unwrap_or(Type::Any),
            // Secrets have codes of their own: where they may stand depends on what becomes of the text.
            Root::Secrets => Type::Any,
            Root::Env if self.seat.more.secrets => Type::Any,
            Root::Env => {
                let message = match self.seat.at {
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
            Root::Item | Root::Steps | Root::Turns | Root::Turn => return self.element(name),
        })
    }

    /// `item`, or the name in `as`, of the step itself or of one around it.
    fn element(&self, name: &str) -> Looked {
        let unknown = || {
            Err(match self.names.loop_names.get(name) {
                _ if name == "item" => {
                    let message = "\"item\" exists only in a step with for_each";
                    // The elements that a step above gives are most likely meant.
                    let above = match &self.seat.at {
                        Viewpoint::Step(ix, _) => self
                            .names
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
                    let message =
                        format!("\"{name}\" is the element of step \"{}\" and exists only there", self.names.step(*step).id.value);
                    ReadProblem::wrong_place(message, "read the step's output instead")
                }
                None => ReadProblem::UnknownName(name.to_owned()),
            })
        };
        match &self.seat.at {
            Viewpoint::Step(ix, part) => {
                let is_named = |for_each: &ForEach| name == "item" || for_each.name.as_ref().is_some_and(|own| own.value == name);
                match self.names.loops_around(*ix, *part).find(|(_, for_each)| is_named(for_each) || for_each.is_broken) {
                    Some((ix, for_each)) => Ok(self.names.element_of(ix, for_each)),
                    None => unknown(),
                }
            }
            // One of the steps that use it has the name; which one asks is known only in the run.
            Viewpoint::Shared { users, .. } => {
                let is_known = |ix: &StepIx| {
                    let seat = Seat { at: Viewpoint::Step(*ix, StepPart::Work), more: Default::default() };
                    SeatView { names: self.names, seat: &seat }.element(name).is_ok()
                };
                if users.iter().any(is_known) { Ok(Type::Any) } else { unknown() }
            }
            Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => unknown(),
        }
    }

    /// `previous` and `round`, in the steps of a `repeat` and in its `until`; of `previous` one step alone, if it has that.
    fn of_round(&self, name: &str, only: Option<&String>) -> Looked {
        let repeat = |ix: StepIx, part: StepPart| {
            let repeats = |ix: &StepIx| self.names.step(*ix).kind.repeat().is_some();
            self.names.pipeline.around(ix).skip(usize::from(part != StepPart::Until)).find(repeats)
        };
        let found = match &self.seat.at {
            Viewpoint::Step(ix, part) => repeat(*ix, *part),
            Viewpoint::Shared { users, .. } => users.iter().find_map(|ix| repeat(*ix, StepPart::Work)),
            Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => None,
        };
        let Some(repeat) = found else {
            if let Viewpoint::Step(ix, _) = self.seat.at
                && let Some(group) = self.names.pipeline.around(ix).find(|ix| matches!(self.names.step(*ix).kind, StepKind::Group(_)))
            {
                return Err(ReadProblem::NoRounds(group));
            }
            let message = format!("\"{name}\" exists only in the steps of a repeat and in its until");
            return Err(ReadProblem::wrong_place(message, "put the step into the steps of a repeat, or read steps.ID.output"));
        };
        if name == "round" {
            let last = self.names.step(repeat).kind.repeat().map(|repeat| repeat.at_most as f64);
            return Ok(Type::within(Some(1.0), last));
        }
        // Where the types of the steps depend on themselves, `output` ends the circle.
        let one = only.and_then(|id| self.names.inner(repeat).find(|ix| self.names.step(*ix).id.value == *id));
        let steps = self.names.inner(repeat).filter(|ix| one.is_none_or(|one| one == *ix));
        Ok(known::previous(steps.map(|ix| (self.names.step(ix), self.names.in_round(ix)))))
    }

    fn failure(&self) -> Looked {
        let is_after = |ix: StepIx| self.names.root_of(ix).1 != self.names.pipeline.main;
        let is_known = match &self.seat.at {
            Viewpoint::Step(ix, _) => is_after(*ix),
            Viewpoint::Shared { users, .. } => users.iter().any(|ix| is_after(*ix)),
            Viewpoint::Outputs | Viewpoint::Person | Viewpoint::Conversation => false,
        };
        if is_known {
            return Ok(known::failure());
        }
        let message = "\"failure\" exists only in on_failure and finally";
        let fails = self
            .names
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
    fn may_lack_failure(&self) -> bool {
        let Viewpoint::Step(ix, part) = self.seat.at else { return false };
        let asks = |when: &Text| when.reads.iter().any(|read| read.path.first().is_some_and(|name| name == "failure"));
        Some(self.names.root_of(ix).1) == self.names.pipeline.finally && !self.names.whens_of(ix, part).into_iter().any(asks)
    }

    /// A path below `steps`.
    fn step_path(&self, rest: &[String]) -> Looked {
        let Some((id, rest)) = rest.split_first() else { return Ok(Type::Any) };
        match &self.seat.at {
            Viewpoint::Step(reader, part) => self.step_from(*reader, *part, id, rest),
            Viewpoint::Outputs => {
                let main = self.names.pipeline.block(self.names.pipeline.main);
                match main.place(id) {
                    Some(place) => self.names.member(self.names.at(self.names.pipeline.main, place), rest),
                    None => Err(self.elsewhere(id, None)),
                }
            }
            Viewpoint::Conversation => {
                let message = "\"steps\" cannot be read in conversation: no step has run when it is looked up";
                // Of `message`, which is an expression, no text can stand in place.
                let is_id = self.names.pipeline.pipeline.conversation.iter().flat_map(|conversation| conversation.id.texts());
                let is_id = is_id.flat_map(|text| &text.reads).any(|read| read.path.get(1) == Some(id));
                let set = self.names.steps.get(id.as_str()).filter(|_| is_id).and_then(|places| places.first()).and_then(|ix| {
                    let StepKind::Set(Filling::Text(text)) = &self.names.step(*ix).kind else { return None };
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
                if !self.names.steps.contains_key(id.as_str()) {
                    return Err(ReadProblem::UnknownStep(id.clone()));
                }
                let mut kind = Type::Any;
                for user in users {
                    kind = self.step_from(*user, StepPart::Work, id, rest)?;
                }
                Ok(kind)
            }
        }
    }

    /// A path below one step, read from another.
    fn step_from(&self, reader: StepIx, part: StepPart, id: &str, rest: &[String]) -> Looked {
        let inside = self.names.pipeline.step(reader).cases.first().filter(|_| part == StepPart::Until);
        if let Some((block, place)) = inside.and_then(|block| Some((*block, self.names.pipeline.block(*block).place(id)?))) {
            let read = self.names.at(block, place);
            let kind = self.names.member(read, rest)?;
            return self
                .names
                .may_be_missing(read, read, reader, part, self.seat, rest)
                .map_or(Ok(kind), |why| Err(ReadProblem::MaybeMissing(why)));
        }
        for ix in self.names.pipeline.around(reader) {
            let planned = self.names.pipeline.step(ix);
            let block = self.names.pipeline.block(planned.block);
            let Some(place) = block.place(id) else { continue };
            let read = self.names.at(planned.block, place);
            if !block.is_upstream(place, planned.place) {
                return Err(ReadProblem::NotUpstream { read, reader });
            }
            let kind = self.names.member(read, rest)?;
            return match self.names.may_be_missing(read, ix, reader, part, self.seat, rest) {
                Some(why) => Err(ReadProblem::MaybeMissing(why)),
                None => Ok(kind),
            };
        }
        let (_, root) = self.names.root_of(reader);
        match self.names.pipeline.block(self.names.pipeline.main).place(id) {
            Some(place) if root != self.names.pipeline.main => {
                let read = self.names.at(self.names.pipeline.main, place);
                let kind = self.names.member(read, rest)?;
                if needs_output(rest) && !self.names.is_tested(read, self.names.whens_of(reader, part)) {
                    return Err(ReadProblem::MaybeMissing(format!("\"{id}\" may not have run when this is read")));
                }
                Ok(kind)
            }
            _ => Err(self.elsewhere(id, Some(&self.names.step(reader).id.value))),
        }
    }

    /// An id that is none of a step that can be read here: in this step, or in the outputs.
    fn elsewhere(&self, id: &str, reader: Option<&str>) -> ReadProblem {
        let Some(ix) = self.names.steps.get(id).and_then(|steps| steps.first()) else { return ReadProblem::UnknownStep(id.to_owned()) };
        let (top, root) = self.names.root_of(*ix);
        if top != *ix {
            let (holder, kind) = (&self.names.step(top).id.value, self.names.step(top).kind.word());
            let message = format!("\"{id}\" is inside {kind} \"{holder}\" and can be read only there");
            let help = match matches!(self.names.step(top).kind, StepKind::Route(_)) {
                false => format!("read steps.{holder}.output.{id}: its output has those of the steps inside by their ids"),
                true => format!("read steps.{holder}.output: it is the output of the case that was chosen"),
            };
            return ReadProblem::wrong_place(message, help);
        }
        let list = if Some(root) == self.names.pipeline.finally { "finally" } else { "on_failure" };
        match reader {
            None => ReadProblem::BesideOutputs(id.to_owned(), list),
            Some(reader) => {
                let message = format!("\"{id}\" is in {list}, which step \"{reader}\" cannot read");
                ReadProblem::wrong_place(message, "read a step of the pipeline's own list")
            }
        }
    }
}

fn not_repeated(name: &str) -> ReadProblem {
    let message = format!("\"{name}\" exists only in a step with for_each");
    ReadProblem::wrong_place(&message, "add for_each to the step, or to the group around it")
}
