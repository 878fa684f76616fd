"""What the network sees: points with labels, from cluster models, image sets and users' files."""

from featavg.data.clusters import sample_clusters as sample_clusters
from featavg.data.dataset import ClusterModel as ClusterModel
from featavg.data.dataset import Dataset as Dataset
from featavg.data.dataset import Points as Points
from featavg.data.dataset import dataset as dataset
from featavg.data.describe import describe as describe
from featavg.data.describe import remarks as remarks
from featavg.data.fetching import cache_folder as cache_folder
from featavg.data.fetching import fetch as fetch
from featavg.data.fetching import is_cached as is_cached
from featavg.data.image_set import Content as Content
from featavg.data.image_set import ImageSet as ImageSet
from featavg.data.image_set import Part as Part
from featavg.data.images import coarse_task as coarse_task
from featavg.data.images import load_images as load_images
from featavg.data.images import load_pixels as load_pixels
from featavg.data.labels import UNKNOWN as UNKNOWN
from featavg.data.labels import Labels as Labels
from featavg.data.labels import Names as Names
from featavg.data.labels import encode as encode
from featavg.data.labels import split as split
from featavg.data.open import open_data as open_data
from featavg.data.open import sublabels_of as sublabels_of
from featavg.data.readers import read_points as read_points
from featavg.data.sets import SETS as SETS
from featavg.data.sets import image_set as image_set
from featavg.data.space import Coordinates as Coordinates
from featavg.data.space import Space as Space

# The name that users of cluster samples know.
ClusterData = Dataset
