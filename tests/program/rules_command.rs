//! `acsm rules` as its users see it: output, exit codes, error chains.

use crate::runner::{Folder, acsm, stderr, stdout};

#[test]
fn check_sums_up_a_good_file() {
    let output = acsm("rules check tcp-connection", &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("<tcp-connection>: 14 states, "));
    assert!(output.stderr.is_empty());
}

#[test]
fn check_reports_what_is_wrong_and_fails() {
    let folder = Folder::new();
    let path = folder.write("bad.toml", "flow_keys = [\"pair\"]\n[[stat]]\n");
    let output = acsm("rules check", &[&path]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.starts_with("acsm: the rules cannot be used: "), "{message}");
    assert!(message.contains("bad.toml:2: unknown key `stat`, expected one of"), "{message}");
    let output = acsm("rules check no/such.toml", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot read rules file `no/such.toml`: "));
}

#[test]
fn what_show_prints_can_be_checked() {
    let shown = acsm("rules show tcp-connection", &[]);
    assert_eq!(shown.status.code(), Some(0));
    let folder = Folder::new();
    let path = folder.write("mine.toml", &shown.stdout);
    assert_eq!(acsm("rules check", &[&path]).status.code(), Some(0));
    let listed = acsm("rules list", &[]);
    let listed = stdout(&listed);
    let names: Vec<&str> =
        listed.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let shipped = [
        "tcp-flags",
        "tcp-flags-delete",
        "tcp-connection",
        "marks",
        "suspicious-flags",
        "thresholds",
    ];
    assert_eq!(names, shipped);
    assert_eq!(acsm("rules show nothing", &[]).status.code(), Some(1));
}
