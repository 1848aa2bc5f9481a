//! Who names the host that a request goes to.

/// Who names the host that a request goes to; where several do, the last of them in this order counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostSource {
    /// The author, in the file.
    #[default]
    File,
    /// The environment, or the settings of the person who runs it.
    Environment,
    /// An input that the person who runs it gave.
    Input,
    /// Anything else: what a model, a step, a table, a file or an answer gave.
    Data,
}
