//! What agents and judges are asked, and what came of it: as data, which kinds of steps make and the parts of the run that talk carry out.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::channel::Output;
use crate::event::{Failure, Message, Purpose};
use crate::model::{Criterion, DEFAULT_MODEL, Judging, Limits, OnJudgeError};
use crate::source::{Span, Spanned};
use crate::state::talk::Offered;

/// A request to an agent, computed from the state whenever it is needed.
pub(crate) struct Brief {
    pub(crate) agent: String,
    /// The model that the step names instead of the agent's.
    pub(crate) model: Option<String>,
    /// Instructions and prompt; empty when a conversation continues.
    pub(crate) first: Vec<Message>,
    pub(crate) schema: Option<Value>,
    pub(crate) purpose: Purpose,
    /// Criteria that a judge decides; empty for agents.
    pub(crate) criteria: Vec<String>,
    /// Tools that the agent may call.
    pub(crate) tools: Arc<[Offered]>,
    /// Bounds of the agent.
    pub(crate) bounds: Limits,
    /// The session of its program that the prompt may continue, and what is new since then.
    pub(crate) resumes: Option<(String, String)>,
}

impl Brief {
    pub(crate) fn model_name(&self) -> &str {
        self.model.as_deref().unwrap_or(DEFAULT_MODEL)
    }
}

/// The next message of a conversation.
pub(crate) enum TalkTurn {
    /// The prompt, in a new conversation.
    First,
    /// The same request again.
    Again { attempt: u32, fallback: usize },
    /// The problems of the last answer.
    Repair(String),
    /// The results of the tools that the last answer called.
    Results(Vec<Message>),
}

/// The outcome of the last call.
pub(crate) enum CallOutcome {
    /// A call is open or a retry is planned.
    Waiting,
    /// The text of an answer.
    Said(String),
    /// There is no answer, and there will be none.
    Failed(Failure),
}

/// The question of a gate, computed from the state whenever it is needed.
pub(crate) struct Question {
    /// The value that is judged.
    pub(crate) output: Output,
    /// The value as people read it.
    pub(crate) text: String,
    /// What judges are shown in its place; `None`: all of it.
    pub(crate) excerpt: Option<String>,
    /// Pictures that judges see beside it.
    pub(crate) pictures: Vec<PathBuf>,
    pub(crate) with: Value,
    pub(crate) criteria: Vec<JudgeQuestion>,
    pub(crate) judges: Vec<String>,
}

pub(crate) struct JudgeQuestion {
    pub(crate) criterion: Criterion,
    /// Whether its `when` is false, so that it is not judged.
    pub(crate) is_skipped: bool,
    /// Place in `judges`, for criteria that a judge decides.
    pub(crate) judge: Option<usize>,
    pub(crate) on_judge_error: OnJudgeError,
    /// The scorecard of the file that it comes from; `None` if a step wrote it.
    pub(crate) scorecard: Option<String>,
}

/// A scorecard as a step uses it; without a name if a step wrote it, or if it stands in the step itself.
#[derive(Default)]
pub(crate) struct JudgedCard {
    pub(crate) name: Option<String>,
    pub(crate) criteria: Vec<Criterion>,
    pub(crate) judge: Option<String>,
    pub(crate) on_judge_error: OnJudgeError,
}

impl JudgedCard {
    /// The criteria that stand in a step itself.
    pub(crate) fn of_step(criteria: Vec<Criterion>) -> JudgedCard {
        JudgedCard { criteria, ..JudgedCard::default() }
    }

    /// Whether it names who judges by it.
    pub(crate) fn has_judge(&self) -> bool {
        self.judge.is_some()
    }
}

/// A judge's answer for one criterion; see `gate::wanted::verdicts`.
#[derive(Clone, Default)]
pub(crate) struct JudgedCriterion {
    pub(crate) id: String,
    pub(crate) passed: bool,
    pub(crate) feedback: String,
    pub(crate) evidence: String,
}

/// A judge's answers for all its criteria, or why they cannot be used.
pub(crate) type JudgeAnswer = Result<Vec<JudgedCriterion>, Failure>;

impl Question {
    /// Whether agents agree, by what each said last.
    pub(crate) fn about_agreement(judge: &str, said: String, topic: String) -> Question {
        let criterion = Criterion {
            id: Spanned::new("agreed".to_owned(), Span::default()),
            when: None,
            description: "They agree: none objects to what another says, and nothing is left open.".to_owned(),
            expected: None,
            feedback: None,
            judging: Judging::Judge,
        };
        let asked = JudgeQuestion { criterion, is_skipped: false, judge: Some(0), on_judge_error: OnJudgeError::Fail, scorecard: None };
        Question {
            output: Output::Plain(Value::String(said.clone())),
            excerpt: None,
            pictures: vec![],
            with: json!({ "topic": topic }),
            criteria: vec![asked],
            judges: vec![judge.to_owned()],
            text: said,
        }
    }

    /// Whether the only judge says that its only criterion is met, and what it says of it.
    pub(crate) fn agreement(&self, answers: &[JudgeAnswer]) -> (bool, String) {
        let said = answers.first().and_then(|answer| answer.as_ref().ok()?.first());
        said.map_or((false, String::new()), |said| (said.passed, said.feedback.clone()))
    }

    /// That all judges have answered whose criteria count as failed without an answer.
    ///
    /// # Errors
    /// Says why the first of the others could not answer.
    pub(crate) fn all_answered(&self, answers: &[JudgeAnswer]) -> Result<(), Failure> {
        let of = |asked: &JudgeQuestion| answers.get(asked.judge?)?.as_ref().err();
        let failure = self.criteria.iter().filter(|asked| asked.on_judge_error == OnJudgeError::Fail).find_map(of);
        let told = |failure: &Failure| Failure { message: format!("the judge could not answer: {}", failure.message), ..failure.clone() };
        failure.map_or(Ok(()), |failure| Err(told(failure)))
    }

    /// The criteria that count as failed since their judge could not answer.
    pub(crate) fn unjudged(&self, answers: &[JudgeAnswer]) -> Vec<&str> {
        let is_unjudged = |asked: &&JudgeQuestion| {
            let failed = asked.judge.and_then(|judge| answers.get(judge)).is_some_and(Result::is_err);
            failed && !asked.is_skipped && asked.on_judge_error == OnJudgeError::Fail
        };
        self.criteria.iter().filter(is_unjudged).map(|asked| asked.criterion.id.as_str()).collect()
    }

    /// The criteria that a judge decides.
    pub(crate) fn ids(&self, judge: usize) -> Vec<&str> {
        self.criteria.iter().filter(|a| a.judge == Some(judge)).map(|a| a.criterion.id.as_str()).collect()
    }
}
