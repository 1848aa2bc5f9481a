//! What may be wrong with a read; each kind is one code.

use std::sync::Arc;

use crate::plan::StepIx;
use crate::template::types::{Object, Type};

/// What a read gives, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOutcome {
    /// What it is.
    pub kind: Type,
    /// What is wrong.
    pub problem: Option<ReadProblem>,
}

/// What lacks a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The inputs of the pipeline.
    Inputs,
    /// What the step of this id gives.
    Step(String),
    /// The value at this path.
    Value(String),
    /// The value at this path, which has no fields at all: what it is.
    Plain(String, Type),
}

/// What is wrong with a read. Each is one code.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadProblem {
    /// F201: nothing has this name.
    UnknownName(String),
    /// F201: no step has this id.
    UnknownStep(String),
    /// F208: the name exists, but not here. Message and help.
    WrongPlace(String, String),
    /// F208: outputs read the step of this id, which is in this list beside them: `on_failure` or `finally`.
    BesideOutputs(String, &'static str),
    /// F208: the group in which a name of rounds is read repeats nothing.
    NoRounds(StepIx),
    /// F103: the step may not be over.
    NotUpstream {
        /// The step that is read.
        read: StepIx,
        /// The step that reads.
        reader: StepIx,
    },
    /// F202: there is no such field.
    UnknownField {
        /// Whose.
        owner: Owner,
        /// What is missing.
        field: String,
        /// What there is.
        known: KnownFields,
    },
    /// F211: the step's output is a plain text.
    NoOutputFields(StepIx),
    /// F204: it may not be there; why.
    MaybeMissing(String),
}

/// The fields there are.
#[derive(Debug, Clone, PartialEq)]
pub enum KnownFields {
    /// None.
    None,
    /// These.
    Names(&'static [&'static str]),
    /// Those of an object.
    Of(Arc<Object>),
}

impl KnownFields {
    /// Their names, in order.
    pub fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            KnownFields::None => Box::new(std::iter::empty()),
            KnownFields::Names(names) => Box::new(names.iter().copied()),
            KnownFields::Of(object) => Box::new(object.fields.keys().map(String::as_str)),
        }
    }

    /// Whether they are the columns of a data file, which may have others when a run reads it.
    pub(in crate::rules) fn is_of_file(&self) -> bool {
        match self {
            KnownFields::Of(object) => object.is_of_file,
            KnownFields::None | KnownFields::Names(_) => false,
        }
    }
}

impl ReadProblem {
    pub(in crate::rules) fn wrong_place(message: impl Into<String>, help: impl Into<String>) -> ReadProblem {
        ReadProblem::WrongPlace(message.into(), help.into())
    }

    /// Whether `default(…)` or another guard makes it harmless. Where there are fields, and all of them are known, one that can never be
    /// there is a slip of the finger that the guard only hides. That a text has no fields at all, or a file no such column, may be just what the guard
    /// is for.
    pub(in crate::rules) fn is_caught_by_guard(&self) -> bool {
        match self {
            ReadProblem::UnknownField { known, .. } => matches!(known, KnownFields::None) || known.is_of_file(),
            ReadProblem::NoOutputFields(_) | ReadProblem::MaybeMissing(_) => true,
            _ => false,
        }
    }
}
