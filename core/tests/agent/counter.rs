//! A program at the local socket: what it asks of a whole agent, and the disk that takes what the agent keeps.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{
        Caller, Change, Content, Door, Effect, FoundContent, FoundFile, Input, Memory, StagedFile,
        StateFile,
    },
    ids::CallId,
    wire::http::{Body, Headers, Method, Request, Response},
};

use crate::bench::{Bench, remembered, settings};

/// A whole agent with what it keeps below `state/`.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) bench: Bench,
    pub(crate) files: BTreeMap<StateFile, Vec<u8>>,
    /// The disk refuses what it is given.
    pub(crate) full: bool,
    /// What is ordered and not carried out while the disk hangs.
    pub(crate) hanging: Option<Vec<(StateFile, Change)>>,
    /// What was ordered besides, newest last.
    pub(crate) orders: Vec<Effect>,
    asked: u64,
}

pub(crate) fn text(response: &Response) -> String {
    String::from_utf8(response.body.clone()).expect("a text")
}

impl Counter {
    /// Before any registration.
    pub(crate) fn new() -> Self {
        Self::started(BTreeMap::new(), Memory::default())
    }

    /// With an identity on the disk.
    pub(crate) fn armed() -> Self {
        Self::started(BTreeMap::new(), remembered(StagedFile::Missing))
    }

    pub(crate) fn started(files: BTreeMap<StateFile, Vec<u8>>, memory: Memory) -> Self {
        let found = |(file, bytes): (&StateFile, &Vec<u8>)| FoundFile {
            file: file.clone(),
            content: FoundContent::Bytes(Content(bytes.clone())),
        };
        let state = files.iter().map(found).collect();
        let mut counter = Self {
            bench: Bench::new(settings()),
            files,
            full: false,
            hanging: None,
            orders: Vec::new(),
            asked: 0,
        };
        counter.give(Input::Restarted(Box::new(Memory { state, ..memory })));
        counter
    }

    /// The same disk under a new process.
    pub(crate) fn restarted(&self) -> Self {
        Self::started(self.files.clone(), remembered(StagedFile::Missing))
    }

    pub(crate) fn give(&mut self, input: Input) -> Vec<(CallId, Response)> {
        let mut replies = Vec::new();
        for effect in self.bench.give(input) {
            match effect {
                Effect::Reply { call, response } => replies.push((call, response)),
                Effect::Keep { file, change } => replies.extend(self.keep(file, change)),
                Effect::Gather
                | Effect::Store(_)
                | Effect::Send { .. }
                | Effect::Act(_)
                | Effect::Stream(_)
                | Effect::Tell(_)
                | Effect::Exit(_) => self.orders.push(effect),
            }
        }
        replies
    }

    fn keep(&mut self, file: StateFile, change: Change) -> Vec<(CallId, Response)> {
        match &mut self.hanging {
            Some(hanging) => {
                assert!(hanging.iter().all(|(open, _)| *open != file), "two changes of {file}");
                hanging.push((file, change));
                Vec::new()
            }
            None => self.carry_out(file, change),
        }
    }

    pub(crate) fn carry_out(&mut self, file: StateFile, change: Change) -> Vec<(CallId, Response)> {
        let outcome = if self.full { Err("the disk is full".into()) } else { Ok(()) };
        if !self.full {
            match change {
                Change::Write(Content(bytes)) => drop(self.files.insert(file.clone(), bytes)),
                Change::Remove => drop(self.files.remove(&file)),
                Change::Rename(name) => {
                    let bytes = self.files.remove(&file).expect("it was found");
                    self.files.insert(StateFile { name, ..file.clone() }, bytes);
                }
            }
        }
        self.give(Input::Kept { file, outcome })
    }

    /// The disk takes the first change that hangs.
    pub(crate) fn release(&mut self) -> Vec<(CallId, Response)> {
        let hanging = self.hanging.as_mut().expect("the disk hangs");
        let (file, change) = hanging.remove(0);
        self.carry_out(file, change)
    }

    pub(crate) fn ask_later(&mut self, method: Method, path: &str, headers: Headers, body: &str) {
        let replies = self.ask_all(method, path, headers, body);
        assert_eq!(replies, [], "it is answered when it is done");
    }

    fn ask_all(
        &mut self,
        method: Method,
        path: &str,
        headers: Headers,
        body: &str,
    ) -> Vec<(CallId, Response)> {
        self.asked += 1;
        let body = Body::Whole(body.into());
        let request = Request { method, path: path.into(), query: None, headers, body };
        let call = CallId(self.asked);
        self.give(Input::Asked { call, caller: Caller::from(Door::Socket), request })
    }

    /// One question and its one answer.
    pub(crate) fn ask(
        &mut self,
        method: Method,
        path: &str,
        headers: Headers,
        body: &str,
    ) -> Response {
        let replies = self.ask_all(method, path, headers, body);
        let [(call, response)] = replies.as_slice() else { panic!("{} answers", replies.len()) };
        assert_eq!(call.0, self.asked);
        response.clone()
    }

    pub(crate) fn get(&mut self, path: &str) -> (u16, String) {
        let response = self.ask(Method::Get, path, Headers::new(), "");
        (response.status, text(&response))
    }

    /// Writes a payload as JSON under a key.
    pub(crate) fn put(&mut self, key: &str, payload: &str) -> (u16, String) {
        self.put_if(key, payload, None)
    }

    pub(crate) fn put_if(
        &mut self,
        key: &str,
        payload: &str,
        version: Option<&str>,
    ) -> (u16, String) {
        let headers =
            version.map_or_else(Headers::new, |text| Headers::new().with("if-match", text));
        let body = format!(r#"{{"content_type":"application/json","payload":{payload}}}"#);
        let response = self.ask(Method::Put, &format!("/v1/state/report/{key}"), headers, &body);
        (response.status, text(&response))
    }

    pub(crate) fn delete(&mut self, key: &str) -> (u16, String) {
        let path = format!("/v1/state/report/{key}");
        let response = self.ask(Method::Delete, &path, Headers::new(), "");
        (response.status, text(&response))
    }
}
