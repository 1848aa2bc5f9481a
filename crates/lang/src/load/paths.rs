//! Paths: tidied as text, and held inside the project by where they really lead.

use std::path::{Path, PathBuf};

use crate::port::Files;
pub use crate::source::normalised;

/// The project of a file: the nearest folder upwards with a `flow.toml`, else `current`.
pub fn project_of(path: &Path, current: &Path, files: &dyn Files) -> PathBuf {
    let real = files.real_path(path).unwrap_or_else(|| path.to_path_buf());
    let found = real.ancestors().skip(1).find(|folder| files.is_there(&folder.join("flow.toml")));
    found.unwrap_or(current).to_path_buf()
}

/// Folders whose YAML files are ours whatever they begin with.
const OURS: [&str; 4] = ["pipelines", "channels", "style_guides", "policies"];

/// Whether a file is in one of the folders that hold files of this language.
pub fn in_our_folder(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|folder| OURS.iter().any(|ours| folder == *ours))
}

/// Whether a file says that it is of this language: its first key is `flow`, however it is written (in quotes, in brackets, behind `---` or
/// `%YAML`), or a key at the left edge is, with a version.
pub fn says_flow(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let value = |line: &str| -> Option<String> {
        let key = line.trim_start_matches(['"', '\'']).strip_prefix("flow")?;
        Some(key.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start().to_owned())
    };
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with(['#', '%']);
    let mut lines = text.lines().map(|line| line.strip_prefix("---").unwrap_or(line).trim()).filter(is_content);
    let first = lines.find(|line| *line != "{").map(|line| line.trim_start_matches(['{', ' ']));
    let has_version = |line: &str| value(line).is_some_and(|value| value.starts_with(|c: char| c.is_ascii_digit()));
    first.is_some_and(|line| value(line).is_some()) || text.lines().any(has_version)
}

/// Whether a path, from the project's folder, fits a pattern of settings. The name of a folder means the folder and all that is in it. `None`: it cannot
/// be read as a pattern.
pub fn fits_pattern(written: &str) -> Option<impl Fn(&Path) -> bool + use<>> {
    let plain = written.trim_start_matches("./").trim_end_matches("/**").trim_end_matches('/');
    let mut all = globset::GlobSet::builder();
    for pattern in [plain.to_owned(), format!("{plain}/**")] {
        all.add(globset::GlobBuilder::new(&pattern).literal_separator(true).build().ok()?);
    }
    let all = all.build().ok()?;
    Some(move |path: &Path| all.is_match(path))
}

/// A path as people see it, with `/`.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Where a path really leads; of one that does not exist, where it would be.
pub fn real(path: &Path, files: &dyn Files) -> PathBuf {
    for folder in path.ancestors() {
        if let (Some(real), Ok(rest)) = (files.real_path(folder), path.strip_prefix(folder)) {
            return normalised(&real.join(rest));
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_however_its_first_key_is_written() {
        let ours = [
            "flow: 1",
            "\u{feff}flow: 1",
            "# a\n\n---\nflow: 1",
            "--- # a\nflow: 1",
            "%YAML 1.2\n---\nflow: 1",
            "\"flow\": 1",
            "'flow' : 1",
        ];
        let more =
            ["flow : 1", "{flow: 1, name: p}", "--- { 'flow': 1 }", "{\n  \"flow\": 1\n}", "flow:", "name: p\nflow: 1\n", "flow: \"1\""];
        for text in ours.into_iter().chain(more) {
            assert!(says_flow(text), "{text:?}");
        }
        for text in ["", "flows: 1", "name: p\n  flow: 1", "name: p\nflow: left", "on: { flow: 1 }", "# flow: 1", "overflow: 1"] {
            assert!(!says_flow(text), "{text:?}");
        }
    }

    #[test]
    fn paths_are_tidied_without_leaving_the_root() {
        for (path, tidy) in [
            ("a/../b.yaml", "b.yaml"),
            ("./a/./b.yaml", "a/b.yaml"),
            ("../../x", "../../x"),
            ("a/../../x", "../x"),
            ("/../x", "/x"),
            ("/a/b/../c", "/a/c"),
        ] {
            assert_eq!(normalised(Path::new(path)), Path::new(tidy), "{path}");
        }
    }
}
