"""The choice of a manifold by the likelihood of held-out rows: candidates, fits in folds, search, and ladder."""
