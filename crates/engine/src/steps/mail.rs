//! What `with` of a `send` step says of a mail: its recipients, its subject and its headers.

use serde_json::{Map, Value, json};

use crate::command::CallRequest;
use crate::event::{Failure, FailureKind};
use crate::model::{Filling, Form, RECIPIENTS, address_fault, header_fault, recipients};
use crate::port::MailHead;
use crate::source::Spanned;
use crate::words::{HIDDEN, kind_of, plain};

/// What `with` says of a mail.
pub(super) fn head(with: &Map<String, Value>) -> Result<MailHead, Failure> {
    let list = |key: &str| {
        let list = addresses(key, with.get(key).unwrap_or(&Value::Null))?;
        match list.iter().find_map(|one| Some((one, address_fault(one)?))) {
            Some((one, fault)) => Err(wrong(format!("{one:?} in {key} of the mail is no mail address: {fault}"))),
            None => Ok(list),
        }
    };
    let head = MailHead {
        to: list("to")?,
        cc: list("cc")?,
        bcc: list("bcc")?,
        reply_to: list("reply_to")?,
        in_reply_to: message_ids("in_reply_to", with)?.join(" "),
        references: message_ids("references", with)?,
        headers: headers(with.get("headers").unwrap_or(&Value::Null))?,
        subject: with.get("subject").filter(|subject| is_word(subject)).map(plain).ok_or_else(|| missing("subject"))?,
    };
    if head.to.is_empty() {
        return Err(missing("to"));
    }
    if head.in_reply_to.contains(' ') {
        return Err(wrong("in_reply_to of the mail names several messages; write the earlier ones in references"));
    }
    Ok(head)
}

/// Writes recipients into `with` as rules and people see them: several are one text with commas between them.
pub(super) fn show(head: &MailHead, with: &mut Map<String, Value>) {
    for (key, list) in [("to", &head.to), ("cc", &head.cc), ("bcc", &head.bcc), ("reply_to", &head.reply_to)] {
        if let Some(shown) = with.get_mut(key).filter(|shown| **shown != HIDDEN) {
            *shown = list.join(", ").into();
        }
    }
}

/// The arguments of a call as rules judge them: all of them, and those of a mail once more for each of its recipients, who all obey what is said of one.
pub(crate) fn each_form(request: &CallRequest, arguments: &Value) -> Vec<Value> {
    let alone = if let CallRequest::Mail(mail) = request { to_each(&mail.head, arguments) } else { vec![] };
    std::iter::once(arguments.clone()).chain(alone).collect()
}

/// The arguments of a mail as they would be with each of its recipients alone in `to`, if it has several or names one; rules speak of `to`. Of a
/// recipient with a name also the address by itself.
fn to_each(head: &MailHead, arguments: &Value) -> Vec<Value> {
    let all = [&head.to, &head.cc, &head.bcc].into_iter().flatten();
    let bare = |recipient: &String| recipient.trim().strip_suffix('>')?.rsplit_once('<').map(|(_, address)| address.trim().to_owned());
    let named: Vec<String> = all.clone().filter_map(bare).collect();
    if all.clone().count() + named.len() < 2 {
        return vec![];
    }
    let alone = |recipient: &String| {
        let others = |name: &str| !RECIPIENTS.contains(&name);
        let kept = arguments.as_object().into_iter().flatten().filter(|(name, _)| others(name));
        let kept = kept.map(|(name, value)| (name.clone(), value.clone()));
        Value::Object(kept.chain([("to".to_owned(), json!(recipient))]).collect())
    };
    all.chain(&named).map(alone).collect()
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::BadRequest, message.into())
}

fn missing(key: &str) -> Failure {
    wrong(format!("send by mail needs with: {{ {key}: … }}"))
}

/// Whether a value is a text, a number or yes or no.
fn is_word(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

/// Addresses: a text with commas between them, or a list. No value is none; one that is empty in a list was to be somebody.
fn addresses(key: &str, value: &Value) -> Result<Vec<String>, Failure> {
    let split = |text: &str| recipients(text).into_iter().map(str::to_owned).collect::<Vec<_>>();
    match value {
        Value::Null => Ok(vec![]),
        Value::String(text) => Ok(split(text)),
        Value::Array(list) => {
            let mut found = vec![];
            for (place, one) in list.iter().enumerate() {
                let no_address = || wrong(format!("entry {} of {key} of the mail is no address", place + 1));
                let one = one.as_str().map(str::trim).filter(|one| !one.is_empty()).ok_or_else(no_address)?;
                found.push(single(one).ok_or_else(|| wrong(format!("entry {} of {key} of the mail holds several addresses", place + 1)))?);
            }
            Ok(found)
        }
        other => Err(wrong(format!("{key} of the mail is {}, and no address or list of addresses", kind_of(other)))),
    }
}

/// One address, in whose name a comma parts nothing: `Doe, Jane <jane@example.org>`. `None`: it is several.
fn single(text: &str) -> Option<String> {
    if let [_] = recipients(text)[..] {
        return Some(text.to_owned());
    }
    let (name, address) = text.strip_suffix('>')?.rsplit_once('<')?;
    let name = name.trim().replace(['\\', '"'], "");
    // With another address in it, the name is none.
    (!address.contains([',', '>', '"']) && !name.contains('@')).then(|| format!("\"{name}\" <{address}>"))
}

/// Writes what was put together of several values as a list of one: the commas of a value part no recipients.
pub(super) fn as_written<'w>(written: impl Iterator<Item = &'w (Spanned<String>, Filling)>, with: &mut Map<String, Value>) {
    for (name, filling) in written.filter(|(name, _)| RECIPIENTS.contains(&&*name.value) || name.value == "reply_to") {
        // What is filled in whole has several only as bare addresses.
        let is_composed = |value: &str| match filling {
            Filling::Text(text) => text.form == Form::Template || text.form == Form::Sole && value.contains('<'),
            Filling::Constant(_) | Filling::List(_) | Filling::Map(_) => false,
        };
        if let Some(value) = with.get_mut(&name.value).filter(|value| value.as_str().is_some_and(is_composed)) {
            *value = json!([value.take()]);
        }
    }
}

/// Ids of messages: a text with blanks between them, or a list. Each is in `<>`.
fn message_ids(key: &str, with: &Map<String, Value>) -> Result<Vec<String>, Failure> {
    let none = wrong(format!("{key} of the mail is no id of a message, such as <name@example.com>"));
    let texts: Vec<&str> = match with.get(key).unwrap_or(&Value::Null) {
        Value::Null => vec![],
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().map(Value::as_str).collect::<Option<_>>().ok_or_else(|| none.clone())?,
        _ => return Err(none),
    };
    let words = texts.into_iter().flat_map(str::split_whitespace);
    let id = |word: &str| {
        let bare = word.strip_prefix('<').and_then(|word| word.strip_suffix('>')).unwrap_or(word);
        let is_id = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>,;".contains(&byte));
        is_id.then(|| format!("<{bare}>")).ok_or_else(|| none.clone())
    };
    words.map(id).collect()
}

/// Headers by their names. One without a value is left out.
fn headers(value: &Value) -> Result<Vec<(String, String)>, Failure> {
    let named = match value {
        Value::Null => return Ok(vec![]),
        Value::Object(named) => named,
        other => return Err(wrong(format!("headers of the mail are {}, and no names with their values", kind_of(other)))),
    };
    let mut found: Vec<(String, String)> = vec![];
    for (name, value) in named {
        if let Some(fault) = header_fault(name) {
            return Err(wrong(format!("header {name:?} of the mail: {fault}")));
        }
        if found.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(wrong(format!("header {name} of the mail is given twice")));
        }
        if !value.is_null() && !is_word(value) {
            return Err(wrong(format!("header {name} of the mail is {}, and no text", kind_of(value))));
        }
        found.push((name.clone(), plain(value)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(with: Value) -> Result<MailHead, String> {
        let mut whole = json!({ "to": "ana@example.org", "subject": "Report" });
        whole.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        head(whole.as_object().unwrap()).map_err(|failure| failure.message)
    }

    #[test]
    fn recipients_are_a_text_with_commas_or_a_list() {
        for list in [json!("\"Miller, Bo\" <bo@example.org>, cy@example.org"), json!(["\"Miller, Bo\" <bo@example.org>", "cy@example.org"])]
        {
            let read = read(json!({ "to": list, "cc": list, "bcc": list, "reply_to": list })).unwrap();
            for all in [read.to, read.cc, read.bcc, read.reply_to] {
                assert_eq!(all, ["\"Miller, Bo\" <bo@example.org>", "cy@example.org"]);
            }
        }
        assert_eq!(read(json!({ "cc": null, "bcc": "", "reply_to": [] })).unwrap().cc, [""; 0]);
        for (with, told) in [
            (json!({ "to": "" }), "send by mail needs with: { to: … }"),
            (json!({ "to": [] }), "send by mail needs with: { to: … }"),
            (json!({ "subject": null }), "send by mail needs with: { subject: … }"),
            (json!({ "cc": ["bo@example.org", ""] }), "entry 2 of cc of the mail is no address"),
            (json!({ "cc": [null] }), "entry 1 of cc of the mail is no address"),
            (json!({ "cc": ["a@example.org, b@example.org"] }), "entry 1 of cc of the mail holds several addresses"),
            (json!({ "bcc": { "x": 1 } }), "bcc of the mail is an object, and no address or list of addresses"),
        ] {
            assert_eq!(read(with).unwrap_err(), told);
        }
    }

    #[test]
    fn a_name_adds_no_recipient() {
        let named = read(json!({ "to": ["Doe, Jane <jane@example.org>"] })).unwrap();
        assert_eq!(named.to, ["\"Doe, Jane\" <jane@example.org>"]);
        for one in
            ["evil@example.net, Bob <bob@example.org>", "x <a@example.net>, \"y\" <c@example.org>", "Team <a@example.org>, <b@example.org>"]
        {
            assert_eq!(read(json!({ "to": [one] })).unwrap_err(), "entry 1 of to of the mail holds several addresses", "{one}");
        }
    }

    #[test]
    fn ids_of_messages_are_in_brackets() {
        let with = json!({ "in_reply_to": "a@example.org", "references": ["<b@example.org>", "<c@example.org> <d@example.org>"] });
        let read_ids = read(with).unwrap();
        assert_eq!(read_ids.in_reply_to, "<a@example.org>");
        assert_eq!(read_ids.references, ["<b@example.org>", "<c@example.org>", "<d@example.org>"]);
        for with in [
            json!({ "in_reply_to": "<a@b> <c@d>" }),
            json!({ "in_reply_to": 7 }),
            json!({ "references": "a,b" }),
            json!({ "references": [7] }),
        ] {
            assert!(read(with.clone()).is_err(), "{with}");
        }
    }

    #[test]
    fn headers_have_names_of_their_own_and_a_value() {
        let some = read(json!({ "headers": { "X-Topic": "report", "X-Priority": 1, "Auto-Submitted": null } })).unwrap();
        let expected = [("X-Topic", "report"), ("X-Priority", "1"), ("Auto-Submitted", "")];
        assert_eq!(some.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for headers in [json!({ "To": "x" }), json!({ "X-A": "1", "x-a": "2" }), json!({ "X-A": ["1"] }), json!(["X-A"]), json!("X-A: 1")] {
            assert!(read(json!({ "headers": headers })).is_err(), "{headers}");
        }
    }

    #[test]
    fn rules_see_each_recipient_as_the_one_of_to() {
        let with = json!({ "to": ["a@example.org", "b@example.org"], "bcc": "c@example.org", "subject": "Hi" });
        let read = head(with.as_object().unwrap()).unwrap();
        let mut shown = with.as_object().unwrap().clone();
        show(&read, &mut shown);
        assert_eq!(Value::Object(shown.clone()), json!({ "to": "a@example.org, b@example.org", "bcc": "c@example.org", "subject": "Hi" }));
        let alone = |one: &str| json!({ "subject": "Hi", "to": one });
        assert_eq!(to_each(&read, &Value::Object(shown)), ["a@example.org", "b@example.org", "c@example.org"].map(alone));
        let one = json!({ "to": "a@example.org", "subject": "Hi" });
        assert_eq!(to_each(&head(one.as_object().unwrap()).unwrap(), &one), [Value::Null; 0]);
    }
}
