//! What a diagnostic is: an author's mistake as data, with its place and what to do. No drawing here.
//!
//! How to add a code: one line in `codes.rs`, a page in `docs/codes/` with a wrong and a right block, which a test runs (or a section "Why there is no
//! example"), a failing and a passing file in `tests/check/`, and the one function that makes it, in the room that owns it (`syntax`, `lower`,
//! `template`, `plan`, or a file in a family of `rules`, its name in that family and in `rules/mod.rs`); of a code that several rooms report, in `shared.rs`. Tests ask for each, and for the
//! reason in `tests/it/fix_slips/helps.rs` why it offers no edit, if it offers none. A new warning speaks in existing files of `tests/check`, too: fix
//! these, and let `FLOW_UPDATE=1 cargo test --test it check` write the `.out` files anew.

mod about;
mod codes;
mod quote;
mod sentence;
mod shared;
mod shell;
mod suggest;
mod suppress;
mod visible;

pub use about::About;
pub use codes::{Code, Severity};
pub use quote::{LONGEST_MESSAGE, LONGEST_QUOTE, behind_cut, cut, cut_bytes, cut_words, ends, one_line, quoted, yaml_quoted};
pub use sentence::{counted, grouped, listed};
pub use shell::{shell_path, shell_word};
pub use suggest::{Hints, Near, akin, did_you_mean, did_you_mean_zone, nearest};
pub use suppress::{Suppressed, SuppressedBy, Suppression, SuppressionResult, suppress};
pub use visible::{all_visible, escaped, is_invisible, terminal_sequence, visible, visible_drawn, visible_lines};

use crate::source::Span;

/// One finding. A list of them is what checking gives; nothing here is ever thrown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of mistake.
    pub code: Code,
    /// One line: what is wrong, in the author's own names, at most 160 characters. Nothing is decided by it: that is what `about` is for.
    pub message: String,
    /// What it is about.
    pub about: About,
    /// The smallest place to change.
    pub span: Span,
    /// Other places that matter, each with a label.
    pub related: Vec<(Span, String)>,
    /// What to do, one line each, starting with a verb.
    pub help: Vec<String>,
    /// The names that may be meant. A message that proposes names proposes these.
    pub near: Near,
    /// An edit that may fix it. Nobody is shown it before it was tried.
    pub candidate: Option<Fix>,
    /// An edit that was tried: only `check_with_edits` says which.
    pub fix: Option<Fix>,
    /// The project counts this code as an error (`lint.deny` of `flow.toml`).
    pub is_denied: bool,
}

/// A place and the text to put there.
pub type Edit = (Span, String);

/// Edits that fix a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// They do not overlap.
    pub edits: Vec<Edit>,
    /// Safe: the meaning stays, or there is only one possible reading. `flow fix` applies safe edits only.
    pub safe: bool,
}

impl Diagnostic {
    /// A finding without help.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            message: message.into(),
            about: About::Other,
            span,
            related: vec![],
            help: vec![],
            near: Near::default(),
            candidate: None,
            fix: None,
            is_denied: false,
        }
    }

    /// Says what it is about.
    pub fn about(mut self, about: About) -> Diagnostic {
        self.about = about;
        self
    }

    /// Keeps the names that may be meant.
    pub fn near(mut self, near: Near) -> Diagnostic {
        self.near = near;
        self
    }

    /// Adds a line of help; it starts with a verb.
    pub fn help(mut self, line: impl Into<String>) -> Diagnostic {
        self.help.push(line.into());
        self
    }

    /// Adds another place with its label.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }

    /// Adds an edit that `flow fix` may apply, if it holds when it is tried.
    pub fn safe_fix(mut self, edits: Vec<(Span, String)>) -> Diagnostic {
        self.candidate = Some(Fix { edits, safe: true });
        self
    }

    /// Adds an edit that is only proposed, if it holds when it is tried.
    pub fn proposed_fix(mut self, edits: Vec<(Span, String)>) -> Diagnostic {
        self.candidate = Some(Fix { edits, safe: false });
        self
    }

    /// How grave it is.
    pub fn severity(&self) -> Severity {
        if self.is_denied { Severity::Error } else { self.code.severity() }
    }
}

/// A way from name to name: `a -> b -> c`. The middle of a long one is left out.
pub fn way(names: &[&str]) -> String {
    match names {
        [a, b, c, d, _, _, .., x, y, z] => format!("{} -> … -> {}", [*a, b, c, d].join(" -> "), [*x, y, z].join(" -> ")),
        all => all.join(" -> "),
    }
}

/// Sorts by file, place, code and message, and removes exact repetitions.
pub fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| (a.span, a.code.id(), &a.message).cmp(&(b.span, b.code.id(), &b.message)));
    diagnostics.dedup();
}

/// Whether any of them stops a run.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity() == Severity::Error)
}
