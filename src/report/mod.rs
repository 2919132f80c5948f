//! What people and programs get to see.
//!
//! | where | what |
//! |---|---|
//! | [`inspect`] | `acsm inspect`: exact facts, as a page and as JSON |
//! | [`replay`] | the summary of `acsm replay`, as a page and as JSON |
//! | [`plan`] | `acsm plan`: stores that would do |
//! | [`compare`] | the report of `acsm compare` |
//! | [`alert`] | alerts while a run goes on: EVE lines, text, and the steps of a watched flow |
//! | [`plot`], [`markup`] | figures as SVG; safe text for HTML |
//! | [`trace`] | what every report says about its trace |
//! | [`mod@text`] | numbers, sizes, bars and headings |
//!
//! The serialised structs are the JSON contract; `docs/json.md` tells what each name means. Nothing
//! here counts, but for [`inspect::Facts`]: figures come from the engine.

pub mod alert;
pub mod compare;
pub mod inspect;
pub mod markup;
pub mod plan;
pub mod plot;
pub mod replay;
pub mod text;
pub mod trace;
