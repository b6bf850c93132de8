//! `state/checksums.json`, as it stands on the disk, and what is wrong with one that does not tell anything.

use std::collections::BTreeMap;

use meshward_core::wire::{
    checksums::{Checksums, HostKey, Program},
    grammar::{Checksum, Fingerprint},
};

use crate::golden::golden;

fn full() -> Checksums {
    let digest = |byte| Checksum::from_bytes([byte; 32]);
    let fingerprint = "SHA256:G2E/0Hn/l6704YOUTouzTgxXlmKwYHmBymdXSGI3czs";
    Checksums {
        program: Some(Program {
            path: "/usr/bin/meshward".into(),
            version: "0.1.0".into(),
            checksum: digest(1),
        }),
        host_key: Some(HostKey {
            path: "/etc/ssh/ssh_host_ed25519_key".into(),
            fingerprint: Fingerprint::parse(fingerprint).expect("a fingerprint"),
        }),
        hooks: BTreeMap::from([("deploy".into(), digest(2)), ("restart".into(), digest(3))]),
    }
}

#[test]
fn the_file_is_the_golden_text_in_both_directions() {
    for (name, checksums) in [("full", full()), ("none", Checksums::default())] {
        let text = format!("{}\n", golden(&format!("checksums.{name}")));
        assert_eq!(String::from_utf8_lossy(&checksums.encode()), text, "{name}");
        assert_eq!(Checksums::decode(text.as_bytes()), Ok(checksums), "{name}");
    }
}

#[test]
fn what_a_later_version_adds_is_passed_over_and_base64_is_read_too() {
    let text = r#"{"hooks":{"a":"AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="},"since":1}"#;
    let read = Checksums::decode(text.as_bytes()).expect("it is sound");
    assert_eq!(read.hooks.get("a"), Some(&Checksum::from_bytes([2; 32])));
}

#[test]
fn every_damage_is_told_and_nothing_of_such_a_file_counts() {
    let hex = "must be 64 lower-case hex digits or 44 characters of standard base64 for 32 bytes";
    let rows = [
        (String::new(), "it is empty".to_owned()),
        ("\0\0".into(), "it holds only zero bytes".into()),
        (r#"{"hooks":{"a":"00"}}"#.into(), format!("it was changed: a checksum {hex}")),
        (r#"{"binary":{"path":"/a"}}"#.into(), format!("it was changed: a checksum {hex}")),
        (
            r#"{"ssh_host_key":{"path":"/a"}}"#.into(),
            "it was changed: a checksum must be SHA256: and base64, as ssh-keygen -l shows it"
                .into(),
        ),
    ];
    for (text, words) in rows {
        let damage = Checksums::decode(text.as_bytes()).expect_err(&text);
        assert_eq!(damage.to_string(), words, "{text}");
    }
    for text in ["[]", "{", r#"{"hooks":[]}"#, r#"{"hooks":{"a":1}}"#] {
        let damage = Checksums::decode(text.as_bytes()).expect_err(text).to_string();
        assert!(damage.starts_with("it is cut off or changed: "), "{damage}");
    }
}
