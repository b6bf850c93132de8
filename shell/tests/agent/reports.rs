//! Reports of the running agent: answered when they are on the disk, delivered whatever happens to the process.

use std::{
    ffi::OsStr,
    fs,
    io::{Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, net::UnixStream},
};

use meshward_fixture::Running;
use serde_json::{Value, json};

use crate::node::{Node, counter, delete, fixture, get, mode, post, until};

/// Reports are delivered at once, and pulls and beats do not hide them.
const QUICK: &str = "[health]\nenabled = false\n[local_api]\ndebounce_period = \"50ms\"\n";

/// The agent's own reports.
const OWN: u64 = 5;

/// One exchange over the socket: the status, and the body as JSON.
pub(crate) fn ask(
    node: &Node,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Option<(u16, Value)> {
    let mut stream = UnixStream::connect(node.path("run/api.sock")).ok()?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

pub(crate) fn put(node: &Node, key: &str, payload: &str) -> Option<(u16, Value)> {
    let body = format!(r#"{{"content_type":"application/json","payload":{payload}}}"#);
    ask(node, "PUT", &format!("/v1/state/report/{key}"), "", &body)
}

/// How many lines of the log tell this, but for what is recorded of each step.
pub(crate) fn times_told(node: &Node, text: &str) -> usize {
    let log = node.log();
    log.lines().filter(|line| !line.contains(" DEBUG ") && line.contains(text)).count()
}

/// What the control plane was sent of these keys, in order.
fn requests(plane: &Running, key: &str) -> Vec<String> {
    let end = format!("/state/reports/{key}");
    let journal = get(plane, "/test/requests");
    let list = journal["requests"].as_array().cloned().unwrap_or_default();
    let of =
        list.iter().filter(|one| one["path"].as_str().is_some_and(|path| path.ends_with(&end)));
    of.map(|one| one["method"].as_str().unwrap_or_default().to_owned()).collect()
}

pub(crate) async fn open(node: &Node) {
    until("the socket is open", || ask(node, "GET", "/v1/state/report", "", "").is_some()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_report_is_written_read_delivered_and_deleted() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), QUICK);
    let _agent = node.start();
    open(&node).await;
    until("its own reports are delivered", || counter(&plane, "report_put_count") == OWN).await;
    let (status, entry) = put(&node, "app.build", "{ \"n\" : 1.50 }").unwrap();
    assert_eq!((status, &entry["version"], &entry["key"]), (200, &json!(1), &json!("app.build")));
    until("it is delivered", || counter(&plane, "report_put_count") == OWN + 1).await;
    assert_eq!(get(&plane, "/test/last-request/report"), json!({"value": "{\"n\":1.50}"}));
    let path = "/v1/state/report/app.build";
    let read = ask(&node, "GET", path, "", "").unwrap();
    assert_eq!(read, (200, entry));
    let body = r#"{"content_type":"t","payload":2}"#;
    let conflict = ask(&node, "PUT", path, "If-Match: 7\r\n", body).unwrap();
    assert_eq!(conflict, (409, json!({"error": "version conflict"})));
    assert_eq!(ask(&node, "DELETE", path, "", "").unwrap(), (204, Value::Null));
    assert_eq!(ask(&node, "GET", path, "", "").unwrap(), (404, json!({"error": "not found"})));
    until("the deletion is delivered", || counter(&plane, "report_delete_count") == 1).await;
    until("nothing is left of it", || !node.data("state/report/app.build.json").exists()).await;
    assert_eq!(requests(&plane, "app.build"), ["PUT", "DELETE"]);
    for folder in ["state", "state/report"] {
        assert_eq!(mode(&node.data(folder)), 0o700, "{folder}");
    }
    assert_eq!(mode(&node.data("state/report/status.mesh.json")), 0o600);
}

/// How often the agent is killed right behind an answer.
const KILLS: u32 = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_report_that_was_answered_for_outlives_kill_9_and_is_delivered_as_it_was_last() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), QUICK);
    let refuse = json!({"path": "/v1/nodes/*/state/reports/*", "times": 10_000, "status": 503});
    post(&plane, "/test/faults", &refuse);
    for round in 0..KILLS {
        let agent = node.start();
        open(&node).await;
        let (status, entry) = put(&node, "app", &round.to_string()).unwrap();
        assert_eq!(
            (status, &entry["version"]),
            (200, &json!(round + 1)),
            "the one before is there"
        );
        agent.kill();
    }
    assert_eq!(counter(&plane, "report_put_count"), 0, "the control plane refuses");
    assert!(plane.request(delete("/test/faults")).is_success());
    let _last = node.start();
    until("all is delivered", || counter(&plane, "report_put_count") > OWN).await;
    let read = ask(&node, "GET", "/v1/state/report/app", "", "").unwrap().1;
    assert_eq!(read["payload"], json!(KILLS - 1));
    let journal = get(&plane, "/test/requests");
    let taken =
        journal["requests"].as_array().unwrap().iter().rfind(|one| {
            one["path"].as_str().is_some_and(|path| path.ends_with("/state/reports/app"))
        });
    assert_eq!(taken.unwrap()["status"], 200, "{taken:?}");
    assert!(taken.unwrap().to_string().contains(&format!("{}", KILLS - 1)), "{taken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_damaged_file_is_told_and_moved_aside_and_the_others_are_served() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), QUICK);
    let agent = node.start();
    open(&node).await;
    for key in ["a", "b", "c", "d"] {
        assert_eq!(put(&node, key, "1").unwrap().0, 200);
    }
    until("nothing else is being written", || node.data("state/checksums.json").exists()).await;
    agent.kill();
    let file = |key: &str| node.data(&format!("state/report/{key}.json"));
    let whole = fs::read(file("b")).unwrap();
    fs::write(file("a"), "").unwrap();
    fs::write(file("b"), &whole[..whole.len() / 2]).unwrap();
    fs::write(file("c"), vec![0; whole.len()]).unwrap();
    fs::write(node.data("state/report/.tmp-d.json"), "half").unwrap();
    fs::write(node.data("state/report").join(OsStr::from_bytes(b"\xff.json")), "foreign").unwrap();
    let _again = node.start();
    open(&node).await;
    assert_eq!(ask(&node, "GET", "/v1/state/report/d", "", "").unwrap().0, 200);
    for (key, why) in
        [("a", "it is empty"), ("b", "it is cut off"), ("c", "it holds only zero bytes")]
    {
        let told = format!("state/report/{key}.json holds no report, {why}");
        until(&told, || node.log().contains(&told)).await;
        assert_eq!(ask(&node, "GET", &format!("/v1/state/report/{key}"), "", "").unwrap().0, 404);
        until("it is moved aside", || !file(key).exists()).await;
    }
    assert_eq!(put(&node, "a", "2").unwrap().0, 200, "the key can be written again");
    let names = fs::read_dir(node.data("state/report")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    let aside = names.filter(|name| name.to_string_lossy().contains(".damaged-")).count();
    assert_eq!(aside, 3, "nothing is lost");
    for told in ["state/report holds a name that is not UTF-8", "had not finished"] {
        until(told, || times_told(&node, told) > 0).await;
        assert_eq!(times_told(&node, told), 1, "{told} in {}", node.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_report_under_a_key_of_an_earlier_grammar_stays_on_the_disk_and_is_deleted_upstream() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), QUICK);
    let agent = node.start();
    open(&node).await;
    assert_eq!(put(&node, "app", "1").unwrap().0, 200);
    agent.kill();
    let sound = fs::read_to_string(node.data("state/report/app.json")).unwrap();
    let file = node.data("state/report/App.json");
    fs::write(&file, sound.replace("\"app\"", "\"App\"")).unwrap();
    let before = fs::read(&file).unwrap();
    let _again = node.start();
    open(&node).await;
    until("its deletion is sent", || requests(&plane, "App") == ["DELETE"]).await;
    let listed = ask(&node, "GET", "/v1/state/report", "", "").unwrap().1.to_string();
    assert!(listed.contains("\"app\"") && !listed.contains("\"App\""), "{listed}");
    assert_eq!(ask(&node, "GET", "/v1/state/report/App", "", "").unwrap().0, 400);
    let told = "state/report/App.json holds a report under the key \"App\", which no report can have any more";
    until(told, || node.log().contains(told)).await;
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_folder_that_cannot_be_used_fails_the_start() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), QUICK);
    assert!(node.run(&["register"]).status.success());
    fs::remove_dir_all(node.data("state")).unwrap();
    fs::write(node.data("state"), "").unwrap();
    let refused = node.run(&["run"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = crate::node::text(&refused.stderr);
    assert!(told.contains("state is not a folder of the agent's own"), "{told}");
}
