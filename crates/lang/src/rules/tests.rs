//! Files made to be hard to check.

use std::path::Path;

use crate::check::check_file;
use crate::diagnostic::Code;
use crate::port::MemoryFiles;

/// The codes of errors and warnings.
fn codes(text: String) -> Vec<&'static str> {
    let checked = check_file(Path::new("a.yaml"), Path::new(""), &MemoryFiles::from_iter([("a.yaml", text)]));
    let graver = checked.diagnostics.iter().filter(|diagnostic| diagnostic.severity() != crate::diagnostic::Severity::Info);
    graver.map(|diagnostic| diagnostic.code.id()).collect()
}

fn with_steps(steps: &[String]) -> String {
    format!("flow: 1\nname: a\nsteps:\n{}outputs: {{ text: \"{{{{ steps.s0.output }}}}\" }}\n", steps.concat())
}

#[test]
fn outputs_that_double_with_each_step_are_no_work() {
    let double = |id: char, number: usize| match number.checked_sub(1) {
        None => format!("  - {{ id: {id}0, set: {{ a: 1 }} }}\n"),
        Some(n) => {
            let above = format!("\"{{{{ steps.{id}{n}.output }}}}\"");
            format!("  - {{ id: {id}{number}, set: {{ a: {above}, b: {above} }} }}\n")
        }
    };
    let mut steps: Vec<String> = (0..60).flat_map(|number| [double('s', number), double('t', number)]).collect();
    steps.push("  - { id: both, set: [\"{{ steps.s59.output }}\", \"{{ steps.t59.output }}\"] }\n".to_owned());
    assert_eq!(codes(with_steps(&steps)), [""; 0]);
}

#[test]
fn steps_that_all_read_each_other_are_one_circle_and_no_work() {
    let others = |own: usize| (0..20).filter(move |other| *other != own);
    let step = |own: usize| {
        let reads: Vec<String> = others(own).map(|other| format!("k{other}: \"{{{{ steps.s{other}.output }}}}\"")).collect();
        format!("  - {{ id: s{own}, needs: [s{}], set: {{ {} }} }}\n", (own + 1) % 20, reads.join(", "))
    };
    let steps: Vec<String> = (0..20).map(step).collect();
    assert_eq!(codes(with_steps(&steps)), [Code::Cycle.id()]);
}

#[test]
fn a_long_chain_of_lists_in_lists_is_no_work() {
    let mut steps = vec!["  - { id: s0, set: [1] }\n".to_owned()];
    steps.extend((1..600).map(|number| format!("  - {{ id: s{number}, set: [\"{{{{ steps.s{}.output }}}}\"] }}\n", number - 1)));
    assert_eq!(codes(with_steps(&steps)), [""; 0]);
}
