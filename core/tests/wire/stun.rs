//! STUN: the vectors of RFC 5769, what is written is read, and what is broken, cut or of another question does not count.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use meshward_core::wire::{
    grammar::PeerAddr,
    stun::{
        Attribute, Class, ErrorCode, Failure, Flaw, HEAD_LEN, MESSAGE_MAX, Message, TransactionId,
        request, told,
    },
};
use proptest::prelude::*;

use crate::support::seeds_in;

/// RFC 5769, 2.1: a request with a fingerprint.
const REQUEST: &str = "00010058 2112a442 b7e7a701bc34d686fa87dfae 80220010 5354554e207465737420636c69656e74 \
     00240004 6e0001ff 80290008 932ff9b151263b36 00060009 6576746a3a68367659202020 \
     00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2 80280004 e57a3bcf";
/// RFC 5769, 2.2: an answer that names an IPv4 address.
const IPV4: &str = "0101003c 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220 \
     00200008 0001a147e112a643 00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004 c07d4c96";
/// RFC 5769, 2.3: an answer that names an IPv6 address.
const IPV6: &str = "01010048 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220 \
     00200014 0002a1470113a9faa5d3f179bc25f4b5bed2b9d9 \
     00080014 a382954e4be67bf11784c97c8292c275bfe3ed41 80280004 c8fb0b4c";
/// RFC 5769, 2.4: a request with long-term credentials and without a fingerprint.
const LONG_TERM: &str = "00010060 2112a442 78ad3433c6ad72c029da412e \
     00060012 e3839ee38388e383aae38383e382afe382b90000 \
     0015001c 662f2f3439396b39353464364f4c33346f4c39465354767936347341 \
     0014000b 6578616d706c652e6f726700 00080014 f67024656dd64a3e02b8e0712e85c9a28ca89666";

/// Whoever is asked.
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 200));
const SERVER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |pair: &[u8]| {
        let pair = core::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("hexadecimal digits")
    };
    digits.chunks(2).map(byte).collect()
}

const fn id() -> TransactionId {
    TransactionId::drawn([0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae])
}

fn addr(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn seen(text: &str) -> Option<Result<PeerAddr, Failure>> {
    PeerAddr::parse(text).ok().map(Ok)
}

fn message(class: Class, attributes: Vec<Attribute>) -> Message {
    Message { class, id: id(), attributes, fingerprint: false }
}

fn other(kind: u16, value: &[u8]) -> Attribute {
    Attribute::Other { kind, value: value.to_vec() }
}

fn error(code: u16, reason: &str) -> Attribute {
    Attribute::ErrorCode(ErrorCode { code, reason: reason.into() })
}

#[test]
fn the_vectors_of_rfc_5769_are_read_whole() {
    let rows = [
        (REQUEST, Class::Request, vec![0x8022, 0x24, 0x8029, 0x06, 0x08], true),
        (IPV4, Class::Success, vec![0x8022, 0x20, 0x08], true),
        (IPV6, Class::Success, vec![0x8022, 0x20, 0x08], true),
        (LONG_TERM, Class::Request, vec![0x06, 0x15, 0x14, 0x08], false),
    ];
    for (hex, class, kinds, fingerprint) in rows {
        let read = Message::decode(&bytes(hex)).unwrap();
        let seen: Vec<u16> = read
            .attributes
            .iter()
            .map(|attribute| match attribute {
                Attribute::MappedAddress(_) => 0x01,
                Attribute::XorMappedAddress(_) => 0x20,
                Attribute::ErrorCode(_) => 0x09,
                Attribute::Other { kind, .. } => *kind,
            })
            .collect();
        assert_eq!((read.class, read.fingerprint, seen), (class, fingerprint, kinds), "{hex}");
        assert_eq!(Message::decode(&read.encode()), Ok(read), "{hex}");
    }
    let read = Message::decode(&bytes(IPV4)).unwrap();
    assert_eq!(read.attributes[0], other(0x8022, b"test vector"));
}

#[test]
fn the_answers_of_rfc_5769_name_their_addresses() {
    assert_eq!(told(&bytes(IPV4), id(), SERVER), seen("192.0.2.1:32853"));
    assert_eq!(
        told(&bytes(IPV6), id(), SERVER6),
        seen("[2001:db8:1234:5678:11:2233:4455:6677]:32853")
    );
    for request in [REQUEST, LONG_TERM] {
        assert_eq!(told(&bytes(request), id(), SERVER), None, "a request answers nothing");
    }
}

#[test]
fn a_question_is_a_head_of_twenty_bytes() {
    let expected = bytes("00010000 2112a442 b7e7a701bc34d686fa87dfae");
    assert_eq!(request(id()), expected);
    assert_eq!(expected.len(), HEAD_LEN);
}

#[test]
fn an_answer_to_another_question_is_none() {
    let foreign = TransactionId::drawn([7; 12]);
    assert_eq!(told(&bytes(IPV4), foreign, SERVER), None);
}

#[test]
fn the_address_over_the_cookie_counts_before_the_plain_one_and_the_first_before_the_second() {
    let (plain, crossed) = (Attribute::MappedAddress, Attribute::XorMappedAddress);
    let (one, two) = (addr("192.0.2.1:1"), addr("192.0.2.2:2"));
    let rows = [
        (vec![plain(one), crossed(two)], "192.0.2.2:2"),
        (vec![crossed(two), plain(one)], "192.0.2.2:2"),
        (vec![plain(one), plain(two)], "192.0.2.1:1"),
        (vec![crossed(one), crossed(two)], "192.0.2.1:1"),
        (vec![other(0x8022, b"old"), plain(one)], "192.0.2.1:1"),
    ];
    for (attributes, expected) in rows {
        let answer = message(Class::Success, attributes).encode();
        assert_eq!(told(&answer, id(), SERVER), seen(expected), "{answer:02x?}");
    }
}

#[test]
fn an_address_of_a_family_that_was_not_asked_counts_for_nothing() {
    let (plain, crossed) = (Attribute::MappedAddress, Attribute::XorMappedAddress);
    let (four, six) = (addr("192.0.2.1:1"), addr("[2001:db8::1]:2"));
    let alone = [(six, four, SERVER), (four, six, SERVER6)];
    for (foreign, own, server) in alone {
        for attribute in [plain, crossed] {
            let answer = message(Class::Success, vec![attribute(foreign)]).encode();
            let failure = Failure::Family(foreign.into());
            assert_eq!(told(&answer, id(), server), Some(Err(failure)), "{foreign}");
            let answer = message(Class::Success, vec![crossed(foreign), attribute(own)]).encode();
            assert_eq!(told(&answer, id(), server), Some(Ok(own.into())), "{foreign}, {own}");
        }
    }
    let written_long = addr("[::ffff:192.0.2.1]:1");
    let answer = message(Class::Success, vec![crossed(written_long)]).encode();
    assert_eq!(told(&answer, id(), SERVER), seen("192.0.2.1:1"), "it is one of IPv4");
}

#[test]
fn of_what_stands_behind_a_seal_nothing_counts() {
    for seal in [0x0008, 0x001c] {
        let behind = Attribute::XorMappedAddress(addr("192.0.2.2:2"));
        let attributes = vec![other(seal, &[0; 20]), behind, other(0x0024, b"")];
        let answer = message(Class::Success, attributes).encode();
        assert_eq!(told(&answer, id(), SERVER), Some(Err(Failure::Nothing)));
    }
}

#[test]
fn an_answer_with_an_attribute_that_must_be_understood_and_is_not_fails() {
    let address = Attribute::XorMappedAddress(addr("192.0.2.2:2"));
    // Known, or of the half that may be passed over.
    for kind in (0x0002..=0x000b).chain([0x14, 0x15, 0x1d, 0x1e, 0x8000, 0x8022, 0x802b, 0xffff]) {
        if kind != 0x0008 && kind != 0x0009 {
            let answer = message(Class::Success, vec![other(kind, b""), address.clone()]).encode();
            assert_eq!(told(&answer, id(), SERVER), seen("192.0.2.2:2"), "{kind:#x}");
        }
    }
    for kind in [0x0000, 0x000c, 0x0013, 0x0016, 0x0024, 0x7fff] {
        let answer = message(Class::Success, vec![address.clone(), other(kind, b"")]).encode();
        assert_eq!(told(&answer, id(), SERVER), Some(Err(Failure::Unknown(kind))));
    }
}

#[test]
fn an_error_is_told_in_words_that_steer_nothing() {
    let rows = [
        (vec![error(420, "Unknown Attribute")], "it answers with the error 420 Unknown Attribute"),
        (vec![error(300, "")], "it answers with the error 300"),
        (vec![error(699, "a\nb\u{1b}")], "it answers with the error 699 a\u{fffd}b\u{fffd}"),
        (vec![], "it answers with an error that it does not name"),
        (
            vec![Attribute::XorMappedAddress(addr("192.0.2.2:2"))],
            "it answers with an error that it does not name",
        ),
    ];
    for (attributes, expected) in rows {
        let answer = message(Class::Error, attributes).encode();
        let failure = told(&answer, id(), SERVER).unwrap().unwrap_err();
        assert_eq!(failure.to_string(), expected);
    }
    let long = ErrorCode { code: 500, reason: vec![b'x'; 1000] };
    assert_eq!(long.to_string().len(), "500 ".len() + 127);
    let binary = ErrorCode { code: 500, reason: vec![0xff, b'a'] };
    assert_eq!(binary.to_string(), "500 \u{fffd}a");
}

#[test]
fn each_flaw_has_its_name() {
    let set = |at: usize, value: u8| {
        let mut broken = bytes(IPV4);
        broken[at] = value;
        broken
    };
    let long = vec![0; MESSAGE_MAX + 1];
    let of = |attribute: &str| {
        let body = bytes(attribute);
        let head = format!("0101{:04x} 2112a442 b7e7a701bc34d686fa87dfae", body.len());
        [bytes(&head), body].concat()
    };
    let rows = [
        (vec![], Flaw::Short),
        (bytes(IPV4)[..19].to_vec(), Flaw::Short),
        (long, Flaw::Long),
        (set(0, 0x41), Flaw::Foreign),
        (set(0, 0x81), Flaw::Foreign),
        (set(4, 0x20), Flaw::Foreign),
        (set(1, 0x03), Flaw::Method),
        (set(0, 0x03), Flaw::Method),
        (set(3, 0x38), Flaw::Length),
        (set(3, 0x3d), Flaw::Length),
        ([bytes(IPV4), vec![0]].concat(), Flaw::Length),
        ([bytes(IPV4), vec![0; 4]].concat(), Flaw::Length),
        (of("0020000c 0001a147e112a643"), Flaw::Attribute),
        (of("8022000b 74657374"), Flaw::Attribute),
        (of("00200004 0001a147"), Flaw::Value),
        (of("00200008 0003a147e112a643"), Flaw::Value),
        (of("00200008 0002a147e112a643"), Flaw::Value),
        (of("00010014 0001a147e112a643 e112a643e112a643e112a643"), Flaw::Value),
        (of("00200003 0001a100"), Flaw::Value),
        (of("00090003 00000400"), Flaw::Value),
        (of("00090004 00000214"), Flaw::Value),
        (of("00090004 00000714"), Flaw::Value),
        (of("00090004 00000464"), Flaw::Value),
        (set(79, 0x97), Flaw::Fingerprint),
        (set(25, 0x00), Flaw::Fingerprint),
        (of("80280004 00000000"), Flaw::Fingerprint),
        (of("80280000"), Flaw::Fingerprint),
    ];
    for (broken, flaw) in rows {
        assert_eq!(Message::decode(&broken), Err(flaw), "{broken:02x?}");
        assert_eq!(told(&broken, id(), SERVER), None);
    }
}

#[test]
fn a_fingerprint_stands_at_the_end() {
    let mut answer = Message { fingerprint: true, ..message(Class::Success, vec![]) }.encode();
    assert!(Message::decode(&answer).unwrap().fingerprint);
    answer.extend(bytes("80220000"));
    answer[3] += 4;
    assert_eq!(Message::decode(&answer), Err(Flaw::Fingerprint));
}

#[test]
fn a_message_may_be_exactly_as_long_as_the_longest() {
    let fill = other(0x8022, &vec![1; MESSAGE_MAX - HEAD_LEN - 4]);
    let longest = message(Class::Success, vec![fill]).encode();
    assert_eq!(longest.len(), MESSAGE_MAX);
    assert!(Message::decode(&longest).is_ok());
    assert_eq!(Message::decode(&[longest, vec![0; 4]].concat()), Err(Flaw::Long));
}

#[test]
fn no_flipped_bit_leaves_a_fingerprint_right() {
    for at in 0..bytes(IPV4).len() * 8 {
        let mut broken = bytes(IPV4);
        broken[at / 8] ^= 1 << (at % 8);
        // In the name of the fingerprint, or a length before it, it may leave a message without one.
        let read = Message::decode(&broken).map(|message| message.fingerprint);
        assert_ne!(read, Ok(true), "bit {at}");
    }
}

fn attribute() -> impl Strategy<Value = Attribute> {
    let addr = || any::<SocketAddr>().prop_map(plain);
    let kinds = any::<u16>()
        .prop_filter("a kind of its own", |kind| ![0x0001, 0x0009, 0x0020, 0x8028].contains(kind));
    prop_oneof![
        addr().prop_map(Attribute::MappedAddress),
        addr().prop_map(Attribute::XorMappedAddress),
        (300_u16..700, prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(code, reason)| Attribute::ErrorCode(ErrorCode { code, reason })),
        (kinds, prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(kind, value)| Attribute::Other { kind, value }),
    ]
}

/// Without the parts of an IPv6 address that no message carries.
fn plain(addr: SocketAddr) -> SocketAddr {
    SocketAddr::new(addr.ip(), addr.port())
}

proptest! {
    #![proptest_config(seeds_in("stun"))]
    #[test]
    fn what_is_written_is_read_and_nothing_shorter_or_longer_is(
        class in prop::sample::select(Class::ALL.to_vec()),
        id in any::<[u8; 12]>(),
        attributes in prop::collection::vec(attribute(), 0..6),
        fingerprint in any::<bool>(),
    ) {
        let message = Message { class, id: TransactionId::drawn(id), attributes, fingerprint };
        let bytes = message.encode();
        prop_assert_eq!(Message::decode(&bytes), Ok(message));
        for length in 0..bytes.len() {
            prop_assert!(Message::decode(&bytes[..length]).is_err(), "cut at {}", length);
        }
        prop_assert!(Message::decode(&[bytes, vec![0; 4]].concat()).is_err());
    }
}
