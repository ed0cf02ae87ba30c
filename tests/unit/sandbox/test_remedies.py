"""What would give a better level."""

import pytest

from localllm.sandbox.probe import remedies

APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
DEBIAN = "/proc/sys/kernel/unprivileged_userns_clone"
MOST = "/proc/sys/user/max_user_namespaces"


def keys(
    *failed: str,
    settings: dict[str, str] | None = None,
    files: tuple[str, ...] = (),
    bwrap: str = "",
    kernel: str = "6.8",
) -> list[str]:
    known = settings or {}
    found = remedies(
        failed,
        kernel,
        read=lambda path: known.get(path, ""),
        exists=lambda path: path in files,
        has_bubblewrap=lambda: bwrap,
    )
    return [phrase.key for phrase in found]


def test_nothing_is_missing() -> None:
    assert keys() == []


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({APPARMOR: "1", MOST: "100"}, "sandbox.fix.apparmor"),
        ({APPARMOR: "0", DEBIAN: "0"}, "sandbox.fix.userns_clone"),
        ({MOST: "0"}, "sandbox.fix.max_userns"),
    ],
)
def test_namespaces_are_forbidden(settings: dict[str, str], key: str) -> None:
    assert keys("namespaces", settings=settings) == [key]


def test_within_a_container() -> None:
    assert keys("namespaces", files=("/.dockerenv",)) == ["sandbox.fix.container"]
    assert keys("namespaces") == []


def test_bubblewrap_is_worth_installing_only_where_it_is_not() -> None:
    assert keys("namespaces", "bubblewrap") == ["sandbox.fix.bubblewrap"]
    assert keys("namespaces", "bubblewrap", bwrap="/usr/bin/bwrap") == []


@pytest.mark.parametrize(
    ("kernel", "key"), [("6.1.0", "doctor.sandbox_fix_kernel"), ("6.8", "doctor.sandbox_fix_landlock")]
)
def test_landlock(kernel: str, key: str) -> None:
    assert keys("landlock", kernel=kernel) == [key]
