"""What the network sees."""

from featavg.data.clusters import ClusterData as ClusterData
from featavg.data.clusters import sample_clusters as sample_clusters
from featavg.data.points import Coordinates as Coordinates
from featavg.data.points import Points as Points
