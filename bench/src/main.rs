//! Side by side with peers: every round measures both sides, the ratio of a round is what counts.

mod bulk;
mod command;
mod core;
mod formats;
mod goals;
mod machine;
mod server;

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("core") => core::run(&arguments.collect::<Vec<_>>()),
        Some("bulk") => bulk::run(&arguments.collect::<Vec<_>>()),
        Some("command") => command::run(&arguments.collect::<Vec<_>>()),
        Some("peer") if std::env::args().nth(2).is_some_and(|name| name == "grpc") => {
            server::grpc::peer(&arguments.collect::<Vec<_>>());
        }
        Some("peer") => command::peer(&arguments.collect::<Vec<_>>()),
        Some("server") => server::run(&arguments.collect::<Vec<_>>()),
        other => {
            eprintln!("error: no benchmark called {:?}", other.unwrap_or(""));
            eprintln!(
                "hint: bench core [WORD...], bench server [--rounds N] [--short] [redis|single|http|tls|grpc|faces|thrift] [--before BINARY], \
                 bench command [--ids N] [--rounds N], or bench bulk [--rows N] [--rounds N] [--folder PATH]"
            );
            std::process::exit(2);
        }
    }
}
