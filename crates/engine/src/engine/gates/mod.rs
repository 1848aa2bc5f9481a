//! Gates: checks first, then judges, then the one refinement or `otherwise`.

pub(crate) mod rejudged;

use serde_json::{Map, Value, json};

use crate::channel::Output;
use crate::engine::model_calls::conversation::CallOutcome;
use crate::engine::model_calls::{Brief, TalkTurn};
use crate::engine::names::{Extra, named};
use crate::engine::state::talk::TalkStage;
use crate::engine::state::{Mood, NodeRef, StepWork};
use crate::engine::{Run, shape};
use crate::event::{Failure, FailureKind, Happening, Purpose, SharedValue, StepStatus, Verdict};
use crate::gate::{self, Fill, JudgedText};
use crate::model::{Channel, Criterion, Filling, GateStep, Judging, OnJudgeError, ScorecardRef, StepKind, StyleGuide, Text};

/// A gate's question, worked out anew from the state whenever it is needed.
pub(crate) struct Question {
    /// What is judged.
    pub(crate) output: Output,
    /// The same as people read it.
    pub(crate) text: String,
    pub(crate) with: Value,
    pub(crate) criteria: Vec<JudgeQuestion>,
    judges: Vec<String>,
}

pub(crate) struct JudgeQuestion {
    pub(crate) criterion: Criterion,
    /// Place in `judges`, for criteria a judge is asked about.
    judge: Option<usize>,
    on_judge_error: OnJudgeError,
    /// The file's scorecard it comes from; `None`: a step wrote it.
    scorecard: Option<String>,
}

/// Fills in checks with the names of a gate and of what it judges.
struct CheckFiller<'a> {
    run: &'a Run,
    at: NodeRef,
    extra: Extra<'a>,
}

impl Fill for CheckFiller<'_> {
    type Error = Failure;

    fn text(&self, text: &Text) -> Result<Value, Failure> {
        self.run.fill_with(self.at, text, self.extra)
    }

    fn filling(&self, filling: &Filling) -> Result<Value, Failure> {
        self.run.filling_with(self.at, filling, self.extra)
    }

    fn condition(&self, text: &Text) -> Result<bool, Failure> {
        self.run.condition_with(self.at, text, self.extra)
    }
}

impl Run {
    /// Judges, as far as can be done now.
    pub(crate) fn judge(&mut self, at: NodeRef) {
        let step = self.step(at);
        let StepKind::Gate(gate) = &step.kind else { return };
        if let Err(failure) = self.try_judge(at, gate) {
            self.fail(at, failure, None);
        }
    }

    pub(crate) fn try_judge(&mut self, at: NodeRef, gate: &GateStep) -> Result<(), Failure> {
        let question = self.question(at, gate)?;
        if question.criteria.is_empty() {
            return self.not_met(at, gate, &question, vec![], "no scorecard has a criterion");
        }
        let mut said = vec![];
        if !question.judges.is_empty() {
            match self.ask_judges(at, &question)? {
                Some(answers) => said = answers,
                None => return Ok(()),
            }
        }
        let verdicts = self.verdicts(at, gate, &question, &said)?;
        if verdicts.iter().all(|v| v.passed) {
            let node = self.state.node(at);
            let (step, round) = (node.path.clone(), node.round);
            self.emit(Happening::GatePassed { step, round, verdicts: verdicts.clone() });
            let details = self.gate_details(at, true, false, &verdicts);
            self.succeed(at, question.output.into_value(), Some(details));
            return Ok(());
        }
        let failed: Vec<&str> = verdicts.iter().filter(|v| !v.passed).map(|v| v.id.as_str()).collect();
        let cause = format!("not met: {}", failed.join(", "));
        self.not_met(at, gate, &question, verdicts, &cause)
    }

    pub(crate) fn question(&self, at: NodeRef, gate: &GateStep) -> Result<Question, Failure> {
        let output = self.output(self.fill(at, &gate.of)?);
        let mut with = Map::new();
        for (name, filling) in &gate.with {
            with.insert(name.value.clone(), self.filling(at, filling)?);
        }
        let mut criteria: Vec<JudgeQuestion> = vec![];
        let mut judges: Vec<String> = vec![];
        let first_judge = self.first_judge(at, gate);
        for reference in &gate.scorecards {
            let (list, judge, on_judge_error) = self.scorecard(at, reference)?;
            let scorecard = match reference {
                ScorecardRef::Named(name) => Some(name.value.clone()),
                ScorecardRef::Written(_) => None,
            };
            for criterion in list {
                // Of two with the same id the first counts, but the file's always before a step's.
                let known = criteria.iter().position(|a| a.criterion.id.value == criterion.id.value);
                if known.is_some_and(|known| criteria[known].scorecard.is_some() || scorecard.is_none()) {
                    continue;
                }
                let judge = match criterion.judging {
                    Judging::Judge => {
                        let own = judge.clone().or_else(|| gate.judge.as_ref().map(|j| j.value.clone())).or_else(|| first_judge.clone());
                        let name = own.ok_or_else(|| {
                            Failure::new(
                                FailureKind::BadRequest,
                                format!("criterion \"{}\" asks for a judge, but none is named", criterion.id.value),
                            )
                        })?;
                        Some(judges.iter().position(|j| *j == name).unwrap_or_else(|| {
                            judges.push(name);
                            judges.len() - 1
                        }))
                    }
                    _ => None,
                };
                let asked = JudgeQuestion { criterion, judge, on_judge_error, scorecard: scorecard.clone() };
                match known {
                    Some(known) => criteria[known] = asked,
                    None => criteria.push(asked),
                }
            }
        }
        Ok(Question { text: output.text(), output, with: Value::Object(with), criteria, judges })
    }

    fn first_judge(&self, at: NodeRef, gate: &GateStep) -> Option<String> {
        let scorecards = &self.planned_of(at).pipeline.scorecards;
        gate.scorecards.iter().find_map(|reference| match reference {
            ScorecardRef::Named(name) => scorecards.get(&name.value)?.judge.as_ref().map(|j| j.value.clone()),
            ScorecardRef::Written(_) => None,
        })
    }

    /// Criteria of a scorecard; the file's own come first in `gate`, so of two with the same id the file's wins.
    fn scorecard(&self, at: NodeRef, reference: &ScorecardRef) -> Result<(Vec<Criterion>, Option<String>, OnJudgeError), Failure> {
        match reference {
            ScorecardRef::Named(name) => {
                let found = self.planned_of(at).pipeline.scorecards.get(&name.value);
                let scorecard =
                    found.ok_or_else(|| Failure::new(FailureKind::Internal, format!("there is no scorecard \"{}\"", name.value)))?;
                Ok((scorecard.criteria.clone(), scorecard.judge.as_ref().map(|j| j.value.clone()), scorecard.on_judge_error))
            }
            ScorecardRef::Written(text) => match self.fill(at, text)? {
                Value::Null => Ok((vec![], None, OnJudgeError::Fail)),
                written => match self.options.written.scorecard(&written) {
                    Ok(criteria) => Ok((criteria, None, OnJudgeError::Fail)),
                    Err(problems) => {
                        Err(Failure::new(FailureKind::BadShape, format!("the scorecard cannot be used: {}", problems.join("; "))))
                    }
                },
            },
        }
    }

    /// Asks the judges one after the other. `None`: not all have answered yet.
    fn ask_judges(&mut self, at: NodeRef, question: &Question) -> Result<Option<Vec<Result<Value, String>>>, Failure> {
        if self.waits_for_permit(at) {
            return Ok(None);
        }
        let StepWork::Asking(asking) = &self.state.node(at).work else {
            let brief = self.judge_brief(at, question, 0)?;
            self.send(at, &brief, TalkTurn::First)?;
            return Ok(None);
        };
        let place = asking.heard.len();
        let mut said: Vec<Result<Value, String>> =
            asking.heard.iter().enumerate().map(|(i, ended)| read_verdicts(ended, &question.ids(i))).collect();
        let brief = self.judge_brief(at, question, place)?;
        let answer = match self.hear(at, &|run| run.judge_brief(at, question, place))? {
            CallOutcome::Waiting => return Ok(None),
            CallOutcome::Failed(failure) => Err(failure.message),
            CallOutcome::Said(_) => {
                let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(None) };
                read_verdicts(asking.stage(), &question.ids(place))
            }
        };
        if let Err(problem) = &answer {
            let said_something = matches!(&self.state.node(at).work, StepWork::Asking(a) if a.stage().said().is_some());
            if said_something && self.repair(at, &brief, std::slice::from_ref(problem)).is_ok() {
                return Ok(None);
            }
        }
        said.push(answer);
        if place + 1 < question.judges.len() {
            let brief = self.judge_brief(at, question, place + 1)?;
            self.send(at, &brief, TalkTurn::First)?;
            return Ok(None);
        }
        Ok(Some(said))
    }

    fn judge_brief(&self, at: NodeRef, question: &Question, place: usize) -> Result<Brief, Failure> {
        let asked: Vec<&Criterion> = question.criteria.iter().filter(|a| a.judge == Some(place)).map(|a| &a.criterion).collect();
        let criteria: Value =
            asked.iter().map(|c| json!({ "id": c.id.value, "description": c.description, "expected": c.expected })).collect();
        let mut prompt = format!("Judge the text between the lines of equals signs.\n=====\n{}\n=====\n", question.text);
        if let Value::Object(with) = &question.with {
            for (name, value) in with {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                prompt.push_str(&format!("\n{name}: {value}\n"));
            }
        }
        prompt.push_str(&format!(
            "\nCriteria:\n{criteria}\n\nFor each criterion say whether the text passes it, what to do better, and the place it rests on. \
             Answer with one JSON object and nothing else: \
             {{\"verdicts\": [{{\"id\": …, \"passed\": true or false, \"feedback\": …, \"evidence\": …}}]}}"
        ));
        let ids: Vec<&str> = asked.iter().map(|c| c.id.as_str()).collect();
        let schema = Some(shape::verdicts_schema(&ids));
        let mut brief = self.brief(at, &question.judges[place], None, prompt, schema, Purpose::Judge)?;
        brief.criteria = ids.into_iter().map(str::to_string).collect();
        Ok(brief)
    }

    pub(crate) fn verdicts(
        &self,
        at: NodeRef,
        gate: &GateStep,
        question: &Question,
        said: &[Result<Value, String>],
    ) -> Result<Vec<Verdict>, Failure> {
        let (channel, style) = self.judged_for(at, gate, Some(&question.output));
        let instance = self.state.instance(self.state.instance_of(at));
        let judged = JudgedText {
            value: question.output.value(),
            text: &question.text,
            formatted: question.output.made(),
            channel: channel.as_ref(),
            style: style.as_ref(),
            person_name: instance.person.get("name").and_then(Value::as_str),
        };
        let extra = [("value", named(question.output.value())), ("text", named(&json!(question.text))), ("with", named(&question.with))];
        let mut verdicts = vec![];
        for asked in &question.criteria {
            let criterion = &asked.criterion;
            let mut verdict = Verdict {
                id: criterion.id.value.clone(),
                scorecard: asked.scorecard.clone(),
                description: criterion.description.clone(),
                expected: criterion.expected.clone(),
                passed: true,
                feedback: String::new(),
                evidence: String::new(),
                needs_review: false,
            };
            match (&criterion.judging, asked.judge) {
                (Judging::Checks(checks), _) => {
                    let filler = CheckFiller { run: self, at, extra: &extra };
                    let quoted = gate::fill_apart_from(checks.iter().map(|check| &check.value), &filler);
                    for check in checks {
                        let filled = gate::fill_check(&check.value, Some(&criterion.description), &filler);
                        let result = match filled.and_then(|filled| Ok((filled, quoted.as_ref().map_err(Clone::clone)?))) {
                            Ok((filled, quoted)) => gate::check_apart_from(&filled, &judged, quoted.as_ref()),
                            Err(failure) => gate::CheckResult::failed(failure.message, ""),
                        };
                        if !result.passed {
                            verdict.passed = false;
                            verdict.feedback = result.feedback;
                            verdict.evidence = result.evidence;
                            break;
                        }
                    }
                }
                (_, Some(judge)) => match said.get(judge) {
                    Some(Ok(answer)) => {
                        let own = answer.as_array().into_iter().flatten().find(|v| v["id"] == criterion.id.value.as_str());
                        let text = |key: &str| own.and_then(|v| v[key].as_str()).unwrap_or_default().to_string();
                        verdict.passed = own.is_some_and(|v| v["passed"] == true);
                        verdict.feedback = text("feedback");
                        verdict.evidence = text("evidence");
                    }
                    Some(Err(problem)) => {
                        verdict.passed = asked.on_judge_error == OnJudgeError::Pass;
                        verdict.needs_review = verdict.passed;
                        verdict.feedback = format!("The judge could not answer: {problem}");
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
    pub(crate) fn judged_for(&self, at: NodeRef, gate: &GateStep, output: Option<&Output>) -> (Option<Channel>, Option<StyleGuide>) {
        let instance = self.state.instance_of(at);
        let pipeline = &self.planned(instance).pipeline;
        let own_style = pipeline.style_guide.as_deref();
        let source = gate.of.reads.first().filter(|r| r.path.len() >= 2 && r.path[0] == "steps").map(|r| &r.path[1]);
        let step = source.and_then(|id| self.look_up(instance, Some(at), id)).map(|found| self.step(found));
        if let Some(StepKind::Format(format)) = step.as_deref().map(|s| &s.kind) {
            let channel = format.channel.as_deref().or_else(|| self.channel(instance));
            return (channel.cloned(), format.style_guide.as_deref().or(own_style).cloned());
        }
        let made = output.and_then(Output::made);
        let named = made.and_then(|made| pipeline.channels.iter().find(|c| c.name == made.channel));
        (named.map(|c| &**c).or_else(|| self.channel(instance)).cloned(), own_style.cloned())
    }

    /// A criterion did not pass: the one refinement, or the end.
    fn not_met(&mut self, at: NodeRef, gate: &GateStep, question: &Question, verdicts: Vec<Verdict>, cause: &str) -> Result<(), Failure> {
        let planned = self.planned_of(at);
        let node = self.state.node(at);
        let target = planned.refinement.as_ref().filter(|r| r.gate == node.step).map(|r| planned.step(r.target).place);
        let going = self.state.frame(at.frame).mood == Mood::Going;
        let target = target.filter(|_| node.round == 1 && going).map(|place| NodeRef { frame: at.frame, node: place as u32 });
        let target = target.filter(|t| self.state.node(*t).status == StepStatus::Succeeded);
        let (step, round) = (node.path.clone(), node.round);
        self.emit(Happening::GateFailed {
            step: step.clone(),
            round,
            verdicts: verdicts.clone(),
            for_good: target.is_none(),
            question: question.with.get("question").cloned().unwrap_or(Value::Null),
            judged: json!(question.text),
            cause: cause.to_string(),
        });
        let Some(target) = target else {
            self.end_unmet(at, gate, Some(&question.output), &verdicts);
            return Ok(());
        };
        let failed: Vec<Verdict> = verdicts.into_iter().filter(|v| !v.passed).collect();
        let feedback: Vec<String> = failed.iter().map(feedback_line).collect();
        let original: SharedValue = self.state.node(target).output.clone().unwrap_or_default();
        let target = self.state.node(target).path.clone();
        self.emit(Happening::RefinementStarted { step, target, original, failed, feedback: feedback.join("\n") });
        Ok(())
    }

    /// The second round could not be finished: the gate counts as not met. `own`: what the gate itself met while it judged.
    pub(crate) fn second_round_unfinished(&mut self, at: NodeRef, own: Option<&Failure>) {
        let step = self.step(at);
        let StepKind::Gate(gate) = &step.kind else { return };
        let instance = self.state.instance(self.state.instance_of(at));
        let verdicts = instance.refinement.as_ref().map(|r| r.failed.clone()).unwrap_or_default();
        let judged = instance.refinement.as_ref().map(|r| (*r.original).clone()).unwrap_or_default();
        let nodes = &self.state.frame(at.frame).nodes;
        let cause = nodes.iter().find(|n| n.round == 2 && n.status == StepStatus::Failed);
        let cause = cause.and_then(|n| Some((&n.path, n.failure.as_ref()?)));
        let path = self.state.node(at).path.clone();
        let cause = cause.or(own.map(|own| (&path, own)));
        let cause = cause.map_or_else(String::new, |(step, failure)| format!(": \"{step}\": {}", failure.message));
        let mut with = Map::new();
        for (name, filling) in &gate.with {
            with.insert(name.value.clone(), self.filling(at, filling).unwrap_or(Value::Null));
        }
        if self.state.node(at).status == StepStatus::Pending {
            self.emit(Happening::StepStarted { step: path.clone(), attempt: 1, round: 2, phase: step.phase.clone(), items: None });
        }
        self.emit(Happening::GateFailed {
            step: path,
            round: 2,
            verdicts: verdicts.clone(),
            for_good: true,
            question: with.remove("question").unwrap_or(Value::Null),
            judged,
            cause: format!("the second try could not be finished{cause}"),
        });
        self.end_unmet(at, gate, None, &verdicts);
    }

    /// A gate that was not met for good: `otherwise`, or nothing. An `otherwise` that cannot be filled in fails the step.
    fn end_unmet(&mut self, at: NodeRef, gate: &GateStep, judged: Option<&Output>, verdicts: &[Verdict]) {
        if let Err(failure) = self.try_end_unmet(at, gate, judged, verdicts) {
            self.fail_as_it_is(at, failure, None);
        }
    }

    fn try_end_unmet(&mut self, at: NodeRef, gate: &GateStep, judged: Option<&Output>, verdicts: &[Verdict]) -> Result<(), Failure> {
        let details = self.gate_details(at, false, gate.otherwise.is_some(), verdicts);
        let Some(otherwise) = &gate.otherwise else {
            let failed: Vec<&str> = verdicts.iter().filter(|v| !v.passed).map(|v| v.id.as_str()).collect();
            let failure = Failure::new(FailureKind::Quality, format!("criteria not met: {}", failed.join(", ")));
            self.fail(at, failure, Some(details));
            return Ok(());
        };
        let text = self.fill_text(at, otherwise)?;
        let (channel, style) = self.judged_for(at, gate, judged);
        let reads_format = || {
            let source = gate.of.reads.first().and_then(|r| r.path.get(1));
            let found = source.and_then(|id| self.look_up(self.state.instance_of(at), Some(at), id));
            found.is_some_and(|f| matches!(self.step(f).kind, StepKind::Format(_)))
        };
        let is_formatted = judged.map_or_else(reads_format, |judged| judged.made().is_some());
        let output =
            if is_formatted { self.format(self.state.instance_of(at), &text, channel.as_ref(), style.as_ref())? } else { json!(text) };
        self.succeed(at, output, Some(details));
        Ok(())
    }

    fn gate_details(&self, at: NodeRef, passed: bool, used_otherwise: bool, verdicts: &[Verdict]) -> Value {
        let mut details = json!({
            "passed": passed,
            "refined": self.state.node(at).round == 2,
            "used_otherwise": used_otherwise,
            "verdicts": verdicts,
        });
        if let (StepWork::Asking(_), Value::Object(own), Value::Object(model)) =
            (&self.state.node(at).work, &mut details, self.model_details(at))
        {
            own.extend(model);
        }
        details
    }
}

impl Question {
    /// The criteria a judge is asked about.
    fn ids(&self, judge: usize) -> Vec<&str> {
        self.criteria.iter().filter(|a| a.judge == Some(judge)).map(|a| a.criterion.id.as_str()).collect()
    }
}

fn feedback_line(verdict: &Verdict) -> String {
    let feedback = if verdict.feedback.is_empty() { &verdict.description } else { &verdict.feedback };
    format!("- {}: {feedback}", verdict.id)
}

/// The verdicts in a judge's answer, one for each id asked; or what is wrong with it.
fn read_verdicts(answer: &TalkStage, ids: &[&str]) -> Result<Value, String> {
    let text = match answer {
        TalkStage::Said(text) | TalkStage::Using { text, .. } => text,
        TalkStage::Failed(failure) => return Err(failure.message.clone()),
        TalkStage::Unanswered | TalkStage::Out(_) => return Err("no answer".into()),
    };
    let value = shape::json_in(text).map_err(|error| error.to_string())?;
    let problems = shape::problems(&shape::verdicts_schema(ids), &value);
    if let Some(problem) = problems.first() {
        return Err(problem.clone());
    }
    let verdicts = value["verdicts"].clone();
    for id in ids {
        let count = verdicts.as_array().map_or(0, |list| list.iter().filter(|v| v["id"] == *id).count());
        if count != 1 {
            return Err(if count == 0 {
                format!("the verdict on \"{id}\" is missing")
            } else {
                format!("\"{id}\" is judged {count} times")
            });
        }
    }
    Ok(verdicts)
}
