//! How much one file may hold (reliability rules Y1 to Y3).

/// Bytes of one file.
pub(super) const FILE_BYTES: usize = 1 << 20;
/// Lists and lists of keys inside each other. The parser's scanner counts them as it meets them and stops at the next one;
/// nothing here or later recurses deeper.
pub(super) const DEPTH: usize = 64;
/// Keys and values, with every use of an alias counted in full.
pub(super) const NODES: usize = 100_000;
/// Bytes of all texts, with every use of an alias counted in full.
pub(super) const TEXT_BYTES: usize = 8 << 20;
/// Findings of this room for one file; more would only bury the first.
pub(super) const FINDINGS: usize = 1000;
/// How often reading starts again behind a `{{` without quotes.
pub(super) const ROUNDS: usize = 64;
