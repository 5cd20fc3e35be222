"""The machine: processors, memory, limits, schedulers, rates."""
