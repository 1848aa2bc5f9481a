//! What is read of queries.

use super::*;

fn read(text: &str) -> Option<QueryNames<'_>> {
    (text.len() <= MOST_QUERY_BYTES).then(|| Some(super::read(text, &nodes::nodes(text)?)))?
}

fn tables(text: &str) -> String {
    read(text).unwrap().tables.iter().map(|table| table.text).collect::<Vec<_>>().join(" ")
}

fn gives(text: &str) -> String {
    let gives = read(text).unwrap().gives;
    gives.iter().map(|given| format!("{}.{}", given.table, given.column)).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_value_among_the_columns_of_a_result_may_be_in_what_a_query_gives() {
    for (query, given) in [
        ("select name from people where id = $id limit $n", ""),
        ("select $label as label, name from people where id = $id", "$label"),
        ("select case when day = $day then 1 else $other end from a", "$other"),
        ("with d as (select date($today) as first) select name from people, d where day >= d.first", "$today"),
        ("select value from json_each($list) where value > $least", "$list"),
        ("select name from people where id in (select id from b where x = $x)", ""),
        ("values ($a), ($b)", "$a $b"),
    ] {
        let read = read(query).unwrap();
        let places: Vec<&str> = read.given_places.iter().map(|place| place.text).collect();
        assert_eq!(places.join(" "), given, "{query}");
    }
}

#[test]
fn tables_stand_after_from_and_join() {
    for (query, read) in [
        ("select * from Entries as e, people p, projects", "Entries people projects"),
        ("select * from a left join b on a.x = (select y from c), d", "a b c d"),
        ("select (select max(x) from a) from b union select 1 from c", "a b c"),
        ("select * from (a join b using (x)) natural join (select * from c) d", "a b c"),
        ("select a is distinct from b, not a is not distinct from c from d", "d"),
        ("from a select x where y in (from b)", "a b"),
        ("select * from p: people", "people"),
        ("with x as (select 1), y(a) as not materialized (select * from x, z) select * from y as e, x join e", "z e"),
        ("select * from (with x as (select 1) select * from x), x", "x"),
        ("with recursive x as (select 1 union select * from X join y), y as (select 2) select * from x", ""),
        ("select extract(year from day), trim(both from name) from \"a b\" where \"from\" = 'from c' -- from d", "a b"),
        ("select * from json_each($list), lateral generate_series(1, 2), main.b, other.c, 'data.csv', a", "b a"),
        ("explain select * from a; select * from b;", "a b"),
    ] {
        assert_eq!(tables(query), read, "{query}");
    }
}

#[test]
fn columns_are_given_by_items_and_by_what_they_are_made_of() {
    for (query, columns) in [
        ("select a, p.b, upper(c) as d, e f, \"g\" from t as p", "t.a t.b t.c t.e t.g"),
        ("select *, p.*, 2 * a, count(*), count(b), sum(c) over (partition by d) from t p", "t.* t.* t.a t.c"),
        ("select not b, cast(c as text), string_agg(d order by e), f(x), $f, :g, h::text from t", "t.b t.c t.d t.x t.h"),
        ("select a in (select b from u), exists (select c from u), [d], 'e' from t where f", "t.a t.d"),
        ("values ((select a from t)), ('b')", "t.a"),
        ("(select a from t) union (select b from t)", "t.a t.b"),
        ("select a, u.b, * from t, u", "t.a u.a u.b t.* u.*"),
        ("from t select a", "t.a"),
        ("select a from t, f(1)", "t.a"),
        ("select value from json_each((select json_group_array(a) from t))", "t.a"),
        ("select j.value, f.b from t, json_each(json_array(a)) as j, u f", "t.a u.b"),
        ("select column1 from (values ((select a from t)))", "t.a"),
        ("select (select upper(a)) from t", "t.a"),
        ("select a from main.t", "t.a"),
        ("select x.a, * from \"main\".\"t\" x join memory.main.u", "t.a t.* u.*"),
        ("with t as (select 1) select main.t.a from main.t", "t.a"),
        ("select [a] from [t]", "t.a"),
        ("select x.[a] from main.[t] x", "t.a"),
        ("select x.a, b from 't' x join main.'u'", "t.a t.b u.b"),
        // DuckDB: a name in front, a whole row, fields of a column.
        ("select p.a from p: t", "t.a"),
        ("select p from t p", "t.p t.*"),
        ("select p.a.b, a.c from t p", "t.a t.b t.a t.c"),
        // DuckDB: a query without select, commands that show a table, columns by pattern or place, tables named in texts.
        ("from t", "t.*"),
        ("from (from t)", "t.*"),
        ("table t", "t.*"),
        ("summarize t", "t.*"),
        ("select * from (summarize t)", "t.*"),
        ("pivot t on a, b using max(c)", "t.*"),
        ("unpivot t on a, b into name x value y", "t.*"),
        ("select columns('n.*') from t", "t.*"),
        ("select #1 from t", "t.*"),
        ("select * from query_table('t')", "t.*"),
        ("select * from query('select a from t')", "t.a"),
        ("select b from t as p(a, b)", "t.*"),
        ("select distinct on (a) b from t", "t.a t.b"),
        ("select distinct * from t", "t.*"),
        ("select mode() within group (order by a) as m, b from t", "t.a t.b"),
        ("select sum(case when a is null then b else 0 end), iif(c is null, d, 'x') from t", "t.b t.end t.null t.d"),
        ("select case a when (select b from u) then c end from t", "t.a t.c"),
        ("select all * from t", "t.*"),
        ("select a from ((t))", "t.a"),
        ("select a from ((select a from t) as z)", "t.a"),
        ("select [a b], x.[order] from [t] x", "t.a t.a b t.b t.order"),
    ] {
        assert_eq!(gives(query), columns, "{query}");
    }
}

#[test]
fn columns_are_followed_through_the_tables_that_a_query_makes() {
    for (query, columns) in [
        ("with x as (select a as z, b from t) select z from x", "t.a"),
        ("with x(z) as (select a from t union select b from u), y as (select * from x) select upper(z) from y", "t.a u.b"),
        ("with x as (select * from t) select a from x", "t.a"),
        ("select z from (select a z, b from t)", "t.a"),
        ("with x(p, q) as (select * from t) select q from x", "t.*"),
        ("with x(p, q) as (from t), y as (from t) select q, a from x, y", "t.* t.q t.* t.a"),
        ("select o.z, o.y from (select a, b from t) o(y, z)", "t.b t.a"),
        ("with x as (select count(a) as a from t) select a from x", ""),
    ] {
        assert_eq!(gives(query), columns, "{query}");
    }
    assert_eq!(read("with x as (select a as z from t) select z from x").unwrap().gives[0].place, Name { text: "z", start: 40 });
}

#[test]
fn places_for_values_and_functions_are_found_wherever_they_stand() {
    let text = "select f($a, '$b', g(:c)) x from t as e, u, (select 1) as q, f(1) h, main.t where [$d] = ?1 and y in (@f, ?) -- $g";
    let query = read(text).unwrap();
    let texts = |names: &[Name]| names.iter().map(|name| name.text.to_owned()).collect::<Vec<_>>().join(" ");
    assert_eq!((texts(&query.places), texts(&query.calls)), ("$a :c ?1 @f ?".to_owned(), "f g f".to_owned()));
    assert_eq!((query.places[0].start, query.called), (9, vec![("t", "e"), ("u", "u"), ("", "q"), ("", "h"), ("t", "t")]));
}

#[test]
fn what_is_not_closed_or_too_deep_cannot_be_read() {
    let deep = "(".repeat(100_000);
    for query in ["'", "\"", "/*", "`", "select ((((", "))))", "with x(a as (select", "select [)", "select $$from a$$", deep.as_str()] {
        assert!(read(query).is_none(), "{}", query.get(..20).unwrap_or(query));
    }
    for query in
        ["", "--", "$", "with", "with x", "with x as )(,", "select é from people", "select * from", "from from", "select , , from ,"]
    {
        read(query);
    }
}

#[test]
fn columns_that_double_with_each_table_are_read_in_time() {
    let doubled = (1..1_000).map(|n| format!(", x{n} as (select *, * from x{})", n - 1)).collect::<String>();
    let query = format!("with x0 as (select * from t){doubled} select * from x999, last");
    assert_eq!(read(&query).unwrap().tables.iter().map(|table| table.text).collect::<Vec<_>>(), ["t", "last"]);
    assert!(read(&"select 1 ".repeat(MOST_QUERY_BYTES)).is_none());
    for form in ["from x, x", "select #1, #1 from x", "select columns('a'), columns('b') from x", "select [a b], [a b] from x"] {
        let doubled = (1..200).map(|n| format!(", x{n} as ({})", form.replace('x', &format!("x{}", n - 1)))).collect::<String>();
        read(&format!("with x0 as (select * from t){doubled} select * from x199")).unwrap();
    }
}

#[test]
fn a_column_is_called_as_it_is_written() {
    let others = |query: &str, asked: &str| {
        let gives = read(query).unwrap().gives;
        gives.iter().filter(|given| !given.is_called_otherwise(asked)).map(|given| given.column.to_owned()).collect::<Vec<_>>().join(" ")
    };
    for (query, asked, columns) in [
        ("select id, city, p.name from people p", "city", "city"),
        ("select distinct city, name as who from people", "who", "name"),
        ("select name || city, city from people", "x", "name city"),
        ("select upper(name), city c from people", "city", "name city"),
        ("select city from a union select name from people", "city", "city name"),
        ("select city, name city from people", "city_2", "city name"),
        ("select * from people", "city", "*"),
        ("with x as (select name as city, city as name from people) select city from x", "city", "name"),
        ("with x as (select name as city, city as name from people) select * from x", "city", "name"),
    ] {
        assert_eq!(others(query, asked), columns, "{query}");
    }
}

#[test]
fn a_column_is_seen_where_its_name_is_one_piece_and_no_text() {
    for (query, column, is_seen) in [
        ("select upper(p.Name) from people p", "name", true),
        ("select round(hours * 1.5) from people where name = 'a.b'", "name", true),
        ("select 'name' from people", "name", false),
        ("select upper(people.'name') from people where name > 1", "name", false),
        ("select upper(tel$) from people", "tel$", false),
        ("select upper(\"na\"\"me\") from people", "na\"me", false),
        ("select 'name", "name", false),
    ] {
        assert_eq!(ReadQuery::new(query).sees(column), is_seen, "{query}");
    }
}
