"""Principal curves of smoothers: polygons, and smooth columns along them."""
