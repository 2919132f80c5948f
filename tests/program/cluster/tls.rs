//! Encrypted connections, passwords and prefixes.

use std::process::Output;
use std::time::{Duration, Instant};

use crate::cluster::servers::Cluster;
use crate::cluster::shadow::tsv;

/// What docs/cluster.md says a user needs, but for the commands that only some servers have.
const COMMANDS: [&str; 23] = [
    "kbf.create",
    "kbf.insert",
    "kbf.query",
    "kbf.update",
    "kbf.delete",
    "kbf.info",
    "hgetall",
    "hget",
    "hset",
    "hlen",
    "hscan",
    "exists",
    "eval",
    "wait",
    "cluster|nodes",
    "readonly",
    "asking",
    "cluster|info",
    "cluster|setslot",
    "cluster|getkeysinslot",
    "migrate",
    "select",
    "restore-asking",
];

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn everything_works_over_tls_with_a_password_and_a_prefix() {
    let Some(cluster) = Cluster::start_encrypted(2) else { return };
    for server in &cluster.servers {
        let mut user = redis::cmd("ACL");
        user.arg("SETUSER").arg("client").arg(&["on", ">word", "~shop:*", "~{shop}:*"]);
        let () = server.ask(user.arg(COMMANDS.map(|name| format!("+{name}")).as_slice()));
    }
    let authority = cluster.folder.path().join("ca.crt").display().to_string();
    let password = cluster.write("password", "word\n");
    let servers: Vec<String> = cluster.servers.iter().map(|server| server.tls_address()).collect();
    let url = format!("rediss://client@{}", servers.join(","));
    let access = format!("--tls-ca {authority} --prefix shop --password-file {password}");
    let run =
        |line: &str, input: &str| cluster.run(&format!("{line} --cluster {url} {access}"), input);
    let done = |line: &str, input: &str| {
        let output = run(line, input);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", message(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    done("init -q --pairs 2000 --values 300 --slabs 4", "");
    done("load -q -", &tsv(0..1500));
    let expected = tsv(0..1500);
    let keys: String =
        expected.lines().map(|line| line.split('\t').next().unwrap().to_owned() + "\n").collect();
    assert_eq!(done("get -", &keys), expected);
    let status: serde_json::Value = serde_json::from_str(&done("status --json", "")).unwrap();
    let mut shown: Vec<&str> = status["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| server["address"].as_str().unwrap())
        .collect();
    shown.sort_unstable();
    let mut wanted: Vec<&str> = servers.iter().map(String::as_str).collect();
    wanted.sort_unstable();
    assert_eq!(shown, wanted);
    // Slabs move over encrypted connections as well.
    done(&format!("balance -q --exchanges 0 --drain {}", servers[0]), "");
    assert_eq!(done("get -", &keys), expected);
    // Another prefix is another store, and not this user's.
    let output = cluster
        .run(&format!("get --cluster {url} --tls-ca {authority} --password-file {password} a"), "");
    assert_eq!(output.status.code(), Some(1));
    assert!(message(&output).contains("NOPERM"), "{}", message(&output));
}

#[test]
fn servers_that_cannot_be_trusted_are_named() {
    let Some(cluster) = Cluster::start_encrypted(1) else { return };
    let server = &cluster.servers[0];
    let (tls, plain) = (server.tls_address(), server.address());
    let authority = cluster.folder.path().join("ca.crt").display().to_string();
    let empty = cluster.write("empty.crt", "");
    let fails = |line: &str, part: &str| {
        let begin = Instant::now();
        let output = cluster.run(&format!("get a {line}"), "");
        let message = message(&output);
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        assert!(message.contains(part), "{line}: {message}");
        assert!(begin.elapsed() < Duration::from_secs(30), "{line}: {message}");
    };
    let name = |address: &str| format!("cannot talk to the server {address}");
    fails(&format!("--cluster rediss://{tls} --tls-ca {authority}"), "there is no store");
    // An authority that the system does not know; a certificate for another name; no authority.
    fails(&format!("--cluster rediss://{tls}"), &name(&tls));
    let other = tls.replace("127.0.0.1", "localhost");
    fails(&format!("--cluster rediss://{other} --tls-ca {authority}"), &name(&other));
    fails(&format!("--cluster rediss://{tls} --tls-ca {empty}"), "certificate");
    fails(
        &format!("--cluster rediss://{tls} --tls-ca {empty}.none"),
        "cannot read the certificate",
    );
    // Encrypted or not on one side only.
    fails(&format!("--cluster rediss://{plain} --tls-ca {authority}"), &name(&plain));
    fails(&format!("--cluster redis://{tls}"), &name(&tls));
}
