//! `docs/kbf-commands.md` is true: each command of its examples gives the output shown, by redis-cli.

use std::io::Write;
use std::process::{Command, Stdio};

use super::client::Reply;
use super::server::{Server, programs};

/// Commands and what they print, in their order.
fn examples() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/kbf-commands.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut examples: Vec<(String, String)> = vec![];
    let mut is_inside = false;
    for line in text.lines() {
        match (is_inside, line.strip_prefix("redis> ")) {
            (false, _) => is_inside = line == "```redis-cli",
            (true, Some(command)) => examples.push((command.to_owned(), String::new())),
            (true, None) if line == "```" => is_inside = false,
            (true, None) => {
                let (_, output) = examples.last_mut().expect("a command before its output");
                *output += line;
                output.push('\n');
            }
        }
    }
    examples
}

/// What redis-cli prints; `None` if there is none.
fn printed(server: &Server, command: &str) -> Option<String> {
    let mut cli = Command::new("redis-cli");
    cli.args(["-p", &server.port(), "--no-raw"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = cli.spawn().ok()?;
    writeln!(child.stdin.take().unwrap(), "{command}").unwrap();
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_example_prints_what_is_shown() {
    let examples = examples();
    assert!(examples.len() > 20, "{} examples", examples.len());
    for program in programs() {
        let server = Server::start(&program, "");
        for (command, shown) in &examples {
            let Some(printed) = printed(&server, command) else {
                eprintln!("SKIPPED: no redis-cli is installed");
                return;
            };
            assert_eq!(printed.trim_end(), shown.trim_end(), "{}: {command}", program.display());
        }
    }
}

/// Every command that the page documents is there, with its flags, key specification and categories.
#[test]
fn commands_are_declared_as_documented() {
    let text = include_str!("../../../../docs/kbf-commands.md");
    for program in programs() {
        let server = Server::start(&program, "");
        let mut client = server.client();
        let has_categories = !matches!(client.say("ACL CAT kbf"), Reply::Error(_));
        let mut seen = 0;
        for section in text.split("\n## KBF.").skip(1) {
            let name = format!("kbf.{}", section.lines().next().unwrap().to_lowercase());
            let flags = section.lines().find(|line| line.starts_with("- **Flags**")).unwrap();
            let mut info = client.say(&format!("COMMAND INFO {name}")).array();
            let info = info.remove(0).array();
            let names = |reply: &Reply| format!("{reply:?}").to_lowercase();
            let kind = if flags.contains("readonly") { "readonly" } else { "write" };
            assert!(names(&info[2]).contains(&format!("\"{kind}\"")), "{name}: {:?}", info[2]);
            assert_eq!(names(&info[2]).contains("denyoom"), flags.contains("denyoom"), "{name}");
            assert_eq!(info[3], Reply::Integer(1), "{name}: its first key");
            let key = flags.split("**Key**: ").nth(1).unwrap();
            for word in key.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
                assert!(names(&info[8]).contains(&word.to_lowercase()), "{name}: {word}");
            }
            if has_categories {
                for category in flags.split('`').filter(|word| word.starts_with('@')) {
                    assert!(names(&info[6]).contains(category), "{name}: {category}");
                }
            }
            seen += 1;
        }
        assert_eq!(seen, 8);
    }
}
