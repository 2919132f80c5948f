//! Every way a rules file can be wrong, and the small things that are right.

use std::fs;

use acsm::flow::{Direction, FlowKeyKind, TcpFlags};
use acsm::machine::{Next, Rules, RulesError};
use acsm_filters::{Lookup, State};
use tempfile::TempDir;

/// A machine of one state, to which tests add what they are about.
const BASE: &str = r#"flow_keys = ["connection"]
[[state]]
name = "seen"
doc = "something came"
[[transition]]
in = ["absent"]
go = "seen"
"#;

/// A rule that a test can name, on lines of its own.
const RULE: &str = r#"[[rule]]
name = "odd"
sid = 9
severity = 3
category = "misc-activity"
kind = "flag"
message = "odd"
"#;

fn load_files(files: &[(&str, &str)]) -> Result<Rules, RulesError> {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().join(files[0].0);
    Rules::load(path.to_str().unwrap())
}

fn load(text: &str) -> Result<Rules, RulesError> {
    load_files(&[("test.toml", text)])
}

/// That `text` is refused with `message`, after the folder's name.
#[track_caller]
fn refused(text: &str, message: &str) {
    let error = load(text).expect_err(message).to_string();
    let told = error.split_once("test.toml").map_or(error.as_str(), |(_, told)| told);
    assert_eq!(told, message);
}

/// That `BASE` with `more` is refused with `message`; `more` starts at line 8.
#[track_caller]
fn base_refused(more: &str, message: &str) {
    refused(&format!("{BASE}{more}"), message);
}

#[test]
fn what_ships_loads_without_a_warning() {
    for name in ["tcp-flags", "tcp-flags-delete", "tcp-connection"] {
        let rules = Rules::load(name).unwrap();
        assert_eq!(rules.warnings, [], "{name}");
        assert_eq!(rules.thresholds.len(), 25, "{name}");
    }
    assert_eq!(Rules::load("tcp-flags").unwrap().machine.states().len(), 6);
    assert_eq!(Rules::load("tcp-connection").unwrap().machine.states().len(), 14);
}

#[test]
fn files_that_are_no_rules_files() {
    let error = Rules::load("./no-such-file.toml").unwrap_err();
    assert_eq!(error.to_string(), "cannot read rules file `./no-such-file.toml`");
    assert!(std::error::Error::source(&error).is_some(), "the cause is told too");
    assert_eq!(
        Rules::load("tcp").unwrap_err().to_string(),
        "no rules file `tcp` comes with acsm, only `tcp-flags`, `tcp-flags-delete`, \
         `tcp-connection`, `marks`, `suspicious-flags` or `thresholds`; for a file of your own write its path, as in \
         `./tcp.toml`"
    );
    refused("", ": empty: a rules file has states, transitions and rules");
    refused(" \n# nothing\n", ": empty: a rules file has states, transitions and rules");
    refused("about = \"x\"", ": no states; a machine has at least one `[[state]]`");
    refused(&"#".repeat((1 << 20) + 1), ": longer than 1 MiB, so hardly a rules file");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("latin1.toml");
    fs::write(&path, b"about = \"\xe4\"").unwrap();
    let error = Rules::load(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("latin1.toml: not UTF-8 text, so no rules file"), "{error}");
}

#[test]
fn keys_and_values_of_the_wrong_kind() {
    base_refused(
        "[[stat]]\nname = \"x\"",
        ":8: unknown key `stat`, expected one of `about`, `flow_keys`, `include`, `hygiene`, \
         `groups`, `state`, `transition`, `otherwise`, `resume`, `rule`, `set`",
    );
    base_refused(
        "[[state]]\nname = \"x\"\ndoc = \"x\"\nhalfopen = true",
        ":11: unknown key `halfopen`, expected one of `name`, `doc`, `half_open`, `lingering`, \
         `one_way`, `end`",
    );
    base_refused("[[state]]\nname = \"x\"", ":8: missing key `doc`");
    base_refused(
        "[[transition]]\nin = \"absent\"",
        ":9: invalid type: string \"absent\", expected a list",
    );
    base_refused("[[transition]\nin = []", ":8: unclosed array table, expected `]`");
    let category = RULE.replace("misc-activity", "misc");
    base_refused(
        &category,
        ":12: unknown word `misc`, expected one of `not-suspicious`, `attempted-recon`, \
         `network-scan`, `attempted-dos`, `protocol-command-decode`, `bad-unknown`, \
         `misc-activity`",
    );
    base_refused(
        &RULE.replace("\"flag\"", "\"flags\""),
        ":13: unknown word `flags`, expected one of `mark`, `flag`, `no_session`, `session`, \
         `threshold`",
    );
}

#[test]
fn states_that_cannot_be() {
    let state =
        |name: &str, more: &str| format!("[[state]]\nname = \"{name}\"\ndoc = \"x\"\n{more}\n");
    let fifteen: String = (0..15).map(|n| state(&format!("s{n}"), "")).collect();
    let sixteen = load(&format!("{BASE}{fifteen}")).unwrap();
    assert_eq!(sixteen.machine.states().len(), 16);
    base_refused(
        &format!("{fifteen}{}", state("last", "")),
        ":69: state `last` is one too many: a machine has at most 16 states, and one with an \
         `end` counts twice",
    );
    let seven: String = (0..7).map(|n| state(&format!("s{n}"), "end = \"a\"")).collect();
    base_refused(
        &format!("{seven}{}", state("last", "end = \"a\"")),
        ":37: state `last` is one too many: a machine has at most 16 states, and one with an \
         `end` counts twice",
    );
    for name in ["seen", "any", "absent", "next", ""] {
        base_refused(
            &state(name, ""),
            &format!(":9: state `{name}` has the name of another state or a reserved word"),
        );
    }
    base_refused(
        "[groups]\nseen = [\"absent\"]",
        ":9: group `seen` has the name of a state or a reserved word",
    );
}

#[test]
fn rows_that_cannot_be() {
    let row = |more: &str| format!("[[transition]]\nin = [\"seen\"]\n{more}\n");
    base_refused(
        "[[transition]]\nin = [\"sen\"]",
        ":9: unknown state `sen`, expected `seen`, `absent`, `present` or `any`",
    );
    base_refused("[[transition]]\nin = []", ":8: `in` names no state, so the row never matches");
    base_refused(&row("go = \"sen\""), ":10: unknown state `sen`, expected `seen` or `next`");
    base_refused(&row("go = \"seen\"\ndelete = true"), ":10: a row can `go` or `delete`, not both");
    base_refused(
        &row("set = \"SIN\""),
        ":10: unknown flag `SIN`, expected `FIN`, `SYN`, `RST`, `PSH`, `ACK`, `URG`, `ECE`, `CWR` \
         or `data`, joined by `+`, or `none`",
    );
    base_refused(
        &row("set = \"SYN+ACK\"\nclear = \"ACK\""),
        ":10: a flag cannot be both set and clear",
    );
    for more in ["exact = \"ACK+data\"", "exact = \"ACK\"\nset = \"SYN\""] {
        base_refused(
            &row(more),
            ":10: `exact` fixes all eight flags: `set` and `clear` can then only say `data`",
        );
    }
    base_refused(&row("alert = [\"odd\"]"), ":10: unknown rule `odd`, expected nothing");
    base_refused(
        &format!("{}{RULE}", row("alert = [\"od\"]")),
        ":10: unknown rule `od`, expected `odd`",
    );
}

#[test]
fn resumptions_that_cannot_be() {
    let resume = |r#in: &str, go: &str| format!("[resume]\nin = [\"{in}\"]\ngo = \"{go}\"\n");
    base_refused(
        &resume("sen", "seen"),
        ":9: unknown state `sen`, expected `seen`, `absent`, `present` or `any`",
    );
    base_refused(&resume("seen", "sen"), ":10: unknown state `sen`, expected `seen`");
    base_refused(&resume("seen", "seen"), ":8: only a flow in a `lingering` state can be resumed");
    let over = "[[state]]\nname = \"over\"\ndoc = \"x\"\nend = \"closer\"\nlingering = true\n";
    base_refused(
        &format!("{over}{}", resume("over", "over")),
        ":15: state `over` remembers an end, and both ends go on",
    );
}

#[test]
fn ends_that_cannot_be() {
    let with_end = |more: &str| {
        format!(
            "[[state]]\nname = \"asked\"\ndoc = \"x\"\nend = \"opener\"\n[[transition]]\n{more}\n"
        )
    };
    base_refused(
        &with_end("in = [\"absent\"]\ngo = \"asked\""),
        ":14: state `asked` remembers an end: say `end = \"sender\"` or `end = \"receiver\"`",
    );
    base_refused(
        &with_end("in = [\"absent\"]\ngo = \"asked\"\nend = \"opener\""),
        ":15: unknown end `opener`, expected `sender` or `receiver`",
    );
    base_refused(
        &with_end("in = [\"absent\"]\ngo = \"seen\"\nend = \"sender\""),
        ":15: state `seen` remembers no end, so leave `end` out",
    );
    base_refused(
        &with_end("in = [\"absent\"]\nend = \"sender\""),
        ":14: `end` says which end `go` remembers; there is none",
    );
    base_refused(
        &with_end("in = [\"asked\"]\nfrom = \"closer\""),
        ":14: `closer` is no end of state `asked`, expected `opener` or `other`",
    );
    for place in ["absent", "seen"] {
        base_refused(
            &with_end(&format!("in = [\"asked\", \"{place}\"]\nfrom = \"opener\"")),
            &format!(":14: `from` needs states with an `end`, and `{place}` has none"),
        );
    }
}

#[test]
fn rules_that_cannot_be() {
    let change = |from: &str, to: &str| RULE.replace(from, to);
    base_refused(
        &change("name = \"odd\"", "name = \"Odd one\""),
        ":9: `Odd one` is no rule name; use a–z, 0–9 and _",
    );
    base_refused(&change("9", "0"), ":10: `sid` is 0, expected 1 to 4294967295");
    base_refused(
        &change("severity = 3", "severity = 5"),
        ":11: `severity` (1 is gravest) is 5, expected 1 to 4",
    );
    base_refused(
        &change("\"flag\"", "\"threshold\""),
        ":13: a rule of kind `threshold` needs `threshold = { … }`",
    );
    let ten_second = "threshold = { count = 1, of = \"fins\", per = \"pair\", window = \"10s\" }\n";
    base_refused(
        &format!("{RULE}{ten_second}"),
        ":15: a rule of kind `flag` counts `odd_flag_targets`, and no other does",
    );
    let of_prefix = ten_second.replace("\"pair\"", "\"prefix\"");
    let thresholds = change("\"flag\"", "\"threshold\"") + &of_prefix;
    base_refused(&thresholds, ":15: `fins` are counted per no `prefix`");
    let threshold =
        |from: &str, to: &str| change("\"flag\"", "\"threshold\"") + &ten_second.replace(from, to);
    assert_eq!(load(&format!("{BASE}{}", threshold("", ""))).unwrap().thresholds.len(), 1);
    base_refused(
        &threshold("fins", "finns"),
        ":15: unknown word for `of`, `finns`, expected `half_open`, `unanswered_ports`, \
         `destinations`, `resets`, `fins`, `unsolicited_synacks`, `unsolicited_synack_hosts`, \
         `incomplete_syns`, `refused_syns`, `empty_connections`, `connections`, `repeated_syns`, \
         `stray_acks`, `odd_flags` or `odd_flag_targets`",
    );
    base_refused(
        &threshold("\"pair\"", "\"flow\""),
        ":15: unknown word for `per`, `flow`, expected `source`, `destination`, `pair`, \
         `source_and_port`, `pair_and_port`, `source_service`, `service`, `prefix`, `wide_prefix` \
         or `5-tuple`",
    );
    base_refused(
        &threshold("10s", "ten"),
        ":15: `ten` is not a length of time; write 250ms, 60s, 5m or 1h",
    );
    base_refused(&threshold("10s", "0s"), ":15: a window is longer than nothing");
    base_refused(&threshold("10s", "25h"), ":15: longer than a day (24h)");
    base_refused(
        &threshold("count = 1", "count = 0"),
        ":15: `count` is 0, expected 1 to 4294967295",
    );
    base_refused(
        &format!("{}when = {{ set = \"SYN\" }}", threshold("", "")),
        ":16: a threshold has no `when`: it says what it counts",
    );
    base_refused(&format!("{RULE}{RULE}"), ":16: there is a rule `odd` already");
    let other = change("odd", "even");
    base_refused(&format!("{RULE}{other}"), ":17: signature id 9 is that of rule `odd`");
    let many: String = (0..65)
        .map(|n| change("odd", &format!("r{n}")).replace("sid = 9", &format!("sid = {}", n + 1)))
        .collect();
    base_refused(&many, ":457: more than 64 rules");
}

#[test]
fn hygiene_is_read_and_checked() {
    let text = format!(
        "{BASE}[hygiene]\nhome_networks = [\"10.0.0.0/8\"]\ncooldown = \"5s\"\n\
         alerts_per_second = 7\n{RULE}"
    );
    let rules = load(&text).unwrap();
    assert_eq!(rules.limits.home_networks[0].to_string(), "10.0.0.0/8");
    assert_eq!(rules.limits.alerts_per_second, 7);
    assert_eq!(rules.list.find("odd").unwrap().cooldown_nanos, 5_000_000_000);
    base_refused(
        "[hygiene]\nhome_networks = [\"home\"]",
        ":9: `home` is no network; write an address or 192.0.2.0/24, 2001:db8::/32",
    );
    base_refused(
        "[hygiene]\nalerts_per_second = 0",
        ":9: `alerts_per_second` is 0, expected 1 to 4294967295",
    );
}

#[test]
fn directed_keys_refuse_what_needs_both_directions() {
    let directed = BASE.replace("[\"connection\"]", "[\"connection\", \"pair\"]");
    assert!(load(&directed).is_ok());
    let why = "flow keys `pair` and `5-tuple` see one direction of a connection only: keep just \
               `connection` in `flow_keys`";
    let state = "[[state]]\nname = \"asked\"\ndoc = \"x\"\nend = \"opener\"\n";
    refused(
        &format!("{directed}{state}"),
        &format!(":8: state `asked` tells two ends apart, but {why}"),
    );
    let rule = RULE.replace("\"flag\"", "\"session\"");
    refused(
        &format!("{directed}{rule}"),
        &format!(":13: rule `odd` is about a session, but {why}"),
    );
    refused(
        &BASE.replace("\"connection\"", "\"ip\""),
        ":1: unknown flow key `ip`, expected `pair`, `5-tuple` or `connection`",
    );
    refused(
        &BASE.replace("flow_keys = [\"connection\"]\n", ""),
        ": no `flow_keys`: list those that the machine works with, of `pair`, `5-tuple` or \
         `connection`",
    );
    let connection = Rules::load("tcp-connection").unwrap();
    assert!(connection.require_flow_key(FlowKeyKind::Connection).is_ok());
    assert_eq!(
        connection.require_flow_key(FlowKeyKind::Pair).unwrap_err().to_string(),
        "<tcp-connection>: written for flow key `connection`, not `pair`"
    );
}

#[test]
fn includes_come_from_the_folder_or_from_what_ships() {
    let main = format!("include = [\"more.toml\", \"thresholds\"]\n{BASE}");
    let rules = load_files(&[("main.toml", &main), ("more.toml", RULE)]).unwrap();
    assert_eq!(rules.list.iter().next().map(|rule| rule.name.as_str()), Some("odd"));
    assert!(rules.list.find("port_scan").is_some());
    // one that includes back is no circle: every file is read once
    let back = format!("include = [\"main.toml\"]\n{RULE}");
    assert!(load_files(&[("main.toml", &main), ("more.toml", &back)]).is_ok());
    let error = load_files(&[("main.toml", &main), ("more.toml", BASE)]).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "more.toml:2: there is a machine already: an included file may have states and \
             transitions only if the file that includes it has none"
        ),
        "{error}"
    );
    // A file without a machine has that of a file that it includes.
    let set = "include = [\"tcp-connection\"]\n[set.port_scan]\ncount = 20\n";
    let rules = load(set).unwrap();
    assert_eq!(rules.machine.states().len(), 14);
    let scan = rules.list.find("port_scan").unwrap().id;
    let counts = rules.thresholds.iter().filter(|threshold| threshold.rule == scan);
    assert_eq!(counts.map(|threshold| threshold.count).collect::<Vec<_>>(), [20]);
    let error = load(&format!("include = [\"more\"]\n{BASE}")).unwrap_err().to_string();
    assert!(error.contains("test.toml:1: no rules file `more` comes with acsm"), "{error}");
    let error = load(&format!("include = [\"more.toml\"]\n{BASE}")).unwrap_err().to_string();
    assert!(error.contains("cannot read rules file") && error.contains("more.toml"), "{error}");
}

#[test]
fn an_include_has_limits() {
    let names: Vec<String> = (0..16).map(|n| format!("{n}.toml")).collect();
    let main = format!("include = {names:?}\n{BASE}");
    let rule =
        |n: usize| RULE.replace("odd", &format!("r{n}")).replace("= 9", &format!("= {}", n + 1));
    let texts: Vec<String> = (0..16).map(rule).collect();
    let mut files = vec![("main.toml", main.as_str())];
    files.extend(names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())));
    let error = load_files(&files).unwrap_err().to_string();
    assert!(error.ends_with("main.toml:1: more than 16 files are included"), "{error}");
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let more = "[[state]]\nname = \"island\"\ndoc = \"x\"\n\
                [[transition]]\nin = [\"absent\"]\nset = \"SYN\"\ndelete = true\n";
    let rules = load(&format!("{BASE}{more}{RULE}")).unwrap();
    let told: Vec<String> = rules.warnings.iter().map(|warning| warning.to_string()).collect();
    let told: Vec<&str> =
        told.iter().filter_map(|told| Some(told.split_once("test.toml")?.1)).collect();
    assert_eq!(
        told,
        [
            ":11: this row never decides: rows above it take all its packets",
            ":8: nothing leads to state `island`",
            ":16: no packet fires rule `odd`",
        ]
    );
}

#[test]
fn next_adds_one_and_stays_at_the_last_state() {
    let text = "flow_keys = [\"pair\"]\n\
                [[state]]\nname = \"one\"\ndoc = \"x\"\n[[state]]\nname = \"two\"\ndoc = \"x\"\n\
                [[transition]]\nin = [\"any\"]\nclear = \"RST\"\ngo = \"next\"\n\
                [[transition]]\nin = [\"two\"]\nset = \"RST\"\ndelete = true\n\
                [otherwise]\nalert = [\"odd\"]\n";
    let rules = load(&format!("{text}{RULE}")).unwrap();
    let step = |lookup, flags| rules.machine.step(lookup, Direction::Forward, flags, false);
    let (one, two) = (State::new(0).unwrap(), State::new(1).unwrap());
    assert_eq!(step(Lookup::Absent, TcpFlags::ACK).next, Next::Go(one));
    assert_eq!(step(Lookup::Known(one), TcpFlags::ACK).next, Next::Go(two));
    assert_eq!(step(Lookup::Known(two), TcpFlags::ACK).next, Next::Keep);
    assert_eq!(step(Lookup::DontKnow, TcpFlags::ACK).next, Next::Go(two), "from either state");
    assert_eq!(step(Lookup::Known(two), TcpFlags::RST).next, Next::Delete);
    // no row is for it: the state stays, and the default speaks
    let invalid = step(Lookup::Known(one), TcpFlags::RST);
    assert_eq!((invalid.next, invalid.alerts.len()), (Next::Keep, 1));
}
