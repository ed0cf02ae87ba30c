"""Stand in for sandbox-exec(1) of macOS: apply the rules on folders and the network of our profiles by bubblewrap.

It knows only the forms of rule that `localllm/sandbox/macos/seatbelt.py` writes for folders, and no patterns.
"""

import os
import re
import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    given: dict[str, str] = {}
    while arguments[0] == "-D":
        name, _, given_path = arguments[1].partition("=")
        given[name] = given_path
        arguments = arguments[2:]
    _, profile, *command = arguments
    mounts = ["--ro-bind", "/", "/", "--dev", "/dev"]
    for line in profile.splitlines():
        rule = re.match(r"\((allow|deny) file-(read|write)\* \(subpath", line)
        for path in [given[name] for name in re.findall(r'\(param "(P\d+)"\)', line)] if rule else ():
            if Path(path).exists():
                mounts += mount(rule.groups(), path)
    if "(deny network*)" in profile:
        mounts.append("--unshare-net")
    os.execv("/usr/bin/bwrap", ["bwrap", *mounts, "--die-with-parent", "--", *command])


def mount(rule: tuple[str, ...], path: str) -> list[str]:
    if rule == ("deny", "read"):
        return ["--tmpfs", path] if Path(path).is_dir() else ["--ro-bind", "/dev/null", path]
    return ["--bind" if rule == ("allow", "write") else "--ro-bind", path, path]


if __name__ == "__main__":
    main(sys.argv[1:])
