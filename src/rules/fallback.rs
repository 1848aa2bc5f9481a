//! F304: models that fall back on each other in a circle.

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{PipelinePlan, Plan};

/// Reports each circle once, at the fallback that closes it.
pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    let models = &pipeline.pipeline.models;
    let mut done: HashSet<&str> = HashSet::new();
    for start in models.keys() {
        // The way from the start, and for each model on it the next of its fallbacks to look at.
        let mut way: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((name, next)) = way.last_mut() {
            let name = *name;
            let Some(fallback) = models.get(name).filter(|_| !done.contains(name)).and_then(|model| model.fallback.get(*next)) else {
                done.insert(name);
                way.pop();
                continue;
            };
            *next += 1;
            if let Some(first) = way.iter().position(|(other, _)| *other == fallback.value) {
                let circle: Vec<&str> = way.iter().skip(first).map(|(name, _)| *name).chain([fallback.value.as_str()]).collect();
                let message = match circle.as_slice() {
                    [_, _] => format!("model \"{name}\" falls back to itself"),
                    _ => format!("models fall back in a circle: {}", circle.join(" -> ")),
                };
                out.push(Diagnostic::new(Code::FallbackCircle, fallback.span, message).help("remove one of these fallbacks"));
            } else if let Some((other, _)) = models.get_key_value(&fallback.value) {
                way.push((other, 0));
            }
        }
    }
}
