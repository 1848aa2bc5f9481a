//! Test files, their mocks and scripted replies.

pub(super) mod case_contradicts;
pub(super) mod cases;
pub(super) mod mock_shape;
pub(super) mod nothing_expected;
pub(super) mod replies;
pub(super) mod reply_calls;
pub(super) mod reply_keys;
pub(super) mod reply_shape;
pub(super) mod test_ends;
pub(super) mod test_lacks;
pub(super) mod test_name;
pub(super) mod test_values;
pub(super) mod unknown_test_name;
pub(super) mod verdicts;
