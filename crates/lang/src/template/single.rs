//! Single braces around a name (`{steps.draft.output}`, as other programs write it): here that is text, and nothing is filled in.
//!
//! Braces are ordinary characters of a text. So only braces are told that hold one name of the language with a dot behind it, perhaps with
//! filters; JSON, CSS and the fixed places of channels (`{part}`) hold none.

use std::sync::LazyLock;

use minijinja::machinery::{Token, tokenize};
use regex::Regex;
use strum::VariantArray;

use super::problem::excerpt;
use super::scan::{is_raw, place, syntax};
use super::stray::{has_template, is_root};
use super::tree::SourceRange;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Root, TextPlace};
use crate::source::Span;

/// F214, for a text that can be read.
pub(super) fn look(source: &str, at: &TextPlace, diagnostics: &mut Vec<Diagnostic>) {
    if !source.contains('{') {
        return;
    }
    for (start, end) in parts(source) {
        let Some(part) = source.get(start..end) else { continue };
        for (whole, inner) in named(part) {
            let name = &part[inner.0..inner.1];
            let (from, to) = (start + whole.0, start + whole.1);
            // `${name}` is a template of other programs, or a price before a value: no edit knows which.
            let price = source.get(from..from + 1).filter(|first| *first == "$");
            let wanted = format!("{{{{ {} }}}}", excerpt(name, (0, name.len())));
            let message = format!("\"{}\" is only text here; a value is written in two braces: {wanted}", excerpt(source, (from, to)));
            let mut found = finding(
                at.inside(from, to),
                message,
                match price {
                    // Alone in a text without quotes, YAML would read the braces as its own.
                    Some(_) if (from, to) == (0, source.len()) => {
                        format!("write \"{wanted}\" in quotes, or ${wanted} for a dollar sign before the value")
                    }
                    Some(_) => format!(
                        "write {wanted}, or ${wanted} for a dollar sign before the value; to keep the braces, put {{% raw %}}…{{% endraw %}} around them"
                    ),
                    None => format!("write {wanted}; to keep the braces, put {{% raw %}}…{{% endraw %}} around them"),
                },
            );
            if !at.offsets.is_empty() && price.is_none() {
                let edits = [((from, start + inner.0), "{{ "), ((start + inner.1, to), " }}")];
                // Not safe: braces may be meant, as where an agent is told how to write them.
                found = found.proposed_fix(edits.map(|((from, to), text)| (at.inside(from, to), text.to_owned())).to_vec());
            }
            diagnostics.push(found);
        }
    }
}

/// F214, for `{ inputs.name }` without quotes: to YAML it is a list of keys, with one key that has no value.
pub fn in_brackets(name: &str, span: Span) -> Option<Diagnostic> {
    if !name.split_once('.').is_some_and(|(root, _)| is_root(root)) {
        return None;
    }
    let (name, wanted) = (excerpt(name, (0, name.len())), format!("\"{{{{ {name} }}}}\""));
    let message = format!("\"{name}\" is only a key without a value here; a value is written in two braces and in quotes: {wanted}");
    Some(finding(span, message, format!("write {wanted}")).proposed_fix(vec![(span, wanted)]))
}

fn finding(span: Span, message: String, help: String) -> Diagnostic {
    Diagnostic::new(Code::SingleBraces, span, message).help(help)
}

/// What stands between the templates of a text, and not in `{% raw %}`.
fn parts(source: &str) -> Vec<SourceRange> {
    if !has_template(source) {
        return vec![(0, source.len())];
    }
    let mut parts = vec![];
    let mut before = (0, 0);
    for (token, span) in tokenize(source, false, syntax()).map_while(Result::ok) {
        let at = place(span);
        if matches!(token, Token::TemplateData(_)) && !is_raw(source, before, at) {
            parts.push(at);
        }
        before = at;
    }
    parts
}

/// Single braces around a name: where they stand, and where the name with its filters does.
fn named(part: &str) -> Vec<(SourceRange, SourceRange)> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let roots: Vec<&str> = Root::VARIANTS.iter().map(|root| root.word()).filter(|root| is_root(root)).collect();
        let roots = roots.join("|");
        Regex::new(&format!(r"\$?\{{\s*((?:{roots})\.[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*(?:\s*\|[^{{}}]*?)?)\s*\}}")).ok()
    });
    // Most files have none, and the pattern takes longer to make than they take to check.
    let Some(pattern) = part.contains('{').then(|| NAMED.as_ref()).flatten() else { return vec![] };
    let found = pattern.captures_iter(part).filter_map(|found| Some((found.get(0)?, found.get(1)?)));
    let single = found.filter(|(whole, _)| !part[..whole.start()].ends_with('{') && !part[whole.end()..].starts_with('}'));
    single.map(|(whole, name)| ((whole.start(), whole.end()), (name.start(), name.end()))).collect()
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostic;
    use crate::model::TextPlace;

    fn findings(text: &str) -> Vec<String> {
        let mut found: Vec<Diagnostic> = vec![];
        let place = TextPlace { offsets: vec![(0, 0)], ..TextPlace::default() };
        super::super::text(text, place, &mut found);
        found.into_iter().map(|found| found.message).collect()
    }

    #[test]
    fn a_name_in_single_braces_is_told() {
        for (text, wanted) in [
            ("Say {inputs.name}.", "\"{inputs.name}\" is only text here; a value is written in two braces: {{ inputs.name }}"),
            ("{ steps.a.output }", "\"{ steps.a.output }\" is only text here; a value is written in two braces: {{ steps.a.output }}"),
            (
                "{{ inputs.a }} and { item.rows[0].name | upper }",
                "\"{ item.rows[0].name | upper }\" is only text here; a value is written in two braces: {{ item.rows[0].name | upper }}",
            ),
            ("${inputs.name}", "\"${inputs.name}\" is only text here; a value is written in two braces: {{ inputs.name }}"),
        ] {
            assert_eq!(findings(text), [wanted], "{text}");
        }
        assert_eq!(findings("{inputs.a}{inputs.b} {% if inputs.c %}{inputs.d}{% endif %}").len(), 3);
    }

    #[test]
    fn an_edit_is_only_proposed_and_none_loses_a_dollar_sign() {
        let edits = |text: &str| {
            let mut found: Vec<Diagnostic> = vec![];
            super::super::text(text, TextPlace { offsets: vec![(0, 0)], ..TextPlace::default() }, &mut found);
            found.into_iter().map(|found| (found.candidate.map(|fix| fix.safe), found.help.concat())).collect::<Vec<_>>()
        };
        assert!(matches!(&edits("{inputs.price}")[..], [(Some(false), _)]));
        for text in ["That costs ${inputs.price}.", "${ inputs.price | round }", "$${inputs.price}"] {
            let [(None, help)] = &edits(text)[..] else { panic!("{text}: {:?}", edits(text)) };
            assert!(help.contains(", or ${{ inputs.price"), "{help}");
        }
    }

    #[test]
    fn other_braces_are_text() {
        for text in [
            "{\"a\": 1}",
            "{\"inputs.a\": {\"b\": 2}}",
            "{ \"name\": {{ inputs.name }} }",
            "({part}/{parts})",
            "{inputs}",
            "{ my.steps.a }",
            "{steps.a.output and more}",
            "{steps.}",
            "body { font.size }",
            "{{ inputs.a }} {% raw %}{inputs.b}{% endraw %}",
            "{{ \"{inputs.a}\" }}",
            "inputs.a",
        ] {
            assert_eq!(findings(text), [""; 0], "{text}");
        }
    }
}
