//! Events: the stream, and what steers it.

use super::{Asked, Order, Ordered};
use crate::{
    plane::{Plane, refusal::Denial},
    step::Step,
};

impl Plane {
    pub(in crate::plane) fn events(self, _asked: &Asked<'_>) -> Ordered {
        Step::to(self).emit(Order::Answer(Err(Denial::plain(501, "not built yet"))))
    }

    pub(in crate::plane) fn inject_event(self, _asked: Asked<'_>) -> Ordered {
        Step::to(self).emit(Order::Answer(Err(Denial::plain(501, "not built yet"))))
    }

    pub(in crate::plane) fn configure_events(self, _asked: Asked<'_>) -> Ordered {
        Step::to(self).emit(Order::Answer(Err(Denial::plain(501, "not built yet"))))
    }
}
