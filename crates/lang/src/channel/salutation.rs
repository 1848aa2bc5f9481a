//! Greetings and closings that a writer put into a text, in the languages of most letters.

use unicode_segmentation::UnicodeSegmentation;

/// Words that open a letter or a message.
const OPENINGS: [&str; 54] = [
    "hello", "hi", "hey", "dear", "greetings", "good morning", "good afternoon", "good evening", "good day", "hallo", "guten tag",
    "guten morgen", "guten abend", "grüß gott", "grüezi", "moin", "servus", "liebe", "lieber", "sehr geehrte", "sehr geehrter", "bonjour",
    "bonsoir", "salut", "cher", "chère", "hola", "buenos días", "buenas tardes", "estimado", "estimada", "ciao", "buongiorno", "buonasera",
    "gentile", "olá", "bom dia", "boa tarde", "prezado", "prezada", "hoi", "geachte", "goedemorgen", "goedemiddag", "goedenavond", "hej",
    "hejsan", "hei", "god morgen", "god morgon", "cześć", "dzień dobry", "merhaba", "привет",
];

/// Words that close a letter.
const CLOSINGS: [&str; 50] = [
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
    "met vriendelijke groet",
    "met vriendelijke groeten",
    "groetjes",
    "med vänlig hälsning",
    "med vänliga hälsningar",
    "med venlig hilsen",
    "vennlig hilsen",
    "pozdrawiam",
    "saygılarımla",
    "с уважением",
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
    let opened = OPENINGS.iter().find_map(|opening| {
        let opening: Vec<&str> = opening.split(' ').collect();
        starts_with(&words, &opening).then_some(opening.len())
    })?;
    let mut parts = line.split_whitespace().skip(opened);
    // `Hi-Fi` greets nobody.
    let is_alone = line.split_whitespace().take(opened).all(|part| part.chars().all(char::is_alphabetic));
    let is_short = words.len() <= opened + NAME && line.split_whitespace().count() <= opened + NAME;
    let is_name = parts.clone().all(begins_large) && !line.trim_end().ends_with('.');
    let is_set_apart = match text[line.len()..].chars().next() {
        Some(',' | '!') => !parts.any(|part| part.contains(|c: char| c.is_ascii_digit())),
        _ => is_name,
    };
    (is_alone && is_short && is_set_apart).then_some(line.trim())
}

/// Whether a word may be of a name.
fn begins_large(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase())
}

/// The closing at the end of a text: one of the usual words on a line of its own, alone or before a name.
pub(crate) fn closing(text: &str) -> Option<&str> {
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.next()?;
    let closes = |line: &str, is_named: bool| {
        let words = words_of(line);
        CLOSINGS.iter().filter(|closing| is_named || !SENTENCES.contains(closing)).any(|closing| {
            let closing: Vec<&str> = closing.split(' ').collect();
            let rest = words.len().saturating_sub(closing.len());
            let is_name = || line.split_whitespace().skip(closing.len()).all(begins_large) && !line.ends_with('.');
            starts_with(&words, &closing) && (rest == 0 || rest <= NAME && follows_a_comma(line, closing.len()) && is_name())
        })
    };
    if closes(last, false) {
        return Some(last);
    }
    let is_name = last.split_whitespace().count() <= NAME && begins_large(last) && !last.contains(|c: char| c.is_ascii_digit());
    lines.next().filter(|before| is_name && !last.ends_with(['.', '?', ':']) && closes(before, true))
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
            "Hoi Ana,\nJe hebt 32 uur.",
            "Привет! У вас 32 часа.",
        ] {
            assert!(opening(text).is_some(), "{text}");
        }
        let none = [
            "Hi-Fi sets cost 5 EUR.",
            "Dear customers get 5 % off.\n",
            "Estimado total: 5 EUR",
            "Hallo is a word.\n\nAcme",
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
            "32 uur.\n\nMet vriendelijke groet,\nAna",
            "32 godzin.\n\nPozdrawiam\nAna",
            "32 hours.\n\nThanks,\nBob",
        ];
        for text in closed {
            assert!(closing(text).is_some(), "{text}");
        }
        for text in [
            "Best\n5 hours",
            "Respectfully, 5 hours is too little.",
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
