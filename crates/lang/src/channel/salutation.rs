//! Greetings and closings that a writer put into a text, in the languages of most letters.

use unicode_segmentation::UnicodeSegmentation;

/// Words that open a letter or a message.
const OPENINGS: [&str; 40] = [
    "hello", "hi", "hey", "dear", "greetings", "good morning", "good afternoon", "good evening", "good day", "hallo", "guten tag",
    "guten morgen", "guten abend", "grüß gott", "grüezi", "moin", "servus", "liebe", "lieber", "sehr geehrte", "sehr geehrter", "bonjour",
    "bonsoir", "salut", "cher", "chère", "hola", "buenos días", "buenas tardes", "estimado", "estimada", "ciao", "buongiorno", "buonasera",
    "gentile", "olá", "bom dia", "boa tarde", "prezado", "prezada",
];

/// Words that close a letter.
const CLOSINGS: [&str; 40] = [
    "best",
    "best regards",
    "kind regards",
    "kindest regards",
    "warm regards",
    "warmest regards",
    "regards",
    "with best regards",
    "with kind regards",
    "sincerely",
    "yours sincerely",
    "yours truly",
    "yours faithfully",
    "sincerely yours",
    "respectfully",
    "best wishes",
    "warm wishes",
    "all the best",
    "cheers",
    "thanks",
    "many thanks",
    "thank you",
    "take care",
    "mit freundlichen grüßen",
    "mit freundlichem gruß",
    "mit besten grüßen",
    "freundliche grüße",
    "viele grüße",
    "beste grüße",
    "liebe grüße",
    "herzliche grüße",
    "mfg",
    "cordialement",
    "bien à vous",
    "bien cordialement",
    "saludos",
    "un saludo",
    "atentamente",
    "cordiali saluti",
    "atenciosamente",
];

/// Closings that are a sentence of their own where no name follows.
const SENTENCES: [&str; 6] = ["thanks", "many thanks", "thank you", "take care", "cheers", "best"];

/// Most words of a name, with titles: `Dr. Ana Maria da Silva`.
const NAME: usize = 5;

/// The greeting that a text opens with: one of the usual words, and at most a name before the next comma, mark or line.
pub(crate) fn opening(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let line = text.split(['\n', ',', '!', ':']).next().unwrap_or_default();
    let words = words_of(line);
    let opens = OPENINGS.iter().any(|opening| {
        let opening: Vec<&str> = opening.split(' ').collect();
        words.len() <= opening.len() + NAME && starts_with(&words, &opening)
    });
    // A line that goes on without a comma is a sentence: "Best is Monday", "Dear prices keep them away".
    let is_set_apart = line.len() == text.len() && !line.trim_end().ends_with('.') || text[line.len()..].starts_with(['\n', ',', '!', ':']);
    (opens && is_set_apart).then_some(line.trim())
}

/// The closing at the end of a text: one of the usual words on a line of its own, alone or before a name.
pub(crate) fn closing(text: &str) -> Option<&str> {
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.next()?;
    let name = words_of(last);
    let closes = |line: &str, is_named: bool| {
        let words = words_of(line);
        CLOSINGS.iter().filter(|closing| is_named || !SENTENCES.contains(closing)).any(|closing| {
            let closing: Vec<&str> = closing.split(' ').collect();
            let rest = words.len().saturating_sub(closing.len());
            starts_with(&words, &closing) && (rest == 0 || rest <= NAME && follows_a_comma(line, closing.len()))
        })
    };
    if closes(last, false) {
        return Some(last);
    }
    lines.next().filter(|before| name.len() <= NAME && !last.ends_with(['.', '?', ':']) && closes(before, true))
}

/// Whether a comma stands right behind so many words.
fn follows_a_comma(line: &str, words: usize) -> bool {
    let end = line.unicode_word_indices().nth(words - 1).map_or(0, |(at, word)| at + word.len());
    line[end..].starts_with(',')
}

fn starts_with(words: &[String], wanted: &[&str]) -> bool {
    words.len() >= wanted.len() && words.iter().zip(wanted).all(|(word, wanted)| word == wanted)
}

fn words_of(line: &str) -> Vec<String> {
    line.unicode_words().map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_stands_at_the_start_and_apart() {
        for text in [
            "Dear Ana,\n\nYou have 32 hours.",
            "Good morning! You have 32 hours.",
            "Sehr geehrte Frau Dr. Maier, …",
            "Hola Ana\nTienes 32 horas.",
        ] {
            assert!(opening(text).is_some(), "{text}");
        }
        let none = [
            "Dear prices keep people away.",
            "You have 32 hours. Hi!",
            "Good morning hours are from 9 to 12.",
            "Liebe ist alles.",
            "Best of all, it is free.",
        ];
        for text in none {
            assert_eq!(opening(text), None, "{text}");
        }
    }

    #[test]
    fn a_closing_stands_at_the_end_on_its_own_line() {
        let closed = [
            "You have 32 hours.\n\nBest regards,\nEleanor",
            "You have 32 hours.\nKind regards",
            "32 hours.\n\nCheers,\nThe Acme team",
            "32 Stunden.\n\nViele Grüße, Ana",
            "32 hours.\n\nThanks,\nBob",
        ];
        for text in closed {
            assert!(closing(text).is_some(), "{text}");
        }
        for text in [
            "You have 32 hours. Thanks!",
            "You have 32 hours.\nThank you!",
            "Best day: Monday",
            "Give my best regards to Ana.",
            "Best,\nMonday was the longest day of all, with 9 hours.",
        ] {
            assert_eq!(closing(text), None, "{text}");
        }
    }
}
