//! What can be planned: stores, layouts and ways to expire.
//!
//! This is the one place where `plan` meets `spec`. The names are those of `spec`, with what plans
//! know and runs do not have yet.

use crate::spec;

/// The structures that can keep flow state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// A hash table of full keys.
    Exact,
    /// Direct Bloom filter.
    Dbf,
    /// Stateful Bloom filter.
    Sbf,
    /// Key-value Bloom filter.
    Kbf,
    /// B_h-sequence Bloom filter with salted codes.
    Bhbf,
    /// Fingerprints and states in a cuckoo table.
    Fcf,
}

/// Where the cells of a flow lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayoutKind {
    /// Anywhere.
    Spread,
    /// Within so many cache lines.
    Blocked(u8),
}

/// How flows that went silent leave the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Expire {
    /// Never.
    None,
    /// Cells untouched for a phase are empty.
    Timer,
    /// The store is emptied when it is full.
    Recycle,
    /// An active and a frozen half.
    TwoPhase,
}

/// One structure, in one layout, with one way to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// Which structure.
    pub backend: Backend,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// How silent flows leave.
    pub expire: Expire,
}

impl Shape {
    /// Every combination that makes sense: layouts are for cells, and what is no filter forgets
    /// flow by flow or not at all.
    pub fn all() -> impl Iterator<Item = Shape> {
        Backend::ALL.into_iter().flat_map(|backend| {
            let cells = backend.has_cells();
            let layouts = LayoutKind::ALL
                .into_iter()
                .filter(move |layout| cells || *layout == LayoutKind::Spread);
            layouts.flat_map(move |layout| {
                let expires = Expire::ALL
                    .into_iter()
                    .filter(move |expire| cells || matches!(expire, Expire::None | Expire::Timer));
                expires.map(move |expire| Shape { backend, layout, expire })
            })
        })
    }

    /// The shape of a store as a run asks for it.
    pub fn of(spec: &spec::StoreSpec) -> Shape {
        Shape {
            backend: match spec.backend {
                spec::Backend::Exact => Backend::Exact,
                spec::Backend::Dbf => Backend::Dbf,
                spec::Backend::Sbf => Backend::Sbf,
                spec::Backend::Kbf => Backend::Kbf,
            },
            layout: match spec.layout {
                spec::LayoutKind::Spread => LayoutKind::Spread,
            },
            expire: match spec.expire {
                spec::Expire::None => Expire::None,
                spec::Expire::Timer => Expire::Timer,
            },
        }
    }

    /// In how many parts its memory is cut, of which one takes new flows.
    pub const fn halves(self) -> u64 {
        match self.expire {
            Expire::TwoPhase => 2,
            _ => 1,
        }
    }

    /// How many cells fit a line, stamps included.
    pub const fn cells_per_line(self, cell_bits: u32) -> u64 {
        let expire = match self.expire {
            Expire::Timer => spec::Expire::Timer,
            _ => spec::Expire::None,
        };
        spec::cells_per_line(cell_bits, expire) as u64
    }
}

impl Backend {
    /// All of them.
    pub const ALL: [Backend; 6] =
        [Backend::Exact, Backend::Dbf, Backend::Sbf, Backend::Kbf, Backend::Bhbf, Backend::Fcf];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Exact => "exact",
            Backend::Dbf => "dbf",
            Backend::Sbf => "sbf",
            Backend::Kbf => "kbf",
            Backend::Bhbf => "bhbf",
            Backend::Fcf => "fcf",
        }
    }

    /// Whether a flow has k cells in it.
    pub const fn has_cells(self) -> bool {
        !matches!(self, Backend::Exact | Backend::Fcf)
    }

    /// Bits of a cell without its stamp, for a machine of so many states.
    pub const fn cell_bits(self, states: usize) -> u32 {
        match self {
            Backend::Exact | Backend::Fcf => 0,
            Backend::Dbf => 2,
            Backend::Sbf => 8,
            Backend::Kbf if 3 + spec::kbf_code_bits(states) <= 8 => 8,
            Backend::Kbf | Backend::Bhbf => 16,
        }
    }
}

impl LayoutKind {
    /// Those that are planned, each near the one before.
    pub const ALL: [LayoutKind; 4] = [
        LayoutKind::Spread,
        LayoutKind::Blocked(3),
        LayoutKind::Blocked(2),
        LayoutKind::Blocked(1),
    ];

    /// Its name on the command line and in reports.
    pub fn name(self) -> String {
        match self {
            LayoutKind::Spread => "spread".to_owned(),
            LayoutKind::Blocked(lines) => format!("blocked:{lines}"),
        }
    }
}

impl Expire {
    /// All of them.
    pub const ALL: [Expire; 4] = [Expire::None, Expire::Timer, Expire::Recycle, Expire::TwoPhase];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Expire::None => "none",
            Expire::Timer => "timer",
            Expire::Recycle => "recycle",
            Expire::TwoPhase => "two-phase",
        }
    }
}
