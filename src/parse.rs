//! Files become a tree of documents: directories, files and sections, each with an abstract, an overview and its
//! content. No store is opened.

mod archive;
mod code;
mod container;
mod decode;
mod epub;
mod extract;
mod file;
mod format;
mod html;
mod html_elements;
mod job;
mod json;
mod known;
mod mail;
mod markdown;
mod names;
mod node;
mod office;
mod operand;
mod options;
mod outline;
mod pdf;
mod pdf_process;
mod pool;
mod rows;
mod split;
mod summary;
mod tokens;
mod tree;
mod unpack;
mod walk;

pub use format::Format;
pub use known::Known;
pub use node::{GivenScope, Node, TreeLine};
pub use operand::{Operand, text_of};
pub use options::Options;
pub use pdf_process::limit_resources;
pub use tree::{Output, Parser};
