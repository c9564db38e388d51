"""Columns and rows of the tables of several heads; every `_err` is twice a standard error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..schema import Column
from .problem import HeadsProblem

if TYPE_CHECKING:
    import numpy as np

    from .escape import Escape
    from .flow import Trajectory
    from .optimum import Optimum
    from .simulation import Runs

PROBLEM = (
    Column("activation", "text", "softmax, softmax-1 or bayes-softmax"),
    Column("heads", "integer", "number of heads H"),
    Column("length", "integer", "number of tokens L"),
    Column("signal", "text", "law of theta"),
    Column("weight", "text", "head weight w: mean (1/H) or sum (1)"),
    Column("thresholds", "text", "thresholds b_h: train, fixed, or none"),
)
START = (
    Column("dimension", "number", "D of the start, m ~ norm/sqrt(D); of SGD that of the whole run"),
    Column("norm", "number", "keys start as norm N(0, I_D)"),
    Column("threshold", "number", "all b_h at the start"),
)
RUN = (
    *START,
    Column("rate", "number", "learning rate gamma; 0 is gradient flow"),
    Column("accuracy_met", "flag", "every risk_err of the trajectory is within rtol"),
    Column("rtol", "number", "relative error asked of the risk"),
    Column("nodes", "integer", "nodes of each independent set"),
    Column("seed", "integer", "seed of the start and of the nodes"),
    Column("version", "text", "version of the package"),
)


def overlap_names(heads: int, features: int) -> list[str]:
    """m_h_f, q_h_k for h <= k, b_h, counted from 1."""
    m = [f"m_{h}_{f}" for h in range(1, heads + 1) for f in range(1, features + 1)]
    q = [f"q_{h}_{k}" for h in range(1, heads + 1) for k in range(h, heads + 1)]
    return [*m, *q, *(f"b_{h}" for h in range(1, heads + 1))]


def trajectory_columns(heads: int, features: int) -> tuple[Column, ...]:
    """Columns of `trajectory_rows`."""
    meanings = {"m": "k_h.k*_f/D", "q": "k_h.k_h'/D", "b": "threshold b_h"}
    names = overlap_names(heads, features)
    return (
        Column("tau", "number", "time gamma n/D"),
        Column("risk", "number", "R = E |X_eps - X^T s|^2/D"),
        Column("risk_err", "number", "twice the standard error of risk over node sets, and what these share"),
        Column("bayes_risk", "number", "1 - E p_eps"),
        Column("bayes_risk_err", "number", "twice the standard error of bayes_risk"),
        *(Column(name, "number", meanings[name[0]]) for name in names),
        *(Column(f"{name}_err", "number", f"twice the standard error of {name}") for name in names),
        *PROBLEM,
        *RUN,
    )


def problem_values(problem: HeadsProblem) -> dict[str, Any]:
    """The columns PROBLEM."""
    values = {column.name: getattr(problem, column.name) for column in PROBLEM}
    return {**values, "signal": problem.signal.label}


def trajectory_rows(
    trajectory: Trajectory, bayes: tuple[float, float], rtol: float, seed: int, start: dict[str, float]
) -> list[dict[str, Any]]:
    """One row for each time; `start` has the columns START."""
    t = trajectory
    names = overlap_names(t.problem.heads, t.problem.signal.features)
    common = {
        "bayes_risk": bayes[0],
        "bayes_risk_err": bayes[1],
        **problem_values(t.problem),
        **start,
        "rate": float(t.rate),
        "accuracy_met": t.accuracy_met,
        "rtol": rtol,
        "nodes": t.samples,
        "seed": seed,
        "version": __version__,
    }
    columns = [column.name for column in trajectory_columns(t.problem.heads, t.problem.signal.features)]
    rows = []
    for i, tau in enumerate(t.tau):
        row = {"tau": float(tau), "risk": float(t.risk[i]), "risk_err": float(t.risk_err[i]), **common}
        row |= zip(names, flat(t.m[i], t.q[i], t.b[i]), strict=True)
        row |= zip((f"{name}_err" for name in names), flat(t.m_err[i], t.q_err[i], t.b_err[i]), strict=True)
        rows.append({name: row[name] for name in columns})
    return rows


def flat(m: np.ndarray, q: np.ndarray, b: np.ndarray) -> tuple[float, ...]:
    """The numbers in the order of `overlap_names`."""
    heads = len(b)
    upper = (float(q[h, k]) for h in range(heads) for k in range(h, heads))
    return (*map(float, m.ravel()), *upper, *map(float, b))


RATES = (
    Column("norm", "number", "the state has r = norm^2 I above the fixed point"),
    Column("mode", "text", "feature (growth of m_hf over h) or spectrum (over m, c and b)"),
    Column("index", "integer", "feature f, or rank in the spectrum, from 1"),
    Column("rate", "number", "growth rate of the mode per unit of tau under gradient flow"),
    Column("rate_err", "number", "error bound of rate, two standard errors"),
    Column("variance", "number", "Var theta_f; null in the spectrum"),
    Column("escape_time", "number", "log(sqrt(D))/rate; inf where the rate is not positive; null in the spectrum"),
    Column("dimension", "number", "the D of escape_time"),
    Column("risk", "number", "risk of the state"),
    Column("residual", "number", "largest |dm/dtau|, |dc/dtau| at the state"),
    *PROBLEM,
    Column("version", "text", "version of the package"),
)

CHECK = (
    Column("dimension", "number", "D of the runs; inf is the extrapolation of the gap by a + b/D"),
    Column("tau", "number", "time gamma n/D"),
    Column("quantity", "text", "risk, m_h_f, q_h_k or b_h"),
    Column("theory", "number", "value from the equations"),
    Column("theory_err", "number", "twice its standard error"),
    Column("simulation", "number", "mean over runs"),
    Column("gap", "number", "simulation - theory"),
    Column("gap_err", "number", "one standard error of gap"),
    Column("z", "number", "gap/gap_err"),
    *PROBLEM,
    Column("rate", "number", "learning rate gamma"),
    Column("seeds", "integer", "runs for each D"),
    Column("seed", "integer", "seed of the seeds"),
    Column("version", "text", "version of the package"),
)
EMERGENCE = (
    Column("dimension", "integer", "D"),
    Column("feature", "integer", "feature f, from 1"),
    Column("variance", "number", "Var theta_f"),
    Column("learned_before", "text", "features learned at the saddle that the feature leaves, or stays at: 1+2, say"),
    Column("rate", "number", "escape rate of the feature there, mean over starts"),
    Column("rate_err", "number", "error bound of rate, with twice the standard error over starts"),
    Column("residual", "number", "largest |dm/dtau| over the learned features there"),
    Column("predicted", "number", "emergence time by linear growth along the way of the features before; inf: never"),
    Column("predicted_err", "number", "twice its standard error, from the random starts"),
    Column("equations", "number", "time at which the equations bring max_h |m_hf| to `level` times that at the saddle"),
    Column("equations_err", "number", "twice its standard error, mostly from the random starts"),
    Column("simulated", "number", "the same in online SGD from the same starts; null if D is not simulated"),
    Column("simulated_err", "number", "twice its standard error"),
    Column("difference", "number", "mean of simulated - predicted, run by run"),
    Column("difference_err", "number", "twice its standard error"),
    Column("seen", "integer", "runs in which the feature was seen to emerge, of SGD where there are any"),
    Column(
        "slope_predicted", "number", "growth of predicted with log(sqrt(D)), over the D of far if there are several"
    ),
    Column("slope_predicted_err", "number", "twice its standard error, from the random starts"),
    Column("slope_equations", "number", "the same of the equations"),
    Column("slope_equations_err", "number", "twice its standard error"),
    Column("slope_simulated", "number", "the same of online SGD, by least squares over its runs and its D"),
    Column("slope_simulated_err", "number", "twice its standard error"),
    Column("slope_gap", "number", "the same of simulated - predicted, run by run, over the D that are simulated"),
    Column("slope_gap_err", "number", "twice its standard error"),
    Column("slope_z", "number", "slope_gap over its standard error"),
    *PROBLEM,
    Column("sgd_rate", "number", "learning rate gamma"),
    Column("norm", "number", "keys start at norm N(0, I_D)"),
    Column("level", "number", "share of the overlap at the saddle where a feature has emerged"),
    Column("seeds", "integer", "runs for each D"),
    Column("seed", "integer", "seed of the seeds"),
    Column("version", "text", "version of the package"),
)
STAGES = (
    Column("stage", "integer", "rank in time, from 1"),
    Column("begin", "number", "time of the slowest moment before"),
    Column("tau", "number", "time of the fastest descent"),
    Column("end", "number", "time of the slowest moment after"),
    Column("risk_before", "number", "risk at begin"),
    Column("risk_after", "number", "risk at end"),
    Column("feature", "integer", "feature whose largest overlap grew most"),
    *PROBLEM,
    Column("rate", "number", "learning rate gamma"),
    Column("seed", "integer", "seed of the start"),
    Column("version", "text", "version of the package"),
)


def simulation_columns(heads: int, features: int) -> tuple[Column, ...]:
    """Columns of `simulation_rows`."""
    return (
        Column("run_seed", "integer", "seed of the run"),
        Column("tau", "number", "time gamma n/D"),
        Column("risk", "number", "mean of |X_eps - X^T s|^2/D over fresh samples"),
        Column("bayes_risk", "number", "1 - E p_eps in the limit D = inf"),
        Column("bayes_risk_err", "number", "two standard errors of bayes_risk"),
        *(Column(name, "number", "as in a trajectory, measured") for name in overlap_names(heads, features)),
        *START,
        Column("rate", "number", "learning rate gamma"),
        Column("test", "integer", "fresh samples behind each risk"),
        *PROBLEM,
        Column("version", "text", "version of the package"),
    )


def simulation_rows(
    runs: Runs, seeds: Iterable[int], test: int, bayes: tuple[float, float], start: dict[str, float]
) -> list[dict[str, Any]]:
    """One row for each run and time; `start` has the columns START."""
    names = overlap_names(runs.problem.heads, runs.problem.signal.features)
    rows = []
    for s, seed in enumerate(seeds):
        for t, tau in enumerate(runs.tau):
            row = {"run_seed": seed, "tau": float(tau), "risk": float(runs.risk[s, t])}
            rows.append(row | dict(zip(names, flat(runs.m[s, t], runs.q[s, t], runs.b[s, t]), strict=True)))
    columns = simulation_columns(runs.problem.heads, runs.problem.signal.features)
    common = {**start, "rate": runs.rate, "test": test}
    return complete(rows, columns, runs.problem, **common, bayes_risk=bayes[0], bayes_risk_err=bayes[1])


def complete(
    rows: Iterable[dict[str, Any]], columns: tuple[Column, ...], problem: HeadsProblem, **common: Any
) -> list[dict[str, Any]]:
    """The rows with every column in order: their own values, `common`, and those of the problem."""
    shared = {**problem_values(problem), "version": __version__, **common}
    return [{column.name: {**shared, **row}.get(column.name) for column in columns} for row in rows]


def escape_rows(problem: HeadsProblem, found: Escape, dimension: float, norm: float) -> list[dict[str, Any]]:
    """One row for each feature, then one for each mode of the spectrum."""
    common = {"norm": norm, "dimension": float(dimension), "risk": found.risk, "residual": found.residual}
    rows = []
    for f, rate in enumerate(found.feature_rates):
        row = {"mode": "feature", "index": f + 1, "rate": float(rate), "rate_err": float(found.feature_rates_err[f])}
        row |= {"variance": float(found.variances[f]), "escape_time": float(found.times[f])}
        rows.append(row)
    for i, rate in enumerate(found.spectrum):
        rows.append({"mode": "spectrum", "index": i + 1, "rate": float(rate), "rate_err": found.spectrum_err})
    return complete(rows, RATES, problem, **common)


OPTIMUM = (
    *PROBLEM,
    Column("risk", "number", "least risk found, on nodes that the search has not seen"),
    Column("risk_err", "number", "two standard errors of risk; at least 3 over the number of random nodes"),
    Column("slack", "number", "risk minus its value on the nodes of the search: how far below the infimum may be"),
    Column("spread", "number", "difference between the two best starts"),
    Column("bayes_risk", "number", "1 - E p_eps"),
    Column("bayes_risk_err", "number", "two standard errors of bayes_risk"),
    Column("r_largest", "number", "largest eigenvalue of r at the optimum"),
    Column("gradient", "number", "largest derivative of R/2 where the best search ended, on its nodes"),
    Column("converged", "flag", "whether the best search ended at a stationary point: gradient below 1e-4 of the risk"),
    Column("starts", "integer", "starts of the search"),
    Column("nodes", "integer", "nodes of the search"),
    Column("seed", "integer", "seed of starts and nodes"),
    Column("version", "text", "version of the package"),
)
PRUNING = (
    *PROBLEM,
    Column("removed", "integer", "heads removed so far, the one that costs least each time"),
    Column("heads_left", "integer", "heads left"),
    Column("retrained", "flag", "whether the heads that are left were trained again after each removal"),
    Column("risk", "number", "risk on fresh nodes"),
    Column("risk_err", "number", "two standard errors of risk; at least 3 over the number of random nodes"),
    Column("bayes_risk", "number", "1 - E p_eps"),
    Column("bayes_risk_err", "number", "two standard errors of bayes_risk"),
    Column("nodes", "integer", "nodes of the searches"),
    Column("seed", "integer", "seed of starts and nodes"),
    Column("version", "text", "version of the package"),
)
SPECIALISATION = (
    Column("tau", "number", "time of gradient flow"),
    Column("risk", "number", "R = E |X_eps - X^T s|^2/D"),
    Column("risk_err", "number", "twice the standard error of risk over node sets"),
    *(Column(f"top_{f}", "number", f"max_h |m_h{f}|; null where there are fewer features") for f in range(1, 5)),
    Column("bayes_risk", "number", "1 - E p_eps"),
    Column("bayes_risk_err", "number", "two standard errors of bayes_risk"),
    *PROBLEM,
    Column("seed", "integer", "seed of the start and of the nodes"),
    Column("version", "text", "version of the package"),
)


def optimum_row(found: Optimum, bayes: tuple[float, float], seed: int) -> dict[str, Any]:
    """The row of an optimum."""
    values = {
        name: getattr(found, name)
        for name in ("risk", "risk_err", "slack", "spread", "starts", "gradient", "converged")
    }
    values |= {"r_largest": found.used, "nodes": found.samples, "seed": seed}
    values |= {"bayes_risk": bayes[0], "bayes_risk_err": bayes[1]}
    return complete([values], OPTIMUM, found.problem)[0]
