//! The handlers, one file for each thing that can be asked about.

mod attempts;
pub(crate) mod audit;
pub(crate) mod decide;
pub(crate) mod difference;
pub(crate) mod events;
pub(crate) mod live;
pub(crate) mod operate;
pub(crate) mod policies;
pub(crate) mod runs;
pub(crate) mod service;
pub(crate) mod tokens;
