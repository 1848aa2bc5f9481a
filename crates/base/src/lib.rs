//! What every part of `flow` speaks of: files and spans, findings, the model of the language, masks, policies, events, ports and the journal. No file
//! system, process, thread or clock of its own.
//!
//! See `ARCHITECTURE.md` for the rooms and which may name which.

/// Gives enums that derive `strum::IntoStaticStr` a method for the word that is at each variant.
macro_rules! has_word {
    ($($of:ty),+) => {
        $(impl $of {
            /// Its word.
            pub fn word(self) -> &'static str {
                self.into()
            }
        })+
    };
}

/// Types that are samples field by field, and who writes each field: `Engine` or `Others`, `Parts` where the field's own type says it, `Flat` where its
/// fields are fields of this one, `[T]` where it holds a `T` that has become JSON.
#[macro_export]
macro_rules! sampled {
    (@ $kind:ident $field:ident Parts) => {
        $crate::model::ResultField::Parts(|path| $crate::model::writer_below(|own: &$kind| &own.$field, path))
    };
    (@ $kind:ident $field:ident Flat) => {
        $crate::model::ResultField::Flat(|path| $crate::model::writer_below(|own: &$kind| &own.$field, path))
    };
    (@ $kind:ident $field:ident [$of:ident]) => {
        $crate::model::ResultField::Parts(<$of as $crate::model::Sample>::writer)
    };
    (@ $kind:ident $field:ident $writer:ident) => {
        $crate::model::ResultField::Whole($crate::model::PartWriter::$writer)
    };
    ($($kind:ident { $($writer:tt($($field:ident),* $(,)?)),* $(,)? })*) => {
        $(impl $crate::model::Sample for $kind {
            fn sample(is_bare: bool) -> $kind {
                $kind { $($($field: $crate::model::Sample::sample(is_bare)),*),* }
            }

            fn writer(path: &[&str]) -> Option<$crate::model::PartWriter> {
                $crate::model::writer_among(&[$($((stringify!($field), $crate::sampled!(@ $kind $field $writer))),*),*], path)
            }
        })*
    };
}

pub mod diagnostic;
pub mod event;
pub mod journal;
pub mod model;
pub mod policy;
pub mod port;
pub mod redact;
pub mod said;
pub mod source;
pub mod sql;
pub mod telemetry;
