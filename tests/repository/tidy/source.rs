//! Rust source as the checks see it: code without comments and strings, line by line, and where
//! the tests begin.

/// One source file, taken apart once for all checks.
pub struct Source {
    /// Its path from the root of the repository, with `/`.
    pub path: String,
    /// As it stands in the file.
    pub lines: Vec<String>,
    /// The same lines with comments, strings and characters blanked: braces and words in it are code.
    pub code: Vec<String>,
    /// How many lines come before the tests: the file's length if it has none.
    pub lines_before_tests: usize,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let code: Vec<String> = blanked(text).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), code.len(), "{path}: blanking keeps lines");
        let lines_before_tests = lines_before_tests(path, &code);
        Source { path: path.to_owned(), lines, code, lines_before_tests }
    }

    /// The code outside tests, each line with its number, from 1.
    pub fn numbered_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let shown = self.code.iter().take(self.lines_before_tests);
        shown.enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }

    /// Whether line `number` has a comment at its end, or the line above is one.
    pub fn is_explained(&self, number: usize) -> bool {
        let ends_in_comment = self.comment_on(number).is_some();
        ends_in_comment || self.lines_above(number).next().is_some_and(is_comment)
    }

    /// The comment that ends line `number`. What blanking took from the line's end is one, if it
    /// begins with `//`.
    pub fn comment_on(&self, number: usize) -> Option<&str> {
        let code_chars = self.code[number - 1].trim_end().chars().count();
        let line = &self.lines[number - 1];
        let (code_end, _) = line.char_indices().nth(code_chars)?;
        line[code_end..].find("//").map(|at| &line[code_end + at..])
    }

    /// The lines above line `number`, nearest first.
    pub fn lines_above(&self, number: usize) -> impl Iterator<Item = &str> {
        self.lines[..number - 1].iter().rev().map(String::as_str)
    }
}

/// The source folder of the package that a file belongs to: `src` or `crates/NAME/src`; `None` for
/// tests, benches and fuzz targets.
pub fn source_root(path: &str) -> Option<&str> {
    let in_package = match path.strip_prefix("crates/") {
        Some(rest) => rest.split_once('/')?.1,
        None => path,
    };
    let after_root = in_package.strip_prefix("src/")?;
    Some(&path[..path.len() - after_root.len() - 1])
}

pub fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Tests are a `#[cfg(test)] mod … {` at the end, or a whole file named `tests.rs` or in a folder
/// `tests`.
fn lines_before_tests(path: &str, code: &[String]) -> usize {
    if path.ends_with("/tests.rs") || path.contains("/tests/") {
        return 0;
    }
    let begins_tests = |index: &usize| {
        let mut after = code[index + 1..].iter().skip_while(|line| line.trim().starts_with("#["));
        code[*index].trim() == "#[cfg(test)]"
            && after.next().is_some_and(|line| line.contains("mod ") && line.contains('{'))
    };
    (0..code.len()).find(begins_tests).unwrap_or(code.len())
}

/// Whether `word` stands in `line` by itself, not as a part of a longer name.
pub fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let in_name = |c: char| c.is_alphanumeric() || c == '_';
        !line[..at].ends_with(in_name) && !line[at + word.len()..].starts_with(in_name)
    })
}

/// The text with every character of comments, strings and character literals made a space; line
/// ends stay.
fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let length = opaque_length(&chars[at..], at.checked_sub(1).map(|before| chars[before]));
        if length == 0 {
            out.push(chars[at]);
            at += 1;
        } else {
            let end = chars.len().min(at + length);
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { c } else { ' ' }));
            at = end;
        }
    }
    out
}

/// How many characters the comment or literal that begins here has; 0 if none begins here.
fn opaque_length(rest: &[char], before: Option<char>) -> usize {
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match rest {
        ['/', '/', ..] => rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment_length(rest),
        ['"', ..] => quoted_length(rest, '"'),
        ['r', '"' | '#', ..] if !in_name => raw_string_length(rest, 1),
        ['b', 'r', '"' | '#', ..] if !in_name => raw_string_length(rest, 2),
        // A lifetime has no second quote after its first letter.
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => quoted_length(rest, '\''),
        _ => 0,
    }
}

fn block_comment_length(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted_length(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// `rest` begins with a prefix of `prefix` letters, then hashes and a quote; or it is a raw name
/// (`r#type`), which is code.
fn raw_string_length(rest: &[char], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|&&c| c == '#').count();
    if rest.get(prefix + hashes) != Some(&'"') {
        return 0;
    }
    let body = prefix + hashes + 1;
    let ends = |at: &usize| {
        rest[*at] == '"' && rest[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
    };
    (body..rest.len()).find(ends).map_or(rest.len(), |quote| quote + 1 + hashes)
}

#[test]
fn blanking_leaves_code_alone() {
    for (text, code) in [
        ("a // b {\nc", "a       \nc"),
        ("a /* { /* } */ */ b", "a                 b"),
        (r#"f("{ \" }", '{', b'\'')"#, r#"f(        ,    , b    )"#),
        ("r#\"\" {\"# + r#type", "         + r#type"),
        ("fn f<'a>(x: &'a str) -> &'static str {", "fn f<'a>(x: &'a str) -> &'static str {"),
        ("\"two\nlines\" }", "    \n       }"),
    ] {
        assert_eq!(blanked(text), code, "{text}");
    }
}

#[test]
fn source_roots_are_those_of_packages() {
    for (path, root) in [
        ("src/lib.rs", Some("src")),
        ("src/a/src/b.rs", Some("src")),
        ("crates/filters/src/a/mod.rs", Some("crates/filters/src")),
        ("crates/filters/tests/stores/main.rs", None),
        ("tests/support/src/lib.rs", None),
        ("benches/store.rs", None),
    ] {
        assert_eq!(source_root(path), root, "{path}");
    }
}

#[test]
fn tests_begin_at_their_module() {
    let lines = |path, text| Source::new(path, text).lines_before_tests;
    assert_eq!(lines("src/a.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n}\n"), 1);
    assert_eq!(lines("src/a.rs", "#[cfg(test)]\nuse a::b;\nfn f() {}\n"), 3);
    assert_eq!(lines("src/a.rs", "/// ```\n/// #[cfg(test)]\n/// mod t {\nfn f() {}\n"), 4);
    assert_eq!(lines("src/a/tests.rs", "fn f() {}\n"), 0);
}

#[test]
fn a_comment_explains_its_line_or_the_next() {
    let source = Source::new("src/a.rs", "f(\"// no\");\nf(); // why\n// why\nf();\n\nf();\n");
    let explained: Vec<usize> = (1..=6).filter(|&number| source.is_explained(number)).collect();
    assert_eq!(explained, [2, 3, 4]);
}
