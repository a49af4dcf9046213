"""What kernels, the compiled forms of parts, are made of; only compiling.py needs numba."""

# The environment variable with which commands ask compiling.py to announce compilations. It is
# here because commands also run without numba.
ANNOUNCE_IN = "LINGAPE_ANNOUNCE_IN"
