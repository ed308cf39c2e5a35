//! The addresses of the trees of operands.

use super::operand::Operand;
use crate::error::{Error, Result};
use crate::record::Address;

/// The address below which operands have theirs by default.
const DEFAULT_TO: &str = "viking://resources";

/// The address of each operand, and the partition to which they belong, if that is known: `to` for a single
/// one, else below it; without it, below viking://resources. Errors if an address is none of documents, or of
/// two operands.
pub fn addresses(
    operands: &[Operand],
    to: Option<&str>,
    partition: Option<&str>,
) -> Result<(Vec<Address>, Option<String>)> {
    if to.is_none() && operands.iter().any(|operand| matches!(operand, Operand::Stdin(_))) {
        let error = Error::new("standard input has no name for an address");
        return Err(error.hint("give the address, as in --to viking://resources/notes"));
    }
    let (root, partition) = address(to.unwrap_or(DEFAULT_TO), partition)?;
    Ok((each(operands, &root, to.is_none())?, partition))
}

/// The address of the tree, and the partition that it belongs to, if that is known.
fn address(to: &str, partition: Option<&str>) -> Result<(Address, Option<String>)> {
    let placed = |error: Error| error.at("--to");
    let owner = Address::parse(to).map_err(placed)?.owner().map(str::to_owned);
    let partition = partition.map(str::to_owned).or(owner);
    let address = Address::resolve(to, partition.as_deref().unwrap_or("default")).map_err(placed)?;
    if !matches!(address.segments().next(), Some("resources" | "agent")) {
        let error = Error::new(format!("{address} is no address of documents")).at("--to");
        return Err(error.hint("give one below viking://resources or viking://agent"));
    }
    Ok((address, partition))
}

/// The address of each operand. Errors if two have the same one.
fn each(operands: &[Operand], to: &Address, by_default: bool) -> Result<Vec<Address>> {
    let mut addresses: Vec<Address> = Vec::with_capacity(operands.len());
    for operand in operands {
        let uri = if operands.len() > 1 || by_default { to.join(&operand.name())? } else { to.clone() };
        if by_default && uri.name() == "users" {
            let error = Error::new(format!("{uri} is for the documents of partitions"));
            return Err(error.hint("give another address, as in --to viking://resources/people"));
        }
        if let Some(at) = addresses.iter().position(|other| *other == uri) {
            let (first, second) = (operands[at].shown(), operand.shown());
            let error = Error::new(format!("{first} and {second} have the same address: {uri}"));
            return Err(error.hint("parse each by itself, with an address of its own by --to"));
        }
        addresses.push(uri);
    }
    Ok(addresses)
}
