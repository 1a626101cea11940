"""The benchmark: oncue and its peers side by side on one server, in one run (``make bench``)."""
