from shortlist.compat.in_memory_docs import InMemoryDocs as InMemoryDocs
from shortlist.compat.retriever import BM25SRetriever as BM25SRetriever
from shortlist.compat.retriever import get_retriever as get_retriever
from shortlist.compat.retriever import retrieve_documents as retrieve_documents
from shortlist.compat.retriever_client import BM25SClient as BM25SClient
from shortlist.compat.retriever_settings import BM25SSettings as BM25SSettings
from shortlist.compat.tool_index import CosineSimilarity as CosineSimilarity
from shortlist.compat.tool_index import SearchQuery as SearchQuery
from shortlist.compat.tool_index import SearchResult as SearchResult
from shortlist.compat.tool_index import SimpleEmbedder as SimpleEmbedder
from shortlist.compat.tool_index import ToolIndex as ToolIndex
from shortlist.compat.tool_index import ToolRecord as ToolRecord

__all__: list[str]
