"""The map: when does averaging happen, and what does it cost? What the paper's reviewers asked beyond its theorem."""
