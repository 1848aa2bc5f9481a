//! What can be asked of a pipeline as a whole.

/// What can be asked of a pipeline (`guarantees`).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// No text that a model wrote reaches a person or a host unjudged.
    ModelTextJudged,
    /// No secret reaches a host that the file does not name.
    SecretsKept,
    /// No personal value reaches a model, host, log or file that is not declared for it.
    PersonalDeclared,
    /// Calls, tokens, money and time are bounded.
    Bounded,
    /// Each effect has a key.
    EffectsKeyed,
}

impl Guarantee {
    /// What it says.
    pub fn sentence(self) -> &'static str {
        match self {
            Guarantee::ModelTextJudged => "No text that a model wrote reaches a person or a host unjudged.",
            Guarantee::SecretsKept => "No secret reaches a host that the file does not name.",
            Guarantee::PersonalDeclared => "No personal value reaches a model, a host, a log or a file that is not declared for it.",
            Guarantee::Bounded => "Calls, tokens, money and time are bounded.",
            Guarantee::EffectsKeyed => "Each effect has a key by which its receiver knows a repetition.",
        }
    }
}
