"""Files that point to a cluster: they have no secrets and are not trusted by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import shortlist
from shortlist import Corpus
from shortlist._paths import data_dir
from shortlist.index.engines import pointers
from shortlist.index.engines.address import Address
from tests.index.engines.conftest import on_servers


def test_a_cluster_that_only_a_foreign_file_names_is_not_trusted_until_the_user_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "cloned" / "index"
    folder.mkdir(parents=True)
    (folder / "engine.json").write_text('{"engine": "opensearch+https://evil.example:9200/p", "name": "x"}')
    pointer = pointers.read(folder)
    assert pointer
    assert not pointer.address.trusted
    pointers.write(folder, pointer.address, "x")  # as it is opened, which is not to be trusted
    again = pointers.read(folder)
    assert again
    assert not again.address.trusted
    pointers.write(folder, Address.parse(str(pointer.address)), "x")  # as the user names it
    named = pointers.read(folder)
    assert named
    assert named.address.trusted


def test_a_cluster_that_was_named_before_there_were_confirmations_stays_trusted(tmp_path: Path) -> None:
    (tmp_path / "engine.json").write_text('{"engine": "opensearch+https://mine.example:9200/p", "name": "x"}')
    data_dir().mkdir(parents=True)
    (data_dir() / pointers.NAMED).write_text('["https://mine.example:9200"]')
    found = pointers.read(tmp_path)
    assert found
    assert found.address.trusted


def test_a_pointer_in_the_data_folder_is_trusted() -> None:
    folder = data_dir() / "corpora" / "x"
    pointers.write(folder, Address.parse("opensearch+https://mine.example:9200/p"), "x")
    found = pointers.read(folder)
    assert found
    assert found.address.trusted
    assert not (data_dir() / pointers.NAMED).exists()


@on_servers
def test_a_pointer_has_no_credentials(address: str) -> None:
    signed = address.replace("http://", "http://ann:secret@")
    with shortlist.create_corpus("tea", embedder="none", engine=signed) as corpus:
        assert corpus.path is not None
        assert "secret" not in (corpus.path / "engine.json").read_text("utf-8")
        assert "secret" not in repr(corpus)
        assert "secret" not in json.dumps(corpus.info())
    with shortlist.open_corpus("tea") as again:
        assert isinstance(again, Corpus)
