"""One file per kind of figure, with a function of its name: arrays and `caption` in, matplotlib Figure out."""

from featavg.registry import Registry

KINDS = Registry.of_folder(__name__, __file__)
