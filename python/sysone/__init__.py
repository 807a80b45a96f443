"""The test track for System One decision models: four worlds that ask typed questions."""
