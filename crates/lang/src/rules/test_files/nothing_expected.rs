//! F701: a case that would pass whatever happens.

use crate::model::TestFile;
use crate::rules::prelude::{Code, Diagnostic, finding, quoted};

pub(in crate::rules) fn check(tests: &TestFile, out: &mut Vec<Diagnostic>) {
    for case in tests.cases.iter().filter(|case| !case.golden && !case.lacks_column) {
        let message = match &case.expect {
            None => format!("test {} has neither expect nor golden; write what it expects", quoted(&case.id.value)),
            Some(expect) if expect.is_empty => format!("expect of test {} is empty; write what it expects", quoted(&case.id.value)),
            Some(_) => continue,
        };
        out.push(
            finding(Code::TestExpectsNothing, case.id.span, &message)
                .help("add expect: { status: succeeded }, or golden: true to compare what is sent"),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::case;

    #[test]
    fn a_case_expects_something() {
        let found = "F701 16:11 test \"late\" has neither expect nor golden; write what it expects\n";
        assert_eq!(case("replies: { draft: Hi }"), found);
        assert_eq!(case("golden: true"), "");
        for empty in ["expect: {}", "expect: { outputs: {} }", "expect: { steps: {} }"] {
            assert_eq!(case(empty), "F701 16:11 expect of test \"late\" is empty; write what it expects\n", "{empty}");
        }
        assert_eq!(case("expect: { status: succeeded }"), "");
    }
}
