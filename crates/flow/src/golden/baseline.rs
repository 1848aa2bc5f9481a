//! A baseline: stored test results, and what has become worse or better since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::markdown::code;
use super::outcome::{Outcome, Report};
use crate::adapter::files::{self, FileError, cannot};
use crate::model::read_json;

/// Version of the file, and its maximum size in bytes.
const VERSION: u64 = 1;
const LARGEST: u64 = 64 * 1024 * 1024;
/// Growth of tokens and cost, in percent, and of tokens, as a number, that is still ignored.
const MOST_GROWTH: f64 = 10.0;
const FEW_TOKENS: f64 = 50.0;
/// Maximum number of failed tests, and of lines per test, that are listed.
const MOST_FAILED: usize = 50;

/// The results of all cases, by `FILE/CASE/CHANNEL`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    flow: u64,
    cases: BTreeMap<String, CaseResult>,
}

/// The result of one case on one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseResult {
    passed: usize,
    plays: usize,
    /// Average tokens of one play.
    input_tokens: u64,
    output_tokens: u64,
    /// US dollars of one play; empty: unpriced or unknown.
    cost_usd: Option<f64>,
    /// Upper bound for the tokens of unreported calls in one play.
    #[serde(default, skip_serializing_if = "is_zero")]
    unknown_tokens: u64,
    /// The cases chosen by each route.
    routes: BTreeMap<String, BTreeSet<String>>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl CaseResult {
    fn from_outcome(outcome: &Outcome) -> CaseResult {
        let tally = &outcome.tally;
        let plays = tally.plays.max(1);
        let each = |tokens: u64| tokens.div_ceil(plays as u64);
        // Rounds away differences below a millionth of a cent.
        let round = |usd: f64| (usd / plays as f64 * 1e8).round() / 1e8;
        let chosen = |cases: &BTreeMap<String, usize>| cases.keys().cloned().collect();
        CaseResult {
            passed: tally.passed,
            plays: tally.plays,
            input_tokens: each(tally.usage.input_tokens),
            output_tokens: each(tally.usage.output_tokens),
            cost_usd: tally.usage.cost_usd.map(round),
            unknown_tokens: each(tally.usage.unknown_tokens),
            routes: tally.routes.iter().map(|(route, cases)| (route.clone(), chosen(cases))).collect(),
        }
    }

    fn rate(&self) -> f64 {
        self.passed as f64 / self.plays.max(1) as f64
    }

    fn tokens(&self) -> f64 {
        (self.input_tokens + self.output_tokens) as f64
    }

    /// Distinguishes a model without a price from calls that did not report their usage.
    fn cost(&self) -> String {
        match self.cost_usd {
            Some(usd) => format!("${usd}"),
            None if self.input_tokens + self.output_tokens == 0 && self.unknown_tokens > 0 => "unknown".to_owned(),
            None => "unpriced".to_owned(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{file} not found; flow test --baseline {file} --update writes it", file = .0.display())]
    Missing(PathBuf),
    #[error("{}: version {version} of a baseline is not known", file.display())]
    Version { file: PathBuf, version: u64 },
}

impl Baseline {
    /// Reads a baseline. Errors: the file cannot be read, or is not a baseline.
    pub fn read(file: &Path) -> Result<Baseline, BaselineError> {
        let text = match files::read_text(file, LARGEST) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(BaselineError::Missing(file.to_path_buf())),
            text => text.map_err(cannot("read", file))?,
        };
        let value = read_json(&text).map_err(cannot("read", file))?;
        let baseline: Baseline = serde_json::from_value(value).map_err(cannot("read", file))?;
        match baseline.flow {
            VERSION => Ok(baseline),
            version => Err(BaselineError::Version { file: file.to_path_buf(), version }),
        }
    }

    /// Creates a baseline from a report. Cases of `before` that were not run are kept, unless `is_gone` says they no longer exist.
    pub fn from_report(report: &Report, before: Option<Baseline>, is_gone: &dyn Fn(&str) -> bool) -> Baseline {
        let mut cases: BTreeMap<String, CaseResult> = before.map(|before| before.cases).unwrap_or_default();
        cases.retain(|name, _| !is_gone(name));
        cases.extend(report.outcomes.iter().map(|outcome| (outcome.name.clone(), CaseResult::from_outcome(outcome))));
        Baseline { flow: VERSION, cases }
    }

    /// Writes the baseline, sorted and atomically. Errors: the file cannot be written.
    pub fn write(&self, file: &Path) -> std::io::Result<()> {
        super::file::write(file, &(serde_json::to_string_pretty(self)? + "\n"))
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Judgement {
    Worse,
    Better,
    New,
}

struct BaselineLine {
    judgement: Judgement,
    case: String,
    what: String,
    before: String,
    now: String,
}

impl BaselineLine {
    fn new(judgement: Judgement, case: &str, what: &str, before: String, now: String) -> BaselineLine {
        BaselineLine { judgement, case: case.to_owned(), what: what.to_owned(), before, now }
    }
}

/// Results that have become worse or better.
pub struct Comparison {
    lines: Vec<BaselineLine>,
    as_before: usize,
    failed: Vec<String>,
}

impl Comparison {
    /// Compares a report with a baseline. `is_gone` says which cases no longer exist.
    pub fn between(report: &Report, baseline: &Baseline, is_gone: &dyn Fn(&str) -> bool) -> Comparison {
        let mut lines = vec![];
        let mut as_before = 0;
        for outcome in &report.outcomes {
            let now = CaseResult::from_outcome(outcome);
            let count = lines.len();
            match baseline.cases.get(&outcome.name) {
                Some(before) => compare(&outcome.name, before, &now, &mut lines),
                None => {
                    let judgement = if now.passed < now.plays { Judgement::Worse } else { Judgement::New };
                    lines.push(BaselineLine::new(judgement, &outcome.name, "new case", String::new(), passed(&now)));
                }
            }
            as_before += usize::from(lines.len() == count);
        }
        for (name, before) in baseline.cases.iter().filter(|(name, _)| is_gone(name)) {
            lines.push(BaselineLine::new(Judgement::Worse, name, "case is gone", passed(before), String::new()));
        }
        for broken in &report.broken {
            let now = broken.lines.first().cloned().unwrap_or_default();
            lines.push(BaselineLine::new(Judgement::Worse, &broken.file, "file has errors", String::new(), now));
        }
        lines.sort_by(|one, two| (one.judgement, &one.case).cmp(&(two.judgement, &two.case)));
        let bad = report.outcomes.iter().filter(|outcome| !outcome.complaints.is_empty());
        let failed = bad.map(|outcome| {
            let message = outcome.complaints.first().map_or("", |complaint| complaint.message.as_str());
            format!("- {}: {}", code(&outcome.name), code(message))
        });
        Comparison { lines, as_before, failed: failed.collect() }
    }

    /// Returns how many results have become worse.
    pub fn worse(&self) -> usize {
        self.lines.iter().filter(|line| line.judgement == Judgement::Worse).count()
    }

    /// Formats the comparison as Markdown, for a pull request.
    pub fn markdown(&self, file: &Path) -> String {
        let count = |judgement| self.lines.iter().filter(|line| line.judgement == judgement).count();
        let (worse, better, new) = (self.worse(), count(Judgement::Better), count(Judgement::New));
        let mut out = format!("## Tests against {}\n\n", code(&file.display().to_string()));
        out.push_str(&format!("**{worse} worse**, {better} better, {new} new, {} cases as before\n", self.as_before));
        if !self.lines.is_empty() {
            out.push_str("\n| | case | what | before | now |\n|---|---|---|---|---|\n");
        }
        for line in &self.lines {
            let word = match line.judgement {
                Judgement::Worse => "**worse**",
                Judgement::Better => "better",
                Judgement::New => "new",
            };
            let (case, what, before, now) = (code(&line.case), code(&line.what), code(&line.before), code(&line.now));
            out.push_str(&format!("| {word} | {case} | {what} | {before} | {now} |\n"));
        }
        if !self.failed.is_empty() {
            out.push_str("\n### Failed\n\n");
            self.failed.iter().take(MOST_FAILED).for_each(|line| out.push_str(&format!("{line}\n")));
            if self.failed.len() > MOST_FAILED {
                out.push_str(&format!("- and {} more\n", self.failed.len() - MOST_FAILED));
            }
        }
        out
    }
}

fn compare(name: &str, before: &CaseResult, now: &CaseResult, lines: &mut Vec<BaselineLine>) {
    let mut tell = |judgement, what: &str, before: String, now: String| {
        lines.push(BaselineLine::new(judgement, name, what, before, now));
    };
    match now.rate().total_cmp(&before.rate()) {
        std::cmp::Ordering::Less => tell(Judgement::Worse, "passed", passed(before), passed(now)),
        std::cmp::Ordering::Greater => tell(Judgement::Better, "passed", passed(before), passed(now)),
        std::cmp::Ordering::Equal => {}
    }
    if let Some(judgement) = growth(before.tokens(), now.tokens(), FEW_TOKENS) {
        let shown = |case: &CaseResult| format!("{} in, {} out", case.input_tokens, case.output_tokens);
        tell(judgement, "tokens of a run", shown(before), shown(now));
    }
    let judgement = match (before.cost_usd, now.cost_usd) {
        (Some(before), Some(now)) => growth(before, now, 0.0),
        (Some(_), None) => Some(Judgement::Worse),
        (None, _) => None,
    };
    if let Some(judgement) = judgement {
        tell(judgement, "cost of a run", before.cost(), now.cost());
    }
    let routes: BTreeSet<&String> = before.routes.keys().chain(now.routes.keys()).collect();
    for route in routes {
        let chosen = |case: &CaseResult| {
            case.routes.get(route).map_or("none".to_string(), |cases| cases.iter().cloned().collect::<Vec<_>>().join(", "))
        };
        if before.routes.get(route) != now.routes.get(route) {
            tell(Judgement::Worse, &format!("route {route} chose"), chosen(before), chosen(now));
        }
    }
}

/// Returns a judgement if the change is more than a tenth and more than `few`.
fn growth(before: f64, now: f64, few: f64) -> Option<Judgement> {
    let is_much = (now - before).abs() > few && (now - before).abs() > before * MOST_GROWTH / 100.0;
    is_much.then_some(if now > before { Judgement::Worse } else { Judgement::Better })
}

fn passed(case: &CaseResult) -> String {
    match (case.passed, case.plays) {
        (1, 1) => "passed".to_string(),
        (0, 1) => "failed".to_string(),
        (passed, plays) => format!("{passed} of {plays}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;
    use crate::golden::outcome::{Complaint, Tally};

    fn outcome(name: &str, passed: usize, plays: usize, tokens: u64, route: &str) -> Outcome {
        let routes = BTreeMap::from([("plan".to_string(), BTreeMap::from([(route.to_string(), plays)]))]);
        let usage = Usage {
            input_tokens: tokens * plays as u64,
            output_tokens: 0,
            cost_usd: Some(0.001 * (tokens * plays as u64) as f64),
            ..Usage::default()
        };
        let complaint = Complaint { message: "status: expected a|b".into(), line: None, diff: None };
        Outcome {
            file: "a.test.yaml".into(),
            case: name.into(),
            line: 1,
            channel: None,
            model: None,
            name: format!("a.test.yaml/{name}"),
            complaints: if passed < plays { vec![complaint] } else { vec![] },
            golden: None,
            recorded: None,
            mutants: vec![],
            tally: Tally { plays, passed, usage, routes, ..Tally::default() },
        }
    }

    fn report(outcomes: Vec<Outcome>) -> Report {
        Report { outcomes, ..Report::default() }
    }

    #[test]
    fn what_became_worse_is_told_by_the_rules_and_nothing_else() {
        let before =
            report(vec![outcome("same", 1, 1, 1000, "week"), outcome("known", 7, 10, 1000, "week"), outcome("gone", 1, 1, 0, "week")]);
        let baseline = Baseline::from_report(&before, None, &|_| false);
        let now =
            report(vec![outcome("same", 1, 1, 1099, "week"), outcome("known", 14, 20, 1000, "week"), outcome("fresh", 1, 1, 0, "week")]);
        let fine = Comparison::between(&now, &baseline, &|_| false);
        assert_eq!((fine.worse(), fine.as_before), (0, 2));
        let now = report(vec![outcome("same", 1, 1, 1101, "month"), outcome("known", 6, 10, 100, "week")]);
        let worse = Comparison::between(&now, &baseline, &|name| name.ends_with("gone"));
        insta::assert_snapshot!(worse.markdown(Path::new("base.json")), @r"
        ## Tests against `base.json`

        **5 worse**, 2 better, 0 new, 0 cases as before

        | | case | what | before | now |
        |---|---|---|---|---|
        | **worse** | `a.test.yaml/gone` | `case is gone` | `passed` |  |
        | **worse** | `a.test.yaml/known` | `passed` | `7 of 10` | `6 of 10` |
        | **worse** | `a.test.yaml/same` | `tokens of a run` | `1000 in, 0 out` | `1101 in, 0 out` |
        | **worse** | `a.test.yaml/same` | `cost of a run` | `$1` | `$1.101` |
        | **worse** | `a.test.yaml/same` | `route plan chose` | `week` | `month` |
        | better | `a.test.yaml/known` | `tokens of a run` | `1000 in, 0 out` | `100 in, 0 out` |
        | better | `a.test.yaml/known` | `cost of a run` | `$1` | `$0.1` |

        ### Failed

        - `a.test.yaml/known`: `status: expected a\x7Cb`
        ");
    }

    #[test]
    fn a_cost_that_is_no_longer_known_is_unknown_where_no_call_reported_its_use_and_else_unpriced() {
        let file = "a.test.yaml/a";
        let of = |usage: Usage| {
            let mut outcome = outcome("a", 1, 1, 1000, "week");
            outcome.tally.usage = usage;
            report(vec![outcome])
        };
        let priced = Usage { input_tokens: 1000, cost_usd: Some(1.0), ..Usage::default() };
        let baseline = Baseline::from_report(&of(priced), None, &|_| false);
        let cost = |usage: Usage| {
            let comparison = Comparison::between(&of(usage), &baseline, &|_| false);
            let line = comparison.lines.iter().find(|line| line.case == file && line.what == "cost of a run").unwrap();
            (line.judgement, line.before.clone(), line.now.clone())
        };
        let told = |now: &str| (Judgement::Worse, "$1".to_owned(), now.to_owned());
        assert_eq!(cost(Usage { unknown_tokens: 300, ..Usage::default() }), told("unknown"));
        assert_eq!(cost(Usage { cost_usd: None, unknown_tokens: 300, ..priced }), told("unpriced"));
        assert_eq!(cost(Usage { cost_usd: None, ..priced }), told("unpriced"));
        // A baseline keeps unpriced and unknown costs apart.
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("base.json");
        let unknown = Baseline::from_report(&of(Usage { unknown_tokens: 300, ..Usage::default() }), None, &|_| false);
        unknown.write(&path).unwrap();
        let read = Baseline::read(&path).unwrap();
        assert_eq!((read.cases[file].cost(), &read), ("unknown".to_owned(), &unknown));
        baseline.write(&path).unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("unknown"));
    }

    #[test]
    fn a_baseline_that_is_read_is_the_one_that_was_written_and_keeps_what_was_not_run() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("base.json");
        assert!(Baseline::read(&file).unwrap_err().to_string().contains("--update writes it"));
        let first = Baseline::from_report(&report(vec![outcome("a", 1, 1, 10, "week"), outcome("b", 1, 1, 10, "week")]), None, &|_| false);
        first.write(&file).unwrap();
        assert_eq!(Baseline::read(&file).unwrap(), first.clone());
        let second = Baseline::from_report(&report(vec![outcome("c", 1, 1, 10, "week")]), Some(first), &|name| name.ends_with("/b"));
        assert_eq!(second.cases.keys().map(String::as_str).collect::<Vec<_>>(), ["a.test.yaml/a", "a.test.yaml/c"]);
        for (text, told) in [("{}", "missing field"), ("{\"flow\": 2, \"cases\": {}}", "version 2"), ("x", "cannot read")] {
            std::fs::write(&file, text).unwrap();
            assert!(Baseline::read(&file).unwrap_err().to_string().contains(told), "{text}");
        }
    }
}
