"""One segment under construction: acquires first, then the work, then the release that ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpath.command import segments
from warpath.command.segments import LaunchSegment, SegmentWriter, Semaphore
from warpath.driver.channel import Channel, Fence

if TYPE_CHECKING:
    from warpath.driver.stream import Stream


class Segment:
    """Work for one channel in the order of one stream. Nothing reaches the GPU before `submit`."""

    def __init__(
        self, writer: SegmentWriter, channel: Channel, stream: Stream, waits: list[Fence], launch_form: str
    ) -> None:
        self._writer = writer
        self._channel = channel
        self._stream = stream
        self._launch_form = launch_form
        self._released = False
        for fence in waits:
            if fence.channel is not channel:  # a channel carries out its own segments in order
                segments.host_acquire(writer, Semaphore(fence.channel.semaphore_va, fence.payload))

    @property
    def done(self) -> Semaphore:
        """The release that says this segment is finished."""
        return Semaphore(self._channel.semaphore_va, self._channel.next_payload)

    def upload(self, va: int, data: bytes) -> None:
        """Bytes carried in the pushbuffer; compute channels only, at most `segments.MAX_INLINE_BYTES`."""
        segments.inline_upload(self._writer, va, data)

    def copy(self, dst: int, src: int, width: int, height: int, dst_pitch: int, src_pitch: int) -> None:
        """Rows moved by the copy engine."""
        if height == 1:
            segments.copy(self._writer, src, dst, width)
        else:
            segments.copy_2d(self._writer, src, dst, width, height, src_pitch, dst_pitch)

    def fill(self, va: int, value: int, element: int, width: int, height: int, pitch: int) -> None:
        """Rows of `width` elements of `element` bytes set by the copy engine."""
        segments.fill(self._writer, va, value, width, width=element, height=height, pitch=pitch)

    def launch(self, launch: LaunchSegment) -> None:
        """A kernel launch in the form the chip's driver uses; it carries the final release itself."""
        if self._launch_form == "pointer":
            segments.launch_pointer_form(self._writer, launch)
        else:
            segments.launch_inline_form(self._writer, launch)
        self._released = True

    def invalidate_code(self) -> None:
        """Drop cached instructions, after code was uploaded."""
        segments.invalidate_code(self._writer)

    def invalidate_constants(self) -> None:
        """Drop cached constants, after a constant bank was uploaded."""
        segments.invalidate_constants(self._writer)

    def timestamp(self, va: int, payload: int) -> None:
        """Write payload and time (16 bytes) when the work before has ended; compute channels only."""
        segments.semaphore_release(self._writer, Semaphore(va, payload))

    def release(self, va: int, payload: int) -> None:
        """Write a 4-byte payload when the work before it has ended."""
        segments.host_release(self._writer, Semaphore(va, payload))

    def acquire(self, va: int, payload: int) -> None:
        """Hold the channel until the word at `va` has reached `payload`."""
        segments.host_acquire(self._writer, Semaphore(va, payload))

    def submit(self, what: str, launch: int | None = None) -> Fence:
        """End the segment with its release, hand it to the GPU, and make it the stream's last work."""
        if not self._released:
            release = segments.copy_release if self._channel.copies else segments.semaphore_release
            release(self._writer, self.done)
        fence = self._channel.submit(self._writer.to_bytes(), what, launch)
        self._stream.advance(fence)
        return fence
