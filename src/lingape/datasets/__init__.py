"""Bandit instances from real data: the reader of each data set, and what they share."""
