//! The first look at a text: a linear scan over its tokens that holds the limits (the parser of minijinja calls itself, so
//! nothing deep may reach it) and says in plain words what the parser would say in its own.

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use crate::diagnostic::{Near, did_you_mean, yaml_quoted};

use super::budget::{ELIFS, EXPRESSION_BYTES, NESTING, OPERATORS, TEMPLATE_BYTES};

use super::filters;
use super::habits;
use super::problem::{TemplateProblem, excerpt};
use super::stray::Stray;
use super::tree::SourceRange;

/// Statements that make names or load other files; a step does that here.
const FORBIDDEN: &[&str] = &[
    "set", "with", "macro", "call", "filter", "block", "include", "import", "from", "extends", "autoescape", "do", "continue", "break",
    "namespace", "assign", "capture", "let",
];
const STATEMENTS: &[&str] = &["if", "elif", "else", "endif", "for", "endfor", "raw", "endraw"];

/// How minijinja reads a text here: the line end at its end stays.
pub(super) fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder.keep_trailing_newline(true);
    builder.build().unwrap_or_default()
}

/// The mistake in the structure or size of a template, if there is one.
pub(super) fn template(source: &str) -> Result<(), TemplateProblem> {
    if source.len() > TEMPLATE_BYTES {
        return Err(TemplateProblem::too_large(
            (0, source.len()),
            format!("this text has {} bytes; a template has at most 64 KiB", source.len()),
        ));
    }
    let mut scan = Scan::new(source);
    scan.run(false).map_err(|problem| scan.blame(problem))
}

/// The mistake in the structure or size of a bare expression, if there is one.
pub(super) fn expression(source: &str) -> Result<(), TemplateProblem> {
    if source.trim().is_empty() {
        return Err(TemplateProblem::syntax((0, source.len()), "an expression is missing here"));
    }
    let mut scan = Scan::new(source);
    scan.check_length((0, source.len()))?;
    scan.run(true)
}

/// Whether the text at a place, behind the token at `before`, is in `{% raw %}`: the last tag that was passed over, if it is no comment.
pub(super) fn is_raw(source: &str, before: SourceRange, at: SourceRange) -> bool {
    let mut rest = source.get(before.1..at.0).unwrap_or_default().trim_start();
    let mut is_raw = false;
    while let Some((tag, after)) = rest.strip_prefix("{#").and_then(|rest| rest.split_once("#}")).or_else(|| rest.split_once("%}")) {
        is_raw = if rest.starts_with("{#") { is_raw } else { !tag.contains("endraw") };
        rest = after.trim_start();
    }
    is_raw
}

/// Where the `{{ … }}` ends that a text begins with; `None`: it is not closed, or longer than an expression may be.
pub fn print_end(source: &str) -> Option<usize> {
    let source = &source[..source.floor_char_boundary(EXPRESSION_BYTES)];
    let mut tokens = tokenize(source, false, syntax()).map_while(Result::ok);
    tokens.find(|(token, _)| matches!(token, Token::VariableEnd)).map(|(_, span)| place(span).1)
}

/// The help for everything that would make a name inside a template.
pub(super) fn forbidden(word: &str, at: SourceRange, help: &str) -> TemplateProblem {
    TemplateProblem::syntax(at, format!("\"{word}\" cannot be used in a template; its statements are if, for and raw")).help(help)
}

/// What is done instead of a name that a template makes.
pub(super) const MADE_ELSEWHERE: &str =
    "make the value in a step of its own, - { id: NAME, set: \"{{ … }}\" }, and read it here as steps.NAME.output";

struct Scan<'s> {
    source: &'s str,
    /// Where the `{{` or `{%` that is open now begins.
    open: Option<(usize, OpenTag)>,
    /// Brackets open now, with their places.
    brackets: Vec<(char, usize)>,
    /// Statements open now, with their places.
    blocks: Vec<(&'s str, SourceRange)>,
    operators: usize,
    elifs: usize,
    stray: Stray,
    /// Where the first expression begins with a text in quotes that runs over the end of the expression.
    runs_over: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenTag {
    Print,
    Statement,
}

impl OpenTag {
    fn end(self) -> &'static str {
        match self {
            OpenTag::Print => "}}",
            OpenTag::Statement => "%}",
        }
    }
}

impl<'s> Scan<'s> {
    fn new(source: &'s str) -> Scan<'s> {
        Scan { source, open: None, brackets: vec![], blocks: vec![], operators: 0, elifs: 0, stray: Stray::default(), runs_over: None }
    }

    fn run(&mut self, is_expression: bool) -> Result<(), TemplateProblem> {
        let mut before = (0, 0);
        let mut word_is_next = false;
        for token in tokenize(self.source, is_expression, syntax()) {
            let (token, at) = match token {
                Ok((token, span)) => (token, place(span)),
                Err(error) => return Err(self.unreadable(error.detail().unwrap_or_default(), error.range(), before.1)),
            };
            if std::mem::take(&mut word_is_next) {
                match token {
                    Token::Ident(word) => self.statement(word, at)?,
                    _ => return Err(TemplateProblem::syntax(at, "a statement begins with if, elif, else, endif, for, endfor or raw")),
                }
            }
            match token {
                Token::TemplateData(_) if !is_expression => self.data(at, before)?,
                Token::Str(_) | Token::String(_) => self.text_in_quotes(at),
                Token::VariableStart => self.begin(at, OpenTag::Print),
                Token::BlockStart => {
                    self.begin(at, OpenTag::Statement);
                    word_is_next = true;
                }
                Token::VariableEnd | Token::BlockEnd => self.end(at)?,
                Token::ParenOpen => self.bracket('(', at)?,
                Token::BracketOpen => self.bracket('[', at)?,
                Token::BraceOpen => self.bracket('{', at)?,
                Token::ParenClose => self.closed('(', at, before)?,
                Token::BracketClose => self.closed('[', at, before)?,
                Token::BraceClose => self.closed('{', at, before)?,
                ref other if is_operator(other) => self.operator(at)?,
                _ => {}
            }
            before = at;
        }
        self.finish()
    }

    /// What stands between templates, or in `{% raw %}`.
    fn data(&mut self, at: SourceRange, before: SourceRange) -> Result<(), TemplateProblem> {
        let is_behind = before.1 == at.0 && at.0 > 0;
        if is_raw(self.source, before, at) { Ok(()) } else { self.stray.look(self.source, at, is_behind) }
    }

    fn text_in_quotes(&mut self, at: SourceRange) {
        let is_over = |text: &str| text.contains("}}") || text.contains("%}");
        if let Some((start, _)) = self.open.filter(|_| self.source.get(at.0..at.1).is_some_and(is_over)) {
            self.runs_over.get_or_insert(start);
        }
    }

    /// Where a quote is missing, the parser notices it only at the next quotes, which may stand far below.
    fn blame(&self, problem: TemplateProblem) -> TemplateProblem {
        let Some(start) = self.runs_over.filter(|start| *start < problem.at.0) else { return problem };
        let rest = self.source.get(start..).unwrap_or_default();
        let end = rest.find("}}").or_else(|| rest.find("%}")).map_or(rest.len(), |end| end + 2);
        let at = (start, start + rest.find('\n').map_or(end, |line| line.min(end)));
        TemplateProblem::syntax(at, format!("a quote is missing in \"{}\"", excerpt(self.source, at)))
            .help("write the same quote before and after each quoted text")
    }

    fn begin(&mut self, at: SourceRange, opened: OpenTag) {
        self.open = Some((at.0, opened));
        self.operators = 0;
    }

    fn end(&mut self, at: SourceRange) -> Result<(), TemplateProblem> {
        match self.open.take() {
            Some((start, _)) => self.check_length((start, at.1)),
            None => Err(TemplateProblem::syntax(at, "\"}}\" closes nothing; names stand without braces here")),
        }
    }

    fn check_length(&self, (start, end): SourceRange) -> Result<(), TemplateProblem> {
        if end - start > EXPRESSION_BYTES {
            return Err(TemplateProblem::too_large(
                (start, end),
                format!("this expression has {} bytes; at most 4 KiB are allowed", end - start),
            ));
        }
        Ok(())
    }

    fn operator(&mut self, at: SourceRange) -> Result<(), TemplateProblem> {
        self.operators += 1;
        if self.operators > OPERATORS {
            return Err(TemplateProblem::too_large(at, "this expression has more than 256 operators, filters and look-ups")
                .help("split it into parts with \"set\" steps"));
        }
        Ok(())
    }

    fn bracket(&mut self, bracket: char, at: SourceRange) -> Result<(), TemplateProblem> {
        self.brackets.push((bracket, at.0));
        self.check_nesting(at)?;
        self.operator(at)
    }

    fn check_nesting(&self, at: SourceRange) -> Result<(), TemplateProblem> {
        if self.brackets.len() + self.blocks.len() > NESTING {
            return Err(TemplateProblem::too_large(at, "brackets and statements are nested more than 64 levels deep"));
        }
        Ok(())
    }

    fn closed(&mut self, expected: char, at: SourceRange, before: SourceRange) -> Result<(), TemplateProblem> {
        match self.brackets.pop() {
            Some((open, _)) if open == expected => Ok(()),
            Some((open, start)) => {
                let close = excerpt(self.source, at);
                Err(not_closed(open, (start, at.0)).help(format!("or write \"{expected}\" where what \"{close}\" closes begins")))
            }
            None if expected == '{' => Err(habits::sign(self.source, at).unwrap_or_else(|| self.half_closed(at, before))),
            None => Err(self.never_opened(expected, at)),
        }
    }

    /// A `)` or `]` where nothing is open. Most often it is the bracket behind the name of a filter that was lost; where the text around
    /// the template has a bracket open on this line, as in `({{ a )`, it is the end of the template.
    fn never_opened(&self, expected: char, at: SourceRange) -> TemplateProblem {
        let close = excerpt(self.source, at);
        if let Some((start, opened)) = self.open {
            let inner = self.source.get(start..at.0).unwrap_or_default();
            // Another one begins before it ends: its end was lost on its own line.
            if let Some((first, rest)) = inner.split_once('\n')
                && rest.contains("{{")
            {
                let whole = (start, start + first.len());
                let problem = TemplateProblem::syntax(whole, format!("\"{}\" is not closed", excerpt(self.source, whole).trim_end()));
                return problem.help(format!("write {} where the value ends", opened.end()));
            }
            let line = self.source.get(..start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
            if line.matches(expected).count() > line.matches(&*close).count() {
                let shown = excerpt(self.source, (start, at.0));
                let problem = TemplateProblem::syntax((start, at.0), format!("\"{}\" is not closed", shown.trim_end()));
                return problem.help(format!("write {} before \"{close}\"", opened.end()));
            }
        }
        let problem = TemplateProblem::syntax(at, format!("\"{close}\" closes nothing here"));
        let inner = self.source.get(self.open.map_or(0, |(start, _)| start)..at.0).unwrap_or_default();
        let piped = inner.rsplit_once('|').map(|(_, filter)| filter.trim_start()).filter(|_| expected == '(');
        // The longest name, since some filters begin like others.
        let name =
            piped.and_then(|piped| filters::names().into_iter().filter(|name| piped.starts_with(name)).max_by_key(|name| name.len()));
        match (piped, name) {
            (Some(piped), Some(name)) if !piped[name.len()..].trim_start().starts_with('(') => {
                let call = format!("{name}({})", piped[name.len()..].trim());
                problem.help(format!("write {}", excerpt(&call, (0, call.len()))))
            }
            _ => match self.open {
                Some((_, opened)) => problem.help(format!(
                    "write \"{expected}\" where it begins, or {} before \"{close}\" if the value ends there, or remove \"{close}\"",
                    opened.end()
                )),
                None => problem.help(format!("write \"{expected}\" where it begins, or remove \"{close}\"")),
            },
        }
    }

    /// A single `}` where `}}` or `%}` is due.
    fn half_closed(&self, at: SourceRange, before: SourceRange) -> TemplateProblem {
        let Some((start, opened)) = self.open else {
            return TemplateProblem::syntax(at, "\"}\" closes nothing here");
        };
        let shown = excerpt(self.source, (start, at.1));
        let after_percent = before.1 == at.0 && self.source.get(before.0..before.1) == Some("%");
        let advice = match opened {
            OpenTag::Print if !after_percent => "add \"}\"".to_owned(),
            _ => format!("end it with \"{}\"", opened.end()),
        };
        TemplateProblem::syntax((start, at.1), format!("\"{shown}\" is not closed; {advice}"))
            .help(format!("write {} at its end in place of \"}}\"", opened.end()))
    }

    fn statement(&mut self, word: &'s str, at: SourceRange) -> Result<(), TemplateProblem> {
        let whole = (self.open.map_or(at.0, |(start, _)| start), at.1);
        match word {
            "if" | "for" => {
                self.blocks.push((word, whole));
                self.check_nesting(at)
            }
            "elif" => {
                self.elifs += 1;
                if self.elifs > ELIFS {
                    return Err(TemplateProblem::too_large(at, "this text has more than 128 elif"));
                }
                self.inside(word, &["if"], at)
            }
            "else" => self.inside(word, &["if", "for"], at),
            "endif" => self.ended(word, "if", at),
            "endfor" => self.ended(word, "for", at),
            "endraw" => Err(TemplateProblem::syntax(at, "endraw ends nothing; there is no {% raw %} before it")),
            "raw" => Err(TemplateProblem::syntax(at, "{% raw %} takes nothing else; write {% raw %} … {% endraw %}")),
            _ => {
                let plain = word.strip_prefix("end").unwrap_or(word);
                let behind = self.source.get(at.1..).and_then(|rest| rest.split("%}").next()).unwrap_or_default();
                let behind = crate::diagnostic::one_line(behind, 160);
                // The filters of Liquid that calculate.
                let signs = [("| divided_by:", "/"), ("| times:", "*"), ("| plus:", "+"), ("| minus:", "-")];
                let behind = signs.iter().fold(behind, |text, (filter, sign)| text.replace(filter, sign));
                let behind = behind.trim_matches(['-', '+', ' ']);
                if FORBIDDEN.contains(&plain) {
                    let made = behind.split_once('=').filter(|_| matches!(plain, "set" | "assign"));
                    return Err(match made.map(|(name, value)| (name.trim(), value.trim())) {
                        Some((name, value)) => forbidden(
                            word,
                            at,
                            &format!(
                                "take {{% {word} … %}} out, write a step above this one, - {{ id: {name}, set: {} }}, and steps.{name}.output in place of {name}",
                                yaml_quoted(&format!("{{{{ {value} }}}}"))
                            ),
                        ),
                        None => forbidden(word, at, MADE_ELSEWHERE),
                    });
                }
                let near = match word {
                    "elseif" | "elsif" | "elsef" => Near::new(word, ["elif"]),
                    word => did_you_mean(word, STATEMENTS.iter().copied()),
                };
                let help = match near.names.as_slice() {
                    _ if word == "unless" => format!("write if not {behind} in place of unless {behind}, and endif in place of endunless"),
                    [name] => format!("write {name}"),
                    _ => "use if, elif, else, endif, for, endfor or raw; to print a value, write {{ … }}".to_owned(),
                };
                let problem = TemplateProblem::syntax(at, format!("there is no statement \"{}\"{near}", excerpt(self.source, at)));
                Err(problem.near(near).help(help))
            }
        }
    }

    fn inside(&self, word: &str, allowed: &[&str], at: SourceRange) -> Result<(), TemplateProblem> {
        match self.blocks.last() {
            Some((open, _)) if allowed.contains(open) => Ok(()),
            _ => Err(TemplateProblem::syntax(at, format!("{word} is outside {{% {} … %}}", allowed.join(" … %} or {% ")))),
        }
    }

    fn ended(&mut self, word: &str, opener: &str, at: SourceRange) -> Result<(), TemplateProblem> {
        match self.blocks.pop() {
            Some((open, _)) if open == opener => Ok(()),
            Some((open, _)) => {
                let problem = TemplateProblem::syntax(at, format!("{word} is where end{open} is due"));
                Err(problem.help(format!("write end{open} in place of {word}")))
            }
            None => Err(TemplateProblem::syntax(at, format!("{word} ends nothing; there is no {{% {opener} … %}} before it"))),
        }
    }

    fn finish(&self) -> Result<(), TemplateProblem> {
        if let Some((bracket, start)) = self.brackets.last().filter(|(bracket, _)| self.open.is_none() || *bracket != '{') {
            return Err(not_closed(*bracket, (*start, start + 1)));
        }
        if let Some((start, opened)) = self.open {
            return Err(self.never_closed(start, opened));
        }
        match self.blocks.last() {
            Some((word, at)) => Err(self.never_ended(word, *at)),
            None => Ok(()),
        }
    }

    /// A loop without an end is told at the last line that speaks of its element: behind it the end is missing.
    fn never_ended(&self, word: &str, at: SourceRange) -> TemplateProblem {
        let rest = self.source.get(at.1..).unwrap_or_default();
        let name = rest.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let is_read = |(_, line): &(usize, &str)| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|part| part == name);
        let mut start = at.1;
        let lines = rest.split_inclusive('\n').map(|line| {
            start += line.len();
            (start - line.len(), line.trim_end())
        });
        let last = lines.skip(1).filter(|_| word == "for").filter(is_read).last();
        let problem = |at| TemplateProblem::syntax(at, format!("this {word} is never ended; add {{% end{word} %}}"));
        match last {
            Some((start, line)) => {
                let message = format!("the loop of \"{name}\" is never ended: {{% endfor %}} is missing below this line");
                let at = (start + (line.len() - line.trim_start().len()), start + line.len());
                TemplateProblem::syntax(at, message).help("write {% endfor %} on a line of its own below this one")
            }
            None => problem(at).help(format!("write {{% end{word} %}} behind what belongs to it")),
        }
    }

    /// A `{{` or `{%` without an end: it is shown up to the next one, or to the end of its line.
    fn never_closed(&self, start: usize, opened: OpenTag) -> TemplateProblem {
        let rest = self.source.get(start..).unwrap_or_default();
        let until = rest.get(2..).and_then(|inner| inner.find(['{', '\n'])).map_or(rest.len(), |found| found + 2);
        let at = (start, start + until);
        TemplateProblem::syntax(at, format!("\"{}\" is not closed; add \"{}\"", excerpt(self.source, at), opened.end()))
            .help(format!("write {} at its end", opened.end()))
    }

    /// Whether what was opened there ends nowhere before the next template.
    fn has_no_end(&self, open: usize, opened: OpenTag) -> bool {
        let rest = self.source.get(open + 2..).unwrap_or_default();
        let until = rest.find("{{").into_iter().chain(rest.find("{%")).min().unwrap_or(rest.len());
        !rest.get(..until).unwrap_or_default().contains(opened.end())
    }

    /// What the tokenizer could not read.
    fn unreadable(&self, detail: &str, range: Option<std::ops::Range<usize>>, before: usize) -> TemplateProblem {
        let start = range.map_or(before, |range| range.start);
        let rest = self.source.get(start..).unwrap_or_default();
        let at = (start, start + rest.chars().next().map_or(0, char::len_utf8));
        match detail {
            "unexpected end of comment" => return TemplateProblem::syntax((before, start), "a comment {# … is not closed; add \"#}\""),
            "unexpected end of raw block" => return TemplateProblem::syntax((before, start), "{% raw %} is never ended; add {% endraw %}"),
            // Without an end of the expression, quotes of the text around it look like quotes inside.
            "unexpected end of string" if let Some((open, opened)) = self.open.filter(|(open, opened)| self.has_no_end(*open, *opened)) => {
                return self.never_closed(open, opened);
            }
            "unexpected end of string" => {
                return TemplateProblem::syntax((before, start), "a text in quotes is not closed here; add the same quote at its end");
            }
            "unexpected character" => {}
            "unexpected input after end of variable block" => {
                return TemplateProblem::syntax(at, "\"}}\" closes nothing; names stand without braces here");
            }
            detail if detail.contains("integer") || detail.contains("float") || detail.contains('_') => {
                return TemplateProblem::syntax((before, start), "a number here cannot be read, or is too large");
            }
            _ => {
                return TemplateProblem::syntax(
                    (before, start),
                    "a \"\\\" in a text in quotes is not followed by something known; write \"\\\\\"",
                );
            }
        }
        if let Some((open, opened)) = self.open
            && (!rest.contains(opened.end()) || self.has_no_end(open, opened))
        {
            return self.never_closed(open, opened);
        }
        if let Some(problem) = habits::sign(self.source, at) {
            return problem;
        }
        let character = rest.chars().next().unwrap_or(' ');
        let advice = match character {
            '&' => "; write \"and\"",
            '!' => "; write \"not\"",
            _ if character.is_alphanumeric() => "; a name with such letters is read like this: inputs[\"größe\"]",
            _ => "",
        };
        TemplateProblem::syntax(at, format!("\"{}\" cannot be used in an expression{advice}", excerpt(self.source, at)))
    }
}

fn not_closed(bracket: char, at: SourceRange) -> TemplateProblem {
    let close = match bracket {
        '(' => ')',
        '[' => ']',
        _ => '}',
    };
    TemplateProblem::syntax((at.0, at.0 + 1), format!("this \"{bracket}\" is not closed; add \"{close}\""))
}

pub(super) fn place(span: Span) -> SourceRange {
    (span.start_offset as usize, span.end_offset as usize)
}

fn is_operator(token: &Token<'_>) -> bool {
    match token {
        Token::Ident(word) => matches!(*word, "and" | "or" | "not" | "in" | "is" | "if" | "else"),
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::FloorDiv | Token::Mod | Token::Pow => true,
        Token::Dot | Token::Tilde | Token::Pipe | Token::Assign => true,
        Token::Eq | Token::Ne | Token::Lt | Token::Lte | Token::Gt | Token::Gte => true,
        _ => false,
    }
}
