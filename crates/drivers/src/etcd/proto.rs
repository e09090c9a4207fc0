//! The part of etcd's gRPC interface that a store needs, by hand: messages and field numbers are those of
//! `rpc.proto` and `kv.proto` of etcd 3.4, which later versions only add to.

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct ResponseHeader {
    #[prost(uint64, tag = "1")]
    pub(super) cluster_id: u64,
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DeleteRangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RequestOp {
    #[prost(oneof = "Request", tags = "1, 2, 3")]
    pub(super) request: Option<Request>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub(super) enum Request {
    #[prost(message, tag = "1")]
    Range(RangeRequest),
    #[prost(message, tag = "2")]
    Put(PutRequest),
    #[prost(message, tag = "3")]
    DeleteRange(DeleteRangeRequest),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ResponseOp {
    /// Only what a range answers is looked at.
    #[prost(message, optional, tag = "1")]
    pub(super) range: Option<RangeResponse>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Compare {
    #[prost(enumeration = "CompareResult", tag = "1")]
    pub(super) result: i32,
    #[prost(enumeration = "CompareTarget", tag = "2")]
    pub(super) target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    #[prost(oneof = "Target", tags = "5, 6, 7")]
    pub(super) with: Option<Target>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub(super) enum Target {
    #[prost(int64, tag = "5")]
    CreateRevision(i64),
    #[prost(int64, tag = "6")]
    ModRevision(i64),
    #[prost(bytes, tag = "7")]
    Value(Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum CompareResult {
    Equal = 0,
    Greater = 1,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum CompareTarget {
    Version = 0,
    Create = 1,
    Mod = 2,
    Value = 3,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    pub(super) failure: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(super) responses: Vec<ResponseOp>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub(super) token: String,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct MemberListRequest {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct MemberListResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(super) members: Vec<Member>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Member {
    #[prost(bool, tag = "5")]
    pub(super) is_learner: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct StatusRequest {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct StatusResponse {
    /// The alarms of all members, in words.
    #[prost(string, repeated, tag = "8")]
    pub(super) errors: Vec<String>,
}

/// Whether `key` has exactly this value.
pub(super) fn has_value(key: &[u8], value: &[u8]) -> Compare {
    compare(
        key,
        CompareResult::Equal,
        CompareTarget::Value,
        Target::Value(value.to_vec()),
    )
}

/// Whether `key` was last written at this revision.
pub(super) fn written_at(key: &[u8], revision: i64) -> Compare {
    compare(
        key,
        CompareResult::Equal,
        CompareTarget::Mod,
        Target::ModRevision(revision),
    )
}

/// Whether `key` exists.
pub(super) fn exists(key: &[u8]) -> Compare {
    compare(
        key,
        CompareResult::Greater,
        CompareTarget::Create,
        Target::CreateRevision(0),
    )
}

/// Whether `key` does not exist.
pub(super) fn is_absent(key: &[u8]) -> Compare {
    compare(
        key,
        CompareResult::Equal,
        CompareTarget::Create,
        Target::CreateRevision(0),
    )
}

fn compare(key: &[u8], result: CompareResult, target: CompareTarget, with: Target) -> Compare {
    Compare {
        result: result.into(),
        target: target.into(),
        key: key.to_vec(),
        with: Some(with),
    }
}

/// Reads the keys from `key` to before `range_end`, or `key` alone where that is empty.
pub(super) fn range(key: &[u8], range_end: &[u8], limit: i64) -> RequestOp {
    op(Request::Range(RangeRequest {
        key: key.to_vec(),
        range_end: range_end.to_vec(),
        limit,
    }))
}

/// Reads one key.
pub(super) fn read(key: &[u8]) -> RequestOp {
    range(key, &[], 0)
}

/// Writes one key.
pub(super) fn put(key: &[u8], value: Vec<u8>) -> RequestOp {
    op(Request::Put(PutRequest {
        key: key.to_vec(),
        value,
    }))
}

/// Removes one key.
pub(super) fn delete(key: &[u8]) -> RequestOp {
    op(Request::DeleteRange(DeleteRangeRequest { key: key.to_vec() }))
}

fn op(request: Request) -> RequestOp {
    RequestOp {
        request: Some(request),
    }
}
