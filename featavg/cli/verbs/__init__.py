"""One file per verb."""

from featavg.registry import Registry

VERBS = Registry.of_folder(__name__, __file__)
