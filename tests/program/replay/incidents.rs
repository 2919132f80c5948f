//! Incidents: one for each attack, with its size, sources and victims; told of in lines, on the page, and to a program.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use acsm::machine::Network;
use serde_json::Value;

use super::wire::{ACK, RST, SYN, Wire};
use crate::runner::{
    Folder, acsm, count, replay, replay_with_alerts, stderr, stdout, without_speed,
};

fn incidents(summary: &Value) -> &Vec<Value> {
    summary["incidents"].as_array().unwrap()
}

/// Whether an address or prefix of an incident is one of these networks'.
fn is_in(named: &Value, networks: &Value) -> bool {
    let named = named.as_str().unwrap().split('/').next().unwrap();
    let address: IpAddr = named.parse().unwrap();
    let networks = networks.as_array().unwrap().iter().map(|network| network.as_str().unwrap());
    networks.map(|network| network.parse::<Network>().unwrap()).any(|net| net.contains(address))
}

/// Whether an incident is about this attack, by its victims and, if they are named, its attackers.
fn is_about(incident: &Value, attack: &Value) -> bool {
    let all = |named: &Value, networks| {
        named.as_array().unwrap().iter().all(|address| is_in(address, networks))
    };
    all(&incident["victims"], &attack["victims"])
        && all(&incident["top_sources"], &attack["attackers"])
}

#[test]
fn every_labelled_attack_is_one_incident() {
    let folder = Folder::new();
    let (trace, truth) = folder.generate("x.pcap", "--packets 120k --duration 1h --attacks all");
    for store in ["fcf", "kbf"] {
        let summary = replay(&format!("--backend {store}"), &[&trace]);
        let found = incidents(&summary);
        for attack in truth["attacks"].as_array().unwrap() {
            let of_attack = found.iter().filter(|incident| is_about(incident, attack)).count();
            assert_eq!(of_attack, 1, "{store}: {} in {found:#?}", attack["name"]);
        }
        assert_eq!(found.len(), truth["attacks"].as_array().unwrap().len(), "{store}: {found:#?}");
    }
}

/// What `every` has beside `all`, each with the rule that should notice it, and the two that none should.
#[test]
fn every_other_labelled_scenario_is_one_incident_of_its_rule() {
    let folder = Folder::new();
    let names = "unanswered_syn_flood,repeated_syn_flood,answered_syn_flood,blind_ack_flood,\
        blind_data_flood,challenge_ack_flood,late_ack_flood,ack_flood,synack_flood,rst_flood,\
        fin_flood,botnet_flood,subnet_syn_flood,carpet_bombing:3k,login_guessing,slow_port_scan,\
        slow_host_sweep,connection_flood,backscatter,service_restart,busy_server";
    let options = format!("--packets 300k --flows 20k --duration 10m --attacks {names}");
    let (trace, truth) = folder.generate("x.pcap", &options);
    let summary = replay("", &[&trace]);
    let found = incidents(&summary);
    let mut expected = 0;
    for attack in truth["attacks"].as_array().unwrap() {
        // The victim of what a backscatter tells of is its sender.
        let of_attack: Vec<&Value> = found.iter().filter(|one| is_about(one, attack)).collect();
        let kinds: Vec<&Value> = of_attack.iter().map(|incident| &incident["kind"]).collect();
        match &attack["rule"] {
            Value::Null => assert!(of_attack.iter().all(|one| count(one, "/severity") > 2)),
            rule => {
                assert_eq!(kinds, [rule], "{}: {of_attack:#?}", attack["name"]);
                expected += 1;
            }
        }
    }
    assert_eq!(found.len(), expected, "{found:#?}");
}

#[test]
fn a_spoofed_flood_has_its_size_and_sources_and_names_nobody() {
    let folder = Folder::new();
    let options = "--packets 200k --duration 20m --attacks syn_flood";
    let (trace, truth) = folder.generate("x.pcap", options);
    let run = replay_with_alerts("", &[&trace]);
    let [flood] = &incidents(&run.summary)[..] else { panic!("{:#?}", run.summary["incidents"]) };
    let attack = &truth["attacks"][0];
    let within = |found: u64, true_one: u64, percent: u64| {
        assert!(100 * found.abs_diff(true_one) <= percent * true_one, "{found} is not {true_one}");
    };
    // Each SYN of the attack is one of two packets: the victim answers some.
    let syns = count(attack, "/attacker_count");
    assert!(
        count(flood, "/count") >= syns * 8 / 10
            && count(flood, "/count") <= count(attack, "/packets")
    );
    within(count(flood, "/sources_estimated"), syns, 30);
    assert_eq!((&flood["spoofed"], &flood["top_sources"]), (&true.into(), &Value::Array(vec![])));
    assert_eq!(flood["victims"], attack["victims"]);
    for line in &run.incidents {
        assert!(line.get("src_ip").is_none() && line["alert"].get("source").is_none(), "{line}");
        assert_eq!(line["dest_ip"], attack["victims"][0]);
    }
}

/// SYNs from ever new sources to hosts of a network, a millisecond or less apart.
fn carpet(syns: u32, hosts: u32) -> Wire {
    (0..syns).fold(Wire::new(), |wire, n| {
        let source = Ipv4Addr::from(0x6440_0000 + n * 7);
        let victim = Ipv4Addr::from(0xc633_0000 + n % hosts);
        wire.between(u64::from(n) / 4, (source, victim), (4000, 443), SYN)
    })
}

#[test]
fn a_flood_spread_over_a_prefix_is_one_incident() {
    let folder = Folder::new();
    for (hosts, bits) in [(256, 24), (65_536, 16)] {
        let path = folder.write("carpet.pcap", carpet(60_000, hosts).bytes());
        let summary = replay("", &[&path]);
        let [flood] = &incidents(&summary)[..] else { panic!("{:#?}", summary["incidents"]) };
        let [victim] = &flood["victims"].as_array().unwrap()[..] else { panic!("{flood:#}") };
        assert_eq!(victim, &format!("198.51.0.0/{bits}"), "{flood:#}");
        let found = count(flood, "/count");
        assert!(found.abs_diff(60_000) < 12_000, "{flood:#}");
        assert_eq!(flood["spoofed"], true, "{flood:#}");
    }
}

/// A scan of 300 ports of a host that answers at three of them and refuses at the others.
fn scan(scanner: Ipv4Addr, host: Ipv4Addr) -> Wire {
    (1..=300u16).fold(Wire::new(), |wire, port| {
        let (millis, open) = (u64::from(port) * 20, [22, 80, 300].contains(&port));
        let answer = if open { SYN | ACK } else { RST | ACK };
        wire.between(millis, (scanner, host), (40_000, port), SYN).between(
            millis + 1,
            (host, scanner),
            (port, 40_000),
            answer,
        )
    })
}

/// Packets without flags to 100 ports of a host that says nothing: several rules notice it.
fn odd_scan() -> Wire {
    (1..=100u16).fold(Wire::new(), |wire, port| {
        wire.between(u64::from(port) * 20, (host(7), host(9)), (40_000, port), 0)
    })
}

fn host(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 1, 2, last)
}

#[test]
fn a_scan_has_its_ports_and_those_that_are_open() {
    let folder = Folder::new();
    let path = folder.write("scan.pcap", scan(host(7), host(9)).bytes());
    let summary = replay("", &[&path]);
    let [scan] = &incidents(&summary)[..] else { panic!("{:#?}", summary["incidents"]) };
    assert_eq!((&scan["kind"], &scan["severity"]), (&"port_scan".into(), &2.into()), "inside");
    assert_eq!((count(scan, "/ports_total"), count(scan, "/count")), (300, 300));
    assert_eq!(scan["ports_open"], serde_json::json!([22, 80, 300]));
    assert_eq!(scan["top_sources"], serde_json::json!(["10.1.2.7"]));
    // Neither end is inside; both are.
    for (home, severity) in [("192.168.0.0/16", 2), ("10.1.2.7", 2), ("10.1.2.9", 3)] {
        let summary = replay(&format!("--home-net {home}"), &[&path]);
        assert_eq!(incidents(&summary)[0]["severity"], severity, "{home}");
    }
}

/// Twelve ports: an alert, but from outside no incident of its own.
#[test]
fn small_scans_from_outside_are_one_incident_per_hour() {
    let folder = Folder::new();
    let mut wire = Wire::new();
    for scanner in 1..=9u8 {
        for port in 1..=12u16 {
            let millis = u64::from(scanner) * 60_000 + u64::from(port) * 100;
            let (there, back) = (Ipv4Addr::new(203, 0, 113, scanner), host(9));
            wire = wire.between(millis, (there, back), (40_000, port), SYN).between(
                millis + 1,
                (back, there),
                (port, 40_000),
                RST | ACK,
            );
        }
    }
    let path = folder.write("background.pcap", wire.bytes());
    let summary = replay("", &[&path]);
    let [all] = &incidents(&summary)[..] else { panic!("{:#?}", summary["incidents"]) };
    assert_eq!((&all["kind"], &all["severity"]), (&"background_scan".into(), &4.into()));
    assert_eq!((count(all, "/sources_estimated"), count(all, "/count")), (9, 108), "{all:#}");
}

#[test]
fn an_incident_in_full_comes_with_what_silences_it() {
    let folder = Folder::new();
    let path = folder.write("scan.pcap", scan(host(7), host(9)).bytes());
    let output = acsm("replay --incident 1", &[&path]);
    let page = stdout(&output);
    assert!(page.starts_with("#1 port_scan  severity 2"), "{page}");
    let (_, entry) = page.split_once("[[suppress]]").expect("an entry of a suppression file");
    let file = folder.write("quiet.toml", format!("[[suppress]]{entry}"));
    let silenced = replay(&format!("--suppress {}", file.display()), &[&path]);
    assert_eq!(incidents(&silenced).len(), 0, "{:#?}", silenced["incidents"]);
    // One entry for each of its rules.
    let path_of_many = folder.write("odd.pcap", odd_scan().bytes());
    let page = stdout(&acsm("replay --incident 1", &[&path_of_many]));
    assert!(page.matches("[[suppress]]").count() > 1, "{page}");
    let (_, entries) = page.split_once("[[suppress]]").expect("entries");
    let file = folder.write("quiet.toml", format!("[[suppress]]{entries}"));
    let silenced = replay(&format!("--suppress {}", file.display()), &[&path_of_many]);
    assert_eq!(incidents(&silenced).len(), 0, "{:#?}", silenced["incidents"]);
    let none = acsm("replay --incident 2", &[&path]);
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("there are 1 to 1"), "{}", stderr(&none));
}

#[test]
fn a_page_is_short_and_says_why_there_is_nothing() {
    let folder = Folder::new();
    let (quiet, _) = folder.generate("quiet.pcap", "--packets 5k --well-behaved");
    let page = stdout(&acsm("replay", &[&quiet]));
    assert!(page.contains("\nNo incidents.") && page.lines().count() <= 8, "{page}");
    for part in ["\nTRAFFIC   TCP 100.0 %", "\nSTORE     fcf ", "(--marks lists them)"] {
        assert!(page.contains(part), "{page}");
    }
    let none = folder.write("none.pcap", Wire::new().bytes());
    let page = stdout(&acsm("replay", &[&none]));
    assert!(page.contains("no packets: is the file empty"), "{page}");
    let (attacks, _) = folder.generate("x.pcap", "--packets 20k --attacks all");
    let page = stdout(&acsm("replay", &[&attacks]));
    assert!(page.lines().count() <= 40, "{page}");
    let all = stdout(&acsm("replay --all", &[&attacks]));
    assert!(all.contains("] unsolicited_synack ") && !page.contains("] unsolicited_synack "));
    assert!(stdout(&acsm("replay -v", &[&attacks])).contains("\nLeft out "), "internals");
}

#[test]
fn marks_are_lines_only_where_they_are_wanted() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 5k --well-behaved");
    for (options, wanted) in [("", false), ("--marks", true), ("--preset paper", true)] {
        let page = stdout(&acsm(&format!("replay {options}"), &[&trace]));
        assert_eq!(page.contains("] flow_fin "), wanted, "{options}");
    }
    let flows = replay("--preset paper --backend exact --expire none", &[&trace]);
    for (key, rule) in [("/flows/fin", "flow_fin"), ("/flows/rst", "flow_rst")] {
        assert_eq!(count(&flows, key), count(&flows, &format!("/alerts/by_rule/{rule}")));
    }
}

#[cfg(unix)]
#[test]
fn a_program_is_told_of_incidents() {
    let folder = Folder::new();
    let path = folder.write("scan.pcap", scan(host(7), host(9)).bytes());
    let told = folder.path("told.json");
    let mut command = crate::runner::command("replay --json -q", &[&path]);
    let output = command.args(["--on-incident", &format!("cat >> {}", told.display())]).output();
    assert!(output.unwrap().status.success());
    let told = std::fs::read_to_string(told).unwrap();
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let status = |line: &Value| line["acsm"]["incident"]["status"].as_str().unwrap().to_owned();
    assert_eq!(lines.first().map(status).as_deref(), Some("start"));
    assert_eq!(lines.last().map(status).as_deref(), Some("end"));
    // One that fails is reported, and the replay goes on.
    let output = crate::runner::command("replay --json", &[&path])
        .args(["--on-incident", "exit 3"])
        .output()
        .unwrap();
    assert!(output.status.success() && stderr(&output).contains("--on-incident `exit 3`"));
}

fn incidents_of(options: &str, trace: &Path) -> (Value, Vec<Value>) {
    let run = replay_with_alerts(options, &[trace]);
    (without_speed(run.summary), run.incidents)
}

#[test]
fn the_number_of_workers_changes_no_incident() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 60k --attacks all --seed 5");
    let one = incidents_of("--workers 1", &trace);
    assert!(one.1.len() > 12);
    for workers in [2, 5, 16] {
        assert_eq!(one, incidents_of(&format!("--workers {workers}"), &trace), "{workers}");
    }
}
