use std::sync::Arc;

use regex::Regex;

use super::*;
use crate::gate::{Fill, fill_check};
use crate::model::{Check, Filling, Form, PlainCheck, Text};

/// Fills in from a fixed value, and remembers nothing.
struct Names(Value);

impl Fill for Names {
    type Error = String;

    fn text(&self, text: &Text) -> Result<Value, String> {
        match text.form {
            Form::Plain => Ok(json!(&*text.source)),
            _ => self.0.get(&*text.source).cloned().ok_or_else(|| format!("there is no \"{}\"", text.source)),
        }
    }

    fn filling(&self, filling: &Filling) -> Result<Value, String> {
        match filling {
            Filling::Constant(value) => Ok(value.clone()),
            Filling::Text(text) => self.text(text),
            Filling::List(_) | Filling::Map(_) => Err("not in this test".into()),
        }
    }

    fn condition(&self, text: &Text) -> Result<bool, String> {
        self.text(text)?.as_bool().ok_or_else(|| "neither true nor false".into())
    }
}

#[test]
fn every_text_of_a_check_is_filled_in_before() {
    let names = Names(json!({ "words": ["32", 40], "facts": { "logged": 32 }, "is_good": false }));
    let bare = |source: &str| Text { source: source.into(), form: Form::Bare, ..Text::plain("") };
    let filled = |check: Check| fill_check(&check, None, &names);
    let text = "32 of 40";
    let contains = filled(Check::Contains(vec![bare("words"), Text::plain("of")], crate::model::LetterCase::Exact)).unwrap();
    assert!(passes(&of_text(&contains, text)) && !passes(&of_text(&contains, "32 of")), "a list stands for its elements");
    assert!(passes(&of_text(&filled(Check::Equals(Filling::Text(Text::plain(text)))).unwrap(), text)));
    let figures = filled(Check::NumbersFrom(bare("facts"))).unwrap();
    assert_eq!(of_text(&figures, text).feedback, "The figure 40 does not occur in the data.");
    let expression = filled(Check::Expression(bare("is_good"))).unwrap();
    assert_eq!(of_text(&expression, text).feedback, "This is not true: is_good.");
    let criterion = fill_check(&Check::Expression(bare("is_good")), Some("The reply names the hours."), &names).unwrap();
    assert_eq!(of_text(&criterion, text).feedback, "Not met: The reply names the hours.");
    assert_eq!(filled(Check::Expression(bare("facts"))).unwrap_err(), "neither true nor false");
    assert_eq!(filled(Check::NumbersFrom(bare("fact"))).unwrap_err(), "there is no \"fact\"");
    for check in [
        Check::NotContains(vec![Text::plain("33")], crate::model::LetterCase::Exact),
        Check::Plain(PlainCheck::Regex(Regex::new("of").unwrap())),
        Check::Plain(PlainCheck::JsonSchema(Arc::new(json!({ "type": "string" })))),
        Check::Plain(PlainCheck::MaxLength(8)),
        Check::Plain(PlainCheck::MinLength(8)),
        Check::Plain(PlainCheck::Markdown(Features::NONE)),
        Check::Plain(PlainCheck::Emojis(0)),
        Check::Plain(PlainCheck::Language("en".into())),
        Check::Plain(PlainCheck::PiiNone),
        Check::Plain(PlainCheck::Links(vec![])),
        Check::Plain(PlainCheck::Readability(5.0)),
    ] {
        assert!(passes(&of_text(&filled(check.clone()).unwrap(), text)), "{check:?}");
    }
    for check in [Check::Plain(PlainCheck::FitsChannel), Check::Plain(PlainCheck::StyleGuide)] {
        assert!(!passes(&of_text(&filled(check).unwrap(), text)), "there is neither channel nor style guide");
    }
}
