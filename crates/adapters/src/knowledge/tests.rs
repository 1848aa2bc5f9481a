use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use super::super::clock::SystemClock;
use super::super::data::{CancelFlag, failure};
use super::*;
use crate::model::{FilePattern, HostSource, Retry, SearchMode};

/// A project with these documents.
struct Project(tempfile::TempDir);

impl Project {
    fn with(files: &[(&str, &str)]) -> Project {
        let project = Project(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| project.write(path, text));
        project
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    /// Writes a file whose clock is not of this moment, so that it counts as unchanged later.
    fn write(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    }

    fn request(&self, files: &[&str], query: &str) -> SearchRequest {
        let pattern = |written: &&str| {
            let (root, rest) = FilePattern::split(written);
            FilePattern { root: self.path(&root), rest }
        };
        SearchRequest {
            knowledge: "handbook".to_owned(),
            project: self.0.path().to_path_buf(),
            files: files.iter().map(pattern).collect(),
            given: None,
            run: "r_1".to_owned(),
            mode: SearchMode::Words,
            embed: None,
            query: query.to_owned(),
            top: 5,
            timeout: Duration::from_secs(60),
            mask: None,
            listener: None,
        }
    }

    /// A search in files that a run filled in.
    fn given(&self, files: &[PathBuf], query: &str) -> SearchRequest {
        SearchRequest { given: Some(files.to_vec()), ..self.request(&[], query) }
    }

    fn indexes(&self) -> Vec<PathBuf> {
        self.indexes_in(".flow/knowledge")
    }

    fn indexes_in(&self, folder: &str) -> Vec<PathBuf> {
        let names = fs::read_dir(self.path(folder)).unwrap().flatten().map(|entry| entry.path());
        names.filter(|path| path.extension().is_some_and(|end| end == "db")).collect()
    }
}

/// Makes vectors of two numbers: how often a text says "cat", and "dog".
#[derive(Default)]
struct Counting {
    asked: Mutex<Vec<String>>,
    /// How many requests fail before one succeeds.
    failing: AtomicUsize,
}

impl Embedder for Counting {
    fn embed(&self, _: EmbedEndpoint, texts: Vec<String>) -> Pending<Embedded> {
        lock(&self.asked).extend(texts.iter().cloned());
        let fails = self.failing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        Box::pin(async move {
            if fails {
                return Err(failure(FailureKind::ServerError, "busy"));
            }
            let vector = |text: &String| ["cat", "dog"].iter().map(|word| text.matches(word).count() as f32 + 0.01).collect();
            Ok(Embedded { vectors: texts.iter().map(vector).collect(), tokens: texts.len() as u64 })
        })
    }
}

fn found_by(embedder: &Arc<Counting>, request: SearchRequest) -> Result<FoundPieces, Failure> {
    let documents = Documents::new(Arc::default(), embedder.clone(), Arc::new(SystemClock::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(documents.search(request))
}

fn found(request: SearchRequest) -> Result<FoundPieces, Failure> {
    found_by(&Arc::default(), request)
}

fn texts(found: &FoundPieces) -> Vec<&str> {
    found.pieces.iter().map(|piece| piece.text.as_str()).collect()
}

fn endpoint() -> Embedding {
    Embedding::Endpoint(EmbedEndpoint {
        endpoint: Default::default(),
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        host_from: HostSource::File,
        model: "m".to_owned(),
        api_key: None,
        timeout: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(5),
        retry: Retry { delay: Duration::ZERO, ..Retry::of_model_calls() },
    })
}

const LEAVE: &str = "# Leave\n\n## Holidays\n\nEverybody has thirty days of paid holidays.\n\n## Sick leave\n\nCall before nine.\n";
const TRAVEL: &str = "# Travel\n\nHotels are booked by the office. Café bills need a receipt.\n";

#[test]
fn pieces_are_found_by_stems_and_without_accents() {
    let project = Project::with(&[("docs/leave.md", LEAVE), ("docs/deep/travel.md", TRAVEL)]);
    let ask = |query: &str| found(project.request(&["docs/**/*.md"], query)).unwrap();
    let first = ask("How many HOLIDAY days do I have?");
    let best = first.pieces.first().unwrap();
    assert_eq!(
        (best.text.as_str(), best.file.as_str(), best.heading.as_str(), best.page),
        ("Everybody has thirty days of paid holidays.", "docs/leave.md", "Leave > Holidays", None)
    );
    assert!(best.score > 0.0);
    assert_eq!((first.files, first.all_pieces, first.read), (2, 3, 2));
    assert_eq!(texts(&ask("booking a cafe")), ["Hotels are booked by the office. Café bills need a receipt."]);
    assert_eq!(texts(&ask("xylophone")), Vec::<&str>::new());
    assert_eq!(ask("holiday").read, 0, "nothing has changed");
}

#[test]
fn a_question_is_never_read_as_a_query() {
    let project = Project::with(&[("a.md", LEAVE)]);
    for query in [
        "\"",
        "text:holidays",
        "holidays AND NOT days",
        "NEAR(",
        "-holidays",
        "holi*",
        "a OR",
        "^holidays",
        "((",
        "'; drop table words; --",
    ] {
        found(project.request(&["*.md"], query)).unwrap();
    }
    assert_eq!(found(project.request(&["*.md"], "heading:\"holidays\" OR")).unwrap().pieces.len(), 1);
    assert_eq!(found(project.request(&["*.md"], "holi*")).unwrap().pieces, []);
}

#[test]
fn only_what_changed_is_read_again_and_what_is_gone_is_forgotten() {
    let project = Project::with(&[("a.md", "apples"), ("b.md", "bananas"), ("c.md", "cherries")]);
    let ask = |query: &str| found(project.request(&["*.md"], query)).unwrap();
    assert_eq!(ask("apples").read, 3);
    project.write("b.md", "blueberries");
    fs::remove_file(project.path("c.md")).unwrap();
    project.write("d.md", "dates");
    let next = ask("blueberries");
    assert_eq!((next.read, next.files, texts(&next)), (2, 3, vec!["blueberries"]));
    assert_eq!((texts(&ask("bananas")), texts(&ask("cherries"))), (vec![], vec![]));
    // Touched, and the same as before.
    let file = fs::File::options().write(true).open(project.path("a.md")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_060)).unwrap();
    assert_eq!(ask("apples").read, 0);
    // Changed within the clock's grain, at the same length.
    fs::write(project.path("a.md"), "grapes").unwrap();
    assert_eq!(texts(&ask("grapes")), ["grapes"]);
    fs::write(project.path("a.md"), "lemons").unwrap();
    assert_eq!(texts(&ask("lemons")), ["lemons"]);
}

#[test]
fn the_index_is_private() {
    let project = Project::with(&[("a.md", "apples")]);
    found(project.request(&["*.md"], "apples")).unwrap();
    for entry in fs::read_dir(project.path(".flow/knowledge")).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    assert_eq!(fs::metadata(project.path(".flow/knowledge")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn hidden_files_links_and_what_flow_keeps_are_never_read() {
    let project =
        Project::with(&[("docs/a.md", "secret apples"), ("docs/.b.md", "secret"), ("docs/.x/c.md", "secret"), (".flow/d.md", "secret")]);
    let outside = Project::with(&[("o.md", "secret outside")]);
    symlink(outside.path("o.md"), project.path("docs/link.md")).unwrap();
    symlink(outside.path(""), project.path("docs/folder")).unwrap();
    symlink(outside.path(""), project.path("linked")).unwrap();
    assert_eq!(texts(&found(project.request(&["**/*.md"], "secret")).unwrap()), ["secret apples"]);
    let through = found(project.request(&["docs/link.md"], "secret")).unwrap_err();
    assert_eq!(through.kind, FailureKind::Denied);
    assert_eq!(found(project.request(&["linked/*.md"], "secret")).unwrap_err().kind, FailureKind::Unavailable);
    assert_eq!(found(project.request(&[".flow/d.md"], "secret")).unwrap_err().kind, FailureKind::Denied);
    let own = OwnFiles { hidden: vec![project.path("docs/a.md")], ..OwnFiles::default() };
    let documents = Documents::new(Arc::new(own), Arc::<Counting>::default(), Arc::new(SystemClock::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert_eq!(runtime.block_on(documents.search(project.request(&["docs/*.md"], "secret"))).unwrap_err().kind, FailureKind::Unavailable);
}

#[test]
fn a_document_that_cannot_be_read_is_told_and_the_others_are_searched() {
    let project = Project::with(&[("a.md", "apples"), ("table.csv", "a,b\n1,2\n")]);
    fs::write(project.path("b.md"), b"\xff\xfe\x00").unwrap();
    fs::write(project.path("c.pdf"), b"%PDF-1.7 broken").unwrap();
    let ask = || found(project.request(&["*"], "apples")).unwrap();
    let first = ask();
    assert_eq!((texts(&first), first.left_out.len()), (vec!["apples"], 3), "{:?}", first.left_out);
    assert!(first.left_out.iter().any(|told| told.starts_with("table.csv: it is a table")), "{:?}", first.left_out);
    assert_eq!(ask().left_out, first.left_out, "also when nothing is read");
}

#[test]
fn no_file_that_fits_is_a_failure_that_says_so() {
    let project = Project::with(&[("a.txt", "apples")]);
    let none = found(project.request(&["*.md", "b/**/*.pdf"], "apples")).unwrap_err();
    let folder = project.path("").canonicalize().unwrap();
    let wanted = format!(
        "knowledge handbook has no documents: no file in {} fits *.md or b/**/*.pdf; hidden files and links do not count",
        folder.display()
    );
    assert_eq!((none.kind, none.message), (FailureKind::Unavailable, wanted));
}

fn damage(path: &Path, from: u64) {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = fs::File::options().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(from)).unwrap();
    file.write_all(&vec![0x5a; usize::try_from(length - from).unwrap()]).unwrap();
}

#[test]
fn a_damaged_index_is_made_anew_and_told() {
    let project = Project::with(&[("a.md", "apples"), ("b.md", LEAVE)]);
    let ask = || found(project.request(&["*.md"], "apples")).unwrap();
    ask();
    let [index] = project.indexes().try_into().unwrap();
    for from in [0, 100, 4_096, 20_000] {
        damage(&index, from);
        let after = ask();
        assert_eq!((texts(&after), after.files), (vec!["apples"], 2), "{from}");
        assert!(after.rebuilt.starts_with("was damaged"), "{from}: {:?}", after.rebuilt);
        assert_eq!(ask().rebuilt, "");
    }
    fs::write(&index, "").unwrap();
    assert_eq!(texts(&ask()), ["apples"]);
    let other = rusqlite::Connection::open(&index).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    assert_eq!(ask().rebuilt, "was made by another version of flow");
    // A text that is not what was written.
    let other = rusqlite::Connection::open(&index).unwrap();
    other.execute("update pieces set text = 'oranges' where text = 'apples'", []).unwrap();
    drop(other);
    let after = ask();
    assert_eq!((texts(&after), after.rebuilt.as_str()), (vec!["apples"], "was damaged (a piece is not as it was written)"));
}

/// Damage that SQLite has no code of its own for, and damage that shows only while vectors are looked at.
#[test]
fn an_index_whose_tables_are_not_as_they_were_made_is_made_anew() {
    let project = Project::with(&[("a.md", "apples"), ("b.md", LEAVE)]);
    let embed = Some(Embedding::Scripted { meanings: Default::default() });
    let ask = || {
        let request = project.request(&["*.md"], "apples");
        found(SearchRequest { mode: SearchMode::Both, embed: embed.clone(), ..request }).unwrap_or_else(|failure| panic!("{failure:?}"))
    };
    ask();
    let [index] = project.indexes().try_into().unwrap();
    for harm in [
        "drop table words_data",
        "drop table words_config",
        "delete from words_data",
        "drop table pieces",
        "drop table settings",
        "alter table vectors rename to others",
        "alter table pieces rename column hash to other",
        "update vectors set vector = 'text'",
        "update pieces set hash = 'x'; delete from vectors",
        "update pieces set text = x'ff'; delete from vectors",
    ] {
        let other = rusqlite::Connection::open(&index).unwrap();
        other.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
        other.execute_batch(&format!("pragma writable_schema = on; {harm}")).unwrap_or_else(|error| panic!("{harm}: {error}"));
        drop(other);
        let after = ask();
        assert_eq!((texts(&after)[0], after.files), ("apples", 2), "{harm}");
        assert!(after.rebuilt.starts_with("was damaged"), "{harm}: {:?}", after.rebuilt);
        assert_eq!(ask().rebuilt, "", "{harm}");
    }
}

#[test]
fn an_index_goes_with_the_last_run_that_filled_its_documents_in() {
    let project = Project::with(&[("one.md", "apples"), ("two.md", "pears")]);
    let ask = |run: &str, name: &str| {
        found(SearchRequest { run: run.to_owned(), ..project.given(&[project.path(name)], "apples pears") }).unwrap();
    };
    ask("r_1", "one.md");
    ask("r_2", "one.md");
    ask("r_2", "two.md");
    found(project.request(&["*.md"], "apples")).unwrap();
    let left = |kept: &[&str]| {
        forget_runs(project.0.path(), &kept.iter().map(|run| (*run).to_owned()).collect()).unwrap();
        fs::read_dir(project.path(".flow/knowledge/runs")).unwrap().count()
    };
    assert_eq!(left(&["r_1", "r_2"]), 6, "an index, its lock and its mark for each file");
    assert_eq!(left(&["r_1"]), 3);
    assert_eq!(left(&[]), 0);
    assert_eq!(project.indexes().len(), 1, "that of written files stays");
    forget_runs(&project.path("none"), &Default::default()).unwrap();
}

#[test]
fn searches_at_once_make_one_index() {
    let files: Vec<(String, String)> = (0..60).map(|n| (format!("f{n}.md"), format!("# File {n}\n\nfruit number{n}\n"))).collect();
    let project = Project::with(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        let searches: Vec<_> = (0..6)
            .map(|n| {
                let request = project.request(&["*.md"], &format!("number{n}"));
                scope.spawn(move || found(request).unwrap())
            })
            .collect();
        let all: Vec<FoundPieces> = searches.into_iter().map(|search| search.join().unwrap()).collect();
        for (n, found) in all.iter().enumerate() {
            assert_eq!((texts(found), found.all_pieces), (vec![format!("fruit number{n}").as_str()], 60));
        }
        assert_eq!(all.iter().map(|found| found.read).sum::<u64>(), 60, "each document is read once");
    });
}

#[test]
fn more_searches_at_once_than_work_at_once_end_while_the_vectors_are_made() {
    let project = Project::with(&[("a.md", "Thirty days of paid holidays."), ("b.md", "The car park is behind the house.")]);
    let documents = Documents::new(Arc::default(), Arc::new(Counting::default()), Arc::new(SystemClock::new()));
    let request = SearchRequest {
        mode: SearchMode::Meaning,
        embed: Some(Embedding::Scripted { meanings: Default::default() }),
        timeout: Duration::from_secs(20),
        ..project.request(&["*.md"], "holidays")
    };
    let all = (0..3 * AT_ONCE).map(|_| documents.search(request.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let found = runtime.block_on(futures_util::future::join_all(all));
    assert!(found.iter().all(|found| found.as_ref().is_ok_and(|found| !found.pieces.is_empty())), "{found:?}");
}

#[test]
fn a_search_that_is_dropped_in_the_middle_loses_nothing() {
    let files: Vec<(String, String)> =
        (0..40).map(|n| (format!("f{n}.md"), format!("fruit number{n} {}", "filler ".repeat(2_000)))).collect();
    let project = Project::with(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let request = SearchRequest { timeout: Duration::from_millis(1), ..project.request(&["*.md"], "number7") };
    let _ = found(request);
    let after = found(project.request(&["*.md"], "number7")).unwrap();
    assert_eq!((after.files, after.pieces.len(), after.rebuilt.as_str()), (40, 1, ""));
}

#[test]
fn the_nearest_meaning_is_found_and_vectors_are_made_once() {
    let project = Project::with(&[("a.md", "a cat"), ("b.md", "a dog"), ("c.md", "a cat and a dog"), ("d.md", "a cat")]);
    let embedder = Arc::new(Counting::default());
    let request =
        |query: &str| SearchRequest { mode: SearchMode::Meaning, embed: Some(endpoint()), top: 2, ..project.request(&["*.md"], query) };
    let first = found_by(&embedder, request("dog")).unwrap();
    assert_eq!(texts(&first), ["a dog", "a cat and a dog"]);
    assert!(first.pieces.first().is_some_and(|piece| piece.score > 0.99));
    assert_eq!((first.tokens, lock(&embedder.asked).len()), (4, 4), "equal texts share a vector");
    let second = found_by(&embedder, request("cat")).unwrap();
    assert_eq!((texts(&second), second.tokens), (vec!["a cat", "a cat"], 1));
    project.write("b.md", "two cats");
    assert_eq!(found_by(&embedder, request("dog")).unwrap().tokens, 2, "the changed document and the question");
    // Another model has other vectors.
    let Embedding::Endpoint(other) = endpoint() else { unreachable!("it is one") };
    let embed = Some(Embedding::Endpoint(EmbedEndpoint { model: "other".to_owned(), ..other }));
    assert_eq!(found_by(&embedder, SearchRequest { embed, ..request("dog") }).unwrap().tokens, 4);
}

#[test]
fn a_request_for_vectors_is_made_again_as_often_as_its_model_says() {
    let project = Project::with(&[("a.md", "a cat")]);
    let request = || SearchRequest { mode: SearchMode::Both, embed: Some(endpoint()), ..project.request(&["*.md"], "cat") };
    let embedder = Arc::new(Counting { failing: 3.into(), ..Counting::default() });
    assert_eq!(found_by(&embedder, request()).unwrap_err().kind, FailureKind::ServerError);
    assert_eq!(lock(&embedder.asked).len(), 3);
    let embedder = Arc::new(Counting { failing: 2.into(), ..Counting::default() });
    assert_eq!(texts(&found_by(&embedder, request()).unwrap()), ["a cat"]);
}

#[test]
fn secrets_do_not_reach_an_endpoint() {
    let project = Project::with(&[("a.md", "the key is canary-7Q, says the cat")]);
    let embedder = Arc::new(Counting::default());
    let mask = TextMask::new(|text: &mut String| *text = text.replace("canary-7Q", "***"));
    let request = SearchRequest {
        mode: SearchMode::Meaning,
        embed: Some(endpoint()),
        mask: Some(mask),
        ..project.request(&["*.md"], "canary-7Q cat")
    };
    found_by(&embedder, request).unwrap();
    assert_eq!(*lock(&embedder.asked), ["the key is ***, says the cat", "*** cat"]);
}

#[test]
fn scripted_vectors_find_what_is_declared_to_mean_the_same() {
    let project = Project::with(&[("a.md", "Thirty days of paid holidays."), ("b.md", "The car park is behind the house.")]);
    let meanings = vec![vec!["holidays".to_owned(), "vacation".to_owned()]];
    let request = |mode| SearchRequest {
        mode,
        embed: Some(Embedding::Scripted { meanings: meanings.clone() }),
        ..project.request(&["*.md"], "vacation house")
    };
    let by_words = found(project.request(&["*.md"], "vacation house")).unwrap();
    assert_eq!(texts(&by_words), ["The car park is behind the house."]);
    let both = found(request(SearchMode::Both)).unwrap();
    assert_eq!(both.pieces.len(), 2);
    let meaning = found(SearchRequest { query: "How long is my vacation".to_owned(), ..request(SearchMode::Meaning) }).unwrap();
    assert_eq!(texts(&meaning).first(), Some(&"Thirty days of paid holidays."));
}

#[test]
fn of_words_that_many_pieces_hold_the_rarest_are_ranked() {
    let rarest = |counts: &[u64], most| {
        let words = counts.iter().map(|count| (*count, format!("w{count}"))).collect();
        super::index::rarest(words, most)
    };
    assert_eq!(rarest(&[30, 5, 20], 100), ["w5", "w20", "w30"]);
    assert_eq!(rarest(&[30, 5, 20], 54), ["w5", "w20"]);
    assert_eq!(rarest(&[30, 20], 3), ["w20"], "one is always looked for");
    assert_eq!(rarest(&[], 3), Vec::<String>::new());
}

#[test]
fn words_that_most_pieces_hold_count_only_where_there_are_no_others() {
    let text: String =
        (0..600).map(|n| format!("## Part {n}\n\nThe fruit number{n} is {}.\n\n", if n % 3 == 0 { "ripe" } else { "green" })).collect();
    let project = Project::with(&[("a.md", &text)]);
    let ask = |query: &str| found(project.request(&["*.md"], query)).unwrap();
    assert_eq!(ask("the number77 of fruit").pieces.len(), 1);
    let ripe = ask("ripe or green fruit");
    assert!(ripe.all_pieces >= 600 && ripe.pieces.len() == 5, "all are common: {}", ripe.all_pieces);
    assert!(texts(&ripe)[0].contains("ripe"), "the rarer word counts more: {:?}", texts(&ripe));
}

#[test]
fn lists_are_fused_by_rank() {
    let fused = fused(&[vec![(1, 9.0), (2, 8.0), (3, 7.0)], vec![(3, 0.9), (2, 0.8), (4, 0.1)]]);
    assert_eq!(fused.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 2, 1, 4]);
}

#[test]
fn files_of_a_run_have_an_index_for_each_set_of_them() {
    let project = Project::with(&[("a.md", "apples"), ("docs/b.md", "bananas")]);
    let outside = Project::with(&[("report.md", "# Report\n\nRaspberries sold well.\n")]);
    let (a, report) = (project.path("a.md"), outside.path("report.md"));
    let ask = |files: &[&PathBuf], query: &str| found(project.given(&files.iter().copied().cloned().collect::<Vec<_>>(), query)).unwrap();
    let both = ask(&[&a, &report], "raspberry");
    assert_eq!((texts(&both), both.files, both.read), (vec!["Raspberries sold well."], 2, 2));
    assert_eq!(both.pieces[0].file, report.canonicalize().unwrap().to_string_lossy());
    let turned = ask(&[&report, &a, &report], "apples");
    assert_eq!((texts(&turned), turned.read, turned.files), (vec!["apples"], 0, 2), "the order does not matter");
    assert_eq!(turned.pieces[0].file, "a.md");
    let one = ask(&[&report], "apples");
    assert_eq!((texts(&one), one.files), (vec![], 1), "what another run was given is not found");
    let mixed =
        found(SearchRequest { given: Some(vec![report.clone()]), ..project.request(&["docs/*.md"], "bananas raspberries") }).unwrap();
    assert_eq!(mixed.files, 2);
    assert_eq!(project.indexes_in(".flow/knowledge/runs").len(), 3);
    assert!(project.indexes().is_empty());
    outside.write("report.md", "Quinces.");
    assert_eq!((texts(&ask(&[&report], "raspberries")), texts(&ask(&[&report], "quince"))), (vec![], vec!["Quinces."]));
}

#[test]
fn a_file_of_a_run_is_one_that_a_step_may_read() {
    let project =
        Project::with(&[(".env", "KEY=1"), (".flow/x.md", "apples"), ("docs/a.md", "apples"), ("a[1]*?.md", "pears"), ("k.csv", "a\n1\n")]);
    symlink(project.path(".env"), project.path("docs/link.md")).unwrap();
    symlink(project.path("docs/a.md"), project.path("docs/fine.md")).unwrap();
    let fails = |file: &str| {
        let failure = found(project.given(&[project.path("docs/a.md"), project.path(file)], "apples")).unwrap_err();
        (failure.kind, failure.message.rsplit('/').next().unwrap_or_default().to_owned())
    };
    for own in [".env", ".flow/x.md", "docs/link.md", "docs/../.env"] {
        assert_eq!(fails(own).0, FailureKind::Denied, "{own}");
    }
    assert_eq!(fails("docs"), (FailureKind::Unavailable, "docs is a folder; name the files in it".to_owned()));
    assert_eq!(fails("docs/*.md"), (FailureKind::Unavailable, "*.md does not exist, or is no file".to_owned()), "no pattern");
    assert_eq!(fails("no\u{1b}[31m"), (FailureKind::Unavailable, "no\\x1B[31m does not exist, or is no file".to_owned()));
    let of = |files: &[&str], query: &str| found(project.given(&files.iter().map(|file| project.path(file)).collect::<Vec<_>>(), query));
    assert_eq!(of(&["docs/fine.md"], "apples").unwrap().pieces[0].file, "docs/a.md");
    assert_eq!(texts(&of(&["a[1]*?.md"], "pears").unwrap()), ["pears"]);
    assert_eq!(of(&[], "apples").unwrap_err().message, "knowledge handbook has no documents: the run gave it no files");
    let table = of(&["k.csv"], "apples").unwrap_err();
    assert_eq!(
        table.message,
        "none of the documents of knowledge handbook can be searched: k.csv: it is a table; describe it under data, and ask it with sql"
    );
    let many = vec![project.path("docs/a.md"); 20_001];
    assert_eq!(found(project.given(&many, "apples")).unwrap_err().kind, FailureKind::TooLarge);
}

#[test]
fn indexes_of_runs_do_not_pile_up() {
    let project = Project::with(&[("a.md", "apples"), ("kept.md", "kept")]);
    let file = |n: usize| project.path(&format!("f{n}.md"));
    (0..30).for_each(|n| project.write(&format!("f{n}.md"), &format!("fruit number{n}")));
    let ask = |files: &[PathBuf], query: &str| found(project.given(files, query)).unwrap();
    found(project.request(&["a.md"], "apples")).unwrap();
    ask(&[project.path("kept.md")], "kept");
    let [kept] = project.indexes_in(".flow/knowledge/runs").try_into().unwrap();
    let in_use = super::kept::IndexUse::begin(&kept, "r_1", std::time::SystemTime::UNIX_EPOCH, &CancelFlag::default()).unwrap();
    for n in 0..30 {
        assert_eq!(texts(&ask(&[file(n)], "fruit")).len(), 1);
    }
    let left = project.indexes_in(".flow/knowledge/runs");
    assert!(left.len() == 21 && left.contains(&kept), "20, and one that is used: {}", left.len());
    assert_eq!((ask(&[file(29)], "fruit").read, ask(&[file(0)], "fruit").read), (0, 1), "the last ones are kept");
    drop(in_use);
    // A month later.
    for mark in fs::read_dir(project.path(".flow/knowledge/runs")).unwrap().flatten().map(|entry| entry.path()) {
        let of_another = mark.extension().is_some_and(|end| end == "use");
        if of_another {
            fs::File::options().write(true).open(&mark).unwrap().set_modified(UNIX_EPOCH).unwrap();
        }
    }
    ask(&[file(1), file(2)], "fruit");
    assert_eq!(fs::read_dir(project.path(".flow/knowledge/runs")).unwrap().count(), 3, "an index, its lock, and the mark of its use");
    assert_eq!(project.indexes().len(), 1, "that of written files stays");
}
