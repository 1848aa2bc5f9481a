//! Criteria that need no model call.
