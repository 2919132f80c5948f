//! Without the right to capture, an error says how to get it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use crate::monitor::{Monitor, wait_until};
use crate::namespaces::NamespacePair;

/// CAP_NET_RAW is number 13.
const ONLY_NET_RAW: &str = "0000000000002000";

#[test]
fn what_is_not_needed_is_given_up() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, "");
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        assert_eq!(monitor.status(set), ONLY_NET_RAW, "{set}");
    }
    for set in ["CapInh", "CapAmb"] {
        assert_eq!(monitor.status(set), "0000000000000000", "{set}");
    }
    assert_eq!(monitor.status("NoNewPrivs"), "1");
}

/// Started as root, it can change to another user, who then owns the files it writes.
#[test]
fn it_becomes_another_user() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, "--user nobody --write seen.pcap --capture-threads 2");
    wait_until("it captures", || monitor.threads().contains(&"capture".to_owned()).then_some(()));
    let numbers = vec![NOBODY.to_string(); 4].join("\t");
    for (name, wanted) in [
        ("Uid", numbers.as_str()),
        ("Gid", &numbers),
        ("Groups", ""),
        ("CapPrm", ONLY_NET_RAW),
        ("CapEff", ONLY_NET_RAW),
        ("CapBnd", ONLY_NET_RAW),
        ("CapInh", "0000000000000000"),
        ("NoNewPrivs", "1"),
    ] {
        let of_threads = monitor.statuses(name);
        assert!(of_threads.len() > 2 && of_threads.iter().all(|it| it == wanted), "{of_threads:?}");
    }
    for file in ["eve.json", "seen.pcap"] {
        assert_eq!(fs::metadata(monitor.path(file)).unwrap().uid(), NOBODY, "{file}");
    }
    fs::rename(monitor.path("eve.json"), monitor.path("eve.json.1")).unwrap();
    monitor.signal("USR1");
    wait_until("the file is there again", || monitor.path("eve.json").exists().then_some(()));
    // And CAP_NET_RAW was kept: the cable is opened again.
    net.remove_link();
    net.add_link();
    std::thread::sleep(Duration::from_secs(3));
    let output = monitor.end();
    assert_eq!(output.count("/interfaces/0/losses_of_link"), 1, "{}", output.stderr);
    assert_eq!(output.summary["interfaces"][0]["is_open"], true, "{}", output.stderr);
}

#[test]
fn a_user_that_is_not_there_is_named() {
    let Some(net) = NamespacePair::new() else { return };
    let mut acsm = net.command(env!("CARGO_BIN_EXE_acsm"));
    let output = acsm.args(["live", "-i", "cable0", "--user", "nonesuch"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("--user nonesuch: there is no such user"), "{messages}");
}

/// Root may write there, the new user may not.
#[test]
fn a_file_that_the_user_may_not_write_is_named_with_the_user() {
    let Some(net) = NamespacePair::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    for option in ["--alerts", "--write"] {
        let mut acsm = net.command(env!("CARGO_BIN_EXE_acsm"));
        acsm.args(["live", "-i", "cable0", "--user", "nobody", option]);
        let output = acsm.arg(folder.path().join("file")).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(messages.contains(&format!("as --user nobody: {option} /")), "{messages}");
    }
}

/// The id of the user `nobody` on every Linux.
const NOBODY: u32 = 65534;

#[test]
fn without_permission_the_error_names_what_to_grant() {
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
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{messages}");
    let advice = format!("sudo setcap cap_net_raw+ep {}", acsm.display());
    assert!(messages.contains(&advice) && messages.contains("acsm.service"), "{messages}");
}
