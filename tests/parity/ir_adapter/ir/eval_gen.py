"""Case generation needs a model; the tests of ir on it use ir's internals and are not adapted."""
