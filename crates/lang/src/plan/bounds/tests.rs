use super::*;

fn open(calls: u64, of: &[&str]) -> OpenCalls {
    OpenCalls { calls, of: of.iter().map(|name| name.to_string()).collect() }
}

#[test]
fn calls_for_each_of_the_same_are_one_count_however_often_they_come_together() {
    let elements = Calls { calls: 2, answer_tokens: Some(10), open: vec![] }.each("element of inputs.list");
    assert_eq!(elements.open, [open(2, &["element of inputs.list"])]);
    let doubled = (0..40).fold(elements.clone(), |all, _| all.clone().and(all));
    assert_eq!(doubled.open, [open(2 << 40, &["element of inputs.list"])]);
    let endless = (0..100).fold(elements.clone(), |all, _| all.clone().and(all));
    assert_eq!(endless.open, [open(u64::MAX, &["element of inputs.list"])], "what is too large to count stays the largest number");
    let either = elements.clone().or(elements.clone().each("element of inputs.outer")).or(elements);
    assert_eq!(either.open, [open(4, &["element of inputs.list"]), open(2, &["element of inputs.outer", "element of inputs.list"])]);
}
