//! `mint store backup FILE --server URL`: the store of a running server, which alone has the folder open.

use std::io::BufReader;

use mintage_ledger::tools::copy_backup;
use mintage_wire::Op;

use crate::ask::Ask;
use crate::connect::Client;
use crate::errors::Failure;
use crate::out::Out;
use crate::store_tools::write_backup;
use crate::tls::TlsFiles;

pub(crate) fn backup(server: &str, files: &TlsFiles, file: &str, out: &mut Out) -> Result<(), Failure> {
    let client = Client::new(server, files)?;
    write_backup(server, file, out, |to| {
        let lines = client.stream(&Ask::new(Op::Backup, &[]))?;
        copy_backup(BufReader::new(lines), to).map_err(|error| {
            Failure::cannot(format_args!(
                "the backup of the server at {server} is not whole: {error}"
            ))
            .with_hint("nothing was kept of it; the server's log says why it ended")
        })
    })
}
