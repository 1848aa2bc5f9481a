use super::*;
use crate::model::MessageRole;

fn message(run: &str, text: &str) -> KeptMessage {
    let said = PastMessage { role: MessageRole::User, text: text.to_owned(), ..PastMessage::default() };
    KeptMessage { run: run.to_owned(), said, masked: text.to_owned(), is_unanswered: false }
}

fn say(store: &mut SqliteConversations, of: &str, run: &str, texts: &[&str]) {
    store.begin(of, run).unwrap();
    store.settle(run, &texts.iter().map(|text| message(run, text)).collect::<Vec<_>>()).unwrap();
}

fn texts(messages: &[PastMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.text.as_str()).collect()
}

#[test]
fn the_newest_messages_come_back_in_order_and_older_ones_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.db");
    let mut store = SqliteConversations::open(&file, &Sealing::default(), true).unwrap();
    say(&mut store, "maria", "r_1", &["a", "b"]);
    say(&mut store, "jonas", "r_2", &["x"]);
    say(&mut store, "maria", "r_3", &["c", "d"]);
    drop(store);
    let mut store = SqliteConversations::open(&file, &Sealing::default(), true).unwrap();
    let (messages, older) = store.newest("maria", 3).unwrap();
    assert_eq!((texts(&messages), older), (vec!["b", "c", "d"], 1));
    // A run that ends a second time says what it says once.
    say(&mut store, "maria", "r_1", &["a", "b2"]);
    let (messages, older) = store.newest("maria", 50).unwrap();
    assert_eq!((texts(&messages), older), (vec!["c", "d", "a", "b2"], 0));
    let listed: Vec<_> = store.list().unwrap().into_iter().map(|one| (one.id.unwrap(), one.messages)).collect();
    assert_eq!(listed, [("maria".to_owned(), 4), ("jonas".to_owned(), 1)]);
    assert_eq!(store.newest("nobody", 3).unwrap(), (vec![], 0));
}

#[test]
fn runs_of_one_conversation_take_turns_in_the_order_in_which_they_came() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.db");
    let open = || SqliteConversations::open(&file, &Sealing::default(), true).unwrap();
    let (mut first, mut second, mut third) = (open(), open(), open());
    first.arrive("maria", "r_9").unwrap();
    second.arrive("maria", "r_5").unwrap();
    third.arrive("maria", "r_1").unwrap();
    assert_eq!(first.ahead("r_9").unwrap(), None);
    assert_eq!(third.ahead("r_1").unwrap().as_deref(), Some("r_5"));
    // Its process has ended.
    drop(second);
    assert_eq!(third.ahead("r_1").unwrap().as_deref(), Some("r_9"));
    first.leave("r_9").unwrap();
    assert_eq!(third.ahead("r_1").unwrap(), None);
    // Nothing was said: nothing is left.
    third.leave("r_1").unwrap();
    assert_eq!(third.list().unwrap(), []);
}

#[test]
fn a_turn_costs_as_much_after_a_thousand_messages_as_after_ten() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.db");
    let mut store = SqliteConversations::open(&file, &Sealing::default(), true).unwrap();
    for (of, count) in [("short", 10), ("long", 1_000)] {
        store.begin(of, of).unwrap();
        store.settle(of, &(0..count).map(|n| message(of, &format!("message {n}"))).collect::<Vec<_>>()).unwrap();
    }
    // The work of a turn, in steps of SQLite's machine.
    let work = |store: &mut SqliteConversations, of: &str| {
        let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let seen = count.clone();
        let step = move || {
            seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            false
        };
        store.connection.progress_handler(1, Some(step)).unwrap();
        let run = format!("r_of_{of}");
        store.arrive(of, &run).unwrap();
        store.ahead(&run).unwrap();
        assert_eq!(store.newest(of, 10).unwrap().0.len(), 10);
        store.begin(of, &run).unwrap();
        store.unsettled(of).unwrap();
        store.settle(&run, &[message(&run, "now")]).unwrap();
        store.leave(&run).unwrap();
        store.connection.progress_handler(1, None::<fn() -> bool>).unwrap();
        count.load(std::sync::atomic::Ordering::Relaxed)
    };
    let (short, long) = (work(&mut store, "short"), work(&mut store, "long"));
    assert!(short > 0 && long < short * 2, "{short} steps, {long} steps");
}

#[test]
fn what_is_removed_is_in_no_file_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.db");
    let mut store = SqliteConversations::open(&file, &Sealing::default(), true).unwrap();
    say(&mut store, "canary_id", "r_1", &["the canary sings at noon", "it does"]);
    say(&mut store, "other", "r_2", &["stays"]);
    let bodies: Vec<Vec<u8>> = {
        let mut query = store.connection.prepare("select body from messages where run = 'r_1'").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let found = || {
        let all: Vec<u8> =
            std::fs::read_dir(folder.path()).unwrap().flat_map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
        let holds = |part: &[u8]| all.windows(part.len()).any(|window| window == part);
        bodies.iter().filter(|body| holds(body)).count() + usize::from(holds(b"canary_id"))
    };
    assert_eq!(found(), 3);
    store.remove("canary_id", &[]).unwrap();
    assert_eq!(found(), 0);
    assert_eq!(store.all("other").unwrap().unwrap().len(), 1);
    assert_eq!(store.all("canary_id").unwrap(), None);
}

#[test]
fn an_encrypted_store_tells_neither_ids_nor_texts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.db");
    let key = JournalKey::read("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap();
    let sealing = Sealing { key: Some(key), is_on: true };
    let mut store = SqliteConversations::open(&file, &sealing, true).unwrap();
    say(&mut store, "maria", "r_1", &["hello"]);
    assert_eq!(store.newest("maria", 5).unwrap().0[0].text, "hello");
    assert_eq!(store.list().unwrap()[0].id.as_deref(), Some("maria"));
    let mut blind = SqliteConversations::open(&file, &Sealing::default(), true).unwrap();
    assert_eq!(blind.list().unwrap()[0].id, None);
    assert_eq!(blind.all("maria").unwrap(), None);
    let raw: Vec<u8> =
        ["", "-wal"].iter().flat_map(|end| std::fs::read(folder.path().join(format!("conversations.db{end}"))).unwrap()).collect();
    assert!(!raw.windows(5).any(|part| part == b"maria"));
}

#[test]
fn a_store_in_which_a_bit_is_changed_gives_the_same_messages_or_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversations.db");
    let mut store = SqliteConversations::open(&file, &Sealing::default(), true).unwrap();
    for n in 0..6 {
        say(&mut store, "maria", &format!("r_{n}"), &[&format!("What did I log on day {n}?"), &format!("{} hours.", n * 7)]);
    }
    let all = store.all("maria").unwrap();
    drop(store);
    let whole = std::fs::read(&file).unwrap();
    let (mut found, mut harmless) = (0, 0);
    for at in (0..whole.len()).step_by(13) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let _ = std::fs::remove_file(file.with_file_name("conversations.db-wal"));
        let _ = std::fs::remove_file(file.with_file_name("conversations.db-shm"));
        std::fs::write(&file, bytes).unwrap();
        let read = SqliteConversations::existing(&file, &Sealing::default()).and_then(|mut store| {
            store.check()?;
            store.all("maria")
        });
        match read {
            Err(_) | Ok(None) => found += 1,
            Ok(same) if same == all => harmless += 1,
            Ok(other) => panic!("bit {} of byte {at}: {other:?}", at % 8),
        }
    }
    assert!(found > 50 && harmless > 50, "{found} {harmless}");
}
