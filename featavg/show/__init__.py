"""The main pictures from a user's own objects, in one line each; matplotlib is imported when one is drawn."""

from featavg.show.pictures import show_alignment as show_alignment
from featavg.show.pictures import show_coefficients as show_coefficients
from featavg.show.pictures import show_curves as show_curves
from featavg.show.pictures import show_slice as show_slice
from featavg.show.slice import Slice as Slice
from featavg.show.slice import slice_through as slice_through
