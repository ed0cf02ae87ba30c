"""Where the home is mounted in a project as well."""

from localllm.safety.second_mounts import mounts_in, places_of
from localllm.sandbox.launcher.mount_table import MountTable

_TABLE = b"""1 1 8:1 / / rw - ext4 /dev/sda1 rw
2 1 8:1 /users/ann /srv/p/h rw - ext4 /dev/sda1 rw
3 1 8:1 /users/ann/.ssh /srv/p/s rw - ext4 /dev/sda1 rw
4 1 8:1 /users /srv/p/all rw - ext4 /dev/sda1 rw
5 1 8:1 /users/bob /srv/p/bob rw - ext4 /dev/sda1 rw
6 1 8:1 /users/ann /elsewhere rw - ext4 /dev/sda1 rw
7 1 8:2 /users/ann /srv/p/disk rw - ext4 /dev/sdb1 rw
"""


def test_a_home_and_its_parts_are_found_in_the_project_alone() -> None:
    found = set(places_of("/users/ann", "/srv/p", MountTable(_TABLE)))
    assert found == {("/srv/p/h", ""), ("/srv/p/s", ".ssh"), ("/srv/p/all/ann", "")}


def test_without_a_mount_in_the_project_the_table_is_not_read() -> None:
    assert mounts_in("/srv/no such project") is None
