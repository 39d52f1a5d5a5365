"""LangChain: a retriever, a tool, and a selection of the tools that a model is given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, Unpack

from pydantic import Field, create_model

from shortlist._limits import run_in_thread
from shortlist.errors import InputError, needs_extra
from shortlist.integrations.retrieved_texts import Text, Texts
from shortlist.integrations.toolbox import Toolbox, ToolboxKeywords, ToolMatches
from shortlist.library.opening import Searchable
from shortlist.protocols import AgentTool, ToolKeywords
from shortlist.results import Level
from shortlist.retrieval.corpus_tool import as_tool
from shortlist.retrieval.options import DiscoverKeywords

with needs_extra("langchain", "The integration with LangChain"):
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, ToolException
    from langchain_core.utils.function_calling import convert_to_openai_tool


class ShortlistRetriever(BaseRetriever):
    """Retrieves the few texts that match a query; none without a match. Options are those of `Texts`."""

    texts: Texts

    def __init__(
        self,
        corpus: Searchable,
        *,
        passages: bool = False,
        name: str | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **options: Unpack[DiscoverKeywords],
    ) -> None:
        texts = Texts(corpus, passages=passages, **options)
        super().__init__(texts=texts, name=name, tags=tags, metadata=metadata)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [_document(text) for text in self.texts.find(query)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [_document(text) for text in await self.texts.afind(query)]


def _document(text: Text) -> Document:
    return Document(id=text.id, page_content=text.text, metadata=text.metadata)


class ShortlistTool(BaseTool):
    """A corpus as a search tool: `content` is the result as JSON, `artifact` the same as data."""

    search: AgentTool
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool = True

    def __init__(
        self,
        corpus: Searchable,
        *,
        name: str | None = None,
        description: str | None = None,
        k: int | None = None,
        level: Level = "body",
        **options: Unpack[ToolKeywords],
    ) -> None:
        """The arguments are those of `shortlist.as_tool`."""
        search = as_tool(corpus, name=name, description=description, k=k, level=level, **options)
        query, top_k = (search.parameters["properties"][name] for name in ("query", "top_k"))
        limits: dict[str, Any] = {"description": top_k["description"], "ge": top_k["minimum"], "le": top_k["maximum"]}
        arguments = create_model(
            "Search",
            query=(str, Field(description=query["description"])),
            top_k=(int | None, Field(top_k.get("default"), **limits)),
        )
        super().__init__(name=search.name, description=search.description, args_schema=arguments, search=search)

    def _run(self, query: str, top_k: int | None = None) -> tuple[str, Any]:
        try:
            result = self.search(query, top_k)
        except InputError as error:
            raise ToolException(str(error)) from error
        return json.dumps(result, ensure_ascii=False, default=str), result

    async def _arun(self, query: str, top_k: int | None = None) -> tuple[str, Any]:
        return await run_in_thread(lambda: self._run(query, top_k))


class ToolChooser:
    """Selects the few of many LangChain tools that a model is given: `model.bind_tools(chooser.choose(query))`.

    Their calls do not pass through here, so nothing is learned from them.
    """

    def __init__(self, tools: Sequence[BaseTool], **options: Unpack[ToolboxKeywords]) -> None:
        """Options are those of `Toolbox`."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        self._toolbox = Toolbox(schemas, **options)
        self._tools = {schema["function"]["name"]: tool for schema, tool in zip(schemas, tools, strict=True)}

    def choose(self, query: str, k: int | None = None) -> list[BaseTool]:
        """The tools that match, or the first k of them, the best first; none without a match."""
        return self._pick(self._toolbox.find({"query": query, "top_k": k}))

    async def achoose(self, query: str, k: int | None = None) -> list[BaseTool]:
        """As `choose`, without blocking the event loop."""
        return self._pick(await self._toolbox.afind({"query": query, "top_k": k}))

    def _pick(self, found: ToolMatches) -> list[BaseTool]:
        return [self._tools[self._toolbox.document(tool.name).title] for tool in found.tools]
