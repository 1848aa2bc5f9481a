//! The printed part of an answer. It is stored as whole blocks and compared with the final answer: a model's text may lose parts that were
//! shown, if marks around thoughts appear late.

/// The answer that is being streamed.
#[derive(Default)]
pub(super) struct StreamedAnswer {
    /// The call that streams it; `None`: nothing is streamed now.
    pub(super) call: Option<u64>,
    /// Whether something was printed, also by an earlier call.
    pub(super) has_printed: bool,
    so_far: String,
    /// The printed blocks.
    shown: Vec<String>,
}

/// The part of an answer that is left to print.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Everything was printed.
    Nothing,
    /// The end of the answer.
    More(String),
    /// The whole answer: the printed blocks are not its start.
    Whole,
}

impl StreamedAnswer {
    /// Starts an answer of a call.
    pub(super) fn begins(&mut self, call: u64) {
        *self = StreamedAnswer { call: Some(call), has_printed: self.has_printed, ..StreamedAnswer::default() };
    }

    /// Updates the answer so far; returns whole blocks that were not printed yet.
    pub(super) fn grows(&mut self, so_far: &str) -> Option<String> {
        so_far.clone_into(&mut self.so_far);
        let whole = Blocks::parse(so_far).whole;
        let new = whole.strip_prefix(&*self.shown).filter(|new| !new.is_empty())?.join("\n\n");
        self.shown = whole;
        Some(new)
    }

    /// Ends an interrupted answer; returns the received part that was not printed.
    pub(super) fn breaks_off(&mut self) -> Option<String> {
        let so_far = std::mem::take(&mut self.so_far);
        if so_far.is_empty() {
            return None;
        }
        match self.ends(&so_far) {
            Rest::More(text) => Some(text),
            Rest::Nothing | Rest::Whole => None,
        }
    }

    /// Sets the final answer, counted as printed; returns what is left to print. [`Rest::Whole`]: earlier output is not part of it.
    pub(super) fn ends(&mut self, answer: &str) -> Rest {
        let all = Blocks::parse(answer).all();
        let rest = match all.strip_prefix(&*self.shown) {
            Some([]) => Rest::Nothing,
            Some(_) if self.shown.is_empty() => Rest::More(answer.to_owned()),
            Some(rest) => Rest::More(rest.join("\n\n")),
            None => Rest::Whole,
        };
        self.shown = all;
        rest
    }
}

/// A text in blocks, which end with an empty line outside code.
#[derive(Default)]
struct Blocks {
    whole: Vec<String>,
    /// The last block, which has not ended.
    open: String,
}

impl Blocks {
    fn parse(text: &str) -> Blocks {
        let (mut blocks, mut code) = (Blocks::default(), None);
        for line in text.split_inclusive('\n') {
            let shown = line.trim();
            let fence = ["```", "~~~"].into_iter().find(|fence| shown.starts_with(fence));
            code = if fence.is_some() && fence == code { None } else { code.or(fence) };
            if !shown.is_empty() || code.is_some() {
                blocks.open.push_str(line);
            } else if line.ends_with('\n') {
                blocks.end();
            }
        }
        blocks
    }

    fn end(&mut self) {
        let block = std::mem::take(&mut self.open);
        self.whole.extend(Some(block.trim_end().to_owned()).filter(|block| !block.is_empty()));
    }

    fn all(mut self) -> Vec<String> {
        self.end();
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_printed_when_they_are_whole_and_code_stays_together() {
        let mut stream = StreamedAnswer::default();
        assert_eq!(stream.grows("One\ntwo"), None);
        let text = "One\ntwo\n\nThree\n\n```\na\n\nb\n";
        assert_eq!(stream.grows(text).as_deref(), Some("One\ntwo\n\nThree"));
        assert_eq!(stream.grows(text), None);
        let text = format!("{text}```\n\nend");
        assert_eq!(stream.grows(&text).as_deref(), Some("```\na\n\nb\n```"));
        assert_eq!(stream.ends(&text), Rest::More("end".into()));
        assert_eq!(stream.ends(&format!("{text}\n")), Rest::Nothing);
    }

    #[test]
    fn an_answer_that_loses_what_was_seen_of_it_is_printed_whole_and_once() {
        let mut stream = StreamedAnswer::default();
        let text = "Your HTML has a stray tag here:\n\n";
        assert_eq!(stream.grows(text).as_deref(), Some("Your HTML has a stray tag here:"));
        assert_eq!(stream.grows(&format!("{text}Line 3:\n")), None);
        assert_eq!(stream.grows("Fix"), None, "it is shorter than what was printed");
        assert_eq!(stream.grows("Fix it.\n\nThen go on.\n\n"), None, "nothing is printed into the wrong place");
        assert_eq!(stream.ends("Fix it."), Rest::Whole);
        assert_eq!(stream.ends("Fix it.\n"), Rest::Nothing);

        let mut stream = StreamedAnswer::default();
        assert!(stream.grows("One.\n\nThoughts.\n\nTwo.\n\n").is_some());
        assert_eq!(stream.ends("One.\n\nTwo."), Rest::Whole);
    }

    #[test]
    fn what_came_before_an_answer_broke_off_is_printed_once() {
        let mut stream = StreamedAnswer::default();
        assert_eq!(stream.grows("Ä.\n\nÖ").as_deref(), Some("Ä."));
        assert_eq!(stream.breaks_off().as_deref(), Some("Ö"));
        assert_eq!(stream.breaks_off(), None);
        assert!(stream.grows("One.\n\n").is_none());
        assert_eq!(stream.breaks_off(), None, "it is another text");
    }
}
