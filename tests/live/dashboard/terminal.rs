//! The real program on a real terminal, with real traffic.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::tmux::Tmux;
use crate::namespaces::{CABLE, NamespacePair};

const ACSM: &str = env!("CARGO_BIN_EXE_acsm");

/// Types the command that starts acsm in that terminal; its exit code will be shown.
fn start(tmux: &Tmux, options: &str) {
    tmux.line(&format!("{ACSM} live -i {CABLE} {options}; echo \"ended: $?\""));
}

/// The same, and waits for the dashboard. Returns the process id.
fn start_dashboard(tmux: &Tmux, folder: &Path, options: &str) -> u32 {
    start_numbered(tmux, folder, options);
    tmux.wait_for("figures", |screen| screen.contains("packets/s") && screen.contains("up "));
    assert!(tmux.is_on_other_screen());
    number(folder)
}

/// The same without a dashboard.
fn start_lines(tmux: &Tmux, folder: &Path, options: &str) -> u32 {
    start_numbered(tmux, folder, &format!("{options} --plain --listen"));
    tmux.wait_for("a word", |screen| screen.contains("acsm: listening on"));
    // Signals are handled a little later.
    sleep(Duration::from_secs(1));
    number(folder)
}

fn start_numbered(tmux: &Tmux, folder: &Path, options: &str) {
    let file = folder.join("pid");
    let started = format!("echo $$ > {}; exec {ACSM} live -i {CABLE} {options}", file.display());
    tmux.line(&format!("clear; sh -c '{started}'; echo \"ended: $?\""));
}

fn number(folder: &Path) -> u32 {
    std::fs::read_to_string(folder.join("pid")).unwrap().trim().parse().unwrap()
}

/// The terminal is as it was: the shell's own screen, and what is typed is seen and edited by it.
fn assert_given_back(tmux: &Tmux) {
    assert!(!tmux.is_on_other_screen());
    tmux.line("clear; stty -a | tr ' ' '\\n' | grep -xE 'icanon|echo|isig' | sort | tr '\\n' ' '");
    tmux.wait_for("an orderly terminal", |screen| screen.contains("echo icanon isig"));
}

fn has_line(screen: &str, start: &str) -> bool {
    screen.lines().any(|line| line.starts_with(start))
}

fn namespaces_and_terminal() -> Option<(NamespacePair, Tmux, tempfile::TempDir)> {
    let net = NamespacePair::new()?;
    let tmux = Tmux::new(&net)?;
    Some((net, tmux, tempfile::tempdir().unwrap()))
}

#[test]
fn figures_and_alerts_appear_and_keys_work() {
    let Some((net, tmux, folder)) = namespaces_and_terminal() else { return };
    let eve = folder.path().join("eve.json");
    let options = format!("--backend exact --pending none --alerts {}", eve.display());
    start_dashboard(&tmux, folder.path(), &options);
    net.scan(1..41);
    let screen = tmux.wait_for("the scan", |screen| {
        screen.contains("port_scan 10.99.0.1:") && screen.contains("inserted   40,")
    });
    for part in ["cable0", "Alerts  1 in all", "0 (none)", "estimates, by packets"] {
        assert!(screen.contains(part), "no {part} in\n{screen}");
    }
    let styled = tmux.styled_screen();
    assert!(styled.contains("\x1b[38;5;3mport_scan"), "severity 2 is yellow: {styled:?}");

    tmux.press(&["/", "n", "o", "p", "e"]);
    tmux.wait_for("no match", |screen| screen.contains("/nope") && screen.contains("None match."));
    tmux.press(&["Escape"]);
    tmux.wait_for("all again", |screen| screen.contains("port_scan"));
    tmux.press(&["/", "P", "O", "R", "T", "Enter"]);
    tmux.wait_for("a match", |screen| screen.contains("/PORT") && screen.contains("port_scan"));

    tmux.press(&["p"]);
    let paused = tmux.wait_for("the pause", |screen| screen.contains("PAUSED"));
    net.scan(41..51);
    // Two views later the screen is unchanged.
    sleep(Duration::from_millis(2200));
    assert_eq!(tmux.screen(), paused);
    tmux.press(&["Space"]);
    tmux.wait_for("what came meanwhile", |screen| screen.contains("inserted   50,"));

    tmux.resize(130, 40);
    tmux.wait_for("a larger screen", |screen| screen.lines().next().unwrap().len() > 120);
    tmux.resize(50, 10);
    tmux.wait_for("a small one", |screen| screen.contains("too small"));
    tmux.resize(80, 24);
    tmux.press(&["?"]);
    tmux.wait_for("help", |screen| screen.contains("quit: the summary follows"));

    tmux.press(&["x"]);
    tmux.press(&["q"]);
    let end = tmux.wait_for("the summary", |screen| screen.contains("ended: 0"));
    assert!(has_line(&end, "INCIDENTS  1") && has_line(&end, "  1  2  port_scan"), "{end}");
    assert!(std::fs::read_to_string(eve).unwrap().contains("port_scan"));
    assert_given_back(&tmux);
}

#[test]
fn signals_end_it_and_messages_do_not_garble_it() {
    let Some((_net, tmux, folder)) = namespaces_and_terminal() else { return };
    tmux.line("export NO_COLOR=1");
    let pid = start_dashboard(&tmux, folder.path(), "").to_string();
    let kill = |signal: &str| {
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    };
    let styled = tmux.styled_screen();
    let colours = ["\x1b[3", "\x1b[4", "\x1b[9"].map(|start| styled.matches(start).count());
    // Only what turns colours off: 39 and 49.
    let neutral = ["\x1b[39", "\x1b[49", "\x1b[9"].map(|start| styled.matches(start).count());
    assert_eq!(colours, neutral, "{styled:?}");

    kill("HUP");
    let screen = tmux.wait_for("the message", |screen| screen.contains("rules read again"));
    assert!(has_line(&screen, " ! rules read again"), "{screen}");
    assert!(has_line(&screen, " q quit"), "{screen}");

    // The second signal must not leave the terminal in raw mode.
    kill("TERM");
    kill("TERM");
    tmux.wait_for("the end", |screen| screen.contains("ended: 0"));
    tmux.resize(80, 60);
    let end = tmux.screen();
    assert!(has_line(&end, "acsm: rules read again") && has_line(&end, "Capture"), "{end}");
    assert_given_back(&tmux);
}

#[test]
fn ctrl_c_pressed_twice_counts_once() {
    let Some((_net, tmux, folder)) = namespaces_and_terminal() else { return };
    start_dashboard(&tmux, folder.path(), "");
    // The first is a key of the dashboard; the second arrives as a signal, after the terminal was restored.
    tmux.press(&["C-c"]);
    tmux.wait_for_own_screen();
    tmux.press(&["C-c"]);
    let end = tmux.wait_for("the end", |screen| screen.contains("ended: "));
    assert!(end.contains("ended: 0") && has_line(&end, "STORE"), "{end}");
    assert_given_back(&tmux);
}

#[test]
fn whoever_hangs_up_has_seen_enough() {
    for start in [start_dashboard, start_lines] {
        let Some((_net, tmux, folder)) = namespaces_and_terminal() else { return };
        let pid = start(&tmux, folder.path(), "");
        let process = PathBuf::from(format!("/proc/{pid}"));
        assert!(process.exists());
        tmux.hang_up();
        let started = Instant::now();
        while process.exists() {
            assert!(started.elapsed() < Duration::from_secs(30), "it goes on without a terminal");
            sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn whoever_wants_lines_gets_lines() {
    let Some((net, tmux, _folder)) = namespaces_and_terminal() else { return };
    tmux.line("clear; export TERM=dumb");
    start(&tmux, "--duration 3s");
    sleep(Duration::from_secs(1));
    net.scan(1..41);
    tmux.wait_for("a line", |screen| screen.contains("[2] port_scan 10.99.0.1:"));
    assert!(!tmux.is_on_other_screen());
    tmux.wait_for("the end", |screen| screen.contains("ended: 0"));

    tmux.line("clear; export TERM=screen");
    for options in ["--plain", "--json"] {
        start(&tmux, &format!("{options} --duration 1s"));
        let end = tmux.wait_for("the end", |screen| screen.contains("ended: 0"));
        assert!(!end.contains("packets/s  "), "{options}: {end}");
        tmux.line("clear");
        tmux.wait_for("a clean screen", |screen| !screen.contains("ended: "));
    }
}
