"""Credentials that guard nothing, made anew in each run, so that no file of ours holds one."""

import base64
import json
import random
import string

HEX, DIGITS, UPPER = "0123456789abcdef", string.digits, string.ascii_uppercase + string.digits
ALNUM = string.ascii_letters + string.digits
URL, BASE64 = ALNUM + "-_", ALNUM + "+/"


def credentials(seed):
    """Texts with a credential of each kind, by what it is."""
    rng = random.Random(seed)

    def r(length, letters=ALNUM):
        return "".join(rng.choices(letters, k=length))

    def in_base64(text):
        return base64.b64encode(text.encode()).decode()

    def uuid():
        return "-".join(r(length, HEX) for length in (8, 4, 4, 4, 12))

    def password(specials):
        """As a program makes them: letters and digits take turns, with a special character."""
        pairs = "".join(r(1, "xqzvk") + r(1, "XQZVK") + r(1, "23456789") for _ in range(4))
        return pairs[:7] + r(1, specials) + pairs[7:]

    begin, private = "-----BEGIN ", "PRIVATE KEY"
    account = {"private_key": f"{begin}{private}-----\n{r(64, BASE64)}\n-----END"}
    return {
        "a service account": json.dumps({"type": "service_account", **account}),
        "a private key": f"{begin}RSA {private}-----\r\n{r(64, BASE64)}",
        "an SSH key": f"{begin}OPENSSH {private}-----\nb3BlbnNzaC1{r(50, BASE64)}",
        "a PGP key": f"{begin}PGP {private} BLOCK-----\n\nlQ{r(60, BASE64)}",
        "a PuTTY key": "PuTTY-User-Key-File-" + "3: ssh-ed25519",
        "an age key": "AGE-SECRET-KEY-" + "1" + r(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        "a key in a kubeconfig": "client-key-data: " + in_base64(f"{begin}RSA {private}-----\nM"),
        "a token in a kubeconfig": f"    token: {r(64)}",
        "an AWS key": "AKIA" + r(16, UPPER),
        "an AWS secret": f"aws_secret_access_key = {r(40, ALNUM)}",
        "an AWS secret in a shell": f"export AWS_SECRET_ACCESS_KEY={r(40, ALNUM)}",
        "an AWS secret in YAML": f"  secretAccessKey: {r(40, ALNUM)}",
        "GitHub": "ghp_" + r(36),
        "GitHub, an app": "ghs_" + r(36),
        "GitHub, fine-grained": f"github_pat_{r(22)}_{r(59)}",
        "GitLab": "glpat-" + r(20, ALNUM),
        "Slack": f"xoxb-{r(12, DIGITS)}-{r(13, DIGITS)}-{r(24)}",
        "a Slack webhook": f"hooks.slack.com/services/T{r(8, UPPER)}/B{r(8, UPPER)}/{r(24)}",
        "Google": "AIza" + r(35, ALNUM),
        "a Google client": "GOCSPX-" + r(28),
        "a Google token": "ya29." + r(80, ALNUM),
        "PyPI": "pypi-AgE" + r(80, ALNUM),
        "npm": f"//registry.npmjs.org/:_authToken=npm_{r(36)}",
        "npm, older": f"//registry.npmjs.org/:_authToken={uuid()}",
        "RubyGems": "rubygems_" + r(48, HEX),
        "Docker": "dckr_pat_" + r(27, ALNUM),
        "Docker's settings": json.dumps({"auths": {"a": {"auth": in_base64(f"bob:{r(20)}")}}}),
        "Hugging Face": "hf_" + r(34),
        "OpenRouter": "OPENROUTER_API_KEY=sk-or-v1-" + r(64, HEX),
        "OpenRouter, in prose": f"With sk-or-v1-{r(64, HEX)} it answers.",
        "Langfuse": f"sk-lf-{uuid()}",
        "ElevenLabs": "sk_" + r(48, HEX),
        "Pinecone": f"pcsk_{r(5)}_{r(63)}",
        "OpenAI": "sk-proj-" + r(120, ALNUM),
        "OpenAI, a service": "sk-svcacct-" + r(60, ALNUM),
        "Anthropic": f"sk-ant-api03-{r(93, ALNUM)}AA",
        "Groq": f"export GROQ_API_KEY=gsk_{r(52)}",
        "xAI": "xai-" + r(80),
        "Perplexity": "pplx-" + r(48),
        "Replicate": "r8_" + r(37),
        "LangSmith": f"lsv2_pt_{r(32, HEX)}_{r(10, HEX)}",
        "Cohere": f"COHERE_API_KEY={r(40)}",
        "Mistral": f"MISTRAL_API_KEY: '{r(32)}'",
        "Stripe": "sk_live_" + r(40),
        "Twilio": "SK" + r(32, HEX),
        "a Twilio token": f"TWILIO_AUTH_TOKEN={r(32, HEX)}",
        "SendGrid": f"SG.{r(22)}.{r(43)}",
        "Mailgun": "key-" + r(32, HEX),
        "Brevo": f"xkeysib-{r(64, HEX)}-{r(16)}",
        "Resend": f"re_{r(7)}2_{r(24)}",
        "Shopify": "shpat_" + r(32, HEX),
        "Square": "sq0atp-" + r(22, ALNUM),
        "Databricks": f"DATABRICKS_TOKEN: dapi{r(32, HEX)}",
        "Figma": "figd_" + r(40, ALNUM),
        "Grafana": f"glsa_{r(32)}_{r(8, HEX)}",
        "Grafana's cloud": "glc_" + r(80),
        "Linear": "lin_api_" + r(40),
        "Notion": f"ntn_{r(11, DIGITS)}{r(35)}",
        "Airtable": f"pat{r(14)}.{r(64, HEX)}",
        "Atlassian": "ATATT3xFfGF0" + r(180, ALNUM),
        "Dropbox": "sl." + r(135, ALNUM),
        "Vault": "hvs." + r(95, ALNUM),
        "Terraform": f"{r(14)}.atlasv1.{r(67, ALNUM)}",
        "Doppler": "dp.pt." + r(43),
        "Supabase": "sbp_" + r(40, HEX),
        "Supabase, a secret": "sb_secret_" + r(31),
        "Cloudflare": f"CLOUDFLARE_API_TOKEN={r(40)}",
        "Cloudflare, an origin": f"v1.0-{r(24, HEX)}-{r(146, HEX)}",
        "DigitalOcean": "dop_v1_" + r(64, HEX),
        "Heroku": "HRKU-" + r(60, ALNUM),
        "Heroku, older": f"HEROKU_API_KEY={uuid()}",
        "New Relic": "NRAK-" + r(27, UPPER),
        "Postman": f"PMAK-{r(24, HEX)}-{r(34, HEX)}",
        "Datadog": f"DD_API_KEY={r(32, HEX)}",
        "Sentry": "sntryu_" + r(64, HEX),
        "Sentry, an organization": "sntrys_" + r(80),
        "PlanetScale": "pscale_pw_" + r(43),
        "Pulumi": "pul-" + r(40, HEX),
        "Neon": "napi_" + r(64),
        "CircleCI": f"CCIPAT_{r(22)}_{r(40, HEX)}",
        "Fly": "fo1_" + r(43),
        "Vercel's storage": f"vercel_blob_rw_{r(16)}_{r(30)}",
        "Dynatrace": f"dt0c01.{r(24, UPPER)}.{r(64, UPPER)}",
        "Artifactory": "AKCp" + r(69),
        "OpenShift": "sha256~" + r(43),
        "Alibaba": "LTAI" + r(20),
        "HubSpot": f"pat-na1-{uuid()}",
        "Mailchimp": f"{r(32, HEX)}-us{r(2, DIGITS)}",
        "Plaid": f"access-production-{uuid()}",
        "Flutterwave": f"FLWSECK-{r(32, HEX)}-X",
        "Shippo": "shippo_live_" + r(40, HEX),
        "EasyPost": "EZAK" + r(54),
        "1Password": "ops_eyJ" + r(250),
        "Telegram": f"{r(10, DIGITS)}:AA{r(33, ALNUM)}",
        "Discord": f"M{r(23)}.{r(6)}.{r(38)}",
        "a Discord webhook": f"https://discord.com/api/webhooks/{r(18, DIGITS)}/{r(68)}",
        "a JSON web token": f"eyJhbGciOiJIUzI1NiJ9.eyJ{r(40)}.{r(43)}",
        "Azure's storage": f"AccountName=x;AccountKey={r(86)}==;EndpointSuffix=core.windows.net",
        "Azure's directory": f"{r(3)}8Q~{r(31)}",
        "a Postgres address": f"postgres://app:{password('!-_')}@db.internal:5432/prod",
        "a MongoDB address": f"mongodb+srv://svc:{password('-_')}@cluster0.mongodb.net/x",
        "a Redis address": f"redis://:{password('-_')}@cache:6379/0",
        "a JDBC address": f"jdbc:mysql://h/db?user=a&password={password('-_')}&ssl=1",
        "an ADO string": f'"Server=x;User Id=sa;Password={password("!-_")};"',
        "a password in a shell": f"DB_PASSWORD={password('#$!%')}",
        "a password in code": f'password = "{password("#$!%&")}"',
        "a password in YAML": f"  password: {password('-_!')}",
        "a password in XML": f"<password>{password('-_!')}</password>",
        "a password in PHP": f"define('DB_PASSWORD', '{password('-_!')}');",
        "a key in code": f"const apiKey = '{r(40)}';",
        "a key in JSON": json.dumps({"client_secret": r(32)}),
        "a bearer's token": f'{{"Authorization": "Bearer {r(40)}"}}',
        "basic authentication": f"curl -H 'Authorization: Basic {in_base64(f'bob:{r(20)}')}'",
        "WireGuard": f"PrivateKey = {r(43)}=",
    }
