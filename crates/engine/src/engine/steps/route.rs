//! `route`: one of several cases.

use super::Kind;
use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{RouteStep, Step, contains_phrase, phrase_words};

impl Kind for RouteStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let subject = run.fill_text(at, &self.subject)?;
        let words = phrase_words(&subject);
        let mut chosen = None;
        for case in &self.cases {
            let by_phrase = case.phrases.iter().any(|phrase| contains_phrase(&words, &phrase.value));
            let by_condition = || case.when.as_ref().map_or(Ok(false), |when| run.condition(at, when));
            if by_phrase || by_condition()? {
                chosen = Some(case);
                break;
            }
        }
        let step = run.state.node(at).path.clone();
        match chosen.or(self.otherwise.as_ref()) {
            Some(case) => run.emit(Happening::CaseChosen { step, case: case.id.value.clone() }),
            None => {
                let shown: String = subject.chars().take(80).collect();
                return Err(Failure::new(
                    FailureKind::NoCase,
                    format!("no case of \"{step}\" fits \"{shown}\", and there is no otherwise"),
                ));
            }
        }
        Ok(())
    }
}
