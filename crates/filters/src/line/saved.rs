//! Lines in a snapshot.

use super::{Line, LineArray, LineTable, Usage};
use crate::aging::Epoch;
use crate::snapshot::{Decoder, Encoder, SnapshotError};

/// Writes lines, and how many there are.
pub(crate) fn encode_lines<'a>(lines: &'a [Line], out: &mut Encoder<'a>) {
    out.u64(lines.len() as u64);
    out.borrowed_bytes(lines.as_flattened());
}

/// Replaces lines by as many others.
pub(crate) fn decode_lines(
    lines: &mut [Line],
    input: &mut Decoder<'_>,
) -> Result<(), SnapshotError> {
    let len = lines.len() as u64;
    input.checked("the number of lines", Decoder::u64, |&saved| saved == len)?;
    let bytes = lines.as_flattened_mut();
    bytes.copy_from_slice(input.bytes(bytes.len() as u64)?);
    Ok(())
}

impl<L: LineArray> LineTable<L> {
    /// Writes the lines and what is known of them, but for what they tell themselves: how many fields
    /// are in use.
    pub(crate) fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        let Usage { aged, copies, epoch, occupied: _, frozen: _ } = self.usage;
        out.u64(aged);
        out.u64(copies);
        out.u32(epoch.0);
        out.u64(self.swept_lines as u64);
        out.u32(self.swept_epoch.0);
        encode_lines(&self.lines, out);
    }

    /// Replaces all that by what was written. `count` counts the fields in use, in the epoch of their
    /// counts.
    pub(crate) fn decode(
        &mut self,
        input: &mut Decoder<'_>,
        count: impl FnOnce(&[Line], Epoch) -> Usage,
    ) -> Result<(), SnapshotError> {
        let aged = input.count("the number of fields cleared")?;
        let copies = input.count("the number of flows in both halves")?;
        let epoch = Epoch(input.u32()?);
        let len = self.lines.len() as u64;
        let swept = input.checked("the number of lines swept", Decoder::u64, |&n| n <= len)?;
        self.swept_lines = swept as usize;
        self.swept_epoch = Epoch(input.u32()?);
        decode_lines(&mut self.lines, input)?;
        self.usage = Usage { aged, copies, epoch, ..count(&self.lines, epoch) };
        Ok(())
    }
}
