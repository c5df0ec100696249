"""The command `hermes-actors`. Each command imports what it needs, so that `--help` is quick."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hermes_actors.errors import EXIT_CONFIG, EXIT_OK, EXIT_TRY_AGAIN, HermesError, Unrecoverable

Command = Callable[[argparse.Namespace], int]

_CONFIG_HELP = (
    "the configuration; else $HERMES_ACTORS_CONFIG, ./hermes.toml, <home>/hermes.toml, or defaults"
)
_HOME_HELP = "where everything is kept; else $HERMES_ACTORS_HOME, or ~/.hermes-actors"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; what it returns is the exit code (0 fine, 75 try again, 78 fix first)."""
    parsed = _parser().parse_args(arguments)
    command: Command = parsed.command
    try:
        return command(parsed)
    except Unrecoverable as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.exit_code
    except HermesError as refusal:
        sys.stderr.write(f"hermes-actors: {refusal}\n")
        return EXIT_TRY_AGAIN
    except KeyboardInterrupt:
        return EXIT_TRY_AGAIN
    except BrokenPipeError:  # `hermes-actors ps | head`
        sys.stderr.close()
        return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    everywhere = argparse.ArgumentParser(add_help=False)
    everywhere.add_argument("--config", type=Path, metavar="FILE", help=_CONFIG_HELP)
    everywhere.add_argument("--home", type=Path, metavar="FOLDER", help=_HOME_HELP)
    parser = argparse.ArgumentParser(
        prog="hermes-actors",
        description="A gateway to AI agents: when you say stop, it has stopped.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, words: str, command: Command) -> argparse.ArgumentParser:
        new = commands.add_parser(name, help=words, description=words, parents=[everywhere])
        new.set_defaults(command=command)
        return new

    add("gateway", "run the gateway in the foreground", _gateway)
    chat = add("chat", "talk to an agent of the running gateway", _chat)
    chat.add_argument("--session", metavar="NAME", help="go on in this conversation")
    chat.add_argument("-q", dest="question", metavar="TEXT", help="ask once, print, and exit")
    add("status", "say how the running gateway and its adapters are", _status)
    add("ps", "print the live actor tree", _ps).add_argument(
        "--json", action="store_true", help="as JSON, for programs"
    )
    config = add("config", "check or show the configuration", _config)
    config.add_argument("action", choices=("check", "show"))
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        parser.exit(EXIT_OK, f"hermes-actors {version('hermes-actors')}\n")


def _gateway(wish: argparse.Namespace) -> int:
    from supervisors.boot import run_gateway

    return run_gateway(wish.config, wish.home)


def _chat(wish: argparse.Namespace) -> int:
    from adapters.cli.chat import chat

    url, key, _ = _running(wish)
    return chat(url, key, wish.session, wish.question)


def _config(wish: argparse.Namespace) -> int:
    from hermes_actors.config import check, show
    from supervisors.boot import judge_all

    judgement = judge_all(wish.config, wish.home)
    if wish.action == "check" or judgement.problems:
        sys.stdout.write(check(judgement))
    else:
        sys.stdout.write(show(judgement.loaded))
    return EXIT_CONFIG if judgement.problems else EXIT_OK


def _ps(wish: argparse.Namespace) -> int:
    from adapters.cli.live import ps

    url, key, _ = _running(wish)
    sys.stdout.write(ps(url, key, as_json=wish.json) + "\n")
    return EXIT_OK


def _status(wish: argparse.Namespace) -> int:
    from adapters.cli.live import status

    url, key, pid = _running(wish)
    sys.stdout.write(status(url, key, pid=pid) + "\n")
    return EXIT_OK


def _running(wish: argparse.Namespace) -> tuple[str, str, int]:
    """Where the gateway of this home is, with its key and process; refuses if there is none."""
    from adapters.cli.gateway_client import GatewayUnreachable
    from adapters.http.key import key_in
    from hermes_actors.config import load
    from supervisors.home import presence

    loaded = load(wish.config, wish.home)
    here = presence(loaded.home)
    if here is None:
        raise GatewayUnreachable(
            f"no gateway runs in '{loaded.home}'; start one with 'hermes-actors gateway'"
        )
    if here.url is None:
        raise GatewayUnreachable(
            "the gateway is starting or ending, or its API is switched off; try again in a moment"
        )
    configured = loaded.config.adapters.api_server.key
    key = key_in(loaded.home) if configured is None else configured.reveal()
    return here.url, key, here.pid


if __name__ == "__main__":
    sys.exit(main())
