use serde_json::json;

use super::*;

fn redactor(personal: &[&str]) -> Redactor {
    let personal: Vec<Value> = personal.iter().map(|text| json!(text)).collect();
    Redactor::new(["s3cret-token"], &personal)
}

#[test]
fn values_are_numbered_by_their_first_place_and_words_name_their_value() {
    let redactor = redactor(&["Ana Lopez", "ana@example.org"]);
    let mut masker = Masker::new(&redactor, "r_1");
    let masked = masker.text("Ana, ANA LOPEZ (ana@example.org), Ana Lopez; key s3cret-token, run r_1");
    assert_eq!(masked, "<PERSON_1.1>, <PERSON_1.0u> (<EMAIL_1>), <PERSON_1>; key ***, run <RUN>");
}

#[test]
fn an_answer_gets_the_values_of_the_one_who_asks_now() {
    let (ana, bo) = (redactor(&["Ana Lopez", "0151 2345678"]), redactor(&["Bo Diddley", "0170 7654321"]));
    let mut masker = Masker::new(&ana, "r_1");
    let asked = masker.value(&json!({ "prompt": "Greet Ana Lopez, 0151 2345678." }));
    let reply = masker.value(&json!({ "text": "Hi Ana! Call 0151 2345678? (r_1)", "number": 1 }));
    assert_eq!(reply["text"], "Hi <PERSON_1.1>! Call <PHONE_1>? (<RUN>)");
    let now = json!({ "prompt": "Greet Bo Diddley, 0170 7654321." });
    let bindings = Bindings::compare(&asked, &now, &bo, "r_2", &Map::new()).unwrap();
    assert_eq!(bindings.restored(&reply), json!({ "text": "Hi Bo! Call 0170 7654321? (r_2)", "number": 1 }));
}

#[test]
fn a_value_may_take_no_word_of_the_text_with_it() {
    let redactor = redactor(&["Ana Lopez"]);
    let recorded = Masker::new(&redactor, "").value(&json!("Greet Ana Lopez now."));
    for (asked, is_equal) in [
        ("Greet Ana Lopez now.", true),
        ("Greet dear Ana Lopez now.", false),
        ("Greet Ana Lopez.", false),
        ("Greet <PERSON_7> now.", true),
        ("Greet <EMAIL_7> now.", false),
        ("Greet *** now.", false),
    ] {
        assert_eq!(Bindings::compare(&recorded, &json!(asked), &redactor, "", &Map::new()).is_some(), is_equal, "{asked}");
    }
}

#[test]
fn a_value_that_became_known_after_the_call_is_found_by_its_length_and_put_back() {
    let (late, early) = (redactor(&["Bo Diddley"]), redactor(&[]));
    let mut masker = Masker::new(&late, "");
    let asked = masker.value(&json!("Who called? Bo Diddley from Berlin."));
    let reply = masker.value(&json!({ "name": "Bo Diddley" }));
    let Value::Object(lengths) = json!({ "<PERSON_1>": 10 }) else { unreachable!() };
    let now = json!("Who called? Bo Diddley from Berlin.");
    assert!(Bindings::compare(&asked, &now, &early, "", &Map::new()).is_none());
    let bindings = Bindings::compare(&asked, &now, &early, "", &lengths).unwrap();
    assert_eq!(bindings.restored(&reply), json!({ "name": "Bo Diddley" }));
    assert!(Bindings::compare(&asked, &json!("Who called? Mr Bo Diddley from Berlin."), &early, "", &lengths).is_none());
}

#[test]
fn a_number_that_is_personal_stays_a_number() {
    let redactor = redactor(&["4711042"]);
    let mut masker = Masker::new(&redactor, "");
    let asked = masker.value(&json!({ "customer": 4711042, "hours": 8 }));
    assert_eq!(asked, json!({ "customer": "<PERSON_1#>", "hours": 8 }));
    let bindings = Bindings::compare(&asked, &json!({ "customer": 4711042, "hours": 8 }), &redactor, "", &Map::new()).unwrap();
    assert_eq!(bindings.restored(&asked), json!({ "customer": 4711042, "hours": 8 }));
}

#[test]
fn what_only_looks_like_a_placeholder_is_text() {
    for text in ["<PERSON_>", "<PERSON_1.>", "<PERSON_x>", "<person_1>", "<HOURS_1>", "<", "**", "a < b > c", "<PERSON_1"] {
        assert_eq!(unnumbered(text), text);
        assert!(Bindings::compare(&json!(text), &json!("other"), &redactor(&[]), "", &Map::new()).is_none());
    }
    assert_eq!(unnumbered("to <PERSON_12.3t> and <EMAIL_1>"), "to <PERSON> and <EMAIL>");
}

#[test]
fn a_text_that_only_looks_like_a_placeholder_stays_what_it_is() {
    let redactor = redactor(&["Ana Lopez"]);
    for literal in [
        "<PERSON_1>", "<\\PERSON_1>", "<\\\\PERSON_1.2u>", "<EMAIL_7#>", "<RUN>", "<\\RUN>", "<<PERSON_1>>", "<\\", "<PERSON_x>",
        "a < b > c",
    ] {
        let text = format!("Write {literal} for Ana Lopez, {literal}!");
        let mut masker = Masker::new(&redactor, "r_1");
        let recorded = masker.value(&json!(text));
        assert!(!recorded.as_str().unwrap().contains("Ana"), "{recorded}");
        let reply = masker.value(&json!(format!("{literal} is Ana Lopez in r_1")));
        let bindings =
            Bindings::compare(&recorded, &json!(text), &redactor, "r_1", &Map::new()).unwrap_or_else(|| panic!("{literal}: {recorded}"));
        assert_eq!(bindings.restored(&reply), json!(format!("{literal} is Ana Lopez in r_1")), "{reply}");
        let other = json!(text.replace(literal, "Ana Lopez"));
        assert!(
            Bindings::compare(&recorded, &other, &redactor, "r_1", &Map::new()).is_none(),
            "a name is not what looks like a placeholder"
        );
    }
}
