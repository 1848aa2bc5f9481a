//! Conversion of values to and from DuckDB, with the same results as for SQLite rows: dates and times as text, whole numbers as whole numbers, lists
//! and structs as lists and objects.

use chrono::{DateTime, NaiveDate, TimeDelta};
use duckdb::arrow::datatypes::{DataType, Field};
use duckdb::types::{Decimal, TimeUnit, ToSql, ToSqlOutput, Value as Sql, ValueRef};
use serde_json::{Map, Number, Value};

use super::super::datum::Datum;
use super::super::query::{MOST_VALUE_BYTES, too_long};
use super::super::sentence::bad_request;
use crate::event::Failure;
use crate::model::FieldKind;

/// Up to 2^53, an f64 represents every whole number exactly.
const MOST_EXACT: i128 = 1 << 53;

/// Converts a value of `with`. Lists and objects become JSON text.
pub(super) fn to_sql(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(boolean) => Sql::Boolean(*boolean),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Sql::BigInt(whole),
            (None, Some(large)) => Sql::UBigInt(large),
            (None, None) => number.as_f64().map_or(Sql::Null, Sql::Double),
        },
        Value::String(text) => Sql::Text(text.clone()),
        list_or_object => Sql::Text(list_or_object.to_string()),
    }
}

impl ToSql for Datum<'_> {
    fn to_sql(&self) -> duckdb::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            // Such a table is not filled.
            Datum::Null | Datum::Unreadable { .. } => ValueRef::Null,
            Datum::Boolean(value) => ValueRef::Boolean(*value),
            Datum::Integer(value) => ValueRef::BigInt(*value),
            Datum::Number(value) => ValueRef::Double(*value),
            Datum::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// The type of a column. Fails with `bad_request` if its values cannot be represented as data.
pub(super) fn kind(field: &Field) -> Result<Option<FieldKind>, Failure> {
    if !is_known(field.data_type()) {
        let sentence = format!("DuckDB: the column \"{0}\" has a type that cannot be read. Write cast({0} as text) for it.", field.name());
        return Err(bad_request(sentence));
    }
    Ok(match field.data_type() {
        DataType::Boolean => Some(FieldKind::Boolean),
        DataType::Decimal128(_, 0) => Some(FieldKind::Integer),
        data_type if data_type.is_integer() => Some(FieldKind::Integer),
        data_type if data_type.is_floating() || data_type.is_decimal() => Some(FieldKind::Number),
        data_type if data_type.is_nested() && !matches!(data_type, DataType::Dictionary(..)) => None,
        DataType::Null => None,
        _ => Some(FieldKind::Text),
    })
}

/// Whether values of a type are converted to [`Sql`] without loss of meaning.
fn is_known(data_type: &DataType) -> bool {
    use duckdb::arrow::datatypes::{IntervalUnit, TimeUnit};
    match data_type {
        DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        DataType::FixedSizeBinary(_) | DataType::Float32 | DataType::Float64 | DataType::Decimal128(..) | DataType::Date32 => true,
        DataType::Timestamp(..) | DataType::Time64(TimeUnit::Microsecond) | DataType::Interval(IntervalUnit::MonthDayNano) => true,
        DataType::Dictionary(..) => true,
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => is_known(inner.data_type()),
        DataType::Map(inner, _) => is_known(inner.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_known(field.data_type())),
        other => other.is_integer(),
    }
}

/// Converts a value to JSON.
pub(super) fn to_json(value: Sql, data_type: &DataType) -> Value {
    match value {
        Sql::Null => Value::Null,
        Sql::Boolean(boolean) => Value::Bool(boolean),
        Sql::TinyInt(whole) => Value::from(whole),
        Sql::SmallInt(whole) => Value::from(whole),
        Sql::Int(whole) => Value::from(whole),
        Sql::BigInt(whole) => Value::from(whole),
        Sql::UTinyInt(whole) => Value::from(whole),
        Sql::USmallInt(whole) => Value::from(whole),
        Sql::UInt(whole) => Value::from(whole),
        Sql::UBigInt(whole) => Value::from(whole),
        Sql::HugeInt(whole) => i64::try_from(whole).map_or_else(|_| Value::from(whole.to_string()), Value::from),
        Sql::UHugeInt(whole) => u64::try_from(whole).map_or_else(|_| Value::from(whole.to_string()), Value::from),
        // Converted through its shortest text, so that 0.1 stays 0.1.
        Sql::Float(number) => number.to_string().parse().map_or(Value::Null, from_f64),
        Sql::Double(number) => from_f64(number),
        Sql::Decimal(decimal) => from_decimal(decimal),
        Sql::Timestamp(unit, count) => Value::from(timestamp(unit, count, matches!(data_type, DataType::Timestamp(_, Some(_))))),
        Sql::Date32(days) => Value::from(date(days)),
        Sql::Time64(unit, count) => Value::from(time(unit.to_micros(count))),
        Sql::Interval { months, days, nanos } => Value::from(interval(months, days, nanos / 1_000)),
        Sql::Text(text) | Sql::Enum(text) => Value::from(text),
        // JSON has no type for bytes, so they become hexadecimal digits.
        Sql::Blob(bytes) | Sql::Geometry(bytes) => Value::from(hex::encode(bytes)),
        Sql::List(values) | Sql::Array(values) => {
            let inner = element(data_type);
            values.into_iter().map(|value| to_json(value, inner)).collect()
        }
        Sql::Struct(fields) => {
            let types = struct_types(data_type);
            let entry = |(index, (name, value)): (usize, &(String, Sql))| {
                (name.clone(), to_json(value.clone(), types.get(index).copied().unwrap_or(&DataType::Null)))
            };
            Value::Object(fields.iter().enumerate().map(entry).collect())
        }
        Sql::Map(entries) => {
            let types = struct_types(element(data_type));
            let part = |value: &Sql, index: usize| to_json(value.clone(), types.get(index).copied().unwrap_or(&DataType::Null));
            let entry = |(key, value): &(Sql, Sql)| match part(key, 0) {
                Value::String(key) => (key, part(value, 1)),
                other => (other.to_string(), part(value, 1)),
            };
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        _ => Value::Null,
    }
}

/// The type of a list's elements.
fn element(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) | DataType::Map(inner, _) => {
            inner.data_type()
        }
        other => other,
    }
}

fn struct_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => vec![],
    }
}

fn from_f64(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// A number if it is exact, otherwise a text with all its digits.
fn from_decimal(decimal: Decimal) -> Value {
    if decimal.scale() == 0 {
        return i64::try_from(decimal.value()).map_or_else(|_| Value::from(decimal.to_string()), Value::from);
    }
    let text = decimal.to_string();
    match text.parse() {
        Ok(number) if decimal.value().abs() <= MOST_EXACT => from_f64(number),
        _ => Value::from(text),
    }
}

/// `2026-11-18`. The limits are `infinity` and `-infinity`, as in DuckDB.
fn date(days: i32) -> String {
    let epoch = NaiveDate::from_yo_opt(1970, 1).unwrap_or_default();
    match (days, epoch.checked_add_signed(TimeDelta::days(i64::from(days)))) {
        (i32::MAX, _) => "infinity".to_owned(),
        (_, Some(date)) => date.format("%Y-%m-%d").to_string(),
        (_, None) if days < 0 => "-infinity".to_owned(),
        (_, None) => days.to_string(),
    }
}

/// `2026-11-18 09:30:00`, as for Excel cells; with a time zone, `2026-11-18T09:30:00Z`.
fn timestamp(unit: TimeUnit, count: i64, has_zone: bool) -> String {
    if count == i64::MAX {
        return "infinity".to_owned();
    }
    let moment = match unit {
        TimeUnit::Second => DateTime::from_timestamp(count, 0),
        TimeUnit::Millisecond => DateTime::from_timestamp_millis(count),
        TimeUnit::Microsecond => DateTime::from_timestamp_micros(count),
        TimeUnit::Nanosecond => Some(DateTime::from_timestamp_nanos(count)),
    };
    match moment {
        Some(moment) if has_zone => moment.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string(),
        Some(moment) => moment.format("%Y-%m-%d %H:%M:%S%.f").to_string(),
        None if count < 0 => "-infinity".to_owned(),
        None => count.to_string(),
    }
}

/// `09:30:00`, with a fraction if there is one.
fn time(micros: i64) -> String {
    let (sign, micros) = if micros < 0 { ("-", micros.unsigned_abs()) } else { ("", micros.unsigned_abs()) };
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let clock = format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 { clock } else { format!("{clock}.{fraction:06}").trim_end_matches('0').to_owned() }
}

/// `1 month 2 days 03:00:00`.
fn interval(months: i32, days: i32, micros: i64) -> String {
    let counted = |count: i32, one: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {one}s")),
    };
    let clock = (micros != 0 || (months == 0 && days == 0)).then(|| time(micros));
    [counted(months, "month"), counted(days, "day"), clock].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The approximate size of a value in bytes. Fails with `too_large` if a single text is too long.
pub(super) fn checked_size(value: &Value) -> Result<usize, Failure> {
    match value {
        Value::String(text) if text.len() > MOST_VALUE_BYTES => Err(too_long()),
        Value::String(text) => Ok(text.len()),
        Value::Array(values) => values.iter().try_fold(0, |sum, value| Ok(sum + size_of::<Value>() + checked_size(value)?)),
        Value::Object(map) => map.iter().try_fold(0, |sum, (key, value)| Ok(sum + key.len() + size_of::<Value>() + checked_size(value)?)),
        _ => Ok(0),
    }
}
