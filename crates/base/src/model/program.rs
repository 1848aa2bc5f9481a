//! Programs and Python code that steps and tools run.

use std::path::PathBuf;

use strum::VariantNames;

use super::{Filling, Pipeline, ProgramNetwork, SandboxMode, ServerKind, Shape, Text};
use crate::source::Spanned;

/// A command that a pipeline starts: of a server, a tool or a step.
#[derive(Debug, Clone, Copy)]
pub struct StartedCommand<'p> {
    /// What starts it.
    pub by: StartedBy,
    /// The name of the tool or model, or the id of the step.
    pub who: &'p str,
    /// The program: its name, or its absolute path.
    pub program: &'p Spanned<String>,
    /// Its arguments.
    pub args: &'p [Text],
    /// Names and values of its environment.
    pub env: &'p [(Spanned<String>, Text)],
    /// What a step or tool says of it besides; `None`: it is a server.
    pub run: Option<&'p ProgramCommand>,
    /// The folder that it starts in; `None`: that of the file.
    pub folder: Option<&'p PathBuf>,
}

impl StartedCommand<'_> {
    /// The folder that it starts in, in this pipeline.
    pub fn starts_in(&self, pipeline: &Pipeline) -> PathBuf {
        self.folder.unwrap_or(&pipeline.folder).clone()
    }
}

/// What a command belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum StartedBy {
    /// A step.
    Step,
    /// A tool.
    Tool,
    /// A tool that is an MCP server, which is not shut in.
    Server,
    /// A model whose agent is a program.
    Model,
}

impl StartedBy {
    /// The key under which its name stands; of a step the word.
    pub fn section(self) -> &'static str {
        match self {
            StartedBy::Step => "step",
            StartedBy::Tool | StartedBy::Server => "tool",
            StartedBy::Model => "model",
        }
    }
}

impl Pipeline {
    /// How little its own policies may shut programs in: whoever agrees to it must know.
    pub fn least_sandbox(&self) -> SandboxMode {
        let of_agents = self.agents.values().filter_map(|agent| agent.policy.as_ref());
        let named = self.policy.iter().chain(of_agents).filter_map(|name| self.policies.get(&name.value));
        named.map(|policy| policy.sandbox.unwrap_or_default()).min().unwrap_or_default()
    }

    /// The folders that its programs may change.
    pub fn written_folders(&self) -> Vec<&PathBuf> {
        let of_tools = self.tools.values().filter_map(|tool| tool.kind.starts());
        let steps = self.all_steps().into_iter().filter_map(|step| step.kind.facts().starts);
        let of_models = self.models.values().filter_map(|model| Some(&model.provider.program()?.run));
        of_tools.chain(of_models).chain(steps).flat_map(|run| &run.writes).map(|folder| &folder.value).collect()
    }

    /// All commands that it starts itself: those of tools, models, steps.
    pub fn commands(&self) -> Vec<StartedCommand<'_>> {
        let of_tools = self.tools.iter().filter_map(|(who, tool)| match tool.kind.server() {
            Some(server) => server.started_by(who),
            None => tool.kind.starts().map(|run| run.started_by(who, StartedBy::Tool)),
        });
        let of_models = self.models.iter().filter_map(|(who, model)| {
            let program = model.provider.program()?;
            let folder = program.folder.as_ref().map(|folder| &folder.value);
            Some(StartedCommand { folder, ..program.run.started_by(who, StartedBy::Model) })
        });
        let steps = self.all_steps().into_iter();
        let of_steps = steps.filter_map(|step| Some(step.kind.facts().starts?.started_by(&step.id.value, StartedBy::Step)));
        of_tools.chain(of_models).chain(of_steps).collect()
    }
}

/// A program with its arguments, as a step or a tool writes it. No shell reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramCommand {
    /// Its name, looked up in `PATH`, or its absolute path.
    pub program: Spanned<String>,
    /// Its arguments. A template fills a whole one.
    pub args: Vec<Text>,
    /// What it reads from its standard input: a text, or a value that is given as JSON.
    pub input: Option<Filling>,
    /// Names and values of its environment.
    pub env: Vec<(Spanned<String>, Text)>,
    /// What is made of its standard output.
    pub gives: ProgramOutput,
    /// The exit codes of success.
    pub ok_exits: Vec<i32>,
    /// Whether it changes nothing outside.
    pub reads_only: bool,
    /// What of the network it may reach.
    pub network: ProgramNetwork<Spanned<String>>,
    /// Folders that it may change, joined to the folder of the file.
    pub writes: Vec<Spanned<PathBuf>>,
}

impl ServerKind {
    fn started_by<'p>(&'p self, who: &'p str) -> Option<StartedCommand<'p>> {
        match self {
            ServerKind::Program { command: program, args, env } => {
                Some(StartedCommand { by: StartedBy::Server, who, program, args, env, run: None, folder: None })
            }
            ServerKind::Url { .. } => None,
        }
    }
}

impl ProgramCommand {
    fn started_by<'p>(&'p self, who: &'p str, by: StartedBy) -> StartedCommand<'p> {
        StartedCommand { by, who, program: &self.program, args: &self.args, env: &self.env, run: Some(self), folder: None }
    }

    /// The name of the program without its folder.
    pub fn short_name(&self) -> &str {
        self.program.value.rsplit('/').next().unwrap_or_default()
    }

    /// What it may do beside reading the project, in words for who must agree. `sandbox`: how it is shut in.
    pub fn powers(&self, sandbox: SandboxMode) -> Vec<String> {
        let mut may = vec![];
        may.extend(match sandbox {
            SandboxMode::None => Some("without a sandbox: it may do whatever you may".to_owned()),
            SandboxMode::Preferred => Some("without a sandbox where there is none".to_owned()),
            SandboxMode::Required => None,
        });
        may.extend(match &self.network {
            ProgramNetwork::None => None,
            ProgramNetwork::Hosts(hosts) => Some(format!("reaches {}", hosts.iter().map(Spanned::as_str).collect::<Vec<_>>().join(", "))),
            ProgramNetwork::All => Some("reaches the network".to_owned()),
        });
        let folders: Vec<String> = self.writes.iter().map(|folder| folder.value.display().to_string()).collect();
        may.extend((!folders.is_empty()).then(|| format!("changes {}", folders.join(", "))));
        may
    }

    /// The fields of what it prints, if they are written.
    pub fn shape(&self) -> Option<&Shape> {
        match &self.gives {
            ProgramOutput::Fields(shape) => Some(shape),
            ProgramOutput::Word(_) => None,
        }
    }

    /// Everything it is given that is filled in, but for its environment.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.args.iter().chain(self.input.iter().flat_map(Filling::texts))
    }
}

/// What is made of what a program prints.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramOutput {
    /// By a word.
    Word(OutputWord),
    /// JSON with these fields.
    Fields(Shape),
}

/// How the output of a program is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum OutputWord {
    /// As it is, without the line break at its end.
    #[default]
    Text,
    /// As one JSON value.
    Json,
    /// As a list of its lines.
    Lines,
}

impl OutputWord {
    /// The words.
    pub const WORDS: &[&str] = OutputWord::VARIANTS;
}

/// Python code, as a step or a tool writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonCode {
    /// The code; never a template.
    pub code: Text,
    /// The file that holds it, as written; `None`: it stands in the pipeline.
    pub file: Option<Spanned<String>>,
    /// Names of the variables that it gives.
    pub returns: Vec<Spanned<String>>,
    /// What it needs.
    pub needs: PythonNeeds,
}

/// What Python code needs to run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PythonNeeds {
    /// The folder of the virtual environment whose interpreter runs it, joined to the folder of the file; `None`: `python3` in `PATH`.
    pub venv: Option<Spanned<PathBuf>>,
    /// Packages.
    pub requires: Vec<Spanned<String>>,
}
