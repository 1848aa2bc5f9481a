//! What happens to a call when a model, a tool or a stranger wrote one of its arguments (`untrusted`).

use serde_json::Value;

use super::patterns::{name_may_fit, tool_fits, tool_refused};
use super::written_values::{ArgumentUse, pieces_of};
use super::{Decision, PolicyAnswer, strictest};
use crate::model::{ArgumentClass, Policy, UntrustedAnswer, UntrustedRule};

/// An argument of a call that nobody trusted wrote, as `untrusted` names it.
#[derive(Debug, Clone, Copy)]
pub struct GivenArgument<'a> {
    /// `tool` or `tool.part`; of a step that uses no tool its kind.
    pub tool: &'a str,
    /// The argument.
    pub name: &'a str,
    /// What its value decides.
    pub classes: &'a [ArgumentClass],
    /// Whether the tool does something outside; of others only entries that name them say something.
    pub is_effect: bool,
}

/// Whether any of these policies says something about such arguments.
pub fn judges_untrusted(policies: &[(&str, &Policy)]) -> bool {
    policies.iter().any(|(_, policy)| !policy.untrusted.is_empty())
}

/// The entry of each policy in force that names the argument most exactly, with the name of the policy. None: it is allowed.
fn deciding<'p>(policies: &[(&'p str, &'p Policy)], given: GivenArgument) -> impl Iterator<Item = (&'p str, &'p UntrustedRule)> {
    policies.iter().filter_map(move |(name, policy)| Some((*name, most_exact(policy.untrusted.iter(), given)?)))
}

/// Decides by all policies in force. `None`: no policy has an entry for it, and it is allowed.
fn decide_untrusted(policies: &[(&str, &Policy)], given: GivenArgument) -> Option<Decision> {
    strictest(deciding(policies, given).map(|(name, rule)| Decision {
        answer: answer_of(rule),
        rule: format!("policy {name}: untrusted {} {}", rule.of.value, <&str>::from(rule.answer)),
    }))
}

/// Decides about the value of an argument that nobody trusted wrote, piece by piece. `is_given`: whether the author or the person wrote a piece, too;
/// asked only where it counts. `None`: all of it is allowed.
pub fn decide_pieces(
    policies: &[(&str, &Policy)],
    argument: GivenArgument,
    value: &Value,
    used: &ArgumentUse,
    is_given: &mut dyn FnMut(&str) -> bool,
) -> Option<Decision> {
    let mut strictest: Option<Decision> = None;
    for piece in pieces_of(value, used) {
        let argument = GivenArgument { classes: &piece.classes, ..argument };
        // Most pieces are allowed, or given: the words of a decision are made for the others alone.
        let answer = deciding(policies, argument).map(|(_, rule)| answer_of(rule)).min().unwrap_or(PolicyAnswer::Allow);
        let least = strictest.as_ref().map_or(PolicyAnswer::Allow, |strictest| strictest.answer);
        if answer < least && !is_given(&piece.text) {
            strictest = decide_untrusted(policies, argument);
        }
    }
    strictest
}

fn answer_of(rule: &UntrustedRule) -> PolicyAnswer {
    match rule.answer {
        UntrustedAnswer::Allow => PolicyAnswer::Allow,
        UntrustedAnswer::Ask => PolicyAnswer::Ask,
        UntrustedAnswer::Deny => PolicyAnswer::Deny,
    }
}

/// Of entries that are equally exact the strictest.
pub(super) fn most_exact<'p>(rules: impl Iterator<Item = &'p UntrustedRule>, given: GivenArgument) -> Option<&'p UntrustedRule> {
    let fitting = rules.filter_map(|rule| Some((exactness(rule, given)?, rule)));
    fitting.min_by_key(|(exact, rule)| (std::cmp::Reverse(*exact), answer_of(rule))).map(|(_, rule)| rule)
}

/// How exactly an entry names an argument, from the least on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Exactness {
    Otherwise,
    Class,
    ToolPattern,
    Tool,
    ArgumentOfPattern,
    Argument,
}

/// `None`: the entry does not fit. One that asks or rejects is read generously, one that allows to the letter.
fn exactness(rule: &UntrustedRule, given: GivenArgument) -> Option<Exactness> {
    let written = rule.of.value.trim();
    if written == UntrustedRule::OTHERWISE {
        return given.is_effect.then_some(Exactness::Otherwise);
    }
    if let Some(class) = rule.class() {
        return given.classes.contains(&class).then_some(Exactness::Class);
    }
    let is_generous = rule.answer != UntrustedAnswer::Allow;
    let (tool, arguments) = match written.split_once('(') {
        Some((tool, rest)) => (tool.trim(), Some(rest.trim_end().strip_suffix(')'))),
        None => (written, None),
    };
    let fits = if is_generous { tool_refused(tool, given.tool, None) } else { tool_fits(tool, given.tool, None) };
    if !fits {
        return None;
    }
    // A server alone means all its tools.
    let is_pattern = tool.contains(['*', '?', '[', '{']) || !tool.contains('.') && given.tool.contains('.');
    match arguments {
        None if is_pattern => Some(Exactness::ToolPattern),
        None => Some(Exactness::Tool),
        // What cannot be read means every argument where it forbids, and none where it allows.
        Some(None) => is_generous.then_some(Exactness::Argument),
        Some(Some(names)) => {
            let is_named = |name: &str| if is_generous { name_may_fit(name.trim(), given.name) } else { name.trim() == given.name };
            let exact = if is_pattern { Exactness::ArgumentOfPattern } else { Exactness::Argument };
            names.split(',').any(is_named).then_some(exact)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::Spanned;

    fn policy(rules: &[(&str, UntrustedAnswer)]) -> Policy {
        let rule = |(of, answer): &(&str, UntrustedAnswer)| UntrustedRule {
            of: Spanned::new((*of).to_owned(), Default::default()),
            answer: *answer,
        };
        Policy { untrusted: rules.iter().map(rule).collect(), ..Policy::default() }
    }

    fn said(policy: &Policy, tool: &str, name: &str, classes: &[ArgumentClass]) -> &'static str {
        let decision = decide_untrusted(&[("p", policy)], GivenArgument { tool, name, classes, is_effect: true });
        match decision.map(|decision| decision.answer) {
            None => "nothing",
            Some(PolicyAnswer::Allow) => "allow",
            Some(PolicyAnswer::Ask) => "ask",
            Some(PolicyAnswer::Deny) => "deny",
        }
    }

    #[test]
    fn the_entry_that_names_an_argument_most_exactly_decides() {
        use ArgumentClass::{Commands, Paths, Recipients};
        use UntrustedAnswer::{Allow, Ask, Deny};
        let all = [
            ("mail.send(to, cc)", Allow),
            ("mail.send", Deny),
            ("mail.*(bcc)", Ask),
            ("mail.*", Allow),
            ("recipients", Deny),
            ("paths", Ask),
            ("otherwise", Allow),
        ];
        let policy = policy(&all);
        for (tool, name, classes, answer) in [
            ("mail.send", "to", &[Recipients][..], "allow"),
            ("mail.send", "cc", &[Recipients], "allow"),
            ("mail.send", "body", &[Recipients], "deny"),
            ("mail.send", "bcc", &[Recipients], "ask"),
            ("mail.draft", "bcc", &[], "ask"),
            ("mail.draft", "to", &[Recipients], "allow"),
            ("chat", "to", &[Recipients], "deny"),
            ("chat", "to", &[], "allow"),
            ("git", "args", &[Commands, Paths], "ask"),
            ("mail", "to", &[Recipients], "deny"),
        ] {
            assert_eq!(said(&policy, tool, name, classes), answer, "{tool}({name})");
        }
        assert_eq!(said(&self::policy(&[("mail", Ask)]), "mail.send", "to", &[]), "ask");
        assert_eq!(said(&self::policy(&[("otherwise", Deny)]), "x", "y", &[]), "deny");
        assert_eq!(said(&self::policy(&[("recipients", Deny)]), "x", "y", &[]), "nothing");
        assert_eq!(said(&Policy::default(), "x", "y", &[]), "nothing");
        let reading = GivenArgument { tool: "db", name: "query", classes: &[], is_effect: false };
        assert!(decide_untrusted(&[("p", &self::policy(&[("otherwise", Deny)]))], reading).is_none());
        assert!(decide_untrusted(&[("p", &self::policy(&[("db", Deny)]))], reading).is_some_and(|decision| decision.is_denied()));
    }

    #[test]
    fn entries_that_forbid_are_read_generously_and_entries_that_allow_to_the_letter() {
        for (entry, fits) in
            [("Mail.Send", true), ("ｍail.send(TO)", true), ("mail.send(t*)", true), ("mail.send(to", true), ("mail.send(cc)", false)]
        {
            assert_eq!(said(&policy(&[(entry, UntrustedAnswer::Deny)]), "mail.send", "to", &[]) == "deny", fits, "{entry}");
            assert_eq!(
                said(&policy(&[(entry, UntrustedAnswer::Allow), ("otherwise", UntrustedAnswer::Deny)]), "mail.send", "to", &[]),
                "deny",
                "{entry}"
            );
        }
    }

    fn rules() -> impl Strategy<Value = Policy> {
        use UntrustedAnswer::{Allow, Ask, Deny};
        let of = vec!["mail.send(to)", "mail.send", "mail.*", "mail.*(to)", "mail", "recipients", "paths", "addresses", "otherwise"];
        let rule = (prop::sample::select(of), prop::sample::select(vec![Allow, Ask, Deny]));
        prop::collection::vec(rule, 0..5).prop_map(|rules| policy(&rules))
    }

    proptest! {
        #[test]
        fn one_more_policy_never_allows_more(list in prop::collection::vec(rules(), 0..4), more in rules(), is_effect: bool) {
            let named: Vec<(&str, &Policy)> = list.iter().map(|policy| ("p", policy)).collect();
            let narrower: Vec<(&str, &Policy)> = named.iter().copied().chain([("more", &more)]).collect();
            let answer = |policies: &[(&str, &Policy)], given| decide_untrusted(policies, given).map_or(PolicyAnswer::Allow, |decision| decision.answer);
            for (tool, name) in [("mail.send", "to"), ("mail.send", "body"), ("chat", "to")] {
                for classes in [&[][..], &[ArgumentClass::Recipients], &[ArgumentClass::Paths, ArgumentClass::Addresses]] {
                    let given = GivenArgument { tool, name, classes, is_effect };
                    prop_assert!(answer(&narrower, given) <= answer(&named, given));
                }
            }
        }
    }
}
