"""Texts written into LOCALLLM.md, in the language of that file.

The file keeps its language whatever the user interface's is, and these texts are parsed again: they are its format. Key
→ (English, Japanese); `{count} {count:?file/files}` is “1 file” and “2 files”.
"""

from typing import Literal

from localllm.base.i18n import fill

Language = Literal["en", "ja"]

_TEXTS: dict[str, tuple[str, str]] = {
    "title": ("Project Memory", "プロジェクトメモリ"),
    "dna": ("Project DNA", "プロジェクトDNA"),
    "folders": ("Directory structure", "ディレクトリ構造"),
    "style": ("Coding style", "コーディングスタイル"),
    "todo": ("TODO", "TODO"),
    "decisions": ("Decisions", "決定事項"),
    "preferences": ("Preferences", "好みと方針"),
    "sessions": ("Session records", "セッション記録"),
    "todo_hint": ("<!-- - [ ] what is left to do -->", "<!-- - [ ] 残っている作業 -->"),
    "memory.decided": ("decided", "決定"),
    "memory.changed": ("changed", "変更"),
    "memory.taken_back": ("taken back", "取り消し済み"),
    "memory.failed": ("failed", "失敗"),
    "memory.broken_off": ("broken off", "中断"),
    "memory.done": ("done", "結果"),
    "memory.no_goal": ("(no goal)", "（目的なし）"),
    "memory.month": ("{month}: {count} {count:?session/sessions}", "{month}: {count} セッション"),
    "session.tests_passed": ("`{command}` passed", "`{command}` は成功"),
    "session.last_request": ("the last request", "最後の依頼"),
    "analysis.languages": ("- Language: {languages}", "- 言語: {languages}"),
    "analysis.language": ("{name} (files: {files}, lines: {lines})", "{name}（{files} ファイル、{lines} 行）"),
    "analysis.about_lines": ("about {count}", "約 {count}"),
    "analysis.frameworks": ("- Frameworks: {names}", "- フレームワーク: {names}"),
    "analysis.libraries": ("- Main libraries: {names}", "- 主要ライブラリ: {names}"),
    "analysis.and_more": ("{names} (and {count} more)", "{names}（ほか {count} 件）"),
    "analysis.manifests": ("- Built from: {names}", "- 構成ファイル: {names}"),
    "analysis.test": ("- Tests: {command}", "- テスト: {command}"),
    "analysis.build": ("- Build: {command}", "- ビルド: {command}"),
    "analysis.run": ("- Run: {command}", "- 実行: {command}"),
    "analysis.lint": ("- Checks: {command}", "- 検査: {command}"),
    "analysis.command": ("`{command}` ({source})", "`{command}`（{source}）"),
    "analysis.entry_points": ("- Entry points: {names}", "- エントリーポイント: {names}"),
    "analysis.package": ("- Package {path}/: {name}", "- パッケージ {path}/: {name}"),
    "analysis.package_tested": (
        "- Package {path}/: {name}, tests: `{command}`",
        "- パッケージ {path}/: {name}、テスト: `{command}`",
    ),
    "analysis.more_packages": ("- (and {count} more {count:?package/packages})", "- （ほか {count} パッケージ）"),
    "analysis.hint": (
        "- What it is: <!-- one line: what this is for, and for whom -->",
        "- 概要: <!-- 何のための、誰のためのものかを一行で -->",
    ),
    "analysis.architecture_hint": (
        "- Architecture: <!-- what its parts are, and how they work together -->",
        "- アーキテクチャ: <!-- どんな部分からなり、どう組み合わさるか -->",
    ),
    "analysis.folder": ("- {path}/ - {what}", "- {path}/ - {what}"),
    "analysis.folder_files": ("files: {count}", "{count} ファイル"),
    "analysis.folders_hint": ("<!-- - folder/ - what is in it -->", "<!-- - フォルダ/ - 中身 -->"),
    "analysis.role.tests": ("tests", "テスト"),
    "analysis.role.docs": ("documentation", "ドキュメント"),
    "analysis.role.source": ("source code", "ソースコード"),
    "analysis.role.scripts": ("scripts and tools", "スクリプトとツール"),
    "analysis.role.ci": ("automated checks", "自動チェック（CI）"),
    "analysis.role.examples": ("examples", "サンプル"),
    "analysis.role.migrations": ("database migrations", "データベースのマイグレーション"),
    "analysis.role.static": ("static files", "静的ファイル"),
    "analysis.role.benchmarks": ("benchmarks", "ベンチマーク"),
    "analysis.role.config": ("configuration", "設定"),
    "analysis.role.data": ("data", "データ"),
    "analysis.role.packages": ("packages", "パッケージ群"),
    "analysis.role.deploy": ("deployment", "デプロイ"),
    "analysis.role.foreign": ("code from elsewhere", "外部のコード"),
    "analysis.role.types": ("headers and types", "ヘッダーと型定義"),
    "analysis.role.locales": ("translations", "翻訳"),
    "analysis.style": ("- {language}: {habits}", "- {language}: {habits}"),
    "analysis.indent_spaces": ("indented with {count} {count:?space/spaces}", "インデントはスペース {count} 個"),
    "analysis.indent_tabs": ("indented with tabs", "インデントはタブ"),
    "analysis.quotes_double": ("double quotes", "ダブルクォート"),
    "analysis.quotes_single": ("single quotes", "シングルクォート"),
    "analysis.semicolons": ("semicolons", "セミコロンあり"),
    "analysis.no_semicolons": ("no semicolons", "セミコロンなし"),
    "analysis.lengths": ("lines up to {count} characters", "一行 {count} 文字まで"),
    "analysis.names": ("functions in {form}", "関数名は {form}"),
    "analysis.hints_all": ("type hints everywhere", "型ヒントは全関数"),
    "analysis.hints_share": ("type hints on {share}% of functions", "型ヒントは関数の {share}%"),
    "analysis.hints_none": ("no type hints", "型ヒントなし"),
    "analysis.docs_share": (
        "docstrings on {share}% of functions ({form})",
        "docstring は関数の {share}%（{form}）",
    ),
    "analysis.docs_none": ("no docstrings", "docstring なし"),
    "analysis.docs.google": ("Google style", "Google スタイル"),
    "analysis.docs.numpy": ("NumPy style", "NumPy スタイル"),
    "analysis.docs.rest": ("reStructuredText fields", "reStructuredText 形式"),
    "analysis.docs.plain": ("plain text", "文章のみ"),
    "analysis.jsdoc": ("JSDoc comments", "JSDoc コメント"),
    "analysis.style_hint": (
        "<!-- What a reviewer would say: naming, comments, tests, what not to touch. -->",
        "<!-- レビューで言うこと: 命名、コメント、テスト、触れてはいけないもの。 -->",
    ),
    "analysis.over.files": (
        "Only the first {count} {count:?file was/files were} looked at; there are more.",
        "最初の {count} ファイルだけを調べました（ほかにもあります）。",
    ),
    "analysis.over.seconds": (
        "Time ran out after {count} {count:?file/files}; there are more.",
        "時間切れのため {count} ファイルまでしか調べていません。",
    ),
    "analysis.over.unread": (
        "Source files there was no time to read: {count}; their lines are estimated.",
        "時間切れのため {count} 個のソースファイルは読まず、行数は推定です。",
    ),
    "analysis.over.unreadable": (
        "Source files that could not be read: {count}, such as {name}.",
        "{name} など {count} 個のソースファイルを読めませんでした。",
    ),
    "analysis.over.unused": (
        "Build files that could not be read, or are too large: {count}, such as {name}.",
        "{name} など {count} 個の構成ファイルは読めないか、大きすぎます。",
    ),
    "analysis.over.broken": (
        "Build files with errors in them: {count}, such as {name}.",
        "{name} など {count} 個の構成ファイルに誤りがあります。",
    ),
    "analysis.over.packages": (
        "Packages that were not looked at: {count}, such as {name}.",
        "{name} など、ほかに {count} 個のパッケージは調べていません。",
    ),
}


def in_language(key: str, language: Language, /, **params: object) -> str:
    """Return a text in the language of a file, formatted with `params` if there are any."""
    text = _TEXTS[key][language == "ja"]
    return fill(text, params) if params else text
