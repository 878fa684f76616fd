"""Finer labels inside each class: given, found, or both."""

from featavg.refine.discover.gap import Count as Count
from featavg.refine.discover.gap import choose_count as choose_count
from featavg.refine.discover.given import Finder as Finder
from featavg.refine.discover.given import pair_sublabels as pair_sublabels
from featavg.refine.discover.given import read_sublabels as read_sublabels
from featavg.refine.discover.kmeans import Method as Method
from featavg.refine.discover.kmeans import embed as embed
from featavg.refine.discover.kmeans import means as means
from featavg.refine.discover.subclasses import Counts as Counts
from featavg.refine.discover.subclasses import Subclasses as Subclasses
from featavg.refine.discover.subclasses import discover_sublabels as discover_sublabels
from featavg.refine.discover.subclasses import hidden_features as hidden_features
