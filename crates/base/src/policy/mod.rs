//! May this be done, and which rule says so. Pure: the caller gives what it is about to do in canonical form and records the answer.
//!
//! In force is what all policies allow: the first that rejects decides; else a person is asked if one of them asks. How to add a kind of act: its variant of [`Act`], its arm in
//! `of_one`, a row in docs/language.md (section 11) and a test.

mod ahead;
mod hosts;
mod needs;
mod opens;
mod paths;
mod patterns;
mod programs;
mod untrusted;
mod written_values;

use serde_json::Value;

use crate::model::{ActKind, HostEntry, PermissionMode, Policy};
use crate::source::Spanned;

pub use ahead::{always_asks, may_allow, may_call, opened, passes_unasked};
pub use hosts::{Origin, decide_host, may_carry_secret, may_reach};
pub use needs::{CallNeed, denied_need};
pub use opens::{opens, opens_call};
pub use paths::from_project;
use patterns::{all_fit, path_fits};
pub use patterns::{fits_everything, tool_fits, tool_refused};
pub use programs::{denies_program, program_needs_approval, sandbox_mode};
pub use untrusted::{GivenArgument, decide_pieces, judges_untrusted};
pub use written_values::{ArgumentUse, GivenTexts, pieces_of};

/// Something that is about to be done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act<'a> {
    /// A tool is called.
    Tool {
        /// `tool` or `server.tool`.
        name: &'a str,
        /// Its arguments; `None`: any, as far as is known before a run.
        arguments: Option<&'a Value>,
    },
    /// A host is asked.
    Host {
        /// `https`, `http`; of a mail server `smtp`.
        scheme: &'a str,
        /// Its name or address, in lower case.
        host: &'a str,
        /// The port.
        port: Option<u16>,
    },
    /// A resource of a server is read.
    Resource {
        /// The server.
        server: &'a str,
        /// Its URI as the only argument, and as a text `server(uri)`; `None`: any, as far as is known before a run.
        uri: Option<(&'a Value, &'a str)>,
    },
    /// A file is read. Its path from the project's folder, with `/`.
    Read(&'a str),
    /// All files that fit a pattern are read: `docs/**/*.md`, from the project's folder.
    ReadEach(&'a str),
    /// A file is written. Its path from the project's folder, with `/`, and its size in bytes.
    Write(&'a str, u64),
}

impl Act<'_> {
    /// Its kind, as the record has it.
    pub fn kind(&self) -> ActKind {
        match self {
            Act::Tool { .. } => ActKind::Tool,
            Act::Host { .. } => ActKind::Host,
            Act::Resource { .. } => ActKind::Resource,
            Act::Read(_) | Act::ReadEach(_) => ActKind::Read,
            Act::Write(..) => ActKind::Write,
        }
    }

    /// What it is done to.
    pub fn target(&self) -> &str {
        match self {
            Act::Tool { name, .. } => name,
            Act::Host { host, .. } => host,
            Act::Resource { server, uri } => uri.map_or(server, |(_, shown)| shown),
            Act::Read(path) | Act::ReadEach(path) | Act::Write(path, _) => path,
        }
    }
}

/// Whether something may be done, from the strictest answer on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyAnswer {
    /// It is rejected.
    Deny,
    /// A person decides.
    Ask,
    /// It is done.
    Allow,
}

/// An answer and the rule that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub answer: PolicyAnswer,
    /// The policy and its key, or why it holds without one.
    pub rule: String,
}

impl Decision {
    /// A yes or a no.
    pub fn new(allowed: bool, rule: impl Into<String>) -> Decision {
        Decision { answer: if allowed { PolicyAnswer::Allow } else { PolicyAnswer::Deny }, rule: rule.into() }
    }

    /// Whether it is done without asking anybody.
    pub fn is_allowed(&self) -> bool {
        self.answer == PolicyAnswer::Allow
    }

    /// Whether it is rejected, and nobody is asked.
    pub fn is_denied(&self) -> bool {
        self.answer == PolicyAnswer::Deny
    }
}

/// Decides by all policies in force, each with its name; without any, what the file declares itself is allowed.
pub fn decide(policies: &[(&str, &Policy)], act: &Act) -> Decision {
    let of_each = policies.iter().map(|(name, policy)| {
        let Decision { answer, rule } = of_one(policy, act);
        Decision { answer, rule: format!("policy {name}: {rule}") }
    });
    strictest(of_each).unwrap_or_else(|| Decision::new(true, "no policy: the file declares it"))
}

/// The strictest of several decisions, with the rules of all that say the same; of a no the first.
fn strictest(decisions: impl Iterator<Item = Decision>) -> Option<Decision> {
    let decisions: Vec<Decision> = decisions.collect();
    let answer = decisions.iter().map(|decision| decision.answer).min()?;
    let mut rules = decisions.into_iter().filter(|decision| decision.answer == answer).map(|decision| decision.rule);
    let rule = match answer {
        PolicyAnswer::Deny => rules.next().unwrap_or_default(),
        PolicyAnswer::Ask | PolicyAnswer::Allow => rules.collect::<Vec<_>>().join(", "),
    };
    Some(Decision { answer, rule })
}

/// The entry by which a person must confirm a call that is allowed, if there is one.
pub fn needs_approval<'p>(policy: &'p Policy, tool: &str, arguments: &Value) -> Option<&'p Spanned<String>> {
    policy.approval_required.iter().find(|entry| tool_refused(&entry.value, tool, Some(arguments)))
}

/// Whether a name that asks a person (`approve`) may mean this tool, or this part of a tool.
pub fn may_mean(entry: &str, tool: &str) -> bool {
    tool_refused(entry.split('(').next().unwrap_or_default(), tool, None)
}

fn of_one(policy: &Policy, act: &Act) -> Decision {
    let listed = match act {
        Act::Tool { name, arguments } => {
            let fits = |entry: &&Spanned<String>| tool_fits(&entry.value, name, *arguments);
            if let Some(entry) = policy.disallowed_tools.iter().find(|entry| tool_refused(&entry.value, name, *arguments)) {
                return Decision::new(false, format!("disallowed_tools {}", entry.value));
            }
            policy.allowed_tools.iter().flatten().find(fits).map(|entry| format!("allowed_tools {}", entry.value))
        }
        // An entry of the whole server opens its resources; one of a single tool does not. Who denies any of its tools by a star means them, too.
        Act::Resource { server, uri } => {
            let arguments = uri.map(|(arguments, _)| arguments);
            let names = [(*server).to_owned(), format!("{server}.")];
            let is_refused = |entry: &&Spanned<String>| names.iter().any(|name| tool_refused(&entry.value, name, arguments));
            if let Some(entry) = policy.disallowed_tools.iter().find(is_refused) {
                return Decision::new(false, format!("disallowed_tools {}", entry.value));
            }
            let fits = |entry: &&Spanned<String>| tool_fits(&entry.value, server, arguments);
            policy.allowed_tools.iter().flatten().find(fits).map(|entry| format!("allowed_tools {}", entry.value))
        }
        Act::Host { scheme, host, port } => {
            let found = policy.hosts.iter().flatten().find(|entry| HostEntry::parse(&entry.value).fits(scheme, host, *port));
            found.map(|entry| format!("network_access.hosts {}", entry.value))
        }
        Act::Read(path) => {
            let found = policy.read.iter().flatten().find(|entry| path_fits(&entry.value, path));
            found.map(|entry| format!("file_access.read {}", entry.value))
        }
        Act::ReadEach(pattern) => {
            let found = policy.read.iter().flatten().find(|entry| all_fit(&entry.value, pattern));
            found.map(|entry| format!("file_access.read {}", entry.value))
        }
        Act::Write(path, size) => {
            if policy.max_file_size.is_some_and(|most| *size > most) {
                return Decision::new(false, "resource_limits.file_size");
            }
            let found = policy.write.iter().flatten().find(|entry| path_fits(&entry.value, path));
            found.map(|entry| format!("file_access.write {}", entry.value))
        }
    };
    listed.map_or_else(|| of_unnamed(policy, act), |rule| Decision::new(true, rule))
}

/// What happens to what no list allows.
fn of_unnamed(policy: &Policy, act: &Act) -> Decision {
    let mode = policy.permission_mode.unwrap_or_default();
    let asked = match act {
        Act::Tool { name, arguments: Some(arguments) } => needs_approval(policy, name, arguments),
        Act::Tool { arguments: None, .. } | Act::Host { .. } | Act::Resource { .. } => None,
        Act::Read(_) | Act::ReadEach(_) | Act::Write(..) => None,
    };
    let asked = asked.map_or_else(|| "no list names it".to_owned(), |entry| format!("approval_required {} alone names it", entry.value));
    let unnamed = || format!("{asked}, and permission_mode is {}", <&str>::from(mode));
    match mode {
        PermissionMode::Auto => Decision::new(true, "permission_mode auto"),
        PermissionMode::Prompt => Decision { answer: PolicyAnswer::Ask, rule: unnamed() },
        PermissionMode::Deny => Decision::new(false, unnamed()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn names(list: &[&str]) -> Vec<Spanned<String>> {
        list.iter().map(|name| Spanned::new(name.to_string(), Default::default())).collect()
    }

    fn acts() -> [Act<'static>; 6] {
        [
            Act::Tool { name: "docs.read", arguments: None },
            Act::Host { scheme: "https", host: "example.com", port: Some(443) },
            Act::Resource { server: "docs", uri: None },
            Act::Read("a.md"),
            Act::ReadEach("a/*.md"),
            Act::Write("a.md", 1),
        ]
    }

    #[test]
    fn an_empty_policy_refuses_every_kind_and_none_at_all_refuses_nothing() {
        let empty = Policy::default();
        for act in acts() {
            let decision = decide(&[("empty", &empty)], &act);
            assert_eq!(
                (decision.is_allowed(), decision.rule.as_str()),
                (false, "policy empty: no list names it, and permission_mode is deny")
            );
            assert!(decide(&[], &act).is_allowed());
        }
    }

    #[test]
    fn a_policy_that_prompts_asks_about_what_no_list_names_and_a_no_comes_first() {
        let prompting = Policy {
            allowed_tools: Some(names(&["docs.read"])),
            disallowed_tools: names(&["docs.write"]),
            max_file_size: Some(1),
            permission_mode: Some(PermissionMode::Prompt),
            ..Policy::default()
        };
        let (auto, denying) = (Policy { permission_mode: Some(PermissionMode::Auto), ..Policy::default() }, Policy::default());
        let tool = |name| Act::Tool { name, arguments: None };
        for (act, answer) in [
            (tool("docs.read"), PolicyAnswer::Allow),
            (tool("docs.write"), PolicyAnswer::Deny),
            (tool("hook"), PolicyAnswer::Ask),
            (Act::Host { scheme: "https", host: "example.com", port: Some(443) }, PolicyAnswer::Ask),
            (Act::Resource { server: "other", uri: None }, PolicyAnswer::Ask),
            (Act::Read("a.md"), PolicyAnswer::Ask),
            (Act::Write("a.md", 1), PolicyAnswer::Ask),
            (Act::Write("a.md", 2), PolicyAnswer::Deny),
        ] {
            assert_eq!(decide(&[("p", &prompting)], &act).answer, answer, "{act:?}");
            assert_eq!(decide(&[("auto", &auto), ("p", &prompting)], &act).answer, answer, "{act:?}");
            assert!(decide(&[("p", &prompting), ("last", &denying)], &act).is_denied(), "{act:?}");
        }
        let rule = "policy p: no list names it, and permission_mode is prompt";
        assert_eq!(decide(&[("auto", &auto), ("p", &prompting)], &tool("hook")).rule, rule);
        assert!(may_allow(&[("p", &prompting)], "server", "get_*") && may_allow(&[("p", &prompting)], "server", "get_a"));
        assert!(!may_allow(&[("p", &prompting)], "docs", "write"));
    }

    #[test]
    fn what_approval_required_alone_names_is_told_by_it() {
        let asking = |mode| Policy { approval_required: names(&["git(push *)"]), permission_mode: Some(mode), ..Policy::default() };
        let of = |mode| {
            let (policy, arguments) = (asking(mode), json!(["push", "origin"]));
            decide(&[("p", &policy)], &Act::Tool { name: "git", arguments: Some(&arguments) })
        };
        let rule = |mode: &str| format!("policy p: approval_required git(push *) alone names it, and permission_mode is {mode}");
        assert_eq!(of(PermissionMode::Deny).rule, rule("deny"));
        assert_eq!(of(PermissionMode::Prompt), Decision { answer: PolicyAnswer::Ask, rule: rule("prompt") });
    }

    #[test]
    fn a_pattern_is_read_only_where_every_file_that_fits_it_may_be() {
        let may = |entry: &str, pattern: &str| {
            let policy = Policy { read: Some(names(&[entry])), ..Policy::default() };
            decide(&[("p", &policy)], &Act::ReadEach(pattern)).is_allowed()
        };
        for (entry, pattern) in [
            ("docs/**", "docs/**/*.md"),
            ("docs/**/*.md", "docs/**/*.md"),
            ("**", "a/b/*.md"),
            ("docs/*", "docs/*.md"),
            ("docs/**", "docs/a/{x,y}/*.md"),
            ("docs/a?.md", "docs/a?.md"),
        ] {
            assert!(may(entry, pattern), "{entry} {pattern}");
        }
        for (entry, pattern) in [
            ("docs/*.md", "docs/**/*.md"),
            ("docs/*/*.md", "docs/**/*.md"),
            ("docs/*/*/x.md", "docs/**/x.md"),
            ("docs/?.md", "docs/*.md"),
            ("docs/[ab*].md", "docs/*.md"),
            ("docs/a*.md", "docs/*.md"),
            ("docs/*.md", "docs/{a,b/c}.md"),
            ("docs/**", "other/**"),
            ("docs/**", "docs/../*.md"),
            ("docs/**", "doc[st]/*.md"),
        ] {
            assert!(!may(entry, pattern), "{entry} {pattern}");
        }
    }

    #[test]
    fn a_tool_is_known_by_its_name_its_server_and_its_arguments() {
        let policy = Policy {
            allowed_tools: Some(names(&["docs", "shell(git diff *)"])),
            disallowed_tools: names(&["docs.write"]),
            ..Policy::default()
        };
        let of = |name: &str, arguments: Value| decide(&[("p", &policy)], &Act::Tool { name, arguments: Some(&arguments) });
        assert_eq!(of("docs.read", json!({})).rule, "policy p: allowed_tools docs");
        assert_eq!(of("docs.write", json!({})).rule, "policy p: disallowed_tools docs.write");
        assert!(of("shell", json!({ "command": "git diff HEAD" })).is_allowed());
        assert!(!of("shell", json!({ "command": "git push" })).is_allowed());
        assert!(!of("shell", json!({ "command": "rm -rf x; git diff HEAD" })).is_allowed());
        assert!(!of("docsy", json!({})).is_allowed());
        let refusing =
            Policy { disallowed_tools: names(&["mail(*ceo@*)"]), permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
        let mail = json!({ "subject": "Hi", "to": "ceo@example.com" });
        assert!(!decide(&[("p", &refusing)], &Act::Tool { name: "mail", arguments: Some(&mail) }).is_allowed());
    }

    #[test]
    fn a_resource_is_allowed_by_its_whole_server_or_by_a_pattern_for_its_uri() {
        let arguments = json!({ "uri": "file:///notes/a.md" });
        let act = Act::Resource { server: "docs", uri: Some((&arguments, "docs(file:///notes/a.md)")) };
        assert_eq!((act.kind(), act.target()), (ActKind::Resource, "docs(file:///notes/a.md)"));
        for (entry, allowed) in [
            ("docs", true),
            ("docs(file:///notes/*)", true),
            ("docs(file:///other/*)", false),
            ("docs.search", false),
            ("docs.*", false),
            ("other", false),
        ] {
            let policy = Policy { allowed_tools: Some(names(&[entry])), ..Policy::default() };
            assert_eq!(decide(&[("p", &policy)], &act).is_allowed(), allowed, "{entry}");
        }
        for (entry, allowed) in
            [("docs", false), ("DOCS", false), ("docs.*", false), ("docs(*notes*)", false), ("docs(*other*)", true), ("docs.search", true)]
        {
            let policy = Policy { disallowed_tools: names(&[entry]), permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
            assert_eq!(decide(&[("p", &policy)], &act).is_allowed(), allowed, "{entry}");
        }
    }

    /// Many ways to write what a list rejects.
    fn spellings() -> Vec<(&'static str, &'static str, Value)> {
        vec![
            ("shell(rm *)", "shell", json!({ "command": "RM  -rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "\t rm\u{a0}-rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "rm\n-rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "r\u{200b}m\u{3000}-rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "ｒｍ -rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "r\u{2800}m -rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "rm\u{2800}-rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "r\u{300}m -rf x" })),
            ("shell(rm *)", "shell", json!({ "command": "ŕm\u{3164} -rf x" })),
            ("shell(rm *)", "shell", json!({ "argv": ["r\u{301}m", "-rf"] })),
            ("shell(rm *)", "shell", json!({ "command": "rm -rf x", "timeout": 5 })),
            ("shell(rm *)", "shell", json!({ "run": { "steps": ["ls", "rm -rf x"] } })),
            ("shell(rm *)", "shell", json!({ "argv": ["rm", "-rf", "x"] })),
            ("shell(RM\t-RF *)", "Shell", json!({ "command": "rm -rf x" })),
            ("docs.write", "Docs.Write", json!({})),
            ("Docs.*", "docs.write", json!({})),
            ("docs", "DOCS.write", json!({})),
            ("ｄｏｃｓ", "docs.write", json!({})),
            ("pay(*\"amount\": 500*)", "pay", json!({ "to": "x", "amount": 500 })),
            ("pay(500)", "pay", json!({ "to": "x", "amount": 500 })),
            ("pay(*\"a\": 1, \"b\": 2*)", "pay", json!({ "b": 2, "a": 1 })),
            ("mail(*STRASSE*)", "mail", json!({ "to": "strasse 5" })),
            ("mail(*ﬁle*)", "mail", json!({ "to": "my FILE" })),
            // What cannot be read rejects all calls of its tool.
            ("shell(rm [)", "shell", json!({ "command": "ls" })),
            ("shell(rm", "shell", json!({ "command": "ls" })),
        ]
    }

    #[test]
    fn lists_that_refuse_or_ask_are_read_generously_and_lists_that_allow_to_the_letter() {
        for (entry, name, arguments) in spellings() {
            let act = Act::Tool { name, arguments: Some(&arguments) };
            let refusing = Policy { disallowed_tools: names(&[entry]), permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
            assert!(!decide(&[("p", &refusing)], &act).is_allowed(), "{entry} {name} {arguments}");
            let asking = Policy { approval_required: names(&[entry]), ..Policy::default() };
            assert!(needs_approval(&asking, name, &arguments).is_some(), "{entry} {name} {arguments}");
            let allowing = Policy { allowed_tools: Some(names(&[entry])), ..Policy::default() };
            assert!(!decide(&[("p", &allowing)], &act).is_allowed(), "{entry} {name} {arguments}");
        }
        for (entry, name, arguments) in [
            ("shell(rm *)", "shell", json!({ "command": "ls rm" })),
            ("shell(rm *)", "shell", json!({ "command": "rmdir x" })),
            // A blank between letters makes two words: else `*rm*` would reject "for me".
            ("shell(rm *)", "shell", json!({ "command": "r m x" })),
            ("shell(rm *)", "docs", json!({ "command": "rm x" })),
            ("docs.write", "docs.read", json!({})),
            ("docs", "docsy.write", json!({})),
        ] {
            let refusing = Policy { disallowed_tools: names(&[entry]), permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
            assert!(
                decide(&[("p", &refusing)], &Act::Tool { name, arguments: Some(&arguments) }).is_allowed(),
                "{entry} {name} {arguments}"
            );
        }
    }

    #[test]
    fn a_pattern_for_a_program_is_held_against_its_words() {
        let policy = |allowed: &str| Policy { allowed_tools: Some(names(&[allowed])), ..Policy::default() };
        let may = |allowed: &str, words: Value| {
            decide(&[("p", &policy(allowed))], &Act::Tool { name: "git", arguments: Some(&words) }).is_allowed()
        };
        assert!(may("git(diff *)", json!(["diff", "HEAD"])) && may("git", json!(["push"])) && may("git(log)", json!(["log"])));
        for other in [
            json!(["-c", "alias.x=!sh", "x"]),
            json!(["log; rm", "x"]),
            json!(["diff\nx", "y"]),
            json!(["", "diff", "x"]),
            json!(["diff\u{2800}", "x"]),
            json!(["log", "diff x"]),
        ] {
            assert!(!may("git(diff *)", other.clone()), "{other}");
        }
        let denies = Policy { disallowed_tools: names(&["git(*push*)"]), permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
        let act = json!(["PUSH", "--force"]);
        assert!(decide(&[("p", &denies)], &Act::Tool { name: "git", arguments: Some(&act) }).is_denied());
    }

    #[test]
    fn hosts_and_paths_fit_exactly_or_by_pattern() {
        let policy = Policy {
            hosts: Some(names(&["api.example.com:8443", "*.example.org"])),
            read: Some(names(&["src/**", "*.md"])),
            write: Some(names(&["out/*.txt"])),
            max_file_size: Some(10),
            ..Policy::default()
        };
        let allowed = |act: Act| decide(&[("p", &policy)], &act).is_allowed();
        assert!(allowed(Act::Host { scheme: "https", host: "api.example.com", port: Some(8443) }));
        assert!(!allowed(Act::Host { scheme: "https", host: "api.example.com", port: Some(443) }));
        assert!(allowed(Act::Host { scheme: "https", host: "a.example.org", port: Some(443) }));
        assert!(
            !allowed(Act::Host { scheme: "https", host: "example.org.evil.test", port: Some(443) })
                && !allowed(Act::Host { scheme: "https", host: "evilexample.org", port: Some(443) })
        );
        let fits = |entry: &str, scheme: &str, port: u16| HostEntry::parse(entry).fits(scheme, "a.example", Some(port));
        for entry in ["a.example", "*.example"] {
            assert!(fits(entry, "https", 443) && !fits(entry, "https", 8443) && !fits(entry, "http", 443) && !fits(entry, "http", 80));
            assert!(fits(entry, "smtp", 25) && fits(entry, "smtp", 465) && fits(entry, "smtp", 587) && !fits(entry, "smtp", 443));
            let with = |port: &str| format!("{entry}:{port}");
            assert!(fits(&with("80"), "http", 80) && !fits(&with("80"), "http", 8080) && !fits(&with("443"), "https", 8443));
            assert!(fits(&with("*"), "https", 8443) && fits(&with("*"), "http", 80) && !fits("b.example:*", "https", 443));
        }
        assert!(allowed(Act::Read("src/a/b.rs")) && allowed(Act::Read("README.md")));
        assert!(!allowed(Act::Read("docs/a.md")) && !allowed(Act::Read("/etc/passwd")) && !allowed(Act::Read("../x.md")));
        let whole = |pattern: &str, folder: &str| patterns::path_fits(pattern, folder);
        assert!(whole("**", "**") && whole("src/**", "src/**") && whole("src/**", "src/a/**") && whole("**", "src/**"));
        for (narrow, wide) in [
            ("*", "**"),
            ("*/*", "**"),
            ("src/**", "**"),
            ("src/*", "src/**"),
            ("src/**", "srcs/**"),
            ("**", "../**"),
            ("**", "/etc/**"),
            ("s*/**", "src/**"),
        ] {
            assert!(!whole(narrow, wide), "{narrow} {wide}");
        }
        assert!(allowed(Act::Write("out/a.txt", 10)) && !allowed(Act::Write("out/a.txt", 11)) && !allowed(Act::Write("out/b/a.txt", 1)));
    }

    fn policies() -> impl Strategy<Value = Policy> {
        let list = prop::sample::subsequence(vec!["docs", "docs.read", "example.com", "*.md", "a.md"], 0..4);
        let mode = prop::option::of(prop::sample::select(vec![PermissionMode::Auto, PermissionMode::Deny, PermissionMode::Prompt]));
        (prop::option::of(list.clone()), list.clone(), prop::option::of(list), mode).prop_map(|(allowed, refused, paths, mode)| Policy {
            allowed_tools: allowed.as_deref().map(names),
            disallowed_tools: names(&refused),
            hosts: paths.as_deref().map(names),
            read: paths.as_deref().map(names),
            permission_mode: mode,
            ..Policy::default()
        })
    }

    proptest! {
        #[test]
        fn what_a_list_would_allow_it_refuses_too(entry in r"(docs|Docs\.\*|d\*|docs\.read)(\([a-c*?\[\]{},A ]{0,6}\))?", text in "[a-cA-C ]{0,6}") {
            let arguments = json!({ "text": text });
            let act = Act::Tool { name: "docs.read", arguments: Some(&arguments) };
            let allowing = Policy { allowed_tools: Some(names(&[&entry])), ..Policy::default() };
            let refusing = Policy { disallowed_tools: names(&[&entry]), permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
            prop_assert!(!decide(&[("p", &allowing)], &act).is_allowed() || !decide(&[("p", &refusing)], &act).is_allowed());
        }

        #[test]
        fn one_more_policy_never_allows_more(list in prop::collection::vec(policies(), 0..4), more in policies()) {
            let named: Vec<(&str, &Policy)> = list.iter().map(|policy| ("p", policy)).collect();
            let narrower: Vec<(&str, &Policy)> = named.iter().copied().chain([("more", &more)]).collect();
            for act in acts() {
                prop_assert!(decide(&named, &act).answer >= decide(&narrower, &act).answer);
                prop_assert_eq!(Some(decide(&narrower, &act).answer), narrower.iter().map(|one| decide(&[*one], &act).answer).min());
            }
        }
    }
}
