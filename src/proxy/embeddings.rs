//! `POST /v1/embeddings`, as OpenAI has it, from the proxy's own embedder.

use super::Proxy;
use super::answer::{self, Answer};
use crate::embed::Side;
use crate::error::{Error, Result};
use crate::record::{Object, Vectors, quote, write_vector};
use crate::tokens::Counter;
use hyper::StatusCode;

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    texts: Vec<String>,
    model: Option<String>,
    form: Vectors,
    dimensions: Option<i64>,
    side: Side,
}

/// The most texts in a request, as OpenAI has it.
const MOST: usize = 2048;

/// How many texts are embedded before somebody else gets a turn.
const TEXTS: usize = 32;

/// Bytes a token for a model whose tokenizer is not known, OpenAI's rule of thumb: no encoder's table is built to
/// estimate what nobody is charged for.
const BYTES_PER_TOKEN: usize = 4;

impl Asked {
    /// Reads a request. Errors begin with the member at fault.
    pub(super) fn of(body: &Object) -> Result<Asked> {
        let form = match body.text("encoding_format")?.as_deref() {
            None | Some("float") => Vectors::Numbers,
            Some("base64") => Vectors::Base64,
            Some(_) => return Err(Error::new("encoding_format: expected float or base64")),
        };
        // The name is Cohere's, Voyage's and NVIDIA's; each has words of its own.
        let side = match body.text("input_type")?.as_deref() {
            Some("query" | "search_query") => Side::Query,
            None | Some("passage" | "document" | "search_document") => Side::Passage,
            Some(_) => return Err(Error::new("input_type: expected query or passage")),
        };
        Ok(Asked {
            texts: texts(body.get("input"))?,
            model: body.text("model")?.filter(|model| !model.is_empty()),
            form,
            dimensions: body.integer("dimensions")?,
            side,
        })
    }

    /// Writes the answer.
    fn answer(&self, model: &str, vectors: &[Vec<f32>]) -> Vec<u8> {
        let mut out = b"{\"object\":\"list\",\"data\":[".to_vec();
        for (index, vector) in vectors.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let head = format!("{comma}{{\"object\":\"embedding\",\"index\":{index},\"embedding\":");
            out.extend_from_slice(head.as_bytes());
            write_vector(vector, self.form, &mut out);
            out.push(b'}');
        }
        let counter = Counter::of(model);
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
    let wanted = "input: expected a text or an array of texts";
    let texts = match input {
        None | Some("null") => return Err(Error::new("input: is missing")),
        Some(json) if json.starts_with('"') => serde_json::from_str(json).map(|text| vec![text]),
        Some(json) => serde_json::from_str::<Vec<String>>(json),
    };
    let texts = texts.map_err(|_| Error::new(format!("{wanted}; token numbers are not taken")))?;
    match texts.len() {
        0 => Err(Error::new("input: is empty")),
        1..=MOST => Ok(texts),
        count => Err(Error::new(format!("input: has {count} texts, more than {MOST}"))),
    }
}

impl Proxy {
    /// Answers on a thread that may wait.
    pub(super) fn embeddings(&self, asked: &Asked) -> Answer {
        let _at_work = self.embedder.at_work();
        let (model, same) = match self.serves(asked.model.as_deref()) {
            Ok(served) => served,
            Err(error) => return answer::unavailable("no_model", &error),
        };
        if !same {
            let named = asked.model.as_deref().unwrap_or_default();
            let text = format!("the model {named} is not served here, but {model}");
            return answer::error(StatusCode::NOT_FOUND, "model_not_found", &text);
        }
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(asked.texts.len());
        while vectors.len() < asked.texts.len() {
            // The first vector tells the dimension; if that is asked for, it comes alone.
            let most = if asked.dimensions.is_some() && vectors.is_empty() { 1 } else { TEXTS };
            let rest = asked.texts[vectors.len()..].iter().take(most);
            let part: Vec<&str> = rest.map(String::as_str).collect();
            match self.embed(&part, asked.side) {
                Ok(more) => vectors.extend(more),
                Err(error) => return answer::unavailable("embedding_failed", &error),
            }
            let dim = vectors.first().map_or(0, Vec::len);
            if asked.dimensions.is_some_and(|asked| usize::try_from(asked) != Ok(dim)) {
                let text = format!("dimensions: the model {model} makes vectors of {dim} numbers only");
                return answer::error(StatusCode::BAD_REQUEST, "invalid_request", &text);
            }
        }
        answer::json(StatusCode::OK, asked.answer(&model, &vectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &[u8]) -> Result<Asked> {
        Asked::of(&Object::parse_bytes(body)?)
    }

    #[test]
    fn a_request_is_read() {
        let asked = parse(br#"{"input":"a","model":"","user":"x"}"#).unwrap();
        assert_eq!((asked.texts, asked.model, asked.form), (vec!["a".into()], None, Vectors::Numbers));
        assert_eq!((asked.side, asked.dimensions), (Side::Passage, None));
        let asked = parse(
            br#"{"input":["a","\u00e9"],"model":"M","encoding_format":"base64","dimensions":8,"input_type":"search_query"}"#,
        )
        .unwrap();
        assert_eq!((asked.texts, asked.model), (vec!["a".into(), "é".into()], Some("M".into())));
        assert_eq!((asked.form, asked.side, asked.dimensions), (Vectors::Base64, Side::Query, Some(8)));
        let many = format!(r#"{{"input":[{}"x"]}}"#, "\"x\",".repeat(MOST));
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
            let said = parse(body.as_bytes()).unwrap_err().to_string();
            assert!(said.starts_with(error), "{body}: {said}");
        }
    }

    #[test]
    fn an_answer_has_openais_shape() {
        let mut asked = parse(br#"{"input":["four","fourfour"]}"#).unwrap();
        let vectors = [vec![0.5, -1.0], vec![1.0, 0.0]];
        let usage = r#""model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}"#;
        let expected = format!(
            "{{\"object\":\"list\",\"data\":[{{\"object\":\"embedding\",\"index\":0,\"embedding\":[0.5,-1.0]}},\
             {{\"object\":\"embedding\",\"index\":1,\"embedding\":[1.0,0.0]}}],{usage}\n"
        );
        assert_eq!(String::from_utf8(asked.answer("m", &vectors)).unwrap(), expected);
        asked.form = Vectors::Base64;
        let text = String::from_utf8(asked.answer("m", &vectors)).unwrap();
        assert!(text.contains(r#""embedding":"AAAAPwAAgL8="}"#), "{text}");
    }
}
