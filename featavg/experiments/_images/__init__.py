"""What the claims about images share: networks, attacks, gaps, and how they are drawn."""
