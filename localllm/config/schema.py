"""Define every setting: name, type, default and meaning, as one tree of immutable structs.

The docstring of a section describes its settings, a line each. Secrets are not settings: they come from the environment
(see `SECRET_VARIABLES`).
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from localllm.config.rag_settings import RagSettings
from localllm.config.registry import PROVIDERS, SEARCH_ENGINES
from localllm.config.research_settings import MarketSettings, QueueSettings, ResearchSettings, TraceSettings
from localllm.config.section import Count, Positive, Section


class ServerSettings(Section, frozen=True):
    """A model server.

    base_url: its address; host, with /v1, or the full endpoint.
    timeout: seconds to connect, and for short requests such as the list of models.
    idle_timeout: seconds of silence allowed in the middle of an answer; the first token has no deadline.
    api_key: always empty in a file; the key comes from the environment.
    """

    base_url: str = ""
    timeout: Positive = 30.0
    idle_timeout: Positive = 300.0
    api_key: str = ""


class LMStudioSettings(ServerSettings, frozen=True):
    """LM Studio's server."""

    base_url: str = "http://localhost:1234"


class OllamaSettings(ServerSettings, frozen=True):
    """Ollama, spoken to in its own way. The window it is asked for is llm.context_window, or what fits.

    think: whether a thinking model thinks; auto leaves it to the model.
    """

    base_url: str = "http://localhost:11434"
    think: Literal["auto", "off", "on", "low", "medium", "high"] = "auto"


class OpenAISettings(ServerSettings, frozen=True):
    """Any OpenAI-compatible server: llama.cpp, vLLM, LiteLLM, …"""

    base_url: str = "http://localhost:8080"


class AzureSettings(Section, frozen=True):
    """Azure OpenAI.

    endpoint: the address of the resource, https://NAME.openai.azure.com, or any address of a deployment as the portal
    shows it.
    deployment_name: the name under which the model is deployed there; empty takes llm.model.
    api_version: the version of its interface: a date, or v1; empty takes the one in the endpoint, else v1, or
        2024-10-21 for an endpoint with a deployment in it.
    api_key: always empty in a file; the key comes from the environment, or a token from AZURE_OPENAI_AD_TOKEN.
    timeout: seconds to connect, and for short requests.
    idle_timeout: seconds of silence allowed in the middle of an answer; the first token has no deadline.
    """

    endpoint: str = ""
    api_key: str = ""
    deployment_name: str = ""
    api_version: str = ""
    timeout: Positive = 30.0
    idle_timeout: Positive = 300.0


class GeminiSettings(ServerSettings, frozen=True):
    """Google's Gemini API, or a proxy that speaks as it does. The key comes from GEMINI_API_KEY or GOOGLE_API_KEY."""

    base_url: str = "https://generativelanguage.googleapis.com"


class GgufSettings(Section, frozen=True):
    """A model file that is run without a server. Its window is llm.context_window, or up to 16,384 tokens.

    file: the .gguf file, relative to the project.
    threads: how many threads it is run by; 0 takes one for each core.
    gpu_layers: how many of its layers go to the GPU; -1 as many as fit.
    parallel: how many conversations it holds at a time, each with a whole window.
    """

    file: str = ""
    threads: Annotated[int, Meta(ge=0)] = 0
    gpu_layers: Annotated[int, Meta(ge=-1)] = -1
    parallel: Count = 1


class ScriptedSettings(Section, frozen=True):
    """The scripted provider: plays a file of turns instead of asking a model; empty plays the demo.

    file: the script, relative to the project.
    """

    file: str = ""


NamedProvider = Annotated[str, Meta(extra={"registry": PROVIDERS})]
ProviderName = Annotated[str, Meta(extra={"registry": PROVIDERS, "also": ("auto",)})]
EngineName = Annotated[str, Meta(extra={"registry": SEARCH_ENGINES})]
"""Registered names: `values` validates them."""


class LLMSettings(Section, frozen=True):
    """Which model answers, and how.

    provider: where the model is: LM Studio, Ollama, another OpenAI-compatible server, Azure, Gemini; for gguf a file;
    embedded answers from the project without a model, scripted plays a file; auto takes the first server it finds,
    else embedded.
    model: its name on the server; empty takes the first the server offers.
    max_tokens: the longest answer, in tokens, as far as the window has room; 0 leaves it to the server.
    temperature: how freely words are chosen; 0 is the most predictable. Gemini 3 keeps its own while it is the default.
    context_window: tokens the model can read; 0 takes what the server tells, else 8,192 are assumed.
    dialect: how the model calls tools: native is the server's own way, structured is JSON the server holds to a
    schema, text is ReAct; auto takes what the model can do, and another where that fails.
    max_retries: how often a failed request is sent again.
    fallback_providers: who answers while the provider cannot be reached, the first that can; it is sent your words.
    requests_per_minute: how often a server is asked at most; 0 means no limit.
    """

    provider: ProviderName = "auto"
    model: str = ""
    max_tokens: Annotated[int, Meta(ge=0)] = 8192
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.1
    context_window: Annotated[int, Meta(ge=0)] = 0
    dialect: Literal["auto", "native", "structured", "text"] = "auto"
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 3
    fallback_providers: tuple[NamedProvider, ...] = ()
    requests_per_minute: Annotated[int, Meta(ge=0)] = 0
    lmstudio: LMStudioSettings = LMStudioSettings()
    ollama: OllamaSettings = OllamaSettings()
    openai: OpenAISettings = OpenAISettings()
    azure: AzureSettings = AzureSettings()
    gemini: GeminiSettings = GeminiSettings()
    gguf: GgufSettings = GgufSettings()
    scripted: ScriptedSettings = ScriptedSettings()


class AgentSettings(Section, frozen=True):
    """The limits of one run.

    max_iterations: how often the model is asked.
    time_limit: seconds from the request to the end; 0 means no limit.
    token_limit: tokens of all requests and answers together; 0 means no limit.
    max_tool_calls: how many calls of tools; 0 means no limit.
    loop_detection_threshold: how many equal steps are a repetition.
    profile: how much the model is told and offered; compact suits small models and windows, auto chooses.
    compact_at: the share of the window that may be full before the conversation is made shorter.
    """

    max_iterations: Count = 50
    time_limit: Annotated[float, Meta(ge=0)] = 0.0
    token_limit: Annotated[int, Meta(ge=0)] = 0
    max_tool_calls: Annotated[int, Meta(ge=0)] = 0
    loop_detection_threshold: Annotated[int, Meta(ge=2)] = 3
    profile: Literal["auto", "compact", "standard"] = "auto"
    compact_at: Annotated[float, Meta(ge=0.3, le=0.95)] = 0.85


class RoleSettings(Section, frozen=True):
    """A member of the panel. Where nothing is set, the model that does the work is asked.

    provider: where its model is.
    model: its name on the server, for gguf and scripted a file; empty takes the first the server offers.
    base_url: the address of its server; empty takes the one of llm.<provider>. The provider's key goes along where
    the provider is set too, or the address is the one of llm.<provider>.
    """

    provider: Annotated[str, Meta(extra={"registry": PROVIDERS, "also": ("",)})] = ""
    model: str = ""
    base_url: str = ""


class PanelSettings(Section, frozen=True):
    """Who is asked when the agent is stuck, and by /panel and /boss.

    enabled: whether a stuck agent asks.
    max_tokens: the longest opinion, in tokens.
    timeout: seconds a member may take.
    """

    enabled: bool = True
    max_tokens: Annotated[int, Meta(ge=100)] = 800
    timeout: Positive = 180.0
    conservative: RoleSettings = RoleSettings()
    progressive: RoleSettings = RoleSettings()
    judge: RoleSettings = RoleSettings()
    boss: RoleSettings = RoleSettings()


class AgentsSettings(Section, frozen=True):
    """Whom the agent asks."""

    panel: PanelSettings = PanelSettings()


Mode = Literal["plan", "ask", "auto-edit", "auto"]
"""In order from the most to the least careful."""


class SafetyRule(Section, frozen=True, omit_defaults=True):
    """A rule as a table: `match` are examples it must hold for, `not_match` such as it must not; each is checked at
    every start."""

    tool: str
    decision: Literal["allow", "ask", "deny"]
    prefix: str = ""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


class SafetySettings(Section, frozen=True):
    """What is asked about, allowed and refused.

    mode: plan only reads; ask asks before changes and commands; auto-edit before commands; auto before dangerous ones.
    require_confirmation: false is another word for mode = "auto".
    auto_backup: keep the earlier version of every file a tool changes, for /undo.
    dangerous_commands: further commands always asked about, whatever the rules allow. They add to rm -rf (but where
    /undo brings back all it removes), format x:, del /s, sudo and chmod 777, and every settings file to the others.
    allow: rules for what is not asked about: "edit_file", "edit_file(docs/)", "run_command(python -m pytest)", …
    ask: rules of the same form for what is asked about in every mode, also where an allow rule holds.
    deny: rules of the same form for what is refused; deny wins. None of them has wildcards.
    rules: rules as tables, with examples (`match`, `not_match`) that are checked at every start.
    network_hosts: what commands may reach of the network, from a network of their own: "pypi.org" and "*.example.org"
    (ports 443 and 80), "host:8443", or an address and port of yours, "127.0.0.1:8080". Nothing by default.
    command_timeout: seconds a command may run unless the model asks for less or more.
    """

    mode: Mode = "ask"
    require_confirmation: bool = True
    auto_backup: bool = True
    dangerous_commands: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    rules: tuple[SafetyRule, ...] = ()
    network_hosts: tuple[str, ...] = ()
    command_timeout: Positive = 120.0


class SerperSettings(Section, frozen=True):
    """Serper, which gives Google's results for a key (SERPER_API_KEY) and money. Asked only where web.engines names it.

    base_url: its address; https, unless it is on this machine.
    language: that of the results (Google's hl, such as ja); empty takes that of the locale.
    country: the one they are meant for (Google's gl, such as jp); empty takes that of the locale.
    api_key: always empty in a file; the key comes from the environment.
    """

    base_url: str = "https://google.serper.dev"
    language: str = ""
    country: str = ""
    api_key: str = ""


class WebSettings(Section, frozen=True):
    """Searching the web and reading its pages.

    enabled: offer the model tools for that; the words it searches for, and the addresses it reads, leave this machine.
    engines: what searches, in this order: SearxNG, DuckDuckGo through the package ddgs, or Serper.
    searxng_url: the address of a SearxNG; empty looks at ports 8888 and 8080 of this machine.
    searxng_categories: the categories it searches, such as general, it or science; empty leaves that to it.
    max_results: how many results of a search the model is shown.
    timeout: seconds for a search or a page.
    allow_private: `host:port` of this machine or its network whose pages may be read all the same.
    proxy: the address of a proxy for pages, DuckDuckGo and Serper; where it is empty, the package for DuckDuckGo alone
        uses those of the environment.
    cache: where searches are kept, so that none is asked twice: disk (your cache folder), memory, or the address of a
        Redis or Valkey, such as redis://localhost:6379/0.
    cache_ttl: for how many seconds; 0 keeps none.
    cache_password: always empty in a file; the password of that Redis comes from the environment.
    """

    enabled: bool = False
    engines: tuple[EngineName, ...] = ("searxng", "duckduckgo")
    searxng_url: str = ""
    searxng_categories: tuple[str, ...] = ()
    max_results: Count = 8
    timeout: Positive = 20.0
    allow_private: tuple[str, ...] = ()
    proxy: str = ""
    cache: str = "disk"
    cache_ttl: Annotated[float, Meta(ge=0)] = 3600.0
    cache_password: str = ""
    serper: SerperSettings = SerperSettings()


class EnsembleSettings(Section, frozen=True):
    """The ensemble that /ensemble asks in the chat; localllm serve has a command line of its own.

    config: its config.json, relative to the project; empty takes config.json in the project's folder.
    """

    config: str = ""


class ProjectSettings(Section, frozen=True):
    """Which files belong to the project.

    include_patterns: what a listing of the project prefers; empty means everything.
    exclude_patterns: never listed or searched, besides what .gitignore leaves out.
    memory_file: the project's memory (TODOs, decisions, preferences, session records), relative to the project.
    """

    include_patterns: tuple[str, ...] = ()
    exclude_patterns: tuple[str, ...] = ("node_modules", "__pycache__", ".git")
    memory_file: str = "LOCALLLM.md"


class SessionSettings(Section, frozen=True):
    """What is kept of past sessions.

    keep_days: those not worked in for so long are deleted, but for the newest 20; 0 keeps all. A session with a name
        stays.
    keep_count: of more than these the oldest are deleted; 0 keeps all.
    record: at a session's end write what it came to into the project's notes, where there are any.
    """

    keep_days: Annotated[int, Meta(ge=0)] = 90
    keep_count: Annotated[int, Meta(ge=0)] = 200
    record: bool = True


class CommandSettings(Section, frozen=True):
    """Commands of your own.

    aliases: a word and the request it stands for; `review = "…"` runs as /review.
    """

    aliases: dict[str, str] = field(default_factory=dict[str, str])


class UISettings(Section, frozen=True):
    """How it looks.

    language: that of the program's own words; auto takes it from the locale.
    theme: colours for a dark or light terminal; or plain, without any, where nothing changes once it is written.
    """

    language: Literal["auto", "en", "ja"] = "auto"
    theme: Literal["auto", "dark", "light", "plain"] = "auto"


class LoggingSettings(Section, frozen=True):
    """The log: files in the folder log of the work folder (research.work_dir), and debug_log beside it.

    level: how much goes into it.
    rotate_days: for how many days a file is.
    keep_days: those older than so many days are deleted; 0 keeps all.
    debug: also keep a debug log, in which everything is, with the place in the program that says it.
    """

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    rotate_days: Count = 1
    keep_days: Annotated[int, Meta(ge=0)] = 30
    debug: bool = False


class Settings(Section, frozen=True):
    """All settings: the tables below, and before them what stands in none.

    offline: connect only to this machine and to servers in your own network that you, not the project, have named.
    """

    offline: bool = False
    llm: LLMSettings = LLMSettings()
    agent: AgentSettings = AgentSettings()
    agents: AgentsSettings = AgentsSettings()
    safety: SafetySettings = SafetySettings()
    web: WebSettings = WebSettings()
    rag: RagSettings = RagSettings()
    research: ResearchSettings = ResearchSettings()
    market: MarketSettings = MarketSettings()
    trace: TraceSettings = TraceSettings()
    queue: QueueSettings = QueueSettings()
    ensemble: EnsembleSettings = EnsembleSettings()
    project: ProjectSettings = ProjectSettings()
    sessions: SessionSettings = SessionSettings()
    commands: CommandSettings = CommandSettings()
    ui: UISettings = UISettings()
    logging: LoggingSettings = LoggingSettings()

    @property
    def command_hosts(self) -> tuple[str, ...]:
        """The network hosts allowed to commands: none while offline."""
        return () if self.offline else self.safety.network_hosts


SECRET_VARIABLES: dict[str, str] = {
    "llm.lmstudio.api_key": "LMSTUDIO_API_KEY",
    "llm.ollama.api_key": "OLLAMA_API_KEY",
    "llm.openai.api_key": "OPENAI_API_KEY",
    "llm.azure.api_key": "AZURE_OPENAI_API_KEY",
    "llm.gemini.api_key": "GEMINI_API_KEY",
    "rag.qdrant_api_key": "QDRANT_API_KEY",
    "web.serper.api_key": "SERPER_API_KEY",
    "web.cache_password": "REDIS_PASSWORD",
}
"""Setting that must stay empty → the environment variable with the secret."""

KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    "lmstudio": ("LMSTUDIO_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "azure": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Provider → the environment variables whose values are sent to its server as a key."""


HARMLESS: frozenset[str] = frozenset(
    """
    llm.temperature llm.dialect llm.ollama.think agent.profile rag.collection rag.top_k rag.floor rag.dense_weight
    rag.chunk_tokens rag.overlap ui.language ui.theme
    """.split()
)
"""Settings that an untrusted project's file may set to any value.
See `trust.admitted` for those with restricted values."""
