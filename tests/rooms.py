"""Who may know whom, and which words are forbidden: read from the source, without running it.

Three rooms, one direction: `supervisors → adapters → hermes_actors`. An adapter does not know its
neighbours, the kernel knows no domain, and what is pure knows neither clock nor world. Beside the
rooms there are a few habits that no test could catch in time; they are refused by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

ROOMS = ("hermes_actors", "adapters", "supervisors")
_ABOVE = {"hermes_actors": {"adapters", "supervisors"}, "adapters": {"supervisors"}}
_KINDS = ("chat", "models", "tools")  # folders with one adapter in each folder below them
_LIBRARIES = {"trio", "httpx", "trio_websocket", "apsw", "anycorn", "starlette", "structlog"}
_WAITING = {"asyncio", "threading", "subprocess", "socket", "ssl", "select", "signal", "time"}
_OUTSIDE = {"os", "io", "pathlib", "tempfile", "shutil", "random", "secrets", "logging"}
_WORLD = _LIBRARIES | _WAITING | _OUTSIDE
_KERNEL_KNOWS = ("hermes_actors.runtime", "hermes_actors.errors", "hermes_actors.journal")
_CLOCKS = {"now", "utcnow", "today"}


class Trespass(msgspec.Struct, frozen=True):
    """One line that is in the wrong room, or that should be in none."""

    path: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.why}"


def sources(root: Path) -> Iterator[tuple[str, str]]:
    """Every file of the three rooms as (path below the root, text)."""
    for room in ROOMS:
        for file in sorted((root / room).rglob("*.py")):
            yield file.relative_to(root).as_posix(), file.read_text()


def adapters(paths: Iterable[str]) -> frozenset[str]:
    """The adapters that exist, as `kind/name` or just `kind` where a kind is one adapter."""
    folders = [path.split("/")[1:-1] for path in paths if path.startswith("adapters/")]
    return frozenset(
        "/".join(folder[: 2 if folder[0] in _KINDS else 1])
        for folder in folders
        if len(folder) > (folder[0] in _KINDS if folder else 0)
    )


def trespasses(path: str, text: str, known: frozenset[str]) -> list[Trespass]:
    """Everything in one file that is not allowed where it stands; `known` are the adapters."""
    tree = ast.parse(text)
    found = {
        *_in_the_wrong_room(path, tree, known),
        *_clocks(path, tree),
        *_habits(tree, text.splitlines()),
    }
    return [Trespass(path, line, why) for line, why in sorted(found)]


def imports(tree: ast.AST, path: str) -> Iterator[tuple[int, str]]:
    """Each imported module, wherever the import stands: knowing for types is knowing, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _absolute(node: ast.ImportFrom, path: str) -> str:
    if not node.level:
        return node.module or ""
    package = PurePosixPath(path).parts[: -node.level]
    return ".".join([*package, node.module] if node.module else package)


# Rooms -------------------------------------------------------------------------------------------


def _in_the_wrong_room(
    path: str, tree: ast.AST, known: frozenset[str]
) -> Iterator[tuple[int, str]]:
    for line, name in imports(tree, path):
        for why in (*_direction(path, name), *_neighbours(path, name, known)):
            yield line, why


def _direction(path: str, name: str) -> Iterator[str]:
    room, other = path.split("/")[0], name.split(".")[0]
    if other in _ABOVE.get(room, ()):
        yield f"'{room}' must not know '{other}'; let a Ref be handed in"
    if path.startswith("hermes_actors/pure/"):
        yield from _impure(name)
    in_kernel = path.startswith("hermes_actors/runtime/") and other == "hermes_actors"
    if in_kernel and not any(f"{name}.".startswith(f"{each}.") for each in _KERNEL_KNOWS):
        yield "the kernel knows no domain"
    if other == "asyncio" and "livekit" not in path:
        yield "asyncio has no place beside Trio; only the LiveKit thread may use it"


def _neighbours(path: str, name: str, known: frozenset[str]) -> Iterator[str]:
    """What lies directly in `adapters/models/` belongs to all model adapters, and knows them."""
    if not (path.startswith("adapters/") and f"{name}.".startswith("adapters.")):
        return
    mine = _adapter(path.removesuffix(".py").split("/")[1:], known)
    other = _adapter(name.split(".")[1:], known)
    strangers = other not in ("", mine) and not mine.startswith(f"{other}/")
    if strangers and not (mine and other.startswith(f"{mine}/")):
        yield f"adapter '{mine or 'shared'}' must not know adapter '{other}'"


def _adapter(parts: list[str], known: frozenset[str]) -> str:
    """The adapter that a module is part of, the kind that it serves, or nothing if it is shared."""
    if "/".join(parts[:2]) in known:
        return "/".join(parts[:2])
    return parts[0] if parts and (parts[0] in _KINDS or parts[0] in known) else ""


def _impure(name: str) -> Iterator[str]:
    top = name.split(".")[0]
    if top in _WORLD:
        yield f"what is pure does not know '{top}'; let it be told"
    if name.startswith("hermes_actors.runtime"):
        yield "what is pure has no actors in it"


def _clocks(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    if not path.startswith("hermes_actors/pure/"):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _CLOCKS:
            base = ast.unparse(node.value)
            if base.split(".")[-1] in ("datetime", "date"):
                yield node.lineno, f"what is pure is told the time; it does not ask '{base}'"


# Habits ------------------------------------------------------------------------------------------


def _habits(tree: ast.AST, lines: list[str]) -> Iterator[tuple[int, str]]:
    channels = _channel_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="spawn_system_task") | ast.Name(id="spawn_system_task"):
                yield node.lineno, "a system task has no parent; use a nursery"
            case ast.Assign(targets=targets) if any(map(_is_environ_item, targets)):
                yield node.lineno, "the environment belongs to everybody; pass values"
            case ast.Call() if _changes_environ(node):
                yield node.lineno, "the environment belongs to everybody; pass values"
            case ast.Call() if _is_endless_channel(node):
                yield node.lineno, "a channel without a bound is a leak that waits"
            case ast.ExceptHandler() if _swallows_everything(node, lines):
                yield node.lineno, "catches everything, raises nothing and gives no reason"
            case ast.AsyncWith(items=items):
                if any(ast.unparse(item.context_expr) in channels for item in items):
                    yield node.lineno, "`async with` on a channel hides errors; use `with`"


def _is_environ_item(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and ast.unparse(target.value).endswith("environ")


def _changes_environ(call: ast.Call) -> bool:
    called = ast.unparse(call.func)
    return called == "os.putenv" or any(
        called.endswith(f"environ.{verb}") for verb in ("update", "setdefault", "pop", "clear")
    )


def _is_endless_channel(call: ast.Call) -> bool:
    opens = "open_memory_channel" in ast.unparse(call.func)
    return opens and any("inf" in ast.unparse(argument) for argument in call.args)


def _channel_names(tree: ast.AST) -> set[str]:
    """Names that are bound, anywhere in the file, to an end of a memory channel."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and "open_memory_channel" in ast.unparse(node.value):
            for target in node.targets:
                ends = target.elts if isinstance(target, ast.Tuple) else [target]
                found.update(map(ast.unparse, ends))
    return found


def _swallows_everything(handler: ast.ExceptHandler, lines: list[str]) -> bool:
    catches_all = handler.type is None or "BaseException" in _names(handler.type)
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    return catches_all and not raises and not _gives_reason(lines, handler.lineno - 1)


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _gives_reason(lines: list[str], at: int) -> bool:
    """`# noqa: CODE  because …`, or a comment on the line above; the code alone is no reason."""
    _, noqa, rest = lines[at].partition("# noqa:")
    words = [word for word in rest.replace(",", " ").split() if not word[-1].isdigit()]
    return bool(noqa) and (len(words) >= 2 or lines[at - 1].lstrip().startswith("#"))
