//! When two failures are the same: what differs each time a program runs is left aside.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// What differs from run to run, and what stands in its place. In this order: a path may hold a time, a time may look like a place in a file.
static PASSING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    const TEMPORARY: &str =
        r#"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm|run/user/\d+)/[^\s"'`,;:)\]]*|[A-Za-z]:\\[^\s"']*\\[Tt]e?mp\\[^\s"',;:)\]]*"#;
    const TIME: &str =
        r"\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?";
    const LONG_ID: &str = r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b";
    const AMOUNT: &str = r"(?i)\b\d+(?:[.,]\d+)?\s?(?:(?:[kmgt]i?)?b|bytes?|ns|µs|us|ms|s|sec|secs|seconds?|milliseconds?)\b";
    [
        (TEMPORARY, "<path>"),
        (r"0[xX][0-9a-fA-F]+", "<address>"),
        (LONG_ID, "<id>"),
        (TIME, "<time>"),
        (AMOUNT, "<amount>"),
        (r"(?i)\b(line|column|offset|position|char|pos|pid|process|thread)(s?[:=\s]\s*|\s+at\s+)\d+", "$1 <place>"),
        (r":\d+(?::\d+)?\b", ":<place>"),
        (r"\s+", " "),
    ]
    .into_iter()
    .filter_map(|(pattern, place)| Some((Regex::new(pattern).ok()?, place)))
    .collect()
});

/// A failure without addresses, times, durations, sizes, line numbers and temporary paths. Two failures are the same if this is.
pub fn lasting(failure: &str) -> String {
    let mut text = Cow::Borrowed(failure.trim());
    for (pattern, place) in PASSING.iter() {
        if let Cow::Owned(changed) = pattern.replace_all(&text, *place) {
            text = Cow::Owned(changed);
        }
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_are_read() {
        assert_eq!(PASSING.len(), 8);
    }

    #[test]
    fn what_differs_from_run_to_run_makes_no_other_failure() {
        for (one, other) in [
            ("<Figure object at 0x7f3a2c11d0>", "<Figure object at 0x55d0aa>"),
            ("File \"/tmp/flow-a1b2/step.py\", line 12, in <module>", "File \"/tmp/flow-zz9/step.py\", line 7, in <module>"),
            ("no such file: /private/var/folders/x1/abc/T/out.csv", "no such file: /var/folders/y2/def/T/other.csv"),
            ("cannot open C:\\Users\\ana\\Temp\\a1.csv", "cannot open C:\\Users\\ana\\Temp\\b2.csv"),
            ("2026-11-18T09:00:01.123Z: no answer after 30 s", "2026-11-19T10:12:59Z: no answer after 31.5 s"),
            ("the query took 12.5 ms and read 1024 bytes", "the query took 8ms and read 2 MB"),
            ("MemoryError: 512 MiB asked for", "MemoryError: 1.5 GB asked for"),
            ("step.py:12:5: SyntaxError", "step.py:3: SyntaxError"),
            ("syntax error at position 14", "syntax error at position 20"),
            ("run 6f1d0a52-3d47-4b6c-9a0e-0c5b1f2d3e4a failed", "run 00000000-3d47-4b6c-9a0e-ffffffffffff failed"),
            ("a  broken\nline", "a broken line"),
            ("process 4411 ended", "process: 9 ended"),
        ] {
            assert_eq!(lasting(one), lasting(other), "{one}");
        }
    }

    #[test]
    fn what_was_wrong_makes_another_failure() {
        for (one, other) in [
            ("no such column: hours", "no such column: hour"),
            ("c1: 32 hours are wrong", "c2: 32 hours are wrong"),
            ("expected 3 rows, found 12", "expected 3 rows, found 13"),
            ("KeyError: 'city'", "ValueError: 'city'"),
            ("File \"/tmp/a/x.py\", line 3: NameError", "File \"/tmp/a/x.py\", line 3: TypeError"),
            ("c1: The sum is 12.5.", "c1: The sum is 12.6."),
            ("/data/cities.csv is missing", "/data/people.csv is missing"),
        ] {
            assert_ne!(lasting(one), lasting(other), "{one}");
        }
    }
}
