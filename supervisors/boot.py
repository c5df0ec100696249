"""From the command line to a running gateway: the only file that knows every part by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

import msgspec
import trio

from adapters.http.app import make_app
from adapters.http.key import KEY_FILE, key_in
from adapters.http.server import HttpServer
from hermes_actors.actors.hook_host import HookHost
from hermes_actors.actors.recovery import Recovery
from hermes_actors.actors.services import Services
from hermes_actors.config import Judgement, Loaded, judge, read
from hermes_actors.config.adapters import AdapterSettings
from hermes_actors.errors import ConfigError
from hermes_actors.hooks import HookBus
from hermes_actors.hooks.events import GatewayStarted
from hermes_actors.hooks.loading import load_plugins
from hermes_actors.hooks.plugins import Catalogue
from hermes_actors.journal import Journal
from hermes_actors.logs import LineWriter, start_logging
from hermes_actors.pure.command_list import COMMANDS
from hermes_actors.redact import Redactor
from hermes_actors.runtime import Actor, System
from hermes_actors.store import Readers, Store, StoreActor, StoreSettings
from supervisors.gateway import VERSION, Gateway, Verdict
from supervisors.home import Home
from supervisors.shutdown import Deadlines
from supervisors.spec import Door, Worker, worker
from supervisors.tree import Make, Parts, gateway_tree
from supervisors.wiring import Agents, Prepared, wire

BUILT_IN_ADAPTERS = tuple(name for name in AdapterSettings.__struct_fields__ if name != "others")
BUILT_IN_COMMANDS = tuple(name for spec in COMMANDS for name in (spec.name, *spec.aliases))
HERE = frozenset({"api_server"})
"""The built-in adapters that this version can run."""


def run_gateway(config: Path | None, home: Path | None, out: TextIO = sys.stdout) -> int:
    """Run in the foreground until a signal ends it; the exit code.

    Raises `Unrecoverable` (with its own exit code) for what must be put right first.
    """
    prepared = prepare(config, home)
    loaded = prepared.loaded
    redactor = loaded.redactor()
    with Home(loaded.home) as place:
        settings = loaded.config.gateway
        logs = start_logging(
            LineWriter(sys.stderr), redactor, level=settings.log_level, form=settings.log_format
        )
        prepared.journal.subscribe(logs.read)
        try:
            verdict = trio.run(_live, prepared, place, redactor, out)
        finally:
            logs.close()
    if verdict.exit_code:
        sys.stderr.write(f"hermes-actors: {redactor.text(verdict.reason)}\n")
    return verdict.exit_code


def prepare(config: Path | None, home: Path | None) -> Prepared:
    """Read and check the configuration and load the plugins that it enables."""
    prepared, problems = _read_all(config, home)
    if problems:
        raise ConfigError(problems)
    return prepared


def judge_all(config: Path | None, home: Path | None) -> Judgement:
    """What `config check` says: the file's problems and those of the plugins that it enables."""
    prepared, problems = _read_all(config, home)
    return Judgement(prepared.loaded, problems)


def _read_all(config: Path | None, home: Path | None) -> tuple[Prepared, tuple[str, ...]]:
    document, journal = read(config, home), Journal()
    plugins = judge(document).loaded.config.plugins
    bus = HookBus(journal, each=plugins.hook_timeout, together=plugins.hooks_timeout)
    catalogue = Catalogue(
        bus, reserved_adapters=BUILT_IN_ADAPTERS, reserved_commands=BUILT_IN_COMMANDS
    )
    unloadable: tuple[str, ...] = ()
    try:
        load_plugins(document.enabled_plugins(), catalogue, journal, plugins.settings)
    except ConfigError as refused:
        unloadable = refused.problems
    # Only now are the adapters known that plugins bring, and so which tables may exist.
    judgement = judge(document, known_adapters=catalogue.adapters)
    problems = (*judgement.problems, *_not_here(judgement.loaded.config.adapters), *unloadable)
    return Prepared(judgement.loaded, bus, catalogue, journal), problems


def _not_here(adapters: AdapterSettings) -> list[str]:
    """A door that is asked for and cannot be opened is a problem, not a silence."""
    wanted = msgspec.structs.asdict(adapters)
    return [
        f"adapters.{name}: this version cannot run it; remove the table or set enabled = false"
        for name in BUILT_IN_ADAPTERS
        if name not in HERE and getattr(wanted[name], "enabled", False)
    ]


async def _live(prepared: Prepared, home: Home, redactor: Redactor, out: TextIO) -> Verdict:
    loaded, journal = prepared.loaded, prepared.journal
    config = loaded.config
    journal.note("gateway.started", version=VERSION, home=str(home.path))
    for warning in loaded.warnings:
        journal.note("config.warning", warning=warning)
    deadlines = Deadlines(config.gateway.drain_timeout, config.gateway.stop_grace)
    system, sessions = System(journal), Door("sessions")
    store_place, store = _store(loaded, journal, deadlines)
    agents = Agents(loaded, prepared.catalogue, redactor)
    services = wire(prepared, agents, store, system, sessions)
    gateway = Gateway(system, prepared.bus, deadlines)
    front = FrontDoor(prepared, home, redactor, gateway, services, out)
    parts = Parts(
        hooks=lambda: HookHost(prepared.bus),
        store=store_place,
        sessions=sessions,
        recovery=lambda: Recovery(services.house, services.sessions),
        adapters={**front.maker(), **_plugin_adapters(prepared)},
    )
    tree = gateway_tree(parts, drain=deadlines.drain, grace=deadlines.grace)
    hello = GatewayStarted(adapters=tuple(parts.adapters), agents=services.agents)
    try:
        return await gateway.run(tree, hello, up=front.announce)
    finally:
        services.house.feeds.close()
        with trio.move_on_after(1.0, shield=True):
            await agents.close()


class FrontDoor:
    """The API server's place in the tree, and the words that tell people where it is."""

    def __init__(
        self,
        prepared: Prepared,
        home: Home,
        redactor: Redactor,
        gateway: Gateway,
        services: Services,
        out: TextIO,
    ) -> None:
        self._prepared, self._home, self._redactor = prepared, home, redactor
        self._gateway, self._services, self._out = gateway, services, out
        self._settings = prepared.loaded.config.adapters.api_server
        self._url: str | None = None

    def maker(self) -> dict[str, Make]:
        """How to make the server, under its name; nothing when it is switched off."""
        if not self._settings.enabled:
            return {}
        key = self._key()
        self._redactor.learn(key)
        app = make_app(self._gateway.view, key, self._services, self._settings)
        finish = self._prepared.loaded.config.gateway.drain_timeout
        host, port = self._settings.host, self._settings.port
        return {
            "api_server": lambda: HttpServer(
                app, host=host, port=port, finish_within=finish, up=self._is_up
            )
        }

    def announce(self) -> None:
        """Say once, to whoever started us, that everything is up and how to talk to it."""
        self._home.announce(VERSION, self._url)
        self._out.write(welcome(self._prepared.loaded, self._url))
        self._out.flush()

    def _is_up(self, url: str) -> None:
        self._url = url
        self._prepared.journal.note("api_server.up", url=url)

    def _key(self) -> str:
        configured = self._settings.key
        return key_in(self._home.path) if configured is None else configured.reveal()


def welcome(loaded: Loaded, url: str | None) -> str:
    """What a person reads when the gateway is up."""
    key = "as configured" if loaded.config.adapters.api_server.key else loaded.home / KEY_FILE
    lines = [f"Hermes Actors {VERSION} is up."]
    if url is None:
        lines.append("  API     switched off ([adapters.api_server] enabled = false)")
    else:
        lines += [f"  API     {url}  (try: curl {url}/health)", f"  key     {key}"]
    lines += [
        f"  home    {loaded.home}",
        f"  config  {loaded.path or 'built-in defaults (no hermes.toml found)'}",
        "Look at it with 'hermes-actors ps' and end it with Ctrl-C.",
    ]
    return "\n".join(lines) + "\n"


def _store(loaded: Loaded, journal: Journal, deadlines: Deadlines) -> tuple[Worker, Store]:
    file = loaded.config.store.sqlite_file(loaded.home)
    if file is None:
        raise ConfigError(["store.url: only sqlite:///… can be used in this version"])
    settings = StoreSettings(path=str(file), busy_timeout=loaded.config.store.busy_timeout)
    readers = Readers(settings)
    place = worker(
        "store",
        lambda: StoreActor(settings, readers, journal),
        capacity=10_000,
        drain=deadlines.drain,
        grace=deadlines.grace,
    )
    return place, Store(place.ref, readers)


def _plugin_adapters(prepared: Prepared) -> dict[str, Make]:
    """Adapters that plugins brought and the configuration has a table for."""
    tables = prepared.loaded.config.adapters.others
    return {name: _plugin_adapter(prepared, name, tables[name]) for name in tables}


def _plugin_adapter(prepared: Prepared, name: str, table: dict[str, Any]) -> Make:
    factory = prepared.catalogue.adapters[name].factory

    def make() -> Actor[Any]:
        actor = factory(table)
        if not isinstance(actor, Actor):
            raise TypeError(f"adapter '{name}' is {type(actor).__name__}, not an Actor")
        return actor

    return make
