#!/usr/bin/env python3
"""Writes corpus-ids.tsv, corpus-others.tsv and corpus-damaged.tsv: what people have in their columns and logs.

Made from the systems' own descriptions and not with Mintage, so that the code is held to the world and not to itself. The
seed is fixed: `python3 vectors/corpus.py` writes the same files again.
"""
import base64, datetime, hashlib, os, random, string, struct, uuid

R = random.Random(42)
HERE = os.path.dirname(os.path.abspath(__file__))
LOWER, UPPER, DIGIT = string.ascii_lowercase, string.ascii_uppercase, string.digits
B62 = DIGIT + UPPER + LOWER
B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
B64URL = UPPER + LOWER + DIGIT + "-_"
HEX = "0123456789abcdef"


def chars(alphabet, n):
    return "".join(R.choice(alphabet) for _ in range(n))


def digits(number, alphabet, width=0):
    out = ""
    while number:
        number, at = divmod(number, len(alphabet))
        out = alphabet[at] + out
    return out.rjust(width, alphabet[0])


def mixed(alphabet, n):
    """Characters of which some are capital, some small and some digits, as nearly all of random ones are."""
    while True:
        text = chars(alphabet, n)
        if any(c.isupper() for c in text) and any(c.islower() for c in text) and any(c.isdigit() for c in text):
            return text


def ms():
    return R.randrange(1_500_000_000_000, 1_780_000_000_000)


def fields_uuid(version, high):
    value = (high << 64) | R.getrandbits(64)
    value &= ~(0xF << 76) & ~(0x3 << 62)
    return uuid.UUID(int=value | version << 76 | 2 << 62)


def uuid7():
    return fields_uuid(7, ms() << 16 | R.getrandbits(12))


def uuid4():
    return fields_uuid(4, R.getrandbits(64))


def ticks():
    return ms() * 10_000 + R.randrange(10_000) + 0x01B21DD213814000


def uuid1():
    t = ticks()
    return fields_uuid(1, (t & 0xFFFFFFFF) << 32 | (t >> 32 & 0xFFFF) << 16 | t >> 48)


def uuid6():
    t = ticks()
    return fields_uuid(6, (t >> 12) << 16 | t & 0xFFF)


def ulid():
    return digits(ms() << 80 | R.getrandbits(80), CROCKFORD, 26)


def objectid():
    return f"{ms() // 1000:08x}" + chars(HEX, 16)


def typeid():
    return R.choice(["user", "order", "inv", "acct", "team"]) + "_" + digits(uuid7().int, CROCKFORD, 26).lower()


def ksuid():
    return digits((ms() // 1000 - 1_400_000_000) << 128 | R.getrandbits(128), B62, 27)


def xid():
    raw = struct.pack(">I", ms() // 1000) + R.randbytes(8)
    return base64.b32hexencode(raw).decode().lower().rstrip("=")


def pushid():
    alphabet = "-" + DIGIT + UPPER + "_" + LOWER
    return digits(ms(), alphabet, 8) + chars(alphabet, 12)


def elastic():
    t, seq = ms(), R.getrandbits(24)
    s = seq.to_bytes(3, "big")
    b = t.to_bytes(6, "big")
    raw = bytes([s[2], s[0], b[3], b[2], b[1], b[0]]) + R.randbytes(6) + bytes([b[4], s[1], b[5]])
    return base64.urlsafe_b64encode(raw).decode()


def snowflake(epoch=1_288_834_974_657):
    return (max(ms(), epoch + 10**11) - epoch) << 22 | R.randrange(1024) << 12 | R.randrange(8)


def luhn(body):
    total = sum(sum(divmod(int(c) * (2 - i % 2), 10)) for i, c in enumerate(reversed(body)))
    return body + str(-total % 10)


def gtin(body):
    total = sum(int(c) * (3 - 2 * (i % 2)) for i, c in enumerate(reversed(body)))
    return body + str(-total % 10)


def isbn10():
    body = R.choice("01") + chars(DIGIT, 8)
    check = -sum((10 - i) * int(c) for i, c in enumerate(body)) % 11
    return body[0] + "-" + body[1:4] + "-" + body[4:] + "-" + ("X" if check == 10 else str(check))


def issn():
    body = chars(DIGIT, 7)
    check = -sum((8 - i) * int(c) for i, c in enumerate(body)) % 11
    return body[:4] + "-" + body[4:] + ("X" if check == 10 else str(check))


def alnum_number(text):
    return "".join(str(int(c, 36)) for c in text)


def iban():
    country, body = R.choice([("DE", chars(DIGIT, 18)), ("GB", chars(UPPER, 4) + chars(DIGIT, 14)),
                              ("FR", chars(DIGIT, 23)), ("NL", chars(UPPER, 4) + chars(DIGIT, 10)),
                              ("CH", chars(DIGIT, 17)), ("ES", chars(DIGIT, 20))])
    check = 98 - int(alnum_number(body + country + "00")) % 97
    text = f"{country}{check:02}{body}"
    return " ".join(text[i:i + 4] for i in range(0, len(text), 4)) if R.random() < 0.5 else text


def isin():
    body = R.choice(["US", "DE", "GB", "FR", "JP"]) + chars(DIGIT, 9)
    return body + luhn(alnum_number(body))[-1]


def lei():
    body = chars(DIGIT, 4) + "00" + chars(UPPER + DIGIT, 12)
    return body + f"{98 - int(alnum_number(body + '00')) % 97:02}"


def vin():
    values = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9]))
    weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2]
    text = R.choice(["1HG", "1FT", "5YJ", "2T1", "JHM"]) + chars("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", 5) + "0"
    text += chars("ABCDEFGHJKLMNPRSTVWXY123456789", 1) + chars(UPPER[:8], 1) + chars(DIGIT, 6)
    total = sum(w * (int(c) if c.isdigit() else values[c]) for w, c in zip(weights, text))
    check = "X" if total % 11 == 10 else str(total % 11)
    return text[:8] + check + text[9:]


def orcid():
    body, total = "0000000" + chars("123456789", 1) + chars(DIGIT, 7), 0
    for c in body:
        total = (total + int(c)) * 2
    check = (12 - total % 11) % 11
    text = body + ("X" if check == 10 else str(check))
    return "-".join(text[i:i + 4] for i in range(0, 16, 4))


def card():
    return luhn(R.choice(["4" + chars(DIGIT, 14), "5" + R.choice("12345") + chars(DIGIT, 13), "34" + chars(DIGIT, 12),
                          "37" + chars(DIGIT, 12), "6011" + chars(DIGIT, 11), "3528" + chars(DIGIT, 11)]))


def spaced(text):
    return " ".join(text[i:i + 4] for i in range(0, len(text), 4))


def day():
    return datetime.datetime(2015, 1, 1) + datetime.timedelta(seconds=R.randrange(360_000_000))


def salesforce():
    short = R.choice(["001", "003", "005", "006", "00Q", "500", "a0B"]) + "5" + chars("0123456789eDf", 1) + "0000" \
        + mixed(B62, 6)
    suffix = ""
    for at in range(0, 15, 5):
        bits = sum(1 << i for i, c in enumerate(short[at:at + 5]) if c.isupper())
        suffix += (UPPER + "012345")[bits]
    return short + suffix


def ups():
    body = chars(UPPER + DIGIT, 6) + chars(DIGIT, 9)
    value = [int(c) if c.isdigit() else (ord(c) - 63) % 10 for c in body]
    total = sum(value[0::2]) + 2 * sum(value[1::2])
    return "1Z" + body + str(-total % 10)


def b64(raw):
    return base64.b64encode(raw).decode()


def legacy(kind, u):
    """The octets of MongoDB's subtype 3 by C# (1), Java (2) and Python (0)."""
    raw = u.bytes
    return {"CSUUID": u.bytes_le, "JUUID": raw[7::-1] + raw[:7:-1], "PYUUID": raw}[kind]


def any_uuid():
    return R.choice([uuid1, uuid4, uuid4, uuid7, uuid7])()


# System, how many, what makes one, the readings that are right (a UUID's with its version).
V = lambda u: f"uuid:{u.version}"


def ids():
    rows = []

    def add(system, count, make, expected):
        for _ in range(count):
            made = make()
            text, right = made if isinstance(made, tuple) else (made, expected)
            rows.append((system, text, right))

    def uu(wrap):
        def make():
            u = any_uuid()
            return wrap(u), V(u)
        return make

    n = 30
    for version, make in [(1, uuid1), (4, uuid4), (6, uuid6), (7, uuid7)]:
        add(f"UUID version {version}", n, lambda: str(make()), f"uuid:{version}")
    add("UUID version 3", n, lambda: str(uuid.uuid3(uuid.NAMESPACE_DNS, chars(LOWER, 9))), "uuid:3")
    add("UUID version 5", n, lambda: str(uuid.uuid5(uuid.NAMESPACE_URL, chars(LOWER, 9))), "uuid:5")
    add("SQL Server, Windows registry", n, uu(lambda u: "{" + str(u).upper() + "}"), "")
    add("URN", n, uu(lambda u: u.urn), "")
    add("Oracle RAW(16), hexadecimal", n, uu(lambda u: u.hex.upper()), "")
    add("hexadecimal without hyphens", n, uu(lambda u: u.hex), "")
    add("psql, a column of bytea", n, uu(lambda u: "\\x" + u.hex), "")
    add("MySQL, 0x", n, uu(lambda u: "0x" + u.hex.upper()), "")
    add("MySQL, X'…'", n, uu(lambda u: R.choice("xX") + "'" + u.hex.upper() + "'"), "")
    add("Oracle, HEXTORAW", n, uu(lambda u: f"HEXTORAW('{u.hex.upper()}')"), "")
    add("PostgreSQL, a cast", n, uu(lambda u: R.choice([f"'{u}'::uuid", f"uuid '{u}'", f"CAST('{u}' AS uuid)"])), "")
    add("Python, repr", n, uu(lambda u: f"UUID('{u}')"), "")
    add("C#, new Guid", n, uu(lambda u: f'new Guid("{u}")'), "")
    add("Java, UUID.fromString", n, uu(lambda u: f'UUID.fromString("{u}")'), "")
    add("JSON", n, uu(lambda u: R.choice(['"%s"', '"%s",', '["%s"]', '"id": "%s",', '{"id":"%s"}']) % u), "")
    add("SQL, a list", n, uu(lambda u: R.choice(["'%s'", "'%s',", "('%s')", "('%s'),", "N'%s'", "%s;"]) % u), "")
    add("mongosh, UUID", n, uu(lambda u: R.choice([f'UUID("{u}")', f"UUID('{u}')"])), "")
    add("Extended JSON, $uuid", n, uu(lambda u: f'{{"$uuid": "{u}"}}'), "")
    add("Extended JSON 2, $binary", n,
        uu(lambda u: f'{{"$binary": {{"base64": "{b64(u.bytes)}", "subType": "04"}}}}'), "")
    add("Extended JSON 1, $binary", n, uu(lambda u: f'{{"$binary": "{b64(u.bytes)}", "$type": "04"}}'), "")
    add("mongo, BinData 4", n, uu(lambda u: f'BinData(4, "{b64(u.bytes)}")'), "")
    add("mongosh, Binary.createFromBase64", n, uu(lambda u: f"Binary.createFromBase64('{b64(u.bytes)}', 4)"), "")
    for kind in ["CSUUID", "JUUID", "PYUUID"]:
        add(f"mongo's shell helpers, {kind}", 20, uu(lambda u: f'{kind}("{u}")'), "")
    add("Robo 3T, LUUID", 20, uu(lambda u: f'LUUID("{u}")'), "")
    for kind in ["CSUUID", "JUUID", "PYUUID"]:
        add(f"mongo, BinData 3 by {kind}", 20, uu(lambda u: f'BinData(3, "{b64(legacy(kind, u))}")'), "")
    add("ULID", n, ulid, "ulid")
    add("ULID in small letters", n, lambda: ulid().lower(), "ulid|typeid")
    add("ULID in quotes", n, lambda: f"'{ulid()}',", "ulid")
    add("MongoDB ObjectId", n, objectid, "objectid")
    add("mongosh, ObjectId", n, lambda: R.choice(['ObjectId("%s")', "ObjectId('%s')", '"_id": ObjectId("%s"),',
                                                  "BSON::ObjectId('%s')", 'ObjectID("%s")']) % objectid(), "objectid")
    add("Extended JSON, $oid", n, lambda: R.choice(['{"$oid":"%s"}', '{ "$oid" : "%s" }', '{"_id":{"$oid":"%s"}}',
                                                    '{"$oid":"%s"},']) % objectid(), "objectid")
    add("KSUID", n, ksuid, "ksuid")
    add("xid", n, xid, "xid")
    add("TypeID", n, typeid, "typeid")
    add("NanoID", n, lambda: mixed(B64URL, 21), "nanoid")
    add("Firebase push id", n, pushid, "pushid")
    add("CUID", n, lambda: "c" + digits(ms(), DIGIT + LOWER, 8) + digits(R.randrange(36**4), DIGIT + LOWER, 4)
        + chars(DIGIT + LOWER, 12), "cuid")
    add("CUID2", n, lambda: chars(LOWER, 1) + chars(DIGIT + LOWER, 23), "cuid2")
    add("Elasticsearch", n, elastic, "elasticsearch")
    add("Twitter", n, lambda: str(snowflake()), "snowflake")
    add("Discord", n, lambda: str(snowflake(1_420_070_400_000)), "snowflake")
    add("Snowflake in quotes", n, lambda: R.choice(['"%d"', "'%d',", "[%d]", '{"id": "%d"}', "(%d),"]) % snowflake(),
        "snowflake")
    add("mongosh, NumberLong", n, lambda: R.choice(['NumberLong("%d")', "NumberLong(%d)", "Long('%d')",
                                                    '{"$numberLong": "%d"}']) % snowflake(), "snowflake")
    add("a sequence", n, lambda: str(R.randrange(1, 10**R.randrange(1, 8))), "sequence")
    add("a sequence in brackets", n, lambda: R.choice(["(%d)", "%d,", "'%d'", '"%d"']) % R.randrange(1, 10**7),
        "sequence")
    add("W3C traceparent", n, lambda: f"00-{chars(HEX, 32)}-{chars(HEX, 16)}-0{R.randrange(2)}", "trace")
    add("AWS X-Ray", n, lambda: f"1-{ms() // 1000:08x}-{chars(HEX, 24)}", "trace")
    add("Stripe", n, lambda: R.choice(["cus", "ch", "pi", "sub", "evt", "price"]) + "_" + mixed(B62, 14), "stripe")
    add("Slack", n, lambda: R.choice("CUT") + "0" + mixed_upper(9), "slack")
    add("Twilio", n, lambda: R.choice(["AC", "SM", "CA", "MM", "PN"]) + chars(HEX, 32), "twilio")
    add("Salesforce", n, salesforce, "salesforce")
    add("Shopify", n, lambda: f"gid://shopify/{R.choice(['Order', 'Product', 'Customer'])}/{R.randrange(10**12, 10**13)}",
        "gid")
    aws = ["i", "vol", "snap", "ami", "sg", "subnet", "vpc", "eni", "rtb", "igw", "nat", "eipalloc", "acl"]
    add("AWS resources", n, lambda: f"{R.choice(aws)}-{chars(HEX, R.choice([8, 17, 17]))}", "awsresource")
    add("AWS ARN", n, arn, "arn")
    add("Azure resources", n, lambda: f"/subscriptions/{uuid4()}/resourceGroups/{R.choice(['prod', 'rg1'])}"
        f"/providers/Microsoft.Compute/virtualMachines/vm{R.randrange(99)}", "azure")
    add("Google Cloud resources", n, lambda: R.choice(["projects/%s/locations/us/keyRings/k%d",
                                                       "projects/%s/topics/t%d",
                                                       "projects/%s/zones/europe-west1-b/instances/i%d"])
        % (chars(LOWER, 8), R.randrange(99)), "googlecloud")
    add("OpenAI", n, lambda: R.choice(["chatcmpl-" + mixed(B62, 29), "file-" + mixed(B62, 22), "resp_" + chars(HEX, 48),
                                       "call_" + mixed(B62, 24), "thread_" + mixed(B62, 24), "asst_" + mixed(B62, 24),
                                       "run_" + mixed(B62, 24), "batch_" + chars(HEX, 32)]), "aiapi")
    add("Anthropic", n, lambda: R.choice(["msg_01", "req_011", "toolu_01"]) + mixed(B58, 22), "aiapi")
    add("request ids of UUIDs", 20, lambda: "req_" + uuid7().hex, "request")
    add("MD5", n, lambda: hash_of("md5"), "digest")
    add("SHA-1, commits of git", n, lambda: hash_of("sha1"), "digest")
    add("SHA-256", n, lambda: hash_of("sha256"), "digest")
    add("layers of containers", n, lambda: "sha256:" + hash_of("sha256"), "digest")
    add("traces and hashes with the marks of version 1 by chance", n,
        lambda: chars(HEX, 12) + "1" + chars("56789abcdef", 1) + chars(HEX, 2) + R.choice("89ab") + chars(HEX, 15), "digest")
    add("MAC addresses", n, lambda: ":".join(chars(HEX, 2) for _ in range(6)), "mac")
    add("IPv4", n, lambda: ".".join(str(R.randrange(1, 255)) for _ in range(4)), "ipv4")
    add("Unix time, seconds", n, lambda: str(ms() // 1000), "unixtime")
    add("Unix time, milliseconds", n, lambda: str(ms()), "unixtime")
    add("YouTube", n, lambda: mixed(B64URL, 10) + R.choice("AEIMQUYcgkosw048"), "youtube")
    add("Kubernetes pods", n, lambda: f"{R.choice(['api', 'web', 'cart-worker'])}-{chars('bcdfghjklmnpqrstvwxz2456789', 10)}"
        f"-{chars('bcdfghjklmnpqrstvwxz2456789', 5)}", "kubernetes")
    return rows


def mixed_upper(n):
    while True:
        text = chars(UPPER + DIGIT, n)
        if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
            return text


def arn():
    account = chars(DIGIT, 12)
    return R.choice([f"arn:aws:ec2:us-east-1:{account}:instance/i-{chars(HEX, 17)}", f"arn:aws:iam::{account}:role/admin",
                     f"arn:aws:s3:::{chars(LOWER, 9)}/key", f"arn:aws-cn:sqs:cn-north-1:{account}:jobs",
                     f"arn:aws:lambda:eu-west-1:{account}:function:mail"])


def hash_of(name):
    """A hash that has not by chance the marks of a UUID: those of one in 64 have."""
    while True:
        text = hashlib.new(name, R.randbytes(16)).hexdigest()
        if len(text) != 32 or text[16] not in "89ab" or text[12] not in "12345678":
            return text


WORDS = """hello world order customer invoice payment shipping address street number total amount currency product category
description quantity warehouse delivery pending cancelled completed processing refunded january february monday tuesday
internationalization characteristically incomprehensibility telecommunications misunderstandings counterrevolutionary
electroencephalograph uncharacteristically deinstitutionalization lighthouse dictionary university mathematics engineering
blue green yellow orange purple apple banana cherry grape lemon melon peach germany france spain italy poland norway
alice bob carol dave erin frank grace heidi mallory trent admin root guest anonymous unknown default primary secondary
production staging development testing enabled disabled active inactive true false yes no high medium low critical""".split()


def others():
    rows = []

    def add(kind, count, make, accepted="-"):
        for _ in range(count):
            rows.append((kind, make(), accepted))

    n = 34
    word = lambda: R.choice(WORDS)
    for text in WORDS:
        rows.append(("words", text, "-"))
    add("words in capitals", n, lambda: word().upper())
    add("words with a capital", n, lambda: word().capitalize())
    add("two words", n, lambda: f"{word()} {word()}")
    add("snake_case", n, lambda: f"{word()}_{word()}")
    add("snake_case of three", n, lambda: f"{word()}_{word()}_{word()}")
    add("kebab-case", n, lambda: f"{word()}-{word()}")
    add("slugs", n, lambda: f"{word()}-{word()}-{word()}-{word()}")
    add("camelCase", n, lambda: word() + word().capitalize())
    add("CONSTANTS", n, lambda: f"{word()}_{word()}".upper())
    add("words with a number", n, lambda: f"{word()}{R.randrange(100)}")
    add("names of files", n, lambda: f"{word()}-{R.randrange(99)}.{R.choice(['txt', 'csv', 'jpg', 'pdf', 'tar.gz'])}")
    add("paths", n, lambda: f"/{word()}/{word()}/{word()}.{R.choice(['log', 'conf', 'py'])}")
    add("host names", n, lambda: f"{word()}.{word()}.{R.choice(['com', 'org', 'example', 'local'])}")
    add("e-mail addresses", n, lambda: f"{word()}.{word()}@example.{R.choice(['com', 'org'])}")
    add("URLs", n, lambda: f"https://example.org/{word()}?{word()}={R.randrange(999)}")
    add("nothing", 12, lambda: R.choice(["NULL", "null", "None", "nil", "N/A", "n/a", "NaN", "undefined", "-", "(null)"]))
    add("ISO dates", n, lambda: day().strftime("%Y-%m-%d"))
    add("RFC 3339", n, lambda: day().strftime("%Y-%m-%dT%H:%M:%S.123Z"))
    add("times with a space", n, lambda: day().strftime("%Y-%m-%d %H:%M:%S"))
    add("German dates", n, lambda: day().strftime("%d.%m.%Y"))
    add("American dates", n, lambda: day().strftime("%m/%d/%Y"))
    add("American dates with time", n, lambda: day().strftime("%m/%d/%Y %I:%M %p"))
    add("dates in words", n, lambda: day().strftime(R.choice(["%d %b %Y", "%b %d, %Y", "%A, %d %B %Y", "%d-%b-%Y"])))
    add("RFC 2822", n, lambda: day().strftime("%a, %d %b %Y %H:%M:%S +0000"))
    add("Apache's times", n, lambda: day().strftime("%d/%b/%Y:%H:%M:%S +0000"))
    add("compact dates", n, lambda: day().strftime("%Y%m%d"), "date")
    add("compact times", n, lambda: day().strftime("%Y%m%d%H%M%S"), "date")
    add("compact ISO times", n, lambda: day().strftime("%Y%m%dT%H%M%SZ"))
    add("ISODate", n, lambda: day().strftime('ISODate("%Y-%m-%dT%H:%M:%S.000Z")'))
    add("ISO weeks", n, lambda: day().strftime("%G-W%V-%u"))
    add("durations", n, lambda: f"PT{R.randrange(24)}H{R.randrange(60)}M")
    add("phone numbers, E.164", n, lambda: "+" + R.choice(["1415555", "4930", "44207946", "3361234"]) + chars(DIGIT, 4)
        + R.choice(["", "12"]), "phone")
    add("phone numbers, American", n, lambda: R.choice([f"({chars('23456789', 3)}) 555-{chars(DIGIT, 4)}",
                                                        f"{chars('23456789', 3)}-555-{chars(DIGIT, 4)}"]), "phone")
    add("phone numbers, spaced", n, lambda: f"+49 30 {chars(DIGIT, 4)} {chars(DIGIT, 4)}", "phone")
    add("card numbers", n, card, "card")
    add("card numbers with spaces", n, lambda: spaced("4" + card_body()), "card")
    add("IMEI", n, lambda: luhn("35" + chars(DIGIT, 12)), "imei|card")
    add("EAN-13", n, lambda: gtin(R.choice(["400", "501", "761", "871", "500"]) + chars(DIGIT, 9)), "gtin")
    add("UPC-A", n, lambda: gtin("0" + chars(DIGIT, 10)), "gtin")
    add("ISBN-13", n, lambda: gtin("978" + chars(DIGIT, 9)), "isbn")
    add("ISBN-10", n, isbn10, "isbn")
    add("ISSN", n, issn, "issn")
    add("IBAN", n, iban, "iban")
    add("ISIN", n, isin, "isin")
    add("LEI", n, lei, "lei")
    add("VIN", n, vin, "vin")
    add("ORCID", n, orcid, "orcid")
    add("DOI", n, lambda: f"10.{R.randrange(1000, 9999)}/{word()}.{R.randrange(9999)}", "doi")
    add("IMDb", n, lambda: R.choice(["tt", "nm"]) + chars(DIGIT, 7), "imdb")
    add("PubMed Central", n, lambda: "PMC" + chars("123456789", 1) + chars(DIGIT, 6), "pubmed")
    add("arXiv", n, lambda: f"arXiv:{R.randrange(10, 26)}{R.randrange(1, 13):02}.{R.randrange(1, 99999):05}", "arxiv")
    add("CVE", n, lambda: f"CVE-{R.randrange(2005, 2027)}-{R.randrange(1000, 50000)}", "cve")
    add("invoice numbers", n, lambda: f"{R.choice(['INV', 'RE', 'ORD', 'PO'])}-{R.randrange(2015, 2027)}-{R.randrange(10**6):06}",
        "reference")
    add("invoice numbers with slashes", n, lambda: f"{R.choice(['VF', 'FA'])}/{R.randrange(2015, 2027)}/{R.randrange(10**5)}",
        "reference")
    add("keys of issues", n, lambda: f"{R.choice(['PROJ', 'OPS', 'HADOOP'])}-{R.randrange(1, 9999)}", "reference")
    add("orders of Amazon", n, lambda: f"{R.randrange(100, 999)}-{chars(DIGIT, 7)}-{chars(DIGIT, 7)}", "reference")
    add("parcels of UPS", n, ups, "tracking")
    add("U.S. social security numbers", n, lambda: f"{R.randrange(100, 665)}-{R.randrange(10, 99)}-{R.randrange(1000, 9999)}")
    add(".NET ticks", n, lambda: str(ms() * 10_000 + 621_355_968_000_000_000 + R.randrange(10_000)), "clock")
    add("FILETIME, LDAP", n, lambda: str(ms() * 10_000 + 116_444_736_000_000_000 + R.randrange(10_000)), "clock")
    add("WebKit", n, lambda: str(ms() * 1000 + 11_644_473_600_000_000 + R.randrange(1000)), "clock")
    add("Cocoa", n, lambda: f"{ms() // 1000 - 978_307_200}.{R.randrange(1000, 999999)}", "clock")
    add("Excel", n, lambda: f"{R.randrange(42000, 47000)}.{R.randrange(1000, 99999999)}", "clock")
    add("prices", n, lambda: f"{R.randrange(1000)}.{R.randrange(100):02}")
    add("prices with a currency", n, lambda: f"{R.choice('$€£')}{R.randrange(1000)}.{R.randrange(100):02}")
    add("coordinates", n, lambda: f"{R.uniform(-90, 90):.6f},{R.uniform(-180, 180):.6f}")
    add("versions", n, lambda: f"v{R.randrange(9)}.{R.randrange(30)}.{R.randrange(99)}")
    add("percentages", n, lambda: f"{R.randrange(100)} %")
    add("colours", n, lambda: "#" + chars(HEX, 6))
    add("sizes", n, lambda: f"{R.randrange(1, 999)}{R.choice(['KB', 'MiB', ' GB'])}")
    add("base64 of words", n, lambda: b64((word() + " " + word() + " " + word()).encode()))
    add("user agents", n, lambda: f"Mozilla/5.0 (X11; Linux x86_64) Firefox/{R.randrange(60, 140)}.0")
    add("lines of a log", n, lambda: f"ERROR [{word()}] {word()} {word()} failed: {R.randrange(999)}")
    add("HDFS blocks", n, lambda: f"blk_{R.choice(['-', ''])}{R.randrange(10**18, 9 * 10**18)}", "hdfs")
    add("JSON web tokens", n, lambda: "eyJ" + mixed(B64URL, 33) + ".eyJ" + mixed(B64URL, 40) + "." + mixed(B64URL, 43), "jwt")
    add("plates", n, lambda: f"{chars(UPPER, 2)}-{chars(UPPER, 2)} {R.randrange(1, 9999)}")
    add("post codes", n, lambda: f"{chars(UPPER, 2)}{R.randrange(1, 9)} {R.randrange(1, 9)}{chars(UPPER, 2)}")
    return rows


def card_body():
    return luhn("4" + chars(DIGIT, 14))[1:]


def damaged():
    rows = []

    def add(damage, count, make, of, says):
        for _ in range(count):
            text = make()
            rows.append((damage, text, of, says))

    big = lambda: snowflake() | 1 | 3 << 12
    def fifteen():
        text = str(big())
        return text[:15] + "0" * (len(text) - 15)
    def exponent():
        text = str(big())
        e = len(text) - 1
        d = R.choice([5, 11, 14])
        return f"{text[0]}{R.choice('.,')}{text[1:1 + d]}E+{e}"
    def double():
        while True:
            # A generator at work: any sequence of a millisecond.
            text = str(int(float(snowflake() >> 12 << 12 | R.randrange(4096))))
            if int(text) % 256 == 0 and not text.endswith("000"):
                return text
    # 19 digits that JavaScript prints: the shortest text of the double, filled with zeros.
    def javascript():
        number = float(snowflake())
        text = f"{int(number)}" if number < 1e15 else repr(number)
        mantissa, e = text.split("e+")
        body = mantissa.replace(".", "")
        return body + "0" * (int(e) + 1 - len(body))
    n = 25
    add("a spreadsheet's 15 digits", n, fifteen, "snowflake", "15 digits")
    add("an exponent", n, exponent, "snowflake", "exponent")
    add("an apostrophe in front", n, lambda: "'" + str(big()), "snowflake", "apostrophe")
    add("a formula", n, lambda: f'="{R.choice([str(big()), str(uuid7()), ulid()])}"', "snowflake|uuid|ulid", "formula")
    add("thousands separators", n, lambda: R.choice(["{:,}", "{:_}"]).format(big()), "snowflake", "separator")
    add("thousands separators, German", n, lambda: f"{big():,}".replace(",", R.choice(". '")), "snowflake", "separator")
    add("a decimal point", n, lambda: R.choice([str(big()) + ".0", str(R.randrange(10**7)) + ".0", str(big()) + ".00"]),
        "snowflake|sequence", ".0")
    add("a double", n, double, "snowflake", "double")
    add("JavaScript's double", n, javascript, "snowflake", "double")
    add("a UUID short of a digit", n, lambda: drop(str(any_uuid())), "uuid", "are needed")
    add("a UUID with a digit too many", n, lambda: str(any_uuid()) + chars(HEX, 1), "uuid", "are needed")
    add("a UUID with a wrong letter", n, lambda: swap(str(any_uuid()), "ghijklmnoprstuvwxyzOI"), "uuid", "not a hexadecimal digit")
    add("a UUID cut short", n, lambda: str(any_uuid())[:R.choice([18, 20, 23, 24, 25, 28, 30, 32, 33])], "uuid", "are needed")
    add("a UUID without hyphens, cut", n, lambda: any_uuid().hex[:R.choice([28, 29, 30, 31])], "uuid", "are needed")
    add("a UUID with long dashes", n, lambda: str(any_uuid()).replace("-", R.choice("–—")), "uuid", "dash")
    add("a UUID in a URL", 12, lambda: f"https%3A%2F%2Fx.org%2F{any_uuid()}", "uuid", "URL")
    add("an ellipsis", n, lambda: str(any_uuid())[:R.randrange(8, 24)] + R.choice(["…", "..."]), "uuid", "cut")
    add("a ULID short of a character", n, lambda: ulid()[:25], "ulid", "are needed")
    add("a ULID with a character too many", n, lambda: ulid() + chars(CROCKFORD, 1), "ulid", "are needed")
    add("a ULID with a wrong letter", n, lambda: swap(ulid(), "U"), "ulid", "never has|no such|not one of")
    add("an ObjectId short of a digit", n, lambda: objectid()[:23], "objectid", "are needed")
    add("an ObjectId with a digit too many", n, lambda: objectid() + chars(HEX, 1), "objectid", "are needed")
    add("an ObjectId with a wrong letter", n, lambda: swap(objectid(), "gxyz"), "objectid", "never has|not a hexadecimal digit|not one of")
    add("a TypeID short of a character", n, lambda: typeid()[:-1], "typeid", "are needed")
    add("a TypeID with a character too many", n, lambda: typeid() + "0", "typeid", "are needed")
    add("a KSUID in small letters", n, lambda: ksuid().lower(), "ksuid", "case")
    add("a KSUID in capitals", n, lambda: ksuid().upper(), "ksuid", "case")
    add("a KSUID short of a character", n, lambda: ksuid()[:26], "ksuid", "are needed")
    add("a shell's call cut off", n, lambda: f'ObjectId("{objectid()}', "objectid", "bracket|quote")
    add("a zero-width space", n, lambda: R.choice(["\u200b", "\ufeff"]) + str(any_uuid()), "uuid", "invisible")
    return rows


def drop(text):
    at = R.choice([i for i, c in enumerate(text) if c != "-"])
    return text[:at] + text[at + 1:]


def swap(text, letters):
    at = R.choice([i for i, c in enumerate(text) if c != "-" and i > 9])
    return text[:at] + R.choice(letters) + text[at + 1:]


def write(name, columns, rows):
    with open(os.path.join(HERE, name), "w") as out:
        out.write(f"# columns: {columns}\n# source: written by vectors/corpus.py from the systems' own descriptions\n")
        for row in rows:
            assert not any("\t" in cell or "\n" in cell for cell in row), row
            out.write("\t".join(row) + "\n")
    print(name, len(rows), len({row[0] for row in rows}))


if __name__ == "__main__":
    write("corpus-ids.tsv", "system, text, readings that are right (of a UUID with its version)", ids())
    write("corpus-others.tsv", "kind, text, readings that are right; - for none", others())
    write("corpus-damaged.tsv", "damage, text, what it was, words of which the explanation has one", damaged())
