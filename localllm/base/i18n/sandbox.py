"""What `localllm sandbox` and the doctor say of the sandbox: key → (English, Japanese)."""

SANDBOX: dict[str, tuple[str, str]] = {
    # --- localllm sandbox --probe
    "sandbox.head": (
        "Commands in {project}: level {level} (kernel {kernel})",
        "{project} のコマンド: レベル {level}（カーネル {kernel}）",
    ),
    "sandbox.head_none": (
        "Commands in {project}: nothing holds them (kernel {kernel}: {reason})",
        "{project} のコマンド: 閉じ込めるものがありません（カーネル {kernel}: {reason}）",
    ),
    "sandbox.network.off": ("Network: off", "ネットワーク: 使えません"),
    "sandbox.network.hosts": ("Network: only {hosts}", "ネットワーク: {hosts} だけ"),
    "sandbox.network.not_possible": (
        "Network: off. safety.network_hosts has no effect: the level {level} cannot tell hosts apart",
        "ネットワーク: 使えません。レベル {level} はホストを区別できないため safety.network_hosts は効きません",
    ),
    "sandbox.network.all": ("Network: all of it", "ネットワーク: 制限なし"),
    "sandbox.tried_forbidden": ("Tried, and must not be possible:", "試したこと（できてはいけないもの）:"),
    "sandbox.tried_needed": ("Tried, and must work:", "試したこと（できなければならないもの）:"),
    "sandbox.stopped": ("blocked", "阻止"),
    "sandbox.not_stopped": ("NOT STOPPED", "阻止できず"),
    "sandbox.works": ("works", "動作"),
    "sandbox.does_not_work": ("does not work", "動作せず"),
    "sandbox.better": ("Better levels, and why they do not hold here:", "より強いレベルと、ここで使えない理由:"),
    "sandbox.fixes": ("To fix it:", "対処:"),
    "sandbox.trial.write": (
        "change, delete or rename a file outside the project",
        "プロジェクトの外のファイルの変更・削除・改名",
    ),
    "sandbox.trial.attributes": (
        "change permissions and times of a file outside",
        "外のファイルの権限や時刻の変更",
    ),
    "sandbox.trial.read": ("read a secret of the user's", "利用者の秘密の読み取り"),
    "sandbox.trial.variables": (
        "read the environment of another process",
        "他のプロセスの環境変数の読み取り",
    ),
    "sandbox.trial.command_lines": (
        "read the command line of another process",
        "他のプロセスのコマンドラインの読み取り",
    ),
    "sandbox.trial.signals": ("kill another process", "他のプロセスの強制終了"),
    "sandbox.trial.tcp": ("connect by TCP", "TCP での接続"),
    "sandbox.trial.udp": ("send by UDP", "UDP での送信"),
    "sandbox.trial.unix": (
        "connect to a Unix socket (as of Docker, an agent, a database)",
        "Unix ソケットへの接続（Docker、エージェント、データベースなど）",
    ),
    "sandbox.trial.hooks": ("leave a git hook", "git フックの設置"),
    "sandbox.trial.survivors": ("leave a process running", "プロセスの居残り"),
    "sandbox.trial.files": (
        "write in the project and to temporary files",
        "プロジェクト内と一時ファイルへの書き込み",
    ),
    "sandbox.trial.servers": (
        "a server of the command's own, reached by itself",
        "コマンド自身のサーバーとそこへの接続",
    ),
    # --- localllm sandbox -- COMMAND
    "sandbox.ended.timed_out": (
        "Killed: not done after {seconds:g} s.",
        "{seconds:g} 秒で終わらないため強制終了しました。",
    ),
    # --- what would give a better level
    "sandbox.fix.apparmor": (
        "AppArmor keeps users from making namespaces (kernel.apparmor_restrict_unprivileged_userns = 1). Install bubblewrap, which it lets: sudo apt install bubblewrap. Or allow all programs: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0.",
        "AppArmor が利用者の名前空間を禁じています（kernel.apparmor_restrict_unprivileged_userns = 1）。許可されている bubblewrap を入れるか（sudo apt install bubblewrap）、全プログラムに許可してください（sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0）。",
    ),
    "sandbox.fix.userns_clone": (
        "Users may not make namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1.",
        "利用者が名前空間を作れません: sudo sysctl -w kernel.unprivileged_userns_clone=1。",
    ),
    "sandbox.fix.max_userns": (
        "No user namespaces are allowed here: sudo sysctl -w user.max_user_namespaces=15000.",
        "ここでは名前空間を作れません: sudo sysctl -w user.max_user_namespaces=15000。",
    ),
    "sandbox.fix.container": (
        "This is a container: it has to be started with leave to make namespaces (docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined), or the container itself is what holds the commands.",
        "コンテナの中です。名前空間を許して起動するか（docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined）、コンテナ自体に守りを任せてください。",
    ),
    "sandbox.fix.bubblewrap": (
        "Install bubblewrap: sudo apt install bubblewrap, sudo dnf install bubblewrap.",
        "bubblewrap を入れてください: sudo apt install bubblewrap、sudo dnf install bubblewrap。",
    ),
    # --- the journal
    "doctor.journal": (
        "The journal is unbroken ({lines} {lines:?entry/entries}).",
        "記録は改変されていません（{lines} 件）。",
    ),
    "doctor.journal_broken": (
        "The journal was changed by something else: line {broken} of {file} does not follow from the one before.",
        "記録が別の何かに変更されています: {file} の {broken} 行目が前の行とつながりません。",
    ),
    "doctor.journal_broken_fix": (
        "Look at that line, and keep the file elsewhere if you need it: what it says can no longer be relied on.",
        "その行を確かめ、必要ならファイルを別の場所に保管してください。内容はもう信頼できません。",
    ),
}
