"""`python -m shortlist` is the command line."""

from shortlist.serve.cli import main

main()
