"""Records: columns of a table become each owner's records under public bounds; rows that owners share."""

from learning.data.division import Division, RowLabels, divide
from learning.data.encoding import Encoder, fit_encoder
from learning.data.overlap import Overlap, overlap
from learning.data.owner_data import OwnerData

__all__ = ["Division", "Encoder", "Overlap", "OwnerData", "RowLabels", "divide", "fit_encoder", "overlap"]
