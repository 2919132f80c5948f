//! Several inputs, directories, pipes, time windows, and files that are no captures.

use std::fs;
use std::process::Command;
use std::thread;

use acsm::capture::{CaptureError, FileSource, PacketSource, TimeWindow};
use acsm::time::Timestamp;

use super::build::{Order, plain_pcap, read_bytes, read_paths, write};

/// A capture with one packet at each of `seconds`.
fn capture_at(seconds: &[u32], link_type: u32) -> Vec<u8> {
    let mut capture = Order::Little.pcap_header(0xa1b2_c3d4, 4, link_type);
    for &second in seconds {
        capture.extend(Order::Little.pcap_record(second, 0, 60, b"x"));
    }
    capture
}

fn seconds_of(outcome: &super::build::Outcome) -> Vec<u64> {
    outcome.frames.iter().map(|frame| frame.nanos / 1_000_000_000).collect()
}

#[test]
fn files_keep_the_order_given_and_damage_does_not_stop_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let later = write(directory.path(), "later", &capture_at(&[7, 8], 101));
    let mut cut = capture_at(&[5, 6], 1);
    cut.pop();
    let cut = write(directory.path(), "cut", &cut);
    let paths = [later.clone(), cut.clone(), later];
    let outcome = read_paths(&paths, TimeWindow::default()).unwrap();
    assert_eq!(seconds_of(&outcome), [7, 8, 5, 7, 8]);
    assert_eq!(outcome.link_types.iter().map(|link| link.0).collect::<Vec<_>>(), [1, 101]);
    let [damage] = &outcome.damages[..] else { panic!("{:?}", outcome.damages) };
    assert_eq!((&damage.path, damage.offset), (&cut, 24 + 17));
}

#[test]
fn windows_of_time_filter_and_do_not_stop_early() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "capture", &capture_at(&[1, 2, 9, 3, 4], 1));
    let at = |second| Some(Timestamp::new(second, 0));
    for (from, to, expected) in [
        (at(2), at(4), vec![2, 3]),
        (None, at(3), vec![1, 2]),
        (at(3), None, vec![9, 3, 4]),
        (at(10), None, vec![]),
    ] {
        let outcome = read_paths(std::slice::from_ref(&path), TimeWindow { from, to }).unwrap();
        assert_eq!(seconds_of(&outcome), expected);
    }
}

#[test]
fn directories_are_their_captures_in_time_order() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write(at, "a-last.pcap", &capture_at(&[30], 1));
    write(at, "b-tied", &capture_at(&[20, 21], 1));
    write(at, "a-tied", &capture_at(&[20, 22], 1));
    write(at, "z-first", &capture_at(&[10, 99], 1));
    write(at, "no-packets.pcap", &capture_at(&[], 101));
    write(at, "notes.txt", b"not a capture");
    write(at, "empty.pcap", b"");
    let broken = write(at, "broken.gz", &[0x1f, 0x8b, 8, 0]);
    fs::create_dir(at.join("below")).unwrap();
    write(&at.join("below"), "hidden.pcap", &capture_at(&[1], 1));
    let outcome = read_paths(&[at.to_owned()], TimeWindow::default()).unwrap();
    assert_eq!(seconds_of(&outcome), [10, 99, 20, 22, 20, 21, 30]);
    assert_eq!(outcome.link_types.iter().map(|link| link.0).collect::<Vec<_>>(), [1, 101]);
    let [damage] = &outcome.damages[..] else { panic!("{:?}", outcome.damages) };
    assert_eq!(
        damage.path, broken,
        "what may have been a capture is not skipped without a message"
    );
}

#[test]
fn directories_without_captures_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "notes.txt", b"not a capture");
    let error = read_paths(&[directory.path().to_owned()], TimeWindow::default()).unwrap_err();
    assert!(matches!(error, CaptureError::EmptyDirectory { .. }), "{error}");
}

#[test]
fn what_cannot_be_read_is_an_error_before_the_first_frame() {
    let directory = tempfile::tempdir().unwrap();
    let good = write(directory.path(), "good", &plain_pcap(1));
    let text = write(directory.path(), "text", b"hello");
    let open = |last| FileSource::open(&[good.clone(), last], TimeWindow::default()).err();
    let error = open(text).expect("an error");
    assert!(error.to_string().contains("it looks like text"), "{error}");
    let error = open(directory.path().join("missing")).expect("an error");
    assert!(matches!(error, CaptureError::Io { .. }), "{error}");
    let error = FileSource::open(&["-".into(), "-".into()], TimeWindow::default()).err();
    assert!(matches!(error, Some(CaptureError::StandardInputTwice)));
}

#[test]
fn tiny_files_are_no_captures() {
    for (bytes, expected) in [
        (&b""[..], "an empty file"),
        (&[0xd4, 0xc3, 0xb2], "data of an unknown kind that begins d4 c3 b2"),
        (b"\n\r\r\nhello world", "text"),
    ] {
        match read_bytes(bytes) {
            Err(CaptureError::NotACapture { looks_like, .. }) => assert_eq!(looks_like, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pipes_need_no_seeking_and_give_frames_as_they_arrive() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: mkfifo is missing, no pipe was read");
        return;
    }
    let (wrote, proceed) = crossbeam_channel::bounded::<()>(0);
    let writer = thread::spawn({
        let path = path.clone();
        move || {
            use std::io::Write;
            let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
            pipe.write_all(&capture_at(&[1], 1)).unwrap();
            proceed.recv().unwrap(); // the reader has the first frame while the pipe is open
            pipe.write_all(&Order::Little.pcap_record(2, 0, 60, b"y")).unwrap();
        }
    });
    let mut source = FileSource::open(&[path], TimeWindow::default()).unwrap();
    assert_eq!(source.progress().total_bytes(), None);
    assert_eq!(source.next_frame().unwrap().map(|frame| frame.bytes.to_vec()), Some(vec![b'x']));
    wrote.send(()).unwrap();
    assert_eq!(source.next_frame().unwrap().map(|frame| frame.bytes.to_vec()), Some(vec![b'y']));
    assert!(source.next_frame().unwrap().is_none());
    writer.join().unwrap();
}

#[test]
fn progress_counts_the_bytes_of_all_files() {
    let directory = tempfile::tempdir().unwrap();
    let capture = plain_pcap(100);
    let path = write(directory.path(), "capture", &capture);
    let mut source = FileSource::open(&[path.clone(), path], TimeWindow::default()).unwrap();
    let progress = source.progress();
    assert_eq!(progress.total_bytes(), Some(2 * capture.len() as u64));
    while source.next_frame().unwrap().is_some() {}
    assert_eq!(progress.read_bytes(), 2 * capture.len() as u64);
}
