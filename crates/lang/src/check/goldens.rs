//! F702: goldens that no case has, as far as that can be told without a run.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic, Near, did_you_mean, quoted};
use crate::model::{Channels, Pipeline, TestCase, TestFile};
use crate::port::Files;

/// Most findings of one test file.
const MOST: usize = 20;

/// The folder of a test file's goldens: those of each case are in a folder of its name.
pub fn goldens_of(test: &Path) -> PathBuf {
    let stem = test.file_stem().unwrap_or_default();
    test.with_file_name("goldens").join(stem)
}

/// F702 for folders of no case, of cases without `golden: true`, and for files of channels that the case does not run on. Whether a case
/// has `sms.txt` or `outputs.json` follows from what the run sends; that is left to `flow test`.
pub(super) fn orphans(path: &Path, tests: &TestFile, pipeline: Option<&Pipeline>, files: &dyn Files, out: &mut Vec<Diagnostic>) {
    let folder = goldens_of(path);
    let names = |folder: &Path| files.names(folder).into_iter().filter(|name| !name.starts_with('.'));
    let shown = |below: &Path| {
        let home = path.parent().unwrap_or(Path::new(""));
        below.strip_prefix(home).unwrap_or(below).to_string_lossy().replace('\\', "/")
    };
    let mut report = |span, below: &Path, why: String, near: Near, help: &str| {
        if out.len() < MOST {
            out.push(Diagnostic::new(Code::GoldenOrphan, span, format!("{} belongs to no case{why}", shown(below))).near(near).help(help));
        }
    };
    for name in names(&folder) {
        let own = folder.join(&name);
        let Some(case) = tests.cases.iter().find(|case| case.id.value == name) else {
            let without: Vec<&str> = tests.cases.iter().filter(|case| case.golden).map(|case| case.id.as_str()).collect();
            let near = did_you_mean(&name, without);
            report(tests.pipeline.span, &own, near.to_string(), near, "remove it, or restore the name of the case");
            continue;
        };
        if !case.golden {
            let why = format!(": {} has no golden: true", quoted(&case.id.value));
            report(case.id.span, &own, why, Near::default(), "add golden: true to the case, or remove the folder");
            continue;
        }
        let Some(channels) = channels_of(case, pipeline) else { continue };
        for file in names(&own) {
            let channel = file.split('.').next().unwrap_or_default();
            if channel != "outputs" && !channels.contains(&channel) {
                let why = format!(": {} does not run on {}", quoted(&case.id.value), quoted(channel));
                report(case.id.span, &own.join(&file), why, Near::default(), "remove it, or add the channel to the case");
            }
        }
    }
}

/// What its goldens may be called; `None`: not known.
fn channels_of<'a>(case: &'a TestCase, pipeline: Option<&'a Pipeline>) -> Option<Vec<&'a str>> {
    match &case.channels {
        Channels::Named(names) => Some(names.iter().map(|name| name.value.as_str()).collect()),
        Channels::Default => pipeline.map(|pipeline| vec![pipeline.channels.first().map_or("sent", |channel| channel.name.as_str())]),
    }
}
