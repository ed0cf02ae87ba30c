"""E1xxx: what is wrong with settings, the command line, or the program itself."""

from localllm.base.i18n.errors.form import Entries

SETTINGS: Entries = {
    "config_unreadable": (
        "E1001",
        ("Cannot read {file}.", "{reason}.", "Make the file readable, or move it away."),
        ("{file} を読めません。", "{reason}。", "読めるようにするか、別の場所に移してください。"),
    ),
    "config_bad_toml": (
        "E1002",
        ("{file}:{line}: not valid TOML.", "{reason}.", "Correct that line."),
        ("{file}:{line}: TOML として正しくありません。", "{reason}。", "その行を直してください。"),
    ),
    "config_unknown_key": (
        "E1003",
        ("{where}: unknown setting “{key}”.", "", "{hint}"),
        ("{where}: 設定「{key}」はありません。", "", "{hint}"),
    ),
    "config_wrong_type": (
        "E1004",
        ("{where}: “{key}” is {got}.", "It must be {expected}.", "Correct the value."),
        ("{where}: 「{key}」の値は {got} です。", "{expected} でなければなりません。", "値を直してください。"),
    ),
    "config_secret_in_file": (
        "E1005",
        (
            "{where}: “{key}” holds a secret.",
            "Secrets are never read from settings files.",
            "Remove the value and set the environment variable {variable}.",
        ),
        (
            "{where}: 「{key}」に秘密の値が書かれています。",
            "設定ファイルから秘密の値は読みません。",
            "値を消し、環境変数 {variable} に設定してください。",
        ),
    ),
    "config_unwritable": (
        "E1006",
        ("Cannot write {file}.", "{reason}.", "Nothing was changed; check the folder's permissions and free space."),
        ("{file} に書けません。", "{reason}。", "何も変更していません。フォルダの権限と空き容量を確かめてください。"),
    ),
    "project_folder_unusable": (
        "E1007",
        ("Cannot use {folder}.", "{reason}.", "Long output is kept there: make it a writable folder."),
        ("{folder} を使えません。", "{reason}。", "長い出力の置き場です。書き込めるフォルダにしてください。"),
    ),
    "network_host_invalid": (
        "E1026",
        (
            "safety.network_hosts: “{entry}” is not a host.",
            "",
            'Write "pypi.org", "*.example.org", "host:port", or an address and port such as "127.0.0.1:8080".',
        ),
        (
            "safety.network_hosts: 「{entry}」はホストではありません。",
            "",
            '"pypi.org"、"*.example.org"、"host:port"、または "127.0.0.1:8080" のようなアドレスとポートを書いてください。',
        ),
    ),
    "usage_no_prompt": (
        "E1010",
        ("There is nothing to do.", "The prompt is empty.", 'Write what you want, as in localllm -p "…".'),
        ("することがありません。", "依頼が空です。", 'localllm -p "…" のように依頼を書いてください。'),
    ),
    "input_not_text": (
        "E1013",
        ("Standard input is not text.", "Its bytes are in no encoding known here.", "Pipe text, such as UTF-8."),
        (
            "標準入力がテキストではありません。",
            "文字コードを判別できません。",
            "UTF-8 などのテキストを渡してください。",
        ),
    ),
    "script_invalid": (
        "E1011",
        ("{file}: not a script of turns.", "{reason}.", "See docs/scripted.md for the format."),
        ("{file}: 台本として正しくありません。", "{reason}。", "書式は docs/scripted.md にあります。"),
    ),
    "provider_unknown": (
        "E1012",
        ("There is no provider “{provider}”.", "", "Known providers: {known}."),
        ("プロバイダー「{provider}」はありません。", "", "使えるもの: {known}。"),
    ),
    "internal": (
        "E1090",
        (
            "Something went wrong inside localllm: {reason}.",
            "This is a fault of the program.",
            "The details are in {log}.",
        ),
        ("localllm の内部でエラーが起きました: {reason}。", "プログラムの不具合です。", "詳細は {log} にあります。"),
    ),
    "llm_address_unusable": (
        "E1014",
        (
            "The address of the model server, “{address}”, cannot be used.",
            "{reason}.",
            "Correct llm.{provider}.base_url, as in http://localhost:1234.",
        ),
        (
            "モデルサーバーのアドレス「{address}」は使えません。",
            "{reason}。",
            "llm.{provider}.base_url を http://localhost:1234 のように直してください。",
        ),
    ),
    "llm_key_unusable": (
        "E1015",
        (
            "The key in the environment variable {variable} cannot be used.",
            "It holds characters other than printable ASCII.",
            "Set {variable} again, to the key alone.",
        ),
        (
            "環境変数 {variable} の鍵は使えません。",
            "表示可能な ASCII 以外の文字が含まれています。",
            "{variable} に鍵だけを設定し直してください。",
        ),
    ),
    "rule_malformed": (
        "E1016",
        (
            "{setting}: “{rule}” is not a rule.",
            "A rule is a tool, run_command(the first words of a plain command), or a tool with a path below the project "
            "such as edit_file(docs/); there are no wildcards.",
            "Correct the rule.",
        ),
        (
            "{setting}: 「{rule}」は規則として正しくありません。",
            "規則は、ツール名、run_command(単純なコマンドの先頭の語)、または edit_file(docs/) "
            "のようなツールとプロジェクト内のパスです。ワイルドカードはありません。",
            "規則を直してください。",
        ),
    ),
    "rule_unknown_tool": (
        "E1017",
        ("{setting}: the tool of the rule “{rule}” does not exist.", "", "Did you mean {nearest}?"),
        ("{setting}: 規則「{rule}」のツールはありません。", "", "{nearest} のことですか。"),
    ),
    "rule_example_failed": (
        "E1025",
        (
            "safety.rules: the rule {rule} ({decision}) {happened}: “{example}”.",
            "The examples in `match` and `not_match` are checked at every start.",
            "Correct the rule or the example.",
        ),
        (
            "safety.rules: 規則 {rule}（{decision}）の例「{example}」: {happened}。",
            "`match` と `not_match` の例は起動のたびに確かめられます。",
            "規則か例を直してください。",
        ),
    ),
    "workspace_unusable": (
        "E1018",
        ("{folder} cannot be set up.", "{reason}.", "Choose a folder you may write to, with room on its disk."),
        ("{folder} を準備できません。", "{reason}。", "書き込めて空きのあるフォルダを選んでください。"),
    ),
    "workspace_in_the_way": (
        "E1019",
        (
            "{path} is in the way.",
            "It is neither a file nor a folder of the kind that belongs there.",
            "Move it away, then try again.",
        ),
        (
            "{path} が邪魔をしています。",
            "そこに置くべき種類のファイルやフォルダではありません。",
            "移動してからやり直してください。",
        ),
    ),
    "workspace_unfinished": (
        "E1021",
        (
            "{folder} is only half set up: {reason}.",
            "Renamed, and not lost: {places}.",
            "Remove the cause and run localllm init again, or rename these back.",
        ),
        (
            "{folder} の準備が途中で止まりました: {reason}。",
            "改名済み（失われていません）: {places}。",
            "原因を取り除いて localllm init をもう一度実行するか、名前を元に戻してください。",
        ),
    ),
    "init_needs_yes": (
        "E1020",
        (
            "--clear was not done: nobody is there to be asked.",
            "It would rename {names}.",
            "Add --yes if that is what you want.",
        ),
        (
            "--clear を実行していません。確認する相手がいないためです。",
            "改名されるもの: {names}。",
            "よければ --yes を付けてください。",
        ),
    ),
    "llm_setting_missing": (
        "E1022",
        (
            "The provider {provider} needs {setting}.",
            "It is empty.",
            "Set it, as in {example}: localllm config set {setting} VALUE.",
        ),
        (
            "プロバイダー {provider} には {setting} が必要です。",
            "空になっています。",
            "{example} のように設定してください: localllm config set {setting} VALUE。",
        ),
    ),
    "llm_endpoint_unusable": (
        "E1024",
        (
            "The endpoint “{endpoint}” cannot be used.",
            "{reason}.",
            "Correct {setting}, as in {example}.",
        ),
        (
            "エンドポイント「{endpoint}」は使えません。",
            "{reason}。",
            "{setting} を {example} のように直してください。",
        ),
    ),
    "llm_key_missing": (
        "E1023",
        (
            "The provider {provider} needs a key.",
            "The environment variable {variable} is not set.",
            "Set {variable} (or {other}) to the key.",
        ),
        (
            "プロバイダー {provider} には鍵が必要です。",
            "環境変数 {variable} が設定されていません。",
            "{variable}（または {other}）に鍵を設定してください。",
        ),
    ),
}
