//! A datagram of a STUN server: read whole or not at all, and never taken for the answer to another question.

use core::net::{IpAddr, Ipv4Addr};

use meshward_core::wire::stun::{MESSAGE_MAX, Message, TransactionId, told};

/// The id that no message of the corpus has.
const FOREIGN: TransactionId = TransactionId::drawn(*b"never asked!");

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 200));

/// The bytes are what the network brings.
pub fn stun(bytes: &[u8]) {
    let Ok(message) = Message::decode(bytes) else {
        assert_eq!(told(bytes, FOREIGN, SERVER), None, "what is no message tells nothing");
        return;
    };
    assert!(bytes.len() <= MESSAGE_MAX);
    let written = message.encode();
    assert_eq!(written.len(), bytes.len(), "only padding and unused bits may differ");
    assert_eq!(Message::decode(&written).as_ref(), Ok(&message));
    for length in 0..bytes.len() {
        assert!(Message::decode(&bytes[..length]).is_err(), "cut at {length}");
    }
    assert!(Message::decode(&[bytes, &[0; 4]].concat()).is_err(), "longer than it says");
    if message.id != FOREIGN {
        assert_eq!(told(bytes, FOREIGN, SERVER), None, "the answer to another question");
    }
    let answer = told(bytes, message.id, SERVER);
    assert!(
        answer.as_ref().is_none_or(|told| told.as_ref().map_or(true, |addr| addr.ip().is_ipv4()))
    );
    if let Some(Err(failure)) = answer {
        let words = failure.to_string();
        assert!(words.len() < 1024 && !words.contains(char::is_control), "{words:?}");
    }
}
