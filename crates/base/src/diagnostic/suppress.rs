//! `# flow-ignore: F105 reason`: findings an author has looked at and wants to hide.

use std::collections::{HashMap, HashSet};

use super::{Code, Diagnostic};
use crate::source::{FileId, Sources, Span};

/// One `flow-ignore` comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The codes it hides; each of them may be hidden.
    pub codes: Vec<Code>,
    /// Why, in the author's words; never empty.
    pub reason: String,
    /// The first line it speaks of, from 1.
    pub line: usize,
    /// The last one: the same, or the last line of the block text that begins on `line`.
    pub last_line: usize,
    /// The comment, from its `#`.
    pub span: Span,
    /// The codes inside the comment, from the first to the last.
    pub codes_span: Span,
    /// What to delete when nothing is left to hide: the blanks before it too, and its line if it is alone.
    pub removal: Span,
}

/// Where it is said that a finding is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuppressedBy {
    /// In a comment of the file.
    Comment,
    /// In the settings of the project.
    Settings,
}

/// A finding that was hidden, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// The finding.
    pub diagnostic: Diagnostic,
    /// Where it is said.
    pub by: SuppressedBy,
    /// The author's reason.
    pub reason: String,
}

/// What is left, and what was hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SuppressionResult {
    /// The findings to show, sorted, with F900 for what hid nothing.
    pub shown: Vec<Diagnostic>,
    /// The findings that were hidden, in their order.
    pub hidden: Vec<Suppressed>,
}

/// Applies the suppressions of all files to all findings. A file whose reading ended early (F001, F022) gets no F900: what
/// its suppressions hide may not have been looked for.
pub fn suppress(sources: &Sources, suppressions: &[Suppression], diagnostics: Vec<Diagnostic>) -> SuppressionResult {
    let mut judged = SuppressionResult::default();
    let mut used: Vec<Vec<bool>> = suppressions.iter().map(|s| vec![false; s.codes.len()]).collect();
    let unread: HashSet<FileId> =
        diagnostics.iter().filter(|d| matches!(d.code, Code::YamlSyntax | Code::TooLarge)).map(|d| d.span.file).collect();
    let mut by_file: HashMap<FileId, Vec<usize>> = HashMap::new();
    for (number, suppression) in suppressions.iter().enumerate() {
        by_file.entry(suppression.span.file).or_default().push(number);
    }
    for diagnostic in diagnostics {
        let mut reason = None;
        let of_file = by_file.get(&diagnostic.span.file);
        let line = of_file.map_or(0, |_| sources.start(diagnostic.span).line);
        for number in of_file.into_iter().flatten() {
            let (Some(suppression), Some(used)) = (suppressions.get(*number), used.get_mut(*number)) else { continue };
            if !(suppression.line..=suppression.last_line).contains(&line) {
                continue;
            }
            for (code, used) in suppression.codes.iter().zip(used) {
                if *code == diagnostic.code && code.is_suppressible() {
                    *used = true;
                    reason = Some(&suppression.reason);
                }
            }
        }
        match reason {
            Some(reason) => judged.hidden.push(Suppressed { diagnostic, by: SuppressedBy::Comment, reason: reason.clone() }),
            None => judged.shown.push(diagnostic),
        }
    }
    for (suppression, used) in suppressions.iter().zip(&used) {
        if !unread.contains(&suppression.span.file) {
            judged.shown.extend(unused(suppression, used));
        }
    }
    super::sort(&mut judged.shown);
    judged
}

/// F900 for the codes of a comment that hid nothing; the fix removes them, or the comment if none is left.
fn unused(suppression: &Suppression, used: &[bool]) -> Option<Diagnostic> {
    let ids = |wanted: bool| -> Vec<&str> {
        suppression.codes.iter().zip(used).filter(|(_, used)| **used == wanted).map(|(code, _)| code.id()).collect()
    };
    let (idle, busy) = (ids(false), ids(true));
    if idle.is_empty() {
        return None;
    }
    let (span, edit) = if busy.is_empty() {
        (suppression.span, (suppression.removal, String::new()))
    } else {
        (suppression.codes_span, (suppression.codes_span, busy.join(", ")))
    };
    let what = if busy.is_empty() { "remove the comment" } else { "remove the code" };
    Some(
        Diagnostic::new(Code::UnusedSuppression, span, format!("flow-ignore {} hides nothing; remove it", idle.join(", ")))
            .help(what)
            .safe_fix(vec![edit]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    const TEXT: &str = "a: 1 # flow-ignore: F105, F204 kept for March\nb: 2\n";

    fn sources() -> Sources {
        let mut sources = Sources::default();
        sources.add("a.yaml", TEXT);
        sources
    }

    fn comment(codes: &[Code]) -> Suppression {
        let file = FileId(0);
        Suppression {
            codes: codes.to_vec(),
            reason: "kept for March".to_owned(),
            line: 1,
            last_line: 1,
            span: Span::new(file, 5, 45),
            codes_span: Span::new(file, 20, 30),
            removal: Span::new(file, 4, 45),
        }
    }

    fn finding(code: Code, start: usize) -> Diagnostic {
        Diagnostic::new(code, Span::new(FileId(0), start, start + 1), "found")
    }

    #[test]
    fn a_finding_on_the_line_is_hidden_with_its_reason() {
        let found = vec![finding(Code::UnusedOutput, 0), finding(Code::UnusedOutput, 46)];
        let judged = suppress(&sources(), &[comment(&[Code::UnusedOutput])], found);
        assert_eq!(judged.shown, [finding(Code::UnusedOutput, 46)]);
        assert_eq!(
            judged.hidden,
            [Suppressed { diagnostic: finding(Code::UnusedOutput, 0), by: SuppressedBy::Comment, reason: "kept for March".to_owned() }]
        );
    }

    #[test]
    fn a_code_that_hides_nothing_is_reported_and_its_fix_keeps_the_others() {
        let judged = suppress(&sources(), &[comment(&[Code::UnusedOutput, Code::MaybeSkipped])], vec![finding(Code::UnusedOutput, 0)]);
        let [unused] = &judged.shown[..] else { panic!("{:?}", judged.shown) };
        assert_eq!(unused.message, "flow-ignore F204 hides nothing; remove it");
        assert_eq!(unused.candidate.as_ref().unwrap().edits, [(Span::new(FileId(0), 20, 30), "F105".to_owned())]);
    }

    #[test]
    fn a_comment_that_hides_nothing_is_removed_whole_but_not_where_reading_ended_early() {
        let judged = suppress(&sources(), &[comment(&[Code::UnusedOutput])], vec![]);
        assert_eq!(judged.shown[0].code, Code::UnusedSuppression);
        assert_eq!(judged.shown[0].candidate.as_ref().unwrap().edits, [(Span::new(FileId(0), 4, 45), String::new())]);
        let judged = suppress(&sources(), &[comment(&[Code::UnusedOutput])], vec![finding(Code::YamlSyntax, 46)]);
        assert_eq!(judged.shown.len(), 1);
    }

    #[test]
    fn an_error_is_never_hidden() {
        let judged = suppress(&sources(), &[comment(&[Code::Cycle])], vec![finding(Code::Cycle, 0)]);
        assert!(judged.hidden.is_empty());
    }
}
