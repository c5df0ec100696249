"""Breaks of models and of the way to them."""

from __future__ import annotations

from tests.sabotage.break_ import Break

_CLIENT = "adapters/http_client.py"
_EXCHANGE = "adapters/http_exchange.py"
_DIAL = "adapters/http_dial.py"
_STREAM = "adapters/models/stream.py"
_RESILIENT = "adapters/models/resilient.py"
_RETRYING = "adapters/models/retrying.py"
_GUARDED = "adapters/models/guarded.py"
_CHAT = "adapters/models/openai_chat/reading.py"


def _in(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/adapters/{file}.py::test_{name}" for name in names)


_SWEEP = _in(
    "models/test_cancellation",
    "stopped_at_any_step_the_line_is_closed_and_nothing_more_is_said",
)

BREAKS = (
    Break(
        "words that came with a stop are still said",
        _STREAM,
        "            await trio.lowlevel.checkpoint_if_cancelled()\n            lines",
        "            lines",
        _SWEEP,
    ),
    Break(
        "a cancelled call keeps its connection",
        _STREAM,
        "        finally:\n            exchange.close()\n",
        "        except trio.Cancelled:\n            raise\n",
        _SWEEP,
    ),
    Break(
        "a cancelled wait for an answer keeps its connection",
        _EXCHANGE,
        "                pass\n        except BaseException:",
        "                pass\n        except Exception:",
        _SWEEP,
    ),
    Break(
        "a cancelled call keeps its place in the limiter",
        _CLIENT,
        "        except BaseException:\n            self.limiter",
        "        except Exception:\n            self.limiter",
        _SWEEP,
    ),
    Break(
        "a cancelled TLS handshake keeps its socket",
        _DIAL,
        "    except BaseException:\n        hang_up",
        "    except Exception:\n        hang_up",
        _in("test_http_client", "a_cancelled_tls_handshake_leaves_no_socket_behind"),
    ),
    Break(
        "a connection that was left in the middle of an answer is used again",
        _EXCHANGE,
        "if self.closed or not (self._h11.our_state is h11.DONE is self._h11.their_state):",
        "if self.closed:",
        _in("test_http_client", "an_answer_that_is_left_unread_costs_its_connection"),
    ),
    Break(
        "bytes count as signs of life",
        _STREAM,
        "            if parser.lines > lines:\n",
        "            if data:\n",
        _in("models/test_faults", "a_drip_of_single_bytes_is_as_good_as_silence"),
    ),
    Break(
        "an answer begins again behind the reader's back",
        _RESILIENT,
        "            self._on_delta(ModelNotice(words, restarts))\n",
        "            pass\n",
        _in(
            "models/test_resilient",
            "an_answer_that_breaks_off_in_front_of_the_reader_says_that_it_begins_again",
        ),
    ),
    Break(
        "one try too many",
        _RETRYING,
        "tried < self.tries",
        "tried <= self.tries",
        _in("models/test_retrying", "waits_double_and_end_with_the_tries"),
    ),
    Break(
        "a conversation that is too long is tried elsewhere",
        _RETRYING,
        'failure.kind == "context_overflow"',
        'failure.kind == "nothing"',
        _in("models/test_retrying", "the_first_failure_of_each_kind"),
    ),
    Break(
        "one run can open the breaker for all",
        _GUARDED,
        "or (run == self._last_run and self._breaker.closed)",
        "or False",
        _in(
            "models/test_resilient",
            "one_run_however_often_it_tries_does_not_open_the_breaker",
        ),
    ),
    Break(
        "a bad request opens the breaker for all",
        _GUARDED,
        "failure.kind not in _TELLING or",
        "False or",
        _in(
            "models/test_resilient",
            "what_is_wrong_with_one_request_does_not_open_the_breaker_for_others",
        ),
    ),
    Break(
        "a cancelled trial keeps the breaker shut for ever",
        _GUARDED,
        "            if not reported:\n",
        "            if False:\n",
        _in("models/test_resilient", "a_cancelled_trial_is_nobodys_failure"),
    ),
    Break(
        "an answer that breaks off counts as whole",
        _CHAT,
        "if not self.usable or (assembly.empty and self._finish is None):",
        "if assembly.empty and self._finish is None:",
        _in("models/openai_chat/test_reading", "an_answer_that_is_none_is_refused"),
    ),
    Break(
        "a refused key is quoted",
        "adapters/models/trouble.py",
        '"" if kind == "unauthorized" else self._quoted(detail)',
        "self._quoted(detail)",
        _in("models/test_trouble", "a_refused_key_is_never_quoted_not_even_in_part"),
    ),
    Break(
        "the same request is not the same bytes",
        "adapters/models/canonical.py",
        'msgspec.json.Encoder(order="deterministic")',
        "msgspec.json.Encoder()",
        _in(
            "models/test_canonical",
            "the_order_in_which_a_mapping_was_written_does_not_matter",
        ),
    ),
)
