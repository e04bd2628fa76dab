"""The next frame of a page, for scripts of tests."""

FRAME = (
    "Promise.race([new Promise(requestAnimationFrame), "
    "new Promise((done) => setTimeout(done, 250))])"
)
"""A page that is not drawn gets no frames: waiting for one alone would never end."""
