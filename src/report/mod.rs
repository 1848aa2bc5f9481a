//! Drawing only: one file per format.
