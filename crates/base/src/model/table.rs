//! A table of `data`: how its file is read, and what a check sees of it.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{DataKind, SqlEngine};
use crate::source::{Span, Spanned};

/// A table of `data`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Data {
    /// The file, joined to the folder of the YAML file that names it.
    pub file: Spanned<PathBuf>,
    /// What the file is, by its ending.
    pub kind: DataKind,
    /// Sheet (Excel) or table (SQLite, DuckDB) in it; `None`: the only one.
    pub table: Option<Spanned<String>>,
    /// Columns with personal data.
    pub pii: Vec<Spanned<String>>,
    /// Whether a stranger wrote what is in it.
    pub is_untrusted: bool,
    /// How its rows and cells are read.
    pub form: TableForm,
    /// Column types where guessing is wrong.
    pub columns: IndexMap<String, ColumnForm>,
    /// The engine asked for.
    pub engine: Option<SqlEngine>,
    /// The columns that the file has now; `None`: nobody looked, since nothing names one, or they cannot be read.
    pub header: Option<Vec<String>>,
    /// What in the file is read otherwise than it looks, as far as a check looks into it, each with its place there if it is known.
    pub oddities: Vec<(TableOddity, Option<Span>)>,
    /// What is seen of its columns.
    pub looks: IndexMap<String, ColumnLook>,
}

impl Data {
    /// The engine that queries it: the one asked for, else by file type.
    pub fn engine(&self) -> SqlEngine {
        self.engine.unwrap_or(self.kind.engine())
    }

    /// Whether it is a CSV file of which nothing is said beside its types.
    pub fn is_read_as_it_stands(&self) -> bool {
        self.kind == DataKind::Csv && self.form == TableForm::default()
    }
}

/// How the rows of a file are read, where its author says so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableForm {
    /// What stands between the cells of a text file.
    pub separator: Option<Separator>,
    /// The encoding of a text file.
    pub encoding: Option<TextEncoding>,
    /// The line or row with the names of the columns, from 1; what is above it does not belong to the table.
    pub header_row: Option<u64>,
    /// Whether a merged cell of a workbook gives its value to all its rows and columns, or to the first alone; `None`: merged cells are a failure.
    pub fill_merged: Option<bool>,
    /// Whether cells of a workbook that show an error, and formulas without a stored value, are empty; else they are a failure.
    pub errors_are_empty: bool,
}

/// What stands between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Separator {
    #[strum(serialize = ",")]
    Comma,
    #[strum(serialize = ";")]
    Semicolon,
    #[strum(serialize = "tab")]
    Tab,
    #[strum(serialize = "|")]
    Pipe,
}

impl Separator {
    /// All of them.
    pub const ALL: [Separator; 4] = [Separator::Comma, Separator::Semicolon, Separator::Tab, Separator::Pipe];

    /// The character.
    pub fn byte(self) -> u8 {
        match self {
            Separator::Comma => b',',
            Separator::Semicolon => b';',
            Separator::Tab => b'\t',
            Separator::Pipe => b'|',
        }
    }

    /// The word of the key `separator`.
    pub fn word(self) -> &'static str {
        match self {
            Separator::Comma => ",",
            Separator::Semicolon => ";",
            Separator::Tab => "tab",
            Separator::Pipe => "|",
        }
    }
}

/// An encoding of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames, strum::IntoStaticStr, Serialize, Deserialize)]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum TextEncoding {
    #[strum(serialize = "utf-8")]
    Utf8,
    #[strum(serialize = "utf-16")]
    Utf16,
    #[strum(serialize = "utf-16be")]
    Utf16Be,
    #[strum(serialize = "windows-1250")]
    Windows1250,
    #[strum(serialize = "windows-1251")]
    Windows1251,
    #[strum(serialize = "windows-1252")]
    Windows1252,
    #[strum(serialize = "windows-1253")]
    Windows1253,
    #[strum(serialize = "windows-1254")]
    Windows1254,
    #[strum(serialize = "windows-1255")]
    Windows1255,
    #[strum(serialize = "windows-1256")]
    Windows1256,
    #[strum(serialize = "windows-1257")]
    Windows1257,
    #[strum(serialize = "windows-1258")]
    Windows1258,
    Latin1,
    #[strum(serialize = "iso-8859-2")]
    Latin2,
    #[strum(serialize = "iso-8859-15")]
    Latin9,
    Macintosh,
    #[strum(serialize = "ibm866")]
    Ibm866,
    #[strum(serialize = "koi8-r")]
    Koi8R,
    #[strum(serialize = "shift_jis")]
    ShiftJis,
    #[strum(serialize = "euc-jp")]
    EucJp,
    #[strum(serialize = "euc-kr")]
    EucKr,
    Gb18030,
    Big5,
}

impl TextEncoding {
    /// Its name, as the key `encoding` and the WHATWG's list of encodings know it.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What the cells of a column are, where its author says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnForm {
    /// Their type.
    pub kind: ColumnKind,
    /// The sign before decimals: `,` or `.`.
    pub decimal: Option<char>,
    /// How dates or times are written, in the letters of strftime.
    pub format: Option<String>,
}

impl From<ColumnKind> for ColumnForm {
    fn from(kind: ColumnKind) -> ColumnForm {
        ColumnForm { kind, decimal: None, format: None }
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames, Serialize, Deserialize)]
#[strum(serialize_all = "lowercase")]
pub enum ColumnKind {
    /// Texts as they are.
    Text,
    /// Numbers as programs write them.
    Number,
    /// Whole numbers.
    Integer,
    /// True or false.
    Boolean,
    /// Days.
    Date,
    /// Days with a time.
    Datetime,
    /// Numbers as people write them, with a currency, marks between thousands or brackets.
    Amount,
    /// Lengths of time, read as hours.
    Duration,
}

/// What in a file of rows is read otherwise than it looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableOddity {
    /// It cannot be read: what is wrong and what to do, as the step that reads it would say.
    Unreadable(String),
    /// Cells that are not what their column is declared to be.
    BadCells {
        /// The first of them: its place, its column, and what is wrong.
        first: String,
        /// The line or row of the first one.
        row: u64,
        /// Its column.
        column: String,
        /// How many there are beside it.
        more: u64,
    },
    /// It has one column, and its cells hold what separates cells elsewhere.
    OneColumn {
        /// What they hold.
        separator: char,
    },
    /// Two columns have one name; the second is read under another.
    Repeated {
        /// The name in the file.
        column: String,
        /// The name in queries.
        read_as: String,
    },
    /// Its first row holds values, and no names of columns.
    NoNames,
    /// The cells of a column are numbers to a person, and texts to a query; or they are other numbers.
    TextNumbers {
        /// Its name.
        column: String,
        /// How they are written.
        form: NumberForm,
        /// One that shows it.
        example: String,
        /// Whether the file takes a comma as the decimal mark.
        may_use_comma: bool,
        /// What its author may declare it to be, as it is written under `columns`: types that read all its cells.
        kinds: Vec<&'static str>,
    },
    /// It is too large, or too slow, to be read by a check, so nobody looked at all cells.
    NotRead,
}

/// How numbers are written that are none to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberForm {
    /// `12,50`.
    DecimalComma,
    /// `1.250,50`: points part thousands.
    PointsAndComma,
    /// `1,250.50` or `1,250,000`: commas part thousands.
    Thousands,
    /// `1,250`, which is either.
    CommaOrThousands,
    /// `1.250`, a number to a query, in a file whose other columns have decimal commas.
    PointOrThousands,
    /// `1’250.50`, `1 250,50`, `1,25,000`: other marks between groups of digits.
    OtherMarks,
    /// `$12.50`, `kr 12`: with a sign or word before it.
    WithSign,
    /// `(35.00)`, `35.00-`, `−35.00`: below zero in another way than with `-` before it.
    Negative,
    /// `1:30`, `1h30`, `90 min`.
    Duration,
    /// `09:30`, `10:45`: clocks that are equally long, so that their order as texts is theirs.
    Clock,
    /// `1.2k`, `3 Mio`.
    Scaled,
    /// `3/4`, `7½`.
    Fraction,
    /// Digits of other scripts.
    OtherDigits,
    /// More digits than a number can keep.
    TooLong,
    /// `12 EUR`, `7%`, `+35.00`: it begins as a number, and a sum counts that.
    Begins,
    /// Numbers, and some texts.
    SomeTexts,
    /// Plain numbers that are texts in their file, or codes: a sum is right, and the order is that of letters.
    Digits,
    /// Digits in any other form, as days, clocks and units: neither a sum nor the order nor a function of dates need be right.
    Unknown,
    /// The same, all of one shape, as `A-001`, so that they order as texts do.
    OneShape,
}

/// What a check sees of the file of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableLook {
    /// What is read otherwise than it looks.
    pub oddities: Vec<TableOddity>,
    /// The columns whose cells have a form that says how they can be compared, by their names.
    pub columns: IndexMap<String, ColumnLook>,
}

/// What a check sees of the cells of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLook {
    /// What they are, but for empty ones.
    pub form: CellForm,
    /// All that they are, if that is little and the file was read to its end; else none.
    pub values: Vec<String>,
}

/// What all cells of a column are to whoever looks at them; to a query they are texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellForm {
    /// `true` and `false`.
    TrueFalse,
    /// `2026-11-18`.
    Day,
    /// `18.11.2026`.
    DayFirst,
    /// Digits, some with zeros before them, as `01067`.
    Codes,
    /// Anything else that is no number.
    Words,
}

/// The sign that a first line `sep=;` says to stand between the cells, and how many bytes the line takes with its end; spreadsheets write it.
pub fn separator_line(text: &[u8]) -> Option<(u8, usize)> {
    let Some([sign @ (b',' | b';' | b'\t' | b'|'), end @ (b'\r' | b'\n'), next, ..]) = text.strip_prefix(b"sep=") else { return None };
    Some((*sign, "sep=".len() + if (*end, *next) == (b'\r', b'\n') { 3 } else { 2 }))
}
