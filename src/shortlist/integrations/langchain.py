"""LangChain: a retriever, a tool, and a choice of the tools that a model is given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from shortlist.errors import InputError, MissingExtra
from shortlist.integrations.retrieved_texts import Texts
from shortlist.integrations.toolbox import K, Toolbox
from shortlist.library.opening import Searchable
from shortlist.protocols import AgentTool
from shortlist.search.corpus_tool import as_tool

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, ToolException
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra("langchain-core", "langchain", "The hook for LangChain") from error


class ShortlistRetriever(BaseRetriever):
    """The few texts that fit a query; none where nothing fits. Options are those of `Texts`."""

    texts: Texts

    def __init__(self, corpus: Searchable, **options: Any) -> None:
        fields: dict[str, Any] = {name: options.pop(name) for name in ("name", "tags", "metadata") if name in options}
        fields["texts"] = Texts(corpus, **options)
        super().__init__(**fields)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(id=one.id, page_content=one.text, metadata=one.metadata) for one in self.texts.find(query)]


class ShortlistTool(BaseTool):
    """Whatever can be searched, as a tool: `content` is what was found as JSON, `artifact` the same as data."""

    search: AgentTool
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool = True

    def __init__(self, corpus: Searchable, **options: Any) -> None:
        """Options are those of `shortlist.as_tool`."""
        search = as_tool(corpus, **options)
        super().__init__(
            name=search.name, description=search.description, args_schema=_arguments(search), search=search
        )

    def _run(self, query: str, top_k: int | None = None) -> tuple[str, Any]:
        try:
            found = self.search(query, top_k)
        except InputError as error:
            raise ToolException(str(error)) from error
        return json.dumps(found, ensure_ascii=False, default=str), found


class ToolChooser:
    """Many LangChain tools, of which a model is given the few that fit: `model.bind_tools(chooser.choose(query))`."""

    def __init__(self, tools: Sequence[BaseTool], **options: Any) -> None:
        """Options are those of `discover`."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        self._toolbox = Toolbox(schemas, **options)
        self._tools = {schema["function"]["name"]: tool for schema, tool in zip(schemas, tools, strict=True)}

    def choose(self, query: str, k: int = K) -> list[BaseTool]:
        """The tools that fit, at most k, the best first; none where nothing fits."""
        found = self._toolbox.find({"query": query, "top_k": k})
        return [self._tools[self._toolbox.document(tool.name).title] for tool in found.tools]


def _arguments(search: AgentTool) -> type[BaseModel]:
    query, top_k = (search.parameters["properties"][name] for name in ("query", "top_k"))
    return create_model(
        "Search",
        query=(str, Field(description=query["description"])),
        top_k=(
            int,
            Field(top_k["default"], description=top_k["description"], ge=top_k["minimum"], le=top_k["maximum"]),
        ),
    )
