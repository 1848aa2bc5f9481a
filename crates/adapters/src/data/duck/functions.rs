//! The functions that a DuckDB query may call.

/// DuckDB's functions without side effects, in lower case; operators are functions too. Deliberately missing: functions that read files, settings or
/// the catalog, that wait, and that build a long text or list from a number (`repeat`, `lpad`, `printf`, `list_resize`, `range` as a value,
/// `reduce`). A single value of those could use up all memory before it is checked.
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    // operators
    "!__postfix", "!~~", "!~~*", "%", "&", "&&", "*", "**", "+", "-", "->", "->>", "/", "//", "<->", "<<", "<=>", "<@", ">>", "@", "@>",
    "^", "^@", "|", "||", "~", "~~", "~~*", "~~~", "ilike_escape", "like_escape", "not_ilike_escape", "not_like_escape",
    "add", "divide", "multiply", "subtract", "xor",
    // values
    "coalesce", "constant_or_null", "greatest", "hash", "if", "ifnull", "least", "md5", "nullif", "sha1", "sha256", "typeof", "uuid",
    // numbers
    "abs", "acos", "asin", "atan", "atan2", "bit_count", "cbrt", "ceil", "ceiling", "cos", "cot", "degrees", "even", "exp", "factorial",
    "fdiv", "floor", "fmod", "gcd", "isfinite", "isinf", "isnan", "lcm", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power",
    "radians", "random", "round", "round_even", "roundbankers", "sign", "signbit", "sin", "sqrt", "tan", "trunc",
    // texts
    "ascii", "bit_length", "char_length", "character_length", "chr", "concat", "concat_ws", "contains", "damerau_levenshtein",
    "ends_with", "from_hex", "hamming", "hex", "instr", "jaccard", "jaro_similarity", "jaro_winkler_similarity", "lcase", "left", "len",
    "length", "levenshtein", "lower", "ltrim", "nfc_normalize", "octet_length", "ord", "parse_filename", "position", "prefix",
    "regexp_escape", "regexp_extract", "regexp_extract_all", "regexp_full_match", "regexp_matches", "regexp_replace",
    "regexp_split_to_array", "replace", "reverse", "right", "rtrim", "split", "split_part", "starts_with", "str_split",
    "str_split_regex", "string_split", "string_split_regex", "string_to_array", "strip_accents", "strlen", "strpos", "substr",
    "substring", "suffix", "to_hex", "translate", "trim", "ucase", "unhex", "unicode", "upper", "url_decode", "url_encode",
    // dates
    "age", "ago", "century", "current_date", "current_localtime", "current_localtimestamp",
    "date_add", "date_diff", "date_part", "date_sub", "date_trunc", "datediff", "datepart", "datesub", "datetrunc", "day", "dayname",
    "dayofmonth", "dayofweek", "dayofyear", "days_in_month", "decade", "epoch", "epoch_ms", "epoch_ns", "epoch_us", "era",
    "get_current_time", "get_current_timestamp", "hour", "isodow", "isoyear", "julian", "last_day", "make_date", "make_time",
    "make_timestamp", "make_timestamptz", "microsecond", "millennium", "millisecond", "minute", "month", "monthname", "now", "quarter",
    "second", "strftime", "strptime", "time_bucket", "timezone", "to_days", "to_hours", "to_microseconds", "to_milliseconds",
    "to_minutes", "to_months", "to_quarters", "to_seconds", "to_timestamp", "to_weeks", "to_years", "today", "transaction_timestamp",
    "try_strptime", "week", "weekday", "weekofyear", "year", "yearweek",
    // aggregates and windows
    "any_value", "approx_count_distinct", "approx_quantile", "arbitrary", "arg_max", "arg_max_null", "arg_min", "arg_min_null", "argmax",
    "argmin", "array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "corr", "count", "count_if", "count_star",
    "countif", "covar_pop", "covar_samp", "cume_dist", "dense_rank", "entropy", "favg", "fill", "first", "first_value", "fsum", "geomean",
    "geometric_mean", "group_concat", "grouping", "grouping_id", "histogram", "kurtosis", "lag", "last", "last_value", "lead", "list",
    "listagg", "mad", "max", "max_by", "mean", "median", "min", "min_by", "mode", "nth_value", "ntile", "percent_rank", "product",
    "quantile", "quantile_cont", "quantile_disc", "rank", "rank_dense", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept",
    "regr_r2", "regr_slope", "row_number", "sem", "skewness", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum", "var_pop",
    "var_samp", "variance", "wavg", "weighted_avg",
    // lists, structs and maps
    "array_contains", "array_distinct", "array_extract", "array_filter", "array_has", "array_has_all", "array_has_any", "array_indexof",
    "array_intersect", "array_length", "array_position", "array_slice", "array_sort", "array_to_string", "array_transform",
    "array_unique", "array_value", "cardinality", "element_at", "flatten", "list_aggregate", "list_append", "list_apply", "list_avg",
    "list_concat", "list_contains", "list_count", "list_distinct", "list_element", "list_extract", "list_filter", "list_first", "list_has",
    "list_has_all", "list_has_any", "list_indexof", "list_intersect", "list_last", "list_max", "list_median", "list_min", "list_position",
    "list_prepend", "list_reverse", "list_reverse_sort", "list_slice", "list_sort", "list_sum", "list_transform", "list_unique",
    "list_value", "list_where", "list_zip", "map", "map_concat", "map_contains", "map_entries", "map_extract", "map_extract_value",
    "map_from_entries", "map_keys", "map_values", "row", "struct_contains", "struct_extract", "struct_extract_at", "struct_insert",
    "struct_keys", "struct_pack", "struct_values", "union_extract", "union_tag", "union_value", "unnest", "unpivot_list",
    // JSON
    "array_to_json", "from_json", "from_json_strict", "json", "json_array", "json_array_length", "json_contains", "json_exists",
    "json_extract", "json_extract_path", "json_extract_path_text", "json_extract_string", "json_group_array", "json_group_object",
    "json_keys", "json_merge_patch", "json_object", "json_pretty", "json_quote", "json_structure", "json_transform",
    "json_transform_strict", "json_type", "json_valid", "json_value", "row_to_json", "to_json",
];

/// Functions that a query may use as tables. Their rows are produced incrementally.
const TABLES: &[&str] = &["generate_series", "json_each", "json_tree", "range", "unnest"];

/// Whether a query may call the function.
pub(super) fn is_allowed(function: &str) -> bool {
    ALLOWED.iter().any(|allowed| allowed.eq_ignore_ascii_case(function))
}

/// Whether a query may use the function as a table.
pub(super) fn is_allowed_table(function: &str) -> bool {
    TABLES.iter().any(|allowed| allowed.eq_ignore_ascii_case(function))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use duckdb::Connection;

    use super::*;

    fn known(condition: &str) -> HashSet<String> {
        let connection = Connection::open_in_memory().unwrap();
        let list = format!("SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE {condition}");
        let mut statement = connection.prepare(&list).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn functions_that_change_wait_or_reach_outside_are_not_on_the_list() {
        let mut effects = known("has_side_effects OR stability = 'VOLATILE'");
        effects.retain(|function| !["random", "uuid"].contains(&function.as_str()));
        assert!(effects.contains("nextval") && effects.contains("sleep_ms"), "{effects:?}");
        assert_eq!(effects.iter().filter(|function| is_allowed(function)).collect::<Vec<_>>(), [""; 0]);
        for function in ["getenv", "current_setting", "read_text", "repeat", "lpad", "printf", "query", "json_execute_serialized_sql"] {
            assert!(!is_allowed(function) && !is_allowed_table(function), "{function}");
        }
        assert!(is_allowed("SUM") && is_allowed_table("Range"));
    }

    #[test]
    fn every_function_on_the_lists_is_one_of_duckdb() {
        let values = known("function_type IN ('scalar', 'aggregate', 'macro')");
        // Handled before functions are looked up.
        let built_in = ["->", "coalesce", "grouping", "grouping_id", "if", "ifnull", "unnest"];
        let unknown = ALLOWED.iter().filter(|name| !values.contains(**name) && !built_in.contains(name));
        assert_eq!(unknown.collect::<Vec<_>>(), [&""; 0]);
        let tables = known("function_type = 'table'");
        assert_eq!(TABLES.iter().filter(|name| !tables.contains(**name)).collect::<Vec<_>>(), [&""; 0]);
    }
}
