"""Pictures for tests, a pixel each."""

from base64 import b64decode

from localllm.llm.messages import Image

PNG = Image(
    "image/png",
    b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
)
WEBP = Image("image/webp", b"RIFF" + bytes(12_000))
JPEG = Image("image/jpeg", b"\xff\xd8\xff" + bytes(2_000))
