//! What is known of a result before a run, by the type that writes it: a sample of it.

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

    /// As JSON.
    fn into_value(self) -> Value
    where
        Self: Serialize,
    {
        serde_json::to_value(self).unwrap_or_default()
    }
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
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(is_bare: bool) -> Vec<T> {
        vec![T::sample(is_bare)]
    }
}
