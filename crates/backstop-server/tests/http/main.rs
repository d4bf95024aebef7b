//! The service over HTTP on loopback, with a store of its own for each test.

mod access;
mod attempts;
mod contract;
mod decide;
mod events;
mod limits;
mod routes;
mod support;
mod threats;
mod tls;
mod traces;
