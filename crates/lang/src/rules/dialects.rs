//! SQL of other systems: what is written in its place for SQLite, and for DuckDB.

use crate::model::SqlEngine;

/// A word or function that one of the engines does not have.
struct Foreign {
    names: &'static [&'static str],
    /// What to write for SQLite; `None`: it has it.
    sqlite: Option<&'static str>,
    /// The same for DuckDB.
    duckdb: Option<&'static str>,
}

const fn both(names: &'static [&'static str], sqlite: &'static str, duckdb: &'static str) -> Foreign {
    Foreign { names, sqlite: Some(sqlite), duckdb: Some(duckdb) }
}

const fn not_sqlite(names: &'static [&'static str], sqlite: &'static str) -> Foreign {
    Foreign { names, sqlite: Some(sqlite), duckdb: None }
}

const fn not_duckdb(names: &'static [&'static str], duckdb: &'static str) -> Foreign {
    Foreign { names, sqlite: None, duckdb: Some(duckdb) }
}

const NOW: &str = "write {{ run.now }}";
/// The day of the run, filled into a query.
pub(super) const RUN_DAY: &str = "{{ run.today }}";
const TODAY: &str = "write {{ run.today }}";
const SHIFT: &str = "write date({1|day}, {2|'-7 days'})";
const INTERVAL: &str = "write date({1|day}, {2|'-7 days'}) in place of {3|it}";

const TOP: &str = "take top {1|5} out, and write limit {1|5} at the end of the query";

/// Functions.
const FUNCTIONS: &[Foreign] = &[
    not_sqlite(&["now", "localtimestamp", "current_timestamp"], NOW),
    both(&["getdate", "getutcdate", "sysdatetime", "utc_timestamp"], NOW, "write now(), or pass the time with $now"),
    not_sqlite(&["today", "current_date"], TODAY),
    both(&["curdate"], TODAY, "write current_date, or pass the day with $day"),
    not_sqlite(&["date_trunc"], "write strftime('%Y-%m-01', {2|day}) for the month, date({2|day}) for the day"),
    both(&["to_char", "date_format", "format_date"], "write strftime('%Y-%m', day)", "write strftime(day, '%Y-%m')"),
    both(&["str_to_date"], "write date(text), which reads 2026-11-18", "write strptime(text, '%d.%m.%Y')"),
    not_sqlite(&["to_date", "to_timestamp", "strptime", "make_date"], "write date(text), which reads 2026-11-18"),
    not_sqlite(
        &["extract", "date_part", "datepart"],
        "write cast(strftime('%Y', day) as integer); %m is the month, %d the day, %H the hour",
    ),
    not_sqlite(&["year"], "write cast(strftime('%Y', {1|day}) as integer)"),
    not_sqlite(&["month"], "write cast(strftime('%m', {1|day}) as integer)"),
    not_sqlite(&["day", "dayofmonth"], "write cast(strftime('%d', {1|day}) as integer)"),
    not_sqlite(&["hour"], "write cast(strftime('%H', time) as integer)"),
    not_sqlite(&["minute"], "write cast(strftime('%M', time) as integer)"),
    not_sqlite(&["week", "weekofyear"], "write cast(strftime('%V', day) as integer)"),
    not_sqlite(&["weekday", "dayofweek", "dow", "isodow"], "write cast(strftime('%w', day) as integer), where 0 is Sunday"),
    not_sqlite(&["dayname", "monthname"], "write case strftime('%w', day) when '0' then 'Sunday' … end"),
    not_sqlite(&["quarter"], "write (cast(strftime('%m', day) as integer) + 2) / 3"),
    not_sqlite(&["last_day", "eomonth"], "write date(day, 'start of month', '+1 month', '-1 day')"),
    not_sqlite(&["datediff", "date_diff", "age"], "write julianday({1|until}) - julianday({2|since}), which counts days"),
    both(&["dateadd", "adddate", "subdate"], SHIFT, "write day + interval 1 day"),
    not_sqlite(&["date_add", "date_sub"], SHIFT),
    both(&["from_unixtime"], "write datetime(seconds, 'unixepoch')", "write to_timestamp(seconds)"),
    both(&["unix_timestamp"], "write unixepoch(time)", "write epoch(time)"),
    not_sqlite(&["epoch"], "write unixepoch(time)"),
    both(&["safe_divide"], "write 1.0 * {1|a} / nullif({2|b}, 0)", "write {1|a} / nullif({2|b}, 0)"),
    both(&["isnull", "nvl"], "write ifnull({1|x}, {2|0})", "write ifnull({1|x}, {2|0})"),
    both(&["nvl2"], "write case when x is null then b else a end", "write case when x is null then b else a end"),
    not_sqlite(&["decode"], "write case x when 1 then a else b end"),
    not_sqlite(&["len", "char_length", "character_length", "strlen"], "write length({1|x})"),
    both(&["datalength"], "write octet_length(x)", "write octet_length(encode(x))"),
    both(&["charindex", "locate"], "write instr(text, part): the text comes first", "write instr(text, part): the text comes first"),
    not_sqlite(&["position", "strpos"], "write instr(text, part)"),
    not_sqlite(&["ucase"], "write upper({1|x})"),
    not_sqlite(&["lcase"], "write lower({1|x})"),
    both(&["initcap", "proper"], "write upper(substr(x, 1, 1)) || lower(substr(x, 2))", "write upper(x[1]) || lower(x[2:])"),
    not_sqlite(&["left"], "write substr({1|x}, 1, {2|3})"),
    not_sqlite(&["right"], "write substr({1|x}, -{2|3})"),
    both(&["mid"], "write substr({1|x}, {2|2}, {3|3})", "write substr({1|x}, {2|2}, {3|3})"),
    not_sqlite(&["lpad"], "write printf('%5s', x), or substr('00000' || x, -5)"),
    not_sqlite(&["rpad"], "write printf('%-5s', x)"),
    not_sqlite(&["repeat"], "write replace(printf('%3s', ''), ' ', x)"),
    not_sqlite(
        &["split_part", "string_split", "string_to_array"],
        "write substr(x, 1, instr(x, ' ') - 1) for what is before the first blank",
    ),
    both(&["substring_index"], "write substr(x, 1, instr(x, ' ') - 1)", "write split_part(x, ' ', 1)"),
    not_sqlite(
        &["regexp", "regexp_matches", "regexp_replace", "regexp_extract"],
        "write like or glob, and replace(x, old, new): SQLite has no regular expressions here",
    ),
    both(
        &["regexp_like", "regexp_substr", "rlike"],
        "write like or glob: SQLite has no regular expressions here",
        "write regexp_matches(x, 'a+')",
    ),
    not_sqlite(&["starts_with", "startswith"], "write {1|x} like {2|'start'} || '%'"),
    not_sqlite(&["contains"], "write instr({1|x}, {2|'part'}) > 0"),
    not_sqlite(&["greatest"], "write max({1|a}, {2|b}): with several values it takes the largest of a row"),
    not_sqlite(&["least"], "write min({1|a}, {2|b}): with several values it takes the smallest of a row"),
    not_sqlite(&["any_value", "arbitrary", "first", "last"], "write max(x) or min(x)"),
    not_sqlite(&["count_if", "countif"], "write count(*) filter (where {1|a} = {2|b})"),
    not_sqlite(&["bool_or"], "write max(x)"),
    not_sqlite(&["bool_and", "every"], "write min(x)"),
    not_sqlite(
        &["stddev", "stddev_samp", "stddev_pop", "std", "stdev", "variance", "var_samp", "var_pop", "var"],
        "write sqrt(avg(x * x) - avg(x) * avg(x)) for the deviation, its square for the variance",
    ),
    not_sqlite(&["array_agg", "json_agg", "jsonb_agg", "list"], "write json_group_array(x)"),
    not_sqlite(&["listagg"], "write string_agg(x, ', ')"),
    both(&["json_build_object"], "write json_object('a', a)", "write json_object('a', a)"),
    not_sqlite(&["row_to_json", "to_json"], "write json_object('a', a)"),
    not_sqlite(&["json_extract_string", "json_extract_path_text", "json_value"], "write json_extract(x, '$.a')"),
    not_sqlite(
        &["unnest", "generate_series", "range", "string_to_table"],
        "write from json_each($list), or with recursive n(i) as (select 1 union all select i + 1 from n where i < 9)",
    ),
    both(&["convert", "to_number", "try_convert", "tonumber"], "write cast(x as real)", "write try_cast(x as double)"),
    not_sqlite(&["try_cast", "safe_cast"], "write cast(x as real), which gives 0 for what is no number"),
    not_sqlite(&["truncate"], "write trunc(x)"),
    not_sqlite(&["any", "some", "all"], "write in (…), or exists (…)"),
    both(&["rand"], "write random()", "write random()"),
    not_sqlite(&["md5", "sha1", "sha256", "uuid", "gen_random_uuid", "newid"], "work it out in a python step"),
    not_duckdb(&["datetime"], "write cast(x as timestamp)"),
    not_duckdb(&["julianday"], "write julian(x)"),
    not_duckdb(&["unixepoch"], "write epoch(x)"),
    not_duckdb(&["iif"], "write if(x, a, b)"),
];

/// Words of a clause, an operator or a type.
const WORDS: &[Foreign] = &[
    not_sqlite(&["ilike"], "write like, which takes no notice of capitals in A–Z"),
    not_sqlite(&["::"], "write cast({1|x} as {2|text})"),
    both(&["top"], TOP, TOP),
    both(&["fetch"], "write limit {1|5} at the end of the query", "write limit {1|5} at the end of the query"),
    both(&["rownum"], "write limit {1|5} at the end of the query", "write limit {1|5} at the end of the query"),
    not_sqlite(&["rows", "percent"], "write limit {1|5} and nothing behind it"),
    not_sqlite(&["interval"], INTERVAL),
    not_sqlite(&["date"], "write the text by itself: days are texts such as '2026-11-18'"),
    not_sqlite(&["timestamp"], "write the text by itself: times are texts such as '2026-11-18 09:30:00'"),
    not_sqlite(&["similar", "rlike", "~"], "write like or glob: SQLite has no regular expressions here"),
    not_sqlite(&["qualify"], "put the query into brackets and filter it: select … from (…) where n = 1"),
    not_sqlite(&["exclude"], "name the columns that are to stay"),
    not_sqlite(
        &["distinct on"],
        "write select {4|*} from (select *, row_number() over (partition by {1|a} order by {2|b}) as n from {3|t}) where n = 1 order by {1|a}",
    ),
    not_sqlite(&["current_date"], "write current_date, without brackets"),
    not_sqlite(&["current_timestamp"], "write current_timestamp, without brackets"),
    both(&["sysdate", "systimestamp"], NOW, "write now(), or pass the time with $now"),
    not_sqlite(&["today"], TODAY),
    not_sqlite(&["lateral", "unnest"], "write from json_each($list), or a query in brackets"),
    not_sqlite(&["array"], "write json_array(…), or in (…)"),
    not_sqlite(&["rollup", "cube", "sets"], "write one select for each grouping, with union all between them"),
    not_sqlite(&["pivot", "unpivot"], "write sum(x) filter (where …) for each column"),
    not_sqlite(&["for"], "take it out: a query only reads"),
    not_sqlite(&["into"], "take it out: a step keeps what its query gives"),
    not_sqlite(&["show", "describe", "desc"], "write select * from the table; flow explain shows the tables"),
    not_sqlite(
        &["call", "exec", "execute", "declare", "use", "go", "grant", "truncate", "merge", "copy"],
        "take it out: a query only reads",
    ),
    not_sqlite(&["#", "\\"], "write -- before a remark"),
    not_sqlite(&["^"], "write pow(x, 2)"),
];

/// What is written in place of a function of another system, in an engine that does not have it.
pub(super) fn function(name: &str, engine: SqlEngine) -> Option<&'static str> {
    help(FUNCTIONS, name, engine)
}

/// Whether a function gives the day on which it is asked, and takes nothing.
pub(super) fn is_today(name: &str) -> bool {
    function(name, SqlEngine::Sqlite) == Some(TODAY)
}

/// The same for a word that reads as a column.
pub(super) fn column(name: &str) -> Option<&'static str> {
    let is_word = ["today", "rownum", "interval", "sysdate", "systimestamp"].iter().any(|word| word.eq_ignore_ascii_case(name));
    is_word.then(|| word(name, SqlEngine::Sqlite)).flatten()
}

/// The same for a word of a clause, an operator or a type; also for two words with a blank between them.
pub(super) fn word(word: &str, engine: SqlEngine) -> Option<&'static str> {
    help(WORDS, word, engine)
}

/// A help with the author's own values in place of `{1|a}`, which shows what stands there otherwise.
pub(super) fn told(help: &str, values: &[String]) -> String {
    let mut parts = help.split("{");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let filled = part.split_once('}').and_then(|(inner, rest)| {
            let (number, other) = inner.split_once('|')?;
            let value =
                values.get(number.parse::<usize>().ok()?.checked_sub(1)?).map(|value| value.trim()).filter(|value| !value.is_empty());
            Some(format!("{}{rest}", value.unwrap_or(other)))
        });
        told.push_str(&filled.unwrap_or_else(|| format!("{{{part}")));
    }
    told
}

/// The values of the foreign word that begins at a place of a query.
pub(super) fn values(text: &str, at: usize) -> Vec<String> {
    let rest = text.get(at..).unwrap_or_default();
    let word: String =
        rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ' ' && rest.starts_with("distinct on")).collect();
    let behind = rest.get(word.len()..).unwrap_or_default().trim_start();
    let before = text.get(..at).unwrap_or_default().trim_end();
    let number = || rest.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty()).map(str::to_owned);
    let path = |c: char| !(c.is_alphanumeric() || c == '_' || c == '.');
    let named = |part: &str| part.get(part.rfind(path).map_or(0, |at| at + 1)..).unwrap_or_default().to_owned();
    match word.trim().to_lowercase().as_str() {
        "" if rest.starts_with("::") => {
            let kind: String = rest.chars().skip(2).take_while(char::is_ascii_alphanumeric).collect();
            let kind = match kind.to_lowercase().as_str() {
                "int" | "integer" | "bigint" | "int4" | "int8" => "integer",
                "float" | "numeric" | "decimal" | "real" | "double" => "real",
                _ => "text",
            };
            vec![named(before), kind.to_owned()]
        }
        "top" | "fetch" | "rows" | "percent" => number().into_iter().collect(),
        "interval" => {
            let sign = before.chars().next_back().filter(|sign| ['+', '-'].contains(sign)).unwrap_or('-');
            let from = named(before.trim_end_matches(['+', '-']).trim_end());
            let from = if from.is_empty() || from.eq_ignore_ascii_case("current_date") { RUN_DAY.to_owned() } else { from };
            let span = behind.trim_start_matches('\'').split('\'').next().unwrap_or_default();
            // All that it takes the place of: what stands before the sign, too.
            let left = before.trim_end_matches(['+', '-']).trim_end();
            let begin = if left.ends_with("()") { left.trim_end_matches("()") } else { left };
            let begin = begin.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).map_or(0, |at| at + 1);
            let end = text.len() - behind.len() + behind.match_indices('\'').nth(1).map_or(0, |(at, _)| at + 1);
            let whole = text.get(begin..end).filter(|whole| whole.contains(['+', '-'])).unwrap_or_default();
            vec![from, format!("'{sign}{span}'"), whole.to_owned()]
        }
        _ => {
            let Some(inner) = behind.strip_prefix('(') else { return vec![] };
            let (mut values, mut value, mut depth) = (vec![], String::new(), 0);
            for c in inner.chars() {
                match c {
                    ')' if depth == 0 => break,
                    ',' if depth == 0 => values.push(std::mem::take(&mut value)),
                    c => {
                        depth += i32::from(c == '(') - i32::from(c == ')');
                        value.push(c);
                    }
                }
            }
            // A text of a spreadsheet stands in double quotes.
            let value = value.trim().to_owned();
            if word.starts_with("distinct on") {
                let behind =
                    |mark: &str| text.to_lowercase().find(mark).and_then(|at| text.get(at + mark.len()..)).unwrap_or_default().trim();
                // Without an order of its own any of the rows is given.
                let order = behind("order by").split_once(',').map_or(&*value, |(_, rest)| rest.trim()).to_owned();
                let rows = behind(" from ");
                let ends = [" order by ", " limit ", ";"].into_iter().filter_map(|end| rows.to_lowercase().find(end)).min();
                let table = rows.get(..ends.unwrap_or(rows.len())).unwrap_or(rows).trim().to_owned();
                let columns = inner.split_once(')').map_or("", |(_, rest)| rest.split(" from ").next().unwrap_or_default().trim());
                return vec![value, order, table, columns.to_owned()];
            }
            values.push(match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
                Some(text) if !values.is_empty() => format!("'{text}'"),
                _ => value,
            });
            values
        }
    }
}

fn help(table: &[Foreign], name: &str, engine: SqlEngine) -> Option<&'static str> {
    let foreign = table.iter().find(|foreign| foreign.names.iter().any(|known| known.eq_ignore_ascii_case(name)))?;
    match engine {
        SqlEngine::Sqlite => foreign.sqlite,
        SqlEngine::DuckDb => foreign.duckdb,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once_and_each_help_says_what_to_do() {
        for table in [FUNCTIONS, WORDS] {
            let mut names: Vec<&str> = table.iter().flat_map(|foreign| foreign.names).copied().collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
            for help in table.iter().flat_map(|foreign| foreign.sqlite.into_iter().chain(foreign.duckdb)) {
                assert!(["write ", "take ", "work ", "put ", "name "].iter().any(|verb| help.starts_with(verb)), "{help}");
            }
        }
        assert_eq!(function("NOW", SqlEngine::DuckDb), None);
        assert_eq!(function("len", SqlEngine::Sqlite), Some("write length({1|x})"));
        assert_eq!(told("write substr({1|x}, 1, {2|3})", &values("select LEFT(order_id, 1) from t", 7)), "write substr(order_id, 1, 1)");
        assert_eq!(told("write limit {1|5}", &values("select top 10 a from t", 7)), "write limit 10");
        assert_eq!(
            values("select distinct on (person) * from entries where hours > 7 order by person, day desc", 7),
            ["person", "day desc", "entries where hours > 7", "*"]
        );
        assert_eq!(values("select distinct on (person) * from entries", 7), ["person", "person", "entries", "*"]);
        assert_eq!(values("where day >= now() - interval '7 days'", 21), ["{{ run.today }}", "'-7 days'", "now() - interval '7 days'"]);
    }
}
