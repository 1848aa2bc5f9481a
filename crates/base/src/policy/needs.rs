//! What a call does beside being one, as far as the file says it: policies that allow a tool may deny this, and so each call of it.

use std::fmt;
use std::path::Path;

use super::{Act, Origin, decide, decide_host, from_project};
use crate::model::{
    FilePart, HostSource, PermissionMode, Policy, ProgramCommand, RequestAddress, Text, Tool, ToolKind, ToolName, Touch, known_address,
};

/// What each call of a tool or program does. Files are told as patterns from the project's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallNeed {
    /// All of these files are read or written.
    Each(Touch, String),
    /// Some of these files are read or written.
    Some(Touch, String),
    /// A request goes to a host; who named it.
    Host(Origin, HostSource),
}

impl CallNeed {
    /// The files of a program that is given folders to read.
    pub fn of_folders<'p>(run: &'p ProgramCommand, reads: impl IntoIterator<Item = &'p Path>, project: &Path) -> Vec<CallNeed> {
        let below = |folder: &Path| from_project(project, &folder.join("**"));
        let reads = reads.into_iter().map(|folder| CallNeed::Each(Touch::Read, below(folder)));
        reads.chain(run.writes.iter().map(|folder| CallNeed::Each(Touch::Write, below(&folder.value)))).collect()
    }

    /// Of a tool by one of its names. A program sees the whole project.
    fn of_tool(tool: &Tool, name: &str, project: &Path) -> Vec<CallNeed> {
        let origin = match tool.kind.address() {
            Some(RequestAddress::Web(url)) => known_address(&url.source).and_then(|url| Origin::parse(url.as_str())),
            Some(RequestAddress::Mail(address)) => {
                Some(address).filter(|text| is_written_out(text)).and_then(|text| Origin::of_mail(&text.source))
            }
            None => None,
        };
        let of_file = || {
            let touch = match tool.file_part(ToolName::parse(name).part)? {
                FilePart::List | FilePart::Read => Touch::Read,
                FilePart::Write => Touch::Write,
            };
            Some(CallNeed::Some(touch, from_project(project, &tool.kind.folder()?.join("**"))))
        };
        match &tool.kind {
            ToolKind::Program { run, .. } => {
                let hosts = Origin::of_program(&run.network.map(|host| host.value.clone())).into_iter();
                let hosts = hosts.map(|origin| CallNeed::Host(origin, HostSource::Input));
                CallNeed::of_folders(run, [project], project).into_iter().chain(hosts).collect()
            }
            ToolKind::File(_) => of_file().into_iter().collect(),
            ToolKind::Http { .. } | ToolKind::Server(_) | ToolKind::Smtp { .. } => {
                origin.into_iter().map(|origin| CallNeed::Host(origin, HostSource::File)).collect()
            }
            ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } | ToolKind::Broken => vec![],
        }
    }

    /// Whether these policies are sure to deny it.
    pub fn is_denied(&self, policies: &[(&str, &Policy)]) -> bool {
        match self {
            CallNeed::Each(Touch::Read, pattern) => decide(policies, &Act::Read(pattern)).is_denied(),
            CallNeed::Each(Touch::Write, pattern) => decide(policies, &Act::Write(pattern, 0)).is_denied(),
            CallNeed::Some(touch, _) => policies.iter().any(|(_, policy)| {
                let listed = match touch {
                    Touch::Read => &policy.read,
                    Touch::Write => &policy.write,
                };
                listed.as_ref().is_none_or(Vec::is_empty) && policy.permission_mode.unwrap_or_default() == PermissionMode::Deny
            }),
            CallNeed::Host(origin, source) => decide_host(policies, *source, origin, || true).is_denied(),
        }
    }
}

/// As a message says it: "to read the files work/**".
impl fmt::Display for CallNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallNeed::Each(touch, files) if files == "**" => write!(f, "to {} all files of the project", verb(*touch)),
            CallNeed::Each(touch, files) => write!(f, "to {} the files {files}", verb(*touch)),
            CallNeed::Some(touch, _) => write!(f, "to {} any file", verb(*touch)),
            CallNeed::Host(origin, _) => write!(f, "to ask the host {}", origin.named()),
        }
    }
}

fn verb(touch: Touch) -> &'static str {
    match touch {
        Touch::Read => "read",
        Touch::Write => "write",
    }
}

/// What policies are sure to deny at each call of what a name of a tool opens, though they may allow the tool.
pub fn denied_need(policies: &[(&str, &Policy)], tool: &Tool, name: &str, project: &Path) -> Option<CallNeed> {
    CallNeed::of_tool(tool, name, project).into_iter().find(|need| need.is_denied(policies))
}

fn is_written_out(text: &Text) -> bool {
    !text.source.contains("{{") && !text.source.contains("{%")
}
