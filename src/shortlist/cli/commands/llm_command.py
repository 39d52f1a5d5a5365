"""The command that sets and tests the language model."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from shortlist._redact import redact
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import ERROR, OK, Output
from shortlist.errors import LLMError

with lazy_imports():
    from shortlist.answer import llm as models
    from shortlist.server import llm_settings, service_settings, stored_llm

if TYPE_CHECKING:
    from shortlist._settings import Llm
    from shortlist.server.stored_llm import KeySource, StoredLlm

TEST_SECONDS = 60.0  # a local model may have to be loaded first
TEST = [{"role": "user", "content": "Reply with the word OK."}]


@command(
    examples=[
        "shortlist config llm --url http://localhost:11434/v1 --model llama3.2",
        "shortlist config llm --url https://api.openai.com/v1 --model gpt-4o-mini --key-variable OPENAI_API_KEY",
    ],
    exclusive=[
        ("--key-variable", "--keyring", "--key-in-file", "--no-key"),
        ("--unset", "--show", "--no-test"),
        ("--unset", "--url"),
        ("--show", "--url"),
    ],
)
@click.option("--url", metavar="URL", help="Address of the API, the part before /chat/completions.")
@click.option("--model", metavar="NAME", help="Name of the model.")
@click.option("--fallback", metavar="NAME", help="Model to use when the first is not available.")
@click.option("--key-variable", metavar="NAME", help="Read the API key from this environment variable.")
@click.option("--keyring", is_flag=True, help="Store the API key in the keyring of the system; it is read from stdin.")
@click.option("--key-in-file", is_flag=True, help="Store the API key in a private file; it is read from stdin.")
@click.option("--no-key", is_flag=True, help="Send no API key.")
@click.option("--no-test", is_flag=True, help="Send no test request.")
@click.option("--show", is_flag=True, help="Show the model in force and where it is set.")
@click.option("--unset", is_flag=True, help="Delete what this command stored.")
def llm(
    out: Output,
    url: str | None,
    model: str | None,
    fallback: str | None,
    key_variable: str | None,
    keyring: bool,
    key_in_file: bool,
    no_key: bool,
    no_test: bool,
    show: bool,
    unset: bool,
) -> int:
    """Set the language model that answers questions in all projects, and test it with one short request. Without
    options, test the model in force. Environment variables and the files of a project take precedence."""
    if unset:
        deleted = stored_llm.delete_stored_llm()
        out.show({"deleted": deleted}, "The language model is unset." if deleted else "No language model was set.")
        return OK
    source: KeySource = "variable" if key_variable else "keyring" if keyring else "file" if key_in_file else ""
    if url or model or fallback or source or no_key:
        _store(url, model, fallback, source, key_variable or "", drops_key=no_key)
    chosen = llm_settings.load_llm_settings()
    if not (chosen.llm.url or chosen.llm.key):
        reason = str(chosen.request or "Set one with: shortlist config llm --url URL --model NAME")
        out.show({"model": None, "reason": reason}, f"No language model is configured. {reason}")
        return OK if show else ERROR
    data: dict[str, Any] = {
        "model": chosen.llm.model,
        "url": redact(chosen.llm.url or service_settings.OPENAI),
        "fallback": chosen.llm.fallback,
        "key": "set" if chosen.llm.key else "none",
        "origin": chosen.origin,
    }
    text = f"{data['model']} at {data['url']}, {'with a key' if chosen.llm.key else 'without a key'} ({data['origin']})"
    if show or no_test:
        out.show(data, f"{text}.", [data["model"]])
        return OK
    with out.waiting(f"Testing {data['model']} ..."):
        seconds, problem = _try(chosen.llm)
    data |= {"ok": not problem, "seconds": seconds, "problem": problem}
    out.show(data, problem or f"{text} answered in {seconds:.1f} seconds.", [problem or "ok"])
    return ERROR if problem else OK


def _store(
    url: str | None, model: str | None, fallback: str | None, source: KeySource, variable: str, *, drops_key: bool
) -> None:
    """Store what is given; what is not stays as it was, but a key only if the address does."""
    known = stored_llm.read_stored_llm()
    url, model = url or (known.url if known else ""), model or (known.model if known else "")
    if not url or not model:
        missing = "--model" if url else "--url"
        raise click.UsageError(f"{missing} is missing. Example: --url http://localhost:11434/v1 --model llama3.2")
    if variable and not variable.isidentifier():  # probably the key, which would be stored and logged as a name
        raise click.UsageError("--key-variable takes the name of an environment variable, such as OPENAI_API_KEY.")
    models.OpenAIChat(url, model).close()  # an error if the address is not valid
    fallback = (known.fallback if known else "") if fallback is None else fallback
    new: StoredLlm
    if source:
        key = "" if source == "variable" else _read_key()
        new = stored_llm.StoredLlm(url, model, fallback, source, {"variable": variable, "file": key}.get(source, ""))
        stored_llm.store_llm(new, key)
        return
    new = stored_llm.StoredLlm(url, model, fallback)
    if known and known.url == url and not drops_key:
        new = new._replace(key_source=known.key_source, key=known.key)
    stored_llm.store_llm(new)


def _read_key() -> str:
    is_typed = sys.stdin.isatty()
    key = click.prompt("API key", hide_input=True, err=True) if is_typed else sys.stdin.readline()
    if not (key := str(key).strip()):
        raise click.UsageError("The API key on stdin is empty.")
    return key


def _try(chosen: Llm) -> tuple[float, str]:
    """The seconds that a short reply takes, and what is wrong if there is none."""
    key = chosen.key.get_secret_value() if chosen.key else ""
    url = chosen.url or service_settings.OPENAI
    began = time.perf_counter()
    model = models.OpenAIChat(url, chosen.model, key, tries=1, read_seconds=TEST_SECONDS)
    try:
        reply = model.complete(TEST)
        problem = "" if reply.text.strip() else f"The language model {chosen.model} at {url} answered with no text."
    except LLMError as error:
        problem = str(error)
    finally:
        model.close()
    return round(time.perf_counter() - began, 2), problem
