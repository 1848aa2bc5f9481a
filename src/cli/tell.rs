//! Lines on standard error. Whoever reads them may be gone, and the disk behind them full: neither ends the program.

/// Writes a line on standard error.
macro_rules! tell {
    () => { $crate::cli::tell::write("\n") };
    ($($text:tt)*) => { $crate::cli::tell::write(&(format!($($text)*) + "\n")) };
}

/// Writes a text on standard error.
macro_rules! tell_part {
    ($($text:tt)*) => { $crate::cli::tell::write(&format!($($text)*)) };
}

/// Writes a text on standard error, or not.
pub(super) fn write(text: &str) {
    use std::io::Write;
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
