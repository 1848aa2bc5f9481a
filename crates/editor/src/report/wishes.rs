//! What a pipeline wants, for people.

use crate::diagnostic::visible;
use crate::plan::{Wish, Wishes};

/// Each wish in plain words on one line, for a terminal: what an author wrote cannot deceive there.
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
