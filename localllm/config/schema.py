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

    base_url: its address: the host alone, with /v1, or the full endpoint.
    timeout: seconds to connect, and for short requests such as the list of models.
    idle_timeout: seconds of silence allowed within an answer; the first token has no deadline.
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
    """Ollama, through its own API. The window requested is llm.context_window, or what fits.

    think: whether a thinking model thinks; auto leaves it to the model.
    """

    base_url: str = "http://localhost:11434"
    think: Literal["auto", "off", "on", "low", "medium", "high"] = "auto"


class OpenAISettings(ServerSettings, frozen=True):
    """Any OpenAI-compatible server: llama.cpp, vLLM, LiteLLM, …"""

    base_url: str = "http://localhost:8080"


class AzureSettings(Section, frozen=True):
    """Azure OpenAI.

    endpoint: the address of the resource, https://NAME.openai.azure.com, or of a deployment as the portal shows it.
    deployment_name: the name of the model's deployment; empty uses llm.model.
    api_version: the version of the API: a date, or v1; empty uses the one in the endpoint, else v1, or 2024-10-21 for
        an endpoint that contains a deployment.
    api_key: always empty in a file; the key comes from the environment, or a token from AZURE_OPENAI_AD_TOKEN.
    timeout: seconds to connect, and for short requests.
    idle_timeout: seconds of silence allowed within an answer; the first token has no deadline.
    """

    endpoint: str = ""
    api_key: str = ""
    deployment_name: str = ""
    api_version: str = ""
    timeout: Positive = 30.0
    idle_timeout: Positive = 300.0


class GeminiSettings(ServerSettings, frozen=True):
    """Google's Gemini API, or a proxy that is compatible with it. The key comes from GEMINI_API_KEY or
    GOOGLE_API_KEY."""

    base_url: str = "https://generativelanguage.googleapis.com"


class GgufSettings(Section, frozen=True):
    """A model file that runs without a server. Its window is llm.context_window, or up to 16,384 tokens.

    file: the .gguf file, relative to the project.
    threads: number of threads; 0 uses one for each core.
    gpu_layers: number of layers on the GPU; -1 uses as many as fit.
    parallel: number of conversations it can hold at a time, each with a whole window.
    """

    file: str = ""
    threads: Annotated[int, Meta(ge=0)] = 0
    gpu_layers: Annotated[int, Meta(ge=-1)] = -1
    parallel: Count = 1


class ScriptedSettings(Section, frozen=True):
    """The scripted provider: plays a file of turns instead of asking a model.

    file: the script, relative to the project; empty plays the demo.
    """

    file: str = ""


NamedProvider = Annotated[str, Meta(extra={"registry": PROVIDERS})]
ProviderName = Annotated[str, Meta(extra={"registry": PROVIDERS, "also": ("auto",)})]
EngineName = Annotated[str, Meta(extra={"registry": SEARCH_ENGINES})]
"""Registered names: `values` validates them."""


class LLMSettings(Section, frozen=True):
    """Which model answers, and how.

    provider: where the model is: LM Studio, Ollama, another OpenAI-compatible server, Azure or Gemini; gguf runs a
        file, embedded answers from the project without a model, scripted plays a file; auto uses the first server
        found, else embedded.
    model: its name on the server; empty uses the first that the server offers.
    max_tokens: the longest answer in tokens, as far as the window has room; 0 leaves it to the server.
    temperature: sampling temperature; 0 is the most predictable. If it is left at its default, Gemini 3 uses its own.
    context_window: context window in tokens; 0 uses what the server reports, else 8,192.
    dialect: how the model calls tools: native is the server's own way, structured is JSON that the server constrains to
        a schema, text is ReAct; auto uses what the model supports, and another if that fails.
    max_retries: how often a failed request is repeated.
    fallback_providers: providers for when llm.provider cannot be reached: the first reachable one is used, and is sent
        your requests.
    requests_per_minute: maximum number of requests to a server per minute; 0 means no limit.
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

    max_iterations: maximum number of model calls.
    time_limit: seconds from the request to the end; 0 means no limit.
    token_limit: tokens of all requests and answers together; 0 means no limit.
    max_tool_calls: maximum number of tool calls; 0 means no limit.
    loop_detection_threshold: how many identical steps count as a repetition.
    profile: how many instructions and tools the model gets; compact suits small models and windows, auto chooses.
    compact_at: the share of the window that may be full before the conversation is compacted.
    """

    max_iterations: Count = 50
    time_limit: Annotated[float, Meta(ge=0)] = 0.0
    token_limit: Annotated[int, Meta(ge=0)] = 0
    max_tool_calls: Annotated[int, Meta(ge=0)] = 0
    loop_detection_threshold: Annotated[int, Meta(ge=2)] = 3
    profile: Literal["auto", "compact", "standard"] = "auto"
    compact_at: Annotated[float, Meta(ge=0.3, le=0.95)] = 0.85


class RoleSettings(Section, frozen=True):
    """A member of the panel. If nothing is set, the model that does the work is asked.

    provider: where its model is.
    model: its name on the server, for gguf and scripted a file; empty uses the first that the server offers.
    base_url: the address of its server; empty uses that of llm.<provider>. The provider's key is sent there only if the
        provider is set as well, or the address is that of llm.<provider>.
    """

    provider: Annotated[str, Meta(extra={"registry": PROVIDERS, "also": ("",)})] = ""
    model: str = ""
    base_url: str = ""


class PanelSettings(Section, frozen=True):
    """The panel of models that is asked when the agent is stuck, and by /panel and /boss.

    enabled: whether an agent that is stuck asks the panel.
    max_tokens: the longest opinion, in tokens.
    timeout: seconds that a member may take.
    """

    enabled: bool = True
    max_tokens: Annotated[int, Meta(ge=100)] = 800
    timeout: Positive = 180.0
    conservative: RoleSettings = RoleSettings()
    progressive: RoleSettings = RoleSettings()
    judge: RoleSettings = RoleSettings()
    boss: RoleSettings = RoleSettings()


class AgentsSettings(Section, frozen=True):
    """The models that advise the agent."""

    panel: PanelSettings = PanelSettings()


Mode = Literal["plan", "ask", "auto-edit", "auto"]
"""In order from the most to the least careful."""


class SafetyRule(Section, frozen=True, omit_defaults=True):
    """A rule as a table, with examples that it has to match (`match`) or must not match (`not_match`). They are checked
    at every start."""

    tool: str
    decision: Literal["allow", "ask", "deny"]
    prefix: str = ""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


class SafetySettings(Section, frozen=True):
    """What needs confirmation, and what is allowed or refused without it.

    mode: plan only reads; ask asks before changes and commands, auto-edit before commands, auto before dangerous
        commands.
    require_confirmation: false has the same effect as mode = "auto".
    auto_backup: keep the earlier version of every file a tool changes, for /undo.
    dangerous_commands: more commands that always need confirmation, whatever the rules allow, besides rm -rf (unless
        /undo can restore everything it removes), format x:, del /s, sudo and chmod 777. The lists of all settings files
        are combined.
    allow: rules for what needs no confirmation: "edit_file", "edit_file(docs/)", "run_command(python -m pytest)", …
    ask: rules of the same form for what needs confirmation in every mode, even if an allow rule matches.
    deny: rules of the same form for what is refused; deny takes precedence. Rules have no wildcards.
    rules: rules as tables, with examples (`match`, `not_match`) that are checked at every start.
    network_hosts: hosts that commands may reach, from a network of their own: "pypi.org" and "*.example.org" (ports 443
        and 80), "host:8443", or an address and port of yours, "127.0.0.1:8080". None by default.
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
    """Serper, which returns Google's results; it needs a key (SERPER_API_KEY) and costs money. Used only if web.engines
    names it.

    base_url: its address; https, unless it is on this machine.
    language: the language of the results (Google's hl, such as ja); empty uses that of the locale.
    country: the country of the results (Google's gl, such as jp); empty uses that of the locale.
    api_key: always empty in a file; the key comes from the environment.
    """

    base_url: str = "https://google.serper.dev"
    language: str = ""
    country: str = ""
    api_key: str = ""


class WebSettings(Section, frozen=True):
    """Searching the web and reading its pages.

    enabled: offer the model tools for this; its search terms and the addresses it reads leave this machine.
    engines: the search engines, in the order of use: SearxNG, DuckDuckGo through the package ddgs, or Serper.
    searxng_url: the address of a SearxNG server; empty looks at ports 8888 and 8080 of this machine.
    searxng_categories: the categories to search, such as general, it or science; empty leaves that to the server.
    max_results: how many results of a search the model gets.
    timeout: seconds for a search or a page.
    allow_private: `host:port` on this machine or its network whose pages may be read nevertheless.
    proxy: the address of a proxy for pages, DuckDuckGo and Serper; if empty, only the package for DuckDuckGo uses those
        of the environment.
    cache: where search results are kept, so that no search is repeated: disk (your cache folder), memory, or the
        address of a Redis or Valkey, such as redis://localhost:6379/0.
    cache_ttl: seconds for which they are kept; 0 keeps none.
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
    """The ensemble that /ensemble asks in the chat; localllm serve has its own options.

    config: its config.json, relative to the project; empty uses config.json in the project's folder.
    """

    config: str = ""


class ProjectSettings(Section, frozen=True):
    """Which files belong to the project.

    include_patterns: files that a listing of the project prefers; empty means all.
    exclude_patterns: never listed or searched, in addition to what .gitignore lists.
    memory_file: the project's memory (TODOs, decisions, preferences, session records), relative to the project.
    """

    include_patterns: tuple[str, ...] = ()
    exclude_patterns: tuple[str, ...] = ("node_modules", "__pycache__", ".git")
    memory_file: str = "LOCALLLM.md"


class SessionSettings(Section, frozen=True):
    """What is kept of past sessions.

    keep_days: sessions not used for this many days are deleted, except the newest 20; 0 keeps all. A session with a
        name is kept.
    keep_count: maximum number of sessions; beyond it, one-shots that were never continued are deleted first, then the
        oldest; 0 keeps all.
    record: at the end of a session, write its results into the project's notes, if there are any.
    """

    keep_days: Annotated[int, Meta(ge=0)] = 90
    keep_count: Annotated[int, Meta(ge=0)] = 200
    record: bool = True


class CommandSettings(Section, frozen=True):
    """Commands of your own.

    aliases: a word and the request it stands for; `review = "…"` runs as /review. What you type after it takes the
      place of $ARGUMENTS, else the end.
    """

    aliases: dict[str, str] = field(default_factory=dict[str, str])


class UISettings(Section, frozen=True):
    """The user interface.

    language: the language of the program's own texts; auto uses that of the locale.
    theme: colours for a dark or light terminal; plain has none, and changes nothing that is already written.
    """

    language: Literal["auto", "en", "ja"] = "auto"
    theme: Literal["auto", "dark", "light", "plain"] = "auto"


class LoggingSettings(Section, frozen=True):
    """The log: files in the folder log of the work folder (research.work_dir), and debug_log beside it.

    level: the lowest level that is logged.
    rotate_days: number of days in one file.
    keep_days: files older than this many days are deleted; 0 keeps all.
    debug: also keep a debug log of everything, with the place in the program of each entry.
    """

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    rotate_days: Count = 1
    keep_days: Annotated[int, Meta(ge=0)] = 30
    debug: bool = False


class Settings(Section, frozen=True):
    """All settings: the tables below, and those outside any table.

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
    llm.temperature llm.dialect llm.ollama.think agent.profile rag.top_k rag.floor rag.dense_weight
    ui.language ui.theme
    """.split()
)
"""Settings that an untrusted project's file may set to any value.
See `trust.admitted` for those with restricted values."""
