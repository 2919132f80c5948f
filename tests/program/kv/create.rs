//! `create`, `get` and `info`: from every format, by count or by numbers given; errors as predicted.

use serde_json::{Value, json};

use super::{Bench, lines, tsv, value_of};
use crate::runner::{stderr, stdout};

#[test]
fn every_format_makes_the_same_store() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..500));
    let csv = (0..500).map(|key| format!("\"key {key}\",{}\r\n", value_of(key)));
    bench.write("a.csv", format!("key,value\r\n{}", csv.collect::<String>()));
    let jsonl = (0..500).map(|key| {
        json!({ "key": format!("key {key}"), "value": value_of(key) }).to_string() + "\n"
    });
    bench.write("a.jsonl", jsonl.collect::<String>());
    for store in ["kbf", "fcf"] {
        bench.done(&format!("create -o 1.kv --seed 7 --store {store} a.tsv"));
        bench.done(&format!("create -o 2.kv --seed 7 --store {store} --header a.csv"));
        bench.done(&format!("create -o 3.kv --seed 7 --store {store} a.jsonl"));
        let read_once = format!("create -o 4.kv --seed 7 --store {store} --pairs 500 --values 150");
        assert!(bench.run_with_input(&read_once, tsv(0..500)).status.success());
        let first = bench.read("1.kv");
        assert!([2, 3, 4].iter().all(|n| bench.read(&format!("{n}.kv")) == first), "{store}");
        let output = bench.run_with_input("get 1.kv -", lines(0..500));
        assert_eq!(stdout(&output), tsv(0..500));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn the_seed_decides_and_is_that_of_the_input() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..100));
    for (name, seed) in [("1", ""), ("2", ""), ("3", "--seed 1"), ("4", "--seed 2")] {
        bench.done(&format!("create -o {name}.kv {seed} a.tsv"));
    }
    let [one, two, three, four] = ["1.kv", "2.kv", "3.kv", "4.kv"].map(|name| bench.read(name));
    assert!(one == two && one != three && three != four);
}

#[test]
fn answers_are_in_the_order_of_the_keys() {
    let bench = Bench::new();
    bench.write("a.tsv", "a\tx\nb\ty z\nc\t\n-\tdash\n");
    bench.done("create -o a.kv a.tsv");
    assert_eq!(bench.done("get a.kv b a c b"), "b\ty z\na\tx\nc\t\nb\ty z\n");
    let output = bench.run("get a.kv b nothing a");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "b\ty z\nnothing\t\na\tx\n");
    let output = bench.run_with_input("get a.kv --json -", "nothing\r\nb\n-");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        stdout(&output),
        "{\"key\":\"nothing\",\"answer\":\"absent\",\"value\":null}\n\
         {\"key\":\"b\",\"answer\":\"found\",\"value\":\"y z\"}\n\
         {\"key\":\"-\",\"answer\":\"found\",\"value\":\"dash\"}\n"
    );
}

/// Also bytes that are no text, and what a terminal would take for a command.
#[test]
fn keys_and_values_are_any_bytes() {
    let bench = Bench::new();
    let pairs = b"\xff\xfe\t\x80\x81\n\x1b[31mred\t\x1b[0m\n\x00\t\xc3\xa9\n";
    bench.write("a.tsv", pairs);
    bench.done("create -o a.kv a.tsv");
    let output = bench.run_with_input("get a.kv -", b"\xff\xfe\n\x1b[31mred\n\x00\n");
    assert_eq!(output.stdout, pairs);
    let output = bench.run_with_input("get a.kv --json -", b"\xff\xfe\n");
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&line["key"], &line["value"]),
        (&json!("\u{fffd}\u{fffd}"), &json!("\u{fffd}\u{fffd}"))
    );
}

#[test]
fn info_tells_what_a_store_takes_and_how_often_it_errs() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..20_000));
    bench.done("create -o a.kv --fp-rate 1% --seed 3 a.tsv");
    let info = bench.json("info a.kv --json --check a.tsv");
    assert_eq!((&info["pairs"], &info["filters"]), (&json!(20_000), &json!(1)));
    assert_eq!((&info["codes"], &info["cell_bits"]), (&json!("algebraic"), &json!(32)));
    assert!((0.9..=1.0).contains(&info["rho"].as_f64().unwrap()), "{info}");
    assert!(info["capacity"].as_u64().unwrap() >= 20_000);
    let bytes = &info["bytes"];
    assert_eq!(bytes["main"].as_u64().unwrap(), 4 * info["cells"].as_u64().unwrap());
    let parts = ["main", "secondary", "mapping"].map(|part| bytes[part].as_u64().unwrap());
    let file = bench.read("a.kv").len() as u64;
    assert!((0..1000).contains(&(file - parts.iter().sum::<u64>())), "{file} {parts:?}");
    // Five standard deviations of the counts.
    let measured = &info["measured"];
    assert_eq!((&measured["asked"], &measured["absent_asked"]), (&json!(20_000), &json!(20_000)));
    assert_eq!((&measured["wrong"], &measured["absent"]), (&json!(0), &json!(0)));
    for rate in ["false_positive_rate", "undecided_rate"] {
        let predicted = info["predicted"][rate].as_f64().unwrap();
        let seen = measured[rate].as_f64().unwrap();
        let most = predicted + 5.0 * (predicted / 20_000.0).sqrt();
        assert!(predicted <= 0.0101 && seen <= most, "{rate}: {seen}, {predicted} predicted");
    }
    let undecided = measured["undecided"].as_u64().unwrap();
    assert!(undecided > 50, "predicted are up to 200: {undecided}");
    let text = bench.done("info a.kv");
    for part in ["20,000 of 20,", "bits per pair: main", "false positive", "undecided"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(bench.done("info a.kv --check a.tsv").contains("of 20,000 absent keys"));
}

#[test]
fn an_fcf_takes_a_fifth_of_the_memory() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..20_000));
    let bits = |line: &str| {
        let info: Value = bench.json(line);
        info["bits_per_pair"]["main"].as_f64().unwrap()
    };
    let kbf = bits("create -q --json -o kbf.kv a.tsv");
    let fcf = bits("create -q --json -o fcf.kv --store fcf a.tsv");
    assert!(fcf < 23.0 && kbf > 5.0 * fcf, "{fcf} {kbf}");
    let info = bench.json("info fcf.kv --json --check a.tsv");
    assert_eq!((&info["store"], &info["codes"]), (&json!("fcf"), &Value::Null));
    assert_eq!((&info["measured"]["wrong"], &info["measured"]["absent"]), (&json!(0), &json!(0)));
}

#[test]
fn cells_and_codes_and_decodings_are_chosen() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..300));
    let info = bench.json("create --json -o a.kv --cells 9600 --hashes 6 --codes greedy a.tsv");
    assert_eq!((&info["cells"], &info["hashes"]), (&json!(9600), &json!(6)));
    assert_eq!(info["codes"], "greedy");
    for decode in ["joint", "2", "1", "literal"] {
        let info = bench.json(&format!("create --json -o a.kv --decode {decode} a.tsv"));
        assert_eq!(info["decode"], decode);
        let output = bench.run_with_input("get a.kv -", lines(0..100));
        let found = stdout(&output).lines().filter(|line| !line.ends_with('\t')).count();
        assert!(found >= 98, "{decode}: {found}");
    }
}

#[test]
fn beyond_its_pairs_a_store_grows() {
    let bench = Bench::new();
    for store in ["kbf", "fcf"] {
        let line = format!("create --json -o a.kv --pairs 100 --values 150 --store {store}");
        let output = bench.run_with_input(&line, tsv(0..1000));
        let info: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(info["pairs"], 1000, "{}", stderr(&output));
        assert!(info["filters"].as_u64().unwrap() > 1, "{info}");
        bench.write("a.tsv", tsv(0..1000));
        let measured = &bench.json("info a.kv --json --check a.tsv")["measured"];
        assert!(measured["right"].as_u64().unwrap() > 980, "{measured}");
        assert_eq!((&measured["wrong"], &measured["absent"]), (&json!(0), &json!(0)));
    }
}

#[test]
fn pairs_that_come_again_are_left_out_and_other_values_refused() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..3000));
    bench.write("twice.tsv", tsv(0..3000) + &tsv(10..20));
    // Many false positives, which are not mistaken for keys that come again.
    let sized = "--pairs 3010 --values 150 --fp-rate 0.2 --seed 1";
    bench.done(&format!("create -o once.kv {sized} a.tsv"));
    let output = bench.run(&format!("create -o twice.kv {sized} twice.tsv"));
    assert!(stderr(&output).contains("left out pairs that came again: 10"), "{}", stderr(&output));
    assert!(bench.read("once.kv") == bench.read("twice.kv"));
    let info = bench.json("info once.kv --json --check a.tsv");
    assert_eq!((&info["pairs"], &info["measured"]["absent"]), (&json!(3000), &json!(0)));

    bench.write("other.tsv", tsv(0..100) + "key 41\tclass 2\n");
    let said = bench.failure(1, "create -o other.kv other.tsv");
    assert!(said.contains("other.tsv: line 101: the key key 41 has another value in line 42"));
    assert!(!bench.path("other.kv").exists());
    // A stream cannot be read again.
    let output = bench.run_with_input("create -o a.kv --pairs 99 --values 9", "a\tx\na\tx\n");
    assert!(stderr(&output).contains("warning: 1 keys seemed to be in the store"));
}
