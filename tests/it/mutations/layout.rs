//! Mistakes of quotes and of indentation.

use std::collections::BTreeSet;

use flow_lang::lower::keys::Takes;
use flow_lang::syntax::QuoteStyle;

use super::make::{Maker, range};
use super::sites::ValueSite;

impl Maker<'_> {
    /// The quote that begins or ends a text, and those inside an expression. A careful person looks at the line of the text.
    pub(super) fn lost_quotes(&mut self) {
        for node in self.scalars() {
            let Some(scalar) = node.as_scalar() else { continue };
            let at = range(node.span);
            let (first, last) = (self.line(at.start), self.line(at.end - 1));
            if matches!(scalar.style, QuoteStyle::Double | QuoteStyle::Single) {
                // Without its first quote a text may mean what it says: 24", users'.
                if scalar.style == QuoteStyle::Double
                    && !scalar.text.ends_with(|c: char| c.is_ascii_digit())
                    && let Some(made) = self.add("lost quote", at.start..at.start + 1, "", first..=last)
                {
                    made.names = vec![format!("line {first}")];
                }
                if let Some(made) = self.add("lost quote", at.end - 1..at.end, "", first..=last) {
                    made.names = vec![format!("line {first}")];
                }
            }
        }
        for (at, expression) in self.expressions_of_file() {
            for (quote, _) in expression.match_indices(['\'', '"']) {
                let lines = self.lines_at(at + quote);
                self.add("lost quote", at + quote..at + quote + 1, "", lines);
            }
        }
    }

    /// A line moved to the left or right. A careful person looks at the line itself and at the lines with content around it.
    pub(super) fn indentation(&mut self) {
        let inside_text: BTreeSet<usize> = self
            .scalars()
            .iter()
            .flat_map(|node| {
                let at = range(node.span);
                let is_block = node.as_scalar().is_some_and(|text| matches!(text.style, QuoteStyle::Literal | QuoteStyle::Folded));
                self.line(at.start) + usize::from(!is_block)..self.line(at.end.max(at.start + 1) - 1) + 1
            })
            .collect();
        // A line with a name of the author's own, such as what "with" gives: what moves below it becomes one more.
        let language: BTreeSet<usize> =
            self.sites.keys.iter().map(|site| self.line(site.owner.entries[site.index].0.span.start as usize)).collect();
        // Data of the author's own may be shaped in any way.
        let is_data = |site: &&ValueSite| {
            matches!(site.takes, Takes::Value | Takes::Constant | Takes::Mock | Takes::Expected) && site.node.as_map().is_some()
        };
        let data: BTreeSet<usize> = self
            .sites
            .values
            .iter()
            .filter(is_data)
            .flat_map(|site| {
                let at = range(site.node.span);
                self.line(at.start)..=self.line(at.end - 1)
            })
            .collect();
        let count = self.source.line_count();
        let content = |line: usize| {
            let text = self.source.line(line).trim_start();
            !text.is_empty() && !text.starts_with('#')
        };
        for line in (1..=count).filter(|line| content(*line) && !inside_text.contains(line) && !data.contains(line)) {
            let start = self.source.line_start(line);
            let blanks = self.source.line(line).len() - self.source.line(line).trim_start().len();
            if self.is_inside_brackets(start + blanks) && !self.source.line(line).trim_start().starts_with("- ") {
                continue;
            }
            let last = (1..line).rev().find(|line| content(*line)).unwrap_or(line);
            let beside = self.source.line(last).len() - self.source.line(last).trim_start().len();
            // What slides into a text above is noticed where that text begins.
            let above = (1..=last).rev().find(|line| !inside_text.contains(line)).unwrap_or(last);
            let below = (line + 1..=count).find(|line| content(*line)).unwrap_or(line);
            for spaces in [blanks.saturating_sub(2), blanks.saturating_sub(1), blanks + 1, blanks + 2] {
                if spaces != blanks && (spaces != beside || language.contains(&last)) {
                    self.add("indentation", start..start + blanks, &" ".repeat(spaces), above..=below);
                }
            }
            if blanks > 0 {
                self.add("indentation", start..start + blanks, &"\t".repeat(blanks / 2), above..=below);
            }
        }
    }
}
