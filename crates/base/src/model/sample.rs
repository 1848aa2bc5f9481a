//! What is known of a result before a run, by the type that writes it: a sample of it, and who writes each part.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{FailureKind, StepStatus};

/// A type of which there is a sample. Templates, checks and mocks know by it what a step gives, so that no shape is written twice.
pub trait Sample: Sized {
    /// One in which each list has an element. In a bare one is nothing that may be missing; in another is all of it. Null stands for anything.
    fn sample(is_bare: bool) -> Self;

    /// The sample as JSON.
    fn shape(is_bare: bool) -> Value
    where
        Self: Serialize,
    {
        Self::sample(is_bare).into_value()
    }

    /// Who writes what is at a path of names in it, without places in lists; `None`: that is no field of it.
    fn writer(_: &[&str]) -> Option<PartWriter> {
        None
    }

    /// As JSON.
    fn into_value(self) -> Value
    where
        Self: Serialize,
    {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Who writes a part of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartWriter {
    /// The engine: a count, a time, true or false, a word of its own, or a name that the author wrote.
    Engine,
    /// The model, tool, file or person that is asked, with what it is given.
    Others,
}

/// What is said of a field of a result.
#[derive(Debug, Clone, Copy)]
pub enum ResultField {
    /// All of it is written so.
    Whole(PartWriter),
    /// Its parts are.
    Parts(fn(&[&str]) -> Option<PartWriter>),
    /// Its parts stand among the fields around it.
    Flat(fn(&[&str]) -> Option<PartWriter>),
}

/// Who writes what is at a path in what a field holds.
pub fn writer_below<T, F: Sample>(_: impl Fn(&T) -> &F, path: &[&str]) -> Option<PartWriter> {
    F::writer(path)
}

/// Who writes what is at a path below fields.
pub fn writer_among(fields: &[(&str, ResultField)], path: &[&str]) -> Option<PartWriter> {
    let (name, rest) = path.split_first()?;
    fields.iter().find_map(|(own, field)| match field {
        ResultField::Flat(writer) => writer(path),
        _ if own.trim_start_matches("r#") != *name => None,
        ResultField::Whole(writer) => Some(*writer),
        ResultField::Parts(writer) => Some(writer(rest).unwrap_or(PartWriter::Others)),
    })
}

macro_rules! same {
    ($($kind:ty: $sample:expr;)*) => {
        $(impl Sample for $kind {
            fn sample(_: bool) -> $kind {
                $sample
            }
        })*
    };
}

same! {
    String: "x".to_owned();
    PathBuf: PathBuf::from("x");
    bool: true;
    i32: 1;
    u16: 200;
    u32: 1;
    u64: 1;
    usize: 1;
    f64: 1.5;
    Value: Value::Null;
    Arc<Value>: Arc::default();
    Map<String, Value>: Map::new();
    DateTime<Utc>: DateTime::UNIX_EPOCH;
    FailureKind: FailureKind::Timeout;
    StepStatus: StepStatus::Succeeded;
}

impl<T: Sample> Sample for Option<T> {
    fn sample(is_bare: bool) -> Option<T> {
        (!is_bare).then(|| T::sample(false))
    }

    fn writer(path: &[&str]) -> Option<PartWriter> {
        T::writer(path)
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(is_bare: bool) -> Vec<T> {
        vec![T::sample(is_bare)]
    }

    fn writer(path: &[&str]) -> Option<PartWriter> {
        T::writer(path)
    }
}
