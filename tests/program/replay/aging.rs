//! Idle flows: when they are forgotten, in every store, and the figures of the summary.

use serde_json::Value;

use super::wire::{ACK, FIN, RST, SYN, Wire};
use crate::runner::{Folder, acsm, count, replay, stdout};

const STORES: [&str; 6] = ["exact", "dbf", "sbf", "kbf", "bhbf", "fcf"];
const MINUTE: u64 = 60_000;

/// Packets of one flow at these times (ms); the same summary from every store.
fn one_flow(options: &str, packets: &[(u64, u8)]) -> Value {
    let folder = Folder::new();
    let wire = packets
        .iter()
        .fold(Wire::new(), |wire, &(millis, flags)| wire.packet(millis, (1, 2), (1000, 80), flags));
    let path = folder.write("x.pcap", wire.bytes());
    let summaries = STORES.map(|store| {
        replay(&format!("--preset paper --backend {store} --flows 100 {options}"), &[&path])
    });
    for (store, summary) in STORES.iter().zip(&summaries) {
        for figures in ["lookups", "alerts"] {
            assert_eq!(summary[figures], summaries[0][figures], "{store} {options} {packets:?}");
        }
        for figure in ["/flows/inserted", "/flows/live", "/flows/deleted"] {
            let (here, exact) = (count(summary, figure), count(&summaries[0], figure));
            assert_eq!(here, exact, "{store} {figure} {packets:?}");
        }
    }
    let [exact, ..] = summaries;
    exact
}

/// How often the flow was unknown: 1 if it was never forgotten. Stamps forget as the timer does.
fn absences(packets: &[(u64, u8)]) -> u64 {
    let [timer, stamps] = ["timer", "stamps"]
        .map(|expire| count(&one_flow(&format!("--expire {expire}"), packets), "/lookups/absent"));
    assert_eq!(timer, stamps, "{packets:?}");
    timer
}

#[test]
fn a_flow_is_remembered_through_the_next_epoch_and_no_longer() {
    // Idle for one and a half phases: alive if it was last seen early in its epoch, else not.
    assert_eq!(absences(&[(0, ACK), (MINUTE * 3 / 2, ACK)]), 1);
    assert_eq!(absences(&[(MINUTE * 5 / 6, ACK), (MINUTE * 7 / 3, ACK)]), 2);
    assert_eq!(absences(&[(0, ACK), (2 * MINUTE - 1, ACK)]), 1, "the last moment");
    assert_eq!(absences(&[(0, ACK), (2 * MINUTE, ACK)]), 2, "two epochs later");
    // Two and a half: never.
    assert_eq!(absences(&[(0, ACK), (MINUTE * 5 / 2, ACK)]), 2);
    // Every packet keeps it alive.
    let steady: Vec<_> = (0..20).map(|n| (n * MINUTE, ACK)).collect();
    assert_eq!(absences(&steady), 1);
}

/// Stamps have two bits: four epochs later they repeat, and must not be taken for fresh.
#[test]
fn old_stamps_do_not_come_back_to_life() {
    for epochs in [3, 4, 5, 8, 9, 16, 1024, 1025] {
        assert_eq!(absences(&[(0, ACK), (epochs * MINUTE, ACK)]), 2, "{epochs} epochs");
    }
    let ten_years = 10 * 365 * 24 * 60 * MINUTE;
    assert_eq!(absences(&[(0, ACK), (ten_years, ACK), (ten_years + 1, ACK)]), 2);
}

#[test]
fn half_open_flows_live_half_as_long() {
    assert_eq!(absences(&[(0, SYN), (MINUTE - 1, SYN)]), 1);
    assert_eq!(absences(&[(0, SYN), (MINUTE, SYN)]), 2);
    // Once it is answered it is a flow like any other.
    assert_eq!(absences(&[(0, SYN), (1, ACK), (MINUTE * 3 / 2, ACK)]), 1);
}

#[test]
fn packets_out_of_order_do_not_turn_time_back() {
    let times = [(5 * MINUTE, ACK), (0, ACK), (5 * MINUTE + 1, ACK), (MINUTE, ACK)];
    assert_eq!(absences(&times), 1);
    // A late packet counts at the latest time: alive in the next epoch, forgotten after it.
    assert_eq!(absences(&[(5 * MINUTE, ACK), (0, ACK), (6 * MINUTE, ACK)]), 1);
    assert_eq!(absences(&[(5 * MINUTE, ACK), (0, ACK), (7 * MINUTE, ACK)]), 2);
}

#[test]
fn a_forgotten_mark_is_raised_again_but_never_with_expire_none() {
    let packets = [(0, FIN | ACK), (3 * MINUTE, FIN | ACK), (9 * MINUTE, FIN | ACK)];
    assert_eq!(count(&one_flow("", &packets), "/alerts/by_rule/flow_fin"), 3);
    let never = one_flow("--expire none", &packets);
    assert_eq!(count(&never, "/alerts/by_rule/flow_fin"), 1);
    assert_eq!((count(&never, "/flows/cells_aged"), count(&never, "/flows/live")), (0, 1));
    let longer = one_flow("--idle-timeout 10m", &packets);
    assert_eq!(count(&longer, "/alerts/by_rule/flow_fin"), 1);
}

/// An epoch of four packets, whatever their times.
#[test]
fn a_phase_can_be_a_number_of_packets() {
    let at_packet = |index: u64| {
        let folder = Folder::new();
        let mut wire = Wire::new().packet(0, (1, 2), (1000, 80), ACK);
        for other in 1..index {
            wire = wire.packet(other, (100 + other as u8, 2), (1000, 80), ACK);
        }
        let wire = wire.packet(index, (1, 2), (1000, 80), ACK);
        let path = folder.write("x.pcap", wire.bytes());
        STORES.map(|store| {
            let options = format!(
                "--preset paper --backend {store} --flows 100 --fp-rate 1e-6 --phase ops:4"
            );
            count(&replay(&options, &[&path]), "/lookups/known")
        })
    };
    for (index, known) in [(1, 1), (3, 1), (4, 1), (7, 1), (8, 0), (11, 0), (16, 0)] {
        assert_eq!(at_packet(index), [known; STORES.len()], "packet {index}");
    }
}

/// Three flows at the start, two of them again later, one new: what is alive is what was touched
/// in the last two epochs.
#[test]
fn figures_of_the_living_and_the_aged_are_right() {
    let flow = |wire: Wire, millis, source| wire.packet(millis, (source, 2), (1000, 80), ACK);
    let mut wire = Wire::new();
    for (millis, source) in
        [(0, 1), (1, 3), (2, 4), (MINUTE, 1), (3 * MINUTE / 2, 3), (5 * MINUTE / 2, 5)]
    {
        wire = flow(wire, millis, source);
    }
    let folder = Folder::new();
    let path = folder.write("x.pcap", wire.bytes());
    for expire in ["timer", "stamps"] {
        for store in ["exact", "sbf", "kbf", "bhbf", "fcf"] {
            let options =
                format!("--preset paper --backend {store} --flows 1000 --expire {expire}");
            let summary = replay(&options, &[&path]);
            let figure = |name: &str| count(&summary, &format!("/flows/{name}"));
            let of_flows = [figure("inserted"), figure("deleted"), figure("live")];
            assert_eq!(of_flows, [4, 0, 3], "{options}");
            let (cells_of_flow, flows_aged) = match (store, expire) {
                ("exact" | "fcf", _) => (1, 1),
                // A half ages as a whole: that of the first epoch had three flows.
                (_, "timer") => (count(&summary, "/store/hashes"), 3),
                _ => (count(&summary, "/store/hashes"), 1),
            };
            assert_eq!(figure("cells_aged"), cells_of_flow * flows_aged, "{options}: flow 4 aged");
        }
    }
}

/// A machine that deletes on RST.
#[test]
fn deleted_flows_are_counted_and_gone() {
    let rules = "flow_keys = [\"pair\"]\n\
        [[state]]\nname = \"seen\"\ndoc = \"something came\"\n\
        [[transition]]\nin = [\"present\"]\nset = \"RST\"\ndelete = true\n\
        [[transition]]\nin = [\"absent\"]\nset = \"RST\"\n\
        [[transition]]\nin = [\"absent\"]\ngo = \"seen\"\n";
    let folder = Folder::new();
    let rules = folder.write("delete.toml", rules);
    let packets = [(0, ACK), (1, RST), (2, RST), (3, ACK), (4, ACK), (5, RST), (6, ACK)];
    for expire in ["timer", "stamps"] {
        let options = format!("--expire {expire} --rules {}", rules.display());
        let summary = one_flow(&options, &packets);
        for (figure, expected) in [
            ("/flows/inserted", 3),
            ("/flows/deleted", 2),
            ("/flows/live", 1),
            ("/lookups/absent", 4),
            ("/lookups/known", 3),
        ] {
            assert_eq!(count(&summary, figure), expected, "{figure}");
        }
    }
}

/// A flow in both halves is deleted from both.
#[test]
fn a_flow_that_moved_is_deleted_from_both_halves() {
    let rules = "flow_keys = [\"pair\"]\n\
        [[state]]\nname = \"seen\"\ndoc = \"something came\"\n\
        [[state]]\nname = \"more\"\ndoc = \"more came\"\n\
        [[transition]]\nin = [\"present\"]\nset = \"RST\"\ndelete = true\n\
        [[transition]]\nin = [\"seen\"]\nset = \"FIN\"\ngo = \"more\"\n\
        [[transition]]\nin = [\"absent\"]\nset = \"ACK\"\ngo = \"seen\"\n";
    let folder = Folder::new();
    let rules = folder.write("delete.toml", rules);
    let packets = [(0, ACK), (MINUTE, ACK), (MINUTE + 1, FIN), (MINUTE + 2, RST), (MINUTE + 3, 0)];
    let options = format!("--rules {}", rules.display());
    assert_eq!(count(&one_flow(&options, &packets), "/lookups/absent"), 2);
}

/// Under `--touch all` lookups of absent flows keep the stamps of their cells fresh: fewer cells age
/// in a full filter. An exact table has no shared cells, and halves have no stamps, so nothing
/// changes there.
#[test]
fn touching_by_every_look_up_keeps_shared_cells_alive() {
    let folder = Folder::new();
    let (path, _) = folder.generate("x.pcap", "--packets 10k --duration 5m --attacks rst_storm");
    let aged = |options: &str| {
        let summary = replay(&format!("--idle-timeout 20s {options}"), &[&path]);
        count(&summary, "/flows/cells_aged")
    };
    assert_eq!(aged("--backend exact"), aged("--backend exact --touch all"));
    // In tcp-connection a stray RST leaves its absent flow absent; --memory makes the store too full.
    let [timer, stamps] = ["timer", "stamps"].map(|expire| {
        format!("--backend kbf --pending none --memory 4KiB --hashes 4 --expire {expire}")
    });
    assert_eq!(aged(&timer), aged(&format!("{timer} --touch all")));
    let (found, all) = (aged(&stamps), aged(&format!("{stamps} --touch all")));
    assert!(all < found, "{all} cells aged under --touch all, {found} without");
}

#[test]
fn a_table_that_grew_says_how_large_it_is() {
    let folder = Folder::new();
    let (path, truth) = folder.generate("x.pcap", "--packets 10k");
    let summary = replay("--preset paper --backend exact --expire none --flows 100", &[&path]);
    let cells = count(&summary, "/store/cells");
    assert!(cells >= count(&truth, "/flows"), "{cells} hold all flows");
    assert_eq!(count(&summary, "/store/bits"), cells * count(&summary, "/store/cell_bits"));
    assert!(summary["store"]["fill_ratio"].as_f64().unwrap() <= 1.0);
    assert_eq!(count(&summary, "/store/evicted"), 0);
}

#[test]
fn a_capped_table_evicts_and_says_so() {
    let folder = Folder::new();
    let (path, truth) = folder.generate("x.pcap", "--packets 10k");
    let options = "--preset paper --backend exact --expire none --memory 64KiB";
    let summary = replay(options, &[&path]);
    let (cells, live) = (count(&summary, "/store/cells"), count(&summary, "/flows/live"));
    let evicted = count(&summary, "/store/evicted");
    assert!(count(&summary, "/store/bits") <= 64 * 1024 * 8);
    assert!(cells < count(&truth, "/flows") && live <= cells && evicted > 0);
    assert_eq!(count(&summary, "/flows/inserted"), live + evicted);
    assert!(stdout(&acsm(&format!("replay {options}"), &[&path])).contains("evicted"));
}

#[test]
fn a_full_cuckoo_table_says_so_and_keeps_what_it_has() {
    let folder = Folder::new();
    let (path, truth) = folder.generate("x.pcap", "--packets 10k");
    let options = "--preset paper --backend fcf --expire none --flows 200 --verify";
    let summary = replay(options, &[&path]);
    let figure = |name: &str| count(&summary, name);
    assert!(figure("/store/cells") < count(&truth, "/flows"));
    assert!(figure("/store/full") > 0 && figure("/store/evicted") == 0);
    assert_eq!(figure("/flows/inserted"), figure("/flows/live"));
    assert!(figure("/flows/live") <= figure("/store/cells"));
    // Flows that find no room are absent at each of their packets: counted as such.
    assert!(figure("/errors/false_negative") > 0);
    assert!(figure("/errors/false_negative") <= figure("/store/full"));
    assert!(stdout(&acsm(&format!("replay {options}"), &[&path])).contains("found no room"));
}
