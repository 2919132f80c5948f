//! Any text as a time: accepted or refused, never a panic; and an accepted time is displayed in a
//! form that parses as the same moment.
#![no_main]

use acsm::time::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(moment) = text.parse::<Timestamp>() {
        assert_eq!(moment.to_string().parse(), Ok(moment), "{text:?}");
    }
});
