"""E9xxx: what is refused to protect the user's files, secrets or machine."""

from localllm.base.i18n.errors.form import Entries

SAFETY: Entries = {
    "path_outside": (
        "E9001",
        ("{path} is outside the project {root}.", "", "Only files of the project can be used."),
        ("{path} はプロジェクト {root} の外です。", "", "使えるのはプロジェクト内のファイルだけです。"),
    ),
    "path_invalid": (
        "E9002",
        ("{path} is not a usable path: {reason}.", "", "Give a path inside the project."),
        ("{path} は使えないパスです: {reason}。", "", "プロジェクト内のパスを指定してください。"),
    ),
    "path_not_regular": (
        "E9003",
        ("{path} is not a regular file.", "", "Devices, pipes and sockets are not opened."),
        ("{path} は通常のファイルではありません。", "", "デバイス、パイプ、ソケットは開きません。"),
    ),
    "path_protected": (
        "E9004",
        (
            "{path} is protected: a change there would run or be believed later, outside the sandbox.",
            "",
            "Ask the user to change it.",
        ),
        (
            "{path} は保護されています。変更すると後でサンドボックスの外で実行・参照されるためです。",
            "",
            "利用者に変更を頼んでください。",
        ),
    ),
    "denied_by_rule": (
        "E9010",
        ("{name} is denied by the rule {rule}.", "", "Do it another way, or say what you would need."),
        ("{name} は規則 {rule} により禁止されています。", "", "別の方法をとるか、必要なことを伝えてください。"),
    ),
    "denied_by_user": (
        "E9011",
        ("The user refused {name}.", "", "{feedback}"),
        ("利用者が {name} を許可しませんでした。", "", "{feedback}"),
    ),
    "denied_unattended": (
        "E9012",
        (
            "{name} needs a confirmation and nobody is there to give it.",
            "",
            "Tell the user what you would have done, and that --yes, --mode or an allow rule permits it.",
        ),
        (
            "{name} には確認が必要ですが、確認する人がいません。",
            "",
            "何をするつもりだったかと、--yes、--mode、許可規則のいずれかで実行できることを利用者に伝えてください。",
        ),
    ),
    "denied_address": (
        "E9017",
        (
            "{name} was not run: the user has neither typed nor allowed this address, and nobody is there to be asked.",
            "No search of this conversation has found it letter by letter either; --yes does not permit it.",
            "Search for the page, or tell the user its address: he can write it in the request, or allow the host with "
            "fetch_page({site}) in safety.allow.",
        ),
        (
            "{name} を実行していません。このアドレスは利用者が入力も許可もしておらず、確認する人がいません。",
            "この会話の検索結果にも同じアドレスはありません。--yes では許可されません。",
            "ページを検索するか、アドレスを利用者に伝えてください。依頼文に書くか、safety.allow に "
            "fetch_page({site}) を加えれば取得できます。",
        ),
    ),
    "denied_plan_mode": (
        "E9015",
        (
            "{name} was not run: this is plan mode, in which nothing is changed.",
            "",
            "Look at what you need, then answer with a plan: what to change, where, and how to check it. "
            "The user leaves plan mode when he agrees.",
        ),
        (
            "{name} を実行していません。計画モードでは何も変更しません。",
            "",
            "必要なものを調べ、何をどこで変更しどう確かめるかの計画を回答してください。同意すれば利用者が計画モードを終えます。",
        ),
    ),
    "mode_needs_sandbox": (
        "E9016",
        (
            "The mode auto is not possible here: nothing on this machine holds the commands.",
            "{reason}.",
            "Choose ask or auto-edit (--mode, safety.mode), or accept it with --i-accept-no-sandbox.",
        ),
        (
            "ここでは auto モードを使えません。このマシンにはコマンドを閉じ込めるものがありません。",
            "{reason}。",
            "ask か auto-edit を選ぶか（--mode、safety.mode）、--i-accept-no-sandbox で承知してください。",
        ),
    ),
    "command_root_too_wide": (
        "E9020",
        (
            "The command was not run: the project {root} holds the user's home folder.",
            "The sandbox could not keep the rest of the home out of reach.",
            "Start localllm in the folder of a project.",
        ),
        (
            "プロジェクト {root} が利用者のホームフォルダを含むため、コマンドを実行していません。",
            "サンドボックスでホームの他のファイルを守れません。",
            "プロジェクトのフォルダで localllm を起動してください。",
        ),
    ),
    "command_state_exposed": (
        "E9022",
        (
            "The command was not run: {folder}, where localllm keeps sessions and your answers, lies in the project.",
            "The sandbox of this machine (landlock) cannot keep a folder in the project out of reach.",
            "Set LOCALLLM_STATE_DIR to a folder outside the project.",
        ),
        (
            "セッションや回答の保存先 {folder} がプロジェクト内にあるため、コマンドを実行していません。",
            "この環境のサンドボックス（landlock）では、プロジェクト内のフォルダを隠せません。",
            "LOCALLLM_STATE_DIR にプロジェクト外のフォルダを指定してください。",
        ),
    ),
    "command_not_reverted": (
        "E9021",
        (
            "The command changed protected files and this could not be undone ({path}: {reason}).",
            "",
            "Look at them before anything outside the sandbox uses them.",
        ),
        (
            "コマンドが保護されたファイルを変更し、元に戻せませんでした（{path}: {reason}）。",
            "",
            "サンドボックスの外で使われる前に確かめてください。",
        ),
    ),
    "network_not_allowed": (
        "E9030",
        (
            "{host} is not among the hosts that commands may reach.",
            "",
            "Do without it, or ask the user to add it to safety.network_hosts.",
        ),
        (
            "{host} はコマンドが接続してよいホストに入っていません。",
            "",
            "使わずに進めるか、safety.network_hosts に加えるよう利用者に頼んでください。",
        ),
    ),
    "network_not_public": (
        "E9031",
        (
            "{host} stands for {address}, which is not a public address.",
            "",
            "Only the user can allow it, by adding that address and port to safety.network_hosts.",
        ),
        (
            "{host} が指す {address} は公開されたアドレスではありません。",
            "",
            "そのアドレスとポートを利用者が safety.network_hosts に加えた場合だけ接続できます。",
        ),
    ),
    "denied_dangerous": (
        "E9014",
        (
            "{name} was not run: “{rule}” is dangerous, and only a person at the keyboard may allow it.",
            "",
            "Do it another way, or tell the user what you would have done.",
        ),
        (
            "{name} を実行していません。「{rule}」は危険なため、その場にいる人だけが許可できます。",
            "",
            "別の方法をとるか、何をするつもりだったかを利用者に伝えてください。",
        ),
    ),
    "interrupted_by_user": (
        "E9013",
        ("Interrupted by the user before it finished.", "", ""),
        ("利用者が途中で中断しました。", "", ""),
    ),
}
