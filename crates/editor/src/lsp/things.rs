//! Named things of a file: their names, definitions and one-line descriptions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::lower::keys::Thing;
use crate::model::{Pipeline, Step};
use crate::plan::PipelinePlan;
use crate::port::Files;
use crate::source::Span;
use crate::syntax::Node;

/// Returns the section that defines such things; for channels and style guides, the folder.
pub fn section(thing: Thing) -> &'static str {
    match thing {
        Thing::Step => "steps",
        Thing::Agent => "agents",
        Thing::Model => "models",
        Thing::Tool => "tools",
        Thing::Scorecard => "scorecards",
        Thing::Policy => "policies",
        Thing::Table => "data",
        Thing::Knowledge => "knowledge",
        Thing::Channel => "channels",
        Thing::StyleGuide => "style_guides",
    }
}

/// Returns the word for such a thing, for people.
pub fn word(thing: Thing) -> &'static str {
    thing.into()
}

/// Returns the kind of things that a section defines.
pub(crate) fn of_section(section: &str) -> Option<Thing> {
    [Thing::Agent, Thing::Model, Thing::Tool, Thing::Scorecard, Thing::Policy, Thing::Table, Thing::Knowledge]
        .into_iter()
        .find(|t| self::section(*t) == section)
}

/// The places where a file finds other files.
pub(crate) struct FileContext<'a> {
    /// The files, with open ones over those on disk.
    pub files: &'a dyn Files,
    /// The folder of the file.
    pub folder: &'a Path,
    /// The folder of the project.
    pub project: &'a Path,
}

impl FileContext<'_> {
    /// Returns the file of a channel or a style guide.
    pub(crate) fn named_file(&self, thing: Thing, name: &str) -> Option<PathBuf> {
        let paths = [self.folder, self.project].map(|folder| folder.join(section(thing)).join(format!("{name}.yaml")));
        paths.into_iter().find(|path| self.files.exists(path))
    }

    /// Returns the names of channels or style guides.
    fn named_files(&self, thing: Thing) -> BTreeSet<String> {
        let folders = [self.folder, self.project].map(|folder| folder.join(section(thing)));
        let names = folders.iter().flat_map(|folder| self.files.names(folder));
        names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned)).collect()
    }

    /// Returns all names of such things that a file may use: those in its current text, and those of its last valid state.
    pub fn names(&self, thing: Thing, tree: &Node, known: Option<&Pipeline>) -> BTreeSet<String> {
        if matches!(thing, Thing::Channel | Thing::StyleGuide) {
            return self.named_files(thing);
        }
        // The tools of agents include knowledge to search.
        let also = (thing == Thing::Tool).then_some(Thing::Knowledge);
        let sections = [Some(thing), also].into_iter().flatten().filter_map(|thing| tree.as_map()?.get(section(thing))?.as_map());
        let own = sections.flat_map(|map| map.entries.iter().map(|(key, _)| key.text.clone()));
        own.chain(known.into_iter().flat_map(|pipeline| names_of(thing, pipeline))).collect()
    }
}

fn names_of(thing: Thing, pipeline: &Pipeline) -> Vec<String> {
    match thing {
        Thing::Agent => pipeline.agents.keys().cloned().collect(),
        Thing::Model => pipeline.models.keys().cloned().collect(),
        Thing::Tool => pipeline.tools.keys().cloned().collect(),
        Thing::Scorecard => pipeline.scorecards.keys().cloned().collect(),
        Thing::Policy => pipeline.policies.keys().cloned().collect(),
        Thing::Table => pipeline.data.keys().cloned().collect(),
        Thing::Knowledge => pipeline.tools.iter().filter(|(_, tool)| tool.knowledge().is_some()).map(|(name, _)| name.clone()).collect(),
        Thing::Step | Thing::Channel | Thing::StyleGuide => vec![],
    }
}

/// Returns the span of a definition.
pub fn span(thing: Thing, name: &str, pipeline: &Pipeline) -> Option<Span> {
    match thing {
        Thing::Agent => pipeline.agents.get(name).map(|agent| agent.span),
        Thing::Model => pipeline.models.get(name).map(|model| model.span),
        Thing::Tool | Thing::Knowledge => pipeline.tool(name).map(|(tool, _)| tool.span),
        Thing::Scorecard => pipeline.scorecards.get(name).map(|scorecard| scorecard.span),
        Thing::Policy => pipeline.policies.get(name).map(|policy| policy.span),
        Thing::Table => pipeline.data.get(name).map(|table| table.file.span),
        Thing::Step | Thing::Channel | Thing::StyleGuide => None,
    }
}

/// Returns the step with an id; if there are several, the one beside the reader.
pub fn step<'p>(id: &str, ids: &[&str], plan: &'p PipelinePlan) -> Option<&'p Step> {
    let all = || plan.steps.iter().map(|planned| planned.step.as_ref()).filter(|step| step.id.value == id);
    let own = ids.last().is_some_and(|own| *own == id);
    all().nth(usize::from(own && all().count() > 1)).or_else(|| all().next())
}

/// Describes a thing in a line or two of Markdown.
pub fn about(thing: Thing, name: &str, pipeline: &Pipeline) -> Option<String> {
    let head = format!("**{} {name}**", word(thing));
    let rest = match thing {
        Thing::Agent => {
            let agent = pipeline.agents.get(name)?;
            let model = agent.model_name();
            let tools: Vec<&str> = agent.tools.iter().map(|tool| tool.value.as_str()).collect();
            let tools = if tools.is_empty() { String::new() } else { format!(", tools {}", tools.join(", ")) };
            let told = agent.instructions.as_ref().and_then(|text| text.source.lines().map(str::trim).find(|line| !line.is_empty()));
            format!("model {model}{tools}{}", told.map(|line| format!("\n\n{line}")).unwrap_or_default())
        }
        Thing::Tool => pipeline.tool(name)?.0.description.clone().unwrap_or_default(),
        Thing::Knowledge => {
            let tool = pipeline.tools.get(name)?;
            let knowledge = tool.knowledge()?;
            let files = knowledge.files.iter().map(|file| file.value.whole());
            let files = files.map(|path| path.strip_prefix(&pipeline.folder).unwrap_or(&path).display().to_string());
            let files = files.chain(knowledge.given.iter().map(|text| text.source.to_string())).collect::<Vec<_>>();
            [tool.description.clone().unwrap_or_default(), files.join(", ")].join("\n\n").trim().to_owned()
        }
        Thing::Scorecard => {
            let criteria = pipeline.scorecards.get(name)?.criteria.iter();
            criteria.map(|criterion| format!("- {}: {}", criterion.id.value, criterion.description)).collect::<Vec<_>>().join("\n")
        }
        Thing::Policy => pipeline.policies.get(name)?.description.clone().unwrap_or_default(),
        Thing::Model => {
            let model = pipeline.models.get(name)?;
            model.model.as_ref().map(|text| text.source.to_string()).unwrap_or_default()
        }
        Thing::Table => pipeline.data.get(name)?.file.value.file_name()?.to_string_lossy().into_owned(),
        Thing::Channel => pipeline.channels.iter().find(|channel| channel.name == name)?.description.clone().unwrap_or_default(),
        Thing::StyleGuide => pipeline.style_guide.as_ref().filter(|guide| guide.name == name)?.brand_name.clone().unwrap_or_default(),
        Thing::Step => return None,
    };
    Some(if rest.is_empty() { head } else { format!("{head}\n\n{rest}") })
}

/// Describes a step in a line of Markdown.
pub(crate) fn about_step(step: &Step) -> String {
    let needs = step.needs.as_ref().filter(|needs| !needs.is_empty());
    let needs = needs.map(|needs| needs.iter().map(|need| need.value.as_str()).collect::<Vec<_>>().join(", "));
    let title = step.name.as_ref().map(|name| format!(": {}", name.source)).unwrap_or_default();
    let needs = needs.map(|needs| format!(", needs {needs}")).unwrap_or_default();
    format!("**step {}**{title}\n\n{}{needs}", step.id.value, step.kind.word())
}
