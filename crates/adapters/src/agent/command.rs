//! The command line of a program in print mode.

use crate::event::Failure;
use crate::model::{FailureKind, PrintMode, PromptOption};
use crate::port::{AgentCall, ProgramCall};

/// The longest prompt that is an argument, in bytes: as Linux bounds it (`MAX_ARG_STRLEN` of execve(2)).
const LONGEST_ARGUMENT: usize = (128 << 10) - 1;

/// The program with its arguments and its input.
///
/// # Errors
/// Fails with `bad_request` for what cannot be an argument: a value that would be read as an option, or that is too long.
pub(super) fn program_call(call: &AgentCall, mode: &PrintMode) -> Result<ProgramCall, Failure> {
    let mut program = call.program.clone();
    let has = |option: PromptOption| mode.options.iter().any(|(known, _)| *known == option);
    let prompt = match &call.continues {
        Some((_, new)) if has(PromptOption::Session) => new.clone(),
        Some(_) | None => call.prompt.clone(),
    };
    let prompt = match &call.system {
        Some(system) if !has(PromptOption::System) => format!("{system}\n\n{prompt}"),
        Some(_) | None => prompt,
    };
    options(call, &mut program, &mode.options)?;
    match &mode.prompt {
        None => program.input = prompt.into_bytes(),
        Some(words) => add(call, &mut program, words, prompt, true)?,
    }
    Ok(program)
}

/// Adds what a program that is talked with is told by its arguments.
///
/// # Errors
/// See [`program_call`].
#[cfg(feature = "acp")]
pub(super) fn add_options(call: &mut AgentCall, all: &[(PromptOption, Vec<String>)]) -> Result<(), Failure> {
    let mut program = call.program.clone();
    options(call, &mut program, all)?;
    call.program = program;
    Ok(())
}

fn options(call: &AgentCall, program: &mut ProgramCall, options: &[(PromptOption, Vec<String>)]) -> Result<(), Failure> {
    for (option, words) in options {
        let values: Vec<String> = match option {
            PromptOption::System => call.system.iter().cloned().collect(),
            PromptOption::Session => call.continues.iter().map(|(session, _)| session.clone()).collect(),
            PromptOption::Model
            | PromptOption::AllowedTools
            | PromptOption::DisallowedTools
            | PromptOption::MaxTurns
            | PromptOption::CostUsd => {
                call.options.iter().filter(|(known, _)| known == option).flat_map(|(_, values)| values.clone()).collect()
            }
            PromptOption::ReadOnly | PromptOption::Edit | PromptOption::Sandboxed => {
                let applies = |wanted: PromptOption| call.options.iter().any(|(known, _)| *known == wanted);
                let is_replaced = *option != PromptOption::Sandboxed
                    && applies(PromptOption::Sandboxed)
                    && options.iter().any(|(known, _)| *known == PromptOption::Sandboxed);
                if applies(*option) && !is_replaced {
                    program.command.extend(words.iter().cloned());
                }
                continue;
            }
        };
        for value in values {
            add(call, program, words, value, *option == PromptOption::System)?;
        }
    }
    Ok(())
}

/// Adds a value behind its words. A text that people and models write may begin with `-`; where it could be read as an option, a line break stands before it.
fn add(call: &AgentCall, program: &mut ProgramCall, words: &[String], value: String, is_text: bool) -> Result<(), Failure> {
    let wrong = |what: &str| Failure::new(FailureKind::BadRequest, format!("model \"{}\": {what}", call.model));
    if value.contains('\0') {
        return Err(wrong("a text for its program contains a NUL character"));
    }
    let (last, before) = words.split_last().map_or((None, &[][..]), |(last, before)| (Some(last), before));
    let is_joined = last.is_some_and(|last| last.ends_with('='));
    let is_safe = is_joined || last.is_some_and(|last| last == "--");
    let value = match (value.starts_with('-') && !is_safe, is_text) {
        (true, false) => return Err(wrong(&format!("the value \"{value}\" would be read as an option by its program"))),
        (true, true) => format!("\n{value}"),
        (false, _) => value,
    };
    if value.len() > LONGEST_ARGUMENT {
        return Err(wrong("its prompt is longer than 128 KiB, and is an argument of its program; use a program that takes prompt: stdin"));
    }
    program.command.extend(before.iter().cloned());
    match last {
        Some(last) if is_joined => program.command.push(format!("{last}{value}")),
        Some(last) => program.command.extend([last.clone(), value]),
        None => program.command.push(value),
    }
    Ok(())
}
