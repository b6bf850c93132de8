//! Files of SSH host keys, made by `ssh-keygen`, with the fingerprints that `ssh-keygen -l` prints of them.

use std::{fs, path::Path};

use meshward_core::wire::host_key::{FILE_MAX, Unread, fingerprint};

const ED25519: &str = "SHA256:G2E/0Hn/l6704YOUTouzTgxXlmKwYHmBymdXSGI3czs";
const ENCRYPTED: &str = "SHA256:Ennp1zZTmiE/BpRW8yHeLhrAsGtrV/2Vg39VhZ5mTRA";
const ECDSA: &str = "SHA256:Fx7NyGQjbTrR/NYJgpvjJt2xWJH571gdXZKAPyLXY4s";
const RSA: &str = "SHA256:0bAFaYQVFxNEeYfFUL3cuRxTKWGBiwWFtI+vKY3auqQ";

/// A file that the fuzzer begins from, too.
fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/host_key");
    fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn printed(file: &[u8]) -> Result<String, Unread> {
    fingerprint(file).map(|printed| printed.to_string())
}

#[test]
fn private_keys_encrypted_or_not_and_public_ones_have_the_fingerprint_that_ssh_keygen_shows() {
    let rows = [
        ("ed25519", ED25519),
        ("ed25519-pub", ED25519),
        ("encrypted", ENCRYPTED),
        ("ecdsa", ECDSA),
        ("ecdsa-pub", ECDSA),
        ("rsa-pub", RSA),
    ];
    for (name, expected) in rows {
        assert_eq!(printed(&file(name)).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn lines_may_end_as_they_do_elsewhere_and_a_comment_may_hold_anything() {
    let text = String::from_utf8(file("ed25519")).expect("it is text");
    assert_eq!(printed(text.replace('\n', "\r\n").as_bytes()).as_deref(), Ok(ED25519));
    let line = String::from_utf8(file("ed25519-pub")).expect("it is text");
    let words: Vec<_> = line.split(' ').collect();
    let bare = format!("{} {}", words[0], words[1]);
    assert_eq!(printed(bare.as_bytes()).as_deref(), Ok(ED25519));
    let more = format!("{bare} a b c\nssh-rsa AAAA\n");
    assert_eq!(printed(more.as_bytes()).as_deref(), Ok(ED25519));
}

#[test]
fn every_other_file_is_refused_for_its_reason() {
    let whole = file("ed25519");
    let text = String::from_utf8(whole.clone()).expect("it is text");
    let two_keys = text.replacen("AAAAAAAAABAAAAMw", "AAAAAAAAACAAAAMw", 1);
    let rows: [(&str, Vec<u8>, Unread); 11] = [
        ("nothing", Vec::new(), Unread::NoKey),
        ("no text", vec![0xff; 8], Unread::NoKey),
        ("one word", b"ssh-ed25519".into(), Unread::NoKey),
        ("no base64", b"ssh-ed25519 ***".into(), Unread::NoKey),
        ("a long word", [vec![b'a'; 65], b" AAAA".into()].concat(), Unread::NoKey),
        ("another kind", file("other-kind"), Unread::Broken),
        ("another format", file("other-format"), Unread::OtherFormat),
        ("cut off", file("cut"), Unread::Broken),
        ("a length beyond the end", file("long-chunk"), Unread::Broken),
        ("two keys", two_keys.into_bytes(), Unread::Broken),
        ("too long", vec![b'a'; FILE_MAX + 1], Unread::TooLong),
    ];
    for (what, file, expected) in rows {
        assert_eq!(printed(&file), Err(expected), "{what}");
    }
    let spaced = [whole, vec![b'\n'; FILE_MAX]].concat();
    assert_eq!(printed(&spaced[..FILE_MAX]).as_deref(), Ok(ED25519), "exactly at the limit");
}

#[test]
fn a_key_cut_off_anywhere_tells_nothing_and_what_stands_behind_its_public_half_changes_nothing() {
    let whole = file("ed25519");
    let end = whole.windows(8).rposition(|part| part == b"-----END").expect("it ends");
    assert!((0..end).all(|length| printed(&whole[..length]).is_err()));
    let text = String::from_utf8(whole).expect("it is text");
    let other = text.replace("AAAEC10UwiEcKbwz1e", "AAAEC10UwiEcKbwz1f");
    assert_ne!(text, other);
    assert_eq!(printed(other.as_bytes()).as_deref(), Ok(ED25519));
}
