//! The secret values of a run, by where the author put them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{Authored, Form, Leaf, Program, Read, TextKey, is_own_variable};
use crate::port::Secret;
use crate::redact::{each_seat, keys_in, keys_in_address};
use crate::template;

/// The variables with the key and the address of the model that replaces `default`.
const KEY: &str = "FLOW_API_KEY";
const ADDRESS: &str = "FLOW_MODEL_BASE_URL";

/// Values that no text of a run may contain: those of declared secrets and of `FLOW_API_KEY`; keys and passwords in the file; variables in keys, in
/// passwords and in fields named like one (`authorization: Bearer {{ env.NAME }}`); log-ins in addresses that are in variables or in declared
/// secrets; and keys in the variables of an address.
pub fn secret_values(program: &Program, env: &BTreeMap<String, Secret>) -> Vec<Secret> {
    let mut all: Vec<Secret> = env.get(KEY).cloned().into_iter().collect();
    let keys_of = |address: &Secret| keys_in_address(address.reveal()).into_iter().map(Secret::new);
    all.extend(env.get(ADDRESS).into_iter().flat_map(|address| log_ins(address.reveal()).into_iter().chain(keys_of(address))));
    for pipeline in &program.pipelines {
        for secret in pipeline.secrets.keys().filter_map(|name| env.get(name)) {
            all.push(secret.clone());
            all.extend(log_ins(secret.reveal()));
        }
        each_seat(pipeline, &mut |name, is_password, text| {
            if (is_password || name == "api_key") && text.form == Form::Plain {
                all.push(Secret::new(&*text.source));
            }
            let variables = text.reads.iter().filter_map(|read| match read.path.as_slice() {
                [root, name, ..] if root == "env" => env.get(name).cloned(),
                _ => None,
            });
            all.extend(variables);
        });
        pipeline.each_text(&mut |Authored { key, leaf, .. }| {
            let is_address = matches!(key, TextKey::BaseUrl | TextKey::Url | TextKey::MailServer);
            if let (true, Leaf::Text(text)) = (is_address, leaf) {
                let of_env = text.reads.iter().filter(|read| read.path.first().is_some_and(|root| root == "env"));
                all.extend(of_env.filter_map(|read| env.get(read.path.get(1)?)).flat_map(keys_of));
            }
        });
        let texts = pipeline.texts_with_secrets();
        let variables =
            texts.iter().flat_map(|(_, texts)| texts).flat_map(|text| &text.reads).filter_map(|read| match read.path.as_slice() {
                [root, name, ..] if root == "env" => env.get(name),
                _ => None,
            });
        all.extend(variables.flat_map(|value| log_ins(value.reveal())));
    }
    all.retain(|secret| !secret.reveal().trim().is_empty());
    all
}

/// The log-ins in an address: user and password, password, and tokens.
fn log_ins(value: &str) -> Vec<Secret> {
    let user = value.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')).map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let found = keys_in(value).into_iter().filter_map(|place| value.get(place));
    found.chain(user).chain(password).map(Secret::new).collect()
}

/// The values of `secrets` or `env` that a text sees: those that it names itself, without variables of `flow`'s own. `is_unsent`: what is
/// filled in is not sent, and a test has no secrets, so their names stand in for them. No host has such a name.
pub(crate) fn named_by<'r>(
    root: &str,
    values: &BTreeMap<String, Secret>,
    reads: impl IntoIterator<Item = &'r Read>,
    is_unsent: bool,
) -> template::Value {
    let reads = reads.into_iter().filter(|read| read.path.first().is_some_and(|first| first == root));
    let seen = reads.filter_map(|read| {
        let name = read.path.get(1).filter(|name| !is_own_variable(name))?;
        let stand_in = || (is_unsent && !read.is_guarded).then(|| format!("<{root}.{name}>"));
        Some((name.clone(), Value::from(values.get(name).map(|value| value.reveal().to_owned()).or_else(stand_in)?)))
    });
    template::from_json(&Value::Object(seen.collect::<Map<_, _>>()))
}

/// An address with something in place of the names that stand for secrets and variables; `None`: there are none. Where they name the host, nothing is
/// known of it.
pub fn address_without_stand_ins(address: &str) -> Option<String> {
    let made = without_stand_ins(address)?;
    Some(match (address.starts_with('<'), made.strip_prefix("x://")) {
        (true, Some(rest)) => format!("https://{rest}"),
        (true, None) => format!("https://{made}"),
        (false, _) => made,
    })
}

/// A text with an `x` in place of each name that stands for a secret or a variable; `None`: there are none.
pub fn without_stand_ins(text: &str) -> Option<String> {
    // As they are written, and as they are in an address.
    const FORMS: [(&str, &str); 4] = [("<secrets.", ">"), ("<env.", ">"), ("%3Csecrets.", "%3E"), ("%3Cenv.", "%3E")];
    let next = |rest: &str| {
        let found = FORMS.iter().filter_map(|(open, close)| {
            let from = rest.find(open)?;
            let to = from + rest[from..].find(close)? + close.len();
            Some((from, to))
        });
        found.min()
    };
    let (mut made, mut rest) = (String::new(), text);
    while let Some((from, to)) = next(rest) {
        made.push_str(&rest[..from]);
        made.push('x');
        rest = &rest[to..];
    }
    made.push_str(rest);
    (made != text).then_some(made)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::check::check_file;
    use crate::port::MemoryFiles;

    #[test]
    fn what_keys_and_log_ins_are_made_of_is_secret_wherever_it_stands() {
        let yaml = "flow: 1
name: p
secrets: { DATA: Where the data is. }
tools: { t: { http: POST https://a.example/, query: { api_key: '{{ env.QUERY1 }}' }, body: { in: [{ token: '{{ env.BODY1 }}' }] } } }
steps:
  - id: r
    route: x
    cases:
      - { id: a, phrases: [x], http: GET https://a.example/, headers: { X-Token: '{{ env.HEADER1 }}', Accept: '{{ env.PLAIN1 }}' } }
    otherwise: { id: o, set: 1 }
  - { id: b, http: \"GET {{ env.BASE }}/x\" }
";
        let checked = check_file(Path::new("p.yaml"), Path::new(""), &MemoryFiles::from_iter([("p.yaml", yaml)]));
        let base = "https://user:Zq7/xK29@a.example";
        let data = "postgres://app:Plain-Pw99x@127.0.0.1/db";
        let names = ["QUERY1", "BODY1", "HEADER1", "PLAIN1", "OTHER1"];
        let mut env: BTreeMap<String, Secret> = names.iter().map(|name| (name.to_string(), Secret::new(format!("of {name}")))).collect();
        env.insert("BASE".to_owned(), Secret::new(base));
        env.insert("DATA".to_owned(), Secret::new(data));
        let found = secret_values(&checked.loaded.program, &env);
        let found: Vec<&str> = found.iter().map(Secret::reveal).collect();
        for secret in ["of QUERY1", "of BODY1", "of HEADER1", "user:Zq7/xK29", "Zq7/xK29", data, "Plain-Pw99x"] {
            assert!(found.contains(&secret), "{secret}: {found:?}");
        }
        assert!(!found.iter().any(|found| found.contains("PLAIN1") || found.contains("OTHER1")), "{found:?}");
    }

    #[test]
    fn what_lets_in_of_the_variables_of_an_address_is_secret_and_the_rest_of_it_is_not() {
        let yaml = "flow: 1
name: p
models: { default: { provider: openai, base_url: '{{ env.LLM }}', model: m } }
tools: { s: { url: '{{ env.MCP }}', allow: [go] }, m: { smtp: '{{ env.MAIL }}', from: a@example.com } }
steps:
  - { id: a, http: 'GET https://a.example/bot{{ env.BOT }}/{{ env.REGION }}' }
  - { id: b, set: '{{ env.OTHER }}' }
";
        let checked = check_file(Path::new("p.yaml"), Path::new(""), &MemoryFiles::from_iter([("p.yaml", yaml)]));
        let env = [
            ("LLM", "https://llm.example.com/openai/aZ9bY8cX7dW1/v1"),
            ("MCP", "https://mcp.example.com/mcp?key=aZ9bY8cX7dW2"),
            ("MAIL", "ana:aZ9bY8cX7dW3@mail.example.com:25"),
            ("BOT", "aZ9bY8cX7dW4"),
            ("REGION", "eu-central-1"),
            ("OTHER", "aZ9bY8cX7dW5"),
        ];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), Secret::new(value))).collect();
        let found = secret_values(&checked.loaded.program, &env);
        let found: Vec<&str> = found.iter().map(Secret::reveal).collect();
        assert!((1..=4).all(|number| found.contains(&&*format!("aZ9bY8cX7dW{number}"))), "{found:?}");
        let others = ["openai", "llm.example.com", "eu-central-1", "aZ9bY8cX7dW5", "mail.example.com"];
        assert!(others.iter().all(|other| !found.contains(other)), "{found:?}");
    }

    #[test]
    fn an_address_is_one_whatever_stands_in_it_for_a_variable() {
        for (address, made) in [
            ("<env.BASE>/tickets/7", Some("https://x/tickets/7")),
            ("<env.SCHEME>://a.example/<x", Some("https://a.example/<x")),
            ("https://%3Cenv.HOST%3E/x?key=%3Csecrets.KEY%3E", Some("https://x/x?key=x")),
            ("https://a.example/<b>", None),
            ("not a url", None),
        ] {
            assert_eq!(address_without_stand_ins(address).as_deref(), made, "{address}");
        }
    }

    #[test]
    fn a_text_sees_the_variables_that_it_names() {
        let names = ["A", "B", "FLOW_API_KEY"];
        let env = names.iter().map(|name| (name.to_string(), Secret::new(*name))).collect();
        let reads = |path: &[&str]| Read {
            path: path.iter().map(|part| part.to_string()).collect(),
            span: Default::default(),
            is_guarded: false,
            instead_of: vec![],
        };
        let seen = named_by(
            "env",
            &env,
            &[reads(&["env", "A"]), reads(&["env"]), reads(&["env", "FLOW_API_KEY"]), reads(&["secrets", "B"])],
            false,
        );
        assert_eq!(template::to_json(&seen).unwrap(), serde_json::json!({ "A": "A" }));
    }
}
