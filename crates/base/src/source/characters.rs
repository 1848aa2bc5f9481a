//! What characters look like.

/// Whether a character would not show, or would change how others show: all that Unicode calls a control, a format character, ignorable by
/// default, or an end of a line or paragraph. U+200C, U+200D, U+FE0E and U+FE0F stay, since words and emoji need them, and so do the signs of
/// Arabic, Syriac and Kaithi that enclose the figures behind them: they are seen.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}')
        || matches!(c, '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}')
        || matches!(c, '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character is not drawn: an invisible one, a joiner or a variant.
pub fn is_unseen(c: char) -> bool {
    is_invisible(c) || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}
