//! Recordings: where the calls of a run are recorded to, or replayed from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::world::declared;
use crate::adapter::cassette::{Cassette, CassetteError, Head, Mode, head, is_free};
use crate::adapter::files::{self, FileError, cannot};
use crate::engine::Unscripted;
use crate::event::TapeOf;
use crate::model::{Model, Pipeline, Program, Provider, Read};
use crate::port::Secret;

/// Where a run's calls are recorded to, or replayed from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Taping {
    /// No recording or replay.
    #[default]
    None,
    /// Answers are recorded in this folder.
    Record(PathBuf),
    /// Answers come from this folder.
    Replay(PathBuf),
}

/// Why a recording or a replay is not possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum TapingError {
    #[error("record {}: {why}{source}", folder.display())]
    NoFolder { folder: PathBuf, why: &'static str, source: std::io::Error },
    #[error("record {}: there is something already; name a new folder, or remove it", .0.display())]
    NotEmpty(PathBuf),
    #[error("replay: {0}")]
    Replay(#[from] CassetteError),
}

impl Taping {
    /// Creates the folder to record into, or reads the head of the recordings. Errors: the folder to record into is not empty, or the one
    /// to replay from has no recordings.
    pub fn open(&self) -> Result<Option<Head>, TapingError> {
        match self {
            Taping::None => Ok(None),
            Taping::Replay(folder) => Ok(Some(head(folder)?)),
            Taping::Record(folder) if !is_free(folder) => Err(TapingError::NotEmpty(folder.clone())),
            Taping::Record(folder) => {
                let no_folder = |why| move |source| TapingError::NoFolder { folder: folder.clone(), why, source };
                if folder.is_relative() {
                    files::stays_in(Path::new(""), folder).map_err(no_folder(""))?;
                }
                files::private_folder(folder).map_err(no_folder("it cannot be made: "))?;
                Ok(None)
            }
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match self {
            Taping::None => Mode::Live,
            Taping::Record(_) => Mode::Record,
            Taping::Replay(folder) => Mode::Replay(folder.clone()),
        }
    }

    /// Describes the recordings for the first event of the run.
    pub(crate) fn recorded_as(&self) -> Option<TapeOf> {
        let (Taping::Record(folder) | Taping::Replay(folder)) = self else { return None };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone()).display().to_string();
        Some(TapeOf { folder, is_replay: self.is_replay() })
    }

    /// Whether answers come from a recording.
    pub fn is_replay(&self) -> bool {
        matches!(self, Taping::Replay(_))
    }

    /// Returns who answers for a model without a scripted reply.
    pub(crate) fn unscripted(&self) -> Unscripted {
        self.recordings().map_or(Unscripted::Live, |folder| Unscripted::Recorded(folder.clone()))
    }

    /// Returns the secrets that pipelines declare. A replay needs none, so missing ones are replaced with asterisks.
    pub(crate) fn secrets(&self, pipelines: &[Arc<Pipeline>], env: &BTreeMap<String, Secret>) -> BTreeMap<String, Secret> {
        let all = pipelines.iter().flat_map(|pipeline| pipeline.secrets.keys());
        let stars = all.filter(|_| self.is_replay()).map(|name| (name.clone(), Secret::new("***")));
        stars.chain(declared(pipelines.iter().map(|pipeline| &**pipeline), env)).collect()
    }

    /// Returns the recordings as a model.
    pub(crate) fn model(&self) -> Option<Model> {
        self.recordings().map(|folder| Model::new(Provider::Replay(folder.clone())))
    }

    fn recordings(&self) -> Option<&PathBuf> {
        if let Taping::Replay(folder) = self { Some(folder) } else { None }
    }

    /// Writes the recordings. `None`: nothing was recorded. Errors: they cannot be written.
    pub(crate) fn finish(&self, tape: &Cassette, head: &Head) -> Result<Option<Recorded>, FileError> {
        let Taping::Record(folder) = self else { return Ok(None) };
        let lost = tape.write(folder, head).map_err(cannot("write the recordings in", folder))?;
        Ok(Some(Recorded { folder: folder.clone(), calls: tape.count(), lost }))
    }
}

/// The recording of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Its folder.
    pub folder: PathBuf,
    /// The number of calls.
    pub calls: usize,
    /// Recorded texts that differ from those that were sent, one sentence each.
    pub lost: Vec<String>,
}

/// Fields of `run` that do not depend on the clock.
const NO_CLOCK: [&str; 2] = ["id", "time_zone"];

/// Whether any pipeline, or a reply for one, reads the clock of the run, so that a replay needs the recorded time.
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
        let checked = crate::check::check_file(&file, home.path(), &crate::adapter::disk_files::DiskFiles);
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
