"""Whole runs, compiled: arrays in, arrays out.

Nothing here is imported until a simulation asks for it, and without numba the plain lane serves.
"""

# The environment variable with which commands ask compiling.py to announce compilations. It is
# here because commands also run without numba, which compiling.py imports.
ANNOUNCE_IN = "LINGAPE_ANNOUNCE_IN"
