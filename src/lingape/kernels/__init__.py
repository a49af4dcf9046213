"""Whole runs, compiled: arrays in, arrays out.

Nothing here is imported until a simulation asks for it, and without numba the plain lane serves.
"""
