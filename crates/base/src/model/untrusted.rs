//! What a policy says of values that a model, a tool or a stranger wrote.

use serde::Serialize;

use crate::source::Spanned;

/// What happens to a call with such a value (`untrusted`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum UntrustedAnswer {
    /// It is made.
    Allow,
    /// A person is asked.
    Ask,
    /// It is rejected.
    Deny,
}

/// What a value decides about a call.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum ArgumentClass {
    /// Where a request goes, with all that the address carries.
    Addresses,
    /// Who gets something: an e-mail address, a phone number, an account.
    Recipients,
    /// What is run: the arguments of a program, code.
    Commands,
    /// Which file is written, or named to a program.
    Paths,
}

/// One entry of `untrusted`: a class, a tool, some arguments of a tool, or [`UntrustedRule::OTHERWISE`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UntrustedRule {
    /// As it is written.
    pub of: Spanned<String>,
    /// What happens.
    pub answer: UntrustedAnswer,
}

impl UntrustedRule {
    /// The entry for all that no other one fits; a word in place of the map is this one.
    pub const OTHERWISE: &'static str = "otherwise";

    /// The class that it is for.
    pub fn class(&self) -> Option<ArgumentClass> {
        self.of.value.parse().ok()
    }
}
