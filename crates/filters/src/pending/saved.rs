//! A pending table in a snapshot: its lines, its epoch and its counts.

use super::slots::Usage;
use super::{PendingStats, PendingTable, Population};
use crate::aging::Epoch;
use crate::line::{decode_lines, encode_lines};
use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};
use crate::spec::LINE_BYTES;

impl Persist for PendingTable {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        let PendingStats { inserted, admitted, retired, lost, slots: _, used: _ } = self.stats;
        for count in [inserted, admitted, retired, lost] {
            out.u64(count);
        }
        out.u32(self.epoch.0);
        encode_lines(&self.lines, out);
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.stats.inserted = input.count("the number of flows inserted")?;
        self.stats.admitted = input.count("the number of flows admitted")?;
        self.stats.retired = input.count("the number of flows retired")?;
        self.stats.lost = input.count("the number of flows lost")?;
        self.epoch = Epoch(input.u32()?);
        decode_lines(&mut self.lines, input)?;
        let end = input.offset();
        self.population = Population::default();
        let len = self.lines.len();
        for (n, line) in self.lines.iter_mut().enumerate() {
            let Some(usage) = Usage::checked(line, self.epoch) else {
                let (what, value) = ("the line of flows with number", n as u64);
                let offset = end - ((len - n) * LINE_BYTES) as u64;
                return Err(SnapshotError::Invalid { what, offset, value });
            };
            // A mark has few bits: a line that is stale must not seem to be used later.
            if usage.live == 0 {
                *line = [0; LINE_BYTES];
            }
            self.population.fresh += usage.fresh as u64;
            self.population.previous += (usage.live - usage.fresh) as u64;
        }
        Ok(())
    }
}
