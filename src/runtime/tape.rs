//! `--record` and `--replay`: the tape of a run.

use std::path::{Path, PathBuf};

use crate::adapter::cassette::{Cassette, CassetteError, Head, Mode, head, is_free};
use crate::adapter::files::{self, FileError, cannot};
use crate::engine::Unscripted;
use crate::event::TapeOf;
use crate::model::{Model, Program, Provider, Read};

/// Where the traffic of a run is kept, or comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Taping {
    #[default]
    None,
    Record(PathBuf),
    Replay(PathBuf, Head),
}

/// Why nothing can be recorded or replayed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TapingError {
    #[error("--record {}: {why}{source}", folder.display())]
    NoFolder { folder: PathBuf, why: &'static str, source: std::io::Error },
    #[error("--record {}: there is something already; name a new folder, or remove it", .0.display())]
    NotEmpty(PathBuf),
    #[error("--replay: {0}")]
    Replay(#[from] CassetteError),
}

impl Taping {
    /// What the options say; nothing is written yet.
    ///
    /// # Errors
    /// The folder to record into is not empty, the one to replay from holds no recordings.
    pub(crate) fn new(record: Option<&Path>, replay: Option<&Path>) -> Result<Taping, TapingError> {
        let no_folder =
            |why: &'static str| move |source| TapingError::NoFolder { folder: record.unwrap_or(Path::new("")).to_path_buf(), why, source };
        match (record, replay) {
            (Some(folder), _) if is_free(folder) => {
                if folder.is_relative() {
                    files::stays_in(Path::new(""), folder).map_err(no_folder(""))?;
                }
                files::private_folder(folder).map_err(no_folder("it cannot be made: "))?;
                Ok(Taping::Record(folder.to_path_buf()))
            }
            (Some(folder), _) => Err(TapingError::NotEmpty(folder.to_path_buf())),
            (None, Some(folder)) => Ok(Taping::Replay(folder.to_path_buf(), head(folder)?)),
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
    /// The recordings cannot be written.
    pub(crate) fn finish(&self, tape: &Cassette, head: &Head) -> Result<Option<Recorded>, FileError> {
        let Taping::Record(folder) = self else { return Ok(None) };
        let lost = tape.write(folder, head).map_err(cannot("write the recordings in", folder))?;
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
        let is_clock = |read: &Read| match read.path.as_slice() {
            [root, name, ..] => root == "run" && !NO_CLOCK.contains(&name.as_str()),
            path => path == ["run"],
        };
        pipeline.each_text(&mut |authored| reads |= authored.text().is_some_and(|text| text.reads.iter().any(is_clock)));
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
