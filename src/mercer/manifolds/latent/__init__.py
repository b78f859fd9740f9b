"""The latent space: its bases of functions, maps from it to the data, and starting coordinates in it."""
