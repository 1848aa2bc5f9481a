//! `flow test`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arguments::{NoTests, SharedOptions, TestFormat, TestOptions};
use super::changed::Changes;
use super::refusal::Refusal;
use super::{Exit, stdout, trust, validate};
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::environment;
use crate::adapter::files::{cannot, may_write, open_to_write};
use crate::adapter::mcp::auth::LoginCommand;
use crate::adapter::stdout::Silent;
use crate::check::{add_edits, check_file};
use crate::diagnostic::{Diagnostic, visible};
use crate::golden::{self, Baseline, Broken, Comparison, Golden, LiveModels, Report, Suite, report};
use crate::port::{AskedFiles, Files};
use crate::report::{Diff, Findings};
use crate::runtime::{give_model, own_files, settings, shown_path, world};

/// Runs tests.
pub(super) fn run(options: &TestOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let baseline = options.baseline.as_deref().map(|file| (file, Baseline::read(file)));
    refuse(options, baseline.as_ref())?;
    let (live, private_hosts) = if options.record || options.live { live(options, shared)? } else { (None, vec![]) };
    let changes = Changes::from_option(&options.changed, shared)?;
    let paths = files(options, shared)?;
    let (suites, broken, touched) = suites(&paths, changes.as_ref(), live.as_ref(), options, shared)?;
    for file in options.junit.iter().chain(&options.summary) {
        may_write(file).map_err(cannot("write", file)).map_err(Refusal::usage)?;
    }
    let own = own_files(Path::new("."), None, shared.env_file.as_deref(), None)?;
    let how = golden::TrialOptions {
        filter: options.filter.as_deref(),
        update: options.update && options.baseline.is_none(),
        ports: world::ports(
            Arc::new(Silent),
            own.clone(),
            private_hosts,
            Arc::default(),
            None,
            LoginCommand::default(),
            &settings::of_user()?.readable,
        ),
        rules: world::rules_of_ports(own),
        live,
        repeat: options.repeat as usize,
        mutate: options.mutate,
    };
    let mut found = Report { broken, ..golden::run(&suites, &how) };
    if let Some(changes) = &changes {
        accepted(&mut found, changes);
    }
    for suite in suites.iter().filter(|suite| !how.compares() && !suite.test.models.is_empty() && !shared.quiet) {
        tell!("models of {} is used only with --live", shown_path(&suite.path));
    }
    let is_gone = |name: &str| is_gone(name, &suites, &found, options);
    let compared = match &baseline {
        Some((file, Ok(before))) => Some((*file, Comparison::between(&found, before, &is_gone))),
        _ => None,
    };
    let text = match &compared {
        Some((file, compared)) => compared.markdown(file),
        None => drawn(&found, options, shared),
    };
    let printed = stdout::print(&text);
    write(&found, options)?;
    if let Some(changes) = changes.as_ref().filter(|_| !shared.quiet) {
        tell!("{}", changes.summary(touched, paths.len()));
    }
    let is_empty = found.outcomes.is_empty() && found.broken.is_empty();
    if !shared.quiet && !is_empty {
        tell!("{}", report::summary(&found));
    }
    let is_good = match (baseline, compared) {
        (Some((file, before)), _) if options.update => {
            Baseline::from_report(&found, before.ok(), &is_gone).write(file).map_err(lost(file))?;
            found.broken.is_empty()
        }
        (_, Some((_, compared))) => compared.worse() == 0 && found.orphans.is_empty(),
        _ => found.is_good() && report::survived(&found) == 0,
    };
    if printed != Exit::Ok || !is_good {
        return Ok(printed.or(Exit::Findings));
    }
    let is_untouched = changes.is_some() && touched == 0;
    if found.outcomes.is_empty() && options.no_tests == NoTests::Fail && !is_untouched {
        return Err(Refusal::new(Exit::NothingRan, no_test(options)));
    }
    Ok(Exit::Ok)
}

/// Errors: conflicting options, options that are not allowed if CI is set, or a file to be overwritten that is not a baseline.
fn refuse(options: &TestOptions, baseline: Option<&(&Path, Result<Baseline, impl std::fmt::Display>)>) -> Result<(), Refusal> {
    let in_ci = environment::is_set("CI");
    let refused = [
        (options.update && in_ci, "--update is not allowed where CI is set: a person must review goldens"),
        (options.update && options.repeat > 1 && options.baseline.is_none(), "--update writes the results of one run; omit --repeat"),
        (options.record && in_ci, "--record is not allowed where CI is set: a person must review recordings"),
    ];
    if let Some((_, why)) = refused.into_iter().find(|(is_refused, _)| *is_refused) {
        return Err(Refusal::usage(why));
    }
    let Some((file, read)) = baseline else { return Ok(()) };
    if let (Err(why), true) = (read, !options.update || file.exists()) {
        return Err(Refusal::usage(why));
    }
    if options.update {
        golden::may_write(file).map_err(cannot("write", file)).map_err(Refusal::usage)?;
    }
    Ok(())
}

/// Returns the tests of files that the change affects, those with errors, and the number of affected files.
fn suites(
    paths: &[PathBuf],
    changes: Option<&Changes>,
    live: Option<&LiveModels>,
    options: &TestOptions,
    shared: &SharedOptions,
) -> Result<(Vec<Suite>, Vec<Broken>, usize), Refusal> {
    let (mut suites, mut broken) = (vec![], vec![]);
    let mut touched = 0;
    for path in paths {
        let project = shared.project_of(path);
        let asked = AskedFiles::over(&DiskFiles);
        let mut checked = check_file(path, &project, &asked);
        let is_touched = |changes: &Changes| {
            changes.touch_file(path, &checked, asked) || changes.touch_data(path, &checked) || changes.touch_named(path, &checked)
        };
        if !changes.is_none_or(is_touched) {
            continue;
        }
        touched += 1;
        if checked.has_errors() {
            add_edits(&mut checked, path, &project, &DiskFiles);
        }
        let errors = checked.errors();
        if errors.is_empty() {
            if live.is_some()
                && let Some(tests) = &checked.loaded.tests
            {
                trust::consent(&checked, &tests.pipeline.value, options.trust.is_given, shared)?;
            }
            let of_settings = live.and_then(|live| live.settings_model.as_ref());
            let is_given = of_settings.is_some_and(|model| give_model(&mut checked, model));
            suites.extend(Suite::new(path, checked.loaded, Arc::new(checked.plan), is_given));
        } else {
            broken.push(mistakes(path, &Findings::new(&checked.loaded.sources, &errors), shared));
        }
    }
    Ok((suites, broken, touched))
}

/// Marks goldens that match this run and were modified by the change, with the difference to their earlier content.
fn accepted(found: &mut Report, changes: &Changes) {
    let goldens = found.outcomes.iter_mut().filter_map(|outcome| outcome.golden.as_mut());
    for golden in goldens.filter(|golden| golden.state == Golden::Same && changes.has(&golden.path)) {
        let before = changes.before(&golden.path).unwrap_or_default();
        golden.diff = DiskFiles.read_text(&golden.path).ok().and_then(|now| Diff::between(&before, &now));
        golden.state = if golden.diff.is_some() { Golden::Accepted } else { Golden::Same };
    }
}

fn lost(file: &Path) -> impl FnOnce(std::io::Error) -> Refusal {
    let cannot = cannot::<std::io::Error>("write", file);
    move |error| Refusal::new(Exit::Failed, cannot(error))
}

/// Writes the reports that are requested as files.
fn write(found: &Report, options: &TestOptions) -> Result<(), Refusal> {
    if let Some(file) = &options.junit {
        std::fs::write(file, report::junit(found)).map_err(lost(file))?;
    }
    if let Some(file) = &options.summary {
        let append = |text: String| open_to_write(file, false)?.write_all(text.as_bytes());
        append(report::markdown(found)).map_err(lost(file))?;
    }
    Ok(())
}

/// Returns why there is nothing to run.
fn no_test(options: &TestOptions) -> String {
    if let Some(text) = &options.filter {
        return format!("no test matches \"{}\"", visible(text));
    }
    let named: Vec<String> = options.paths.iter().map(|path| shown_path(path)).collect();
    let place = if named.is_empty() { "this project".to_string() } else { named.join(", ") };
    format!("no test found in {place}: name test files *.test.yaml, or add tests to a pipeline")
}

/// Whether a case of a baseline no longer exists: it was not run although its whole file was.
fn is_gone(name: &str, suites: &[Suite], found: &Report, options: &TestOptions) -> bool {
    let is_in = |file: &str| name.strip_prefix(file).is_some_and(|rest| rest.starts_with('/'));
    let all_was_run =
        options.filter.is_none() && (options.paths.is_empty() || suites.iter().any(|suite| is_in(&suite.path.display().to_string())));
    all_was_run && !found.broken.iter().any(|broken| is_in(&broken.file)) && found.outcomes.iter().all(|outcome| outcome.name != name)
}

/// Returns the options for calling models, and the hosts in private networks that the user allows.
fn live(options: &TestOptions, shared: &SharedOptions) -> Result<(Option<LiveModels>, Vec<String>), Refusal> {
    let env = shared.variables()?;
    let default_model = world::default_model(&env)?;
    let settled = settings::read(&shared.current_project())?;
    let hosts = settled.hosts_with(&env);
    Ok((Some(LiveModels { env, default_model, policy: settled.policy, settings_model: settled.model, keeps: options.record }), hosts))
}

/// Returns the files with tests: of the named paths, or else of the project.
fn files(options: &TestOptions, shared: &SharedOptions) -> Result<Vec<PathBuf>, Refusal> {
    let nothing = |error: golden::DiscoverError| Refusal::new(Exit::NothingRan, error);
    let project = [shared.current_project()];
    let (paths, is_whole) = if options.paths.is_empty() { (&project[..], true) } else { (&options.paths[..], false) };
    let found = golden::discover(paths).map_err(nothing)?;
    for (file, name) in golden::misnamed(paths).iter().filter(|_| !shared.quiet) {
        let file = validate::relative(vec![file.clone()]).remove(0);
        tell!("not run: {}: its name does not end in .test.yaml; rename it to {}", shown_path(&file), visible(name));
    }
    Ok(if is_whole { validate::relative(found) } else { found })
}

fn mistakes(path: &Path, findings: &Findings, shared: &SharedOptions) -> Broken {
    let line = |found: &Diagnostic| format!("{} {}: {}", found.code.id(), findings.sources.place(found.span), found.message);
    Broken {
        file: path.display().to_string(),
        drawn: crate::report::human(findings, shared.look()),
        lines: findings.shown.iter().map(line).collect(),
    }
}

fn drawn(found: &Report, options: &TestOptions, shared: &SharedOptions) -> String {
    let format = if options.json { TestFormat::Json } else { options.format.unwrap_or(TestFormat::Human) };
    match format {
        TestFormat::Human => report::human(found, shared.look().is_coloured, shared.quiet),
        TestFormat::Json => report::json(found),
        TestFormat::Junit => report::junit(found),
        TestFormat::Markdown => report::markdown(found),
    }
}
