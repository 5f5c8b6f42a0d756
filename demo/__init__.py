"""What surrounds Koala in the demo and the chaos tests: the outside world, and what breaks things."""
