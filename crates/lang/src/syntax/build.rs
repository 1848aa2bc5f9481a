//! The parser's events → the tree. No recursion; every size is counted.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StructureStyle, Tag};

use super::braces::{self, Braces};
use super::findings;
use super::frames::{Anchored, CollectionContent, OpenCollection, OpenFrame, ParseError, ParsedFile, PendingKey, Size};
use super::tree::{Map, Node, NodeKind, QuoteStyle, Scalar};
use super::tree_builder::TreeBuilder;
use super::{folded, keys, limits, offsets, scalar, traps, unread};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FileId, SourceFile, Span};

type Flow = ControlFlow<()>;
const GO_ON: Flow = ControlFlow::Continue(());
const STOP: Flow = ControlFlow::Break(());

/// How the parser reads: without comments.
pub(super) fn options() -> granit_parser::Options {
    let mut options = granit_parser::Options::default();
    options.emit_unresolved_aliases = true;
    options.set_emit_comments(false);
    options.flow_nesting_limit = limits::DEPTH;
    options.block_nesting_limit = limits::DEPTH;
    options
}

/// Reads `text`, which is `source`'s with [`Braces`] and unreadable characters replaced, each by as many bytes.
pub(super) fn read(file: FileId, source: &SourceFile, text: &str, quoted: &Braces) -> ParsedFile {
    let mut builder = TreeBuilder {
        file,
        source,
        text,
        quoted,
        stack: vec![],
        root: None,
        findings: vec![],
        anchors: HashMap::new(),
        size: Size::default(),
        has_alias: false,
        braces: None,
        last_braces: None,
        seen: 0,
        last: 0,
        closed: vec![],
        after_block_text: false,
        documents: 0,
    };
    builder.directives();
    let mut kind = None;
    let mut is_cut = false;
    for event in Parser::new_from_str_with_options(text, options()) {
        match event {
            Ok((event, span)) => {
                let place = builder.clamp(span.start.byte_offset())..builder.clamp(span.end.byte_offset());
                let tag = span.tag_span().and_then(|tag| tag.byte_range());
                if builder.take(event, place, tag).is_break() {
                    is_cut = true;
                    break;
                }
            }
            Err(error) => {
                kind = Some((error.kind().clone(), builder.clamp(error.marker().byte_offset())));
                is_cut = true;
                break;
            }
        }
    }
    builder.finish(is_cut, kind)
}

impl TreeBuilder<'_> {
    /// `%TAG` and unknown directives; `%YAML` is fine.
    fn directives(&mut self) {
        for line in 1..=self.source.line_count() {
            let whole = self.source.line(line);
            let text = whole.trim_start_matches('\u{feff}');
            if text.starts_with('%') && !text.starts_with("%YAML ") {
                let start = self.source.line_start(line) + whole.len() - text.len();
                let word = text.split_whitespace().next().unwrap_or("%");
                let message = format!("\"{}\" is not allowed", super::short(word));
                self.report(findings::unsupported(Span::new(self.file, start, start + text.len()), message).help("remove the line"));
            } else if !(text.is_empty() || text.starts_with(['#', '%'])) {
                return;
            }
        }
    }

    fn take(&mut self, event: Event<'_>, place: Range<usize>, tag: Option<Range<usize>>) -> Flow {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let found = findings::unsupported(self.span(&place), "a second document begins here; a file holds one");
                    self.report(found.help("remove the \"---\" or \"...\", or put what follows into a file of its own"));
                    return STOP;
                }
                GO_ON
            }
            Event::Scalar(text, style, anchor, has_tag) => {
                self.tag(has_tag.as_deref(), tag, &place);
                self.scalar(&text, style, anchor, place)
            }
            Event::SequenceStart(style, anchor, has_tag) => {
                self.tag(has_tag.as_deref(), tag, &place);
                self.open(CollectionContent::List(vec![]), style, anchor, place)
            }
            Event::MappingStart(style, anchor, has_tag) => {
                self.tag(has_tag.as_deref(), tag, &place);
                let inside = CollectionContent::Map { map: Map::default(), places: HashMap::new(), pending: PendingKey::Nothing };
                self.open(inside, style, anchor, place)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(place),
            Event::Alias(id) => self.alias(id, place),
            Event::UnresolvedAlias(_) => {
                let name = super::short(self.source.text.get(place.clone()).unwrap_or("*"));
                let message = format!("\"{name}\" repeats nothing above it; a text that begins with \"*\" must be in quotes");
                self.report(findings::unreadable(self.span(&place), message).help(format!("write \"{name}\"")));
                self.add(Node::broken(self.span(&place)), place.end, 0, 1, Size::default())
            }
            _ => GO_ON,
        }
    }

    fn tag(&mut self, tag: Option<&Tag>, written: Option<Range<usize>>, place: &Range<usize>) {
        let Some(tag) = tag else { return };
        let place = written.unwrap_or(place.start..place.start);
        let name = super::short(&tag.original());
        let is_condition =
            ["inputs.", "steps.", "item.", "run.", "person."].iter().any(|root| name.trim_start_matches('!').starts_with(root));
        let why = if is_condition { ": \"!\" says nothing in a condition, and is a tag to YAML" } else { "" };
        let found = findings::unsupported(self.span(&place), format!("\"{name}\" is not allowed{why}"));
        let plain = name.trim_start_matches('!');
        let is_path = ["inputs.", "steps.", "item.", "run.", "person."].iter().any(|root| plain.starts_with(root));
        self.report(match is_path {
            true => found.help(format!("write not {plain}")).proposed_fix(vec![(self.span(&place), format!("not {plain}"))]),
            false => {
                let rest = self.source.text.get(place.start..).and_then(|rest| rest.lines().next()).unwrap_or_default().trim_end();
                let is_text = !rest.contains(['[', '{']);
                found.help(match is_text {
                    true => format!("write {}: a text that begins with \"!\" stands in quotes", super::quoted(rest)),
                    false => {
                        let line = self.source.text.get(..place.start).and_then(|text| text.lines().next_back()).unwrap_or_default();
                        let key = line.trim().trim_start_matches("- ").trim_end_matches(':');
                        let such = if ["timeout", "deadline", "delay", "wait"].contains(&key) {
                            format!(", such as {key}: 30s")
                        } else {
                            String::new()
                        };
                        format!("write the value itself in its place{such}: a tag with \"!\" takes nothing from elsewhere")
                    }
                })
            }
        });
    }

    /// Counts what comes in; too much ends the reading.
    fn count(&mut self, more: Size, place: &Range<usize>) -> Flow {
        self.size.nodes = self.size.nodes.saturating_add(more.nodes);
        self.size.bytes = self.size.bytes.saturating_add(more.bytes);
        if self.size.nodes <= limits::NODES && self.size.bytes <= limits::TEXT_BYTES {
            return GO_ON;
        }
        let (message, help) = if self.has_alias {
            ("\"&\" and \"*\" make this file grow past 100,000 values", "write out what is needed, without repeating it by \"*\"")
        } else {
            ("this file holds more than 100,000 keys and values", "split it, or move data into a table")
        };
        self.braces = None;
        self.report(Diagnostic::too_large(self.span(place), message).help(help));
        STOP
    }

    pub(super) fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(OpenCollection { inside: CollectionContent::Map { pending: PendingKey::Nothing, .. }, .. }))
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize, place: Range<usize>) -> Flow {
        let size = Size { nodes: 1, bytes: text.len() };
        self.count(size, &place)?;
        self.closed.clear();
        self.last = place.start;
        let is_empty = place.is_empty() && style == ScalarStyle::Plain;
        self.after_block_text = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if let Some(end) = self.quoted.end_of(place.start) {
            let node = braces::node(self.file, &self.source.text, place.start, end);
            return self.add(node, place.end, anchor, 1, size);
        }
        let style = match style {
            ScalarStyle::Plain => QuoteStyle::Plain,
            ScalarStyle::SingleQuoted => QuoteStyle::Single,
            ScalarStyle::DoubleQuoted => QuoteStyle::Double,
            ScalarStyle::Literal => QuoteStyle::Literal,
            ScalarStyle::Folded => QuoteStyle::Folded,
        };
        let mut place = place;
        if self.after_block_text {
            let written = self.text.get(place.clone()).unwrap_or("");
            place.end = place.start + written.trim_end().len();
        } else if is_empty && self.text.as_bytes().get(place.start) == Some(&b':') {
            place = place.start + 1..place.start + 1;
        }
        let text = if is_empty { "" } else { text };
        let mut value = if style == QuoteStyle::Plain { scalar::value(text) } else { text.into() };
        if style == QuoteStyle::Plain && !self.expects_key() && self.trap(text, &place) {
            value = text.into();
        }
        let offsets = offsets::offsets(text, style, self.text, place.start, place.end);
        let header = if self.after_block_text { offsets::header(self.text, place.start) } else { None };
        let scalar = Scalar { text: text.to_owned(), style, value, offsets, header };
        self.folded(&scalar);
        self.unread(&scalar, anchor, &place);
        let node = Node { span: self.span(&place), kind: NodeKind::Scalar(scalar) };
        self.add(node, place.end, anchor, 1, size)
    }

    /// Reports a value of which a part is not read as it is written.
    fn unread(&mut self, scalar: &Scalar, anchor: usize, place: &Range<usize>) {
        if self.expects_key() {
            return;
        }
        let is_text = scalar.value.is_string() && !scalar.text.is_empty();
        let found = match scalar.style {
            QuoteStyle::Plain if scalar.text.is_empty() && anchor > 0 => unread::anchor(self.text, place.start),
            QuoteStyle::Plain if scalar.text.is_empty() => {
                self.behind_key().and_then(|at| unread::comment(self.text, at..at, self.is_flow()))
            }
            QuoteStyle::Plain if is_text => unread::comment(self.text, place.clone(), self.is_flow()),
            QuoteStyle::Double => unread::path(self.text, place.clone()),
            QuoteStyle::Plain | QuoteStyle::Single | QuoteStyle::Literal | QuoteStyle::Folded => None,
        };
        let Some(unread::UnreadPart { place, message, help, instead: (whole, text) }) = found else { return };
        let found = findings::yaml_trap(self.span(&place), message).proposed_fix(vec![(self.span(&whole), text)]);
        self.report(help.into_iter().fold(found, Diagnostic::help));
    }

    /// Whether what is read stands in brackets.
    fn is_flow(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.open.in_brackets)
    }

    /// The place behind the colon of the key whose value is read.
    fn behind_key(&self) -> Option<usize> {
        let Some(CollectionContent::Map { pending: PendingKey::Key(key), .. }) = self.stack.last().map(|frame| &frame.inside) else {
            return None;
        };
        let end = key.span.end as usize;
        let rest = self.text.get(end..)?;
        let colon = rest.find(':').filter(|at| rest[..*at].chars().all(|c| c.is_whitespace() || matches!(c, '"' | '\'')))?;
        Some(end + colon + 1)
    }

    /// Reports a folded text that is read otherwise than it is written.
    fn folded(&mut self, scalar: &Scalar) {
        let key = match self.stack.last().map(|frame| &frame.inside) {
            Some(CollectionContent::Map { pending: PendingKey::Key(key), .. }) => key.text.as_str(),
            Some(CollectionContent::Map { .. } | CollectionContent::List(_)) | None => "",
        };
        let Some((what, at)) = folded::lost(scalar, key).zip(scalar.header) else { return };
        let span = self.span(&(at as usize..at as usize + 1));
        let found = findings::yaml_trap(span, what).help("write \"|\" instead of \">\": it keeps the lines");
        self.report(found.proposed_fix(vec![(span, "|".to_owned())]));
    }

    /// Reports a value that means something else elsewhere; true for a phone number, which must stay text.
    fn trap(&mut self, text: &str, place: &Range<usize>) -> bool {
        let keys = self.stack.iter().filter_map(|frame| match &frame.inside {
            CollectionContent::Map { pending: PendingKey::Key(key), .. } => Some(key.text.as_str()),
            _ => None,
        });
        let Some(trap) = traps::find(text, keys) else { return false };
        let span = self.span(place);
        let edits = vec![(span, trap.instead.unwrap_or_else(|| format!("\"{text}\"")))];
        let found = match trap.is_phone {
            true => Diagnostic::new(Code::UnquotedPhone, span, trap.message),
            false => findings::yaml_trap(span, trap.message),
        };
        let found = found.help(trap.help);
        self.report(if trap.quotes_are_safe { found.safe_fix(edits) } else { found.proposed_fix(edits) });
        trap.is_phone
    }

    fn open(&mut self, inside: CollectionContent, style: StructureStyle, anchor: usize, place: Range<usize>) -> Flow {
        let in_brackets = style == StructureStyle::Flow;
        let is_list = matches!(inside, CollectionContent::List(_));
        let mut open = OpenFrame { start: place.start, is_list, in_brackets };
        if is_list && !in_brackets && self.text.as_bytes().get(open.start) != Some(&b'-') {
            // A list at its key's own indentation begins, for the parser, behind its first "-".
            let before = self.text.get(..open.start).unwrap_or("").trim_end();
            open.start = if before.ends_with('-') { before.len() - 1 } else { open.start };
        }
        if self.stack.len() >= limits::DEPTH {
            self.braces = None;
            self.report(super::too_deep(self.span(&place)));
            return STOP;
        }
        let size_before = self.size;
        self.count(Size { nodes: 1, bytes: 0 }, &place)?;
        if self.braces.is_none() && in_brackets && braces::begins(self.text.get(open.start..).unwrap_or("")) {
            self.braces = Some(self.stack.len());
        }
        self.closed.clear();
        self.stack.push(OpenCollection { open, anchor, size_before, deepest: 0, end: place.end, is_broken: false, inside });
        GO_ON
    }

    fn close(&mut self, place: Range<usize>) -> Flow {
        let Some(frame) = self.stack.pop() else { return GO_ON };
        let OpenCollection { open, anchor, size_before, deepest, mut end, is_broken, inside } = frame;
        if open.in_brackets && !place.is_empty() {
            end = place.end;
        }
        self.closed.push(open);
        self.after_block_text &= !open.in_brackets;
        let size = Size { nodes: self.size.nodes - size_before.nodes, bytes: self.size.bytes - size_before.bytes };
        let place = open.start..end;
        if self.braces == Some(self.stack.len()) {
            self.braces = None;
            self.last_braces = Some((open, end));
            if self.expects_key() {
                let message = "a key cannot be a template; keys are fixed before the run";
                let found = findings::unreadable(self.span(&place), message);
                self.report(found.help("write the key out, and the template as its value, in quotes"));
                return self.add(Node::broken(self.span(&place)), end, anchor, 1, size);
            }
            self.report(braces::finding(self.file, &self.source.text, open.start, end));
            let node = braces::node(self.file, &self.source.text, open.start, end);
            return self.add(node, end, anchor, 1, size);
        }
        let kind = match inside {
            _ if is_broken => NodeKind::Broken,
            CollectionContent::List(list) => NodeKind::List(list),
            CollectionContent::Map { map, .. } => NodeKind::Map(map),
        };
        self.add(Node { span: self.span(&place), kind }, end, anchor, deepest + 1, size)
    }

    fn alias(&mut self, id: usize, place: Range<usize>) -> Flow {
        self.has_alias = true;
        self.closed.clear();
        let Some(anchored) = self.anchors.get(&id) else {
            let name = super::short(self.text.get(place.start + 1..place.end).unwrap_or(""));
            let message = format!("\"*{name}\" is inside \"&{name}\" and would never end");
            self.report(findings::unsupported(self.span(&place), message).help("write out the value"));
            return self.add(Node::broken(self.span(&place)), place.end, 0, 1, Size::default());
        };
        let (size, depth) = (anchored.size, anchored.depth);
        if self.stack.len() + depth > limits::DEPTH + 1 {
            self.report(super::too_deep(self.span(&place)));
            return STOP;
        }
        self.count(size, &place)?;
        let Some(node) = self.anchors.get(&id).map(|anchored| anchored.node.clone()) else { return GO_ON };
        self.add(node, place.end, 0, depth, size)
    }

    /// Puts a finished node where it belongs. `end` is where it ends in the text, `depth` how deep it is (a scalar: 1).
    fn add(&mut self, node: Node, end: usize, anchor: usize, depth: usize, size: Size) -> Flow {
        self.seen = self.seen.max(end);
        if anchor != 0 {
            // The copy that is kept for "*" counts like a use of it.
            self.count(size, &(node.span.start as usize..end))?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), size, depth });
        }
        let expects_key = self.expects_key();
        if let Some(frame) = self.stack.last_mut() {
            frame.deepest = frame.deepest.max(depth);
            frame.end = frame.end.max(end);
        }
        if expects_key {
            keys::add(self, node);
            return GO_ON;
        }
        match self.stack.last_mut().map(|frame| &mut frame.inside) {
            None => self.root = self.root.take().or(Some(node)),
            Some(CollectionContent::List(list)) => list.push(node),
            Some(CollectionContent::Map { map, pending, .. }) => {
                if let PendingKey::Key(key) = std::mem::replace(pending, PendingKey::Nothing) {
                    map.entries.push((key, node));
                }
            }
        }
        GO_ON
    }

    /// The value that ends at a ":" which cannot be there is not what its author meant.
    fn break_last(&mut self, at: usize) {
        if !self.text.get(self.seen..at).is_some_and(|between| between.trim().is_empty()) {
            return;
        }
        let node = match self.stack.last_mut().map(|frame| &mut frame.inside) {
            None => self.root.as_mut(),
            Some(CollectionContent::List(list)) => list.last_mut(),
            Some(CollectionContent::Map { map, pending: PendingKey::Nothing, .. }) => map.entries.last_mut().map(|(_, node)| node),
            Some(CollectionContent::Map { .. }) => None,
        };
        if let Some(node) = node {
            node.kind = NodeKind::Broken;
            let span = node.span;
            self.findings.retain(|finding| finding.span != span);
        }
    }

    fn finish(mut self, is_cut: bool, kind: Option<(ErrorKind, usize)>) -> ParsedFile {
        if let Some((ErrorKind::MappingValueNotAllowed | ErrorKind::ExpectedFlowMappingSeparator, at)) = kind {
            self.break_last(at);
        }
        let open = self.stack.iter().map(|frame| frame.open).collect();
        let failure = kind.map(|(kind, at)| ParseError {
            kind,
            at,
            seen: self.seen,
            last: self.last,
            open,
            closed: std::mem::take(&mut self.closed),
            after_block_text: self.after_block_text,
            braces: self.last_braces,
        });
        self.braces = None;
        let told = self.findings.len();
        while let Some(frame) = self.stack.last_mut() {
            let end = frame.end;
            if let CollectionContent::Map { map, pending, .. } = &mut frame.inside {
                map.is_cut = is_cut;
                if let PendingKey::Key(key) = std::mem::replace(pending, PendingKey::Nothing) {
                    let span = Span { start: key.span.end, ..key.span };
                    map.entries.push((key, Node::broken(span)));
                }
            }
            // Half a value is not judged: what closing it would report is dropped below.
            let _ = self.close(end..end);
        }
        self.findings.truncate(told);
        let start = Span::file_start(self.file);
        let nothing = NodeKind::Scalar(Scalar::new("", QuoteStyle::Plain, serde_json::Value::Null));
        let kind = if is_cut { NodeKind::Broken } else { nothing };
        ParsedFile { root: self.root.unwrap_or(Node { span: start, kind }), findings: self.findings, failure }
    }
}
