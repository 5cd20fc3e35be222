"""Similarities: how new points relate to the training points, the spaces of their distances, and projectors by them.

New points go through `similarity.rows(new)`, the centering of the training rows, and one matrix of axes
(`projector.py`), whatever the method. A similarity also defines the width of its rows, whether rows can be placed one
by one, the source of its distances (`spaces.py`), independent formulas for its kernel (`core/check/kernels.py`), and
its storage tag (`@stored`). Nothing asks a similarity for its class. A method that cannot place new points gives
`NoProjection` instead. A way from coordinates back to features that is not affine is a `Decoder` (`projector.py`,
`preimages.py`).
"""
