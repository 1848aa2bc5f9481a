//! The words that a program is started with, and the entries of a policy that name them.

use serde_json::Value;

use crate::model::{Form, ProgramCommand};
use crate::policy::tool_fits;

/// The arguments of a program that are all written out; `None`: one of them is filled in.
pub(in crate::rules) fn fixed_words(run: &ProgramCommand) -> Option<Value> {
    let words = run.args.iter().map(|arg| Value::from(&*arg.source)).collect();
    run.args.iter().all(|arg| arg.form == Form::Plain).then_some(Value::Array(words))
}

/// The name of a program without its folder.
pub(in crate::rules) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The entry that allows a program with these arguments: as far as it has a first word, with any others behind it.
pub(in crate::rules) fn entry_for(run: &ProgramCommand) -> String {
    let (program, words) = (run.program.value.as_str(), fixed_words(run));
    let first = run.args.first().filter(|arg| arg.form == Form::Plain && !arg.source.starts_with('-')).map(|arg| &*arg.source);
    let begun = first.map(|first| if run.args.len() == 1 { format!("{program}({first})") } else { format!("{program}({first} *)") });
    let fits = |entry: &String| tool_fits(entry, program, words.as_ref());
    if run.args.is_empty() { program.to_owned() } else { begun.filter(fits).unwrap_or_else(|| format!("{program}(*)")) }
}

/// Whether an entry allows a program with its arguments, as far as they are known.
pub(in crate::rules) fn allows(entry: &str, run: &ProgramCommand) -> bool {
    tool_fits(entry, &run.program.value, fixed_words(run).as_ref())
}
