//! Patterns: compiled by an engine that needs time in step with the text's length, and explained when they cannot be read.

use regex::{Regex, RegexBuilder};

use super::context::{Lower, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::syntax::Node;

/// Most bytes a compiled pattern may take.
const LARGEST: usize = 4 * 1024 * 1024;

/// Compiles a pattern. The error follows `the pattern …` in a sentence.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(LARGEST).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "is too large; make its repetitions smaller".to_owned(),
        error => explain(&error.to_string()).to_owned(),
    })
}

fn explain(error: &str) -> &'static str {
    const KNOWN: &[(&str, &str)] = &[
        ("unclosed group", "has a \"(\" that is never closed"),
        ("unopened group", "has a \")\" that closes nothing"),
        ("unclosed character class", "has a \"[\" that is never closed"),
        ("missing expression", "has a \"*\", \"+\" or \"?\" with nothing before it to repeat"),
        ("look-around", "looks ahead or behind (such as \"(?=\"), which is not possible here"),
        ("backreferences", "refers back to a group (such as \"\\1\"), which is not possible here"),
        ("repetition quantifier", "has a \"{\" that is no repetition such as {2,5}; write \\{ for the sign"),
        ("decimal literal", "has a \"{\" that is no repetition such as {2,5}; write \\{ for the sign"),
        ("character class range", "has a range such as [z-a] that runs backwards"),
        ("count range", "has a repetition such as {5,2} that runs backwards"),
        ("incomplete escape", "ends with a single \"\\\""),
        ("unrecognized escape", "has a \"\\\" before a letter that means nothing there"),
        ("Unicode property", "names a class of characters that does not exist"),
    ];
    KNOWN.iter().find(|(part, _)| error.contains(part)).map_or("cannot be read", |(_, words)| words)
}

impl Lower<'_> {
    /// A pattern (F021). `owner` is whose it is: `input "zip"`.
    pub fn pattern(&self, owner: &str, node: &Node) -> Option<Regex> {
        let text = self.sentence("pattern", node)?;
        match compile(&text) {
            Ok(regex) => Some(regex),
            Err(why) => {
                let message = format!("the pattern of {owner} {why}");
                self.report(Diagnostic::new(Code::BadPattern, node.span, message).help(format!("correct the pattern {}", quoted(&text))));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_patterns_are_told_in_plain_words() {
        for (pattern, why) in [
            ("(a", "has a \"(\" that is never closed"),
            ("a)", "has a \")\" that closes nothing"),
            ("[a", "has a \"[\" that is never closed"),
            ("*a", "has a \"*\", \"+\" or \"?\" with nothing before it to repeat"),
            ("(?=a)b", "looks ahead or behind (such as \"(?=\"), which is not possible here"),
            ("(a)\\1", "refers back to a group (such as \"\\1\"), which is not possible here"),
            ("[z-a]", "has a range such as [z-a] that runs backwards"),
            ("a{5,2}", "has a repetition such as {5,2} that runs backwards"),
            ("a\\", "ends with a single \"\\\""),
            ("\\w{1000}{1000}", "is too large; make its repetitions smaller"),
        ] {
            assert_eq!(compile(pattern).unwrap_err(), why, "{pattern}");
        }
    }
}
