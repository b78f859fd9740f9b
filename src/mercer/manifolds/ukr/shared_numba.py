"""Numbers that compiled loops and other code share: machine code is kept by what these files say."""

# Compiled loops take so many columns at once.
COLUMNS = 4
# Weights of less than this cannot be divided by.
NOTHING = 1e-250
# Rounding of squared distances: the last neighbour to exclude is excluded however its distance was rounded.
TIE = 1.0 + 1e-12
