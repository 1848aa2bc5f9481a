//! Tree → model: shape errors, names, defaults.
