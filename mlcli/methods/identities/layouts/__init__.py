"""The checks of layouts: stress, divergence, potential distances, sampled forces, and local densities."""
