//! `flow init`: a first project, with tests, that runs without any key. Its files stand in `starter/`.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use super::Exit;
use super::arguments::Shared;
use crate::diagnostic::visible;

macro_rules! starter {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../starter/", $name)))),*] };
}

/// The files of a first project: where they go, and what is in them.
pub const STARTER: &[(&str, &str)] = starter![
    "flow.toml",
    "gitignore",
    "pipelines/shop/pipeline.yaml",
    "pipelines/shop/demo.replies.yaml",
    "pipelines/shop/data/hours.csv",
    "channels/sms.yaml",
    "channels/email.yaml",
    "style_guides/friendly.yaml",
    "tests/shop.test.yaml",
    "tests/goldens/shop.test/saturday/sms.txt",
    "tests/goldens/shop.test/saturday/email.md",
];

/// Writes the files of a first project. Nothing is written if one of them is there already.
pub(super) fn run(folder: &Path, shared: &Shared) -> Exit {
    let place = |name: &str| folder.join(if name == "gitignore" { ".gitignore" } else { name });
    let there: Vec<_> = STARTER.iter().map(|(name, _)| place(name)).filter(|path| path.symlink_metadata().is_ok()).collect();
    if !there.is_empty() {
        tell!("nothing was written, since these files are there already:");
        there.iter().for_each(|path| tell!("  {}", visible(&path.display().to_string())));
        return Exit::Usage;
    }
    for (name, text) in STARTER {
        let path = place(name);
        if let Err(problem) = write(&path, text) {
            tell!("{} cannot be written: {problem}", visible(&path.display().to_string()));
            return Exit::Failed;
        }
        if !shared.quiet {
            tell!("wrote {}", visible(&path.display().to_string()));
        }
    }
    if !shared.quiet {
        let enter = if folder == Path::new(".") { String::new() } else { format!("  cd {}\n", visible(&folder.display().to_string())) };
        tell!(
            "\nNow:\n{enter}  flow run pipelines/shop/pipeline.yaml --input message=\"When do you open on Saturday?\"\n  flow test\n  flow validate"
        );
    }
    Exit::Ok
}

/// A new file; one that has come meanwhile is not touched.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).create(folder)?;
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
