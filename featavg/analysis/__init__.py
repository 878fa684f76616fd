"""What it learned."""

from featavg.analysis.assumptions import Assumption as Assumption
from featavg.analysis.assumptions import assumptions as assumptions
from featavg.analysis.averaging import IMPORTANT as IMPORTANT
from featavg.analysis.averaging import Averages as Averages
from featavg.analysis.averaging import Averaging as Averaging
from featavg.analysis.averaging import alignment as alignment
from featavg.analysis.averaging import averages as averages
from featavg.analysis.averaging import averaging as averaging
from featavg.analysis.averaging import averaging_index as averaging_index
from featavg.analysis.averaging import averaging_p_value as averaging_p_value
from featavg.analysis.averaging import coarse_class as coarse_class
from featavg.analysis.averaging import cosines as cosines
from featavg.analysis.averaging import equivalent_weights as equivalent_weights
from featavg.analysis.decomposition import Decomposition as Decomposition
from featavg.analysis.decomposition import decompose as decompose
from featavg.analysis.decomposition import decompose_weights as decompose_weights
from featavg.analysis.decomposition import reconstruct as reconstruct
from featavg.analysis.dynamics import activation_stability as activation_stability
from featavg.analysis.dynamics import derivative_balance as derivative_balance
from featavg.analysis.dynamics import gradient_norms as gradient_norms
from featavg.analysis.kkt import KKTResiduals as KKTResiduals
from featavg.analysis.kkt import kkt_residuals as kkt_residuals
from featavg.analysis.margins import normalized_margin as normalized_margin
from featavg.analysis.margins import parameter_norm as parameter_norm
from featavg.analysis.margins import smoothed_margin as smoothed_margin
from featavg.analysis.margins import stable_rank as stable_rank
