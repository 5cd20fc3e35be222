"""Options, units and values shared by all rooms."""
