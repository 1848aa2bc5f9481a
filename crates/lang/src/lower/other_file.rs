//! A file that another one names: what it holds, or one finding about why it cannot be had.

use unicode_normalization::UnicodeNormalization;

use super::FileKind;
use super::context::{Lower, quoted};
use super::world::OtherFileError;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// What a file is named for.
#[derive(Debug, Clone, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum FileRole {
    /// Shared definitions, named by `imports` (F016).
    Import,
    /// A pipeline.
    Pipeline,
    /// A channel, by its name.
    Channel,
    /// A style guide, by its name.
    #[strum(serialize = "style guide")]
    StyleGuide,
    /// Scripted replies.
    #[strum(serialize = "replies file")]
    Replies,
    /// Anything else: `data file`.
    #[strum(to_string = "{0}")]
    Other(String),
}

impl From<&str> for FileRole {
    fn from(words: &str) -> FileRole {
        FileRole::Other(words.to_owned())
    }
}

impl FileRole {
    /// The key that says that a file is one, where it has a kind of its own.
    fn key(&self) -> Option<&'static str> {
        match self {
            FileRole::Channel => Some("channel"),
            FileRole::StyleGuide => Some("style_guide"),
            FileRole::Replies => Some("replies"),
            FileRole::Pipeline => Some("name"),
            FileRole::Import | FileRole::Other(_) => None,
        }
    }

    /// Whether it is named without a path.
    fn is_by_name(&self) -> bool {
        matches!(self, FileRole::Channel | FileRole::StyleGuide)
    }
}

/// A file that the file that is read names.
struct OtherFile<'l, 'w> {
    /// The file that names it.
    lower: &'l Lower<'w>,
    /// What for.
    role: FileRole,
    /// How it is written.
    name: &'l str,
    /// Where.
    place: Span,
}

impl Lower<'_> {
    /// What `answer` holds; else one finding (F025) at `place`, about the file that is named for this.
    pub fn found<T>(&self, role: impl Into<FileRole>, name: &str, place: Span, answer: Result<T, OtherFileError>) -> Option<T> {
        OtherFile { lower: self, role: role.into(), name, place }.take(answer)
    }
}

impl OtherFile<'_, '_> {
    /// What `answer` holds; else one finding.
    fn take<T>(&self, answer: Result<T, OtherFileError>) -> Option<T> {
        let what = self.what();
        let found = match answer {
            Ok(value) => return Some(value),
            Err(OtherFileError::Reported) => return None,
            Err(OtherFileError::Missing(names)) => self.not_there(&names),
            Err(OtherFileError::Outside) => Diagnostic::new(Code::PathEscape, self.place, format!("{what} is outside the project folder"))
                .help("write a path inside the project, such as ../out, wherever it is named; or name the project with --project"),
            Err(OtherFileError::Own(why)) => Diagnostic::own_file(self.place, format!("{what} cannot be read by a step: it {why}"))
                .help("name another file; a step gets a secret by secrets, and earlier runs are shown by flow runs"),
            Err(OtherFileError::Circle(files)) => {
                Diagnostic::new(Code::ImportCircle, self.place, format!("imports go in a circle: {}", files.join(" -> ")))
                    .help("remove one of these imports")
            }
            Err(OtherFileError::WrongKind(kind)) => self.wrong_kind(kind),
            Err(OtherFileError::Because(reason, help)) => self.missing(format!("cannot read {what}: {reason}")).help(help),
        };
        self.lower.report(found);
        None
    }

    fn is_import(&self) -> bool {
        self.role == FileRole::Import
    }

    fn what(&self) -> String {
        if self.is_import() { quoted(self.name) } else { format!("{} {}", self.role, quoted(self.name)) }
    }

    /// F016 for imports, F025 for other files.
    fn missing(&self, message: String) -> Diagnostic {
        match self.is_import() {
            true => Diagnostic::new(Code::ImportMissing, self.place, message),
            false => Diagnostic::missing_file(self.place, message),
        }
    }

    /// There are only files of these names.
    fn not_there(&self, names: &[String]) -> Diagnostic {
        let (what, name) = (self.what(), self.name);
        if let Some(same) = names.iter().find(|other| other.nfc().eq(name.nfc())) {
            let message =
                format!("{what} does not exist; there is a name that looks the same, but whose letters are composed in another way");
            let help = "copy the name from the folder, or rename the file: an accent is a part of its letter in one of the two, and a character of its own in the other";
            return self.missing(message).help(help).proposed_fix(vec![(self.place, same.clone())]);
        }
        let message = match self.is_import() {
            true => format!("cannot read {what}, imported here: no such file"),
            false => format!("{what} does not exist"),
        };
        if let Some(meant) = self.elsewhere(names) {
            let message = format!("{message}: {}", why(name, &meant));
            return self.missing(message).help(format!("write {meant}")).proposed_fix(vec![(self.place, meant)]);
        }
        if self.is_import() && name.contains('*') {
            let files: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.ends_with(".yaml")).take(8).collect();
            return self
                .missing(format!("cannot import {what}: it is a pattern, and each file is imported by its name"))
                .help(format!("write out each file: [{}]", files.join(", ")));
        }
        let near = self.lower.hints.did_you_mean(name, names.iter().map(String::as_str));
        let help = match near.names.first() {
            Some(near) => format!("write {near}"),
            None if self.role.is_by_name() && !names.is_empty() => {
                format!("remove it, write one that there is ({}), or create the file of {name}", names.join(", "))
            }
            None => "create the file, or correct the path".to_owned(),
        };
        self.missing(format!("{message}{near}")).near(near).help(help)
    }

    /// The file is of another kind.
    fn wrong_kind(&self, kind: FileKind) -> Diagnostic {
        let what = self.what();
        let found = self.missing(match self.is_import() {
            true => format!("cannot import {what}: it is {}, not one of shared definitions", kind.words()),
            false => format!("{what} is {}", kind.words()),
        });
        if self.is_import() && kind == FileKind::Pipeline {
            let id = self.name.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or("other");
            return found
                .help(format!("remove it, and call the pipeline, if its steps are wanted: - {{ id: {id}, call: {} }}", self.name))
                .help("remove it, and write the agents of it that are used here below agents, if they are wanted");
        }
        // A file with none of the keys that say what it is may have lost its own.
        match self.role.key().filter(|_| kind == FileKind::Definitions) {
            Some(key) => found.help(format!("check whether {} is spelt right in that file, or name another one", quoted(key))),
            None => found.help("name a file of the right kind, or correct the path"),
        }
    }

    /// Where a file is that is not at this path: seen from the project, one folder up, or with its ending; or the name of one that is named
    /// and not given as a path.
    fn elsewhere(&self, names: &[String]) -> Option<String> {
        let (lower, name) = (self.lower, self.name);
        let stem = name.rsplit('/').next()?.trim_end_matches(".yaml").trim_end_matches(".yml");
        if name.contains('/') && names.iter().any(|known| known == stem) {
            return Some(stem.to_owned());
        }
        let (folder, project) = (lower.folder(), lower.world().project());
        let inside: Vec<String> = folder.strip_prefix(&project).ok()?.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let plain = name.trim_start_matches("./").trim_start_matches('/');
        let shared = inside.iter().zip(plain.split('/')).take_while(|(one, other)| one == other).count();
        let rest: Vec<&str> = plain.split('/').skip(shared).collect();
        let from_project = format!("{}{}", "../".repeat(inside.len() - shared), rest.join("/"));
        let ways = [from_project.clone(), format!("{from_project}.yaml"), format!("{plain}.yaml"), format!("../{plain}")];
        ways.into_iter().find(|way| way != name && lower.world().existing(lower.file, way).is_ok())
    }
}

fn why(name: &str, meant: &str) -> &'static str {
    if meant.ends_with(name) || name.ends_with(meant.trim_start_matches("../")) && meant.contains('.') {
        "a path begins in the folder of this file"
    } else if meant.contains('.') {
        "a file is wanted here, not a name"
    } else {
        "a name is wanted here, not a path"
    }
}
