"""The projector of discriminants, which also gives new points posterior probabilities of classes."""

from dataclasses import field

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import stage
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.classifier import Classifier, Memberships
from mlcli.core.similarities.projector import Projector, require_near


@stored("class-projector", axes="cp")
@frozen
class ClassProjector(Projector):
    """The map from new points to coordinates, and to posterior probabilities of classes."""

    classifier: Classifier = field(kw_only=True)

    @stage("project")
    def classify(self, new: Array) -> Memberships:
        """Return the posterior probabilities of new points (m x d), in the training data's units.

        Raises NumericalError for points too far from the others.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # raised below
            found = self.classifier.memberships(self.centering(self.similarity.rows(self.input_unit.measured(new))))
        require_near(~np.isfinite(found.probabilities))
        return found
