//! Drives a headless Chromium: the document after loading, network requests, screenshots.
//! [`tab`] keeps a page open and controls it.

pub mod tab;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A browser with a fresh profile for each start and no access to other hosts.
pub struct Browser {
    program: PathBuf,
}

/// How a page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
}

impl Browser {
    /// Chromium, if it is installed; else prints that tests are skipped. `scripts/test` installs it.
    pub fn find() -> Option<Browser> {
        let folders: Vec<PathBuf> = std::env::var_os("PATH")
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default();
        let found = ["chromium", "chromium-browser", "google-chrome"].iter().find_map(|name| {
            folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
        });
        if found.is_none() {
            eprintln!(
                "SKIPPED: no chromium here; NO PAGE WAS OPENED. Install it: apt-get install chromium"
            );
        }
        found.map(|program| Browser { program })
    }

    /// Runs the browser on `url` with `arguments`; returns its standard output.
    fn run(&self, url: &str, arguments: &[OsString]) -> String {
        let profile = tempfile::tempdir().unwrap();
        let mut user_data = OsString::from("--user-data-dir=");
        user_data.push(profile.path());
        let output = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-sync",
            ])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args([
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--allow-file-access-from-files",
            ])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"])
            .args(["--virtual-time-budget=20000"])
            .arg(user_data)
            .args(arguments)
            .arg(url)
            .output()
            .expect("chromium runs");
        assert!(
            output.status.success(),
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The page's document after it has loaded.
    pub fn dom(&self, url: &str) -> String {
        self.run(url, &["--dump-dom".into()])
    }

    /// The network requests of a page while it loaded, without those of the browser itself.
    pub fn requests(&self, url: &str, folder: &Path) -> Vec<String> {
        let log = folder.join("net-log.json");
        let mut argument = OsString::from("--log-net-log=");
        argument.push(&log);
        self.run(url, &[argument, "--dump-dom".into()]);
        let log: Value = serde_json::from_slice(&fs::read(&log).unwrap()).expect("a whole net log");
        let events = log["events"].as_array().expect("events").iter().map(|event| &event["params"]);
        let of_page = |params: &&Value| {
            params["initiator"].as_str().is_some_and(|who| who != "not an origin")
        };
        let urls = events.filter(of_page).filter_map(|params| params["url"].as_str());
        let mut urls: Vec<String> = urls.map(str::to_owned).collect();
        urls.sort();
        urls.dedup();
        urls
    }

    /// A screenshot of the page.
    pub fn screenshot(&self, url: &str, screen: Screen, png: &Path) {
        let _ = fs::remove_file(png);
        let mut file = OsString::from("--screenshot=");
        file.push(png);
        let size = format!("--window-size={},{}", screen.width, screen.height);
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!screen.dark));
        self.run(url, &[file, size.into(), scheme.into()]);
        assert!(
            fs::metadata(png).is_ok_and(|png| png.len() > 1000),
            "no picture: {}",
            png.display()
        );
    }
}

/// A `file:` address.
pub fn file_url(path: &Path) -> String {
    format!("file://{}", path.canonicalize().unwrap().display())
}

/// What a browser finds in a page as it is laid out.
#[derive(Debug)]
pub struct Layout {
    /// What is clipped, overlapping, empty or too wide.
    pub complaints: Vec<String>,
    pub figures: u64,
    /// Markers of all figures.
    pub marks: u64,
    /// Rows of the figures' tables.
    pub rows: u64,
    /// The smallest letters of a figure, in pixels.
    pub smallest_text: f64,
}

impl Browser {
    /// Lays each page out in a window of its width and looks for what is wrong. Windows are frames:
    /// a headless browser's own is never as narrow as a phone.
    pub fn layouts(&self, pages: &[(PathBuf, u32)]) -> Vec<Layout> {
        let frame = |(page, width): &(PathBuf, u32)| {
            format!("<iframe src=\"{}\" width=\"{width}\" height=\"900\"></iframe>", file_url(page))
        };
        let frames: String = pages.iter().map(frame).collect();
        let folder = tempfile::tempdir().unwrap();
        let probe = folder.path().join("probe.html");
        fs::write(&probe, include_str!("probe.html").replace("FRAMES", &frames)).unwrap();
        let dom = self.dom(&file_url(&probe));
        let found =
            dom.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let found = found.expect("the probe ran").0.replace("&lt;", "<").replace("&gt;", ">");
        let found: Vec<Value> = serde_json::from_str(&found.replace("&amp;", "&"))
            .unwrap_or_else(|error| panic!("the probe found nothing: {error}"));
        assert_eq!(found.len(), pages.len());
        found.iter().map(Layout::read).collect()
    }

    /// A screenshot of a page as narrow as a phone.
    pub fn phone_screenshot(&self, page: &Path, screen: Screen, png: &Path) {
        let html = format!(
            "<!DOCTYPE html><style>body{{margin:0;background:#888}}iframe{{border:0;display:block}}</style>\
             <iframe src=\"{}\" width=\"{}\" height=\"{}\"></iframe>",
            file_url(page),
            screen.width,
            screen.height
        );
        let folder = tempfile::tempdir().unwrap();
        let frame = folder.path().join("frame.html");
        fs::write(&frame, html).unwrap();
        self.screenshot(&file_url(&frame), screen, png);
    }
}

impl Layout {
    fn read(found: &Value) -> Layout {
        let complaints = found["complaints"].as_array().unwrap().iter();
        Layout {
            complaints: complaints.map(|words| words.as_str().unwrap().to_owned()).collect(),
            figures: found["figures"].as_u64().unwrap(),
            marks: found["marks"].as_u64().unwrap(),
            rows: found["rows"].as_u64().unwrap(),
            smallest_text: found["smallest"].as_f64().unwrap_or(0.0),
        }
    }
}
