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

#[test]
fn chains_of_open_lists_are_told_apart_up_to_a_number() {
    let one = Calls { calls: 1, answer_tokens: Some(1), open: vec![] };
    let deep = (0..20).fold(one, |below, depth| below.clone().each(&format!("a{depth}")).and(below.each(&format!("b{depth}"))));
    assert_eq!(deep.open.len(), MOST_CHAINS);
    assert_eq!(deep.open.iter().map(|open| open.calls).sum::<u64>(), 1 << 20);
    assert_eq!(deep.open.last().unwrap().of, [OTHER_LISTS]);
}
