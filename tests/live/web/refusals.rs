//! What `--listen` refuses before anything is captured. Needs no rights.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

/// The exit code and the messages of `acsm live` with these options.
fn refused(options: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_acsm"))
        // No interface has this name, so the run would fail here at the latest.
        .args(["live", "-i", "acsm-none"])
        .args(options)
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"");
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn token_file(folder: &tempfile::TempDir, text: &str, mode: u32) -> String {
    let path: PathBuf = folder.path().join("token");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path.into_os_string().into_string().unwrap()
}

#[test]
fn beyond_loopback_a_token_is_needed() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9477", "0.0.0.0"] {
        let (code, words) = refused(&["--listen", address]);
        assert_eq!(code, 2, "{words}");
        assert!(words.contains("--token-file FILE") && words.contains("openssl rand"), "{words}");
    }
    let (code, words) = refused(&["--token-file", "x"]);
    assert!(code == 2 && words.contains("--listen"), "{words}");
}

#[test]
fn tokens_that_could_be_guessed_or_read_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let short = token_file(&folder, "secret\n", 0o600);
    let (code, words) = refused(&["--listen", "0.0.0.0:0", "--token-file", &short]);
    assert!(code == 2 && words.contains("16 to 1024 characters, this one 6"), "{words}");
    assert!(words.contains("--token-file") && !words.contains("secret"), "{words}");

    let open = token_file(&folder, "0123456789abcdef\n", 0o644);
    let (code, words) = refused(&["--listen", "127.0.0.1:0", "--token-file", &open]);
    assert!(code == 1 && words.contains("others can read it; chmod 600"), "{words}");
    let kept = token_file(&folder, "0123456789abcdef\n", 0o600);
    let (_, words) = refused(&["--listen", "127.0.0.1:0", "--token-file", &kept]);
    assert!(!words.contains("others can read it"), "{words}");

    // Only the beginning of an endless file is read.
    let (code, words) = refused(&["--listen", "--token-file", "/dev/zero"]);
    assert!(code == 2 && words.contains("a token is one line"), "{words}");
    let (code, words) = refused(&["--listen", "--token-file", "no-such-file"]);
    assert!(code == 1 && words.contains("--token-file no-such-file"), "{words}");
}

#[test]
fn an_address_in_use_is_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, words) = refused(&["--listen", &address]);
    assert_eq!(code, 1);
    assert!(
        words.contains(&format!("cannot listen on {address}; is another acsm running?")),
        "{words}"
    );
    assert!(!words.contains("acsm-none"), "before anything is captured: {words}");

    let (code, words) = refused(&["--listen", "nonsense"]);
    assert!(code == 2 && words.contains("write 127.0.0.1:9477"), "{words}");
}
