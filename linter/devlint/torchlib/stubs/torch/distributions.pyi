"""torch.distributions: a distribution is where its parameters are.

Its arguments are broadcast against each other without a look at their devices; drawing from it and asking it for a
probability then fails, of two devices (torch 2.13, all of these classes). Numbers are put where the tensors are, and
numbers alone on the default device, which the parameter `_default` of some forms stands for.
"""

def kl_divergence(p: torch.distributions.Distribution[D], q: torch.distributions.Distribution[D]) -> Tensor[D]: ...
def register_kl(type_p: object, type_q: object) -> object: ...
def biject_to(constraint: object) -> object: ...
def transform_to(constraint: object) -> object: ...

@stateless
class Distribution:
    mean: Tensor[D]
    mode: Tensor[D]
    stddev: Tensor[D]
    variance: Tensor[D]
    def __init__(self, batch_shape: object = ..., event_shape: object = ..., validate_args: Number | None = ...) -> None: ...
    def cdf(self: torch.distributions.Distribution[D], value: Tensor[D] | Scalar[cpu]) -> Tensor[D]: ...
    def entropy(self: torch.distributions.Distribution[D]) -> Tensor[D]: ...
    def icdf(self: torch.distributions.Distribution[D], value: Tensor[D] | Scalar[cpu]) -> Tensor[D]: ...
    def log_prob(self: torch.distributions.Distribution[D], value: Tensor[D] | Scalar[cpu]) -> Tensor[D]: ...
    def perplexity(self: torch.distributions.Distribution[D]) -> Tensor[D]: ...
    @overload
    def rsample(self: torch.distributions.Distribution[D], sample_shape: Size[R]) -> Tensor[D, positive]: ...
    @overload
    def rsample(self: torch.distributions.Distribution[D], sample_shape: object = ...) -> Tensor[D]: ...
    @overload
    def sample(self: torch.distributions.Distribution[D], sample_shape: Size[R]) -> Tensor[D, positive]: ...
    @overload
    def sample(self: torch.distributions.Distribution[D], sample_shape: object = ...) -> Tensor[D]: ...
    def sample_n(self: torch.distributions.Distribution[D], n: Number) -> Tensor[D]: ...

class ExponentialFamily(Distribution): ...

@stateless
class Bernoulli(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    @overload
    def __init__(self, probs: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, probs: Tensor[E] | Scalar[cpu] | Number | None = ..., logits: Tensor[E] | Scalar[cpu] | Number | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Beta(Distribution):
    concentration1: Tensor[D]
    concentration0: Tensor[D]
    @overload
    def __init__(self, concentration1: Number, concentration0: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, concentration1: Tensor[E] | Scalar[cpu] | Number, concentration0: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Binomial(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, total_count: Tensor[any] | Number = ..., probs: Tensor[E] | Scalar[cpu] | Number | None = ..., logits: Tensor[E] | Scalar[cpu] | Number | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Categorical(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, probs: Tensor[E] | None = ..., logits: Tensor[E] | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Cauchy(Distribution):
    loc: Tensor[D]
    scale: Tensor[D]
    @overload
    def __init__(self, loc: Number, scale: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, loc: Tensor[E] | Scalar[cpu] | Number, scale: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Chi2(Gamma):
    df: Tensor[D]
    def __init__(self, df: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class ContinuousBernoulli(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, probs: Tensor[E] | Scalar[cpu] | Number | None = ..., logits: Tensor[E] | Scalar[cpu] | Number | None = ..., lims: object = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Dirichlet(Distribution):
    concentration: Tensor[D]
    def __init__(self, concentration: Tensor[E], validate_args: Number | None = ...) -> None: ...

@stateless
class Exponential(Distribution):
    rate: Tensor[D]
    @overload
    def __init__(self, rate: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, rate: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class FisherSnedecor(Distribution):
    df1: Tensor[D]
    df2: Tensor[D]
    def __init__(self, df1: Tensor[E] | Scalar[cpu] | Number, df2: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Gamma(Distribution):
    concentration: Tensor[D]
    rate: Tensor[D]
    @overload
    def __init__(self, concentration: Number, rate: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, concentration: Tensor[E] | Scalar[cpu] | Number, rate: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class GeneralizedPareto(Distribution):
    loc: Tensor[D]
    scale: Tensor[D]
    concentration: Tensor[D]
    def __init__(self, loc: Tensor[E] | Scalar[cpu] | Number, scale: Tensor[E] | Scalar[cpu] | Number, concentration: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Geometric(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, probs: Tensor[E] | Scalar[cpu] | Number | None = ..., logits: Tensor[E] | Scalar[cpu] | Number | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Gumbel(TransformedDistribution):
    loc: Tensor[D]
    scale: Tensor[D]
    @overload
    def __init__(self, loc: Number, scale: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, loc: Tensor[E] | Scalar[cpu] | Number, scale: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class HalfCauchy(TransformedDistribution):
    scale: Tensor[D]
    def __init__(self, scale: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class HalfNormal(TransformedDistribution):
    scale: Tensor[D]
    @overload
    def __init__(self, scale: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, scale: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Independent(Distribution):
    def __init__(self, base_distribution: torch.distributions.Distribution[E], reinterpreted_batch_ndims: Number, validate_args: Number | None = ...) -> None: ...

@stateless
class InverseGamma(TransformedDistribution):
    concentration: Tensor[D]
    rate: Tensor[D]
    def __init__(self, concentration: Tensor[E] | Scalar[cpu] | Number, rate: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Kumaraswamy(TransformedDistribution):
    concentration1: Tensor[D]
    concentration0: Tensor[D]
    def __init__(self, concentration1: Tensor[E] | Scalar[cpu] | Number, concentration0: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class LKJCholesky(Distribution):
    concentration: Tensor[D]
    def __init__(self, dim: Number, concentration: Tensor[E] | Scalar[cpu] | Number = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Laplace(Distribution):
    loc: Tensor[D]
    scale: Tensor[D]
    @overload
    def __init__(self, loc: Number, scale: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, loc: Tensor[E] | Scalar[cpu] | Number, scale: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class LogNormal(TransformedDistribution):
    loc: Tensor[D]
    scale: Tensor[D]
    @overload
    def __init__(self, loc: Number, scale: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, loc: Tensor[E] | Scalar[cpu] | Number, scale: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class LogisticNormal(TransformedDistribution):
    loc: Tensor[D]
    scale: Tensor[D]
    def __init__(self, loc: Tensor[E] | Scalar[cpu] | Number, scale: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class LowRankMultivariateNormal(Distribution):
    loc: Tensor[D]
    cov_factor: Tensor[D]
    cov_diag: Tensor[D]
    def __init__(self, loc: Tensor[E], cov_factor: Tensor[E], cov_diag: Tensor[E], validate_args: Number | None = ...) -> None: ...

@stateless
class MixtureSameFamily(Distribution):
    def __init__(self, mixture_distribution: torch.distributions.Distribution[E], component_distribution: torch.distributions.Distribution[E], validate_args: Number | None = ...) -> None: ...

@stateless
class Multinomial(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, total_count: Tensor[any] | Number = ..., probs: Tensor[E] | None = ..., logits: Tensor[E] | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class MultivariateNormal(Distribution):
    loc: Tensor[D]
    covariance_matrix: Tensor[D]
    precision_matrix: Tensor[D]
    scale_tril: Tensor[D]
    def __init__(self, loc: Tensor[E], covariance_matrix: Tensor[E] | None = ..., precision_matrix: Tensor[E] | None = ..., scale_tril: Tensor[E] | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class NegativeBinomial(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, total_count: Tensor[any] | Number, probs: Tensor[E] | Scalar[cpu] | Number | None = ..., logits: Tensor[E] | Scalar[cpu] | Number | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Normal(Distribution):
    loc: Tensor[D]
    scale: Tensor[D]
    @overload
    def __init__(self, loc: Number, scale: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, loc: Tensor[E] | Number, scale: Tensor[E] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class OneHotCategorical(Distribution):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, probs: Tensor[E] | None = ..., logits: Tensor[E] | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class OneHotCategoricalStraightThrough(OneHotCategorical):
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, probs: Tensor[E] | None = ..., logits: Tensor[E] | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Pareto(TransformedDistribution):
    scale: Tensor[D]
    alpha: Tensor[D]
    def __init__(self, scale: Tensor[E] | Scalar[cpu] | Number, alpha: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class RelaxedBernoulli(TransformedDistribution):
    temperature: Tensor[D]
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, temperature: Tensor[E] | Scalar[cpu] | Number, probs: Tensor[E] | Scalar[cpu] | Number | None = ..., logits: Tensor[E] | Scalar[cpu] | Number | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class RelaxedOneHotCategorical(TransformedDistribution):
    temperature: Tensor[D]
    probs: Tensor[D]
    logits: Tensor[D]
    def __init__(self, temperature: Tensor[E] | Scalar[cpu] | Number, probs: Tensor[E] | Scalar[cpu] | Number | None = ..., logits: Tensor[E] | Scalar[cpu] | Number | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class StudentT(Distribution):
    df: Tensor[D]
    loc: Tensor[D]
    scale: Tensor[D]
    def __init__(self, df: Tensor[E] | Scalar[cpu] | Number, loc: Tensor[E] | Scalar[cpu] | Number = ..., scale: Tensor[E] | Scalar[cpu] | Number = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class Poisson(Distribution):
    rate: Tensor[D]
    @overload
    def __init__(self, rate: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, rate: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Uniform(Distribution):
    low: Tensor[D]
    high: Tensor[D]
    @overload
    def __init__(self, low: Number, high: Number, validate_args: Number | None = ..., *, _default: Device[E] = DEFAULT) -> None: ...
    @overload
    def __init__(self, low: Tensor[E] | Scalar[cpu] | Number, high: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class VonMises(Distribution):
    loc: Tensor[D]
    concentration: Tensor[D]
    def __init__(self, loc: Tensor[E] | Scalar[cpu] | Number, concentration: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Weibull(TransformedDistribution):
    scale: Tensor[D]
    concentration: Tensor[D]
    def __init__(self, scale: Tensor[E] | Scalar[cpu] | Number, concentration: Tensor[E] | Scalar[cpu] | Number, validate_args: Number | None = ...) -> None: ...

@stateless
class Wishart(Distribution):
    df: Tensor[D]
    covariance_matrix: Tensor[D]
    precision_matrix: Tensor[D]
    scale_tril: Tensor[D]
    def __init__(self, df: Tensor[E] | Scalar[cpu] | Number, covariance_matrix: Tensor[E] | Scalar[cpu] | Number | None = ..., precision_matrix: Tensor[E] | Scalar[cpu] | Number | None = ..., scale_tril: Tensor[E] | Scalar[cpu] | Number | None = ..., validate_args: Number | None = ...) -> None: ...

@stateless
class TransformedDistribution(Distribution):
    def __init__(self, base_distribution: torch.distributions.Distribution[E], transforms: object, validate_args: Number | None = ...) -> None: ...

class AbsTransform: ...

class AffineTransform: ...

class CatTransform: ...

class ComposeTransform: ...

class CorrCholeskyTransform: ...

class CumulativeDistributionTransform: ...

class ExpTransform: ...

class IndependentTransform: ...

class LowerCholeskyTransform: ...

class PositiveDefiniteTransform: ...

class PowerTransform: ...

class ReshapeTransform: ...

class SigmoidTransform: ...

class SoftplusTransform: ...

class TanhTransform: ...

class SoftmaxTransform: ...

class StackTransform: ...

class StickBreakingTransform: ...

class Transform: ...

identity_transform: object
