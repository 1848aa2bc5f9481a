//! Golden files: their paths and contents, and those that belong to no case.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use crate::check::goldens_of as folder;

/// A message that one `send` step sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    pub step: String,
    /// `stdout` or the tool.
    pub to: String,
    /// The sent parts.
    pub parts: Vec<String>,
}

/// Joins all parts, separated by an empty line.
pub fn one_text(sent: &[SentMessage]) -> String {
    let parts: Vec<&str> = sent.iter().flat_map(|s| &s.parts).map(String::as_str).collect();
    parts.join("\n\n")
}

/// Returns the golden of sent messages. The separator of parts is `--- part 2 of 4 ---`; if several steps sent, their messages are
/// introduced by `--- sent by STEP to RECEIVER ---`. Different messages never result in the same text.
pub fn of_sent(sent: &[SentMessage]) -> String {
    let mut out = String::new();
    for send in sent {
        if sent.len() > 1 {
            out.push_str(&format!("--- sent by {} to {} ---\n", send.step, send.to));
        }
        for (index, part) in send.parts.iter().enumerate() {
            if index > 0 {
                out.push_str(&format!("--- part {} of {} ---\n", index + 1, send.parts.len()));
            }
            for line in part.split('\n') {
                // A line of the text that looks like one of these separators is escaped.
                if line.trim_start_matches('\\').starts_with("--- ") {
                    out.push('\\');
                }
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Returns the golden of a run that sent nothing.
pub fn of_outputs(outputs: &Value) -> String {
    serde_json::to_string_pretty(outputs).unwrap_or_default() + "\n"
}

/// Normalizes a golden for comparison: CRLF becomes LF, and a byte order mark is removed. A lone CR is kept.
pub fn compared(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Returns the name of a golden in the folder of its case. `extension` depends on the channel's body; `several`: the case runs on more than
/// one channel, so each output needs its own name.
pub fn name(channel: Option<&str>, extension: &str, has_sent: bool, several: bool) -> String {
    match (has_sent, channel) {
        (true, channel) => format!("{}.{extension}", channel.unwrap_or("sent")),
        (false, Some(channel)) if several => format!("{channel}.outputs.json"),
        (false, _) => "outputs.json".to_string(),
    }
}

/// Writes a golden atomically, with the permissions of an ordinary new file. Errors: the folder or file cannot be written.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().make_in(folder, |path| std::fs::File::create_new(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Checks in advance whether `write` could write a file, and leaves nothing behind. Errors: it could not.
pub fn may_write(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    let folders = path.parent().into_iter().flat_map(Path::ancestors);
    let folder = folders.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).find(|folder| folder.exists());
    tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).map(drop)
}

/// Returns files in the goldens of these test files that belong to no case, and folders of goldens without a test file. Names that start
/// with a dot are ignored.
pub fn orphans(tests: &[&Path], owned: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let homes: BTreeSet<PathBuf> = tests.iter().map(|test| test.with_file_name("goldens")).collect();
    for home in homes {
        for folder in entries(&home) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let test = home.with_file_name(format!("{name}.yaml"));
            if tests.iter().any(|known| *known == test) {
                found.extend(files(&folder).into_iter().filter(|file| !owned.contains(file)));
            } else if !test.exists() {
                found.extend(files(&folder));
            }
        }
    }
    found.into_iter().collect()
}

/// Returns all files in and below a folder.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() && !path.is_symlink() {
        entries(path).iter().flat_map(|entry| files(entry)).collect()
    } else {
        vec![path.to_path_buf()]
    }
}

/// Lists a folder, sorted, without names that start with a dot; empty if there is no folder.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let visible = |entry: &std::fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let mut paths: Vec<PathBuf> = entries.flatten().filter(visible).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(step: &str, parts: &[&str]) -> SentMessage {
        SentMessage { step: step.into(), to: "stdout".into(), parts: parts.iter().map(|p| p.to_string()).collect() }
    }

    #[test]
    fn one_part_is_the_text_itself() {
        assert_eq!(of_sent(&[sent("deliver", &["Hello,\nyou logged 32 hours."])]), "Hello,\nyou logged 32 hours.\n");
    }

    #[test]
    fn parts_and_sendings_are_parted_by_lines() {
        insta::assert_snapshot!(of_sent(&[sent("deliver", &["One (1/2)", "Two (2/2)"])]), @r"
        One (1/2)
        --- part 2 of 2 ---
        Two (2/2)
        ");
        insta::assert_snapshot!(of_sent(&[sent("deliver", &["One"]), sent("report", &["--- part 2 of 2 ---", "\\--- x"])]), @r"
        --- sent by deliver to stdout ---
        One
        --- sent by report to stdout ---
        \--- part 2 of 2 ---
        --- part 2 of 2 ---
        \\--- x
        ");
    }

    #[test]
    fn the_name_follows_the_channel_and_what_was_sent() {
        assert_eq!(name(Some("sms"), "txt", true, false), "sms.txt");
        assert_eq!(name(None, "txt", true, false), "sent.txt");
        assert_eq!(name(Some("sms"), "txt", false, false), "outputs.json");
        assert_eq!(name(Some("sms"), "txt", false, true), "sms.outputs.json");
        assert_eq!(folder(Path::new("t/hours.test.yaml")), Path::new("t/goldens/hours.test"));
    }

    #[test]
    fn files_of_nobody_are_found_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let test = at("hours.test.yaml");
        for (path, text) in [("hours.test.yaml", ""), ("other.test.yaml", ""), ("goldens/hours.test/a/.keep", "")] {
            write(&at(path), text).unwrap();
        }
        let kept = at("goldens/hours.test/a/sms.txt");
        for path in
            ["goldens/hours.test/a/sms.txt", "goldens/hours.test/a/fax.txt", "goldens/other.test/a/x.txt", "goldens/gone.test/b/y.txt"]
        {
            write(&at(path), "x").unwrap();
        }
        let owned = BTreeSet::from([kept]);
        assert_eq!(orphans(&[&test], &owned), [at("goldens/gone.test/b/y.txt"), at("goldens/hours.test/a/fax.txt")]);
    }

    proptest! {
        #[test]
        fn different_sendings_give_different_goldens(
            one in prop::collection::vec(prop::collection::vec("(\\\\|--- part 2 of 2 ---|--- |\n|a){0,4}", 1..3), 1..3),
            two in prop::collection::vec(prop::collection::vec("(\\\\|--- part 2 of 2 ---|--- |\n|a){0,4}", 1..3), 1..3),
        ) {
            let make = |sends: &[Vec<String>]| -> Vec<SentMessage> {
                sends.iter().map(|parts| SentMessage { step: "s".into(), to: "t".into(), parts: parts.clone() }).collect()
            };
            prop_assert_eq!(one == two, of_sent(&make(&one)) == of_sent(&make(&two)));
        }
    }
}
