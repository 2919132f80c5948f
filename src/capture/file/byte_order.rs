//! The byte order in which a capture wrote its numbers.

/// Most significant byte first or last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    #[inline]
    pub fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Several 32-bit numbers, with one decision on the byte order for all of them.
    #[inline(always)]
    pub fn u32s<const COUNT: usize>(self, bytes: &[[u8; 4]; COUNT]) -> [u32; COUNT] {
        match self {
            ByteOrder::Little => std::array::from_fn(|n| u32::from_le_bytes(bytes[n])),
            ByteOrder::Big => std::array::from_fn(|n| u32::from_be_bytes(bytes[n])),
        }
    }

    /// The 16-bit number at `offset`, if `bytes` reaches that far.
    #[inline]
    pub fn u16_at(self, bytes: &[u8], offset: usize) -> Option<u16> {
        bytes.get(offset..)?.first_chunk().map(|chunk| self.u16(*chunk))
    }

    /// The 32-bit number at `offset`, if `bytes` reaches that far.
    #[inline]
    pub fn u32_at(self, bytes: &[u8], offset: usize) -> Option<u32> {
        bytes.get(offset..)?.first_chunk().map(|chunk| self.u32(*chunk))
    }
}
