"""Random walks on points: their affinities, clusters of points by them, entropy and potential distances."""
