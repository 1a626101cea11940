"""`python -m oncue`: the same as the command `oncue`."""

from oncue.cli import main

main()
