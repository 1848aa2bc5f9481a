//! Ends of braces that nothing began: `steps.draft.output }}`, `{ day }}`, `{{ day }}}`.
//!
//! Braces are ordinary characters of a text, as in JSON. So an end is a mistake only where more are closed than opened, and only in a text
//! that has templates, or behind something that reads like one.

use super::problem::TemplateProblem;
use crate::model::{Root, Text, Unbraced};

/// What is written for two roots.
const SLIPS: [&str; 2] = ["input", "step"];

/// Whether something in a text looks like a template.
pub(super) fn has_template(source: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|start| source.contains(start))
}

/// Whether a plain text is what an expression could be: a name of the language with a dot behind it, perhaps with filters.
pub(crate) fn is_like_a_name(text: &Text) -> bool {
    let source = text.source.trim();
    let name = source.strip_prefix(['$', '=']).unwrap_or(source);
    let begins = || name.split_once('.').is_some_and(|(root, _)| SLIPS.contains(&root) || is_root(root));
    // `draft.output`, where `steps.draft.output` is meant.
    let is_output = || name.split('.').nth(1).is_some_and(|part| part.split(['[', '|', ' ']).next() == Some("output"));
    (begins() || is_output()) && (!name.contains(char::is_whitespace) || name.contains('|'))
}

/// Whether a name of the language with a name behind it stands somewhere in a text.
pub(crate) fn holds_a_name(text: &str) -> bool {
    Root::slips().any(|root| {
        text.match_indices(root.word()).any(|(at, root)| {
            let name = text[at + root.len()..].strip_prefix('.');
            begins_name(&text[..at]) && name.is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        })
    })
}

/// Whether a name can begin behind this, and it is no part of another name, a path or an address, nor in single braces.
pub(crate) fn begins_name(before: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '@' | '\\');
    !before.ends_with(is_inner) && !before.trim_end().ends_with('{')
}

/// Counts the braces of the parts of one text that are no template.
#[derive(Debug, Default)]
pub(super) struct Stray {
    open: i64,
}

impl Stray {
    /// Looks at the part of `source` from `start` to `end`, which stands between templates. `is_behind`: it stands directly behind the end of one.
    pub(super) fn look(&mut self, source: &str, (start, end): (usize, usize), is_behind: bool) -> Result<(), TemplateProblem> {
        let part = source.get(start..end).unwrap_or_default();
        let uses_templates = has_template(source);
        if is_behind && self.open == 0 && part.starts_with('}') {
            let found = TemplateProblem::syntax((start, start + 1), "this \"}\" is one too many; an expression ends with \"}}\"");
            return Err(found.help("remove one \"}\""));
        }
        let bytes = part.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            self.open += match byte {
                b'{' => 1,
                b'}' => -1,
                _ => 0,
            };
            if self.open >= 0 || *byte != b'}' {
                continue;
            }
            self.open = 0;
            // Of "}}" the second may be the one that is too many, as in "{ day }}".
            let (first, mark) = match (at.checked_sub(1).and_then(|before| bytes.get(before)), bytes.get(at + 1)) {
                (Some(b'}'), _) => (at - 1, "}}"),
                (Some(b'%'), _) => (at - 1, "%}"),
                (_, Some(b'}')) => (at, "}}"),
                _ => continue,
            };
            let before = part.get(..first).unwrap_or_default();
            let line = before.rsplit(['\n', '}']).next().unwrap_or_default();
            let is_expression = line.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '"' | '\''));
            let is_all = line.len() == before.len() && source.trim_end().len() == start + first + 2;
            if is_expression && (uses_templates || reads(line) || start == 0 && is_all && is_name(line)) {
                let begin = if mark == "}}" { "{{" } else { "{%" };
                let found = TemplateProblem::syntax(
                    (start + first, start + first + 2),
                    format!("\"{mark}\" closes nothing; is a \"{begin}\" missing before it?"),
                );
                return Err(found
                    .help(format!("write {begin} before the expression; where the text itself holds {mark}, write {{{{ \"{mark}\" }}}}")));
            }
        }
        Ok(())
    }
}

/// Whether a name is a root that has fields and is no common word.
pub(crate) fn is_root(name: &str) -> bool {
    Root::parse(name).is_some_and(|root| root.unbraced() != Unbraced::Nowhere)
}

/// Whether a name of the language with a dot behind it is in a text.
fn reads(line: &str) -> bool {
    line.match_indices('.').any(|(end, _)| {
        let path = line[..end].rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).next();
        path.is_some_and(is_root)
    })
}

/// Whether a text is one name, perhaps behind half of `{{`.
fn is_name(text: &str) -> bool {
    let name = text.trim().trim_start_matches('{').trim();
    name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostic;
    use crate::model::TextPlace;

    fn findings(text: &str) -> Vec<String> {
        let mut found: Vec<Diagnostic> = vec![];
        super::super::text(text, TextPlace::default(), &mut found);
        found.into_iter().map(|found| found.message).collect()
    }

    #[test]
    fn an_end_that_nothing_began_is_a_mistake() {
        let missing = "\"}}\" closes nothing; is a \"{{\" missing before it?";
        for text in [
            "steps.a.output }}",
            "Dear inputs.name }}, hello",
            "{ steps.a.output }}",
            "{{ a }} and day }}",
            "{% if a %}x{% endif %} { b }}",
            " item }}",
            "{ item }}\n",
        ] {
            assert_eq!(findings(text), [missing], "{text}");
        }
        for text in ["{{ a }}{# drawing #}{ inputs.b }}", "{% raw %}x{% endraw %} { inputs.b }}", "{# {% raw %} #}{ inputs.b }}"] {
            assert_eq!(findings(text), [missing], "{text}");
        }
        assert_eq!(findings("{{ a }} x endif %}"), ["\"%}\" closes nothing; is a \"{%\" missing before it?"]);
        assert_eq!(findings("{{ a }}} b"), ["this \"}\" is one too many; an expression ends with \"}}\""]);
    }

    #[test]
    fn braces_of_a_text_are_its_own() {
        for text in [
            "{\"a\": {\"b\": 1}}",
            "{\"a\": {\"b\": {{ 1 }}}}",
            "{\"a\": {{ 1 }}}",
            "a list ends with }} there",
            "it ends with }}",
            "x }} y",
            "{{ 1 }} fn f() { if x { y() }}",
            "{{ \"}}\" }} ends it",
            "{% raw %}steps.a.output }}{% endraw %}",
            "{{ 1 }} and {% raw %}{{ a }}}{% endraw %}",
            "{{ 1 }}{# raw #}{%- raw -%}{ inputs.b }}{% endraw %}{% raw %}{ inputs.b }}{% endraw %}",
            "100 %}",
        ] {
            assert_eq!(findings(text), [""; 0], "{text}");
        }
    }
}
