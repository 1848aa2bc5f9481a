//! SQL of other systems: what is written in its place for SQLite, and for DuckDB.

use crate::model::SqlEngine;

/// What is done about a word that an engine does not have, with `{1|a}` where a value of the author belongs, which is `a` otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum SqlInstead {
    /// This takes its place.
    Write(&'static str),
    /// A line of help.
    Help(&'static str),
}

use SqlInstead::{Help, Write};

/// A word or function that one of the engines does not have.
struct Foreign {
    names: &'static [&'static str],
    /// What to write for SQLite; `None`: it has it.
    sqlite: Option<SqlInstead>,
    /// The same for DuckDB.
    duckdb: Option<SqlInstead>,
}

const fn both(names: &'static [&'static str], sqlite: SqlInstead, duckdb: SqlInstead) -> Foreign {
    Foreign { names, sqlite: Some(sqlite), duckdb: Some(duckdb) }
}

const fn not_sqlite(names: &'static [&'static str], sqlite: SqlInstead) -> Foreign {
    Foreign { names, sqlite: Some(sqlite), duckdb: None }
}

const fn not_duckdb(names: &'static [&'static str], duckdb: SqlInstead) -> Foreign {
    Foreign { names, sqlite: None, duckdb: Some(duckdb) }
}

const NOW: SqlInstead = Write("{{ run.now }}");
/// The day of the run, filled into a query.
pub(in crate::rules) const RUN_DAY: &str = "{{ run.today }}";
const TODAY: SqlInstead = Write("{{ run.today }}");
const SHIFT: SqlInstead = Write("date({1|day}, {2|'-7 days'})");
const INTERVAL: SqlInstead = Help("write date({1|day}, {2|'-7 days'}) in place of {3|it}");

const TOP: SqlInstead = Help("take top {1|5} out, and write limit {1|5} at the end of the query");

/// Functions.
const FUNCTIONS: &[Foreign] = &[
    not_sqlite(&["now", "localtimestamp", "current_timestamp"], NOW),
    both(&["getdate", "getutcdate", "sysdatetime", "utc_timestamp"], NOW, Help("write now(), or pass the time with $now")),
    not_sqlite(&["today", "current_date"], TODAY),
    both(&["curdate"], TODAY, Help("write current_date, or pass the day with $day")),
    not_sqlite(&["date_trunc"], Help("write strftime('%Y-%m-01', {2|day}) for the month, date({2|day}) for the day")),
    both(&["to_char", "date_format", "format_date"], Write("strftime('%Y-%m', day)"), Write("strftime(day, '%Y-%m')")),
    both(&["str_to_date"], Help("write date(text), which reads 2026-11-18"), Write("strptime(text, '%d.%m.%Y')")),
    not_sqlite(&["to_date", "to_timestamp", "strptime", "make_date"], Help("write date(text), which reads 2026-11-18")),
    not_sqlite(
        &["extract", "date_part", "datepart"],
        Help("write cast(strftime('%Y', day) as integer); %m is the month, %d the day, %H the hour"),
    ),
    not_sqlite(&["year"], Write("cast(strftime('%Y', {1|day}) as integer)")),
    not_sqlite(&["month"], Write("cast(strftime('%m', {1|day}) as integer)")),
    not_sqlite(&["day", "dayofmonth"], Write("cast(strftime('%d', {1|day}) as integer)")),
    not_sqlite(&["hour"], Write("cast(strftime('%H', time) as integer)")),
    not_sqlite(&["minute"], Write("cast(strftime('%M', time) as integer)")),
    not_sqlite(&["week", "weekofyear"], Write("cast(strftime('%V', day) as integer)")),
    not_sqlite(&["weekday", "dayofweek", "dow", "isodow"], Write("cast(strftime('%w', day) as integer), where 0 is Sunday")),
    not_sqlite(&["dayname", "monthname"], Help("write case strftime('%w', day) when '0' then 'Sunday' … end")),
    not_sqlite(&["quarter"], Write("(cast(strftime('%m', day) as integer) + 2) / 3")),
    not_sqlite(&["last_day", "eomonth"], Write("date(day, 'start of month', '+1 month', '-1 day')")),
    not_sqlite(&["datediff", "date_diff", "age"], Help("write julianday({1|until}) - julianday({2|since}), which counts days")),
    both(&["dateadd", "adddate", "subdate"], SHIFT, Write("day + interval 1 day")),
    not_sqlite(&["date_add", "date_sub"], SHIFT),
    both(&["from_unixtime"], Write("datetime(seconds, 'unixepoch')"), Write("to_timestamp(seconds)")),
    both(&["unix_timestamp"], Write("unixepoch(time)"), Write("epoch(time)")),
    not_sqlite(&["epoch"], Write("unixepoch(time)")),
    both(&["safe_divide"], Write("1.0 * {1|a} / nullif({2|b}, 0)"), Write("{1|a} / nullif({2|b}, 0)")),
    both(&["isnull", "nvl"], Write("ifnull({1|x}, {2|0})"), Write("ifnull({1|x}, {2|0})")),
    both(&["nvl2"], Write("case when x is null then b else a end"), Write("case when x is null then b else a end")),
    not_sqlite(&["decode"], Write("case x when 1 then a else b end")),
    not_sqlite(&["len", "char_length", "character_length", "strlen"], Write("length({1|x})")),
    both(&["datalength"], Write("octet_length(x)"), Write("octet_length(encode(x))")),
    both(
        &["charindex", "locate"],
        Help("write instr(text, part): the text comes first"),
        Help("write instr(text, part): the text comes first"),
    ),
    not_sqlite(&["position", "strpos"], Write("instr(text, part)")),
    not_sqlite(&["ucase"], Write("upper({1|x})")),
    not_sqlite(&["lcase"], Write("lower({1|x})")),
    both(&["initcap", "proper"], Write("upper(substr(x, 1, 1)) || lower(substr(x, 2))"), Help("write upper(x[1]) || lower(x[2:])")),
    not_sqlite(&["left"], Write("substr({1|x}, 1, {2|3})")),
    not_sqlite(&["right"], Write("substr({1|x}, -{2|3})")),
    both(&["mid"], Write("substr({1|x}, {2|2}, {3|3})"), Write("substr({1|x}, {2|2}, {3|3})")),
    not_sqlite(&["lpad"], Help("write printf('%5s', x), or substr('00000' || x, -5)")),
    not_sqlite(&["rpad"], Write("printf('%-5s', x)")),
    not_sqlite(&["repeat"], Write("replace(printf('%3s', ''), ' ', x)")),
    not_sqlite(
        &["split_part", "string_split", "string_to_array"],
        Help("write substr(x, 1, instr(x, ' ') - 1) for what is before the first blank"),
    ),
    both(&["substring_index"], Write("substr(x, 1, instr(x, ' ') - 1)"), Write("split_part(x, ' ', 1)")),
    not_sqlite(
        &["regexp", "regexp_matches", "regexp_replace", "regexp_extract"],
        Help("write like or glob, and replace(x, old, new): SQLite has no regular expressions here"),
    ),
    both(
        &["regexp_like", "regexp_substr", "rlike"],
        Help("write like or glob: SQLite has no regular expressions here"),
        Write("regexp_matches(x, 'a+')"),
    ),
    not_sqlite(&["starts_with", "startswith"], Write("{1|x} like {2|'start'} || '%'")),
    not_sqlite(&["contains"], Write("instr({1|x}, {2|'part'}) > 0")),
    not_sqlite(&["greatest"], Help("write max({1|a}, {2|b}): with several values it takes the largest of a row")),
    not_sqlite(&["least"], Help("write min({1|a}, {2|b}): with several values it takes the smallest of a row")),
    not_sqlite(&["any_value", "arbitrary", "first", "last"], Write("max(x) or min(x)")),
    not_sqlite(&["count_if", "countif"], Write("count(*) filter (where {1|a} = {2|b})")),
    not_sqlite(&["bool_or"], Write("max(x)")),
    not_sqlite(&["bool_and", "every"], Write("min(x)")),
    not_sqlite(
        &["stddev", "stddev_samp", "stddev_pop", "std", "stdev", "variance", "var_samp", "var_pop", "var"],
        Help("write sqrt(avg(x * x) - avg(x) * avg(x)) for the deviation, its square for the variance"),
    ),
    not_sqlite(&["array_agg", "json_agg", "jsonb_agg", "list"], Write("json_group_array(x)")),
    not_sqlite(&["listagg"], Write("string_agg(x, ', ')")),
    both(&["json_build_object"], Write("json_object('a', a)"), Write("json_object('a', a)")),
    not_sqlite(&["row_to_json", "to_json"], Write("json_object('a', a)")),
    not_sqlite(&["json_extract_string", "json_extract_path_text", "json_value"], Write("json_extract(x, '$.a')")),
    not_sqlite(
        &["unnest", "generate_series", "range", "string_to_table"],
        Help("write from json_each($list), or with recursive n(i) as (select 1 union all select i + 1 from n where i < 9)"),
    ),
    both(&["convert", "to_number", "try_convert", "tonumber"], Write("cast(x as real)"), Write("try_cast(x as double)")),
    not_sqlite(&["try_cast", "safe_cast"], Help("write cast(x as real), which gives 0 for what is no number")),
    not_sqlite(&["truncate"], Write("trunc(x)")),
    not_sqlite(&["any", "some", "all"], Help("write in (…), or exists (…)")),
    both(&["rand"], Write("random()"), Write("random()")),
    not_sqlite(&["md5", "sha1", "sha256", "uuid", "gen_random_uuid", "newid"], Help("work it out in a python step")),
    not_duckdb(&["datetime"], Write("cast(x as timestamp)")),
    not_duckdb(&["julianday"], Write("julian(x)")),
    not_duckdb(&["unixepoch"], Write("epoch(x)")),
    not_duckdb(&["iif"], Write("if(x, a, b)")),
];

/// Words of a clause, an operator or a type.
const WORDS: &[Foreign] = &[
    not_sqlite(&["ilike"], Help("write like, which takes no notice of capitals in A–Z")),
    not_sqlite(&["::"], Write("cast({1|x} as {2|text})")),
    both(&["top"], TOP, TOP),
    both(&["fetch"], Help("write limit {1|5} at the end of the query"), Help("write limit {1|5} at the end of the query")),
    both(&["rownum"], Help("write limit {1|5} at the end of the query"), Help("write limit {1|5} at the end of the query")),
    not_sqlite(&["rows", "percent"], Help("write limit {1|5} and nothing behind it")),
    not_sqlite(&["interval"], INTERVAL),
    not_sqlite(&["date"], Help("write the text by itself: days are texts such as '2026-11-18'")),
    not_sqlite(&["timestamp"], Help("write the text by itself: times are texts such as '2026-11-18 09:30:00'")),
    not_sqlite(&["similar", "rlike", "~"], Help("write like or glob: SQLite has no regular expressions here")),
    not_sqlite(&["qualify"], Help("put the query into brackets and filter it: select … from (…) where n = 1")),
    not_sqlite(&["exclude"], Help("name the columns that are to stay")),
    not_sqlite(
        &["distinct on"],
        Help(
            "write select {4|*} from (select *, row_number() over (partition by {1|a} order by {2|b}) as n from {3|t}) where n = 1 order by {1|a}",
        ),
    ),
    not_sqlite(&["current_date"], Help("write current_date, without brackets")),
    not_sqlite(&["current_timestamp"], Help("write current_timestamp, without brackets")),
    both(&["sysdate", "systimestamp"], NOW, Help("write now(), or pass the time with $now")),
    not_sqlite(&["today"], TODAY),
    not_sqlite(&["lateral", "unnest"], Help("write from json_each($list), or a query in brackets")),
    not_sqlite(&["array"], Help("write json_array(…), or in (…)")),
    not_sqlite(&["rollup", "cube", "sets"], Help("write one select for each grouping, with union all between them")),
    not_sqlite(&["pivot", "unpivot"], Help("write sum(x) filter (where …) for each column")),
    not_sqlite(&["for"], Help("take it out: a query only reads")),
    not_sqlite(&["into"], Help("take it out: a step keeps what its query gives")),
    not_sqlite(&["show", "describe", "desc"], Help("write select * from the table; flow explain shows the tables")),
    not_sqlite(
        &["call", "exec", "execute", "declare", "use", "go", "grant", "truncate", "merge", "copy"],
        Help("take it out: a query only reads"),
    ),
    not_sqlite(&["#", "\\"], Help("write -- before a remark")),
    not_sqlite(&["^"], Write("pow(x, 2)")),
];

/// What is written in place of a function of another system, in an engine that does not have it.
pub(in crate::rules) fn function(name: &str, engine: SqlEngine) -> Option<SqlInstead> {
    help(FUNCTIONS, name, engine)
}

/// Whether a function gives the day on which it is asked, and takes nothing.
pub(in crate::rules) fn is_today(name: &str) -> bool {
    function(name, SqlEngine::Sqlite) == Some(TODAY)
}

/// The same for a word that reads as a column.
pub(in crate::rules) fn column(name: &str) -> Option<SqlInstead> {
    let is_word = ["today", "rownum", "interval", "sysdate", "systimestamp"].iter().any(|word| word.eq_ignore_ascii_case(name));
    is_word.then(|| word(name, SqlEngine::Sqlite)).flatten()
}

/// The same for a word of a clause, an operator or a type; also for two words with a blank between them.
pub(in crate::rules) fn word(word: &str, engine: SqlEngine) -> Option<SqlInstead> {
    help(WORDS, word, engine)
}

impl SqlInstead {
    /// The line of help with the author's own values.
    pub(in crate::rules) fn help(self, values: &[String]) -> String {
        let (verb, text) = match self {
            Write(text) => ("write ", text),
            Help(text) => ("", text),
        };
        let mut parts = text.split("{");
        let mut filled = verb.to_owned() + parts.next().unwrap_or_default();
        for part in parts {
            let value = part.split_once('}').and_then(|(inner, rest)| {
                let (number, other) = inner.split_once('|')?;
                let value =
                    values.get(number.parse::<usize>().ok()?.checked_sub(1)?).map(|value| value.trim()).filter(|value| !value.is_empty());
                Some(format!("{}{rest}", value.unwrap_or(other)))
            });
            filled.push_str(&value.unwrap_or_else(|| format!("{{{part}")));
        }
        filled
    }
}

/// The values of the foreign word that begins at a place of a query.
pub(in crate::rules) fn values(text: &str, at: usize) -> Vec<String> {
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

fn help(table: &[Foreign], name: &str, engine: SqlEngine) -> Option<SqlInstead> {
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
                let help = help.help(&[]);
                assert!(["write ", "take ", "work ", "put ", "name "].iter().any(|verb| help.starts_with(verb)), "{help}");
            }
        }
        assert_eq!(function("NOW", SqlEngine::DuckDb), None);
        assert_eq!(function("len", SqlEngine::Sqlite), Some(Write("length({1|x})")));
        assert_eq!(Write("substr({1|x}, 1, {2|3})").help(&values("select LEFT(order_id, 1) from t", 7)), "write substr(order_id, 1, 1)");
        assert_eq!(Write("limit {1|5}").help(&values("select top 10 a from t", 7)), "write limit 10");
        assert_eq!(
            values("select distinct on (person) * from entries where hours > 7 order by person, day desc", 7),
            ["person", "day desc", "entries where hours > 7", "*"]
        );
        assert_eq!(values("select distinct on (person) * from entries", 7), ["person", "person", "entries", "*"]);
        assert_eq!(values("where day >= now() - interval '7 days'", 21), ["{{ run.today }}", "'-7 days'", "now() - interval '7 days'"]);
    }
}
