"""Arrays in, matplotlib Figure out: no training, no file, no global state; `figure.get_label()` is the caption."""

from featavg.figures.canvas import INK as INK
from featavg.figures.drawing import draw as draw
from featavg.figures.drawing import figure_bytes as figure_bytes
from featavg.figures.kinds.curves import curves as curves
from featavg.figures.kinds.dots import dots as dots
from featavg.figures.kinds.heatmap import heatmap as heatmap
from featavg.figures.kinds.images import images as images
from featavg.figures.kinds.scaling import scaling as scaling
from featavg.figures.kinds.scatter import scatter as scatter
from featavg.figures.plane import plane as plane
