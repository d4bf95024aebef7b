//! The handlers, one file for each thing that can be asked about.

pub(crate) mod decide;
pub(crate) mod service;
