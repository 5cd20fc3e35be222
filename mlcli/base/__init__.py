"""The ground floor: what every other room may use."""
