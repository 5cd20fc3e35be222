"""Similarities that place new points in a layout: by stress, calibrated affinities, sampled forces, or a walk."""
