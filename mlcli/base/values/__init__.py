"""Options, units and the values that all rooms share."""
