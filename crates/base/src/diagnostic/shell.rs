//! Words of commands that are printed, to be pasted into a shell.

use super::visible;

/// A path as a shell reads it.
pub fn shell_path(path: &str) -> String {
    let is_option = path.starts_with('-');
    shell_word(&format!("{}{path}", if is_option { "./" } else { "" }))
}

/// A text as one word for a shell: whatever it holds, nothing of it is run or taken apart.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", visible(text).replace('\'', "'\\''")),
    }
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
            ("-x", "./-x"),
            ("a/b-c_d.e", "a/b-c_d.e"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ];
        for (path, told) in all {
            assert_eq!(shell_path(path), told);
        }
    }
}
