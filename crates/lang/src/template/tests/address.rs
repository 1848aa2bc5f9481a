//! Values in web addresses stay where the author put them.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use url::Url;

use crate::model::TextPlace;
use crate::template::{FilledAddress, Scope, address_text, compile, from_json, text};

fn filled(source: &str, names: &[(&str, Json)]) -> Result<FilledAddress, String> {
    let mut found = vec![];
    let text = text(source, TextPlace::default(), &mut found);
    assert!(found.is_empty(), "{found:?}");
    let mut scope = Scope::new();
    names.iter().for_each(|(name, value)| scope.set(name, from_json(value)));
    let filled = compile(&text).unwrap().fill_address(&scope).map_err(|error| error.message);
    // What is known before a run is never less than what a run finds out.
    if let Ok(filled) = &filled {
        let before = address_text(&text).host_reads;
        assert!(filled.host_reads.iter().all(|read| before.contains(read)) || source.starts_with("{{ a }}"), "{source}");
    }
    filled
}

fn one(source: &str, a: Json) -> Result<String, String> {
    filled(source, &[("a", a)]).map(|filled| filled.text)
}

#[test]
fn a_value_in_the_path_is_a_part_of_one_segment() {
    for (value, written) in [
        (json!("7"), "7"),
        (json!(7), "7"),
        (json!(-1.5), "-1.5"),
        (json!(true), "true"),
        (json!("a b?c#d&e=f:g@h"), "a%20b%3Fc%23d%26e%3Df%3Ag%40h"),
        (json!("R&D; 2026"), "R%26D%3B%202026"),
        (json!("50%"), "50%25"),
        (json!("a..b"), "a..b"),
        (json!("..."), "..."),
        (json!("Zürich"), "Z%C3%BCrich"),
    ] {
        assert_eq!(
            one("https://x.example/items/{{ a }}/draft", value).as_deref(),
            Ok(&*format!("https://x.example/items/{written}/draft"))
        );
    }
}

#[test]
fn a_value_that_is_encoded_more_often_than_any_server_decodes_is_rejected() {
    let encoded = |times: usize| json!(format!("%{}20", "25".repeat(times)));
    assert!(one("https://x.example/{{ a }}", encoded(4)).is_ok());
    let found = one("https://x.example/{{ a }}", encoded(400_000)).unwrap_err();
    assert!(found.contains("is percent-encoded too often"), "{found}");
    let found =
        filled("{{ a }}/{{ b }}", &[("a", json!(format!("https://x.example/%{}20", "25".repeat(20)))), ("b", json!(1))]).unwrap_err();
    assert!(found.contains("the path of the address is percent-encoded too often"), "{found}");
}

#[test]
fn a_value_that_would_lead_to_another_path_is_rejected_with_its_name() {
    for value in [
        json!(""),
        json!(null),
        json!([]),
        json!(["a"]),
        json!({ "a": 1 }),
        json!("."),
        json!(".."),
        json!(" .. "),
        json!("..;"),
        json!("..;x=1"),
        json!("%2e"),
        json!("%2E%2e"),
        json!(".%2e"),
        json!("%252e%252e"),
        json!("a/b"),
        json!("../x"),
        json!("a\\b"),
        json!("..%2fx"),
        json!("..%5Cx"),
        json!("a%252fb"),
        json!("a\nb"),
        json!("a\u{0}"),
        json!("a%00"),
    ] {
        for source in ["https://x.example/items/{{ a }}/draft", "https://x.example/{{ a }}", "https://x.example/v{{ a }}"] {
            // With something before them, dots are a name.
            if let (true, Some(dots)) = (source.contains("/v"), value.as_str())
                && !dots.contains(['/', '\\', '%', '\n', '\0'])
                && !dots.is_empty()
            {
                continue;
            }
            let message = one(source, value.clone()).unwrap_err();
            assert!(message.starts_with("a ") && message.contains("a value in the path"), "{source} {value}: {message}");
        }
    }
    for source in ["https://x.example/.{{ a }}/draft", "https://x.example/%2E{{ a }}", "https://x.example/{{ a }}{{ a }}/"] {
        assert!(one(source, json!(".")).is_err(), "{source}");
    }
}

#[test]
fn an_address_that_begins_with_a_value_may_hold_a_path_that_does_not_climb() {
    assert_eq!(one("{{ a }}/x", json!("https://x.example/v1")).as_deref(), Ok("https://x.example/v1/x"));
    assert_eq!(one("{{ a }}", json!("https://x.example/v1?page=2")).as_deref(), Ok("https://x.example/v1?page=2"));
    assert_eq!(one("{{ a }}&n=1", json!("https://x.example/v1?page=2")).as_deref(), Ok("https://x.example/v1?page=2&n=1"));
    for fine in ["https://x.example/group%2Fname", "https://x.example/v1..2/a.b", "https://x.example/100%25?q=..%2f"] {
        assert_eq!(one("{{ a }}", json!(fine)).as_deref(), Ok(fine));
    }
    for (source, value) in [
        ("{{ a }}", "https://x.example/v1/../admin"),
        ("{{ a }}", "https://x.example/v1/%2e%2E/admin"),
        ("{{ a }}/x", "https://x.example/v1/.."),
        ("{{ a }}/x", "https://x.example/v1\\..\\"),
        ("{{ a }}", "https://x.example/..%2fx"),
        ("{{ a }}", "https://x.example/%2e%2e%2fx"),
        ("{{ a }}", "https://x.example/x%2f..%2fy"),
        ("{{ a }}", "https://x.example/..%5cx"),
        ("{{ a }}", "https://x.example/%252e%252e%252fx"),
        ("{{ a }}", "https://x.example/..%00"),
        ("{{ a }}", "https://x.example/x%00y"),
        ("{{ a }}", "https://x.example/..;/x"),
        ("{{ a }}/x", "https://x.example/?"),
        ("{{ a }}/x", "https://x.example/#"),
    ] {
        assert!(one(source, json!(value)).is_err(), "{source} {value}");
    }
}

#[test]
fn a_value_in_the_query_may_be_anything_and_stays_one_value() {
    for value in [json!(".."), json!(""), json!("a/../b&c=d#e"), json!("x\r\ny"), json!([1])] {
        let url = Url::parse(&one("https://x.example/p?q={{ a }}&z=1", value).unwrap()).unwrap();
        assert_eq!((url.path(), url.query_pairs().count()), ("/p", 2));
    }
}

#[test]
fn what_names_the_host_is_found_and_nothing_else() {
    let reads = |source: &str, a: &str| {
        let names = filled(source, &[("a", json!(a)), ("b", json!("b")), ("list", json!(["x"]))]).unwrap().host_reads;
        names.into_iter().map(|read| read.join(".")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(reads("https://x.example/{{ a }}", "1"), "");
    assert_eq!(reads("https://x.example?{{ a }}", "1"), "");
    assert_eq!(reads("https://{{ a }}.example/{{ b }}", "x"), "a");
    assert_eq!(reads("https://x.example{{ a }}", ".evil"), "a");
    assert_eq!(reads("https://x.example:{{ a }}/{{ b }}", "80"), "a");
    assert_eq!(reads("{{ a }}/{{ b }}", "https://x.example"), "a");
    assert_eq!(reads("{{ a }}{{ b }}", "https://x."), "a b");
    // A value that leaves the host to what follows it.
    assert_eq!(reads("{{ a }}/{{ b }}", "https:/"), "a b");
    assert_eq!(reads("https://{% for n in list %}{{ n }}{% endfor %}/", ""), "list");
    assert_eq!(reads("https://{% if a %}x{% else %}y{% endif %}.example/", "1"), "");
    assert_eq!(reads("https://{{ \"x\" if a else b }}.example/", "1"), "a b");
}

proptest! {
    #[test]
    fn no_value_changes_the_host_or_the_number_of_segments(
        a in "[.%/\\\\;?#@: a2eEfF5cC\u{0}\n-]{0,6}|\\PC{0,8}",
        b in "[.%2eE]{0,4}",
        place in 0..7usize,
    ) {
        let source = [
            "https://x.example/{{ a }}/{{ b }}/draft",
            "https://x.example/shops/{{ a }}/items/{{ b }}/draft?q={{ a }}",
            "https://x.example/v{{ a }}/{{ b }}.json",
            "https://x.example/.{{ a }}/{{ b }}",
            "https://x.example/{{ a }}{{ b }}",
            "https://x.example:8443/{{ a }}-{{ b }}/x#{{ a }}",
            "{{ base }}/{{ a }}/{{ b }}",
        ][place];
        let base = ("base", json!("https://x.example/v1"));
        let named = |a: &str, b: &str| filled(source, &[base.clone(), ("a", json!(a)), ("b", json!(b))]);
        let shape = |filled: &FilledAddress| {
            let url = Url::parse(&filled.text).unwrap();
            (url.origin().ascii_serialization(), url.path_segments().unwrap().count(), url.username().to_owned())
        };
        if let Ok(filled) = named(&a, &b) {
            prop_assert_eq!(shape(&filled), shape(&named("x", "y").unwrap()), "{}", filled.text);
            prop_assert!(Url::parse(&filled.text).unwrap().as_str() == filled.text, "it is sent as it was filled in: {}", filled.text);
        }
    }
}

#[test]
fn a_host_may_be_filled_in_with_its_port() {
    for (value, host) in [
        ("a.example:8080", "a.example:8080"),
        ("127.0.0.1:1", "127.0.0.1:1"),
        ("a.example", "a.example"),
        ("a@b.example:80", "a%40b.example:80"),
    ] {
        assert_eq!(one("http://{{ a }}/x", json!(value)).unwrap(), format!("http://{host}/x"));
    }
    assert_eq!(one("http://h.example/{{ a }}", json!("x:80")).unwrap(), "http://h.example/x%3A80");
    assert_eq!(one("http://h.example/?q={{ a }}", json!("x:80")).unwrap(), "http://h.example/?q=x%3A80");
}
