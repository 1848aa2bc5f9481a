//! The index of a knowledge: a SQLite file with the documents, their pieces, the words in them (FTS5), and vectors.
//!
//! It holds nothing that the documents do not, so a file that is damaged is made anew. Every document is written in one transaction: a process that is
//! killed leaves whole documents.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::ffi::SQLITE_IOERR_SHORT_READ;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use super::super::data::failure;
use super::super::sqlite_file::{self, make_private_file, query_all, query_value, remove_whole};
use super::kept::of_disk;
use super::pieces::Piece;
use crate::diagnostic::visible;
use crate::event::Failure;
use crate::model::FailureKind;

/// Changes whenever the tables or the cutting of pieces change; an index of another format is made anew.
const FORMAT: i64 = 1;

/// `porter` reduces English words to stems; `remove_diacritics 2` makes accents no difference (<https://www.sqlite.org/fts5.html#tokenizers>).
const TABLES: &str = "
    create table documents(id integer primary key, path text not null unique, size integer not null, modified integer not null,
        checked integer not null, hash blob not null, problem text not null);
    create table pieces(id integer primary key, document integer not null, page integer, heading text not null, text text not null,
        hash blob not null);
    create index pieces_of_document on pieces(document);
    create index pieces_by_hash on pieces(hash);
    create virtual table words using fts5(heading, text, content='pieces', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
    create table vectors(hash blob primary key, vector blob not null) without rowid;
    create table settings(name text primary key, value text not null);
";

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) size: i64,
    /// Nanoseconds since 1970.
    pub(super) modified: i64,
}

/// A document as the index knows it.
#[derive(Debug, Clone)]
pub(super) struct KnownDocument {
    pub(super) id: i64,
    pub(super) stamp: FileStamp,
    /// When the stamp was taken, in nanoseconds since 1970.
    pub(super) checked: i64,
    pub(super) hash: Vec<u8>,
    /// Why it could not be read; empty if it was.
    pub(super) problem: String,
}

/// A piece that was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredPiece {
    pub(super) file: String,
    pub(super) page: Option<u64>,
    pub(super) heading: String,
    pub(super) text: String,
}

/// Why an index cannot be used.
#[derive(Debug)]
pub(super) enum IndexError {
    /// It is damaged or of another format, in words that follow "it"; made anew it can be used.
    Damaged(String),
    /// The disk or another process is against it.
    Failed(Failure),
}

impl From<Failure> for IndexError {
    fn from(failure: Failure) -> IndexError {
        IndexError::Failed(failure)
    }
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> IndexError {
        match error.sqlite_error_code() {
            // The disk, another process, or time is against it.
            Some(
                ErrorCode::PermissionDenied
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::OperationInterrupted
                | ErrorCode::OperationAborted
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen,
            ) => IndexError::Failed(of_sqlite(&error)),
            Some(ErrorCode::SystemIoFailure) if error.sqlite_error().is_none_or(|found| found.extended_code != SQLITE_IOERR_SHORT_READ) => {
                IndexError::Failed(of_sqlite(&error))
            }
            // The statements and what is written are always the same, so anything else that is wrong is in the file.
            _ => IndexError::Damaged(format!("was damaged ({error})")),
        }
    }
}

fn of_sqlite(error: &rusqlite::Error) -> Failure {
    let kind =
        if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) { FailureKind::Timeout } else { FailureKind::Unavailable };
    failure(kind, format!("the index of the documents cannot be used: {}", visible(&error.to_string())))
}

/// An open index.
pub(super) struct DocumentIndex {
    connection: Connection,
}

impl DocumentIndex {
    /// Opens an index; `None` if there is none.
    pub(super) fn open(file: &Path) -> Result<Option<DocumentIndex>, IndexError> {
        sqlite_file::plain(file)?;
        match std::fs::metadata(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IndexError::Failed(of_disk(file, &error))),
            // A process that was killed may have left the file before its tables.
            Ok(data) if data.len() == 0 => return Ok(None),
            Ok(_) => {}
        }
        let connection = connect(file)?;
        let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match format {
            FORMAT => Ok(Some(DocumentIndex { connection })),
            0 => Ok(None),
            _ => Err(IndexError::Damaged("was made by another version of flow".to_owned())),
        }
    }

    /// Makes an empty index. The caller holds the lock.
    pub(super) fn make(file: &Path) -> Result<DocumentIndex, IndexError> {
        remove_whole(file).and_then(|()| make_private_file(file)).map_err(|error| IndexError::Failed(of_disk(file, &error)))?;
        let mut connection = connect(file)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        transaction.commit()?;
        Ok(DocumentIndex { connection })
    }

    /// Documents, by path.
    pub(super) fn documents(&self) -> Result<std::collections::HashMap<String, KnownDocument>, IndexError> {
        let all = "select path, id, size, modified, checked, hash, problem from documents";
        let rows = query_all(&self.connection, all, [], |row| {
            let stamp = FileStamp { size: row.get(2)?, modified: row.get(3)? };
            let known = KnownDocument { id: row.get(1)?, stamp, checked: row.get(4)?, hash: row.get(5)?, problem: row.get(6)? };
            Ok((row.get(0)?, known))
        })?;
        Ok(rows.into_iter().collect())
    }

    /// Begins a change of several documents.
    pub(super) fn change(&mut self) -> Result<IndexChange<'_>, IndexError> {
        Ok(IndexChange(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?))
    }

    /// The number of pieces.
    pub(super) fn count(&self) -> Result<u64, IndexError> {
        Ok(self.connection.query_row("select count(*) from pieces", [], |row| unsigned(row, 0))?)
    }

    fn maker_of_vectors(&self) -> rusqlite::Result<Option<String>> {
        query_value(&self.connection, "select value from settings where name = 'embed'", [])
    }

    /// Whether vectors of another maker are kept; they are then forgotten.
    pub(super) fn use_vectors_of(&mut self, identity: &str) -> Result<(), IndexError> {
        if self.maker_of_vectors()?.as_deref() == Some(identity) {
            return Ok(());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("delete from vectors", [])?;
        transaction.execute("insert or replace into settings values ('embed', ?)", [identity])?;
        Ok(transaction.commit()?)
    }

    /// Whether the vectors that are kept are of this maker, and none is missing.
    pub(super) fn has_vectors_of(&self, identity: &str) -> Result<bool, IndexError> {
        Ok(self.maker_of_vectors()?.as_deref() == Some(identity) && self.without_vectors(1)?.is_empty())
    }

    /// Texts of pieces that have no vector yet, each once, with the hash under which it is kept.
    pub(super) fn without_vectors(&self, most: usize) -> Result<Vec<(Vec<u8>, String)>, IndexError> {
        let missing = "select hash, min(heading), min(text) from pieces where not exists (select 1 from vectors where vectors.hash = \
                       pieces.hash) group by hash limit ?";
        Ok(query_all(&self.connection, missing, [most as i64], |row| {
            let (heading, text): (String, String) = (row.get(1)?, row.get(2)?);
            Ok((row.get(0)?, if heading.is_empty() { text } else { format!("{heading}\n{text}") }))
        })?)
    }

    /// How many pieces have no vector yet.
    pub(super) fn count_without_vectors(&self) -> Result<u64, IndexError> {
        let count = "select count(distinct hash) from pieces where not exists (select 1 from vectors where vectors.hash = pieces.hash)";
        Ok(self.connection.query_row(count, [], |row| unsigned(row, 0))?)
    }

    /// Keeps vectors.
    ///
    /// # Errors
    /// Also fails with `bad_response` if they are not as long as those that are kept.
    pub(super) fn keep_vectors(&mut self, vectors: &[(Vec<u8>, Vec<f32>)]) -> Result<(), IndexError> {
        let kept: Option<i64> = query_value(&self.connection, "select length(vector) from vectors limit 1", [])?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (hash, vector) in vectors {
            let bytes = bytes_of(vector);
            if kept.is_some_and(|kept| kept != bytes.len() as i64) {
                let message = format!("the model gave a vector of {} numbers, and {} before", vector.len(), kept.unwrap_or(0) / 4);
                return Err(IndexError::Failed(failure(FailureKind::BadResponse, message)));
            }
            transaction.execute("insert or replace into vectors values (?, ?)", params![hash, bytes])?;
        }
        Ok(transaction.commit()?)
    }

    /// The pieces that hold some of these words, by BM25, the best first: the piece, and its score (more is better). A word of the heading counts
    /// as [`HEADING_WEIGHT`] words of the text. `all`: the number of pieces.
    pub(super) fn by_words(&self, words: &[String], all: u64, most: u64) -> Result<Vec<(i64, f64)>, IndexError> {
        let chosen = self.telling(words, all)?;
        if chosen.is_empty() {
            return Ok(vec![]);
        }
        // Ordered by the name of the score, and not by the score: SQLite would work it out twice for each piece.
        let best = "select rowid, bm25(words, ?2, 1.0) as score from words where words match ?1 order by score, rowid limit ?3";
        let values = params![any_of(&chosen), HEADING_WEIGHT, most as i64];
        Ok(query_all(&self.connection, best, values, |row| Ok((row.get(0)?, -row.get::<_, f64>(1)?)))?)
    }

    /// The words that tell pieces apart: not those that most pieces hold, such as articles. If all are like that, the rarest of them. Where they are
    /// many in a large index, the most frequent are left out: they cost most, and tell least.
    fn telling(&self, words: &[String], all: u64) -> Result<Vec<String>, IndexError> {
        let common = if all < FEWEST_PIECES { all } else { (all as f64 * MOST_COMMON) as u64 };
        let mut statement = self.connection.prepare_cached("select count(*) from (select 1 from words where words match ? limit ?)")?;
        let mut held = |most: u64| -> rusqlite::Result<Vec<(u64, String)>> {
            let mut held = vec![];
            for word in words {
                let count = statement.query_row(params![any_of(std::slice::from_ref(word)), (most + 1) as i64], |row| unsigned(row, 0))?;
                held.extend((1..=most).contains(&count).then(|| (count, word.clone())));
            }
            Ok(held)
        };
        let mut chosen = held(common)?;
        if chosen.is_empty() {
            chosen = held(all)?;
        }
        Ok(rarest(chosen, MOST_RANKED))
    }

    /// The pieces whose vectors are nearest to this one, of length 1, the best first: the piece, and the cosine.
    pub(super) fn by_vector(&self, vector: &[f32], most: u64) -> Result<Vec<(i64, f64)>, IndexError> {
        // `cross`: SQLite would go through the pieces and look each vector up, where all are read anyway (half as much time again).
        let mut statement = self
            .connection
            .prepare_cached("select pieces.id, vectors.vector from vectors cross join pieces on pieces.hash = vectors.hash")?;
        let mut rows = statement.query([])?;
        let mut best: Vec<(i64, f64)> = vec![];
        let most = most as usize;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob().map_err(|error| IndexError::Damaged(format!("was damaged ({error})")))?;
            if bytes.len() != vector.len() * 4 {
                return Err(IndexError::Damaged("was damaged (a vector has the wrong length)".to_owned()));
            }
            let (numbers, _) = bytes.as_chunks::<4>();
            let cosine: f32 = numbers.iter().zip(vector).map(|(number, other)| f32::from_le_bytes(*number) * other).sum();
            best.push((row.get(0)?, f64::from(cosine)));
            if best.len() >= 4 * most.max(64) {
                best_first(&mut best, most);
            }
        }
        best_first(&mut best, most);
        Ok(best)
    }

    /// A piece. Its text must be the one that was written.
    pub(super) fn piece(&self, id: i64) -> Result<StoredPiece, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "select documents.path, page, heading, text, pieces.hash from pieces join documents on documents.id = pieces.document where pieces.id = ?",
        )?;
        let found = statement.query_row([id], |row| {
            let piece = StoredPiece {
                file: row.get(0)?,
                page: row.get::<_, Option<i64>>(1)?.map(i64::unsigned_abs),
                heading: row.get(2)?,
                text: row.get(3)?,
            };
            Ok((piece, row.get::<_, Vec<u8>>(4)?))
        });
        let (piece, hash) = found.optional()?.ok_or_else(|| IndexError::Damaged("was damaged (a piece has no document)".to_owned()))?;
        if hash != piece_hash(&piece.heading, &piece.text) {
            return Err(IndexError::Damaged("was damaged (a piece is not as it was written)".to_owned()));
        }
        Ok(piece)
    }
}

/// How many words of a text a word of its headings counts as.
const HEADING_WEIGHT: f64 = 1.5;
/// A word that more of the pieces hold tells nothing.
const MOST_COMMON: f64 = 0.2;
/// With fewer pieces every word counts: the share of pieces that hold it says little, and there is little to read.
const FEWEST_PIECES: u64 = 500;
/// How many pieces are ranked, each as often as a word of the question is in it.
const MOST_RANKED: u64 = 50_000;

/// Of words with the number of pieces that hold each: the rarest, together held by at most so many pieces, but at least one.
pub(super) fn rarest(mut words: Vec<(u64, String)>, most: u64) -> Vec<String> {
    words.sort_by_key(|(count, _)| *count);
    let mut sum: u64 = 0;
    let mut rarest = vec![];
    for (count, word) in words {
        sum = sum.saturating_add(count);
        if rarest.is_empty() || sum <= most {
            rarest.push(word);
        }
    }
    rarest
}

fn best_first(best: &mut Vec<(i64, f64)>, most: usize) {
    best.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    best.truncate(most);
}

/// A query for any of these words. Each is a string of FTS5's query language, in which nothing but `"` means anything
/// (<https://www.sqlite.org/fts5.html#full_text_query_syntax>), and words hold none.
fn any_of(words: &[String]) -> String {
    words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect::<Vec<_>>().join(" OR ")
}

/// A change of several documents; dropped without [`IndexChange::commit`] it is undone.
pub(super) struct IndexChange<'c>(Transaction<'c>);

impl IndexChange<'_> {
    /// Removes a document.
    pub(super) fn remove(&self, id: i64) -> Result<(), IndexError> {
        let words = "insert into words(words, rowid, heading, text) select 'delete', id, heading, text from pieces where document = ?";
        self.0.execute(words, [id])?;
        self.0.execute("delete from pieces where document = ?", [id])?;
        self.0.execute("delete from documents where id = ?", [id])?;
        Ok(())
    }

    /// Adds a document that is not there.
    pub(super) fn add(&self, path: &str, known: &KnownDocument, pieces: &[Piece]) -> Result<(), IndexError> {
        self.0.execute(
            "insert into documents(path, size, modified, checked, hash, problem) values (?, ?, ?, ?, ?, ?)",
            params![path, known.stamp.size, known.stamp.modified, known.checked, known.hash, known.problem],
        )?;
        let document = self.0.last_insert_rowid();
        let mut insert = self.0.prepare_cached("insert into pieces(document, page, heading, text, hash) values (?, ?, ?, ?, ?)")?;
        let mut words = self.0.prepare_cached("insert into words(rowid, heading, text) values (?, ?, ?)")?;
        for piece in pieces {
            let page = piece.page.map(|page| page as i64);
            insert.execute(params![document, page, piece.heading, piece.text, piece_hash(&piece.heading, &piece.text)])?;
            words.execute(params![self.0.last_insert_rowid(), piece.heading, piece.text])?;
        }
        Ok(())
    }

    /// Notes that a document is as it was.
    pub(super) fn is_unchanged(&self, id: i64, stamp: FileStamp, checked: i64) -> Result<(), IndexError> {
        let update = "update documents set size = ?, modified = ?, checked = ? where id = ?";
        self.0.execute(update, params![stamp.size, stamp.modified, checked, id])?;
        Ok(())
    }

    /// Forgets the vectors of pieces that are no longer there.
    pub(super) fn forget_vectors(&self) -> Result<(), IndexError> {
        self.0.execute("delete from vectors where not exists (select 1 from pieces where pieces.hash = vectors.hash)", [])?;
        Ok(())
    }

    /// Makes it last.
    pub(super) fn commit(self) -> Result<(), IndexError> {
        Ok(self.0.commit()?)
    }
}

fn unsigned(row: &rusqlite::Row, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}

fn piece_hash(heading: &str, text: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(heading);
    hash.update([0]);
    hash.update(text);
    hash.finalize()[..16].to_vec()
}

fn bytes_of(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn connect(file: &Path) -> Result<Connection, IndexError> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(sqlite_file::PATIENCE)?;
    sqlite_file::patiently(|| connection.pragma_update(None, "journal_mode", "wal"))?;
    // The index can be made anew, so it need not survive a crash of the machine: only damage must be told.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -32_768)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    Ok(connection)
}
