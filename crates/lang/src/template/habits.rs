//! What people write in the expressions of other languages, and the same in this one, from their own words.
//!
//! How to add one: a line in the function of the place where it shows: a sign, a function, a filter or a test.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::filters;
use super::problem::TemplateProblem;
use super::tree::SourceRange;

/// What is wrong, what to write, and where it goes, if it can stand there at once.
struct OtherHabit {
    message: String,
    write: String,
    edit: Option<(SourceRange, String)>,
}

/// The expression around a place: what stands between its braces, or all of a bare one.
fn around(source: &str, at: usize) -> SourceRange {
    let before = source.get(..at).unwrap_or_default();
    let start = before.rfind("{{").max(before.rfind("{%")).map_or(0, |start| start + 2);
    let rest = source.get(start..).unwrap_or_default();
    let end = if start == 0 { rest.len() } else { rest.find("}}").into_iter().chain(rest.find("%}")).min().unwrap_or(rest.len()) };
    let text = rest.get(..end).unwrap_or_default();
    let from = start + (text.len() - text.trim_start().len());
    (from, from + text.trim().len())
}

fn pattern(text: &str) -> Regex {
    // Each is tried by a test.
    #[expect(clippy::unwrap_used, reason = "the patterns are written here")]
    Regex::new(text).unwrap()
}

static HASH: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[#/](each|if|unless|with)\b\s*([\w.\[\]]*)"));
static GO_IF: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(if|range|with)\s+(.+)$"));
static LEADING_DOT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(^|[\s(|,])\.(\w)"));
static DOT_BRACKET: LazyLock<Regex> = LazyLock::new(|| pattern(r"\.\["));
static EMPTY_BRACKETS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\.?\[\]"));
static INNER_BRACES: LazyLock<Regex> = LazyLock::new(|| pattern(r"([\w.\]]+)\.\{\{\s*([\w.]+)\s*\}\}"));
static NOT: LazyLock<Regex> = LazyLock::new(|| pattern(r"!\s*([A-Za-z_(])"));
static COLON_FILTER: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\|\s*(\w+)\s*:\s*("[^"]*"|'[^']*'|[\w.]+)"#));
static BAR_TEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\|\s*("[^"]*"|'[^']*')"#));
static CONTAINS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"([\w.\[\]]+)\s+(not\s+)?(?:contains|includes|has)\s+("[^"]*"|'[^']*'|[\w.]+)"#));
static DOLLAR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$(?:json|input|node|vars|item)?\.?([A-Za-z_]\w*)"));
static IN_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\s+(?:is\s+)?(greater than or equal to|less than or equal to|greater than|more than|larger than|less than|smaller than|at least|at most|equal to|equals|not equal to)\s+",
    )
});

static TERNARY: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(.+?)\s*\?\s*(.+?)\s*:\s*(.+)$"));
/// Quotes of word processors, and those here.
const CURLY: [(char, char); 6] = [('“', '"'), ('”', '"'), ('„', '"'), ('‘', '\''), ('’', '\''), ('`', '\'')];

/// An expression as it stands in a file: a bare one that begins with a quote needs quotes around all of it.
fn standing(source: &str, write: String) -> String {
    match write.chars().next().filter(|_| !source.contains("{{") && !source.contains("{%")) {
        Some('\'') if !write.contains('"') => format!("\"{write}\""),
        Some('"') if !write.contains('\'') => format!("'{write}'"),
        _ => write,
    }
}

fn all(regex: &Regex, text: &str, with: impl Fn(&Captures) -> String) -> String {
    regex.replace_all(text, |found: &Captures| with(found)).into_owned()
}

/// The problem at a sign that cannot be read there, if it is a habit of another language.
pub(super) fn sign(source: &str, at: SourceRange) -> Option<TemplateProblem> {
    let range = around(source, at.0);
    let habit = in_expression(source, range, at)?;
    let mut problem = TemplateProblem::syntax(at, habit.message).help(format!("write {}", habit.write));
    problem.fix = habit.edit.map(Box::new);
    Some(problem)
}

/// Most other places of a habit that are told.
const MOST_AGAIN: usize = 4;

/// The same habit in the other braces of a text, which are not reached: what stands there, and what belongs there.
fn again(source: &str, from: usize, instead: impl Fn(&str) -> Option<String>) -> String {
    let mut told: Vec<String> = vec![];
    for inner in source.get(from..).unwrap_or_default().split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0.trim())) {
        let more = instead(inner).map(|write| format!(", and {write} for {inner}"));
        told.extend(more.filter(|more| !told.contains(more)));
    }
    told.into_iter().take(MOST_AGAIN).collect()
}

/// A sign that cannot be read, and the expression that it is in.
struct HabitPlace<'s> {
    source: &'s str,
    /// The expression.
    text: &'s str,
    range: SourceRange,
    at: SourceRange,
    signed: char,
}

/// A habit that cannot be put right at the place alone.
fn hint(message: &str, write: String) -> Option<OtherHabit> {
    Some(OtherHabit { message: message.to_owned(), write, edit: None })
}

fn in_expression(source: &str, range: SourceRange, at: SourceRange) -> Option<OtherHabit> {
    let place = HabitPlace { source, text: source.get(range.0..range.1)?, range, at, signed: source.get(at.0..)?.chars().next()? };
    place.block().or_else(|| place.operator()).or_else(|| match place.signed {
        '=' => place.equals(),
        _ => place.shape().or_else(|| place.words()),
    })
}

impl HabitPlace<'_> {
    /// A habit that is put right by other words for the whole expression.
    fn whole(&self, message: &str, write: String) -> Option<OtherHabit> {
        let write = standing(self.source, write);
        Some(OtherHabit { message: message.to_owned(), edit: (write != self.text).then(|| (self.range, write.clone())), write })
    }

    /// A character that looks like a blank, and blocks and braces of others.
    fn block(&self) -> Option<OtherHabit> {
        let HabitPlace { source, text, range, at, signed } = *self;
        if !signed.is_ascii() && (signed.is_whitespace() || crate::diagnostic::is_invisible(signed)) {
            let plain: String = text.chars().map(|c| if !c.is_ascii() && c.is_whitespace() { ' ' } else { c }).collect();
            let message = format!("a character that looks like a blank and is none (U+{:04X}) stands here", u32::from(signed));
            return Some(OtherHabit { message, write: format!("an ordinary blank: {plain}"), edit: Some((range, plain)) });
        }
        if let Some(found) = HASH.captures(text) {
            let name = found.get(2).map_or("", |name| name.as_str());
            return match &found[1] {
                "each" => hint(
                    "{{#each}} is of Handlebars",
                    format!(
                        "{{% for item in {name} %}} in place of {{{{{text}}}}}, {{{{ item }}}} for {{{{this}}}}, and {{% endfor %}} for {{{{/each}}}}"
                    ),
                ),
                "unless" => hint(
                    "{{#unless}} is of Handlebars",
                    format!("{{% if not {name} %}} in place of {{{{{text}}}}}, and {{% endif %}} for {{{{/unless}}}}"),
                ),
                word => hint(
                    &format!("{{{{#{word}}}}} is of Handlebars"),
                    format!("{{% if {name} %}} in place of {{{{{text}}}}}, and {{% endif %}} for {{{{/{word}}}}}"),
                ),
            };
        }
        if let Some(found) = GO_IF.captures(text).filter(|_| source.get(..range.0).is_some_and(|before| before.trim_end().ends_with("{{")))
        {
            let value = found[2].trim_start_matches('.');
            return match &found[1] {
                "range" => hint("a loop stands in {% %}, not in {{ }}", format!("{{% for item in {value} %}} … {{% endfor %}}")),
                _ => {
                    let end = ["{{ end }}", "{{end}}", "{{- end }}", "{{- end -}}"].into_iter().find(|end| source.contains(end));
                    let write = match end {
                        Some(end) => {
                            format!("{{% if {value} %}} in place of {{{{ {} }}}}, and {{% endif %}} in place of {end}", text.trim())
                        }
                        None => format!("{{% if {value} %}} … {{% endif %}}"),
                    };
                    hint("a condition stands in {% %}, not in {{ }}", write)
                }
            };
        }
        if source.get(..range.0).is_some_and(|before| before.trim_end().ends_with("{{{")) {
            let inner = text.trim_start_matches('{').trim();
            return hint("one brace too many: a value stands in two", format!("{{{{ {inner} }}}} in place of {{{{{{ {inner} }}}}}}"));
        }
        if let Some(found) = INNER_BRACES.captures(source.get(range.0.min(at.0)..)?).or_else(|| INNER_BRACES.captures(source)) {
            return hint(
                "braces cannot stand inside braces; a name in brackets looks up",
                format!("{}[{}] in place of {}", &found[1], &found[2], &found[0]),
            );
        }
        None
    }

    /// Signs that are words here, and quotes of word processors.
    fn operator(&self) -> Option<OtherHabit> {
        let HabitPlace { text, signed, .. } = *self;
        if text.contains("&&") || text.contains("||") || signed == '!' {
            let words = text.replace("&&", " and ").replace("||", " or ");
            let words = all(&NOT, &words, |found| format!("not {}", &found[1]));
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            return self.whole("conditions are joined with the words and, or, not", words);
        }
        if let Some(found) = TERNARY.captures(text).filter(|_| signed == '?') {
            let message = "\"?\" cannot be used in an expression; write: a if condition else b";
            return self.whole(message, format!("{} if {} else {}", &found[2], &found[1], &found[3]));
        }
        if CURLY.iter().any(|(curly, _)| *curly == signed) {
            let write = CURLY.iter().fold(text.to_owned(), |text, (curly, plain)| text.replace(*curly, &plain.to_string()));
            return self.whole(&format!("\"{signed}\" cannot be used in an expression; write straight quotes, \" or '"), write);
        }
        None
    }

    /// One sign, or three, where values are compared.
    fn equals(&self) -> Option<OtherHabit> {
        let HabitPlace { text, range, at, .. } = *self;
        let (before, behind) = text.split_at_checked(at.0.checked_sub(range.0)?)?;
        let (before, behind) = (before.trim_end_matches('='), behind.trim_start_matches('='));
        if behind.trim().is_empty() {
            return None;
        }
        let is_triple = text.contains("===");
        let message = if is_triple { "\"===\" is no operator; \"==\" compares" } else { "\"=\" does not compare; write \"==\"" };
        self.whole(message, format!("{before}=={behind}"))
    }

    /// Dots, brackets and what a filter takes.
    fn shape(&self) -> Option<OtherHabit> {
        let HabitPlace { source, text, range, .. } = *self;
        if DOT_BRACKET.is_match(text) {
            return self.whole("a place in a list stands without a dot before it", DOT_BRACKET.replace_all(text, "[").into_owned());
        }
        if EMPTY_BRACKETS.is_match(text) {
            return self.whole("[] takes nothing: the list itself is read", EMPTY_BRACKETS.replace_all(text, "").into_owned());
        }
        if LEADING_DOT.is_match(text) {
            let write = LEADING_DOT.replace_all(text, "$1$2").into_owned();
            let more =
                again(source, range.1, |text| LEADING_DOT.is_match(text).then(|| LEADING_DOT.replace_all(text, "$1$2").into_owned()));
            return self
                .whole("a name begins without a dot", write)
                .map(|habit| OtherHabit { write: format!("{}{more}", habit.write), ..habit });
        }
        if COLON_FILTER.is_match(text) {
            return self.whole(
                "what a filter takes stands in brackets",
                all(&COLON_FILTER, text, |found| {
                    // That of Liquid stands in for an empty text, too.
                    let empty_too = if &found[1] == "default" { ", true" } else { "" };
                    format!("| {}({}{empty_too})", &found[1], &found[2])
                }),
            );
        }
        if BAR_TEXT.is_match(text) {
            let write = all(&BAR_TEXT, text, |found| format!("| default({}, true)", &found[1]));
            return self.whole("behind \"|\" stands a filter; what is given instead of an empty value is default", write);
        }
        None
    }

    /// Words and names of other tools.
    fn words(&self) -> Option<OtherHabit> {
        let HabitPlace { source, text, range, signed, .. } = *self;
        if CONTAINS.is_match(text) {
            let write =
                all(&CONTAINS, text, |found| format!("{} {}in {}", &found[3], if found.get(2).is_some() { "not " } else { "" }, &found[1]));
            return self.whole("whether a text holds another one is asked with in", write);
        }
        if DOLLAR.is_match(text) && signed == '$' {
            let named = |text: &str| all(&DOLLAR, text, |found| format!("inputs.{}", &found[1]));
            let more = again(source, range.1, |text| DOLLAR.is_match(text).then(|| named(text)));
            let write = format!("{}{more}; or steps.ID.output for what a step gave", named(text));
            let message = match DOLLAR.find(text).map(|found| found.as_str()) {
                Some(name) if name.starts_with("$json") => "$json is of another tool: a file reads its inputs as inputs.NAME",
                _ => "names begin without a dollar sign",
            };
            return hint(message, write);
        }
        if IN_WORDS.is_match(text) {
            let write = all(&IN_WORDS, text, |found| {
                let sign = match found[1].to_lowercase().as_str() {
                    "greater than or equal to" | "at least" => ">=",
                    "less than or equal to" | "at most" => "<=",
                    "greater than" | "more than" | "larger than" => ">",
                    "less than" | "smaller than" => "<",
                    "not equal to" => "!=",
                    _ => "==",
                };
                format!(" {sign} ")
            });
            let write = match write.split_once(' ') {
                Some((name, rest)) if !name.contains('.') => format!("inputs.{name} {rest}"),
                _ => write,
            };
            return hint("values are compared with signs, not with words", write);
        }
        None
    }
}

/// What to write for a function or a method of another language: `whole` is the call as it stands.
pub(super) fn function(source: &str, name: &str, whole: &str) -> Option<String> {
    let small = name.to_lowercase();
    let (value, arguments) = parts(name, whole)?;
    let list: Vec<&str> = split(arguments);
    let (first, second) = (list.first().copied(), list.get(1).copied());
    // What it is done to: the value before the dot, else the first argument.
    let subject = value.or(first)?;
    let rest = if value.is_some() { first } else { second };
    Some(match (small.as_str(), rest) {
        ("join", Some(list)) if value.is_some() && subject.starts_with(['"', '\'']) => format!("{list} | join({subject})"),
        ("len" | "size" | "count" | "length", _) => format!("{} | length", grouped(subject)),
        ("contains" | "includes", Some(part)) => standing(source, format!("{part} in {subject}")),
        ("startswith", Some(part)) => format!("{subject}[:{}] == {part}", quoted_length(part)?),
        ("endswith", Some(part)) => format!("{subject}[-{}:] == {part}", quoted_length(part)?),
        ("lookup" | "getenv" | "env", _) => format!("env.{}", list.last()?.trim_matches(['"', '\''])),
        (filter, _) if filters::is_known(filter) => {
            let more = if value.is_some() { list.join(", ") } else { list.get(1..)?.join(", ") };
            let call = if more.is_empty() { String::new() } else { format!("({more})") };
            format!("{} | {filter}{call}", grouped(subject))
        }
        _ => return None,
    })
}

/// The value before a method, and what stands in the brackets of the call.
fn parts<'s>(name: &str, whole: &'s str) -> Option<(Option<&'s str>, &'s str)> {
    let (before, rest) = whole.split_at(whole.find(&format!("{name}("))?);
    let arguments = rest.strip_prefix(name)?.strip_prefix('(')?;
    let mut depth = 1;
    let end = arguments.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    let start = before.rfind(|c: char| c.is_whitespace() || c == '(').map_or(0, |at| at + 1);
    let value = before.strip_suffix('.').map(|value| match value.ends_with(['"', '\'']) {
        // A text in quotes may hold blanks.
        true => value.get(value.get(..value.len() - 1).and_then(|inner| inner.rfind(['"', '\''])).unwrap_or(0)..).unwrap_or(value),
        false => value.get(start..).unwrap_or(value),
    });
    Some((value, arguments.get(..end)?.trim()))
}

/// Arguments, at the commas outside of quotes and brackets.
fn split(arguments: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (vec![], 0, 0, None);
    for (at, c) in arguments.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(arguments.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments.get(start..).unwrap_or_default().trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn grouped(value: &str) -> String {
    if value.contains(['+', '-', '*', '/', '~', '|']) { format!("({value})") } else { value.to_owned() }
}

fn quoted_length(part: &str) -> Option<usize> {
    let inner = part.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
    Some(inner.chars().count())
}

/// What to write for a filter of another language. `piped`: the text from its name on.
pub(super) fn filter(name: &str, piped: &str) -> Option<String> {
    let argument =
        piped.strip_prefix(name).and_then(|rest| rest.trim_start().strip_prefix('(')?.split_once(')')).map(|(inner, _)| inner.trim());
    Some(match (name, argument) {
        ("wordcount" | "word_count", _) => "write | split | length".to_owned(),
        ("group_by", Some(field)) => format!("write | groupby({field})"),
        ("capitalize", _) => "write | title, or value[:1] | upper ~ value[1:]".to_owned(),
        ("count" | "size", _) => "write | length".to_owned(),
        ("str" | "to_string", _) => "write | string".to_owned(),
        ("default_if_none" | "d" | "fallback" | "if_empty", Some(other)) => format!("write | default({other}, true)"),
        ("safe" | "escape" | "e", _) => "remove it: nothing is escaped in a template; a format step does what a channel needs".to_owned(),
        ("downcase" | "lowercase", _) => "write | lower".to_owned(),
        ("upcase" | "uppercase", _) => "write | upper".to_owned(),
        ("strip", _) => "write | trim".to_owned(),
        ("json" | "to_json" | "dump", _) => "write | tojson".to_owned(),
        ("format" | "format_number" | "number_format" | "intcomma" | "currency" | "floatformat", _) => {
            "write | number(2) for 1,234.50, or | number(2, \"de\") for 1.234,50".to_owned()
        }
        ("strftime" | "date_format" | "format_date", Some(form)) => format!("write | date({form})"),
        ("plus" | "minus" | "times" | "divided_by", _) => "write + - * / between the two numbers".to_owned(),
        ("dictsort", _) => "write | items | sort".to_owned(),
        ("reversed", _) => "write | reverse".to_owned(),
        ("from_json" | "parse_json" | "json_loads", _) => "write | fromjson".to_owned(),
        ("regex_sub" | "sub" | "gsub" | "re_sub", Some(given)) => format!("write | regex_replace({given})"),
        ("add_days" | "adddays" | "date_add" | "timedelta", Some(count)) => format!("write | days({count})"),
        ("add_months" | "addmonths", Some(count)) => format!("write | months({count})"),
        ("days_since" | "diff_days" | "datediff", Some(other)) => format!("write | days_until({other}), with the earlier date before it"),
        ("startofmonth" | "start_of_month" | "month_start", _) => "write | start_of(\"month\")".to_owned(),
        ("startofweek" | "start_of_week" | "week_start", _) => "write | start_of(\"week\")".to_owned(),
        ("slice", Some(_)) => "write value[from:to] for a part of a text or a list".to_owned(),
        _ => return None,
    })
}

/// What to write for a test of another language, behind `is`.
pub(super) fn test(name: &str) -> Option<&'static str> {
    Some(match name {
        "empty" | "blank" => "write == \"\" for a text, or | length == 0 for a list",
        "null" | "nil" | "nothing" => "write is none",
        "true" => "leave it out: a condition is true by itself",
        "false" => "write not before the value",
        "equalto" | "equal" | "same" | "sameas" | "equals" | "==" => "write ==, or \"eq\" in selectattr",
        "!=" | "not_equal" | "notequal" => "write !=, or \"ne\" in selectattr",
        "greaterthan" | "greater" | "above" | "over" | ">" => "write >, or \"gt\" in selectattr",
        "lessthan" | "less" | "below" | "under" | "<" => "write <, or \"lt\" in selectattr",
        ">=" => "write >=, or \"ge\" in selectattr",
        "<=" => "write <=, or \"le\" in selectattr",
        "iterable" | "list" | "array" => "write is sequence",
        "dict" | "object" => "write is mapping",
        "integer" | "float" | "int" => "write is number",
        _ => return None,
    })
}
