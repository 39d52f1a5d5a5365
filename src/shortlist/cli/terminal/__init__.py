"""Text for people: `hits`, `answers`, and tables; plain outside of a terminal."""
