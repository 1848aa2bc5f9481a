//! Texts with templates of other programs: `{{ x }}` and `{% if x %}` are translated token by token. What is not understood becomes plain text.

use super::lost::LostWhy;
use flow_base::source::Span;

/// What a text is in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// A template.
    Template,
    /// An expression without braces.
    Bare,
    /// Text that nothing fills in.
    Fixed,
}

#[derive(Debug, Clone)]
pub(super) enum TextPiece {
    /// Plain text.
    Text(String),
    /// `{{ … }}`, or a mark `{% … %}`: what it became, and what it was.
    Filled { out: String, was: String, is_mark: bool },
}

/// What stands in the place of a template that cannot be kept.
const GIVEN_UP: &str = "This text was not imported.";

/// A text of the result, and where it comes from.
#[derive(Debug, Clone)]
pub(super) struct TextWords {
    pub(super) pieces: Vec<TextPiece>,
    pub(super) manner: Manner,
    pub(super) span: Span,
    /// What it is, for people.
    pub(super) what: String,
    /// It could not be kept: its key is left out.
    pub(super) is_dropped: bool,
}

impl TextWords {
    /// The text as it stands in the result.
    pub(super) fn text(&self) -> String {
        let piece = |piece: &TextPiece| match (piece, self.manner) {
            (TextPiece::Text(text), Manner::Template) => raw(text),
            (TextPiece::Text(text), Manner::Bare | Manner::Fixed) => text.clone(),
            (TextPiece::Filled { out, .. }, _) => out.clone(),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// Gives up what `about` stands in: it becomes plain text, and where it is already, the whole text goes. What was given up; `None`: all is gone.
    pub(super) fn give_up(&mut self, about: &str) -> Option<String> {
        let is_meant = |out: &str| about.is_empty() || out.contains(about);
        let is_filled = |piece: &TextPiece| !matches!(piece, TextPiece::Text(_));
        if self.is_dropped {
            return None;
        }
        if self.manner != Manner::Template || !self.pieces.iter().any(is_filled) {
            let given = self.text();
            // A step keeps its kind, and one of which nobody knows when it is done is not done.
            let left = match self.manner {
                Manner::Template => GIVEN_UP,
                Manner::Bare => "false",
                Manner::Fixed => "",
            };
            self.is_dropped = left.is_empty() || given == left;
            self.pieces = vec![TextPiece::Text(left.to_owned())];
            return Some(given);
        }
        let is_found = |mark: bool| {
            let meant = |piece: &TextPiece| matches!(piece, TextPiece::Filled { out, is_mark, .. } if *is_mark == mark && is_meant(out));
            self.pieces.iter().any(meant)
        };
        // What stands in a mark, or nowhere, takes all with it.
        let takes_all = is_found(true) || !is_found(false);
        let mut given = vec![];
        for piece in &mut self.pieces {
            if let TextPiece::Filled { out, was, is_mark } = piece
                && (takes_all || !*is_mark && is_meant(out))
            {
                given.push(was.clone());
                *piece = TextPiece::Text(std::mem::take(was));
            }
        }
        Some(given.join(" "))
    }
}

/// A text in a template that nothing is filled into.
fn raw(text: &str) -> String {
    if !["{{", "{%", "{#", "}}", "%}", "#}"].into_iter().any(|mark| text.contains(mark)) {
        return text.to_owned();
    }
    if !text.contains("endraw") {
        return format!("{{% raw %}}{text}{{% endraw %}}");
    }
    let brace = |c: char| if matches!(c, '{' | '}') { format!("{{{{ \"{c}\" }}}}") } else { c.to_string() };
    text.chars().map(brace).collect()
}

/// A name of another program in this language.
#[derive(Debug, Clone, Default)]
pub(super) struct MeantName {
    /// Its value.
    pub(super) value: String,
    /// Whether it is there, where that is not asked with `is defined`.
    pub(super) there: Option<String>,
}

impl MeantName {
    pub(super) fn value(value: impl Into<String>) -> MeantName {
        MeantName { value: value.into(), there: None }
    }
}

/// Finds what a path means, or says why nothing here is meant by it.
pub(super) type NamesOf<'a> = dyn Fn(&[&str]) -> Result<MeantName, LostWhy> + 'a;

/// What a template became, and what was lost of it.
pub(super) struct Translated {
    pub(super) pieces: Vec<TextPiece>,
    /// What, and why.
    pub(super) lost: Vec<(String, LostWhy)>,
}

/// The language of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextDialect {
    Jinja,
    /// Jinja with filters of Microsoft Conductor.
    Conductor,
    Nunjucks,
    JavaScript,
}

/// Translates a template.
pub(super) fn template(text: &str, names: &NamesOf<'_>, dialect: TextDialect) -> Translated {
    let mut done = Translated { pieces: vec![], lost: vec![] };
    let mut locals: Vec<Vec<String>> = vec![];
    let mut rest = text;
    while let Some(at) = ["{{", "{%", "{#"].into_iter().filter_map(|mark| rest.find(mark)).min() {
        let (before, from) = rest.split_at(at);
        done.pieces.push(TextPiece::Text(before.to_owned()));
        let end = match from.get(1..2) {
            Some("{") => "}}",
            Some("%") => "%}",
            _ => "#}",
        };
        let Some(length) = closing(from, end) else {
            rest = from;
            done.lost.push((short(from), LostWhy::NotClosed));
            break;
        };
        let (whole, after) = from.split_at(length);
        rest = after;
        let inner = whole.get(2..length - 2).unwrap_or_default();
        let (left, inner) = inner.strip_prefix('-').map_or(("", inner), |inner| ("-", inner));
        let (right, inner) = inner.strip_suffix('-').map_or(("", inner), |inner| ("-", inner));
        if end == "%}" && inner.trim() == "raw" {
            let inner_end = after
                .find("{%")
                .filter(|at| after.get(at + 2..).is_some_and(|mark| mark.trim_start_matches('-').trim_start().starts_with("endraw")));
            let last = inner_end.and_then(|at| Some(at + after.get(at..)?.find("%}")? + 2));
            if let (Some(at), Some(last)) = (inner_end, last) {
                done.pieces.push(TextPiece::Text(after.get(..at).unwrap_or_default().to_owned()));
                rest = after.get(last..).unwrap_or_default();
                continue;
            }
        }
        if end != "#}" {
            done.lost.extend(other_meanings(inner, dialect).into_iter().map(|why| (whole.to_owned(), why)));
        }
        match end {
            "}}" => match expression(inner, names, &locals) {
                Ok(out) => done.pieces.push(TextPiece::Filled {
                    out: format!("{{{{{left} {out} {right}}}}}"),
                    was: whole.to_owned(),
                    is_mark: false,
                }),
                Err(why) => {
                    done.lost.push((whole.to_owned(), why));
                    done.pieces.push(TextPiece::Text(whole.to_owned()));
                }
            },
            "%}" => match statement(inner.trim(), names, &mut locals) {
                Ok(out) => {
                    done.pieces.push(TextPiece::Filled { out: format!("{{%{left} {out} {right}%}}"), was: whole.to_owned(), is_mark: true })
                }
                Err(why) => {
                    done.lost.push((whole.to_owned(), LostWhy::WholeText(Box::new(why))));
                    done.pieces = vec![TextPiece::Text(text.to_owned())];
                    return done;
                }
            },
            _ => {}
        }
    }
    done.pieces.push(TextPiece::Text(rest.to_owned()));
    done
}

/// Where a `{{` ends, behind its end; an end in quotes does not count.
fn closing(text: &str, end: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices().skip(2) {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if text.get(at..).is_some_and(|rest| rest.starts_with(end)) => return Some(at + end.len()),
            None if end != "#}" && matches!(c, '"' | '\'') => quote = Some(c),
            None => {}
        }
    }
    None
}

fn short(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(60).collect()
}

fn statement(text: &str, names: &NamesOf<'_>, locals: &mut Vec<Vec<String>>) -> Result<String, LostWhy> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match word {
        "if" | "elif" => Ok(format!("{word} {}", expression(rest, names, locals)?)),
        "elseif" => Ok(format!("elif {}", expression(rest, names, locals)?)),
        "else" | "endif" => Ok(word.to_owned()),
        "endfor" => {
            locals.pop();
            Ok(word.to_owned())
        }
        "for" => {
            let (own, list) = rest.split_once(" in ").ok_or(LostWhy::ForWithoutIn)?;
            let list = expression(list, names, locals)?;
            let own: Vec<String> = own.split(',').map(|name| name.trim().to_owned()).collect();
            let out = format!("for {} in {list}", own.join(", "));
            locals.push(own);
            Ok(out)
        }
        other => Err(LostWhy::NoStatement(short(other))),
    }
}

#[derive(Debug, PartialEq)]
enum WordToken<'a> {
    Path(Vec<&'a str>),
    Text(&'a str),
    Number(&'a str),
    Sign(&'a str),
}

fn tokens(text: &str) -> Result<Vec<WordToken<'_>>, LostWhy> {
    const SIGNS: [&str; 25] = [
        "===", "!==", "==", "!=", "<=", ">=", "//", "**", "<", ">", "(", ")", "[", "]", ",", "|", "+", "-", "*", "/", "%", "~", "=", ":",
        ".",
    ];
    let mut found = vec![];
    let mut rest = text.trim_start();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let length = if matches!(first, '"' | '\'') {
            let length = rest.get(1..).and_then(|inner| inner.find(first)).ok_or(LostWhy::OpenQuote)? + 2;
            found.push(WordToken::Text(rest.get(..length).unwrap_or_default()));
            length
        } else if first.is_ascii_digit() {
            let length = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
            found.push(WordToken::Number(rest.get(..length).unwrap_or_default()));
            length
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let name = rest.get(..length).unwrap_or_default();
            let is_part = matches!(found.last(), Some(WordToken::Sign("."))) && found.len() > 1;
            if is_part {
                found.pop();
            }
            match (found.last_mut(), is_part) {
                (_, false) => found.push(WordToken::Path(vec![name])),
                (Some(WordToken::Path(path)), true) => path.push(name),
                (Some(WordToken::Text(_) | WordToken::Number(_) | WordToken::Sign(_)) | None, true) => return Err(LostWhy::NamelessField),
            }
            length
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign)).ok_or(LostWhy::UnknownSign(first))?;
            found.push(WordToken::Sign(sign));
            sign.len()
        };
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(found)
}

/// What is read in another way here, though it is written in the same way.
pub(super) fn other_meanings(text: &str, dialect: TextDialect) -> Vec<LostWhy> {
    let tokens = tokens(text).unwrap_or_default();
    let after = |at: usize| tokens.get(at..).unwrap_or_default();
    let of_filter = |at: usize| {
        let [WordToken::Sign("|"), WordToken::Path(path), given @ ..] = after(at) else { return None };
        let is_called = given.first() == Some(&WordToken::Sign("("));
        let mut given = given.iter().take_while(|token| **token != WordToken::Sign(")"));
        match (path.as_slice(), dialect) {
            (["round"], _) => Some(LostWhy::OtherRounding),
            (["int" | "float"], _) if !is_called => Some(LostWhy::NoNumber),
            (["default"], TextDialect::Conductor) => {
                let takes_all = given.any(|token| matches!(token, WordToken::Path(path) if matches!(path.as_slice(), ["true" | "True"])));
                (!takes_all).then_some(LostWhy::NullIsThere)
            }
            (["truncate"], TextDialect::Jinja | TextDialect::Conductor) => Some(LostWhy::CutSooner),
            (["groupby"], TextDialect::Nunjucks) => Some(LostWhy::GroupsAreList),
            _ => None,
        }
    };
    // `==` and `!=` compare what they may convert first: not a text with letters, and not nothing.
    let is_sure = |token: Option<&WordToken<'_>>| match token {
        Some(WordToken::Text(text)) => text.trim_matches(['"', '\'']).trim().parse::<f64>().is_err() && text.len() > 2,
        Some(WordToken::Path(path)) => matches!(path.as_slice(), ["none" | "null" | "undefined"]),
        Some(WordToken::Number(_) | WordToken::Sign(_)) | None => false,
    };
    let converts = matches!(dialect, TextDialect::Nunjucks | TextDialect::JavaScript);
    let is_loose = |at: usize| {
        let is_equals = matches!(tokens.get(at + 1), Some(WordToken::Sign("==" | "!=")));
        is_equals && !is_sure(tokens.get(at)) && !is_sure(tokens.get(at + 2))
    };
    let loose = (0..tokens.len()).any(|at| converts && is_loose(at)).then_some(LostWhy::LooseEquals);
    (0..tokens.len()).filter_map(of_filter).chain(loose).chain(truth_of_value(&tokens, dialect)).collect()
}

/// A value that is itself asked whether it is true, beside `and`, `or` or `not`.
fn truth_of_value(tokens: &[WordToken<'_>], dialect: TextDialect) -> Option<LostWhy> {
    let word = |token: &WordToken<'_>| matches!(token, WordToken::Path(path) if matches!(path.as_slice(), ["and" | "or" | "not"]));
    let ends = |token: Option<&WordToken<'_>>, bracket: &str| token.is_none_or(|token| word(token) || *token == WordToken::Sign(bracket));
    let is_asked = |at: usize| {
        let is_value =
            matches!(tokens.get(at), Some(WordToken::Path(path)) if !word(&tokens[at]) && !matches!(path.as_slice(), ["true" | "false"]));
        is_value && ends(at.checked_sub(1).and_then(|before| tokens.get(before)), "(") && ends(tokens.get(at + 1), ")")
    };
    let is_joined = tokens.iter().any(word);
    (dialect == TextDialect::JavaScript && is_joined && (0..tokens.len()).any(is_asked)).then_some(LostWhy::EmptyIsTrue)
}

/// Translates an expression; `locals` are the names of loops around it.
pub(super) fn expression(text: &str, names: &NamesOf<'_>, locals: &[Vec<String>]) -> Result<String, LostWhy> {
    let tokens = tokens(text)?;
    let mut out: Vec<String> = vec![];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1);
        let from = at;
        let word = |offset: usize| match tokens.get(from + offset) {
            Some(WordToken::Path(path)) => path.first().copied().filter(|_| path.len() == 1),
            Some(WordToken::Text(_) | WordToken::Number(_) | WordToken::Sign(_)) | None => None,
        };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        at += 1;
        out.push(match token {
            WordToken::Text(text) => (*text).to_owned(),
            WordToken::Number(text) => (*text).to_owned(),
            WordToken::Sign("===") => "==".to_owned(),
            WordToken::Sign("!==") => "!=".to_owned(),
            WordToken::Sign(sign) => (*sign).to_owned(),
            WordToken::Path(path) => match path.as_slice() {
                [word @ ("and" | "or" | "not" | "in" | "is" | "if" | "else" | "true" | "false" | "none")] => (*word).to_owned(),
                [word @ ("True" | "False" | "None")] => word.to_ascii_lowercase(),
                [filter] if before == Some(&WordToken::Sign("|")) => {
                    let has_indent = next == Some(&WordToken::Sign("("));
                    let own = match *filter {
                        "json" if !has_indent => "tojson(2)",
                        "json" | "dump" => "tojson",
                        other => other,
                    };
                    own.to_owned()
                }
                [test] if before == Some(&WordToken::Path(vec!["is"])) || word_before(&tokens, at, "is", "not") => (*test).to_owned(),
                [name] if next == Some(&WordToken::Sign("=")) => (*name).to_owned(),
                [path @ .., "items"] if next == Some(&WordToken::Sign("(")) && tokens.get(at + 1) == Some(&WordToken::Sign(")")) => {
                    at += 2;
                    format!("{} | items", named(path, names, locals)?.value)
                }
                ["range"] if next == Some(&WordToken::Sign("(")) => "range".to_owned(),
                _ if next == Some(&WordToken::Sign("(")) => return Err(LostWhy::NoFunction(path.join("."))),
                path => {
                    let meant = named(path, names, locals)?;
                    match (meant.there, word(1), word(2), word(3)) {
                        (Some(there), Some("is"), Some("defined"), _) => {
                            at += 2;
                            there
                        }
                        (Some(there), Some("is"), Some("not"), Some("defined")) => {
                            at += 3;
                            format!("not {there}")
                        }
                        _ => meant.value,
                    }
                }
            },
        });
    }
    if out.is_empty() {
        return Err(LostWhy::EmptyExpression);
    }
    Ok(joined(&out))
}

fn word_before(tokens: &[WordToken<'_>], at: usize, first: &str, second: &str) -> bool {
    let is = |back: usize, word: &str| at.checked_sub(back).and_then(|at| tokens.get(at)) == Some(&WordToken::Path(vec![word]));
    is(3, first) && is(2, second)
}

fn named(path: &[&str], names: &NamesOf<'_>, locals: &[Vec<String>]) -> Result<MeantName, LostWhy> {
    let is_local = |name: &str| name == "loop" && !locals.is_empty() || locals.iter().flatten().any(|local| local == name);
    if path.first().is_some_and(|first| is_local(first)) { Ok(MeantName::value(path.join("."))) } else { names(path) }
}

/// The tokens with blanks where people write them.
fn joined(tokens: &[String]) -> String {
    let mut out = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", String::as_str);
        let is_tight = matches!(token.as_str(), ")" | "]" | "," | ":" | "." | "=")
            || matches!(before, "" | "(" | "[" | "." | "=" | ":")
            || token == "["
            || token == "("
                && before.ends_with(|c: char| c.is_alphanumeric())
                && !matches!(before, "and" | "or" | "not" | "in" | "if" | "else");
        if !is_tight {
            out.push(' ');
        }
        out.push_str(token);
    }
    out
}
