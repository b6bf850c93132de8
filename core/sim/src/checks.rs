//! What must hold: one function an invariant, named as a sentence. Written from the specification and from what
//! crosses the network, without the code of either end.
//!
//! A fault that voids a promise is named here and not filtered out of the scripts: a control plane that has forgotten,
//! and a request that arrives when its caller has given up.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use meshward_core::{
    agent::{Answer, Exit, Unprepared},
    ids::{CallId, ExecutionId},
    wire::{
        http::{Body, Method, Request, Response},
        identity::IdentityFile,
        json,
        rotation::Receipt,
        timestamp::Timestamp,
    },
};
use serde::Deserialize;

use crate::{clock::Clock, disk::Disk};

/// The invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is not so that {}", self.0)
    }
}

/// How long before the end the last accepted heartbeat may lie.
const HEARTBEAT_AGE_MAX: Duration = Duration::from_secs(120);

#[derive(Clone, Debug, Default)]
pub struct Checks {
    found: Option<Violation>,
    /// The key that the control plane holds as current, in base64.
    current: Option<String>,
    receipts: BTreeMap<String, Receipt>,
    nonces: BTreeMap<String, u32>,
    /// The key whose rotation the agent knows no end of.
    undecided: Option<String>,
    asked: BTreeMap<CallId, Asked>,
    claimed: BTreeSet<ExecutionId>,
    settled: BTreeSet<ExecutionId>,
    begun: BTreeMap<ExecutionId, u32>,
    dispatched: BTreeMap<ExecutionId, Timestamp>,
    /// Executions that the agent was told to leave alone, or whose reports failed as often as it may try.
    let_go: BTreeSet<ExecutionId>,
    failed_reports: BTreeMap<ExecutionId, u32>,
    heartbeat: Option<Timestamp>,
    /// The control plane was restarted and what it knew is void.
    forgotten: bool,
    /// A key came into force by a request that its caller had given up.
    overtaken: bool,
}

/// A call of the agent, as it was sent.
#[derive(Clone, Debug)]
enum Asked {
    Callback { execution: ExecutionId, status: String },
    Rotation(String),
    Other,
}

/// The members of requests and answers that the checks read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Members {
    status: Option<json::Raw>,
    new_public_key: String,
    public_key: String,
    nonce: String,
    accepted_at: Option<Timestamp>,
}

impl Checks {
    /// An execution was put on the desired state.
    pub fn dispatched(&mut self, execution: ExecutionId, expires_at: Timestamp) {
        self.dispatched.insert(execution, expires_at);
    }

    /// The control plane was restarted.
    pub fn forgot(&mut self) {
        self.forgotten = true;
        self.current = None;
        self.receipts.clear();
        self.nonces.clear();
        self.dispatched.clear();
    }

    /// The agent's process ended; what it had asked is never answered.
    pub fn died(&mut self) {
        self.asked.clear();
        self.claimed.clear();
        self.settled.clear();
    }

    /// The agent sends a request.
    pub fn sent(&mut self, call: CallId, request: &Request) {
        let asked = self.read(request);
        match &asked {
            Asked::Rotation(key) => self.no_second_key_is_sent_while_one_is_undecided(key),
            Asked::Callback { execution, .. } => {
                self.no_settled_execution_is_reported_again(execution)
            }
            Asked::Other => {}
        }
        self.asked.insert(call, asked);
    }

    fn read(&self, request: &Request) -> Asked {
        let members = members(&request.body);
        match request.path.rsplit_once("/executions/") {
            Some((_, execution)) => Asked::Callback {
                execution: ExecutionId(execution.to_owned()),
                status: text(members.status.as_ref()),
            },
            None if request.path == "/v1/keys/rotate" => Asked::Rotation(members.new_public_key),
            None => Asked::Other,
        }
    }

    fn no_second_key_is_sent_while_one_is_undecided(&mut self, key: &str) {
        if self.undecided.as_deref().is_some_and(|undecided| undecided != key) {
            self.fail("no second key is sent while one is undecided");
        }
        self.undecided = Some(key.to_owned());
    }

    fn no_settled_execution_is_reported_again(&mut self, execution: &ExecutionId) {
        if self.settled.contains(execution) {
            self.fail("no settled execution is reported again");
        }
    }

    /// The agent hears an answer.
    pub fn heard(&mut self, call: CallId, answer: &Answer) {
        let status = match answer {
            Answer::Responded(response) => response.status,
            Answer::Failed(_) => 0,
        };
        match self.asked.remove(&call) {
            Some(Asked::Rotation(_)) if matches!(status, 200 | 400 | 403 | 409 | 413 | 422) => {
                self.undecided = None
            }
            Some(Asked::Callback { execution, status: told }) => {
                self.heard_of(execution, &told, answer)
            }
            Some(Asked::Rotation(_) | Asked::Other) | None => {}
        }
    }

    fn heard_of(&mut self, execution: ExecutionId, told: &str, answer: &Answer) {
        let terminal = matches!(told, "succeeded" | "failed" | "cancelled");
        match answer {
            Answer::Responded(response) if response.status == 200 && terminal => {
                self.settled.insert(execution);
            }
            Answer::Responded(response) if response.status == 200 && told == "started" => {
                self.claimed.insert(execution);
            }
            Answer::Responded(response) if response.status == 409 => {
                self.let_go.insert(execution);
            }
            Answer::Responded(_) | Answer::Failed(_) if terminal => {
                let failed = self.failed_reports.entry(execution.clone()).or_default();
                *failed += 1;
                if *failed >= 5 {
                    self.let_go.insert(execution);
                }
            }
            Answer::Responded(_) | Answer::Failed(_) => {}
        }
    }

    /// The control plane answers; `completed` is whether a rotation was completed by it, `waited_for` whether its
    /// caller still waits.
    pub fn served(
        &mut self,
        request: &Request,
        response: &Response,
        (completed, waited_for): (bool, bool),
    ) {
        let sent = members(&request.body);
        match (request.path.as_str(), response.status) {
            ("/v1/register", 201) => {
                self.each_nonce_is_recorded_once(sent.nonce);
                self.current = Some(sent.public_key);
                self.overtaken = !waited_for;
            }
            ("/v1/keys/rotate", 200) if completed => {
                if let Ok(receipt) = json::decode_tolerant(&response.body) {
                    self.receipts.insert(sent.new_public_key.clone(), receipt);
                }
                self.current = Some(sent.new_public_key);
                self.overtaken |= !waited_for;
            }
            (path, 200) if path.ends_with("/heartbeat") && request.method == Method::Post => {
                self.heartbeat = json::decode_tolerant::<Members>(&response.body)
                    .ok()
                    .and_then(|seen| seen.accepted_at);
            }
            _ => {}
        }
    }

    fn each_nonce_is_recorded_once(&mut self, nonce: String) {
        let recorded = self.nonces.entry(nonce).or_default();
        *recorded += 1;
        if *recorded > 1 {
            self.fail("each nonce is recorded once");
        }
    }

    /// A run begins.
    pub fn began(&mut self, execution: &ExecutionId) {
        let begun = self.begun.entry(execution.clone()).or_default();
        *begun += 1;
        if *begun > 1 && !self.forgotten {
            self.fail("no execution runs twice");
        }
        if !self.claimed.contains(execution) {
            self.fail("no execution runs before its claim is accepted");
        }
    }

    /// The agent's process exits by itself.
    pub fn exited(&mut self, exit: &Exit) {
        match exit {
            Exit::Refused { code, .. }
                if code.as_ref().map(|code| code.as_str()) == Some("nonce_collision") => {}
            // A disk that refuses the key is told before anything is sent.
            Exit::Drained | Exit::GaveUp { .. } | Exit::Unprepared(Unprepared::Key(_)) => {}
            Exit::Refused { .. }
            | Exit::Registered { .. }
            | Exit::Unprepared(_)
            | Exit::Unusable { .. } => {
                self.fail(
                    "no registration is given up but for a collided nonce or a closed window",
                );
            }
        }
    }

    /// What holds at every moment.
    pub fn stand(&mut self, disk: &Disk) -> Result<(), Violation> {
        self.an_identity_on_disk_is_complete(disk);
        self.the_current_key_is_on_disk(disk);
        self.the_receipt_on_disk_is_the_control_planes(disk);
        self.found.take().map_or(Ok(()), Err)
    }

    fn an_identity_on_disk_is_complete(&mut self, disk: &Disk) {
        if disk.identity.is_some() && disk.identity().is_none() {
            self.fail("an identity on disk is complete");
        }
    }

    fn the_current_key_is_on_disk(&mut self, disk: &Disk) {
        let Some(current) =
            self.current.as_ref().filter(|_| disk.identity.is_some() && !self.overtaken)
        else {
            return;
        };
        let on_disk = [disk.private_key, disk.staged];
        if !on_disk.iter().flatten().any(|key| key.to_string() == *current) {
            self.fail("the control plane's current key is on disk");
        }
    }

    fn the_receipt_on_disk_is_the_control_planes(&mut self, disk: &Disk) {
        let (None, Some(private), Some(bytes)) = (disk.staged, disk.private_key, &disk.identity)
        else {
            return;
        };
        let kept = IdentityFile::decode(bytes).ok().and_then(|file| file.last_rotation);
        if self.receipts.get(&private.to_string()).is_some_and(|given| kept.as_ref() != Some(given))
        {
            self.fail("the receipt on disk is the control plane's");
        }
    }

    /// What holds when the faults are long over.
    pub fn rested(&mut self, disk: &Disk, statuses: &str, clock: &Clock) -> Result<(), Violation> {
        if disk.identity().is_none() {
            self.fail("every node is registered in the end");
        }
        if disk.staged.is_some() {
            self.fail("no key is staged in the end");
        }
        self.every_execution_has_ended(statuses, clock);
        let fresh =
            self.heartbeat.is_some_and(|at| at.skew(clock.plane().wall) <= HEARTBEAT_AGE_MAX);
        if !fresh {
            self.fail("heartbeats are accepted in the end");
        }
        self.found.take().map_or(Ok(()), Err)
    }

    fn every_execution_has_ended(&mut self, statuses: &str, clock: &Clock) {
        let ended = |execution: &ExecutionId| {
            ["succeeded", "failed", "cancelled"]
                .iter()
                .any(|end| statuses.contains(&format!("\"{execution}\":\"{end}\"")))
        };
        let wall = clock.plane().wall;
        let open = self
            .dispatched
            .iter()
            .find(|(id, expires_at)| {
                expires_at.is_after(wall) && !ended(id) && !self.let_go.contains(id)
            })
            .map(|(id, _)| id.clone());
        if let Some(open) = open {
            self.fail(&format!("execution {open} has ended, expired or been let go"));
        }
    }

    fn fail(&mut self, sentence: &str) {
        self.found.get_or_insert_with(|| Violation(sentence.to_owned()));
    }
}

fn members(body: &Body) -> Members {
    match body {
        Body::Whole(bytes) => json::decode_tolerant(bytes).unwrap_or_default(),
        Body::Oversized | Body::Unreadable => Members::default(),
    }
}

fn text(raw: Option<&json::Raw>) -> String {
    raw.map(|raw| raw.text().trim_matches('"').to_owned()).unwrap_or_default()
}
