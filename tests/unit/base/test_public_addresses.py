"""Which IP addresses are on the public internet, in whatever spelling a resolver gives them."""

import shutil
import subprocess
import sys

import pytest

from localllm.base.public_addresses import is_public
from tests.support.each import each


@each(
    "address",
    ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808"],
)
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(address)


@each(
    "address",
    [
        *("127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "100.127.255.255"),
        *("169.254.169.254", "224.0.0.251", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "192.88.99.1"),
        *("192.0.0.9", "192.0.0.170", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00::5", "ff02::1"),
        *("::ffff:8.8.8.8", "::ffff:127.0.0.1", "::ffff:0:8.8.8.8", "::127.0.0.1", "::9.9.9.9", "2002:7f00:1::"),
        *("2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "3fff::1", "fec0::5", "5f00::1", "4000::1"),
        *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::c000:9", "64:ff9b:1::808:808", "no address", ""),
    ],
)
def test_addresses_that_are_not(address: str) -> None:
    assert not is_public(address)


_OWN = """
ip link set lo up && ip addr add 2a01:4f8:1234::5/64 dev lo && ip addr add 8.34.208.7/24 dev lo &&
ip route add default dev lo && exec "$@"
"""
"""A machine with public addresses, in a network of its own."""


def test_the_public_addresses_of_this_machine_and_its_network_are_not() -> None:
    alone = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", _OWN, "sh"]
    if not (shutil.which("ip") and shutil.which("unshare")) or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("no network namespace can be made here")
    own = ("2a01:4f8:1234::5", "2a01:4f8:1234::9", "8.34.208.7", "64:ff9b::822:d007")
    code = "import sys; from localllm.base.public_addresses import is_public; print([*map(is_public, sys.argv[1:])])"
    command = [*alone, sys.executable, "-c", code, *own, "8.8.8.8", "2606:4700::1111"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "[False, False, False, False, True, True]\n"
