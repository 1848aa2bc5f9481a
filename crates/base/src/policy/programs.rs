//! Programs in the lists that deny and ask, by whatever tool they are started and wherever they lie.

use serde_json::{Value, json};

use super::patterns::tool_refused;
use super::{Decision, needs_approval};
use crate::model::{Policy, SandboxMode};

/// How programs are shut in: as all policies in force ask; without a policy a program is shut in.
pub fn sandbox_mode(policies: &[(&str, &Policy)]) -> SandboxMode {
    policies.iter().map(|(_, policy)| policy.sandbox.unwrap_or_default()).max().unwrap_or_default()
}

/// The name of a program without its folder, and its arguments as words.
fn named(command: &[String]) -> Option<(&str, Value)> {
    let (program, arguments) = command.split_first()?;
    Some((program.rsplit('/').next().unwrap_or(program), json!(arguments)))
}

/// The entry of a `disallowed_tools` that means the program, if there is one: a no.
pub fn denies_program(policies: &[(&str, &Policy)], command: &[String]) -> Option<Decision> {
    let (program, arguments) = named(command)?;
    let of = |policy: &Policy| policy.disallowed_tools.iter().find(|entry| tool_refused(&entry.value, program, Some(&arguments))).cloned();
    let (name, entry) = policies.iter().find_map(|(name, policy)| Some((name, of(policy)?)))?;
    Some(Decision::new(false, format!("policy {name}: disallowed_tools {}", entry.value)))
}

/// Whether a person must confirm each start of the program.
pub fn program_needs_approval(policy: &Policy, command: &[String]) -> bool {
    named(command).is_some_and(|(program, arguments)| needs_approval(policy, program, &arguments).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_meant_by_its_name_wherever_it_lies() {
        let policy = Policy { disallowed_tools: vec!["rm".into(), "git(push *)".into()], ..Policy::default() };
        let denies = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            denies_program(&[("p", &policy)], &command).map(|decision| decision.rule)
        };
        assert_eq!(denies(&["/usr/bin/rm", "x"]).as_deref(), Some("policy p: disallowed_tools rm"));
        assert_eq!(denies(&["git", "PUSH", "origin"]).as_deref(), Some("policy p: disallowed_tools git(push *)"));
        assert_eq!((denies(&["git", "log"]), denies(&["/rm/ls"]), denies(&[])), (None, None, None));
    }
}
