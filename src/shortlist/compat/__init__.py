"""The interfaces of the predecessors: retriever, tool index and in-memory documents, on top of a corpus."""
