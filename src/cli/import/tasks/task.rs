//! A task as its file has it, and its texts that are no templates: times and JavaScript.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ImportedTask {
    pub(super) task_reference_name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) input_parameters: serde_json::Map<String, Value>,
    pub(super) optional: bool,
    pub(super) start_delay: f64,
    pub(super) loop_condition: Option<String>,
    pub(super) loop_over: Vec<ImportedTask>,
    pub(super) items: Option<String>,
    pub(super) decision_cases: BTreeMap<String, Vec<ImportedTask>>,
    pub(super) default_case: Vec<ImportedTask>,
    pub(super) evaluator_type: Option<String>,
    pub(super) expression: Option<String>,
    pub(super) case_value_param: Option<String>,
    pub(super) case_expression: Option<String>,
    pub(super) fork_tasks: Vec<Vec<ImportedTask>>,
    pub(super) join_on: Vec<String>,
}

impl Default for ImportedTask {
    fn default() -> ImportedTask {
        ImportedTask {
            task_reference_name: String::new(),
            kind: "SIMPLE".into(),
            input_parameters: serde_json::Map::new(),
            optional: false,
            start_delay: 0.0,
            loop_condition: None,
            loop_over: vec![],
            items: None,
            decision_cases: BTreeMap::new(),
            default_case: vec![],
            evaluator_type: None,
            expression: None,
            case_value_param: None,
            case_expression: None,
            fork_tasks: vec![],
            join_on: vec![],
        }
    }
}

/// `10 seconds`, `2m` as a time of ours.
pub(super) fn waited(text: &str) -> Option<String> {
    let text = text.trim();
    let (count, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit.trim() {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        _ => return None,
    };
    (!count.is_empty()).then(|| format!("{count}{unit}"))
}

/// A condition in JavaScript with the signs of ours; what is more than a condition is an error.
pub(super) fn jinja_of(script: &str) -> Result<String, String> {
    let flat = script.split_whitespace().collect::<Vec<_>>().join(" ");
    let strip = |text: &str, start: &str, end: &str| {
        text.strip_prefix(start).and_then(|text| text.strip_suffix(end)).map(|text| text.trim().to_owned())
    };
    let mut inner = flat.trim_end_matches(';').trim().to_owned();
    let compact = inner.replace("function ()", "function()").replace("function() {", "function(){");
    if let Some(body) = strip(&compact, "(function(){", "})()") {
        inner = body.trim_end_matches(';').trim().to_owned();
    }
    if let Some(value) = inner.strip_prefix("return ").filter(|value| !value.contains(';')) {
        inner = value.to_owned();
    }
    let plain = inner.replace("return ", "").replace([' ', ';'], "");
    for end in ["{true}else{false}", "{true}false"] {
        if let Some(condition) = plain.strip_suffix(end).filter(|text| text.starts_with("if(")) {
            let length = condition.len();
            let spaced = inner.find('(').zip(inner.rfind('{').and_then(|_| inner.find('{')));
            inner = spaced
                .and_then(|(from, to)| inner.get(from..to))
                .map(|text| text.trim().to_owned())
                .filter(|_| length > 2)
                .ok_or("its script is not a condition")?;
        }
    }
    if inner.contains([';', '{', '}', '?']) {
        return Err("it is JavaScript that is more than one condition".into());
    }
    let field = regex::Regex::new(r#"\[['"]([A-Za-z_]\w*)['"]\]"#).map_err(|_| "")?;
    let inner = field.replace_all(&inner, ".$1").into_owned();
    let mut out = String::new();
    for (number, part) in inner.split(['\'', '"']).enumerate() {
        if number % 2 == 1 {
            out.push_str(&json!(part).to_string());
            continue;
        }
        let part = part.replace("===", "==").replace("!==", "!=").replace("!=", "\u{1}").replace('!', " not ").replace('\u{1}', "!=");
        let part =
            part.replace("!==", "!=").replace("&&", " and ").replace("||", " or ").replace("null", "none").replace("undefined", "none");
        out.push_str(&part.replace("$.", "js."));
    }
    Ok(out)
}
