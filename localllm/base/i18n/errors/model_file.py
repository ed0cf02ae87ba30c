"""What goes wrong with a model file that is run without a server (provider gguf): E103x its setting, E205x running it."""

from localllm.base.i18n.errors.form import Entries

MODEL_FILE: Entries = {
    "gguf_not_set": (
        "E1030",
        (
            "No model file is set.",
            "The provider gguf runs a file. {near}",
            "Name one: --model FILE.gguf, or llm.gguf.file in the settings. Nothing is downloaded by itself: model hubs on "
            "the web have such files (search for a model's name and “GGUF”).",
        ),
        (
            "モデルファイルが設定されていません。",
            "プロバイダー gguf はファイルを実行します。{near}",
            "--model FILE.gguf か設定の llm.gguf.file で指定してください。自動では何もダウンロードしません。ファイルはウェブの"
            "モデル配布サイトにあります（モデル名と「GGUF」で検索）。",
        ),
    ),
    "gguf_missing": (
        "E1031",
        (
            "There is no model file {file}.",
            "{near}",
            "Name another with --model or llm.gguf.file. Nothing is downloaded by itself: model hubs on the web have such "
            "files (search for a model's name and “GGUF”).",
        ),
        (
            "モデルファイル {file} がありません。",
            "{near}",
            "--model か llm.gguf.file で別のファイルを指定してください。自動では何もダウンロードしません。ファイルはウェブの"
            "モデル配布サイトにあります（モデル名と「GGUF」で検索）。",
        ),
    ),
    "gguf_not_gguf": (
        "E1032",
        (
            "{file} is no GGUF model file.",
            "Looking into it: {reason}.",
            "Name another with --model or llm.gguf.file; one that was downloaded may have to be downloaded again.",
        ),
        (
            "{file} は GGUF のモデルファイルではありません。",
            "中身を見た結果: {reason}。",
            "--model か llm.gguf.file で別のファイルを指定するか、ダウンロードし直してください。",
        ),
    ),
    "gguf_unreadable": (
        "E1033",
        ("Cannot read the model file {file}.", "{reason}.", "Make it readable, or name another with --model."),
        (
            "モデルファイル {file} を読めません。",
            "{reason}。",
            "読めるようにするか、--model で別のファイルを指定してください。",
        ),
    ),
    "gguf_not_installed": (
        "E2050",
        (
            "A model file cannot be run yet.",
            "The package xllamacpp, which has llama.cpp in it, is not installed.",
            "pip install xllamacpp, or start a server for the file: llama-server -m FILE --jinja.",
        ),
        (
            "モデルファイルを実行する準備ができていません。",
            "llama.cpp を含むパッケージ xllamacpp がインストールされていません。",
            "pip install xllamacpp を実行するか、llama-server -m FILE --jinja でサーバーを起動してください。",
        ),
    ),
    "gguf_no_avx2": (
        "E2051",
        (
            "This processor cannot run the llama.cpp that is installed.",
            "The package xllamacpp is made for processors with AVX2, and this one lacks it.",
            "Build llama.cpp on this machine, start llama-server -m FILE --jinja, and it is found by itself.",
        ),
        (
            "このプロセッサーでは、インストールされた llama.cpp を実行できません。",
            "パッケージ xllamacpp は AVX2 を必要としますが、このプロセッサーにはありません。",
            "このマシンで llama.cpp をビルドし、llama-server -m FILE --jinja を起動すれば自動で見つかります。",
        ),
    ),
    "gguf_unloadable": (
        "E2052",
        ("The model file {file} cannot be loaded.", "{reason}.", "{advice}"),
        ("モデルファイル {file} を読み込めません。", "{reason}。", "{advice}"),
    ),
    "gguf_died": (
        "E2053",
        ("The process that ran {file} has died.", "{reason}.", "Ask again, and it starts anew. {advice}"),
        (
            "{file} を実行していたプロセスが終了しました。",
            "{reason}。",
            "もう一度依頼すれば起動し直します。{advice}",
        ),
    ),
    "gguf_nowhere": (
        "E2054",
        (
            "There is no model file {model} here, and no server that can be reached has a model of that name.",
            "{near} The servers have: {available}.",
            "Choose one of these with --model, or set llm.gguf.file. Nothing is downloaded by itself: model hubs on the web "
            "have such files (search for a model's name and “GGUF”).",
        ),
        (
            "モデルファイル {model} はここになく、その名前のモデルがあるサーバーにも接続できません。",
            "{near}サーバーにあるもの: {available}。",
            "--model でこの中から選ぶか、llm.gguf.file を設定してください。自動では何もダウンロードしません。ファイルは"
            "ウェブのモデル配布サイトにあります（モデル名と「GGUF」で検索）。",
        ),
    ),
}
