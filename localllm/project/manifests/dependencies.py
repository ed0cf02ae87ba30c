"""Dependencies and frameworks, from manifests and imports."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from localllm.base.events import Json
from localllm.project.manifests.signs import parse_json, parse_toml, table, texts_in

_PYTHON = {
    "django": "Django", "djangorestframework": "Django REST framework", "fastapi": "FastAPI", "flask": "Flask",
    "starlette": "Starlette", "sanic": "Sanic", "aiohttp": "aiohttp", "tornado": "Tornado", "pyramid": "Pyramid",
    "litestar": "Litestar", "bottle": "Bottle", "falcon": "Falcon", "celery": "Celery", "scrapy": "Scrapy",
    "sqlalchemy": "SQLAlchemy", "streamlit": "Streamlit", "gradio": "Gradio", "dash": "Dash", "torch": "PyTorch",
    "tensorflow": "TensorFlow", "jax": "JAX", "scikit-learn": "scikit-learn", "sklearn": "scikit-learn",
    "transformers": "Transformers", "click": "Click",
    "typer": "Typer", "textual": "Textual", "pyqt6": "Qt", "pyside6": "Qt", "langchain": "LangChain",
}  # fmt: skip
_JAVASCRIPT = {
    "react": "React", "next": "Next.js", "vue": "Vue", "nuxt": "Nuxt", "svelte": "Svelte", "@sveltejs/kit": "SvelteKit",
    "@angular/core": "Angular", "express": "Express", "@nestjs/core": "NestJS", "fastify": "Fastify", "koa": "Koa",
    "hono": "Hono", "@remix-run/react": "Remix", "astro": "Astro", "gatsby": "Gatsby", "solid-js": "Solid",
    "preact": "Preact", "electron": "Electron", "react-native": "React Native", "expo": "Expo", "vite": "Vite",
    "tailwindcss": "Tailwind CSS", "prisma": "Prisma", "three": "three.js", "jquery": "jQuery",
    "@tauri-apps/api": "Tauri", "@hapi/hapi": "hapi",
}  # fmt: skip
_RUST = {
    "axum": "Axum", "actix-web": "Actix Web", "rocket": "Rocket", "warp": "warp", "tokio": "Tokio", "tauri": "Tauri",
    "bevy": "Bevy", "leptos": "Leptos", "yew": "Yew", "dioxus": "Dioxus", "diesel": "Diesel", "sqlx": "SQLx",
    "clap": "clap", "tonic": "tonic", "ratatui": "Ratatui",
}  # fmt: skip
_GO = {
    "github.com/gin-gonic/gin": "Gin", "github.com/labstack/echo": "Echo", "github.com/gofiber/fiber": "Fiber",
    "github.com/go-chi/chi": "chi", "github.com/gorilla/mux": "Gorilla", "github.com/spf13/cobra": "Cobra",
    "github.com/beego/beego": "Beego", "google.golang.org/grpc": "gRPC", "gorm.io/gorm": "GORM",
    "github.com/charmbracelet/bubbletea": "Bubble Tea", "k8s.io/client-go": "Kubernetes client",
}  # fmt: skip
_JVM = {
    "spring-boot": "Spring Boot", "spring-boot-starter": "Spring Boot", "org.springframework.boot": "Spring Boot",
    "spring-core": "Spring", "spring-context": "Spring", "org.springframework": "Spring", "quarkus": "Quarkus",
    "io.quarkus": "Quarkus", "micronaut": "Micronaut", "io.micronaut": "Micronaut", "io.ktor": "Ktor",
    "com.android.application": "Android", "com.android.library": "Android", "hibernate-core": "Hibernate",
    "junit-jupiter": "JUnit", "jakarta.jakartaee-api": "Jakarta EE", "vertx-core": "Vert.x", "io.vertx": "Vert.x",
}  # fmt: skip
_OTHERS = {
    "rails": "Rails", "sinatra": "Sinatra", "hanami": "Hanami", "jekyll": "Jekyll", "rspec": "RSpec",
    "sidekiq": "Sidekiq",
    "laravel/framework": "Laravel", "symfony/framework-bundle": "Symfony", "slim/slim": "Slim",
    "cakephp/cakephp": "CakePHP", "codeigniter4/framework": "CodeIgniter", "yiisoft/yii2": "Yii",
    "phoenix": "Phoenix", "phoenix_live_view": "Phoenix LiveView", "ecto": "Ecto",
    "flutter": "Flutter", "microsoft.net.sdk.web": "ASP.NET Core", "microsoft.aspnetcore.app": "ASP.NET Core",
    "microsoft.entityframeworkcore": "Entity Framework Core", "vapor": "Vapor",
    "qt5": "Qt", "qt6": "Qt", "boost": "Boost", "opencv": "OpenCV", "cuda": "CUDA", "gtest": "GoogleTest",
}  # fmt: skip

_OF_LANGUAGES: tuple[tuple[frozenset[str], dict[str, str]], ...] = (
    (frozenset({"Python", "Jupyter Notebook"}), _PYTHON),
    (frozenset({"JavaScript", "TypeScript", "Vue", "Svelte", "Astro"}), _JAVASCRIPT),
    (frozenset({"Rust"}), _RUST),
    (frozenset({"Go"}), _GO),
    (frozenset({"Java", "Kotlin", "Scala", "Groovy"}), _JVM),
    (frozenset({"Ruby", "PHP", "Elixir", "Dart", "C#", "F#", "Swift", "C", "C++"}), _OTHERS),
)
_OF_MANIFESTS: tuple[tuple[str, int], ...] = (
    (r"pyproject\.toml|setup\.(?:py|cfg)|tox\.ini|Pipfile|requirements.*|environment\.ya?ml", 0),
    (r"package\.json|deno\.jsonc?", 1),
    (r"Cargo\.toml", 2),
    (r"go\.mod", 3),
    (r"pom\.xml|build\.gradle(?:\.kts)?|build\.sbt", 4),
)
"""Index into _OF_LANGUAGES by manifest; others use the last entry."""


def languages_of(manifest: str) -> frozenset[str]:
    """Return the languages of the dependencies in the manifest at this path."""
    return _OF_LANGUAGES[_place(manifest)][0]


def of_dependencies(manifest: str, names: Iterable[str]) -> list[str]:
    """Return the frameworks among the dependencies of the manifest at this path."""
    return _known(_OF_LANGUAGES[_place(manifest)][1], names)


def _place(manifest: str) -> int:
    name = manifest.rsplit("/", 1)[-1]
    return next((place for pattern, place in _OF_MANIFESTS if re.fullmatch(pattern, name)), -1)


def of_imports(language: str, names: Iterable[str]) -> list[str]:
    """Return the frameworks among the imports of sources in a language."""
    return next((_known(known, names) for languages, known in _OF_LANGUAGES if language in languages), list[str]())


def _known(known: dict[str, str], names: Iterable[str]) -> list[str]:
    found = (next((known[part] for part in _parts(name.lower()) if part in known), "") for name in names)
    return list(dict.fromkeys(filter(None, found)))


def _parts(name: str) -> Iterator[str]:
    """Yield the names a dependency may be known by, most specific first: its name, Java's artifact, the family of
    Java's starters, and its prefixes (Go's versions, Java's groups)."""
    yield name
    artifact = name.rpartition(":")[2]
    yield artifact
    if family := re.match(r"(spring-boot|quarkus|micronaut)-", artifact):
        yield family[1]
    yield from (name[:end] for end in range(len(name) - 1, 0, -1) if name[end] in "/:.")


_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*+)(?:\s*+\[[^\]]*\])?(?:[<>=!~;@(,#\s]|$)")
_INI_LIST = re.compile(r"^(?:install_requires|tests_require|deps|requires)\s*=(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_IN_SETUP = re.compile(r"(?:install_requires|tests_require|extras_require)\s{0,99}=\s{0,99}[\[{]([^\]}]{0,5000})[\]}]")
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")
_MOST = 300


def dependencies(name: str, text: str) -> tuple[str, ...]:
    """Return the dependencies in a manifest, development ones last, without duplicates; at most 300."""
    base = name.rsplit("/", 1)[-1]
    found = next((read(base, text) for pattern, read in _READERS if re.fullmatch(pattern, base)), ())
    return tuple(dict.fromkeys(item for item in found if item))[:_MOST]


def main_dependencies(name: str, text: str) -> tuple[str, ...]:
    """Return the required ones of `dependencies`, as far as the manifest distinguishes them."""
    if name.rsplit("/", 1)[-1] != "pyproject.toml":
        return dependencies(name, text)
    data = parse_toml(text)
    needed = [*_requirements(texts_in(data, "project", "dependencies")), *table(data, "tool", "poetry", "dependencies")]
    return tuple(dict.fromkeys(map(_normal, needed)))


def python_dependencies(name: str, text: str) -> Iterator[str]:
    """Yield dependencies in lower case, with `-` between words."""
    return map(_normal, _python(name, text))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _python(name: str, text: str) -> Iterator[str]:
    match name:
        case "pyproject.toml":
            yield from _pyproject(parse_toml(text))
        case "Pipfile":
            data = parse_toml(text)
            yield from chain(table(data, "packages"), table(data, "dev-packages"))
        case "setup.py":
            yield from _requirements(item for block in _IN_SETUP.findall(text) for item in _QUOTED.findall(block))
        case "setup.cfg" | "tox.ini":
            yield from _requirements(line for block in _INI_LIST.findall(text) for line in block.split("\n"))
        case _ if name.endswith((".txt", ".in")):
            yield from _requirements(line for line in text.split("\n") if not line.lstrip().startswith(("-", "#")))
        case _ if name.endswith((".yml", ".yaml")):
            found = _requirements(re.findall(r"^[ \t]+-[ \t]+([\w.-]+(?:\s*[<>=].*)?)$", text, re.MULTILINE))
            yield from (name for name in found if name not in ("python", "pip"))
        case _:
            return


def _pyproject(data: Json) -> Iterator[str]:
    project = table(data, "project")
    poetry = table(data, "tool", "poetry")
    groups = [table(group, "dependencies") for group in table(poetry, "group").values()]
    yield from _requirements(texts_in(project, "dependencies"))
    yield from (name for name in table(poetry, "dependencies") if name != "python")
    yield from _requirements(chain.from_iterable(texts_in(x) for x in table(project, "optional-dependencies").values()))
    yield from _requirements(chain.from_iterable(texts_in(x) for x in table(data, "dependency-groups").values()))
    yield from _requirements(texts_in(data, "tool", "uv", "dev-dependencies"))
    yield from _requirements(
        chain.from_iterable(texts_in(x) for x in table(data, "tool", "pdm", "dev-dependencies").values())
    )
    yield from chain(table(poetry, "dev-dependencies"), *groups)


def _requirements(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if match := _REQUIREMENT.match(line):
            yield match[1]


def _package_json(_: str, text: str) -> Iterator[str]:
    data = parse_json(text)
    for key in ("dependencies", "peerDependencies", "devDependencies"):
        yield from table(data, key)


def _deno(_: str, text: str) -> Iterator[str]:
    yield from table(parse_json(text), "imports")


def _cargo(_: str, text: str) -> Iterator[str]:
    data = parse_toml(text)
    yield from table(data, "dependencies")
    yield from table(data, "workspace", "dependencies")
    yield from table(data, "dev-dependencies")


def _go(_: str, text: str) -> Iterator[str]:
    for line in text.split("\n"):
        words = line.removeprefix("require ").split()
        if len(words) >= 2 and "/" in words[0] and words[1].startswith("v") and "indirect" not in words:
            yield words[0]


def _maven(_: str, text: str) -> Iterator[str]:
    visible = "".join(part.rpartition("-->")[2] for part in text.split("<!--"))
    for block in re.split(r"<(?:dependency|parent)>", visible)[1:]:
        if found := re.search(r"<artifactId>\s{0,99}([\w.-]+)", re.split(r"</(?:dependency|parent)>", block)[0]):
            yield found[1]


def _gradle(_: str, text: str) -> Iterator[str]:
    yield from re.findall(
        r"^[ \t]*(?:\w{0,99}[iI]mplementation|api|compileOnly|runtimeOnly|\w{0,99}kapt)\b"
        r"[^'\"\n]{0,200}['\"]([\w.-]{1,200}(?::[\w.-]{1,200})?)(?::[^'\"\n]{0,200})?['\"]",
        text,
        re.MULTILINE,
    )
    yield from re.findall(r"\bid\s{0,9}\(?\s{0,9}['\"]([\w.-]+)['\"]", text)
    yield from (f"kotlin-{name}" for name in re.findall(r"\bkotlin\(\"([\w.-]+)\"\)", text))


def _gemfile(_: str, text: str) -> Iterator[str]:
    yield from re.findall(
        r"^[ \t]*(?:gem|\w+\.add_(?:runtime_|development_)?dependency)\s*+(?:\(\s*+)?['\"]([\w.-]+)['\"]",
        text,
        re.MULTILINE,
    )


def _composer(_: str, text: str) -> Iterator[str]:
    data = parse_json(text)
    for key in ("require", "require-dev"):
        yield from (name for name in table(data, key) if "/" in name)


def _mix(_: str, text: str) -> Iterator[str]:
    yield from re.findall(r"\{\s*:(\w+)\s*,\s*(?:[\"'~>]|git:|github:|path:|only:|\w+:)", text)


def _pubspec(_: str, text: str) -> Iterator[str]:
    for block in re.findall(r"^(?:dev_)?dependencies:[ \t]*\n((?:[ \t]+.*\n?|\n)*)", text, re.MULTILINE):
        yield from re.findall(r"^  (\w+):", block, re.MULTILINE)


def _dotnet(_: str, text: str) -> Iterator[str]:
    yield from re.findall(r"<Project\s+Sdk=\"([\w.-]+)\"", text)
    yield from re.findall(r"<PackageReference\s+Include=\"([\w.-]+)\"", text)


def _swift(_: str, text: str) -> Iterator[str]:
    yield from re.findall(r"\.package\([^)]{0,500}?url:\s{0,99}\"[^\"\n]{0,500}/([\w.-]+?)(?:\.git)?\"", text)


def _cmake(_: str, text: str) -> Iterator[str]:
    yield from re.findall(r"^[ \t]*find_package\s*\(\s*(\w+)", text, re.MULTILINE | re.IGNORECASE)


_READERS: tuple[tuple[str, Callable[[str, str], Iterable[str]]], ...] = (
    (
        r"pyproject\.toml|Pipfile|setup\.py|setup\.cfg|requirements[\w.-]*\.(?:txt|in)|environment\.ya?ml",
        python_dependencies,
    ),
    (r"package\.json", _package_json),
    (r"deno\.jsonc?", _deno),
    (r"Cargo\.toml", _cargo),
    (r"go\.mod", _go),
    (r"pom\.xml", _maven),
    (r"build\.gradle(?:\.kts)?|build\.sbt", _gradle),
    (r"Gemfile|[\w.-]+\.gemspec", _gemfile),
    (r"composer\.json", _composer),
    (r"mix\.exs", _mix),
    (r"pubspec\.yaml", _pubspec),
    (r"[\w.-]+\.(?:cs|fs|vb)proj", _dotnet),
    (r"Package\.swift", _swift),
    (r"CMakeLists\.txt", _cmake),
)
