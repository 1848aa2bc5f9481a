//! Who named the host of a request, and which hosts belong to the run.
//!
//! Every request states who named its host ([`HostSource`]), and `policy` decides by that. The inputs of a called pipeline are traced back to the
//! run's inputs, through the texts of the files between; a value that a model wrote on the way ends the trace.

use std::collections::BTreeSet;

use crate::event::{Failure, FailureKind};
use crate::labels::ValueSources;
use crate::model::{Filling, Form, HostSource, StepKind, Text};
use crate::names::Extra;
use crate::parts::Origins;
use crate::plan::PipelinePlan;
use crate::policy::Origin;
use crate::run::NOT_KNOWN_HERE;
use crate::secrets::named_by;
use crate::source::Spanned;
use crate::state::NodeRef;
use crate::state::talk::AskedStage;
use crate::template::{self, FillError, FilledAddress, KnownNames, address_text};

/// Names and values as a file writes them.
type WrittenNames = [(Spanned<String>, Filling)];

/// Who provides the arguments of a tool.
#[derive(Clone, Copy)]
pub(crate) struct Giver<'a> {
    /// The arguments that the author fixed in the tool.
    fixed: &'a WrittenNames,
    /// The arguments of the step; `None` if a model provides them.
    given: Option<&'a WrittenNames>,
    /// Names whose values are the content that is sent.
    sent: &'static [&'static str],
}

impl<'a> Giver<'a> {
    /// For a text that belongs to no tool.
    pub(crate) const NOBODY: Giver<'static> = Giver { fixed: &[], given: None, sent: &[] };

    /// For a `send` step.
    pub(crate) fn of_send(fixed: &'a WrittenNames, given: &'a WrittenNames) -> Giver<'a> {
        Giver { fixed, given: Some(given), sent: &["content", "text"] }
    }

    /// The paths that these arguments read; `None` if an author did not write all of them.
    fn reads(&self, names: &BTreeSet<String>) -> Option<Vec<Vec<String>>> {
        let mut reads = vec![];
        for name in names {
            let of = |list: &'a WrittenNames| list.iter().find(|(own, _)| own.value == *name).map(|(_, value)| value);
            let value = match of(self.fixed) {
                Some(value) => Some(value),
                None if self.sent.contains(&name.as_str()) => return None,
                // An argument that nobody provides has its default, which is the author's.
                None => of(self.given?),
            };
            reads.extend(value.into_iter().flat_map(Filling::texts).flat_map(|text| &text.reads).map(|read| read.path.clone()));
        }
        Some(reads)
    }
}

impl Origins<'_> {
    /// A web address, and who named its host.
    pub(crate) fn address(&self, at: NodeRef, text: &Text, giver: Giver, extra: Extra) -> Result<(String, HostSource), Failure> {
        if text.form == Form::Plain {
            return Ok((text.source.to_string(), HostSource::File));
        }
        let scope = self.names().scope(self.state.steps.instance_of(at), Some(at), text, extra);
        // What stands for a secret or a variable may not be what a filter takes.
        let is_unknown =
            || self.names().is_stood_in(text) && template::compile(text).and_then(|compiled| compiled.fill_text(&scope)).is_err();
        let wrong = |error: FillError| Failure::new(if is_unknown() { NOT_KNOWN_HERE } else { FailureKind::BadRequest }, error.message);
        let filled = template::compile(text).and_then(|compiled| compiled.fill_address(&scope)).map_err(wrong)?;
        let FilledAddress { text, host_reads } = filled;
        Ok((text, self.named_by(at, host_reads, giver)))
    }

    /// Who named the value of a whole text: a host, a path.
    pub(crate) fn text_named_by(&self, at: NodeRef, text: &Text, giver: Giver) -> HostSource {
        self.named_by(at, text.reads.iter().map(|read| read.path.clone()).collect(), giver)
    }

    /// Who provides the arguments of a tool that a step or its agent calls.
    pub(crate) fn giver<'a>(&'a self, at: NodeRef, tool: &str, step: &'a StepKind) -> Giver<'a> {
        let fixed = self.tool(at, tool).map_or(&[][..], |tool| &tool.with);
        let by_author = self.state.steps.planner(at).is_none();
        let given = if let StepKind::Tool(call) = step { Some(&call.with[..]).filter(|_| by_author) } else { None };
        Giver { fixed, given, sent: &[] }
    }

    /// Who named the values at these paths.
    fn named_by(&self, at: NodeRef, reads: Vec<Vec<String>>, giver: Giver) -> HostSource {
        // Steps of a plan see the same names as the step that holds the plan.
        let seat = self.state.steps.planner(at).unwrap_or(at);
        let sources = ValueSources::of_reads(self.planned_of(seat), Some(self.state.steps.node(seat).step), reads);
        if sources.data {
            return HostSource::Data;
        }
        let mut named = if sources.environment { HostSource::Environment } else { HostSource::File };
        if !sources.with.is_empty() {
            let Some(reads) = giver.reads(&sources.with) else { return HostSource::Data };
            named = named.max(self.named_by(at, reads, Giver::NOBODY));
        }
        let instance = self.state.steps.instance_of(at);
        let names = match (sources.any_input, self.state.steps.instance(instance).inputs.as_object()) {
            (true, Some(inputs)) => inputs.keys().cloned().collect(),
            _ => sources.inputs,
        };
        if names.is_empty() { named } else { named.max(self.inputs_named_by(instance, &names)) }
    }

    /// Who provided these inputs of a running pipeline.
    fn inputs_named_by(&self, instance: u32, names: &BTreeSet<String>) -> HostSource {
        let Some(parent) = self.state.steps.instance(instance).parent else {
            let is_served = self.state.start.as_ref().is_some_and(|start| start.served);
            // A value equal to the default in the file does not count as data, whoever provided it.
            let (pipeline, inputs) = (&self.planned(instance).pipeline, &self.state.steps.instance(instance).inputs);
            let field = |name: &String| pipeline.input_fields().iter().find(|field| field.name == *name);
            // What a stranger wrote names no host, even if it is the example in the file.
            if names.iter().any(|name| field(name).is_some_and(|field| field.is_untrusted_at(&[]))) {
                return HostSource::Data;
            }
            let default = |name: &String| field(name).and_then(|field| pipeline.default_of(field));
            let is_default = names.iter().all(|name| default(name).is_some_and(|default| inputs.get(name) == Some(&default)));
            return if is_served && !is_default { HostSource::Data } else { HostSource::Input };
        };
        let step = self.step(parent);
        let giver = if let Some(talk) = self.state.steps.node(parent).talk() {
            let asked = talk.asked().iter().find(|asked| asked.stage == AskedStage::Inside(instance));
            asked.map_or(Giver::NOBODY, |asked| self.giver(parent, &asked.asked.tool, &step.kind))
        } else if let StepKind::Tool(tool) = &step.kind {
            self.giver(parent, &tool.tool.value, &step.kind)
        } else {
            Giver { given: Some(step.kind.facts().with).filter(|_| self.state.steps.planner(parent).is_none()), ..Giver::NOBODY }
        };
        giver.reads(names).map_or(HostSource::Data, |reads| self.named_by(parent, reads, Giver::NOBODY))
    }

    /// Whether an address in the files of this run has this scheme, host and port, filled in with the environment or with inputs that a person
    /// provided.
    pub(crate) fn knows(&self, at: NodeRef, origin: &Origin) -> bool {
        let mut known = KnownNames::default();
        let addresses = self.plan.pipelines.iter().flat_map(|planned| planned.addresses().chain(planned.mail_servers()));
        known.set("env", named_by("env", &self.options.env, addresses.flat_map(|text| &text.reads), false));
        let is_there = |planned: &PipelinePlan, known: &KnownNames, may_read: &dyn Fn(&[String]) -> bool| {
            let web =
                planned.addresses().any(|text| hosts(text, known, may_read).any(|text| Origin::parse(&text).as_ref() == Some(origin)));
            let mail = |text| hosts(text, known, may_read).any(|text| Origin::of_mail(&text).as_ref() == Some(origin));
            web || origin.scheme == "smtp" && planned.mail_servers().any(mail)
        };
        if self.plan.pipelines.iter().any(|planned| is_there(planned, &known, &|path| is_named(path, "env"))) {
            return true;
        }
        self.state.steps.chain(at).any(|(instance, _)| {
            let mut known = known.clone();
            known.set("inputs", template::from_json(&self.state.steps.instance(instance).inputs));
            let of_person = |path: &[String]| {
                let name = || path.get(1).cloned().map(|name| BTreeSet::from([name]));
                is_named(path, "inputs") && name().is_some_and(|name| self.inputs_named_by(instance, &name) < HostSource::Data)
            };
            is_there(self.planned(instance), &known, &|path| is_named(path, "env") || of_person(path))
        })
    }
}

fn is_named(path: &[String], root: &str) -> bool {
    path.first().is_some_and(|name| name == root)
}

/// The addresses in a text whose host is known: those that are written out, and the filled-in one if `may_read` allows all that its host reads.
fn hosts(text: &Text, known: &KnownNames, may_read: &dyn Fn(&[String]) -> bool) -> impl Iterator<Item = String> {
    let address = address_text(text);
    let is_known = !address.host_reads.is_empty() && address.host_reads.iter().all(|path| may_read(path));
    let filled = is_known.then(|| template::fill_known(text, known).ok()).flatten().map(|(text, _)| text);
    address.written.into_iter().chain(filled)
}
