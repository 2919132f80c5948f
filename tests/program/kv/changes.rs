//! `set`, `delete`, `join` and `compress`.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Bench, lines, tsv, value_of};
use crate::runner::{stderr, stdout};

#[test]
fn set_updates_or_inserts_and_delete_removes() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..200));
    for store in ["kbf", "fcf"] {
        bench.done(&format!("create -o a.kv --values 200 --store {store} a.tsv"));
        let document = |output: std::process::Output| -> Value {
            serde_json::from_slice(&output.stdout).unwrap()
        };
        assert_eq!(
            bench.json("set a.kv new fresh --json"),
            json!({ "inserted": 1, "updated": 0, "undecided": 0 })
        );
        let output = bench.run_with_input("set a.kv - --json", "key 7\tother\nkey 900\tx\ty\n");
        assert_eq!(document(output), json!({ "inserted": 1, "updated": 1, "undecided": 0 }));
        let output = bench.run_with_input("get a.kv -", "new\nkey 7\nkey 900\nkey 8\n");
        assert_eq!(stdout(&output), "new\tfresh\nkey 7\tother\nkey 900\tx\ty\nkey 8\tclass 8\n");

        let output = bench.run_with_input("delete a.kv - --json", "key 7\nkey 7\nnever\nnew\n");
        assert_eq!(output.status.code(), Some(3));
        assert!(stderr(&output).contains("acsm: never: is not in the store"));
        assert_eq!(document(output), json!({ "deleted": 2, "absent": 2, "undecided": 0 }));
        assert_eq!(stdout(&bench.run("get a.kv new never")), "new\t\nnever\t\n");
        assert_eq!(bench.json("info a.kv --json")["pairs"], 200);
        bench.write("changes.jsonl", "{\"key\":\"json\",\"value\":1}\n");
        let changes = bench.read("changes.jsonl");
        assert!(bench.run_with_input("set a.kv - --format jsonl", changes).status.success());
        assert_eq!(bench.done("get a.kv json"), "json\t1\n");
    }
}

#[test]
fn a_file_is_not_written_if_nothing_changes() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..20));
    bench.done("create -o a.kv a.tsv");
    let before = std::fs::metadata(bench.path("a.kv")).unwrap().modified().unwrap();
    assert_eq!(bench.run("delete a.kv never").status.code(), Some(3));
    assert_eq!(bench.run_with_input("set a.kv -", "").status.code(), Some(0));
    assert_eq!(std::fs::metadata(bench.path("a.kv")).unwrap().modified().unwrap(), before);
}

#[test]
fn a_join_is_the_store_of_all_pairs() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..300));
    bench.write("b.tsv", tsv(300..600) + "another\tnew value\n");
    bench.write("both.tsv", tsv(0..600) + "another\tnew value\n");
    bench.done("create -o a.kv --pairs 1k --values 200 a.tsv");
    bench.done("create -o b.kv --like a.kv b.tsv");
    bench.done("create -o both.kv --like a.kv both.tsv");
    for (first, second) in [("a.kv", "b.kv"), ("b.kv", "a.kv")] {
        let info = bench.json(&format!("join {first} {second} -o joined.kv --json"));
        assert_eq!(info["pairs"], 601);
        assert!(bench.read("joined.kv") == bench.read("both.kv"));
    }
    // Also onto one of the two.
    bench.done("join a.kv b.kv -o a.kv");
    assert!(bench.read("a.kv") == bench.read("both.kv"));
}

#[test]
fn a_join_beyond_capacity_warns_with_the_predicted_error_and_goes_on() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..5000));
    bench.write("b.tsv", tsv(5000..10_000));
    bench.done("create -o a.kv a.tsv");
    bench.done("create -o b.kv --like a.kv b.tsv");
    let output = bench.run("join a.kv b.kv -o c.kv");
    assert_eq!(output.status.code(), Some(0));
    let said = stderr(&output);
    assert!(
        said.contains("warning: 10,000 pairs are ") && said.contains("predicted are"),
        "{said}"
    );
    let info = bench.json("info c.kv --json --check a.tsv");
    assert_eq!((&info["measured"]["wrong"], &info["measured"]["absent"]), (&json!(0), &json!(0)));
    let undecided = info["measured"]["undecided_rate"].as_f64().unwrap();
    let predicted = info["predicted"]["undecided_rate"].as_f64().unwrap();
    assert!((0.7 * predicted..1.3 * predicted).contains(&undecided), "{undecided} {predicted}");
}

#[test]
fn stores_that_do_not_fit_are_not_joined() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..100));
    bench.write("x.tsv", "x1\tx\n");
    bench.write("y.tsv", "y1\ty\n");
    bench.done("create -o a.kv --values 100 --seed 1 a.tsv");
    bench.done("create -o large.kv --pairs 9k --values 100 --seed 1 a.tsv");
    bench.done("create -o seed.kv --values 100 --seed 2 a.tsv");
    bench.done("create -o fcf.kv --store fcf a.tsv");
    bench.done("create -o x.kv --like a.kv x.tsv");
    bench.done("create -o y.kv --like a.kv y.tsv");
    for (pair, why) in [
        ("a.kv large.kv", "different numbers of cells; create one of them with --like"),
        ("a.kv seed.kv", "different hash keys"),
        ("x.kv y.kv", "different tables of values"),
        ("a.kv fcf.kv", "fcf.kv is an fcf, and `join` takes key-value Bloom filters only"),
    ] {
        let said = bench.failure(1, &format!("join {pair} -o c.kv"));
        assert!(said.contains(why), "{said}");
    }
    assert!(bench.failure(2, "join a.kv ./a.kv -o c.kv").contains("each key twice"));
    assert!(bench.failure(1, "compress fcf.kv -o c.kv").contains("`compress` takes"));
    assert!(!bench.path("c.kv").exists());
}

#[test]
fn a_compressed_store_has_every_value_among_its_candidates() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..2000));
    let cells = bench.json("create -o a.kv --json --seed 5 a.tsv")["cells"].as_u64().unwrap();
    let half = bench.json("compress a.kv -o half.kv --json");
    assert_eq!(half["cells"].as_u64(), Some(cells / 2));
    let output = bench.run_with_input("get half.kv --json -", lines(0..2000));
    assert_eq!(output.status.code(), Some(3));
    let mut answers: HashMap<String, u32> = HashMap::new();
    for (key, line) in stdout(&output).lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (answer, value) = (line["answer"].as_str().unwrap(), json!(value_of(key as u32)));
        let has_it = match answer {
            "found" => line["value"] == value,
            "one_of" => line["values"].as_array().unwrap().contains(&value),
            _ => answer == "undecided",
        };
        assert!(has_it, "{line}");
        *answers.entry(answer.to_owned()).or_default() += 1;
    }
    assert!(answers["found"] > 1000 && answers["one_of"] > 100, "{answers:?}");

    // Such a key is left as it is.
    let lines = stdout(&output);
    let undecided = lines.lines().position(|line| line.contains("\"one_of\"")).unwrap();
    let before = bench.read("half.kv");
    let output = bench.run_with_input("set half.kv -", format!("key {undecided}\tclass 1\n"));
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("may have several values; left as it is"));
    assert!(bench.read("half.kv") == before);
    // Four times in all, and more often if the number of cells happens to be even.
    (0..3).for_each(|_| drop(bench.done("compress half.kv -o half.kv")));
    let mut refused = (0..20).map(|_| bench.run("compress half.kv -o half.kv"));
    let refused = refused.find(|output| !output.status.success()).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("half.kv: a filter of "), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("cannot be halved"), "{}", stderr(&refused));
}
