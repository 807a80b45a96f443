"""ARC-AGI-3: an offline test track that counts as the competition counts.

What a game shows (`observe`), what can be done (`candidates`), what was learnt (`memory`), who
decides (`decide`), how it scores (`score`), and the loop and report around it (`play`,
`evaluate`). No model is needed, and the official toolkit only to play its games.
"""
