//! Reports: what people and programs read.
//!
//! | folder or file | what |
//! |---|---|
//! | [`alert`] | alerts during a run: EVE JSON, text; the steps of a watched flow |
//! | [`overload`] | the message that a store is overloaded |
//! | [`replay`] | the summary of `acsm replay` |
//! | [`inspect`] | `acsm inspect`: exact facts about a trace |
//! | [`compare`] | the report of `acsm compare` |
//! | [`plan`] | `acsm plan`: store configurations that meet the requirements |
//! | [`reproduce`] | `acsm reproduce`: results of experiments as CSV, SVG and a page |
//! | [`plot`] | figures as SVG |
//! | [`trace`] | the part of every report that describes its trace |
//! | [`mod@format`], [`escape`], [`csv`] | formatting of numbers and headings; escaping for HTML and SVG; lines of CSV |
//!
//! Within a folder a file is named after its output: `text.rs` for a terminal, `json.rs` for the
//! document that `--json` prints, `csv.rs`, `html/`, `eve.rs`.
//!
//! The serialised structs are the JSON contract; `docs/json.md` describes each key. Nothing here
//! counts, except [`inspect::Facts`]: all figures come from the engine.

pub mod alert;
pub mod compare;
pub mod csv;
pub mod escape;
pub mod format;
pub mod inspect;
pub mod overload;
pub mod plan;
pub mod plot;
pub mod replay;
pub mod reproduce;
pub mod trace;
