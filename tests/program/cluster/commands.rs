//! Every command of `acsm cluster`, and its answers against the same store in this process.

use std::env;

use acsm_filters::kv::Answer;
use serde_json::Value;

use crate::cluster::servers::Cluster;
use crate::cluster::shadow::{Shadow, pairs, tsv};

/// Pairs of the large comparison: more by ACSM_CLUSTER_PAIRS.
fn many() -> u32 {
    env::var("ACSM_CLUSTER_PAIRS").map_or(30_000, |text| text.parse().unwrap())
}

#[test]
fn every_answer_is_that_of_the_store_in_this_process() {
    let Some(cluster) = Cluster::start(3, true) else { return };
    let count = many();
    // Room for two thirds: slabs grow.
    cluster.done(&format!("init -q --pairs {} --values 300 --fp-rate 0.01", count * 2 / 3), "");
    let mut shadow = Shadow::new(&cluster);
    let path = cluster.write("pairs.tsv", &tsv(0..count));
    let loaded: Value =
        serde_json::from_str(&cluster.done(&format!("load -q --json {path}"), "")).unwrap();
    assert_eq!(loaded["inserted"], count);
    shadow.load(pairs(0..count));
    shadow.assert_equal_cells();

    // Four absent keys for each key.
    let absent = 4 * count;
    let keys: Vec<String> = (0..count + absent).map(|number| format!("key {number}")).collect();
    let output = cluster.run("get --json -", &(keys.join("\n") + "\n"));
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), keys.len());
    let mut false_positives = 0;
    for (number, (key, line)) in keys.iter().zip(text.lines()).enumerate() {
        let found: Value = serde_json::from_str(line).unwrap();
        let expected = match shadow.answer(key) {
            Answer::Absent => serde_json::json!({"key": key, "answer": "absent", "value": null}),
            Answer::Undecided => {
                serde_json::json!({"key": key, "answer": "undecided", "value": null})
            }
            Answer::Found(value) => {
                serde_json::json!({"key": key, "answer": "found", "value": value})
            }
            Answer::OneOf(values) => serde_json::json!(
                {"key": key, "answer": "one_of", "value": null, "values": values}
            ),
        };
        assert_eq!(found, expected);
        false_positives += usize::from(number as u32 >= count && found["answer"] != "absent");
    }
    // Two filters at an error rate of 0.01 at most; five standard deviations.
    let most = 0.02 * f64::from(absent) + 5.0 * (0.02 * f64::from(absent)).sqrt();
    assert!(false_positives > 0 && (false_positives as f64) < most, "{false_positives}");

    let status = cluster.json("status --json");
    assert_eq!(status["pairs"], count);
    assert_eq!(status["values"], 300);
    assert!(status["filters"].as_u64() > status["slabs"].as_u64(), "{status}");
    let rate = status["predicted"]["false_positive_rate"].as_f64().unwrap();
    // Nearly a Poisson variable; five standard deviations. The prediction adds up the values that an absent key can
    // have, and so counts some keys more than once: at a million pairs 2,043 are predicted and 1,505 found.
    let predicted = rate * f64::from(absent);
    let (found, margin) = (false_positives as f64, 5.0 * predicted.sqrt());
    let is_as_predicted = (predicted / 2.0 - margin..predicted + margin).contains(&found);
    assert!(is_as_predicted, "{predicted} predicted, {false_positives}");
    // A load that is repeated changes nothing.
    let again: Value =
        serde_json::from_str(&cluster.done(&format!("load -q --json {path}"), "")).unwrap();
    assert_eq!((&again["inserted"], &again["left_out"]), (&0.into(), &count.into()));
    shadow.assert_equal_cells();
}

#[test]
fn keys_are_set_and_deleted_as_in_a_file() {
    let Some(cluster) = Cluster::start(3, false) else { return };
    cluster.done("init -q --pairs 1000 --values 20 --fp-rate 1e-6 --slabs 5", "");
    let text = |line: &str, input: &str| {
        let output = cluster.run(line, input);
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(text("get a b", ""), (3, "a\t\nb\t\n".to_owned()));
    let set = text("set --json -q -", "a\tx\nb\ty\na\tz\n");
    assert_eq!(set.0, 0);
    let set: Value = serde_json::from_str(&set.1).unwrap();
    assert_eq!(set, serde_json::json!({"inserted": 2, "updated": 1, "undecided": 0}));
    cluster.done("set c x", "");
    assert_eq!(text("get -", "a\nb\nc\n"), (0, "a\tz\nb\ty\nc\tx\n".to_owned()));
    let deleted = text("delete --json -q b b nothing", "");
    let expected = serde_json::json!({"deleted": 1, "absent": 2, "undecided": 0});
    assert_eq!(serde_json::from_str::<Value>(&deleted.1).unwrap(), expected);
    assert_eq!(deleted.0, 3);
    assert_eq!(text("get a b c", ""), (3, "a\tz\nb\t\nc\tx\n".to_owned()));
    // Two stores in one cluster do not know each other.
    cluster.done("init -q --prefix other --pairs 10 --values 3", "");
    assert_eq!(text("get --prefix other a", ""), (3, "a\t\n".to_owned()));
    // A stream that has a key twice, and more values than there is room for.
    cluster.done("load -q --prefix other --format csv -", "k,1\nl,2\n");
    let (code, _) = text("load -q --prefix other -", "m\t3\nn\t4\n");
    assert_eq!(code, 1);
}

#[test]
fn what_cannot_be_done_is_said() {
    let Some(cluster) = Cluster::start(1, false) else { return };
    let fails = |line: &str, code: i32, part: &str| {
        let output = cluster.run(line, "");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        assert!(message.contains(part), "{line}: {message}");
    };
    fails("get a", 1, "there is no store with the prefix acsm; `acsm cluster init` makes one");
    fails("init --pairs 100M --values 3000 --slabs 2", 2, "take more --slabs");
    fails("init --pairs 10 --values 99999999999", 2, "values are wanted");
    fails("get --cluster redis://me:secret@127.0.0.1 a", 2, "--password-file");
    fails("get --cluster http://127.0.0.1 a", 2, "is not a cluster");
    fails("get --cluster 127.0.0.1:1 a", 1, "cannot talk to the server 127.0.0.1:1");
    fails("get --prefix {x} a", 2, "braces");
    cluster.done("init -q --pairs 10 --values 3", "");
    fails("init --pairs 10 --values 3", 1, "already; choose another --prefix");
    fails("set a", 2, "a value is missing: acsm cluster set KEY VALUE");
    fails("load -", 0, "inserted 0 pairs");
    let file = cluster.folder.path().join("store.kv").display().to_string();
    let create = format!("kv create -q -o {file} --pairs 5 --values 3 /dev/null");
    let mut acsm = std::process::Command::new(env!("CARGO_BIN_EXE_acsm"));
    assert!(acsm.args(create.split(' ')).status().unwrap().success());
    fails(&format!("load {file}"), 1, "is a store of `acsm kv`, which has no keys");
    fails("balance --drain 127.0.0.1:1", 2, "is not a primary of the cluster");
    // A password that the server does not accept, and one that it does.
    let () = cluster.servers[0].ask(redis::cmd("CONFIG").arg("SET").arg("requirepass").arg("word"));
    fails("get a", 1, "NOAUTH");
    let password = cluster.write("password", "word\n");
    fails(&format!("get --password-file {password} a"), 3, "");
    let output = cluster.command("get a").env("ACSM_CLUSTER_PASSWORD", "other").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}
