//! The NAT endpoint against its golden texts, and the addresses at which a node may be reached.

use core::net::SocketAddr;

use meshward_core::wire::{
    endpoint::{ConfigureEndpoint, EndpointDraft, EndpointRequest, EndpointResponse, NatType},
    grammar::{Malformed, PeerAddr, ReachableAddr},
    json::{decode_strict, encode},
};
use proptest::prelude::*;

use crate::{
    golden::{at, both, read, written},
    support::seeds_in,
};

fn reachable(text: &str) -> ReachableAddr {
    ReachableAddr::parse(text).expect("an address that can be reached")
}

#[test]
fn both_ends_share_the_golden_report() {
    let ipv4 = EndpointRequest {
        endpoint: reachable("[::ffff:198.51.100.7]:40000"),
        nat_type: NatType::PortRestricted,
        reported_at: at("2026-01-15T10:30:00.123456789Z"),
    };
    let ipv6 = EndpointRequest {
        endpoint: reachable("[2001:DB8:0::7]:40000"),
        nat_type: NatType::Unknown,
        reported_at: at("2026-01-15T10:30:00Z"),
    };
    for (name, request) in [("endpoint_request.ipv4", ipv4), ("endpoint_request.ipv6", ipv6)] {
        written(name, &request);
        let draft = EndpointDraft {
            endpoint: request.endpoint.to_string(),
            nat_type: request.nat_type,
            reported_at: Some(request.reported_at),
        };
        read(name, &draft);
    }
    let response = EndpointResponse {
        accepted_at: at("2026-01-15T10:30:00.5Z"),
        stale_after: at("2026-01-15T10:35:00.5Z"),
    };
    both("endpoint_response.default", &response);
    both("configure_endpoint.minute", &ConfigureEndpoint { ttl_seconds: Some(60) });
}

#[test]
fn every_nat_type_has_its_spelling() {
    let spellings = ["full_cone", "restricted", "port_restricted", "symmetric", "unknown"];
    for (nat_type, spelling) in NatType::ALL.into_iter().zip(spellings) {
        let text = format!("\"{spelling}\"");
        assert_eq!(encode(&nat_type), text.as_bytes());
        assert_eq!(decode_strict(text.as_bytes()), Ok(nat_type));
    }
}

#[test]
fn a_refused_address_is_not_told() {
    for text in ["CANARY", "127.0.0.1:271", "10.0.0.1:0"] {
        let refused = ReachableAddr::parse(text).unwrap_err();
        assert_eq!(refused, Malformed::ReachableAddr);
        assert!(refused.to_string().starts_with("must be ") && !refused.to_string().contains(text));
    }
}

/// The ranges of the specification as networks: IPv4 as its mapped form, then the length of the prefix in bits.
const REFUSED: [(u128, u32); 8] = [
    (0xffff_7f00_0000, 104),
    (0xffff_a9fe_0000, 112),
    (0xffff_e000_0000, 120),
    (0xffff_0000_0000, 128),
    (1, 128),
    (0, 128),
    (0xfe80 << 112, 10),
    (0xff02 << 112, 16),
];

fn in_network(ip: u128, (network, length): (u128, u32)) -> bool {
    (ip ^ network).checked_shr(128 - length).unwrap_or(ip ^ network) == 0
}

proptest! {
    #![proptest_config(seeds_in("reachable"))]
    #[test]
    fn an_address_is_refused_where_its_network_is(
        at in 0..REFUSED.len(),
        flipped in prop::option::of(0..128_u32),
        low in any::<u128>(),
        keep in 0..=128_u32,
        port in prop_oneof![Just(0), Just(1), any::<u16>()],
    ) {
        let (network, length) = REFUSED[at];
        let kept = keep.max(length);
        let mask = u128::MAX.checked_shr(kept).unwrap_or(0);
        let ip = (network | low & mask) ^ flipped.map_or(0, |bit| 1 << bit);
        // Other flags of the link-local scope, which no network of the table covers.
        prop_assume!(!(ip >> 120 == 0xff && ip >> 112 & 0xf == 2 && ip >> 112 != 0xff02));
        let refused = port == 0 || REFUSED.into_iter().any(|network| in_network(ip, network));
        let addr = SocketAddr::new(core::net::Ipv6Addr::from(ip).into(), port);
        let parsed = ReachableAddr::parse(&addr.to_string());
        prop_assert_eq!(parsed.is_err(), refused, "{}", addr);
        prop_assert_eq!(ReachableAddr::new(PeerAddr::from(addr)), parsed.ok());
        if let Ok(parsed) = parsed {
            prop_assert_eq!(parsed.to_string(), PeerAddr::from(addr).to_string());
        }
    }
}
