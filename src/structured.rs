//! Structured output: a model is asked for JSON by a schema, and its answer is read. The error of every other
//! answer says why it is of no use.

mod answer;
mod error;
mod method;
mod model;
mod recipient;
mod request;
mod schema;

pub use answer::{parse_json, without_code_fence};
pub use error::{AnswerError, check_length, check_line, check_tags, check_text};
pub use method::Method;
pub use model::{CountedAnswer, Model};
pub use recipient::Recipient;
pub use request::Request;
pub use schema::Schema;
