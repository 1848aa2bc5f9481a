//! What an agent answers in a try of a `task`, read as it is meant.

use serde_json::{Value, json};

use super::reading::{self, Reading};
use super::schema_problems;
use crate::model::{ArtefactKind, WrittenArtefact};

/// Most characters of code.
const LONGEST_CODE: usize = 100_000;
/// Most names that code may set.
const MOST_VARIABLES: usize = 50;

/// A try as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadArtefact {
    /// What the agent wrote.
    pub artefact: WrittenArtefact,
    /// Its result, where it needs no code.
    pub result: Option<String>,
    /// What of the answer was read otherwise than to the letter.
    pub notes: Vec<String>,
}

/// Reads the answer of an agent in a try of a task.
///
/// # Errors
/// It does not fit; in sentences, all of them.
pub fn read_artefact(text: &str, kind: ArtefactKind) -> Result<ReadArtefact, Vec<String>> {
    let schema = demanded(kind);
    let mut read = reading::json_in(text, &schema).map_err(|error| vec![error.to_string()])?;
    read.fit(&schema);
    let Reading { value, notes } = read;
    let mut problems = schema_problems(&schema, &value);
    if !problems.is_empty() {
        return Err(problems);
    }
    let text = |key: &str| value[key].as_str().unwrap_or_default().trim().to_owned();
    let artefact = WrittenArtefact {
        kind,
        summary_of_previous_failures: text("summary_of_previous_failures"),
        thought: text("thought"),
        code: match kind {
            ArtefactKind::Text => String::new(),
            ArtefactKind::Sql => unfenced(&text("sql_code")).to_owned(),
            ArtefactKind::Python => unfenced(&text("python_code")).to_owned(),
        },
        output_variables: names(&value["output_variables"]),
        is_malicious: value["is_malicious"] == true,
        reason_code_not_created: text("reason_code_not_created"),
    };
    let result = match kind {
        ArtefactKind::Text => value["result"].as_str().map(str::to_owned),
        ArtefactKind::Sql => None,
        ArtefactKind::Python => Some(text("result")),
    };
    let result = result.filter(|result| !result.trim().is_empty() && artefact.code.is_empty());
    if artefact.code.chars().count() > LONGEST_CODE {
        problems.push(format!("the code has more than {LONGEST_CODE} characters"));
    }
    let has_nothing = artefact.code.is_empty() && result.is_none() && artefact.reason_code_not_created.is_empty();
    match kind {
        ArtefactKind::Text if result.is_none() => problems.push("\"result\" is empty".to_owned()),
        ArtefactKind::Sql if has_nothing => {
            problems.push("write the query in \"sql_code\", or say in \"reason_code_not_created\" why there is none".to_owned());
        }
        ArtefactKind::Python if has_nothing => {
            problems.push("write the code in \"python_code\", or what needs no code in \"result\"".to_owned());
        }
        ArtefactKind::Python if !artefact.code.is_empty() => {
            problems.extend(wrong_names(&artefact.output_variables));
            // What is not said is no "false".
            if !value["is_malicious"].is_boolean() {
                problems.push("say in \"is_malicious\" whether the code does harm: true or false".to_owned());
            }
        }
        ArtefactKind::Text | ArtefactKind::Sql | ArtefactKind::Python => {}
    }
    if problems.is_empty() { Ok(ReadArtefact { artefact, result, notes }) } else { Err(problems) }
}

/// What an answer is held to. What may be left out is left out by models that are not kept to a schema.
fn demanded(kind: ArtefactKind) -> Value {
    let text = || json!({ "type": ["string", "null"] });
    let mut properties = json!({ "summary_of_previous_failures": text(), "thought": text() });
    let required = match kind {
        ArtefactKind::Text => {
            properties["result"] = json!({ "type": "string" });
            vec!["result"]
        }
        ArtefactKind::Sql => {
            properties["sql_code"] = text();
            properties["reason_code_not_created"] = text();
            vec![]
        }
        ArtefactKind::Python => {
            properties["python_code"] = text();
            properties["output_variables"] = json!({ "type": ["array", "null"], "items": { "type": "string" } });
            properties["is_malicious"] = json!({ "type": ["boolean", "null"] });
            properties["result"] = text();
            vec![]
        }
    };
    json!({ "type": "object", "properties": properties, "required": required })
}

fn names(value: &Value) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for name in value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::trim) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn wrong_names(names: &[String]) -> Option<String> {
    let is_name = |name: &&String| {
        let mut characters = name.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    if names.is_empty() {
        return Some("\"output_variables\" is empty: name the variables that hold what was asked for".to_owned());
    }
    if names.len() > MOST_VARIABLES {
        return Some(format!("\"output_variables\" has more than {MOST_VARIABLES} names"));
    }
    let wrong: Vec<&str> = names.iter().filter(|name| !is_name(name)).map(String::as_str).collect();
    (!wrong.is_empty()).then(|| format!("\"output_variables\" takes names of variables, found {}", wrong.join(", ")))
}

/// Code without the fence around it.
fn unfenced(code: &str) -> &str {
    let inner = code.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|inner| inner.split_once('\n')).map_or(code, |(_, code)| code).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str, kind: ArtefactKind) -> Vec<String> {
        read_artefact(text, kind).expect_err("it fits")
    }

    #[test]
    fn a_query_is_read_without_the_fence_around_it() {
        let read = read_artefact(r#"{"thought": "Count.", "sql_code": "```sql\nselect 1\n```"}"#, ArtefactKind::Sql).unwrap();
        assert_eq!((read.artefact.code.as_str(), read.artefact.thought.as_str(), read.result), ("select 1", "Count.", None));
        let read = read_artefact("```json\n{\"sql_code\": null, \"reason_code_not_created\": \"No such table.\"}\n```", ArtefactKind::Sql)
            .unwrap();
        assert_eq!((read.artefact.code.as_str(), read.artefact.reason_code_not_created.as_str()), ("", "No such table."));
        assert!(!read.notes.is_empty());
    }

    #[test]
    fn code_says_what_it_sets() {
        let read = read_artefact(
            r#"{"thought": "Sum.", "python_code": "total = 3", "output_variables": ["total", "total"], "is_malicious": false, "result": "3"}"#,
            ArtefactKind::Python,
        )
        .unwrap();
        assert_eq!((read.artefact.output_variables, read.result), (vec!["total".to_owned()], None), "what the code gives counts");
        let no_code = read_artefact(r#"{"thought": "Known.", "result": "It is a chart."}"#, ArtefactKind::Python).unwrap();
        assert_eq!((no_code.artefact.code.as_str(), no_code.result.as_deref()), ("", Some("It is a chart.")));
        let flagged = r#"{"python_code": "x = 1", "output_variables": ["x"], "is_malicious": true}"#;
        assert!(read_artefact(flagged, ArtefactKind::Python).unwrap().artefact.is_malicious);
        let code = |flag: &str| format!(r#"{{"python_code": "x = 1", "output_variables": ["x"]{flag}}}"#);
        assert!(read_artefact(&code(r#", "is_malicious": "true""#), ArtefactKind::Python).unwrap().artefact.is_malicious);
        for flag in ["", r#", "is_malicious": null"#, r#", "is_malicious": """#] {
            let told = "say in \"is_malicious\" whether the code does harm: true or false";
            assert_eq!(problems(&code(flag), ArtefactKind::Python), [told], "{flag}");
        }
        assert_eq!(problems(&code(r#", "is_malicious": "maybe""#), ArtefactKind::Python).len(), 1);
    }

    #[test]
    fn an_answer_without_anything_in_it_is_sent_back() {
        assert_eq!(problems(r#"{"thought": "x", "result": " "}"#, ArtefactKind::Text), ["\"result\" is empty"]);
        assert_eq!(
            problems(r#"{"thought": "x"}"#, ArtefactKind::Sql),
            ["write the query in \"sql_code\", or say in \"reason_code_not_created\" why there is none"]
        );
        assert_eq!(
            problems(r#"{"python_code": "x = 1", "output_variables": [], "is_malicious": false}"#, ArtefactKind::Python),
            ["\"output_variables\" is empty: name the variables that hold what was asked for"]
        );
        assert_eq!(
            problems(r#"{"python_code": "x = 1", "output_variables": ["x", "os.system"], "is_malicious": false}"#, ArtefactKind::Python),
            ["\"output_variables\" takes names of variables, found os.system"]
        );
        assert_eq!(problems(r#"{"python_code": ["x"], "output_variables": ["x"]}"#, ArtefactKind::Python).len(), 1, "a list is no code");
        assert!(problems("I cannot do that.", ArtefactKind::Sql)[0].starts_with("the answer is not JSON"));
    }
}
