"""Small projects of many kinds, as people publish them, for whoever looks at what a project is."""

import json
from pathlib import Path

Tree = dict[str, str]

PYTHON_PACKAGE: Tree = {
    "pyproject.toml": (
        '[build-system]\nrequires = ["hatchling"]\n\n[project]\nname = "apples"\n'
        'dependencies = ["click>=8", "rich"]\n\n'
        '[project.scripts]\napples = "apples.cli:main"\n\n[dependency-groups]\ndev = ["pytest>=8", "ruff"]\n\n'
        "[tool.ruff]\nline-length = 100\n\n[tool.mypy]\nstrict = true\n"
    ),
    "uv.lock": "version = 1\n",
    "src/apples/__init__.py": '"""Counting apples."""\n',
    "src/apples/cli.py": (
        'import click\n\n\n@click.command()\ndef main() -> None:\n    """Count.\n\n    Returns:\n'
        '        None\n    """\n'
        '    click.echo("3 apples")\n'
    ),
    "tests/test_cli.py": "from apples.cli import main\n\n\ndef test_main() -> None:\n    assert main\n",
}
DJANGO: Tree = {
    "manage.py": (
        '#!/usr/bin/env python\nimport os\n\nif __name__ == "__main__":\n'
        "    from django.core.management import execute_from_command_line\n\n"
        '    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n    execute_from_command_line()\n'
    ),
    "requirements.txt": "# needed\nDjango==5.1\ndjangorestframework>=3\npsycopg[binary]\n-r more.txt\n",
    "shop/__init__.py": "",
    "shop/settings.py": "INSTALLED_APPS = ['orders']\nDEBUG = True\n",
    "orders/__init__.py": "",
    "orders/models.py": (
        "from django.db import models\n\n\nclass Order(models.Model):\n    total = models.IntegerField()\n"
    ),
    "orders/tests.py": "from django.test import TestCase\n\n\nclass OrderTest(TestCase):\n    pass\n",
    "orders/migrations/0001_initial.py": "from django.db import migrations\n",
    "templates/base.html": "<html></html>\n",
}
FASTAPI: Tree = {
    "requirements.txt": "fastapi\nuvicorn[standard]\nsqlalchemy>=2\n",
    "requirements-dev.txt": "pytest\nhttpx\n",
    "app/__init__.py": "",
    "app/main.py": (
        "from fastapi import FastAPI\n\napp = FastAPI(title='Apples')\n\n\n@app.get('/')\n"
        "def read_root():\n    return {}\n"
    ),
    "tests/test_main.py": "from fastapi.testclient import TestClient\n\n\ndef test_root():\n    assert TestClient\n",
    ".github/workflows/ci.yml": "jobs:\n  test:\n    steps:\n      - run: pytest -x\n",
}
NPM: Tree = {
    "package.json": json.dumps(
        {
            "name": "left-apple",
            "main": "lib/index.js",
            "bin": {"apple": "bin/apple.js"},
            "scripts": {"test": "mocha", "lint": "eslint ."},
            "dependencies": {"express": "^4"},
            "devDependencies": {"mocha": "^10"},
        }
    ),
    "package-lock.json": "{}",
    "lib/index.js": (
        "'use strict'\n\nconst express = require('express')\n\nfunction makeApple (size) {\n"
        "  return { size }\n}\n\nmodule.exports = makeApple\n"
    ),
    "bin/apple.js": "#!/usr/bin/env node\nrequire('../lib/index.js')\n",
    "test/index.test.js": "const makeApple = require('..')\n",
    "node_modules/express/index.js": "module.exports = 1;\n" * 500,
}
NEXT: Tree = {
    "package.json": json.dumps(
        {
            "name": "site",
            "packageManager": "pnpm@9.1.0",
            "scripts": {"dev": "next dev", "build": "next build", "test": "vitest", "typecheck": "tsc"},
            "dependencies": {"next": "15", "react": "19", "react-dom": "19"},
            "devDependencies": {"typescript": "5", "vitest": "2", "tailwindcss": "4"},
        }
    ),
    "app/page.tsx": (
        'import { useState } from "react";\n\nexport default function HomePage() {\n'
        "  const [count] = useState(0);\n  return <p>{count}</p>;\n}\n"
    ),
    "lib/apples.ts": "export const countApples = (sizes: number[]): number => {\n  return sizes.length;\n};\n",
}
RUST: Tree = {
    "Cargo.toml": (
        '[package]\nname = "apples"\nedition = "2021"\n\n[dependencies]\naxum = "0.7"\ntokio = { version = "1" }\n'
        'serde = "1"\n\n[dev-dependencies]\nproptest = "1"\n'
    ),
    "src/main.rs": "use axum::Router;\n\n#[tokio::main]\nasync fn main() {\n    let _app: Router = Router::new();\n}\n",
    "src/basket.rs": "pub fn count_apples(sizes: &[u32]) -> usize {\n    sizes.len()\n}\n",
    "tests/basket.rs": "#[test]\nfn counts() {}\n",
    "target/debug/build.rs": "fn main() {}\n" * 300,
    ".gitignore": "/target\n",
}
GO: Tree = {
    "go.mod": (
        "module example.org/apples\n\ngo 1.22\n\nrequire (\n\tgithub.com/gin-gonic/gin v1.10.0\n"
        "\tgolang.org/x/text v0.3.0 // indirect\n)\n"
    ),
    "cmd/apples/main.go": 'package main\n\nimport "github.com/gin-gonic/gin"\n\nfunc main() {\n\tgin.Default()\n}\n',
    "internal/basket/basket.go": "package basket\n\nfunc CountApples(sizes []int) int {\n\treturn len(sizes)\n}\n",
    "internal/basket/basket_test.go": "package basket\n",
    ".golangci.yml": "linters: {}\n",
}
SPRING: Tree = {
    "build.gradle.kts": (
        'plugins {\n    java\n    id("org.springframework.boot") version "3.3.0"\n}\n\ndependencies {\n'
        '    implementation("org.springframework.boot:spring-boot-starter-web")\n'
        '    testImplementation("org.junit.jupiter:junit-jupiter:5.10.0")\n}\n'
    ),
    "settings.gradle.kts": 'rootProject.name = "apples"\n',
    "gradlew": "#!/bin/sh\n",
    "src/main/java/org/example/App.java": (
        "package org.example;\n\nimport org.springframework.boot.SpringApplication;\n\npublic class App {\n"
        "    public static void main(String[] args) {\n        SpringApplication.run(App.class);\n    }\n}\n"
    ),
    "src/test/java/org/example/AppTest.java": "package org.example;\n\nclass AppTest {}\n",
}
MAVEN: Tree = {
    "pom.xml": (
        "<project>\n  <!-- <dependency><artifactId>quarkus-core</artifactId></dependency> -->\n  <dependencies>\n"
        "    <dependency>\n      <groupId>org.hibernate</groupId>\n      <artifactId>hibernate-core</artifactId>\n"
        "    </dependency>\n  </dependencies>\n</project>\n"
    ),
    "src/main/java/App.java": "class App {}\n",
}
RAILS: Tree = {
    "Gemfile": (
        "source 'https://rubygems.org'\n\ngem 'rails', '~> 7.1'\ngem \"pg\"\ngroup :test do\n  gem 'capybara'\nend\n"
    ),
    "Gemfile.lock": "GEM\n",
    "Rakefile": "require_relative 'config/application'\n",
    "bin/rails": "#!/usr/bin/env ruby\n",
    "app/models/order.rb": "class Order < ApplicationRecord\n  def total_price\n    1\n  end\nend\n",
    "config/routes.rb": "Rails.application.routes.draw do\nend\n",
    "test/models/order_test.rb": "require 'test_helper'\n",
    ".rubocop.yml": "AllCops: {}\n",
}
LARAVEL: Tree = {
    "composer.json": json.dumps(
        {
            "name": "acme/shop",
            "require": {"php": "^8.2", "laravel/framework": "^11"},
            "require-dev": {"phpunit/phpunit": "^11"},
        }
    ),
    "artisan": "#!/usr/bin/env php\n",
    "phpunit.xml": "<phpunit/>\n",
    "app/Models/Order.php": (
        "<?php\n\nnamespace App\\Models;\n\nclass Order\n{\n    public function totalPrice()\n    {\n"
        "        return 1;\n    }\n}\n"
    ),
    "resources/views/home.blade.php": "<p></p>\n",
}
PHOENIX: Tree = {
    "mix.exs": (
        'defmodule Apples.MixProject do\n  defp deps do\n    [{:phoenix, "~> 1.7"}, {:ecto, ">= 3.0.0"}]\n  end\nend\n'
    ),
    "lib/apples.ex": "defmodule Apples do\nend\n",
    "test/apples_test.exs": "defmodule ApplesTest do\nend\n",
}
CMAKE: Tree = {
    "CMakeLists.txt": (
        "project(apples C)\nfind_package(Boost REQUIRED)\nenable_testing()\nadd_test(NAME basket COMMAND basket)\n"
    ),
    "src/basket.c": '#include "basket.h"\n\nint count_apples(int n)\n{\n\treturn n;\n}\n',
    "include/basket.h": "int count_apples(int n);\n",
    "tests/basket.c": "int main(void)\n{\n\treturn 0;\n}\n",
}
MAKE: Tree = {
    "Makefile": (
        "CC := gcc\n.PHONY: test\nall: apples\n\napples: apples.c\n\t$(CC) -o apples apples.c\n\n"
        "check test: all\n\t./run-tests\n"
    ),
    "apples.cpp": "class Apple {};\n",
    "apples.h": "class Apple;\n",
}
SCRIPTS: Tree = {
    "backup.sh": "#!/bin/sh\ntar cf backup.tar .\n",
    "count.py": "import sys\n\nprint(len(sys.argv))\n",
    "notes.txt": "remember\n",
}
MONOREPO: Tree = {
    "package.json": json.dumps({"name": "root", "private": True, "workspaces": ["packages/*"]}),
    "yarn.lock": "",
    "packages/web/package.json": json.dumps(
        {"name": "@acme/web", "scripts": {"test": "jest"}, "dependencies": {"react": "19"}}
    ),
    "packages/web/src/index.tsx": "export const Web = () => null;\n" * 30,
    "packages/api/package.json": json.dumps({"name": "@acme/api", "dependencies": {"@nestjs/core": "10"}}),
    "packages/api/src/index.ts": "export const api = 1;\n",
    "services/worker/pyproject.toml": (
        '[project]\nname = "worker"\ndependencies = ["celery"]\n\n[tool.pytest.ini_options]\n'
    ),
    "services/worker/worker/__init__.py": "",
    "examples/demo/package.json": json.dumps({"name": "demo"}),
}
TWO_PARTS: Tree = {
    "README.md": "# Shop\n",
    "backend/pyproject.toml": '[project]\nname = "backend"\ndependencies = ["flask"]\n\n[tool.pytest.ini_options]\n',
    "backend/shop.py": "from flask import Flask\n\napp = Flask(__name__)\n" * 20,
    "frontend/package.json": json.dumps(
        {"name": "frontend", "scripts": {"test": "vitest"}, "dependencies": {"vue": "3"}}
    ),
    "frontend/src/App.vue": "<template></template>\n",
}


def plant(folder: Path, tree: Tree) -> Path:
    """Write a tree into a folder, which is given back."""
    for name, text in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
