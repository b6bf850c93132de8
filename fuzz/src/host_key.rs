//! The file of an SSH host key, which an operator names.

use meshward_core::wire::{
    grammar::Fingerprint,
    host_key::{FILE_MAX, fingerprint},
};

/// `SHA256:` and 32 bytes in base64 without padding.
const PRINTED: usize = 7 + 43;

/// A file tells one fingerprint in its canonical form, or a reason that repeats nothing of it; white space around it
/// changes nothing.
pub fn host_key(bytes: &[u8]) {
    let read = fingerprint(bytes);
    match &read {
        Ok(printed) => {
            assert!(bytes.len() <= FILE_MAX && printed.as_str().len() == PRINTED, "{printed}");
            assert_eq!(Fingerprint::parse(printed.as_str()).as_ref(), Ok(printed));
        }
        Err(why) => assert!(why.to_string().len() < 200),
    }
    let mut spaced = b" \r\n".to_vec();
    spaced.extend_from_slice(bytes);
    spaced.extend_from_slice(b"\n\n");
    if spaced.len() <= FILE_MAX {
        assert_eq!(fingerprint(&spaced), read);
    }
}
