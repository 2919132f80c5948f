//! A filter of cells in a snapshot.

use super::{CellFilter, CellRule};
use crate::line::LineArray;
use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};

/// Rule and layout follow from the specification.
impl<R: CellRule, const BITS: u32, const AGING: u8, L: LineArray> Persist
    for CellFilter<R, BITS, AGING, L>
{
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        self.counts.encode(out);
        self.cells.encode(out);
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.counts.decode(input)?;
        self.cells.decode(input)
    }
}
