//! An agent by itself: the pipeline in which it answers one message, for those who talk with it.

use crate::source::{FileId, SourceFile};
use crate::syntax::{self, Map, Node};

/// What a pipeline does, and how it is tested. An agent by itself does something else.
const WORK: [&str; 6] = ["steps", "outputs", "on_failure", "finally", "conversation", "tests"];

/// The step in which the agent answers.
pub const ANSWER: &str = "answer";

/// The input with the message, where the file has no inputs of its own.
pub const MESSAGE: &str = "message";

/// The agents that a text defines itself, in its order.
pub fn agents_of(text: &str) -> Vec<String> {
    let tree = tree(text);
    let agents = tree.as_map().and_then(|root| root.get("agents")).and_then(Node::as_map).map(|agents| &agents.entries);
    agents.into_iter().flatten().map(|(key, _)| key.text.clone()).collect()
}

/// The text of a pipeline in which an agent of this pipeline, or of these definitions, answers an input, and sees what was said before. What is
/// kept of the text stands on the line where it stood. `None`: its keys do not stand at the beginning of a line each, or it ends with `...`.
pub fn agent_alone(text: &str, agent: &str, message: &str) -> Option<String> {
    let tree = tree(text);
    let root = tree.as_map()?;
    if text.trim_end().lines().next_back().is_some_and(|line| line.trim_end() == "...") {
        return None;
    }
    let mut own = blanked(text, root)?;
    if root.get("name").is_none() {
        own.push_str("\nname: chat");
    }
    if root.get("inputs").is_none() {
        own.push_str(&format!("\ninputs: {{ {message}: text }}"));
    }
    own.push_str(&format!(
        "\nconversation: {{ id: \"{{{{ inputs.{message} }}}}\", message: inputs.{message} }}\nsteps:\n  \
         - {{ id: {ANSWER}, agent: {agent}, prompt: \"{{{{ inputs.{message} }}}}\", history: true }}\noutputs: {{ {ANSWER}: \"{{{{ steps.{ANSWER}.output }}}}\" }}\n"
    ));
    Some(own)
}

/// The text without what a pipeline does, line ends kept.
fn blanked(text: &str, root: &Map) -> Option<String> {
    let starts: Vec<usize> = root.entries.iter().map(|(key, _)| key.span.start as usize).collect();
    let mut own = text[..*starts.first()?].to_owned();
    for (at, (key, _)) in root.entries.iter().enumerate() {
        let (start, end) = (starts[at], starts.get(at + 1).copied().unwrap_or(text.len()));
        // A quoted key begins with its quote.
        let begins = text[..start].trim_end_matches(['"', '\'']);
        if !(begins.is_empty() || begins.ends_with(['\n', '\u{feff}'])) {
            return None;
        }
        let part = &text[start..end];
        match WORK.contains(&&*key.text) {
            true => own.extend(part.chars().filter(|sign| *sign == '\n')),
            false => own.push_str(part),
        }
    }
    Some(own)
}

fn tree(text: &str) -> Node {
    syntax::parse(FileId(0), &SourceFile::new("", text), &mut vec![])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pipeline_does_gives_way_and_the_rest_stays_on_its_lines() {
        let text = "flow: 1\nname: own\ninputs: { query: text }\nsteps:\n  - id: a\n    set: 1\nagents:\n  writer: { instructions: Hi }\noutputs: { a: 1 }\n";
        let own = agent_alone(text, "writer", "query").unwrap();
        assert_eq!(own.lines().position(|line| line == "agents:"), Some(6));
        assert!(!own.contains("set: 1") && !own.contains("a: 1") && own.contains("agent: writer, prompt: \"{{ inputs.query }}\""), "{own}");
        assert_eq!(own.matches("name:").count(), 1);
        assert_eq!(agents_of(text), ["writer"]);
    }

    #[test]
    fn definitions_become_a_pipeline_with_one_input() {
        let own = agent_alone("flow: 1\nagents: { a: { instructions: Hi } }", "a", MESSAGE).unwrap();
        assert!(own.contains("\nname: chat\ninputs: { message: text }\n"), "{own}");
        assert_eq!(agent_alone("{ flow: 1, agents: { a: { instructions: Hi } } }", "a", MESSAGE), None);
    }
}
