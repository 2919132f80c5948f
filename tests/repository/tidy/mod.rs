//! The style, kept by a test. Each check takes a file and returns complaints; each has its
//! own test, which shows that it can fail.

mod cycles;
mod layers;
pub mod source;

use std::fs;

use acsm_test_support::repository::{read, root};
use source::{Source, has_word, is_comment, source_root};

/// Lines of a file before its tests.
const FILE_LINES_MAX: usize = 420;
/// Lines of a function, its signature and braces included.
const FUNCTION_LINES_MAX: usize = 70;
const FILE_BYTES_MAX: u64 = 2 << 20;
/// Integration test programs of all packages: each is linked with everything.
const TEST_PROGRAMS_MAX: usize = 8;

/// What the core must not call: time comes with packets, randomness from the seed.
const BANNED_IN_CORE: &[&str] = &["Instant::now", "SystemTime::now", "thread_rng", "rand::rng"];
/// Not the core: what talks to users and other programs, and measures time.
const OUTSIDE_CORE: &[&str] = &["src/cluster/", "src/cmd/", "src/live/"];

/// Files that may hold `unsafe`, each use with a SAFETY comment.
const UNSAFE_ALLOWED: &[&str] = &[
    "crates/filters/src/digest.rs",
    "crates/filters/src/kv/locate.rs",
    "crates/filters/src/memory.rs",
    "crates/redis/src/server.rs",
    "src/capture/live/enabled/linux_sockets.rs",
    "tests/allocations.rs",
];
/// What may panic, and in what way, only with a reason beside it.
const PANICS: &[&str] = &[".unwrap()", ".expect(", "panic!(", "unreachable!("];

/// Folders that hold no files of ours.
const NOT_OURS: &[&str] =
    &[".git", "target", "report", "fuzz/corpus", "fuzz/artifacts", "fuzz/coverage"];

#[test]
fn source_files_are_tidy() {
    let map = read("src/lib.rs");
    let mut complaints = vec![];
    let sources = sources();
    for source in &sources {
        complaints.extend(begins_with_its_subject(source));
        complaints.extend(unsafe_is_named_and_justified(source));
        complaints.extend(names_no_module_file(source));
        if source_root(&source.path).is_some() {
            complaints.extend(is_short(source));
            complaints.extend(functions_fit_a_screen(source));
            complaints.extend(layers::check(source));
            complaints.extend(core_is_deterministic(source));
            complaints.extend(panics_have_reasons(source));
            complaints.extend(is_on_the_map(&source.path, &map));
        }
    }
    complaints.extend(cycles::check(&sources, cycles::CYCLES_KNOWN));
    complaints.sort();
    complaints.dedup(); // a folder off the map is one complaint, not one per file
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn files_are_portable_and_small() {
    let mut complaints = vec![];
    for path in files_of_ours() {
        complaints.extend(is_small(&path, root().join(&path).metadata().unwrap().len()));
        // This file names what it looks for.
        if path != file!() {
            let bytes = fs::read(root().join(&path)).unwrap();
            complaints.extend(names_no_machine(&path, &String::from_utf8_lossy(&bytes)));
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn test_programs_are_few() {
    let files = files_of_ours();
    let programs: Vec<&String> = files.iter().filter(|path| is_test_program(path)).collect();
    assert!((1..=TEST_PROGRAMS_MAX).contains(&programs.len()), "{programs:?}");
}

#[test]
fn files_that_may_hold_unsafe_do() {
    for path in UNSAFE_ALLOWED {
        let source = Source::new(path, &read(path));
        assert!(source.code.iter().any(|line| has_word(line, "unsafe")), "{path} holds none");
    }
}

/// Every Rust file of ours.
pub fn sources() -> Vec<Source> {
    let files = files_of_ours();
    let rust = files.iter().filter(|path| path.ends_with(".rs"));
    rust.map(|path| Source::new(path, &read(path))).collect()
}

/// Every file but build results, by its path from the root.
fn files_of_ours() -> Vec<String> {
    let (mut files, mut folders) = (vec![], vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().expect("file names are UTF-8");
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let ours = !NOT_OURS.contains(&path.as_str()) && path != "fuzz/target";
            match entry.file_type().unwrap() {
                kind if ours && kind.is_dir() => folders.push(path),
                kind if ours && kind.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    assert!(files.iter().any(|path| path == "src/lib.rs"), "the walk finds the source");
    files
}

fn begins_with_its_subject(source: &Source) -> Option<String> {
    let first = source.lines.first().map_or("", String::as_str);
    (!first.starts_with("//! "))
        .then(|| format!("{}:1: begin with a `//!` line that says the subject", source.path))
}

fn is_short(source: &Source) -> Option<String> {
    let lines = source.lines_before_tests;
    (lines > FILE_LINES_MAX).then(|| {
        format!("{}: {lines} lines before the tests, at most {FILE_LINES_MAX}", source.path)
    })
}

fn functions_fit_a_screen(source: &Source) -> Vec<String> {
    let complaint = |(first, last): (usize, usize)| {
        let lines = last - first + 1;
        (lines > FUNCTION_LINES_MAX).then(|| {
            format!("{}:{first}: {lines} lines, at most {FUNCTION_LINES_MAX}", source.path)
        })
    };
    functions(source).into_iter().filter_map(complaint).collect()
}

/// First and last line of each function outside tests that has a body.
fn functions(source: &Source) -> Vec<(usize, usize)> {
    let starts = source.numbered_code().filter(|(_, line)| has_word(line, "fn"));
    starts.filter_map(|(first, line)| Some((first, body_end(source, first, line)?))).collect()
}

/// The line of the brace that closes the function named in line `first`; `None` for a declaration
/// without a body, and for a function type, which has no name.
fn body_end(source: &Source, first: usize, line: &str) -> Option<usize> {
    let (_, name) = line.split_once("fn ")?;
    name.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(())?;
    // Brackets of the signature hide the `;` of array types.
    let (mut brackets, mut braces) = (0_i32, 0_i32);
    let mut skip = line.len() - name.len();
    for (index, line) in source.code.iter().enumerate().skip(first - 1) {
        for c in line.get(skip..).unwrap_or("").chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                ';' if braces == 0 && brackets == 0 => return None,
                '{' => braces += 1,
                '}' => braces -= 1,
                _ => continue,
            }
            if c == '}' && braces == 0 {
                return Some(index + 1);
            }
        }
        skip = 0;
    }
    None
}

fn core_is_deterministic(source: &Source) -> Vec<String> {
    if OUTSIDE_CORE.iter().any(|outside| source.path.starts_with(outside)) {
        return vec![];
    }
    let complaint = |(number, line): (usize, &str)| {
        let call = BANNED_IN_CORE.iter().find(|call| line.contains(**call))?;
        Some(format!("{}:{number}: `{call}` in the core", source.path))
    };
    source.numbered_code().filter_map(complaint).collect()
}

fn panics_have_reasons(source: &Source) -> Vec<String> {
    let complaint = |(number, line): (usize, &str)| {
        let call = PANICS.iter().find(|call| line.contains(**call))?;
        (!source.is_explained(number))
            .then(|| format!("{}:{number}: `{call}` without a `// why`", source.path))
    };
    source.numbered_code().filter_map(complaint).collect()
}

/// Modules are where Rust looks for them, and shared code is in a crate.
fn names_no_module_file(source: &Source) -> Option<String> {
    let index = source.code.iter().position(|line| line.trim_start().starts_with("#[path"))?;
    Some(format!("{}:{}: `#[path]`: share code by a crate", source.path, index + 1))
}

/// Whether Cargo makes a test program of this file.
fn is_test_program(path: &str) -> bool {
    let in_package = match path.strip_prefix("crates/").and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => rest,
        None => path,
    };
    let Some(path) = in_package.strip_prefix("tests/") else { return false };
    let is_folder_with_main = path.split('/').count() == 2 && path.ends_with("/main.rs");
    is_folder_with_main || (!path.contains('/') && path.ends_with(".rs"))
}

/// Everywhere, tests included.
fn unsafe_is_named_and_justified(source: &Source) -> Vec<String> {
    let mut complaints = vec![];
    for (index, line) in source.code.iter().enumerate() {
        let number = index + 1;
        if !has_word(line, "unsafe") {
            continue;
        }
        let mut comments = source.lines_above(number).take_while(|line| is_comment(line));
        let justified = comments.any(|line| line.contains("SAFETY:"))
            || source.comment_on(number).is_some_and(|comment| comment.contains("SAFETY:"));
        if !UNSAFE_ALLOWED.contains(&source.path.as_str()) {
            complaints.push(format!("{}:{number}: `unsafe` is not for this file", source.path));
        } else if !justified {
            complaints.push(format!("{}:{number}: `unsafe` without `// SAFETY:`", source.path));
        }
    }
    complaints
}

/// Each file or folder right under `src/` is in the table that opens `lib.rs`.
fn is_on_the_map(path: &str, map: &str) -> Option<String> {
    let module = path.strip_prefix("src/")?.split('/').next()?.trim_end_matches(".rs");
    let link = format!("[`{module}`]");
    let known = ["lib", "main"].contains(&module)
        || map.lines().any(|line| line.starts_with("//! |") && line.contains(&link));
    (!known).then(|| format!("src/lib.rs: {link} is not on the map"))
}

fn is_small(path: &str, bytes: u64) -> Option<String> {
    (bytes > FILE_BYTES_MAX).then(|| format!("{path}: {bytes} bytes, at most {FILE_BYTES_MAX}"))
}

/// Folders of machines, spelt so that this file does not name them.
const MACHINE_FOLDERS: [&str; 2] = [concat!("/", "work/"), concat!("/", "root/")];

/// No path of the machine on which something was written.
fn names_no_machine(path: &str, text: &str) -> Vec<String> {
    let is_home = |line: &str| {
        line.match_indices("/home/").any(|(at, home)| {
            let user = line[at + home.len()..].split('/').next().unwrap_or("");
            let ends = line.len() > at + home.len() + user.len();
            ends && !user.is_empty() && user.bytes().all(|b| b.is_ascii_lowercase())
        })
    };
    let complaint = |(index, line): (usize, &str)| {
        let named = MACHINE_FOLDERS.iter().any(|folder| line.contains(folder)) || is_home(line);
        named.then(|| format!("{path}:{}: names a path of one machine", index + 1))
    };
    text.lines().enumerate().filter_map(complaint).collect()
}

mod each_check_can_complain {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("src/capture/bad.rs", text)
    }

    #[test]
    fn of_a_missing_subject() {
        assert!(begins_with_its_subject(&source("use a;\n")).is_some());
        assert!(begins_with_its_subject(&source("")).is_some());
        assert!(begins_with_its_subject(&source("//! What.\n")).is_none());
    }

    #[test]
    fn of_long_files() {
        let tests = "#[cfg(test)]\nmod tests {\n}\n";
        assert!(is_short(&source(&"\n".repeat(FILE_LINES_MAX + 1))).is_some());
        assert!(is_short(&source(&("\n".repeat(FILE_LINES_MAX) + tests))).is_none());
    }

    #[test]
    fn of_long_functions() {
        let function = |lines: usize| {
            let body = "    g(\"}\"); // }\n".repeat(lines - 3);
            format!("const fn f<'a>(\n    x: [u8; 4]) -> fn(u8) {{\n{body}}}\nfn g();\n")
        };
        let long = functions_fit_a_screen(&source(&function(FUNCTION_LINES_MAX + 1)));
        assert_eq!(long, ["src/capture/bad.rs:1: 71 lines, at most 70"]);
        assert_eq!(functions(&source(&function(FUNCTION_LINES_MAX))), [(1, FUNCTION_LINES_MAX)]);
        assert!(functions_fit_a_screen(&source(&function(FUNCTION_LINES_MAX))).is_empty());
    }

    #[test]
    fn of_clocks_in_the_core() {
        let text = "// Instant::now\nlet t = std::time::Instant::now();\n";
        assert_eq!(core_is_deterministic(&source(text)).len(), 1);
        assert!(core_is_deterministic(&Source::new("src/cmd/replay.rs", text)).is_empty());
    }

    #[test]
    fn of_panics() {
        let text = "a.unwrap();\nb.expect(\"c\"); // why\nd.unwrap_or(e);\n/// f.unwrap()\n\
                    #[cfg(test)]\nmod tests {\n    g.unwrap();\n}\n";
        assert_eq!(
            panics_have_reasons(&source(text)),
            ["src/capture/bad.rs:1: `.unwrap()` without a `// why`"]
        );
    }

    #[test]
    fn of_unsafe() {
        let text = "#![allow(unsafe_code)]\n// SAFETY: none\nunsafe { f() }\n";
        assert_eq!(unsafe_is_named_and_justified(&source(text)).len(), 1);
        for &path in UNSAFE_ALLOWED {
            assert!(unsafe_is_named_and_justified(&Source::new(path, text)).is_empty());
            assert_eq!(
                unsafe_is_named_and_justified(&Source::new(path, "unsafe { f() }")).len(),
                1
            );
        }
    }

    #[test]
    fn of_modules_off_the_map() {
        let map = "//! | A | [`time`] | x |\n//! [`prose`]\npub mod state;\n";
        assert!(is_on_the_map("src/state.rs", map).is_some());
        assert!(is_on_the_map("src/prose/mod.rs", map).is_some());
        assert!(is_on_the_map("src/time.rs", map).is_none());
        assert!(is_on_the_map("src/lib.rs", map).is_none());
    }

    #[test]
    fn of_module_files_named() {
        assert!(
            names_no_module_file(&source("// #[path]\n#[path = \"a.rs\"]\nmod a;\n")).is_some()
        );
        assert!(names_no_module_file(&source("// #[path]\nmod a;\n")).is_none());
    }

    #[test]
    fn of_many_test_programs() {
        for path in ["tests/a.rs", "tests/a/main.rs", "crates/f/tests/a/main.rs"] {
            assert!(is_test_program(path), "{path}");
        }
        for path in ["tests/a/b.rs", "tests/a/b/main.rs", "tests/support/src/lib.rs", "src/main.rs"]
        {
            assert!(!is_test_program(path), "{path}");
        }
    }

    #[test]
    fn of_large_files() {
        assert!(is_small("a", FILE_BYTES_MAX + 1).is_some());
        assert!(is_small("a", FILE_BYTES_MAX).is_none());
    }

    #[test]
    fn of_machine_paths() {
        let [work, root] = MACHINE_FOLDERS;
        let home = concat!("/home", "/me/");
        let text =
            format!("cd {work}x\n{home}x\n{root}.cargo\n/home/\n/homes/me/\nhttps://a/works\n");
        assert_eq!(names_no_machine("a", &text).len(), 3);
    }
}
