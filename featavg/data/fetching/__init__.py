"""Published content into the cache, from whatever carries it: mirrors, package clients, a folder of the user's."""

from featavg.data.fetching.cache import cache_folder as cache_folder
from featavg.data.fetching.cache import contents_of as contents_of
from featavg.data.fetching.cache import fetch as fetch
from featavg.data.fetching.cache import is_cached as is_cached
from featavg.data.fetching.cache import read_cached as read_cached
