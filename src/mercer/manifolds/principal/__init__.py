"""Principal manifolds: projection and adaptation, soft assignment, the density, and the choice of a model."""
