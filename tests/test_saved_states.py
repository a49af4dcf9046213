"""What saved states refuse, explorer by explorer."""

import json

import pytest

from lingape import BUDGET_EXPLORERS, EXPLORERS
from lingape.errors import InvalidState
from upgrades import explorer_called, played

REGISTRY = {**EXPLORERS, **BUDGET_EXPLORERS}
WRONG = (None, -5, "x", [], {})


@pytest.mark.parametrize("name", sorted(REGISTRY))
@pytest.mark.parametrize("pulls", [0, 40])
def test_each_part_of_a_state_has_to_be_there(name, pulls):
    """A wrong part is refused with a sentence, unless it is what the state has anyway."""
    explorer = played(explorer_called(name), pulls)
    state = json.loads(json.dumps(explorer.state()))
    assert type(explorer).from_state(state).state() == explorer.state()
    for part in state:
        for wrong in WRONG:
            if wrong == state[part]:
                again = type(explorer).from_state(state | {part: wrong})
                assert again.state() == explorer.state()
                continue
            with pytest.raises(InvalidState, match=r"Restore|Pass what|Read it with") as caught:
                type(explorer).from_state(state | {part: wrong})
            assert "__" not in str(caught.value), part
        lacking = {name: value for name, value in state.items() if name != part}
        with pytest.raises(InvalidState, match=r"Restore|Pass what|Read it with"):
            type(explorer).from_state(lacking)


def test_what_race_does_not_read_has_to_be_right_too():
    state = explorer_called("race").state()
    for part, wrong in (("bound", {"name": "mixture"}), ("settings", {"m": 2})):
        with pytest.raises(InvalidState, match="this explorer's"):
            REGISTRY["race"].from_state(state | {part: wrong})
