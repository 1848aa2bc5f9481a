//! What is trusted of a pipeline: one number that changes with every byte of what it is made of, and with the folders it works in.
//!
//! Of its own files counts what the record of a run counts ([`crate::model::Pipeline::hash`]). Beside it: the files that commands of MCP servers
//! name; the folders that servers are started in, since launchers such as `npx` run what lies there; and the model of the project's settings.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::adapter::files;
use crate::model::{Model, Pipeline, Program, named_by_servers};

/// Endings of files that a server changes as it works: tables, databases, logs. They are data.
const DATA: [&str; 15] =
    ["csv", "db", "duckdb", "jsonl", "log", "ndjson", "ods", "parquet", "sqlite", "sqlite3", "tsv", "xls", "xlsb", "xlsm", "xlsx"];

/// A file in the project that the command of a server names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Script {
    /// As the command names it.
    named: String,
    /// Where it is.
    pub(in crate::cli) path: PathBuf,
}

/// The hash of all of it, in hex. `given`: the model that the project's settings give.
///
/// # Errors
/// A folder or a script cannot be read, as a sentence.
pub(super) fn content(program: &Program, given: Option<&Model>) -> Result<String, String> {
    let mut digest = Sha256::new();
    let mut put = |part: &[u8]| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    put(b"flow trust 1");
    put(program.pipelines.first().map_or("", |pipeline| &pipeline.hash).as_bytes());
    for pipeline in &program.pipelines {
        put(b"folder");
        put(real(&pipeline.folder)?.as_os_str().as_bytes());
        for script in of_pipeline(pipeline) {
            put(b"script");
            put(script.named.as_bytes());
            put(&of_file(&script.path)?);
        }
    }
    if let Some(model) = given {
        put(b"model");
        for text in [&model.base_url, &model.api_key, &model.model] {
            put(text.as_ref().map_or("", |text| &text.source).as_bytes());
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The files in the project that commands of servers name.
pub(in crate::cli) fn scripts(program: &Program) -> Vec<Script> {
    program.pipelines.iter().flat_map(|pipeline| of_pipeline(pipeline)).collect()
}

fn of_pipeline(pipeline: &Pipeline) -> Vec<Script> {
    let named = named_by_servers(pipeline).into_iter().filter(|named| !named.is_module);
    let scripts = named.map(|named| Script { named: named.path.to_owned(), path: pipeline.folder.join(named.path) });
    scripts.filter(|script| script.path.is_file() && is_inside(&script.path, pipeline) && !is_data(&script.path)).collect()
}

fn is_data(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    ending.is_some_and(|ending| DATA.contains(&ending.as_str()))
}

/// Whether a file stands in the project or beside the pipeline; a link that stands there counts as what it leads to.
fn is_inside(path: &Path, pipeline: &Pipeline) -> bool {
    let homes = [&pipeline.project, &pipeline.folder].map(|folder| real(folder).ok());
    let places = [path.parent().and_then(|folder| real(folder).ok()), std::fs::canonicalize(path).ok()];
    places.iter().flatten().any(|place| homes.iter().flatten().any(|home| place.starts_with(home)))
}

/// Where a folder really is; an empty path is the current one.
pub(super) fn real(folder: &Path) -> Result<PathBuf, String> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::canonicalize(here).map_err(|error| format!("cannot read the folder {}: {error}", here.display()))
}

/// The SHA-256 of a file, however long it is.
fn of_file(path: &Path) -> Result<[u8; 32], String> {
    let mut digest = Sha256::new();
    let mut part = vec![0; 64 * 1024];
    let read = files::open(path).and_then(|mut file| {
        loop {
            match file.read(&mut part)? {
                0 => return Ok(()),
                count => digest.update(part.get(..count).unwrap_or_default()),
            }
        }
    });
    read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::files::DiskFiles;
    use crate::load::load;

    const FILES: [(&str, &str); 8] = [
        ("flow.toml", ""),
        (
            "p.yaml",
            "flow: 1\nname: p\nimports: [team.yaml]\nchannels: [note]\nstyle_guide: acme\n\
             tools: { weather: { command: python3, args: [-u, servers/w.py, --log=w.log, --conf=w.json, notes] } }\n\
             steps: [{ id: go, call: sub/s.yaml }]\n",
        ),
        ("team.yaml", "flow: 1\nagents: { a: { instructions: { file: a.md } } }\n"),
        ("a.md", "You write."),
        ("sub/s.yaml", "flow: 1\nname: s\nsteps: [{ id: a, set: 1 }]\n"),
        ("channels/note.yaml", "flow: 1\nchannel: note\n"),
        ("style_guides/acme.yaml", "flow: 1\nstyle_guide: acme\n"),
        ("servers/w.py", "print(1)"),
    ];

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Place {
            let place = Place(tempfile::tempdir().unwrap());
            FILES.iter().for_each(|(name, text)| place.write(name, text.as_bytes()));
            std::fs::create_dir(place.0.path().join("notes")).unwrap();
            place
        }

        fn write(&self, name: &str, text: &[u8]) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn content(&self) -> String {
            let loaded = load(&self.0.path().join("p.yaml"), self.0.path(), &DiskFiles);
            content(&loaded.program, None).unwrap()
        }
    }

    #[test]
    fn every_byte_of_every_file_counts() {
        let place = Place::new();
        let before = place.content();
        for (name, text) in FILES.iter().filter(|(name, _)| *name != "flow.toml") {
            for at in 0..text.len() {
                let mut flipped = text.as_bytes().to_vec();
                flipped[at] ^= 1;
                place.write(name, &flipped);
                assert_ne!(place.content(), before, "byte {at} of {name}");
            }
            place.write(name, text.as_bytes());
        }
        assert_eq!(place.content(), before);
    }

    #[test]
    fn what_servers_write_does_not_count_and_what_they_are_told_to_read_does() {
        let place = Place::new();
        let before = place.content();
        for data in ["w.log", "notes/a.txt", "people.csv"] {
            place.write(data, b"changed");
            assert_eq!(place.content(), before, "{data}");
        }
        place.write("w.json", b"{}");
        assert_ne!(place.content(), before, "a file that a command names, and that was not there");
        std::fs::remove_file(place.0.path().join("w.json")).unwrap();
        assert_eq!(place.content(), before);
    }

    #[test]
    fn the_same_files_elsewhere_are_asked_about_since_other_files_lie_beside_them_there() {
        assert_ne!(Place::new().content(), Place::new().content());
    }

    #[test]
    fn a_link_to_a_script_counts_as_what_it_leads_to_and_programs_of_the_system_do_not() {
        let (place, outside) = (Place::new(), tempfile::tempdir().unwrap());
        let (script, link) = (outside.path().join("w.py"), place.0.path().join("servers/w.py"));
        std::fs::write(&script, "print(1)").unwrap();
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&script, &link).unwrap();
        let before = place.content();
        std::fs::write(&script, "print(2)").unwrap();
        assert_ne!(place.content(), before);
        place.write("p.yaml", format!("flow: 1\nname: p\ntools: {{ w: {{ command: {} }} }}\n", script.display()).as_bytes());
        let before = place.content();
        std::fs::write(&script, "print(3)").unwrap();
        assert_eq!(place.content(), before);
    }
}
