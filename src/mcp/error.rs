//! The faults of calls, and of the requests of clients.

use crate::error::{failures, plain};
use crate::record::Address;
use rmcp::service::ServiceError;

failures! { pub(super) enum McpError {
    NotMcp ("the input does not begin as the Model Context Protocol does")
        => "a client starts rsv-mcp; see 'man rsv-mcp'",
    NoSession { why: String } ("the session did not begin: {}", plain(.why)),
    NotAMessage ("expected a message of JSON-RPC 2.0, with an object as its params"),
    BadParams ("the params are not those of the method"),
    Batch ("a batch is accepted on standard input, by the protocol of 2025-03-26, and nowhere else"),
    EmptyBatch ("the batch is empty"),
    Repeated ("a batch has no initialize, and no id that another request has"),
    Http { text: String } ("{text}"),
    /// The client gave no answer in time.
    NoRoots ("the client does not say what its roots are") => "start rsv-mcp with --partition",
    RootsFailed { source: ServiceError } ("the client does not say what its roots are")
        => "start rsv-mcp with --partition",
    Cancelled ("the call was cancelled"),
    NoRight ("the token of this client has no right to read"),
    NoTool { tools: String } ("there is no such tool") => "the tools are {tools}",
    NoPrompt ("there is no such prompt"),
    Cursor ("cursor: is none of this server's"),
    NoArgument { name: String, arguments: String } ("there is no argument {name}")
        => "the arguments are {arguments}",
    GivenTwice { alias: &'static str, name: &'static str } ("{alias}: is given as {name} too"),
    OtherInstance { own: String } ("session_id: this server serves the instance {own}")
        => "leave session_id out, or start rsv-mcp without --instance",
    OtherProject { own: String, project: String } ("project_id: this server serves the project {own}")
        => "leave project_id out, or start rsv-mcp with --partition {project}",
    NoProject { project: String, projects: String } ("project_id: this server serves no project {project}")
        => "the projects are {projects}",
    OfOtherInstance ("uri: it belongs to another instance than that of this server")
        => "start rsv-mcp without --instance",
    NothingAt { address: Address } ("there is nothing at {address}") => "context_list lists what there is",
    TooLong ("what lies there does not fit into an answer") => "rsv-mcp --max-tokens",
    NoRecord { id: String } ("there is no record {id} in this scope; nothing was removed")
        => "recall, memory_search and context_search give the ids",
    TooMany { count: usize } ("{count} records would be removed, and were not")
        => "rsv-forget removes more than 100 with --yes",
    KeptOut { what: &'static str } ("the {what} is not stored: it was forgotten, and is kept out")
        => "rsv-ingest --allow-return stores it again",
    Forgotten ("the memory was forgotten, and is kept out"),
    EmptyId ("memory_id: memory ID cannot be empty"),
    NoMemory ("memory_id: memory not found")
        => "memory_search and recall give the ids of the memories of this project",
    NoMessage ("id: message not found") => "recall gives the ids of the messages of this project",
    NoTags ("tags: is empty") => "give at least one word",
    NotActions ("kinds: file, command and failed find actions") => "leave out kinds",
} }
