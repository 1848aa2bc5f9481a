//! `--record` and `--replay`: the tape of a run.

use std::path::{Path, PathBuf};

use crate::adapter::cassette::{Cassette, Head, Mode, head, is_free};
use crate::adapter::files;
use crate::engine::Unscripted;
use crate::event::TapeOf;
use crate::model::{Model, Program, Provider};
use crate::rules;

/// Where the traffic of a run is kept, or comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Taping {
    #[default]
    None,
    Record(PathBuf),
    Replay(PathBuf, Head),
}

impl Taping {
    /// What the options say; nothing is written yet.
    ///
    /// # Errors
    /// The folder to record into is not empty, the one to replay from holds no recordings; as a sentence.
    pub(crate) fn new(record: Option<&Path>, replay: Option<&Path>) -> Result<Taping, String> {
        match (record, replay) {
            (Some(folder), _) if is_free(folder) => {
                if folder.is_relative() {
                    files::stays_in(Path::new(""), folder).map_err(|e| format!("--record {}: {e}", folder.display()))?;
                }
                files::private_folder(folder).map_err(|e| format!("--record {}: it cannot be made: {e}", folder.display()))?;
                Ok(Taping::Record(folder.to_path_buf()))
            }
            (Some(folder), _) => Err(format!("--record {}: there is something already; name a new folder, or remove it", folder.display())),
            (None, Some(folder)) => Ok(Taping::Replay(folder.to_path_buf(), head(folder).map_err(|why| format!("--replay: {why}"))?)),
            (None, None) => Ok(Taping::None),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match self {
            Taping::None => Mode::Live,
            Taping::Record(_) => Mode::Record,
            Taping::Replay(folder, _) => Mode::Replay(folder.clone()),
        }
    }

    pub(crate) fn unscripted(&self) -> Unscripted {
        match self {
            Taping::Replay(folder, _) => Unscripted::Recorded(folder.clone()),
            _ => Unscripted::Live,
        }
    }

    /// What the first event of the run says about it.
    pub(crate) fn told(&self) -> Option<TapeOf> {
        let (folder, is_replay) = match self {
            Taping::None => return None,
            Taping::Record(folder) => (folder, false),
            Taping::Replay(folder, _) => (folder, true),
        };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone()).display().to_string();
        Some(TapeOf { folder, is_replay })
    }

    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, Taping::Replay(..))
    }

    /// The time of the recorded run, where its files read the clock.
    pub(crate) fn now(&self) -> Option<&str> {
        match self {
            Taping::Replay(_, head) => head.now.as_deref(),
            _ => None,
        }
    }

    /// The model called `default`: of the variables, else the recordings where a variable stood for it then.
    pub(crate) fn default_model(&self, of_variables: Option<Model>) -> Option<Model> {
        match self {
            Taping::Replay(folder, head) if head.default_model_replaced => {
                of_variables.or_else(|| Some(Model::new(Provider::Replay(folder.clone()))))
            }
            _ => of_variables,
        }
    }

    /// The model of files that have none, where one of the settings stood there when it was recorded: a replay asks the recordings, whatever
    /// the settings here say.
    pub(crate) fn given_model(&self) -> Option<Model> {
        match self {
            Taping::Replay(folder, head) if head.default_model_given => Some(Model::new(Provider::Replay(folder.clone()))),
            _ => None,
        }
    }

    /// Writes what was recorded. `None`: nothing was to be recorded.
    ///
    /// # Errors
    /// The recordings cannot be written; as a sentence.
    pub(crate) fn finish(&self, tape: &Cassette, head: &Head) -> Result<Option<Recorded>, String> {
        let Taping::Record(folder) = self else { return Ok(None) };
        let lost = tape.write(folder, head).map_err(|e| format!("cannot write the recordings in {}: {e}", folder.display()))?;
        Ok(Some(Recorded { folder: folder.clone(), calls: tape.count(), lost }))
    }
}

/// What was recorded of a run.
pub(crate) struct Recorded {
    /// Where.
    pub(crate) folder: PathBuf,
    /// How many calls.
    pub(crate) calls: usize,
    /// What stands there in other words than were sent.
    pub(crate) lost: Vec<String>,
}

/// What `run` tells besides the clock.
const NO_CLOCK: [&str; 2] = ["id", "time_zone"];

/// Whether any pipeline, or a reply written for one, reads the clock of the run, so that a replay needs the time of its recording.
pub(crate) fn reads_clock(program: &Program) -> bool {
    let mut reads = false;
    for pipeline in &program.pipelines {
        rules::reads(pipeline, &mut |read| match read.path.as_slice() {
            [root, name, ..] if root == "run" => reads |= !NO_CLOCK.contains(&name.as_str()),
            [root] => reads |= root == "run",
            _ => {}
        });
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(set: &str, replies: &str) -> bool {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("p.yaml");
        let text = format!(
            "flow: 1\nname: p\n# {{{{ run.now }}}} is only a remark\ndescription: It tells run.now to nobody.\nmodels: {{ default: {{ provider: scripted, replies: r.yaml }} }}\nagents: {{ a: {{ instructions: You write. }} }}\nsteps:\n  - {{ id: ask, agent: a, prompt: Hi }}\n  - id: s\n    set: '{set}'\noutputs: {{ s: \"{{{{ steps.s.output }}}}\" }}\n"
        );
        std::fs::write(&file, text).unwrap();
        std::fs::write(home.path().join("r.yaml"), format!("flow: 1\nreplies:\n  ask: '{replies}'\n")).unwrap();
        let checked = crate::check::check_file(&file, home.path(), &crate::adapter::files::DiskFiles);
        assert!(checked.errors().is_empty(), "{set}: {:?}", checked.errors());
        reads_clock(&checked.loaded.program)
    }

    #[test]
    fn the_clock_is_read_however_it_is_written() {
        for set in ["{{ run.now }}", "{{ run[\"now\"] }}", "{{ run . today }}", "{{ run.week_start | default(1) }}", "{{ run }}"] {
            assert!(reads(set, "x"), "{set}");
        }
        for set in ["{{ run.id }}", "run.now", "{{ run.id | default(\"run.now\") }}"] {
            assert!(!reads(set, "x"), "{set}");
        }
        assert!(reads("x", "It is {{ run.now }}."));
    }
}
