"""What looks like a secret is masked, and ordinary words are not."""

import pytest

from localllm.text.secret_masking import MASK, has_secret, masked, masked_keys
from tests.support.each import each


@each(
    ("text", "secret"),
    [
        ("use token sk-live-4f9a8b7c6d5e4f3a2b1c now", "sk-live-4f9a8b7c6d5e4f3a2b1c"),
        ("key sk-ant-api03-abcdefghijklmnopqrstuv", "abcdefghijklmnopqrstuv"),
        ("push with ghp_abcdefghijklmnopqrstuvwxyz012345", "ghp_"),
        ("AKIAIOSFODNN7EXAMPLE is the id", "AKIAIOSFODNN7EXAMPLE"),
        ("git clone https://me:" + "hunter22@example.org/x.git", "hunter22"),  # in two pieces: it is no secret
        ("PASSWORD=correcthorse pytest", "correcthorse"),
        ('set "api_key": "abc123def456" in the file', "abc123def456"),
        ("the password is hunter2000", "hunter2000"),
        ("パスワードは hunter2000 です", "hunter2000"),
        ("トークン：abcdef123456 で試して", "abcdef123456"),
        ("Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl failed", "eyJzdWIiOiIxIn0"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY----- there", "MIIabc"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    assert secret not in masked(text)
    assert MASK in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "count the tokens of each request",
        "rename the token parser to lexer",
        "the password field should be hidden",
        "パスワードの入力欄を直してください",
        "add a secret santa feature",
        "see https://example.org:8443/a?b=c and user@example.org",
        "fix task-runner and risk-assessment-module-for-everyone",
        "write docs/api-key-rotation.md",
    ],
)
def test_words_are_left_alone(text: str) -> None:
    assert masked(text) == text


def test_the_rest_stays() -> None:
    text = "Set the password = abc123xyz in .env, then run the tests"
    assert masked(text) == f"Set the password = {MASK} in .env, then run the tests"


@pytest.mark.parametrize(
    "text",
    [
        "my key is sk-" + "abcdefghijklmnopqrstuvwxyz123456",
        "password: hunter22",
        "パスワードは abc12345 です",
        "clone https://me:secretword@example.org/x",
    ],
)
def test_what_has_a_secret_in_it_is_known(text: str) -> None:
    assert has_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "Token: rename everywhere",
        "API key: see docs/setup2.md",
        "API key: $OPENAI_KEY1",
        "API key: OPENAI_API_KEY2",
        "パスワード：2回入力させる",
        "bump auth: v1.2.34",
        "count the tokens of each request",
    ],
)
def test_what_only_speaks_of_secrets_may_be_kept(text: str) -> None:
    assert not has_secret(text)


@each(
    ("text", "kept"),
    [
        ("sk-live-4f9a8b7c6d5e4f3a2b1c", MASK),
        (
            "a task-list sk-, then sk-live-4f9a8b7c6d5e4f3a2b1c sk-live-4f9a8b7c6d5e4f3a2b1d",
            f"a task-list sk-, then {MASK} {MASK}",
        ),
        ("pk_live_4f9a8b7c6d5e4f3a2b1c rk-4f9a8b7c6d5e4f3a2b1c", f"{MASK} {MASK}"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345、AKIAIOSFODNN7EXAMPLE。", f"{MASK}、{MASK}。"),
        ("github_pat_abcdefghijklmnopqrstuvwxyz glpat-abcdefghijklmnopq xoxb-abcdefghijkl", f"{MASK} {MASK} {MASK}"),
        ("ASIAIOSFODNN7EXAMPLE AIza" + "b" * 35 + " hf_" + "c" * 30 + " npm_" + "d" * 36, " ".join([MASK] * 4)),
        ("pypi-" + "a" * 40 + " eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", f"{MASK} {MASK}"),
        ("-----BEGIN RSA PRIVATE KEY-----\nsk-live-4f9a8b7c6d5e4f3a2b1c\n-----END RSA PRIVATE KEY-----\n", f"{MASK}\n"),
        ("https://me:" + "hunter22@example.org/ and a@b", f"https://{MASK}@example.org/ and a@b"),
        (
            "password: hunter22, a task_id of https://example.org/a@b",
            "password: hunter22, a task_id of https://example.org/a@b",
        ),
    ],
)
def test_keys_alone_are_masked(text: str, kept: str) -> None:
    assert masked_keys(text) == kept
