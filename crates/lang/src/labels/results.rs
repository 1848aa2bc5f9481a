//! What steps give, and what their details say: by kind of step the types that write it. Who writes which part of it these types say themselves.

use serde::Serialize;
use serde_json::Value;

use crate::channel::Formatted;
use crate::event::{
    CallDetails, CommonDetails, DialogueDetails, DialogueOutput, GateDetails, HttpOutput, ListDetails, ModelDetails, PlanDetails,
    PlanOutput, PythonDetails, ReadDetails, RepeatDetails, RouteDetails, SearchDetails, SendOutput, SqlDetails, StopDetails, TaskDetails,
    TaskOutput,
};
use crate::model::{PartWriter, Sample, Step, StepKind};
use crate::port::{FileContent, FoundPiece, ProgramDetails};
use crate::template::is_place;

/// A type that writes a result, or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct ResultType {
    shape: fn(bool) -> Value,
    writer: fn(&[&str]) -> Option<PartWriter>,
}

impl ResultType {
    fn new<T: Sample + Serialize>() -> ResultType {
        ResultType { shape: T::shape, writer: T::writer }
    }

    /// A sample of it, with all that it may have.
    pub fn sample(self) -> Value {
        (self.shape)(false)
    }
}

/// The types that write the details of a step. A step with elements has details of its own.
pub fn details_types(step: &Step) -> Vec<ResultType> {
    let model = ResultType::new::<ModelDetails>;
    let own = match &step.kind {
        _ if step.for_each.is_some() => vec![ResultType::new::<ListDetails>()],
        StepKind::Agent(_) => vec![model()],
        StepKind::Plan(_) => vec![model(), ResultType::new::<PlanDetails>()],
        StepKind::Sql(_) => vec![ResultType::new::<SqlDetails>()],
        StepKind::Program(_) => vec![ResultType::new::<ProgramDetails>()],
        StepKind::Python(_) => vec![ResultType::new::<PythonDetails>()],
        StepKind::Read(_) | StepKind::Resource(_) => vec![ResultType::new::<ReadDetails>()],
        StepKind::Search(_) => vec![ResultType::new::<SearchDetails>()],
        StepKind::Route(_) => vec![ResultType::new::<RouteDetails>()],
        StepKind::Repeat(_) => vec![ResultType::new::<RepeatDetails>()],
        StepKind::Call(_) => vec![ResultType::new::<CallDetails>()],
        StepKind::Gate(_) => vec![model(), ResultType::new::<GateDetails>()],
        StepKind::Task(_) => vec![model(), ResultType::new::<TaskDetails>()],
        StepKind::Dialogue(_) => vec![model(), ResultType::new::<DialogueDetails>()],
        StepKind::Stop(_) => vec![ResultType::new::<StopDetails>()],
        // Of a tool that is a program or code; of others it is not known.
        StepKind::Tool(_) => vec![ResultType::new::<ProgramDetails>(), ResultType::new::<PythonDetails>()],
        StepKind::Set(_) | StepKind::Http(_) | StepKind::Format(_) | StepKind::Approval(_) | StepKind::Group(_) => vec![],
        StepKind::Send(_) | StepKind::Wait(_) | StepKind::Broken => vec![],
    };
    std::iter::once(ResultType::new::<CommonDetails>()).chain(own).collect()
}

/// The type that writes the output of a step, if one does.
fn output_type(kind: &StepKind) -> Option<ResultType> {
    Some(match kind {
        StepKind::Http(_) => ResultType::new::<HttpOutput>(),
        StepKind::Read(_) | StepKind::Resource(_) => ResultType::new::<FileContent>(),
        StepKind::Search(_) => ResultType::new::<FoundPiece>(),
        StepKind::Plan(_) => ResultType::new::<PlanOutput>(),
        StepKind::Task(_) => ResultType::new::<TaskOutput>(),
        StepKind::Dialogue(_) => ResultType::new::<DialogueOutput>(),
        StepKind::Format(_) => ResultType::new::<Formatted>(),
        StepKind::Send(_) => ResultType::new::<SendOutput>(),
        StepKind::Agent(_) | StepKind::Tool(_) | StepKind::Set(_) | StepKind::Sql(_) | StepKind::Program(_) | StepKind::Python(_) => {
            return None;
        }
        StepKind::Route(_) | StepKind::Group(_) | StepKind::Repeat(_) | StepKind::Call(_) | StepKind::Gate(_) => return None,
        StepKind::Approval(_) | StepKind::Wait(_) | StepKind::Stop(_) | StepKind::Broken => return None,
    })
}

/// Whether only the engine, and none of those who are asked or give something, writes what is at a path of the output of a step.
pub fn output_is_of_engine(kind: &StepKind, path: &[String]) -> bool {
    output_type(kind).is_some_and(|output| is_of_engine(&[output], path))
}

/// The same of the details.
pub(super) fn details_are_of_engine(step: &Step, path: &[String]) -> bool {
    is_of_engine(&details_types(step), path)
}

/// The same of what `error` or `failure` tells, which this type writes.
pub(super) fn is_of_engine_in<T: Sample + Serialize>(path: &[String]) -> bool {
    is_of_engine(&[ResultType::new::<T>()], path)
}

fn is_of_engine(types: &[ResultType], path: &[String]) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).filter(|part| !is_place(part)).collect();
    !names.is_empty() && types.iter().find_map(|kind| (kind.writer)(&names)) == Some(PartWriter::Engine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StepError;

    #[test]
    fn counts_and_words_of_the_engine_are_its_own_and_what_nobody_described_is_not() {
        fn own<T: Sample + Serialize>(path: &str) -> bool {
            let path: Vec<String> = path.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            is_of_engine_in::<T>(&path)
        }
        assert!(
            own::<DialogueOutput>("turns.*.number") && own::<DialogueOutput>("turns.0.usage.cost_usd") && own::<DialogueOutput>("ended")
        );
        assert!(
            own::<PlanOutput>("steps.0.use") && own::<PlanDetails>("plan.steps.0.status") && own::<ModelDetails>("tool_calls.0.status")
        );
        assert!(own::<StepError>("kind") && own::<ModelDetails>("usage") && own::<Formatted>("parts.1.indicator"));
        for path in ["", "turns", "turns.*.text", "turns.*.else", "else", "summary"] {
            assert!(!own::<DialogueOutput>(path), "{path}");
        }
        assert!(!own::<StepError>("message") && !own::<ModelDetails>("tool_calls.0.tool") && !own::<SqlDetails>("columns"));
    }
}
