//! Marks of personal columns on their way through a query.

use super::*;

fn people() -> (TempDir, TableSource) {
    let (folder, table) = table_of("people.csv", "id,name,city,hours\n1,Ana Lopez,Rome,8\n2,Bo Diddley,Oslo,7\n");
    (folder, TableSource { pii: vec!["Name".to_owned()], ..table })
}

fn personal(query: &str) -> Vec<String> {
    let (_folder, people) = people();
    let (_other, visits) = table_of("visits.csv", "person,day\n1,2026-01-01\n");
    let made = request(&[&people, &visits], query);
    answer(&DataFiles::default(), made).unwrap_or_else(|failure| panic!("{query}: {}", failure.message)).personal
}

#[test]
fn a_mark_is_kept_whatever_a_query_makes_of_the_column() {
    for (query, wanted) in [
        ("select name from people", vec!["name"]),
        ("select name as n, id from people", vec!["n"]),
        ("select upper(name) as u, city from people", vec!["u"]),
        ("select name || '!' as x from people", vec!["x"]),
        ("select substr(name, 1, 3) as s, p.city from people p", vec!["s"]),
        ("select group_concat(name) as all_of_them from people", vec!["all_of_them"]),
        ("select * from people", vec!["name"]),
        ("with x as (select name as n, city from people) select n, city from x", vec!["n"]),
        ("select n from (select name as n from people)", vec!["n"]),
        ("select city from people union select name from people", vec!["city"]),
        ("select value as v from people, json_each(json_array(name))", vec!["v"]),
        ("select (select name from people limit 1) as one, day from visits", vec!["one"]),
        ("select case when hours > 1 then name end as c, hours from people", vec!["c"]),
        ("select name from people full join (select 'x' as name) using (name)", vec!["name"]),
        ("select id, upper(name) as u from people natural full join (select 'x' as name)", vec!["u"]),
        ("select name from people left right join (select 'x' as name) using (name)", vec!["name"]),
    ] {
        assert_eq!(personal(query), wanted, "{query}");
    }
    for query in
        ["select id, city, sum(hours) as h from people group by id, city", "select day from visits", "select count(*) as n from people"]
    {
        assert_eq!(personal(query), [""; 0], "{query}");
    }
}

#[test]
fn a_table_that_lacks_a_marked_column_is_not_read() {
    let (_folder, people) = people();
    let slipped = TableSource { pii: vec!["nmae".to_owned()], ..people };
    let failure = refusal(&[&slipped], "select id from people");
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(
        failure.message.contains("names \"nmae\", which people.csv does not have; its")
            && failure.message.contains("; did you mean \"name\"? Its columns are: "),
        "{}",
        failure.message
    );
    let (folder, sqlite) = table_of("crm.sqlite", "");
    Connection::open(&sqlite.file).unwrap().execute_batch("CREATE TABLE crm (id, phone)").unwrap();
    let slipped = TableSource { pii: vec!["fone".to_owned()], ..sqlite };
    assert_eq!(refusal(&[&slipped], "select id from crm").kind, FailureKind::Unavailable);
    drop(folder);
}
