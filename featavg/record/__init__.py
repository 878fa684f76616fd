"""What an experiment found: claims with their verdicts, and the only reader and writer of results."""

from featavg.record.claim import FAMILY as FAMILY
from featavg.record.claim import LEVEL as LEVEL
from featavg.record.claim import VERDICTS as VERDICTS
from featavg.record.claim import Claim as Claim
from featavg.record.claim import Relation as Relation
from featavg.record.claim import Verdict as Verdict
from featavg.record.claim import count_verdicts as count_verdicts
from featavg.record.claim import interval as interval
from featavg.record.files import claim_as_json as claim_as_json
from featavg.record.files import read_folder as read_folder
from featavg.record.files import read_record as read_record
from featavg.record.files import write_record as write_record
from featavg.record.record import Drawing as Drawing
from featavg.record.record import Record as Record
