"""The lab: a setting in, everything that a page draws of it out; Python computes, the page only draws."""

from featavg.lab.page import offline_page as offline_page
from featavg.lab.page import write_lab as write_lab
from featavg.lab.server import Lab as Lab
from featavg.lab.setting import SLIDERS as SLIDERS
from featavg.lab.setting import Setting as Setting
from featavg.lab.setting import setting_from as setting_from
from featavg.lab.state import state as state
