//! Trust: before the first run of a file that wants programs, hosts or secrets, a person is shown what it wants and asked. Every command
//! that would start something of a file asks [`consent`] before; no other place decides it.
//!
//! How to add something that can be wanted: a list in [`Wishes`]; if what it does depends on more than the files of the pipeline, also its
//! part of [`content`].

mod content;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::arguments::{Shared, TrustOptions};
use super::refusal::{Refusal, told};
use super::signals::at_question;
use super::{Exit, checked, inputs, project, settings, stdout};
use crate::adapter::clock::SystemClock;
use crate::adapter::environment;
use crate::adapter::started::{Agreed, Prints, PrintsError};
use crate::adapter::trusted::Trusted;
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::model::{Model, Program};
use crate::port::Clock;
use crate::report::wishes::{Wishes, takes_given};

pub(super) use content::{named, real};

/// What is asked at a terminal.
const QUESTION: &str = "Trust it, until something of it changes?";

/// What a file wants, and of whom it is known already.
struct Wanted<'a> {
    file: &'a Path,
    program: &'a Program,
    given: Option<Model>,
    wishes: Wishes,
    agreed: Agreed,
    prints: Result<Prints, PrintsError>,
}

impl<'a> Wanted<'a> {
    fn of(checked: &'a Checked, file: &'a Path, shared: &Shared) -> Result<Wanted<'a>, Refusal> {
        let given = settings::read(&project::project(file, shared))?.model_of_project;
        let given = given.filter(|_| checked.loaded.program.pipelines.iter().any(|pipeline| takes_given(pipeline)));
        let wishes = Wishes::of(&checked.plan, given.as_ref());
        let program = &checked.loaded.program;
        let (agreed, prints) = agreed(program, file, shared)?;
        Ok(Wanted { file, program, given, wishes, agreed, prints })
    }

    /// The user's list, the content, and whether it stands there.
    fn look(&self) -> Result<(Trusted, String, bool), Refusal> {
        let (list, prints) = (trusted()?, self.prints.as_ref().map_err(failed)?);
        let content = content::content(self.program, self.given.as_ref(), prints).map_err(failed)?;
        let is_known = list.since(&content).map_err(failed)?.is_some();
        Ok((list, content, is_known))
    }

    fn shown(&self) -> String {
        visible(&self.file.display().to_string()).into_owned()
    }

    fn lines(&self) -> Vec<String> {
        self.wishes.lines().into_iter().map(|line| format!("  {line}")).collect()
    }

    /// Shows what is wanted and asks; what is agreed to is kept.
    fn ask(&self, list: &Trusted, content: &str) -> Result<(), Refusal> {
        let at_question = at_question();
        let answer = inputs::decide(QUESTION);
        drop(at_question);
        match answer {
            Some(true) => self.keep(list, content).map_err(unusable),
            _ => Err(Refusal(Exit::Failed, vec![format!("{} is not trusted; nothing was started", self.shown())])),
        }
    }

    fn keep(&self, list: &Trusted, content: &str) -> Result<(), Refusal> {
        list.add(&place(self.file), content, SystemClock::new().now()).map_err(failed)
    }
}

/// What its servers may run of the project now.
fn agreed(program: &Program, file: &Path, shared: &Shared) -> Result<(Agreed, Result<Prints, PrintsError>), Refusal> {
    let env = environment::variables(shared.env_file.as_deref()).map_err(Refusal::usage)?;
    let named = content::named(program, &env);
    let prints = named.prints();
    let file = visible(&file.display().to_string()).into_owned();
    Ok((Agreed { file, named, prints: prints.as_ref().ok().cloned(), is_free: false }, prints))
}

/// Whether what a file wants may be done: it wants nothing; it is allowed for this call (`--trust`); it was trusted before, and is the same
/// to the byte; or a person at the terminal says so now, which is kept. Nothing may be started without it, and no program that would
/// run something else of the project than what is returned.
///
/// # Errors
/// Nobody has agreed, or the list of what is trusted cannot be read or written (exit 6); the settings have mistakes (exit 1).
pub(super) fn consent(checked: &Checked, file: &Path, is_allowed: bool, shared: &Shared) -> Result<Arc<Agreed>, Refusal> {
    if is_allowed {
        let (agreed, _) = agreed(&checked.loaded.program, file, shared)?;
        return Ok(Arc::new(Agreed { is_free: true, ..agreed }));
    }
    let wanted = Wanted::of(checked, file, shared)?;
    // What was looked at now is what was agreed to, however long the question stands.
    let agreed = Arc::new(wanted.agreed.clone());
    if wanted.wishes.is_empty() {
        return Ok(agreed);
    }
    let (list, content, is_known) = wanted.look().map_err(unusable)?;
    if is_known {
        return Ok(agreed);
    }
    // Only to say it; whether the others can be read decides nothing.
    let before = list.all().ok().and_then(|(entries, _)| entries.into_iter().rfind(|entry| entry.file == place(file)));
    let what = match before {
        Some(before) => format!(
            "{} is not what you trusted on {}: it, a file it brings in, a script of its servers or its folder is another.",
            wanted.shown(),
            before.at.format("%Y-%m-%d at %H:%M UTC")
        ),
        None => format!("{} is not trusted yet.", wanted.shown()),
    };
    let mut lines = vec![format!("{what} What it wants:")];
    lines.extend(wanted.lines());
    if inputs::is_at_terminal() {
        lines.iter().for_each(|line| tell_as_written!("{line}"));
        return wanted.ask(&list, &content).map(|()| agreed);
    }
    lines.push("nothing was started; look at the file, then trust it until something of it changes:".into());
    lines.push(format!("  flow trust {}", wanted.shown()));
    lines.push("or add --trust to the command, for this one time".into());
    Err(Refusal(Exit::Failed, lines))
}

/// `flow trust`.
pub(super) fn run(options: &TrustOptions, shared: &Shared) -> Exit {
    told(match (options.list, options.remove) {
        (true, _) => show_all(options.json),
        (_, true) => remove(&options.files, shared),
        _ => trust(options, shared),
    })
}

/// Shows what files want and trusts them: at a terminal after a question; elsewhere the command is the consent.
fn trust(options: &TrustOptions, shared: &Shared) -> Result<Exit, Refusal> {
    let mut shown = vec![];
    for file in &options.files {
        let checked = checked::pipeline(file, shared)?;
        let wanted = Wanted::of(&checked, file, shared)?;
        if wanted.wishes.is_empty() {
            shown.push(json!({ "file": wanted.shown(), "wants": wanted.wishes, "sha256": null }));
            if !options.json {
                say(&format!("{} wants no program, no host and no secret: it runs without being trusted", wanted.shown()))?;
            }
            continue;
        }
        let (list, content, is_known) = wanted.look()?;
        if !options.json {
            say(&format!("{} wants:\n{}", wanted.shown(), wanted.lines().join("\n")))?;
        }
        match is_known {
            true => {}
            false if inputs::is_at_terminal() => wanted.ask(&list, &content)?,
            false => wanted.keep(&list, &content)?,
        }
        if !shared.quiet {
            let now = if is_known { "is trusted already" } else { "is trusted, until something of it changes" };
            tell!("{} {now}; to take it back: flow trust --remove {}", wanted.shown(), wanted.shown());
        }
        shown.push(json!({ "file": wanted.shown(), "wants": wanted.wishes, "sha256": content }));
    }
    Ok(if options.json { stdout::print_json(&shown) } else { Exit::Ok })
}

/// Everything that is trusted.
fn show_all(as_json: bool) -> Result<Exit, Refusal> {
    let (entries, wrong) = trusted()?.all().map_err(failed)?;
    wrong.iter().for_each(|why| tell!("{}", visible(why)));
    let printed = if as_json {
        stdout::print_json(&entries)
    } else {
        let line = |entry: &crate::adapter::trusted::Entry| {
            let short: String = entry.sha256.chars().take(12).collect();
            format!("{}  {short}  {}\n", entry.at.format("%Y-%m-%d %H:%M:%S"), visible(&entry.file.display().to_string()))
        };
        stdout::print(&entries.iter().map(line).collect::<String>())
    };
    if entries.is_empty() && wrong.is_empty() && !as_json {
        tell!("nothing is trusted yet");
    }
    Ok(printed.unless(!wrong.is_empty()))
}

/// Takes trust back; a file need not be there any more.
fn remove(files: &[PathBuf], shared: &Shared) -> Result<Exit, Refusal> {
    let list = trusted()?;
    for file in files {
        let shown = visible(&file.display().to_string()).into_owned();
        match list.remove(&place(file)).map_err(failed)? {
            0 => return Err(Refusal(Exit::NothingRan, vec![format!("{shown} was not trusted")])),
            _ if shared.quiet => {}
            _ => tell!("{shown} is no longer trusted"),
        }
    }
    Ok(Exit::Ok)
}

fn say(text: &str) -> Result<(), Refusal> {
    match stdout::print(&format!("{text}\n")) {
        Exit::Ok => Ok(()),
        lost => Err(Refusal(lost, vec![])),
    }
}

/// The user's list.
fn trusted() -> Result<Trusted, Refusal> {
    environment::trusted_folder().map(Trusted::new).map_err(failed)
}

fn failed(why: impl ToString) -> Refusal {
    Refusal(Exit::Failed, vec![visible(&why.to_string()).into_owned()])
}

/// The list cannot be used; what else can be done.
fn unusable(Refusal(exit, mut lines): Refusal) -> Refusal {
    lines.push("nothing was started; --trust allows it for this one time, without the list".into());
    Refusal(exit, lines)
}

/// The name that a file is kept under: where it really stands.
fn place(file: &Path) -> PathBuf {
    let folder = file.parent().and_then(|folder| content::real(folder).ok());
    let found = folder.and_then(|folder| Some(folder.join(file.file_name()?)));
    found.unwrap_or_else(|| std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()))
}
