//! What the answers of servers make of the NAT: every row of the table.

use meshward_core::{
    agent::{
        NatSettings, Seen,
        nat::{Mapping, judge},
    },
    wire::{
        endpoint::NatType,
        grammar::{PeerAddr, ReachableAddr},
    },
};

use crate::bench::seconds;

const PORT: u16 = 51820;

pub(crate) fn settings() -> NatSettings {
    NatSettings {
        port: PORT,
        servers: vec!["one:3478".into(), "two:3478".into(), "three:3478".into()],
        refresh_interval: seconds(60),
        timeout: seconds(5),
        min_report_interval: seconds(10),
    }
}

/// What the server with this number sees.
pub(crate) fn sees(server: u8, mapped: &str) -> Result<Seen, String> {
    let parse = |text: &str| PeerAddr::parse(text).map_err(|error| error.to_string());
    let server = parse(&format!("203.0.113.{server}:3478"))?;
    Ok(Seen { server, mapped: parse(mapped)? })
}

pub(crate) fn silent() -> Result<Seen, String> {
    Err("silent".into())
}

const KEPT: &str = "198.51.100.7:51820";
const MOVED: &str = "198.51.100.7:40000";
const ELSEWHERE: &str = "198.51.100.7:40001";
const OTHER_HOST: &str = "198.51.100.8:40000";
const OTHER_HOST_KEPT: &str = "198.51.100.8:51820";

#[test]
fn each_set_of_answers_has_its_mapping() {
    let (none, full, symmetric, unknown) =
        (Mapping::None, Mapping::FullCone, Mapping::Symmetric, Mapping::Unknown);
    let rows = [
        (vec![sees(1, KEPT)], KEPT, none),
        (vec![sees(1, KEPT), sees(2, KEPT)], KEPT, none),
        (vec![sees(1, KEPT), silent(), sees(3, KEPT)], KEPT, none),
        (vec![sees(1, MOVED)], MOVED, unknown),
        (vec![sees(1, MOVED), silent()], MOVED, unknown),
        (vec![silent(), sees(2, MOVED)], MOVED, unknown),
        (vec![sees(1, MOVED), sees(2, MOVED)], MOVED, full),
        (vec![silent(), sees(2, MOVED), sees(3, MOVED)], MOVED, full),
        (vec![sees(1, MOVED), sees(2, ELSEWHERE)], MOVED, symmetric),
        (vec![sees(1, MOVED), sees(2, OTHER_HOST)], MOVED, symmetric),
        (vec![sees(1, MOVED), sees(2, MOVED), sees(3, ELSEWHERE)], MOVED, symmetric),
        // A port that is kept for one of two servers.
        (vec![sees(1, KEPT), sees(2, MOVED)], KEPT, symmetric),
        (vec![sees(1, MOVED), sees(2, KEPT)], MOVED, symmetric),
        (vec![sees(1, KEPT), sees(2, OTHER_HOST_KEPT)], KEPT, symmetric),
    ];
    for (answers, endpoint, mapping) in rows {
        let (seen, found, _) = judge(&settings(), Ok(answers.clone())).unwrap();
        assert_eq!(
            (seen, found),
            (ReachableAddr::parse(endpoint).unwrap(), mapping),
            "{answers:?}"
        );
    }
}

#[test]
fn each_mapping_has_its_type_on_the_wire() {
    let rows = [
        (Mapping::None, NatType::FullCone),
        (Mapping::FullCone, NatType::FullCone),
        (Mapping::Symmetric, NatType::Symmetric),
        (Mapping::Unknown, NatType::Unknown),
    ];
    for (mapping, expected) in rows {
        assert_eq!(NatType::from(mapping), expected, "{mapping:?}");
    }
}

#[test]
fn a_server_under_two_names_tells_nothing_of_the_kind_of_nat() {
    let answers = vec![sees(1, MOVED), sees(1, MOVED), silent()];
    let (_, mapping, faults) = judge(&settings(), Ok(answers)).unwrap();
    assert_eq!(mapping, Mapping::Unknown);
    let told =
        ["two:3478: it is a server that is asked already (203.0.113.1:3478)", "three:3478: silent"];
    assert_eq!(faults, told);
}

#[test]
fn an_address_that_no_other_node_reaches_is_a_failure_of_its_server() {
    let refused = [
        "127.0.0.1:1000",
        "169.254.1.1:1000",
        "0.0.0.0:1000",
        "224.0.0.5:1000",
        "198.51.100.7:0",
        "[::1]:1000",
        "[fe80::1]:1000",
        "[::]:1000",
        "[::ffff:127.0.0.1]:1000",
    ];
    for mapped in refused {
        let reason = judge(&settings(), Ok(vec![sees(1, mapped), silent()])).unwrap_err();
        assert!(reason.starts_with("one:3478: it sees this node at "), "{reason}");
        assert!(reason.ends_with(", where no other reaches it; two:3478: silent"), "{reason}");
        let (endpoint, mapping, _) =
            judge(&settings(), Ok(vec![sees(1, mapped), sees(2, MOVED)])).unwrap();
        assert_eq!((endpoint.to_string().as_str(), mapping), (MOVED, Mapping::Unknown), "{mapped}");
    }
    for private in ["10.0.0.1:1000", "192.168.1.1:1000", "100.64.0.1:1000", "[fd00::1]:1000"] {
        assert!(judge(&settings(), Ok(vec![sees(1, private)])).is_ok(), "{private}");
    }
}

#[test]
fn without_any_answer_each_server_is_told_with_its_reason() {
    let answers = vec![silent(), Err("refused".into()), Err("no IPv4".into())];
    let reason = judge(&settings(), Ok(answers)).unwrap_err();
    assert_eq!(reason, "one:3478: silent; two:3478: refused; three:3478: no IPv4");
    assert_eq!(
        judge(&settings(), Err("the port is taken".into())),
        Err("the port is taken".into())
    );
}
