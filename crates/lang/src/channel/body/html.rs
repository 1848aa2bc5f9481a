//! HTML: a fragment without style, script, image or anything else that is fetched.

use super::inline::{Inline, StyleMark, write};
use crate::channel::document::{BlockKind, DocumentBlock, ListItem, StyledRun, plain};

/// Writes a document. Every text is escaped; lists, quotes and tables are opened and closed as the blocks ask for them.
pub(super) fn render(blocks: &[DocumentBlock]) -> String {
    let mut out = String::new();
    let mut open = OpenHtml::default();
    for (index, block) in blocks.iter().enumerate() {
        open.go_to(block, &mut out);
        let text = write(&block.runs, &Html);
        match &block.kind {
            BlockKind::Rule => out.push_str("<hr>\n"),
            BlockKind::Heading(level) => out.push_str(&format!("<h{level}>{text}</h{level}>\n")),
            BlockKind::Code(_) => out.push_str(&format!("<pre><code>{}</code></pre>\n", escape(&plain(&block.runs)))),
            BlockKind::Row(row) => {
                if !out.ends_with("<tbody>\n") && !out.ends_with("</tr>\n") {
                    out.push_str(&format!("<table>\n<thead>\n{}</thead>\n<tbody>\n", cells(&row.header, "th")));
                }
                if !row.cells.is_empty() {
                    out.push_str(&cells(&row.cells, "td"));
                }
                let goes_on = blocks.get(index + 1).is_some_and(|next| {
                    matches!(&next.kind, BlockKind::Row(after) if after.table == row.table)
                        && next.items == block.items
                        && next.quote == block.quote
                });
                if !goes_on {
                    out.push_str("</tbody>\n</table>\n");
                }
            }
            // The first paragraph of a list element is in it bare.
            BlockKind::Paragraph if out.ends_with("<li>") => out.push_str(&text),
            BlockKind::Paragraph if block.tight && out.ends_with("</p>\n") => {
                out.truncate(out.len() - "</p>\n".len());
                out.push_str(&format!("<br>\n{text}</p>\n"));
            }
            BlockKind::Paragraph => out.push_str(&format!("<p>{text}</p>\n")),
        }
    }
    open.close(0, 0, &mut out);
    out.truncate(out.trim_end().len());
    out
}

/// The quotes and list elements that are open.
#[derive(Default)]
struct OpenHtml {
    quote: u8,
    items: Vec<ListItem>,
}

impl OpenHtml {
    fn go_to(&mut self, block: &DocumentBlock, out: &mut String) {
        let same =
            if self.quote == block.quote { self.items.iter().zip(&block.items).take_while(|(a, b)| a.id == b.id).count() } else { 0 };
        // The next element of the same list closes only its neighbour.
        let next_of_list =
            self.quote == block.quote && matches!((self.items.get(same), block.items.get(same)), (Some(a), Some(b)) if a.list == b.list);
        self.close(block.quote, if next_of_list { same + 1 } else { same }, out);
        while self.quote < block.quote {
            self.quote += 1;
            out.push_str("<blockquote>\n");
        }
        if !out.is_empty() && !out.ends_with('\n') && !next_of_list {
            out.push('\n');
        }
        for (depth, item) in block.items.iter().enumerate().skip(same) {
            if next_of_list && depth == same {
                self.items.pop();
                out.push_str("</li>\n<li>");
            } else {
                match item.number {
                    None => out.push_str("<ul>\n<li>"),
                    Some(1) => out.push_str("<ol>\n<li>"),
                    Some(number) => out.push_str(&format!("<ol start=\"{number}\">\n<li>")),
                }
            }
            self.items.push(*item);
        }
    }

    /// Closes down to so many quotes and elements.
    fn close(&mut self, quote: u8, items: usize, out: &mut String) {
        let keep = if quote == self.quote { items } else { 0 };
        while self.items.len() > keep {
            let item = self.items.pop();
            out.push_str(if item.is_some_and(|item| item.number.is_some()) { "</li>\n</ol>\n" } else { "</li>\n</ul>\n" });
        }
        while self.quote > quote {
            self.quote -= 1;
            out.push_str("</blockquote>\n");
        }
    }
}

fn cells(cells: &[Vec<StyledRun>], element: &str) -> String {
    let written: String = cells.iter().map(|cell| format!("<{element}>{}</{element}>", write(cell, &Html))).collect();
    format!("<tr>{written}</tr>\n")
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

struct Html;

impl Inline for Html {
    fn open(&self, mark: StyleMark) -> String {
        format!("<{}>", element(mark))
    }
    fn close(&self, mark: StyleMark) -> String {
        format!("</{}>", element(mark))
    }
    fn text(&self, text: &str) -> String {
        escape(text)
    }
    fn code(&self, text: &str) -> String {
        format!("<code>{}</code>", escape(text))
    }
    fn link(&self, written: &str, _: &str, url: &str) -> String {
        format!("<a href=\"{}\" rel=\"noopener noreferrer\">{written}</a>", escape(url))
    }
    fn line(&self) -> &str {
        "<br>\n"
    }
}

fn element(mark: StyleMark) -> &'static str {
    match mark {
        StyleMark::Bold => "strong",
        StyleMark::Italic => "em",
        StyleMark::Strike => "del",
    }
}
