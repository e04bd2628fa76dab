"""The next frame of a page, and a page at rest, for scripts of tests."""

FRAME = (
    "Promise.race([new Promise(requestAnimationFrame), "
    "new Promise((done) => setTimeout(done, 250))])"
)
"""A page that is not drawn gets no frames: waiting for one alone would never end."""

AT_REST = """async () => {
    const ends = (moving) => Number.isFinite(moving.effect.getComputedTiming().endTime);
    for (let round = 0; round < 50; round += 1) {
        await FRAME;
        await FRAME;
        const moving = document.getAnimations().filter(ends);
        if (!moving.length) return;
        for (const animation of moving) animation.finish();
    }
    throw new Error("something keeps moving");
}""".replace("FRAME", FRAME)
"""Puts what moves or fades where it ends, and what follows it."""
