// Server-sent events read from a fetch, which, unlike EventSource, can POST and bring a token.

const LONGEST = 200_000_000; // characters of one event: more than any answer

/** Give each event of a response as {event, data}, data parsed as JSON. `onBytes` is called whenever anything arrives,
 *  comments that keep the line open included. Throws what reading throws, and SyntaxError for what is no JSON. */
export async function* eventsOf(response, onBytes = () => {}) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const frame = new Frame();
  let pieces = []; // of the line that has not ended: put together once it has, so that a long one is copied once
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // what no empty line has closed is no event
      onBytes();
      let start = 0;
      for (let end = value.indexOf("\n"); end >= 0; end = value.indexOf("\n", start)) {
        const event = frame.take(pieces.join("") + value.slice(start, end));
        if (event) yield event;
        pieces = [];
        length = 0;
        start = end + 1;
      }
      pieces.push(value.slice(start));
      length += value.length - start;
      if (length > LONGEST) throw new SyntaxError("an event is too long");
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The lines of one event. */
class Frame {
  event = "message";
  data = [];

  /** Take a line; the event, where the line closes one. */
  take(line) {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    if (text.startsWith("event:")) this.event = valueOf(text, 6);
    else if (text.startsWith("data:")) this.data.push(valueOf(text, 5));
    if (text !== "") return null;
    const { event, data } = this;
    this.event = "message";
    this.data = [];
    return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
  }
}

const valueOf = (line, at) => line.slice(line[at] === " " ? at + 1 : at);
