//! F617: a pattern for the words of a program, in a list that denies or asks, which the words of the step do not fit that it is meant for.

use serde_json::Value;

use super::policy_entries::new_finding;
use crate::diagnostic::{LONGEST_MESSAGE, cut};
use crate::model::{Form, ProgramCommand, Step};
use crate::policy::{may_mean, tool_refused};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::support::called_names::CalledNames;
use crate::rules::support::program_words::{base_name, fixed_words};
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.policies.is_empty() {
        return;
    }
    let called = CalledNames::of(plan);
    for policy in pipeline.pipeline.policies.values().filter(|policy| called.are_of(policy, pipeline)) {
        for (key, list) in [("disallowed_tools", &policy.disallowed_tools), ("approval_required", &policy.approval_required)] {
            out.extend(list.iter().filter_map(|entry| of_step(&called, key, entry, list).or_else(|| of_shell(&called, key, entry))));
        }
    }
}

/// A pattern that is meant for a step, since it fits in another spelling, while the list has no entry for that step.
fn of_step(called: &CalledNames, key: &str, entry: &Spanned<String>, list: &[Spanned<String>]) -> Option<Diagnostic> {
    let (name, spellings) = spellings(&entry.value).filter(|(name, _)| !name.contains(['*', '?', '[', '{']))?;
    let own = |program: &str| [program, base_name(program)].into_iter().any(|program| may_mean(&name, program));
    let is_dead = |entry: &Spanned<String>| {
        let of_program = called.started.iter().filter(|(_, run)| own(&run.program.value));
        !of_program
            .map(|(_, run)| (base_name(&run.program.value), sample(run).0))
            .any(|(name, words)| tool_refused(&entry.value, name, Some(&words)))
    };
    let mut meant = called.started.iter().filter(|(_, run)| own(&run.program.value));
    let (step, run, spelling) = meant.find_map(|(step, run)| {
        let program = base_name(&run.program.value);
        let (words, is_fixed) = sample(run);
        let fits = |entry: &str| tool_refused(entry, program, Some(&words));
        let fits_pattern = |pattern: &str| fits(&format!("{program}({pattern})"));
        let may_be = |kind: SpellingKind| match kind {
            SpellingKind::Foreign => true,
            SpellingKind::Slip => is_fixed,
            // Who denies `install *` may well have a step that installs what is listed.
            SpellingKind::WithoutRest => is_fixed && key == "approval_required" && is_dead(entry),
        };
        let is_meant = |spelling: &&Spelling| {
            may_be(spelling.kind) && spelling.as_meant.iter().any(|it| fits_pattern(it)) && fits_pattern(&spelling.written)
        };
        let spelling = spellings.iter().find(is_meant)?;
        (!list.iter().any(|entry| fits(&entry.value))).then_some((*step, *run, spelling.written.clone()))
    })?;
    let shown: Vec<&str> = std::iter::once(base_name(&run.program.value)).chain(run.args.iter().map(|arg| &*arg.source)).collect();
    let message = format!("{} in {key} does not fit {}, which {} starts", quoted(&entry.value), quoted(&shown.join(" ")), of(step));
    let help = format!("write {}: a pattern is held against all words, with \"*\" for any letters", quoted(&format!("{name}({spelling})")));
    Some(new_finding(entry, &cut(&message, LONGEST_MESSAGE)).related(step.kind_span, "started here").help(help))
}

fn of(step: &Step) -> String {
    format!("step {}", quoted(&step.id.value))
}

/// The words of a program, with a word of its own for each that is filled in, and whether there are none of these.
fn sample(run: &ProgramCommand) -> (Value, bool) {
    const FILLED_IN: &str = "\u{a4}";
    let word = |form: Form, source: &str| Value::from(if form == Form::Plain { source } else { FILLED_IN });
    fixed_words(run).map_or_else(|| (run.args.iter().map(|arg| word(arg.form, &arg.source)).collect(), false), |words| (words, true))
}

/// Another spelling of a pattern.
struct Spelling {
    /// Of these one must fit for it to be meant.
    as_meant: Vec<String>,
    /// What to write.
    written: String,
    kind: SpellingKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpellingKind {
    /// A form that only other programs read.
    Foreign,
    /// A form that means something else here.
    Slip,
    /// ` *` at its end wants one more word.
    WithoutRest,
}

/// The name of an entry, and the spellings in which its pattern may be meant.
fn spellings(entry: &str) -> Option<(String, Vec<Spelling>)> {
    let (name, pattern, is_bracketed) = match entry.trim().split_once('(') {
        Some((name, pattern)) => (name.trim(), pattern.strip_suffix(')')?.trim(), false),
        None => {
            let (name, pattern) = entry.trim().strip_suffix([']', '}'])?.split_once(['[', '{'])?;
            (name, pattern, true)
        }
    };
    let spelling = |as_meant: &str, written: String, kind: SpellingKind| Spelling { as_meant: vec![as_meant.to_owned()], written, kind };
    let with_rest =
        |begin: &str, kind| Spelling { as_meant: vec![begin.to_owned(), format!("{begin} *")], written: format!("{begin}*"), kind };
    let mut all = vec![];
    if is_bracketed {
        all.push(with_rest(pattern, SpellingKind::Foreign));
    }
    // `run build:*` may well mean the scripts `build:css` and `build:js`.
    if let Some(begin) = pattern.strip_suffix(":*").filter(|begin| !begin.contains(' ')) {
        all.push(with_rest(begin, SpellingKind::Foreign));
    }
    if let Some(rest) = pattern.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')) {
        all.push(spelling(rest, rest.to_owned(), SpellingKind::Slip));
    }
    if pattern.contains(".*") || pattern.contains(".+") || pattern.starts_with('^') || pattern.ends_with('$') {
        let plain = pattern.trim_start_matches('^').trim_end_matches('$').replace("\\s+", " ").replace("\\s", " ").replace(".+", ".*");
        let any = |text: &str| text.replace(".*", "*");
        all.push(match plain.strip_suffix(".*") {
            Some(begin) => with_rest(&any(begin), SpellingKind::Slip),
            None => spelling(&any(&plain), any(&plain), SpellingKind::Slip),
        });
    }
    if pattern.contains('|') {
        let choice = if pattern.contains('(') { pattern.replace('(', "{").replace(')', "}") } else { format!("{{{pattern}}}") };
        all.push(with_rest(&choice.replace('|', ",").replace(".*", ""), SpellingKind::Slip));
    }
    if pattern.contains(',') && !pattern.contains(['{', '"']) {
        let words = pattern.split(',').map(str::trim).collect::<Vec<_>>().join(" ");
        all.push(spelling(&words, words.clone(), SpellingKind::Slip));
    }
    if let Some(begin) = pattern.strip_suffix(" *") {
        all.push(spelling(begin, format!("{begin}*"), SpellingKind::WithoutRest));
    }
    let words: Vec<&str> = pattern.split(' ').filter(|word| *word != "*").collect();
    if words.len() > 1 && !words.iter().any(|word| word.contains(['*', '?', '[', '{', '|', '(', ','])) {
        all.push(with_rest(&words.join("{ , * }"), SpellingKind::Slip));
        if let Some(last) = all.last_mut() {
            last.written = format!("{}*", words.join("*"));
        }
    }
    Some((name.to_owned(), all))
}

/// `Bash(git push:*)`, as settings of other programs name what a shell may start.
fn of_shell(called: &CalledNames, key: &str, entry: &Spanned<String>) -> Option<Diagnostic> {
    let words = entry.value.trim().strip_prefix("Bash(")?.strip_suffix(')')?.trim();
    let begin = words.trim_end_matches('*').trim_end_matches([':', ' ']);
    let (program, rest) = begin.split_once(' ').unwrap_or((begin, ""));
    if called.may_know("Bash") || program.is_empty() || program.contains(['*', '?', '[', '{']) {
        return None;
    }
    let any = if begin == words { "" } else { "*" };
    let meant = if rest.is_empty() { program.to_owned() } else { format!("{program}({}{any})", rest.trim()) };
    let message = format!("{} in {key} fits no call: a program is named itself, and started by no shell", quoted(&entry.value));
    Some(new_finding(entry, &message).help(format!("write {}", quoted(&meant))))
}
