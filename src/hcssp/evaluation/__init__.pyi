from hcssp.evaluation.chain import is_proper as is_proper
from hcssp.evaluation.exact import evaluate as evaluate
from hcssp.evaluation.exact import Evaluation as Evaluation
from hcssp.evaluation.simulation import Simulation as Simulation
from hcssp.evaluation.simulation import narrate as narrate
from hcssp.evaluation.simulation import simulate as simulate
