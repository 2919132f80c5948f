//! What a file that is not a capture looks like, for the error message.

/// First bytes of files that people confuse with captures.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"snoop\0\0\0", "a snoop capture (convert it with editcap)"),
    (b"GMBU", "a Network Monitor capture (convert it with editcap)"),
    (b"RTSS", "a Network Monitor 1 capture (convert it with editcap)"),
    (b"TRSNIFF data", "a Sniffer capture (convert it with editcap)"),
    (b"XCP\0", "a NetXRay capture (convert it with editcap)"),
    (b"\x1c\x00\x01\xac", "an IXIA capture (convert it with editcap)"),
    (b"\xac\x01\x00\x1c", "an IXIA capture (convert it with editcap)"),
    (b"BZh", "a bzip2 file (decompress it first)"),
    (b"\x02\x21\x4c\x18", "an lz4 file of the old kind (decompress it first)"),
    (b"\x1f\x9d", "a compress (.Z) file (decompress it first)"),
    (b"\x5d\x00\x00", "an lzma file of the old kind (decompress it first)"),
    (b"PK\x03\x04", "a zip archive (unpack it first)"),
    (b"Rar!", "a rar archive (unpack it first)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive (unpack it first)"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "an SQLite database"),
    (b"#!", "a script"),
    (b"version https://git-lfs", "a Git LFS pointer (fetch the file itself with git lfs pull)"),
    (b"{", "JSON"),
];

/// What the first bytes of a file suggest.
pub(super) fn looks_like(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "an empty file".to_owned();
    }
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning)) {
        return (*kind).to_owned();
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return "a tar archive (unpack it first)".to_owned();
    }
    if bytes.iter().all(|&byte| byte == 0) {
        return "zeros".to_owned();
    }
    if is_text(bytes) {
        return if is_html(bytes) { "an HTML page" } else { "text" }.to_owned();
    }
    if is_erf(bytes) {
        return "an ERF capture (convert it with editcap)".to_owned();
    }
    let first: Vec<String> = bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("data of an unknown kind that begins {}", first.join(" "))
}

/// No control characters but white space; what is cut off at the end may break a character.
fn is_text(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    valid && bytes.iter().all(|byte| *byte >= 0x20 || b"\t\n\r\x0c\x1b".contains(byte))
}

fn is_html(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    ["<!doctype html", "<html"].iter().any(|tag| {
        start.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
    })
}

/// ERF has no magic number: a known record type, and a record length that fits its wire length.
fn is_erf(bytes: &[u8]) -> bool {
    let Some(&[kind, _, high, low, ..]) = bytes.get(8..16) else { return false };
    let record_bytes = u16::from_be_bytes([high, low]);
    matches!(kind & 0x7f, 1..=6 | 16 | 20 | 21) && (16..=10_000).contains(&record_bytes)
}

#[cfg(test)]
mod tests {
    use super::looks_like;

    #[test]
    fn names_what_people_hand_in_by_mistake() {
        let mut tar = vec![b'x'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let cases: [(&[u8], &str); 12] = [
            (b"", "an empty file"),
            (b"hello, w\xc3\xb6rld\n", "text"),
            (b"cut in a character \xc3", "text"),
            (b"\n <!DOCTYPE HTML><html>", "an HTML page"),
            (b"{\"packets\": 1}", "JSON"),
            (b"\x7fELF\x02\x01", "an ELF program"),
            (b"\x89PNG\r\n\x1a\n", "a PNG image"),
            (b"%PDF-1.7", "a PDF document"),
            (&[0; 64], "zeros"),
            (b"snoop\0\0\0\0\0\0\x02", "a snoop capture (convert it with editcap)"),
            (&tar, "a tar archive (unpack it first)"),
            (&[0xde, 0xad, 0xbe, 0xef, 1], "data of an unknown kind that begins de ad be ef"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(looks_like(bytes), expected, "{bytes:?}");
        }
        let erf = [0, 0, 0, 0, 0x10, 0x20, 0x30, 0x40, 2, 4, 0, 80, 0, 0, 0, 60, 0xff];
        assert_eq!(looks_like(&erf), "an ERF capture (convert it with editcap)");
    }
}
