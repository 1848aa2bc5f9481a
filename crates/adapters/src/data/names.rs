//! Clear names for columns and tables.

use std::collections::HashSet;
use std::path::Path;

use unicode_normalization::UnicodeNormalization;

use super::sentence::shown;

/// Returns the column names of a header: trimmed, `column_3` for an empty one (counted from 1), `hours_2` for a repeated one. Case is ignored, as in
/// SQLite.
pub(super) fn column_names<'a>(header: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    let named = |(index, text): (usize, &str)| {
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = if text.is_empty() { format!("column_{}", index + 1) } else { shown(&text, 200) };
        unique(&name, &mut taken)
    };
    header.into_iter().enumerate().map(named).collect()
}

/// Returns the name, with the first free number from 2 if it is taken, and adds it to `taken`.
pub(super) fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2;
    while !taken.insert(candidate.to_lowercase()) {
        candidate = format!("{name}_{number}");
        number += 1;
    }
    candidate
}

/// A file's name as an id (language.md, `sql, read`): `US Cities.csv` becomes `us_cities`, `Umsätze 2026.xlsx` becomes `umsatze_2026`. A name that
/// begins with a digit is prefixed with `table_`; one without any Latin letter or digit becomes `table`.
pub(super) fn file_id(path: &Path) -> String {
    id(&path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default())
}

/// The id of a file's sheet: `book_sheet`.
pub(super) fn sheet_id(path: &Path, sheet: &str) -> String {
    let sheet: String = words(sheet);
    let sheet = if sheet.is_empty() { "sheet".to_owned() } else { sheet };
    format!("{}_{sheet}", file_id(path))
}

fn id(text: &str) -> String {
    let words = words(text);
    match words.bytes().next() {
        None => "table".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("table_{words}"),
        Some(_) => words,
    }
}

/// Lower-case Latin words and numbers joined by `_`, without accents, at most 60 bytes.
fn words(text: &str) -> String {
    let plain: String = text.nfkd().filter(|character| !unicode_normalization::char::is_combining_mark(*character)).collect();
    let mut out = String::new();
    for character in plain.to_lowercase().chars().take(60) {
        if character.is_ascii_alphanumeric() {
            out.push(character);
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_repeated_headers_get_clear_names() {
        let names = column_names(["id", "", " Hours ", "hours", "HOURS", "first\nname", "hours_2"]);
        assert_eq!(names, ["id", "column_2", "Hours", "hours_2", "HOURS_3", "first name", "hours_2_2"]);
    }

    #[test]
    fn a_file_name_becomes_an_id() {
        for (file, id) in [
            ("data/US Cities.csv", "us_cities"),
            ("Umsätze-2026.xlsx", "umsatze_2026"),
            ("2026 sales.csv", "table_2026_sales"),
            ("数据.csv", "table"),
            ("_x_.tsv", "x"),
        ] {
            assert_eq!(file_id(Path::new(file)), id, "{file}");
        }
        assert_eq!(sheet_id(Path::new("Book.xlsx"), "Sheet 1"), "book_sheet_1");
    }
}
