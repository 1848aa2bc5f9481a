//! The functions a query may call.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// SQLite's functions without effects, by name in lower case. Missing on purpose: `load_extension`, `randomblob`, `zeroblob`
/// (memory), `fts3_tokenizer`, `sqlite_*`, `changes` and its kin.
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    // operators
    "->", "->>", "glob", "like", "likelihood", "likely", "unlikely",
    // values
    "abs", "ceil", "ceiling", "coalesce", "concat", "concat_ws", "exp", "floor", "format", "hex", "if", "ifnull", "iif", "instr",
    "length", "ln", "log", "log10", "log2", "lower", "ltrim", "max", "min", "mod", "nullif", "octet_length", "pi", "pow", "power",
    "printf", "quote", "random", "replace", "round", "rtrim", "sign", "soundex", "sqrt", "substr", "substring", "trim", "trunc", "typeof",
    "unicode", "char", "unhex", "unistr", "unistr_quote", "upper",
    // dates
    "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time", "timediff", "unixepoch",
    // aggregates and windows
    "avg", "count", "cume_dist", "dense_rank", "first_value", "group_concat", "lag", "last_value", "lead", "median", "nth_value", "ntile",
    "percent_rank", "percentile", "percentile_cont", "percentile_disc", "rank", "row_number", "string_agg", "sum", "total",
    // JSON
    "json", "json_array", "json_array_length", "json_each", "json_error_position", "json_extract", "json_group_array",
    "json_group_object", "json_insert", "json_object", "json_patch", "json_pretty", "json_quote", "json_remove", "json_replace",
    "json_set", "json_tree", "json_type", "json_valid",
];

/// Table-valued functions a query may read from.
pub(super) const TABLES: [&str; 2] = ["json_each", "json_tree"];

/// Whether a query may call it.
pub(super) fn is_allowed(function: &str) -> bool {
    ALLOWED.iter().any(|allowed| allowed.eq_ignore_ascii_case(function))
}

/// `lower` and `upper` for all letters: SQLite's own know only A–Z, so `lower('ÉVA')` would find nobody.
pub(super) fn add(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let changed = |change: fn(&str) -> String| {
        move |context: &rusqlite::functions::Context<'_>| -> rusqlite::Result<rusqlite::types::Value> {
            use rusqlite::types::{Value, ValueRef};
            Ok(match context.get_raw(0) {
                ValueRef::Text(text) => Value::Text(change(&String::from_utf8_lossy(text))),
                other => other.try_into()?,
            })
        }
    };
    connection.create_scalar_function("lower", 1, flags, changed(str::to_lowercase))?;
    connection.create_scalar_function("upper", 1, flags, changed(str::to_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_reach_outside_are_not_on_the_list() {
        for function in
            ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "randomblob", "zeroblob", "sqlite_version", "sqlite_log"]
        {
            assert!(!is_allowed(function), "{function}");
        }
        assert!(is_allowed("SUM") && is_allowed("sum"));
    }

    #[test]
    fn every_function_on_the_list_that_takes_one_value_exists_or_is_optional() {
        let connection = Connection::open_in_memory().unwrap();
        let known: Vec<String> = connection
            .prepare("SELECT DISTINCT lower(name) FROM pragma_function_list")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        // Part of some builds of SQLite only, or handled before functions are looked up, or a table.
        let optional = |name: &str| {
            TABLES.contains(&name)
                || ["ceil", "ceiling", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "sqrt", "trunc"]
                    .contains(&name)
                || name.starts_with("percentile")
                || name == "median"
        };
        for name in ALLOWED {
            assert!(known.iter().any(|function| function == name) || optional(name), "{name} is no function of SQLite");
        }
    }
}
