//! `task`: an agent that tries until its work is accepted, and what it wrote.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::{
    Check, Criterion, Filling, GateStep, History, IDENTICAL_FAILURES, Judging, PlainCheck, PythonNeeds, Scorecard, ScorecardRef, Text,
};
use crate::source::Spanned;

/// `task`: an agent tries until its work is accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskStep {
    /// Who works.
    pub agent: Spanned<String>,
    /// What it is asked.
    pub prompt: Text,
    /// What it makes: a text that gives the word of an [`ArtefactKind`].
    pub artefact: Text,
    /// What its work must meet.
    pub accept: Accept,
    /// The agent that judges what no check decides.
    pub judge: Option<Spanned<String>>,
    /// Files beside the prompt.
    pub attach: Option<Filling>,
    /// Variables that its code finds; a query and a text have none.
    pub with: Vec<(Spanned<String>, Filling)>,
    /// Whether the judge sees the pictures that its code made.
    pub pictures: bool,
    /// What its code needs.
    pub needs: PythonNeeds,
    /// Most tries. `None`: left out, which is reported.
    pub max_attempts: Option<u64>,
    /// Equal failures in a row after which it gives up (3).
    pub stop_on_identical_failures: Option<u64>,
    /// What who works sees of the conversation; the judge sees nothing.
    pub history: History,
}

/// What the work of a task must meet.
#[derive(Debug, Clone, PartialEq)]
pub enum Accept {
    /// A scorecard of the file, or an expression that gives a scorecard, or a list of criteria and of texts for the judge.
    Card(ScorecardRef),
    /// Criteria and texts, as they are listed.
    Listed(Vec<AcceptItem>),
}

/// An entry of `accept`.
#[derive(Debug, Clone, PartialEq)]
pub enum AcceptItem {
    /// A text that the judge decides on; its id is made of its place ([`accept_id`]).
    Text(Text),
    /// A criterion.
    Criterion(Criterion),
}

/// The id of the criterion that a text of `accept` is, by its place in the list, from 0: `c1`.
pub fn accept_id(place: usize) -> String {
    format!("c{}", place + 1)
}

impl TaskStep {
    /// Most tries.
    pub fn most_tries(&self) -> u64 {
        self.max_attempts.unwrap_or(1)
    }

    /// Equal failures in a row after which it gives up.
    pub fn most_identical(&self) -> u64 {
        self.stop_on_identical_failures.unwrap_or(IDENTICAL_FAILURES)
    }

    /// Whether it may run code in Python: a text that is filled in may say so.
    pub fn may_run_code(&self) -> bool {
        self.fixed_artefact().is_none_or(|kind| kind == ArtefactKind::Python)
    }

    /// What it makes, where that is written out.
    pub fn fixed_artefact(&self) -> Option<ArtefactKind> {
        self.artefact.source.trim().parse().ok().filter(|_| self.artefact.reads.is_empty())
    }
}

impl Accept {
    /// The scorecard that it names, or the expression; of a list nothing.
    pub fn cards(&self) -> &[ScorecardRef] {
        match self {
            Accept::Card(card) => std::slice::from_ref(card),
            Accept::Listed(_) => &[],
        }
    }

    /// The entries of a list.
    pub fn items(&self) -> &[AcceptItem] {
        match self {
            Accept::Card(_) => &[],
            Accept::Listed(items) => items,
        }
    }

    /// The criteria of a list, without its texts.
    pub fn criteria(&self) -> impl Iterator<Item = &Criterion> {
        self.items().iter().filter_map(|item| match item {
            AcceptItem::Text(_) => None,
            AcceptItem::Criterion(criterion) => Some(criterion),
        })
    }

    /// Whether a list has an entry that a judge decides on.
    pub fn lists_judged(&self) -> bool {
        self.items().iter().any(|item| match item {
            AcceptItem::Text(_) => true,
            AcceptItem::Criterion(criterion) => criterion.judging == Judging::Judge,
        })
    }
}

/// What a task makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, IntoStaticStr, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ArtefactKind {
    /// A text.
    #[default]
    Text,
    /// A query, which is run.
    Sql,
    /// Code, which is run.
    Python,
}

/// What an agent wrote in one try of a task. Its texts are data.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WrittenArtefact {
    /// What it is.
    pub kind: ArtefactKind,
    /// What the agent makes of the failures before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary_of_previous_failures: String,
    /// How it goes about it.
    pub thought: String,
    /// The query or the code; empty: there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The names that the code sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_variables: Vec<String>,
    /// Whether the agent says that its own code is malicious. Such code never runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_malicious: bool,
    /// Why the agent says that it cannot do it; empty: it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_code_not_created: String,
}

/// What judges a value: a gate, or a task.
#[derive(Debug, Clone, Copy)]
pub enum JudgingStep<'s> {
    /// A gate.
    Gate(&'s GateStep),
    /// A task.
    Task(&'s TaskStep),
}

impl<'s> JudgingStep<'s> {
    /// The scorecards, in order.
    pub fn cards(self) -> &'s [ScorecardRef] {
        match self {
            JudgingStep::Gate(gate) => &gate.scorecards,
            JudgingStep::Task(task) => task.accept.cards(),
        }
    }

    /// The agent that is asked about criteria whose scorecard names none.
    pub fn judge(self) -> Option<&'s Spanned<String>> {
        match self {
            JudgingStep::Gate(gate) => gate.judge.as_ref(),
            JudgingStep::Task(task) => task.judge.as_ref(),
        }
    }

    /// Criteria that stand in the step itself.
    pub fn own_criteria(self) -> impl Iterator<Item = &'s Criterion> {
        let task = match self {
            JudgingStep::Gate(_) => None,
            JudgingStep::Task(task) => Some(task),
        };
        task.into_iter().flat_map(|task| task.accept.criteria())
    }

    /// What its criteria tell the writer when their checks fail: their feedback, and what a check quotes.
    pub fn feedback<'a>(self, scorecards: &'a IndexMap<String, Scorecard>) -> Vec<&'a Text>
    where
        's: 'a,
    {
        let quoted = |criterion: &'a Criterion| match &criterion.judging {
            Judging::Checks(checks) => checks.iter().flat_map(|check| check.value.quoted()).collect(),
            Judging::Judge | Judging::Neither => vec![],
        };
        self.criteria(scorecards).flat_map(|criterion| criterion.feedback.iter().chain(quoted(criterion))).collect()
    }

    /// Whether a check of its criteria is that of the style guide, and so of its greeting. Of a scorecard that a run gives it is not known.
    pub fn checks_style(self, scorecards: &IndexMap<String, Scorecard>) -> bool {
        let is_of_style = |criterion: &Criterion| match &criterion.judging {
            Judging::Checks(checks) => checks.iter().any(|check| matches!(check.value, Check::Plain(PlainCheck::StyleGuide))),
            Judging::Judge | Judging::Neither => false,
        };
        self.cards().iter().any(|card| card.name().is_none()) || self.criteria(scorecards).any(is_of_style)
    }

    fn criteria<'a>(self, scorecards: &'a IndexMap<String, Scorecard>) -> impl Iterator<Item = &'a Criterion>
    where
        's: 'a,
    {
        let of_cards = self.cards().iter().filter_map(|card| scorecards.get(&card.name()?.value)).flat_map(|card| &card.criteria);
        of_cards.chain(self.own_criteria())
    }

    /// The agents that may be asked, each once: a scorecard's own judge, else the step's, else that of the first scorecard that has one.
    pub fn judges<'a>(self, scorecards: &'a IndexMap<String, Scorecard>) -> Vec<&'a Spanned<String>>
    where
        's: 'a,
    {
        let named = |reference: &ScorecardRef| scorecards.get(&reference.name()?.value);
        let first = self.cards().iter().find_map(|reference| named(reference)?.judge.as_ref());
        let mut agents: Vec<&Spanned<String>> = vec![];
        for reference in self.cards() {
            let card = named(reference);
            if card.is_some_and(|card| card.criteria.iter().all(|criterion| criterion.judging != Judging::Judge)) {
                continue;
            }
            let judge = card.and_then(|card| card.judge.as_ref()).or(self.judge()).or(first);
            if let Some(judge) = judge.filter(|judge| agents.iter().all(|known| known.value != judge.value)) {
                agents.push(judge);
            }
        }
        if let JudgingStep::Task(task) = self
            && task.accept.lists_judged()
        {
            agents.extend(&task.judge);
        }
        agents
    }
}
