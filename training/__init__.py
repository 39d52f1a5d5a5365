"""Training of the embedder `tools` from public data; NOTES.md has the experiments."""
