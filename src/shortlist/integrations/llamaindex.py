"""LlamaIndex: a retriever."""

from __future__ import annotations

from typing import Any, Unpack

from shortlist.errors import needs_extra
from shortlist.integrations.retrieved_texts import Text, Texts
from shortlist.library.opening import Searchable
from shortlist.retrieval.options import DiscoverKeywords

with needs_extra("llamaindex", "The integration with LlamaIndex"):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class ShortlistRetriever(BaseRetriever):
    """Retrieves the few texts that match a query as nodes; none without a match. Options are those of `Texts`."""

    def __init__(self, corpus: Searchable, *, passages: bool = False, **options: Unpack[DiscoverKeywords]) -> None:
        self._texts = Texts(corpus, passages=passages, **options)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(text) for text in self._texts.find(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(text) for text in await self._texts.afind(query_bundle.query_str)]


def _node(text: Text) -> NodeWithScore:
    """A node that shows only the name among its metadata to a model."""
    hidden = [key for key in text.metadata if key != "name"]
    excluded: dict[str, Any] = {"excluded_llm_metadata_keys": hidden, "excluded_embed_metadata_keys": hidden}
    return NodeWithScore(
        node=TextNode(id_=text.id, text=text.text, metadata=text.metadata, **excluded), score=text.score
    )
