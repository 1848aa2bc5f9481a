//! Mistakes people make, each in one place of a file.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use flow_base::source::{FileId, SourceFile, Span};
use flow_lang::lower::keys::{KeyTable, Takes};
use flow_lang::syntax::{self, Node, NodeKind};
use regex::Regex;

use super::sites::Sites;
use super::values::typos;

/// A file with one mistake.
#[derive(Debug)]
pub struct Mutation {
    /// Which kind of mistake.
    pub category: &'static str,
    /// What was done, for the person who reads a failure.
    pub what: String,
    /// The bytes of the file that are replaced.
    pub at: Range<usize>,
    /// What is there instead.
    pub by: String,
    /// Where a careful person would look, lines of the new text.
    pub lines: RangeInclusive<usize>,
    /// A finding elsewhere is right too if it names one of these.
    pub names: Vec<String>,
    /// One of these is in the message, the help or the edit of a finding that helps. Empty: there is no single way to fix it.
    pub mend: Vec<String>,
}

/// A file and what can go wrong in it.
pub struct Maker<'a> {
    pub(super) text: &'a str,
    pub(super) source: &'a SourceFile,
    tree: &'a Node,
    pub(super) sites: Sites<'a>,
    /// The file that is checked, where that is another one: what is defined here may be used there.
    pub(super) users: &'a str,
    made: Vec<Mutation>,
    seen: BTreeSet<(usize, usize, String)>,
}

/// The tree of a text; what is wrong with it does not matter here.
pub fn tree_of(text: &str) -> Node {
    syntax::parse(FileId(0), &SourceFile::new("file.yaml", text), &mut vec![])
}

/// The bytes of a span.
pub(super) fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

impl Mutation {
    /// The whole file with the mistake.
    pub fn text(&self, original: &str) -> String {
        format!("{}{}{}", &original[..self.at.start], self.by, &original[self.at.end..])
    }
}

impl<'a> Maker<'a> {
    pub fn new(source: &'a SourceFile, tree: &'a Node, place: &'static KeyTable, users: &'a str) -> Maker<'a> {
        Maker { text: &source.text, source, tree, sites: Sites::of(tree, place), users, made: vec![], seen: BTreeSet::new() }
    }

    /// Every mistake there is, in the order of the categories.
    pub fn all(mut self) -> Vec<Mutation> {
        self.renamed_keys();
        self.lost_quotes();
        self.indentation();
        self.wrong_ids();
        self.renamed_definitions();
        self.expressions();
        self.wrong_types();
        self.missing_pieces();
        self.ends_of_file();
        self.orders();
        self.made
    }

    pub(super) fn line(&self, offset: usize) -> usize {
        self.source.position(offset as u32).line
    }

    /// Lines where a finding about something inside a text may stand. Where a text cannot be followed, that is where it begins; what is lost in an
    /// expression over several lines may be missed on each of them.
    pub(super) fn lines_at(&self, offset: usize) -> RangeInclusive<usize> {
        let line = self.line(offset);
        let around = self.scalars().into_iter().filter(|node| range(node.span).contains(&offset));
        let mut around = around.filter_map(|node| Some((node, node.as_scalar()?)));
        let Some((node, text)) = around.next() else { return line..=line };
        let (first, last) = (self.line(node.span.start as usize), self.line((node.span.end as usize).saturating_sub(1)));
        match () {
            () if !text.text.contains("{{") && last > first => first..=last,
            () if text.offsets.is_empty() => first..=line,
            () => line..=line,
        }
    }

    pub(super) fn is_inside_brackets(&self, offset: usize) -> bool {
        fn looks(node: &Node, text: &str, offset: usize) -> bool {
            let at = range(node.span);
            if !at.contains(&offset) {
                return false;
            }
            let is_flow = !matches!(node.kind, NodeKind::Scalar(_)) && text[at.start..].starts_with(['[', '{']);
            is_flow
                || match &node.kind {
                    NodeKind::List(list) => list.iter().any(|node| looks(node, text, offset)),
                    NodeKind::Map(map) => map.entries.iter().any(|(key, node)| {
                        range(key.span).contains(&offset) && text[at.start..].starts_with('{') || looks(node, text, offset)
                    }),
                    _ => false,
                }
        }
        looks(self.tree, self.text, offset)
    }

    /// Adds a file whose bytes `at` are `by`. `lines` are those of the new file.
    pub(super) fn add(
        &mut self,
        category: &'static str,
        at: Range<usize>,
        by: &str,
        lines: RangeInclusive<usize>,
    ) -> Option<&mut Mutation> {
        if !self.seen.insert((at.start, at.end, by.to_owned())) {
            return None;
        }
        let lost = self.text[at.clone()].lines().next().unwrap_or_default();
        let what = format!("line {}: {:?} became {:?}", lines.start(), lost.trim(), by.lines().next().unwrap_or_default());
        self.made.push(Mutation { category, what, at, by: by.to_owned(), lines, names: vec![], mend: vec![] });
        self.made.last_mut()
    }

    fn renamed_keys(&mut self) {
        for site in std::mem::take(&mut self.sites.keys) {
            let (key, _) = &site.owner.entries[site.index];
            let line = self.line(key.span.start as usize);
            for typo in typos(&key.text) {
                let is_legal = site.places.iter().any(|place| place.key(&typo).is_some())
                    || (site.is_kind && flow_lang::lower::keys::KINDS.iter().any(|kind| kind.name == typo));
                if !is_legal && let Some(made) = self.add("renamed key", range(key.span), &typo, line..=line) {
                    made.mend = vec![format!("\"{}\"", key.text)];
                }
            }
            self.sites.keys.push(site);
        }
    }

    /// Every scalar of the file.
    pub(super) fn scalars(&self) -> Vec<&'a Node> {
        fn below<'a>(node: &'a Node, found: &mut Vec<&'a Node>) {
            match &node.kind {
                NodeKind::Scalar(_) => found.push(node),
                NodeKind::List(list) => list.iter().for_each(|node| below(node, found)),
                NodeKind::Map(map) => map.entries.iter().for_each(|(_, node)| below(node, found)),
                NodeKind::Broken => {}
            }
        }
        let mut found = vec![];
        below(self.tree, &mut found);
        found
    }

    /// A key the owner needs, or the kind of a step, is not there.
    fn missing_pieces(&mut self) {
        for site in std::mem::take(&mut self.sites.keys) {
            let entries = &site.owner.entries;
            let (key, node) = &entries[site.index];
            if (site.is_required || site.is_kind || key.text == "flow") && entries.len() > 1 {
                let at = match (entries.get(site.index + 1), site.index.checked_sub(1).and_then(|index| entries.get(index))) {
                    (Some((next, _)), _) => key.span.start as usize..next.span.start as usize,
                    (None, Some((_, before))) => before.span.end as usize..node.span.end as usize,
                    _ => continue,
                };
                let first = self.line(entries[0].0.span.start as usize);
                let last = self.line(key.span.start as usize);
                if let Some(made) = self.add("missing piece", at, "", first.min(last)..=last) {
                    let kinds = format!("\"{}\"", key.text);
                    made.names = vec![kinds.clone()];
                    made.mend = vec![kinds, key.text.clone()];
                }
            }
            self.sites.keys.push(site);
        }
    }

    /// The line where the innermost block of keys around a place begins.
    fn owner_line(&self, offset: usize) -> usize {
        let starts = self.sites.keys.iter().filter_map(|site| {
            let (first, (_, last)) = (&site.owner.entries.first()?.0, site.owner.entries.last()?);
            (first.span.start as usize..last.span.end as usize).contains(&offset).then_some(first.span.start as usize)
        });
        let block = starts.filter(|start| !self.is_inside_brackets(*start)).max();
        self.line(block.unwrap_or(offset))
    }

    /// The file ends behind a ":", or within quotes or brackets. What is missing then is missing in the whole list of keys that was cut.
    fn ends_of_file(&mut self) {
        let end = self.text.len();
        let mut cuts = vec![];
        for site in &self.sites.values {
            let is_any = matches!(site.takes, Takes::Value | Takes::Constant | Takes::Mock | Takes::Expected | Takes::Replies);
            if let Some(key) = site.key
                && !is_any
                && !self.is_inside_brackets(key.span.start as usize)
            {
                cuts.push((key.span.end as usize + 1, self.owner_line(key.span.start as usize)));
            }
            let at = range(site.node.span);
            let written = &self.text[at.clone()];
            if written.starts_with(['"', '\'', '[', '{']) && written.len() > 2 {
                let middle = (at.start + 1..at.start + written.len() / 2 + 1).rev().find(|at| self.text.is_char_boundary(*at));
                cuts.push((middle.unwrap_or(at.start + 1), self.owner_line(at.start)));
            }
        }
        for (cut, line) in cuts {
            let last = self.line(cut);
            // What stood below is missing too, and may be used elsewhere.
            let lost = self.sites.definitions.iter().filter(|definition| definition.start >= cut).map(|definition| definition.name);
            let head = self.tree.as_map().map(|map| map.entries.as_slice()).unwrap_or_default();
            let sections = head.iter().filter(|(key, _)| key.span.start as usize >= cut).map(|(key, _)| key.text.as_str());
            let names = lost.chain(sections).map(|name| format!("\"{name}\"")).collect();
            if let Some(made) = self.add("end of file", cut..end, "\n", line..=last + 1) {
                made.names = names;
            }
        }
    }

    /// A step that is above one it reads; `flow` that is not first.
    fn orders(&mut self) {
        for steps in std::mem::take(&mut self.sites.steps) {
            self.order(steps);
            self.sites.steps.push(steps);
        }
        let Some(map) = self.tree.as_map() else { return };
        let Some((flow, version)) = map.entries.first().filter(|(key, _)| key.text == "flow") else { return };
        let line_end = self.text[version.span.end as usize..].find('\n').map_or(self.text.len(), |end| version.span.end as usize + end + 1);
        for (key, _) in &map.entries[1..] {
            let (from, to) = (line_end, self.text[key.span.start as usize..].find('\n').map(|end| key.span.start as usize + end + 1));
            let Some(to) = to.filter(|to| self.text[*to..].starts_with(|c: char| c.is_ascii_lowercase())) else { continue };
            let moved = format!("{}{}", &self.text[from..to], &self.text[flow.span.start as usize..line_end]);
            let first = self.line(flow.span.start as usize);
            let last = self.line(to - 1);
            if let Some(made) = self.add("changed order", flow.span.start as usize..to, &moved, first..=last) {
                made.mend = vec!["flow: 1".to_owned(), "first".to_owned()];
            }
        }
    }

    fn order(&mut self, steps: &[Node]) {
        let starts: Vec<usize> = steps.iter().map(|step| self.source.line_start(self.line(step.span.start as usize))).collect();
        for (later, step) in steps.iter().enumerate() {
            let from = starts[later];
            let to = step.span.end as usize;
            if !self.text[from..].trim_start().starts_with("- ") || !self.text[to..].starts_with('\n') {
                continue;
            }
            for earlier in 0..later {
                let id = steps[earlier].as_map().and_then(|map| map.get("id")).and_then(Node::as_scalar).map_or("", |id| &id.text);
                let reads = Regex::new(&format!(r"\bsteps\.{}\b", regex::escape(id))).unwrap();
                let Some(read) = reads.find(&self.text[from..to]) else { continue };
                let moved = format!("{}\n{}", &self.text[from..to], &self.text[starts[earlier]..from]);
                let first = self.line(starts[earlier]);
                let line = first + self.text[from..from + read.start()].matches('\n').count();
                if let Some(made) = self.add("changed order", starts[earlier]..to + 1, &moved, first..=line) {
                    made.names = vec![format!("\"{id}\""), format!("steps.{id}")];
                    made.mend = vec![id.to_owned()];
                }
            }
        }
    }
}
