"""Arena: a deterministic simulator of the robot championship, its strategies, matches, replays."""
