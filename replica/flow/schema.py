"""Columns of the flow tables: trajectories (one row per time) and final states (one row per run)."""

from __future__ import annotations

from ..schema import Column

PROBLEM = (
    Column("loss_kind", "text", "logistic, square or kl"),
    Column("map", "text", "attention map: softmax, l1, sum, power2, relu, sigmoid"),
    Column("method", "text", "flow (adaptive integration in log(1 + t)) or descent (plain gradient steps)"),
    Column("dim", "integer", "rows d of V"),
    Column("tokens", "integer", "columns p of V"),
    Column("rows", "integer", "rows T of the attention map; 1 is the single vector a"),
    Column("tied", "flag", "whether logits and values share one square matrix U"),
    Column("condition", "number", "condition number of the design X; null without a design"),
    Column("norm", "number", "|beta*|"),
    Column("temperature", "number", "kl: y = softmax(beta*/temperature); null for other losses"),
    Column("scale_v", "number", "standard deviation of the entries of V(0)"),
    Column("scale_a", "number", "standard deviation of the entries of A(0)"),
    Column("mean_a", "number", "mean of the entries of A(0)"),
    Column("seed", "integer", "seed of target, start and design"),
    Column("lr", "number", "step of descent; null for flow"),
    Column("rtol", "number", "relative tolerance of the flow; null for descent"),
    Column("stop", "number", "residual at which the run stops; null runs to the given time"),
    Column("status", "text", "finished (at the given time), converged (residual <= stop), time_limit, stalled, "
           "nonfinite, out_of_domain (the map has no value)"),
    Column("message", "text", "what a reader should know about this run"),
    Column("version", "text", "version of the package"),
)  # fmt: skip

MEASURES = (
    Column("t", "number", "time; lr times the number of steps for descent"),
    Column("steps", "integer", "descent steps made; null for flow"),
    Column("loss", "number", "mean over rows of ell(beta_t)"),
    Column("residual", "number", "mean over rows: |beta* - X beta|/|beta*| (square), gamma (logistic), "
           "total variation |y - softmax(beta)|_1/2 (kl)"),
    Column("max_s", "number", "max_i p_i, p_i = |s_i|/sum|s|; mean over rows"),
    Column("entropy", "number", "-sum p_i log p_i in nats; mean over rows"),
    Column("participation", "number", "1/sum p_i^2, between 1 and p; mean over rows"),
    Column("rank_one_share", "number", "top singular value squared over |V|_F^2"),
    Column("top_column_share", "number", "|V_sink|^2/|V|_F^2, squared norm share of the winning token's column"),
    Column("gamma", "number", "mean over rows of -<grad ell, w>/|w|^2, w = beta* (X^T beta*; y - 1/d for kl)"),
    Column("int_gamma", "number", "integral of gamma over time"),
    Column("sum_a", "number", "sum of A; conserved by the untied softmax flow"),
    Column("square_a", "number", "|A|_F^2; conserved by the untied flow of l1, sum, power2 and relu"),
    Column("sink_token", "integer", "token with the largest weight averaged over rows"),
    Column("sink_share", "number", "share of rows whose largest weight is on the sink token"),
    Column("loss_err", "number", "absolute integration error of loss; null for descent, whose iterates are exact"),
    Column("max_s_err", "number", "absolute integration error of max_s; null for descent"),
    Column("int_gamma_err", "number", "absolute integration error of int_gamma; null for descent"),
)  # fmt: skip


def weight_names(rows: int, tokens: int) -> list[str]:
    """Names of the weight columns, s_i for a single vector, s_t_i for row t of an attention map."""
    if rows == 1:
        return [f"s_{i}" for i in range(tokens)]
    return [f"s_{t}_{i}" for t in range(rows) for i in range(tokens)]


def trajectory_columns(rows: int, tokens: int) -> tuple[Column, ...]:
    """Columns of a trajectory: measures, weights s_i, projections u_i = <V_i, w>, then the problem."""
    s = (Column(name, "number", "weight of a token, as the map gives it") for name in weight_names(rows, tokens))
    u = (Column(f"u_{i}", "number", "projection <V_i, w> of a value column") for i in range(tokens))
    return (*MEASURES, *s, *u, *PROBLEM)


FINAL = (*PROBLEM, *MEASURES)
