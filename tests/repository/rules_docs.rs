//! `docs/rules.md` is true: its example loads, its table is that of the shipped rules.

use std::collections::BTreeMap;
use std::fs;

use acsm::machine::{Preset, Rule, Rules};

fn document() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules.md")).unwrap()
}

fn table_row(rule: &Rule, on: &[&str]) -> String {
    let or_dash = |text: &str| if text.is_empty() { "—".to_owned() } else { text.to_owned() };
    let others = &rule.counterparts;
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |",
        rule.name,
        rule.message,
        rule.signature_id,
        rule.severity,
        rule.kind.name(),
        or_dash(&on.join(", ")),
        or_dash(&others.suricata),
        or_dash(&others.snort),
        or_dash(&others.zeek),
    )
}

#[test]
fn the_table_lists_every_shipped_rule_as_it_is() {
    let files = [(Preset::Paper, "tcp-flags"), (Preset::Operator, "tcp-connection")];
    let files = files.map(|(preset, name)| (preset, Rules::load(name).unwrap()));
    let mut rules = BTreeMap::new();
    for rule in files.iter().flat_map(|(_, loaded)| loaded.list.iter()) {
        let is_on = |loaded: &Rules, preset| {
            let known = loaded.list.find(&rule.name);
            known.is_some_and(|known| loaded.list.on_in(preset).contains(known.id))
        };
        let on = files.iter().filter(|(preset, loaded)| is_on(loaded, *preset));
        let on: Vec<&str> = on.map(|(preset, _)| preset.name()).collect();
        rules.insert(rule.signature_id, table_row(rule, &on));
    }
    let wanted: Vec<String> = rules.into_values().collect();
    let document = document();
    let (_, section) = document.split_once("## The rules that come with acsm").unwrap();
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, wanted, "the table should be:\n{}\n", wanted.join("\n"));
}

#[test]
fn the_worked_example_loads_without_a_warning() {
    let document = document();
    let (_, rest) = document.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("example.toml");
    fs::write(&path, example).unwrap();
    let rules = Rules::load(path.to_str().unwrap()).unwrap();
    assert_eq!(rules.warnings, []);
}
