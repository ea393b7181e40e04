//! The interface over real connections on this machine.

mod attacks;
mod client;
mod labelling;
