//! The journal, verification, faults, and what describes the fixture.

use super::{Answered, Asked, Order, Ordered};
use crate::{
    plane::{Plane, refusal::Denial},
    step::Step,
    wire::http::Response,
};

impl Plane {
    pub(in crate::plane) fn requests(self, _asked: &Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn clear_requests(self) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn verify(self, _asked: Asked<'_>) -> Ordered {
        Step::to(self).emit(Order::Answer(Err(Denial::plain(501, "not built yet"))))
    }

    pub(in crate::plane) fn faults(self) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn add_fault(self, _asked: Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn clear_faults(self) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn remove_fault(self, _id: &str) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }
}

pub(super) fn openapi(_asked: &Asked<'_>) -> Result<Response, Denial> {
    Err(Denial::plain(501, "not built yet"))
}

pub(in crate::plane) fn ui(_asked: &Asked<'_>) -> Result<Response, Denial> {
    Err(Denial::plain(501, "not built yet"))
}
