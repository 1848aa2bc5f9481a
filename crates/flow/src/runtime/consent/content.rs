//! The hash of a trusted pipeline: it changes with every byte of the pipeline's content, and with the folders it works in.
//!
//! It covers the pipeline's own files, like the hash in the record of a run ([`crate::model::Pipeline::hash`]); the files of the project
//! that programs may run ([`crate::adapter::started`]); the folders that servers start in, because launchers such as `npx` run files there;
//! and the model of the project's settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::adapter::files::{FileError, cannot};
use crate::adapter::named_files::may_run;
use crate::adapter::started::{MayRun, Prints, Started};
use crate::engine::servers;
use crate::model::{Form, Model, Pipeline, Program, StartedBy, StartedCommand, Text, is_own_variable};
use crate::port::{Secret, ServerTransport};
use crate::runtime::{declared, inputs_of_file};

/// Returns the hash in hex. `given`: the model that the project's settings supply; `prints`: the files that programs may run. Errors: a
/// folder cannot be read.
pub(super) fn content(program: &Program, given: Option<&Model>, prints: &Prints) -> Result<String, FileError> {
    let mut digest = Sha256::new();
    let mut put = |part: &[u8]| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    put(b"flow trust 3");
    put(program.pipelines.first().map_or("", |pipeline| &pipeline.hash).as_bytes());
    for pipeline in &program.pipelines {
        put(b"folder");
        put(real(&pipeline.folder)?.as_os_str().as_encoded_bytes());
    }
    for (path, print) in prints {
        put(b"run");
        put(path.as_os_str().as_encoded_bytes());
        put(print);
    }
    if let Some(model) = given {
        put(b"model");
        for text in [&model.base_url, &model.api_key, &model.model] {
            put(text.as_ref().map_or("", |text| &text.source).as_bytes());
        }
    }
    Ok(hex::encode(digest.finalize()))
}

/// Returns the files of the project that the programs of servers may run, as far as they are known before a run.
pub(crate) fn named(program: &Program, env: &BTreeMap<String, Secret>) -> MayRun {
    let mut found = MayRun::default();
    for pipeline in &program.pipelines {
        let written: Vec<PathBuf> = pipeline.written_folders().into_iter().map(Into::into).collect();
        for started in known(pipeline, env) {
            found.add(may_run(&Started { written: written.clone(), ..started }));
        }
    }
    found
}

/// Returns the programs of a pipeline: as written, with every possible value of an argument, and as filled in.
fn known(pipeline: &Pipeline, env: &BTreeMap<String, Secret>) -> Vec<Started> {
    let inputs = inputs_of_file(pipeline);
    let (folder, project) = (pipeline.folder.clone(), pipeline.project.clone());
    let started =
        |who: &str, command: &str, words| Started::of_server(who.to_owned(), command.to_owned(), words, folder.clone(), project.clone());
    let mut found = vec![];
    for command in pipeline.commands() {
        let starts_in = command.starts_in(pipeline);
        let StartedCommand { by, who, program, args, env: variables, .. } = command;
        let read = |text| words(text, &inputs, env);
        let values = variables.iter().flat_map(|(variable, text)| read(text).into_iter().map(|value| (variable.value.clone(), value)));
        let words = args.iter().flat_map(read).collect();
        let own = match by {
            StartedBy::Server => started(who, &program.value, words),
            StartedBy::Step | StartedBy::Tool | StartedBy::Model => {
                Started::of_program(who.to_owned(), program.value.clone(), words, starts_in, project.clone())
            }
        };
        found.push(own.with_env(values));
    }
    for (name, server) in servers(pipeline, &inputs, &declared([pipeline], env), env) {
        let Ok(ServerTransport::Program { command, args, env, .. }) = server.map(|server| server.transport) else { continue };
        let values = env.iter().map(|(variable, value)| (variable.clone(), value.reveal().to_owned()));
        found.push(started(&name, &command, args).with_env(values));
    }
    found
}

/// Returns a text as written, and the values that it reads.
fn words(text: &Text, inputs: &Map<String, Value>, env: &BTreeMap<String, Secret>) -> Vec<String> {
    let mut found = vec![text.source.to_string()];
    for read in text.reads.iter().filter(|_| text.form != Form::Plain) {
        found.extend(match read.path.as_slice() {
            [root, name, ..] if root == "env" && !is_own_variable(name) => env.get(name).map(|value| value.reveal().to_owned()),
            [root, name, ..] if root == "inputs" => inputs.get(name).and_then(Value::as_str).map(ToOwned::to_owned),
            _ => None,
        });
    }
    found
}

/// Returns the canonical path of a folder; an empty path is the current folder.
pub(crate) fn real(folder: &Path) -> Result<PathBuf, FileError> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::canonicalize(here).map_err(cannot("read the folder", here))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::disk_files::DiskFiles;
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
            let prints = named(&loaded.program, &BTreeMap::new()).prints().unwrap();
            content(&loaded.program, None, &prints).unwrap()
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
