//! # acsm: TCP flow state in small, fixed memory
//!
//! ```text
//! PacketSource → parse → dispatch → batch → [ shard: lookup → step → write → age ] × 16 → merge → limits → incidents → Sink
//! ```
//!
//! Sources, stores and sinks are chosen per run; the rest is fixed. Packets keep the order of the capture
//! within a flow and in everything that is shown; shards work on a batch in any order. Nothing flows back
//! but the pressure of bounded queues.
//!
//! | layer | where | what |
//! |---|---|---|
//! | crates | [`acsm_filters`] | `crates/filters`: `Store` and its structures (exact, dbf, sbf, kbf, bhbf, fcf), aging, sizing, keyed digests, key-value stores, snapshots |
//! | | [`acsm_model`] | `crates/model`: closed forms for the errors of the structures |
//! | A vocabulary | [`time`] | nanoseconds, from packets |
//! | | [`units`] | numbers as people write them |
//! | | [`seed`] | the seed of a run |
//! | | [`atomic_file`] | files replaced as a whole, or not at all |
//! | | [`flow`] | `Packet`, `TcpFlags`; `FlowKey`, and `FlowId`, its keyed digest |
//! | B rules | [`machine`] | what a packet means for its flow; rules files |
//! | C pipeline | [`capture`] | `PacketSource`, `Frame`; file readers, network interfaces; parsing to TCP; writing pcap |
//! | | [`engine`] | one run: dispatcher, worker pool, shards, exact shadow, thresholds, alerts in order, incidents; many runs compared; plans |
//! | D outputs | [`report`] | what people and programs read: summaries, EVE lines, reports |
//! | | [`generate`] | a seeded generator of labelled traces |
//! | | [`reproduce`] | the experiments of the papers |
//! | E live | [`live`] | a live run while it is running: monitor, dashboard, metrics, web page |
//! | | [`cluster`](cmd) | key-value filters in a Redis or Valkey Cluster (feature `cluster`) |
//! | F commands | [`cmd`] | one file or folder per command |
//!
//! Imports go upward only: A ← B ← C ← D ← E ← F, and never in a circle within a folder; `tests/repository/tidy`
//! checks both. The crates know nothing of the program, nor of each other: theory is independent evidence.
//! Stores and machines do not know each other: the loop in [`engine::shard`] joins them.
//!
//! `CONTRIBUTING.md` lists the files to touch for a new store, link type, rule, output, metric or command.
//!
//! # Following a packet
//!
//! `acsm replay --preset paper --backend kbf --alerts f x.pcap`, from the record in the file to the line of EVE JSON, start-up
//! and thresholds aside: 22 files, in the order in which the packet meets them.
//!
//! 1. `src/engine/dispatch.rs`: fills the batch in groups of 16 packets
//! 2. `src/capture/file/source.rs`: the current input, with its time window and filter
//! 3. `src/capture/file/pcap.rs`: finds the record in the block of bytes that was read
//! 4. `src/capture/parse/parser.rs`: finds the TCP header, fills a slot of the batch, counts
//! 5. `src/flow/key.rs`: the flows of a group of packets
//! 6. `crates/filters/src/digest.rs`: their keyed digests
//! 7. `src/engine/batch.rs`: its event, among those of its shard
//! 8. `src/engine/pool.rs`: the thread that owns the shard takes the batch
//! 9. `src/engine/shard_loop.rs`: the loop: look up, step, write, sweep
//! 10. `src/engine/lookup_cache.rs`: knows the answer if the flow was seen just before
//! 11. `crates/filters/src/cell_filter.rs`: what filters of shared cells have in common
//! 12. `crates/filters/src/layout.rs`: which cells the flow has
//! 13. `crates/filters/src/cells.rs`: the cells of the flow in a line
//! 14. `crates/filters/src/cell_line.rs`: the values of a line's cells, and which of them count
//! 15. `crates/filters/src/line.rs`: the line of 64 bytes, with its stamps or halves
//! 16. `crates/filters/src/aging.rs`: which stamps and halves are alive
//! 17. `crates/filters/src/kbf.rs`: from the values to the state, and back
//! 18. `src/machine/table.rs`: what the packet means in that state
//! 19. `src/engine/alerts/merge.rs`: alerts of all shards in packet order
//! 20. `src/engine/alerts/limits.rs`: whether it is shown
//! 21. `src/report/alert/output.rs`: the sink: writes whole lines
//! 22. `src/report/alert/eve.rs`: its line
//!
//! `src/engine/run.rs` and `src/engine/stages.rs` run once per batch, `src/capture/file/buffer.rs` once per block of bytes.
//! Small types and helpers are in six more: `src/time.rs`, `src/flow/mod.rs`, `src/machine/rule.rs`,
//! `src/engine/stats.rs`, `crates/filters/src/memory.rs`, `crates/filters/src/state.rs`.
//!
//! With a pending table (preset `operator`), packets of flows that are not in the store also run through
//! `src/engine/shard_pending.rs`, `src/engine/admission.rs` and `crates/filters/src/pending/`; those of sampled flows
//! through `src/engine/sample/`.
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
//!   fast it runs. All randomness comes from a seed. The result does not depend on the number of
//!   workers.
//! - No input causes a panic, and no file and no peer determines how much memory is used, except where exact
//!   answers are requested: `inspect`, `exact` without `--memory`, `--verify`, `compare` and `plan --trace`
//!   grow with the number of flows.
//! - A packet that raises no alert causes no allocation, lock, formatting or dynamic call of its own: a source is
//!   called once per group of packets, a [`Shard`](engine::shard::Shard) once per batch, and everything below it is
//!   generic in the store.
//! - One loop drives flows ([`engine::shard`]): `replay`, `live`, `--verify`, `compare` and `plan --trace` run it.
//! - Threads pass data through bounded queues: workers, those that count for `inspect`, and threads that decompress
//!   or capture. The two
//!   that only display a live run, its dashboard and its HTTP server, read a
//!   [`live::SharedSnapshot`]: the capture never waits for either, and neither can change anything
//!   except end the run.
//! - `unsafe` is denied, except in the few files that ask the processor, the kernel or the allocator for
//!   what no safe function provides; each use has its SAFETY comment.
//! - Each layer has its own small error type: its message is about its own layer, the cause is in
//!   `source()`. Names of options and advice are added by [`cmd`].
//!
//! # What is deliberately absent
//!
//! - **Reassembly and payloads.** Only flags, addresses, ports and lengths are looked at, and the sum of
//!   sequence and acknowledgement number.
//! - **Memory maps.** A file that shrinks under one kills the process; block reads also serve pipes.
//! - **A registry of plug-ins.** Stores, link types and commands are visible `match`es.
//! - **Reordering.** Packets are taken in the order of the file; time that runs backwards is held at
//!   the latest seen.
//! - **TLS, and an async runtime.** The HTTP server shows one run to few readers: one thread and
//!   `poll`; a reverse proxy provides the rest.
//! - **Listing what a filter holds.** It cannot: figures that are estimates say so.

pub mod atomic_file;
pub mod capture;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod cmd;
pub mod engine;
pub mod flow;
pub mod generate;
pub mod live;
pub mod machine;
pub mod report;
pub mod reproduce;
pub mod seed;
pub mod time;
pub mod units;
