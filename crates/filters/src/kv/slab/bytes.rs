//! The bytes of a slab: a [snapshot](crate::snapshot) with four sections.
//!
//! | section | content | checksum |
//! |---|---|---|
//! | `KBFP` | parameters | kept |
//! | `KBFS` | items, saturations | kept |
//! | `KBFC` | the table of clients | kept |
//! | `KBFX` | cells, in whole lines of 64 bytes | not kept |
//!
//! All but the last have a fixed length, so each begins at a fixed byte.

use super::SlabError;
use super::clients::ClientTable;
use crate::codes::CodeFamily;
use crate::kv::kbf::{self, Counts};
use crate::kv::parameters::RATES;
use crate::kv::saved::{decode_kbf, encode_kbf};
use crate::kv::{KbfParameters, KvError};
use crate::snapshot::in_place::{
    END_BYTES, FILE_HEADER_BYTES, SECTION_HEADER_BYTES, check_end, check_file_header, section,
    write_end, write_file_header, write_section_header,
};
use crate::snapshot::{COUNT_LIMIT, Encoder, SectionKind, SnapshotError};

/// The most bytes of a slab.
pub const SLAB_BYTES_MAX: usize = 4 << 20;

/// The most values of a slab: their codes take 16 MiB of the server's memory.
pub const SLAB_VALUES_MAX: u32 = (1 << 20) - 1;

const PARAMETERS: SectionKind = SectionKind(*b"KBFP");
const STATE: SectionKind = SectionKind(*b"KBFS");
const CLIENTS: SectionKind = SectionKind(*b"KBFC");
const CELLS: SectionKind = SectionKind(*b"KBFX");

const PARAMETERS_BYTES: usize = 5 * 4 + 2 + 16 + 2 * 8;
const STATE_BYTES: usize = 2 * 8;

const PARAMETERS_AT: usize = FILE_HEADER_BYTES;
const STATE_AT: usize = PARAMETERS_AT + SECTION_HEADER_BYTES + PARAMETERS_BYTES;
const CLIENTS_AT: usize = STATE_AT + SECTION_HEADER_BYTES + STATE_BYTES;
const CELLS_AT: usize = CLIENTS_AT + SECTION_HEADER_BYTES + ClientTable::BYTES;

/// Where the cells begin.
pub(super) const HEAD_BYTES: usize = CELLS_AT + SECTION_HEADER_BYTES;

/// What the header says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) parameters: KbfParameters,
    pub(super) counts: Counts,
    pub(super) cell_bytes: usize,
}

/// The bytes of a slab with these parameters, if such a slab is possible.
pub fn bytes_of(parameters: &KbfParameters) -> Result<usize, SlabError> {
    let values = parameters.values;
    if values > SLAB_VALUES_MAX {
        return Err(SlabError::TooManyValues { values, limit: SLAB_VALUES_MAX });
    }
    let cells = kbf::bytes_of(parameters)?;
    match HEAD_BYTES + cells + END_BYTES {
        bytes if bytes <= SLAB_BYTES_MAX => Ok(bytes),
        bytes => Err(SlabError::TooLarge { bytes: bytes as u64, limit: SLAB_BYTES_MAX }),
    }
}

/// CREATE: an empty slab.
pub fn create(parameters: &KbfParameters) -> Result<Vec<u8>, SlabError> {
    let cell_bytes = bytes_of(parameters)? - HEAD_BYTES - END_BYTES;
    let counts = Counts { pairs: 0, saturations: 0 };
    let mut slab = vec![0; HEAD_BYTES + cell_bytes + END_BYTES];
    write_all(&mut slab, parameters, counts, &ClientTable::EMPTY);
    check(&slab)?;
    Ok(slab)
}

/// Writes everything but the cells.
pub(super) fn write_all(
    slab: &mut [u8],
    parameters: &KbfParameters,
    counts: Counts,
    clients: &ClientTable,
) {
    let cell_bytes = slab.len() - HEAD_BYTES - END_BYTES;
    write_file_header(slab);
    let mut content = Encoder::default();
    encode_kbf(parameters, &mut content);
    write_section(slab, PARAMETERS_AT, PARAMETERS, &content);
    write_counts(slab, counts);
    write_clients(slab, clients);
    write_section_header(slab, CELLS_AT, CELLS, cell_bytes, false);
    write_end(slab, HEAD_BYTES + cell_bytes);
}

pub(super) fn write_counts(head: &mut [u8], counts: Counts) {
    let mut content = Encoder::default();
    // Not beyond what a header may say.
    content.u64(counts.pairs.min(COUNT_LIMIT - 1));
    content.u64(counts.saturations.min(COUNT_LIMIT - 1));
    write_section(head, STATE_AT, STATE, &content);
}

pub(super) fn write_clients(head: &mut [u8], clients: &ClientTable) {
    let mut content = Encoder::default();
    clients.encode(&mut content);
    write_section(head, CLIENTS_AT, CLIENTS, &content);
}

fn write_section(head: &mut [u8], at: usize, kind: SectionKind, content: &Encoder<'_>) {
    let content = content.parts().concat();
    head[at + SECTION_HEADER_BYTES..][..content.len()].copy_from_slice(&content);
    write_section_header(head, at, kind, content.len(), true);
}

/// Checks everything but the table of clients.
pub(super) fn check(slab: &[u8]) -> Result<Head, SlabError> {
    check_file_header(slab)?;
    let mut content = section(slab, PARAMETERS_AT, PARAMETERS, true)?;
    let parameters = decode_kbf(&mut content)?;
    content.finish()?;
    let needed = match bytes_of(&parameters) {
        Err(SlabError::Kv(KvError::Inconsistent)) => return Err(SlabError::Parameters),
        needed => needed?,
    };
    if !is_created_with(&parameters) {
        return Err(SlabError::Parameters);
    }
    let mut content = section(slab, STATE_AT, STATE, true)?;
    let pairs = content.count("the number of items")?;
    let counts = Counts { pairs, saturations: content.count("the number of saturations")? };
    content.finish()?;
    let cell_bytes = needed - HEAD_BYTES - END_BYTES;
    let mut content = section(slab, CELLS_AT, CELLS, false)?;
    content.bytes(cell_bytes as u64)?;
    content.finish()?;
    check_end(slab, HEAD_BYTES + cell_bytes)?;
    Ok(Head { parameters, counts, cell_bytes })
}

/// Checks and reads the table of clients.
pub(super) fn clients(head: &[u8]) -> Result<ClientTable, SnapshotError> {
    let mut content = section(head, CLIENTS_AT, CLIENTS, true)?;
    let table = ClientTable::decode(&mut content)?;
    content.finish()?;
    Ok(table)
}

/// Whether a slab can be created with these parameters.
fn is_created_with(parameters: &KbfParameters) -> bool {
    let KbfParameters { family, cell_bits, rate, capacity, .. } = *parameters;
    let is_known = matches!(
        (family, cell_bits),
        (CodeFamily::Greedy | CodeFamily::Algebraic { degree: 14 }, 32)
            | (CodeFamily::Algebraic { degree: 28 }, 64)
    );
    is_known && RATES.contains(&rate) && capacity > 0
}
