"""Records in, one self-contained HTML page out; nothing here trains or computes."""

from featavg.report.page import OVER_POINTS as OVER_POINTS
from featavg.report.page import page as page
from featavg.report.page import write_report as write_report
from featavg.report.verdicts import Groups as Groups
from featavg.report.verdicts import by_theme as by_theme
