//! Secrets, reports, and session activity.

use super::{Answered, Asked};
use crate::{
    plane::{Plane, refusal::Denial},
    step::Step,
};

impl Plane {
    pub(in crate::plane) fn session(
        self,
        _node: &str,
        _session: alloc::string::String,
        _asked: Asked<'_>,
    ) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn secret(self, _key: &str, _asked: &Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn put_report(self, _key: &str, _asked: Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn delete_report(self, _key: &str, _asked: &Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }

    pub(in crate::plane) fn configure_secrets(self, _asked: Asked<'_>) -> Answered {
        Step::to(self).emit(Err(Denial::plain(501, "not built yet")))
    }
}
