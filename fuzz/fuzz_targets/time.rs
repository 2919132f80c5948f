//! Whatever text is offered as a time: read or refused, never a panic; and what was read is told
//! again in a form that reads as the same moment.
#![no_main]

use acsm::time::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(moment) = text.parse::<Timestamp>() {
        assert_eq!(moment.to_string().parse(), Ok(moment), "{text:?}");
    }
});
