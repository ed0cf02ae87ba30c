"""What is found in a source file of each language, and in files that are broken, huge or odd."""

import pytest

from localllm.code.outline import MAX_BYTES, NotParsedError, Outline, count_lines, outline
from tests.support.each import each

PYTHON = b'''\
from __future__ import annotations
import os.path as p, sys
from ..a import b

class A(B):
    """Text."""

    @property
    def m(self):
        # a comment
        return [x for x in y if x and z or w]

    class In:
        async def n(self):
            match x:
                case 1: pass
                case _: pass

def f(a):
    try:
        pass
    except E:
        pass
    def g(): return 1 if a else 2
    while a:
        for b in c:
            pass
'''

JAVASCRIPT = b"""\
import fs from "fs";
export * from "./again.js";
const p = require('path');
class A extends B {
  #field = () => 1;
  constructor(a) { if (a && b || c ?? d) { for (const x of y) {} } }
  static async go() { switch (a) { case 1: break; default: return a ? b : c; } }
}
const arrow = (x) => x && y;
module.exports.q = async () => { try {} catch (e) {} };
export default function* gen() { function inner() { while (1) {} } }
"""

TYPESCRIPT = b"""\
import type { T } from "./t";
export interface I<T> { a: string }
export enum E { A }
type U = 1 | 2;
namespace N { export function f(): void {} }
export abstract class K<T> implements I<T> {
  private field = (x: number) => (x > 1 ? 1 : 2);
  n(): void { if (a) {} }
}
"""

TSX = b"""\
export const App = () => { return <div>{a && <b/>}</div>; };
"""

GO = b"""\
package main

import (
	"fmt"
	m "math/rand"
)

type S struct{ a int }
type I interface{ M() }
type F func(int) int

// A comment.
func (s *S) M() { if s.a > 0 && true { for range x {} } }
func (g G[T]) P() { switch x { case 1: default: } }
func main() { fmt.Println(m.Int()) }
"""

RUST = b"""\
use std::fs;
mod other;
mod inner { pub fn f() {} }
struct S<T>(T);
enum E { A }
trait T { fn sig(&self); fn def(&self) { if a && b {} } }
impl<X> T for S<X> {
    fn sig(&self) { match x { 1 => 2, _ => 3 }; }
}
macro_rules! mm { () => {} }
/* a comment
   of two lines */
fn main() { while let Some(x) = y { } }
"""

JAVA = b"""\
package a.b;
import java.util.List;
/** A comment. */
public class A<T> {
  enum E { X }
  interface I { void m(); }
  record R(int a) { R { if (a < 0) {} } }
  A() { }
  int f(int x) { switch (x) { case 1: return 1; default: return 2; } }
  int g() { try { for (int i : xs) {} } catch (E e) {} return a ? b : c; }
}
"""

C = b"""\
#include <stdio.h>
#include "my.h"
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct { int a; } anon_t;
struct named { int b; };
static char *dup(const char *s) { if (s && *s) return 0; while (1) {} }
int main(int argc, char **argv) { switch (argc) { case 1: break; default: break; } return argc ? 0 : 1; }
"""

CPP = b"""\
#include <vector>
namespace ns {
template <typename T> class V {
 public:
  ~V() {}
  int get() const { return a ? 1 : 2; }
  T& operator[](int i) { return x; }
};
}
int ns::V::late() { for (auto x : y) { try {} catch (...) {} } }
using Alias = int;
"""

RUBY = b"""\
require 'json'
module M
  class A < B
    def self.make; a ? b : c; end
    def go
      if x && y
      elsif z
      end
      foo unless bar
    end
  end
end
# a comment
"""

PHP = b"""\
<?php
namespace A\\B;
use C\\D;
require_once 'x.php';
interface I { function m(); }
abstract class K extends L implements I {
  public function m(): int { if ($a && $b) {} elseif ($c) {} return $a ? 1 : 2; }
}
function f() { foreach ($x as $y) {} }
"""

CSHARP = b"""\
using System;
using X = System.IO;
namespace A.B {
  public class K : L {
    public K() {}
    int M(int x) { if (a && b) {} foreach (var i in y) {} return x switch { 1 => 2, _ => 3 }; }
  }
  struct S {}
}
"""

BASH = b"""\
#!/bin/bash
source ./lib.sh
. "$HOME/x.sh"
# a comment
foo() { if [ a ] && [ b ]; then :; elif x; then :; fi; }
function bar { for i in a; do :; done; case $x in a) ;; *) ;; esac; }
"""

CASES = [
    (
        "python",
        PYTHON,
        "__future__ os.path sys ..a",
        """
        5-17 class A
        9-11 method A.m 5
        13-17 class A.In
        14-17 method A.In.n 2
        19-27 function f 4
        24-24 function f.g 2
        """,
    ),
    (
        "javascript",
        JAVASCRIPT,
        "fs ./again.js path",
        """
        4-8 class A
        5-5 method A.#field 1
        6-6 method A.constructor 6
        7-7 method A.go 3
        9-9 function arrow 2
        10-10 function module.exports.q 2
        11-11 function gen 1
        11-11 function gen.inner 2
        """,
    ),
    (
        "typescript",
        TYPESCRIPT,
        "./t",
        """
        2-2 interface I
        3-3 enum E
        4-4 type U
        5-5 namespace N
        5-5 function N.f 1
        6-9 class K
        7-7 method K.field 2
        8-8 method K.n 2
        """,
    ),
    ("tsx", TSX, "", "1-1 function App 2"),
    (
        "go",
        GO,
        "fmt math/rand",
        """
        8-8 struct S
        9-9 interface I
        10-10 type F
        13-13 method S.M 4
        14-14 method G.P 2
        15-15 function main 1
        """,
    ),
    (
        "rust",
        RUST,
        "std::fs other",
        """
        3-3 module inner
        3-3 function inner.f 1
        4-4 struct S
        5-5 enum E
        6-6 trait T
        6-6 method T.sig 1
        6-6 method T.def 3
        7-9 impl S<X>
        8-8 method S<X>.sig 2
        10-10 macro mm
        13-13 function main 2
        """,
    ),
    (
        "java",
        JAVA,
        "java.util.List",
        """
        4-11 class A
        5-5 enum A.E
        6-6 interface A.I
        6-6 method A.I.m 1
        7-7 class A.R
        7-7 method A.R.R 2
        8-8 method A.A 1
        9-9 method A.f 2
        10-10 method A.g 4
        """,
    ),
    (
        "c",
        C,
        "stdio.h my.h",
        """
        3-3 macro MAX
        4-4 struct anon_t
        5-5 struct named
        6-6 function dup 4
        7-7 function main 3
        """,
    ),
    (
        "cpp",
        CPP,
        "vector",
        """
        2-9 namespace ns
        3-8 class ns.V
        5-5 method ns.V.~V 1
        6-6 method ns.V.get 2
        7-7 method ns.V.operator[] 1
        10-10 function ns::V::late 3
        11-11 type Alias
        """,
    ),
    (
        "ruby",
        RUBY,
        "json",
        """
        2-12 module M
        3-11 class M.A
        4-4 method M.A.make 2
        5-10 method M.A.go 5
        """,
    ),
    (
        "php",
        PHP,
        r"C\D x.php",
        """
        5-5 interface I
        5-5 method I.m 1
        6-8 class K
        7-7 method K.m 5
        9-9 function f 2
        """,
    ),
    (
        "csharp",
        CSHARP,
        "System System.IO",
        """
        3-9 namespace A.B
        4-7 class A.B.K
        5-5 method A.B.K.K 1
        6-6 method A.B.K.M 6
        8-8 struct A.B.S
        """,
    ),
    (
        "bash",
        BASH,
        "./lib.sh $HOME/x.sh",
        """
        5-5 function foo 4
        6-6 function bar 4
        """,
    ),
]


def written(found: Outline) -> list[str]:
    return [
        f"{d.line}-{d.end_line} {d.kind} {d.full_name}" + (f" {d.complexity}" if d.complexity else "")
        for d in found.definitions
    ]


@each(("language", "text", "imports", "definitions"), CASES, ids=[case[0] for case in CASES])
def test_definitions_and_imports(language: str, text: bytes, imports: str, definitions: str) -> None:
    found = outline(text, language)
    assert written(found) == [line.strip() for line in definitions.strip().splitlines()]
    assert list(found.imports) == imports.split()
    assert not found.has_errors
    assert found.lines == text.count(b"\n")


@pytest.mark.parametrize(
    ("text", "lines", "code"),
    [
        (b"", 0, 0),
        (b"x", 1, 1),
        (b"x\n\n  \n# c\ny  # c\n", 5, 2),
        (b'"""a\nb"""\n', 2, 2),
        (b"\r\nx = 1\r\n", 2, 1),
    ],
)
def test_lines_and_code_lines(text: bytes, lines: int, code: int) -> None:
    found = outline(text, "python")
    assert (found.lines, found.code_lines) == (lines, code)
    assert count_lines(text) == lines


def test_comments_of_many_lines_are_no_code() -> None:
    found = outline(b"/* a\n b */ int x;\n// c\n/* d\n*/\nint y; /* e\n f */\n", "c")
    assert (found.lines, found.code_lines) == (7, 2)


@pytest.mark.parametrize(
    ("language", "text", "lines"),
    [
        ("python", b"def f(a)\n    return 1\n\ndef g():\n    return 2\n", (1,)),
        ("python", b'x = 1\ny = "abc\nz = 3\n', (2,)),
        ("javascript", b"function f() {\n  b(;\n}\n}\nfunction g() {}\n", (2, 4)),
        ("javascript", b"a();\n(\n", (2,)),
        ("c", b"int main() {\n  int x = 1\n  return x;\n}\n", (2,)),
        ("bash", b"if foo; then\n  echo\n", (2,)),
    ],
)
def test_syntax_errors_have_lines(language: str, text: bytes, lines: tuple[int, ...]) -> None:
    assert outline(text, language).error_lines == lines


def test_what_can_be_understood_of_a_broken_file_is_outlined() -> None:
    found = outline(b"def f(:\n  1\n\ndef g():\n    return 2\n", "python")
    assert found.has_errors
    assert "4-5 function g 1" in written(found)


def test_only_the_first_errors_are_listed() -> None:
    found = outline(b"x = = 1\n" * 100, "python")
    assert found.error_lines == tuple(range(1, 11))


def test_names_that_are_not_utf8() -> None:
    found = outline("def 関数():\n    pass\n".encode("euc_jp"), "python")
    assert found.lines == 2
    assert outline("def 関数():\n    pass\n".encode(), "python").definitions[0].name == "関数"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", b"x = " + b"(" * 900 + b")" * 900),
        ("python", b"x = " + b"1+" * 50_000 + b"1"),
        ("python", b"".join(b" " * depth + b"if x:\n" for depth in range(1_000))),
        ("javascript", b"function f(){if(a)" * 900),
        ("bash", b"source \xff\nsource $'\xfe' \xff" * 1_000),
        ("go", bytes(range(1, 256)) * 200),
        ("c", b"*" * 20_000),
        ("csharp", b"a<" * 900),
        ("bash", b"$(" * 900),
    ],
)
def test_odd_text_is_answered(language: str, text: bytes) -> None:
    assert outline(text, language).lines == count_lines(text)


@pytest.mark.parametrize(
    ("kind", "language", "text"),
    [
        ("broken", "python", b"(" * 100_000),
        ("broken", "c", b")" * 100_000 + b"%w(" * 100_000),
        ("broken", "csharp", b"a<" * 100_000),
        ("broken", "bash", b"\0" * 100_000),
        ("broken", "javascript", b"}" * 40_000),
        ("broken", "c", b"int x;\n" + b"*" * 400_000),
        ("broken", "cpp", b"int x;\n" + b"!" * 400_000),
        ("broken", "python", b"~" * 400_000),
        ("broken", "c", b"x=>" * 4_000),
        ("broken", "java", b"x=\n^" * 4_000),
        ("large", "python", b"\n" * (MAX_BYTES + 1)),
    ],
)
def test_text_that_would_take_forever_is_refused(kind: str, language: str, text: bytes) -> None:
    with pytest.raises(NotParsedError) as caught:
        outline(text, language)
    assert caught.value.kind == kind
