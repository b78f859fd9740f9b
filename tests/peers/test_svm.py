"""scikit-learn's own tests of its support vector machines, run on Mercer's."""

import pytest

from tests.peers.adapters_svm import SVM, svm_tests
from tests.peers.collect import peer_tests

LIBLINEAR = "only LIBLINEAR's machines: nothing of Mercer runs"
MESSAGE = "asks for the words of LIBSVM's error or warning; Mercer has its own, and tests them"
PRIVATE = "changes private attributes of LIBSVM's machines"
PAIRS = "asks for one machine for each pair of classes; Mercer tells each class from the rest"
DEPRECATED = "asks for a warning that scikit-learn's own parameter goes away"
NOT_APPLICABLE = {
    "test_bad_input": "wants sparse rows to be refused after a fit to dense ones; Mercer takes them",
    "test_crammer_singer_binary": LIBLINEAR,
    "test_decision_function_shape": PAIRS,
    "test_dense_liblinear_intercept_handling": LIBLINEAR,
    "test_dual_auto": LIBLINEAR,
    "test_dual_auto_edge_cases": LIBLINEAR,
    "test_liblinear_set_coef": LIBLINEAR,
    "test_immutable_coef_property": "ν = 0.5 is out of reach where a line tells one class of iris from the two others",
    "test_libsvm_convergence_warnings": MESSAGE,
    "test_linear_svm_convergence_warnings": LIBLINEAR,
    "test_linearsvc": LIBLINEAR,
    "test_linearsvc_crammer_singer": LIBLINEAR,
    "test_linearsvc_fit_sampleweight": LIBLINEAR,
    "test_linearsvc_iris": LIBLINEAR,
    "test_linearsvc_parameters": LIBLINEAR,
    "test_linearsvc_verbose": LIBLINEAR,
    "test_linearsvm_liblinear_sample_weight": LIBLINEAR,
    "test_linearsvr_fit_sampleweight": LIBLINEAR,
    "test_lsvc_intercept_scaling_zero": LIBLINEAR,
    "test_n_iter_libsvm": PAIRS,
    "test_negative_sample_weights_mask_all_samples": MESSAGE,
    "test_negative_weights_svc_leave_just_one_label": MESSAGE,
    "test_precomputed": "ends with the accuracy on iris of one machine for each pair of classes",
    "test_probability_raises_futurewarning": DEPRECATED,
    "test_sparse_precomputed": MESSAGE,
    "test_svc_invalid_break_ties_param": PAIRS,
    "test_svc_nonfinite_params": MESSAGE,
    "test_svc_nusvc_probA_probB_deprecated": DEPRECATED,
    "test_svc_ovr_tie_breaking": PAIRS,
    "test_svc_raises_error_internal_representation": PRIVATE,
    "test_svm_classifier_sided_sample_weight": "all samples are at their bounds, so that any intercept of an interval "
    "is optimal, and the test wants its middle",
    "test_svr_errors": "wants a matrix of a wrong shape to be refused by predict; Mercer refuses it in fit",
    "test_svm_with_infinite_C": "compares with C = 1e10 to 1e-7, which Mercer solves to tol; C = inf is tested in "
    "tests/machines/test_hard.py",
    "test_tweak_params": PRIVATE,
}
pytestmark = [
    pytest.mark.filterwarnings("ignore:Liblinear failed to converge"),
    pytest.mark.filterwarnings("ignore:SupportVectorClassifier ended as 'max_iter'"),
]
globals().update(peer_tests(svm_tests(), {"svm": SVM}, NOT_APPLICABLE))
