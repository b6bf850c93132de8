//! Golden texts of session activity, reports, and what configures the secrets.

use meshward_core::wire::{
    grammar::Name,
    json::{decode_strict, encode},
    report::{ReportRequest, ReportResponse},
    secret::ConfigureSecrets,
    session::{Activity, K8sActivity, Phase, SshActivity, TcpActivity, TerminatedBy},
};

use crate::golden::{at, both};

fn ssh(ssh: SshActivity) -> Activity {
    Activity { ssh: Some(ssh), ..Activity::default() }
}

fn k8s(k8s: K8sActivity) -> Activity {
    Activity { k8s: Some(k8s), ..Activity::default() }
}

fn tcp(tcp: TcpActivity) -> Activity {
    Activity { tcp: Some(tcp), ..Activity::default() }
}

#[test]
fn session_activity() {
    let full = SshActivity {
        command: "systemctl restart web".into(),
        exit_code: Some(0),
        started_at: Some(at("2026-01-15T10:30:00Z")),
        completed_at: Some(at("2026-01-15T10:30:01.5Z")),
    };
    both("session_activity.ssh", &ssh(full));
    let required = SshActivity { command: "ls".into(), ..SshActivity::default() };
    both("session_activity.ssh_required", &ssh(required));
    let full = K8sActivity {
        verb: "get".into(),
        resource_kind: Name::from("pods"),
        namespace: Name::from("web"),
        name: Name::from("web-1"),
        status_code: Some(200),
        duration_ms: Some(12),
    };
    both("session_activity.k8s", &k8s(full));
    let required = K8sActivity { verb: "list".into(), ..K8sActivity::default() };
    both("session_activity.k8s_required", &k8s(required));
}

#[test]
fn tcp_activity() {
    let of = |phase| TcpActivity {
        target_host: "10.0.0.9".into(),
        target_port: Some(5432),
        ..TcpActivity::of(phase)
    };
    let started =
        TcpActivity { listener_endpoint: "10.99.0.1:40000".into(), ..of(Phase::SessionStarted) };
    both("session_activity.tcp_started", &tcp(started));
    let ended = TcpActivity {
        bytes_in: Some(0),
        bytes_out: Some(0),
        terminated_by: Some(TerminatedBy::OperatorRevoke),
        ..of(Phase::SessionEnded)
    };
    both("session_activity.tcp_ended", &tcp(ended));
}

#[test]
fn every_cause_of_an_end_has_its_spelling() {
    for cause in TerminatedBy::ALL {
        assert_eq!(encode(&cause), format!("\"{}\"", cause.as_str()).as_bytes());
        let row =
            TcpActivity { terminated_by: Some(cause), ..TcpActivity::of(Phase::SessionEnded) };
        assert_eq!(decode_strict::<TcpActivity>(&encode(&row)), Ok(row));
    }
    let fault =
        decode_strict::<Activity>(br#"{"tcp":{"phase":"session_ended","terminated_by":"x"}}"#)
            .unwrap_err();
    assert_eq!(
        fault.to_string(),
        "tcp.terminated_by: must be one of ttl_expired, idle_timeout, operator_revoke, agent_close"
    );
}

#[test]
fn reports() {
    let tagged = ReportRequest { value: Some(r#"{"ok":true}"#.into()), workload_tag: "web".into() };
    both("report_request.tagged", &tagged);
    let untagged = ReportRequest { value: Some(String::new()), workload_tag: Name::default() };
    both("report_request.untagged", &untagged);
    let accepted_at = at("2026-01-15T10:30:00.123456789Z");
    both("report_response.accepted", &ReportResponse { accepted_at, key: "app.status".into() });
}

#[test]
fn configure_secrets() {
    let full = ConfigureSecrets { current_version: 3, rate_limit_next: 2, retry_after_seconds: 7 };
    both("configure_secrets.full", &full);
}
