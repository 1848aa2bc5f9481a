//! F707: a file of tests with a name by which `flow test` does not find it in a folder.

use std::path::Path;

use crate::diagnostic::visible;
use crate::model::{TestFile, is_test_name, test_name};
use crate::rules::prelude::{Code, Diagnostic, finding, quoted};

/// F707, of the file of tests at this path.
pub(crate) fn check(path: &Path, tests: &TestFile, out: &mut Vec<Diagnostic>) {
    // `-`: standard input.
    if is_test_name(path) || path.extension().is_none() {
        return;
    }
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    let message = format!("flow test of a folder passes over the cases of {}: its name does not end in .test.yaml", quoted(&own));
    let help = format!("rename it to {}", visible(&test_name(path, &tests.pipeline.value)));
    out.push(finding(Code::TestName, tests.pipeline.span, &message).help(help));
}
