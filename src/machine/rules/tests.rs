//! Tests of rules files.
