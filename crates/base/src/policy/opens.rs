//! Lists of a tool: which of its parts, and which calls, the file opens.

use serde_json::Value;

use super::Decision;
use super::patterns::{tool_fits, tool_refused};
use crate::model::{FilePart, Tool, ToolName};

/// Whether an MCP server's tool may be used, and which entry of the file says so: `deny` has none that rejects it, and `allow` one that
/// fits. Without `allow` whoever names the tool allows it. `arguments`: none, as far as is known before a call.
pub fn opens(tool: &Tool, part: &str, arguments: Option<&Value>) -> Decision {
    opens_any(tool, &[part], arguments)
}

/// The same for a call of any tool, by the name that the step or agent calls it by: an entry means the tool itself, or a part of it. What is
/// sent to a `file` tool is written.
pub fn opens_call(tool: &Tool, name: &str, arguments: &Value) -> Decision {
    let part = match ToolName::parse(name).part {
        Some(part) => part,
        None if tool.kind.folder().is_some() => FilePart::Write.into(),
        None => name,
    };
    opens_any(tool, &[part, name], Some(arguments))
}

fn opens_any(tool: &Tool, names: &[&str], arguments: Option<&Value>) -> Decision {
    let denied = tool.deny.iter().find(|entry| names.iter().any(|name| tool_refused(&entry.value, name, arguments)));
    let allowed = tool.allow.iter().flatten().find(|entry| names.iter().any(|name| tool_fits(&entry.value, name, arguments)));
    match (denied, allowed) {
        (Some(entry), _) => Decision::new(false, format!("deny {}", entry.value)),
        (None, Some(entry)) => Decision::new(true, format!("allow {}", entry.value)),
        (None, None) if tool.allow.is_none() => Decision::new(true, "the file names it"),
        (None, None) => Decision::new(false, "no entry of allow fits"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Approve, ToolKind};
    use crate::source::{Span, Spanned};

    #[test]
    fn lists_of_a_tool_bind_a_call_of_every_kind_of_tool() {
        let tool = |kind: ToolKind, allow: Option<&[&str]>, deny: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|name| Spanned::new((*name).to_owned(), Span::default())).collect::<Vec<_>>();
            Tool {
                span: Span::default(),
                kind,
                description: None,
                with: vec![],
                allow: allow.map(names),
                deny: names(deny),
                timeout: None,
                connect_timeout: None,
                optional: false,
                without_instructions: false,
                pictures: false,
                questions: false,
                approve: Approve::Never,
            }
        };
        let opens = |tool: &Tool, name: &str, given: &str| opens_call(tool, name, &json!({ "x": given })).is_allowed();
        for kind in [ToolKind::Sql(vec![]), ToolKind::Pipeline { file: Spanned::new("q.yaml".into(), Span::default()), pipeline: None }] {
            assert!(!opens(&tool(kind.clone(), None, &["g(*rm*)"]), "g", "RM -rf"));
            assert!(opens(&tool(kind.clone(), None, &["g(*rm*)"]), "g", "ls"));
            assert!(!opens(&tool(kind.clone(), None, &["G"]), "g", "ls"));
            assert!(!opens(&tool(kind.clone(), Some(&["g(ok*)"]), &[]), "g", "no"));
            assert!(!opens(&tool(kind, Some(&["other"]), &[]), "g", "no"));
        }
        let docs = tool(ToolKind::File("docs".into()), Some(&["read(a*)", "write"]), &["read(*secret*)"]);
        assert!(opens(&docs, "docs.read", "a.txt") && !opens(&docs, "docs.read", "b.txt") && !opens(&docs, "docs.read", "a_secret"));
        assert!(opens(&docs, "docs", "what is sent is written"));
    }
}
