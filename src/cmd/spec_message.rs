//! Errors of specifications in terms of the options that caused them.

use acsm_filters::{BHBF_CELL_BITS, HASHES_LIMIT, MEMORY_LIMIT_BYTES, Setting, SpecError};

use super::Usage;

/// A store that cannot be made as the options say. Wrong usage, in a message that names the option
/// and what would work.
pub fn usage(error: SpecError) -> Usage {
    Usage::new(anyhow::anyhow!(message(&error)))
}

/// What is wrong, which option says so, and what would work.
pub fn message(error: &SpecError) -> String {
    match *error {
        SpecError::NoFlows => "--flows 0: a store needs room for at least one flow".to_owned(),
        SpecError::FpRate { rate } => format!(
            "--fp-rate {rate:?}: it must be above 2^-32 (about 2.4e-10) and below 1, such as 0.01"
        ),
        SpecError::FingerprintRate { rate, least } => format!(
            "--fp-rate {rate:?}: fingerprints of 32 bits reach {least:.1e}; raise it to that"
        ),
        SpecError::Hashes { hashes } => {
            format!("--hashes {hashes}: it must be 1 to {HASHES_LIMIT}")
        }
        SpecError::HashesInLines { hashes, layout, most } => format!(
            "--hashes {hashes}: the lines of --layout {} have {most} cells for a flow at this width",
            layout.name()
        ),
        SpecError::Layout => {
            "no such layout; write spread, or blocked:1, blocked:2 or blocked:3 (lines per flow)"
                .to_owned()
        }
        SpecError::CellBits { bits, needed, states } => format!(
            "--cell-bits {bits}: a cell has 8, 16 or 32 bits, and {states} states need at least \
             {needed}"
        ),
        SpecError::BhbfCellBits { bits } => format!(
            "--cell-bits {bits}: bhbf has cells of {BHBF_CELL_BITS} bits, for a count and sums \
             modulo 4095; leave it out"
        ),
        SpecError::NotSupported { setting, backend } => format!(
            "{} does not apply to --backend {}: leave it out",
            option(setting),
            backend.name()
        ),
        SpecError::TooSmall { bytes, least } => {
            format!("--memory {bytes}B is too small: the least that works here is {least}B")
        }
        SpecError::TooLarge { bytes } => format!(
            "the store would take {:.1} GiB, the limit is {} GiB: {SMALLER}",
            bytes / (1u64 << 30) as f64,
            MEMORY_LIMIT_BYTES >> 30
        ),
        SpecError::TooManyCells { cells, limit } => {
            format!("the store would have {cells:.1e} cells, the limit is {limit:.1e}: {SMALLER}")
        }
        SpecError::RecycleAt => {
            "a store recycles at fill:S, with S between 0 and 1, or at flows:N, \
                                 such as fill:0.5 or flows:1M"
                .to_owned()
        }
        SpecError::NotRecycling { setting } => {
            let with = if setting == Setting::Retain { "recycle" } else { "recycle or two-phase" };
            format!("{} is for stores that recycle: add --expire {with}", option(setting))
        }
        SpecError::NeverEmptied => {
            "dbf without counters never forgets unless it ages or recycles: \
                                    use --expire timer"
                .to_owned()
        }
        SpecError::States { .. } => error.to_string(),
    }
}

const SMALLER: &str = "lower --flows or --memory, or raise --fp-rate";

/// The option of a setting.
const fn option(setting: Setting) -> &'static str {
    match setting {
        Setting::Hashes => "--hashes",
        Setting::CellBits => "--cell-bits",
        Setting::Layout => "--layout",
        Setting::Recycling => "--expire recycle or two-phase",
        Setting::RecycleAt => "--recycle-at",
        Setting::Retain => "--no-retain",
        Setting::Decode => "--decode",
        Setting::SbfRules => "--sbf-rules",
        Setting::Counters => "--no-counters",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::Backend;

    #[test]
    fn messages_name_the_option() {
        for (error, says) in [
            (SpecError::NoFlows, "--flows 0"),
            (SpecError::FpRate { rate: 2.0 }, "--fp-rate 2.0: it must be"),
            (SpecError::TooSmall { bytes: 10, least: 1024 }, "--memory 10B"),
            (SpecError::TooLarge { bytes: 1e12 }, "931.3 GiB, the limit is 64 GiB"),
            (
                SpecError::NotSupported { setting: Setting::Hashes, backend: Backend::Fcf },
                "--hashes does not apply to --backend fcf",
            ),
            (
                SpecError::NotRecycling { setting: Setting::Retain },
                "--no-retain is for stores that recycle: add --expire recycle",
            ),
        ] {
            assert!(message(&error).contains(says), "{}", message(&error));
        }
    }
}
