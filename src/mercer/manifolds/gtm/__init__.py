"""The generative topographic map: a mixture of Gaussians on the images of a latent grid."""
