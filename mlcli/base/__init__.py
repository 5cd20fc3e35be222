"""The ground floor, which every other room may import."""
