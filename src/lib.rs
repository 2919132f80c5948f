//! # acsm: TCP flow state in small, fixed memory
//!
//! ```text
//! PacketSource → parse → dispatch → [ worker: lookup → step → update → age ] × n → Sink → Report
//! ```
//!
//! Nothing flows back but the pressure of bounded queues. A folder is a stage; a file is one
//! structure, under the name the papers give it.
//!
//! | layer | where | what |
//! |---|---|---|
//! | A vocabulary | [`time`] | nanoseconds, from packets |
//! | | [`flow`] | `Packet`, `TcpFlags`; `FlowKey`, and `FlowId`, its keyed digest |
//! | | [`state`] | `State`, `Lookup`: known, absent, don't know |
//! | | [`spec`] | `StoreSpec`: which store, and what it takes |
//! | | [`hash`], [`random`] | keyed digests; seeded randomness |
//! | | [`memory`] | tables that lie together, in huge pages where there are any |
//! | | [`prefetch`] | telling the processor what will be needed soon |
//! | | [`units`] | numbers as people write them |
//! | B pure core | [`machine`] | what a packet means for its flow; rules |
//! | | [`store`] | `Store`: exact, dbf, sbf, kbf, bhbf, fcf; aging |
//! | | [`model`] | closed forms, by the names of the stores; plans |
//! | C pipeline | [`capture`] | `PacketSource`, `Frame`; file readers, network interfaces; parsing to TCP; recording |
//! | | [`engine`] | one run: workers that drive flows, the exact shadow, thresholds, alerts in order; or many runs compared |
//! | D outputs | [`report`] | what people and programs get to see: summaries, EVE lines, reports |
//! | | [`live`] | a live run while it is running: monitor, dashboard, metrics, web page |
//! | E tools | [`generate`] | a seeded generator of labelled traces |
//! | F commands | [`cmd`] | one file a verb |
//!
//! Imports go upward only: A ← B ← C ← D ← E ← F; `tests/tidy.rs` holds us to it. `store` and
//! `machine` do not know each other: the worker joins them. `model` does not look at `store`: theory
//! stays evidence of its own.
//!
//! # Following a packet
//!
//! [`capture::file`] finds its record, or [`capture::live`] takes it from an interface;
//! [`capture::parse`] finds the TCP header in it. The engine's front
//! turns it into a flow and hands it, in a batch, to the worker that owns the flow's shard. There
//! [`store::Store::lookup`] says what is known of the flow, [`machine::Machine::step`] what the packet
//! means for it, and the store is written. What the rules say of it comes back in packet order, is
//! thinned out, and goes to an [`engine::Sink`].
//!
//! ```
//! use acsm::capture::parse::Parser;
//! use acsm::capture::{FileSource, PacketSource as _, TimeWindow};
//! use acsm::flow::TcpFlags;
//!
//! let mut source = FileSource::open(&["traces/mixed.pcap".into()], TimeWindow::default())?;
//! let (parser, mut resets) = (Parser::default(), 0);
//! while let Some(frame) = source.next_frame()? {
//!     resets += usize::from(parser.parse(&frame).is_ok_and(|packet| packet.flags.has(TcpFlags::RST)));
//! }
//! assert_eq!(resets, 135);
//! # Ok::<(), acsm::capture::CaptureError>(())
//! ```
//!
//! # What holds everywhere
//!
//! - The core reads no clock: time arrives with packets, so a replay gives the same result however
//!   fast it runs. All randomness comes from a seed. What comes out does not depend on the number of
//!   workers.
//! - No input makes it panic, and no file and no peer decides how much memory is taken, but where exact
//!   answers are asked for: `inspect`, `exact` without `--memory`, `--verify` and `compare` grow with
//!   the number of flows.
//! - Nothing per packet allocates, locks, formats or dispatches dynamically: the store is chosen once
//!   per run ([`store::with_store`]), and all behind it is generic.
//! - Threads hand over through bounded queues: workers, those that decompress or capture. The two
//!   that only show a live run, its dashboard and its HTTP server, look at a
//!   [`live::SharedSnapshot`]: the capture never waits for either, and neither can change anything
//!   but that the run ends.
//! - `unsafe` is denied, but in the few files that ask the processor, the kernel or the allocator for
//!   what no safe function gives; each use has its SAFETY line.
//! - Each layer has its own small error type: its message is about its own layer, the cause is in
//!   `source()`.
//!
//! # What is deliberately absent
//!
//! - **Reassembly and payloads.** Flags, addresses and ports are all that is looked at; sequence
//!   numbers are not.
//! - **Memory maps.** A file that shrinks under one kills the process; block reads also serve pipes.
//! - **A registry of plug-ins.** Stores, link types and verbs are visible `match`es.
//! - **Reordering.** Packets are taken in the order of the file; time that runs backwards is held at
//!   the latest seen.
//! - **TLS, and an async runtime.** The HTTP server shows one run to few readers: one thread and
//!   `poll`; a reverse proxy has the rest.
//! - **Listing what a filter holds.** It cannot: figures that are estimates say so.

pub mod capture;
pub mod cmd;
pub mod engine;
pub mod flow;
pub mod generate;
pub mod live;
pub mod machine;
pub mod report;
pub mod time;
pub mod units;
