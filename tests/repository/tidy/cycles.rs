//! No cycles between the modules of a folder: what a reader sees first does not depend on what comes
//! after it.
//!
//! The modules of a folder are its files and sub-folders; a sub-folder's files all count as that module.
//! A path that begins with `crate::` or `super::` is a dependency of the module it stands in on the
//! module of the same folder it leads to, directly or by a re-export in the folder's `mod.rs`. The
//! `mod.rs` itself is the folder, not a module of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::source::{Source, has_word, source_root};

/// Folders that may have cycles: none. For a change that has to leave one temporarily; a folder without
/// any must be removed from this list.
pub const CYCLES_KNOWN: &[&str] = &[];

/// The modules of a folder, each with those of the same folder that it depends on.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The cycles of each folder that is not in `known`, and the folders of `known` that have none.
pub fn check(sources: &[Source], known: &[&str]) -> Vec<String> {
    let mut complaints = vec![];
    let graphs = graphs(sources);
    for (folder, graph) in &graphs {
        let (cycles, is_known) = (cycles(graph), known.contains(&folder.as_str()));
        if !is_known {
            let complaint = |cycle: &Vec<&str>| format!("{folder}: a cycle: {}", cycle.join(" → "));
            complaints.extend(cycles.iter().map(complaint));
        } else if cycles.is_empty() {
            complaints.push(format!("{folder}: no cycle any more: take it off CYCLES_KNOWN"));
        }
    }
    let gone = known.iter().filter(|folder| !graphs.contains_key(**folder));
    complaints.extend(gone.map(|folder| format!("{folder}: is gone: take it off CYCLES_KNOWN")));
    complaints
}

/// The graph of every folder, by the folder's path.
fn graphs(sources: &[Source]) -> BTreeMap<String, Graph> {
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for source in sources {
        let Some((root, module)) = module_path(source) else { continue };
        for depth in 0..module.len() {
            let graph = graphs.entry(folder_path(root, &module[..depth])).or_default();
            graph.entry(module[depth].clone()).or_default();
        }
    }
    let reexports: BTreeMap<String, BTreeMap<String, String>> = sources
        .iter()
        .filter(|source| is_folder_file(&source.path))
        .filter_map(|source| {
            let (root, module) = module_path(source)?;
            Some((folder_path(root, &module), reexports(&code_of(source))))
        })
        .collect();
    for source in sources {
        let Some((root, module)) = module_path(source) else { continue };
        for import in paths(&code_of(source), &module) {
            let shared = module.iter().zip(&import).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (module.get(shared), import.get(shared)) else { continue };
            let folder = folder_path(root, &module[..shared]);
            let reexported = reexports.get(&folder).and_then(|names| names.get(to));
            let graph = graphs.get_mut(&folder).expect("every module's folder is there");
            let to = if graph.contains_key(to) { Some(to) } else { reexported };
            if let Some(to) = to.filter(|to| *to != from && graph.contains_key(*to)) {
                graph.get_mut(from).expect("a module of the folder").insert(to.clone());
            }
        }
    }
    graphs
}

/// The code outside tests.
fn code_of(source: &Source) -> String {
    source.code[..source.lines_before_tests].join("\n")
}

fn is_folder_file(path: &str) -> bool {
    path.ends_with("/mod.rs") || path.ends_with("/lib.rs")
}

/// The source root and the module's path from it: `src/a/mod.rs` is `a`, `src/a/b.rs` is `a::b`, and
/// `src/lib.rs` the empty path. A program's `main.rs` is no module.
fn module_path(source: &Source) -> Option<(&str, Vec<String>)> {
    let root = source_root(&source.path)?;
    let path = source.path.strip_prefix(root)?.strip_prefix('/')?;
    let module = match path {
        "lib.rs" => "",
        "main.rs" => return None,
        _ => path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix(".rs"))?,
    };
    Some((root, module.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()))
}

fn folder_path(root: &str, module: &[String]) -> String {
    [&[root.to_owned()], module].concat().join("/")
}

/// The paths in `code` that begin with `crate::` or `super::`, from the crate's root.
fn paths(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let in_path = |c: char| c.is_alphanumeric() || ['_', ':', '$'].contains(&c);
    let mut found = vec![];
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start).filter(|(at, _)| !code[..*at].ends_with(in_path)) {
            let ups = code[at..].split("::").take_while(|name| *name == "super").count();
            let base = match start {
                "crate::" => vec![],
                _ => module[..module.len().saturating_sub(ups)].to_vec(),
            };
            let rest = &code[at + start.len() * ups.max(1)..];
            found.extend(leaves(rest).into_iter().map(|leaf| [base.clone(), leaf].concat()));
        }
    }
    found
}

/// Names that a folder's `mod.rs` takes from the folder's modules: the name, and the module's.
fn reexports(code: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in code.split(';').filter(|statement| has_word(statement, "use")) {
        let Some((_, tree)) = statement.rsplit_once("use ") else { continue };
        for leaf in leaves(tree.trim_start().trim_start_matches("self::")) {
            if let [module, .., name] = leaf.as_slice() {
                found.insert(name.clone(), module.clone());
            }
        }
    }
    found
}

/// Every path of a tree of imports: `a::{b, c::{d as e, f}}` → a::b, a::c::e, a::c::f. The tree ends at
/// the first character that cannot be a part of it.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let (mut found, mut open) = (vec![], vec![]);
    let mut path: Vec<String> = vec![];
    let mut words = tokens(tree).into_iter().peekable();
    while let Some(word) = words.next() {
        match word {
            "::" => {}
            "{" => open.push(path.clone()),
            "," | "}" => {
                let Some(base) = open.last().cloned() else { break };
                found.push(std::mem::replace(&mut path, base.clone()));
                if word == "}" {
                    open.pop();
                    if open.is_empty() {
                        return without_duplicates(found);
                    }
                }
            }
            "as" => path.truncate(path.len().saturating_sub(1)),
            "self" | "*" => {}
            name => {
                path.push(name.to_owned());
                let goes_on = matches!(words.peek(), Some(&"::" | &"as"));
                if open.is_empty() && !goes_on {
                    break;
                }
            }
        }
    }
    found.push(path);
    without_duplicates(found)
}

fn without_duplicates(mut paths: Vec<Vec<String>>) -> Vec<Vec<String>> {
    paths.retain(|path| !path.is_empty() && !path.iter().any(|name| name == "super"));
    paths.sort();
    paths.dedup();
    paths
}

/// Names, `::`, `{`, `}`, `,` and `*`, up to anything else.
fn tokens(tree: &str) -> Vec<&str> {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut rest) = (vec![], tree);
    loop {
        rest = rest.trim_start();
        let name_bytes = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        let bytes = match rest.as_bytes() {
            _ if name_bytes > 0 => name_bytes,
            [b':', b':', ..] => 2,
            [b'{' | b'}' | b',' | b'*', ..] => 1,
            _ => return found,
        };
        found.push(&rest[..bytes]);
        rest = &rest[bytes..];
    }
}

/// The shortest cycle through each module that is on one, each once.
fn cycles(graph: &Graph) -> BTreeSet<Vec<&str>> {
    graph.keys().filter_map(|start| way_back(graph, start)).map(from_first_name).collect()
}

/// The same cycle, from its first name by the alphabet.
fn from_first_name(mut cycle: Vec<&str>) -> Vec<&str> {
    cycle.pop();
    let first = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
    cycle.rotate_left(first);
    cycle.push(cycle[0]);
    cycle
}

/// The shortest way from `start` back to it.
fn way_back<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let (mut came_from, mut queue) = (BTreeMap::new(), VecDeque::from([start]));
    while let Some(module) = queue.pop_front() {
        for next in graph[module].iter().map(String::as_str) {
            if next == start {
                let mut way = vec![start];
                let mut at = module;
                while at != start {
                    way.push(at);
                    at = came_from[at];
                }
                way.push(start);
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, module);
                queue.push_back(next);
            }
        }
    }
    None
}

#[test]
fn sees_paths_in_every_form() {
    let module = ["a".to_owned(), "b".to_owned()];
    let found = |code: &str| -> Vec<String> {
        paths(code, &module).into_iter().map(|path| path.join("::")).collect()
    };
    assert_eq!(found("use crate::x::Y;"), ["x::Y"]);
    assert_eq!(
        found("use super::{c::{D, self as e}, F as G};"),
        ["a::G", "a::c", "a::c::D", "a::e"]
    );
    assert_eq!(found("pub(in super::super) fn f(x: super::super::z::Z) {}"), ["z::Z"]);
    assert_eq!(found("let x = super::c::f(1, 2);\n$crate::y::Z"), ["a::c::f"]);
    assert_eq!(found("use super::c::*;"), ["a::c"]);
}

#[test]
fn complains_of_cycles_and_of_folders_that_have_none() {
    let check = |files: &[(&str, &str)], known| {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, text)).collect();
        check(&sources, known)
    };
    let direct = [("src/a/b.rs", "use super::c::C;"), ("src/a/c.rs", "fn f(b: super::b::B) {}")];
    assert_eq!(check(&direct, &[]), ["src/a: a cycle: b → c → b"]);
    assert_eq!(check(&direct, &["src/a"]), [""; 0]);
    let long = [
        ("src/a.rs", "use crate::b::x::X;"),
        ("src/b/mod.rs", ""),
        ("src/b/x.rs", "use crate::{c, d::D};"),
        ("src/c.rs", "use crate::a::A;"),
    ];
    assert_eq!(check(&long, &[]), ["src: a cycle: a → b → c → a"]);
    let reexported = [
        ("crates/f/src/lib.rs", "mod a;\nmod b;\npub use a::{A, B as C};"),
        ("crates/f/src/a.rs", "use crate::b::f;"),
        ("crates/f/src/b.rs", "use crate::C;"),
    ];
    assert_eq!(check(&reexported, &[]), ["crates/f/src: a cycle: a → b → a"]);

    let none = [
        ("src/a/mod.rs", "mod b;\nmod c;\nuse b::B;\npub struct A;"),
        (
            "src/a/b.rs",
            "use super::A;\nuse super::c::C;\n#[cfg(test)]\nmod tests {\n    use super::*;\n}",
        ),
        (
            "src/a/c.rs",
            "// super::b::B\nuse crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::a::b::B;\n}",
        ),
    ];
    assert_eq!(check(&none, &[]), [""; 0]);
    let told = [
        "src/a: no cycle any more: take it off CYCLES_KNOWN",
        "src/z: is gone: take it off CYCLES_KNOWN",
    ];
    assert_eq!(check(&none, &["src/a", "src/z"]), told);
}
