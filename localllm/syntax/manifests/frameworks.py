"""The frameworks that dependencies and imports tell of."""

import re
from collections.abc import Iterable, Iterator

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
"""Which of _OF_LANGUAGES the dependencies of a manifest belong to; of others to the last."""


def languages_of(manifest: str) -> frozenset[str]:
    """The languages whose dependencies the manifest at this path lists."""
    return _OF_LANGUAGES[_place(manifest)][0]


def of_dependencies(manifest: str, names: Iterable[str]) -> list[str]:
    """The frameworks among the dependencies the manifest at this path lists."""
    return _known(_OF_LANGUAGES[_place(manifest)][1], names)


def _place(manifest: str) -> int:
    name = manifest.rsplit("/", 1)[-1]
    return next((place for pattern, place in _OF_MANIFESTS if re.fullmatch(pattern, name)), -1)


def of_imports(language: str, names: Iterable[str]) -> list[str]:
    """The frameworks among the modules that sources in a language import."""
    return next((_known(known, names) for languages, known in _OF_LANGUAGES if language in languages), list[str]())


def _known(known: dict[str, str], names: Iterable[str]) -> list[str]:
    found = (next((known[part] for part in _parts(name.lower()) if part in known), "") for name in names)
    return list(dict.fromkeys(filter(None, found)))


def _parts(name: str) -> Iterator[str]:
    """What a dependency may be known by, the surest first: its name, what Java calls the artifact, the family of Java's
    many starters, and its beginnings (go's versions, Java's groups)."""
    yield name
    artifact = name.rpartition(":")[2]
    yield artifact
    if family := re.match(r"(spring-boot|quarkus|micronaut)-", artifact):
        yield family[1]
    yield from (name[:end] for end in range(len(name) - 1, 0, -1) if name[end] in "/:.")
