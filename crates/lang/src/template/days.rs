//! Days as people write them, and the form that orders: year, month, day.

use chrono::NaiveDate;

/// The names of the days, as `date("%A")` gives them.
pub(super) const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Whether a text is a day in that form.
pub(crate) fn is_day(text: &str) -> bool {
    text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// The days that a text of three numbers may mean: `16.11.2026`, `11/16/2026`. Two where either number may be the month, the day first;
/// before a point it always is the day, where that can be.
pub(crate) fn days_meant(text: &str) -> Vec<NaiveDate> {
    let numbers = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u32>().ok()).flatten();
    let Some(mark) = text.trim().chars().find(|c| !c.is_ascii_digit()).filter(|mark| matches!(mark, '.' | '/' | '-')) else {
        return vec![];
    };
    let parts: Vec<&str> = text.trim().split(mark).map(str::trim).collect();
    let [one, two, three] = parts[..] else { return vec![] };
    let day =
        |year: &str, month: &str, day: &str| NaiveDate::from_ymd_opt(i32::try_from(numbers(year)?).ok()?, numbers(month)?, numbers(day)?);
    if one.len() == 4 {
        return day(one, two, three).into_iter().collect();
    }
    if three.len() != 4 || one.len() > 2 || two.len() > 2 {
        return vec![];
    }
    let (day_first, month_first) = (day(three, two, one), day(three, one, two));
    match (day_first, month_first) {
        (Some(first), _) if mark == '.' || one == two => vec![first],
        (first, other) => first.into_iter().chain(other).collect(),
    }
}

/// What to write in place of a day of another form, in these quotes.
pub(crate) fn help_for_day(text: &str, quote: char) -> Option<String> {
    let shown = |day: &NaiveDate| format!("{quote}{}{quote}", day.format("%Y-%m-%d"));
    match days_meant(text)[..] {
        [day] => Some(format!("write {}: year, month, day", shown(&day))),
        [day_first, month_first] => Some(format!(
            "write {} if {} is meant, {} if {} is: year, month, day",
            shown(&day_first),
            day_first.format("%-d %B"),
            shown(&month_first),
            month_first.format("%-d %B")
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_with_the_month_where_it_can_be() {
        for (text, help) in [
            ("16.11.2026", Some("write '2026-11-16': year, month, day")),
            ("1.2.2026", Some("write '2026-02-01': year, month, day")),
            ("11.16.2026", Some("write '2026-11-16': year, month, day")),
            ("12/31/2026", Some("write '2026-12-31': year, month, day")),
            ("2026/11/16", Some("write '2026-11-16': year, month, day")),
            ("11/01/2026", Some("write '2026-01-11' if 11 January is meant, '2026-11-01' if 1 November is: year, month, day")),
            ("11/11/2026", Some("write '2026-11-11': year, month, day")),
            ("31/31/2026", None),
            ("16.11.26", None),
            ("1.2.3.2026", None),
            ("today", None),
        ] {
            assert_eq!(help_for_day(text, '\'').as_deref(), help, "{text}");
        }
    }
}
