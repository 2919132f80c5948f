//! Whole screens, as text, against the files in `screens/`. After an intended change of the
//! drawing, `ACSM_NEW_SCREENS=1 cargo test --test live screens` writes them again: review the difference.

use std::path::PathBuf;

use acsm::live::dashboard::{Action, Dashboard, Key, Look, Shown};
use acsm::live::{History, View};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::run::{busy, interface, silent};

const COLOURS: Look = Look { colours: true };

fn drawn(dashboard: &mut Dashboard, shown: &Shown<'_>, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| dashboard.draw(frame, shown)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let lines = buffer.content.chunks(width).map(|cells| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/live/dashboard/screens/{name}.txt"))
}

fn assert_screen(name: &str, buffer: &Buffer) {
    let (path, screen) = (file(name), text(buffer));
    if std::env::var_os("ACSM_NEW_SCREENS").is_some() {
        std::fs::write(&path, &screen).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(screen == expected, "{name} is\n{screen}\nand should be\n{expected}");
}

fn of<'a>(view: &'a View, history: &'a History) -> Shown<'a> {
    Shown { view: Some(view), history, messages: &[], has_recent_message: false }
}

/// A dashboard on which `keys` were typed.
fn after(keys: &str) -> Dashboard {
    let mut dashboard = Dashboard::new(COLOURS);
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            '\t' => Key::Tab,
            '↓' => Key::PageDown,
            key => Key::Char(key),
        };
        assert_eq!(dashboard.handle(key), Action::Redraw);
        // Scrolling is held within what was drawn.
        let (view, history) = busy();
        drawn(&mut dashboard, &of(&view, &history), (80, 24));
    }
    dashboard
}

#[test]
fn of_a_run_that_has_just_begun() {
    let history = History::default();
    let nothing = Shown { view: None, history: &history, messages: &[], has_recent_message: false };
    assert_screen("first-second-80x24", &drawn(&mut after(""), &nothing, (80, 24)));
    assert_screen("silent-80x24", &drawn(&mut after(""), &of(&silent(), &history), (80, 24)));
}

#[test]
fn of_a_busy_run_at_every_size() {
    let (view, history) = busy();
    let shown = of(&view, &history);
    for (width, height) in [(80, 24), (120, 40), (80, 40), (60, 16), (40, 10)] {
        let name = format!("busy-{width}x{height}");
        assert_screen(&name, &drawn(&mut after(""), &shown, (width, height)));
    }
    assert_screen("sources-60x16", &drawn(&mut after("\t"), &shown, (60, 16)));
    // Nothing panics at the sizes between, nor at very small ones.
    for width in (1..=200).step_by(29) {
        for height in (1..=60).step_by(7) {
            drawn(&mut after(""), &shown, (width, height));
        }
    }
}

#[test]
fn of_what_was_chosen() {
    let (view, history) = busy();
    let said =
        ["acsm: rules read again".to_owned(), "acsm: eth1 is gone (unplugged)\n  x".to_owned()];
    let shown = Shown { messages: &said, has_recent_message: true, ..of(&view, &history) };
    for (name, keys) in [
        ("paused-and-filtered", "p/SCAN\n"),
        ("filter-being-typed", "/2001:db8"),
        ("filter-without-match", "/nonesuch\n"),
        ("gravest-first-scrolled", "s↓"),
        ("by-rule", "ss"),
        ("sources-by-bytes", "\ts"),
        ("help", "?"),
        ("messages", "m"),
    ] {
        assert_screen(name, &drawn(&mut after(keys), &shown, (80, 24)));
    }
}

#[test]
fn of_a_run_in_trouble() {
    let (mut view, history) = busy();
    view.store.live_flows = 250_000;
    view.store.full = 1_234;
    view.one_way = true;
    view.interfaces[1].is_open = false;
    let shown = of(&view, &history);
    assert_screen("trouble-120x40", &drawn(&mut after(""), &shown, (120, 40)));
    let screen = drawn(&mut after(""), &shown, (80, 24));
    assert_screen("trouble-80x24", &screen);
    let colour_of = |words: &str| {
        let screen_text = text(&screen);
        let (row, line) =
            screen_text.lines().enumerate().find(|(_, line)| line.contains(words)).unwrap();
        let column = line[..line.find(words).unwrap()].chars().count();
        screen[(column as u16, row as u16)].fg
    };
    assert_eq!(colour_of("200 (kernel"), Color::Red, "drops grow");
    assert_eq!(colour_of("~250 k"), Color::Red, "more flows than planned");
    assert_eq!(colour_of("kernel 400)"), Color::Reset);
}

#[test]
fn without_colours_there_are_none() {
    let (mut view, history) = busy();
    view.one_way = true;
    let shown = of(&view, &history);
    for (keys, size) in [("", (80, 24)), ("?", (80, 24)), ("p/x", (120, 40)), ("", (40, 10))] {
        let mut dashboard = after(keys);
        let coloured = drawn(&mut dashboard, &shown, size);
        let mut plain = Dashboard::new(Look { colours: false });
        for key in keys.chars() {
            plain.handle(Key::Char(key));
        }
        let screen = drawn(&mut plain, &shown, size);
        for cell in &screen.content {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{cell:?}");
        }
        assert_eq!(text(&screen), text(&coloured), "nothing is said by colours alone");
        assert!(size.0 < 60 || coloured.content.iter().any(|cell| cell.fg != Color::Reset));
        assert!(coloured.content.iter().all(|cell| cell.bg == Color::Reset), "on any background");
    }
}

/// Drops that grow stand out without colours too.
#[test]
fn what_is_red_is_reversed_without_colours() {
    let (view, history) = busy();
    let mut plain = Dashboard::new(Look { colours: false });
    let screen = drawn(&mut plain, &of(&view, &history), (80, 24));
    let row = text(&screen).lines().position(|line| line.starts_with("drops/s")).unwrap();
    let figure = &screen[(16, row as u16)];
    assert!(figure.modifier.contains(Modifier::REVERSED), "{figure:?}");
}

/// Names come from files and from the system: none of them steers the terminal.
#[test]
fn no_control_character_reaches_the_screen() {
    let evil = "\x1b[2J\u{9b}31m\u{202e}\r\n\u{7}evil";
    let (mut view, history) = busy();
    view.interfaces = vec![interface(evil)];
    view.entered = [(evil.to_owned(), 1)].into_iter().collect();
    for alert in &mut view.latest_alerts {
        (alert.rule, alert.message) = (evil.to_owned(), evil.to_owned());
    }
    let said = [evil.to_owned()];
    let shown = Shown { messages: &said, has_recent_message: true, ..of(&view, &history) };
    for (keys, size) in [("", (80, 24)), ("m", (80, 24)), ("", (140, 40))] {
        let screen = drawn(&mut after(keys), &shown, size);
        let bad = |c: char| c.is_control() || c == '\u{202e}';
        assert!(screen.content.iter().all(|cell| !cell.symbol().chars().any(bad)));
        assert!(text(&screen).contains("evil"));
    }
}

/// The sample in the documentation is a screen that was drawn.
#[test]
fn the_documentation_shows_a_real_screen() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/live.md")).unwrap();
    let screen = std::fs::read_to_string(file("busy-80x24")).unwrap();
    assert!(page.contains(&screen), "docs/live.md should show\n{screen}");
}
