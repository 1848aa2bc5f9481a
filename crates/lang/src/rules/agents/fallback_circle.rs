//! F304: models that fall back on each other in a circle.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::way;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan};

/// Reports each circle once, at the fallback that closes it.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    let models = &pipeline.pipeline.models;
    let mut done: HashSet<&str> = HashSet::new();
    for start in models.keys() {
        // The way from the start, and for each model on it the next of its fallbacks to look at.
        let mut open: Vec<(&str, usize)> = vec![(start, 0)];
        let mut place_on_way: HashMap<&str, usize> = HashMap::from([(start.as_str(), 0)]);
        while let Some((name, next)) = open.last_mut() {
            let name = *name;
            let Some(fallback) = models.get(name).filter(|_| !done.contains(name)).and_then(|model| model.fallback.get(*next)) else {
                done.insert(name);
                place_on_way.remove(name);
                open.pop();
                continue;
            };
            *next += 1;
            if let Some(first) = place_on_way.get(fallback.value.as_str()) {
                let circle: Vec<&str> = open.iter().skip(*first).map(|(name, _)| *name).chain([fallback.value.as_str()]).collect();
                let message = match circle.as_slice() {
                    [_, _] => format!("model \"{name}\" falls back to itself"),
                    _ => format!("models fall back in a circle: {}", way(&circle)),
                };
                let others: Vec<&str> = models.keys().map(String::as_str).filter(|other| !circle.contains(other)).collect();
                let help = match others.as_slice() {
                    [] => "remove one of these fallbacks, or add another model below models and name that".to_owned(),
                    others => format!("write another model: {}; or remove the fallback", others.join(", ")),
                };
                out.push(Diagnostic::new(Code::FallbackCircle, fallback.span, message).help(help));
            } else if let Some((other, _)) = models.get_key_value(&fallback.value) {
                place_on_way.insert(other, open.len());
                open.push((other, 0));
            }
        }
    }
}
