//! The command that signs in, to be pasted where the program was started.

use std::path::{Path, PathBuf};

use crate::diagnostic::{shell_path, shell_word};

/// Most bytes of options in a command: one that is cut off would be another one.
const LONGEST: usize = 600;

/// How a person reaches the servers of a file with `flow tools login`.
#[derive(Debug, Clone, Default)]
pub struct LoginCommand {
    /// The file, the project unless it is found from the file, and the file of variables, if there is one.
    place: String,
}

impl LoginCommand {
    /// For the servers of a file as it was named; `project`: where the file alone does not lead to it; `env_file`: where its variables are.
    pub fn of(file: &Path, project: Option<&Path>, env_file: Option<&Path>) -> LoginCommand {
        let word = |path: &Path| shell_path(&path.display().to_string());
        let option = |name: &str, path: Option<&Path>| path.map(|path| format!(" {name} {}", word(path))).unwrap_or_default();
        LoginCommand { place: format!(" {}{}{}", word(file), option("--project", project), option("--env-file", env_file)) }
    }

    /// For a server.
    pub fn of_server(&self, server: &str) -> String {
        self.to(server, "--scope", [])
    }

    /// For a server; each value, which another server may have named, is given to `option`. Those that find no room are left out.
    pub(super) fn to<'v>(&self, server: &str, option: &str, values: impl IntoIterator<Item = &'v str>) -> String {
        let mut command = format!("flow tools login {}{}", shell_word(server), self.place);
        let most = command.len() + LONGEST;
        for value in values {
            // What begins with a dash would be an option of its own.
            let sign = if value.starts_with('-') { '=' } else { ' ' };
            let word = format!(" {option}{sign}{}", shell_word(value));
            if command.len() + word.len() <= most {
                command.push_str(&word);
            }
        }
        command
    }
}

/// The logins of a process.
#[derive(Debug, Clone, Default)]
pub(in crate::adapter::mcp) struct Logins {
    /// The folder in which they are kept; `None`: none is used.
    pub(in crate::adapter::mcp) folder: Option<PathBuf>,
    pub(in crate::adapter::mcp) command: LoginCommand,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_whatever_a_server_names() {
        let command = LoginCommand::of(Path::new("my file.yaml"), Some(Path::new("a")), Some(Path::new("-my.env")));
        let long = "x".repeat(700);
        let values = ["read", "--yes-host=evil", "a;rm", "it's", long.as_str(), "last"];
        let told = "flow tools login web 'my file.yaml' --project a --env-file ./-my.env --scope read --scope='--yes-host=evil' --scope 'a;rm' --scope 'it'\\''s' --scope last";
        assert_eq!(command.to("web", "--scope", values), told);
        assert_eq!(LoginCommand::default().to("web", "--scope", []), "flow tools login web");
    }
}
