//! The parser's errors in plain words: the best guess at what the author did wrong, and where.

mod brackets;
mod foreign;
mod layout;
mod quotes;
mod starts;
#[cfg(test)]
mod tests;

use granit_parser::ErrorKind as Kind;

use super::findings::{unreadable, unsupported};
use super::frames::ParseError;
use super::short;
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, SourceFile, Span};

/// Everything a guess may look at.
struct MistakePlace<'a> {
    file: FileId,
    source: &'a SourceFile,
    /// What the parser read; as long as the file, byte for byte.
    text: &'a str,
    failure: &'a ParseError,
    /// Where the parser noticed.
    at: usize,
    /// The line of `at`, from 1.
    line: usize,
}

/// The finding for the error that ended the reading.
pub(super) fn explain(file: FileId, source: &SourceFile, text: &str, failure: &ParseError) -> Diagnostic {
    let at = failure.at;
    let place = MistakePlace { file, source, text, failure, at, line: source.position(at as u32).line };
    let guess = match &failure.kind {
        Kind::RecursionLimitExceeded => Some(super::too_deep(place.span(at, at))),
        Kind::UnsupportedYamlMajorVersion
        | Kind::DuplicateVersionDirective
        | Kind::DuplicateTagDirective
        | Kind::MissingDocumentEndBeforeDirective
        | Kind::InvalidDirectiveTerminator
        | Kind::MissingYamlVersionSeparator
        | Kind::MissingDirectiveName
        | Kind::InvalidDirectiveName
        | Kind::DirectiveByteLimitExceeded { .. }
        | Kind::TooManyReservedDirectiveParams { .. }
        | Kind::YamlVersionTooLong
        | Kind::MissingYamlVersion
        | Kind::InvalidTagDirectiveTerminator => {
            Some(unsupported(place.rest_of_line(at), "lines that begin with \"%\" are not allowed here").help("remove the line"))
        }
        Kind::UndeclaredTagHandle
        | Kind::ExpectedTagBang
        | Kind::ExpectedTagDirectiveBang
        | Kind::InvalidGlobalTagCharacter
        | Kind::InvalidTagTerminator
        | Kind::MissingTagUri
        | Kind::UnclosedVerbatimTag
        | Kind::InvalidTagEscape
        | Kind::InvalidTagUtf8LeadingByte
        | Kind::InvalidTagUtf8TrailingByte
        | Kind::InvalidTagUtf8 => starts::tag(&place),
        _ => foreign::line(&place)
            .or_else(|| layout::odd_indentation(&place))
            .or_else(|| quotes::swallowed(&place))
            .or_else(|| syntax(&place)),
    };
    guess.unwrap_or_else(|| place.unknown())
}

fn syntax(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    match &place.failure.kind {
        Kind::InvalidQuotedScalarIndent | Kind::UnclosedQuotedScalar | Kind::DocumentIndicatorInQuotedScalar => quotes::unclosed(place),
        Kind::InvalidTrailingSingleQuotedScalar | Kind::InvalidTrailingDoubleQuotedScalar => quotes::trailing(place),
        Kind::UnknownQuotedScalarEscape
        | Kind::InvalidQuotedScalarHexEscape
        | Kind::InvalidLowSurrogateHexEscape
        | Kind::InvalidLowSurrogate
        | Kind::MissingLowSurrogate
        | Kind::UnpairedLowSurrogate
        | Kind::InvalidUnicodeEscape => quotes::escape(place),
        Kind::UnexpectedCharacter { .. } | Kind::MissingAnchorOrAliasName | Kind::MappingKeyNotAllowed => starts::reserved(place),
        Kind::InvalidBlockScalarHeader | Kind::ZeroBlockScalarIndent => starts::block_header(place),
        Kind::InvalidBlockScalarIndent => Some(layout::long_blank_line(place)),
        Kind::BlockSequenceEntryNotAllowed => Some(layout::item_on_key_line(place)),
        Kind::MappingValueNotAllowed => layout::second_colon(place),
        Kind::SimpleKeyExpected | Kind::InvalidSimpleKey => layout::missing_colon(place),
        Kind::ExpectedBlockSequenceEntry | Kind::ExpectedBlockMappingKey | Kind::ExpectedDocumentStart | Kind::InvalidIndentation => {
            layout::fits_nowhere(place)
        }
        Kind::CommentInterceptedScalar => Some(
            unreadable(place.span(place.at, place.at + 1), format!("a comment (\"#\") on line {} is in the middle of a text", place.line))
                .help("move the remark above the text; put a text that holds \" #\" in quotes"),
        ),
        Kind::CommentNotSeparated => Some(
            unreadable(place.span(place.at, place.at), "a space is missing before \"#\"")
                .help("write a space before \"#\" for a remark; put a text that holds \"#\" in quotes"),
        ),
        Kind::MisplacedFlowCollectionEnd => Some(brackets::extra(place)),
        Kind::UnclosedFlowCollection { open } => Some(brackets::unclosed(place, *open)),
        Kind::MismatchedFlowCollectionEnd { open, close } => Some(brackets::mismatched(place, *open, *close)),
        Kind::BlockEntryInFlowCollection | Kind::PlainScalarStartsWithDashFlowIndicator => {
            Some(brackets::left_open(place).unwrap_or_else(|| {
                unreadable(place.span(place.at, place.at + 1), "a \"-\" cannot begin an entry inside brackets")
                    .help("separate the entries with \",\"")
            }))
        }
        Kind::InvalidColonPlacement
        | Kind::ExpectedFlowMappingSeparator
        | Kind::ExpectedFlowSequenceSeparator
        | Kind::UnexpectedEofFlowMapping
        | Kind::UnexpectedEofFlowSequence
        | Kind::UnexpectedEofImplicitFlowMapping
        | Kind::FlowMappingValueAdjacentCollection
        | Kind::InvalidFlowScalarIndent
        | Kind::ExpectedNodeContent => brackets::entry(place),
        _ => None,
    }
}

impl<'a> MistakePlace<'a> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, self.text.ceil_char_boundary(end).max(start))
    }

    fn line_of(&self, offset: usize) -> usize {
        self.source.position(offset as u32).line
    }

    /// Where a line begins, and its text without line end.
    fn line_at(&self, line: usize) -> (usize, &'a str) {
        let start = self.source.line_start(line);
        let text = self.text.get(start..self.source.line_start(line + 1)).unwrap_or("");
        (start, text.trim_end_matches(['\n', '\r']))
    }

    /// How many blanks a line begins with.
    fn indent(&self, line: usize) -> usize {
        let (_, text) = self.line_at(line);
        text.len() - text.trim_start_matches(' ').len()
    }

    /// A line from its first to its last character that can be seen.
    fn line_span(&self, line: usize) -> Span {
        let (start, text) = self.line_at(line);
        let trimmed = text.trim();
        let from = start + text.len() - text.trim_start().len();
        self.span(from, from + trimmed.len())
    }

    /// From `from` to the last character of its line that can be seen, remarks left out.
    fn rest_of_line(&self, from: usize) -> Span {
        let rest = self.text.get(from..).unwrap_or("");
        let line = rest.get(..rest.find('\n').unwrap_or(rest.len())).unwrap_or("");
        let line = line.find(" #").and_then(|end| line.get(..end)).unwrap_or(line);
        self.span(from, from + line.trim_end().len())
    }

    /// What the author wrote there.
    fn slice(&self, span: Span) -> &'a str {
        self.source.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The word that begins there, for messages.
    fn word_at(&self, offset: usize) -> String {
        let rest = self.text.get(offset..).unwrap_or("");
        short(rest.split([':', ' ', '\n']).next().unwrap_or(""))
    }

    /// The last line above `line` that is neither empty nor a remark.
    fn line_above(&self, line: usize) -> Option<usize> {
        (1..line).rev().take(1000).find(|l| {
            let text = self.line_at(*l).1.trim();
            !text.is_empty() && !text.starts_with('#')
        })
    }

    /// Where the piece begins that follows the last key or value that could be read.
    fn next_piece(&self) -> usize {
        let mut at = self.failure.seen;
        loop {
            let rest = self.text.get(at..).unwrap_or("");
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', ':', ',', '[', '{', ']', '}']);
            let trimmed = trimmed.strip_prefix("- ").or_else(|| trimmed.strip_prefix("-\n")).unwrap_or(trimmed);
            at += rest.len() - trimmed.len();
            if trimmed.starts_with('#') {
                at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.len() == rest.len() || trimmed.is_empty() {
                return at;
            }
        }
    }

    fn unknown(&self) -> Diagnostic {
        let line = self.line;
        let message = match self.line_above(line) {
            Some(above) => format!("line {line} cannot be read; is a \":\" or a closing quote missing on line {above}?"),
            None => format!("line {line} cannot be read; is a \":\" or a closing quote missing?"),
        };
        unreadable(self.line_span(line), message).help(format!("compare line {line} and the line above it with one that works"))
    }
}

/// `key: value` at the start of a line, behind blanks and "- ": the key, and where its value begins in `line`.
fn key_of(line: &str) -> Option<(&str, usize)> {
    let mut from = line.len() - line.trim_start().len();
    while let Some(rest) = line.get(from..).and_then(|l| l.strip_prefix('-')).filter(|l| l.starts_with(' ')) {
        from = line.len() - rest.trim_start().len();
    }
    let text = line.get(from..)?;
    let colon = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?;
    let key = text.get(..colon).filter(|key| !key.is_empty() && !key.starts_with(['"', '\'', '#', '[', '{']))?;
    let value = text.get(colon + 1..)?;
    Some((key, from + colon + 1 + value.len() - value.trim_start().len()))
}
