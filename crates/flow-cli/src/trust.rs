//! Trust: before the first run of a file that uses programs, hosts or secrets, a person is shown what it uses and asked. Every command that
//! would start something from a file calls [`consent`] first; no other code decides this.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::arguments::{SharedOptions, TrustOptions};
use super::refusal::{Refusal, pipeline};
use super::signals::at_question;
use super::typing::{Said, Typing, is_at_terminal};
use super::{Exit, stdout};
use crate::adapter::agreed::Agreed;
use crate::check::Checked;
use crate::diagnostic::{shell_path, visible};
use crate::journal::AuditAction;
use crate::report::wish_lines;
use crate::runtime::consent::{ConsentRequest, Standing, allowed, place, place_in, trusted};
use crate::runtime::{RunError, kept, settings, shown_path};

/// The question at a terminal.
const QUESTION: &str = "Trust it until any of it changes?";

/// Returns what a file uses.
fn wanted<'a>(checked: &'a Checked, file: &'a Path, shared: &SharedOptions) -> Result<ConsentRequest<'a>, Refusal> {
    let of_project = settings::read(&shared.project_of(file))?.model_of_project;
    Ok(ConsentRequest::from_checked(checked, file, of_project, &shared.variables()?))
}

/// Asks for consent and stores it.
fn ask(wanted: &ConsentRequest, standing: &Standing, shared: &SharedOptions) -> Result<(), Refusal> {
    let at_question = at_question();
    let answer = Typing::default().decide(QUESTION).map(|said| matches!(said, Said::Yes));
    drop(at_question);
    match answer {
        Some(true) => wanted.keep(standing, &shared.project_of(wanted.file)).map_err(unusable),
        _ => Err(refusal!(Failed, "{} is not trusted; nothing was started", shown_path(wanted.file))),
    }
}

/// Checks the consent for a file: it uses nothing, is allowed for this call (`--trust`), was trusted before and is unchanged, or a person
/// at the terminal consents now, which is stored. Nothing may be started without it, and no program that would run other files of the
/// project than those returned. Errors: nobody consented, or the list of trusted files cannot be read or written (exit 6); the settings
/// have errors (exit 1).
pub(super) fn consent(checked: &Checked, file: &Path, is_allowed: bool, shared: &SharedOptions) -> Result<Arc<Agreed>, Refusal> {
    if is_allowed {
        return Ok(allowed(checked, file, &shared.variables()?));
    }
    let wanted = wanted(checked, file, shared)?;
    if wanted.wishes.is_empty() {
        return Ok(wanted.agreed());
    }
    let standing = wanted.look().map_err(unusable)?;
    if standing.is_known {
        return Ok(wanted.agreed());
    }
    let refused = wanted.refused(Some(&standing.list)).to_string();
    if is_at_terminal() {
        refused.lines().for_each(|line| tell_as_written!("{line}"));
        return ask(&wanted, &standing, shared).map(|()| wanted.agreed());
    }
    let file = shell_path(&shown_path(file));
    let help = "nothing was started; review the file, then trust it until any of it changes:";
    let ways = [help.to_owned(), format!("  flow trust {file}"), "or add --trust to the command to allow it once".to_owned()];
    Err(Refusal(Exit::Failed, refused.lines().map(str::to_owned).chain(ways).collect()))
}

pub(super) fn run(options: &TrustOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    match (options.list, options.remove) {
        (true, _) => show_all(options.json),
        (_, true) => remove(&options.files, shared),
        _ => trust(options, shared),
    }
}

/// Shows what files use and trusts them: at a terminal after a question; elsewhere the command itself is the consent.
fn trust(options: &TrustOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let mut all = vec![];
    for file in &options.files {
        let workflow = pipeline(file, shared)?;
        let wanted = wanted(&workflow.checked, file, shared)?;
        if wanted.wishes.is_empty() {
            all.push(json!({ "file": shown_path(file), "wants": wanted.wishes, "sha256": null }));
            if !options.json {
                say(&format!("{} uses no program, host or secret: it needs no trust", shown_path(file)))?;
            }
            continue;
        }
        let standing = wanted.look()?;
        if !options.json {
            say(&format!("{} wants:\n  {}", shown_path(file), wish_lines(&wanted.wishes).join("\n  ")))?;
        }
        match standing.is_known {
            true => {}
            false if is_at_terminal() => ask(&wanted, &standing, shared)?,
            false => wanted.keep(&standing, &shared.project_of(file))?,
        }
        if !shared.quiet {
            let now = if standing.is_known { "is trusted already" } else { "is trusted until any of it changes" };
            tell!("{} {now}; to undo: flow trust --remove {}", shown_path(file), shell_path(&shown_path(file)));
        }
        all.push(json!({ "file": shown_path(file), "wants": wanted.wishes, "sha256": standing.content }));
    }
    Ok(if options.json { stdout::print_json(&all) } else { Exit::Ok })
}

/// Prints all trusted files.
fn show_all(as_json: bool) -> Result<Exit, Refusal> {
    let (entries, wrong) = trusted()?.all().map_err(RunError::system)?;
    wrong.iter().for_each(|why| tell!("{}", visible(why)));
    let printed = if as_json {
        stdout::print_json(&entries)
    } else {
        let line = |entry: &crate::adapter::trusted::TrustedEntry| {
            let short: String = entry.sha256.chars().take(12).collect();
            format!("{}  {short}  {}\n", entry.at.format("%Y-%m-%d %H:%M:%S"), shown_path(&entry.file))
        };
        stdout::print(&entries.iter().map(line).collect::<String>())
    };
    if entries.is_empty() && wrong.is_empty() && !as_json {
        tell!("nothing is trusted yet");
    }
    Ok(printed.unless(!wrong.is_empty()))
}

/// Withdraws trust; the file need not exist.
fn remove(files: &[PathBuf], shared: &SharedOptions) -> Result<Exit, Refusal> {
    let list = trusted()?;
    for file in files {
        let (named, project) = (shown_path(file), shared.project_of(file));
        match list.remove(&place(file)).map_err(RunError::system)? {
            0 => return Err(refusal!(NothingRan, "{named} was not trusted")),
            _ => kept::audit(&project, AuditAction::TrustRemoved, "", &place_in(&project, file))?,
        }
        note!(shared, "{named} is no longer trusted");
    }
    Ok(Exit::Ok)
}

fn say(text: &str) -> Result<(), Refusal> {
    match stdout::print(&format!("{text}\n")) {
        Exit::Ok => Ok(()),
        lost => Err(Refusal(lost, vec![])),
    }
}

/// Adds a hint to an error of the list.
fn unusable(error: RunError) -> Refusal {
    let Refusal(exit, mut lines) = error.into();
    lines.push("nothing was started; --trust allows it once, without showing the list".into());
    Refusal(exit, lines)
}
