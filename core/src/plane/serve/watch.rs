//! The journal, verification, faults, and what describes the fixture.

use super::{Answered, Asked, Order, Ordered};
use crate::{
    plane::{Plane, faults::rule, journal, refusal::Denial, verify},
    step::Step,
    wire::{http::Response, json},
};

impl Plane {
    pub(in crate::plane) fn requests(self, asked: &Asked<'_>) -> Answered {
        let answer = journal::filter(asked.head.query.as_deref());
        let answer =
            answer.map(|filter| Response::json(200, json::encode(&self.journal.served(filter))));
        Step::to(self).emit(answer.map_err(Denial::from))
    }

    pub(in crate::plane) fn clear_requests(mut self) -> Answered {
        self.journal.clear();
        self.verifies.restart();
        Step::to(self).emit(Ok(Response::empty(204)))
    }

    /// A fixture as it was after the start; who waits for requests goes on waiting, from none.
    pub(in crate::plane) fn reset(mut self) -> Self {
        self.verifies.restart();
        Self { verifies: self.verifies, ..Self::default() }
    }

    pub(in crate::plane) fn verify(self, asked: &Asked<'_>) -> Ordered {
        Step::to(self).emit(match verify::read(&asked.body) {
            Ok(condition) => Order::Verify(condition),
            Err(refusal) => Order::Answer(Err(refusal.into())),
        })
    }

    pub(in crate::plane) fn faults(self) -> Answered {
        let body = json::encode(&self.faults.served());
        Step::to(self).emit(Ok(Response::json(200, body)))
    }

    pub(in crate::plane) fn add_fault(mut self, asked: &Asked<'_>) -> Answered {
        let added = rule::read(&asked.body).and_then(|read| {
            self.faults.add(read).map(|rule| Response::json(201, json::encode(&rule)))
        });
        Step::to(self).emit(added.map_err(Denial::from))
    }

    pub(in crate::plane) fn clear_faults(mut self) -> Answered {
        self.faults.clear();
        Step::to(self).emit(Ok(Response::empty(204)))
    }

    pub(in crate::plane) fn remove_fault(mut self, id: &str) -> Answered {
        let removed = self.faults.remove(id).map(|()| Response::empty(204));
        Step::to(self).emit(removed.map_err(Denial::from))
    }
}

pub(super) fn openapi(asked: &Asked<'_>) -> Response {
    Response::json(200, asked.settings.documents.openapi.into())
}

/// The page, which may load nothing from elsewhere and be framed by nobody.
pub(in crate::plane) fn page(asked: &Asked<'_>) -> Response {
    let documents = &asked.settings.documents;
    let mut response = Response::empty(200)
        .with("content-type", "text/html; charset=utf-8")
        .with("content-security-policy", documents.page_policy)
        .with("x-content-type-options", "nosniff")
        .with("referrer-policy", "no-referrer")
        .with("cache-control", "no-store");
    response.body.extend_from_slice(documents.page.as_bytes());
    response
}
