//! The vector of a record.

use super::members::required;
use super::object::{Object, invalid, missing, unexpected, write_text};
use crate::error::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The longest vector that is accepted: twice that of any known model.
const MAX_DIM: usize = 16_384;

/// A vector of any length (norm), the record it is of (any kind), and the canonical id of its model.
#[derive(Clone, PartialEq, Debug)]
pub struct Embedding {
    pub of: String,
    pub model: String,
    pub vector: Vec<f32>,
    /// Members that rsv does not know, unchanged.
    pub extra: Object,
}

/// A vector that travels with its record.
#[derive(Clone, PartialEq, Debug)]
pub struct Vector {
    pub model: String,
    pub numbers: Vec<f32>,
}

/// The format of written vectors.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum VectorFormat {
    /// An array of numbers, each the shortest that reads back as the same f32.
    #[default]
    Numbers,
    /// A base64 string of f32, little-endian, as OpenAI's `encoding_format` has it.
    Base64,
}

impl VectorFormat {
    /// The format of a name, `base64` or `numbers`.
    pub fn named(name: &str) -> VectorFormat {
        if name == "base64" { VectorFormat::Base64 } else { VectorFormat::Numbers }
    }
}

impl Embedding {
    /// Reads an embedding line. Errors begin with the member at fault.
    pub fn parse(mut line: Object) -> Result<Embedding> {
        let vector = read_vector(line.get("vector").ok_or_else(|| missing("vector"))?)?;
        match line.integer("dim")? {
            Some(dim) if usize::try_from(dim) != Ok(vector.len()) => {
                Err(invalid("dim", format!("is {dim}, but the vector has {} numbers", vector.len())))
            }
            _ => {
                let (of, model) = (required(&line, "of")?, required(&line, "model")?);
                line.retain(|name| !["kind", "of", "model", "dim", "vector"].contains(&name));
                Ok(Embedding { of, model, vector, extra: line })
            }
        }
    }

    /// Appends the line, without a line end.
    pub fn write(&self, form: VectorFormat, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"embedding\",\"of\":");
        write_text(out, &self.of);
        out.extend_from_slice(b",\"model\":");
        write_text(out, &self.model);
        out.extend_from_slice(format!(",\"dim\":{},\"vector\":", self.vector.len()).as_bytes());
        write_vector(&self.vector, form, out);
        self.extra.write_members(out);
        out.push(b'}');
    }
}

/// Appends a vector, of any dimension and length (norm), as JSON.
pub fn write_vector(vector: &[f32], form: VectorFormat, out: &mut Vec<u8>) {
    match form {
        VectorFormat::Numbers => serde_json::to_writer(out, vector).expect("writing to memory does not fail"),
        VectorFormat::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
            out.push(b'"');
            out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
            out.push(b'"');
        }
    }
}

/// Reads a vector of 1 to `MAX_DIM` finite numbers from JSON: an array, or base64 of f32 little-endian. Fails
/// at another form, dimension or number.
pub fn read_vector(json: &str) -> Result<Vec<f32>> {
    let wanted = "an array of numbers, or base64 of 32-bit floats";
    let vector: Vec<f32> = if json.starts_with('"') {
        let text: String = serde_json::from_str(json).map_err(|_| unexpected("vector", wanted, json))?;
        let bytes = STANDARD.decode(text).map_err(|_| unexpected("vector", wanted, json))?;
        if bytes.len() % 4 != 0 {
            return Err(invalid("vector", "the base64 does not hold whole 32-bit floats"));
        }
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    } else {
        serde_json::from_str(json).map_err(|_| unexpected("vector", wanted, json))?
    };
    if vector.is_empty() || vector.len() > MAX_DIM {
        return Err(unexpected("vector", &format!("1 to {MAX_DIM} numbers"), &vector.len().to_string()));
    }
    if vector.iter().any(|x| !x.is_finite()) {
        return Err(invalid("vector", "holds a number that is not finite as a 32-bit float"));
    }
    Ok(vector)
}
