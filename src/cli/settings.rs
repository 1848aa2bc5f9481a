//! Settings: flag, then `FLOW_…` variable, then the project's `flow.toml`, then the user's own file. Bounds only become narrower.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Shared;
use crate::adapter::environment;
use crate::adapter::files::DiskFiles;
use crate::check::Checked;
use crate::load::{LoadedSettings, SettingsOf, load_settings};
use crate::model::{Limits, Model, Policy};
use crate::report::{self, Findings};

/// What the project and the user have set.
pub(super) struct Settled {
    /// The model called `default` of files that have none.
    pub(super) model: Option<Model>,
    /// The narrowest bounds of both.
    pub(super) limits: Limits,
    /// What the user allows at most.
    pub(super) policy: Option<Policy>,
    /// Hosts in private networks that the user named.
    pub(super) private_hosts: Vec<String>,
}

/// The project's file of settings and the user's own, as far as they are there.
pub(super) fn files(project: &Path) -> Vec<(PathBuf, SettingsOf)> {
    let of_project = (project.join("flow.toml"), SettingsOf::Project);
    std::iter::once(of_project).chain(environment::user_settings().map(|path| (path, SettingsOf::User))).collect()
}

/// Reads all settings.
///
/// # Errors
/// What is wrong with them, drawn for people.
pub(super) fn read(project: &Path, shared: &Shared) -> Result<Settled, String> {
    let mut settled = Settled { model: None, limits: Limits::default(), policy: None, private_hosts: vec![] };
    for (path, of) in files(project) {
        let Some(LoadedSettings { settings, sources, diagnostics }) = load_settings(&path, of, &DiskFiles) else { continue };
        if crate::diagnostic::has_errors(&diagnostics) {
            let findings = Findings::new(&sources, &diagnostics);
            return Err(report::human(&findings, super::validate::colour_on_stderr(shared)).trim_end().to_string());
        }
        settled.private_hosts.extend(settings.private_hosts.into_iter().map(|host| host.value));
        if of == SettingsOf::User {
            let named = settings.default_model.as_ref().and_then(|model| model.base_url.as_ref());
            settled.private_hosts.extend(named.and_then(|url| host(&url.source)));
        }
        settled.model = settled.model.or(settings.default_model);
        settled.limits = narrowest(&settled.limits, &settings.limits);
        if let Some(policy) = settings.policy {
            let of_policy =
                Limits { deadline: policy.max_time, max_cost_usd: policy.max_cost_usd, max_tokens: policy.max_tokens, ..Limits::default() };
            settled.limits = narrowest(&settled.limits, &of_policy);
            settled.policy = Some(policy);
        }
    }
    Ok(settled)
}

/// Gives the model of the settings to every file that has none called `default`.
pub(super) fn give_model(checked: &mut Checked, model: Option<&Model>) {
    let Some(model) = model else { return };
    let of_plan = checked.plan.pipelines.iter_mut().map(|planned| &mut planned.pipeline);
    let programs = [&mut checked.loaded.program, &mut checked.plan.program];
    let all = programs.into_iter().flat_map(|program| &mut program.pipelines).chain(of_plan);
    for pipeline in all.filter(|pipeline| !pipeline.models.contains_key("default")) {
        Arc::make_mut(pipeline).models.insert("default".into(), model.clone());
    }
}

/// The host of an address, if it can be read.
pub(super) fn host(address: &str) -> Option<String> {
    url::Url::parse(address).ok()?.host_str().map(str::to_owned)
}

/// Of each bound the smaller one.
pub(super) fn narrowest(a: &Limits, b: &Limits) -> Limits {
    fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
        [a, b].into_iter().flatten().min()
    }
    Limits {
        deadline: least(a.deadline, b.deadline),
        max_parallel: least(a.max_parallel, b.max_parallel),
        max_tokens: least(a.max_tokens, b.max_tokens),
        max_cost_usd: [a.max_cost_usd, b.max_cost_usd].into_iter().flatten().reduce(f64::min),
        max_steps: least(a.max_steps, b.max_steps),
        span: None,
    }
}
