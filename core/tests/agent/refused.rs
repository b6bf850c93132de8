//! An identity that is refused later: when the node registers afresh, and how it goes back where that fails.

use meshward_core::{
    agent::{
        Answer, Effect, Gathered, Input, Order, OrderKind, StagedFile, Stored, TokenSources,
        Unprepared, readiness::Readiness,
    },
    backoff::Jitter,
    ids::CallId,
    wire::{http::Response, timestamp::Timestamp},
};

use crate::{
    bench::{
        Bench, NODE, gathered, nsk, problem, public_key, registration_body, responded, seconds,
        secret, sent, sent_to, token_value,
    },
    register::without_notices,
};

const OTHER: &str = "0190a8b8-a0c0-4a0a-8a0a-a0a0a0a0a0a3";

/// An armed agent, its calls under way, and what else it ordered since they were last answered.
struct Node {
    bench: Bench,
    calls: Vec<(CallId, String)>,
    orders: Vec<Effect>,
}

impl Node {
    fn armed(staged: StagedFile) -> Self {
        let (bench, effects) = Bench::armed(staged);
        let mut node = Self { bench, calls: Vec::new(), orders: Vec::new() };
        node.take(effects);
        node
    }

    fn take(&mut self, effects: Vec<Effect>) {
        let calls = sent(&effects).into_iter();
        self.calls.extend(calls.map(|(call, request)| (call, request.path)));
        let others = without_notices(effects).into_iter();
        // What the agent reports of itself goes on whoever it is.
        let is_other =
            |effect: &Effect| matches!(effect, Effect::Send { .. } | Effect::Keep { .. });
        self.orders.extend(others.filter(|effect| !is_other(effect)));
    }

    fn give(&mut self, input: Input) {
        let effects = self.bench.give(input);
        self.take(effects);
    }

    /// Answers all calls so, and lets time pass to the next that is due.
    fn round(&mut self, answer: &Answer) {
        for (call, _) in std::mem::take(&mut self.calls) {
            let effects = self.bench.answer(call, answer.clone());
            self.take(effects);
        }
        let due = self.bench.agent.wakeup().expect("a node goes on");
        self.bench.pass(due.since(self.bench.now.mono));
        self.give(Input::Ticked);
    }

    /// Rounds of refusals until a token is looked for.
    fn refused(&mut self) -> u64 {
        let begun = self.bench.now.mono;
        while self.orders.is_empty() {
            self.round(&problem(401, "unauthorized"));
            assert!(self.bench.now.mono.since(begun) < seconds(600), "it never looks");
        }
        assert_eq!(std::mem::take(&mut self.orders), [Effect::Gather]);
        self.bench.now.mono.since(begun).as_secs()
    }

    fn gathered(&mut self, token: TokenSources) {
        self.give(Input::Gathered(Box::new(gathered(token))));
    }

    /// From a refusal to the registration on its way.
    fn posting(&mut self) -> CallId {
        self.refused();
        self.gathered(token_value());
        assert_eq!(self.orders, [retire(&self.bench)]);
        self.orders.clear();
        self.calls.clear();
        let folder = "data.refused-then".to_owned();
        self.give(Input::Stored(Stored::Retired { folder }));
        assert_eq!(self.orders.len(), 1);
        self.orders.clear();
        let effects = self.bench.give(Input::Stored(Stored::KeyMade(public_key(5))));
        let (call, request) = sent_to(&effects, "/v1/register");
        assert_eq!(request.headers.first("authorization"), None);
        call
    }

    /// The paths of the calls under way.
    fn paths(&self) -> Vec<&str> {
        self.calls.iter().map(|(_, path)| path.as_str()).collect()
    }
}

fn retire(bench: &Bench) -> Effect {
    Effect::Store(Order::Retire { at: Timestamp::from(bench.now.wall.second()) })
}

fn old() -> [String; 2] {
    [format!("/v1/nodes/{NODE}/heartbeat"), format!("/v1/nodes/{NODE}/state")]
}

#[test]
fn a_node_that_is_refused_for_a_minute_looks_for_a_token_and_says_so_meanwhile() {
    let mut node = Node::armed(StagedFile::Missing);
    let after = node.refused();
    assert!((60..=120).contains(&after), "{after} s");
    assert_eq!(node.bench.agent.readiness(), Readiness::IdentityRefused);
}

#[test]
fn without_a_token_nothing_is_moved_and_the_node_looks_again() {
    let mut node = Node::armed(StagedFile::Missing);
    for _ in 0..3 {
        node.refused();
        node.gathered(TokenSources::default());
        assert_eq!(node.orders, []);
        assert_eq!(node.bench.agent.readiness(), Readiness::IdentityRefused);
    }
    node.refused();
    let lacking = Gathered { project_id: "".into(), ..gathered(token_value()) };
    node.give(Input::Gathered(Box::new(lacking)));
    assert_eq!(node.orders, []);
    node.round(&responded(200, "{}"));
    assert!(!node.calls.is_empty(), "its work goes on");
}

#[test]
fn the_other_work_rests_until_the_new_identity_is_on_disk() {
    let mut node = Node::armed(StagedFile::Missing);
    let call = node.posting();
    assert_eq!(node.bench.agent.wakeup(), None, "nothing but the registration is under way");
    let body = registration_body(nsk().expose()).replace(NODE, OTHER);
    let effects = node.bench.answer(call, responded(201, &body));
    assert!(
        matches!(effects.as_slice(), [Effect::Store(Order::Persist(identity))] if identity.file.node_id == OTHER)
    );
    assert_eq!(node.bench.agent.readiness(), Readiness::IdentityRefused);
    node.give(Input::Stored(Stored::Persisted));
    assert_eq!(node.paths(), old().map(|path| path.replace(NODE, OTHER)));
    assert!(node.bench.agent.readiness().is_ready());
}

#[test]
fn an_answer_to_the_refused_identity_says_nothing_about_the_new_one() {
    let mut node = Node::armed(StagedFile::Missing);
    node.refused();
    let late = node.calls.clone();
    assert!(!late.is_empty());
    node.gathered(token_value());
    let folder = "aside".to_owned();
    node.give(Input::Stored(Stored::Retired { folder }));
    let effects = node.bench.give(Input::Stored(Stored::KeyMade(public_key(5))));
    let (call, _) = sent_to(&effects, "/v1/register");
    node.bench.answer(call, responded(201, &registration_body(nsk().expose())));
    node.bench.give(Input::Stored(Stored::Persisted));
    for (call, _) in late {
        assert_eq!(node.bench.answer(call, problem(401, "unauthorized")), []);
    }
    assert!(node.bench.agent.readiness().is_ready());
}

#[test]
fn a_refused_registration_puts_the_identity_back_and_its_token_is_not_tried_again() {
    let refusals = [
        problem(401, "unauthorized"),
        problem(403, "token_consumed"),
        problem(403, "nonce_collision"),
        problem(409, "news"),
        Answer::Responded(Response::empty(201)),
    ];
    for refusal in refusals {
        let mut node = Node::armed(StagedFile::Missing);
        let call = node.posting();
        let effects = node.bench.answer(call, refusal);
        node.take(effects);
        assert_eq!(node.orders, [Effect::Store(Order::Restore)], "and no exit");
        node.orders.clear();
        node.give(Input::Stored(Stored::Restored(StagedFile::Missing)));
        assert_eq!(node.paths(), old(), "under the former identity");
        assert_eq!(node.bench.agent.readiness(), Readiness::IdentityRefused);
        node.refused();
        node.gathered(token_value());
        assert_eq!(node.orders, [], "this token was refused before");
        node.refused();
        let other = TokenSources { value: Some(secret("another")), ..TokenSources::default() };
        node.gathered(other);
        assert_eq!(node.orders, [retire(&node.bench)]);
    }
}

#[test]
fn a_staged_key_comes_back_with_its_identity() {
    let mut node = Node::armed(StagedFile::Missing);
    let call = node.posting();
    let effects = node.bench.answer(call, problem(403, "token_expired"));
    node.take(effects);
    node.give(Input::Stored(Stored::Restored(StagedFile::Key(public_key(8)))));
    assert!(node.paths().contains(&"/v1/keys/rotate"), "{:?}", node.paths());
}

#[test]
fn a_transient_failure_is_retried_beyond_the_window_and_ends_nothing() {
    let mut node = Node::armed(StagedFile::Missing);
    let mut call = node.posting();
    for _ in 0..30 {
        let effects = node.bench.answer(call, problem(503, "pool_exhausted"));
        assert!(!effects.iter().any(|one| matches!(one, Effect::Exit(_))), "{effects:?}");
        let due = node.bench.agent.wakeup().expect("a further attempt");
        let wait = due.since(node.bench.now.mono);
        assert!(wait <= seconds(60), "{wait:?}");
        node.bench.pass(wait);
        call = sent_to(&node.bench.give(Input::Ticked), "/v1/register").0;
    }
}

fn failed(order: OrderKind) -> Input {
    Input::Stored(Stored::Failed { order, jitter: Jitter::NONE, reason: "full".into() })
}

#[test]
fn what_cannot_be_moved_aside_is_put_back() {
    let mut node = Node::armed(StagedFile::Missing);
    node.refused();
    node.gathered(token_value());
    node.orders.clear();
    node.give(failed(OrderKind::Retire));
    assert_eq!(node.orders, [Effect::Store(Order::Restore)]);
}

#[test]
fn an_identity_that_cannot_be_put_back_is_put_back_later() {
    let mut node = Node::armed(StagedFile::Missing);
    let call = node.posting();
    let effects = node.bench.answer(call, problem(403, "token_expired"));
    node.take(effects);
    for expected in [1, 2, 4] {
        node.orders.clear();
        node.give(failed(OrderKind::Restore));
        assert_eq!(node.orders, []);
        let due = node.bench.agent.wakeup().expect("another try");
        assert_eq!(due.since(node.bench.now.mono), seconds(expected));
        node.bench.pass(seconds(expected));
        node.give(Input::Ticked);
        assert_eq!(node.orders, [Effect::Store(Order::Restore)]);
    }
    node.give(Input::Stored(Stored::Restored(StagedFile::Missing)));
    assert_eq!(node.paths(), old());
}

#[test]
fn a_key_that_cannot_be_made_leads_back_to_the_identity() {
    let mut node = Node::armed(StagedFile::Missing);
    node.refused();
    node.gathered(token_value());
    node.give(Input::Stored(Stored::Retired { folder: "aside".into() }));
    node.orders.clear();
    node.give(failed(OrderKind::MakeKey));
    assert_eq!(node.orders, [Effect::Store(Order::Restore)]);
    let told = Unprepared::Key("full".into()).to_string();
    assert!(told.contains("full"));
}

#[test]
fn a_wrong_clock_or_a_broken_control_plane_never_leads_to_a_fresh_registration() {
    for answer in [problem(400, "clock_skew"), problem(403, "x"), problem(503, "x")] {
        let mut node = Node::armed(StagedFile::Missing);
        for _ in 0..60 {
            node.round(&answer);
        }
        assert_eq!(node.orders, [], "{answer:?}");
    }
}
