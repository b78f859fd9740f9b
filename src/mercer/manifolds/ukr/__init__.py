"""Unsupervised kernel regression: latent points whose kernel regression on the data errs least."""
