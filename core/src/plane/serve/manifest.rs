//! Capability manifests, NAT endpoints and integrity violations.

use super::{Answered, Asked};
use crate::{
    plane::{Plane, refusal::Denial},
    step::Step,
};

impl Plane {
    pub(in crate::plane) fn capabilities(self, _asked: Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn endpoint(self, _asked: Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn integrity_violations(self, _asked: Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn configure_endpoint(self, _asked: Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }
}
