"""System-2: a large multimodal model that is woken rarely, and whose word is advice."""
