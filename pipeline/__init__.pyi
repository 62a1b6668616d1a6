"""The public names, each with its module; the package reads them here too."""

from pipeline.benchmark.api import new_task as new_task
from pipeline.benchmark.api import report as report
from pipeline.compile.explain import explain as explain
from pipeline.distributed.cluster import cluster as cluster
from pipeline.errors import CheckpointDiffers as CheckpointDiffers
from pipeline.errors import ClusterUnavailable as ClusterUnavailable
from pipeline.errors import ConfigError as ConfigError
from pipeline.errors import DataError as DataError
from pipeline.errors import DeviceUnavailable as DeviceUnavailable
from pipeline.errors import OutOfMemory as OutOfMemory
from pipeline.errors import OutputError as OutputError
from pipeline.errors import OutputLocked as OutputLocked
from pipeline.errors import PipelineError as PipelineError
from pipeline.errors import Unsupported as Unsupported
from pipeline.errors import WorkerLost as WorkerLost
from pipeline.files.read import preflight as preflight
from pipeline.files.read import read as read
from pipeline.files.read import read_table as read_table
from pipeline.files.read import scan as scan
from pipeline.model.accelerated import Accelerated as Accelerated
from pipeline.serving.load import load as load
from pipeline.serving.predict import predict_file as predict_file
from pipeline.serving.save import save as save
from pipeline.table.shared import shared as shared
from pipeline.tuning.search import Search as Search
from pipeline.twins.calendar import CalendarFeatures as CalendarFeatures

__version__: str
__all__: list[str]
