"""Information: how much two sets of columns share, with bounds that say what they cannot see."""

from mercer.information.bounds import Bound, donsker_varadhan, infonce, nwj
from mercer.information.critics import KernelCritic
from mercer.information.dependence import IndependenceTest, hsic, independence_test
from mercer.information.gaussian import Infomax, conditional_entropy, gaussian_mutual_information, infomax

__all__ = [
    "hsic",
    "independence_test",
    "IndependenceTest",
    "infonce",
    "nwj",
    "donsker_varadhan",
    "Bound",
    "KernelCritic",
    "gaussian_mutual_information",
    "infomax",
    "Infomax",
    "conditional_entropy",
]
