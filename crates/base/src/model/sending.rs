//! What `with` of a `send` step says to each kind of receiver, and the recipients and headers of a mail.

use super::ToolKind;

/// Keys under which a mail's recipients stand.
pub const RECIPIENTS: [&str; 3] = ["to", "cc", "bcc"];

/// A key of `with` of a `send` step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendKey {
    /// Its name.
    pub name: &'static str,
    /// A value that shows what stands there.
    pub example: &'static str,
    /// Whether nothing is sent without it.
    pub is_needed: bool,
}

/// The keys that `with` of a `send` step may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKeys {
    /// These.
    These(&'static [SendKey]),
    /// What the texts of the tool read as `with.NAME`, and its `arguments`.
    Read,
    /// Nothing can be sent there.
    NoReceiver,
}

const fn needed(name: &'static str, example: &'static str) -> SendKey {
    SendKey { name, example, is_needed: true }
}

const fn may(name: &'static str, example: &'static str) -> SendKey {
    SendKey { name, example, is_needed: false }
}

/// Of a mail.
const OF_MAIL: &[SendKey] = &[
    needed("to", "name@example.com"),
    needed("subject", "What it is about"),
    may("cc", "name@example.com"),
    may("bcc", "name@example.com"),
    may("reply_to", "name@example.com"),
    may("in_reply_to", "\"<id@example.com>\""),
    may("references", "\"<id@example.com>\""),
    may("headers", "{ X-Topic: report }"),
];

/// Of a `file` tool.
const OF_FILE: &[SendKey] = &[needed("name", "notes.txt"), may("mode", "append")];

/// Names that the engine gives the texts of an `http` tool for each part, whatever `with` says.
pub const GIVEN_FOR_EACH_PART: [&str; 4] = ["content", "text", "part", "parts"];

impl SendKeys {
    /// Those of standard output: what is printed has no address.
    pub const OF_STDOUT: SendKeys = SendKeys::These(&[]);

    /// Those of a tool.
    pub fn for_tool(kind: &ToolKind) -> SendKeys {
        match kind {
            ToolKind::Smtp { .. } => SendKeys::These(OF_MAIL),
            ToolKind::File(_) => SendKeys::These(OF_FILE),
            ToolKind::Http { .. } => SendKeys::Read,
            ToolKind::Sql(_)
            | ToolKind::Knowledge(_)
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
            | ToolKind::Pipeline { .. }
            | ToolKind::Server(_)
            | ToolKind::Broken => SendKeys::NoReceiver,
        }
    }
}

/// How `send` writes into a file (`mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum FileMode {
    /// The file holds this text alone.
    Replace,
    /// The text comes below what the file holds.
    Append,
}

/// The recipients in a text: what stands between commas that are in no quotes, brackets or comments (RFC 5322). Whether each is an address is not looked at.
pub fn recipients(text: &str) -> Vec<&str> {
    let (mut found, mut start) = (vec![], 0);
    let (mut is_quoted, mut is_escaped, mut depth) = (false, false, 0_u32);
    for (at, sign) in text.char_indices() {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found.into_iter().map(str::trim).filter(|one| !one.is_empty()).collect()
}

/// Why a text is no mail address, with or without a name; `None`: it may be one. What servers make of it is not known here.
pub fn address_fault(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let address = match text.rsplit_once('<') {
        Some((_, rest)) => match rest.split_once('>') {
            Some((address, after)) if after.trim().is_empty() || after.trim().starts_with('(') => address,
            _ => return Some("its \"<\" is not closed"),
        },
        None => text.split_once('(').map_or(text, |(address, _)| address.trim()),
    };
    let Some((name, domain)) = address.rsplit_once('@') else { return Some("it has no @") };
    let is_quoted = name.starts_with('"') && name.ends_with('"');
    // Full-width and other stops read as dots and letters to some programs, and invisible characters as none.
    let is_odd = |c: char| {
        matches!(c, '\u{3002}' | '\u{FF00}'..='\u{FFEF}' | '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
            || c.is_control()
    };
    match () {
        () if name.is_empty() || domain.is_empty() => Some("a part of it is empty"),
        () if address.chars().any(is_odd) => Some("it has an invisible character, or one that only looks like another"),
        () if !is_quoted && (name.contains('@') || name.contains(char::is_whitespace) || name.contains([',', ';', ':', '"'])) => {
            Some("it is not one address")
        }
        () if domain.contains(char::is_whitespace) || domain.contains([',', ';']) => Some("it is not one address"),
        () => None,
    }
}

/// The longest name of a header.
const LONGEST_HEADER_NAME: usize = 76;

/// Headers that `flow` writes, with what says it in their place.
const OWN_HEADERS: [(&str, &str); 11] = [
    ("from", "from of the tool"),
    ("to", "to"),
    ("cc", "cc"),
    ("bcc", "bcc"),
    ("reply-to", "reply_to"),
    ("subject", "subject"),
    ("in-reply-to", "in_reply_to"),
    ("references", "references"),
    ("date", ""),
    ("message-id", "idempotency_key"),
    ("mime-version", ""),
];

/// Headers that mail servers write on the way.
const OF_SERVERS: [&str; 5] = ["received", "return-path", "delivered-to", "authentication-results", "dkim-signature"];

/// Why a mail cannot have a header of this name among those of its author; `None`: it can.
pub fn header_fault(name: &str) -> Option<String> {
    let small = name.to_ascii_lowercase();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    if !is_name || name.len() > LONGEST_HEADER_NAME {
        return Some(format!("a name of a header has 1 to {LONGEST_HEADER_NAME} ASCII characters, without a blank or a colon"));
    }
    if let Some((_, key)) = OWN_HEADERS.iter().find(|(own, _)| *own == small) {
        let instead = if key.is_empty() { String::new() } else { format!("; write {key} instead") };
        return Some(format!("flow writes this header itself{instead}"));
    }
    if small.starts_with("content-") {
        return Some("flow writes this header itself".to_owned());
    }
    let is_of_servers = OF_SERVERS.contains(&&*small) || small.starts_with("resent-") || small.starts_with("arc-");
    is_of_servers.then(|| "mail servers write this header".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_stand_between_commas_that_nothing_encloses() {
        for (text, expected) in [
            ("ana@example.org", &["ana@example.org"][..]),
            ("ana@example.org, bo@example.org", &["ana@example.org", "bo@example.org"]),
            ("\"Miller, Ana\" <ana@example.org>,bo@example.org,", &["\"Miller, Ana\" <ana@example.org>", "bo@example.org"]),
            (r#""a\", b" <a@example.org>, c@example.org"#, &[r#""a\", b" <a@example.org>"#, "c@example.org"]),
            ("ana@example.org (home, not work), bo@example.org", &["ana@example.org (home, not work)", "bo@example.org"]),
            ("\"ana@example.org, bo@example.org", &["\"ana@example.org, bo@example.org"]),
            ("", &[]),
            (" , ", &[]),
        ] {
            assert_eq!(recipients(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_one_address_is_told() {
        for text in [
            "a@x.com",
            "Ana <a@x.com>",
            "\"Doe, Jane\" <j@x.com>",
            "\"a b\"@x.com",
            "j\u{f6}rg@b\u{fc}cher.de",
            "a@[127.0.0.1]",
            "a@x.com (home)",
        ] {
            assert_eq!(address_fault(text), None, "{text}");
        }
        for text in [
            "",
            "nobody",
            "a@x.com b@x.com",
            "a@x.com, b@x.com",
            "@x.com",
            "a@",
            "Ana <a@x.com",
            "a@x.com\u{200b}",
            "a@ex\u{ad}ample.com",
            "a@evil\u{3002}com",
            "\u{ff45}vil@x\u{ff0e}com",
        ] {
            assert!(address_fault(text).is_some(), "{text}");
        }
    }

    #[test]
    fn headers_of_flow_and_of_servers_and_names_that_are_none_are_refused() {
        for name in
            ["To", "BCC", "reply-to", "Content-Type", "MIME-Version", "Resent-To", "Received", "", "X Y", "X:", "X-\u{e4}", "X\r\nBcc"]
        {
            assert!(header_fault(name).is_some(), "{name}");
        }
        for name in ["List-Unsubscribe", "List-Unsubscribe-Post", "Auto-Submitted", "X-Topic", "Precedence", "Importance"] {
            assert_eq!(header_fault(name), None, "{name}");
        }
    }
}
