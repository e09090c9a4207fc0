//! Chains of certificates of a private authority: whom they let in, as whom, and until when.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer,
    KeyPair, NameConstraints, SanType, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;

use super::admission::{Admission, Authorities, Over};
use super::names::names_in;
use crate::auth::{CertificateName, Presented, Proof, Right, Token, Tokens};

/// What signs certificates, and its own.
struct Signer {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

fn authority(
    name: &str,
    below: Option<&Signer>,
    constraints: Option<NameConstraints>,
    last_year: i32,
) -> Signer {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.name_constraints = constraints;
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(last_year, 1, 1));
    let key = KeyPair::generate().unwrap();
    let made = match below {
        Some(signer) => params.signed_by(&key, &signer.issuer),
        None => params.self_signed(&key),
    };
    Signer {
        certificate: made.unwrap().der().clone(),
        issuer: Issuer::new(params, key),
    }
}

/// A client's certificate for these names.
fn client(by: &Signer, names: &[SanType], last_year: i32) -> CertificateDer<'static> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = names.to_vec();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(last_year, 1, 1));
    let made = params.signed_by(&KeyPair::generate().unwrap(), &by.issuer);
    made.unwrap().der().clone()
}

fn trusting(authorities: &[&Signer]) -> Option<Authorities> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.certificate.clone()).unwrap();
    }
    let algorithms = ring::default_provider().signature_verification_algorithms;
    Some(Authorities::new(Arc::new(roots), algorithms))
}

fn admit(by: &Option<Authorities>, chain: &[CertificateDer<'_>], now: i64) -> Result<Admission, String> {
    by.as_ref().unwrap().admit(chain, now)
}

/// The first second of a year.
fn year(year: i32) -> i64 {
    date_time_ymd(year, 1, 1).unix_timestamp()
}

fn san(kind: &str, text: &str) -> Option<SanType> {
    let ascii = || text.try_into().unwrap();
    Some(match kind {
        "dns" => SanType::DnsName(ascii()),
        "ip" => SanType::IpAddress(text.parse().ok()?),
        "uri" => SanType::URI(ascii()),
        _ => SanType::Rfc822Name(ascii()),
    })
}

const KINDS: [&str; 4] = ["dns", "ip", "uri", "email"];

/// The same text as a name of each kind, in certificates and in tokens.
const TEXTS: [&str; 6] = [
    "billing.internal",
    "10.0.0.7",
    "2001:db8::7",
    "spiffe://billing.internal",
    "a@billing.internal",
    "billing.internal:443",
];

#[test]
fn a_name_counts_by_its_kind() {
    let root = authority("root", None, None, 2040);
    let mut matches = 0;
    for (kind, text) in KINDS
        .iter()
        .flat_map(|kind| TEXTS.iter().map(move |text| (*kind, *text)))
    {
        let Some(name) = san(kind, text) else { continue };
        let shown = names_in(&client(&root, &[name], 2040));
        for (of, wanted) in KINDS
            .iter()
            .flat_map(|of| TEXTS.iter().map(move |text| (*of, *text)))
        {
            let Ok(name) = format!("{of}:{wanted}").parse::<CertificateName>() else {
                continue;
            };
            assert_eq!(
                shown.contains(&name),
                (kind, text) == (of, wanted),
                "{kind}:{text} {of}:{wanted}"
            );
            matches += usize::from(shown.contains(&name));
        }
        // Without its kind, a name is of DNS, or an address.
        if let Ok(name) = text.parse::<CertificateName>() {
            let is_address = text.parse::<std::net::IpAddr>().is_ok();
            let is_it = kind == if is_address { "ip" } else { "dns" };
            assert_eq!(shown.contains(&name), is_it, "{kind}:{text}");
        }
    }
    assert!(matches >= 6, "{matches}");
}

/// An authority that may sign names of one domain cannot make a `billing` of its own out of another kind of name.
#[test]
fn what_an_authority_may_not_sign_it_cannot_sign_as_another_kind() {
    let root = authority("root", None, None, 2040);
    let only = |subtree: GeneralSubtree| NameConstraints {
        permitted_subtrees: vec![subtree],
        excluded_subtrees: vec![],
    };
    let web = authority(
        "web team",
        Some(&root),
        Some(only(GeneralSubtree::DnsName("web.corp".into()))),
        2040,
    );
    let by = trusting(&[&root]);
    let tokens = Tokens::new(vec![Token {
        name: "billing".into(),
        shows: Proof::CertificateName("billing.internal".parse().unwrap()),
        may: vec![Right::Allocate.into()],
        faces: None,
        until: None,
        rates: Default::default(),
        sql: Default::default(),
    }]);
    let own = san("dns", "a.web.corp").unwrap();
    for (kind, is_signed) in [("dns", false), ("uri", true), ("email", true)] {
        let other = san(kind, "billing.internal").unwrap();
        for names in [
            vec![other.clone()],
            vec![own.clone(), other.clone()],
            vec![other, own.clone()],
        ] {
            let chain = [client(&web, &names, 2040), web.certificate.clone()];
            assert_eq!(admit(&by, &chain, year(2030)).is_ok(), is_signed, "{names:?}");
            let shown = Presented {
                certificate_names: names_in(&chain[0]),
                uid: None,
            };
            let who = tokens
                .before_a_word(&shown, "http")
                .map(|who| who.name().to_string());
            assert_eq!(who.as_deref(), (!is_signed).then_some("billing"), "{names:?}");
        }
    }
    // What is limited in a way that we do not know signs nothing of that kind.
    let mail = authority(
        "mail",
        Some(&root),
        Some(only(GeneralSubtree::Rfc822Name("web.corp".into()))),
        2040,
    );
    let chain = [
        client(&mail, &[san("email", "a@web.corp").unwrap()], 2040),
        mail.certificate.clone(),
    ];
    admit(&by, &chain, year(2030)).unwrap_err();
}

#[test]
fn a_client_is_let_in_until_the_first_certificate_of_its_chain_ends() {
    let root = authority("root", None, None, 2022);
    let team = authority("team", Some(&root), None, 2031);
    let ended = authority("team of long ago", Some(&root), None, 2021);
    let by = trusting(&[&root]);
    for (last_year, ends) in [(2030, 2030), (2040, 2031)] {
        let names = [san("dns", "a").unwrap()];
        // Whatever else the client sends does not count.
        let chain = [
            client(&team, &names, last_year),
            ended.certificate.clone(),
            team.certificate.clone(),
        ];
        let admission = admit(&by, &chain, year(2025)).unwrap();
        assert_eq!(admission.over(year(ends)), None);
        assert_eq!(admission.over(year(ends) + 1), Some(Over::Ended));
        // As a resumed handshake would look at it.
        assert!(admit(&by, &chain, year(ends)).is_ok());
        assert!(
            admit(&by, &chain, year(ends) + 1)
                .unwrap_err()
                .contains("CertExpired")
        );
    }
    assert!(admit(&by, &[], year(2025)).is_err());
}

#[test]
fn what_an_authority_let_in_ends_when_it_is_gone() {
    let [one, two] = ["one", "two"].map(|name| authority(name, None, None, 2040));
    let names = [san("dns", "a").unwrap()];
    let mut first = trusting(&[&one, &one, &two]);
    let now = year(2030);
    let by_one = admit(&first, &[client(&one, &names, 2040)], now).unwrap();
    let by_two = admit(&first, &[client(&two, &names, 2040)], now).unwrap();
    let over = || (by_one.over(now), by_two.over(now));
    // The same again changes nothing; nor does another order.
    for signers in [[&one, &two], [&two, &one]] {
        let mut same = trusting(&signers);
        assert_eq!(Authorities::replace(&mut same, first.as_ref()), 0);
        first = same;
        assert_eq!(over(), (None, None));
    }
    let mut second = trusting(&[&two]);
    assert_eq!(Authorities::replace(&mut second, first.as_ref()), 1);
    assert_eq!(over(), (Some(Over::AuthorityGone), None));
    // No certificates of clients at all.
    Authorities::replace(&mut None, second.as_ref());
    assert_eq!(by_two.over(now), Some(Over::AuthorityGone));
}
