"""Errors of asking others for advice."""

from localllm.base.i18n.errors.form import Entries

PANEL: Entries = {
    "panel_no_model": (
        "E2070",
        (
            "There is no model to ask.",
            "No model server was found, and none is set for this role.",
            "Start a model server (LM Studio, Ollama, llama.cpp, …), or set one under [agents.panel] in localllm.toml.",
        ),
        (
            "尋ねられるモデルがありません。",
            "モデルサーバーが見つからず、この役割にも設定されていません。",
            "モデルサーバー（LM Studio、Ollama、llama.cpp など）を起動するか、localllm.toml の [agents.panel] に設定してください。",
        ),
    ),
    "panel_no_provider": (
        "E2071",
        (
            "No server is fit for this work: {task}.",
            "Asked: {names}. Each is down, or its model lacks what the work takes.",
            "See /models for what each server offers, or set another under [agents.panel] in localllm.toml.",
        ),
        (
            "この作業に適したサーバーがありません: {task}",
            "確認先: {names}。停止しているか、モデルに必要な能力がありません。",
            "/models で各サーバーのモデルを確かめるか、localllm.toml の [agents.panel] に別のものを設定してください。",
        ),
    ),
}
