"""What a decoder does: rows beside their reconstructions, the latent plane decoded, and where the decoder is unsure."""
