//! Search in documents: how often it finds what was asked for, and what an index of much text costs. Prints figures.
//!
//! `cargo bench --bench search` — recall at 5 and MRR over the pages and questions in `tests/knowledge`.
//! `cargo bench --bench search -- large` — 100 MB of generated text: time to build, size, time for a question.
//! `cargo bench --bench search -- vectors` — 100,000 pieces with scripted vectors: the same.
//! With `FLOW_EMBED_URL` and `FLOW_EMBED_MODEL` the first also asks that endpoint for vectors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods, reason = "it measures; what goes wrong ends it")]

#[path = "../tests/it/knowledge/asked.rs"]
mod asked;

use std::path::Path;
use std::time::{Duration, Instant};

use flow::port::{EmbedEndpoint, Embedding};
use flow_base::model::{CONNECT_TIMEOUT, HostSource, Retry, SearchMode};

use asked::{Quality, Searches, meanings, quality};

fn main() {
    let word = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    match word.as_deref() {
        None => labelled(),
        Some("large") => grown(100 << 20, SearchMode::Words),
        Some("vectors") => grown(60 << 20, SearchMode::Both),
        Some(other) => println!("{other} is none of: large, vectors"),
    }
}

fn told(name: &str, quality: &Quality) {
    let Quality { questions, recall, mrr, missed } = quality;
    println!("{name:22} recall@5 {recall:.3}   MRR {mrr:.3}   ({questions} questions)");
    missed.iter().for_each(|question| println!("    missed: {question}"));
}

fn labelled() {
    told("words", &quality(SearchMode::Words, None));
    let scripted = || Some(Embedding::Scripted { meanings: meanings() });
    told("meaning (scripted)", &quality(SearchMode::Meaning, scripted()));
    told("both (scripted)", &quality(SearchMode::Both, scripted()));
    let named = |name: &str| std::env::var(name).ok();
    if let (Some(base_url), Some(model)) = (named("FLOW_EMBED_URL"), named("FLOW_EMBED_MODEL")) {
        let endpoint = EmbedEndpoint {
            endpoint: Default::default(),
            base_url,
            host_from: HostSource::File,
            model: model.clone(),
            api_key: None,
            timeout: Duration::from_secs(120),
            connect_timeout: CONNECT_TIMEOUT,
            retry: Retry::of_model_calls(),
        };
        for (name, mode) in [("meaning", SearchMode::Meaning), ("both", SearchMode::Both)] {
            told(&format!("{name} ({model})"), &quality(mode, Some(Embedding::Endpoint(endpoint.clone()))));
        }
    }
}

/// Words that are drawn by Zipf's law, as in a language: the most frequent one is every tenth or so.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn word(&mut self) -> String {
        let share = (self.next() % 1_000_000 + 1) as f64 / 1_000_000.0;
        // 60,000 words; the logarithm makes rank r as frequent as 1/r.
        Words::of_rank((share * 60_000_f64.ln()).exp() as usize)
    }

    /// Each rank has a word of its own; frequent ones are shorter, as in a language.
    fn of_rank(rank: usize) -> String {
        const SYLLABLES: [&str; 16] =
            ["ba", "ko", "ri", "ten", "lu", "mas", "ver", "sol", "ni", "dak", "pe", "tor", "gan", "fe", "ul", "zi"];
        let places = if rank < 256 { 2 } else { 4 };
        (0..places).map(|place| SYLLABLES[(rank >> (4 * place)) % 16]).collect()
    }
}

fn grown(bytes: usize, mode: SearchMode) {
    let folder = tempfile::tempdir().unwrap();
    let mut words = Words(7);
    let mut written = 0;
    let mut files = 0;
    while written < bytes {
        let mut text = format!("# Page {files}\n\n");
        while text.len() < 200_000 {
            text.push_str(&format!("## Part {} of {}\n\n", text.len(), words.word()));
            for _ in 0..3 {
                for _ in 0..80 {
                    text.push_str(&words.word());
                    text.push(' ');
                }
                text.push_str("end.\n\n");
            }
        }
        std::fs::write(folder.path().join(format!("page{files}.md")), &text).unwrap();
        written += text.len();
        files += 1;
    }
    println!("{:.1} MB of text in {files} files", written as f64 / 1e6);
    let searches = Searches::of(folder.path(), "*.md");
    let embed = || mode.needs_vectors().then(|| Embedding::Scripted { meanings: vec![] });
    let started = Instant::now();
    let first = searches.found(mode, embed(), "koten masver").unwrap();
    println!("first search, with the index: {:.1} s ({} pieces)", started.elapsed().as_secs_f64(), first.all_pieces);
    println!("index: {:.1} MB", size(&folder.path().join(".flow/knowledge")) as f64 / 1e6);
    let mut index = std::fs::read_dir(folder.path().join(".flow/knowledge")).unwrap().flatten().map(|entry| entry.path());
    let index = index.find(|path| path.extension().is_some_and(|end| end == "db")).unwrap();
    let questions: Vec<Vec<String>> = (0..60).map(|n| (0..3 + n % 6).map(|_| words.word()).collect()).collect();
    let frequent: Vec<Vec<String>> =
        (0..60).map(|n| (0..3 + n % 6).map(|word| Words::of_rank(1 + (n + word * 7) % 60)).collect()).collect();
    for (name, questions) in [("3 to 8 words", &questions), ("frequent words only", &frequent)] {
        let (mut ours, mut plain) = (vec![], vec![]);
        for question in questions {
            ours.push(took(|| drop(searches.found(mode, embed(), &question.join(" ")).unwrap())));
            plain.push(took(|| plain_query(&index, question)));
        }
        println!("a question of {name}: {}", spread(&mut ours));
        println!("    the same in FTS5 alone, all of its words: {}; ours takes {:.2} of it", spread(&mut plain), sum(&ours) / sum(&plain));
    }
    let mut nothing: Vec<f64> = (0..20).map(|_| took(|| drop(searches.found(mode, embed(), "xyzzy").unwrap()))).collect();
    println!("a word that is nowhere (what every search costs): {}", spread(&mut nothing));
    std::fs::write(folder.path().join("page0.md"), "# New\n\nOther words.\n").unwrap();
    let started = Instant::now();
    let after = searches.found(mode, embed(), "other words").unwrap();
    println!("after one file changed: {:.0} ms ({} read)", started.elapsed().as_secs_f64() * 1_000.0, after.read);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("memory at most: {}", line[6..].trim()));
}

/// Five pieces for any of these words, as FTS5 ranks them by itself, in a connection of its own.
fn plain_query(index: &Path, words: &[String]) {
    let connection = rusqlite::Connection::open(index).unwrap();
    let mut statement = connection.prepare("select rowid from words where words match ? order by rank limit 5").unwrap();
    let found = statement.query_map([words.join(" OR ")], |row| row.get::<_, i64>(0)).unwrap().count();
    assert!(found > 0);
}

fn took(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64() * 1_000.0
}

fn sum(times: &[f64]) -> f64 {
    times.iter().sum()
}

fn spread(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    format!("median {:.0} ms, 95 of 100 below {:.0} ms", times[times.len() / 2], times[times.len() * 19 / 20])
}

fn size(folder: &Path) -> u64 {
    std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.metadata().unwrap().len()).sum()
}
