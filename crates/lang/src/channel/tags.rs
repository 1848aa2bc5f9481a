//! HTML inside a text: which of it are tags, and what they mean for a reader.

use std::collections::HashSet;

use crate::model::{LONGEST_REFERENCE, html_character};

/// A piece of HTML.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HtmlPiece {
    /// Text, with its character references read.
    Text(String),
    /// A comment or declaration.
    Nothing,
    /// A start or end tag of a known element, its name in small letters.
    Tag { name: String, is_end: bool, href: Option<String>, src: Option<String>, alt: Option<String>, start: Option<u64> },
}

/// The elements of HTML (WHATWG HTML, section 4, and the obsolete ones of section 16.2). Only these are tags.
const ELEMENTS: &str = " a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote \
body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset \
figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins isindex kbd \
keygen label legend li link listing main map mark marquee math menu menuitem meta meter nav nobr noembed noframes noscript object ol \
optgroup option output p param picture plaintext pre progress q rp rt ruby s samp script search section select slot small source span \
strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp ";
/// Attributes that a tag may have; one with any other name is no tag but text, such as `a <b and c> d`.
const ATTRIBUTES: &str = " abbr accept accept-charset accesskey action align alink allow alt archive axis background bgcolor border \
bordercolor cellpadding cellspacing charset cite class classid clear code codebase codetype color cols colspan content contenteditable \
coords crossorigin d data datetime decoding dir dirname download draggable enctype enterkeyhint face fetchpriority fill for form formaction \
formmethod formtarget frame frameborder headers height high href hreflang hspace http-equiv id imagesizes imagesrcset inputmode integrity \
is itemid itemprop itemref itemtype kind label lang language link list loading longdesc low marginheight marginwidth max maxlength media \
method min minlength name object onclick optimum pattern ping placeholder popover poster preload profile property rel referrerpolicy rev \
role rows rowspan rules sandbox scheme scope scrolling shape size sizes slot span spellcheck src srcdoc srclang srcset standby start step \
style summary tabindex target text title translate type usemap valign value valuetype version viewbox vlink vspace width wrap xmlns ";
/// Attributes that need no value.
const FLAGS: &str = " allowfullscreen async autofocus autoplay checked compact controls declare default defer disabled download \
formnovalidate hidden inert ismap itemscope loop multiple muted nohref nomodule noresize noshade novalidate nowrap open playsinline \
readonly required reversed selected ";
/// What is code or drawing: see the list of what is left out in `docs/language.md`, section 10.
const HIDING: &str = " math script style svg template ";
const BREAKING: &str = " address article aside blockquote br caption center dd details dialog div dl dt fieldset figcaption figure footer \
form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol optgroup option p pre section summary table title tr ul ";

fn listed(list: &str, name: &str) -> bool {
    list.split(' ').any(|word| !word.is_empty() && word == name)
}

/// Elements of one tag, and those whose end tag may be left out (WHATWG HTML, sections 13.1.2 and 13.1.2.4).
const SINGLE: &str = " area base basefont bgsound body br caption col colgroup dd dt embed frame head hr html image img input isindex keygen \
li link meta optgroup option p param plaintext rp rt source tbody td tfoot th thead tr track wbr ";

/// The tags that a text holds, by name: a bare start tag of an element that must be closed, in a text without such an end tag, is
/// no markup but something that looks like it, such as a project called `<script>`; so is an end tag without a start.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    starts: HashSet<String>,
    ends: HashSet<String>,
}

impl Pairs {
    /// Of a whole text.
    pub(super) fn from_text(text: &str) -> Pairs {
        let mut pairs = Pairs::default();
        for rest in text.split('<').skip(1) {
            let (names, rest) = rest.strip_prefix('/').map_or((&mut pairs.starts, rest), |rest| (&mut pairs.ends, rest));
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            names.insert(rest[..length].to_ascii_lowercase());
        }
        pairs
    }

    fn has_both(&self, name: &str) -> bool {
        listed(SINGLE, name) || self.starts.contains(name) && self.ends.contains(name)
    }
}

/// The content of such an element is not text.
pub(super) fn hides(name: &str) -> bool {
    listed(HIDING, name)
}

/// Such a tag begins a new line.
pub(super) fn breaks(name: &str) -> bool {
    listed(BREAKING, name)
}

/// Where the last tag, comment and section of a text end: an end that does not follow is not looked for again behind every `<`.
pub(super) struct TagEnds {
    tag: Option<usize>,
    comment: Option<usize>,
    data: Option<usize>,
}

impl TagEnds {
    pub(super) fn from_html(html: &str) -> TagEnds {
        TagEnds { tag: html.rfind('>'), comment: html.rfind("-->"), data: html.rfind("]]>") }
    }

    /// Whether what begins at this byte, with `rest`, may end.
    fn follow(&self, rest: &str, at: usize) -> bool {
        let end = match rest {
            _ if rest.starts_with("<!--") => self.comment,
            _ if rest.starts_with("<![CDATA[") => self.data,
            _ => self.tag,
        };
        Some(at) < end
    }
}

/// How long the tag is that begins at a byte of a text, if there is one.
pub(super) fn length(text: &str, at: usize, pairs: &Pairs, ends: &TagEnds) -> Option<usize> {
    let rest = text.get(at..).filter(|rest| ends.follow(rest, at))?;
    tag(rest, pairs).map(|(_, length)| length)
}

/// Reads HTML into text and tags; what is no tag stays text. `pairs` is of the text that the HTML stands in.
pub(super) fn scan(html: &str, pairs: &Pairs) -> Vec<HtmlPiece> {
    let mut pieces = vec![];
    let mut text = String::new();
    let mut rest = html;
    let ends = TagEnds::from_html(html);
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        match ends.follow(rest, html.len() - rest.len()).then(|| tag(rest, pairs)).flatten() {
            Some((piece, length)) => {
                flush(&mut text, &mut pieces);
                pieces.push(piece);
                rest = &rest[length..];
            }
            None => {
                text.push('<');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    flush(&mut text, &mut pieces);
    pieces
}

fn flush(text: &mut String, pieces: &mut Vec<HtmlPiece>) {
    if !text.is_empty() {
        pieces.push(HtmlPiece::Text(read_references(text)));
        text.clear();
    }
}

/// The tag at the start of `html` and its length.
fn tag(html: &str, pairs: &Pairs) -> Option<(HtmlPiece, usize)> {
    if html.starts_with("<!--") {
        return Some((HtmlPiece::Nothing, html.find("-->")? + 3));
    }
    if let Some(inside) = html.strip_prefix("<![CDATA[") {
        let length = inside.find("]]>")?;
        return Some((HtmlPiece::Text(inside[..length].to_owned()), "<![CDATA[]]>".len() + length));
    }
    if ["<!doctype", "<?xml"].iter().any(|start| html.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))) {
        return Some((HtmlPiece::Nothing, html.find('>')? + 1));
    }
    let is_end = html.starts_with("</");
    let from = if is_end { 2 } else { 1 };
    let inside = html.get(from..)?;
    let length = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
    let name = inside[..length].to_ascii_lowercase();
    if !listed(ELEMENTS, &name) {
        return None;
    }
    let (mut href, mut src, mut alt, mut start) = (None, None, None, None);
    let mut at = from + length;
    // Attributes: name, name=value, name="value". What has no end is no tag, and neither is what another `<` is in without quotes.
    loop {
        let left = html.get(at..).unwrap_or_default();
        let skipped = left.find(|c: char| !c.is_whitespace() && c != '/').unwrap_or(left.len());
        at += skipped;
        let left = html.get(at..).unwrap_or_default();
        if left.is_empty() {
            return None;
        }
        if left.starts_with('>') {
            at += 1;
            break;
        }
        let key_length = left.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/' | '<')).unwrap_or(left.len()).max(1);
        let key_length = if left.is_char_boundary(key_length) { key_length } else { left.chars().next().map_or(1, char::len_utf8) };
        let key = left[..key_length].to_ascii_lowercase();
        at += key_length;
        let Some(value) = html.get(at..).unwrap_or_default().trim_start().strip_prefix('=') else {
            if is_end || !listed(FLAGS, &key) {
                return None;
            }
            continue;
        };
        if is_end || !is_attribute(&key) {
            return None;
        }
        let value = value.trim_start();
        let (value, rest) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_at(value.find(|c: char| c.is_whitespace() || matches!(c, '>' | '<')).unwrap_or(value.len())),
        };
        at = html.len() - rest.len();
        match key.as_str() {
            "href" => href = Some(read_references(value)),
            "src" => src = Some(read_references(value)),
            "alt" => alt = Some(read_references(value)),
            "start" => start = value.parse().ok(),
            _ => {}
        }
    }
    let is_bare = html.get(from + length..at).is_some_and(|inside| inside.chars().all(|c| c.is_whitespace() || matches!(c, '/' | '>')));
    (!is_bare || pairs.has_both(&name)).then_some((HtmlPiece::Tag { name, is_end, href, src, alt, start }, at))
}

fn is_attribute(key: &str) -> bool {
    let is_event = key.strip_prefix("on").is_some_and(|event| !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_lowercase()));
    is_event || key.starts_with("data-") || key.starts_with("aria-") || listed(ATTRIBUTES, key) || listed(FLAGS, key)
}

/// Character references, see [`html_character`].
fn read_references(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';');
        let read = end.and_then(|end| Some((html_character(rest.get(1..end)?).filter(|c| *c != '\0')?, end + 1)));
        match read {
            Some((character, length)) => {
                made.push(character);
                rest = &rest[length..];
            }
            None => {
                made.push('&');
                rest = &rest[1..];
            }
        }
    }
    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(html: &str) -> Vec<HtmlPiece> {
        scan(html, &Pairs::from_text(html))
    }

    #[test]
    fn known_elements_are_tags_and_all_else_is_text() {
        let pieces = alone("a <b class='x'>c</b> Vec<Item> 1 < 2 &amp; &#33;<!-- x -->");
        let tag = |is_end| HtmlPiece::Tag { name: "b".into(), is_end, href: None, src: None, alt: None, start: None };
        assert_eq!(
            pieces,
            [
                HtmlPiece::Text("a ".into()),
                tag(false),
                HtmlPiece::Text("c".into()),
                tag(true),
                HtmlPiece::Text(" Vec<Item> 1 < 2 & !".into()),
                HtmlPiece::Nothing,
            ]
        );
    }

    #[test]
    fn tags_that_never_end_are_text_in_time_with_their_number() {
        for tag in ["<!--", "<a", "<a/href=", "<b id=", "<![CDATA[", "<!doctype "] {
            for end in ["", ">"] {
                let text = tag.repeat(200_000 / tag.len()) + end;
                let pieces = alone(&text);
                assert!(pieces.len() <= 2, "{tag}{end}");
            }
        }
    }

    #[test]
    fn attributes_are_read_with_and_without_quotes() {
        let pieces = alone("<a title=\"<x>\" HREF=https://a.example/x?a=1&amp;b=2>t<img/alt='é>'src=y>");
        assert_eq!(
            pieces[0],
            HtmlPiece::Tag {
                name: "a".into(),
                is_end: false,
                href: Some("https://a.example/x?a=1&b=2".into()),
                src: None,
                alt: None,
                start: None
            }
        );
        assert_eq!(
            pieces[2],
            HtmlPiece::Tag { name: "img".into(), is_end: false, href: None, src: Some("y".into()), alt: Some("é>".into()), start: None }
        );
    }

    #[test]
    fn a_tag_without_end_and_a_comparison_are_text() {
        for text in [
            "x<img src=https://evil.example/?",
            "<",
            "<a é",
            "a <b and c> d",
            "<b c=5 d>",
            "</b c>",
            "a <i id> b",
            "<b \"c\">",
            "<!b c>",
            "<?b>",
        ] {
            assert_eq!(alone(text), [HtmlPiece::Text(text.into())], "{text}");
        }
        assert_eq!(alone("<![CDATA[a > b]]>"), [HtmlPiece::Text("a > b".into())]);
        for text in ["<!DOCTYPE html>", "<?xml version=\"1.0\"?>", "<!-- a <b> -->"] {
            assert_eq!(alone(text), [HtmlPiece::Nothing], "{text}");
        }
        for text in ["<input checked disabled>", "<svg onload=alert(1)>", "<p data-x=1 aria-label='a b'>", "<br/>", "<details open>"] {
            assert!(matches!(alone(text)[..], [HtmlPiece::Tag { .. }]), "{text}");
        }
    }
}
