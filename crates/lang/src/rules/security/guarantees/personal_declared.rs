//! No personal value reaches a model, a host, a log or a file that is not declared for it. A step declares it with `pii: true`; a gate with the check
//! `pii: none` lets none through.

use super::sites::{ModelTool, Receiver, look, may_start_loose, models_of, sites, tools_of_models};
use super::{GuaranteeVerdict, WaysFound};
use crate::labels::{
    Caller, ChainIx, GatePassage, Labels, OpenedFiles, Seat, Start, StartFrom, ValueWays, first_personal, given_back, marked_result,
    named_in, opened_by, opens, queried_by, readable_by, tables_of_run,
};
use crate::model::{
    Agent, ArtefactKind, Check, Judging, Model, Pipeline, PipelineId, PlainCheck, SUMMARY_STEP, Scorecard, ScorecardRef, Step, StepKind,
    Text, Tool, ToolKind,
};
use crate::plan::{Plan, StepIx};
use crate::source::{Span, Spanned};

const HELP: &str = "mark the step pii: true if it is meant to, leave the value out, or let a gate with the check pii: none judge it before";

pub(super) fn verdict(plan: &Plan, pipeline: PipelineId) -> GuaranteeVerdict {
    let mut ways = ValueWays::new(passage, |source| source.personal.is_some());
    look(plan, pipeline, &mut |labels, chain, is_root, found| {
        for site in sites(labels, chain, is_root) {
            let is_declared = site.step.is_some_and(|ix| is_marked(labels, chain, ix));
            match &site.receiver {
                // What the person of the run is given is theirs; logs mask it.
                Receiver::Person => {}
                Receiver::Host(name) | Receiver::File(name) => {
                    let named = site.program.and_then(|run| named_in(&run.args, labels.plan)).filter(|_| !is_declared);
                    if let Some((table, column)) = named {
                        let message = format!("{} gives {table}.{} to {name}, and is not marked pii: true", site.what, column.value);
                        found.breaks(site.step.map_or(column.span, |ix| labels.span_of(chain, ix)), message, vec![], HELP.into());
                    }
                    for starts in site.opened().into_iter().map(|start| vec![start]).chain([site.starts()]) {
                        follow(labels, &mut ways, starts, &site.what, name, is_declared, found);
                    }
                }
            }
        }
        to_models(labels, &mut ways, chain, found);
        to_logs(labels, &mut ways, chain, found);
    })
}

fn is_marked(labels: &Labels, chain: ChainIx, ix: StepIx) -> bool {
    let planned = labels.pipeline(chain);
    // An agent that others ask works for the step that asks.
    if let (Some(_), Some((above, caller))) = (&planned.pipeline.asked, labels.caller(chain)) {
        return is_marked(labels, above, caller.step());
    }
    let is_declared = |step: &Step| step.is_pii && step.kind.history().is_some();
    // No file holds the step that sums a conversation up: it is meant to have what a marked step is shown of it.
    let sums_up = planned.step(ix).step.id.value == SUMMARY_STEP && planned.steps.iter().any(|other| is_declared(&other.step));
    sums_up || planned.around(ix).any(|around| planned.step(around).step.is_pii)
}

/// A gate that lets no personal data through that its check knows.
fn passage(step: &Step, pipeline: &Pipeline) -> GatePassage {
    let StepKind::Gate(gate) = &step.kind else { return GatePassage::Open };
    let removes = |card: &Scorecard| {
        card.criteria.iter().filter(|criterion| criterion.when.is_none()).any(|criterion| match &criterion.judging {
            Judging::Checks(checks) => checks.iter().any(|check| matches!(check.value, Check::Plain(PlainCheck::PiiNone))),
            Judging::Judge | Judging::Neither => false,
        })
    };
    let cards = gate.scorecards.iter().filter_map(ScorecardRef::name).filter_map(|name| pipeline.scorecards.get(&name.value));
    if !cards.into_iter().any(removes) {
        return GatePassage::Open;
    }
    GatePassage::Doubt(format!(
        "the check pii: none of gate {} finds the value (it knows numbers, mail addresses and the like, no names)",
        step.id.value
    ))
}

fn follow<'p>(
    labels: &mut Labels<'p>,
    ways: &mut ValueWays,
    from: Vec<Start<'p>>,
    what: &str,
    whom: &str,
    is_declared: bool,
    found: &mut WaysFound,
) {
    let Some(way) = ways.find(labels, from) else { return };
    let name = way.source.personal.clone().unwrap_or_default();
    if is_declared {
        return found.rests_on.push(format!("{what} is marked pii: true, and gives {name} to {whom}"));
    }
    let span = way.hops.first().map_or(way.source.span, |hop| hop.span);
    match way.doubts.is_empty() {
        true => found.breaks(span, format!("{what} gives {name} to {whom}, and is not marked pii: true"), way.words(), HELP.into()),
        false => {
            found.only_if(
                span,
                way.doubts.join(", or "),
                way.words(),
                "make sure of it, or mark the step pii: true if it is meant to".into(),
            );
        }
    }
}

/// A step that asks a model.
struct ModelCall {
    chain: ChainIx,
    ix: StepIx,
    what: String,
    whom: String,
    is_declared: bool,
}

/// A personal column that a model may read, and where that is written.
type OpenedColumn<'p> = (Span, (&'p str, &'p Spanned<String>));

impl ModelCall {
    fn start<'p>(&self, from: StartFrom<'p>, reader: &str) -> Start<'p> {
        Start { chain: self.chain, seat: Some((self.ix, true)), from, reader: reader.to_owned() }
    }

    fn follow<'p>(&self, labels: &mut Labels<'p>, ways: &mut ValueWays, from: Vec<Start<'p>>, found: &mut WaysFound) {
        follow(labels, ways, from, &self.what, &self.whom, self.is_declared, found);
    }

    /// Its prompts and what else it is shown.
    fn texts<'p>(&self, labels: &mut Labels<'p>, ways: &mut ValueWays, asked: &[(&'p str, &'p Agent)], found: &mut WaysFound) {
        let planned = labels.pipeline(self.chain);
        let step = &planned.step(self.ix).step;
        let mut texts: Vec<&Text> = vec![];
        step.kind.each_text(step.span, &mut |authored| texts.extend(authored.text()));
        let told = planned.is_told_again(self.ix).then_some(StartFrom::Refinement);
        let queries = matches!(&step.kind, StepKind::Task(task) if task.fixed_artefact() != Some(ArtefactKind::Text));
        let starts = texts.into_iter().map(StartFrom::Text).chain(told).chain([StartFrom::Failures, StartFrom::History]);
        // Who checks a plan, and plans again, sees what its steps gave.
        let is_checked = matches!(&step.kind, StepKind::Plan(plan) if plan.check.is_some());
        let starts = starts.chain(queries.then_some(StartFrom::ReadTables)).chain(is_checked.then_some(StartFrom::Output));
        self.follow(labels, ways, starts.map(|from| self.start(from, &self.what)).collect(), found);
        // What an agent is told in any case no other one is told.
        for (name, agent) in asked {
            let start = agent.instructions.iter().map(|text| self.start(StartFrom::Text(text), &self.what)).collect();
            follow(labels, ways, start, &self.what, &format!("the model of agent {name}"), self.is_declared, found);
        }
    }

    /// What its tools give back, and the tables that they open.
    fn tools<'p>(&self, labels: &mut Labels<'p>, ways: &mut ValueWays, found: &mut WaysFound) -> Vec<OpenedColumn<'p>> {
        let pipeline = &labels.pipeline(self.chain).pipeline;
        let mut opened = vec![];
        for used in tools_of_models(labels, self.chain, self.ix) {
            let of_files = match opens(used.tool) {
                OpenedFiles::Named if reads(&used) => vec![StartFrom::Files],
                OpenedFiles::Any => vec![StartFrom::Files, StartFrom::Folder],
                OpenedFiles::Named | OpenedFiles::None => vec![],
            };
            let own = given_back(used.tool).into_iter().map(StartFrom::Text).chain(of_files);
            let reader = format!("tool {}", used.name.value);
            self.follow(labels, ways, own.map(|from| self.start(from, &reader)).collect(), found);
            opened.extend(opened_by(used.tool, pipeline, labels.plan).filter(|_| reads(&used)).map(|column| (used.name.span, column)));
            if let Some(part) = marked_result(used.tool).filter(|_| !self.is_declared) {
                let (what, whom) = (&self.what, &self.whom);
                let message = format!("{what} gives {} of tool {} to {whom}, and is not marked pii: true", part.join("."), used.name.value);
                found.breaks(used.name.span, message, vec![], HELP.into());
            }
            if let Some(called) = used.tool.kind.pipeline().and_then(|id| labels.called(self.chain, Caller::Model(self.ix), id)) {
                let name = &labels.pipeline(called).pipeline.name.value;
                let texts = labels.pipeline(called).pipeline.outputs.texts();
                let starts = texts.into_iter().map(|text| start(called, None, text, format!("outputs of pipeline {name}"))).collect();
                self.follow(labels, ways, starts, found);
            }
        }
        opened
    }

    /// What the addresses of its models say, and what their programs may read.
    fn models<'p>(
        &self,
        labels: &mut Labels<'p>,
        ways: &mut ValueWays,
        asked: &[(&'p str, &'p Agent)],
        found: &mut WaysFound,
    ) -> Vec<OpenedColumn<'p>> {
        let planned = labels.pipeline(self.chain);
        let (pipeline, step) = (&planned.pipeline, &planned.step(self.ix).step);
        let is_loose = may_start_loose(labels, self.chain, self.ix);
        let mut opened = vec![];
        for (name, model) in asked.iter().flat_map(|(_, agent)| models_of(pipeline, &step.kind, agent)) {
            // Its name and its address go to whoever answers.
            let reader = format!("model {name}");
            let starts = model.texts().into_iter().map(|text| start(self.chain, None, text, reader.clone())).collect();
            self.follow(labels, ways, starts, found);
            let Some(program) = model.provider.program() else { continue };
            let column = if is_loose { first_personal(tables_of_run(labels.plan)) } else { readable_by(program, pipeline, labels.plan) };
            opened.extend(column.map(|column| (step.kind_span, column)));
            self.follow(labels, ways, vec![self.start(StartFrom::Files, &reader)], found);
        }
        opened
    }
}

/// Prompts, what judges see, and the tables that an agent may query.
fn to_models<'p>(labels: &mut Labels<'p>, ways: &mut ValueWays, chain: ChainIx, found: &mut WaysFound) {
    let planned = labels.pipeline(chain);
    let pipeline = &planned.pipeline;
    for (ix, step) in planned.numbered_steps() {
        let kind = &step.step.kind;
        let names: Vec<&str> = kind.agents(pipeline).into_iter().map(|name| name.value.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let whom = format!("the model of agent {}", names.join(" and "));
        let call = ModelCall { chain, ix, what: labels.step_words(chain, ix), whom, is_declared: is_marked(labels, chain, ix) };
        // Those that a plan may use, too.
        let known = |name: &'p Spanned<String>| Some((name.value.as_str(), pipeline.agents.get(&name.value)?));
        let used = kind.facts().may_use.iter().filter(|_| matches!(kind, StepKind::Plan(_)));
        let asked: Vec<(&str, &Agent)> = kind.agents(pipeline).into_iter().chain(used).filter_map(known).collect();
        call.texts(labels, ways, &asked, found);
        let of_task =
            if let StepKind::Task(task) = kind { queried_by(task, pipeline).map(|column| (step.step.kind_span, column)) } else { None };
        let mut opened: Vec<OpenedColumn> = of_task.into_iter().collect();
        opened.extend(call.tools(labels, ways, found));
        opened.extend(call.models(labels, ways, &asked, found));
        for (span, (table, column)) in opened.into_iter().filter(|_| !call.is_declared) {
            let message = format!("{} lets its model read {table}.{}, and is not marked pii: true", call.what, column.value);
            found.breaks(span, message, vec![(column.span, format!("here is {table}.{}", column.value))], HELP.into());
        }
    }
    to_embedding(labels, ways, chain, found);
}

/// What is searched for, and the documents, which go to a model that makes vectors of them.
fn to_embedding<'p>(labels: &mut Labels<'p>, ways: &mut ValueWays, chain: ChainIx, found: &mut WaysFound) {
    let planned = labels.pipeline(chain);
    let pipeline = &planned.pipeline;
    for (ix, step) in planned.numbered_steps() {
        let used: Option<(_, Vec<&Text>)> = if let Some(knowledge) = step.step.kind.facts().knowledge {
            let mut texts = vec![];
            step.step.kind.each_text(step.step.span, &mut |authored| texts.extend(authored.text()));
            Some((knowledge, texts))
        } else if let StepKind::Tool(call) = &step.step.kind {
            Some((&call.tool, call.with.iter().flat_map(|(_, value)| value.texts()).collect()))
        } else {
            None
        };
        let Some((name, texts)) = used else { continue };
        let tool = pipeline.tool(&name.value).map(|(tool, _)| tool);
        let knowledge = tool.and_then(Tool::knowledge);
        let Some(model) = knowledge.filter(|own| own.search.needs_vectors()).and_then(|own| own.embed.as_ref()) else { continue };
        let what = labels.step_words(chain, ix);
        let is_declared = is_marked(labels, chain, ix);
        // So do the documents.
        let documents = tool.and_then(|tool| opened_by(tool, pipeline, labels.plan)).filter(|_| !is_declared);
        if let Some((table, column)) = documents {
            let message = format!("{what} gives {table}.{} to model {}, and is not marked pii: true", column.value, model.value);
            found.breaks(name.span, message, vec![(column.span, format!("here is {table}.{}", column.value))], HELP.into());
        }
        let of_model = pipeline.models.get(&model.value).map(Model::texts).unwrap_or_default();
        let texts = texts.into_iter().chain(knowledge.into_iter().flat_map(|own| &own.given)).chain(of_model);
        // Documents that the run itself wrote go there, too.
        let files = Start { chain, seat: Some((ix, true)), from: StartFrom::Files, reader: what.clone() };
        let starts = texts.map(|text| start(chain, Some((ix, true)), text, what.clone())).chain([files]).collect();
        follow(labels, ways, starts, &what, &format!("model {}", model.value), is_declared, found);
    }
}

fn start<'p>(chain: ChainIx, seat: Seat, text: &'p Text, reader: String) -> Start<'p> {
    Start { chain, seat, from: StartFrom::Text(text), reader }
}

/// Whether a tool that a model may call gives what it opens: one of files may only write.
fn reads(used: &ModelTool) -> bool {
    !matches!(used.tool.kind, ToolKind::File(_)) || used.calls.iter().any(|call| !call.ends_with(".write"))
}

/// What logs show as it is.
fn to_logs<'p>(labels: &mut Labels<'p>, ways: &mut ValueWays, chain: ChainIx, found: &mut WaysFound) {
    let planned = labels.pipeline(chain);
    for (ix, step) in planned.numbered_steps() {
        let reason = if let StepKind::Stop(stop) = &step.step.kind { stop.reason.as_ref() } else { None };
        for text in [step.step.name.as_ref(), step.step.kind.idempotency_key(), reason].into_iter().flatten() {
            let what = labels.step_words(chain, ix);
            let starts = vec![Start { chain, seat: Some((ix, true)), from: StartFrom::Text(text), reader: what.clone() }];
            let Some(way) = ways.find(labels, starts).filter(|way| way.doubts.is_empty()) else { continue };
            let name = way.source.personal.clone().unwrap_or_default();
            found.breaks(
                text.place.span,
                format!("{what} shows {name} in the log"),
                way.words(),
                "use something else, such as person.id or run.id".into(),
            );
        }
    }
}
