"""Whole runs, compiled: arrays in, arrays out.

Nothing here is imported until a simulation asks for it, and without numba the plain lane serves.
"""

# The environment variable by which commands ask for announcements (compiling.py); here, because
# commands also run without numba.
ANNOUNCE_IN = "LINGAPE_ANNOUNCE_IN"
