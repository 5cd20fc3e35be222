"""A decoder at work: rows with their reconstructions, and features over the plane of the first two axes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.stages.steps import Step
from mlcli.findings.finding import Arrays, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.decoded.decode import Decoded
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

ARRAYS = File("decoded.npz", Arrays("mlcli.findings.decoded.decode:Decoded"))
SMALL = 0.005  # time of decoding, in starts of the program


class DecodedFinding(Finding["Decoded"]):
    """Decoded rows and places of the plane, of methods with a decoder."""

    name = "decoded"
    files = (ARRAYS,)
    needs = ("spectrum",)  # for the shares in the labels of the axes

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "Decoded | None":
        """Return the decoded rows and places; of a table read in blocks, rows that are in memory."""
        config = result.config
        if not (config.report.writes("report") and result.model.projector.decode
                and config.draws_decoder(result.decoded[0].features)):
            return None
        from mlcli.findings.decoded.decode import decode_result

        return decode_result(result)

    def read(self, folder: Path, run: "FinishedRun") -> "Decoded | None":
        """Return the content of decoded.npz."""
        from mlcli.findings.frame.files import read_arrays

        values = run.embedding.values
        known = {"n": len(values), "a": min(values.shape[1], 2)}
        return read_arrays(ARRAYS, folder, known, run.config.report.draws)

    def sections(self, value: "Decoded", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the plane and the reconstructions, side by side."""
        from mlcli.findings.decoded.sections import plane, reconstructions
        from mlcli.report.drawing.html import side_by_side

        image = run.config.report.picture
        if image is not None and image.rows * image.columns * image.channels != value.plane.shape[1]:
            image = None  # rows of a second view, which are no such images
        return [(Place.DECODER, side_by_side(plane(run, image), reconstructions(run, image)))]

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the predicted cost of decoding."""
        from mlcli.base.machine.rates import rates

        config, second = plan.config, plan.method.decodes_second_view and plan.table.view
        columns = len(second.columns) if second else plan.start.features
        if not (plan.points and config.report.writes("report") and config.draws_decoder(columns)):
            return None
        return Step("reconstruct", "some rows and a grid of the latent plane", SMALL * rates().start, plan.memory_after)
