//! The command with which a person logs in, ready to paste into the shell where flow was started.

use std::path::{Path, PathBuf};

use crate::diagnostic::{shell_path, shell_word};

/// Maximum length of the options in a command, in bytes. An option that does not fit is left out whole: a truncated one would change its meaning.
const LONGEST: usize = 600;

/// The arguments of `flow tools login` for the servers of one file.
#[derive(Debug, Clone, Default)]
pub struct LoginCommand {
    /// The file, then `--project` if the file alone does not lead to the project, and `--env-file` if there is one.
    place: String,
}

impl LoginCommand {
    /// For the servers of a file, as the user named it. `project` is set if the file alone does not lead to it; `env_file` holds the variables.
    pub fn for_file(file: &Path, project: Option<&Path>, env_file: Option<&Path>) -> LoginCommand {
        let word = |path: &Path| shell_path(&path.display().to_string());
        let option = |name: &str, path: Option<&Path>| path.map(|path| format!(" {name} {}", word(path))).unwrap_or_default();
        LoginCommand { place: format!(" {}{}{}", word(file), option("--project", project), option("--env-file", env_file)) }
    }

    /// The login command for one server.
    pub fn of_server(&self, server: &str) -> String {
        self.to(server, "--scope", [])
    }

    /// The login command for one server, with `option` repeated for each value. Values may come from another server. Those that exceed the maximum
    /// length are left out.
    pub(super) fn to<'v>(&self, server: &str, option: &str, values: impl IntoIterator<Item = &'v str>) -> String {
        let mut command = format!("flow tools login {}{}", shell_word(server), self.place);
        let most = command.len() + LONGEST;
        for value in values {
            // A value that begins with a dash would otherwise be read as an option.
            let sign = if value.starts_with('-') { '=' } else { ' ' };
            let word = format!(" {option}{sign}{}", shell_word(value));
            if command.len() + word.len() <= most {
                command.push_str(&word);
            }
        }
        command
    }
}

/// Where the logins of a process are stored, and the command to log in.
#[derive(Debug, Clone, Default)]
pub(in crate::mcp) struct Logins {
    /// The folder of the stored logins; `None` if logins are not used.
    pub(in crate::mcp) folder: Option<PathBuf>,
    pub(in crate::mcp) command: LoginCommand,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_whatever_a_server_names() {
        let command = LoginCommand::for_file(Path::new("my file.yaml"), Some(Path::new("a")), Some(Path::new("-my.env")));
        let long = "x".repeat(700);
        let values = ["read", "--yes-host=evil", "a;rm", "it's", long.as_str(), "last"];
        let told = "flow tools login web 'my file.yaml' --project a --env-file ./-my.env --scope read --scope='--yes-host=evil' --scope 'a;rm' --scope 'it'\\''s' --scope last";
        assert_eq!(command.to("web", "--scope", values), told);
        assert_eq!(LoginCommand::default().to("web", "--scope", []), "flow tools login web");
    }
}
