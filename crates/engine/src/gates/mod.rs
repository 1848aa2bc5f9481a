//! Gates: checks first, then judges, then the one refinement or `otherwise`.

mod checks;
mod feedback;
pub(crate) mod fence;
pub(crate) mod rejudged;

use serde_json::{Value, json};

use crate::Context;
use crate::channel::Output;
use crate::event::{Failure, FailureKind, GateDetails, Happening, Purpose, SharedValue, StepStatus, Verdict};
use crate::gate::{JudgedText, reading, wanted};
use crate::gates::feedback::failed_lines;
use crate::model::{
    Channel, Criterion, FormatStep, GateStep, Judging, JudgingStep, OnJudgeError, Sample, ScorecardRef, StepKind, StyleGuide, Text,
};
use crate::model_calls::attachments::Prompt;
use crate::parts::{Judges, Questions};
use crate::questions::{Brief, CallOutcome, JudgeAnswer, JudgeQuestion, JudgedCard, JudgedCriterion, Question, TalkTurn};
use crate::shape::{self, joined};
use crate::state::talk::TalkStage;
use crate::state::{Mood, NodeRef};
use crate::steps::Kind;
use crate::steps::decision::{StepDecision, Then};
use crate::template;

/// The channel and the style guide that a judged value was made for.
pub(crate) type MadeFor = (Option<Channel>, Option<StyleGuide>);

/// The answer that a judge must write for one criterion.
const VERDICT: &str = r#"{"passed": true or false, "feedback": …, "evidence": …}"#;

impl Kind for GateStep {
    fn next(&self, context: &Context, at: NodeRef) -> Result<StepDecision, Failure> {
        let question = Box::new(context.questions().question(at, self)?);
        Ok(match question.criteria.is_empty() {
            true => Then::NotMet(question, vec![], vec![], "no scorecard has a criterion".to_owned()),
            false => Then::Judge(question),
        }
        .into())
    }

    fn judged(&self, context: &Context, at: NodeRef, question: Box<Question>, answers: &[JudgeAnswer]) -> Result<StepDecision, Failure> {
        let questions = context.questions();
        let made_for = questions.judged_for(at, self, Some(&question.output));
        let verdicts = questions.verdicts(at, &made_for, &question, answers)?;
        if verdicts.iter().all(|v| v.passed) {
            let then = Then::Succeed(question.output.into_value(), Some(questions.gate_details(at, true, false, &verdicts)));
            let passed = Happening::GatePassed { step: context.path(at), round: context.state.steps.node(at).round, verdicts };
            return Ok(StepDecision { events: vec![passed], then });
        }
        // A judge that could not answer found no fault with the text, so it is no reason to write the text anew.
        let unjudged = question.unjudged(answers);
        let (faults, wrong): (Vec<Verdict>, Vec<Verdict>) =
            verdicts.iter().filter(|verdict| !verdict.passed).cloned().partition(|verdict| unjudged.contains(&verdict.id.as_str()));
        let causes = [("not met", &wrong), ("the judge could not answer", &faults)];
        let causes: Vec<String> =
            causes.iter().filter(|(_, of)| !of.is_empty()).map(|(what, of)| format!("{what}: {}", failed_ids(of))).collect();
        Ok(Then::NotMet(question, verdicts, wrong, causes.join("; ")).into())
    }
}

impl Questions<'_> {
    pub(crate) fn question(&self, at: NodeRef, gate: &GateStep) -> Result<Question, Failure> {
        self.question_about(at, gate, self.state.made.output(self.fill(at, &gate.of)?))
    }

    /// The question of a gate about another value.
    fn question_about(&self, at: NodeRef, gate: &GateStep, output: Output) -> Result<Question, Failure> {
        let with = Value::Object(self.arguments(at, &gate.with)?);
        let cards = gate.scorecards.iter().map(|reference| self.scorecard(at, reference)).collect::<Result<_, _>>()?;
        self.question_by(at, JudgingStep::Gate(gate), cards, with, output)
    }

    /// The question of a step that judges a value by these scorecards.
    pub(crate) fn question_by(
        &self,
        at: NodeRef,
        step: JudgingStep,
        cards: Vec<JudgedCard>,
        with: Value,
        output: Output,
    ) -> Result<Question, Failure> {
        let text = output.text();
        let holds = |when: &Text| self.names().condition_with(at, when, &check_names(output.value(), &text, &with));
        let mut criteria: Vec<JudgeQuestion> = vec![];
        let mut judges: Vec<String> = vec![];
        let first_judge = self.first_judge(at, step);
        for JudgedCard { name: scorecard, criteria: list, judge, on_judge_error } in cards {
            for criterion in list {
                // Of two criteria with the same id the first counts, but one of the file always takes precedence over one of a step.
                let known = criteria.iter().position(|a| a.criterion.id.value == criterion.id.value);
                if known.is_some_and(|known| criteria[known].scorecard.is_some() || scorecard.is_none()) {
                    continue;
                }
                let is_skipped = criterion.when.as_ref().map(&holds).transpose()? == Some(false);
                let judge = match criterion.judging {
                    Judging::Judge if !is_skipped => {
                        let own = judge.clone().or_else(|| step.judge().map(|j| j.value.clone())).or_else(|| first_judge.clone());
                        let none = || format!("criterion \"{}\" needs a judge, but none is set", criterion.id.value);
                        let name = own.ok_or_else(|| Failure::new(FailureKind::BadRequest, none()))?;
                        Some(judges.iter().position(|j| *j == name).unwrap_or_else(|| {
                            judges.push(name);
                            judges.len() - 1
                        }))
                    }
                    _ => None,
                };
                let asked = JudgeQuestion { criterion, is_skipped, judge, on_judge_error, scorecard: scorecard.clone() };
                match known {
                    Some(known) => criteria[known] = asked,
                    None => criteria.push(asked),
                }
            }
        }
        Ok(Question { text, excerpt: None, pictures: vec![], output, with, criteria, judges })
    }

    fn first_judge(&self, at: NodeRef, step: JudgingStep) -> Option<String> {
        let scorecards = &self.planned_of(at).pipeline.scorecards;
        step.cards().iter().find_map(|reference| match reference {
            ScorecardRef::Named(name) => scorecards.get(&name.value)?.judge.as_ref().map(|j| j.value.clone()),
            ScorecardRef::Written(_) => None,
        })
    }

    /// The criteria of a scorecard, which is in the file or was written by a step.
    pub(crate) fn scorecard(&self, at: NodeRef, reference: &ScorecardRef) -> Result<JudgedCard, Failure> {
        let text = match reference {
            ScorecardRef::Named(name) => {
                let missing = || Failure::new(FailureKind::Internal, format!("scorecard \"{}\" not found", name.value));
                let found = self.planned_of(at).pipeline.scorecards.get(&name.value).ok_or_else(missing)?;
                let (criteria, judge) = (found.criteria.clone(), found.judge.as_ref().map(|j| j.value.clone()));
                return Ok(JudgedCard { name: Some(name.value.clone()), criteria, judge, on_judge_error: found.on_judge_error });
            }
            ScorecardRef::Written(text) => text,
        };
        let criteria = match self.fill(at, text)? {
            Value::Null => vec![],
            written => self.options.written.scorecard(&written).map_err(|problems| {
                Failure::new(FailureKind::BadShape, format!("the scorecard cannot be used: {}", problems.join("; ")))
            })?,
        };
        Ok(JudgedCard { name: None, criteria, judge: None, on_judge_error: OnJudgeError::Fail })
    }

    fn judge_brief(&self, at: NodeRef, question: &Question, place: usize, opens: bool) -> Result<Brief, Failure> {
        let asked: Vec<&Criterion> = question.criteria.iter().filter(|a| a.judge == Some(place)).map(|a| &a.criterion).collect();
        let prompt = || {
            let criteria: Value =
                asked.iter().map(|c| json!({ "id": c.id.value, "description": c.description, "expected": c.expected })).collect();
            // Of a task some are empty, such as the code of a text.
            let is_told = |(_, value): &(&String, &Value)| question.excerpt.is_none() || **value != "";
            let with = question.with.as_object().into_iter().flatten().filter(is_told);
            let with: Vec<(&str, &Value)> = with.map(|(name, value)| (name.as_str(), value)).collect();
            fence::judged_parts(question.excerpt.as_ref().unwrap_or(&question.text), &with, &criteria)
                + &format!(
                    "\nFor each criterion say whether the text passes it, what to do better, and the place it rests on. \
                     Answer with one JSON object and nothing else: \
                     {{\"verdicts\": {{{}}}}}",
                    asked.iter().map(|c| format!("\"{}\": {VERDICT}", c.id.value)).collect::<Vec<_>>().join(", ")
                )
        };
        let ids: Vec<&str> = asked.iter().map(|c| c.id.as_str()).collect();
        let schema = Some(wanted::verdicts(&ids));
        let mut brief = self.conversations().brief(
            at,
            &question.judges[place],
            None,
            opens.then(|| Prompt { text: prompt(), pictures: question.pictures.clone() }),
            schema,
            Purpose::Judge,
        )?;
        brief.criteria = ids.into_iter().map(str::to_string).collect();
        Ok(brief)
    }

    pub(crate) fn verdicts(
        &self,
        at: NodeRef,
        (channel, style): &MadeFor,
        question: &Question,
        said: &[JudgeAnswer],
    ) -> Result<Vec<Verdict>, Failure> {
        let judged = JudgedText {
            value: question.output.value(),
            text: &question.text,
            formatted: question.output.made(),
            channel: channel.as_ref(),
            style: style.as_ref(),
            person_name: self.state.steps.instance_around(at).person.get("name").and_then(Value::as_str),
        };
        let extra = check_names(question.output.value(), &question.text, &question.with);
        let mut verdicts = vec![];
        for asked in &question.criteria {
            let criterion = &asked.criterion;
            let mut verdict = Verdict {
                id: criterion.id.value.clone(),
                scorecard: asked.scorecard.clone(),
                description: criterion.description.clone(),
                expected: criterion.expected.clone(),
                passed: true,
                skipped: asked.is_skipped,
                feedback: String::new(),
                evidence: String::new(),
                needs_review: false,
            };
            match (&criterion.judging, asked.judge) {
                _ if asked.is_skipped => {}
                (Judging::Checks(checks), _) => self.checked(at, criterion, checks, (&judged, &extra), &mut verdict),
                (_, Some(judge)) => match said.get(judge) {
                    Some(Ok(answer)) => {
                        let own = answer.iter().find(|own| own.id == criterion.id.value).cloned().unwrap_or_default();
                        (verdict.passed, verdict.feedback, verdict.evidence) = (own.passed, own.feedback, own.evidence);
                    }
                    Some(Err(problem)) => {
                        verdict.passed = asked.on_judge_error == OnJudgeError::Pass;
                        verdict.needs_review = verdict.passed;
                        verdict.feedback = format!("The judge could not answer: {}", problem.message);
                    }
                    None => return Err(Failure::new(FailureKind::Internal, "a judge was not asked")),
                },
                _ => {
                    verdict.passed = false;
                    verdict.feedback = "The criterion has neither a check nor judge: true.".into();
                }
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    /// The channel and style guide a judged value was made for.
    pub(crate) fn judged_for(&self, at: NodeRef, gate: &GateStep, output: Option<&Output>) -> MadeFor {
        match self.judged_format(at, gate) {
            Some(format) => self.format_made_for(at, &format),
            None => self.made_for(at, output),
        }
    }

    /// The channel and style guide that a `format` step of this pipeline makes its output for.
    fn format_made_for(&self, at: NodeRef, format: &FormatStep) -> MadeFor {
        let instance = self.state.steps.instance_of(at);
        let channel = format.channel.as_deref().map(|own| self.spoken(instance, own)).or_else(|| self.channel(instance));
        (channel.cloned(), self.names().style(instance, format.style_guide.as_deref()).cloned())
    }

    /// The channel and style guide that a value was made for by itself: those that a `format` step named in it, else the run's.
    pub(crate) fn made_for(&self, at: NodeRef, output: Option<&Output>) -> MadeFor {
        let instance = self.state.steps.instance_of(at);
        let pipeline = &self.planned(instance).pipeline;
        let made = output.and_then(Output::made);
        let named = made.and_then(|made| pipeline.channels.iter().find(|c| c.name == made.channel));
        let named = named.map(|own| self.spoken(instance, &**own));
        (named.or_else(|| self.channel(instance)).cloned(), self.names().style(instance, None).cloned())
    }

    /// The `format` step whose output a gate reads first.
    pub(crate) fn judged_format(&self, at: NodeRef, gate: &GateStep) -> Option<FormatStep> {
        let read = gate.of.reads.first().filter(|read| read.path.first().is_some_and(|root| root == "steps"))?;
        let found = self.names().look_up(self.state.steps.instance_of(at), Some(at), read.path.get(1)?)?;
        if let StepKind::Format(format) = &self.step(found).kind { Some(format.clone()) } else { None }
    }

    /// The person's message, for failure records of gates that name no question; null without a conversation.
    fn message_of_conversation(&self) -> Value {
        let own = self.state.start.as_ref().and_then(|start| start.conversation.as_deref());
        own.map_or(Value::Null, |own| own.message.text.as_str().into())
    }

    fn gate_details(&self, at: NodeRef, passed: bool, used_otherwise: bool, verdicts: &[Verdict]) -> Value {
        let refined = self.state.steps.node(at).round == 2;
        let own = GateDetails { passed, refined, used_otherwise, feedback: failed_lines(verdicts), verdicts: verdicts.to_vec() };
        joined(own.into_value(), self.conversations().model_details(at))
    }
}

impl Judges<'_> {
    /// Calls the judges one after the other. Returns `None` until all have answered.
    pub(crate) fn ask_judges(&mut self, at: NodeRef, question: &Question) -> Result<Option<Vec<JudgeAnswer>>, Failure> {
        if question.judges.is_empty() {
            return Ok(Some(vec![]));
        }
        if self.talks().waits_for_permit(at) {
            return Ok(None);
        }
        let Some(talk) = self.state.steps.node(at).talk() else {
            return self.ask_judge(at, question, 0);
        };
        let place = talk.heard.len();
        let mut said: Vec<JudgeAnswer> = talk.heard.iter().enumerate().map(|(i, ended)| read_verdicts(ended, &question.ids(i))).collect();
        let answer = match self.talks().hear(at, &|run, opens| run.questions().judge_brief(at, question, place, opens))? {
            CallOutcome::Waiting => return Ok(None),
            CallOutcome::Failed(failure) => Err(failure),
            CallOutcome::Said(text) => {
                let ids = question.ids(place);
                let (answer, notes) = judgements(&text, &ids);
                let read = self.conversations().reading(at, notes).filter(|_| answer.is_ok());
                read.into_iter().for_each(|read| self.emit(read));
                if let Err(problem) = &answer {
                    let brief = self.questions().judge_brief(at, question, place, false)?;
                    let is_scripted = self.conversations().is_scripted(at, &brief);
                    if self.talks().repair(at, brief, std::slice::from_ref(&problem.message)).is_ok() {
                        return Ok(None);
                    }
                    let id = ids.first().copied().unwrap_or("criterion");
                    let help = if is_scripted {
                        format!("; as a scripted reply write passed, or failed: {{ {id}: feedback }}")
                    } else {
                        String::new()
                    };
                    Err(Failure { message: format!("{}{help}", problem.message), ..problem.clone() })
                } else {
                    answer
                }
            }
        };
        said.push(answer);
        if place + 1 < question.judges.len() {
            return self.ask_judge(at, question, place + 1);
        }
        Ok(Some(said))
    }

    /// Starts the conversation with a judge.
    fn ask_judge(&mut self, at: NodeRef, question: &Question, place: usize) -> Result<Option<Vec<JudgeAnswer>>, Failure> {
        let brief = self.questions().judge_brief(at, question, place, true)?;
        self.talks().send(at, brief, TalkTurn::First)?;
        Ok(None)
    }

    /// Handles a criterion that did not pass: starts the one refinement, or ends the gate.
    /// `wrong` are the verdicts that say what is wrong with the text.
    pub(crate) fn not_met(&mut self, at: NodeRef, question: &Question, verdicts: Vec<Verdict>, wrong: Vec<Verdict>, cause: String) {
        let step = self.step(at);
        let StepKind::Gate(gate) = &step.kind else { return };
        let planned = self.planned_of(at);
        let node = self.state.steps.node(at);
        let target = planned.refinement.as_ref().filter(|r| r.gate == node.step).map(|r| planned.step(r.target).place);
        let going = self.state.steps.frame(at.frame).mood == Mood::Going;
        let target = target
            .filter(|_| node.round == 1 && going && (!wrong.is_empty() || verdicts.is_empty()))
            .map(|place| NodeRef { frame: at.frame, node: place as u32 });
        let target = target.filter(|target| self.state.steps.node(*target).status == StepStatus::Succeeded);
        let (step, round) = (node.path.clone(), node.round);
        self.0.emit(Happening::GateFailed {
            step: step.clone(),
            round,
            verdicts: verdicts.clone(),
            for_good: target.is_none(),
            question: question.with.get("question").cloned().unwrap_or_else(|| self.questions().message_of_conversation()),
            judged: json!(question.text),
            cause,
        });
        let Some(target) = target else { return self.end_unmet(at, gate, Some(&question.output), &verdicts) };
        let feedback = failed_lines(&wrong);
        let original: SharedValue = self.state.steps.node(target).output.clone().unwrap_or_default();
        self.0.emit(Happening::RefinementStarted { step, target: self.path(target), original, failed: wrong, feedback });
    }

    /// Ends a gate whose second round could not be finished; the gate counts as not met. `own`: the failure of the gate itself while it judged.
    pub(crate) fn second_round_unfinished(&mut self, at: NodeRef, own: Option<&Failure>) {
        let step = self.step(at);
        let StepKind::Gate(gate) = &step.kind else { return };
        let first = self.state.steps.refinement_around(at).map(|round| round.failed.clone()).unwrap_or_default();
        let nodes = &self.state.steps.frame(at.frame).nodes;
        let cause = nodes.iter().find(|n| n.round == 2 && n.status == StepStatus::Failed);
        let cause = cause.and_then(|n| Some((&n.path, n.failure.as_ref()?)));
        let path = self.path(at);
        let cause = cause.or(own.map(|own| (&path, own)));
        let cause = cause.map_or_else(String::new, |(step, failure)| format!(": \"{step}\": {}", failure.message));
        let question = gate.with.iter().find(|(name, _)| name.value == "question");
        let question =
            question.and_then(|(_, filling)| self.filling(at, filling).ok()).unwrap_or_else(|| self.questions().message_of_conversation());
        if self.state.steps.node(at).status == StepStatus::Pending {
            self.emit(Happening::StepStarted { step: path.clone(), attempt: 1, round: 2, phase: step.phase.clone(), items: None });
        }
        self.emit(Happening::GateFailed {
            step: path,
            round: 2,
            verdicts: vec![],
            for_good: true,
            question,
            judged: Value::Null,
            cause: format!("the second try could not be finished{cause}"),
        });
        self.end_unmet(at, gate, None, &first);
    }

    /// Ends a gate that was not met for good: with `otherwise`, or without an output. If `otherwise` cannot be filled in, the step fails.
    fn end_unmet(&mut self, at: NodeRef, gate: &GateStep, judged: Option<&Output>, verdicts: &[Verdict]) {
        if let Err(failure) = self.try_end_unmet(at, gate, judged, verdicts) {
            self.fail_as_it_is(at, failure, None);
        }
    }

    fn try_end_unmet(&mut self, at: NodeRef, gate: &GateStep, judged: Option<&Output>, verdicts: &[Verdict]) -> Result<(), Failure> {
        let details = self.questions().gate_details(at, false, gate.otherwise.is_some(), verdicts);
        let Some(otherwise) = &gate.otherwise else {
            let failure = Failure::new(FailureKind::Quality, format!("criteria not met: {}", failed_ids(verdicts)));
            self.fail(at, failure, Some(details));
            return Ok(());
        };
        let text = self.fill_text(at, otherwise)?;
        let (channel, style) = self.questions().judged_for(at, gate, judged);
        let is_formatted = judged.map_or_else(|| self.questions().judged_format(at, gate).is_some(), |judged| judged.made().is_some());
        let output = if is_formatted {
            self.names().format(self.state.steps.instance_of(at), &text, channel.as_ref(), style.as_ref())?
        } else {
            json!(text)
        };
        self.succeed(at, output, Some(details));
        Ok(())
    }
}

/// The names that are available only in checks and criteria.
fn check_names(value: &Value, text: &str, with: &Value) -> [(&'static str, template::Value); 3] {
    [("value", template::from_json(value)), ("text", template::from_json(&json!(text))), ("with", template::from_json(with))]
}

fn failed_ids(verdicts: &[Verdict]) -> String {
    verdicts.iter().filter(|verdict| !verdict.passed).map(|verdict| verdict.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// The answer of an earlier judge.
fn read_verdicts(answer: &TalkStage, ids: &[&str]) -> JudgeAnswer {
    match answer {
        TalkStage::Said(message) | TalkStage::Using { message, .. } => judgements(&message.text, ids).0,
        TalkStage::Failed(failure) => Err(failure.clone()),
        TalkStage::Unanswered | TalkStage::Out(_) => Err(Failure::new(FailureKind::NoAnswer, "no answer")),
    }
}

/// Reads the judgements in a judge's answer, one for each id, or returns what is wrong with it. Also returns what was not read literally.
fn judgements(text: &str, ids: &[&str]) -> (JudgeAnswer, Vec<String>) {
    let wrong = |message: String| (Err(Failure::new(FailureKind::BadShape, message)), vec![]);
    let schema = reading::loosened(wanted::verdicts(ids));
    let mut read = match reading::json_in(text, &schema) {
        Ok(read) => read,
        Err(error) => return wrong(error.to_string()),
    };
    // A list of verdicts, each with its id, is accepted too.
    if let Some(Value::Array(list)) = read.value.get_mut("verdicts") {
        let mut by_id = serde_json::Map::new();
        for mut verdict in std::mem::take(list) {
            let id = verdict.as_object_mut().and_then(|verdict| verdict.shift_remove("id"));
            let Some(id) = id.as_ref().and_then(Value::as_str) else { return wrong("a verdict has no id".to_owned()) };
            if by_id.insert(id.to_owned(), verdict).is_some() {
                return wrong(format!("\"{id}\" is judged twice"));
            }
        }
        read.value["verdicts"] = Value::Object(by_id);
    }
    read.fit(&schema);
    let verdicts = read.value.get("verdicts").and_then(Value::as_object);
    if let Some(missing) = verdicts.and_then(|verdicts| ids.iter().find(|id| !verdicts.contains_key(**id))) {
        return wrong(format!("the verdict on \"{missing}\" is missing"));
    }
    if let Some(problem) = shape::problems(&schema, &read.value).into_iter().next() {
        return wrong(problem);
    }
    let judged = |id: &&str| {
        let verdict = &read.value["verdicts"][*id];
        let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
        JudgedCriterion { id: (*id).to_owned(), passed: verdict["passed"] == true, feedback: text("feedback"), evidence: text("evidence") }
    };
    (Ok(ids.iter().map(judged).collect()), read.notes)
}
