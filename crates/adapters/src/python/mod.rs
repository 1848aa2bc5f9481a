//! Python code in the sandbox: [`PythonRuns`] is [`Python`].
//!
//! The interpreter is given the code of `driver.py` and the request on its standard input. What it replies is data from the author's code, or a
//! model's, and is checked like all data.
//!
//! | file | what |
//! |---|---|
//! | `driver.py` | runs the code, collects what it prints, replies |
//! | `values.py` | variables to JSON, pictures to files |
//! | `check.py` | what code of a model may not do |
//! | `interpreter` | which Python runs it, and what that must read |

mod interpreter;

use std::path::Path;
use std::sync::Arc;

use imagesize::ImageType;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::interpreter::{PythonInterpreter, interpreter};
use super::kept_files::KeptFiles;
use super::picture_kind::{picture_kind, picture_size};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{
    Pending, ProgramBounds, ProgramCall, ProgramEnd, ProgramReply, Programs, Python, PythonCall, PythonError, PythonFault, PythonReply,
    QueryRequest, SqlDatabase,
};

const CHECK: &str = include_str!("check.py");
const REST: &str = concat!(include_str!("values.py"), "\n", include_str!("driver.py"));
/// Maximum number of rows of a table that code finds as a variable.
const MOST_ROWS: u64 = 1_000_000;
/// Maximum size of all variables, in bytes of JSON.
const MOST_INPUT: usize = 64 << 20;
/// Maximum size of what code prints that is kept, and of its results, in bytes.
const MOST_PRINTED: usize = 256 << 10;
const MOST_RESULTS: usize = 16 << 20;

/// Runs Python code in a sandbox.
#[derive(Clone)]
pub struct PythonRuns {
    programs: Arc<dyn Programs>,
    database: Arc<dyn SqlDatabase>,
    kept: KeptFiles,
}

/// What the driver replies.
#[derive(Debug, Deserialize)]
struct DriverReply {
    returns: Map<String, Value>,
    printed: String,
    files: Vec<DriverFile>,
    notes: Vec<String>,
    error: Option<DriverError>,
}

/// A picture that the code made: a file in its folder, and where among the results it belongs (RFC 6901).
#[derive(Debug, Deserialize)]
struct DriverFile {
    name: String,
    pointer: String,
}

#[derive(Debug, Deserialize)]
struct DriverError {
    kind: DriverErrorKind,
    message: String,
    line: Option<u64>,
    traceback: String,
}

/// `ERROR_KINDS` of the driver.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum DriverErrorKind {
    Exception,
    Syntax,
    Refused,
    MissingPackage,
    MissingImport,
    MissingReturn,
    WrongType,
    TooLarge,
    Stopped,
    Ended,
}

impl PythonRuns {
    /// Code runs as one of these programs; its tables come from the database.
    pub fn new(programs: Arc<dyn Programs>, database: Arc<dyn SqlDatabase>) -> PythonRuns {
        PythonRuns { programs, database, kept: KeptFiles::default() }
    }

    async fn answer(&self, mut call: PythonCall) -> Result<PythonReply, Failure> {
        let interpreter = interpreter(call.venv.as_deref()).await?;
        // The code starts in another folder.
        let mut moved = vec![];
        for path in &mut call.reads {
            let whole = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
            call.variables.values_mut().for_each(|value| rename(value, path, &whole));
            moved.push((std::mem::replace(path, whole.clone()), whole));
        }
        for table in std::mem::take(&mut call.tables) {
            let name = table.name.clone();
            let query = QueryRequest {
                engine: table.engine,
                query: format!("select * from \"{}\"", name.replace('"', "\"\"")),
                tables: vec![table],
                with: Default::default(),
                max_rows: MOST_ROWS,
                timeout: call.timeout,
            };
            let rows = self.database.query(query).await?;
            if rows.is_cut {
                let message =
                    format!("table \"{name}\" has more than 1,000,000 rows, too many for a variable; ask for what is needed with SQL");
                return Err(Failure::new(FailureKind::TooLarge, message));
            }
            call.variables.insert(name, rows.rows.into_iter().map(Value::Object).collect());
        }
        let reply = self.programs.run(program(&call, &interpreter)?).await?;
        let mut reply = self.read(&call.name, reply).await?;
        // A file that the code was given and gives back is the one that the run knows.
        for (path, whole) in &moved {
            reply.returns.values_mut().for_each(|value| rename(value, whole, path));
        }
        Ok(reply)
    }

    async fn read(&self, name: &str, reply: ProgramReply) -> Result<PythonReply, Failure> {
        let said = String::from_utf8_lossy(&reply.stderr);
        let said = said.trim().lines().last().unwrap_or_default();
        let broken = |why: String| Failure::new(FailureKind::Program, format!("the code of {name} gave no results: {why}"));
        match reply.end {
            ProgramEnd::Exited(0) => {}
            ProgramEnd::Exited(code) => return Err(broken(format!("Python ended with exit code {code}: {said}"))),
            ProgramEnd::Signaled(signal) => return Err(broken(format!("Python was ended by signal {signal}: {said}"))),
        }
        let read: DriverReply = serde_json::from_slice(&reply.stdout).map_err(|e| broken(format!("its reply cannot be read: {e}")))?;
        let DriverReply { mut returns, printed, files, notes, error } = read;
        if let Some(DriverError { kind, message, line, traceback }) = error {
            let fault = match kind {
                DriverErrorKind::MissingPackage => return Err(Failure::new(FailureKind::Unavailable, message)),
                DriverErrorKind::TooLarge => return Err(Failure::new(FailureKind::TooLarge, message)),
                DriverErrorKind::MissingImport => PythonFault::MissingPackage,
                DriverErrorKind::Refused => PythonFault::Refused,
                DriverErrorKind::Exception
                | DriverErrorKind::Syntax
                | DriverErrorKind::MissingReturn
                | DriverErrorKind::WrongType
                | DriverErrorKind::Stopped
                | DriverErrorKind::Ended => PythonFault::Raised,
            };
            let error = Some(PythonError { message, traceback, line, fault });
            return Ok(PythonReply { printed, error, ..PythonReply::default() });
        }
        let mut kept = vec![];
        for DriverFile { name, pointer } in files {
            let Some((_, bytes)) = reply.files.iter().find(|(file, _)| *file == name) else {
                return Err(broken(format!("the picture {name} is not where it was written")));
            };
            let Some((media, width, height)) = picture_of(bytes) else {
                return Err(broken(format!("{name} is no picture that can be read")));
            };
            let [path] = self.kept.keep(vec![(bytes.clone(), media)]).await?.try_into().map_err(|_| {
                Failure::new(FailureKind::TooLarge, "the pictures of this process are larger than 256 MiB together".to_owned())
            })?;
            if let Some(place) = value_at(&mut returns, &pointer) {
                *place = json!({ "path": path, "type": "image", "width": width, "height": height });
            }
            kept.push(path);
        }
        Ok(PythonReply { returns, printed, notes, files: kept, error: None })
    }
}

/// Gives the file objects with this path another one.
fn rename(value: &mut Value, from: &Path, to: &Path) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, from, to)),
        Value::Object(map) => {
            if map.contains_key("type") && map.get("path").and_then(Value::as_str).map(Path::new) == Some(from) {
                map.insert("path".to_owned(), json!(to));
            }
            map.values_mut().for_each(|value| rename(value, from, to));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The ending of a picture's file, its width and its height in pixels. `None`: it is no picture that models take.
fn picture_of(bytes: &[u8]) -> Option<(&'static str, usize, usize)> {
    let ending = match picture_kind(bytes)? {
        ImageType::Png => "png",
        ImageType::Jpeg => "jpg",
        ImageType::Gif => "gif",
        ImageType::Webp => "webp",
        _ => return None,
    };
    let size = picture_size(bytes)?;
    Some((ending, size.width, size.height))
}

/// The place of a pointer such as `/charts/0` among the results.
fn value_at<'v>(returns: &'v mut Map<String, Value>, pointer: &str) -> Option<&'v mut Value> {
    let rest = pointer.strip_prefix('/')?;
    let (name, inner) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    returns.get_mut(&name.replace("~1", "/").replace("~0", "~"))?.pointer_mut(inner)
}

fn program(call: &PythonCall, interpreter: &PythonInterpreter) -> Result<ProgramCall, Failure> {
    let PythonCall {
        name,
        project: _,
        file,
        code,
        variables,
        returns,
        tables: _,
        reads,
        is_written_by_model,
        venv: _,
        requires,
        bounds,
        timeout,
    } = call;
    let request = json!({
        "code": code,
        "name": file,
        "variables": variables,
        "returns": returns,
        "files": "out",
        "requires": requires,
        "is_written_by_model": is_written_by_model,
        "limits": { "printed": MOST_PRINTED, "value": MOST_RESULTS },
    });
    let input = request.to_string().into_bytes();
    if input.len() > MOST_INPUT {
        let message = format!("the variables of {name} are larger than 64 MiB; select what the code needs with SQL");
        return Err(Failure::new(FailureKind::TooLarge, message));
    }
    let driver = if *is_written_by_model { format!("{CHECK}\n{REST}") } else { REST.to_owned() };
    let options = ["-I", "-B", "-X", "utf8", "-c"].map(str::to_owned);
    let command = std::iter::once(interpreter.program.display().to_string()).chain(options).chain([driver]).collect();
    Ok(ProgramCall {
        project: call.project.clone(),
        input,
        reads: interpreter.reads.iter().chain(reads).cloned().collect(),
        keeps_files: true,
        bounds: ProgramBounds { output: (MOST_RESULTS + 8 * MOST_PRINTED) as u64, ..*bounds },
        ..ProgramCall::closed(name, command, *timeout)
    })
}

impl Python for PythonRuns {
    fn run(&self, call: PythonCall) -> Pending<PythonReply> {
        let own = self.clone();
        Box::pin(async move { own.answer(call).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_goes_to_its_place_among_the_results_and_nowhere_else() {
        let mut returns = Map::from_iter([("charts".to_owned(), json!([{ "a/b": 1 }, 2])), ("x".to_owned(), json!(1))]);
        assert_eq!(value_at(&mut returns, "/charts/0/a~1b").map(|value| value.clone()), Some(json!(1)));
        assert_eq!(value_at(&mut returns, "/x").map(|value| value.clone()), Some(json!(1)));
        for wrong in ["", "x", "/y", "/charts/7", "/charts/0/a/b", "/x/0"] {
            assert_eq!(value_at(&mut returns, wrong), None, "{wrong}");
        }
    }
}
