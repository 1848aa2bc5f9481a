/// What a finding is about, for code that decides by it. The message is for people, and may be worded anew at any time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum About {
    /// Nothing that anybody asks for.
    #[default]
    Other,
    /// The value of this key, or what is set by it.
    Value(String),
    /// This key, which is missing.
    Missing(&'static str),
    /// A section that stands inside another one, so that what comes after it there is hidden.
    HiddenSection,
    /// The columns of a data file, which may have others when a run reads it.
    Columns,
    /// A model that its pipeline does not use; tests may.
    UnusedModel(String),
    /// The channel of a test case.
    CaseChannel,
}
