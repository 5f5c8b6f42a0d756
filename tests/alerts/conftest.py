import pytest

from tests.support.promtool import Story


@pytest.fixture
def story() -> Story:
    """A pool at work, to be changed."""
    return Story()
