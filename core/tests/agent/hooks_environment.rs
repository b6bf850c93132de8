//! "The environment contains only `PATH`, `HOME`, `AGENT_NODE_ID`, `AGENT_EXECUTION_ID` and `AGENT_PARAM_<NAME>`".

use std::collections::BTreeMap;

use meshward_core::agent::execution::environment::{
    ENVIRONMENT_MAX, Fault, HOME, PARAMETER_PREFIX, PARAMETERS_MAX, PATH, VARIABLE_MAX, environment,
};
use proptest::prelude::*;

use crate::support::seeds_in;

fn of(pairs: &[(&str, &str)]) -> Result<BTreeMap<String, String>, Fault> {
    let parameters = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    environment(&parameters.collect(), "node-1", "run-1")
}

/// The variables of the parameters alone.
fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let all = of(pairs).expect("these make an environment");
    let own = ["PATH", "HOME", "AGENT_NODE_ID", "AGENT_EXECUTION_ID"];
    all.into_iter().filter(|(name, _)| !own.contains(&name.as_str())).collect()
}

fn told(pairs: &[(&str, &str)]) -> String {
    of(pairs).expect_err("these make no environment").to_string()
}

#[test]
fn without_parameters_there_are_four_variables() {
    let want = [
        ("AGENT_EXECUTION_ID", "run-1"),
        ("AGENT_NODE_ID", "node-1"),
        ("HOME", HOME),
        ("PATH", PATH),
    ];
    let want = want.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(of(&[]), Ok(BTreeMap::from(want)));
}

#[test]
fn a_name_becomes_capitals_digits_and_underscores() {
    let rows = [
        ("target", "AGENT_PARAM_TARGET"),
        ("Target9", "AGENT_PARAM_TARGET9"),
        ("a-b.c d", "AGENT_PARAM_A_B_C_D"),
        ("_", "AGENT_PARAM__"),
        ("a=b", "AGENT_PARAM_A_B"),
        ("a\nLD_PRELOAD", "AGENT_PARAM_A_LD_PRELOAD"),
        ("größe", "AGENT_PARAM_GR__E"),
        ("ſ", "AGENT_PARAM__"),
        ("a\0b", "AGENT_PARAM_A_B"),
    ];
    for (name, variable) in rows {
        assert_eq!(given(&[(name, "v")]), [(variable.to_owned(), "v".to_owned())], "{name:?}");
    }
}

#[test]
fn a_value_is_given_as_it_is() {
    for value in ["", " ", "$(reboot)", "a=b\nPATH=/evil", "\u{1b}[31m", "ü"] {
        assert_eq!(given(&[("a", value)]), [("AGENT_PARAM_A".to_owned(), value.to_owned())]);
    }
}

#[test]
fn no_parameter_can_take_the_place_of_a_variable_of_the_agent() {
    let all = of(&[("PATH", "/evil"), ("AGENT_NODE_ID", "other"), ("home", "/evil")]);
    let all = all.expect("these make an environment");
    assert_eq!(all["PATH"], PATH);
    assert_eq!(all["HOME"], HOME);
    assert_eq!(all["AGENT_NODE_ID"], "node-1");
    assert_eq!(all["AGENT_PARAM_PATH"], "/evil");
}

#[test]
fn two_names_for_one_variable_are_refused_by_name() {
    assert_eq!(
        told(&[("a.b", "1"), ("c", "2"), ("a-b", "3")]),
        "the parameters a-b and a.b would both be given as AGENT_PARAM_A_B"
    );
    assert!(matches!(of(&[("a", "1"), ("A", "1")]), Err(Fault::Ambiguous { .. })));
}

#[test]
fn a_parameter_without_a_name_and_a_value_with_nul_are_refused() {
    assert_eq!(told(&[("", "v")]), "a parameter has no name");
    assert_eq!(told(&[("a", "v\0w")]), "AGENT_PARAM_A holds NUL, which no variable can");
    let execution = environment(&BTreeMap::new(), "node-1", "run\0PATH=/evil");
    assert_eq!(execution, Err(Fault::Nul { variable: "AGENT_EXECUTION_ID".to_owned() }));
}

#[test]
fn a_value_is_as_long_as_the_kernel_takes_and_no_longer() {
    let room = VARIABLE_MAX - "AGENT_PARAM_A=\0".len();
    assert!(of(&[("a", &"v".repeat(room))]).is_ok());
    assert_eq!(
        told(&[("a", &"v".repeat(room + 1))]),
        "AGENT_PARAM_A is longer than 131072 bytes, the most that the kernel takes"
    );
}

#[test]
fn as_many_parameters_are_given_as_allowed_and_no_more() {
    let names: Vec<_> = (0..=PARAMETERS_MAX).map(|at| format!("p{at}")).collect();
    let pairs: Vec<_> = names.iter().map(|name| (name.as_str(), "v")).collect();
    assert_eq!(given(&pairs[1..]).len(), PARAMETERS_MAX);
    assert_eq!(told(&pairs), "257 parameters are more than the 256 that a hook is given");
}

#[test]
fn all_variables_together_have_a_limit() {
    let own: usize =
        of(&[]).expect("none").iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    let names: Vec<_> = ('a'..='i').map(String::from).collect();
    let frame = "AGENT_PARAM_A=\0".len();
    let value = "v".repeat(VARIABLE_MAX - frame);
    let last = ENVIRONMENT_MAX - own - 7 * VARIABLE_MAX - frame;
    let mut pairs: Vec<_> = names[..7].iter().map(|name| (name.as_str(), value.as_str())).collect();
    pairs.push((&names[7], &value[..last]));
    assert!(of(&pairs).is_ok());
    pairs[7] = (&names[7], &value[..=last]);
    assert_eq!(told(&pairs), "all parameters together are longer than 1048576 bytes");
}

#[test]
fn a_fault_shows_a_long_or_steering_name_as_a_short_line() {
    let long = "x".repeat(100_000);
    let fault = told(&[(&long, "1"), (&long.to_uppercase(), "2")]);
    assert!(fault.len() < 400, "{}", fault.len());
    let fault = told(&[("a\u{1b}[2J", "1"), ("a\u{202e}[2j", "2")]);
    assert!(!fault.contains(['\u{1b}', '\u{202e}']), "{fault:?}");
}

proptest! {
    #![proptest_config(seeds_in("hooks"))]

    #[test]
    fn every_variable_has_a_name_that_a_shell_takes_and_the_value_of_one_parameter(
        parameters in proptest::collection::btree_map("\\PC{0,4}", any::<String>(), 0..6)
    ) {
        let Ok(all) = environment(&parameters, "node-1", "run-1") else { return Ok(()) };
        prop_assert_eq!(all.len(), parameters.len() + 4);
        for (name, value) in &all {
            prop_assert!(name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_')));
            prop_assert!(!value.contains('\0'));
        }
        let mut given: Vec<_> = all.iter().filter(|(name, _)| name.starts_with(PARAMETER_PREFIX)).map(|(_, value)| value).collect();
        let mut wanted: Vec<_> = parameters.values().collect();
        given.sort();
        wanted.sort();
        prop_assert_eq!(given, wanted);
    }
}
