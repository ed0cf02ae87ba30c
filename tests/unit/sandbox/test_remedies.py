"""What would give a better level."""

import pytest

from localllm.sandbox.probe import landlock_remedy, remedies

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
    return [phrase.text for phrase in found]


def test_nothing_is_missing() -> None:
    assert keys() == []


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (
            {APPARMOR: "1", MOST: "100"},
            (
                "AppArmor keeps users from making namespaces "
                "(kernel.apparmor_restrict_unprivileged_userns = 1). Install bubblewrap, which it "
                "allows: sudo apt install bubblewrap. Or allow all programs: sudo sysctl -w "
                "kernel.apparmor_restrict_unprivileged_userns=0."
            ),
        ),
        (
            {APPARMOR: "0", DEBIAN: "0"},
            ("Users may not make namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1."),
        ),
        ({MOST: "0"}, ("No user namespaces are allowed here: sudo sysctl -w user.max_user_namespaces=15000.")),
    ],
)
def test_namespaces_are_forbidden(settings: dict[str, str], key: str) -> None:
    assert keys("namespaces", settings=settings) == [key]


def test_within_a_container() -> None:
    assert keys("namespaces", files=("/.dockerenv",)) == [
        (
            "This is a container: start it with permission to make namespaces (docker run "
            "--security-opt seccomp=unconfined --security-opt systempaths=unconfined), or rely "
            "on the container itself to confine the commands."
        )
    ]
    assert keys("namespaces") == []


def test_bubblewrap_is_worth_installing_only_where_it_is_not() -> None:
    assert keys("namespaces", "bubblewrap") == [
        ("Install bubblewrap: sudo apt install bubblewrap, sudo dnf install bubblewrap.")
    ]
    assert keys("namespaces", "bubblewrap", bwrap="/usr/bin/bwrap") == []


@pytest.mark.parametrize(
    ("kernel", "key"),
    [
        ("6.11.0", ("Use Linux {least} or newer: before it, Landlock is missing or incomplete.")),
        (
            "6.12",
            (
                "Landlock must be on: cat /sys/kernel/security/lsm lists it (else add it to the "
                "kernel parameter lsm=). A container must allow its system calls (Docker 23 or newer "
                "does)."
            ),
        ),
    ],
)
def test_landlock(kernel: str, key: str) -> None:
    assert keys("landlock", kernel=kernel) == [key]


@pytest.mark.parametrize(
    ("kernel", "is_old"), [("6.1.0-9", True), ("6.12", False), ("5.15", True), ("10.0", False), ("odd", False)]
)
def test_a_kernel_that_is_too_old_for_landlock_is_said_to_be(kernel: str, is_old: bool) -> None:
    assert ("or newer: before it" in str(landlock_remedy(kernel))) is is_old
