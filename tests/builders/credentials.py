"""Credentials that look like real ones and are none: made here, so that no file holds anything like one."""

from __future__ import annotations

import base64
import json
import random
import string
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


class Shown(NamedTuple):
    """A text with credentials in it, and what of it no mask may leave."""

    text: str
    secrets: tuple[str, ...]


def shown(seed: int = 1) -> dict[str, Shown]:
    """A text for every common kind of credential."""
    rng = random.Random(seed)  # noqa: S311 - nothing depends on them
    made: dict[str, Shown] = {}

    def add(name: str, text: str, *secrets: str) -> None:
        made[name] = Shown(text.format(*secrets), secrets)

    def rnd(size: int, letters: str = _ALNUM) -> str:
        return "".join(rng.choice(letters) for _ in range(size - 2)) + rng.choice("abcdef") + rng.choice("0123456789")

    def digits(size: int) -> str:
        return "".join(rng.choice(string.digits) for _ in range(size))

    def b64(size: int) -> str:
        return base64.b64encode(rng.randbytes(size)).decode()

    def private_key(kind: str) -> str:
        lines = "\n".join(b64(48) for _ in range(12))
        return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"

    aws = "AKIA" + "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(16))
    password, secret = f"tr0ub4dor-{rnd(4)}", rnd(40)
    add("aws id", "I used the key {} for that.", aws)
    add("aws pair", "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n", aws, secret)
    made["aws json"] = Shown(json.dumps({"AccessKeyId": aws, "SecretAccessKey": secret}), (aws, secret))
    add("gcp key", "maps key {}", "AIza" + rnd(35))
    add("gcp token", "Authorization: Bearer {}", "ya29." + rnd(90))
    add("gcp client secret", "client_secret: {}", "GOCSPX-" + rnd(28))
    key = private_key("")
    account = {"type": "service_account", "private_key": key, "client_email": "a@b.example"}
    made["gcp service account"] = Shown(json.dumps(account), tuple(key.split("\n")[1:-1]))
    protocol, suffix = "DefaultEndpointsProtocol=https;AccountName=acct", "EndpointSuffix=core.windows.net"
    add("azure storage", f"{protocol};AccountKey={{}};{suffix}", b64(64))
    add("azure client secret", "AZURE_CLIENT_SECRET={}", f"{rnd(3)}8Q~{rnd(34)}")
    add("azure sas", "https://acct.blob.core.windows.net/c?sv=2022-11-02&sr=c&sig={}", f"{rnd(44)}%3D")
    for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"):
        add(f"github {prefix}", "git clone with {} please", prefix + rnd(36))
    add("github fine-grained", "GITHUB_TOKEN={}", f"github_pat_{rnd(22)}_{rnd(59)}")
    add("gitlab", "token {}", "glpat-" + rnd(20))
    add("gitlab routable", "token {}", f"glpat-{rnd(27)}.01.{rnd(9).lower()}")
    add("slack bot", "SLACK={}", f"xoxb-{digits(12)}-{digits(13)}-{rnd(24)}")
    hook = f"{rnd(7).upper()}/B{rnd(10).upper()}/{rnd(24)}"
    add("slack hook", "curl -X POST https://hooks.slack.com/services/T0{}", hook)
    add("stripe", "stripe.api_key = '{}'", "sk_live_" + rnd(24))
    add("stripe test", "with {}", "sk_test_" + rnd(24))
    add("stripe webhook", "secret {}", "whsec_" + rnd(32))
    add("openai", "OPENAI_API_KEY={}", f"sk-{rnd(20)}T3BlbkFJ{rnd(20)}")
    add("openai project", "with {} it works", f"sk-proj-{rnd(74)}T3BlbkFJ{rnd(74)}")
    add("anthropic", "ANTHROPIC_API_KEY={}", f"sk-ant-api03-{rnd(93)}AA")
    add("anthropic oauth", "x-api-key: {}", f"sk-ant-oat01-{rnd(93)}AA")
    claims = ({"alg": "HS256", "typ": "JWT"}, {"sub": rnd(10), "iat": 1516239022})
    tokens = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in claims]
    add("jwt", "the session cookie is {} and", ".".join((*tokens, rnd(43))))
    for kind in ("RSA ", "OPENSSH ", "EC ", ""):
        whole = private_key(kind)
        made[f"private key {kind}".strip()] = Shown(f"cat key\n{whole}\nok", tuple(whole.split("\n")[1:-1]))
    lines = private_key("RSA ").split("\n")[:-4]
    numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(lines, 1))
    made["private key, cut and numbered"] = Shown(numbered, tuple(lines[1:]))
    whole = private_key("RSA ").split("\n")
    end = "\n".join(f"{at:6}→{line}" for at, line in enumerate(whole[5:], 6))
    made["private key, its end"] = Shown(f"read from line 6 on\n{end}\n", tuple(whole[5:-1]))
    env = base64.b64encode(b"DEBUG=1\nDB_PASSWORD=hunterhunter\n").decode()
    made["base64 of a file"] = Shown(f"echo {env} | base64 -d > .env", (env,))
    add("html", "{{&quot;password&quot;: &quot;{}&quot;}}", "Xk29!fpQz")
    add("sshpass", "sshpass -p '{}' ssh jane@host", "Xk29!fpQz")
    add("mysql", "mysql -h db -u root -p{} app", "Zz91kfPqX")
    add("cookie", "curl -H 'Cookie: theme=dark; sid={}' https://a.example", rnd(32))
    add("url", "git clone https://jane:{}@git.example.com/a.git", password)
    add("postgres", "DATABASE_URL=postgres://app:{}@db.internal:5432/app", password)
    add("mongodb", "mongodb+srv://app:{}@cluster0.ab1cd.mongodb.net/x", rnd(9))
    add("redis", "redis://:{}@cache:6379/0", "p4ssw0rdRedis")
    add("env", "DB_PASSWORD={}\nDEBUG=1", "hunterhunter")
    add("env quoted", 'export DB_PASSWORD="{}"\n', "correct horse battery")
    add("yaml", "database:\n  user: app\n  password: {}\n", "Xk29!fpQz")
    made["json"] = Shown(json.dumps({"user": "app", "password": "Xk29!fpQz"}), ("Xk29!fpQz",))
    made["json in json"] = Shown(json.dumps({"content": json.dumps({"password": "Xk29!fpQz"})}), ("Xk29!fpQz",))
    add("python", 'conn = connect(password="{}")', "Xk29!fpQz")
    add("typescript", "const apiKey: string = '{}';", rnd(32))
    add("connection string", "Server=tcp:db;User Id=sa;Password={};Encrypt=true", "Yk8$kfPq1")
    add("jdbc", "jdbc:postgresql://db/app?user=app&password={}", "Zz91kfPqX")
    add("flag", "mysql --password={} -u root", "Zz91kfPqX")
    add("flag apart", "tool --token {} run", rnd(24))
    add("bearer", 'curl -H "Authorization: Bearer {}" https://api', rnd(40))
    basic = base64.b64encode(f"jane:{password}".encode()).decode()
    add("basic", "Authorization: Basic {}", basic)
    made["docker"] = Shown(json.dumps({"auths": {"ghcr.io": {"auth": basic}}}), (basic,))
    add("header", "X-Api-Key: {}", rnd(32))
    add("assigned key", 'api_key = "{}"', rnd(32))
    add("hex key", "SECRET_KEY={}", rnd(48, _HEX))
    add("npm", "//registry.npmjs.org/:_authToken={}", "npm_" + rnd(36))
    add("netrc", "machine api.example.com login jane password {}", password)
    add("prose", "The password is {}, do not share it.", "tr0ub4dor3xy")
    add("chinese", "密码是 {}。", "tr0ub4dor3xy")
    add("huggingface", "HF_TOKEN={}", "hf_" + "".join(rng.choice(string.ascii_letters) for _ in range(34)))
    return made


LOOK_ALIKES = {
    "git sha": "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 by jane, parent 1a2b3c4d",
    "sha-256": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "md5": "md5sum: d41d8cd98f00b204e9800998ecf8427e  a.tar.gz",
    "uuid": "id 123e4567-e89b-12d3-a456-426614174000, session_id=6fa459ea-ee8a-3ca4-894e-db77e160355e",
    "paths": "/usr/lib/python3.11/site-packages/x/keyword.py src/auth/password_reset2.py C:\\keys\\token1.txt",
    "ids": "COMP-4711 toolu_01A09q90qw90lq917835lq9 call_abc123DEF456ghi789JKL012 msg_01XFDUDYJgAACzvnptvVoYEL",
    "more ids": "req_011CSHoEeqs5C35K2UUqR7Fy chatcmpl-B9MBs8CjcGOU2oLn4n571qHnYq9zx run_8f3a order #W2378156",
    "typed code": "def check(password: str, token: Optional[str] = None) -> bool:\n    return user.password_hash == it",
    "expressions": 'password = os.environ["DB_PASSWORD"]\nsecret_key = config.get("secret_key") f(api_key=api_key)',
    "javascript": "if (user.password !== req.body.password) throw new Error('password is wrong');",
    "placeholders": "OPENAI_API_KEY=${OPENAI_API_KEY}\nDB_PASSWORD=<your password>\nTOKEN=xxxxxxxxxxxxxxxxxxxx",
    "token counts": 'max_tokens: 4096, "input_tokens": 12345, token_count=8, next_page_token: "CAUQAA1b2c3d4e5f6g7h"',
    "a call": "Pass `baseTree` on; passed 12 tests, password reset was 3 days ago; the token is 4096 long",
    "a key of a map": "primary_key=user_2024_id, cache_key: 'v2:users:42', key = data['x1']",
    "urls": "https://github.com/org/repo/blob/9fceb02d0ae598e95dc970b74767f19372d61af8/src/a.py http://host:80/x@2",
    "integrity": '"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="',
    "public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGx2b jane@host -----BEGIN CERTIFICATE-----",
    "versions": "token==1.2.3 secret: v2.10.4 api_key: 2024-05-01",
    "base64 of prose": base64.b64encode(b"Read the file, then mend the loader. " * 3).decode(),
    "base64 of bytes": base64.b64encode(bytes(range(256))).decode(),
    "the end of a certificate": f"{'MIIC' * 16}\n{'abcd' * 16}\n-----END CERTIFICATE-----",
    "a footer in prose": "It has to end with\n-----END RSA PRIVATE KEY-----\nor it is not read.",
    "options": "mysql -P 3306 -h db -p app; mysql -u root -p$PASS; cp -pr a b; ssh -p 2222 jane@host",
    "cookies": "Cookie: theme=dark; lang=en-GB; consent=accepted-everything",
    "html": "&quot;password&quot;, &quot;required&quot;: <label>Enter your &quot;password&quot;</label>",
    "patterns": 'token = r"[-!#$%&*+.^_`|~0-9a-zA-Z]+"; password: "^[A-Za-z0-9!@#]{8,}$"',
    "words": '"password", "username", "required"; {"type": "password", "label": "Enter your password"}',
}
"""Texts with identifiers that the work needs, or with words that only sound like credentials: nothing is masked."""
