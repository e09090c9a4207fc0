//! What to do about a refusal: a value, which whoever shows it puts in the words of their own commands and settings.

use std::borrow::Cow;

/// What would help.
///
/// ```
/// use mintage_store::Advice;
/// let advice: Advice = "was it edited by hand?".into();
/// assert_eq!(advice, Advice::Words("was it edited by hand?".into()));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Advice {
    /// What holds however the work was asked for: nothing in it names a command, an option or a setting.
    Words(Cow<'static, str>),
    /// A restore in place, which raises every mark and accepts the copy of the data that answers now.
    AcceptCopy,
    /// The copy that the other servers use; or accepting this one, by a restore in place that raises nothing.
    AcceptFallen,
    /// A folder is a copy, or was put back: adopting it, or a restore in place.
    AdoptOrRaise {
        /// The folder's URL.
        store: String,
        /// When adopting is safe.
        adopt_if: &'static str,
        /// When marks must be raised.
        advance_if: &'static str,
    },
    /// A local disk; or the consent that nothing else ever reaches this file system.
    AllowFileSystem {
        /// What kind it is.
        kind: &'static str,
    },
    /// A store that may forget: the setting of the store that ends that, or allowing it.
    AllowLossy {
        /// What to change in the store.
        fix: String,
    },
    /// The account, its password, and the rights that it needs.
    AllowRights,
    /// A build with this feature.
    BuildWith {
        /// The feature's name.
        feature: &'static str,
    },
    /// The store's URL, and the cluster id that is expected.
    CheckClusterId,
    /// A check, which lists every finding, and a repair, or a backup.
    CheckOrRepair {
        /// The folder's URL.
        store: String,
    },
    /// The restore that began it, once more.
    FinishRestore {
        /// Whether the folder may be removed instead.
        or_remove: bool,
        /// Whether it is to be said that this finishes it.
        finishes: bool,
    },
    /// Mounting what a store lies on, or restoring it; or consent to begin anew.
    MountOrAnew,
    /// Making schema and cluster id.
    Initialise {
        /// The store's URL, where it is known.
        place: Option<String>,
    },
    /// Making schema and cluster id of a new store; one that was in use is restored.
    InitialiseOrRestore,
    /// All stores of the set, in any order.
    ListWholeSet,
    /// Making a set of initialised stores.
    MakeSet,
    /// A store that has just been initialised, to move into.
    MoveIntoFresh,
    /// The URL of a source, under this name.
    NameSource {
        /// The name in the sequence's record.
        source: String,
    },
    /// A folder for what this machine remembers.
    NameStateFolder,
    /// The folder that the server was given.
    NameTheFolder,
    /// The newer program that made it.
    NewerProgram {
        /// Whether it is this machine's that is too old.
        on_this_machine: bool,
    },
    /// The files that are gone, or a backup in a new folder.
    PutFilesBack,
    /// A restore in place, once no server runs: a backup was put back, or a replica promoted.
    RaiseAboveLost {
        /// The store's URL, where it is known.
        place: Option<String>,
    },
    /// A restore in place, above what was issued in the last second.
    RaiseIfInDoubt,
    /// A backup, into a store that was emptied.
    RestoreBackup,
    /// A backup of the database, and raising its marks.
    RestoreDatabase,
    /// A backup, into another folder.
    RestoreElsewhere,
    /// An empty store; or the consent that it is another cluster.
    RestoreForeign,
    /// An empty store; or the consent that it is in use.
    RestoreIntoUsed,
    /// A restore, here or into another store.
    RestoreOrMove,
    /// The user whose folder it is, or another folder.
    RunAsOwner {
        /// The user's id.
        user: u32,
    },
    /// How many numbers were given out since.
    SayAdvance,
    /// Stores that have just been initialised, for a set.
    SetOfFresh,
    /// The store that the backup is for; or the consent that it is another cluster.
    StoreOfBackup,
    /// The store it was moved to; or taking the seal off.
    Unseal,
    /// Bringing an older schema up.
    Upgrade {
        /// The store's URL.
        place: String,
    },
    /// The process that has the folder, or another folder.
    UseAnother,
    /// A backup of each store of the set, one by one.
    BackUpEachStore,
    /// Fewer numbers of one name at a time, or a higher limit.
    RaiseMaxRate,
}

impl From<&'static str> for Advice {
    fn from(words: &'static str) -> Advice {
        Advice::Words(Cow::Borrowed(words))
    }
}

impl From<String> for Advice {
    fn from(words: String) -> Advice {
        Advice::Words(Cow::Owned(words))
    }
}
