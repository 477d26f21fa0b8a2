"""One seam for all that runs side by side: processes of this machine, a Dask cluster, any executor.

Points of a curve, instances of a benchmark, subtrees of a search: whatever the unit is, it is a function that
a module defines, and arguments that can be pickled. Large things travel once (:meth:`Workers.share`), results
come as they are done, and a worker that dies costs time only: its task is given to another.

>>> with open_workers(jobs=1) as workers:
...     tasks = {workers.submit(divmod, 17, number): number for number in (3, 5)}
...     {tasks[task]: task.result() for task in workers.as_completed()}
{3: (5, 2), 5: (3, 2)}
"""

from __future__ import annotations

from hcssp.workers.crew import Task, Workers, open_workers
from hcssp.workers.sharing import Shared

__all__ = ["Shared", "Task", "Workers", "open_workers"]
