"""Text for people: `hits`, `answers`, tables and progress bars; plain outside of a terminal."""
