//! Links, and the synapses that follow from vectors.

pub(super) mod link_writer;
pub(super) mod resemblance;
pub(super) mod synapse;
