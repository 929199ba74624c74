"""What looks like a secret is masked without being known; what data scientists write every day is not."""

from __future__ import annotations

import pytest

from cellwright.policy.masking.masker import Masker, Secret

MASKER = Masker.of([], salt=b"a salt for tests")
RANDOM = "aZ3kQ9xB7mN2vC5pL8sD4fG6hJ1wE0rTyU"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"key sk-ant-api03-{RANDOM} end", "key [masked anthropic-key] end"),
        (f"key sk-{RANDOM} end", "key [masked openai-key] end"),
        (f"key sk-proj-{RANDOM}_x-y end", "key [masked openai-key] end"),
        (f"sk_live_{RANDOM}", "[masked stripe-key]"),
        (f"ghp_{RANDOM}ab", "[masked github-token]"),
        (f"github_pat_{RANDOM}", "[masked github-token]"),
        (f"glpat-{RANDOM}", "[masked gitlab-token]"),
        ("id AKIAIOSFODNN7EXAMPLE,", "id [masked aws-key-id],"),
        (f"xoxb-123456789012-{RANDOM}", "[masked slack-token]"),
        (f"AIza{RANDOM}a", "[masked google-key]"),
        (f"hf_{RANDOM}", "[masked huggingface-token]"),
        (f"npm_{RANDOM}ab", "[masked npm-token]"),
        (f"pypi-AgEIcHlwaS5vcmc{RANDOM}", "[masked pypi-token]"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "jwt [masked json-web-token]"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[masked private-key]\nb",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r", "[masked private-key]"),
        ("postgres://ada:hunter2@db:5432/x", "postgres://ada:[masked password-in-address]@db:5432/x"),
        ("redis://:s3cret@cache/0", "redis://:[masked password-in-address]@cache/0"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [masked authorization]"),
        ('{"authorization": "Basic YWRhOmh1bnRlcjI="}', '{"authorization": "Basic [masked authorization]"}'),
        (
            "Authorization: Bearer cellwright-secret:crm/AbC12345xyz",
            "Authorization: Bearer [masked authorization]:[masked assignment]",
        ),
        (f"curl -H 'bearer {RANDOM}'", "curl -H 'bearer [masked authorization]'"),
        ("password = 'hunter2hunter2'", "password = '[masked assignment]'"),
        ('{"password": "correct-horse"}', '{"password": "[masked assignment]"}'),
        ('{\\"password\\": \\"correct-horse\\"}', '{\\"password\\": \\"[masked assignment]\\"}'),
        ("DB_PASSWORD=p4ssw0rdX9", "DB_PASSWORD=[masked assignment]"),
        (f"?token={RANDOM}&page=2", "?token=[masked assignment]&page=2"),
        (f"api_key: {RANDOM}", "api_key: [masked assignment]"),
        (f"aws_secret_access_key = {RANDOM}", "aws_secret_access_key = [masked assignment]"),
        (f"client_secret => '{RANDOM}'", "client_secret => '[masked assignment]'"),
        (f"AccountKey={RANDOM}==;Endpoint=x", "AccountKey=[masked assignment];Endpoint=x"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, masked: str) -> None:
    assert MASKER.mask(text).text == masked
    assert all(not finding.is_known for finding in MASKER.mask(text).found)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens = 4096, total_tokens: 123456789",
        'headers={"Authorization": "Bearer cellwright-secret:crm"}',
        "-H 'Authorization: Bearer cellwright-secret:crm_of_2026'",
        'API_TOKEN = "cellwright-secret:crm_of_2026"',
        "write cellwright-secret:crm_of_2026x7 where it belongs",
        "tokens = tokenizer.encode(text, return_tensors='pt')",
        "token = os.environ['API_TOKEN']",
        "password = getpass.getpass('Password: ')",
        "password=password, token=self.token",
        "api_key = settings.openai_api_key",
        "api_key=your_api_key_here_123",
        'password = "<your password>"',
        "password: ${DB_PASSWORD}",
        "PASSWORD=********",
        "primary_key = customer_id_2024_rows",
        "key: value, keys = ['alpha', 'beta']",
        "df['secret'] == 'x'",
        "secret == 'aB3dE5fG7hJ9'",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "from sklearn import linear_model  # sk-learn-contrib-and-more-packages",
        "task-force-members-2024-Report-Final",
        "http://host:8080/path?mail=a@b.example",
        "see https://example.com/a:b and mail ada@example.com",
        "ssh git@github.com:owner/repository.git",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "the bearer of bad news",
        "bearer tokens",
        "AKIA is a prefix, ASIA a continent: ASIAN_MARKETS_2024_Q1_DATA",
        "highlight_colour = eyJ",
        "hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "hf_hub_download_parallel_workers_count_max",
        "A public key begins -----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "token_type: bearer",
        "pwd: /home/ada/projects",
        "[masked assignment] password=[masked assignment] postgres://me:[masked x]@host",
    ],
)
def test_ordinary_lines_are_left_alone(text: str) -> None:
    assert MASKER.mask(text).text is text


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "sk-",
        "token=1a",
        "password: ",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "bearer ",
        "ghp_",
        "%4",
        "\\u00",
        "&#",
    ],
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    # A pattern that looked at everything again from every start would not come back in a human life.
    known = Masker.of([Secret(name="K", value="tr0ub4dor&3-Horse")], salt=b"a salt for tests")
    assert known.mask(piece * (300_000 // len(piece))).text
