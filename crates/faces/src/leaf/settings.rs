//! The settings of this face.

use crate::zone::Zone;
use mintage_server::face_settings;

face_settings! {
    "leaf" fits_main: true prefix: "leaf:";
    /// Answer `/api/segment/get/…`, `/cache` and `/db`.
    "segment" segment: bool = "true";
    /// Answer `/api/snowflake/get/…`.
    "snowflake" snowflake: bool = "true";
    /// Where segments or snowflakes are switched off: answer `0` with status 200, as the original does, instead of an error.
    "zero_when_off" zero_when_off: bool = "false";
    /// Cut keys at their last dot, as the original's framework does: `com.acme.order` is `com.acme`.
    "cut_at_dot" cut_at_dot: bool = "false";
    /// The zone of times in `/decodeSnowflakeId`: a name such as `Asia/Shanghai`, or an offset such as `+08:00`.
    "time_zone" time_zone: Zone = "UTC";
    /// Keys that `/cache` and `/db` show at most.
    "max_rows" max_rows: u64 = "10000" in 1 ..= 1_000_000;
}
