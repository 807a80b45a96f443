"""Games to practise on: written for this project, with baselines found by search."""
