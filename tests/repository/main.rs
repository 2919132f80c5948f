//! The repository itself: the source's style, and documents, packaging and bundled traces that must
//! say what the program does.

mod contributing;
mod dist;
mod docs;
mod errata;
mod readme;
mod reproduction;
mod rules_docs;
mod tidy;
mod traces;
