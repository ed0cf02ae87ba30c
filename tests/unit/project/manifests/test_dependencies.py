"""What manifests say a project depends on."""

import pytest

from localllm.project.manifests.dependencies import dependencies, main_dependencies, of_dependencies, of_imports


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("pyproject.toml", "[project]\ndependencies = ['A_b[x]>=1 ; y', 'c @ https://x']", ("a-b", "c")),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\npython = '3'\nd = '1'\n[tool.poetry.group.dev.dependencies]\ne = '1'",
            ("d", "e"),
        ),
        ("requirements.txt", "# no\n-e .\nFlask==2\n\ngit+https://x\nb  # yes\n", ("flask", "b")),
        ("setup.py", "setup(install_requires=['a>=1',\n 'b'], extras_require={'x': ['c']})", ("a", "b", "x", "c")),
        ("package.json", '{"devDependencies": {"b": "1"}, "dependencies": {"a": "1"}}', ("a", "b")),
        ("Cargo.toml", "[dependencies]\na = '1'\nb = { version = '1' }\n[dev-dependencies]\nc = '1'", ("a", "b", "c")),
        (
            "go.mod",
            "require a.b/c v1.2.3\nrequire (\n\td.e/f/v2 v2.0.0\n\tg.h/i v0.1.0 // indirect\n)",
            ("a.b/c", "d.e/f/v2"),
        ),
        (
            "pom.xml",
            "<parent><artifactId>p</artifactId></parent><dependency><groupId>g</groupId>\n"
            "<artifactId> a </artifactId></dependency>",
            ("p", "a"),
        ),
        (
            "build.gradle",
            "plugins {\n id 'java'\n}\n  implementation 'g:a:1.0'\n  api(\"h:b\")",
            ("g:a", "h:b", "java"),
        ),
        ("Gemfile", "gem 'a', '1'\n  gem \"b\"\n# gem 'c'", ("a", "b")),
        ("composer.json", '{"require": {"php": "8", "x/y": "1"}}', ("x/y",)),
        ("mix.exs", '{:a, "~> 1"}, {:b, git: "x"}', ("a", "b")),
        (
            "pubspec.yaml",
            "dependencies:\n  a: ^1\n  b:\n    sdk: flutter\n\ndev_dependencies:\n  c: any\nflutter:\n  d: x\n",
            ("a", "b", "c"),
        ),
        ("x.csproj", '<Project Sdk="S.W"><PackageReference Include="A.B" Version="1" />', ("S.W", "A.B")),
        ("Package.swift", '.package(url: "https://github.com/vapor/vapor.git", from: "4")', ("vapor",)),
        ("CMakeLists.txt", "find_package(Qt6 REQUIRED)\n# find_package(No)", ("Qt6",)),
        ("README.md", "a", ()),
    ],
)
def test_dependencies(name: str, text: str, names: tuple[str, ...]) -> None:
    assert dependencies(f"some/where/{name}", text) == names


def test_those_nobody_can_do_without() -> None:
    text = "[project]\ndependencies = ['a']\n[project.optional-dependencies]\nx = ['b']"
    assert main_dependencies("pyproject.toml", text) == ("a",)
    assert main_dependencies("requirements.txt", "a\nb") == ("a", "b")


@pytest.mark.parametrize(
    ("manifest", "name", "framework"),
    [
        ("go.mod", "github.com/labstack/echo/v4", ["Echo"]),
        ("pom.xml", "spring-boot-starter-web", ["Spring Boot"]),
        ("build.gradle", "org.springframework.boot:spring-boot-starter", ["Spring Boot"]),
        ("build.gradle", "org.springframework:spring-context", ["Spring"]),
        ("package.json", "react-dom", []),
        ("package.json", "rails", []),
        ("app.csproj", "Microsoft.NET.Sdk.Web", ["ASP.NET Core"]),
    ],
)
def test_frameworks(manifest: str, name: str, framework: list[str]) -> None:
    assert of_dependencies(manifest, [name]) == framework


def test_frameworks_by_imports() -> None:
    assert of_imports("Python", ["django", "os", "django"]) == ["Django"]
    assert of_imports("Cobol", ["django"]) == []
