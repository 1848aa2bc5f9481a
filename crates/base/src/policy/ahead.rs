//! What policies are sure to say about a tool before it is called, and of a server before its tools are known.

use std::path::Path;

use strum::VariantArray;

use super::untrusted::most_exact;
use super::{Act, GivenArgument, decide, denied_need, tool_fits, tool_refused};
use crate::model::{ArgumentClass, Knowledge, PermissionMode, Policy, Tool, ToolName, UntrustedAnswer, UntrustedRule};

/// Whether these policies may allow a tool of a server that goes by this name or pattern, perhaps once a person is asked; `*`: any of its tools.
/// What cannot be told before its tools are known is yes.
pub fn may_allow(policies: &[(&str, &Policy)], server: &str, part: &str) -> bool {
    if !is_pattern(part) {
        return !decide(policies, &Act::Tool { name: &format!("{server}.{part}"), arguments: None }).is_denied();
    }
    policies.iter().all(|(_, policy)| {
        let is_refused = policy.disallowed_tools.iter().any(|entry| tool_refused(&entry.value, server, None));
        !is_refused
            && (policy.permission_mode.unwrap_or_default() != PermissionMode::Deny
                || policy.allowed_tools.iter().flatten().any(|entry| is_of_server(&entry.value, server)))
    })
}

/// Whether these policies may allow some call of what a name of a tool opens. `project`: the folder that their paths count from.
pub fn may_call(policies: &[(&str, &Policy)], tool: &Tool, name: &str, project: &Path) -> bool {
    opened(policies, tool, name).iter().any(|(_, may_allow)| *may_allow) && denied_need(policies, tool, name, project).is_none()
}

/// How policies name what a name of a tool opens, each with whether they may allow it: of a folder or a server that is named whole, each part is one.
pub fn opened(policies: &[(&str, &Policy)], tool: &Tool, name: &str) -> Vec<(String, bool)> {
    let ToolName { tool: own, part } = ToolName::parse(name);
    let allows = |name: &str| !decide(policies, &Act::Tool { name, arguments: None }).is_denied();
    let of_parts = |parts: Vec<&str>| -> Vec<(String, bool)> {
        parts.into_iter().map(|part| (format!("{own}.{part}"), may_allow(policies, own, part))).collect()
    };
    match part {
        None if tool.kind.folder().is_some() => of_parts(tool.parts().into_iter().map(<&str>::from).collect()),
        None if tool.is_server() && tool.allow.is_none() => of_parts(vec!["*"]),
        None if tool.is_server() => of_parts(tool.allowed_names().collect()),
        Some(part) if tool.is_server() => of_parts(vec![part]),
        None if tool.knowledge().is_some() => vec![(Knowledge::tool_name(own), allows(&Knowledge::tool_name(own)))],
        None | Some(_) => vec![(name.to_owned(), allows(name))],
    }
}

/// Whether these policies have a person asked about each call of a tool, or of each tool of a server that a pattern names. What cannot be told is no.
pub fn always_asks(policies: &[(&str, &Policy)], tool: &str) -> bool {
    policies.iter().any(|(_, policy)| {
        let is_free =
            |entry: &str| if is_pattern(tool) { is_of_server(entry, ToolName::parse(tool).tool) } else { tool_fits(entry, tool, None) };
        policy.approval_required.iter().any(|entry| names_each(&entry.value, tool))
            || policy.permission_mode == Some(PermissionMode::Prompt)
                && !policy.allowed_tools.iter().flatten().any(|entry| is_free(&entry.value))
    })
}

/// Whether a value that a model wrote may pass by these policies as an argument of a tool, or of each tool of a server that a pattern names, though
/// nobody is asked and neither the author nor the person wrote it. `name`: the argument; `None`: any. What cannot be told is yes.
pub fn passes_unasked(policies: &[(&str, &Policy)], tool: &str, name: Option<&str>, is_effect: bool) -> bool {
    let server = ToolName::parse(tool).tool;
    policies.iter().all(|(_, policy)| {
        let is_of_tool = |rule: &&UntrustedRule| rule.of.value.trim() != UntrustedRule::OTHERWISE && rule.class().is_none();
        // What is allowed of one argument or one tool is not known to be of another.
        let opens_some = |rule: &UntrustedRule| {
            rule.answer == UntrustedAnswer::Allow
                && (name.is_none() && rule.of.value.contains('(') || is_pattern(tool))
                && is_of_server(&rule.of.value, server)
        };
        let rules =
            || policy.untrusted.iter().filter(|rule| !is_of_tool(rule) || !is_pattern(tool) || names_each(named(&rule.of.value), tool));
        let passes = |classes: &[ArgumentClass]| {
            let given = GivenArgument { tool, name: name.unwrap_or_default(), classes, is_effect };
            most_exact(rules(), given).is_none_or(|rule| rule.answer == UntrustedAnswer::Allow)
        };
        policy.untrusted.iter().filter(is_of_tool).any(opens_some)
            || passes(&[])
            || ArgumentClass::VARIANTS.iter().any(|class| passes(&[*class]))
    })
}

/// Whether an entry names a tool, or each one that a pattern names, whatever its arguments.
fn names_each(entry: &str, tool: &str) -> bool {
    if !is_pattern(tool) {
        return tool_refused(entry, tool, None);
    }
    let server = ToolName::parse(tool).tool;
    let entry = entry.trim();
    entry == tool || entry == server || entry.strip_prefix(server) == Some(".*")
}

/// Whether an entry may be about a server, or any tool of it.
fn is_of_server(entry: &str, server: &str) -> bool {
    tool_fits(entry.split(['(', '.']).next().unwrap_or_default(), server, None)
}

/// An entry of `untrusted` without the names of arguments.
fn named(entry: &str) -> &str {
    entry.split('(').next().unwrap_or_default()
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Spanned;

    fn names(list: &[&str]) -> Vec<Spanned<String>> {
        list.iter().map(|name| Spanned::new(name.to_string(), Default::default())).collect()
    }

    #[test]
    fn of_a_server_it_is_known_before_its_tools_are_whether_any_may_be_called() {
        let allowing = |list: &[&str]| Policy { allowed_tools: Some(names(list)), ..Policy::default() };
        let refusing =
            |list: &[&str]| Policy { disallowed_tools: names(list), permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
        for (policy, part, may) in [
            (allowing(&["ok.*"]), "get_a", false),
            (allowing(&["ok.*"]), "get_*", false),
            (allowing(&["s"]), "get_*", true),
            (allowing(&["s.get_a(x)"]), "get_*", true),
            (allowing(&["*.get_a"]), "get_*", true),
            (allowing(&["s.get_a"]), "get_b", false),
            (refusing(&["s"]), "get_*", false),
            (refusing(&["s.get_a"]), "get_a", false),
            (refusing(&["s.get_a(x)"]), "get_a", true),
            (refusing(&["s.get_a"]), "get_*", true),
            (Policy::default(), "*", false),
        ] {
            assert_eq!(may_allow(&[("user", &policy)], "s", part), may, "{policy:?} {part}");
        }
        assert!(may_allow(&[], "s", "get_a") && may_allow(&[], "s", "*"));
    }

    #[test]
    fn a_person_is_asked_about_each_call_only_where_no_list_may_allow_one() {
        let prompting = |allowed: &[&str]| Policy {
            allowed_tools: Some(names(allowed)),
            permission_mode: Some(PermissionMode::Prompt),
            ..Policy::default()
        };
        let confirming = |list: &[&str]| Policy { approval_required: names(list), ..Policy::default() };
        for (policy, tool, asks) in [
            (prompting(&[]), "mail", true),
            (prompting(&["mail"]), "mail", false),
            (prompting(&["mail(a*)"]), "mail", false),
            (prompting(&["other"]), "s.get_*", true),
            (prompting(&["s.get_a"]), "s.get_b", true),
            (prompting(&["s.get_a"]), "s.get_*", false),
            (confirming(&["s"]), "s.get_*", true),
            (confirming(&["s.*"]), "s.get_*", true),
            (confirming(&["s.get_?"]), "s.get_*", false),
            (confirming(&["Mail"]), "mail", true),
            (confirming(&["mail(a*)"]), "mail", false),
            (Policy::default(), "mail", false),
        ] {
            assert_eq!(always_asks(&[("p", &policy)], tool), asks, "{policy:?} {tool}");
        }
    }

    #[test]
    fn nothing_passes_unasked_only_where_each_argument_has_an_entry_whatever_it_is() {
        let ruled = |rules: &[(&str, UntrustedAnswer)]| {
            let rule = |(of, answer): &(&str, UntrustedAnswer)| UntrustedRule {
                of: Spanned::new((*of).to_owned(), Default::default()),
                answer: *answer,
            };
            Policy { untrusted: rules.iter().map(rule).collect(), ..Policy::default() }
        };
        use UntrustedAnswer::{Allow, Ask, Deny};
        for (rules, tool, name, passes) in [
            (&[("mail(to, text)", Ask)][..], "mail", Some("to"), false),
            (&[("mail(to, text)", Ask)], "mail", Some("other"), true),
            (&[("mail(to)", Ask)], "mail", None, true),
            (&[("mail", Deny)], "mail", None, false),
            (&[("mail", Deny), ("mail(to)", Allow)], "mail", Some("text"), false),
            (&[("mail", Deny), ("mail(to)", Allow)], "mail", None, true),
            (&[("otherwise", Ask)], "mail", Some("to"), false),
            (&[("otherwise", Ask), ("recipients", Allow)], "mail", Some("to"), true),
            (&[("mail", Ask), ("recipients", Allow)], "mail", Some("to"), false),
            (&[("recipients", Ask)], "mail", Some("to"), true),
            (&[("s", Ask)], "s.get_*", None, false),
            (&[("s", Ask), ("s.get_a", Allow)], "s.get_*", None, true),
            (&[("s.get_a", Ask)], "s.get_*", None, true),
            (&[("otherwise", Ask), ("other.x(y)", Allow)], "s.get_*", None, false),
            (&[], "mail", Some("to"), true),
        ] {
            assert_eq!(passes_unasked(&[("p", &ruled(rules))], tool, name, true), passes, "{rules:?} {tool} {name:?}");
        }
        assert!(passes_unasked(&[("p", &ruled(&[("otherwise", Ask)]))], "db", Some("query"), false));
        assert!(!passes_unasked(&[("p", &ruled(&[("mail", Allow)])), ("q", &ruled(&[("mail", Ask)]))], "mail", None, true));
    }
}
