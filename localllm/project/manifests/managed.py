"""Commands of projects in Java, Kotlin, Scala, C#, Ruby, PHP, Elixir, Dart, …"""

from collections.abc import Iterator

from localllm.project.manifests.signs import Command, Signs, at, table


def jvm(signs: Signs) -> Iterator[Command]:
    """Gradle, Maven, sbt; by the wrapper where there is one."""
    if source := signs.has("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"):
        gradle = "./gradlew" if "gradlew" in signs.names or "gradlew" in signs.above else "gradle"
        yield Command("build", f"{gradle} build", source, "java")
        yield Command("test", f"{gradle} test", source, "java")
        if signs.says(source, r"org\.springframework\.boot"):
            yield Command("run", f"{gradle} bootRun", source, "java")
        elif signs.says(source, r"\bapplication\b"):
            yield Command("run", f"{gradle} run", source, "java")
    if "pom.xml" in signs.names:
        maven = "./mvnw" if "mvnw" in signs.names else "mvn"
        yield Command("build", f"{maven} package", "pom.xml", "java")
        yield Command("test", f"{maven} test", "pom.xml", "java")
        if signs.says("pom.xml", r"spring-boot-maven-plugin"):
            yield Command("run", f"{maven} spring-boot:run", "pom.xml", "java")
    if "build.sbt" in signs.names:
        yield Command("build", "sbt compile", "build.sbt", "scala")
        yield Command("test", "sbt test", "build.sbt", "scala")


def dotnet(signs: Signs) -> Iterator[Command]:
    """.NET's command line."""
    endings = (".sln", ".slnx", ".csproj", ".fsproj", ".vbproj")
    if source := next((name for ending in endings for name in sorted(signs.names) if name.endswith(ending)), ""):
        yield Command("build", "dotnet build", source, "csharp")
        yield Command("test", "dotnet test", source, "csharp")
        if not source.endswith((".sln", ".slnx")):
            yield Command("run", "dotnet run", source, "csharp")


def ruby(signs: Signs) -> Iterator[Command]:
    """Rails, RSpec, Rake; through Bundler where there is a Gemfile."""
    source = signs.has("Gemfile", "Rakefile") or next((n for n in sorted(signs.names) if n.endswith(".gemspec")), "")
    if not source:
        return
    bundled = "bundle exec " if "Gemfile" in signs.names else ""
    rails = "bin/rails" if "bin/rails" in signs.names else f"{bundled}rails"
    uses_rails = signs.says("Gemfile", r"^\s*gem\s+['\"]rails['\"]")
    if found := signs.has(".rspec", "spec/"):
        yield Command("test", f"{bundled}rspec", found, "ruby")
    if uses_rails and "test/" in signs.names:
        yield Command("test", f"{rails} test", "Gemfile", "ruby")
    elif "Rakefile" in signs.names and (
        signs.says("Rakefile", r"TestTask|RSpec::Core|Minitest::TestTask|^\s*task\s*\(?:(?:test|default)\b|:test\b")
    ):
        yield Command("test", f"{bundled}rake test" if "test/" in signs.names else f"{bundled}rake", "Rakefile", "ruby")
    if uses_rails:
        yield Command("run", f"{rails} server", "Gemfile", "ruby")
    if signs.has(".rubocop.yml"):
        yield Command("lint", f"{bundled}rubocop", ".rubocop.yml", "ruby")


def php(signs: Signs) -> Iterator[Command]:
    """Composer's scripts, Laravel, Pest, PHPUnit."""
    manifest = signs.json("composer.json")
    needs = {**table(manifest, "require"), **table(manifest, "require-dev")}
    if "test" in table(manifest, "scripts"):
        yield Command("test", "composer test", "composer.json", "php")
    if "artisan" in signs.names:
        yield Command("test", "php artisan test", "artisan", "php")
        yield Command("run", "php artisan serve", "artisan", "php")
    if "pestphp/pest" in needs:
        yield Command("test", "vendor/bin/pest", "composer.json", "php")
    if found := signs.has("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"):
        yield Command("test", "vendor/bin/phpunit", found, "php")
    elif "phpunit/phpunit" in needs:
        yield Command("test", "vendor/bin/phpunit", "composer.json", "php")
    if found := signs.has("phpstan.neon", "phpstan.neon.dist"):
        yield Command("lint", "vendor/bin/phpstan analyse", found, "php")
    if "laravel/pint" in needs:
        yield Command("lint", "vendor/bin/pint --test", "composer.json", "php")


def elixir(signs: Signs) -> Iterator[Command]:
    """Mix."""
    if "mix.exs" in signs.names:
        yield Command("build", "mix compile", "mix.exs", "elixir")
        yield Command("test", "mix test", "mix.exs", "elixir")
        if signs.says("mix.exs", r"\{:phoenix,"):
            yield Command("run", "mix phx.server", "mix.exs", "elixir")
        if signs.says("mix.exs", r"\{:credo,"):
            yield Command("lint", "mix credo", "mix.exs", "elixir")


def dart(signs: Signs) -> Iterator[Command]:
    """Dart and Flutter."""
    if "pubspec.yaml" in signs.names:
        flutter = signs.says("pubspec.yaml", r"^\s+sdk:\s*flutter\b|^flutter:")
        tool = "flutter" if flutter else "dart"
        if "test/" in signs.names:
            yield Command("test", f"{tool} test", "pubspec.yaml", "dart")
        if flutter:
            yield Command("run", "flutter run", "pubspec.yaml", "dart")
        yield Command("lint", f"{tool} analyze", "pubspec.yaml", "dart")


def scientific(signs: Signs) -> Iterator[Command]:
    """Julia, R, Perl."""
    if "Project.toml" in signs.names and at(signs.toml("Project.toml"), "uuid") and "test/" in signs.names:
        yield Command("test", "julia --project -e 'using Pkg; Pkg.test()'", "Project.toml", "julia")
    if "DESCRIPTION" in signs.names and signs.says("DESCRIPTION", r"^Package:"):
        yield Command("build", "R CMD build .", "DESCRIPTION", "r")
        if "tests/" in signs.names:
            yield Command("test", "Rscript -e 'devtools::test()'", "DESCRIPTION", "r")
    if (found := signs.has("cpanfile", "Makefile.PL", "Build.PL", "dist.ini")) and "t/" in signs.names:
        yield Command("test", "prove -lr t", found, "perl")
