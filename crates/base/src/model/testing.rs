//! Test files and scripted replies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Check, FailureKind, Filling, PastMessage, Text};
use crate::source::{Span, Spanned};

/// A file of scripted replies, or the `replies` of a test: by step path (`facts/report/text`, `each[2]`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replies {
    /// Replies by step path, in file order.
    pub by_step: IndexMap<String, ReplySet>,
    /// Groups of words that mean the same where the model makes vectors.
    pub meanings: Vec<Vec<String>>,
}

/// The replies of one step.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplySet {
    /// Serves every call.
    Every(ScriptedReply),
    /// Used up call by call: retries, turns, repair and refinement count.
    InTurn(Vec<ScriptedReply>),
    /// The first whose `when` is true (or absent) answers and is not used up.
    Matching(Vec<ScriptedReply>),
}

/// Why a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString, strum::VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Purpose {
    /// The prompt, or tool results.
    Turn,
    /// The answer had the wrong shape.
    Repair,
    /// Criteria of a gate.
    Judge,
    /// A plan.
    Plan,
    /// Whether what a plan was for is done.
    Check,
}

/// One scripted reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedReply {
    /// Where the name of its step stands.
    pub span: Span,
    /// Answers only if true.
    pub when: Option<Text>,
    /// Answers only calls of this purpose.
    pub action: Option<Purpose>,
    /// What it says.
    pub body: ReplyBody,
    /// Tokens it claims: input, output.
    pub usage: Option<(u64, u64)>,
}

/// What a scripted reply says.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyBody {
    /// A text.
    Text(Text),
    /// Structured data.
    Data(Filling),
    /// Tool calls: tool and arguments.
    Calls(Vec<(Spanned<String>, Filling)>),
    /// A failure of this kind.
    Error(FailureKind),
    /// A judge: every criterion passes.
    Passed,
    /// A judge: these criteria fail, with feedback; the others pass.
    Failed(Vec<(Spanned<String>, Text)>),
}

/// The name of the replies for the judge of `expect.judge`; no step can have it.
pub const JUDGE_REPLY: &str = "expect.judge";

/// The criterion that this judge decides.
pub const JUDGE_CRITERION: &str = "judge";

/// A `*.test.yaml` file.
#[derive(Debug, Clone, PartialEq)]
pub struct TestFile {
    /// The pipeline under test.
    pub pipeline: Spanned<PathBuf>,
    /// The cases.
    pub cases: Vec<TestCase>,
    /// Each case runs on each of these where models are really asked; none: on those of its agents.
    pub models: Vec<Spanned<String>>,
    /// The model behind `expect.judge`; `None`: the one called `default`.
    pub judge_model: Option<Spanned<String>>,
}

impl TestFile {
    /// The models that it names.
    pub fn named_models(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.models.iter().chain(&self.judge_model)
    }
}

/// Things by name: those that are in the file for all cases, and a case's own, which replace them name by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Layered<T> {
    /// Of the file; every case has the same.
    pub shared: Arc<IndexMap<String, T>>,
    /// Of the case.
    pub own: IndexMap<String, T>,
}

impl<T> Layered<T> {
    /// What counts under a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.own.get(name).or_else(|| self.shared.get(name))
    }

    /// All that count: in the order of the file, then what only the case has.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &T)> {
        let shared = self.shared.iter().map(|(name, value)| (name, self.own.get(name).unwrap_or(value)));
        shared.chain(self.own.iter().filter(|(name, _)| !self.shared.contains_key(*name)))
    }
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct TestCase {
    /// Its id.
    pub id: Spanned<String>,
    /// Whether it is a row of a CSV file.
    pub is_row: bool,
    /// Whether that file has a column that is not known, so that it may say more than was read.
    pub lacks_column: bool,
    /// The clock, RFC 3339.
    pub now: Option<Spanned<String>>,
    /// Inputs by name, each with the place of its name.
    pub inputs: IndexMap<String, Spanned<Value>>,
    /// What was said before.
    pub conversation: Vec<PastMessage>,
    /// Run once per channel.
    pub channels: Channels,
    /// Outputs of steps or tools that are not run, each with the place of its name.
    pub mocks: Layered<Spanned<Mock>>,
    /// Scripted replies by step path.
    pub replies: Layered<ReplySet>,
    /// What it expects.
    pub expect: Option<Expect>,
    /// Whether what was sent is compared with a golden file.
    pub golden: bool,
}

/// The channels of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Channels {
    /// The pipeline's default.
    Default,
    /// These.
    Named(Vec<Spanned<String>>),
}

/// A mock.
#[derive(Debug, Clone, PartialEq)]
pub enum Mock {
    /// The output.
    Output(Value),
    /// A failure of this kind.
    Error(FailureKind),
}

/// What a case expects.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expect {
    /// Whether nothing is written in it.
    pub is_empty: bool,
    /// Run status (default `succeeded`).
    pub status: Option<Spanned<String>>,
    /// Exit code.
    pub exit: Option<Spanned<i64>>,
    /// Whether the refinement ran.
    pub refined: Option<Spanned<bool>>,
    /// Checks by output name.
    pub outputs: Vec<(Spanned<String>, Vec<Spanned<Check>>)>,
    /// Checks of the whole result, of a pipeline whose `outputs` is one value.
    pub result: Vec<Spanned<Check>>,
    /// What a judge must say of what the run gave.
    pub judge: Option<Spanned<String>>,
    /// Most tokens of the run, in and out.
    pub max_tokens: Option<Spanned<u64>>,
    /// Most US dollars of the run.
    pub max_cost_usd: Option<Spanned<f64>>,
    /// Checks of all sent parts as one text.
    pub sent: Vec<Spanned<Check>>,
    /// All that policies deny in the run: tools, hosts and paths, as the record names them.
    pub blocked: Option<Spanned<Vec<Spanned<String>>>>,
    /// Status by step path; `not_run`: it never started.
    pub steps: Vec<(Spanned<String>, Spanned<String>)>,
    /// What steps send to models and services, by step path.
    pub calls: Vec<(Spanned<String>, ExpectedCalls)>,
    /// All agents that are asked in the run.
    pub asked: Option<Spanned<Vec<Spanned<String>>>>,
    /// Most calls at once.
    pub max_parallel: Option<Spanned<u64>>,
}

/// What a case expects of the calls of a step, all of them together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedCalls {
    /// All agents that it asks.
    pub agent: Option<Spanned<Vec<Spanned<String>>>>,
    /// All pictures that agents are shown, by the names of their files.
    pub pictures: Option<Spanned<Vec<Spanned<String>>>>,
    /// Checks of what is sent.
    pub checks: Vec<(CallPart, Vec<Spanned<Check>>)>,
}

/// A part of what a step sends, as tests name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum CallPart {
    /// Instructions, prompts and results of tools, as a model is sent them.
    Prompt,
    /// Method and address of a request.
    Request,
    /// Its body.
    Body,
    /// Its idempotency key.
    IdempotencyKey,
    /// What a tool is given.
    Arguments,
}

impl CallPart {
    /// The key of `calls` that it is.
    pub fn key(self) -> &'static str {
        self.into()
    }
}

/// Whether a file is one of tests by its name, by which `flow test` finds it in a folder.
pub fn is_test_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.ends_with(".test.yaml") || name.ends_with(".test.yml")
}

/// The name of a file as one of tests: `hours.test.yaml` of `hours.tests.yaml`, `hours_test.yaml` and `hours.yaml`. One that says nothing but that it
/// holds tests (`test.yaml`) has the name of their pipeline.
pub fn test_name(path: &Path, pipeline: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ends = ["test", "tests", "case", "cases", "spec"];
    let word = stem.to_lowercase();
    let end = ends.iter().find(|end| word.strip_suffix(**end).is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '_', '-'])));
    let own = stem[..stem.len() - end.map_or(0, |end| end.len())].trim_end_matches(['.', '_', '-']);
    let own = if own.is_empty() { pipeline.file_stem().unwrap_or_default().to_string_lossy() } else { own.into() };
    format!("{own}.test.{}", path.extension().unwrap_or_default().to_string_lossy().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_tests_is_found_by_its_name() {
        for (name, meant) in [
            ("n.tests.yaml", "n.test.yaml"),
            ("a/n_test.yaml", "n.test.yaml"),
            ("n-Tests.YML", "n.test.yml"),
            ("test.yaml", "hours.test.yaml"),
            ("cases.yml", "hours.test.yml"),
            ("contest.yaml", "contest.test.yaml"),
            ("größe.yaml", "größe.test.yaml"),
        ] {
            assert!(!is_test_name(Path::new(name)));
            assert_eq!(test_name(Path::new(name), Path::new("../hours.yaml")), meant, "{name}");
            assert!(is_test_name(Path::new(meant)));
        }
    }
}
