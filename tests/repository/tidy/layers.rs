//! Which module may import which, per package.
//!
//! In the program imports go upward only, `A ← B ← C ← D ← E ← F`. The crates are usable on their own:
//! none imports another package of ours, but for the server module, which imports the filters. Order within a crate is kept by [`super::cycles`].

use super::source::{Source, has_word, source_root};

/// What holds for the modules of one source root.
struct Rules {
    root: &'static str,
    /// The layer of each module; if there are any, a new module gets its line here, or the test fails.
    layers: &'static [(char, &'static [&'static str])],
    /// Pairs that are independent although the layers would permit it: (module, what it must not
    /// import).
    independent: &'static [(&'static str, &'static str)],
    /// Packages of ours that must not be imported.
    foreign: &'static [&'static str],
}

const RULES: &[Rules] = &[
    Rules {
        root: "src",
        layers: &[
            ('A', &["time", "units", "seed", "atomic_file", "flow"]),
            ('B', &["machine"]),
            ('C', &["capture", "engine"]),
            ('D', &["report", "generate", "reproduce"]),
            ('E', &["live", "cluster"]),
            ('F', &["cmd"]),
        ],
        // Capture knows nothing of flow state. The generator makes captures and shares nothing with
        // what is tested with them.
        independent: &[
            ("capture", "engine"),
            ("generate", "engine"),
            ("generate", "report"),
            ("report", "generate"),
            ("reproduce", "report"),
        ],
        foreign: &[],
    },
    Rules {
        root: "crates/filters/src",
        layers: &[],
        independent: &[],
        foreign: &["acsm", "acsm_model"],
    },
    Rules {
        root: "crates/model/src",
        layers: &[],
        independent: &[],
        foreign: &["acsm", "acsm_filters"],
    },
    Rules {
        root: "crates/redis/src",
        layers: &[],
        independent: &[],
        foreign: &["acsm", "acsm_model"],
    },
];

impl Rules {
    fn layer_of(&self, module: &str) -> Option<char> {
        self.layers.iter().find(|(_, modules)| modules.contains(&module)).map(|(layer, _)| *layer)
    }
}

/// Imports of `source`'s code, tests aside, that go the wrong way.
pub fn check(source: &Source) -> Vec<String> {
    let Some(root) = source_root(&source.path) else { return vec![] };
    let Some(rules) = RULES.iter().find(|rules| rules.root == root) else {
        return vec![format!("{}: `{root}` has no rules in tidy/layers.rs", source.path)];
    };
    let code = source.code[..source.lines_before_tests].join("\n");
    let mut found = foreign_imports(rules, &source.path, &code);
    if !rules.layers.is_empty() {
        found.extend(wrong_layers(rules, &source.path, &code));
    }
    found
}

fn foreign_imports(rules: &Rules, path: &str, code: &str) -> Vec<String> {
    let imported = rules.foreign.iter().filter(|package| has_word(code, package));
    imported.map(|package| format!("{path}: `{package}` must not be imported here")).collect()
}

fn wrong_layers(rules: &Rules, path: &str, code: &str) -> Vec<String> {
    let inside = &path[rules.root.len() + 1..];
    let parts: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    let module = parts[0];
    if parts.len() == 1 && ["lib", "main"].contains(&module) {
        return vec![];
    }
    let Some(layer) = rules.layer_of(module) else {
        return vec![format!("{path}: `{module}` is in no layer of tidy/layers.rs")];
    };
    let mut found = vec![];
    for import in imports(code) {
        let wrong = match rules.layer_of(&import) {
            None => Some("is in no layer of tidy/layers.rs".to_owned()),
            Some(other) if other > layer => Some(format!("is of layer {other}, below {layer}")),
            Some(_) if rules.independent.contains(&(module, &import)) => {
                Some(format!("must not be imported by `{module}`"))
            }
            Some(_) => None,
        };
        found.extend(wrong.map(|why| format!("{path}: `crate::{import}` {why}")));
    }
    let depth = parts.iter().filter(|part| **part != "mod").count();
    if code.contains(&"super::".repeat(depth)) {
        found.push(format!("{path}: `super` reaches the crate's root: say `crate`"));
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
    let code = "use crate::time::T;\nuse crate::{flow::{A, B}, units};\nfn f(x: crate::live::S) {}";
    assert_eq!(imports(code), ["flow", "live", "time", "units"]);
}

#[test]
fn refuses_what_goes_the_wrong_way() {
    let complaints = |path, text| check(&Source::new(path, text));
    for (path, text) in [
        ("src/time.rs", "use crate::capture::Frame;"),
        ("src/machine/mod.rs", "use crate::{flow::Packet, engine::Sink};"),
        ("src/capture/source.rs", "use crate::engine::Sink;"),
        ("src/generate/truth.rs", "use crate::report::format;"),
        ("src/capture/mod.rs", "fn f() { crate::cmd::run() }"),
        ("src/capture/mod.rs", "use crate::nowhere::X;"),
        ("src/capture/parse/mod.rs", "use super::super::cmd;"),
        ("src/drawer.rs", ""),
        ("crates/filters/src/kbf.rs", "use acsm::time::Timestamp;"),
        ("crates/filters/src/kbf.rs", "fn f() { acsm_model::kbf::error() }"),
        ("crates/model/src/kbf.rs", "use acsm_filters::Kbf;"),
        ("crates/unknown/src/lib.rs", ""),
    ] {
        assert_eq!(complaints(path, text).len(), 1, "{path}: {text}");
    }
    for (path, text) in [
        ("src/cmd/inspect.rs", "use crate::capture::Frame;"),
        ("src/capture/parse/mod.rs", "use super::Frame; use crate::time::Timestamp;"),
        ("src/time.rs", "// crate::cmd\n#[cfg(test)]\nmod tests {\n    use crate::capture::X;\n}"),
        ("src/lib.rs", "pub mod anything;"),
        ("src/engine/build.rs", "use acsm_filters::Kbf;"),
        ("crates/filters/src/kbf.rs", "// as acsm does\nuse crate::line::Line;"),
        ("crates/filters/tests/stores/main.rs", "use acsm_model::kbf;"),
    ] {
        assert_eq!(complaints(path, text), [""; 0], "{path}: {text}");
    }
}
