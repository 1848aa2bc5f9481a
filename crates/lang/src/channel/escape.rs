//! Text as Markdown that reads as that text (CommonMark, tables and strike).

/// Markdown that reads as the value wherever in a line it is put. Blanks around its lines, and empty lines, go: they would end the
/// paragraph or the element of a list that the value stands in.
pub fn escape_markdown(value: &str) -> String {
    lines(value).map(|line| line_start(&bars(line))).collect::<Vec<_>>().join("\n")
}

/// The same for the cell of a table: one line, in which nothing can begin a block.
pub(crate) fn escape_cell(value: &str) -> String {
    lines(value).map(bars).collect::<Vec<_>>().join(" ")
}

/// The lines that hold something.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty())
}

fn bars(line: &str) -> String {
    inline(line, true).replace('|', "\\|")
}

/// Escapes what means something anywhere in a line: to all readers, or (`with_html: false`) to those that know no HTML.
pub(super) fn inline(text: &str, with_html: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before: Option<char> = None;
    let mut rest = text.chars();
    while let Some(now) = rest.next() {
        let next = rest.clone().next();
        let between_letters = before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
        let between_spaces = before.is_some_and(char::is_whitespace) && next.is_some_and(char::is_whitespace);
        let means_something = match now {
            '\\' | '[' | ']' | '`' | '~' => true,
            '*' => !between_spaces,
            '_' => !between_letters,
            '<' => with_html && next.is_none_or(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')),
            '&' => is_reference(rest.as_str()),
            _ => false,
        };
        if means_something {
            out.push('\\');
        }
        out.push(now);
        before = Some(now);
    }
    out
}

/// Whether what follows an `&` makes it a character reference.
pub(super) fn is_reference(rest: &str) -> bool {
    let name = rest.strip_prefix('#').unwrap_or(rest);
    let length = name.bytes().take(40).take_while(u8::is_ascii_alphanumeric).count();
    length > 0 && name[length..].starts_with(';')
}

/// What is before a link, so that it does not make a picture of it.
pub(super) fn before_link(written: &mut String) {
    if written.ends_with('!') {
        written.insert(written.len() - 1, '\\');
    }
}

/// Escapes what makes a line the beginning of a heading, a list, a quote, a rule or a table.
pub(super) fn line_start(line: &str) -> String {
    let begins = |mark: &str| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_number = (1..=9).contains(&digits) && [".", ")"].iter().any(|mark| begins(&format!("{}{mark}", &line[..digits])));
    let is_heading = (1..=6).any(|level| begins(&"#".repeat(level)));
    let is_of = |marks: &[char]| line.chars().all(|c| marks.contains(&c));
    let is_rule = is_of(&['=', ' ']) || is_of(&['-', ':', '|', ' ']);
    let at = match () {
        () if is_number => digits,
        () if is_heading || begins("-") || begins("+") || line.starts_with('>') || is_rule => 0,
        () => return line.to_owned(),
    };
    format!("{}\\{}", &line[..at], &line[at..])
}
