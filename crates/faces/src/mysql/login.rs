//! What a client says before its first command: whether it wants TLS, who it is, and which database it means.

use super::capabilities::Capabilities;
use super::packet::Reader;

/// A login, as the client wrote it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Login<'a> {
    /// What the client can do.
    pub capabilities: Capabilities,
    /// Who it says it is.
    pub user: &'a [u8],
    /// What it shows for that.
    pub reply: &'a [u8],
    /// The database it names; empty: none.
    pub database: &'a [u8],
    /// The way it has shown its password; empty: it does not say.
    pub plugin: &'a [u8],
}

/// What the first packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First<'a> {
    /// The client wants TLS before anything else; these are its capabilities.
    Tls(Capabilities),
    /// A login.
    Login(Login<'a>),
    /// The protocol of before version 4.1.
    Old,
    /// Nothing that is read.
    Broken,
}

/// Reads the first packet of a client.
pub fn first(payload: &[u8]) -> First<'_> {
    let mut reader = Reader::new(payload);
    let Some(low) = reader.u16() else {
        return First::Broken;
    };
    if !Capabilities(low.into()).has(Capabilities::PROTOCOL_41) {
        return First::Old;
    }
    let Some(high) = reader.u16() else {
        return First::Broken;
    };
    let capabilities = Capabilities(u32::from(low) | u32::from(high) << 16);
    // The largest packet, the character set, and nothing.
    if reader.bytes(4 + 1 + 23).is_none() {
        return First::Broken;
    }
    if reader.rest().is_empty() && capabilities.has(Capabilities::SSL) {
        return First::Tls(capabilities);
    }
    who(reader, capabilities).map_or(First::Broken, First::Login)
}

fn who<'a>(mut reader: Reader<'a>, capabilities: Capabilities) -> Option<Login<'a>> {
    let has = |capability| capabilities.has(capability);
    let user = reader.to_nul()?;
    let reply = match () {
        () if has(Capabilities::PLUGIN_AUTH_LENENC) => reader.text()?,
        () if has(Capabilities::SECURE_CONNECTION) => {
            let len = reader.byte()?;
            reader.bytes(len.into())?
        }
        () => reader.to_nul()?,
    };
    // Some leave out the end of what stands last.
    let last_text = |reader: &mut Reader<'a>| reader.to_nul().unwrap_or_else(|| reader.take_rest());
    let database = match has(Capabilities::CONNECT_WITH_DB) {
        true => last_text(&mut reader),
        false => b"",
    };
    let plugin = match has(Capabilities::PLUGIN_AUTH) {
        true => last_text(&mut reader),
        false => b"",
    };
    // What it tells of itself behind that is not kept.
    Some(Login {
        capabilities,
        user,
        reply,
        database,
        plugin,
    })
}

/// Reads what stands behind COM_CHANGE_USER. Its reply is not used: it was made with bytes of an older login.
pub fn change_user(body: &[u8], capabilities: Capabilities) -> Option<Login<'_>> {
    let mut reader = Reader::new(body);
    let user = reader.to_nul()?;
    let len = reader.byte()?;
    let reply = reader.bytes(len.into())?;
    let database = reader.to_nul().unwrap_or_default();
    // The character set.
    let plugin = match reader.bytes(2) {
        Some(_) => reader.to_nul().unwrap_or_else(|| reader.take_rest()),
        None => b"",
    };
    Some(Login {
        capabilities,
        user,
        reply,
        database,
        plugin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(capabilities: Capabilities, rest: &[u8]) -> Vec<u8> {
        let mut all = capabilities.0.to_le_bytes().to_vec();
        all.extend_from_slice(&[0, 0, 0, 1, 45]);
        all.extend_from_slice(&[0; 23]);
        all.extend_from_slice(rest);
        all
    }

    const NEW: Capabilities = Capabilities::OURS.with(Capabilities::LONG_PASSWORD);

    #[test]
    fn a_login_is_read_as_its_capabilities_say() {
        let all = packet(NEW, b"root\0\x03abcshop\0mysql_native_password\0\x04\x01a\x01b");
        let First::Login(login) = first(&all) else {
            panic!("{:?}", first(&all))
        };
        assert_eq!((login.user, login.reply), (&b"root"[..], &b"abc"[..]));
        assert_eq!(login.database, b"shop");
        assert_eq!(login.plugin, b"mysql_native_password");
        // npm's old mysql: no plugin, no length that is encoded.
        let old = Capabilities::PROTOCOL_41
            .with(Capabilities::SECURE_CONNECTION)
            .with(Capabilities::CONNECT_WITH_DB);
        let all = packet(old, b"u\0\0db\0");
        assert!(
            matches!(first(&all), First::Login(login) if login.database == b"db" && login.plugin.is_empty())
        );
    }

    #[test]
    fn what_is_cut_short_is_no_login() {
        let all = packet(NEW, b"root\0\x03abcshop\0mysql_native_password\0");
        for cut in 0..all.len() {
            let read = first(&all[..cut]);
            // The last text may lack its end, and what is not there is not read.
            assert!(
                matches!(read, First::Broken) || cut >= 4 + 28 + 9,
                "{cut}: {read:?}"
            );
        }
        assert_eq!(first(&packet(Capabilities(0), b"")), First::Old);
        let tls = NEW.with(Capabilities::SSL);
        assert_eq!(first(&packet(tls, b"")), First::Tls(tls));
        assert_eq!(first(&packet(NEW, b"")), First::Broken);
        let long = packet(NEW, b"u\0\xfe\xff\xff\xff\xff\xff\xff\xff\xffx");
        assert_eq!(first(&long), First::Broken);
    }

    #[test]
    fn a_change_of_user_is_read() {
        let read = change_user(b"u\0\x02xydb\0\x2d\0caching_sha2_password\0", NEW).unwrap();
        assert_eq!((read.user, read.database), (&b"u"[..], &b"db"[..]));
        assert_eq!(read.plugin, b"caching_sha2_password");
        assert!(change_user(b"u\0\0\0", NEW).unwrap().plugin.is_empty());
        assert_eq!(change_user(b"u", NEW), None);
    }
}
