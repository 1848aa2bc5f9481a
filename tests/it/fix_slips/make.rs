//! Slips that people make in a file, each at one place chosen by a number.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Numbers that look random and are the same every time.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }

    pub fn one<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { all.get(self.below(all.len())) }
    }
}

/// A kind of slip: what it looks for, and what people write there instead. `$1` is what the first brackets hold.
struct Kind {
    name: &'static str,
    pattern: &'static str,
    instead: &'static [&'static str],
}

const fn kind(name: &'static str, pattern: &'static str, instead: &'static [&'static str]) -> Kind {
    Kind { name, pattern, instead }
}

/// The value of a key, without quotes.
const PLAIN: &str = r#"(?m)^(\s*(?:- )?\w+: )([A-Za-z][^"'\[\]{}#:|>\r\n]*?)(\r?)$"#;

static KINDS: &[Kind] = &[
    kind("no quotes around a template", r#"(?m)^(\s*(?:- )?\w+: )"([^"\r\n]*\{\{[^"\r\n]*)"(\r?)$"#, &["$1$2$3"]),
    kind(
        "no quotes in brackets",
        r#"([{,\[] ?(?:\w+: )?)"([^"\r\n]*\{\{[^"\r\n]*)""#,
        &["$1$2", "${1}Say $2.", "${1}Say, please, $2, now"],
    ),
    kind("a template in a flow mapping", r"\{ (\w+): (\w[^,}{\r\n]*) \}", &["{ $1: $2 {{ inputs.x }} }", "{ $1: {{ run.today }} $2 }"]),
    kind("one quote", r#"(?m)^(\s*(?:- )?\w+: )"([^"\r\n]+)"(\r?)$"#, &["$1$2\"$3", "$1\"$2$3", "$1\"$2'$3"]),
    kind("curly quotes", r#"(?m)^(\s*(?:- )?\w+: )"([^"\r\n]+)"(\r?)$"#, &["$1“$2”$3", "$1„$2“$3", "$1‘$2’$3", "$1\"$2”$3"]),
    kind("curly quotes around a word", PLAIN, &["$1“$2”$3", "$1«$2»$3", "$1'$2$3", "$1$2\"$3"]),
    kind("yes for true", r"\b(true|false)\b", &["yes", "no", "on", "off", "Yes", "NO", "\"true\"", "\"no\"", "y", "'off'"]),
    kind(
        "a default of yes",
        r"(type: \w+)",
        &["$1, default: yes", "$1, default: no", "$1, default: 007", "$1, default: \"5\"", "$1, default: 12"],
    ),
    kind("a required of yes", r"(type: \w+)", &["$1, required: no", "$1, required: \"false\"", "$1, pii: on", "$1, required: 1"]),
    kind(
        "a rule of another type",
        r"(type: \w+)",
        &["$1, max: 30", "$1, min: 1", "$1, maximum: 9", "$1, regex: \"^a\"", "$1, max_len: 9", "$1, limit: 3"],
    ),
    kind(
        "zero in front",
        r"(: |, )([1-9]\d*)\b",
        &["${1}0$2", "${1}00$2", "${1}$2_000", "${1}$2:30", "${1}\"$2\"", "${1}$2.10", "${1}+49151$2345678"],
    ),
    kind("no unit", r": (\d+)(ms|s|m|h|d|MB|KB)\b", &[": $1", ": $1 $2", ": $1${2}ec", ": $1 minutes", ": \"$1\"", ": PT$1S"]),
    kind(
        "braces in a condition",
        r"(?m)^(\s*(?:- )?(?:when|of): )([^\r\n]+?)(\r?)$",
        &["$1\"{{ $2 }}\"$3", "$1{{ $2 }}$3", "$1${{ $2 }}$3"],
    ),
    kind("single braces", r"\{\{ ?([\w.]+) ?\}\}", &["{ $1 }", "{$1}", "${$1}", "${{ $1 }}", "{{ $1 }", "{{$1}}", "<$1>", "{{ $1 }}}"]),
    kind("a tab", r"(?m)^  ( *)(\S)", &["\t$1$2", "$1\t$2"]),
    kind("a tab behind the key", r"(?m)^(\s*\w+:) ", &["$1\t", "$1", "$1  "]),
    kind("indentation", r"(?m)^( +)(\S)", &["$1 $2", "$1  $2", "  $2", "$2", " $2"]),
    kind("no space behind the dash", r"(?m)^(\s*)- ", &["$1-", "$1-  ", "$1* ", "$1– ", "$1• ", "$1"]),
    kind("no colon", r"(?m)^(\s*(?:- )?\w+):( |$)", &["$1$2", "$1 :$2", "$1=$2", "$1:$2\n"]),
    kind("one in place of a list", r"\[(\w+)\]", &["$1", "{ $1 }", "\"$1\"", "[$1, $1]", "[$1", "$1]", "[ \"$1\" , ]", "[$1,$1 ]"]),
    kind("a list in place of one", PLAIN, &["$1[$2]$3", "$1{ $2 }$3", "$1- $2$3", "$1\n    - $2$3"]),
    kind(
        "pasted JSON",
        r"(?m)^(\s*)(\w+): ([\w ]+?)(\r?)$",
        &["$1\"$2\": \"$3\",$4", "$1\"$2\": $3,$4", "$1{ \"$2\": \"$3\" }$4", "$1$2: $3,$4", "$1$2: {\"a\": [1, 2,]}$4"],
    ),
    kind("an anchor", PLAIN, &["$1&a $2$3", "$1*a$3", "$1&a yes$3", "$1!!str $2$3", "$1&$2$3"]),
    kind(
        "anchored twice",
        r"(?m)^(  )(\w+): \{ type: (\w+)([^}\r\n]*) \}",
        &["$1$2: { type: $3, default: &d yes }\n${1}${2}_b: { type: text, default: *d }"],
    ),
    kind("another mark of a text", r"(: )[|>]-?(\r?\n)", &["$1$2", "$1|$2", "$1>-$2", "$1|+$2", "$1\"$2", "$1| a$2", "$1|2$2"]),
    kind(
        "a text over two lines",
        PLAIN,
        &["$1$2\n      and more$3", "$1\"$2\n      and more\"$3", "$1|\n      $2$3", "$1>\n $2$3", "$1{{ run.today }}\n      and $2$3"],
    ),
    kind(
        "a comment",
        r"(?m)^(\s*(?:- )?\w+:)( ?)([^\r\n]*)(\r?)$",
        &["$1$2$3 # note$4", "$1$2$3 #note$4", "$1$2$3# note$4", "$1 # note\n$2$3$4", "# $1$2$3$4"],
    ),
    kind("a comment between", r"(?m)^(\s*- )", &["# yes: no, {{ x }}\n$1", "   # note\n$1", "\n\n$1"]),
    kind(
        "an ignore of nothing",
        r"(?m)^(\s*(?:- )?\w+: [^\r\n]*?)(\r?)$",
        &["$1 # flow-ignore: F105 kept$2", "$1 # flow-ignore: F105, F210 kept$2", "# flow-ignore: F009 kept\n$1$2"],
    ),
    kind("emoji", PLAIN, &["$1🎉 $2$3", "$1$2 👩‍💻$3", "$1🎉$3", "$1{{ 🎉 }} $2$3"]),
    kind("a word with a sign in front", PLAIN, &["$1@$2$3", "$1`$2`$3", "$1%$2$3", "$1*$2$3", "$1$2: $2$3", "$1? $2$3", "$1! $2$3"]),
    kind("twice the same need", r"needs: \[(\w+)", &["needs: [$1, $1", "depends_on: [$1", "need: [$1", "needs: [$1,$1"]),
    kind(
        "a type of another language",
        r"type: (\w+)",
        &["type: string", "type: bool", "type: int", "type: Text", "type: texts", "type: array", "type: yes"],
    ),
    kind("a name with a hyphen", r"(?m)^(\s*- id: )(\w+)", &["$1$2-1", "$1My$2", "$1$2 two", "$1", "$1{{ $2 }}", "$1007"]),
];

/// Words that are keys, and what people write for them.
static KEYS: &[(&str, &[&str])] = &[
    ("needs", &["depends_on", "need", "require", "requires", "after", "Needs", "depends-on"]),
    ("when", &["if", "condition", "When", "whenn", "run_if"]),
    ("prompt", &["prompts", "promt", "Prompt", "message", "user", "text"]),
    ("instructions", &["system", "instruction", "system_prompt", "Instructions", "role", "systemPrompt"]),
    ("max_length", &["max", "maxLength", "max_len", "maximum", "max_chars", "max-length", "length"]),
    ("maximum", &["max", "max_length", "maximun", "Maximum"]),
    ("minimum", &["min", "min_length", "mininum"]),
    ("default", &["defaults", "Default", "value"]),
    ("outputs", &["output", "result", "Outputs"]),
    ("output", &["outputs", "schema", "response_format"]),
    ("steps", &["step", "tasks", "Steps", "jobs"]),
    ("inputs", &["input", "params", "Inputs", "variables"]),
    ("agents", &["agent", "Agents"]),
    ("agent", &["agents", "Agent", "worker"]),
    ("timeout", &["time_out", "timeout_seconds", "Timeout", "timeouts"]),
    ("retry", &["retries", "max_retries", "Retry"]),
    ("max_attempts", &["attempts", "max_retries", "max_attempt", "max"]),
    ("for_each", &["foreach", "for", "loop", "forEach"]),
    ("otherwise", &["else", "default", "other_wise"]),
    ("model", &["models", "llm", "model_name"]),
    ("tools", &["tool", "Tools", "functions"]),
    ("max_turns", &["max_rounds", "max", "turns", "max_steps", "maxTurns"]),
    ("max_tokens", &["max_output_tokens", "tokens"]),
    ("temperature", &["temp", "Temperature", "temperatur"]),
    ("description", &["desc", "describtion", "Description", "about"]),
    ("language", &["languages", "lang"]),
    ("style_guide", &["styleguide", "style-guide", "style", "style_guides"]),
    ("channels", &["channel", "Channels"]),
    ("colour", &["color"]),
    ("required", &["require", "mandatory", "Required", "optional"]),
    ("enum", &["options", "choices", "values", "Enum", "enums"]),
    ("pattern", &["regex", "patern", "format"]),
    ("items", &["item", "elements"]),
    ("set", &["sets", "assign", "let"]),
    ("checks", &["check", "validators"]),
    ("on_failure", &["on_fail", "on_error", "continue_on_error"]),
    ("expect", &["expected", "expects"]),
    ("banned", &["forbidden", "baned"]),
    ("emojis", &["emoji"]),
];

/// What the kinds look for, in their order: making a pattern takes longer than a search.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| KINDS.iter().map(|kind| Regex::new(kind.pattern).unwrap()).collect());

/// A text with one slip more, and what the slip was.
pub fn slip(text: &str, dice: &mut Dice) -> Option<(String, &'static str)> {
    let choice = dice.below(KINDS.len() + 14);
    let (Some(kind), Some(pattern)) = (KINDS.get(choice), PATTERNS.get(choice)) else { return key_slip(text, dice) };
    let all: Vec<Captures> = pattern.captures_iter(text).collect();
    let found = dice.one(&all)?;
    let mut by = String::new();
    found.expand(&escaped(dice.one(kind.instead)?), &mut by);
    let at = found.get(0)?.range();
    Some((put(text, at, &by), kind.name))
}

/// `${{` and the like are no places of groups.
fn escaped(text: &str) -> String {
    text.replace("${{", "$${{").replace("${$", "$${$")
}

fn key_slip(text: &str, dice: &mut Dice) -> Option<(String, &'static str)> {
    static KEY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"(?m)(?:^\s*(?:- )?|[{,] )(\w+):(?: |\r?$)"#).unwrap());
    let all: Vec<Range<usize>> = KEY.captures_iter(text).filter_map(|found| Some(found.get(1)?.range())).collect();
    let known: Vec<_> = all.iter().filter(|at| KEYS.iter().any(|(key, _)| *key == &text[(*at).clone()])).cloned().collect();
    if dice.below(3) > 0
        && let Some(at) = dice.one(&known)
    {
        let (_, instead) = KEYS.iter().find(|(key, _)| *key == &text[at.clone()])?;
        return Some((put(text, at.clone(), dice.one(instead)?), "another key"));
    }
    let at = dice.one(&all)?.clone();
    let key = &text[at.clone()];
    let place = dice.below(key.len());
    let by = match dice.below(8) {
        0 => key.to_uppercase(),
        1 => format!("{key}s"),
        2 => key.trim_end_matches('s').to_owned(),
        3 => key.replace('_', "-"),
        4 => key.replacen('_', "", 1),
        5 => format!("\"{key}\""),
        6 => format!("{}{}", key.get(..place)?, key.get(place + 1..)?),
        _ => format!("{}{}{}", key.get(..=place)?, key.get(place..=place)?, key.get(place + 1..)?),
    };
    (!by.is_empty()).then(|| (put(text, at, &by), "a key with a letter too many or too few"))
}

fn put(text: &str, at: Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..at.start], &text[at.end..])
}
