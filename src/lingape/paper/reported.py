"""Numbers that the paper reports, to print beside ours."""

#: The paper's Table 1, "an example of arm selection when d = 5": pulls of arms 1 to 6.
TABLE_1: dict[str, tuple[int, ...]] = {
    "XY-static": (1298590, 2546604, 2546666, 2546666, 2546666, 1273742),
    "LinGapE": (2133, 428889, 19, 34, 33, 11),
    "XY-oracle": (13646, 2728606, 68, 68, 68, 1),
}
