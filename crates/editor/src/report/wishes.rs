//! The programs, hosts and secrets that a pipeline uses, for people.

use crate::diagnostic::visible;
use crate::plan::{Wish, Wishes};

/// Formats each wish on one line for a terminal, with the author's texts escaped so that they cannot deceive.
pub fn wish_lines(wishes: &Wishes) -> Vec<String> {
    let lists = [("starts a program:", &wishes.programs), ("connects to", &wishes.hosts), ("reads from the environment:", &wishes.secrets)];
    let line = |verb: &str, wish: &Wish| {
        let by = if wish.by.is_empty() { String::new() } else { format!(" ({})", wish.by.join(", ")) };
        visible(&format!("{verb} {}{by}", wish.what)).into_owned()
    };
    lists.into_iter().flat_map(|(verb, list)| list.iter().map(move |wish| line(verb, wish))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_an_author_wrote_moves_the_cursor() {
        let wish = Wish { what: "x\u{1b}[2K\u{202e}\nstarts nothing".into(), by: vec!["tool a".into()] };
        let wishes = Wishes { programs: vec![wish], ..Wishes::default() };
        assert_eq!(wish_lines(&wishes), ["starts a program: x\\x1B[2K\\u202E\\nstarts nothing (tool a)"]);
    }
}
