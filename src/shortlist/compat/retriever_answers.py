"""The answers of the retriever's routes, declared for the OpenAPI document alone."""

from __future__ import annotations

from shortlist.compat.retriever_settings import BM25SSettings
from shortlist.documents import Document
from shortlist.server.routes.answer_types import AnswerType
from shortlist.server.routes.schemas import EXAMPLE


class CatalogDocumentJson(AnswerType, base=Document, keys="id title content keywords metadata", example=EXAMPLE):
    """A document of the catalog."""


class CatalogDocumentsJson(AnswerType):
    """Documents of the catalog, and their total number."""

    success: bool
    """Always true."""
    documents: list[CatalogDocumentJson]
    """A page of the documents."""
    count: int
    """The number of all."""


class BM25SSettingsJson(
    AnswerType, base=BM25SSettings, example={"ignore_zero": True, "llm_tools_cutoff": 10.0, "temperature": 0.5}
):
    """The settings of /retrieve that are in force."""

    temperature: float
    """The softmax temperature, 0.1 to 10."""
    ignore_zero: bool
    """Whether documents without a word of the query are left out."""
    llm_tools_cutoff: float
    """The percentage of the softmax that a document needs to be returned."""


class CatalogFileJson(AnswerType):
    """A catalog in the configured folder."""

    file: str
    """Its name."""
    bytes: int
    """Its size."""
    modified: float
    """When it was changed, in seconds since 1970."""
    current: bool
    """Whether it is served."""


class CatalogFilesJson(AnswerType):
    """The catalogs in the configured folder."""

    folder: str
    """The folder."""
    current: str
    """The catalog that is served."""
    files: list[CatalogFileJson]
    """All of them."""


class RetrievedDocumentJson(
    AnswerType,
    base=Document,
    keys="id title content keywords metadata",
    example={**EXAMPLE, "bm25_score": 4.2, "softmax_score": 0.97},
):
    """A document that reaches the cutoff."""

    bm25_score: float
    """Its score."""
    softmax_score: float
    """Its share of the softmax, in percent of 1."""


class RetrievalJson(AnswerType):
    """The documents that reach the cutoff of the softmax. Failures have the same shape."""

    success: bool
    """Whether anything could be retrieved."""
    message: str
    """What was done, in a sentence."""
    documents: list[RetrievedDocumentJson]
    """The documents, best first."""
    total_retrieved: int
    """Their number."""
    cutoff_percentage: float
    """The cutoff in force."""
    settings: BM25SSettings
    """The settings in force."""
