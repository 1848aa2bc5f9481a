//! `# flow-ignore: F105 reason`: which findings an author wants hidden, and where.

use granit_parser::{Event, Parser, ScalarStyle};

use super::{build, hidden, limits};
use crate::diagnostic::{Code, Diagnostic, Suppression};
use crate::source::{FileId, SourceFile, Span};

const WORD: &str = "flow-ignore";

/// The suppressions of a file; those that are written wrong are reported (F901). A comment behind something speaks of its
/// own line, and of the whole block text if one begins there; a comment alone on its line speaks of the next line that
/// is no comment. Comments inside texts are text. Behind a place that cannot be read (F001) nothing is found.
pub fn suppressions(file: FileId, source: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Vec<Suppression> {
    if !source.text.contains(WORD) || source.text.len() > limits::FILE_BYTES {
        return vec![];
    }
    let text = hidden::readable(&source.text);
    let mut options = build::options();
    options.set_emit_comments(true);
    options.max_buffered_comment_events = limits::FILE_BYTES;
    let mut comments = vec![];
    let mut blocks = vec![];
    for event in Parser::new_from_str_with_options(&text, options) {
        let Ok((event, span)) = event else { break };
        let Some(place) = span.byte_range() else { continue };
        match event {
            Event::Comment(..) => comments.push(place.start),
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => blocks.push(place),
            _ => {}
        }
    }
    let line_of = |offset: usize| source.position(offset as u32).line;
    // A block text whose first line is `n` was opened on the line above, or before some empty lines.
    let blocks: Vec<(usize, usize)> = blocks
        .into_iter()
        .filter_map(|block| {
            let written = source.text.get(block.clone())?.trim_end();
            let header = source.text.get(..block.start)?.trim_end();
            Some((line_of(header.len()), line_of(block.start + written.len())))
        })
        .collect();
    let mut found = vec![];
    let mut next_line = 0;
    for at in comments.into_iter().take(limits::FINDINGS) {
        // Comments are in the order of the file, so that one look downwards serves a whole row of them.
        if next_line <= line_of(at) {
            let below = line_of(at) + 1..=source.line_count();
            next_line = below.into_iter().find(|line| !source.line(*line).trim_start().starts_with('#')).unwrap_or(usize::MAX);
        }
        found.extend(suppression(file, source, at, next_line, &blocks, diagnostics));
    }
    found
}

fn suppression(
    file: FileId,
    source: &SourceFile,
    at: usize,
    next_line: usize,
    blocks: &[(usize, usize)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Suppression> {
    let own_line = source.position(at as u32).line;
    let line_start = source.line_start(own_line);
    let line_text = source.line(own_line);
    let comment = line_text.get(at.checked_sub(line_start)?..)?.trim_end();
    let rest = comment.trim_start_matches('#').trim_start().strip_prefix(WORD)?;
    let span = Span::new(file, at, at + comment.len());
    let Some(written) = rest.strip_prefix(':') else {
        // Prose about flow-ignore is none; "flow-ignore F105" lacks its colon.
        if rest.is_empty() || rest.split_whitespace().next().is_some_and(|word| Code::find(word.trim_end_matches(',')).is_some()) {
            diagnostics.push(incomplete(span));
        }
        return None;
    };
    let from = at + comment.len() - written.len();
    let list = codes(written);
    let codes_span = Span::new(file, from + list.start, from + list.end);
    let mut codes = vec![];
    for (start, word) in &list.words {
        let place = Span::new(file, from + start, from + start + word.len());
        match Code::find(word) {
            Some(code) if code.is_suppressible() => codes.push(code),
            Some(code) => diagnostics.push(
                Diagnostic::bad_suppression(place, format!("{} is an error and cannot be ignored", code.id()))
                    .help("remove the code, and fix what it reports"),
            ),
            None => {
                let message = format!("there is no code \"{}\"", super::short(word));
                diagnostics
                    .push(Diagnostic::bad_suppression(place, message).help("write the code as the finding shows it, F and three digits"));
            }
        }
    }
    let reason = written.get(list.end..).unwrap_or("").trim();
    if list.words.is_empty() || reason.is_empty() {
        diagnostics.push(incomplete(span));
        return None;
    }
    if codes.is_empty() {
        return None;
    }
    let before = line_text.get(..at - line_start).unwrap_or("");
    let is_alone = before.trim().is_empty();
    let line = if is_alone && next_line <= source.line_count() { next_line } else { own_line };
    let last_line = blocks.iter().find(|(header, _)| *header == line).map_or(line, |(_, last)| (*last).max(line));
    let removal = if is_alone {
        Span::new(file, line_start, source.line_start(own_line + 1))
    } else {
        Span::new(file, line_start + before.trim_end().len(), at + comment.len())
    };
    Some(Suppression { codes, reason: reason.to_owned(), line, last_line, span, codes_span, removal })
}

fn incomplete(span: Span) -> Diagnostic {
    Diagnostic::bad_suppression(span, "flow-ignore needs a code and a reason")
        .help("write a code and a reason: # flow-ignore: F105 kept for March")
}

/// The list of codes at the start of a text: their places, and where the list begins and ends.
#[derive(Debug, Default)]
struct Codes<'a> {
    words: Vec<(usize, &'a str)>,
    start: usize,
    end: usize,
}

fn codes(text: &str) -> Codes<'_> {
    let mut list = Codes::default();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or("");
        let start = at + rest.len() - rest.trim_start().len();
        let word = text.get(start..).unwrap_or("");
        let word = word.get(..word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(word.len())).unwrap_or("");
        let is_code = Code::find(word).is_some()
            || (word.len() == 4 && word.starts_with(['F', 'f']) && word.bytes().skip(1).all(|b| b.is_ascii_digit()));
        if !is_code {
            return list;
        }
        if list.words.is_empty() {
            list.start = start;
        }
        list.words.push((start, word));
        list.end = start + word.len();
        match text.get(list.end..).map(str::trim_start).and_then(|after| after.strip_prefix(',')) {
            Some(after) => at = text.len() - after.len(),
            None => return list,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;

    fn read(text: &str) -> (Vec<Suppression>, Vec<String>, Sources) {
        let mut sources = Sources::default();
        let file = sources.add("a.yaml", text);
        let mut diagnostics = vec![];
        let found = suppressions(file, sources.file(file), &mut diagnostics);
        let messages = diagnostics.iter().map(|d| format!("{} {}: {}", d.code.id(), sources.text(d.span), d.message)).collect();
        (found, messages, sources)
    }

    #[test]
    fn a_comment_behind_a_value_speaks_of_its_line() {
        let (found, messages, sources) = read("a: 1\nb: 2 # flow-ignore: F105, maybe-skipped kept for March\n");
        assert_eq!(messages, [""; 0]);
        assert_eq!(found[0].codes, [Code::UnusedOutput, Code::MaybeSkipped]);
        assert_eq!((found[0].reason.as_str(), found[0].line, found[0].last_line), ("kept for March", 2, 2));
        assert_eq!(sources.text(found[0].codes_span), "F105, maybe-skipped");
        assert_eq!(sources.text(found[0].removal), " # flow-ignore: F105, maybe-skipped kept for March");
    }

    #[test]
    fn a_comment_alone_speaks_of_the_next_line_and_block_texts_count_whole() {
        let (found, _, sources) =
            read("# flow-ignore: F105 one\n# flow-ignore: F204 two\na: |\n  x\n  y\n\nb: |- # flow-ignore: F009 three\n\n  z\n");
        let lines: Vec<_> = found.iter().map(|s| (s.line, s.last_line)).collect();
        assert_eq!(lines, [(3, 5), (3, 5), (7, 9)]);
        assert_eq!(sources.text(found[0].removal), "# flow-ignore: F105 one\n");
    }

    #[test]
    fn what_stands_in_a_text_is_no_comment() {
        let (found, messages, _) = read("a: |\n  # flow-ignore: F105 x\nb: \"# flow-ignore: F105 x\"\n# about flow-ignore comments\n");
        assert!(found.is_empty() && messages.is_empty());
    }

    #[test]
    fn more_than_a_hundred_comments_in_a_row_are_read() {
        let (found, _, _) = read(&format!("{}a: 1 # flow-ignore: F105 x\n", "# note\n".repeat(500)));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn what_is_missing_unknown_or_cannot_be_ignored_is_reported() {
        let (found, messages, _) = read(
            "a: 1 # flow-ignore: F105\nb: 2 # flow-ignore: kept\nc: 3 # flow-ignore F105 kept\nd: 4 # flow-ignore: F101, F105 kept\ne: 5 # flow-ignore: F999 kept\nf: 6 # flow-ignore\n",
        );
        insta::assert_snapshot!(messages.join("\n"), @r#"
        F901 # flow-ignore: F105: flow-ignore needs a code and a reason
        F901 # flow-ignore: kept: flow-ignore needs a code and a reason
        F901 # flow-ignore F105 kept: flow-ignore needs a code and a reason
        F901 F101: F101 is an error and cannot be ignored
        F901 F999: there is no code "F999"
        F901 # flow-ignore: flow-ignore needs a code and a reason
        "#);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].codes, [Code::UnusedOutput]);
    }
}
