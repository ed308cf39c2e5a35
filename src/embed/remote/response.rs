//! Vectors out of a server's answer.

use super::super::chunking;
use super::endpoint::EmbeddingApi;
use crate::embed::error::EmbedError;
use crate::error::Result;
use crate::record::read_vector;
use serde::Deserialize;
use serde_json::value::RawValue;

/// OpenAI's answer, whose elements say which text they are of.
#[derive(Deserialize)]
struct OpenAiAnswer<'a> {
    #[serde(borrow)]
    data: Vec<OpenAiVector<'a>>,
}

#[derive(Deserialize)]
struct OpenAiVector<'a> {
    index: Option<i64>,
    #[serde(borrow)]
    embedding: &'a RawValue,
}

/// Ollama's answer, in the texts' order.
#[derive(Deserialize)]
struct OllamaAnswer<'a> {
    #[serde(borrow)]
    embeddings: Vec<&'a RawValue>,
}

/// Reads the vectors of `count` texts, in the texts' order, and makes each of length 1. Errors say what the
/// answer is that it must not be.
pub(super) fn vectors(kind: EmbeddingApi, body: &[u8], count: usize) -> Result<Vec<Vec<f32>>> {
    let vectors = match kind {
        EmbeddingApi::Ollama => in_order(parse(body)?, count)?,
        EmbeddingApi::OpenAi | EmbeddingApi::Proxy => by_index(parse(body)?, count)?,
    };
    let unit = |(at, vector)| unit(vector).map_err(|e| e.at(format_args!("vector {at}")));
    vectors.into_iter().enumerate().map(unit).collect()
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    Ok(serde_json::from_slice(body).map_err(|source| EmbedError::Json { source })?)
}

fn by_index(OpenAiAnswer { data }: OpenAiAnswer, count: usize) -> Result<Vec<Vec<f32>>> {
    enough(data.len(), count)?;
    let mut vectors = vec![Vec::new(); count];
    for (at, OpenAiVector { index, embedding }) in data.into_iter().enumerate() {
        let index = index.map_or(Some(at), |index| usize::try_from(index).ok());
        let place = index.and_then(|index| vectors.get_mut(index)).filter(|place| place.is_empty());
        let place =
            place.ok_or(EmbedError::Vectors { fault: "index: belongs to no text, or occurs twice" })?;
        *place = read_vector(embedding.get())?;
    }
    Ok(vectors)
}

fn in_order(OllamaAnswer { embeddings }: OllamaAnswer, count: usize) -> Result<Vec<Vec<f32>>> {
    enough(embeddings.len(), count)?;
    embeddings.into_iter().map(|vector| read_vector(vector.get())).collect()
}

fn enough(found: usize, count: usize) -> Result<()> {
    if found != count {
        return Err(EmbedError::Count { found, expected: count }.into());
    }
    Ok(())
}

/// The vector of length 1 of the same direction, if it has one.
fn unit(vector: Vec<f32>) -> Result<Vec<f32>> {
    if vector.iter().all(|x| *x == 0.0) {
        return Err(EmbedError::Vectors { fault: "has no direction: all its numbers are 0" }.into());
    }
    Ok(chunking::normalized(vector))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openai(body: &str, count: usize) -> Result<Vec<Vec<f32>>> {
        vectors(EmbeddingApi::OpenAi, body.as_bytes(), count)
    }

    #[test]
    fn vectors_stand_in_the_order_of_the_texts_and_have_length_1() {
        let body = r#"{"object":"list","data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":"AACAPwAAAAA="}]}"#;
        assert_eq!(openai(body, 2).unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
        let unnumbered = r#"{"data":[{"embedding":[3,4]},{"embedding":[1e30,0]}]}"#;
        assert_eq!(openai(unnumbered, 2).unwrap(), [[0.6, 0.8], [1.0, 0.0]]);
        let ollama = br#"{"model":"m","embeddings":[[0,5],[-1e-20,0]],"total_duration":1}"#;
        assert_eq!(vectors(EmbeddingApi::Ollama, ollama, 2).unwrap(), [[0.0, 1.0], [-1.0, 0.0]]);
    }

    #[test]
    fn nearly_normalized_vectors_keep_their_numbers() {
        let x = f32::from_bits(0.6f32.to_bits() + 1);
        assert_eq!(unit(vec![x, 0.8]).unwrap(), [x, 0.8]);
    }

    #[test]
    fn invalid_vectors_are_refused() {
        for (body, error) in [
            ("<html>", "no JSON object: "),
            ("{}", "unexpected JSON: missing field `data`"),
            (r#"{"data":[]}"#, "0 vectors for 1 texts"),
            (r#"{"data":[{"index":0}]}"#, "unexpected JSON: missing field `embedding`"),
            (r#"{"data":[{"index":0,"embedding":null}]}"#, "vector: expected an array of numbers"),
            (r#"{"data":[{"index":0,"embedding":[1,null]}]}"#, "vector: expected an array of numbers"),
            (r#"{"data":[{"index":0,"embedding":[1,NaN]}]}"#, "no JSON object: "),
            (r#"{"data":[{"index":0,"embedding":[1,1e39]}]}"#, "vector: holds a number that is not finite"),
            (r#"{"data":[{"index":0,"embedding":"AADAfw=="}]}"#, "vector: holds a number that is not finite"),
            (r#"{"data":[{"index":0,"embedding":[]}]}"#, "vector: expected 1 to "),
            (r#"{"data":[{"index":0,"embedding":[0,0]}]}"#, "vector 0: has no direction"),
            (r#"{"data":[{"index":1,"embedding":[1]}]}"#, "index: belongs to no text"),
            (r#"{"data":[{"index":-1,"embedding":[1]}]}"#, "index: belongs to no text"),
        ] {
            let error_text = openai(body, 1).unwrap_err().to_string();
            assert!(error_text.starts_with(error), "{body}: {error_text}");
        }
        let twice = r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#;
        assert!(openai(twice, 2).unwrap_err().to_string().contains("occurs twice"));
        let ollama = vectors(EmbeddingApi::Ollama, br#"{"embedding":[1]}"#, 1).unwrap_err();
        assert!(ollama.to_string().starts_with("unexpected JSON: missing field `embeddings`"), "{ollama}");
    }
}
