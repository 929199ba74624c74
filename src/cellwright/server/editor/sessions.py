"""marimo's session layer over notebooks that are ours: no kernel is started here, none is stopped, no file is read.

Its settings are ours alone, too: no file of the person's or the notebook's is read for them.
"""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from marimo._ast.app import App, InternalApp
from marimo._ast.app_config import _AppConfig
from marimo._config import manager
from marimo._config.config import MarimoConfig, PartialMarimoConfig
from marimo._config.manager import MarimoConfigManager, UserConfigStore
from marimo._messaging.notification import NotificationMessage
from marimo._messaging.types import KernelMessage
from marimo._runtime import commands
from marimo._server.lsp import NoopLspServer
from marimo._server.session_manager import SessionManager
from marimo._server.tokens import AuthToken
from marimo._server.workspace import NotebookWorkspace
from marimo._server.workspace._base import file_not_found
from marimo._session.extensions.extensions import ReplayExtension, SessionViewExtension
from marimo._session.extensions.types import EventAwareExtension
from marimo._session.managers.ipc import KernelStartupError
from marimo._session.model import SessionMode
from marimo._session.notebook import AppFileManager
from marimo._session.session import Session, SessionImpl
from marimo._session.state.session_view import SessionView
from marimo._types.ids import ConsumerId, SessionId

from cellwright.errors import Defect, RefusedByPolicy
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import AppOption
from cellwright.notebook.render import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from marimo._server.app_defaults import AppDefaults
    from marimo._server.models.files import FileInfo
    from marimo._server.models.home import MarimoFile
    from marimo._session.consumer import SessionConsumer
    from marimo._session.queue import ProcessLike
    from marimo._session.requests import InstantiateNotebookRequest
    from marimo._session.startup import SessionStartup
    from marimo._utils.typed_connection import TypedConnection

# ── its settings ──

OVERRIDES: Final[dict[str, Any]] = {
    "ai": {"enabled": False, "allow_provider_config": False},
    "completion": {"copilot": False},
    "display": {"theme": "system"},
    "runtime": {
        "auto_instantiate": False,
        "auto_reload": "off",
        "on_cell_change": "autorun",
        "reactive_tests": False,
        "dotenv": [],
    },
    # What a person types reaches the file a second later, by our own way of saving.
    "save": {"autosave": "after_delay", "autosave_delay": 1000, "format_on_save": False},
    # Package managers that link files into place are no reason to show no page.
    "server": {"follow_symlink": True},
    "sharing": {"html": False, "wasm": False, "molab": False},
}


class _FixedConfig(UserConfigStore):
    """Where marimo looks for the person's own settings."""

    def read(self) -> PartialMarimoConfig:
        return cast("PartialMarimoConfig", OVERRIDES)

    def save_config(self, config: MarimoConfig | PartialMarimoConfig) -> MarimoConfig:
        raise RefusedByPolicy("The editor's settings cannot be changed here.", hint="See Cellwright's own settings.")


def config_manager(*, current_path: str | None = None) -> MarimoConfigManager:
    """marimo's settings for every notebook that is edited here, wherever it is."""
    return MarimoConfigManager(_FixedConfig())


def load_assets_route() -> None:
    """Import marimo's routes, one of which reads the person's settings as it is imported: it gets ours."""
    stock = manager.get_default_config_manager
    manager.get_default_config_manager = config_manager
    try:
        importlib.import_module("marimo._server.api.endpoints.assets")
    finally:
        manager.get_default_config_manager = stock


# ── its sessions ──

_READ_FROM_THE_HOST: Final = frozenset({"css_file", "html_head_file", "layout_file"})
"""Options of a notebook that name files which marimo's server would read and show, wherever they are."""
_MOST_WAITING: Final = 5_000
_MOST_WAITING_BYTES: Final = 96 << 20


class ShownNotebook(Protocol):
    """A notebook that is shown in an editor, as its session must know it."""

    key: str

    @property
    def notebook(self) -> OpenNotebook:
        """Which one."""

    def heard(self, command: commands.CommandMessage, page: str) -> None:
        """A page asks something of the kernel."""

    def joined(self, consumer: SessionConsumer, *, is_new: bool) -> None:
        """A page is connected: a new one, which will be told everything, or one that had lost its connection."""

    def interrupt(self) -> None:
        """Stop what runs."""


class EditorSession(SessionImpl):
    """One notebook's session. It lasts as long as the notebook is open; pages come and go."""

    def __init__(self, shown: ShownNotebook, config: MarimoConfigManager) -> None:
        self.shown: Final = shown
        self._waiting_bytes: dict[ConsumerId, int] = {}
        self.is_next_page_new = True
        super().__init__(
            initialization_id=shown.key,
            session_consumer=None,
            session_view=SessionView(),
            kernel_manager=_KernelProxy(shown),
            app_file_manager=NotebookText(shown.notebook),
            config_manager=config,
            ttl_seconds=None,
            extensions=[_CommandListener(shown), ReplayExtension(), SessionViewExtension()],
        )

    def connect_consumer(self, session_consumer: SessionConsumer, *, main: bool) -> None:
        """A page joins."""
        super().connect_consumer(session_consumer, main=main)
        is_new, self.is_next_page_new = self.is_next_page_new or not main, False
        self.shown.joined(session_consumer, is_new=is_new)

    def instantiate(self, request: InstantiateNotebookRequest, *, http_request: commands.HTTPRequest | None) -> None:
        """Nothing: the kernel has the notebook already."""

    def notify(self, operation: NotificationMessage | KernelMessage, from_consumer_id: ConsumerId | None) -> None:
        """Tell every page but one. A page that falls far behind loses its connection, and nobody waits for it."""
        super().notify(operation, from_consumer_id)
        for state in list(self.room.consumers.values()):
            consumer: Any = state.consumer
            waiting = getattr(consumer, "message_queue", None)
            if waiting is None:
                continue
            size = len(operation) if isinstance(operation, bytes) else 0
            behind = 0 if waiting.qsize() <= 1 else self._waiting_bytes.get(consumer.consumer_id, 0) + size
            self._waiting_bytes[consumer.consumer_id] = behind
            if waiting.qsize() > _MOST_WAITING or behind > _MOST_WAITING_BYTES:
                self.disconnect_consumer(consumer)


class _KernelProxy:
    """What marimo takes for the manager of its kernel."""

    pid: int | None = None
    """Nobody's business there."""
    profile_path: str | None = None
    """Nothing is profiled."""

    def __init__(self, shown: ShownNotebook) -> None:
        self.mode = SessionMode.EDIT
        self._shown = shown
        # What marimo asks whether it lives: it does for as long as anybody asks.
        self.kernel_task: ProcessLike | threading.Thread | None = threading.main_thread()

    async def start_kernel(self) -> None:
        """It was started by us."""

    def is_alive(self) -> bool:
        """Always: another kernel takes the place of one that ends."""
        return True

    def interrupt_kernel(self) -> None:
        """Stop what runs, whoever had asked for it."""
        self._shown.interrupt()

    def close_kernel(self, *, graceful: bool = False) -> None:
        """Never from here: whoever opened the notebook closes it."""

    @property
    def kernel_connection(self) -> TypedConnection[KernelMessage]:
        """There is none: nothing is unpickled here."""
        raise Defect("A kernel behind the editor has no connection of marimo's.", hint="Report this.")


class _CommandListener(EventAwareExtension):
    """Takes the commands that marimo would put into its kernel's queues."""

    def __init__(self, shown: ShownNotebook) -> None:
        super().__init__()
        self._shown = shown

    def on_received_command(
        self, session: Session, request: commands.CommandMessage, from_consumer_id: ConsumerId | None
    ) -> None:
        self._shown.heard(request, from_consumer_id or "")


class NotebookText(AppFileManager):
    """What marimo takes for the notebook's file: our document, mirrored; never a file."""

    def __init__(self, notebook: OpenNotebook) -> None:
        super().__init__(None)
        self._notebook = notebook
        self._filename = notebook.path.__class__(notebook.path.name)
        app = App()
        app._config = safe_options(notebook.document.options)
        self.app = InternalApp(app)

    def read_file(self) -> str:
        """The notebook as it would be saved now."""
        return render(self._notebook.document)

    def read_layout_config(self) -> None:
        """No layout: it would be read from a file that the notebook names."""
        return


def safe_options(options: Mapping[str, AppOption]) -> _AppConfig:
    """The notebook's options without those that make a server read files."""
    kept = {name: value for name, value in options.items() if name not in _READ_FROM_THE_HOST}
    return _AppConfig.from_untrusted_dict(kept, silent=True)


class _OpenNotebooks(NotebookWorkspace):
    """What marimo takes for the folder of notebooks: those that were opened here, by their keys."""

    @property
    def directory(self) -> str:
        # As the notebook's code sees it; marimo shows this to the page.
        return "/project"

    @property
    def files(self) -> list[FileInfo]:
        return []

    def single_file(self) -> MarimoFile | None:
        return None

    def get_unique_file_key(self) -> str | None:
        return None

    def resolve(self, key: str) -> str | None:
        # No key is a path: so no settings are read from the notebook's header either.
        raise file_not_found(key)

    def load(self, key: str, defaults: AppDefaults | None = None) -> AppFileManager:
        raise file_not_found(key)


class Sessions(SessionManager):
    """marimo's sessions, one for each notebook that is shown."""

    def __init__(self) -> None:
        super().__init__(
            workspace=_OpenNotebooks(),
            mode=SessionMode.EDIT,
            quiet=True,
            include_code=True,
            lsp_server=NoopLspServer(),
            config_manager=config_manager(),
            cli_args={},
            argv=None,
            auth_token=AuthToken(""),
            redirect_console_to_browser=True,
            ttl_seconds=None,
        )

    @property
    def settings(self) -> MarimoConfigManager:
        """What every page is given as configuration."""
        return self._config_manager

    def begin(self, shown: ShownNotebook) -> EditorSession:
        """Show a notebook. Nobody is connected yet; the first page to come resumes the session."""
        session = EditorSession(shown, self._config_manager)
        self._repository.add_sync(SessionId(shown.key), session)
        return session

    def end(self, session: EditorSession) -> None:
        """The notebook is closed: so are its pages' connections."""
        name = self._repository.get_session_id(session)
        if name is not None:
            self._repository.remove_sync(name)
        session.close()

    def of_page(self, page: str) -> str | None:
        """The key of the notebook this page is connected to."""
        found = self.get_session(SessionId(page))
        return found.initialization_id if found is not None else None

    def app_manager(self, key: str) -> AppFileManager:
        """The text of a notebook that is shown."""
        session = self.get_session_by_file_key(key)
        if not isinstance(session, EditorSession):
            raise file_not_found(key)
        return session.app_file_manager

    def maybe_resume_session(self, new_session_id: SessionId, file_key: str) -> Session | None:
        """The notebook's session, for a page that must be told everything."""
        resumed = super().maybe_resume_session(new_session_id, file_key)
        if isinstance(resumed, EditorSession):
            resumed.is_next_page_new = True
        return resumed

    async def _create_session(
        self,
        session_id: SessionId,
        query_params: commands.SerializedQueryParams,
        file_key: str,
        auto_instantiate: bool,
        startup: SessionStartup,
    ) -> Session:
        raise KernelStartupError("This notebook is closed. Open it again from Cellwright's page.")
