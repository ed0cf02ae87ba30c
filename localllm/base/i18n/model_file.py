"""What is said of a model file that is run without a server: key → (English, Japanese)."""

MODEL_FILE: dict[str, tuple[str, str]] = {
    "gguf.near": ("Model files there are: {files}.", "見つかったモデルファイル: {files}。"),
    "gguf.none_near": ("No model file was found nearby.", "近くにモデルファイルは見つかりません。"),
    "gguf.loading": (
        "Loading {file} ({size}); the first answer waits for that.",
        "{file}（{size}）を読み込んでいます。最初の回答はその後になります。",
    ),
    # --- why the child process died: `reason` of an error
    "gguf.killed": (
        "The system ended it, most likely because memory ran out",
        "システムが終了させました（おそらくメモリ不足です）",
    ),
    "gguf.ended": ("It ended with status {status} and said nothing", "何も出力せずに終了しました（状態 {status}）"),
    # --- and the fix: `advice`
    "gguf.fix_memory": (
        "Set llm.context_window smaller, or take a smaller file of the model (Q4_K_M instead of Q8_0).",
        "llm.context_window を小さくするか、より小さいファイル（Q8_0 の代わりに Q4_K_M など）を使ってください。",
    ),
    "gguf.fix_architecture": (
        "The llama.cpp that is installed does not know this kind of model: pip install --upgrade xllamacpp.",
        "インストールされた llama.cpp はこの種類のモデルに対応していません: pip install --upgrade xllamacpp。",
    ),
    "gguf.fix_file": (
        "The file is not whole: copy or download it again; of a model in several parts name the first.",
        "ファイルが完全ではありません。コピーかダウンロードをやり直し、分割ファイルは最初のものを指定してください。",
    ),
    "gguf.fix_other": (
        "If it stays like this, try another file, or pip install --upgrade xllamacpp.",
        "続くようなら、別のファイルか pip install --upgrade xllamacpp を試してください。",
    ),
}
