//! Resources and requests of clouds, clusters and services.

use super::{Foreign, Found, Mix, is_base62, is_lower_hex};
use crate::format::Details;
use crate::inspect::IdTime;
use crate::inspect::rank::{Plausible, plausibility};
use crate::text::radix;
use crate::time::Timestamp;

pub(super) const ARN: Foreign = Foreign {
    name: "arn",
    is: "the name of a resource of AWS",
    source: "AWS General Reference, Amazon Resource Names",
    read: |text, _| {
        let mut parts = text.splitn(6, ':');
        let (arn, partition, service) = (parts.next()?, parts.next()?, parts.next()?);
        let (region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
        let fits =
            arn == "arn" && partition.starts_with("aws") && !service.is_empty() && !resource.is_empty();
        let details = Details::default()
            .text("service", service)
            .text("region", region)
            .text("account", account)
            .text("resource", resource);
        fits.then(|| Found::new(0.99, "the six parts of an ARN", details))
    },
};

pub(super) const AWS_RESOURCE: Foreign = Foreign {
    name: "awsresource",
    is: "a resource of EC2: a kind, a hyphen, and 8 or 17 hexadecimal digits",
    source: "Amazon EC2 user guide, Resource IDs",
    read: |text, _| {
        const KINDS: &[(&str, &str)] = &[
            ("acl", "network ACL"),
            ("ami", "image"),
            ("cgw", "customer gateway"),
            ("dopt", "DHCP options"),
            ("eipalloc", "elastic address"),
            ("eipassoc", "association of an elastic address"),
            ("eni", "network interface"),
            ("fl", "flow log"),
            ("fs", "file system"),
            ("i", "instance"),
            ("igw", "internet gateway"),
            ("lt", "launch template"),
            ("nat", "NAT gateway"),
            ("pcx", "peering connection"),
            ("r", "reservation"),
            ("rtb", "route table"),
            ("sg", "security group"),
            ("sgr", "rule of a security group"),
            ("snap", "snapshot"),
            ("subnet", "subnet"),
            ("tgw", "transit gateway"),
            ("vgw", "VPN gateway"),
            ("vol", "volume"),
            ("vpc", "VPC"),
            ("vpce", "VPC endpoint"),
            ("vpn", "VPN connection"),
        ];
        let (kind, digits) = text.split_once('-')?;
        let (_, object) = KINDS.iter().find(|(known, _)| *known == kind)?;
        let fits = matches!(digits.len(), 8 | 17) && is_lower_hex(digits);
        let details = Details::default().text("object", *object);
        fits.then(|| Found::new(0.95, "a kind of EC2, a hyphen and hexadecimal digits", details))
    },
};

pub(super) const AZURE: Foreign = Foreign {
    name: "azure",
    is: "the path of a resource of Azure",
    source: "Azure Resource Manager's documentation, resourceId",
    read: |text, _| {
        let (subscription, rest) = text
            .strip_prefix("/subscriptions/")?
            .split_once('/')
            .unwrap_or((text.strip_prefix("/subscriptions/")?, ""));
        crate::text::parse_uuid(subscription).ok()?;
        let details = Details::default()
            .text("subscription", subscription)
            .text("resource", rest);
        Some(Found::new(0.97, "the path of a resource of Azure", details))
    },
};

pub(super) const GOOGLE_CLOUD: Foreign = Foreign {
    name: "googlecloud",
    is: "the name of a resource of Google Cloud",
    source: "Google Cloud APIs, Resource names",
    read: |text, _| {
        let (project, rest) = text.strip_prefix("projects/")?.split_once('/')?;
        let fits = rest.split('/').count() % 2 == 0 && !rest.contains(' ') && !rest.contains('.');
        let details = Details::default().text("project", project).text("resource", rest);
        fits.then(|| Found::new(0.9, "projects/, then kinds and names in turn", details))
    },
};

pub(super) const GID: Foreign = Foreign {
    name: "gid",
    is: "a global id of a Rails application: Shopify's, GitLab's",
    source: "rails/globalid, README; Shopify's API documentation, Global IDs",
    read: |text, _| {
        let mut parts = text.strip_prefix("gid://")?.splitn(3, '/');
        let (application, object, id) = (parts.next()?, parts.next()?, parts.next()?);
        let details = Details::default()
            .text("application", application)
            .text("object", object)
            .text("id", id);
        Some(Found::new(
            0.98,
            "gid://, an application, an object and its id",
            details,
        ))
    },
};

pub(super) const SALESFORCE: Foreign = Foreign {
    name: "salesforce",
    is: "a record of Salesforce, whose last three characters tell the case of the others",
    source: "Salesforce's documentation, ID field type",
    read: |text, _| {
        if text.len() == 15 && is_base62(text) && text.get(5..8)?.ends_with("00") {
            let known = [
                "001", "003", "005", "006", "00D", "00Q", "500", "701", "800", "a0",
            ];
            let details = Details::default().text("object", &text[..3]);
            let why = "15 characters with the beginning of a record; without the last three, their case must be kept";
            let fits = known.iter().any(|known| text.starts_with(known)) && Mix::of(text).upper;
            return fits.then(|| Found::new(0.6, why, details));
        }
        let suffix = text.get(15..18).filter(|_| text.len() == 18 && is_base62(text))?;
        let expected = text.as_bytes()[..15].chunks(5).map(|five| {
            let bits = five
                .iter()
                .zip(0..)
                .map(|(byte, at)| usize::from(byte.is_ascii_uppercase()) << at);
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[bits.sum::<usize>()]
        });
        let fits = expected.eq(suffix.bytes()) && !text.bytes().all(|byte| byte.is_ascii_digit());
        let details = Details::default()
            .text("object", &text[..3])
            .text("short", &text[..15]);
        let why = "its last three characters tell the case of the first fifteen";
        fits.then(|| Found::new(0.93, why, details))
    },
};

pub(super) const TWILIO: Foreign = Foreign {
    name: "twilio",
    is: "an object of Twilio: two capitals and 32 hexadecimal digits",
    source: "Twilio's documentation, What is a String Identifier (SID)?",
    read: |text, _| {
        let (kind, digits) = text
            .split_at_checked(2)
            .filter(|(_, digits)| digits.len() == 32)?;
        let object = match kind {
            "AC" => "account",
            "SM" => "message",
            "MM" => "message with media",
            "CA" => "call",
            "PN" => "phone number",
            "RE" => "recording",
            "SK" => "key",
            "CF" => "conference",
            "MG" => "messaging service",
            "IS" | "CH" => "conversation",
            "WK" => "worker",
            _ => return None,
        };
        let details = Details::default().text("object", object);
        is_lower_hex(digits)
            .then(|| Found::new(0.95, "two capitals of Twilio and 32 hexadecimal digits", details))
    },
};

pub(super) const KUBERNETES: Foreign = Foreign {
    name: "kubernetes",
    is: "a pod of a Deployment: its name, the template's hash and five random characters",
    source: "kubernetes/apimachinery, util/rand: letters without vowels",
    read: |text, _| {
        let (rest, random) = text.strip_prefix("pod/").unwrap_or(text).rsplit_once('-')?;
        let (name, template) = rest.rsplit_once('-')?;
        let hex = |part: &str| is_lower_hex(part) && part.bytes().any(|byte| byte.is_ascii_digit());
        let safe = |part: &str| {
            part.bytes()
                .all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
        };
        let named = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = random.len() == 5
            && (8..=10).contains(&template.len())
            && (safe(random) || random.bytes().any(|byte| byte.is_ascii_digit()) && is_base62(random))
            && (safe(template) || hex(template))
            && !Mix::of(text).upper
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(named);
        let details = Details::default().text("name", name).text("template", template);
        fits.then(|| {
            Found::new(
                0.9,
                "a name, a template's hash and five characters without vowels",
                details,
            )
        })
    },
};

pub(super) const ELASTICSEARCH: Foreign = Foreign {
    name: "elasticsearch",
    is: "a document of Elasticsearch or OpenSearch: time, a node and a counter, in 20 characters of base64url",
    source: "elastic/elasticsearch, TimeBasedUUIDGenerator.java",
    read: |text, now| {
        if text.len() != 20 || !Mix::of(text).upper {
            return None;
        }
        let number = radix::read(text.as_bytes(), radix::BASE64_URL, false).ok()?;
        let octets = number.to_be_bytes();
        let octets = &octets[1..];
        let of = |places: [usize; 6]| {
            places
                .iter()
                .fold(0u64, |value, at| value << 8 | u64::from(octets[*at]))
        };
        let at = Timestamp::from_unix_millis(of([5, 4, 3, 2, 12, 14]) as i64);
        // Such ids are since Elasticsearch 1.4; one text in two hundred has such a time by chance.
        let since = Timestamp::from_unix_millis(1_400_000_000_000);
        if plausibility(at, since, now) != Plausible::Yes {
            return None;
        }
        let details = Details::new(Some(IdTime { at, digits: 3 }))
            .number("node", of([6, 7, 8, 9, 10, 11]), 48)
            .number(
                "sequence",
                u64::from(octets[1]) << 16 | u64::from(octets[13]) << 8 | u64::from(octets[0]),
                24,
            );
        Some(Found::new(
            0.8,
            "20 characters of base64url with a plausible time",
            details,
        ))
    },
};

pub(super) const GITHUB_NODE: Foreign = Foreign {
    name: "githubnode",
    is: "an object of GitHub's GraphQL interface",
    source: "GitHub's documentation, Using global node IDs; GitHub's blog on the new format (2021)",
    read: |text, _| {
        let of_base64 = |part: &str| {
            part.trim_end_matches('=')
                .bytes()
                .all(|byte| radix::BASE64_URL.contains(&byte))
        };
        if let Some((kind, rest)) = text.split_once("_kw").or_else(|| text.split_once("_kg")) {
            let named = (1..=5).contains(&kind.len()) && kind.bytes().all(|byte| byte.is_ascii_alphabetic());
            let details = Details::default().text("object", kind);
            let why = "an object's letters, and a list in MessagePack in base64url";
            return (named && rest.len() >= 6 && of_base64(rest)).then(|| Found::new(0.93, why, details));
        }
        // `04:User583231` and the like: the length of the object's name, and its number.
        let fits =
            text.len() >= 12 && text.starts_with("MD") && text.as_bytes()[3] == b'6' && of_base64(text);
        fits.then(|| {
            Found::new(
                0.85,
                "base64 of 0, a length, a colon and an object",
                Details::default(),
            )
        })
    },
};

/// Secrets by what they begin with, and the fewest characters behind it.
const SECRETS: &[(&str, &str, usize)] = &[
    ("AIza", "API key of Google", 35),
    ("GOCSPX-", "client secret of Google", 20),
    ("SG.", "API key of SendGrid", 40),
    ("dckr_pat_", "token of Docker", 20),
    ("dop_v1_", "token of DigitalOcean", 40),
    ("glpat-", "token of GitLab", 20),
    ("hf_", "token of Hugging Face", 30),
    ("pypi-", "token of PyPI", 50),
    ("rubygems_", "key of RubyGems", 40),
    ("shpat_", "token of Shopify", 32),
    ("sk-ant-", "API key of Anthropic", 20),
    ("sk-", "API key of OpenAI", 20),
    ("xai-", "API key of xAI", 40),
    ("ya29.", "access token of Google", 20),
];

pub(super) const SECRET: Foreign = Foreign {
    name: "secret",
    is: "a key or token of a service, by its prefix",
    source: "the services' documentation; GitHub's documentation, Supported secret scanning patterns",
    read: |text, _| {
        let (prefix, opens, least) = SECRETS.iter().find(|(prefix, ..)| text.starts_with(prefix))?;
        let rest = &text[prefix.len()..];
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let fits =
            rest.len() >= *least && rest.bytes().all(sound) && rest.bytes().any(|byte| byte.is_ascii_digit());
        let details = Details::default().text("opens", *opens);
        let note = "a secret: who reads it here has it; revoke it if it was found in the open";
        fits.then(|| Found::new(0.9, "the prefix of a service's keys", details).note(note))
    },
};

/// Prefixes of interfaces of language models: prefix, maker, object, fewest characters behind it.
const AI: &[(&str, &str, &str, usize)] = &[
    ("chatcmpl-", "OpenAI", "chat completion", 20),
    ("cmpl-", "OpenAI", "completion", 20),
    ("file-", "OpenAI", "file", 20),
    ("resp_", "OpenAI", "response", 30),
    ("call_", "OpenAI", "tool call", 20),
    ("thread_", "OpenAI", "thread", 20),
    ("asst_", "OpenAI", "assistant", 20),
    ("run_", "OpenAI", "run", 20),
    ("step_", "OpenAI", "step of a run", 20),
    ("batch_", "OpenAI", "batch", 20),
    ("ftjob-", "OpenAI", "fine-tuning job", 20),
    ("vs_", "OpenAI", "vector store", 20),
    ("msg_01", "Anthropic", "message", 20),
    ("msg_", "OpenAI", "message", 20),
    ("toolu_01", "Anthropic", "use of a tool", 20),
    ("msgbatch_01", "Anthropic", "batch", 20),
    ("req_01", "Anthropic", "request", 20),
    ("gen-", "OpenRouter", "generation", 20),
];

pub(super) const AI_API: Foreign = Foreign {
    name: "aiapi",
    is: "an object of an interface of language models, by its prefix",
    source: "OpenAI's and Anthropic's API references, the examples of their objects",
    read: |text, _| {
        let (prefix, maker, object, least) = AI.iter().find(|(prefix, ..)| text.starts_with(prefix))?;
        let random = &text[prefix.len()..];
        let mix = Mix::of(random);
        let fits = random.len() >= *least && is_base62(random) && mix.digit && (mix.upper || mix.lower);
        if !fits || (*maker == "Anthropic" && random.len() > 24) {
            return None;
        }
        let details = Details::default().text("maker", *maker).text("object", *object);
        Some(Found::new(
            0.94,
            "a prefix of such an interface and characters of base 62",
            details,
        ))
    },
};

pub(super) const REQUEST: Foreign = Foreign {
    name: "request",
    is: "a request: a prefix of several makers and a UUID or 32 hexadecimal digits",
    source: "the habit of many interfaces; OpenAI's and Mistral's headers among them",
    read: |text, _| {
        let digits = ["req_", "req-", "request-", "request_"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))?;
        let uuid = crate::text::parse_uuid_lenient(digits).ok()?;
        let fits = matches!(digits.len(), 32 | 36);
        let details = Details::default().text("uuid", alloc::format!("{uuid}"));
        fits.then(|| {
            Found::new(
                0.96,
                "a prefix that several makers use, and 128 bits in hexadecimal",
                details,
            )
        })
    },
};

#[cfg(test)]
mod tests {
    #[test]
    fn keys_of_services_are_secrets() {
        let now = crate::Timestamp::from_unix_millis(1_800_000_000_000);
        for (prefix, _, least) in super::SECRETS {
            // Put together here, so that no scanner takes it for a leak.
            let key = [prefix, "a1B2c3D4e5", &"x7Yz".repeat(*least)].concat();
            let readings = crate::inspect(&key, now);
            assert_eq!(readings[0].format, "secret", "{key}: {readings:?}");
            assert!(
                crate::inspect(prefix, now)
                    .iter()
                    .all(|reading| reading.format != "secret")
            );
        }
    }
}
