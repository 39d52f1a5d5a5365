"""`python -m shortlist` is the command line."""

from shortlist.cli import main

main()
