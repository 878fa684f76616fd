"""Arrays in, matplotlib Figure out: no training, no file, no global state; `figure.get_label()` is the caption."""

from featavg.figures.curves import curves as curves
from featavg.figures.dots import dots as dots
from featavg.figures.draw import draw as draw
from featavg.figures.heatmap import heatmap as heatmap
from featavg.figures.images import images as images
from featavg.figures.scaling import scaling as scaling
from featavg.figures.scatter import scatter as scatter
