//! Whether an edit changed what it was about and nothing else: the values of a file before and after it.

use crate::diagnostic::Edit;
use crate::source::{FileId, SourceFile, Span};
use crate::syntax::{self, Node, NodeKind};

/// Whether an edit may write several entries of a list in place of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// It may not.
    None,
    /// It may.
    OfLists,
}

/// Whether all values of `after` are those of `before`, but for what stands where the edits are. Of what could not be read before,
/// nothing is known.
pub(super) fn is_same_but_for(before: &str, after: &str, edits: &[&Edit], growth: Growth) -> bool {
    let tree = |text: &str| syntax::parse(FileId(0), &SourceFile::new("", text), &mut vec![]);
    let (before, after) = (tree(before), tree(after));
    let is_cut = before.as_map().is_none_or(|map| map.is_cut);
    Compared { edits, growth }.is_same(&before, &after, true, is_cut)
}

struct Compared<'a> {
    edits: &'a [&'a Edit],
    growth: Growth,
}

impl Compared<'_> {
    /// Whether an edit touches a span.
    fn touches(&self, span: Span) -> bool {
        self.edits.iter().any(|(edit, _)| edit.start <= span.end && span.start <= edit.end)
    }

    /// Whether an edit takes the whole of a span away.
    fn removes(&self, span: Span) -> bool {
        self.edits.iter().any(|(edit, new)| new.is_empty() && edit.start <= span.start && span.end <= edit.end)
    }

    /// Whether an edit stands in place of the whole of a span.
    fn replaces(&self, span: Span) -> bool {
        self.edits.iter().any(|(edit, new)| !new.is_empty() && edit.start <= span.start && span.end <= edit.end)
    }

    /// `is_written` is false for what "*" repeats: an edit where it was written changes it elsewhere, too. `is_cut`: the reading ended
    /// in here, so that more may follow, and the last value may be half of what was meant.
    fn is_same(&self, before: &Node, after: &Node, is_written: bool, is_cut: bool) -> bool {
        let is_own = |span: Span| is_written && is_inside(before.span, span);
        match (&before.kind, &after.kind) {
            (NodeKind::Broken, _) => true,
            (NodeKind::Scalar(b), NodeKind::Scalar(a)) => b.value == a.value || is_cut || is_written && self.touches(before.span),
            (NodeKind::List(b), NodeKind::List(a)) => {
                let kept: Vec<&Node> = b.iter().filter(|node| !(is_own(node.span) && self.removes(node.span))).collect();
                // Entries that stand in place of one are no other's.
                let grown = kept.iter().position(|node| self.growth == Growth::OfLists && is_own(node.span) && self.replaces(node.span));
                if let (Some(at), Some(more)) = (grown, a.len().checked_sub(kept.len())) {
                    let others = kept.iter().enumerate().filter(|(index, _)| *index != at);
                    let after = a[..at].iter().chain(&a[at + more + 1..]);
                    return others.zip(after).all(|((_, b), a)| self.is_same(b, a, is_own(b.span), false));
                }
                let last = |index: usize| is_cut && index + 1 == kept.len();
                (kept.len() == a.len() || is_cut && kept.len() < a.len())
                    && kept.iter().zip(a).enumerate().all(|(i, (b, a))| self.is_same(b, a, is_own(b.span), last(i)))
            }
            (NodeKind::Map(b), NodeKind::Map(a)) => {
                let last = |index: usize| is_cut && index + 1 == b.entries.len();
                (b.entries.len() == a.entries.len() || is_cut && b.entries.len() < a.entries.len())
                    && b.entries.iter().zip(&a.entries).enumerate().all(|(i, ((key, b), (new, a)))| {
                        (key.text == new.text || is_own(key.span) && self.touches(key.span)) && self.is_same(b, a, is_own(b.span), last(i))
                    })
            }
            // What was replaced as a whole may have another shape.
            (NodeKind::Scalar(_) | NodeKind::List(_) | NodeKind::Map(_), _) => is_cut || is_written && self.replaces(before.span),
        }
    }
}

fn is_inside(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
