//! F223: days and times of a query that are none to SQLite, or are compared with what they never are.

use super::dialects::RUN_DAY;
use super::query_operands::{CompareSign, Operand, QueryWalk, unquoted, values, within};
use super::query_view::QueryView;
use crate::diagnostic::did_you_mean;
use crate::model::CellForm;
use crate::sql::{Name, QueryNode};
use crate::template::types::Type;
use crate::template::{help_for_day, is_day};

/// Functions whose modifiers stand behind the time.
const TIMES: [&str; 5] = ["date", "time", "datetime", "julianday", "unixepoch"];
/// Words that are the clock of the machine.
const CLOCKS: [&str; 3] = ["current_date", "current_time", "current_timestamp"];
/// Words that a modifier may be.
#[rustfmt::skip]
const MODIFIERS: [&str; 13] = [
    "start of day", "start of month", "start of year", "unixepoch", "julianday", "auto", "localtime", "utc", "subsec", "subsecond", "ceiling",
    "floor", "now",
];
/// What a modifier counts.
const UNITS: [&str; 6] = ["second", "minute", "hour", "day", "month", "year"];

/// What begins at a place: a date without quotes, a date that is calculated with, a function of dates.
pub(in crate::rules) fn at(view: &mut QueryView, nodes: &[QueryNode], at: usize) {
    if let Some((day, end)) = bare_day(nodes, at) {
        let message = "without quotes this is a subtraction, and no day";
        return view.say((day, end), message, format!("write '{}'", view.written((day, end)).replace(' ', "")));
    }
    let walk = QueryWalk(nodes);
    clock(view, walk, at);
    match walk.operand(at) {
        Some((Operand::Call(name, inner), _)) if name.is("cast") => cast(view, name, inner),
        Some((Operand::Call(name, inner), _)) if name.is("strftime") => {
            let given: Vec<&[QueryNode]> = inner.split(|node| *node == QueryNode::Mark(',')).collect();
            strftime(view, &given);
            given.iter().skip(2).for_each(|modifier| modifier_is_known(view, modifier));
        }
        Some((Operand::Call(name, inner), _)) if TIMES.iter().any(|time| name.is(time)) => {
            let given: Vec<&[QueryNode]> = inner.split(|node| *node == QueryNode::Mark(',')).collect();
            if let Some([QueryNode::Value(day)]) = given.first() {
                no_day(view, *day);
            }
            given.iter().skip(1).for_each(|modifier| modifier_is_known(view, modifier));
        }
        Some((operand, next)) => moved(view, nodes, at, &operand, next),
        None => {}
    }
}

/// `date('now')`, `current_date`: the clock of the machine, which is none of the run's.
fn clock(view: &mut QueryView, walk: QueryWalk, at: usize) {
    let (place, is_day) = match (walk.operand(at), walk.0.get(at)) {
        (Some((Operand::Call(name, inner), _)), _) if name.is("strftime") || TIMES.iter().any(|time| name.is(time)) => {
            let is_now = |text: &str| unquoted(text).is_some_and(|text| text.eq_ignore_ascii_case("now"));
            let found = inner
                .iter()
                .find_map(|node| if let QueryNode::Value(value) = node { Some(*value) } else { None }.filter(|v| is_now(v.text)));
            let Some(now) = found else { return };
            (now, name.is("date"))
        }
        (Some((Operand::Column(name), _)), Some(QueryNode::Word(_))) if CLOCKS.iter().any(|clock| name.is(clock)) => {
            (name, name.is("current_date"))
        }
        _ => return,
    };
    if view.columns.iter().any(|column| column.eq_ignore_ascii_case(place.text)) {
        return;
    }
    let value = if is_day { RUN_DAY } else { "{{ run.now }}" };
    let message = format!("{} is the clock of this machine in UTC: the time zone of the run and --now do not change it", place.text);
    view.say(within(place), &message, format!("write {value} in place of {}", place.text));
}

/// `2026-11-16`: where it begins and ends.
fn bare_day(nodes: &[QueryNode], at: usize) -> Option<(usize, usize)> {
    let [QueryNode::Value(year), QueryNode::Mark('-'), QueryNode::Value(month), QueryNode::Mark('-'), QueryNode::Value(day), ..] =
        nodes.get(at..)?
    else {
        return None;
    };
    let is = |part: &Name, length: usize| part.text.len() == length && part.text.bytes().all(|byte| byte.is_ascii_digit());
    (is(year, 4) && is(month, 2) && is(day, 2)).then(|| (year.start, day.start + day.text.len()))
}

/// `cast(day as date)`: a number, the year.
fn cast(view: &mut QueryView, name: Name, inner: &[QueryNode]) {
    let [value @ .., QueryNode::Word(as_word), QueryNode::Word(kind)] = inner else { return };
    let function = match () {
        () if kind.is("date") => "date",
        () if kind.is("datetime") || kind.is("timestamp") => "datetime",
        () => return,
    };
    let start = view.query.text.get(name.start..as_word.start).and_then(|text| text.find('(')).map(|at| name.start + at + 1);
    let (Some(start), true) = (start, as_word.is("as") && !value.is_empty()) else { return };
    let value = view.written((start, as_word.start));
    let message = format!("SQLite has no type {}: this is the number that the text begins with", kind.text.to_lowercase());
    view.say((name.start, kind.start + kind.text.len()), &message, format!("write {function}({})", value.trim()));
}

/// The format of `strftime`, and where it stands.
fn strftime(view: &mut QueryView, given: &[&[QueryNode]]) {
    let Some([QueryNode::Value(first)]) = given.first() else {
        // `strftime(day, '%Y')`
        if let (Some([QueryNode::Word(time)]), Some([QueryNode::Value(format)])) = (given.first(), given.get(1))
            && format.text.contains('%')
        {
            let help = format!("write strftime({}, {})", format.text, time.text);
            view.say(within(*time), "strftime takes the format first", help);
        }
        return;
    };
    let Some(format) = unquoted(first.text) else { return };
    if !format.contains('%') {
        let letters = [
            ("YYYY", "%Y"),
            ("yyyy", "%Y"),
            ("MM", "%m"),
            ("DD", "%d"),
            ("dd", "%d"),
            ("HH", "%H"),
            ("hh", "%H"),
            ("mm", "%M"),
            ("ss", "%S"),
        ];
        let meant = letters.iter().fold(format.to_owned(), |format, (other, ours)| format.replace(other, ours));
        if meant.contains('%') {
            view.say(within(*first), "the format of strftime has no \"%\", so it gives itself", format!("write '{meant}'"));
        }
        return;
    }
    // Minutes beside a year or a day, months beside hours.
    let (is_day, is_time) = (["%Y", "%d", "%m"].map(|part| format.contains(part)), ["%H", "%S"].map(|part| format.contains(part)));
    if format.contains("%M") && !is_time.contains(&true) && (is_day[0] || is_day[1]) && !is_day[2] {
        let help = format!("write '{}'", format.replace("%M", "%m"));
        view.say(within(*first), "%M is the minute, and there is no hour beside it; the month is %m", help);
    } else if (format.contains("%H:%m") || format.contains("%m:%S")) && !format.contains("%M") {
        let help = format!("write '{}'", format.replace("%H:%m", "%H:%M").replace("%m:%S", "%M:%S"));
        view.say(within(*first), "%m is the month; the minute is %M", help);
    }
}

/// A text that looks like a day and is none.
fn no_day(view: &mut QueryView, day: Name) {
    let Some(text) = unquoted(day.text) else { return };
    let is_of_numbers =
        text.len() >= 8 && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | '/')) && text.contains(['-', '.', '/']);
    // `2461000.5` is a Julian day.
    if is_of_numbers && !is_day(text) && text.parse::<f64>().is_err() {
        let help = help_for_day(text, '\'').unwrap_or_else(|| "write a day as '2026-11-18': year, month, day".to_owned());
        view.say(within(day), "this is no day to SQLite, so it gives nothing", help);
    }
}

/// A modifier that SQLite does not know: the whole is null.
fn modifier_is_known(view: &mut QueryView, modifier: &[QueryNode]) {
    let [QueryNode::Value(written)] = modifier else { return };
    let Some(text) = unquoted(written.text).map(|text| text.trim().to_lowercase()) else { return };
    let number = text.trim_start_matches(['+', '-']);
    let digits = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let (amount, unit) = number.split_at(digits);
    let unit = unit.trim();
    // `+02:00`, `+0001-02-03`.
    let is_clock = unit.starts_with(':') || unit.starts_with('-');
    let is_unit = |unit: &str| UNITS.contains(&unit.strip_suffix('s').unwrap_or(unit));
    let is_known = match amount {
        "" => {
            MODIFIERS.contains(&text.as_str())
                || text.strip_prefix("weekday ").is_some_and(|day| matches!(day.trim(), "0" | "1" | "2" | "3" | "4" | "5" | "6"))
        }
        _ => is_clock || is_unit(unit),
    };
    if is_known || text.is_empty() {
        return;
    }
    let sign = &text[..text.len() - number.len()];
    let first = unit.split_whitespace().next().unwrap_or_default();
    let near = did_you_mean(first, UNITS);
    let help = match (amount, first.strip_suffix('s').unwrap_or(first)) {
        ("", _) if text == "start of week" => "write 'weekday 0', '-6 days' for the Monday of the week".to_owned(),
        ("", _) if text == "end of month" => "write 'start of month', '+1 month', '-1 day'".to_owned(),
        ("", _) => "write one as '-7 days', '+1 month' or 'start of month'".to_owned(),
        (amount, "") => format!("write '{sign}{amount} days' if days are meant"),
        (amount, "week") => match amount.parse::<u32>() {
            Ok(weeks) => format!("write '{sign}{} days'", weeks.saturating_mul(7)),
            Err(_) => "write the number of days, as in '-7 days'".to_owned(),
        },
        (amount, "quarter") => match amount.parse::<u32>() {
            Ok(quarters) => format!("write '{sign}{} months'", quarters.saturating_mul(3)),
            Err(_) => "write the number of months, as in '-3 months'".to_owned(),
        },
        (amount, known) if is_unit(known) => format!("write '{sign}{amount} {known}s'"),
        (amount, _) => match near.names.first() {
            Some(unit) => format!("write '{sign}{amount} {unit}s'"),
            None => "write one as '-7 days', '+1 month' or 'start of month'".to_owned(),
        },
    };
    let message = format!("SQLite does not know {} here, so the whole is empty", written.text);
    view.say(within(*written), &message, help);
}

/// `{{ run.today }} - 7`, `day - '2026-11-01'`: a text counts as the number that it begins with, the year.
fn moved(view: &mut QueryView, nodes: &[QueryNode], at: usize, operand: &Operand, next: usize) {
    let Some(QueryNode::Mark(mark @ ('-' | '+'))) = nodes.get(next) else { return };
    if at.checked_sub(1).is_some_and(|before| matches!(nodes[before], QueryNode::Mark('-' | '+' | '*' | '/' | '|'))) {
        return;
    }
    let Some((other, behind)) = QueryWalk(nodes).operand(next + 1) else { return };
    let is_day = |view: &QueryView, operand: &Operand| match operand {
        Operand::Place(place) => view.given(*place).is_some_and(|(kind, _)| kind == Type::Date),
        Operand::Text(text) => unquoted(text.text).is_some_and(is_day),
        Operand::Call(name, _) => name.is("date") || name.is("datetime"),
        operand => view.form(operand) == Some(CellForm::Day),
    };
    let (Some(start), Some(end)) = (start_of(nodes, at), end_of(view, nodes, behind)) else { return };
    let Some(middle) = end_of(view, nodes, next) else { return };
    if !is_day(view, operand) {
        return;
    }
    let first = view.written((start, middle));
    let message = "a day counts here as the number that it begins with, the year";
    match other {
        Operand::Number(number)
            if number.text.len() <= 4 && !nodes.get(behind).is_some_and(|node| node.is_one_of(&["day", "days", "month", "year"])) =>
        {
            view.say((start, end), message, format!("write date({first}, '{mark}{} days')", number.text));
        }
        other if *mark == '-' && is_day(view, &other) => {
            let second = view.query.text.get(middle..end).and_then(|text| text.find('-')).map_or(middle, |minus| middle + minus + 1);
            let second = view.written((second, end));
            view.say((start, end), message, format!("write julianday({first}) - julianday({})", second.trim()));
        }
        _ => {}
    }
}

/// Where a piece begins in the query.
fn start_of(nodes: &[QueryNode], at: usize) -> Option<usize> {
    match nodes.get(at)? {
        QueryNode::Word(name) | QueryNode::Value(name) | QueryNode::Place(name) => Some(name.start),
        QueryNode::Quoted(name) => Some(name.start - 1),
        QueryNode::Group(..) | QueryNode::Mark(_) => None,
    }
}

/// Where the piece before a place ends in the query.
fn end_of(view: &QueryView, nodes: &[QueryNode], behind: usize) -> Option<usize> {
    match nodes.get(behind.checked_sub(1)?)? {
        QueryNode::Word(name) | QueryNode::Value(name) | QueryNode::Place(name) => Some(name.start + name.text.len()),
        QueryNode::Quoted(name) => Some(name.start + name.text.len() + 1),
        QueryNode::Group('(', inner) => {
            let last = if inner.is_empty() { start_of(nodes, behind.checked_sub(2)?)? } else { end_of(view, inner, inner.len())? };
            let rest = view.query.text.get(last..)?;
            rest.find(')').map(|at| last + at + 1)
        }
        QueryNode::Group(..) | QueryNode::Mark(_) => None,
    }
}

/// What a day, or a part of one, is compared with.
pub(in crate::rules) fn compared(view: &mut QueryView, side: &Operand, sign: CompareSign, other: &Operand) {
    if let Operand::Call(name, inner) = side
        && name.is("strftime")
        && let Some(QueryNode::Value(format)) = inner.first()
    {
        return part_of_day(view, *format, inner, sign, other);
    }
    match view.form(side) {
        Some(CellForm::Day) => with_days(view, side, sign, other),
        Some(CellForm::DayFirst) => with_days_first(view, side, sign, other),
        Some(CellForm::TrueFalse | CellForm::Words | CellForm::Codes) | None => {}
    }
}

/// `strftime('%m', day) = 11`: what it gives is a text.
fn part_of_day(view: &mut QueryView, format: Name, inner: &[QueryNode], sign: CompareSign, other: &Operand) {
    let Some(width) = unquoted(format.text).and_then(|format| match format {
        "%m" | "%d" | "%H" | "%M" | "%S" | "%W" | "%U" => Some(2),
        "%j" => Some(3),
        "%Y" => Some(4),
        "%w" | "%u" => Some(1),
        _ => None,
    }) else {
        return;
    };
    let message = format!("strftime gives a text of {width} {}", if width == 1 { "digit" } else { "digits" });
    for value in values(other) {
        let (text, is_text) = unquoted(value.text).map_or((value.text, false), |text| (text, true));
        let is_digits = !text.is_empty() && text.len() <= width && text.bytes().all(|byte| byte.is_ascii_digit());
        // Of a year two digits say too little.
        if is_digits && (width < 4 || text.len() == width) && (!is_text || text.len() < width) {
            view.say(within(value), &format!("{message}, and is never {}", value.text), format!("write '{text:0>width$}'"));
        }
    }
    if let (Operand::Place(place), CompareSign::Equal(_) | CompareSign::Order(_)) = (other, sign)
        && view.given(*place).is_some_and(|(kind, _)| kind.is_number())
        && let Some(end) = end_of(view, inner, inner.len())
    {
        let (given, written) = (view.written(within(*place)), view.written((format.start, end)));
        let help = format!("write cast(strftime({written}) as integer) in place of strftime({written})");
        view.say(within(*place), &format!("{message}, and {given} is a number"), help);
    }
}

/// A column of days such as `2026-11-18`.
fn with_days(view: &mut QueryView, side: &Operand, sign: CompareSign, other: &Operand) {
    let Operand::Column(column) = side else { return };
    for value in values(other) {
        let holds = format!("{} holds days such as 2026-11-18", column.text);
        match unquoted(value.text) {
            // With `<` and its kin a day that is written first is told of any column.
            Some(text)
                if matches!(sign, CompareSign::Order(_) | CompareSign::Between)
                    && text.split(['.', '/', '-']).next().is_some_and(|first| first.len() < 3) => {}
            Some(text) => {
                if let Some(help) = help_for_day(text, '\'').or_else(|| exchanged(text)).filter(|_| !is_day(text)) {
                    view.say(within(value), &format!("{holds}, and none is written as {}", value.text), help);
                }
            }
            None => {
                let digits = value.text;
                let help = match (digits.len(), sign) {
                    (8, _) => Some(format!("write '{}-{}-{}'", &digits[..4], &digits[4..6], &digits[6..])),
                    (4, CompareSign::Order(_)) => Some(format!("write '{digits}'")),
                    (4, CompareSign::Equal(_)) => Some(format!("write strftime('%Y', {}) in place of {0}, and '{digits}'", column.text)),
                    _ => None,
                };
                if let Some(help) = help.filter(|_| digits.is_ascii()) {
                    view.say(within(value), &format!("{holds}, which are texts, and this is a number"), help);
                }
            }
        }
    }
    let Operand::Place(place) = other else { return };
    let Some(written) = view.given(*place).map(|(_, written)| written.trim_matches(['{', '}', ' ', '-']).to_owned()) else { return };
    if let Some((moment, format)) = written.split_once("| date(")
        && let Some(format) = format.strip_suffix(')').map(|format| format.trim_matches(['\'', '"']))
        && ["%d", "%-d", "%m", "%-m", "%e"].iter().any(|first| format.starts_with(first))
        && format.contains("%Y")
    {
        let message = format!("{} holds days such as 2026-11-18, and this gives them in the form {format}", column.text);
        view.say(within(*place), &message, format!("write {{{{ {} }}}}", moment.trim()));
    } else if matches!(sign, CompareSign::Equal(_)) && written == "run.now" {
        let message = format!("{} holds days such as 2026-11-18, and run.now is a time", column.text);
        view.say(within(*place), &message, "write {{ run.today }}".to_owned());
    }
}

/// A day whose month and day are exchanged.
fn exchanged(text: &str) -> Option<String> {
    let [year, day, month] = text.split('-').collect::<Vec<_>>()[..] else { return None };
    let meant = format!("{year}-{month}-{day}");
    is_day(&meant).then(|| format!("write '{meant}': year, month, day"))
}

/// A column of days such as `18.11.2026`, which have no order as texts.
fn with_days_first(view: &mut QueryView, side: &Operand, sign: CompareSign, other: &Operand) {
    let Operand::Column(column) = side else { return };
    let is_day = match other {
        Operand::Place(place) => view.given(*place).is_some_and(|(kind, _)| kind == Type::Date),
        other => values(other).iter().any(|value| unquoted(value.text).is_some_and(is_day)),
    };
    if is_day && !matches!(sign, CompareSign::In) {
        let name = column.text;
        let message = format!("{name} holds days such as 18.11.2026, which are compared letter by letter");
        let help = format!("write (substr({name}, 7) || '-' || substr({name}, 4, 2) || '-' || substr({name}, 1, 2)) in place of {name}");
        view.say(within(*column), &message, help);
    }
}
