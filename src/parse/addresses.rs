//! The addresses of the trees of operands.

use super::error::ParseError;
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
        return Err(ParseError::Unnamed.into());
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
        return Err(placed(ParseError::NotOfDocuments { uri: address }.into()));
    }
    Ok((address, partition))
}

/// The address of each operand. Errors if two have the same one.
fn each(operands: &[Operand], to: &Address, by_default: bool) -> Result<Vec<Address>> {
    let mut addresses: Vec<Address> = Vec::with_capacity(operands.len());
    for operand in operands {
        let uri = if operands.len() > 1 || by_default { to.join(&operand.name())? } else { to.clone() };
        if by_default && uri.name() == "users" {
            return Err(ParseError::OfPartitions { uri }.into());
        }
        if let Some(at) = addresses.iter().position(|other| *other == uri) {
            let (first, second) = (operands[at].shown(), operand.shown());
            return Err(ParseError::SameAddress { first, second, uri }.into());
        }
        addresses.push(uri);
    }
    Ok(addresses)
}
