//! The build without the feature `cluster`, which is the default: the command says how to build it.

use crate::runner::{acsm, stderr, stdout};

#[test]
fn the_command_says_how_to_build_it() {
    for line in ["cluster", "cluster --help", "cluster get --json -", "cluster init --pairs 5"] {
        let output = acsm(line, &[]);
        assert_eq!(output.status.code(), Some(1), "{line}");
        let message = stderr(&output);
        assert!(message.contains("cargo build --release --features cluster"), "{line}: {message}");
        assert_eq!(stdout(&output), "");
    }
}
