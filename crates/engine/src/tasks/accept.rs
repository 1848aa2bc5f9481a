//! What the work of a task must meet: criteria of the file, of a list in the step, or of a value that the run gives.

use serde_json::{Value, json};

use crate::event::{Failure, FailureKind};
use crate::model::{Accept, AcceptItem, Criterion, Judging, JudgingStep, SHORTEST_DESCRIPTION, ScorecardRef, TaskStep, accept_id};
use crate::parts::Tasks;
use crate::questions::JudgedCard;
use crate::source::{Span, Spanned};
use crate::state::NodeRef;
use crate::words::kind_of;

/// Most criteria of a value that the run gives.
const MOST_CRITERIA: usize = 30;
/// Most characters of one of its texts.
const LONGEST_TEXT: usize = 2_000;

impl Tasks<'_> {
    /// The criteria of a task, as scorecards.
    pub(crate) fn accept_cards(&self, at: NodeRef, own: &TaskStep) -> Result<Vec<JudgedCard>, Failure> {
        let criteria = match &own.accept {
            Accept::Card(reference @ ScorecardRef::Named(_)) => return Ok(vec![self.questions().scorecard(at, reference)?]),
            Accept::Card(ScorecardRef::Written(text)) => self.given_criteria(self.fill(at, text)?)?,
            Accept::Listed(items) => {
                let mut criteria = vec![];
                for (place, item) in items.iter().enumerate() {
                    criteria.push(match item {
                        AcceptItem::Criterion(criterion) => criterion.clone(),
                        AcceptItem::Text(text) => judged(accept_id(place), self.fill_text(at, text)?).map_err(unmeasured)?,
                    });
                }
                criteria
            }
        };
        Ok(vec![JudgedCard::of_step(criteria)])
    }

    /// Looks at the criteria before the agent is asked: work that nobody could judge is not begun.
    pub(crate) fn check_accept(&self, at: NodeRef, own: &TaskStep) -> Result<(), Failure> {
        let cards = self.accept_cards(at, own)?;
        if cards.iter().all(|card| card.criteria.is_empty()) {
            return Err(unmeasured("accept has no criterion".to_owned()));
        }
        let judges = JudgingStep::Task(own);
        for card in &cards {
            let asks = card.criteria.iter().find(|criterion| criterion.judging == Judging::Judge);
            if let Some(criterion) = asks.filter(|_| !card.has_judge() && judges.judge().is_none()) {
                let message = format!("criterion \"{}\" needs a judge, but none is set; add judge: to the step", criterion.id.value);
                return Err(Failure::new(FailureKind::BadRequest, message));
            }
        }
        Ok(())
    }

    /// The criteria that an expression gave: texts and criteria in a list, or a scorecard. Texts are data.
    fn given_criteria(&self, value: Value) -> Result<Vec<Criterion>, Failure> {
        let list = match value {
            Value::Null => return Ok(vec![]),
            Value::Array(list) => list,
            card @ Value::Object(_) => return self.options.written.scorecard(&card).map_err(|problems| unmeasured(problems.join("; "))),
            Value::String(text) => vec![Value::String(text)],
            other => return Err(unmeasured(format!("it takes a list of texts or criteria, found {}", kind_of(&other)))),
        };
        if list.len() > MOST_CRITERIA {
            return Err(unmeasured(format!("it has {} criteria; at most {MOST_CRITERIA} are allowed", list.len())));
        }
        let mut criteria: Vec<Criterion> = vec![];
        for (place, value) in list.into_iter().enumerate() {
            match value {
                Value::String(text) => criteria.push(judged(accept_id(place), text).map_err(unmeasured)?),
                criterion => {
                    let card = json!({ "criteria": [criterion] });
                    criteria.extend(self.options.written.scorecard(&card).map_err(|problems| unmeasured(problems.join("; ")))?);
                }
            }
        }
        let twice = criteria.iter().enumerate().find(|(place, one)| criteria[..*place].iter().any(|other| other.id.value == one.id.value));
        match twice {
            Some((_, criterion)) => Err(unmeasured(format!("criterion \"{}\" is there twice", criterion.id.value))),
            None => Ok(criteria),
        }
    }
}

/// The criterion that a text is.
fn judged(id: String, text: String) -> Result<Criterion, String> {
    let text = text.trim().to_owned();
    let length = text.chars().count();
    if length < SHORTEST_DESCRIPTION {
        return Err(format!("\"{text}\" has {length} characters; describe something measurable in at least {SHORTEST_DESCRIPTION}"));
    }
    if length > LONGEST_TEXT {
        return Err(format!("{id} has {length} characters; at most {LONGEST_TEXT} are allowed"));
    }
    Ok(Criterion {
        id: Spanned::new(id, Span::default()),
        when: None,
        description: text,
        expected: None,
        feedback: None,
        judging: Judging::Judge,
    })
}

fn unmeasured(problem: String) -> Failure {
    Failure::new(FailureKind::BadRequest, format!("accept: {problem}"))
}
