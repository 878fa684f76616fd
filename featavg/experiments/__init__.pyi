from .chapter import Expect as Expect
from .chapter import Quantity as Quantity
from .driver import run_chapter as run_chapter
from .registry import Chapter as Chapter
from .registry import Registry as Registry
from .reproduction import Outcome as Outcome
from .reproduction import ProgressOf as ProgressOf
from .reproduction import reproduce as reproduce
