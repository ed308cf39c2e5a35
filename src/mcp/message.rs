//! Messages of clients, and the errors that answer those that are refused before rmcp sees them: it drops a
//! text that is no JSON, and takes a request whose parameters do not fit for one that it does not know.

use super::answer::error_text;
use super::arguments::{Parameter, Type};
use super::error::McpError;
use crate::error::Error;
use crate::record::{Object, RecordError};
use rmcp::ErrorData;
use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde::Serialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::{RawValue, Value};
use std::fmt;

/// A message that an error answers at once.
pub(super) struct Refusal {
    /// As the client spells it; `None` if the message has none, or it cannot be read.
    id: Option<Box<RawValue>>,
    pub(super) code: ErrorCode,
    pub(super) reason: Error,
}

/// Methods whose parameters may not fit. The others have none, or are not offered.
const METHODS: &[(&str, &[Parameter])] = &[
    (
        "initialize",
        &[
            Parameter::required("protocolVersion", Type::Text, ""),
            Parameter::required("capabilities", Type::Object, ""),
            Parameter::required("clientInfo", Type::Object, ""),
        ],
    ),
    ("tools/call", CALL),
    ("prompts/get", CALL),
    ("resources/read", &[Parameter::required("uri", Type::Text, "")]),
];

const CALL: &[Parameter] =
    &[Parameter::required("name", Type::Text, ""), Parameter::optional("arguments", Type::Object, "")];

/// Reads a message; `None` for a notification that does not fit, which no answer is for.
pub(super) fn read(json: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
    match serde_json::from_slice(json) {
        Ok(JsonRpcMessage::Request(request)) => match params_fault(&request.request) {
            Some(reason) => Err(Refusal::new(json, ErrorCode::INVALID_PARAMS, reason)),
            None => Ok(Some(JsonRpcMessage::Request(request))),
        },
        Ok(message) => Ok(Some(message)),
        Err(error) if !error.is_data() => Err(Refusal::unreadable(json, RecordError::Json { error })),
        Err(_) if Head::read(json).is_notification() => Ok(None),
        Err(_) => Err(Refusal::invalid(json, McpError::NotAMessage)),
    }
}

/// Why the parameters of a request are not those of its method; `None` if they are, or the method is unknown.
fn params_fault(request: &ClientRequest) -> Option<Error> {
    let ClientRequest::CustomRequest(request) = request else { return None };
    let (_, parameters) = METHODS.iter().find(|(method, _)| *method == request.method)?;
    let given = request.params.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    let fault = parameters.iter().find_map(|parameter| parameter.check_in(&given).err());
    Some(fault.unwrap_or_else(|| McpError::BadParams.into()))
}

/// An answer, as JSON-RPC 2.0 has it (section 5).
#[derive(Serialize)]
struct ErrorResponse<'a> {
    jsonrpc: &'static str,
    /// Left out where there is none, as in the newer versions of the protocol: clients refuse null.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    error: ErrorData,
}

impl Refusal {
    fn new(json: &[u8], code: ErrorCode, reason: impl Into<Error>) -> Refusal {
        let Head { id, has_method } = Head::read(json);
        // An id is a string or a number; that of an answer is one of this server's, not of the client's.
        let id = id.filter(|id| has_method && !id.get().starts_with(['{', '[', 'n', 't', 'f']));
        Refusal { id, code, reason: reason.into() }
    }

    /// Refuses a text that cannot be read as JSON, or not to its end.
    pub(super) fn unreadable(json: &[u8], reason: impl Into<Error>) -> Refusal {
        Refusal::new(json, ErrorCode::PARSE_ERROR, reason)
    }

    /// Refuses JSON that is no message here.
    pub(super) fn invalid(json: &[u8], reason: McpError) -> Refusal {
        Refusal::new(json, ErrorCode::INVALID_REQUEST, reason)
    }

    /// The answer, as JSON.
    pub(super) fn to_json(&self) -> String {
        self.json_with(self.id.as_deref())
    }

    /// The answer as it stands in the answer to a batch, where its id is null if there is none.
    pub(super) fn to_json_in_batch(&self) -> String {
        self.json_with(Some(self.id.as_deref().unwrap_or(RawValue::NULL)))
    }

    fn json_with(&self, id: Option<&RawValue>) -> String {
        let message = error_text(&self.reason, None).trim_end().to_owned();
        let error = ErrorData::new(self.code, message, None);
        Object::of_value(&ErrorResponse { jsonrpc: "2.0", id, error }).into_json()
    }
}

/// The members by which a message is answered, as far as it can be read.
#[derive(Default)]
struct Head {
    id: Option<Box<RawValue>>,
    has_method: bool,
}

impl Head {
    fn read(json: &[u8]) -> Head {
        let mut head = Head::default();
        // An error ends the reading, and the members before it count.
        let _ = serde_json::Deserializer::from_slice(json).deserialize_map(&mut head);
        head
    }

    fn is_notification(&self) -> bool {
        self.has_method && self.id.is_none()
    }
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == "id" {
                self.id = Some(map.next_value()?);
            } else {
                self.has_method |= name == "method";
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
