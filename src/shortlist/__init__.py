"""Find the right few tools, skills and documents for an AI agent. The public names, in the order of the pipeline:

source    Document, CorpusSource
names     register, unregister, registered
index     build, open_corpus, create_corpus, Corpus
retrieve  search, search_many
select    select, register_strategy, make_llm_selector
disclose  disclose
all       discover, as_tool
answer    ingest, ask, agent_ask, Chat, OpenAIChat, ScriptedLLM
compat    BM25SRetriever, get_retriever, retrieve_documents; ToolIndex; InMemoryDocs
judge     eval, eval_gen (modules)
"""

import os

import lazy_loader

__version__ = "0.2.0"

# transformers, which some embedders use, would otherwise load TensorFlow if that is installed.
os.environ.setdefault("USE_TF", "0")

# The names are in __init__.pyi; each is imported on first use, so that importing the package stays fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
