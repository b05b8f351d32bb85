"""Cells: the sets of observations that beliefs of a deep agent are over, one file for each kind."""

from whatfor.deep.cells.anchors import Anchors
from whatfor.deep.cells.bins import Bins
from whatfor.deep.cells.clusters import Clusters
from whatfor.deep.cells.common import Partition, Predicate
from whatfor.deep.cells.concepts import Concepts
from whatfor.deep.cells.making import make_partition
from whatfor.deep.cells.states import States

__all__ = ["Anchors", "Bins", "Clusters", "Concepts", "Partition", "Predicate", "States", "make_partition"]
