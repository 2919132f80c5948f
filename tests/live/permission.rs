//! Without the right to capture, an error says how to get it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::lab::Lab;
use crate::monitor::Monitor;

/// CAP_NET_RAW is number 13.
const ONLY_NET_RAW: &str = "0000000000002000";

#[test]
fn what_is_not_needed_is_given_up() {
    let Some(lab) = Lab::new() else { return };
    let monitor = Monitor::start(&lab, "");
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        assert_eq!(monitor.status(set), ONLY_NET_RAW, "{set}");
    }
    for set in ["CapInh", "CapAmb"] {
        assert_eq!(monitor.status(set), "0000000000000000", "{set}");
    }
    assert_eq!(monitor.status("NoNewPrivs"), "1");
}

/// Nobody's number on every Linux.
const NOBODY: u32 = 65534;

#[test]
fn who_may_not_capture_is_told_what_to_grant() {
    let folder = tempfile::tempdir().unwrap();
    let readable = |path: &std::path::Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    readable(folder.path());
    let acsm = folder.path().join("acsm");
    fs::copy(env!("CARGO_BIN_EXE_acsm"), &acsm).unwrap();
    readable(&acsm);
    let run = Command::new(&acsm).args(["live", "-i", "lo"]).uid(NOBODY).gid(NOBODY).output();
    let output = match run {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: cannot become nobody, so permissions were not tried: {error}");
            return;
        }
    };
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{talk}");
    let advice = format!("sudo setcap cap_net_raw+ep {}", acsm.display());
    assert!(talk.contains(&advice) && talk.contains("acsm.service"), "{talk}");
}
