//! Numbers of the protocol: kinds of requests, and what no caller asks for. Source: `ZooDefs.OpCode` and `ClientCnxn`.

/// Kinds of requests, and of the results in the answer of a multi.
pub(super) mod kind {
    pub(in super::super) const CREATE: i32 = 1;
    pub(in super::super) const DELETE: i32 = 2;
    pub(in super::super) const EXISTS: i32 = 3;
    pub(in super::super) const GET_DATA: i32 = 4;
    pub(in super::super) const SET_DATA: i32 = 5;
    pub(in super::super) const GET_ACL: i32 = 6;
    pub(in super::super) const SET_ACL: i32 = 7;
    pub(in super::super) const GET_CHILDREN: i32 = 8;
    pub(in super::super) const SYNC: i32 = 9;
    pub(in super::super) const PING: i32 = 11;
    pub(in super::super) const GET_CHILDREN_2: i32 = 12;
    pub(in super::super) const CHECK: i32 = 13;
    pub(in super::super) const MULTI: i32 = 14;
    pub(in super::super) const MULTI_READ: i32 = 22;
    pub(in super::super) const AUTH: i32 = 100;
    pub(in super::super) const CLOSE_SESSION: i32 = -11;
    pub(in super::super) const ERROR: i32 = -1;
}

/// Numbers of what is not asked by a caller.
pub(super) mod xid {
    pub(in super::super) const PING: i32 = -2;
    pub(in super::super) const AUTH: i32 = -4;
}
