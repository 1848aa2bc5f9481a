//! A process of its own for what libraries parse: a file on which one of them loops, overflows its stack or takes all memory ends that process, and not
//! flow. It is this program, started as `flow reader`, in the sandbox: it gets the bytes of a file and no file, and answers lines of JSON.
//!
//! Where this program cannot be started again (a library whose `main` does not begin with `first_stage`; systems other than Linux), the same work is done
//! in this process.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::super::environment::text;
use super::super::lock;
use super::super::os;
use super::super::sandbox::{FirstStage, LIBRARIES, ProgramTalk, Sandbox};
use super::blocking::CancelFlag;
use super::datum::Datum;
use super::parsed::{self, ParsedContent, ParsedKind};
use super::sentence::{file_name, internal, unavailable, wrong_type};
use super::typed::{TypedColumns, ValueSource};
use crate::event::Failure;
use crate::model::SandboxMode;
use crate::port::{ProgramBounds, ProgramCall, Secret, TableSource};

/// The first argument of a flow that is such a process.
const READER: &str = "reader";
/// What it says first.
const GREETING: &str = "null";
/// Bytes of memory that a file may take while it is parsed.
const MOST_MEMORY: u64 = 1 << 30;
/// Time to start a process, the trial of the sandbox included.
const START_TIME: Duration = Duration::from_secs(60);
/// How long a process waits for the next file before it ends, in seconds.
const IDLE: i64 = 1;
/// The most processes that wait for a file.
const MOST_IDLE: usize = 4;
/// How long a process may live, so that none is forgotten.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// How often is looked whether anybody still waits.
const TICK: Duration = Duration::from_millis(20);
/// The longest line of an answer, in bytes: a text is in it twice, and a character may take six bytes.
const MOST_LINE: usize = 128 << 20;

/// Whether this program can be started as such a process.
static IS_READY: AtomicBool = AtomicBool::new(false);
/// Processes that wait for the next file.
static WAITING: LazyLock<Mutex<Vec<Reader>>> = LazyLock::new(Mutex::default);

/// What is asked of a file.
#[derive(Debug, Serialize, Deserialize)]
enum ParseTask {
    KindOfZip,
    Content(ParsedKind),
    Header(TableSource),
    Table(TableSource),
}

/// What stands before the bytes of a file.
#[derive(Debug, Serialize, Deserialize)]
struct ParseRequest {
    task: ParseTask,
    /// The name of the file, without its folder.
    name: String,
    /// Its bytes.
    size: u64,
}

/// Which kind of Office file a zip archive is. `time`: how long it may take.
pub(super) fn kind_of_zip(path: &Path, bytes: Vec<u8>, time: Duration, cancel: &CancelFlag) -> Result<Option<ParsedKind>, Failure> {
    match asked(ParseTask::KindOfZip, path, bytes, Some(time), cancel)? {
        ParseAnswer::Here(bytes) => Ok(parsed::kind_of_zip(path, &bytes, cancel)),
        ParseAnswer::Child(reader, line) => reader.answered(path, &line),
    }
}

/// The content of a file for a `read` step. `time`: how long it may take.
pub(super) fn content(
    kind: ParsedKind,
    path: &Path,
    bytes: Vec<u8>,
    time: Duration,
    cancel: &CancelFlag,
) -> Result<ParsedContent, Failure> {
    match asked(ParseTask::Content(kind), path, bytes, Some(time), cancel)? {
        ParseAnswer::Here(bytes) => parsed::content(kind, path, bytes, cancel),
        ParseAnswer::Child(reader, line) => reader.answered(path, &line),
    }
}

/// The names of the columns of a sheet; `None` if they cannot be read. `time`: how long it may take.
pub(super) fn header(table: &TableSource, bytes: Vec<u8>, time: Duration) -> Option<Vec<String>> {
    let cancel = CancelFlag::default();
    match asked(ParseTask::Header(nameless(table)), &table.file, bytes, Some(time), &cancel).ok()? {
        ParseAnswer::Here(bytes) => parsed::header(table, bytes, &cancel).ok(),
        ParseAnswer::Child(reader, line) => reader.answered(&table.file, &line).ok(),
    }
}

/// The columns and rows of a sheet. It may take as long as the query, which sets `cancel`.
pub(super) fn table(table: &TableSource, bytes: Vec<u8>, cancel: &CancelFlag) -> Result<(TypedColumns, Box<dyn ValueSource>), Failure> {
    match asked(ParseTask::Table(nameless(table)), &table.file, bytes, None, cancel)? {
        ParseAnswer::Here(bytes) => parsed::table(table, bytes, cancel),
        ParseAnswer::Child(reader, line) => {
            let columns: TypedColumns = said(&line).unwrap_or_else(|lost| Err(lost.of_file(&table.file)))?;
            let rows = SentRows { reader: Some(reader), file: table.file.clone(), width: columns.len() };
            Ok((columns, Box::new(rows)))
        }
    }
}

/// The table without the folder of its file, which a child need not know, and which need not be UTF-8.
fn nameless(table: &TableSource) -> TableSource {
    TableSource { file: PathBuf::from(file_name(&table.file)), ..table.clone() }
}

/// Who answers.
enum ParseAnswer {
    /// This process, which needs the bytes back.
    Here(Vec<u8>),
    /// A child, with the first line of its answer.
    Child(Reader, Vec<u8>),
}

/// Why a child did not answer.
enum Lost {
    /// Nobody waits any more.
    Stopped(Failure),
    /// It took too long.
    Slow(Duration),
    /// It ended, or said what it should not.
    Ended,
}

impl Lost {
    fn of_file(self, path: &Path) -> Failure {
        let name = file_name(path);
        match self {
            Lost::Stopped(failure) => failure,
            Lost::Slow(time) => wrong_type(format!(
                "{name} was not read: that took longer than {time:.1?}. Open it in its program and save it again, or raise `timeout`."
            )),
            Lost::Ended => wrong_type(format!(
                "{name} was not read: it breaks what reads it, or needs more than {} MB of memory. Open it in its program and save it again.",
                MOST_MEMORY >> 20
            )),
        }
    }
}

/// Asks a child, and gives the first line of its answer.
fn asked(task: ParseTask, path: &Path, bytes: Vec<u8>, time: Option<Duration>, cancel: &CancelFlag) -> Result<ParseAnswer, Failure> {
    let stage = FirstStage::here();
    let Some(program) = stage.program().filter(|program| IS_READY.load(Ordering::Relaxed) && program.exists()) else {
        return Ok(ParseAnswer::Here(bytes));
    };
    let request = ParseRequest { task, name: file_name(path), size: bytes.len() as u64 };
    let mut head = serde_json::to_vec(&request).map_err(|error| internal(error.to_string()))?;
    head.push(b'\n');
    let (head, bytes) = (Arc::new(head), Arc::new(bytes));
    loop {
        let (mut reader, is_new) = match waiting() {
            Some(reader) => (reader, false),
            None => (Reader::start(&stage, program, cancel)?, true),
        };
        reader.talk.send(Arc::clone(&head));
        reader.talk.send(Arc::clone(&bytes));
        match reader.line(time, cancel).map(<[u8]>::to_vec) {
            Ok(line) => return Ok(ParseAnswer::Child(reader, line)),
            // It may have ended since nothing came, or for an earlier file.
            Err(Lost::Ended) if !is_new => {}
            Err(lost) => return Err(lost.of_file(path)),
        }
    }
}

fn waiting() -> Option<Reader> {
    lock(&WAITING).pop()
}

/// What a line says.
fn said<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Result<Result<T, Failure>, Lost> {
    serde_json::from_slice(line).map_err(|_| Lost::Ended)
}

/// A child.
struct Reader {
    talk: ProgramTalk,
    /// What it said that was not taken yet, from `taken` on.
    heard: Vec<u8>,
    taken: usize,
}

impl Reader {
    fn start(stage: &FirstStage, program: &Path, cancel: &CancelFlag) -> Result<Reader, Failure> {
        let cannot = |why: &str| unavailable(format!("Documents, workbooks and pictures cannot be read here: {why}."));
        let talk = Sandbox::new(Arc::default(), stage.clone()).talk(call(program)).map_err(|error| cannot(&error.to_string()))?;
        let mut reader = Reader { talk, heard: vec![], taken: 0 };
        match reader.line(Some(START_TIME), cancel).map(|line| line == GREETING.as_bytes()) {
            Ok(true) => Ok(reader),
            Err(Lost::Stopped(failure)) => Err(failure),
            Err(Lost::Slow(_)) => Err(cannot("the process for it does not start")),
            Ok(false) | Err(Lost::Ended) => Err(match reader.talk.end() {
                Some(Err(failure)) => cannot(&failure.message),
                Some(Ok(_)) | None => cannot("the process for it ended early"),
            }),
        }
    }

    /// The next line of what it says.
    fn line(&mut self, time: Option<Duration>, cancel: &CancelFlag) -> Result<&[u8], Lost> {
        let until = time.map(|time| (Instant::now() + time, time));
        let mut searched = self.taken;
        loop {
            if let Some(at) = self.heard.get(searched..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
                let (start, end) = (self.taken, searched + at);
                self.taken = end + 1;
                return self.heard.get(start..end).ok_or(Lost::Ended);
            }
            self.heard.drain(..self.taken);
            self.taken = 0;
            searched = self.heard.len();
            if searched > MOST_LINE {
                return Err(Lost::Ended);
            }
            match self.talk.hear(TICK) {
                Ok(piece) => self.heard.extend_from_slice(&piece),
                Err(RecvTimeoutError::Disconnected) => return Err(Lost::Ended),
                Err(RecvTimeoutError::Timeout) => {}
            }
            cancel.check().map_err(Lost::Stopped)?;
            if let Some((until, time)) = until
                && Instant::now() >= until
            {
                return Err(Lost::Slow(time));
            }
        }
    }

    /// What its whole answer says. It waits for the next file then.
    fn answered<T: DeserializeOwned>(self, path: &Path, line: &[u8]) -> Result<T, Failure> {
        let answer = said(line).map_err(|lost| lost.of_file(path))?;
        self.wait();
        answer
    }

    fn wait(self) {
        let mut waiting = lock(&WAITING);
        if waiting.len() < MOST_IDLE && self.taken == self.heard.len() {
            waiting.push(self);
        }
    }
}

/// How a child is started.
fn call(program: &Path) -> ProgramCall {
    // A build that links DuckDB may find it there only.
    let libraries = text(LIBRARIES).filter(|_| cfg!(feature = "duckdb"));
    let folders = libraries.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute() && folder.is_dir());
    ProgramCall {
        env: libraries.iter().map(|all| (LIBRARIES.to_owned(), Secret::new(all.as_str()))).collect(),
        reads: folders.collect(),
        // Without one, its memory and time are bounded all the same.
        sandbox: SandboxMode::Preferred,
        bounds: ProgramBounds { memory: MOST_MEMORY, processes: 8, file_size: 64 << 10, disk: 1 << 20, output: 0 },
        ..ProgramCall::closed("reading files", vec![program.display().to_string(), READER.to_owned()], LIFE)
    }
}

/// The rows that a child sends.
struct SentRows {
    /// Gone when all were sent, or something was wrong.
    reader: Option<Reader>,
    file: PathBuf,
    /// The number of columns.
    width: usize,
}

impl ValueSource for SentRows {
    fn each(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&[Datum<'_>]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut reader = self.reader.take().ok_or_else(|| internal("the rows of a table were already read"))?;
        loop {
            let row = reader.line(None, cancel).and_then(said::<Option<Vec<Datum<'_>>>>);
            match row.map_err(|lost| lost.of_file(&self.file))? {
                Ok(Some(row)) if row.len() == self.width => show(&row)?,
                Ok(Some(_)) => return Err(Lost::Ended.of_file(&self.file)),
                Ok(None) => break,
                Err(failure) => return Err(failure),
            }
        }
        reader.wait();
        Ok(())
    }
}

/// Must be called at the beginning of `main`, after [`stage`](super::super::sandbox::stage): `Some` if the process was started to read files, and then
/// `main` returns this code. Otherwise it notes that this program can be started so.
pub fn reader() -> Option<ExitCode> {
    if std::env::args_os().nth(1).is_none_or(|first| first != READER) {
        IS_READY.store(true, Ordering::Relaxed);
        return None;
    }
    // A panic means that a file is damaged, and its answer tells so.
    std::panic::set_hook(Box::new(|_| {}));
    Some(if serve().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Answers one request after the other until none comes.
fn serve() -> std::io::Result<()> {
    let (mut input, mut output) = (BufReader::new(std::io::stdin().lock()), BufWriter::with_capacity(64 << 10, std::io::stdout().lock()));
    writeln!(output, "{GREETING}")?;
    output.flush()?;
    loop {
        // The next request only comes when this one was answered, so nothing of it is in the buffer yet.
        if !os::comes(std::io::stdin(), IDLE)? {
            return Ok(());
        }
        let mut head = vec![];
        if input.read_until(b'\n', &mut head)? == 0 {
            return Ok(());
        }
        let ParseRequest { task, name, size } = serde_json::from_slice(&head)?;
        let mut bytes = vec![];
        input.by_ref().take(size).read_to_end(&mut bytes)?;
        answer(&task, Path::new(&name), bytes, &mut output)?;
        output.flush()?;
    }
}

fn answer(task: &ParseTask, path: &Path, bytes: Vec<u8>, output: &mut impl Write) -> std::io::Result<()> {
    let cancel = CancelFlag::default();
    match task {
        ParseTask::KindOfZip => tell(output, &Ok(parsed::kind_of_zip(path, &bytes, &cancel))),
        ParseTask::Content(kind) => tell(output, &parsed::content(*kind, path, bytes, &cancel)),
        ParseTask::Header(table) => tell(output, &parsed::header(table, bytes, &cancel)),
        ParseTask::Table(table) => match parsed::table(table, bytes, &cancel) {
            Err(failure) => tell(output, &Err::<TypedColumns, _>(failure)),
            Ok((columns, mut rows)) => {
                tell(output, &Ok(columns))?;
                let mut is_gone = Ok(());
                let sent = rows.each(&cancel, &mut |row| {
                    tell(output, &Ok(Some(row))).map_err(|error| {
                        let failure = internal(error.to_string());
                        is_gone = Err(error);
                        failure
                    })
                });
                is_gone?;
                tell(output, &sent.map(|()| None::<&[Datum<'_>]>))
            }
        },
    }
}

/// Writes a line.
fn tell<T: Serialize>(output: &mut impl Write, answer: &Result<T, Failure>) -> std::io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")
}
