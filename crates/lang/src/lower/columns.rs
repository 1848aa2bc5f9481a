//! `columns` of a table: what the cells of a column are.

use chrono::format::{Item, StrftimeItems};
use chrono::{NaiveDate, NaiveDateTime};
use strum::VariantNames;

use super::context::{Lower, quoted};
use super::fields::kind_of;
use super::keys;
use super::owner::KeyOwner;
use super::reader::KeyReader;
use crate::diagnostic::Diagnostic;
use crate::model::{ColumnForm, ColumnKind, DataKind};
use crate::syntax::{MapKey, Node};

/// One column: a type, or `type` with how its cells are written.
pub fn column(lower: &Lower, of: DataKind, name: &MapKey, node: &Node) -> Option<(String, ColumnForm)> {
    let owner = KeyOwner::Named("column", name.text.clone());
    let form = if node.as_map().is_some() {
        let keys = KeyReader::new(lower, &owner, &[&keys::COLUMN], node)?;
        let kind = kind_of(lower, &owner, keys.get("type")?, ColumnKind::VARIANTS)?;
        let decimal = keys.word("decimal").and_then(|word| word.chars().next());
        let form = ColumnForm { kind, decimal, format: keys.sentence("format") };
        if !check_keys(&keys, &form) {
            return None;
        }
        form
    } else {
        ColumnForm::from(kind_of::<ColumnKind>(lower, &owner, node, ColumnKind::VARIANTS)?)
    };
    let is_of_notations = matches!(form.kind, ColumnKind::Amount | ColumnKind::Duration) || form.decimal.is_some() || form.format.is_some();
    if is_of_notations && !of.is_of_cells() && of != DataKind::default() {
        let message = format!("{owner} is of a database, whose values have types already");
        let help = "write text, number, integer, boolean, date or datetime, or compute the value in the query";
        lower.report(Diagnostic::bad_value(node.span, message).help(help));
    }
    Some((name.text.clone(), form))
}

/// `decimal` and `format` go with some types, and a format must tell all of a day or time. Whether the format does.
fn check_keys(keys: &KeyReader, form: &ColumnForm) -> bool {
    let fits = [
        ("decimal", matches!(form.kind, ColumnKind::Number | ColumnKind::Amount | ColumnKind::Duration), "number, amount and duration"),
        ("format", matches!(form.kind, ColumnKind::Date | ColumnKind::Datetime), "date and datetime"),
    ];
    for (key, _, kinds) in fits.into_iter().filter(|(key, fits, _)| !fits && keys.get(key).is_some()) {
        let message = format!("{} of {} is only for {kinds}", quoted(key), keys.owner);
        keys.lower.report(Diagnostic::bad_value(keys.key_span(key), message).help("remove it, or change the type"));
    }
    let Some(format) = form.format.as_deref().filter(|_| fits[1].1) else { return true };
    let is_read = StrftimeItems::new(format).all(|item| item != Item::Error) && tells_all(form.kind, format);
    if !is_read {
        let (what, example) = match form.kind {
            ColumnKind::Datetime => ("a day with its time", "%d.%m.%Y %H:%M"),
            _ => ("a day", "%d.%m.%Y"),
        };
        let message = format!("format {} of {} does not tell all of {what}", quoted(format), keys.owner);
        let span = keys.value_span("format");
        keys.lower.report(Diagnostic::bad_value(span, message).help(format!("write one such as \"{example}\": %d day, %m month, %Y year")));
    }
    is_read
}

/// Whether what the format writes of a time is read back as that time.
fn tells_all(kind: ColumnKind, format: &str) -> bool {
    let Some(time) = NaiveDate::from_ymd_opt(2026, 11, 18).and_then(|day| day.and_hms_opt(21, 30, 0)) else { return false };
    let mut written = String::new();
    let zoned = time.and_utc().fixed_offset();
    if std::fmt::Write::write_fmt(&mut written, format_args!("{}", zoned.format(format))).is_err() {
        return false;
    }
    match kind {
        ColumnKind::Datetime => {
            NaiveDateTime::parse_from_str(&written, format) == Ok(time) || chrono::DateTime::parse_from_str(&written, format) == Ok(zoned)
        }
        _ => NaiveDate::parse_from_str(&written, format) == Ok(time.date()),
    }
}
