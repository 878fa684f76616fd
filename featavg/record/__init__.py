"""What an experiment found: claims with their verdicts, and the only reader and writer of results."""

from featavg.record.claim import FAMILY as FAMILY
from featavg.record.claim import LEVEL as LEVEL
from featavg.record.claim import VERDICTS as VERDICTS
from featavg.record.claim import Claim as Claim
from featavg.record.claim import Relation as Relation
from featavg.record.claim import Verdict as Verdict
from featavg.record.claim import count_verdicts as count_verdicts
from featavg.record.evidence import Drawing as Drawing
from featavg.record.evidence import Evidence as Evidence
from featavg.record.evidence import plain_json as plain_json
from featavg.record.files import claim_as_json as claim_as_json
from featavg.record.files import read_folder as read_folder
from featavg.record.files import read_record as read_record
from featavg.record.files import write_record as write_record
from featavg.record.provenance import Provenance as Provenance
from featavg.record.provenance import current_commit as current_commit
from featavg.record.provenance import current_versions as current_versions
from featavg.record.record import Record as Record
from featavg.record.record import Result as Result
from featavg.record.table import Column as Column
from featavg.record.table import Table as Table
