//! Steps of the control plane, from a request as bytes to its response as bytes.

use core::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use meshward_core::{
    ids::{CallId, CorrelationId},
    plane::{Arrival, Drawn, Effect, Input, Listener, Plane, Settings, site},
    step::Step,
    time::{Mono, Now, Wall},
    wire::{
        bearer::Credential,
        call::{Call, Test},
        execution::{Callback, Status},
        grammar::{Checksum, PublicKey},
        heartbeat::{ConfigureHeartbeat, HeartbeatRequest, NatSummary},
        http::{Body, Headers, Request},
        json::encode,
        rotation::KeyRotateRequest,
        timestamp::Timestamp,
    },
};

fn settings() -> Settings {
    Settings {
        signing_public_key: "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=".into(),
        ..Settings::default()
    }
}

fn now() -> Now {
    Now {
        mono: Mono::from_origin(Duration::from_secs(5)),
        wall: Wall::from_origin(Duration::from_secs(1_800_000_000)),
    }
}

fn requested(call: &Call, body: Vec<u8>) -> Input {
    let served = Credential { node: site::NODE_UUID, key: site::node_secret_key() };
    let bearer = format!("Bearer {}", served.envelope(site::BEARER_ENV).expose());
    let request = Request {
        method: call.method(),
        path: call.path(),
        query: None,
        headers: Headers::new().with("host", "127.0.0.1").with("authorization", &bearer),
        body: Body::Whole(body),
    };
    let drawn = Drawn { correlation: CorrelationId(1), ..Drawn::default() };
    let arrival = Arrival { listener: Listener::Main, request, begun: now().mono, drawn };
    Input::Requested { call: CallId::default(), arrival }
}

/// Moves the plane and insists on success, so that no bench measures a refusal.
fn step(plane: Plane, settings: &Settings, input: Input) -> Plane {
    let Step { state, effects } = plane.step(settings, now(), input);
    for effect in effects {
        assert!(
            matches!(&effect, Effect::Reply { response, .. } if response.is_success()),
            "{effect:?}"
        );
    }
    state
}

fn node() -> String {
    site::NODE_ID.to_owned()
}

fn heartbeat(c: &mut Criterion) {
    let settings = settings();
    let beat = requested(
        &Call::Heartbeat { node: node() },
        encode(&HeartbeatRequest {
            client_now: Timestamp::from(now().wall),
            binary_checksum: Checksum::from_bytes([1; 32]),
            binary_version: "1.4.2".into(),
            nat_summary: NatSummary::default(),
        }),
    );
    measure(c, "heartbeat", &settings, &Plane::default(), &[beat]);
}

fn rotation(c: &mut Criterion) {
    let settings = settings();
    let arm = ConfigureHeartbeat { reconcile: true, rotate_keys: true };
    let arm = requested(&Call::Test(Test::ConfigureHeartbeat), encode(&arm));
    let armed = step(Plane::default(), &settings, arm);
    let new_public_key = PublicKey::from_bytes([7; 32]).expect("the key is not zero");
    let rotate = requested(&Call::RotateKeys, encode(&KeyRotateRequest { new_public_key }));
    // A completion, then a replay of its receipt.
    measure(c, "rotation", &settings, &armed, &[rotate.clone(), rotate]);
}

fn execution(c: &mut Criterion) {
    let call = Call::Execution { node: node(), execution: "run-1".into() };
    let walk = [Status::Ack, Status::Started, Status::Succeeded]
        .map(|status| requested(&call, encode(&Callback::of(status))));
    measure(c, "execution", &settings(), &Plane::default(), &walk);
}

fn pull(c: &mut Criterion) {
    let state = requested(&Call::State { node: node() }, Vec::new());
    measure(c, "state pull", &settings(), &Plane::default(), &[state]);
}

/// Every iteration begins with a copy of `from`, so that nothing grows with their number.
fn measure(c: &mut Criterion, name: &str, settings: &Settings, from: &Plane, inputs: &[Input]) {
    let mut group = c.benchmark_group("plane");
    group.throughput(Throughput::Elements(inputs.len() as u64));
    group.bench_function(name, |b| {
        b.iter_batched(
            || (from.clone(), inputs.to_vec()),
            |(plane, inputs)| {
                inputs.into_iter().fold(plane, |plane, input| step(plane, settings, input))
            },
            BatchSize::SmallInput,
        )
    });
    group.finish();
}

criterion_group!(benches, heartbeat, rotation, execution, pull);
criterion_main!(benches);
