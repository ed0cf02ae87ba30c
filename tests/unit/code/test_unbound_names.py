"""A name that an edit brings into a Python module, and that nothing there defines or imports, is told at once."""

from localllm.code.unbound_names import new_unbound, unbound_since
from tests.support.each import each

VIEWS = "from .models import Post\n\n\ndef posts(request):\n    return Post.objects.all()\n"
PAGED = VIEWS.replace("all()", "all()[: settings.PAGE_SIZE]")


def test_a_name_without_import_is_told() -> None:
    told = new_unbound("blog/views.py", VIEWS, PAGED)
    assert told == ["[Nothing in this file defines or imports settings: import it, or correct the name.]"]
    assert unbound_since("new.py", "", "print(os.environ['A'], json.dumps(x), os.sep)\n") == ["os", "json", "x"]


@each(
    ("path", "before", "after"),
    [
        ("views.py", VIEWS, "from django.conf import settings\n" + PAGED),
        ("views.py", PAGED, PAGED + "\n\nX = 1\n"),  # it was so before
        ("views.pyi", VIEWS, PAGED),
        ("views.js", VIEWS, PAGED),
        ("views.py", VIEWS, PAGED + "("),  # syntax errors are told apart
        ("views.py", VIEWS + "(", PAGED),
        ("views.py", VIEWS, "from .base import *\n" + PAGED),
        ("views.py", VIEWS, PAGED + "globals().update(x=1)\n"),
        ("views.py", VIEWS, PAGED + "exec('settings = 1')\n"),
        ("views.py", VIEWS, "import builtins\n" + PAGED),
        ("views.py", "", "try:\n    unicode\nexcept NameError:\n    unicode = str\nbasestring\n"),
        ("a.py", "", "import os.path\nimport a.b as c\nfrom x import (y as z)\nprint(os, c, z, __file__, len)\n"),
        ("a.py", "", "def f(a, /, b, *c, d=1, **e):\n    return [g for g in (a, b, c, d, e)], lambda h: h\n"),
        ("a.py", "", "with open('x') as f:\n    pass\ntry:\n    pass\nexcept OSError as e:\n    print(e, f)\n"),
        ("a.py", "", "if (n := 1):\n    print(n)\nfor i, (j, *k) in []:\n    print(i, j, k)\n"),
        (
            "a.py",
            "",
            "def f(v):\n    match v:\n        case [1, *r]: return r\n        case {'a': x, **m}: return x, m\n",
        ),
        ("a.py", "", "def f(v):\n    match v:\n        case P(q=1) as o: return o\n\nclass P: ...\n"),
        ("a.py", "", "def f():\n    global G\n    G = 1\n\ndef g():\n    return G\n"),
        ("a.py", "", "class A:\n    x = 1\n    def f(self):\n        return __class__, x\n"),
    ],
)
def test_what_may_be_bound_is_not_told(path: str, before: str, after: str) -> None:
    assert new_unbound(path, before, after) == []
