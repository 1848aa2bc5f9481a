//! Names of weekdays, as figures are beside them: English, German, French, Spanish, Italian; and which days there are.

/// Weekdays with their short forms.
pub(super) const WEEKDAYS: &str = "monday|mon|montag|mo|lundi|lunes|lunedì|tuesday|tues|tue|dienstag|di|mardi|martes|martedì|wednesday|wed|\
mittwoch|mi|mercredi|miércoles|mercoledì|thursday|thurs|thur|thu|donnerstag|do|jeudi|jueves|giovedì|friday|fri|freitag|fr|vendredi|viernes|\
venerdì|saturday|sat|samstag|sa|samedi|sábado|sabato|sunday|sun|sonntag|so|dimanche|domingo|domenica";

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
