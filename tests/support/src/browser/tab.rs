//! A page that stays open: evaluates expressions, types, takes screenshots. Through the DevTools
//! protocol, over pipes: JSON with a zero byte at its end.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Browser, Screen};

/// The longest wait for an answer: after that the test fails.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Tab {
    browser: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    calls: u64,
    _profile: tempfile::TempDir,
    /// Addresses that the page requested.
    pub requests: Vec<String>,
    /// Errors of its scripts, and what its policy forbade.
    pub complaints: Vec<String>,
}

impl Browser {
    /// An empty page.
    pub fn tab(&self) -> Tab {
        let profile = tempfile::tempdir().unwrap();
        // The browser expects its pipes at 3 and 4.
        let mut browser = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"])
            .arg(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"])
            .args(["--remote-debugging-pipe", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = browser.stdin.take().unwrap();
        let out = BufReader::new(browser.stdout.take().unwrap());
        let (tell, from) = channel();
        std::thread::spawn(move || {
            for message in out.split(0).map_while(Result::ok) {
                let _ = tell.send(serde_json::from_slice(&message).expect("JSON"));
            }
        });
        let (requests, complaints) = (vec![], vec![]);
        let mut tab = Tab {
            browser,
            to,
            from,
            session: None,
            calls: 0,
            _profile: profile,
            requests,
            complaints,
        };
        let target = tab.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = tab.call("Target.attachToTarget", attach);
        tab.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab
    }
}

impl Tab {
    /// Calls a method of the protocol and returns its result.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            call["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&call).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let message = self.from.recv_timeout(WAIT_TIMEOUT);
            let mut message = message.unwrap_or_else(|_| panic!("{method}: no answer"));
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.requests.extend(params["request"]["url"].as_str().map(str::to_owned));
            }
            Some("Runtime.exceptionThrown") => self.complaints.push(params.to_string()),
            // An answer such as 503 is no error of the page.
            Some("Log.entryAdded") if params["entry"]["source"] != "network" => {
                self.complaints.push(params["entry"]["text"].to_string());
            }
            _ => {}
        }
    }

    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// Waits until an expression is true.
    pub fn wait_until(&mut self, expression: &str) {
        let started = Instant::now();
        while self.value(expression) != true {
            if started.elapsed() > WAIT_TIMEOUT {
                let page = self.text("document.body.innerText.slice(0, 600)");
                panic!("timed out waiting until {expression}\n{:?}\n{page}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types into the element that has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Presses a key of this name.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key}));
        }
    }

    /// Moves the pointer.
    pub fn point_at(&mut self, x: f64, y: f64) {
        let params = json!({"type": "mouseMoved", "x": x, "y": y});
        self.call("Input.dispatchMouseEvent", params);
    }

    /// Shows the page on another screen.
    pub fn set_screen(&mut self, screen: Screen) {
        let Screen { width, height, dark } = screen;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// A screenshot of the whole page.
    pub fn picture(&mut self, png: &Path) {
        let shot = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", shot);
        let bytes = from_base64(picture["data"].as_str().unwrap());
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 1000, "no picture");
        fs::write(png, bytes).unwrap();
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').collect();
    let group = |four: &[u8]| {
        let bits =
            four.iter().fold(0, |bits, byte| bits << 6 | digit(*byte)) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}
