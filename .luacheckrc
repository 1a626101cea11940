-- For `make lint`, which checks each script as the server sees it: put together with its includes (tests/lua/lint.py).
std = "lua51"
-- What Redis and Valkey give a script. A script that sets one of these, or any other global, is refused by the server
-- at run time; here it is refused before.
read_globals = {"redis", "struct", "cmsgpack", "cjson", "bit", "KEYS", "ARGV"}
-- The clock and chance come from outside as arguments, or tests could not set them. The server has no io and no files.
not_globals = {"os", "io", "package", "require", "module", "dofile", "loadfile", "load", "loadstring", "print", "debug"}
max_line_length = 120
