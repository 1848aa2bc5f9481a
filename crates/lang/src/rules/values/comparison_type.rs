//! F206: values of different types are compared, so they are never equal, or a text with one that it never is.

use crate::model::{Check, TestFile};
use crate::rules::prelude::{Code, Diagnostic};
use crate::rules::support::scorecards::expected;
use crate::source::Span;
use crate::template::types::Type;
use crate::template::{TypeProblemKind, typed};

pub(in crate::rules) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::ComparisonType, span, message)
}

/// The same in expressions of tests, as far as they tell it by themselves.
pub(in crate::rules) fn in_tests(tests: &TestFile, out: &mut Vec<Diagnostic>) {
    for (_, check) in expected(tests) {
        let Check::Expression(text) = &check.value else { continue };
        for problem in typed(text, false, &|_| Type::Any).problems {
            if let TypeProblemKind::Comparison(message, help, near) = problem.kind {
                out.push(found(text.place.span, message).near(near).help(help));
            }
        }
    }
}
