//! What the ledger advises, in the words of the command and its settings: the same for `--store` and `--server`.

use std::borrow::Cow;

use mintage_ledger::Advice;
use mintage_local::file_system::WHY_REFUSED;
use mintage_wire::allow_file_system;

/// What to do, in words.
pub fn words(advice: Advice) -> Cow<'static, str> {
    match advice {
        Advice::Words(words) => words,
        Advice::AcceptCopy => "`mint store restore --store URL --advance N` raises every mark and accepts this copy; synchronous replicas or \
             allow_lossy = true go on by themselves".into(),
        Advice::AcceptFallen => "lead this server to the primary that the others use; if this is the one, `mint store restore --advance 0 --store URL` \
             accepts it".into(),
        Advice::AdoptOrRaise { store, adopt_if, advance_if } => format!("`mint store adopt --store {store}` if {adopt_if}; `mint store restore --advance N --store {store}` if {advance_if}, with N above what it can have issued since").into(),
        Advice::AllowLossy { fix } => format!("{fix}; or set store.allow_lossy = true and read in docs/cluster.md what that costs").into(),
        Advice::AllowRights => "check user and password in the URL; the rights an account needs are in docs/stores-sql.md".into(),
        Advice::BuildWith { feature } => format!("build with its feature: cargo build --release --features {feature}").into(),
        Advice::CheckClusterId => "check the store's URL and store.cluster_id".into(),
        Advice::CheckOrRepair { store } => format!("`mint store check --store {store}` lists every finding; `mint store repair --store {store}` raises each mark to the higher of its two records; or restore a backup").into(),
        Advice::FinishRestore { or_remove: true, .. } => {
            "give the `mint store restore` command again that began it; or remove the folder".into()
        }
        Advice::FinishRestore { finishes: true, .. } => {
            "give the `mint store restore` command again that began it: it finishes it".into()
        }
        Advice::FinishRestore { .. } => "give the `mint store restore` command again that began it".into(),
        Advice::Initialise { place: None } => "`mint init --store URL` makes the schema".into(),
        Advice::Initialise { place: Some(place) } => format!("make it with mint init --store {place}").into(),
        Advice::InitialiseOrRestore => "`mint init --store URL` makes schema and cluster id; if this store was in use before, it was emptied: restore it \
             with `mint store restore FILE --store URL --advance N`".into(),
        Advice::ListWholeSet => "list every store of the set in store.urls, in any order".into(),
        Advice::MakeSet => "mint store stripes make A B … makes a set of initialised stores".into(),
        Advice::MountOrAnew => "mount the volume that it lies on, or restore a backup (`mint store restore FILE --store file:PATH --advance N`); \
             if it was removed on purpose, `mint serve --new` (or MINT_STORE__NEW=true, once) begins anew, and every number comes again".into(),
        Advice::MoveIntoFresh => "move into a store that mint init has just made".into(),
        Advice::NameStateFolder => "it remembers the store's cluster id; set store.state_folder to a folder that can be written".into(),
        Advice::NameSource { source } => format!("name it in the configuration: [sources.{source}] with its url, on every server that is to take from it").into(),
        Advice::NameTheFolder => "name the folder that `mint serve` was given; `mint config show` names the default".into(),
        Advice::NewerProgram { on_this_machine: true } => "upgrade mint on this machine".into(),
        Advice::NewerProgram { on_this_machine: false } => "start the newer `mint` that made it".into(),
        Advice::PutFilesBack => "put those files back if they still exist; else restore a backup into a new folder: `mint store restore FILE \
             --advance N --store file:PATH`".into(),
        Advice::RaiseAboveLost { place } => format!(
            "was a backup restored or a replica promoted? stop every server; `mint store restore --advance N --store {}` \
             raises every mark above what may have been given out; then start the servers again",
            place.as_deref().unwrap_or("URL")
        )
        .into(),
        Advice::RaiseIfInDoubt => "if in doubt run `mint store restore --advance N --store file:PATH` with N above what was issued in the last second".into(),
        Advice::RestoreBackup => "it was in use and has been emptied: restore the database, or a backup: `mint store restore FILE --store URL \
             --advance N`".into(),
        Advice::RestoreDatabase => "restore the database from a backup, then `mint store restore --advance N --store URL`".into(),
        Advice::RestoreElsewhere => "restore a backup: `mint store restore FILE --store file:PATH --advance N`, into another folder".into(),
        Advice::RestoreForeign => "restore into a store that is empty; or say --foreign, and make every server forget the cluster it knew".into(),
        Advice::RestoreIntoUsed => "restore into an empty one; or say --into-used: marks are then kept where they are higher".into(),
        Advice::RestoreOrMove => "restore the store, or go on in another one: `mint store restore FILE --store URL --advance N`".into(),
        Advice::RunAsOwner { user } => format!("run this as user {user}, or name a folder of your own with --store file:PATH").into(),
        Advice::SayAdvance => "say --advance N, more than was given out since".into(),
        Advice::SetOfFresh => "a set begins with stores that `mint init` has just made".into(),
        Advice::StoreOfBackup => "name the store that the backup is for; or say --foreign: it then stays what it is".into(),
        Advice::Unseal => "use the store it was moved to; `mint store unseal --store URL` gives this one back if that one was never used".into(),
        Advice::Upgrade { place } => format!("bring it up with mint init --store {place}").into(),
        Advice::UseAnother => "stop it, talk to it with --server, or name another folder with --store file:PATH".into(),
        Advice::AllowFileSystem { kind } => allow_file_system(WHY_REFUSED, kind).into(),
        Advice::RaiseMaxRate => "take fewer numbers of one name at a time, or raise store.max_rate".into(),
        Advice::BackUpEachStore => "back up each store of it: `mint store backup FILE --store URL`".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_command_and_the_store() {
        let store = || "file:./ids".to_string();
        for (advice, says) in [
            (
                Advice::AdoptOrRaise {
                    store: store(),
                    adopt_if: "a",
                    advance_if: "b",
                },
                "`mint store adopt --store file:./ids` if a; `mint store restore --advance N --store file:./ids` if b, \
                 with N above what it can have issued since",
            ),
            (
                Advice::CheckOrRepair { store: store() },
                "`mint store check --store file:./ids` lists every finding; `mint store repair --store file:./ids` \
                 raises each mark to the higher of its two records; or restore a backup",
            ),
            (
                Advice::RaiseAboveLost { place: Some(store()) },
                "was a backup restored or a replica promoted? stop every server; `mint store restore --advance N \
                 --store file:./ids` raises every mark above what may have been given out; then start the servers again",
            ),
            (
                Advice::AllowLossy {
                    fix: "CONFIG SET appendfsync always".to_string(),
                },
                "CONFIG SET appendfsync always; or set store.allow_lossy = true and read in docs/cluster.md what that \
                 costs",
            ),
            (
                Advice::Initialise { place: Some(store()) },
                "make it with mint init --store file:./ids",
            ),
            (
                Advice::NameSource {
                    source: "shop".to_string(),
                },
                "name it in the configuration: [sources.shop] with its url, on every server that is to take from it",
            ),
            (
                Advice::RestoreForeign,
                "restore into a store that is empty; or say --foreign, and make every server forget the cluster it knew",
            ),
            (
                Advice::BuildWith { feature: "etcd" },
                "build with its feature: cargo build --release --features etcd",
            ),
        ] {
            assert_eq!(words(advice), says);
        }
    }
}
