//! Which language a text is written in.

use whatlang::{Lang, Script, detect};

use super::links::without_links;
use super::verdict::{CheckResult, beginning};

/// Fewer letters than this say too little where languages share their letters.
const FEWEST_LETTERS: usize = 30;

/// Not in another language. Another language counts only if it is certain: by its letters (a Greek text is not English however short it
/// is; names in Latin letters are in texts of all languages, so those need 30 letters), or from 30 letters on if its words are reliably
/// detected. So a text that is too short, mixed or between two close languages passes; links and figures do not count. A language that
/// cannot be told apart from others fails, so that nobody relies on it.
pub(super) fn language(wanted: &str, text: &str) -> CheckResult {
    let Some(lang) = known(wanted) else {
        return CheckResult::failed(format!("The language \"{wanted}\" cannot be told apart from others; check it with a judge."), "");
    };
    let readable = without_links(text);
    let Some(info) = detect(&readable) else { return CheckResult::passed() };
    let found = info.lang();
    let foreign_letters = !scripts(lang).contains(&info.script());
    let is_long = readable.chars().filter(|c| c.is_alphabetic()).count() >= FEWEST_LETTERS;
    let is_certain = if foreign_letters { is_long || info.script() != Script::Latin } else { is_long && info.is_reliable() };
    if found == lang || is_near(found, lang) || !is_certain {
        return CheckResult::passed();
    }
    let feedback = format!("The text is not {} but {}.", lang.eng_name(), found.eng_name());
    CheckResult::failed(feedback, beginning(text))
}

/// The scripts a language is written in.
fn scripts(lang: Lang) -> Vec<Script> {
    let more: &[Script] = match lang {
        Lang::Jpn => &[Script::Mandarin],
        Lang::Srp => &[Script::Latin],
        _ => &[],
    };
    Script::all().iter().filter(|script| script.langs().contains(&lang)).chain(more).copied().collect()
}

/// Languages so close that one is taken for the other.
fn is_near(a: Lang, b: Lang) -> bool {
    let is_both = |one, other| (a, b) == (one, other) || (b, a) == (one, other);
    is_both(Lang::Nob, Lang::Dan) || is_both(Lang::Hrv, Lang::Srp) || is_both(Lang::Ces, Lang::Slk)
}

/// The language with these two letters (ISO 639-1), if it can be told from others.
fn known(letters: &str) -> Option<Lang> {
    let listed = CODES.split_whitespace().filter_map(|pair| pair.split_once('-'));
    listed.into_iter().find(|(two, _)| *two == letters).and_then(|(_, three)| Lang::from_code(three))
}

/// The two letters of a language by its English name.
pub(crate) fn letters_of(name: &str) -> Option<&'static str> {
    let lang = Lang::all().iter().find(|lang| lang.eng_name().eq_ignore_ascii_case(name))?;
    CODES.split_whitespace().filter_map(|pair| pair.split_once('-')).find(|(_, three)| *three == lang.code()).map(|(two, _)| two)
}

/// ISO 639-1 and 639-3 of the languages that can be told from others.
const CODES: &str = "af-afr ak-aka am-amh ar-ara az-aze be-bel bg-bul bn-ben ca-cat cs-ces cy-cym da-dan de-deu el-ell en-eng eo-epo \
es-spa et-est fa-pes fi-fin fr-fra gu-guj he-heb hi-hin hr-hrv hu-hun hy-hye id-ind it-ita ja-jpn jv-jav ka-kat km-khm kn-kan ko-kor \
la-lat lt-lit lv-lav mk-mkd ml-mal mr-mar my-mya nb-nob ne-nep nl-nld no-nob or-ori pa-pan pl-pol pt-por ro-ron ru-rus si-sin sk-slk \
sl-slv sn-sna sr-srp sv-swe ta-tam te-tel th-tha tk-tuk tl-tgl tr-tur uk-ukr ur-urd uz-uzb vi-vie yi-yid zh-cmn zu-zul";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_the_library_can_be_asked_for() {
        let asked: Vec<Lang> = CODES.split_whitespace().filter_map(|pair| known(pair.get(..2)?)).collect();
        assert_eq!(asked.len(), CODES.split_whitespace().count());
        assert!(Lang::all().iter().all(|lang| asked.contains(lang)), "{:?}", Lang::all().iter().filter(|l| !asked.contains(l)));
    }
}
