//! A text as it is read where its marks are shown as what they mean: `10<span>10</span>` and `1**0**` are one figure each.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Tags between which a text is parted; all others stand in a line (HTML, "phrasing content").
const PARTS: [&str; 24] = [
    "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "section", "table", "td", "th", "tr", "ul",
];

/// Takes out the marks of Markdown and HTML, of links all but the words, and writes raised parts as powers (`10^6`). `None`: there are none. Figures
/// may not occur in the text as it is either, so this only makes a check stricter.
pub(super) fn joined(text: &str) -> Option<String> {
    static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?s)<!--.*?-->|</?(?<tag>[A-Za-z][A-Za-z0-9-]*)(?:"[^"]*"|'[^']*'|[^<>"'])*>|&(?:(?<entity>[A-Za-z]{2,20})|\#(?<decimal>[0-9]{1,7})|\#[xX](?<hex>[0-9A-Fa-f]{1,6}));"#).ok()
    });
    static MARKS: LazyLock<Option<[Regex; 5]>> = LazyLock::new(|| {
        let of = |pattern| Regex::new(pattern).ok();
        Some([
            of(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")?,
            // A figure stands in one line, and so do marks that part it; others may be signs of their own (`7*7`).
            of(r"\*+([^*\s](?:[^*\n]*[^*\s])?)\*+")?,
            // Inside a word these are no marks.
            of(r"\b{start-half}_+([^_\s](?:[^_\n]*[^_\s])?)_+\b{end-half}")?,
            of(r"`+([^`\n]+)`+")?,
            of(r"~~([^~\n]+)~~|~([0-9.,']+)~")?,
        ])
    });
    if !text.contains(['<', '&', '*', '_', '~', '`', '[']) {
        return None;
    }
    let plain = TAG.as_ref()?.replace_all(text, |found: &Captures| {
        let code = |name, radix| found.name(name).and_then(|code| u32::from_str_radix(code.as_str(), radix).ok()).and_then(char::from_u32);
        if let Some(sign) = code("decimal", 10).or_else(|| code("hex", 16)) {
            return sign.to_string();
        }
        let tag = found.name("tag").map(|tag| tag.as_str().to_ascii_lowercase());
        let is_end = found.get(0).is_some_and(|all| all.as_str().starts_with("</"));
        match (tag.as_deref(), found.name("entity").map(|entity| entity.as_str())) {
            (Some("sup"), _) if !is_end => "^",
            (Some(tag), _) if PARTS.contains(&tag) => " ",
            (None, Some("nbsp")) => "\u{A0}",
            (None, Some("thinsp")) => "\u{2009}",
            (None, Some("ensp" | "emsp")) => " ",
            (None, Some("times")) => "×",
            (None, Some("minus")) => "−",
            (None, Some("ndash")) => "–",
            (None, Some("mdash")) => "—",
            (None, Some("hyphen" | "dash")) => "-",
            (None, Some("plus")) => "+",
            (None, Some("euro")) => "€",
            (None, Some("pound")) => "£",
            (None, Some("dollar")) => "$",
            (None, Some("percnt")) => "%",
            (None, Some("lt")) => "<",
            (None, Some("gt")) => ">",
            (None, Some("amp")) => "&",
            _ => "",
        }
        .to_owned()
    });
    let mut plain = plain.into_owned();
    for pattern in MARKS.as_ref()? {
        plain = pattern.replace_all(&plain, "$1$2").into_owned();
    }
    (plain != text).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_a_line_join_and_parts_do_not() {
        for (text, plain) in [
            ("10<span title=\"a>b\">10</span>, 10<!-- > -->10, 10<wbr>10", "1010, 1010, 1010"),
            ("<td>10</td><td>10</td>, 10<br/>10, 10<sup>3</sup>", " 10  10 , 10 10, 10^3"),
            ("10**10** 10*10*, 10~~10~~ 10~10~ 10`10`", "1010 1010, 1010 1010 1010"),
            ("1[0](https://acme.example)0, 10&shy;10, 10&nbsp;km, &#49;&#x30;, &minus;5", "100, 1010, 10\u{A0}km, 10, −5"),
            ("3*4, 8~10 hours, 10 < 20 > 5", "3*4, 8~10 hours, 10 < 20 > 5"),
            ("7*7 of a\n***b***", "7*7 of a\nb"),
            ("_10_ __million__, col_17_a, a_10_", "10 million, col_17_a, a_10_"),
        ] {
            assert_eq!(joined(text).as_deref().unwrap_or(text), plain, "{text}");
        }
    }
}
