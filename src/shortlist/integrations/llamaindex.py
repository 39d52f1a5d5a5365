"""LlamaIndex: a retriever."""

from __future__ import annotations

from typing import Any

from shortlist.errors import MissingExtra
from shortlist.integrations.retrieved_texts import Text, Texts
from shortlist.library.opening import Searchable

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtra("llama-index-core", "llamaindex", "The hook for LlamaIndex") from error


class ShortlistRetriever(BaseRetriever):
    """The few texts that fit a query, as nodes; none where nothing fits. Options are those of `Texts`."""

    def __init__(self, corpus: Searchable, **options: Any) -> None:
        self._texts = Texts(corpus, **options)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(one) for one in self._texts.find(query_bundle.query_str)]


def _node(one: Text) -> NodeWithScore:
    """A node; of its metadata a model is shown the name and no more."""
    hidden = [key for key in one.metadata if key != "name"]
    node = TextNode(
        id_=one.id,
        text=one.text,
        metadata=one.metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=one.score)
