"""From public data to the embedder `tools`: see NOTES.md."""
