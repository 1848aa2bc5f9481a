//! Masks secrets and personal data. Pure.
