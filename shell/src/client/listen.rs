//! A stream of events: asked for like any call, then read for as long as it lasts.
//!
//! Specification: "GET /v1/nodes/{id}/events".

use std::time::Duration;

use hyper::body::Bytes;
use meshward_core::{
    agent::{CHUNK_MAX, Failure, Lost},
    wire::http::{Request, Response},
};
use tokio::time::{Instant, timeout_at};

use super::{
    Client,
    convert::{failed, received},
};

/// What follows the head of a success.
#[derive(Debug)]
pub(crate) struct Feed {
    client: Client,
    response: reqwest::Response,
    /// Read, but not told yet.
    rest: Bytes,
}

impl Client {
    /// Asks for a stream, whose head comes within the timeout; what follows that of a success has no limit of time. Of
    /// any other answer the body is read as far as it comes within the timeout, to `answer_max` bytes, as its head alone
    /// tells enough.
    pub(crate) async fn open(
        &self,
        request: Request,
        timeout: Duration,
        answer_max: usize,
    ) -> Result<(Response, Option<Feed>), Lost> {
        let until = Instant::now() + timeout;
        let response = match timeout_at(until, self.asked(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err((failure, cause))) => return Err(self.lost(failure, &cause)),
            Err(_) => {
                return Err(self.lost(Failure::TimedOut, &format!("it was given {timeout:?}")));
            }
        };
        let status = response.status().as_u16();
        let mut head = Response { headers: received(&response), ..Response::empty(status) };
        if head.is_success() {
            let feed = Feed { client: self.clone(), response, rest: Bytes::new() };
            return Ok((head, Some(feed)));
        }
        let body = read_to(&mut head.body, response, answer_max);
        // However it ended, what has come of it is told.
        let _ = timeout_at(until, body).await;
        Ok((head, None))
    }

    async fn asked(&self, request: Request) -> Result<reqwest::Response, (Failure, String)> {
        self.http.execute(self.built(request)?).await.map_err(failed)
    }
}

async fn read_to(body: &mut Vec<u8>, mut response: reqwest::Response, answer_max: usize) {
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = answer_max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() >= room {
            return;
        }
    }
}

impl Feed {
    /// The next bytes, at most [`CHUNK_MAX`] of them; none behind the end, and the cause where it is none in order.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Lost> {
        while self.rest.is_empty() {
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.rest = chunk,
                Ok(None) => return Ok(None),
                Err(error) => {
                    let (failure, cause) = failed(error);
                    return Err(self.client.lost(failure, &cause));
                }
            }
        }
        let length = self.rest.len().min(CHUNK_MAX);
        Ok(Some(self.rest.split_to(length).to_vec()))
    }
}
