//! Vectors for the messages that have none.
