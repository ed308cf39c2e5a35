//! The head of every tool.

/// Makes the `main` of a tool, whose `run` gets the arguments, the settings and the streams. With `without
/// store`, its command line is completed without a database, so that it need not link one; with `without
/// settings`, `run` loads them itself.
#[macro_export]
macro_rules! tool {
    ($run:path) => {
        $crate::tool!(@main |args, io| $run(args, $crate::config::load_for_tool(io)?, io), VALUES);
    };
    ($run:path, without store) => {
        $crate::tool!(@main |args, io| $run(args, $crate::config::load_for_tool(io)?, io), VALUES_WITHOUT_STORE);
    };
    ($run:path, without settings) => {
        $crate::tool!(@main $run, VALUES);
    };
    (@main $run:expr, $completers:ident) => {
        pub(crate) fn main() -> std::process::ExitCode {
            $crate::cli::main($run, $crate::complete::$completers)
        }
    };
}
