//! What the first stage of a program is told: a file that flow writes beside the scratch folder. It holds no secret.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::kind::SandboxKind;

/// The first argument of a flow that is the first stage of a program.
pub(super) const STAGE: &str = "sandboxed";
/// What stands before the names of the program's variables while the first stage runs, so that no variable (`LD_PRELOAD`) changes the stage itself.
pub(super) const ENV_PREFIX: &str = "FLOW_ENV_";
/// What the stage reads from its standard input before it goes on to the program: until then, nothing is missing to end it.
pub(super) const GO: &[u8] = b"\n";
/// The first line that the stage writes into the file of its status: all restrictions are in force, and the program is started.
pub(super) const ENTERED: &str = "entered";

/// All that the first stage needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StageSpec {
    /// What shuts the program in; `None`: nothing.
    pub(super) kind: Option<SandboxKind>,
    /// The process that the program must not outlive.
    pub(super) parent: u32,
    /// The file in which the stage tells how far it came.
    pub(super) status: PathBuf,
    /// The folder in which the program starts.
    pub(super) folder: PathBuf,
    /// What of the network it may reach.
    pub(super) network: StageNetwork,
    /// What it may use.
    pub(super) limits: StageLimits,
    /// Files of control groups that the process writes itself into.
    pub(super) groups: Vec<PathBuf>,
    /// What it may open, if Landlock shuts it in.
    pub(super) rules: PathRules,
}

/// What of the network a program may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StageNetwork {
    /// Nothing.
    None,
    /// A proxy, and addresses of this machine: in a network of its own the stage listens there, and hands the listeners over in a folder (`handed`);
    /// elsewhere the program may connect to these ports.
    Hosts {
        /// The proxy comes first.
        addresses: Vec<SocketAddr>,
        /// The folder.
        handed: Option<PathBuf>,
    },
    /// All.
    All,
}

/// Limits that the system holds each process to.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct StageLimits {
    /// Bytes of memory of its own.
    pub(super) memory: u64,
    /// Seconds of a processor.
    pub(super) cpu: u64,
    /// Bytes of one file.
    pub(super) file_size: u64,
    /// Processes of this user, others included; `None`: the system does not count them.
    pub(super) processes: Option<u64>,
}

/// Places in the file system, and what may be done there and below. Paths have no links, but for those of `system`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathRules {
    /// Files and folders of the system, read and executed. Those that are missing are left out.
    pub(super) system: Vec<PathBuf>,
    /// Devices, read and written.
    pub(super) devices: Vec<PathBuf>,
    /// Files and folders, read and executed.
    pub(super) read: Vec<PathBuf>,
    /// Folders of which only the names are listed, not what the files hold.
    pub(super) list: Vec<PathBuf>,
    /// Folders in which everything may be changed.
    pub(super) write: Vec<PathBuf>,
}

/// The folder beside the scratch folder, and the files in it.
pub(super) fn spec_file(stage: &Path) -> PathBuf {
    stage.join("spec.json")
}

/// See [`StageSpec::status`].
pub(super) fn status_file(stage: &Path) -> PathBuf {
    stage.join("status")
}
