"""What the network sees."""

from featavg.data.clusters import ClusterData as ClusterData
from featavg.data.clusters import sample_clusters as sample_clusters
from featavg.data.fetching import cache_folder as cache_folder
from featavg.data.fetching import fetch as fetch
from featavg.data.fetching import is_cached as is_cached
from featavg.data.images import ImageData as ImageData
from featavg.data.images import load_images as load_images
from featavg.data.images import load_pixels as load_pixels
from featavg.data.labelled import LabelledData as LabelledData
from featavg.data.labelled import labelled_data as labelled_data
from featavg.data.points import Coordinates as Coordinates
from featavg.data.points import Points as Points
from featavg.data.readers import read_points as read_points
