//! In a run that retries another one: what that one did with the elements of its lists, which is not done again.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::tree::StepTree;
use super::{Mood, NodeRef};
use crate::event::{Happening, KeptState, SharedValue, StepPath};
use crate::model::step_path;

/// What the earlier run did. An element of this run is matched with one of that run when its list begins: by its item, and at the same place if the
/// item there is equal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptResults {
    /// Elements of the earlier run that were not matched yet, by their path there.
    waiting: BTreeMap<StepPath, KeptElement>,
    /// The others, by the path of the element in this run.
    found: BTreeMap<StepPath, KeptElement>,
}

/// An element of the earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptElement {
    item: SharedValue,
    /// The run and the path that its own idempotency keys were made of.
    key_run: String,
    key_step: StepPath,
    own: KeptStep,
    /// Of one that failed, its steps by their id.
    inside: BTreeMap<String, KeptStep>,
}

/// What the earlier run did with an element, or with a step in one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptStep {
    pub(crate) state: KeptState,
    pub(crate) output: SharedValue,
    pub(crate) details: SharedValue,
}

impl KeptResults {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.found.is_empty()
    }

    /// Follows what was kept, and the lists that begin.
    pub(crate) fn take(&mut self, happening: &Happening) {
        match happening {
            Happening::ResultKept { step, state, item, key_run, key_step, output, details } => {
                let kept = KeptStep { state: *state, output: output.clone(), details: details.clone() };
                match step_path::split(step) {
                    None => {
                        let (key_run, key_step) = (key_run.clone(), key_step.clone());
                        let element = KeptElement { item: item.clone(), key_run, key_step, own: kept, inside: BTreeMap::new() };
                        self.waiting.insert(step.clone(), element);
                    }
                    Some((element, id)) => {
                        if let Some(element) = self.waiting.get_mut(element) {
                            element.inside.insert(id.to_owned(), kept);
                        }
                    }
                }
            }
            Happening::StepStarted { step, items: Some(items), .. } if !self.is_empty() => self.begins(step, items),
            _ => {}
        }
    }

    /// A list begins: each of its elements is matched with one of the earlier run that had the same item.
    fn begins(&mut self, list: &StepPath, items: &[SharedValue]) {
        let is_in = |path: &StepPath| step_path::element_of(path) == Some(list);
        self.found.retain(|path, _| !is_in(path));
        let mut open = vec![];
        for (place, item) in items.iter().enumerate() {
            let path: StepPath = step_path::element(list, place).into();
            match self.waiting.get(&path).is_some_and(|kept| kept.item == *item) {
                true => self.finds(path.clone(), &path),
                false => open.push((path, item)),
            }
        }
        let mut others: HashMap<String, VecDeque<StepPath>> = HashMap::new();
        for (path, kept) in self.waiting.iter().filter(|(path, _)| is_in(path)) {
            others.entry(kept.item.to_string()).or_default().push_back(path.clone());
        }
        for (path, item) in open {
            if let Some(earlier) = others.get_mut(&item.to_string()).and_then(VecDeque::pop_front) {
                self.finds(path, &earlier);
            }
        }
    }

    fn finds(&mut self, path: StepPath, earlier: &StepPath) {
        if let Some(kept) = self.waiting.remove(earlier) {
            self.found.insert(path, kept);
        }
    }

    /// The run and the path that the own idempotency keys of a step are made of, if an earlier run made them first.
    pub(crate) fn key_of(&self, path: &str) -> Option<(&str, String)> {
        let (element, below) = path.split_once('/').map_or((path, None), |(element, below)| (element, Some(below)));
        let kept = self.found.get(element)?;
        Some((&kept.key_run, below.map_or_else(|| kept.key_step.to_string(), |below| step_path::inside(&kept.key_step, below))))
    }
    /// What an earlier run did with a step that is about to begin for the first time.
    pub(crate) fn kept_for(&self, steps: &StepTree, at: NodeRef) -> Option<&KeptStep> {
        let node = steps.node(at);
        if self.is_empty() || node.round != 1 || node.attempt != 0 || steps.frame(at.frame).mood != Mood::Going {
            return None;
        }
        if let Some(element) = self.found.get(&node.path) {
            return Some(&element.own);
        }
        let holder = steps.node(steps.frame(at.frame).parent?);
        let element = self.found.get(&holder.path).filter(|_| holder.attempt == 1)?;
        element.inside.get(step_path::last(&node.path))
    }
}
