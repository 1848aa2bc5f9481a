//! Lists, counts and large numbers in sentences.

use std::borrow::Borrow;

/// `a, b and c`, with `word` before the last one.
pub fn listed<T: Borrow<str>>(items: &[T], word: &str) -> String {
    match items {
        [start @ .., last] if !start.is_empty() => format!("{} {word} {}", start.join(", "), last.borrow()),
        _ => items.concat(),
    }
}

/// `1 step`, `12,000 steps`.
pub fn counted(count: impl TryInto<u64>, one: &str, several: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{} {}", grouped(count), if count == 1 { one } else { several })
}

/// `12,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let (first, rest) = digits.split_at((digits.len() + 2) % 3 + 1);
    rest.as_bytes().chunks(3).fold(first.to_owned(), |out, three| out + "," + &String::from_utf8_lossy(three))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_word_before_its_last_item() {
        assert_eq!(["", "a", "a or b", "a, b or c"], [&[][..], &["a"], &["a", "b"], &["a", "b", "c"]].map(|items| listed(items, "or")));
    }

    #[test]
    fn large_numbers_are_grouped() {
        let written = [0, 7, 999, 1_000, 12_000, 123_456, u64::MAX].map(grouped);
        assert_eq!(written, ["0", "7", "999", "1,000", "12,000", "123,456", "18,446,744,073,709,551,615"]);
        assert_eq!([counted(1_usize, "step", "steps"), counted(0_u64, "step", "steps")], ["1 step", "0 steps"]);
    }
}
