"""Exceptions and warnings of the package, one family."""


class ReplicaError(Exception):
    """Base of every error that `replica` raises on purpose."""


class InvalidProblem(ReplicaError, ValueError):
    """The input makes no sense; the message says what, why, and what would work, in one line."""


class UnsupportedExpression(ReplicaError):
    """A symbolic expression that cannot be derived or lowered."""


class LoweringError(ReplicaError):
    """The generated code could not be written, compiled or imported."""


class IntegrationError(ReplicaError):
    """An integrator of differential equations gave up before the last time."""


class OutputError(ReplicaError):
    """A file could not be written; nothing was changed on disk."""


class WorkerError(ReplicaError):
    """Workers of a sweep died or could not be reached; finished lines are in its journal."""


class ReplicaWarning(UserWarning):
    """Base of every warning that `replica` emits."""


class ConvergenceWarning(ReplicaWarning):
    """A returned value did not converge."""


class QuadratureWarning(ReplicaWarning):
    """A returned value is less accurate than asked."""


class StabilityWarning(ReplicaWarning):
    """Replica symmetry is broken, or its stability could not be decided."""


class MultipleFixedPointsWarning(ReplicaWarning):
    """Several fixed points solve the equations; the best of those found is returned."""


class CacheWarning(ReplicaWarning):
    """The kernel cache cannot be used; kernels are compiled anew in this process."""
