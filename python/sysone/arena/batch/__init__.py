"""Many matches: which are to be played, by how many processes, and what is kept of them."""
