"""The other half of the talks: feature averaging among its relatives and opponents."""
