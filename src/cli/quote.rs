//! Words of commands that are printed, to be pasted into a shell.

use crate::diagnostic::visible;

/// A path as a shell reads it.
pub(super) fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if path.chars().all(is_plain) && !path.starts_with('-') {
        return path.to_string();
    }
    let dashed = if path.starts_with('-') { "./" } else { "" };
    format!("'{dashed}{}'", visible(path).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_as_a_shell_reads_it() {
        let all = [
            ("shop", "shop"),
            ("my shop", "'my shop'"),
            ("it's", "'it'\\''s'"),
            ("-x", "'./-x'"),
            ("a/b-c_d.e", "a/b-c_d.e"),
            ("$HOME", "'$HOME'"),
        ];
        for (path, told) in all {
            assert_eq!(quoted(path), told);
        }
    }
}
