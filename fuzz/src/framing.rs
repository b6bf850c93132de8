//! A connection cut into requests: the same ones in whatever pieces its bytes come.

use meshward_core::wire::framing::{Flaw, Framing, HEAD_MAX, Piece};

/// What a connection brought.
#[derive(Debug, Default, PartialEq, Eq)]
struct Brought {
    targets: Vec<String>,
    flaw: Option<Flaw>,
}

/// The first byte says how long the pieces are, the others are what comes on the connection.
pub fn framing(bytes: &[u8]) {
    let Some((stride, rest)) = bytes.split_first() else { return };
    // An end that is looked for finds a head that is broken, however late.
    let rest = [rest, b"\r\n\r\n"].concat();
    let whole = bring(&rest, rest.len());
    let pieces = bring(&rest, usize::from(*stride).max(1));
    assert_eq!(whole, pieces);
}

fn bring(bytes: &[u8], stride: usize) -> Brought {
    let (mut framing, mut brought, mut held) =
        (Framing::new(HEAD_MAX), Brought::default(), Vec::new());
    for piece in bytes.chunks(stride) {
        held.extend_from_slice(piece);
        loop {
            let known = framing.known();
            let length = match framing.next(&held) {
                Piece::Partial => break,
                Piece::Head { length, target } => {
                    assert_eq!(known, 0, "a head came in the middle of a body");
                    brought.targets.push(target.to_owned());
                    length
                }
                Piece::Body { length } => length,
                Piece::Lost => return brought,
                Piece::Refused(refused) => {
                    brought.flaw = Some(refused.flaw);
                    return brought;
                }
            };
            assert!((1..=held.len()).contains(&length));
            held.drain(..length);
        }
    }
    brought
}
