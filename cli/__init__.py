"""Command line of `replica`: parse, call the package, print."""
