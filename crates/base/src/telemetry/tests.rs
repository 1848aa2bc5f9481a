//! From events to spans.
