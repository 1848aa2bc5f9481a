//! Characters as HTML writes them.

/// The characters from U+00A0 to U+00FF, in this order
/// (<https://html.spec.whatwg.org/multipage/named-characters.html>).
#[rustfmt::skip]
const LATIN: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf", "laquo", "not", "shy", "reg", "macr",
    "deg", "plusmn", "sup2", "sup3", "acute", "micro", "para", "middot", "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest",
    "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml",
    "ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig",
    "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc", "iuml",
    "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave", "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml",
];

/// The signs of ASCII, and characters that nobody sees.
#[rustfmt::skip]
const SIGNS: [(&str, char); 60] = [
    ("amp", '&'), ("AMP", '&'), ("lt", '<'), ("LT", '<'), ("gt", '>'), ("GT", '>'), ("quot", '"'), ("QUOT", '"'), ("apos", '\''),
    ("excl", '!'), ("num", '#'), ("dollar", '$'), ("percnt", '%'), ("lpar", '('), ("rpar", ')'), ("ast", '*'), ("midast", '*'), ("plus", '+'),
    ("comma", ','), ("period", '.'), ("sol", '/'), ("colon", ':'), ("semi", ';'), ("equals", '='), ("quest", '?'), ("commat", '@'),
    ("lsqb", '['), ("lbrack", '['), ("bsol", '\\'), ("rsqb", ']'), ("rbrack", ']'), ("Hat", '^'), ("lowbar", '_'), ("UnderBar", '_'),
    ("grave", '`'), ("DiacriticalGrave", '`'), ("lcub", '{'), ("lbrace", '{'), ("verbar", '|'), ("vert", '|'), ("VerticalLine", '|'),
    ("rcub", '}'), ("rbrace", '}'), ("Tab", '\t'), ("NewLine", '\n'), ("NonBreakingSpace", '\u{A0}'), ("zwnj", '\u{200C}'), ("zwj", '\u{200D}'),
    ("ZeroWidthSpace", '\u{200B}'), ("NegativeVeryThinSpace", '\u{200B}'), ("NegativeThinSpace", '\u{200B}'), ("NegativeMediumSpace", '\u{200B}'),
    ("NegativeThickSpace", '\u{200B}'), ("NoBreak", '\u{2060}'), ("lrm", '\u{200E}'), ("rlm", '\u{200F}'), ("InvisibleTimes", '\u{2062}'),
    ("InvisibleComma", '\u{2063}'), ("ApplyFunction", '\u{2061}'), ("hyphen", '\u{2010}'),
];

/// The longest reference, with `&` and `;`.
pub const LONGEST_REFERENCE: usize = 23;

/// The character of a reference, without `&` and `;`: a sign of ASCII, a Latin letter, a character that nobody sees, or a number.
pub fn html_character(name: &str) -> Option<char> {
    let latin = || u32::try_from(LATIN.iter().position(|known| *known == name)?).ok().and_then(|at| char::from_u32(0xA0 + at));
    match name.strip_prefix('#') {
        Some(digits) => {
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)
        }
        None => SIGNS.iter().find(|(known, _)| *known == name).map(|(_, character)| *character).or_else(latin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_letters_and_what_nobody_sees_have_names() {
        for (name, character) in [
            ("amp", '&'),
            ("lpar", '('),
            ("plus", '+'),
            ("equals", '='),
            ("commat", '@'),
            ("shy", '\u{AD}'),
            ("nbsp", '\u{A0}'),
            ("auml", 'ä'),
            ("szlig", 'ß'),
            ("Eacute", 'É'),
            ("yuml", 'ÿ'),
            ("times", '×'),
            ("#65", 'A'),
            ("#x41", 'A'),
            ("ZeroWidthSpace", '\u{200B}'),
            ("NegativeVeryThinSpace", '\u{200B}'),
        ] {
            assert_eq!(html_character(name), Some(character), "{name}");
        }
        assert_eq!(html_character("Amp").or(html_character("")).or(html_character("#")), None);
        let longest = SIGNS.iter().map(|(name, _)| name.len()).chain(LATIN.iter().map(|name| name.len())).max();
        assert_eq!(longest, Some(LONGEST_REFERENCE - 2));
    }
}
