//! What a guarantee says is held to the engine: in generated pipelines with models and services that do their worst, nothing happens that a guarantee
//! which holds rules out.

mod drawn;
mod worst;

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::check::check_file;
use crate::model::{Guarantee, PipelineId};
use crate::port::MemoryFiles;
use crate::rules::guarantees::{GuaranteeVerdict, of};
use drawn::Drawn;
use worst::Worst;

/// So many pipelines are generated at least; more with `PROPTEST_CASES`. Some have mistakes; those are not run.
const CASES: u32 = 2_500;

#[derive(Default)]
struct Counts {
    run: usize,
    judged_holds: usize,
    judged_broken: usize,
    shown: usize,
    personal_holds: usize,
    personal_broken: usize,
    leaked: usize,
    keyed_holds: usize,
    bounded_holds: usize,
    unbounded: usize,
    /// Runs with a group or a loop in which some guarantee holds, those with a second round, and those with a refinement inside.
    grouped: usize,
    looped: usize,
    refined: usize,
    /// Runs in which some guarantee holds, with a field of elements that a filter or a loop chose.
    chosen: usize,
    /// Runs in which some guarantee holds, and a query, a program or a file is used.
    outside: usize,
}

#[test]
fn no_run_contradicts_a_guarantee_that_holds() {
    let mut counts = Counts::default();
    let cases = Config::default().cases.max(CASES);
    let config = Config { source_file: Some(file!()), ..Config::with_cases(cases) };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let cell = std::cell::RefCell::new(&mut counts);
    let result = runner.run(&proptest::collection::vec(any::<u8>(), 160), |choices| {
        contradicts(&choices, &mut cell.borrow_mut()).map_err(TestCaseError::fail)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // The generator must reach both answers of each question, else the test would say nothing.
    let Counts { run, judged_holds, judged_broken, shown, personal_holds, personal_broken, leaked, keyed_holds, .. } = counts;
    let Counts { bounded_holds, unbounded, grouped, looped, refined, chosen, outside, .. } = counts;
    let told = format!(
        "{run} run; model text: {judged_holds} hold, {judged_broken} broken, {shown} of those shown; personal: {personal_holds} hold, \
         {personal_broken} broken, {leaked} of those seen; keys: {keyed_holds} hold; bounds: {bounded_holds} hold, {unbounded} broken and passed; \
         {grouped} with steps in steps where something holds, {looped} with a second round, {refined} with a refinement inside, {chosen} with a field of chosen elements, \
         {outside} with a query, a program or a file"
    );
    println!("{told}");
    // Of 10,000.
    let enough = [
        (run, 5_000),
        (judged_holds, 1_000),
        (shown, 1_000),
        (personal_holds, 1_000),
        (leaked, 500),
        (keyed_holds, 1_000),
        (bounded_holds, 500),
        (unbounded, 200),
        (grouped, 1_000),
        (looped, 300),
        (refined, 10),
        (chosen, 100),
        (outside, 500),
    ];
    assert!(enough.iter().all(|(count, least)| count * 10_000 > least * cases as usize), "{told}");
}

fn contradicts(choices: &[u8], counts: &mut Counts) -> Result<(), String> {
    let Drawn { main, inner, marked } = Drawn::from(choices);
    let files = MemoryFiles::from_iter([
        ("/p/main.yaml", main.as_str()),
        ("/p/inner.yaml", inner.as_str()),
        ("/p/people.csv", "id,phone\n1,555\n"),
        ("/p/hours.csv", "pid,hours\n1,8\n"),
    ]);
    let checked = check_file(Path::new("/p/main.yaml"), Path::new("/p"), &files);
    if checked.has_errors() {
        return Ok(());
    }
    counts.run += 1;
    let plan = Arc::new(checked.plan);
    let verdict = |guarantee| of(&plan, PipelineId(0), guarantee);
    let seen = Worst::run(&plan, choices.last().copied().unwrap_or_default(), &marked);
    let (judged, personal) = (verdict(Guarantee::ModelTextJudged), verdict(Guarantee::PersonalDeclared));
    let some_holds = [&judged, &personal].iter().any(|verdict| matches!(verdict, GuaranteeVerdict::Holds(_)));
    counts.grouped += usize::from(some_holds && seen.opened > 0);
    counts.looped += usize::from(some_holds && seen.again > 0);
    counts.refined += usize::from(some_holds && seen.refined > 0);
    let is_chosen =
        ["item.", "| first).", "[-1].", "[:1] |", "| reverse |", "| groupby(", "| sort(", "[0].s"].iter().any(|form| main.contains(form));
    counts.chosen += usize::from(some_holds && is_chosen);
    counts.outside += usize::from(some_holds && seen.outside > 0);
    let fails = |what: &str, seen: &[String]| Err(format!("{what} holds, and yet: {}\n{main}\n--- inner\n{inner}", seen.join("\n")));
    match judged {
        GuaranteeVerdict::Holds(_) if !seen.unjudged.is_empty() => return fails("model_text_judged", &seen.unjudged),
        GuaranteeVerdict::Holds(_) => counts.judged_holds += 1,
        GuaranteeVerdict::HoldsIf(_) => {}
        GuaranteeVerdict::Broken(_) => {
            counts.judged_broken += 1;
            counts.shown += usize::from(!seen.unjudged.is_empty());
        }
    }
    match personal {
        GuaranteeVerdict::Holds(_) if !seen.leaks.is_empty() => return fails("personal_declared", &seen.leaks),
        GuaranteeVerdict::Holds(_) => counts.personal_holds += 1,
        GuaranteeVerdict::HoldsIf(_) => {}
        GuaranteeVerdict::Broken(_) => {
            counts.personal_broken += 1;
            counts.leaked += usize::from(!seen.leaks.is_empty());
        }
    }
    match verdict(Guarantee::EffectsKeyed) {
        GuaranteeVerdict::Holds(_) if !seen.keyless.is_empty() => return fails("effects_keyed", &seen.keyless),
        GuaranteeVerdict::Holds(_) => counts.keyed_holds += 1,
        GuaranteeVerdict::HoldsIf(_) | GuaranteeVerdict::Broken(_) => {}
    }
    match verdict(Guarantee::Bounded) {
        GuaranteeVerdict::Holds(_) if !seen.unbounded.is_empty() => return fails("bounded", &seen.unbounded),
        GuaranteeVerdict::Holds(_) => counts.bounded_holds += 1,
        GuaranteeVerdict::HoldsIf(_) => {}
        GuaranteeVerdict::Broken(_) => counts.unbounded += usize::from(!seen.unbounded.is_empty()),
    }
    Ok(())
}
