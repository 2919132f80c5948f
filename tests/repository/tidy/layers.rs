//! Which module may import which: `A ← B ← C ← D ← E ← F`, imports go upward only.

use super::source::Source;

/// The layer of each module of `src/`. A new module gets its line here, or the test fails.
const LAYERS: &[(char, &[&str])] = &[
    ('A', &["time", "flow", "state", "spec", "hash", "random", "units", "memory", "prefetch"]),
    ('B', &["machine", "store", "model", "kv"]),
    ('C', &["capture", "engine"]),
    ('D', &["report"]),
    ('E', &["trace", "experiment", "cluster"]),
    ('F', &["cmd"]),
];

/// Pairs within a layer that must not know each other: (module, what it must not import). The
/// worker joins stores and machines; theory stays independent evidence.
const STRANGERS: &[(&str, &str)] =
    &[("store", "machine"), ("machine", "store"), ("model", "store"), ("store", "model")];

fn layer_of(module: &str) -> Option<char> {
    LAYERS.iter().find(|(_, modules)| modules.contains(&module)).map(|(layer, _)| *layer)
}

/// Imports of `source`'s code, tests aside, that go the wrong way.
pub fn check(source: &Source) -> Vec<String> {
    let Some(path) = source.path.strip_prefix("src/") else { return vec![] };
    let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    let module = parts[0];
    if parts.len() == 1 && ["lib", "main"].contains(&module) {
        return vec![];
    }
    let Some(layer) = layer_of(module) else {
        return vec![format!("{}: `{module}` is in no layer of tests/tidy/layers.rs", source.path)];
    };
    let depth = parts.iter().filter(|part| **part != "mod").count();
    let code = source.code[..source.lines_before_tests].join("\n");
    let mut found = vec![];
    for import in imports(&code) {
        let wrong = match layer_of(&import) {
            None => Some("is in no layer of tests/tidy/layers.rs".to_owned()),
            Some(other) if other > layer => Some(format!("is of layer {other}, below {layer}")),
            Some(_) if STRANGERS.contains(&(module, &import)) => {
                Some(format!("must stay unknown to `{module}`"))
            }
            Some(_) => None,
        };
        found.extend(wrong.map(|why| format!("{}: `crate::{import}` {why}", source.path)));
    }
    if code.contains(&"super::".repeat(depth)) {
        found.push(format!("{}: `super` reaches the crate's root: say `crate`", source.path));
    }
    found
}

/// The top-level modules that `code` names after `crate::`, alone or in braces.
fn imports(code: &str) -> Vec<String> {
    let mut found = vec![];
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with('$') {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(group_heads(group)),
            None => found.push(name_at(rest)),
        }
    }
    found.sort();
    found.dedup();
    // `crate::Type` would be an item of lib.rs, which holds none but modules.
    found.retain(|name| !name.is_empty());
    found
}

fn name_at(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// `a, b::{c, d}, e}` → a, b, e.
fn group_heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut head) = (0, vec![], true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => head = true,
            c if head && !c.is_whitespace() => {
                heads.push(name_at(&group[at..]));
                head = false;
            }
            _ => {}
        }
    }
    heads
}

#[test]
fn sees_imports_in_every_form() {
    let code = "use crate::time::T;\nuse crate::{flow::{A, B}, hash};\nfn f(x: crate::state::S) {}";
    assert_eq!(imports(code), ["flow", "hash", "state", "time"]);
}

#[test]
fn refuses_what_goes_the_wrong_way() {
    let complaints = |path, text| check(&Source::new(path, text));
    for (path, text) in [
        ("src/time.rs", "use crate::capture::Frame;"),
        ("src/store/kbf.rs", "use crate::machine::Machine;"),
        ("src/machine/mod.rs", "use crate::{flow::Packet, store::Store};"),
        ("src/model/kbf.rs", "use crate::store::kbf;"),
        ("src/capture/mod.rs", "fn f() { crate::cmd::run() }"),
        ("src/capture/mod.rs", "use crate::nowhere::X;"),
        ("src/capture/parse/mod.rs", "use super::super::cmd;"),
        ("src/drawer.rs", ""),
    ] {
        assert_eq!(complaints(path, text).len(), 1, "{path}: {text}");
    }
    for (path, text) in [
        ("src/cmd/inspect.rs", "use crate::capture::Frame;"),
        ("src/capture/parse/mod.rs", "use super::Frame; use crate::time::Timestamp;"),
        ("src/time.rs", "// crate::cmd\n#[cfg(test)]\nmod tests {\n    use crate::capture::X;\n}"),
        ("src/lib.rs", "pub mod anything;"),
    ] {
        assert_eq!(complaints(path, text), [""; 0], "{path}: {text}");
    }
}
