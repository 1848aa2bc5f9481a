//! The shipped timesheet data hold what their README, the pipelines and the tests rely on.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use flow::port::{QueryRequest, SqlDatabase, TableSource};
use flow_adapters::data::DataFiles;
use flow_base::model::{DataKind, SqlEngine};
use serde_json::{Value, json};

/// The rows of a query over the four tables.
#[expect(clippy::unwrap_used, reason = "part of each test below")]
fn rows(query: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/timesheet/data");
    let table = |name: &str| TableSource {
        name: name.to_owned(),
        file: folder.join(format!("{name}.csv")),
        kind: DataKind::Csv,
        table: None,
        columns: BTreeMap::new(),
        pii: vec![],
        form: Default::default(),
        engine: SqlEngine::Sqlite,
    };
    let request = QueryRequest {
        engine: SqlEngine::Sqlite,
        tables: ["people", "projects", "tasks", "entries"].map(table).to_vec(),
        query: query.to_owned(),
        with: BTreeMap::new(),
        max_rows: 1000,
        timeout: Duration::from_secs(60),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    json!(runtime.block_on(DataFiles::default().query(request)).unwrap().rows)
}

#[test]
fn each_table_has_its_rows() {
    assert_eq!(
        rows(
            "select (select count(*) from people) as people, (select count(*) from projects) as projects, \
              (select count(*) from tasks) as tasks, (select count(*) from entries) as entries, (select sum(hours) from entries) as hours"
        ),
        json!([{ "people": 12, "projects": 8, "tasks": 22, "entries": 992, "hours": 4186.0 }])
    );
}

#[test]
fn every_id_is_unique_and_every_reference_leads_somewhere() {
    assert_eq!(
        rows(
            "select (select count(distinct id) from entries) as ids, \
              (select count(*) from entries e left join people p on p.id = e.person where p.id is null) as no_person, \
              (select count(*) from entries e left join tasks t on t.id = e.task and t.project = e.project where t.id is null) as no_task, \
              (select count(*) from tasks t left join projects p on p.id = t.project where p.id is null) as no_project"
        ),
        json!([{ "ids": 992, "no_person": 0, "no_task": 0, "no_project": 0 }])
    );
}

#[test]
fn entries_are_plausible() {
    assert_eq!(
        rows(
            "select min(day) as first, max(day) as last, min(hours) as least, max(hours) as most, \
              sum(hours * 4 <> cast(hours * 4 as integer)) as not_quarters, sum(day not glob '2026-[01][0-9]-[0-3][0-9]') as no_days from entries"
        ),
        json!([{ "first": "2026-09-01", "last": "2026-11-20", "least": 0.5, "most": 9.5, "not_quarters": 0, "no_days": 0 }])
    );
    let long_days = "select person, day from entries group by person, day having sum(hours) > 10";
    assert_eq!(rows(long_days), json!([]));
    let weekend = rows("select count(*) as n from entries where strftime('%w', day) in ('0', '6')");
    assert!(weekend[0]["n"].as_i64().unwrap() < 50, "{weekend}");
}

#[test]
fn the_week_of_the_examples_has_its_cases() {
    assert_eq!(
        rows("select day, sum(hours) as hours from entries where person = 'p7' and day >= '2026-11-16' group by day order by day"),
        json!([
            { "day": "2026-11-16", "hours": 8.5 },
            { "day": "2026-11-17", "hours": 8.0 },
            { "day": "2026-11-18", "hours": 7.5 },
            { "day": "2026-11-19", "hours": 8.0 },
        ])
    );
    assert_eq!(
        rows(
            "select p.id, p.weekly_target as target, coalesce(sum(e.hours), 0) as logged, coalesce(sum(e.day = '2026-11-18'), 0) as today from people p \
              left join entries e on e.person = p.id and e.day >= '2026-11-16' where p.id in ('p3', 'p7', 'p9', 'p12') group by p.id order by p.id"
        ),
        json!([
            { "id": "p12", "target": 40, "logged": 0, "today": 0 },
            { "id": "p3", "target": 40, "logged": 32.25, "today": 0 },
            { "id": "p7", "target": 40, "logged": 32.0, "today": 3 },
            { "id": "p9", "target": 40, "logged": 47.5, "today": rows("select count(*) as n from entries where person = 'p9' and day = '2026-11-18'")[0]["n"] },
        ])
    );
    assert_eq!(rows("select count(*) as n from entries where person = 'p12'"), json!([{ "n": 0 }]));
}

#[test]
fn people_are_invented_and_reachable_nowhere() {
    assert_eq!(
        rows(
            "select count(*) as people, sum(email like '%@example.com') as mails, sum(typeof(phone) = 'text' and phone glob '+[1-9]*') as phones, \
              sum(phone glob '+1???55501??' or phone glob '+44207946????' or phone glob '+447700900???' or phone glob '+493023125???' \
              or phone glob '+6125550????') as fictional from people"
        ),
        json!([{ "people": 12, "mails": 12, "phones": 12, "fictional": 12 }])
    );
    let zones = rows(
        "select distinct time_zone from people where time_zone in \
                      ('America/Los_Angeles', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Auckland') order by 1",
    );
    assert_eq!(zones.as_array().map(Vec::len), Some(4));
}

#[test]
fn names_test_what_texts_must_survive() {
    assert_eq!(
        rows("select name from people where id in ('p4', 'p5', 'p6') order by id"),
        json!([{ "name": "Sinéad O'Brien" }, { "name": "佐藤 花子" }, { "name": "Zoë Núñez" }])
    );
    assert_eq!(rows("select name from projects where id = 'atlas'"), json!([{ "name": "R&D *Atlas*" }]));
}
