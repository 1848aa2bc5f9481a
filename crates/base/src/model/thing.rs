//! What names in files name.

/// What a name names, and what that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Thing {
    /// A step of the same list.
    Step,
    /// An entry of `agents`.
    Agent,
    /// An entry of `models`.
    Model,
    /// An entry of `tools`.
    Tool,
    /// An entry of `scorecards`.
    Scorecard,
    /// A file in `channels/`.
    Channel,
    /// A file in `style_guides/`.
    #[strum(serialize = "style guide")]
    StyleGuide,
    /// An entry of `policies`.
    Policy,
    /// An entry of `data`.
    Table,
    /// An entry of `knowledge`.
    Knowledge,
}
