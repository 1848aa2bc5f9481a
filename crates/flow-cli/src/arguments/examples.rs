//! Examples in the help of each command. They work in the project that `flow init` writes; `r_3f2a` stands for the beginning of a run's id.

macro_rules! examples {
    ($($name:ident: $($line:literal)+;)*) => {
        $(pub(super) const $name: &str = concat!("Examples:", $("\n  flow ", $line),+);)*
    };
}

examples! {
    RUN: "run pipelines/shop/pipeline.yaml --input message=\"When do you open on Saturday?\""
        "run pipelines/shop/pipeline.yaml --input message=Hello --channel email --json";
    CHAT: "chat pipelines/shop/pipeline.yaml"
        "chat pipelines/shop/pipeline.yaml --agent writer";
    VALIDATE: "validate --deny-warnings" "validate pipelines/shop/pipeline.yaml --require model_text_judged,secrets_kept"
        "validate --changed-since main --format sarif";
    TEST: "test" "test tests/shop.test.yaml --filter saturday --update" "test --changed-since main --summary summary.md";
    FIX: "fix --diff" "fix pipelines/shop/pipeline.yaml";
    PLAN: "plan pipelines/shop/pipeline.yaml --input message=Hello --channel sms";
    TRUST: "trust pipelines/shop/pipeline.yaml" "trust --list";
    GRAPH: "graph pipelines/shop/pipeline.yaml --format svg" "graph --run r_3f2a";
    EXPLAIN: "explain pipelines/shop/pipeline.yaml" "explain --guarantees pipelines/shop/pipeline.yaml" "explain F101";
    INIT: "init shop" "init --policies";
    IMPORT_FILE: "import promptfoo promptfooconfig.yaml" "import conductor review.yaml --output pipelines";
    DOCTOR: "doctor" "doctor pipelines/shop/pipeline.yaml" "doctor --config";
    TOOLS: "tools pin --check" "tools allow pipelines/shop/pipeline.yaml";
    ALLOW: "tools allow pipelines/shop/pipeline.yaml" "tools allow pipelines/shop/pipeline.yaml --diff";
    PIN: "tools pin --check" "tools pin pipelines/shop/pipeline.yaml";
    LOGIN: "tools login tracker" "tools login tracker --device --scope issues:write";
    LOGOUT: "tools logout tracker";
    SCHEMA: "schema" "schema pipeline";
    LSP: "lsp";
    MCP: "mcp pipelines/shop/pipeline.yaml" "mcp pipelines/shop/pipeline.yaml --http 8080";
    COMPLETIONS: "completions bash" "completions zsh";
    RUNS: "runs list" "runs show" "runs resume r_3f2a";
    LIST: "runs list" "runs list --status failed --since 7d" "runs list --pipeline shop --limit 5 --json";
    SHOW: "runs show" "runs show r_3f2a" "runs show r_3f2a --html run.html";
    EXPORT: "runs export" "runs export r_3f2a" "runs export r_3f2a --events";
    IMPORT: "runs import run.jsonl" "runs import run.jsonl --file pipelines/shop/pipeline.yaml";
    RESUME: "runs resume r_3f2a" "runs resume --all" "runs resume --all --since 2h";
    CANCEL: "runs cancel r_3f2a";
    FORK: "runs fork r_3f2a --from reply" "runs fork r_3f2a --from reply --input message=Hello";
    RETRY: "runs retry r_3f2a";
    REPLAY: "runs replay r_3f2a";
    RM: "runs rm r_3f2a" "runs rm --all --yes";
    PRUNE: "runs prune --older-than 30d" "runs prune";
    AUDIT: "audit verify" "audit export --format csv";
    AUDIT_VERIFY: "audit verify";
    AUDIT_EXPORT: "audit export --run r_3f2a" "audit export --since 7d --format csv";
    CONVERSATIONS: "conversations list" "conversations show maria" "conversations erase maria";
    CONVERSATIONS_LIST: "conversations list" "conversations list --json";
    CONVERSATION_SHOW: "conversations show maria";
    CONVERSATION_EXPORT: "conversations export maria";
    CONVERSATION_ADD: "conversations add maria earlier.jsonl" "conversations add maria -";
    CONVERSATION_CLEAR: "conversations clear maria" "conversations clear maria --agent planner";
    CONVERSATION_ERASE: "conversations erase maria";
    APPROVE: "approve r_3f2a pay --show" "approve r_3f2a pay --comment \"Checked by phone\"" "approve r_3f2a pay --reject";
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use crate::arguments::CommandLine;

    /// The words of a line, as a shell takes double quotes.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                _ => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    #[test]
    fn every_command_has_examples_that_are_calls_of_it() {
        let mut open: Vec<(String, clap::Command)> = vec![("flow".into(), CommandLine::command())];
        let mut count = 0;
        while let Some((name, command)) = open.pop() {
            for inner in command.get_subcommands() {
                let name = format!("{name} {}", inner.get_name());
                let help = inner.get_after_help().unwrap_or_else(|| panic!("{name} has no examples")).to_string();
                let lines: Vec<&str> = help.strip_prefix("Examples:\n").unwrap().lines().map(str::trim).collect();
                assert!((1..=3).contains(&lines.len()), "{name}");
                for line in lines {
                    assert!(line.starts_with(&name), "{line} is no call of {name}");
                    CommandLine::try_parse_from(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
                    count += 1;
                }
                open.push((name, inner.clone()));
            }
        }
        assert!(count > 40, "{count} examples were read");
    }
}
