//! Names of months and weekdays, as figures are beside them: English, German, French, Spanish, Italian.

/// Months in small letters with their short forms, the twelve parted by `;`.
const MONTHS: &str = "january|jan|januar|jänner|janvier|janv|enero|ene|gennaio|gen;\
february|feb|februar|février|févr|fév|febrero|febbraio|febb;\
march|mar|märz|mär|mrz|mars|marzo;\
april|apr|avril|avr|abril|abr|aprile;\
may|mai|mayo|maggio|mag;\
june|jun|juni|juin|junio|giugno|giu;\
july|jul|juli|juillet|juil|julio|luglio|lug;\
august|aug|août|aout|agosto|ago;\
september|sept|sep|septembre|septiembre|settembre|set;\
october|oct|oktober|okt|octobre|octubre|ottobre|ott;\
november|nov|novembre|noviembre;\
december|dec|dezember|dez|décembre|déc|diciembre|dic|dicembre";

/// Weekdays with their short forms.
pub(super) const WEEKDAYS: &str = "monday|mon|montag|mo|lundi|lunes|lunedì|tuesday|tues|tue|dienstag|di|mardi|martes|martedì|wednesday|wed|\
mittwoch|mi|mercredi|miércoles|mercoledì|thursday|thurs|thur|thu|donnerstag|do|jeudi|jueves|giovedì|friday|fri|freitag|fr|vendredi|viernes|\
venerdì|saturday|sat|samstag|sa|samedi|sábado|sabato|sunday|sun|sonntag|so|dimanche|domingo|domenica";

/// All names of months, as the alternatives of a pattern.
pub(super) fn months() -> String {
    MONTHS.replace(';', "|")
}

/// The number of a month by its name, in any case.
pub(super) fn month(name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    let at = MONTHS.split(';').position(|month| month.split('|').any(|known| known == name))?;
    u32::try_from(at + 1).ok()
}

/// Whether there can be such a day in some year.
pub(super) fn is_day(month: u32, day: u32) -> bool {
    let longest = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=longest).contains(&day)
}
