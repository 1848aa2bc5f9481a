//! JavaScript in texts of tasks.

use serde_json::json;

use crate::lost::LostWhy;

/// The text between a start and an end.
fn within<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    text.strip_prefix(start).and_then(|text| text.strip_suffix(end)).map(str::trim)
}

/// A condition in JavaScript with the words of ours; what is more than a condition is an error. `===` stays, for who asks what `==` converts.
pub(super) fn jinja_of(script: &str) -> Result<String, LostWhy> {
    let flat = script.split_whitespace().collect::<Vec<_>>().join(" ");
    let compact = flat.trim_end_matches(';').trim().replace("function ()", "function()").replace("function() {", "function(){");
    let mut inner = within(&compact, "(function(){", "})()").unwrap_or(&compact).trim_end_matches(';').trim();
    inner = inner.strip_prefix("return ").filter(|value| !value.contains(';')).unwrap_or(inner);
    let plain = inner.replace("return ", "").replace([' ', ';'], "");
    if plain.starts_with("if(") && ["{true}else{false}", "{true}false"].iter().any(|end| plain.ends_with(end)) {
        inner = inner.find('(').zip(inner.find('{')).and_then(|(from, to)| inner.get(from..to)).ok_or(LostWhy::NotOneCondition)?.trim();
    }
    if inner.contains([';', '{', '}', '?']) {
        return Err(LostWhy::NotOneCondition);
    }
    let mut out = String::new();
    for (number, part) in fields_with_points(inner).split(['\'', '"']).enumerate() {
        if number % 2 == 1 {
            out.push_str(&json!(part).to_string());
            continue;
        }
        let part = part.replace("!=", "\u{1}").replace('!', " not ").replace('\u{1}', "!=");
        let part = part.replace("&&", " and ").replace("||", " or ").replace("null", "none").replace("undefined", "none");
        out.push_str(&part.replace("$.", "js."));
    }
    Ok(out)
}

/// `a['b']` as `a.b`, where `b` is a name.
fn fields_with_points(text: &str) -> String {
    let mut parts = text.split('[');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let named = part.split_once(']').and_then(|(name, rest)| {
            let name = within(name, "'", "'").or_else(|| within(name, "\"", "\""))?;
            let is_name =
                name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            is_name.then_some((name, rest))
        });
        match named {
            Some((name, rest)) => out.extend([".", name, rest]),
            None => out.extend(["[", part]),
        }
    }
    out
}
