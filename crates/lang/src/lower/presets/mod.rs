//! Programs that are agents and that flow knows.
//!
//! How to add one: a file here with the keys that a model would have, its line in [`PRESETS`], its row in `docs/agent_programs.md`.

/// The presets of `cli`, each with its file.
pub(crate) const PRESETS: [(&str, &str); 6] = [
    ("claude_code", include_str!("claude_code.yaml")),
    ("codex", include_str!("codex.yaml")),
    ("gemini", include_str!("gemini.yaml")),
    ("opencode", include_str!("opencode.yaml")),
    ("aider", include_str!("aider.yaml")),
    ("llm", include_str!("llm.yaml")),
];
