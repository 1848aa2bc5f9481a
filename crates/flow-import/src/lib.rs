//! Reads a workflow file of another program and makes a pipeline of it. What is read is data: it is translated, never run.
//!
//! How to add a format: a variant of [`ImportFormat`], a file here with `fn import(&Node, &mut Import) -> Result<Imported, ImportError>`, a section in
//! `docs/import.md`.

mod conductor;
mod lost;
mod models;
mod promptflow;
mod promptfoo;
mod repair;
mod tasks;
mod words;
mod yaml;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use flow_adapters::disk_files::DiskFiles;
use flow_adapters::files::{read_text, shown_path};
use flow_base::diagnostic::{Code, Diagnostic, Severity, one_line, visible};
use flow_base::port::Overlay;
use flow_base::source::{FileId, Sources, Span};
use flow_lang::check::check_file;
use flow_lang::syntax::{self, Node, QuoteStyle};
use lost::LostWhy;
use models::{ImportedModel, ImportedModels};
use words::{Manner, MeantName, NamesOf, TextDialect, TextPiece, TextWords};
use yaml::{Entry, WrittenYaml, Yaml, list_of, map, map_of, may, pair};

/// The largest file that is read, in bytes.
pub const LARGEST: u64 = 1 << 20;

/// A program whose files can be imported; its name is the word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ImportFormat {
    /// Conductor: agents with routes (Microsoft), or tasks (conductor-oss).
    Conductor,
    /// Microsoft Prompt flow: `flow.dag.yaml`.
    Promptflow,
    /// promptfoo: `promptfooconfig.yaml`.
    Promptfoo,
}

impl ImportFormat {
    /// What the program is called.
    pub fn title(self) -> &'static str {
        match self {
            ImportFormat::Conductor => "Conductor",
            ImportFormat::Promptflow => "Microsoft Prompt flow",
            ImportFormat::Promptfoo => "promptfoo",
        }
    }

    /// Which of its files are meant.
    pub fn files(self) -> &'static str {
        match self {
            ImportFormat::Conductor => "Conductor: agents with routes (Microsoft), or tasks (conductor-oss)",
            ImportFormat::Promptflow => "Microsoft Prompt flow: flow.dag.yaml",
            ImportFormat::Promptfoo => "promptfoo: promptfooconfig.yaml",
        }
    }
}

/// What is imported, and where to.
pub struct ImportRequest<'a> {
    /// The program that wrote the file.
    pub format: ImportFormat,
    /// The file; files beside it that it names are read too.
    pub file: &'a Path,
    /// Its text.
    pub text: String,
    /// The folder that the result is written to; `None`: it is one file, and is printed.
    pub output: Option<&'a Path>,
    /// The project of a file of the result, by its path.
    pub project: &'a dyn Fn(&Path) -> PathBuf,
}

/// What an import made. Nothing is written yet.
pub struct ImportedFiles {
    /// The files: where each belongs, and its text.
    pub texts: Vec<(PathBuf, String)>,
    /// What was not imported or means something else, a line each: `FILE:LINE: what: why`.
    pub lost: Vec<String>,
    /// Errors that are left in the result, a line each.
    pub errors: Vec<String>,
}

/// Why nothing was imported.
pub enum ImportError {
    /// The file is no YAML; the findings point into the sources.
    Unreadable(Sources, Vec<Diagnostic>),
    /// The file is of another kind; the text names its place and what is missing.
    OtherKind(String),
}

/// What a file became: the sections of a pipeline.
#[derive(Default)]
struct Imported {
    /// Its id, and what its files are called.
    name: String,
    description: Option<(String, Span)>,
    inputs: Vec<Entry>,
    models: ImportedModels,
    tools: Vec<Entry>,
    agents: Vec<Entry>,
    scorecards: Vec<Entry>,
    limits: Vec<Entry>,
    steps: Vec<Yaml>,
    outputs: Option<Yaml>,
    /// The cases of its tests.
    cases: Vec<Yaml>,
}

impl Imported {
    fn pipeline(self, import: &mut Import) -> Yaml {
        let description = self.description.map(|(text, span)| import.fixed(&one_line(&text, 300), span, "description"));
        map([
            pair("flow", 1_u64),
            pair("name", self.name),
            may("description", description),
            may("inputs", map_of(self.inputs)),
            may("models", self.models.section()),
            may("tools", map_of(self.tools)),
            may("agents", map_of(self.agents)),
            may("scorecards", map_of(self.scorecards)),
            may("limits", map_of(self.limits)),
            pair("steps", self.steps),
            may("outputs", self.outputs),
        ])
    }
}

/// What `description` of a file says.
fn description(node: &Node) -> Option<(String, Span)> {
    child(node, "description").and_then(|node| Some((node.as_scalar()?.text.clone(), node.span)))
}

/// Something that is not in the result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LostPart {
    line: usize,
    what: String,
    why: LostWhy,
}

/// A file that is being imported.
struct Import {
    path: PathBuf,
    sources: Sources,
    file: FileId,
    dialect: TextDialect,
    words: Vec<TextWords>,
    lost: BTreeSet<LostPart>,
}

impl Import {
    fn line(&self, span: Span) -> usize {
        self.sources.start(span).line
    }

    fn lose(&mut self, span: Span, what: impl Into<String>, why: LostWhy) {
        let (line, what) = (self.line(span), what.into());
        self.lost.insert(LostPart { line, what, why });
    }

    /// Reports the keys of a list of keys that have no counterpart.
    fn lose_others(&mut self, node: &Node, known: &str, what: &str) {
        self.lose_set(node, known, what, |_| true);
    }

    /// The same, of those that are set to something.
    fn lose_set(&mut self, node: &Node, known: &str, what: &str, is_set: impl Fn(&Value) -> bool) {
        for (key, value) in node.as_map().into_iter().flat_map(|map| &map.entries) {
            if !known.split_whitespace().any(|known| known == key.text) && is_set(&value.to_value()) {
                self.lose(key.span, format!("{what}{}", key.text), LostWhy::NoCounterpart);
            }
        }
    }

    /// A step that a person does, in the place of one that has no counterpart: nothing goes on as if it had been done.
    fn by_hand(&mut self, name: &str, span: Span, why: LostWhy) -> Vec<Entry> {
        self.lose(span, name, why.asked());
        let question = self.plain(&format!("What is the result of {name}? It was not imported."), span, name);
        vec![pair("approval", question), pair("form", map([pair("result", "text")]))]
    }

    fn words(&mut self, pieces: Vec<TextPiece>, manner: Manner, span: Span, what: &str) -> Yaml {
        self.words.push(TextWords { pieces, manner, span, what: what.to_owned(), is_dropped: false });
        Yaml::Words(self.words.len() - 1)
    }

    /// A template of the other program as one of ours.
    fn template(&mut self, node: &Node, what: &str, names: &NamesOf<'_>) -> Yaml {
        let Some(scalar) = node.as_scalar() else { return self.fixed(&node.to_value().to_string(), node.span, what) };
        let is_block = matches!(scalar.style, QuoteStyle::Literal);
        self.template_text(&scalar.text, node.head(), is_block, what, names)
    }

    /// Likewise, of a text that was read elsewhere; `is_block`: its lines are those below `span`.
    fn template_text(&mut self, text: &str, span: Span, is_block: bool, what: &str, names: &NamesOf<'_>) -> Yaml {
        let done = words::template(text, names, self.dialect);
        for (was, why) in done.lost {
            let lines = text.find(&was).filter(|_| is_block).map_or(0, |at| text.get(..at).unwrap_or_default().matches('\n').count() + 1);
            self.lost.insert(LostPart { line: self.line(span) + lines, what: format!("{what}: {}", one_line(&was, 80)), why });
        }
        self.words(done.pieces, Manner::Template, span, what)
    }

    /// An expression of ours, without braces.
    fn expression(&mut self, text: impl Into<String>, span: Span, what: &str) -> Yaml {
        self.words(vec![TextPiece::Text(text.into())], Manner::Bare, span, what)
    }

    /// An expression of ours in the braces of a template; `was`: what it was.
    fn filled(&mut self, expression: &str, was: &str, span: Span, what: &str) -> Yaml {
        let piece = TextPiece::Filled { out: format!("{{{{ {expression} }}}}"), was: was.to_owned(), is_mark: false };
        self.words(vec![piece], Manner::Template, span, what)
    }

    /// An expression of the other program as one of ours, without braces; `None`: it was lost.
    fn bare(&mut self, text: &str, span: Span, what: &str, names: &NamesOf<'_>) -> Option<String> {
        let inner = text.trim();
        let inner = inner.strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}")).unwrap_or(inner);
        for why in words::other_meanings(inner, self.dialect) {
            self.lose(span, format!("{what}: {}", one_line(text, 80)), why);
        }
        words::expression(inner, names, &[]).map_err(|why| self.lose(span, format!("{what}: {}", one_line(text, 80)), why)).ok()
    }

    /// A text that nothing fills in.
    fn fixed(&mut self, text: &str, span: Span, what: &str) -> Yaml {
        self.words(vec![TextPiece::Text(text.to_owned())], Manner::Fixed, span, what)
    }

    /// A value that nothing fills in.
    fn value(&mut self, value: Value, span: Span, what: &str) -> Yaml {
        if let Value::String(text) = &value { self.fixed(text, span, what) } else { Yaml::Value(value) }
    }

    /// What an agent is told: a template, if there is one.
    fn instructions(&mut self, text: &str, span: Span, what: &str, names: &NamesOf<'_>) -> Yaml {
        if text.is_empty() { "You answer.".into() } else { self.template_text(text, span, false, what, names) }
    }

    /// Plain text in the place of a template.
    fn plain(&mut self, text: &str, span: Span, what: &str) -> Yaml {
        self.words(vec![TextPiece::Text(text.to_owned())], Manner::Template, span, what)
    }

    /// A file that the imported one names: it must lie in the folder of that file, and not be hidden.
    fn beside(&self, name: &str) -> Result<String, LostWhy> {
        let path = Path::new(name);
        let is_own = path.components().all(|part| match part {
            Component::Normal(part) => !part.to_string_lossy().starts_with('.'),
            Component::CurDir => true,
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => false,
        });
        if !is_own || name.is_empty() {
            return Err(LostWhy::OtherFolder);
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let path = folder.join(path);
        let real = |path: &Path| if path.as_os_str().is_empty() { Path::new(".").canonicalize() } else { path.canonicalize() };
        let is_inside = real(folder).and_then(|folder| Ok(real(&path)?.starts_with(folder)));
        let unreadable = |problem: String| LostWhy::Unreadable(name.to_owned(), problem);
        match is_inside {
            Ok(true) => read_text(&path, LARGEST).map_err(|problem| unreadable(problem.to_string())),
            Ok(false) => Err(LostWhy::OtherFolder),
            Err(problem) => Err(unreadable(problem.to_string())),
        }
    }

    /// The lines about what is lost, as they are printed.
    fn lines(&self) -> Vec<String> {
        let name = shown_path(&self.path);
        let line =
            |lost: &LostPart| format!("{name}:{}: {}: {}", lost.line, one_line(&lost.what, 160), one_line(&lost.why.to_string(), 200));
        self.lost.iter().map(line).collect()
    }

    /// The comments at the top of the result.
    fn head(&self, format: ImportFormat) -> String {
        let mut head = format!("# Imported from {} ({}).\n", one_line(&visible(&shown_path(&self.path)), 200), format.title());
        let lines = self.lines();
        if !lines.is_empty() {
            head.push_str("# Not imported, or different here:\n");
        }
        for line in lines {
            // A text of the other file must not hide findings of this one.
            let _ = writeln!(head, "# - {}", visible(&line).replace("flow-ignore", "flow ignore"));
        }
        head
    }
}

/// Imports a file: translates it, checks the result where it will be, and leaves out what is wrong there.
///
/// # Errors
/// The file is no YAML, or is not of the format.
pub fn import(request: ImportRequest<'_>) -> Result<ImportedFiles, ImportError> {
    let mut sources = Sources::default();
    let file = sources.add(shown_path(request.file), request.text.clone());
    let mut found = vec![];
    let root = syntax::parse(file, sources.file(file), &mut found);
    let dialect = match request.format {
        ImportFormat::Promptfoo => TextDialect::Nunjucks,
        ImportFormat::Promptflow => TextDialect::Jinja,
        ImportFormat::Conductor => TextDialect::Conductor,
    };
    let is_fatal = |found: &Diagnostic| matches!(found.code, Code::YamlSyntax | Code::TooLarge | Code::UnsupportedYaml);
    let fatal: Vec<Diagnostic> = found.iter().filter(|found| is_fatal(found)).cloned().collect();
    if !fatal.is_empty() {
        return Err(ImportError::Unreadable(sources, fatal));
    }
    let mut import = Import { path: request.file.to_path_buf(), sources, file, dialect, words: vec![], lost: BTreeSet::new() };
    for twice in found.iter().filter(|found| found.code == Code::DuplicateKey) {
        import.lose(twice.span, "a key that is there twice", LostWhy::WrittenTwice);
    }
    let imported = match request.format {
        ImportFormat::Conductor if items(child(&root, "tasks")).iter().any(|task| child(task, "taskReferenceName").is_some()) => {
            tasks::import(&root, &mut import)
        }
        ImportFormat::Conductor => conductor::import(&root, &mut import)?,
        ImportFormat::Promptflow => promptflow::import(&root, &mut import)?,
        ImportFormat::Promptfoo => promptfoo::import(&root, &mut import)?,
    };
    let (texts, errors) = repair::finished(&mut import, imported, &request);
    Ok(ImportedFiles { texts, lost: import.lines(), errors })
}

/// What stops an import: the file is of another kind.
fn other_kind(import: &Import, node: &Node, lacks: &str, format: ImportFormat) -> ImportError {
    let place = format!("{}:{}", shown_path(&import.path), import.line(node.span));
    ImportError::OtherKind(format!("{place}: this is no file of {}: {lacks}", format.title()))
}

/// An id of ours from a name of theirs; `taken` are those that there are.
fn id(name: &str, taken: &mut BTreeSet<String>) -> String {
    const RESERVED: [&str; 2] = ["stop", "continue"];
    let lower = name.to_lowercase();
    let mut id: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    if !id.starts_with(|c: char| c.is_ascii_lowercase()) {
        id.insert_str(0, "s_");
    }
    if RESERVED.contains(&id.as_str()) {
        id.push_str("_step");
    }
    let base = id.clone();
    let mut number = 2;
    while !taken.insert(id.clone()) {
        id = format!("{base}_{number}");
        number += 1;
    }
    id
}

/// The entries of a list of keys.
fn entries(node: Option<&Node>) -> impl Iterator<Item = (&str, &Node)> {
    node.and_then(Node::as_map).into_iter().flat_map(|map| &map.entries).map(|(key, value)| (key.text.as_str(), value))
}

fn child<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    node.as_map()?.get(key)
}

/// The elements of a list.
fn items(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_list).unwrap_or_default()
}

/// The texts of a list.
fn names_in(node: Option<&Node>) -> impl Iterator<Item = &str> {
    items(node).iter().filter_map(|node| Some(node.as_scalar()?.text.as_str()))
}

/// A path with fields behind it.
fn with_fields(path: impl Into<String>, fields: &[&str]) -> String {
    fields.iter().fold(path.into(), |path, field| format!("{path}.{field}"))
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.text_of(key)
}

/// A number, also one in quotes.
fn number(node: &Node, key: &str) -> Option<Value> {
    serde_json::from_str::<serde_json::Number>(node.text_of(key)?).ok().map(Value::Number)
}

/// A time as it is written here, from a number of seconds or from a number with a unit, `2m` or `10 seconds`; `None`: it is neither.
fn duration(node: &Node) -> Option<String> {
    let text = node.as_scalar()?.text.trim();
    let (count, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let count: f64 = count.trim().parse().ok().filter(|count: &f64| (0.0..1e9).contains(count))?;
    let thousandths = match unit {
        "ms" => 1.0,
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    };
    let whole = (count * thousandths).round() as u64;
    Some(if whole.is_multiple_of(1000) { format!("{}s", whole / 1000) } else { format!("{whole}ms") })
}
