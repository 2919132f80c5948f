//! Drives a headless Chromium: what a page becomes, what it asks the network for, how it looks.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A browser with a fresh profile for each start, and no way to any other host.
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
    /// Chromium, if it is here; says so loudly if not. `scripts/test` installs it.
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

    /// Runs the browser on `url` with `arguments`; gives its standard output.
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

    /// What the page asked the network for while it loaded: every URL but the page's own and
    /// those that an empty page brings about.
    pub fn requests(&self, url: &str, folder: &Path) -> Vec<String> {
        let own = self.logged_requests("about:blank", folder);
        let mut requests = self.logged_requests(url, folder);
        requests.retain(|request| !own.contains(request) && request != url);
        requests
    }

    fn logged_requests(&self, url: &str, folder: &Path) -> Vec<String> {
        let log = folder.join("net-log.json");
        let mut argument = OsString::from("--log-net-log=");
        argument.push(&log);
        self.run(url, &[argument, "--dump-dom".into()]);
        let log: Value = serde_json::from_slice(&fs::read(&log).unwrap()).expect("a whole net log");
        let events = log["events"].as_array().expect("events");
        let urls = events.iter().filter_map(|event| event["params"]["url"].as_str());
        let mut urls: Vec<String> =
            urls.filter(|url| !url.starts_with("chrome")).map(str::to_owned).collect();
        urls.sort();
        urls.dedup();
        urls
    }

    /// A picture of the page.
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
    /// Lays `page` out in a window of this width and looks for what is wrong. The window is a frame:
    /// a headless browser's own is never as narrow as a phone.
    pub fn layout(&self, page: &Path, width: u32) -> Layout {
        let probe = framed(page, include_str!("probe.html"), width, 900);
        let dom = self.dom(&file_url(&probe));
        let found =
            dom.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let found: Value =
            serde_json::from_str(&found.expect("the probe ran").0.replace("&gt;", ">"))
                .unwrap_or_else(|error| panic!("the probe found nothing: {error}"));
        let complaints = found["complaints"].as_array().unwrap().iter();
        Layout {
            complaints: complaints.map(|words| words.as_str().unwrap().to_owned()).collect(),
            figures: found["figures"].as_u64().unwrap(),
            marks: found["marks"].as_u64().unwrap(),
            rows: found["rows"].as_u64().unwrap(),
            smallest_text: found["smallest"].as_f64().unwrap_or(0.0),
        }
    }

    /// A picture of a page as narrow as a phone.
    pub fn phone_screenshot(&self, page: &Path, screen: Screen, png: &Path) {
        const FRAME: &str = "<!DOCTYPE html><style>body{margin:0;background:#888}iframe{border:0;\
            display:block}</style><iframe src=\"PAGE\" width=\"WIDTH\" height=\"HEIGHT\"></iframe>";
        let frame = framed(page, FRAME, screen.width, screen.height);
        self.screenshot(&file_url(&frame), screen, png);
    }
}

/// A page beside `page` that holds it in a frame.
fn framed(page: &Path, html: &str, width: u32, height: u32) -> PathBuf {
    let name = page.file_name().unwrap().to_str().unwrap();
    let html = html.replace("PAGE", name).replace("WIDTH", &width.to_string());
    let path = page.with_file_name(format!("frame-{width}-{name}"));
    fs::write(&path, html.replace("HEIGHT", &height.to_string())).unwrap();
    path
}
