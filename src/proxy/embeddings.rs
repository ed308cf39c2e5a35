//! `POST /v1/embeddings` in OpenAI's format, from the proxy's own embedder.

use super::http::{HttpResponse, response};
use super::worker::{BlockingPool, Foreground, SharedEmbedder};
use crate::embed::InputType;
use crate::error::Result;
use crate::record::{Object, VectorFormat, empty, invalid, missing, quote, write_vector};
use crate::tokens::Counter;
use hyper::StatusCode;
use std::sync::Arc;

/// A request for vectors.
#[derive(Debug)]
pub(super) struct EmbeddingsRequest {
    texts: Vec<String>,
    model: Option<String>,
    form: VectorFormat,
    dimensions: Option<i64>,
    side: InputType,
}

/// The most texts in a request, as OpenAI limits them.
const MAX_TEXTS: usize = 2048;

/// The number of texts that are embedded before another request gets its turn.
const BATCH_TEXTS: usize = 32;

/// The bytes of a token for a model with an unknown tokenizer, by OpenAI's rule of thumb: these tokens are
/// not charged, so that an encoder's table is not worth building.
const BYTES_PER_TOKEN: usize = 4;

impl EmbeddingsRequest {
    /// Parses a request. Errors begin with the member at fault.
    // By hand: serde's errors do not begin with the member.
    /// Reads the body of a request. Fails if a member is invalid.
    pub(super) fn parse(body: &Object) -> Result<EmbeddingsRequest> {
        let form = match body.text("encoding_format")?.as_deref() {
            None | Some("float") => VectorFormat::Numbers,
            Some("base64") => VectorFormat::Base64,
            Some(_) => return Err(invalid("encoding_format", "expected float or base64")),
        };
        // The name is Cohere's, Voyage's and NVIDIA's; each has words of its own.
        let side = match body.text("input_type")?.as_deref() {
            Some("query" | "search_query") => InputType::Query,
            None | Some("passage" | "document" | "search_document") => InputType::Passage,
            Some(_) => return Err(invalid("input_type", "expected query or passage")),
        };
        Ok(EmbeddingsRequest {
            texts: texts(body.get("input"))?,
            model: body.text("model")?.filter(|model| !model.is_empty()),
            form,
            dimensions: body.integer("dimensions")?,
            side,
        })
    }

    /// Writes the response: vectors of the model's dimension and length 1, as they are.
    fn response(&self, model: &str, vectors: &[Vec<f32>]) -> Vec<u8> {
        let mut out = b"{\"object\":\"list\",\"data\":[".to_vec();
        for (index, vector) in vectors.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let head = format!("{comma}{{\"object\":\"embedding\",\"index\":{index},\"embedding\":");
            out.extend_from_slice(head.as_bytes());
            write_vector(vector, self.form, &mut out);
            out.push(b'}');
        }
        let counter = Counter::for_model(model);
        let tokens = |text: &String| match counter.name() {
            "estimate" => text.len().div_ceil(BYTES_PER_TOKEN),
            _ => counter.text(text),
        };
        let tokens: usize = self.texts.iter().map(tokens).sum();
        let usage = format!("{{\"prompt_tokens\":{tokens},\"total_tokens\":{tokens}}}");
        out.extend_from_slice(format!("],\"model\":{},\"usage\":{usage}}}\n", quote(model)).as_bytes());
        out
    }
}

/// The texts of `input`: one, or an array of them.
fn texts(input: Option<&str>) -> Result<Vec<String>> {
    let texts = match input {
        None | Some("null") => return Err(missing("input")),
        Some(json) if json.starts_with('"') => serde_json::from_str(json).map(|text| vec![text]),
        Some(json) => serde_json::from_str::<Vec<String>>(json),
    };
    let wanted = "expected a text or an array of texts; token numbers are not taken";
    let texts = texts.map_err(|_| invalid("input", wanted))?;
    match texts.len() {
        0 => Err(empty("input")),
        1..=MAX_TEXTS => Ok(texts),
        count => Err(invalid("input", format!("has {count} texts, more than {MAX_TEXTS}"))),
    }
}

/// Makes vectors.
pub(super) struct EmbeddingsApi {
    blocking: BlockingPool,
    foreground: Arc<Foreground>,
    embedder: Arc<SharedEmbedder>,
}

impl EmbeddingsApi {
    /// Makes vectors with `embedder`.
    pub(super) fn new(
        blocking: &BlockingPool,
        foreground: &Arc<Foreground>,
        embedder: &Arc<SharedEmbedder>,
    ) -> EmbeddingsApi {
        EmbeddingsApi {
            blocking: blocking.clone(),
            foreground: foreground.clone(),
            embedder: embedder.clone(),
        }
    }

    /// Answers a request on a thread that may block.
    pub(super) async fn run(self: &Arc<EmbeddingsApi>, request: EmbeddingsRequest) -> HttpResponse {
        let api = self.clone();
        let answered = self.blocking.spawn(move || api.run_blocking(&request)).await;
        answered.unwrap_or_else(|_| response::cut_short())
    }

    fn run_blocking(&self, request: &EmbeddingsRequest) -> HttpResponse {
        let _active = self.foreground.enter();
        let (model, is_served) = match self.embedder.serves(request.model.as_deref()) {
            Ok(served) => served,
            Err(error) => return response::unavailable("no_model", &error),
        };
        if !is_served {
            // Only a model that is named may not be served.
            let named = request.model.as_deref().unwrap_or_default();
            let text = format!("the model {named} is not served here, but {model}");
            return response::error(StatusCode::NOT_FOUND, "model_not_found", &text);
        }
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(request.texts.len());
        while vectors.len() < request.texts.len() {
            // The first vector shows the dimension; if the request names one, that vector is made alone.
            let batch = if request.dimensions.is_some() && vectors.is_empty() { 1 } else { BATCH_TEXTS };
            let texts = request.texts[vectors.len()..].iter().take(batch);
            let texts: Vec<&str> = texts.map(String::as_str).collect();
            match self.embedder.embed(&texts, request.side) {
                Ok(more) => vectors.extend(more),
                Err(error) => return response::unavailable("embedding_failed", &error),
            }
            let dim = vectors.first().map_or(0, Vec::len);
            if request.dimensions.is_some_and(|wanted| usize::try_from(wanted) != Ok(dim)) {
                let text = format!("dimensions: the model {model} makes vectors of {dim} numbers only");
                return response::error(StatusCode::BAD_REQUEST, "invalid_request", &text);
            }
        }
        response::json(StatusCode::OK, request.response(&model, &vectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &[u8]) -> Result<EmbeddingsRequest> {
        EmbeddingsRequest::parse(&Object::parse_bytes(body)?)
    }

    #[test]
    fn a_request_is_read() {
        let request = parse(br#"{"input":"a","model":"","user":"x"}"#).unwrap();
        assert_eq!(
            (request.texts, request.model, request.form),
            (vec!["a".into()], None, VectorFormat::Numbers)
        );
        assert_eq!((request.side, request.dimensions), (InputType::Passage, None));
        let request = parse(
            br#"{"input":["a","\u00e9"],"model":"M","encoding_format":"base64","dimensions":8,"input_type":"search_query"}"#,
        )
        .unwrap();
        assert_eq!((request.texts, request.model), (vec!["a".into(), "é".into()], Some("M".into())));
        assert_eq!(
            (request.form, request.side, request.dimensions),
            (VectorFormat::Base64, InputType::Query, Some(8))
        );
        let many = format!(r#"{{"input":[{}"x"]}}"#, "\"x\",".repeat(MAX_TEXTS));
        for (body, error) in [
            ("[]", "invalid type: sequence"),
            ("{}", "input: is missing"),
            (r#"{"input":[]}"#, "input: is empty"),
            (r#"{"input":[1,2]}"#, "input: expected a text or an array of texts; token numbers"),
            (r#"{"input":[[1,2]]}"#, "input: expected a text or an array of texts; token numbers"),
            (r#"{"input":["a",1]}"#, "input: expected"),
            (r#"{"input":"a","encoding_format":"hex"}"#, "encoding_format: expected"),
            (r#"{"input":"a","input_type":"x"}"#, "input_type: expected"),
            (r#"{"input":"a","dimensions":"8"}"#, "dimensions: "),
            (many.as_str(), "input: has 2049 texts, more than 2048"),
        ] {
            let error_text = parse(body.as_bytes()).unwrap_err().to_string();
            assert!(error_text.starts_with(error), "{body}: {error_text}");
        }
    }

    #[test]
    fn an_answer_has_openais_shape() {
        let mut request = parse(br#"{"input":["four","fourfour"]}"#).unwrap();
        let vectors = [vec![0.5, -1.0], vec![1.0, 0.0]];
        let usage = r#""model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}"#;
        let expected = format!(
            "{{\"object\":\"list\",\"data\":[{{\"object\":\"embedding\",\"index\":0,\"embedding\":[0.5,-1.0]}},\
             {{\"object\":\"embedding\",\"index\":1,\"embedding\":[1.0,0.0]}}],{usage}\n"
        );
        assert_eq!(String::from_utf8(request.response("m", &vectors)).unwrap(), expected);
        request.form = VectorFormat::Base64;
        let text = String::from_utf8(request.response("m", &vectors)).unwrap();
        assert!(text.contains(r#""embedding":"AAAAPwAAgL8="}"#), "{text}");
    }
}
