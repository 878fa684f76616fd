"""The claims of the paper on clusters, and what follows from its theory."""
